"""Read and write labels: ``item`` (and ``annotator``), then one column per class.

Parquet and CSV that we write hold nothing else, so that any tool can read them. What else is known
(provenance, how many judgments stand behind each row) is in a JSON file beside them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sfumato.errors import DataError
from sfumato.frames import TABLES, is_table, to_frame
from sfumato.judgments.coded import encode
from sfumato.judgments.formats.reading import open_text
from sfumato.labels.build import codes
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.labels.tables import (
    ItemRows,
    find_items,
    normalise,
    read_arrays,
    read_frame,
    read_rows,
    table_ending,
    with_numbers,
)
from sfumato.names import sorted_names
from sfumato.provenance import Provenance, Step, fingerprint_file, from_json, to_json

SUFFIXES = (".parquet", ".csv")

LABEL_COLUMNS = ("label", "class", "original")
"""A table of hard labels has one of these beside ``item``, holding names of classes."""


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


def write_labels(labels: LabelSet | CrowdLabels | MultiLabelSet, path: Path) -> None:
    """Write labels as Parquet or CSV, with ``NAME.json`` beside it for what the table lacks."""
    about: dict[str, object] = {"provenance": to_json(labels.provenance)}
    if isinstance(labels, MultiLabelSet):
        about |= {"each_class": True, "answers": labels.weight.tolist()}
    elif labels.values is not None:
        about["values"] = dict(zip(labels.classes, labels.values, strict=True))
    if isinstance(labels, LabelSet) and labels.sparse is not None and path.suffix == ".parquet":
        write_table(_sparse_table(labels), path)
        about = {"classes": list(labels.classes), **about}
    else:
        write_table(labels.to_polars(), path)
    text = json.dumps(about, indent=1)
    if isinstance(labels, LabelSet):  # one line: a million numbers in a column help nobody
        text = f'{text[:-2]},\n "judgments": {json.dumps(labels.weight.tolist())}\n}}'
    _beside(path).write_text(text + "\n", encoding="utf-8")


SPARSE = {"classes": pl.List(pl.String), "probs": pl.List(pl.Float64)}
"""The columns beside ``item`` of labels over many classes: those with mass, and their mass."""


def _sparse_table(labels: LabelSet) -> pl.DataFrame:
    """One row per item with its classes and their probabilities, classes without mass left out."""
    rows = labels.sparse
    assert rows is not None
    names = pl.Series(labels.classes, dtype=pl.String).gather(rows.indices)
    entries = pl.DataFrame(
        {
            "row": np.repeat(np.arange(len(labels)), np.diff(rows.indptr)),
            "classes": names,
            "probs": rows.data,
        }
    )
    lists = entries.group_by("row", maintain_order=True).agg("classes", "probs").drop("row")
    return lists.insert_column(0, pl.Series("item", labels.items, dtype=pl.String))


def is_sparse(table: pl.DataFrame) -> bool:
    """Whether a table holds, for each item, its classes with mass as a list."""
    held = table.schema
    return (
        {"item", *SPARSE} == set(held)
        and held["classes"] == pl.List(pl.String)
        and isinstance(held["probs"], pl.List)
    )


def sparse_labels(
    table: pl.DataFrame, name: str, classes: Sequence[str] | None, provenance: Provenance = ()
) -> LabelSet:
    """The labels of a table in which each item has a list of classes and one of their mass.

    >>> rows = {"item": ["a"], "classes": [["dog", "cat"]], "probs": [[0.75, 0.25]]}
    >>> sparse_labels(pl.DataFrame(rows), "x.parquet", ["cat", "deer", "dog"])["a"]
    {'cat': 0.25, 'deer': 0.0, 'dog': 0.75}
    """
    uneven = (table["classes"].list.len() != table["probs"].list.len()).fill_null(True)
    if uneven.any():
        raise DataError(
            f"{name}, row {(uneven.arg_max() or 0) + 1}: 'classes' and 'probs' differ in length."
        )
    said = encode(table["classes"].explode())
    names = tuple(classes) if classes else tuple(sorted_names(said.values.to_list()))
    place = {one: at for at, one in enumerate(names)}
    unknown = [one for one in said.values if one not in place]
    if unknown:
        raise DataError(f"{name} has the class {unknown[0]!r}, which is not among those named.")
    columns = np.array([place[one] for one in said.values], dtype=np.int64)[said.code]
    ends = np.append(0, table["classes"].list.len().to_numpy()).cumsum()
    mass = table["probs"].explode().cast(pl.Float64).to_numpy()
    rows = csr_array((mass, columns, ends), shape=(len(table), len(names)))
    try:
        return LabelSet(tuple(table["item"].cast(pl.String)), names, rows, provenance=provenance)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


@dataclass(frozen=True, eq=False)
class LoadedLabels:
    """Labels as they were read, and what a person should know about the reading."""

    labels: LabelSet
    remarks: tuple[str, ...] = ()


def load_labels(
    source: object, *, classes: Sequence[str] | None = None, item: str | None = None
) -> LoadedLabels:
    """Labels that are given as such, as a path or as any table of ``sfumato.frames``.

    ``item`` is the column of the items, where it is not called so.

    >>> load_labels([{"item": 7, "cat": 0.75, "dog": 0.25}]).labels.items
    ('7',)
    """
    match source:
        case LabelSet():
            return LoadedLabels(source)
        case CrowdLabels():
            return LoadedLabels(source.mean())
        case str() | Path():
            return _load_file(Path(source), classes, item)
    crowd, remarks = _crowd_of_table(_as_table(source), "The table of labels", classes, item)
    return LoadedLabels(_one_row_per_item(crowd, np.empty(0)), remarks)


def read_labels(source: object, *, classes: Sequence[str] | None = None) -> LabelSet:
    """Labels or predictions of a table of any known library, or of a file: a table, ``.npz``,
    ``.npy`` or ``.json``.

    Several rows per item (per annotator) are averaged. Arrays without names get the items "0",
    "1", … and the given ``classes``. Hard labels have the columns ``item`` and ``label``, which
    holds the names of classes.

    >>> read_labels({"item": [7, 8], "label": ["dog", "cat"]}).probs.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return load_labels(source, classes=classes).labels


