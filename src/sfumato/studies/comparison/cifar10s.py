"""Papers 3 and 4: 7,000 CIFAR-10 test images, of which 900 get another label (S2-29, S2-48).

Every arm learns 6,900 images. Of the 1,000 that people labelled softly 100 are held out, others
each seed; the remaining 900 have the arm's label and all else its original one. Models are tested
on the 3,000 images of the published split against CIFAR-10H, and on the 100 against CIFAR-10S;
the second are far more ambiguous than the first (C14).

Arms and test labels "as released" are what the papers' released training code makes of the same
answers: asked to share out what people left unsaid, it shares out nothing (C1).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.data import load as load_images
from sfumato.data import load_split
from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.alter import (
    in_fill,
    majority_labels,
    random_labels,
    smooth,
    subsample_annotators,
    uniform_labels,
)
from sfumato.labels.build import build
from sfumato.labels.build.distances import confusion_distances
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split, elicited_only, seventy_thirty_with_held_out
from sfumato.learn.targets import in_fill_crowd, judgments_on, votes_of_m
from sfumato.provenance import Step
from sfumato.studies.comparison.setting import ArmKind, Comparison, Family, Known, Target, Test
from sfumato.studies.comparison.tracking import TABLE, tracking_table

__all__ = [
    "ARMS",
    "FAMILY",
    "GAINS_OF_FEW",
    "HELD_OUT",
    "ITEMS",
    "PEOPLE_H",
    "PEOPLE_S",
    "RELEASED_S",
    "SOFT_ANSWERS",
    "VARIETIES",
    "VOTES",
]

PEOPLE_H, PEOPLE_S = "CIFAR-10H", "CIFAR-10S"
"""Whose labels models are held against: about 51 votes an image, or soft labels of about 6."""
GAINS_OF_FEW = (
    ("T2 clamp M=1", f"{PEOPLE_H} M=1"),
    ("T2 clamp M=2", f"{PEOPLE_H} M=2"),
)
"""Soft answers against votes of one person, and of two (paper 4, table 3)."""
RELEASED_S = "CIFAR-10S as released"
"""The soft labels as the released code reads them for its tests (C1)."""
HELD_OUT = 100
BETA = 0.05
"""Of label smoothing, as the papers chose it (S2-25)."""
POOL = 6
"""Soft answers an image that are drawn from, where there are so many (S2-22)."""
VARIETIES = {
    "T1 uniform": "top1-uniform",
    "T1 clamp": "top1-clamp",
    "T2 uniform": "top2-uniform",
    "T2 clamp": "top2-clamp",
    "T1 semantic": "top1-semantic",
    "T2 semantic": "top2-semantic",
    "select top 2": "select-top2",
    # Uniform and clamp alike (C1): one choice without a share for others is a hard label.
    "T1 as released": "votes",
    "T2 as released": "top2-stated",
}
"""Recipes, by the papers' names for the labels they make."""
VOTES = (1, 2, 4, 6, 8, 16, 32)
"""How many of about 51 voters are asked, in arms with fewer (S2-50)."""
SOFT_ANSWERS = (1, 2, 3, 4, 5)
"""How many of those who answered softly are asked, in arms with fewer than ``POOL``."""
ITEMS = (250, 500, 750, 900)
"""How many images are learnt in arms that learn elicited ones only (S2-53)."""


def load(folder: Path | None) -> Known:
    """Images, original labels, votes and soft answers of the 10,000 test images."""
    if folder is None:
        raise DataError("The study needs CIFAR-10S: set SFUMATO_DATA to the folder of data sets.")
    pictures = load_images("cifar10", "test", folder)
    people, soft = _votes_and_answers(folder)
    confused = confusion_distances(people)
    crowds = {
        name: build(soft, recipe, distances=confused if "semantic" in recipe else None).crowd
        for name, recipe in VARIETIES.items()
    }
    split = load_split("cifar10s", folder)
    first = crowds["T2 clamp"].mean()
    return Known(
        examples=Examples(pictures.items, pictures.images),
        labels={
            "original": pictures.original().take(people.items),
            PEOPLE_H: people,
            PEOPLE_S: first,
            RELEASED_S: crowds["T2 as released"].mean(),
        },
        crowds=crowds,
        parts={
            "train": tuple(item for item, part in split.items() if part == "train"),
            "test": tuple(item for item, part in split.items() if part == "test"),
            "elicited": first.items,
        },
    )


def tables(folder: Path | None) -> dict[str, pl.DataFrame]:
    """Whether the soft answers follow the ambiguity that the votes show."""
    assert folder is not None  # or loading would have failed
    people, soft = _votes_and_answers(folder)
    labels = build(soft, VARIETIES["T2 clamp"]).crowd.mean()
    return {TABLE: tracking_table(soft, labels, people)}


