"""Digits that come with the library, judged by simulated people: comparisons without any data.

1,797 real handwritten digits; nobody annotated them. The family shows how a table of arms is made
and run, alone or on a cluster, not what real people know.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.data import load as load_images
from sfumato.data.digits import label_by_neighbours
from sfumato.judgments.judgments import Judgments
from sfumato.labels.alter import majority_labels, matched_smoothing
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import simulate
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split, class_of, stratified_split
from sfumato.learn.train import Recipe
from sfumato.studies.comparison.setting import ArmKind, Comparison, Family, Known, Target, Test

__all__ = ["FAMILY", "PEOPLE", "TABLE"]

PEOPLE = "simulated people"
PER_ITEM, ANNOTATORS = 6, 60
SHARES = (0.7, 0.1, 0.2)
"""For training, choosing and reporting."""


def load(folder: Path | None) -> Known:
    """Digits, original labels, and six simulated people's first and second guesses about each."""
    pictures = load_images("digits")
    answers = simulate(
        "top-two",
        label_by_neighbours(pictures),
        per_item=PER_ITEM,
        annotators=ANNOTATORS,
        rng=np.random.default_rng(0),
    )
    assert isinstance(answers, Judgments)
    crowd = build(answers, "top2-clamp").crowd
    people = crowd.mean()
    return Known(
        examples=Examples(pictures.items, pictures.images),
        labels={"original": pictures.original().take(people.items), PEOPLE: people},
        crowds={PEOPLE: crowd},
    )


def splits(known: Known, comparison: Comparison, seed: int) -> Sequence[Split]:
    """One division of the digits, others each seed."""
    original = known.labels["original"]
    rng = np.random.default_rng(seed)
    return [stratified_split(original.items, class_of(original), SHARES, rng=rng)]


def tests(known: Known, split: Split) -> Sequence[Test]:
    """The part that nobody trained or chose on, against simulated people and original labels."""
    held = {name: labels.take(split.test) for name, labels in known.labels.items()}
    return [Test("test", held, attacked=PEOPLE)]


def _original(known: Known, split: Split, seed: int) -> Target:
    return Target(known.labels["original"])


def _majority(known: Known, split: Split, seed: int) -> Target:
    return Target(_mode(known))


def _soft(known: Known, split: Split, seed: int) -> Target:
    return Target(known.labels[PEOPLE])


def _smoothed(known: Known, split: Split, seed: int) -> Target:
    return Target(matched_smoothing(known.labels["original"], known.labels[PEOPLE]))


def _one_annotator(known: Known, split: Split, seed: int) -> Target:
    return Target(known.crowds[PEOPLE], "one annotator")


def _mode(known: Known) -> LabelSet:
    return majority_labels(known.labels[PEOPLE], "share")


FAMILY = Family(
    "handwritten digits with simulated people, without any data set",
    load,
    {
        "original": ArmKind("the digits' own labels", _original),
        "majority": ArmKind("what most simulated people chose", _majority),
        "soft": ArmKind("the mean of six simulated people's distributions", _soft),
        "smoothed": ArmKind("original labels, as soft on average as people's", _smoothed),
        "one annotator": ArmKind(
            "one simulated person's answer, another each epoch", _one_annotator
        ),
    },
    splits,
    tests,
)

TABLE = Comparison(
    name="digits-table",
    title="Soft labels of simulated people as a table",
    about=(
        "A table of arms on 1,797 real handwritten digits that six simulated people judged. It "
        "needs no data and takes seconds: a comparison to try the frame with, on a cluster too."
    ),
    family="digits",
    arms=("original", "majority", "soft", "smoothed", "one annotator"),
    controls=("original", "majority"),
    networks=("simple-ffn",),
    training=Recipe("simple-ffn", epochs=10, learning_rate=3e-3, weights="best"),
    seeds=3,
    fgsm=(8,),
    attacked_items=100,
)