def read_crowd_labels(source: object, *, classes: Sequence[str] | None = None) -> CrowdLabels:
    """Labels with one row per judgment; without a column ``annotator`` people are unknown."""
    if isinstance(source, str | Path):
        return _load_crowd(Path(source), classes, None)[0]
    return _crowd_of_table(_as_table(source), "The table of labels", classes, None)[0]


def _as_table(source: object) -> pl.DataFrame:
    if not is_table(source):
        raise DataError(
            f"Labels cannot be a {type(source).__name__}; give a LabelSet, a path, or {TABLES}."
        )
    return to_frame(source, what="table of labels")


def _load_file(path: Path, classes: Sequence[str] | None, item: str | None) -> LoadedLabels:
    if path.suffix in (".npy", ".npz"):
        return LoadedLabels(_from_array(path, classes))
    if path.suffix == ".parquet" and path.is_file() and _holds_sparse(path):
        return LoadedLabels(_load_sparse(path, classes))
    if is_each_class(path):
        raise DataError(
            f"{path.name} gives each class a probability of its own, so its rows are no "
            "distributions over the classes. Read it as labels of several classes."
        )
    crowd, remarks = _load_crowd(path, classes, item)
    return LoadedLabels(_one_row_per_item(crowd, _read_beside(path)[0]), remarks)


def _holds_sparse(path: Path) -> bool:
    try:
        return is_sparse(pl.read_parquet(path, n_rows=0))
    except (OSError, pl.exceptions.PolarsError):
        return False  # whoever reads it says what is wrong


def is_each_class(path: Path) -> bool:
    """Whether the JSON beside a table says that each class has a probability of its own."""
    try:
        return _read_json_beside(path).get("each_class") is True
    except ValueError:  # whoever reads it says what is wrong
        return False


