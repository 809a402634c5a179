"""The two label types that flow through everything: ``LabelSet`` and ``CrowdLabels``.

Human labels, simulated labels and model predictions are all ``LabelSet``s: one row of
probabilities per item. ``CrowdLabels`` keeps one row per judgment. Both are frozen and
checked when made, so nothing after the border can hold a row that does not sum to one.
"""

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.provenance import Provenance, Step

SUM_TOLERANCE = 1e-6
"""How far a row may be from one: predictions stored as float32 are off by about 1e-7."""

NOT_RECORDED = -1
"""The annotator code of a judgment whose author is unknown."""


@dataclass(frozen=True, eq=False)
class LabelSet:
    """One row per item, one column per class; each row sums to one.

    ``weight`` counts the judgments behind each row; left out it is zero (a model's beliefs).

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]])
    >>> labels.probs[0, 0], len(labels)
    (np.float64(0.75), 2)
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    probs: NDArray[np.float64]  # (items, classes)
    weight: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # (items,)
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "probs", _frozen(self.probs, np.float64))
        weight = self.weight if np.size(self.weight) else np.zeros(len(self.items))
        object.__setattr__(self, "weight", _frozen(weight, np.float64))
        _check_unique(self.items, "item")
        _check_unique(self.classes, "class")
        _check_rows(self.probs, self.classes, lambda row: f"item {self.items[row]!r}", self.items)
        if self.weight.shape != (len(self.items),):
            raise DataError(
                f"There are {len(self.items)} items but weights of shape {self.weight.shape}."
            )

    def __len__(self) -> int:
        return len(self.items)

    def take(self, items: Sequence[str]) -> "LabelSet":
        """The rows of the given items, in the given order; an unknown item is an error."""
        position = {item: row for row, item in enumerate(self.items)}
        missing = [item for item in items if item not in position]
        if missing:
            raise DataError(
                f"Item {missing[0]!r} has no label ({len(missing)} of {len(items)} without one)."
            )
        rows = np.array([position[item] for item in items], dtype=np.int64)
        return LabelSet(
            tuple(items), self.classes, self.probs[rows], self.weight[rows], self.provenance
        )

    def with_probs(self, probs: NDArray[np.float64], step: Step) -> "LabelSet":
        """The same items and classes with other probabilities, one step later."""
        return LabelSet(self.items, self.classes, probs, self.weight, (*self.provenance, step))


@dataclass(frozen=True, eq=False)
class CrowdLabels:
    """One row per judgment: which item, whose, and the distribution it stands for.

    ``item`` and ``annotator`` are positions in ``items`` and ``annotators``;
    ``NOT_RECORDED`` stands for a person the file does not name.
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    item: NDArray[np.int64]  # (judgments,)
    annotator: NDArray[np.int64]  # (judgments,)
    probs: NDArray[np.float64]  # (judgments, classes)
    provenance: Provenance = field(default=())

    def __post_init__(self) -> None:
        for name in ("items", "annotators", "classes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "item", _frozen(self.item, np.int64))
        object.__setattr__(self, "annotator", _frozen(self.annotator, np.int64))
        object.__setattr__(self, "probs", _frozen(self.probs, np.float64))
        _check_unique(self.items, "item")
        _check_unique(self.annotators, "annotator")
        _check_unique(self.classes, "class")
        assert self.item.shape == self.annotator.shape
        assert not len(self.item) or (self.item.min() >= 0 and self.item.max() < len(self.items))
        assert not len(self.item) or self.annotator.max() < len(self.annotators)
        _check_rows(self.probs, self.classes, self._where, self.item)

    def __len__(self) -> int:
        return len(self.item)

    def mean(self) -> LabelSet:
        """The average of each item's judgments (S2-21); items nobody judged are left out.

        >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
        >>> crowd.mean().probs
        array([[0.5, 0.5]])
        """
        weight = np.bincount(self.item, minlength=len(self.items)).astype(np.float64)
        sums = np.stack(
            [
                np.bincount(self.item, weights=column, minlength=len(self.items))
                for column in self.probs.T
            ],
            axis=1,
        )
        judged = weight > 0
        return LabelSet(
            tuple(item for item, known in zip(self.items, judged, strict=True) if known),
            self.classes,
            sums[judged] / weight[judged, None],
            weight[judged],
            (*self.provenance, Step("aggregate mean", {"estimand": "what people say"})),
        )

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_], step: Step) -> "CrowdLabels":
        """The given judgments only; items and annotators keep their codes."""
        return CrowdLabels(
            self.items,
            self.annotators,
            self.classes,
            self.item[rows],
            self.annotator[rows],
            self.probs[rows],
            (*self.provenance, step),
        )

    def _where(self, row: int) -> str:
        code = self.annotator[row]
        who = "somebody" if code == NOT_RECORDED else repr(self.annotators[code])
        return f"item {self.items[self.item[row]]!r} by {who}"


def hard_labels(
    items: Sequence[str],
    classes: Sequence[str],
    chosen: NDArray[np.integer],
    provenance: Provenance = (),
) -> LabelSet:
    """One-hot rows from class positions.

    >>> hard_labels(["a"], ["cat", "dog"], np.array([1])).probs
    array([[0., 1.]])
    """
    return LabelSet(
        tuple(items), tuple(classes), np.eye(len(classes))[chosen], provenance=provenance
    )


def align(first: LabelSet, second: LabelSet) -> tuple[LabelSet, LabelSet]:
    """Both sets over the items and classes of the first; anything missing is an error."""
    if set(first.classes) != set(second.classes):
        odd = sorted(set(first.classes) ^ set(second.classes))
        raise DataError(
            f"The two label sets have different classes: {', '.join(map(repr, odd[:5]))} "
            "is in one and not in the other."
        )
    second = second.take(first.items)
    if first.classes == second.classes:
        return first, second
    columns = [second.classes.index(name) for name in first.classes]
    return first, LabelSet(
        second.items, first.classes, second.probs[:, columns], second.weight, second.provenance
    )


def _frozen(values: object, dtype: type) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.array(values, dtype=dtype)  # a copy: ours to freeze
    array.flags.writeable = False
    return array


def _check_unique(names: tuple[str, ...], what: str) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise DataError(f"The {what} {twice!r} occurs more than once; each {what} needs its own name.")


def _check_rows(
    probs: NDArray[np.float64],
    classes: tuple[str, ...],
    where: Callable[[int], str],
    rows: Sized,
) -> None:
    if probs.shape != (len(rows), len(classes)):
        raise DataError(
            f"There are {len(rows)} rows and {len(classes)} classes, "
            f"but probabilities of shape {probs.shape}."
        )
    bad = ~np.isfinite(probs) | (probs < 0)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"The probability of class {classes[column]!r} for {where(int(row))} is "
            f"{probs[row, column]}; it must be a number from 0 to 1."
        )
    sums = probs.sum(axis=1)
    if not np.allclose(sums, 1, rtol=0, atol=SUM_TOLERANCE):
        worst = int(np.abs(sums - 1).argmax())
        raise DataError(f"The probabilities of {where(worst)} sum to {sums[worst]:.4g}, not 1.")