def _votes_and_answers(folder: Path) -> tuple[LabelSet, Judgments]:
    """Shares of CIFAR-10H's votes, and CIFAR-10S's answers without the repeated ones."""
    votes = _judgments(folder / "cifar10h" / "cifar10h-counts.npy", "cifar10h")
    soft = select(_judgments(folder / "cifar10s" / "raw_human_data.csv", "cifar10s"))
    return build(votes, "votes").crowd.mean(), soft


def _judgments(path: Path, form: str) -> Judgments:
    found = read(path, form, ReadOptions())
    assert isinstance(found, Judgments)
    return found


Items = tuple[str, ...]
Rng = np.random.Generator
Labels = Callable[[Known, Items, Rng], LabelSet]
"""The labels of an arm for some elicited items."""


def splits(known: Known, comparison: Comparison, seed: int) -> Sequence[Split]:
    """The published split with 100 elicited images held out, others each seed."""
    rng = np.random.default_rng(seed)
    parts = known.parts
    return [
        seventy_thirty_with_held_out(
            parts["train"], parts["test"], parts["elicited"], held_out=HELD_OUT, rng=rng
        )
    ]


def tests(known: Known, split: Split) -> Sequence[Test]:
    """CIFAR-10H and the original labels on the 3,000; CIFAR-10S, read both ways, on the 100."""

    def of(items: Items, *names: str) -> dict[str, LabelSet]:
        return {name: known.labels[name].take(items) for name in names}

    return [
        Test("test", of(split.test, PEOPLE_H, "original"), attacked=PEOPLE_H),
        Test("held out", of(split.second_test, PEOPLE_S, RELEASED_S), attacked=PEOPLE_S),
    ]


def _aggregated(labels: Labels, known: Known, split: Split, seed: int) -> Target:
    changed = labels(known, _elicited(known, split), np.random.default_rng([seed, 1]))
    return Target(in_fill(changed, known.labels["original"].take(split.train)))


def _drawn(labels: Labels, known: Known, split: Split, seed: int) -> Target:
    """A vote drawn afresh from the shares at each presentation."""
    fixed = _aggregated(labels, known, split, seed)
    return Target(fixed.labels, "sampled")


def _separate(variety: str, M: int, known: Known, split: Split, seed: int) -> Target:
    """One of M annotators' own distributions at each presentation (S2-22, S2-50)."""
    pool = _pool(known.crowds[variety], M, _elicited(known, split), seed)
    return Target(in_fill_crowd(pool, known.labels["original"].take(split.train)), "one annotator")


def _mode_of_few(M: int, known: Known, split: Split, seed: int) -> Target:
    """The mode of M soft answers as a hard label; the same answers as ``_separate`` draws from."""
    pool = _pool(known.crowds["T2 clamp"], M, _elicited(known, split), seed)
    hard = _hardened(pool.mean(), np.random.default_rng([seed, 1]))
    return Target(in_fill(hard, known.labels["original"].take(split.train)))


def _only(
    make: Callable[[Known, Split, int], Target], count: int, known: Known, split: Split, seed: int
) -> Target:
    """An arm that learns ``count`` elicited images and no others, fewer among the more (S2-53)."""
    rng = np.random.default_rng([seed, 3])
    fewer = elicited_only(split, known.parts["elicited"], count, rng=rng)
    return replace(make(known, fewer, seed), items=fewer.train)


def _pool(crowd: CrowdLabels, M: int, items: Items, seed: int) -> CrowdLabels:
    rng = np.random.default_rng([seed, 2])
    return subsample_annotators(judgments_on(crowd, items), M, fewer="keep", rng=rng)


def _elicited(known: Known, split: Split) -> Items:
    learnt = set(split.train)
    return tuple(item for item in known.parts["elicited"] if item in learnt)


def _soft(variety: str, known: Known, items: Items, rng: Rng) -> LabelSet:
    return known.crowds[variety].mean().take(items)


def _of(name: str, known: Known, items: Items, rng: Rng) -> LabelSet:
    return known.labels[name].take(items)


def _majority(name: str, known: Known, items: Items, rng: Rng) -> LabelSet:
    return majority_labels(known.labels[name].take(items), "share")


def _votes(M: int, known: Known, items: Items, rng: Rng) -> LabelSet:
    return votes_of_m(known.labels[PEOPLE_H].take(items), M, rng=rng)


def _mode_of_votes(M: int, known: Known, items: Items, rng: Rng) -> LabelSet:
    return _hardened(_votes(M, known, items, rng), rng)


