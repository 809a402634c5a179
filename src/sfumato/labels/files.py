"""Read and write labels: ``item`` (and ``annotator``), then one column per class.

Parquet and CSV hold nothing else, so that any tool can read them. What else is known
(provenance, how many judgments stand behind each row) is in a JSON file beside them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import open_text
from sfumato.labels.build import codes
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.provenance import Provenance, Step, fingerprint_file, from_json, to_json

# Read the tables and arrays that labels and predictions are stored in, before they mean anything.
#
# What cannot be read is one sentence that names the file, the row and the column.


def read_item_table(path: Path, *, what: str) -> pl.DataFrame:
    """A ``.parquet`` or ``.csv`` with a column ``item`` (as text); ``what`` is what it should be.

    The cells of a CSV are text, so that no name is taken for a number.
    """
    try:
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
        else:
            table = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path.name} cannot be read: {str(error).splitlines()[0]}.") from None
    if "item" not in table.columns:
        raise DataError(
            f"{path.name} has no column 'item'. {what} has item, then one column per class."
        )
    return table.with_columns(pl.col("item").cast(pl.String))


def with_numbers(path: Path, table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The table with the columns ``names`` as numbers; a cell that is none is an error."""
    numbers = table.with_columns(pl.col(names).cast(pl.Float64, strict=False))
    for name in names:
        lost = numbers[name].is_null()
        if lost.any():
            row = int(lost.arg_max() or 0)
            raise DataError(
                f"{path.name}, row {row + 1} (item {table['item'][row]!r}), column {name!r}: "
                f"{table[name][row]!r} is no number."
            )
    return numbers


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of an ``.npz`` by name; that of an ``.npy`` under the name "probs"."""
    try:
        with path.open("rb") as file:  # np.load leaves a broken archive open
            loaded = np.load(file, allow_pickle=False)
            return {"probs": loaded} if path.suffix == ".npy" else dict(loaded)
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from None


# Read and write labels: ``item`` (and ``annotator``), then one column per class.

SUFFIXES = (".parquet", ".csv")


def check_output(path: Path) -> None:
    """Refuse a name that labels cannot be written to, before any work is done."""
    if path.suffix not in SUFFIXES:
        raise DataError(f"Labels are written as .parquet or .csv, not as {path.name!r}.")
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write any table as Parquet or CSV."""
    check_output(path)
    if path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path)


def write_labels(labels: LabelSet | CrowdLabels, path: Path) -> None:
    """Write labels as Parquet or CSV, with ``NAME.json`` beside it for what the table lacks."""
    write_table(labels.to_polars(), path)
    beside: dict[str, object] = {"provenance": to_json(labels.provenance)}
    if isinstance(labels, LabelSet):
        beside["judgments"] = labels.weight.tolist()
    _beside(path).write_text(json.dumps(beside, indent=1) + "\n", encoding="utf-8")


def read_labels(path: Path, *, classes: Sequence[str] | None = None) -> LabelSet:
    """Read labels or predictions: ``.parquet``, ``.csv``, ``.npz``, ``.npy`` or ``.json``.

    A file with several rows per item (per annotator) is averaged. Arrays without names get the
    items "0", "1", … and the given ``classes``.
    """
    if path.suffix in (".npy", ".npz"):
        return _from_array(path, classes)
    crowd = read_crowd_labels(path, classes=classes)
    if len(crowd) > len(crowd.items):
        return crowd.mean()
    weight, _ = _read_beside(path)
    return _one_row_each(crowd, weight)


def labels_from_table(table: pl.DataFrame, *, classes: Sequence[str] | None = None) -> LabelSet:
    """Labels from a frame with ``item`` and one column per class; several rows are averaged.

    >>> labels_from_table(pl.DataFrame({"item": [1, 1], "cat": [1, 0], "dog": [0, 1]}))["1"]
    {'cat': 0.5, 'dog': 0.5}
    """
    here = Path("the table")
    if "item" not in table.columns:
        raise DataError(
            "The table has no column 'item'. Labels have item, then one column per class."
        )
    table = table.with_columns(pl.col("item").cast(pl.String))
    crowd = _crowd_of(here, *_with_people(here, table, classes), (Step("labels of a table"),))
    return crowd.mean() if len(crowd) > len(crowd.items) else _one_row_each(crowd, np.empty(0))