def read_multi_labels(source: object) -> MultiLabelSet:
    """Labels of each class on its own: ``item``, one column per class with numbers from 0 to 1.

    >>> read_multi_labels([{"item": "a", "cat": 1, "dog": 0.75}]).probs.tolist()
    [[1.0, 0.75]]
    """
    if isinstance(source, MultiLabelSet):
        return source
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and not path.is_file():
        raise DataError(f"There is no file {path}.")
    name = "The table of labels" if path is None else path.name
    table = _as_table(source) if path is None else read_frame(path)
    column, _ = find_items(table, name)
    classes = tuple(one for one in table.columns if one != column)
    numbers = table.select(pl.col(classes).cast(pl.Float64, strict=False))
    lost = [one for one in classes if numbers[one].null_count() > table[one].null_count()]
    if lost:
        raise DataError(f"{name}: column {lost[0]!r} holds something else than numbers.")
    probs = numbers.to_numpy()
    beside = {} if path is None else _read_json_beside(path)
    inputs = {} if path is None else {path.name: fingerprint_file(path)}
    steps = (*from_json(beside.get("provenance", [])), Step("read labels", {}, inputs))
    items = tuple(table[column].cast(pl.String))
    weight = np.array(beside.get("answers", np.empty((0, 0))))
    try:
        return MultiLabelSet(items, classes, probs, weight, steps)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _load_sparse(path: Path, classes: Sequence[str] | None) -> LabelSet:
    weight, before = _read_beside(path)
    stored = json.loads(_beside(path).read_text("utf-8")) if _beside(path).is_file() else {}
    named = stored.get("classes")
    if named and classes:
        named = _in_order(path.name, named, classes)
    step = Step("read labels", {}, {path.name: fingerprint_file(path)})
    found = sparse_labels(pl.read_parquet(path), path.name, named or classes, (*before, step))
    if len(weight) != len(found):
        return found
    return LabelSet(found.items, found.classes, found.sparse, weight, found.provenance)  # type: ignore[arg-type]


def _one_row_per_item(crowd: CrowdLabels, weight: NDArray[np.float64]) -> LabelSet:
    if len(crowd) > len(crowd.items):
        return crowd.mean()
    rows = np.empty(len(crowd.items), dtype=np.int64)
    rows[crowd.item] = np.arange(len(crowd))
    if len(weight) == len(crowd):
        weight = weight[rows]
    return LabelSet(
        crowd.items,
        crowd.classes,
        crowd.probs[rows],
        weight,
        crowd.provenance,
        values=crowd.values,
    )


def _load_crowd(
    path: Path, classes: Sequence[str] | None, item: str | None
) -> tuple[CrowdLabels, tuple[str, ...]]:
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    if path.suffix == ".json":
        table = _read_rows(path, classes)
    elif table_ending(path):
        table = read_frame(path)
        if is_sparse(table):
            return _one_judgment_per_item(_load_sparse(path, classes)), ()
    else:
        raise DataError(
            f"{path.name} is not a label file: expected .parquet, .csv, .tsv, .jsonl, .npz, .npy "
            "or .json."
        )
    crowd, remarks = _crowd_of_table(table, path.name, classes, item)
    _, before = _read_beside(path)
    step = Step("read labels", crowd.provenance[-1].settings, {path.name: fingerprint_file(path)})
    stored = _read_json_beside(path).get("values") or {}
    values = [stored[one] for one in crowd.classes] if {*stored} == {*crowd.classes} else None
    return crowd.with_provenance((*before, step), values=values), remarks


def _one_judgment_per_item(labels: LabelSet) -> CrowdLabels:
    rows = np.arange(len(labels))
    nobody = np.full(len(labels), NOT_RECORDED)
    return CrowdLabels(
        labels.items, (), labels.classes, rows, nobody, labels.probs, labels.provenance
    )


