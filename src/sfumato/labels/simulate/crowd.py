"""Turn numbers of items, answers and people into who answers what: the parts all simulators share.

Simulated people have names that begin with ``simulated-``, so that no table can pass them
off as real.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import entropy
from sfumato.provenance import Provenance, Step

SIMULATED = "simulated-"
"""How the names of all simulated people begin."""


def annotator_names(count: int) -> tuple[str, ...]:
    """Names that say what their bearers are.

    >>> annotator_names(2)
    ('simulated-0001', 'simulated-0002')
    """
    return tuple(f"{SIMULATED}{number:04d}" for number in range(1, count + 1))


def allocate(
    *, n_items: int, per_item: int, n_annotators: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Who answers about each item, shape (items, per_item): nobody twice about the same one.

    Everybody answers equally often, give or take one. The people line up in a new random order
    again and again, and each item takes the next ``per_item`` of the line.

    >>> seats = allocate(n_items=3, per_item=2, n_annotators=3, rng=np.random.default_rng(0))
    >>> np.bincount(seats.ravel())
    array([2, 2, 2])
    """
    if not 1 <= per_item <= n_annotators:
        raise DataError(
            f"{n_annotators} annotators cannot give {per_item} answers per item: each answers an "
            "item at most once. Ask for at least one answer, and at least as many annotators."
        )
    needed = n_items * per_item
    line = np.empty(-(-needed // n_annotators) * n_annotators, dtype=np.int64)
    for start in range(0, needed, n_annotators):
        keys = rng.random(n_annotators)
        seated = start % per_item  # of the item that goes on from the last line into this one
        keys[line[start - seated : start]] += 1  # they come last, so not about that item again
        line[start : start + n_annotators] = keys.argsort()
    return line[:needed].reshape(n_items, per_item)


def who_answers_what(
    *, n_items: int, per_item: int, n_annotators: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The item and the annotator of each answer, as positions, sorted by item."""
    seats = allocate(n_items=n_items, per_item=per_item, n_annotators=n_annotators, rng=rng)
    return np.repeat(np.arange(n_items), per_item), seats.ravel()


def draw_columns(
    probs: NDArray[np.float64], rows: NDArray[np.int64], *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each entry of ``rows`` a column drawn from that row of ``probs``; never one of mass 0.

    All rows are laid end to end on one line, row r from r to r + 1, so that one search serves
    every draw and no table of (draws, columns) is needed.

    >>> draw_columns(np.eye(2), np.array([1, 0, 1]), rng=np.random.default_rng(0))
    array([1, 0, 1])
    """
    n_rows, width = probs.shape
    ends = np.cumsum(probs, axis=1)
    ends = ends / ends[:, -1:] + np.arange(n_rows)[:, None]  # (rows, columns)
    # A number that rounds up to the end of its row would fall into the next row.
    at = np.minimum(rng.random(len(rows)), 1 - 1e-9) + rows
    return np.searchsorted(ends.ravel(), at, side="right") - rows * width


def gather(names: tuple[str, ...], positions: NDArray[np.int64]) -> pl.Series:
    """The names at the given positions, as one text column."""
    return pl.Series(names, dtype=pl.String).gather(positions)


def in_class_order(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    """The labels with their columns in the order of ``classes``; other classes are an error."""
    if labels.classes == classes:
        return labels
    if set(labels.classes) != set(classes):
        odd = sorted(set(labels.classes) ^ set(classes))
        raise DataError(
            f"The labels and the answers are about different classes: {odd[0]!r} is in one and "
            "not in the other."
        )
    columns = [labels.classes.index(name) for name in classes]
    return LabelSet(
        labels.items, classes, labels.probs[:, columns], labels.weight, labels.provenance
    )


# Turn stated probabilities into a Beta distribution, by its first two moments.

ENDPOINT = 0.001
"""How far inside 0 and 1 a stated 0 or 1 is taken to lie.

People say 100 % again and again; a Beta has no mass at exactly 1. Moved inside, values of
any kind have the moments of some Beta, even when all of them are 0 or 1.
"""

LARGEST = 1e6
"""The largest a + b: so narrow a Beta stands for people who all say the same."""


@dataclass(frozen=True)
class Beta:
    """A distribution over probabilities, with mean a / (a + b).

    >>> round(Beta(1.71, 0.33).mean, 3)
    0.838
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (0 < self.a < np.inf and 0 < self.b < np.inf):
            raise DataError(
                f"The parameters of a Beta distribution are positive numbers, not "
                f"{self.a} and {self.b}."
            )

    @property
    def mean(self) -> float:
        """a / (a + b)."""
        return self.a / (self.a + self.b)

    def draw(self, count: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """``count`` independent probabilities."""
        return rng.beta(self.a, self.b, count)


def fit_beta(values: NDArray[np.float64]) -> Beta:
    """The Beta with the mean m and variance v of the values: a + b = m(1 − m)/v − 1.

    Values at 0 and 1 are first moved inside by ``ENDPOINT``.

    >>> fitted = fit_beta(np.array([0.5, 0.7, 0.9]))  # m = 0.7, v = 0.08/3
    >>> round(fitted.a, 4), round(fitted.b, 4)
    (4.8125, 2.0625)
    """
    if not len(values):
        raise DataError("A Beta distribution cannot be fitted to no values at all.")
    inside = np.clip(values, ENDPOINT, 1 - ENDPOINT)
    mean, variance = float(inside.mean()), float(inside.var())
    size = min(mean * (1 - mean) / max(variance, 1 / LARGEST**2) - 1, LARGEST)
    return Beta(mean * size, (1 - mean) * size)


# Turn people's labels, or a model's predictions, into which items count as disputed.
#
# People answer differently about items that they dispute and items that they agree on, so
# simulated people have habits for both (S2-36). Which is which is told by an entropy: of what
# people say about the item, or, where nobody was asked, of what a model predicts (S2-38).


@dataclass(frozen=True)
class Thresholds:
    """Entropies in nats from which an item counts as disputed, and up to which as agreed."""

    high: float = 0.25
    low: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise DataError(
                f"The low entropy threshold is 0 or more and at most the high one, not "
                f"{self.low} and {self.high}."
            )


THRESHOLDS = Thresholds()
"""Those by which the 886 and 114 images of CIFAR-10S were chosen (S2-36)."""


def route_high(labels: LabelSet, thresholds: Thresholds = THRESHOLDS) -> NDArray[np.bool_]:
    """Which items count as disputed (S2-36): entropy in nats at or above the high threshold.

    At or below the low threshold they count as agreed. Between the two, where the data of the
    thesis has no item, the nearer threshold decides.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [1, 0]])  # 0.325 and 0 nats
    >>> route_high(labels)
    array([ True, False])
    """
    return entropy(labels) >= (thresholds.high + thresholds.low) / 2


def route_items(
    items: Sequence[str], labels: LabelSet, thresholds: Thresholds = THRESHOLDS
) -> NDArray[np.bool_]:
    """Which of the given items count as disputed by ``labels``; an item may occur several times.

    The labels are people's or a model's (S2-38). An item that they lack is an error: it would
    have to be routed by a guess.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [1, 0]])
    >>> route_items(["b", "a", "b"], labels)
    array([False,  True, False])
    """
    high = dict(zip(labels.items, route_high(labels, thresholds).tolist(), strict=True))
    missing = list(dict.fromkeys(item for item in items if item not in high))
    if missing:
        raise DataError(
            f"The labels to route by lack item {missing[0]!r} ({len(missing)} of "
            f"{len(set(items))} items are missing). Give labels or predictions of every item, or "
            "route by none."
        )
    return np.array([high[item] for item in items], dtype=np.bool_)


# Turn random centres into points around them, with the labels their distances give (S1-19).


@dataclass(frozen=True, eq=False)
class Clusters:
    """Points, the centres of their classes, and both kinds of labels."""

    positions: NDArray[np.float64]  # (items, dimensions)
    centres: NDArray[np.float64]  # (classes, dimensions)
    hard: LabelSet
    """All mass on the class of the nearest centre."""
    soft: LabelSet
    """Mass by distance to every centre (S1-10)."""


def gaussian_clusters(
    *,
    items: int,
    classes: int,
    dimensions: int,
    spread: float = 1.0,
    modes: int = 1,
    rng: np.random.Generator,
) -> Clusters:
    """Points around random centres, dealt evenly to the classes (S1-19).

    Centres are drawn from N(0, I), the points of a class from N(centre, spread² I). A label goes
    by distance: a point may lie nearer to another centre than to the one it was drawn around. A
    class with several ``modes`` has as many centres, one after the other, and the nearest counts
    (S1-63).
    """
    if min(items, classes, dimensions, modes) < 1 or spread < 0:
        raise DataError(
            f"Clusters need at least one item, class and dimension and a spread of 0 or more; "
            f"found {items} items, {classes} classes, {dimensions} dimensions, spread {spread}."
        )
    centres = rng.standard_normal((classes * modes, dimensions))
    around = rng.permutation(np.arange(items) % len(centres))  # (items,)
    positions = centres[around] + spread * rng.standard_normal((items, dimensions))
    step = Step(
        "simulate Gaussian clusters",
        {"items": items, "classes": classes, "dimensions": dimensions, "spread": spread,
         **({"modes": modes} if modes > 1 else {})},
        simulated=True,
    )  # fmt: skip
    hard, soft = distance_labels(positions, centres, modes=modes, provenance=(step,))
    return Clusters(positions, centres, hard, soft)


def distance_labels(
    positions: NDArray[np.float64],
    centres: NDArray[np.float64],
    *,
    modes: int = 1,
    provenance: Provenance = (),
) -> tuple[LabelSet, LabelSet]:
    """Hard and soft labels of points: the nearest centre, and l_i ∝ exp(−‖x − C_i‖) (S1-10).

    Of the ``modes`` that a class has the nearest counts. Items are named ``point-1``, … and
    classes ``class-1``, ….

    >>> hard, soft = distance_labels(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    >>> hard.probs, soft.probs.round(3)  # 1 / (1 + 1/e) = 0.731
    (array([[1., 0.]]), array([[0.731, 0.269]]))
    """
    distances = cdist(positions, centres).reshape(len(positions), -1, modes).min(axis=2)
    items = tuple(f"point-{number}" for number in range(1, len(positions) + 1))
    classes = tuple(f"class-{number}" for number in range(1, distances.shape[1] + 1))
    hard = hard_labels(items, classes, distances.argmin(axis=1), provenance)
    return hard, LabelSet(items, classes, softmax(-distances, axis=1), provenance=provenance)
