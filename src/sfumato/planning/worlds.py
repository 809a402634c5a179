"""Turn numbers of items, classes and dimensions into a generated world and its labels of each form.

A world is simulated: class centres drawn from N(0, I) in d dimensions, items around them (S1-19).
What is true in it are the cosines between any two of its points, items and centres alike, as seen
from the origin (S1-29). Labels go by distance (S1-10); a label of any form is a table of items by
classes in which higher means nearer and NaN that nobody was asked (``embed.rank_scores`` reads it).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.errors import DataError
from sfumato.labels.alter import class_information
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import gaussian_clusters
from sfumato.names import find
from sfumato.planning.embed.rankings import Floats, Ints
from sfumato.planning.information import AskedForm
from sfumato.stats import cosines

PCA = "pca"
"""Not a form people answer in: codes made from the true points, the bound for k̂ numbers (S1-13)."""
SEARCHED = "searched"
"""Codes of k̂ numbers that a search finds from PCA codes on (S1-62): no worse than they are."""
CODES = (PCA, SEARCHED)

Purpose = Literal["world", "fit", "channel"]
"""What a random stream of a point is for."""


@dataclass(frozen=True, eq=False)
class World:
    """Simulated items and classes as points, and the soft labels their distances give."""

    items: Floats  # (items, dimensions)
    classes: Floats  # (classes, dimensions)
    soft: LabelSet

    @property
    def points(self) -> Floats:
        """Items first, then class centres, as ``embed`` numbers its objects."""
        return np.concatenate([self.items, self.classes])

    @cached_property
    def similarity(self) -> Floats:
        """What is true: cosines between all points."""
        return cosines(self.points)

    @cached_property
    def nearness(self) -> Ints:
        """For each item, the place of every class: 0 is the nearest.  (items, classes)"""
        return np.argsort(np.argsort(-self.soft.probs, axis=1, kind="stable"), axis=1)

    @cached_property
    def telling(self) -> Ints:
        """Classes by what their column tells about which items are alike, the most first (S1-12).

        By mutual information with the true similarities of items; equals by their number.
        """
        n = len(self.items)
        told = class_information(self.soft, self.similarity[:n, :n])
        return np.argsort(-told.round(12), kind="stable")


@dataclass(frozen=True)
class Labelling:
    """How labels of a form are read off a world."""

    about: str
    scores: Callable[[World, int], Floats]
    """Of a world and k̂; a form without one does not read it."""
    has_kept: bool


@dataclass(frozen=True)
class Ask:
    """A form of label, and how many classes or numbers it keeps where it has a k̂."""

    form: str
    kept: int | None = None


@dataclass(frozen=True)
class Point:
    """One simulated world and the labels to try in it; equal worlds have equal numbers in it."""

    items: int
    classes: int
    dimensions: int
    seed: int
    asks: tuple[Ask, ...]
    flipped: float = 0.0
    """Share of triplet answers that are turned round, each independently (S1-20, S1-27)."""
    spread: float = 1.0
    """Standard deviation of items around their class centre; that of centres is 1."""

    def __post_init__(self) -> None:
        AskedForm(self.items, self.classes)  # says what is wrong with them
        if self.dimensions < 1:
            raise DataError(f"A world has 1 dimension or more, not {self.dimensions}.")
        if self.seed < 0:
            raise DataError(f"The seed is {self.seed}; give a whole number from 0.")
        if not 0 <= self.flipped <= 0.5:
            raise DataError(
                f"The share of flipped answers is {self.flipped}; give 0 to 0.5, where answers "
                "are guesses."
            )
        for ask in self.asks:
            _check_ask(ask, self)


def draw_world(
    *, items: int, classes: int, dimensions: int, spread: float = 1.0, rng: np.random.Generator
) -> World:
    """A world of Gaussian clusters, items dealt evenly to the classes (S1-19).

    >>> world = draw_world(items=5, classes=3, dimensions=2, rng=np.random.default_rng(0))
    >>> world.points.shape, world.similarity.shape
    ((8, 2), (8, 8))
    """
    AskedForm(items, classes)  # says what is wrong with them
    drawn = gaussian_clusters(
        items=items, classes=classes, dimensions=dimensions, spread=spread, rng=rng
    )
    return World(drawn.positions, drawn.centres, drawn.soft)


def world_at(point: Point) -> World:
    """The world of a point: the same for the same n, k, d, spread and seed, whatever is asked."""
    return draw_world(
        items=point.items,
        classes=point.classes,
        dimensions=point.dimensions,
        spread=point.spread,
        rng=stream(point, "world"),
    )


def stream(point: Point, purpose: Purpose) -> np.random.Generator:
    """A stream of random numbers for one purpose, so that what is asked changes no other."""
    place = ("world", "fit", "channel").index(purpose)
    return np.random.default_rng([point.seed, point.items, point.classes, point.dimensions, place])


def scores_of(world: World, form: str, kept: int | None = None) -> Floats:
    """The labels of a form, items by classes; higher is nearer, NaN was not asked.

    >>> world = draw_world(items=4, classes=3, dimensions=2, rng=np.random.default_rng(0))
    >>> scores_of(world, "yes-no-unsure")
    array([[2., 0., 1.],
           [1., 0., 2.],
           [1., 0., 2.],
           [1., 0., 2.]])
    """
    how = find(LABELS, form, what="form of label")
    classes = len(world.classes)
    if not how.has_kept:
        return how.scores(world, classes)
    if kept is None or not 1 <= kept <= classes:
        raise DataError(
            f"Labels of the form {form!r} keep {kept} of {classes} classes; give 1 to {classes}."
        )
    return how.scores(world, kept)


def _check_ask(ask: Ask, point: Point) -> None:
    if ask.form in CODES:
        if point.flipped:
            raise DataError("Codes such as PCA's are no answers, so none of them can be flipped.")
        has_kept = True
    else:
        has_kept = find(LABELS, ask.form, what="form of label").has_kept
    if has_kept and (ask.kept is None or not 1 <= ask.kept <= point.classes):
        raise DataError(
            f"The form {ask.form!r} keeps {ask.kept} of {point.classes} classes; give 1 to "
            f"{point.classes}."
        )
    if not has_kept and ask.kept is not None:
        raise DataError(f"The form {ask.form!r} has no k̂, but {ask.kept} was given.")


def _hard(world: World, kept: int) -> Floats:
    return (world.nearness == 0).astype(np.float64)


def _soft(world: World, kept: int) -> Floats:
    return world.soft.probs


def _sparse(world: World, kept: int) -> Floats:
    # not renormalised: the paper sets entries to 0 and lets the others be
    return np.where(world.nearness < kept, world.soft.probs, 0.0)


def _typicality(world: World, kept: int) -> Floats:
    return _sparse(world, 1)


def _top_class(world: World, kept: int) -> Floats:
    table = np.full_like(world.soft.probs, np.nan)
    chosen = world.telling[:kept]
    table[:, chosen] = world.soft.probs[:, chosen]
    return table


def _top_class_zero(world: World, kept: int) -> Floats:
    return np.nan_to_num(_top_class(world, kept), nan=0.0)


def _yes_no_unsure(world: World, kept: int) -> Floats:
    return np.clip(2.0 - world.nearness, 0.0, None)


LABELS: dict[str, Labelling] = {
    "hard": Labelling("the nearest class", _hard, False),
    "soft": Labelling("a number for every class", _soft, False),
    "sparse": Labelling("numbers for the k̂ nearest classes of each item", _sparse, True),
    "top-class": Labelling("numbers for the same k̂ classes on every item", _top_class, True),
    "top-class-zero": Labelling(
        "the same, and 0 for all other classes, as the paper has it", _top_class_zero, True
    ),
    "yes-no-unsure": Labelling(
        "yes for the nearest class, unsure for the next", _yes_no_unsure, False
    ),
    "typicality": Labelling("a number for the nearest class", _typicality, False),
}
"""Forms of labels by the names of ``information.FORMS``; "top-class-zero" stands beside them."""
