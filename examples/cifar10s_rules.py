"""Print where the two readings of CIFAR-10S differ, and why: ``python examples/cifar10s_rules.py DATA``."""

import sys
from pathlib import Path

import numpy as np

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import build
from sfumato.labels.files import read_crowd_labels


def main(data: Path) -> None:
    """Compare our labels with the published file and the two rules with each other."""
    judgments = read(data / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(judgments, Judgments)
    answers = select(judgments, ["repeats", "duplicates"])
    released = build(answers, "top2-clamp", gamma=0.1, rule="released").crowd
    consistent = build(answers, "top2-clamp", gamma=0.1, rule="consistent").crowd
    published = read_crowd_labels(
        data / "cifar10s" / "cifar10s_t2clamp_redist10.json", classes=released.classes
    )

    farthest = 0.0
    for name in released.items:  # neither file says who gave which row: compare sorted rows
        mine = released.probs[released.item == released.items.index(name)]
        theirs = published.probs[published.item == published.items.index(name)]
        order = [np.lexsort(rows.round(9).T) for rows in (mine, theirs)]
        farthest = max(farthest, float(np.abs(mine[order[0]] - theirs[order[1]]).max()))
    print(
        f"{len(released):,} answers; published file and rule 'released': at most {farthest:.1e} apart"
    )

    stated = answers.statements
    differ = np.abs(released.probs - consistent.probs).max(axis=1) > 1e-12
    again = stated.oddities["same-class-twice"] & (
        stated.said_again != np.nanmax(stated.mass, axis=1)
    )
    zero = ((stated.mass == 0) & ~stated.ruled_out & (stated.rank == 2)).any(axis=1)
    reasons = {
        "the same class chosen twice, with two numbers": again,
        "a chosen class also ruled out": stated.oddities["chosen-and-ruled-out"],
        "a second choice said to have 0 %": zero,
    }
    print(f"{differ.sum()} answers differ between 'released' and 'consistent':")
    left = differ.copy()
    for reason, found in reasons.items():
        rows = left & found[stated.index]
        print(f"  {rows.sum():3d}  {reason}")
        left &= ~rows
    print(f"  {left.sum():3d}  anything else")
    one, two = released.mean(), consistent.mean()
    print(
        f"largest change of an image's label: {np.abs(one.probs - two.probs).sum(axis=1).max() / 2:.3f} (total variation)"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