def _crowd_of_table(
    table: pl.DataFrame, name: str, classes: Sequence[str] | None, item: str | None
) -> tuple[CrowdLabels, tuple[str, ...]]:
    rows = _hard_rows(table, name, classes, item) or read_rows(table, name, item=item)
    assert rows.classes is not None  # without classes of others, columns are their own
    names = _in_order(name, list(rows.classes), classes)
    done = normalise(rows.values, digits=rows.digits)
    said = (f"{name}: {done.words}.",) if done.words else ()
    whose = [None] * len(rows.items)
    if "annotator" in table.columns and len(rows.items) == len(table):
        whose = table["annotator"].cast(pl.String).to_list()
    items, item_codes = codes(pl.Series(rows.items, dtype=pl.String))
    annotators, annotator = codes(pl.Series(whose, dtype=pl.String))
    columns = [rows.classes.index(one) for one in names]
    settings = {"rounded": done.words} if done.words else {}
    step = Step("read labels", {**settings})
    try:
        crowd = CrowdLabels(
            items, annotators, tuple(names), item_codes, annotator, done.probs[:, columns], (step,)
        )
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return crowd, (*rows.remarks, *said)


def _hard_rows(
    table: pl.DataFrame, name: str, classes: Sequence[str] | None, item: str | None
) -> ItemRows | None:
    """One class per item as rows; None where the table does not hold just that."""
    column, guessed = find_items(table, name, item=item)
    others = [other for other in table.columns if other not in (column, "annotator")]
    if len(others) != 1 or others[0] not in LABEL_COLUMNS:
        return None
    chosen = table[others[0]].cast(pl.String)
    if chosen.null_count():
        raise DataError(
            f"{name}, row {(chosen.is_null().arg_max() or 0) + 1}: {others[0]!r} is empty."
        )
    names = list(classes) if classes else sorted_names(chosen.unique().to_list())
    unknown = chosen.filter(~chosen.is_in(names))
    if len(unknown):
        raise DataError(f"{name} has the class {unknown[0]!r}, which is not among those named.")
    places = np.array([names.index(one) for one in chosen])
    items = tuple(table[column].cast(pl.String))
    remarks = (guessed,) if guessed else ()
    return ItemRows(items, tuple(names), np.eye(len(names))[places], None, remarks)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _read_json_beside(path: Path) -> dict[str, Any]:
    beside = _beside(path)
    stored = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}
    return stored if isinstance(stored, dict) else {}


def _read_beside(path: Path) -> tuple[NDArray[np.float64], Provenance]:
    """Judgments behind each row and the steps so far; both empty where nothing lies beside."""
    stored = _read_json_beside(path)
    if not stored:
        return np.empty(0), ()
    return np.array(stored.get("judgments", [])), from_json(stored["provenance"])


def _read_rows(path: Path, classes: Sequence[str] | None) -> pl.DataFrame:
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
    return pl.DataFrame(values, schema=_named(path, width, classes)).with_columns(
        item=pl.Series([item for item, _ in pairs], dtype=pl.String)
    )


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
    probs = normalise(probs).probs
    try:
        return LabelSet(tuple(map(str, items)), tuple(map(str, names)), probs, provenance=(step,))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def _named(path: Path, width: int, classes: Sequence[str] | None) -> list[str]:
    names = list(classes) if classes else [str(place) for place in range(width)]
    if len(names) != width:
        raise DataError(f"{path.name} has {width} columns, but {len(names)} classes are named.")
    return names


def _in_order(name: str, found: list[str], classes: Sequence[str] | None) -> list[str]:
    if classes is None:
        return found
    if set(classes) != set(found):
        odd = sorted(set(classes) ^ set(found))
        raise DataError(
            f"{name} and the list of classes disagree about {', '.join(map(repr, odd[:5]))}."
        )
    return list(classes)


# From a file, a table or a dict to what an aggregator is told: weights, truths, confusions.


ITEM, ANNOTATOR = ("item", "task"), ("annotator", "worker")
TRUTH = ("truth", "label", "class")


