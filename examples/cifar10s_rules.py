"""Print where the two readings of CIFAR-10S differ, and why; needs the folder of datasets."""

import sys
from pathlib import Path

import numpy as np

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import build
from sfumato.labels.compare import total_variation
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.labelset import CrowdLabels


def main(data: Path) -> None:
    """Compare our labels with the published file, and the two rules with each other."""
    judgments = read(data / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(judgments, Judgments)
    answers = select(judgments, ["repeats", "duplicates"])
    released = build(answers, "top2-clamp", gamma=0.1, rule="released").crowd
    consistent = build(answers, "top2-clamp", gamma=0.1, rule="consistent").crowd
    published = read_crowd_labels(
        data / "cifar10s" / "cifar10s_t2clamp_redist10.json", classes=released.classes
    )
    print(f"{len(released):,} answers; rule 'released' and the published file:", end=" ")
    print(f"at most {farthest_apart(released, published):.0e} apart")
    differ = np.abs(released.probs - consistent.probs).max(axis=1) > 1e-12
    print(f"{differ.sum()} answers differ between 'released' and 'consistent':")
    explain(answers, differ)
    change = total_variation(released.mean(), consistent.mean()).max()
    print(f"largest change of an image's label: {change:.3f} (total variation)")


def farthest_apart(ours: CrowdLabels, published: CrowdLabels) -> float:
    """Largest difference between rows; neither file says whose a row is, so sorted rows."""
    farthest = 0.0
    for name in ours.items:
        rows = [crowd.probs[crowd.item == crowd.items.index(name)] for crowd in (ours, published)]
        mine, theirs = (found[np.lexsort(found.round(9).T)] for found in rows)
        farthest = max(farthest, float(np.abs(mine - theirs).max()))
    return farthest


def explain(answers: Judgments, differ: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
    """Count the differing answers by the first reason that applies."""
    stated = answers.statements
    first = np.where(stated.rank == 1, stated.mass, np.nan)
    reasons = {
        "the same class chosen twice, with two numbers": stated.oddities["same-class-twice"]
        & ~np.any(first == stated.said_again[:, None], axis=1),
        "a chosen class also ruled out": stated.oddities["chosen-and-ruled-out"],
        "a second choice said to have 0 %": ((stated.mass == 0) & (stated.rank == 2)).any(axis=1),
    }
    left = differ.copy()
    for reason, found in reasons.items():
        rows = left & found[stated.index]
        print(f"  {rows.sum():3d}  {reason}")
        left &= ~rows
    print(f"  {left.sum():3d}  anything else")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
