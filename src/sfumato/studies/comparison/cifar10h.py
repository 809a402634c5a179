"""Paper 1: the 10,000 CIFAR-10 test images, each judged by about 51 people, learnt in folds.

Networks learn all folds but one and are tested on the fold that was left out, against people and
against original labels, and on images ever further from it (S0-24, S0-26, S0-44): the 50,000
training images of CIFAR-10, which change roles with the test images, and other collections
where the folder of data sets has them. Nothing is chosen: epochs and rates are fixed (C7).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.data import load as load_images
from sfumato.errors import DataError
from sfumato.evaluation.score import ensemble
from sfumato.judgments.formats import read
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.alter import class_level, majority_labels, matched_smoothing
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.fit import Presentation
from sfumato.learn.folds import Split, class_of, k_folds
from sfumato.learn.published import published_mixing
from sfumato.studies.comparison.cifar10h_sets import (
    CORRUPTED,
    FURTHER,
    NEAR,
    V4,
    V6,
    Far,
    corrupted,
    further,
)
from sfumato.studies.comparison.setting import ArmKind, Comparison, Family, Known, Target, Test
from sfumato.studies.rescore.stored import BEST, read_stored

__all__ = ["FAMILIES", "LADDER", "ORIGINAL", "PEOPLE", "TRAINED_ON", "load"]

PEOPLE, ORIGINAL = "CIFAR-10H", "original"
"""Whose labels of held-out images models are held against: about 51 votes, or the old labels."""
TRAINED_ON = "original, images trained on"
"""The original labels of images that the network learnt: what paper 1 attacks mostly (C3)."""
ATTACKED = 500
"""How many images that were trained on are attacked, at most."""
TRAINING_IMAGES = 50_000


def load(
    folder: Path | None,
    *,
    sets: tuple[str, ...],
    near: int,
    pretraining: int,
    most: int | None = None,
) -> Known:
    """Images and labels, and the further ``sets`` that are there, ``most`` images of each.

    The first ``near`` training images of one fixed random order are tested on, where they are
    among the sets, and the next ``pretraining`` are learnt before.
    """
    if folder is None:
        raise DataError("The study needs CIFAR-10H: set SFUMATO_DATA to the folder of data sets.")
    pictures = load_images("cifar10", "test", folder)
    votes = read(folder / "cifar10h" / "cifar10h-counts.npy", "cifar10h", ReadOptions())
    assert isinstance(votes, Judgments)
    original = pictures.original()
    people = build(votes, "votes").crowd.mean().take(original.items)
    order = np.random.default_rng(0).permutation(TRAINING_IMAGES).tolist()
    learnt = _training_images(folder, order[near : near + pretraining])
    tested, missing = _tested(folder, order[:near], sets, most)
    networks, untold = _networks(folder, original)
    images = [
        pictures.images,
        *(np.asarray(one.examples.images, np.uint8) for one in tested.values()),
    ]
    items = [*pictures.items, *(item for one in tested.values() for item in one.labels.items)]
    return Known(
        examples=Examples(tuple(items), np.concatenate(images)),
        labels={
            PEOPLE: people,
            ORIGINAL: original,
            **networks,
            **{name: one.labels for name, one in tested.items()},
        },
        parts={name: one.labels.items for name, one in tested.items()},
        pretraining=None if learnt is None else (learnt.examples, learnt.labels),
        missing=(*missing, *untold),
    )


def _tested(
    folder: Path, near: Sequence[int], sets: tuple[str, ...], most: int | None
) -> tuple[dict[str, Far], tuple[str, ...]]:
    """What is tested on beside held-out images, and what could not be."""
    found: dict[str, Far] = {}
    images = _training_images(folder, near) if NEAR in sets else None
    if images is not None:
        found[NEAR] = images
        found |= {name: one for name, one in corrupted(images).items() if name in sets}
    others, missing = further(folder, sets, most)
    return found | others, missing


def _training_images(folder: Path, rows: Sequence[int]) -> Far | None:
    """CIFAR-10 training images under names that test images do not have."""
    if not len(rows):
        return None
    found = load_images("cifar10", "train", folder, items=[str(row) for row in rows])
    items = tuple(f"train/{item}" for item in found.items)
    labels = LabelSet(items, found.classes, found.original().probs, provenance=found.provenance)
    return Far(Examples(items, found.images), labels)


def _networks(folder: Path, original: LabelSet) -> tuple[dict[str, LabelSet], tuple[str, ...]]:
    """What the published networks believe about the test images, one of them and all together."""
    try:
        stored = read_stored(folder, CIFAR10)
    except DataError as error:
        told = f"Labels by distillation and of the ensemble cannot be learnt here: {error}"
        return {}, (told,)
    by_name = {"distilled": stored[BEST], "ensemble": ensemble(stored)}
    return {name: labels.take(original.items) for name, labels in by_name.items()}, ()


def splits(known: Known, comparison: Comparison, seed: int) -> Sequence[Split]:
    """Folds with the same mix of classes, dealt anew each seed; nothing is set aside to choose on.

    One fold is not cut out of others: a single fold stands for the first of three.
    """
    original = known.labels[ORIGINAL]
    dealt = k_folds(
        original.items,
        max(comparison.folds, 3),
        strata=class_of(original),
        selection="none",
        rng=np.random.default_rng(seed),
    )
    return dealt[: comparison.folds]


def tests(known: Known, split: Split) -> Sequence[Test]:
    """People and original labels on the held-out fold, then every further collection."""
    held_out = {name: known.labels[name].take(split.test) for name in (PEOPLE, ORIGINAL)}
    return [
        Test("held out", held_out, attacked=ORIGINAL),
        *(
            Test(name, {name: known.labels[name].take(items)})
            for name, items in known.parts.items()
        ),
    ]


def attacked_tests(known: Known, split: Split) -> Sequence[Test]:
    """The held-out fold, and images that were trained on; both are attacked (C3)."""
    rows = np.random.default_rng(0).permutation(len(split.train))[:ATTACKED]
    learnt = tuple(split.train[row] for row in rows)
    return [
        tests(known, split)[0],
        Test("trained on", {TRAINED_ON: known.labels[ORIGINAL].take(learnt)}, attacked=TRAINED_ON),
    ]


Labels = Callable[[LabelSet, LabelSet], LabelSet]
"""An arm's labels from people's and original ones of the training items."""


def _target(make: Labels, presentation: Presentation, known: Known, split: Split, _: int) -> Target:
    people, original = (known.labels[name].take(split.train) for name in (PEOPLE, ORIGINAL))
    return Target(make(people, original), presentation)


def _of_networks(name: str, known: Known, split: Split, seed: int) -> Target:
    if name not in known.labels:
        raise DataError(
            f"The arm {name!r} learns what published networks believe; put cifar10h-predictions "
            "into the folder of data sets, or leave the arm out."
        )
    return Target(known.labels[name].take(split.train))


def _mixed(known: Known, split: Split, seed: int) -> Target:
    return Target(known.labels[ORIGINAL].take(split.train), mixing=published_mixing("mixup"))


def _as_pretrained(known: Known, split: Split, seed: int) -> Target:
    return Target(known.labels[ORIGINAL].take(split.train), use="as pretrained")


def _people(people: LabelSet, original: LabelSet) -> LabelSet:
    return people


def _original(people: LabelSet, original: LabelSet) -> LabelSet:
    return original


def _majority(people: LabelSet, original: LabelSet) -> LabelSet:
    return majority_labels(people, "share")


def _smoothed(people: LabelSet, original: LabelSet) -> LabelSet:
    return matched_smoothing(original, people)


ARMS: dict[str, ArmKind] = {
    "pretrained": ArmKind("the network as pretraining left it (S0-27)", _as_pretrained),
    "hard": ArmKind(
        "the original label of every image (S0-07)", partial(_target, _original, "fixed")
    ),
    "hard + mixup": ArmKind("original labels, every batch mixed (S0-29, S0-30)", _mixed),
    "category": ArmKind(
        "for each original class, the mean of people's labels of the training images (S0-08)",
        partial(_target, class_level, "fixed"),
    ),
    "soft": ArmKind("shares of about 51 votes (S0-06)", partial(_target, _people, "fixed")),
    "sampled": ArmKind(
        "a vote drawn afresh from the shares each epoch (S0-09)",
        partial(_target, _people, "sampled"),
    ),
    "majority": ArmKind(
        "the most frequent vote as a hard label; the paper lacks it (S0-49, C15)",
        partial(_target, _majority, "fixed"),
    ),
    "smoothed": ArmKind(
        "original labels, smoothed until they are as soft as people's; the paper lacks it",
        partial(_target, _smoothed, "fixed"),
    ),
    "distilled": ArmKind(
        f"what {BEST} believes, trained on the 50,000 by the authors (S0-10)",
        partial(_of_networks, "distilled"),
    ),
    "ensemble": ArmKind(
        "the mean of what eight networks believe, trained on the 50,000 by the authors (S0-11)",
        partial(_of_networks, "ensemble"),
    ),
}

LADDER = (NEAR, *CORRUPTED, *FURTHER)
AFTER_TUNING = (NEAR, V6, V4)
NEAR_IMAGES, PRETRAINING_IMAGES, FAR_IMAGES = 3_000, 10_000, 3_000
"""How many there are for a CPU."""


def _family(
    about: str,
    tested: Callable[[Known, Split], Sequence[Test]],
    sets: tuple[str, ...],
    *,
    near: int,
    pretraining: int,
    most: int | None,
) -> Family:
    known = partial(load, sets=sets, near=near, pretraining=pretraining, most=most)
    told = f"CIFAR-10 test images with people's votes (paper 1), {about}"
    return Family(told, known, ARMS, splits, tested)


_sampled = partial(_family, near=NEAR_IMAGES, most=FAR_IMAGES)
_whole = partial(_family, most=None)

FAMILIES: Mapping[str, Family] = {
    "cifar10h": _sampled("tested ever further away", tests, LADDER, pretraining=0),
    "cifar10h-tuned": _sampled(
        "after pretraining", tests, AFTER_TUNING, pretraining=PRETRAINING_IMAGES
    ),
    "cifar10h-attacked": _sampled(
        "after pretraining, under attack", attacked_tests, (), pretraining=PRETRAINING_IMAGES
    ),
    "cifar10h-all": _whole(
        "tested on all training images and further away",
        tests,
        LADDER,
        near=TRAINING_IMAGES,
        pretraining=0,
    ),
    "cifar10h-tuned-all": _whole(
        "after pretraining on all training images",
        tests,
        (V6, V4),
        near=0,
        pretraining=TRAINING_IMAGES,
    ),
    "cifar10h-attacked-all": _whole(
        "after pretraining on all training images, under attack",
        attacked_tests,
        (),
        near=0,
        pretraining=TRAINING_IMAGES,
    ),
}
"""With samples of the training images, for a CPU, and with all of them."""
