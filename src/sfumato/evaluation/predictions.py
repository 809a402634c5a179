"""Read what any model believes, stored by anybody, as a ``LabelSet``.

Tables (CSV, Parquet, JSONL, data frames) hold one column per class, one row per item and class, or
one class per item; ``labels.tables`` finds out which. Arrays (``.npy``, ``.npz`` under the name
``probs`` or ``logits``, and those in memory) hold one row per item; an ``.npz`` may name its
``items`` and ``classes``. What is not named is taken by position, and the provenance says so.
Probabilities are expected unless another kind is announced: a file never decides that by looking
like one or the other.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from sfumato.errors import DataError, UnknownName
from sfumato.frames import TABLES, is_table, to_frame
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.tables import (
    Digits,
    NoClasses,
    normalise,
    read_arrays,
    read_choices,
    read_frame,
    read_rows,
    table_ending,
)
from sfumato.names import find, quote_names
from sfumato.provenance import Provenance, Setting, Step, fingerprint_file, from_json

Kind = Literal["probabilities", "hard", "logits"]
"""What the stored numbers are. Logits become probabilities by a softmax; "hard" is one class per
item, which counts as certain."""

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".npz", ".npy")


class WrongKind(DataError):
    """Predictions that are of another kind than was announced."""


@dataclass(frozen=True, eq=False)
class LoadedPredictions:
    """What a model believes, over its own classes, and what should be known about the reading."""

    labels: LabelSet
    remarks: tuple[str, ...] = ()

    def by_position(self, what: Literal["items", "classes"]) -> bool:
        """Whether the source names no items, or no classes."""
        steps = self.labels.provenance
        return bool(steps) and steps[-1].settings.get(what) == "by position"


@dataclass(frozen=True, eq=False)
class _Stored:
    """What a source holds, before anything is believed."""

    values: NDArray[np.generic]  # (rows, columns), or (rows,) for classes
    items: tuple[str, ...] | None
    classes: tuple[str, ...] | None
    kind: Kind | None = None
    digits: Digits | None = None
    remarks: tuple[str, ...] = ()


def load_predictions(
    source: object,
    *,
    name: str,
    classes: Sequence[str],
    items: Sequence[str] | None = None,
    unnamed: Sequence[str] | None = None,
    kind: Kind = "probabilities",
    item: str | None = None,
) -> LoadedPredictions:
    """Predictions of any source over the classes that it has, those of the labels first.

    ``source`` is a ``LabelSet``, a path, a table, an array, or a pair of array (or its path) and
    ids. ``name`` is what it is called in errors; ``classes`` and ``items`` are those of the labels.
    Columns without names are in the order ``unnamed``, or in that of ``classes``. Rows of a file
    without names are the items "0", "1", …; rows of an array in memory are the ``items``.

    >>> rows = np.array([[0.75, 0.25], [0.1, 0.9]])
    >>> load_predictions((rows, [7, 8]), name="ours", classes=("cat", "dog")).labels.items
    ('7', '8')
    """
    if isinstance(source, LabelSet):
        return LoadedPredictions(source)
    stored, provenance = _store(source, name, classes, items, kind, item)
    return _believed(name, stored, provenance, classes, unnamed, kind)


def read_predictions(
    path: Path,
    *,
    classes: Sequence[str],
    unnamed: Sequence[str] | None = None,
    kind: Kind = "probabilities",
) -> LabelSet:
    """The predictions of a file over exactly the given classes, in their order.

    A wrong row is an error that names the file, the row and the remedy.
    """
    found = load_predictions(path, name=path.name, classes=classes, unnamed=unnamed, kind=kind)
    require_same_classes(path.name, found.labels, classes)
    return found.labels


def load_original(
    source: object,
    *,
    name: str,
    classes: Sequence[str],
    items: Sequence[str] | None = None,
    unnamed: Sequence[str] | None = None,
) -> LabelSet:
    """Original (hard) labels as one-hot rows over the given classes: numbers, names or rows.

    Numbers count from 0 in the order ``unnamed``, or in that of ``classes``. A class that no item
    has may be missing.
    """
    if isinstance(source, LabelSet):
        found = source
    else:
        stored, provenance = _store(source, name, classes, items, "hard", None)
        kind: Kind = "probabilities" if stored.values.ndim == 2 else "hard"
        found = _believed(name, stored, provenance, classes, unnamed, kind).labels
    extra = [one for one in found.classes if one not in classes]
    if extra:
        raise DataError(_odd_class(name, extra, classes))
    probs = np.zeros((len(found), len(classes)))
    probs[:, [list(classes).index(one) for one in found.classes]] = found.probs
    return LabelSet(found.items, tuple(classes), probs, found.weight, found.provenance)


def require_same_classes(name: str, model: LabelSet, classes: Sequence[str]) -> None:
    """Refuse predictions over other classes than those of the labels."""
    odd = sorted({*model.classes} ^ {*classes})
    if odd:
        where = name if odd[0] in model.classes else "the labels"
        raise DataError(
            f"{name} and the labels do not have the same classes: {odd[0]!r} is in {where} "
            f"only ({len(odd)} such names). Rename the columns as the classes of the labels."
        )


def other_class_order(human: LabelSet, model: LabelSet) -> str:
    """A sentence if the model agrees with people far better under another order of its columns.

    Columns without names are taken by position, and a file in another order gives a model that
    seems to know nothing. If matching each column to the class it picks best more than doubles
    the agreement, and takes it over a half, the order is in doubt; otherwise the text is empty.
    """
    pairs = np.zeros((len(human.classes), len(human.classes)))
    np.add.at(pairs, (human.probs.argmax(axis=1), model.probs.argmax(axis=1)), 1 / len(human))
    rows, columns = linear_sum_assignment(pairs, maximize=True)
    agree, best = float(np.trace(pairs)), float(pairs[rows, columns].sum())
    if best < 0.5 or best < 2 * agree:
        return ""
    order = sorted(zip(columns, rows, strict=True))
    names = ", ".join(human.classes[row] for _, row in order)
    return (
        f"The most probable class agrees with people on {agree:.1%} of the items, but on "
        f"{best:.1%} if the columns are {names}. If the classes are in that order, name them in "
        "the file or give their order."
    )


# From a source to what it holds.


def _store(
    source: Any,
    name: str,
    classes: Sequence[str],
    items: Sequence[str] | None,
    kind: Kind,
    item: str | None,
) -> tuple[_Stored, Provenance]:
    ids = None
    if isinstance(source, tuple) and len(source) == 2:
        source, ids = _array_and_ids(source)
    if isinstance(source, str | Path):
        path = Path(source)
        return _named(_read(path, classes, items, kind, item), name, ids), _history(path)
    if is_table(source):
        table = to_frame(source, what="table of predictions")
        return _from_table(table, name, classes, items, kind, item), ()
    values = _as_array(source, name)
    if ids is None and items is not None:
        _require_rows(name, values, items)
        said = f"{name}: the array names no items; its rows are taken in the order of the labels."
        return _Stored(values, tuple(items), None, remarks=(said,)), ()
    return _named(_Stored(values, None, None), name, ids), ()


def _read(
    path: Path,
    classes: Sequence[str],
    items: Sequence[str] | None,
    kind: Kind,
    item: str | None,
) -> _Stored:
    if not path.is_file():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    if path.suffix in (".npz", ".npy"):
        return _read_array(path)
    if table_ending(path):
        return _from_table(read_frame(path), path.name, classes, items, kind, item)
    raise DataError(
        f"{path.name} is no file of predictions: expected {', '.join(SUFFIXES[:-1])} "
        f"or {SUFFIXES[-1]}."
    )


def _from_table(
    table: pl.DataFrame,
    name: str,
    classes: Sequence[str],
    items: Sequence[str] | None,
    kind: Kind,
    item: str | None,
) -> _Stored:
    if kind == "hard":
        chosen = read_choices(table, name, classes=classes, items=items, item=item)
        if chosen is not None:
            return _Stored(np.array(chosen.choices), chosen.items, None, remarks=chosen.remarks)
    try:
        rows = read_rows(
            table, name, classes=classes, items=items, item=item, values=_meaning(kind)
        )
    except NoClasses:
        if read_choices(table, name, classes=classes, items=items, item=item) is None:
            raise
        raise WrongKind(
            f"{name} holds one class per item, not a probability for each class. If that is all "
            "the model says, read it as hard predictions: it then counts as certain."
        ) from None
    return _Stored(rows.values, rows.items, rows.classes, None, rows.digits, rows.remarks)


def _meaning(kind: Kind) -> str:
    return "logits" if kind == "logits" else "probabilities"


def _read_array(path: Path) -> _Stored:
    stored = read_arrays(path)
    named: tuple[Literal["probs", "logits"], ...] = ("probs", "logits")
    present = [name for name in named if name in stored]
    if len(present) != 1:
        found = ", ".join(sorted(stored)) or "nothing"
        raise DataError(
            f"{path.name} holds {found}; predictions are one array called 'probs' or 'logits', "
            "of shape (items, classes)."
        )
    values = stored[present[0]]
    if values.ndim not in (1, 2) or values.dtype.kind not in ("fiu" if values.ndim == 2 else "iuU"):
        raise DataError(
            f"{path.name}: {present[0]!r} has shape {values.shape} and type {values.dtype}; "
            "expected numbers of shape (items, classes)."
        )
    return _Stored(
        values,
        _names(path, stored, "items", len(values)),
        _names(path, stored, "classes", values.shape[-1]) if values.ndim == 2 else None,
        "logits" if present[0] == "logits" else None,
    )


def _names(
    path: Path, stored: dict[str, NDArray[np.generic]], which: str, count: int
) -> tuple[str, ...] | None:
    if which not in stored:
        return None
    names = tuple(map(str, stored[which].tolist()))
    if len(names) != count:
        raise DataError(f"{path.name} names {len(names)} {which}, but its array has {count}.")
    return names


def _array_and_ids(pair: tuple[Any, Any]) -> tuple[Any, tuple[str, ...]]:
    """Rows and ids, whichever of the two comes first."""
    first, second = pair
    if isinstance(second, str | Path) or getattr(second, "ndim", 1) == 2:
        first, second = second, first
    return first, tuple(map(str, np.asarray(second).tolist()))


def _named(stored: _Stored, name: str, ids: tuple[str, ...] | None) -> _Stored:
    if ids is None:
        return stored
    _require_rows(name, stored.values, ids)
    return replace(stored, items=ids)


def _require_rows(name: str, values: NDArray[np.generic], items: Sequence[str]) -> None:
    if len(values) != len(items):
        raise DataError(
            f"{name} has {len(values):,} rows, but there are {len(items):,} items. Give the ids "
            "of its rows."
        )


def _as_array(source: Any, name: str) -> NDArray[np.generic]:
    if hasattr(source, "detach"):  # a tensor may hold gradients or lie on another device
        source = source.detach().cpu()
    try:
        values = np.asarray(source)
    except (TypeError, ValueError):
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "fiuUb" or values.ndim not in (1, 2):
        raise DataError(
            f"{name}: predictions cannot be a {type(source).__name__}; give a LabelSet, a path, an "
            f"array of shape (items, classes), or {TABLES}."
        )
    return values


# From what is held to what a model believes.


def _believed(
    name: str,
    stored: _Stored,
    history: Provenance,
    classes: Sequence[str],
    unnamed: Sequence[str] | None,
    kind: Kind,
) -> LoadedPredictions:
    items = stored.items or tuple(map(str, range(len(stored.values))))
    settings: dict[str, Setting] = {
        "kind": stored.kind or kind,
        "items": "by name" if stored.items else "by position",
        "classes": "by name" if stored.classes or stored.values.ndim == 1 else "by position",
    }
    remarks = list(stored.remarks)
    if stored.values.ndim == 1:
        names, probs = _one_hot(name, stored, tuple(unnamed or classes), kind)
    else:
        names = stored.classes or tuple(unnamed or classes)
        probs, said = _rows(name, stored, items, names, kind)
        remarks += [f"{name}: {said}."] if said else []
        settings |= {"rounded": said} if said else {}
    order = [one for one in classes if one in names] + [one for one in names if one not in classes]
    columns = [names.index(one) for one in order]
    inputs = history[-1].inputs if history else {}
    steps = (*history[:-1], Step("read predictions", settings, inputs))
    try:
        found = LabelSet(items, tuple(order), probs[:, columns], provenance=steps)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return LoadedPredictions(found, tuple(remarks))


def _one_hot(
    name: str, stored: _Stored, classes: tuple[str, ...], kind: Kind
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    if kind != "hard":
        raise WrongKind(
            f"{name} holds an array of shape {stored.values.shape}; predictions are a row of "
            "probabilities for each item. One class per item is read as hard predictions."
        )
    chosen = _class_positions(name, stored.values, classes)
    return classes, hard_labels(list(map(str, range(len(chosen)))), classes, chosen).probs


def _rows(
    name: str, stored: _Stored, items: Sequence[str], names: Sequence[str], kind: Kind
) -> tuple[NDArray[np.float64], str]:
    """Rows that sum to one, and what was done to get there."""
    values = stored.values.astype(np.float64)
    if values.shape[1] != len(names):
        raise DataError(
            f"{name} has {values.shape[1]} columns, but there are {len(names)} classes: "
            f"{', '.join(names)}."
        )
    _refuse_not_a_number(name, values, items, names)
    read_as = stored.kind or kind
    match read_as:
        case "logits":
            return softmax(values, axis=1), ""
        case "hard" if not np.isin(values, (0, 1)).all() or (values.sum(axis=1) != 1).any():
            raise WrongKind(
                f"{name} holds numbers for each class, not one class per item: these are no hard "
                "predictions."
            )
        case "hard" | "probabilities":
            return _probabilities(name, values, items, stored.digits)
        case _:
            assert_never(read_as)


def _refuse_not_a_number(
    name: str, values: NDArray[np.float64], items: Sequence[str], names: Sequence[str]
) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{name}, row {row + 1} (item {items[row]!r}), class {names[column]!r}: found "
            f"{values[row, column]}, expected a number ({int(bad.any(axis=1).sum())} of "
            f"{len(values)} rows are like this)."
        )


def _probabilities(
    name: str, values: NDArray[np.float64], items: Sequence[str], digits: Digits | None
) -> tuple[NDArray[np.float64], str]:
    done = normalise(values, digits=digits)
    if not done.wrong.any():
        return done.probs, done.words
    row = int(done.wrong.argmax())
    least, total = values[row].min(), values[row].sum()
    found = f"holds {least:.4g}" if least < 0 else f"sums to {total:.4g}, not 1"
    percent = not normalise(values / 100).wrong.any()
    remedy = "These look like percent; divide them by 100." if percent else LOGITS
    raise (DataError if percent else WrongKind)(
        f"{name}, row {row + 1} (item {items[row]!r}) {found}, so it is no distribution, also not "
        f"a rounded one ({int(done.wrong.sum())} of {len(values)} rows are none). {remedy}"
    )


LOGITS = "If these are scores before the softmax, say that they are logits."


def _class_positions(
    name: str, stored: NDArray[np.generic], classes: Sequence[str]
) -> NDArray[np.int64]:
    position = {one: place for place, one in enumerate(classes)}
    texts = [str(value) for value in stored.tolist()]
    unknown = [(row, text) for row, text in enumerate(texts) if text not in position]
    if not unknown:
        return np.array([position[text] for text in texts], dtype=np.int64)
    row, text = unknown[0]
    if not all(text.isdecimal() for text in texts):
        try:
            find(position, text, what="class")
        except UnknownName as error:
            raise DataError(
                f"{name}, row {row + 1}: {str(error)[0].lower()}{str(error)[1:]}"
            ) from None
    chosen = np.array(texts, dtype=np.int64)
    wrong = chosen >= len(classes)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{name}, row {row + 1}: found class number {chosen[row]}, expected 0 to "
            f"{len(classes) - 1}."
        )
    return chosen


def _odd_class(name: str, extra: Sequence[str], classes: Sequence[str]) -> str:
    return (
        f"{name} has the class {extra[0]!r}, which the labels do not have ({len(extra)} such); "
        f"they have {quote_names(classes)}."
    )


def _history(path: Path) -> Provenance:
    """What is known of how the file came about, and the step of reading it, to be filled."""
    beside = path.with_name(path.name + ".json")
    before: Provenance = ()
    if beside.is_file():
        stored = json.loads(beside.read_text(encoding="utf-8"))
        before = from_json(stored.get("provenance", []))
    return (*before, Step("read predictions", {}, {path.name: fingerprint_file(path)}))
