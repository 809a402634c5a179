"""Print in how many random halves of CIFAR-10S the simulator reproduces each marginal."""

import sys
from pathlib import Path

import numpy as np

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions, read_classes
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.files import read_labels
from sfumato.labels.simulate.held_out import HOLD_OUT, HeldOutCheck, held_out_check
from sfumato.labels.simulate.top_two import HABITS


def main(data: Path, splits: int) -> None:
    """Fit to one half, compare with the other, again and again."""
    judgments = read(data / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(judgments, Judgments)
    people = select(judgments)
    reference = read_labels(
        data / "cifar10h" / "cifar10h-probs.npy",
        classes=read_classes(data / "cifar10" / "classes.txt"),
    )
    for hold_out in HOLD_OUT.values():
        print(f"half of the {hold_out} held out, {splits} random halves:")
        print(f"  {'reproduced / difference holds 0':42}", *(f"{name:>12}" for name in HABITS))
        checks = {
            habits: [
                held_out_check(
                    people,
                    reference,
                    hold_out=hold_out,
                    habits=habits,
                    draws=200,
                    replicas=20,
                    rng=np.random.default_rng(seed),
                )
                for seed in range(splits)
            ]
            for habits in HABITS.values()
        }
        for place, one in enumerate(checks["joint"][0].marginals):
            print(
                f"  {one.name:42}", *(f"{counted(found, place):>12}" for found in checks.values())
            )


def counted(checks: list[HeldOutCheck], place: int) -> str:
    """How often a marginal is within its interval, and its difference around 0."""
    found = [check.marginals[place] for check in checks]
    around = sum(one.difference_low <= 0 <= one.difference_high for one in found)
    return f"{sum(one.reproduced for one in found)} / {around}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
