"""Turn many judgments an item into few, as if fewer people had been asked (S3-11).

Both functions draw without replacement. Single judgments are drawn where they are known;
for votes the table of counts is enough, because votes for one class are interchangeable.
"""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels
from sfumato.provenance import Step

__all__ = ["Fewer", "checked_counts", "subsample_annotators", "subsample_counts"]

Fewer = Literal["error", "keep"]
"""What an item with fewer judgments than asked for does: an error, or it keeps all it has."""


def subsample_annotators(
    crowd: CrowdLabels, M: int, *, fewer: Fewer = "error", rng: np.random.Generator
) -> CrowdLabels:
    """``M`` judgments of each judged item, drawn without replacement (S3-11).

    A person who answered an item twice counts twice, so take repeats out first.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    >>> len(subsample_annotators(crowd, 1, rng=np.random.default_rng(0)))
    1
    """
    sizes = np.bincount(crowd.item, minlength=len(crowd.items))
    short = np.flatnonzero((sizes > 0) & (sizes < M))
    where = f"Item {crowd.items[short[0]]!r}" if len(short) else ""
    _check_enough(M, fewer, short=short, where=where, sizes=sizes)
    shuffled = np.lexsort((rng.random(len(crowd)), crowd.item))  # by item, random inside
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(crowd)) - starts[crowd.item[shuffled]]  # 0, 1, … inside each item
    drawn = np.zeros(len(crowd), dtype=np.bool_)
    drawn[shuffled[place < M]] = True
    return crowd.take(drawn, Step("sub-sample annotators", {"M": M, "fewer": fewer}))


def subsample_counts(
    counts: NDArray[np.integer] | NDArray[np.float64],
    M: int,
    *,
    fewer: Fewer = "error",
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """``M`` votes of each row of a table of votes (items, classes), without replacement (S3-11).

    Each row is a draw from the multivariate hypergeometric distribution. A row without any
    votes stays without.

    >>> subsample_counts(np.array([[51, 0], [0, 50]]), 3, rng=np.random.default_rng(0))
    array([[3, 0],
           [0, 3]])
    """
    table = checked_counts(counts)
    sizes = table.sum(axis=1)
    short = np.flatnonzero((sizes > 0) & (sizes < M))
    where = f"Row {short[0]} of the table" if len(short) else ""
    _check_enough(M, fewer, short=short, where=where, sizes=sizes)
    drawn = np.zeros_like(table)
    wanted, behind = np.minimum(sizes, M), sizes  # still to draw, and from how many votes
    for k in range(table.shape[1]):
        behind = behind - table[:, k]
        drawn[:, k] = rng.hypergeometric(table[:, k], behind, wanted)
        wanted = wanted - drawn[:, k]
    return drawn


def checked_counts(
    counts: NDArray[np.integer] | NDArray[np.float64],
) -> NDArray[np.int64]:
    """The table of votes (items, classes) as whole numbers, or an error that names the place.

    >>> checked_counts(np.array([[2.0, 1.0]]))
    array([[2, 1]])
    """
    table = np.asarray(counts)
    if table.ndim != 2:
        raise DataError(f"The counts have shape {table.shape}; expected a row an item.")
    bad = ~(np.isfinite(table) & (table >= 0) & (table == np.rint(table)))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"Row {row}, column {column} of the counts is {table[row, column]}; "
            "votes are whole numbers of zero or more."
        )
    return table.astype(np.int64)


def _check_enough(
    M: int, fewer: Fewer, *, short: NDArray[np.intp], where: str, sizes: NDArray[np.int64]
) -> None:
    if M < 1:
        raise DataError(f"{M} judgments an item were asked for; ask for 1 or more.")
    match fewer:
        case "keep":
            return
        case "error":
            if len(short):
                raise DataError(
                    f"{where} has {sizes[short[0]]} judgments, fewer than the {M} asked for "
                    f'({len(short)} items have too few). Ask for fewer, or use fewer="keep".'
                )
        case _:
            assert_never(fewer)
