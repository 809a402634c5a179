"""Paper 2, section 7: which of several label sets of the same images to learn from.

The 10,000 CIFAR-10 test images have labels of several kinds. Networks learn one kind on all folds
but one and are tested on the fold that was left out, against every kind (S1-43); then on images
further away, as in ``cifar10h``. Dense and typicality labels and similarity ratings of the paper
were never published (S1-59), so that only those label sets are here that can be had.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.alter import in_fill, majority_labels, smooth
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.learn.folds import Split, small_data
from sfumato.studies.comparison import cifar10h
from sfumato.studies.comparison.cifar10h import ORIGINAL, PEOPLE
from sfumato.studies.comparison.cifar10h_sets import CORRUPTED, FURTHER, NEAR
from sfumato.studies.comparison.setting import ArmKind, Family, Known, Target, Test

__all__ = [
    "ELICITED",
    "FAMILIES",
    "HARD",
    "IN_FILLED",
    "LS_HIGH",
    "LS_LOW",
    "MODES",
    "MODES_S",
    "PEOPLE",
    "PER_CLASS",
    "SETS",
    "few",
    "label_sets",
]

HARD = "hard"
IN_FILLED = "CIFAR-10S+hard"
LS_LOW, LS_HIGH = "label smoothing, low", "label smoothing, high"
SETS = (HARD, IN_FILLED, PEOPLE, LS_LOW, LS_HIGH)
"""Label sets that networks learn and are tested against, in the order of the paper's table 1."""
MODES, MODES_S = "CIFAR-10H majority", "CIFAR-10S majority+hard"
"""The modes of both kinds of people as hard labels, which the paper lacks (C15)."""
ELICITED = "CIFAR-10S"
"""Soft labels of the held-out images that have any, without in-fill."""
EPSILON = {LS_LOW: 0.05, LS_HIGH: 0.2}
"""What smoothing leaves off the top class: as much as CIFAR-10H does, and the dense set (S1-16)."""
PER_CLASS = (80, 8)
"""Images of each class that are learnt in the small-data regime (S1-42)."""


def load(
    folder: Path | None, *, sets: tuple[str, ...], near: int, most: int | None = None
) -> Known:
    """Images as in ``cifar10h``, with all label sets of the 10,000 test images."""
    if folder is None:
        raise DataError("The study needs CIFAR-10H: set SFUMATO_DATA to the folder of data sets.")
    known = cifar10h.load(folder, sets=sets, near=near, pretraining=0, most=most)
    answers = read(folder / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(answers, Judgments)
    soft = build(select(answers), "top2-clamp").crowd.mean()
    made = label_sets(known.labels[ORIGINAL], known.labels[PEOPLE], soft)
    return replace(known, labels={**known.labels, **made, ELICITED: soft})


def label_sets(original: LabelSet, people: LabelSet, soft: LabelSet) -> dict[str, LabelSet]:
    """All label sets from original labels, shares of votes, and soft answers about some images.

    Smoothing by β leaves β(K - 1)/K off the top class, so that β = εK/(K - 1) (S1-16).
    """
    classes = len(original.classes)
    return {
        HARD: original,
        IN_FILLED: in_fill(soft, original),
        PEOPLE: people,
        **{
            name: smooth(original, epsilon * classes / (classes - 1))
            for name, epsilon in EPSILON.items()
        },
        MODES: majority_labels(people, "share"),
        MODES_S: in_fill(majority_labels(soft, "share"), original),
    }


def tests(known: Known, split: Split) -> Sequence[Test]:
    """Every label set on the held-out fold, soft answers alone, then ever further images."""
    soft = set(known.labels[ELICITED].items)
    elicited = tuple(item for item in split.test if item in soft)
    crossed = {name: known.labels[name].take(split.test) for name in SETS}
    alone = [Test("elicited", {ELICITED: known.labels[ELICITED].take(elicited)})]
    _, *further = cifar10h.tests(known, split)
    return [Test("held out", crossed), *(alone if elicited else []), *further]


def few(name: str, per_class: int) -> str:
    """The name of the arm that learns so many images of each class.

    >>> few("hard", 8)
    'hard, 8 a class'
    """
    return f"{name}, {per_class} a class"


def _all_images(name: str, known: Known, split: Split, seed: int) -> Target:
    return Target(known.labels[name].take(split.train))


def _few_images(name: str, per_class: int, known: Known, split: Split, seed: int) -> Target:
    """The same images for every label set of a seed, and the fewer among the more."""
    rng = np.random.default_rng([seed, 2])
    kept = small_data(split, known.labels[ORIGINAL], per_class, rng=rng).train
    return Target(known.labels[name].take(kept), items=kept)


ABOUT = {
    HARD: "the original labels",
    IN_FILLED: "soft answers (T2 clamp, γ = 0.1) where there are any, else original ones (S1-17)",
    PEOPLE: "shares of about 51 votes (S0-06)",
    LS_LOW: f"original labels that leave {EPSILON[LS_LOW]} off the top class (S1-16)",
    LS_HIGH: f"original labels that leave {EPSILON[LS_HIGH]} off the top class (S1-16)",
    MODES: "the most frequent vote as a hard label; the paper lacks it (C15)",
    MODES_S: "the modes of soft answers as hard labels, else original ones; the paper lacks it",
}

ARMS: dict[str, ArmKind] = {
    **{name: ArmKind(about, partial(_all_images, name)) for name, about in ABOUT.items()},
    **{
        few(name, count): ArmKind(
            f"{count} images of each class only: {about}", partial(_few_images, name, count)
        )
        for count in PER_CLASS
        for name, about in ABOUT.items()
    },
}

LADDER = (NEAR, *CORRUPTED, *FURTHER)
SAMPLE = 3_000
"""Images of each further set that are tested on, for a CPU."""


def _family(about: str, known: Callable[[Path | None], Known]) -> Family:
    told = f"CIFAR-10 test images with several label sets (paper 2), {about}"
    return Family(told, known, ARMS, cifar10h.splits, tests)


FAMILIES: Mapping[str, Family] = {
    "label-sets": _family(
        "tested on a sample of others", partial(load, sets=LADDER, near=SAMPLE, most=SAMPLE)
    ),
    "label-sets-all": _family(
        "tested on all others", partial(load, sets=LADDER, near=cifar10h.TRAINING_IMAGES)
    ),
    "label-sets-near": _family(
        "tested on a sample of near ones", partial(load, sets=(NEAR,), near=SAMPLE)
    ),
}
