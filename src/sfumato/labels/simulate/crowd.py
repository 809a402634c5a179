"""Turn numbers of items, answers and people into who answers what: the parts all simulators share.

Simulated people have names that begin with ``simulated-``, so that no table can pass them
off as real.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet

__all__ = [
    "SIMULATED",
    "allocate",
    "annotator_names",
    "draw_columns",
    "gather",
    "in_class_order",
    "who_answers_what",
]


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
            f"{n_annotators} annotators cannot give {per_item} answers an item: each answers an "
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
