"""Labels in which each class has a probability of its own, so that several may apply to an item.

``MultiLabelSet`` stands beside ``LabelSet``: its rows need not sum to one. Each class is a label
set over "no" and "yes", which is how it is aggregated, measured and scored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.build import NO_YES
from sfumato.labels.labelset import LabelSet
from sfumato.names import find, sorted_names
from sfumato.provenance import Provenance
from sfumato.tabular import Tabular

if TYPE_CHECKING:
    import polars as pl

PerClass = NDArray[np.float64]  # (items, classes)


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelSet(Tabular):
    """One row per item, one column per class: the probability that the class applies.

    NaN stands where nobody was asked. ``weight`` counts the answers behind each number.

    >>> labels = MultiLabelSet(("a", "b"), ("cat", "dog"), [[1, 0.75], [0, 0]])
    >>> labels["a"], labels
    ({'cat': 1.0, 'dog': 0.75}, <MultiLabelSet of 2 items and 2 classes, each on its own: cat, dog>)
    >>> labels.of_class("dog")["a"]
    {'no': 0.25, 'yes': 0.75}
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    probs: PerClass
    weight: PerClass = field(default_factory=lambda: np.empty((0, 0)))
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        shape = len(self.items), len(self.classes)
        probs = np.array(self.probs, dtype=np.float64)
        weight = (
            np.array(self.weight, dtype=np.float64) if np.size(self.weight) else np.zeros(shape)
        )
        for what, names in (("item", self.items), ("class", self.classes)):
            if len(set(names)) < len(names):
                raise DataError(f"Each {what} needs a name of its own; one occurs twice.")
        if probs.shape != shape or weight.shape != shape:
            raise DataError(
                f"There are {shape[0]} items and {shape[1]} classes, but probabilities of shape "
                f"{probs.shape} and weights of shape {weight.shape}."
            )
        wrong = (probs < 0) | (probs > 1) | np.isinf(probs)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"The probability that class {self.classes[column]!r} applies to item "
                f"{self.items[row]!r} is {probs[row, column]}; it must be a number from 0 to 1."
            )
        object.__setattr__(self, "items", tuple(map(str, self.items)))
        object.__setattr__(self, "classes", tuple(map(str, self.classes)))
        object.__setattr__(self, "probs", probs)
        object.__setattr__(self, "weight", weight)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, item: object) -> dict[str, float]:
        if str(item) not in self.items:
            raise DataError(f"No item is called {str(item)!r}.")
        row = self.probs[self.items.index(str(item))].tolist()
        return dict(zip(self.classes, row, strict=True))

    def of_class(self, name: str) -> LabelSet:
        """The labels "no" and "yes" of one class, of the items that it was asked about."""
        find(dict.fromkeys(self.classes), name, what="class")
        share = self.probs[:, self.classes.index(name)]
        known = np.flatnonzero(~np.isnan(share))
        return LabelSet(
            tuple(self.items[row] for row in known),
            NO_YES,
            np.stack([1 - share[known], share[known]], axis=1),
            self.weight[known, self.classes.index(name)],
            self.provenance,
        )

    def take(self, items: Sequence[str], classes: Sequence[str] | None = None) -> "MultiLabelSet":
        """The rows of the given items and, where named, the columns of the given classes."""
        names = self.classes if classes is None else tuple(classes)
        row_of = {item: row for row, item in enumerate(self.items)}
        lacking = [item for item in items if item not in row_of]
        if lacking or set(names) - set(self.classes):
            what = lacking[0] if lacking else min(set(names) - set(self.classes))
            raise DataError(f"There is no {'item' if lacking else 'class'} {what!r} here.")
        cells = np.ix_([row_of[i] for i in items], [self.classes.index(name) for name in names])
        return MultiLabelSet(
            tuple(items), names, self.probs[cells], self.weight[cells], self.provenance
        )

    def to_polars(self) -> "pl.DataFrame":
        """Column ``item``, then one column per class; null where nobody was asked."""
        import polars as pl

        columns = {name: self.probs[:, place] for place, name in enumerate(self.classes)}
        table = pl.DataFrame({"item": pl.Series(self.items, dtype=pl.String), **columns})
        return table.fill_nan(None)

    def _summary(self) -> str:
        shown = ", ".join(self.classes[:4]) + (", …" if len(self.classes) > 4 else "")
        return (
            f"MultiLabelSet of {len(self):,} items and {len(self.classes):,} classes, each on its "
            f"own: {shown}"
        )


def join_classes(
    parts: Mapping[str, LabelSet], classes: Sequence[str], provenance: Provenance = ()
) -> MultiLabelSet:
    """Labels "no" and "yes" of each class as one set; what a class lacks is NaN.

    >>> yes = LabelSet(("a",), ("no", "yes"), [[0.25, 0.75]])
    >>> join_classes({"cat": yes}, ["cat", "dog"]).probs
    array([[0.75,  nan]])
    """
    items = sorted_names(list({item for part in parts.values() for item in part.items}))
    row_of = {item: row for row, item in enumerate(items)}
    probs = np.full((len(items), len(classes)), np.nan)
    weight = np.zeros_like(probs)
    for column, name in enumerate(classes):
        if name in parts:
            rows = [row_of[item] for item in parts[name].items]
            probs[rows, column] = parts[name].probs[:, 1]
            weight[rows, column] = parts[name].weight
    return MultiLabelSet(tuple(items), tuple(classes), probs, weight, provenance)
