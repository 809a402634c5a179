"""Paper 5, table 5: how many digits of each class a small network needs (S4-15, S4-27)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.data import load as load_images
from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split, small_data
from sfumato.studies.comparison.setting import ArmKind, Comparison, Family, Known, Target, Test

__all__ = ["FAMILY", "ORIGINAL", "PER_CLASS", "arm"]

ORIGINAL = "original"
PER_CLASS = (50, 100, 150, 300, 500, 1000, 2000)


def load(folder: Path | None) -> Known:
    """All digits; those to learn and those to test have names of their own."""
    if folder is None:
        raise DataError("The study needs MNIST: set SFUMATO_DATA to the folder of data sets.")
    parts = {
        "train": load_images("mnist", "train", folder),
        "test": load_images("mnist", "test", folder),
    }
    labels = {name: _labels(name, images) for name, images in parts.items()}
    items = tuple(item for one in labels.values() for item in one.items)
    probs = np.concatenate([one.probs for one in labels.values()])
    first, second = (images.images for images in parts.values())
    return Known(
        examples=Examples(items, np.concatenate([first, second])),
        labels={
            ORIGINAL: LabelSet(
                items, labels["train"].classes, probs, provenance=labels["train"].provenance
            )
        },
        parts={name: one.items for name, one in labels.items()},
    )


def _labels(part: str, images: ImageSet) -> LabelSet:
    """Under names that the other part does not have: both count from 0."""
    original = images.original()
    items = tuple(f"{part}/{item}" for item in original.items)
    return LabelSet(items, original.classes, original.probs, provenance=images.provenance)


def splits(known: Known, comparison: Comparison, seed: int) -> Sequence[Split]:
    """The published parts; epochs are fixed, so nothing is set aside to choose on."""
    return [Split(known.parts["train"], (), known.parts["test"], selection="none")]


def tests(known: Known, split: Split) -> Sequence[Test]:
    """The published test digits."""
    return [Test("test", {ORIGINAL: known.labels[ORIGINAL].take(split.test)})]


def arm(per_class: int) -> str:
    """The name of the arm that learns so many digits of each class.

    >>> arm(1000)
    '1,000 a class'
    """
    return f"{per_class:,} a class"


def _few(per_class: int, known: Known, split: Split, seed: int) -> Target:
    """Drawn anew each seed without replacement; in a seed the fewer are among the more."""
    labels = known.labels[ORIGINAL]
    kept = small_data(split, labels, per_class, rng=np.random.default_rng([seed, 1])).train
    return Target(labels.take(kept), items=kept)


ARMS: dict[str, ArmKind] = {
    arm(count): ArmKind(
        f"{count:,} digits of each class, {10 * count:,} in all", partial(_few, count)
    )
    for count in PER_CLASS
}

FAMILY = Family("MNIST, a part of the training digits (paper 5)", load, ARMS, splits, tests)