def read_crowd_labels(path: Path, *, classes: Sequence[str] | None = None) -> CrowdLabels:
    """Read labels with one row per judgment; without a column ``annotator`` people are unknown."""
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    match path.suffix:
        case ".parquet" | ".csv":
            table, names = _read_table(path, classes)
        case ".json":
            table, names = _read_rows(path, classes)
        case _:
            raise DataError(
                f"{path.name} is not a label file: expected .parquet, .csv, .npz, .npy or .json."
            )
    _, before = _read_beside(path)
    steps = (*before, Step("read labels", {}, {path.name: fingerprint_file(path)}))
    return _crowd_of(path, table, names, steps)


def _crowd_of(
    path: Path, table: pl.DataFrame, names: Sequence[str], steps: Provenance
) -> CrowdLabels:
    items, item = codes(table["item"])
    annotators, annotator = codes(table["annotator"])
    probs = table.select(names).to_numpy()
    try:
        return CrowdLabels(items, annotators, tuple(names), item, annotator, probs, steps)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def _one_row_each(crowd: CrowdLabels, weight: NDArray[np.float64]) -> LabelSet:
    rows = np.empty(len(crowd.items), dtype=np.int64)
    rows[crowd.item] = np.arange(len(crowd))
    if len(weight) == len(crowd):
        weight = weight[rows]
    return LabelSet(crowd.items, crowd.classes, crowd.probs[rows], weight, crowd.provenance)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _read_beside(path: Path) -> tuple[NDArray[np.float64], Provenance]:
    """Judgments behind each row and the steps so far; both empty where nothing lies beside."""
    beside = _beside(path)
    if not beside.is_file():
        return np.empty(0), ()
    stored = json.loads(beside.read_text(encoding="utf-8"))
    return np.array(stored.get("judgments", [])), from_json(stored["provenance"])


def _read_table(path: Path, classes: Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    return _with_people(path, read_item_table(path, what="A label file"), classes)


def _with_people(
    path: Path, table: pl.DataFrame, classes: Sequence[str] | None
) -> tuple[pl.DataFrame, list[str]]:
    if "annotator" not in table.columns:
        table = table.with_columns(annotator=pl.lit(None, dtype=pl.String))
    names = _in_order(
        path, [name for name in table.columns if name not in ("item", "annotator")], classes
    )
    table = table.with_columns(pl.col("annotator").cast(pl.String))
    return with_numbers(path, table, names), names


def _read_rows(path: Path, classes: Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """Released JSON files: item to a row, or to a list of rows, one per person."""
    try:
        with open_text(path) as file:
            stored = json.load(file)
        pairs = [
            (str(item), row)
            for item, rows in stored.items()
            for row in (rows if isinstance(rows[0], list) else [rows])
        ]
        width = len(pairs[0][1])
        values = np.array([row for _, row in pairs], dtype=np.float64).reshape(len(pairs), width)
    except (json.JSONDecodeError, AttributeError, TypeError, ValueError, IndexError, KeyError):
        raise DataError(
            f'{path.name} holds no labels: expected {{"item": [p, …]}} or '
            '{"item": [[p, …], …]} with rows of one length.'
        ) from None
    names = _named(path, width, classes)
    table = pl.DataFrame(values, schema=names).with_columns(
        item=pl.Series([item for item, _ in pairs], dtype=pl.String),
        annotator=pl.lit(None, dtype=pl.String),
    )
    return table, names


def _from_array(path: Path, classes: Sequence[str] | None) -> LabelSet:
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    stored = read_arrays(path)
    if "probs" not in stored or stored["probs"].ndim != 2:
        raise DataError(f"{path.name} holds no array 'probs' of shape (items, classes).")
    probs = stored["probs"].astype(np.float64)
    items = stored.get("items", np.arange(len(probs)))
    names = stored["classes"] if "classes" in stored else _named(path, probs.shape[1], classes)
    step = Step("read labels", {}, {path.name: fingerprint_file(path)})
    # Predictions stored as float32 miss one by rounding; the rounding is undone, not more.
    sums = probs.sum(axis=1, keepdims=True)
    if np.allclose(sums, 1, rtol=0, atol=1e-4):
        probs = probs / sums
    try:
        return LabelSet(tuple(map(str, items)), tuple(map(str, names)), probs, provenance=(step,))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def _named(path: Path, width: int, classes: Sequence[str] | None) -> list[str]:
    names = list(classes) if classes else [str(place) for place in range(width)]
    if len(names) != width:
        raise DataError(f"{path.name} has {width} columns, but {len(names)} classes are named.")
    return names


def _in_order(path: Path, found: list[str], classes: Sequence[str] | None) -> list[str]:
    if classes is None:
        return found
    if set(classes) != set(found):
        odd = sorted(set(classes) ^ set(found))
        raise DataError(
            f"{path.name} and the list of classes disagree about {', '.join(map(repr, odd[:5]))}."
        )
    return list(classes)