def _hardened(labels: LabelSet, rng: Rng) -> LabelSet:
    """The most probable class as a hard label, one drawn where several tie.

    With few people ties are many; to share them would be the soft label again.
    """
    modes = majority_labels(labels, "share")
    return modes.with_probs(rng.multinomial(1, modes.probs).astype(np.float64), Step("break ties"))


def _smoothed(known: Known, items: Items, rng: Rng) -> LabelSet:
    return smooth(known.labels["original"].take(items), BETA)


def _random(known: Known, items: Items, rng: Rng) -> LabelSet:
    return random_labels(items, known.labels["original"].classes, rng=rng)


def _uniform(known: Known, items: Items, rng: Rng) -> LabelSet:
    return uniform_labels(items, known.labels["original"].classes)


def _hard(known: Known, split: Split, seed: int) -> Target:
    return Target(known.labels["original"].take(split.train))


def _smoothed_all(known: Known, split: Split, seed: int) -> Target:
    return Target(smooth(known.labels["original"].take(split.train), BETA))


ARMS: dict[str, ArmKind] = {
    "hard": ArmKind("the original label of every image", _hard),
    "random": ArmKind("random distributions for the 900 (S2-23)", partial(_aggregated, _random)),
    "uniform": ArmKind("uniform distributions for the 900", partial(_aggregated, _uniform)),
    "label smoothing": ArmKind(
        f"the original labels of all images smoothed by {BETA}, as the papers do (S2-25)",
        _smoothed_all,
    ),
    "label smoothing of the 900": ArmKind(
        f"the original labels of the 900 smoothed by {BETA}, as much as the other arms change",
        partial(_aggregated, _smoothed),
    ),
    PEOPLE_H: ArmKind(
        "shares of about 51 votes for the 900", partial(_aggregated, partial(_of, PEOPLE_H))
    ),
    f"{PEOPLE_H} majority": ArmKind(
        "the most frequent vote as a hard label for the 900; the papers lack it (C15)",
        partial(_aggregated, partial(_majority, PEOPLE_H)),
    ),
    f"{PEOPLE_H} separate": ArmKind(
        "a vote drawn afresh each time for the 900", partial(_drawn, partial(_of, PEOPLE_H))
    ),
    f"{PEOPLE_S} majority": ArmKind(
        "the mode of the averaged soft answers as a hard label for the 900; the papers lack it",
        partial(_aggregated, partial(_majority, PEOPLE_S)),
    ),
    **{
        name: ArmKind(
            f"soft answers read as {recipe}, averaged, for the 900",
            partial(_aggregated, partial(_soft, name)),
        )
        for name, recipe in VARIETIES.items()
    },
    **{
        f"{name} separate": ArmKind(
            f"one of {POOL} soft answers read as {recipe}, drawn afresh each time",
            partial(_separate, name, POOL),
        )
        for name, recipe in VARIETIES.items()
    },
    **{
        f"T2 clamp M={M}": ArmKind(
            f"one of {M} soft answers, drawn afresh each time (S2-50)",
            partial(_separate, "T2 clamp", M),
        )
        for M in SOFT_ANSWERS
    },
    **{
        f"{PEOPLE_H} M={M}": ArmKind(
            f"one of {M} votes, drawn afresh each time (S2-50)",
            partial(_drawn, partial(_votes, M)),
        )
        for M in VOTES
    },
    **{
        f"{PEOPLE_S} M={M} majority": ArmKind(
            f"the mode of the same {M} soft answers as a hard label, ties drawn (C15)",
            partial(_mode_of_few, M),
        )
        for M in SOFT_ANSWERS
    },
    **{
        f"{PEOPLE_H} M={M} majority": ArmKind(
            f"the most frequent of the same {M} votes as a hard label, ties drawn (C15)",
            partial(_aggregated, partial(_mode_of_votes, M)),
        )
        for M in VOTES
    },
}

ARMS |= {
    f"{arm} N'={count}": ArmKind(
        f"{count} elicited images only: {ARMS[source].about.replace(' for the 900', '')}",
        partial(_only, ARMS[source].make, count),
    )
    for arm, source in {
        "hard": "hard",
        PEOPLE_H: f"{PEOPLE_H} separate",
        "T2 clamp": "T2 clamp separate",
        f"{PEOPLE_S} majority": f"{PEOPLE_S} majority",
    }.items()
    for count in ITEMS
}

FAMILY = Family(
    "CIFAR-10 test images with 900 changed labels (papers 3 and 4)",
    load,
    ARMS,
    splits,
    tests,
    tables,
    gains=(GAINS_OF_FEW,),
)
