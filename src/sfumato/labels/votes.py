"""Hard choices as integer codes: the form that vote-counting aggregators read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.provenance import Provenance, Step


@dataclass(frozen=True, eq=False)
class Votes:
    """One entry per judgment; ``item``, ``annotator`` and ``label`` are positions in the names.

    ``annotator`` is ``NOT_RECORDED`` where the file does not say whose vote it was.
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    item: NDArray[np.signedinteger]  # (judgments,)
    annotator: NDArray[np.signedinteger]  # (judgments,)
    label: NDArray[np.signedinteger]  # (judgments,)
    provenance: Provenance = ()

    def __len__(self) -> int:
        return len(self.item)

    def require_annotators(self, aggregator: str) -> None:
        """Refuse votes whose authors are unknown, for methods that model people."""
        unknown = int((self.annotator == NOT_RECORDED).sum())
        if unknown:
            raise DataError(
                f"{aggregator!r} models each annotator, but {unknown} of {len(self)} judgments do "
                "not say who gave them. Use 'vote-shares' or 'shrunk-shares', which need no names."
            )


def counts(votes: Votes) -> NDArray[np.float64]:
    """Votes for each class, shape (items, classes).

    >>> votes = Votes(("a",), ("p", "q"), ("x", "y"), *np.array([[0, 0], [0, 1], [1, 1]]))
    >>> counts(votes)
    array([[0., 2.]])
    """
    width = len(votes.classes)
    cell = votes.item.astype(np.int64) * width + votes.label
    flat = np.bincount(cell, minlength=len(votes.items) * width)
    return flat.reshape(len(votes.items), width).astype(np.float64)


def votes_of(crowd: CrowdLabels) -> Votes:
    """Each judgment's most probable class; a judgment with a tie at the top casts no vote.

    How many cast none is in the provenance.
    """
    top = crowd.answers.max(axis=1, keepdims=True)
    clear = ((crowd.answers >= top - 1e-12).sum(axis=1) == 1)[crowd.said]
    settings: dict[str, int] = {"judgments": len(crowd), "tied_no_vote": int((~clear).sum())}
    return Votes(
        crowd.items,
        crowd.annotators,
        crowd.classes,
        crowd.item[clear],
        crowd.annotator[clear],
        crowd.answers.argmax(axis=1)[crowd.said[clear]],
        (*crowd.provenance, Step("take top choices", dict(settings))),
    )


# From three columns, one row per vote, to ``Votes``: the way in for a table already in memory.


Column = Sequence[Any] | NDArray[Any]

DENSE = 8
"""Integer ids that span at most so many times the number of rows are counted, not hashed."""


def votes_of_columns(
    item: Column,
    annotator: Column,
    label: Column,
    *,
    provenance: Provenance = (),
) -> Votes:
    """Votes from columns of ids, words or numbers, in any order of rows.

    Columns of a data frame can be passed as they are. Numbers become names by ``str``; items,
    annotators and classes are those that occur, in ascending order.

    >>> votes = votes_of_columns(["x", "y", "x"], [7, 7, 3], ["cat", "dog", "dog"])
    >>> votes.annotators, votes.annotator.tolist(), votes.classes
    (('3', '7'), [1, 1, 0], ('cat', 'dog'))
    """
    columns = {"item": item, "annotator": annotator, "label": label}
    coded = {what: _encode(column, what) for what, column in columns.items()}
    lengths = {what: len(codes) for what, (_, codes) in coded.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"The columns have different lengths: {lengths}. Each vote needs all three."
        )
    (items, of_item), (annotators, of_annotator), (classes, of_label) = coded.values()
    return Votes(items, annotators, classes, of_item, of_annotator, of_label, provenance)


def _encode(column: Column, what: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Distinct values in ascending order as names, and each row's position among them."""
    if not isinstance(column, list | tuple):
        array = np.asarray(column)
        if array.dtype.kind in "iu" and len(array):
            low, span = int(array.min()), int(array.max()) - int(array.min())
            if span <= DENSE * len(array):
                return _encode_dense(array, low, span)
        column = list(array.tolist())
    present = set(column)
    if any(value is None or value != value for value in present):
        raise DataError(f"Column {what!r} has an empty value; drop that row or fill it in.")
    try:
        values = sorted(present)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in present}))
        raise DataError(
            f"Column {what!r} mixes values of different types ({kinds}); make them all text."
        ) from None
    code = {value: position for position, value in enumerate(values)}
    codes = np.fromiter(map(code.__getitem__, column), dtype=np.int32, count=len(column))
    return tuple(map(str, values)), codes


def _encode_dense(
    array: NDArray[Any], low: int, span: int
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    shifted = array - low if low else array
    present = np.zeros(span + 1, dtype=bool)
    present[shifted] = True
    place = np.cumsum(present, dtype=np.int32) - np.int32(1)
    names = tuple(map(str, (np.flatnonzero(present) + low).tolist()))
    return names, place[shifted]
