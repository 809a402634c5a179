"""Turn soft targets of any form into rows of mass, matched to the rows that are learnt from.

A learner, a scorer or a dataset is handed targets as a ``LabelSet``, ``CrowdLabels``, a table, an
array of rows that sum to one, sets of classes, rows that leave something open, or plain class
labels. ``read_rows`` turns each of them into ``SoftRows``; ``split_ids`` finds the ids among
features, so that both are joined by id where both have ids.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import issparse

from sfumato.errors import DataError
from sfumato.frames import is_table, to_frame
from sfumato.labels.compare import SMALLEST
from sfumato.labels.labelset import SUM_TOLERANCE, CrowdLabels, LabelSet

ID_COLUMN = "item"
"""The column, or the name of the index, that holds ids in a table of features or of targets."""

Unstated = Literal["even", "any", "normalise"]
"""What becomes of the mass that a row leaves open (a set of classes, or what is not stated):

- "even": it is shared equally among the classes that are open;
- "any": any of them is right: the loss is −log of their probabilities' sum;
- "normalise": it is left out, and what is stated is divided by its sum (a set: as "even").
"""


@dataclass(frozen=True, eq=False)
class SoftRows:
    """One row of mass per item: what is stated of each class, and what any of a set may have."""

    classes: tuple[Hashable, ...]
    mass: NDArray[np.float64]  # (rows, classes), each row summing to one less its open mass
    weight: NDArray[np.float64]  # (rows,), how much each row counts
    items: tuple[str, ...] | None = None
    open: NDArray[np.bool_] | None = None  # (rows, classes), where the open mass may lie
    open_mass: NDArray[np.float64] | None = None  # (rows,)

    def __len__(self) -> int:
        return len(self.mass)

    @property
    def total(self) -> NDArray[np.float64]:
        """The mass of each row, stated or open."""
        stated: NDArray[np.float64] = self.mass.sum(axis=1)
        return stated if self.open_mass is None else stated + self.open_mass

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> "SoftRows":
        """The given rows in the given order; a slice copies nothing."""
        if self.items is None:
            items = None
        elif isinstance(rows, slice):
            items = self.items[rows]
        else:
            items = tuple(np.array(self.items, dtype=object)[rows])
        return SoftRows(
            self.classes,
            self.mass[rows],
            self.weight[rows],
            items,
            None if self.open is None else self.open[rows],
            None if self.open_mass is None else self.open_mass[rows],
        )

    def over(self, classes: Sequence[Hashable]) -> "SoftRows":
        """The same rows with these classes as columns; a class with mass must be among them."""
        classes = tuple(classes)
        if self.classes == classes:
            return self
        place = {name: column for column, name in enumerate(self.classes)}
        missing = [column for name, column in place.items() if name not in set(classes)]
        for column in missing:
            if self._has_mass()[column]:
                raise DataError(
                    f"The targets give mass to the class {self.classes[column]!r}, which is not "
                    f"among the classes {_names(classes)}."
                )
        columns = np.array([place.get(name, -1) for name in classes], dtype=np.int64)
        known = columns >= 0
        return replace(
            self,
            classes=classes,
            mass=np.where(known, self.mass[:, columns], 0.0),
            open=None if self.open is None else self.open[:, columns] & known,
        )

    def seen(self) -> "SoftRows":
        """The same rows over the classes that some row gives mass to, or leaves open."""
        has_mass = self._has_mass()
        if has_mass.all():
            return self
        return self.over([name for name, kept in zip(self.classes, has_mass, strict=True) if kept])

    def _has_mass(self) -> NDArray[np.bool_]:
        counted = self.weight > 0
        some = np.asarray((self.mass > 0)[counted].any(axis=0))
        return some if self.open is None else some | self.open[counted].any(axis=0)


def cross_entropy_rows(rows: SoftRows, probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """−Σ p log q of each row, in nats; open mass costs −log of what q gives its classes together.

    A probability counts as at least ``SMALLEST``.

    >>> rows = read_rows([[0.5, 0.5, 0]])
    >>> cross_entropy_rows(rows, np.array([[0.8, 0.2, 0]])).round(4)
    array([0.9163])
    """
    believed = np.log(np.clip(probs, SMALLEST, 1))
    loss: NDArray[np.float64] = -(rows.mass * believed).sum(axis=1)
    if rows.open is not None and rows.open_mass is not None:
        together = np.where(rows.open, probs, 0.0).sum(axis=1)
        loss -= rows.open_mass * np.log(np.clip(together, SMALLEST, 1))
    return loss + 0.0  # no negative zeros


def read_rows(
    targets: Any,
    *,
    classes: Sequence[Hashable] | None = None,
    unstated: Unstated = "even",
    ids: Sequence[str] | None = None,
    number: int | None = None,
) -> SoftRows:
    """Targets of any form as rows of mass.

    - a ``LabelSet``; or ``CrowdLabels``, whose judgments count once each: those of one item are
      one row with their number as its weight, which every loss that is linear in the target cannot
      tell from one row per judgment;
    - a table with one column per class, ids in a column or index ``item``, if it has any;
    - an array of rows that sum to one; NaN (or a masked entry) is a class of which nothing is
      stated, and the row may sum to less than one;
    - rows of truth values, or of 0 and 1 that do not all sum to one: sets of classes;
    - a list of class labels, one per row.

    ``unstated`` says what becomes of open mass. ``ids`` are those of the rows wanted: where the
    targets have ids too, they are joined. ``number`` is how many rows there must be.

    >>> read_rows([[0.5, np.nan, np.nan], [1, 0, 0]]).mass
    array([[0.5 , 0.25, 0.25],
           [1.  , 0.  , 0.  ]])
    >>> read_rows([[1, 1, 0], [0, 1, 0]], unstated="any").open
    array([[ True,  True, False],
           [False, False, False]])
    """
    if unstated not in get_args(Unstated):
        raise DataError(
            f"What becomes of unstated mass is {unstated!r}; it must be one of "
            f"{', '.join(map(repr, get_args(Unstated)))}."
        )
    rows = _read(targets, classes, unstated, number)
    if ids is not None and rows.items is not None:
        rows = _joined(rows, ids)
    if number is not None and len(rows) != number:
        raise DataError(
            f"There are {number} rows of features and {len(rows)} rows of targets; give one target "
            "per row, or ids in both."
        )
    if not len(rows):
        raise DataError("There are no targets; give at least one row.")
    return rows


def ids_of(targets: Any) -> tuple[str, ...] | None:
    """The ids that targets are known by, if they have any."""
    if isinstance(targets, LabelSet | CrowdLabels):
        return targets.items
    return _table_parts(targets)[0] if _is_wide(targets) else None


def split_ids(
    features: Any, known: Sequence[str] | None = None
) -> tuple[tuple[str, ...] | None, Any]:
    """The ids among features, if there are any, and the features without them.

    Ids are a column ``item`` of a table, an index of that name, the keys of a dict of rows, or
    an index all of whose values are among ``known``.

    >>> split_ids({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    (('a', 'b'), array([[1., 2.],
           [3., 4.]]))
    >>> split_ids([[1.0, 2.0]])
    (None, [[1.0, 2.0]])
    """
    if issparse(features):  # one kind of sparse matrix is a dict
        return None, features
    if isinstance(features, Mapping):
        if ID_COLUMN not in features:
            return tuple(map(str, features)), np.array([*features.values()])
        features = to_frame(features, what="table of features")
    if isinstance(features, pl.DataFrame):
        if ID_COLUMN not in features.columns:
            return None, features
        return tuple(map(str, features[ID_COLUMN])), features.drop(ID_COLUMN)
    if hasattr(features, "iloc") and hasattr(features, "columns"):
        return _split_pandas(features, known)
    return None, features


def _split_pandas(table: Any, known: Sequence[str] | None) -> tuple[tuple[str, ...] | None, Any]:
    if ID_COLUMN in table.columns:
        return tuple(map(str, table[ID_COLUMN])), table.drop(columns=ID_COLUMN)
    index, labelled = tuple(map(str, table.index)), set(known or ())
    strangers = [name for name in index if name not in labelled]
    if table.index.name == ID_COLUMN or not strangers:
        return index, table
    if len(strangers) < len(index) and table.index.dtype.kind not in "iu":
        _refuse_unlabelled(strangers, len(index))  # an index of ids, some of them without a target
    return None, table


def _read(
    targets: Any, classes: Sequence[Hashable] | None, unstated: Unstated, number: int | None
) -> SoftRows:
    if isinstance(targets, LabelSet):
        rows = SoftRows(targets.classes, targets.probs, np.ones(len(targets)), targets.items)
    elif isinstance(targets, CrowdLabels):
        rows = _read_crowd(targets, number)
    elif _is_wide(targets):
        ids, names, values = _table_parts(targets)
        rows = replace(_complete(values, names, unstated), items=ids)
    else:
        return _read_array(targets, classes, unstated)
    return rows if classes is None else rows.over(classes)


def _is_wide(targets: Any) -> bool:
    """A table of several columns; one column alone is a list of class labels."""
    single = isinstance(targets, pl.Series) or getattr(targets, "ndim", 2) == 1
    return not single and not issparse(targets) and is_table(targets)


def _read_crowd(crowd: CrowdLabels, number: int | None) -> SoftRows:
    if number == len(crowd) and number != len(crowd.items):  # features of each judgment
        return SoftRows(crowd.classes, crowd.probs, np.ones(len(crowd)))
    mean = crowd.mean()
    if len(mean) == len(crowd.items):
        return SoftRows(crowd.classes, mean.probs, mean.weight, crowd.items)
    # Items that nobody judged keep their place, with no mass and no weight.
    judged = np.unique(crowd.item)
    mass = np.zeros((len(crowd.items), len(crowd.classes)))
    weight = np.zeros(len(crowd.items))
    mass[judged], weight[judged] = mean.probs, mean.weight
    return SoftRows(crowd.classes, mass, weight, crowd.items)


def _table_parts(
    table: Any,
) -> tuple[tuple[str, ...] | None, tuple[Hashable, ...], NDArray[Any]]:
    """Ids, classes and numbers; columns of pandas keep names that are not texts."""
    if hasattr(table, "iloc"):
        ids, rest = _split_pandas(table, None)
        if ids is None and table.index.dtype.kind not in "iu":
            ids = tuple(map(str, table.index))
        return ids, tuple(rest.columns), rest.to_numpy()
    frame = to_frame(table, what="table of targets")
    ids, rest = split_ids(frame)
    return ids, tuple(rest.columns), rest.to_numpy()


def _read_array(targets: Any, classes: Sequence[Hashable] | None, unstated: Unstated) -> SoftRows:
    if isinstance(targets, np.ma.MaskedArray):
        targets = np.ma.filled(targets.astype(np.float64), np.nan)
    elif issparse(targets):
        targets = targets.toarray()
    values = np.asarray(targets)
    if values.ndim == 1 and (values.dtype.kind != "f" or (values == np.rint(values)).all()):
        return _read_hard(values, classes)
    if values.ndim != 2:
        raise DataError(
            f"Targets of shape {values.shape} are neither rows of probabilities nor class labels; "
            "give one row per item and one column per class."
        )
    names = tuple(range(values.shape[1])) if classes is None else tuple(classes)
    return _complete(values, names, unstated)


def _read_hard(values: NDArray[Any], classes: Sequence[Hashable] | None) -> SoftRows:
    seen, place = np.unique(values, return_inverse=True)
    names = tuple(seen.tolist())
    mass = np.zeros((len(values), len(names)))
    mass[np.arange(len(values)), place] = 1.0
    rows = SoftRows(names, mass, np.ones(len(values)))
    return rows if classes is None else rows.over(classes)


def _complete(values: NDArray[Any], classes: tuple[Hashable, ...], unstated: Unstated) -> SoftRows:
    """Checked rows: what is left open is shared out, left out or kept as open."""
    if values.shape[1] != len(classes):
        raise DataError(
            f"The targets have {values.shape[1]} columns, but there are {len(classes)} classes: "
            f"{_names(classes)}."
        )
    # Rows of lower precision do not sum to one as exactly as a label set must.
    tolerance = SUM_TOLERANCE if values.dtype.itemsize >= 8 else 1e-4
    try:
        mass = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The targets are not numbers: {error}.") from None
    is_sets = values.dtype.kind == "b" or _are_sets(mass)
    silent = mass > 0 if is_sets else np.isnan(mass)
    stated = np.where(silent, 0.0, mass) if silent.any() else mass
    if is_sets:
        single = silent.sum(axis=1) == 1  # a set of one class is that class
        stated[single] = silent[single]
        silent[single] = False
    _check(stated, silent, classes, tolerance)
    if not silent.any():
        return SoftRows(classes, stated, np.ones(len(stated)))
    left = np.maximum(1 - stated.sum(axis=1), 0)
    left[left <= tolerance] = 0
    silent &= left[:, None] > 0
    return _settled(SoftRows(classes, stated, np.ones(len(stated)), None, silent, left), unstated)


def _are_sets(mass: NDArray[np.float64]) -> bool:
    return bool(np.isin(mass, (0.0, 1.0)).all() and (mass.sum(axis=1) != 1).any())


def _settled(rows: SoftRows, unstated: Unstated) -> SoftRows:
    assert rows.open is not None and rows.open_mass is not None
    stated = rows.mass.sum(axis=1)
    match unstated:
        case "any":
            return rows if rows.open.any() else replace(rows, open=None, open_mass=None)
        case "even":
            shared = rows.open_mass
        case "normalise":
            shared = np.where(stated > 0, 0.0, rows.open_mass)
        case _:
            assert_never(unstated)
    share = shared / np.maximum(rows.open.sum(axis=1), 1)
    mass = rows.mass + rows.open * share[:, None]
    if unstated == "normalise":
        mass /= mass.sum(axis=1, keepdims=True)
    return replace(rows, mass=mass, open=None, open_mass=None)


def _check(
    stated: NDArray[np.float64],
    silent: NDArray[np.bool_],
    classes: tuple[Hashable, ...],
    tolerance: float,
) -> None:
    bad = ~np.isfinite(stated) | (stated < 0)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"The target of class {classes[column]!r} in row {row} is {stated[row, column]}; it "
            "must be a number from 0 to 1, or NaN where nothing is stated."
        )
    sums, is_open = stated.sum(axis=1), np.asarray(silent.any(axis=1))
    off = np.where(is_open, np.maximum(sums - 1, 0), np.abs(sums - 1)) > tolerance
    if off.any():
        row = int(off.argmax())
        wanted = "at most 1" if is_open[row] else "1"
        raise DataError(
            f"The targets in row {row} sum to {sums[row]:.4g}, not {wanted} ({int(off.sum())} of "
            f"{len(sums)} rows). Give probabilities, a set of classes as 0 and 1, or NaN where "
            "nothing is stated."
        )


def _joined(rows: SoftRows, ids: Sequence[str]) -> SoftRows:
    assert rows.items is not None
    if rows.items == tuple(ids):
        return rows
    place = {item: row for row, item in enumerate(rows.items)}
    if len(place) < len(rows.items):
        twice = next(item for item in rows.items if rows.items.count(item) > 1)
        raise DataError(f"The targets have two rows for the item {twice!r}; give each item once.")
    _refuse_unlabelled([item for item in ids if item not in place], len(ids))
    return rows.take(np.array([place[item] for item in ids], dtype=np.int64))


def _refuse_unlabelled(missing: list[str], number: int) -> None:
    if missing:
        raise DataError(
            f"Item {missing[0]!r} has no target ({len(missing)} of {number} items without one). "
            "Label it, or leave it out."
        )


def _names(classes: Sequence[Hashable]) -> str:
    shown = ", ".join(map(repr, classes[:5]))
    return shown if len(classes) <= 5 else f"{shown} … ({len(classes)} classes)"
