"""Score shares and shrunk shares on votes they have not seen, on real datasets."""

import sys
from pathlib import Path

import numpy as np

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.aggregate.heldout import held_out_log_loss
from sfumato.labels.build import build

NAMES = ("vote-shares", "shrunk-shares", "dawid-skene")
SETS = {
    "bluebird": ("crowd/bluebird_label.csv", "crowd"),
    "dog": ("crowd/dog_label.csv", "crowd"),
    "rte": ("crowd/rte_label.csv", "crowd"),
    "face": ("crowd/face_label.csv", "crowd"),
    "LabelMe": ("labelme_crowd/answers.npy", "labelme"),
    "CIFAR-10N": ("cifar10n/cifar10n-labels.npz", "cifar10n"),
}


def main(data: Path) -> None:
    """Print one line per dataset."""
    print(f"{'dataset':12}" + "".join(f"{name:>16}" for name in NAMES))
    for name, (path, format_name) in SETS.items():
        judgments = read(data / path, format_name, ReadOptions())
        assert isinstance(judgments, Judgments)
        crowd = build(judgments, "votes").crowd
        scored = held_out_log_loss(crowd, NAMES, rng=np.random.default_rng(0))
        losses = {row.aggregator: row.log_loss for row in scored}
        print(f"{name:12}" + "".join(f"{losses[name]:16.3f}" for name in NAMES))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