def read_gold(source: object) -> dict[str, str]:
    """Item to true label, from the columns ``item`` and ``truth`` (or ``task``, ``label``).

    >>> read_gold([{"item": 7, "truth": "cat"}]), read_gold({7: "cat"})
    ({'7': 'cat'}, {'7': 'cat'})
    """
    if isinstance(source, Mapping) and not is_table(source):
        return {str(item): str(label) for item, label in source.items()}
    name, table = _table(source, "known labels")
    found: dict[str, str] = {}
    for row, (item, label) in _rows(name, table, (ITEM, TRUTH)):
        if found.setdefault(item, label) != label:
            raise DataError(
                f"{name}, row {row}: item {item!r} is {label!r} here and {found[item]!r} in an "
                "earlier row; keep one."
            )
    return found


def read_weights(source: object) -> dict[str, float]:
    """Annotator to weight, from the columns ``annotator`` and ``weight`` (``worker``, ``skill``).

    >>> read_weights([{"annotator": "ann", "weight": 2}])
    {'ann': 2.0}
    """
    if isinstance(source, Mapping) and not is_table(source):
        return {str(name): weight for name, weight in source.items()}
    name, table = _table(source, "weights")
    found: dict[str, float] = {}
    for row, (annotator, weight) in _rows(
        name, table, (ANNOTATOR, ("weight", "skill")), number=True
    ):
        if annotator in found:
            raise DataError(f"{name}, row {row}: {annotator!r} has a weight already; keep one.")
        found[annotator] = float(weight)
    return found


def read_confusions(source: object) -> dict[str, dict[str, dict[str, float]]]:
    """Confusions by annotator, true label and label said; columns ``annotator, true, said, count``.

    >>> read_confusions([{"annotator": "ann", "true": "cat", "said": "dog", "count": 3}])
    {'ann': {'cat': {'dog': 3.0}}}
    """
    if isinstance(source, Mapping) and not is_table(source):
        return {str(name): matrix for name, matrix in source.items()}
    name, table = _table(source, "confusions")
    columns = (ANNOTATOR, ("true", "truth"), ("said", "label"), ("count", "probability"))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row, (annotator, true, said, count) in _rows(name, table, columns, number=True):
        matrix = found.setdefault(annotator, {}).setdefault(true, {})
        if said in matrix:
            raise DataError(
                f"{name}, row {row}: how often {annotator!r} says {said!r} of {true!r} stands in "
                "an earlier row; keep one."
            )
        matrix[said] = float(count)
    return found


def _table(source: object, what: str) -> tuple[str, pl.DataFrame]:
    if isinstance(source, str | Path):
        return Path(source).name, read_frame(Path(source))
    return f"The table of {what}", to_frame(source, what=f"table of {what}")


def _rows(
    name: str,
    table: pl.DataFrame,
    columns: Sequence[tuple[str, ...]],
    *,
    number: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each row as texts; the last one a number where it must be."""
    chosen = [_column(name, table, names) for names in columns]
    if number:
        table = with_numbers(name, table, chosen[-1:])
    for row, fields in enumerate(table.select(chosen).iter_rows(), start=1):
        empty = [
            column for column, field in zip(chosen, fields, strict=True) if field in (None, "")
        ]
        if empty:
            raise DataError(f"{name}, row {row}: column {empty[0]!r} is empty.")
        yield row, [str(field).strip() for field in fields]


def _column(name: str, table: pl.DataFrame, names: tuple[str, ...]) -> str:
    found = [column for column in names if column in table.columns]
    if not found:
        raise DataError(
            f"{name} needs a column {' or '.join(map(repr, names))}; it has "
            f"{', '.join(map(repr, table.columns[:20]))}."
        )
    return found[0]


GIVEN_READERS = {
    "gold": read_gold,
    "weights": read_weights,
    "initial_confusions": read_confusions,
}
"""Options of aggregators that may be a file or a table, and who reads them."""


def read_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an aggregator, with files and tables read."""
    return {
        name: GIVEN_READERS[name](value) if name in GIVEN_READERS and value is not None else value
        for name, value in options.items()
    }
