"""Turn labels into rankings: each item orders the classes, each class orders the items.

A soft label says which of any two classes an item is nearer to, and a column of soft labels
which of any two items is nearer to the class: kn(n+k-2)/2 constraints in n + k ranked lists
(S1-22, S1-28). Equal values are ties and say nothing; NaN was never asked and says nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.plan.embed.lists import Batch, Floats, add_loss, batches, count_pairs

__all__ = ["Rankings", "rank_labels", "rank_scores", "ranking_loss"]


@dataclass(frozen=True, eq=False)
class Rankings:
    """For ``items`` items and ``classes`` classes, who is nearer to whom.

    Objects are numbered items first: item i is object i, class c is object ``items + c``.
    """

    items: int
    classes: int
    lists: tuple[Batch, ...]
    scores: Floats  # (items, classes)

    @property
    def objects(self) -> int:
        """Items and classes together."""
        return self.items + self.classes

    @property
    def constraints(self) -> int:
        """How many triplets the rankings stand for; ties and gaps give none (S1-22, C18).

        >>> rank_scores(np.random.default_rng(0).random((80, 20))).constraints
        78400
        >>> rank_scores(np.eye(3)).constraints
        12
        """
        return sum(count_pairs(batch) for batch in self.lists)


def rank_scores(scores: NDArray[np.floating]) -> Rankings:
    """Rankings from a table of items by classes, where higher means nearer and NaN not asked.

    Rows order the classes of an item, columns the items of a class; as in the paper, columns are
    ordered by the same numbers, although a probability is relative to the item's other classes.
    """
    table = np.array(scores, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(
            f"Rankings need a table of items by classes, not an array of shape {table.shape}."
        )
    if np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise DataError(
            f"The score of item {row} for class {column} is {table[row, column]}; it must be a "
            "number, or NaN if it was not asked."
        )
    lists = _lists(table)
    if not lists or not any(count_pairs(batch) for batch in lists):
        raise DataError("The table ranks nothing: every known score is tied or stands alone.")
    table.flags.writeable = False
    return Rankings(table.shape[0], table.shape[1], lists, table)


def rank_labels(labels: LabelSet) -> Rankings:
    """Rankings from label distributions; one-hot rows give the constraints of hard labels (S1-21).

    >>> rank_labels(LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [0.3, 0.7]])).constraints
    4
    """
    return rank_scores(labels.probs)


def ranking_loss(
    rankings: Rankings, block: Floats, width: float, *, strides: int | None = None
) -> tuple[float, Floats]:
    """Hinge loss over all triplets for squared distances ``block``, and its gradient by them.

    ``block`` has the shape (items, classes); ``width`` and ``strides`` are those of ``lists``.
    """
    distances = np.concatenate([block.ravel(), block.ravel()])  # as rows see them, as columns do
    slopes = np.zeros_like(distances)
    loss = sum(
        add_loss(batch, distances, width, slopes, strides=strides) for batch in rankings.lists
    )
    by_rows, by_columns = slopes.reshape(2, *block.shape)
    return float(loss), by_rows + by_columns


def _lists(table: Floats) -> tuple[Batch, ...]:
    entry = np.arange(table.size, dtype=np.int64).reshape(table.shape)
    by_columns = entry.T + table.size
    if len(table) == table.shape[1]:  # lists of one length are quicker side by side
        return batches(np.concatenate([table, table.T]), np.concatenate([entry, by_columns]))
    return batches(table, entry) + batches(table.T, by_columns)
