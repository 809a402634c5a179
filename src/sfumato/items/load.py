"""Turn folders, archives, arrays and tables into ``Items``; texts and vectors into what is kept."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.frames import is_table, split_index
from sfumato.items.items import TEXT, Id, Items, Kind, Naming
from sfumato.items.pictures import (
    ENDINGS,
    FoundFiles,
    Size,
    open_files,
    read_picture,
    stack_pictures,
)
from sfumato.judgments.formats.texts import decode_text
from sfumato.labels.tables import (
    find_items,
    read_arrays,
    read_frame,
    table_ending,
    with_numbers,
)
from sfumato.provenance import Provenance, Setting, Step, fingerprint_file

# Keep vectors that took long to compute in the user's cache folder, by fingerprint.


def cache_folder() -> Path:
    """Where the user's system keeps what can be computed or fetched again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def kept_vectors(
    fingerprint: str, compute: Callable[[], NDArray[Any]], rows: int
) -> NDArray[np.float32]:
    """The vectors of that fingerprint, computed only where the cache folder does not hold them.

    What cannot be written is computed again next time; a damaged file is replaced.
    """
    path = cache_folder() / "sfumato" / "vectors" / f"{fingerprint}.npy"
    with suppress(OSError, ValueError, EOFError):
        stored = np.load(path, allow_pickle=False)
        if stored.ndim == 2 and len(stored) == rows and stored.dtype == np.float32:
            return stored
    vectors = np.ascontiguousarray(compute(), dtype=np.float32)
    part = path.with_name(f".{fingerprint}.{os.getpid()}.npy")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(part, vectors)
        part.replace(path)
    return vectors


# Turn files and cells of tables into texts, and texts into what fits beside a number.


TEXT_ENDINGS = (".txt",)

LONGEST = 280
"""Letters of a text that are shown; the rest is cut."""

TEXT_NAMES = (
    "text", "sentence", "content", "body", "comment", "tweet", "question", "prompt", "premise",
    "hypothesis", "context", "statement", "response", "answer_a", "answer_b", "conversation",
    "dialogue", "messages",
)  # fmt: skip
"""What a column of texts is usually called."""

SPEAKERS = ("speaker", "role", "from", "author", "name")
SAID = ("text", "content", "value", "message", "utterance")
"""What the two parts of a turn are usually called."""


def read_texts(found: FoundFiles, path: Path) -> list[str]:
    """The text of every file, of any usual encoding."""
    return [decode_text(found.read(name), f"{name} in {path.name}").strip() for name in found.names]


def as_text(value: Any, where: str) -> str:
    r"""A cell as text; a conversation becomes one line per turn, after its speaker.

    >>> as_text([{"role": "user", "content": "Hi"}, {"role": "bot", "content": "Hello"}], "")
    'user: Hi\nbot: Hello'
    """
    match value:
        case None:
            return ""
        case str():
            return value
        case Mapping():
            return _turn(value, where)
        case Sequence():
            return "\n".join(as_text(turn, where) for turn in value)
        case _:
            return str(value)


def _turn(turn: Mapping[str, Any], where: str) -> str:
    speaker = next((turn[name] for name in SPEAKERS if turn.get(name) is not None), None)
    said = next((turn[name] for name in SAID if isinstance(turn.get(name), str)), None)
    if said is None:
        raise DataError(
            f"{where} holds a turn with {', '.join(turn)}; expected a speaker "
            f"({', '.join(SPEAKERS)}) and what was said ({', '.join(SAID)})."
        )
    return said if speaker is None else f"{speaker}: {said}"


def show_text(fields: Mapping[str, str], longest: int = LONGEST) -> str:
    """A text: several fields after their names, each cut to its share of the room.

    >>> show_text({"premise": "It rains.", "hypothesis": "It is wet."})
    'premise: It rains. · hypothesis: It is wet.'
    >>> show_text({"text": "much too long"}, longest=6)
    'much …'
    """
    told = {name: text for name, text in fields.items() if text.strip()}
    room = longest // max(len(told), 1)
    cut = {
        name: text if len(text) <= room else f"{text[: room - 1]}…" for name, text in told.items()
    }
    if len(fields) == 1:
        return "".join(cut.values())
    return " · ".join(f"{name}: {text}" for name, text in cut.items())


SOURCES = (
    "a folder or zip archive of pictures or texts, an .npy, .npz, .csv, .jsonl or .parquet file, "
    "a table, an array, or a dict of arrays or texts by id"
)
"""What ``load_items`` takes, for messages."""

ID_ARRAYS = ("ids", "items", "item")
"""What the array of ids in an ``.npz`` file may be called."""
ONLY_FOR = {
    "ids": "ids of rows are given for arrays only",
    "columns": "columns are chosen from tables only",
    "text": "fields of texts are chosen from tables only",
    "naming": "only files are called by path, name or stem",
    "size": "only files of pictures are resized",
}
NO_NUMBERS = ("annotator", "class", "label", "split", "target")
"""Columns that are hardly meant as one of an item's numbers, although they may hold numbers."""


@runtime_checkable
class _ImageSet(Protocol):
    """Pictures of a dataset, as ``sfumato.data`` loads them."""

    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def images(self) -> NDArray[Any]: ...


@runtime_checkable
class _FeatureSet(Protocol):
    """Vectors of a dataset, as ``sfumato.data`` loads them."""

    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def features(self) -> NDArray[Any]: ...


def load_items(
    source: object,
    *,
    ids: Sequence[Id] | None = None,
    item: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    naming: Naming | None = None,
    size: Size | int | None = None,
) -> Items:
    """What labels are about, as ``Items``: pictures, texts or vectors with their ids.

    ``source`` is a folder or zip archive of pictures (PNG, JPEG) or texts (TXT), an ``.npy`` or
    ``.npz`` file, a CSV, JSONL or Parquet file of texts or vectors, a table of any known library,
    an array (two dimensions: vectors; three or four: images), a list of texts, a dict of arrays or
    texts by id, or a loaded dataset.

    ``ids`` are those of an array's rows; left out, rows are called "0", "1", … In a table they are
    the column ``item``, or the index of a pandas frame, or else a column that is called as ids
    usually are (``items.remarks`` says which), and all other columns are numbers, unless
    ``columns`` names some. ``text`` names the column of texts, or several, which become the fields
    of a text: premise and hypothesis. Left out, columns that are called as texts usually are
    become its fields. A conversation is a list of turns with speaker and text.

    Pictures are called by their path; labels may call them by file name or
    stem too, and ``naming`` settles it from the start. ``size``, (height, width) or one number for
    both, has pictures resized by Lanczos' filter; otherwise all must be of one size.

    >>> load_items(np.eye(2), ids=[7, 8])
    <Items: 2 vectors of 2 numbers, 7, 8>
    >>> load_items([{"item": "a", "age": 30, "height": 1.7}]).columns
    ('age', 'height')
    >>> load_items([{"id": 1, "premise": "It rains.", "hypothesis": "It is wet."}])
    <Items: 1 text (premise, hypothesis), 1>
    """
    fields = [text] if isinstance(text, str) else text
    options = {"ids": ids, "columns": columns, "text": fields, "naming": naming, "size": size}
    if isinstance(source, str | Path):
        return _from_path(Path(source), item, options)
    if isinstance(source, Items):
        return _using(source, options)
    if isinstance(held := getattr(source, "items", None), Items):  # of a set of texts
        return _using(held, options)
    if isinstance(source, _ImageSet):
        return _from_set(source, source.images, "images", options)
    if isinstance(source, _FeatureSet):
        return _from_set(source, source.features, "vectors", options)
    if is_table(source) and (not isinstance(source, Mapping) or (item or "item") in source):
        _refuse_unused("A table", options, used=("columns", "text"))
        return _from_table(source, "The table", item, options, (Step("load items"),))
    if isinstance(source, Mapping):
        _refuse_unused("A dict of arrays or texts", options)
        return _from_dict(source)
    _refuse_unused("An array", options, used=("ids",))
    if isinstance(source, Sequence) and source and all(isinstance(row, str) for row in source):
        names = range(len(source)) if ids is None else ids
        texts = np.array(source, dtype=object)
        return Items(tuple(map(str, names)), texts, "texts", provenance=(Step("load items"),))
    return _from_array(_as_array(source), ids, "The array", (Step("load items"),))


def holds_files(source: object) -> bool:
    """Whether the source is a folder or zip archive."""
    if not isinstance(source, str | Path):
        return False
    return Path(source).is_dir() or str(source).lower().endswith(".zip")


def holds_table(source: object) -> bool:
    """Whether the source is a table, or a file of one."""
    if isinstance(source, str | Path):
        return bool(table_ending(Path(source)))
    return is_table(source)


def _from_path(path: Path, item: str | None, options: Mapping[str, Any]) -> Items:
    if not path.exists():
        raise DataError(f"There is no file or folder {path}.")
    name = path.name.lower()
    if holds_files(path):
        _refuse_unused(f"The folder or archive {path.name}", options, used=("naming", "size"))
        return _from_files(path, options["naming"], options["size"])
    step = (Step("load items", {}, {path.name: fingerprint_file(path)}),)
    if name.endswith((".npy", ".npz")):
        _refuse_unused(path.name, options, used=("ids",))
        return _from_array_file(path, options["ids"], step)
    if table_ending(path):
        _refuse_unused(path.name, options, used=("columns", "text"))
        return _from_table(read_frame(path), path.name, item, options, step)
    raise DataError(f"{path.name} holds no items that can be read; give {SOURCES}.")


def _refuse_unused(what: str, options: Mapping[str, Any], *, used: Sequence[str] = ()) -> None:
    for name, value in options.items():
        if value is not None and name not in used:
            raise DataError(f"{what} cannot be read so: {ONLY_FOR[name]}.")


def _using(items: Items, options: Mapping[str, Any]) -> Items:
    _refuse_unused("What is loaded already", options)
    return items


def _from_set(
    source: _ImageSet | _FeatureSet, contents: NDArray[Any], kind: Kind, options: Mapping[str, Any]
) -> Items:
    _refuse_unused("A dataset", options)
    provenance: Provenance = getattr(source, "provenance", ())
    return Items(source.items, contents, kind, provenance=(*provenance, Step("load items")))


def _from_files(path: Path, naming: Naming | None, size: Size | int | None) -> Items:
    found = open_files(path)
    kind: Kind = "images"
    if not found.names:
        found, kind = open_files(path, TEXT_ENDINGS), "texts"
    if not found.names:
        raise DataError(
            f"There are no pictures ({', '.join(ENDINGS)}) and no texts "
            f"({', '.join(TEXT_ENDINGS)}) in {path}."
        )
    wanted = (size, size) if isinstance(size, int) else size
    contents: Any
    if kind == "texts":
        _refuse_unused(f"The texts of {path.name}", {"size": size})
        contents = read_texts(found, path)
    else:
        pictures = [read_picture(found.read, name, path) for name in found.names]
        contents = stack_pictures(pictures, found.names, wanted)
    settings: dict[str, Setting] = {"size": None if wanted is None else [*wanted]}
    inputs = {path.name: fingerprint_file(path)} if path.is_file() else {}
    items = Items(
        tuple(found.names),
        contents,
        kind,
        files=True,
        size=wanted,
        remarks=_told(path, found.others, "PNG or JPEG" if kind == "images" else "TXT"),
        provenance=(Step("load items", settings, inputs),),
    )
    return items if naming is None else items.named(naming)


def _told(path: Path, others: Sequence[str], read: str) -> tuple[str, ...]:
    if not others:
        return ()
    counts = Counter(PurePosixPath(name).suffix.lower() or "no ending" for name in others)
    kinds = ", ".join(f"{ending}: {count:,}" for ending, count in counts.most_common(5))
    noun = "file is" if len(others) == 1 else "files are"
    return (f"{len(others):,} {noun} left out of {path.name}, being no {read} ({kinds}).",)


def _from_array_file(path: Path, ids: Sequence[Id] | None, provenance: Provenance) -> Items:
    stored = dict(read_arrays(path))
    named = [name for name in ID_ARRAYS if name in stored]
    stored_ids = stored.pop(named[0]) if named else None
    if ids is not None and stored_ids is not None:
        raise DataError(f"{path.name} names its items already ({named[0]!r}); leave ids out.")
    if stored_ids is not None:
        ids = stored_ids.tolist()
    numbers = {name: array for name, array in stored.items() if array.ndim > 1}
    if len(numbers) != 1:
        held = ", ".join(f"{name} {array.shape}" for name, array in stored.items()) or "nothing"
        raise DataError(
            f"{path.name} holds {held} besides ids; expected one array of images or vectors."
        )
    (contents,) = numbers.values()
    return _from_array(contents, ids, path.name, provenance)


def _from_array(
    contents: NDArray[Any], ids: Sequence[Id] | None, where: str, provenance: Provenance
) -> Items:
    if contents.ndim not in (2, 3, 4):
        raise DataError(
            f"{where} has the shape {contents.shape}; expected items × numbers for vectors, or "
            "items × height × width, with or without × channels, for images."
        )
    if ids is None:
        ids = range(len(contents))
    if len(ids) != len(contents):
        raise DataError(f"{where} has {len(contents)} rows, but {len(ids)} ids are given.")
    kind: Kind = "vectors" if contents.ndim == 2 else "images"
    return Items(tuple(map(str, ids)), contents, kind, provenance=provenance)


def _as_array(source: object) -> NDArray[Any]:
    try:
        array = np.asarray(source)
    except (TypeError, ValueError, RuntimeError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise DataError(f"A {type(source).__name__} cannot be read as items; give {SOURCES}.")
    return array


def _from_dict(source: Mapping[Any, Any]) -> Items:
    if not source:
        raise DataError("The dict of items is empty.")
    if all(isinstance(value, str | Mapping) for value in source.values()):
        rows = [{TEXT: value} if isinstance(value, str) else value for value in source.values()]
        table = pl.DataFrame(rows, infer_schema_length=None, strict=False)
        named = table.insert_column(0, pl.Series("item", list(map(str, source))))
        fields = {"text": [name for name in named.columns if name != "item"], "columns": None}
        return _from_table(named, "The dict", "item", fields, (Step("load items"),))
    arrays = {str(name): _as_array(value) for name, value in source.items()}
    first, shape = next((name, array.shape) for name, array in arrays.items())
    for name, array in arrays.items():
        if array.shape != shape:
            raise DataError(
                f"Item {name!r} has the shape {array.shape}, but {first!r} has {shape}; all must "
                "have one."
            )
    return _from_array(
        np.stack(list(arrays.values())), list(source), "The dict", (Step("load items"),)
    )


def _from_table(
    source: object,
    where: str,
    item: str | None,
    options: Mapping[str, Any],
    provenance: Provenance,
) -> Items:
    table, index = split_index(source, what="table of items")
    table, remarks = _with_ids(table, index, where, item)
    columns, fields = options["columns"], options["text"]
    if columns is not None and fields is not None:
        raise DataError(f"{where} holds either texts or vectors; name fields or columns, not both.")
    if columns is None and fields is None:
        fields = [name for name in table.columns if _is_text(table, name)]
        told = " and ".join(map(repr, fields))
        noun = "column" if len(fields) == 1 else "columns"
        remarks += (f"{where}: the text is taken from the {noun} {told}.",) if fields else ()
    if fields:
        return _from_texts(table, where, fields, remarks, provenance)
    if columns is None:
        columns = [name for name in table.columns if name != "item"]
        _refuse_suspicious(columns, where)
    _require_columns(table, columns, where)
    ids = tuple(table["item"].to_list())
    if [isinstance(table.schema[name], pl.List | pl.Array) for name in columns] == [True]:
        vectors = _from_lists(table[columns[0]], ids, where)
        return Items(ids, vectors, "vectors", remarks=remarks, provenance=provenance)
    _refuse_no_numbers(table, columns, where)
    numbers = with_numbers(where, table, columns).select(columns).to_numpy()
    return Items(
        ids, numbers, "vectors", columns=tuple(columns), remarks=remarks, provenance=provenance
    )


def _is_text(table: pl.DataFrame, name: str) -> bool:
    """Whether a column is called as texts usually are, and holds no numbers."""
    if name.lower() not in TEXT_NAMES:
        return False
    kind = table.schema[name]
    if kind != pl.String:
        return isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct | pl.String)
    return bool(table[name].drop_nulls().cast(pl.Float64, strict=False).is_null().any())


def _from_texts(
    table: pl.DataFrame,
    where: str,
    fields: Sequence[str],
    remarks: tuple[str, ...],
    provenance: Provenance,
) -> Items:
    _require_columns(table, fields, where)
    rows = [
        [
            as_text(value, f"{where}, row {row + 1}, column {name!r}")
            for name, value in cells.items()
        ]
        for row, cells in enumerate(table.select(fields).iter_rows(named=True))
    ]
    return Items(
        tuple(table["item"].to_list()),
        np.array(rows, dtype=object),
        "texts",
        columns=tuple(fields),
        remarks=remarks,
        provenance=provenance,
    )


def _with_ids(
    table: pl.DataFrame, index: list[Any] | None, where: str, item: str | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table with its ids as text in the column ``item``, and what is to be said about it."""
    numbered = index == list(range(len(table)))  # as pandas does by itself
    if item is None and "item" not in table.columns:
        if "" in table.columns:  # what pandas writes of an index without a name
            item = ""
        elif index is not None and not (numbered and _might_name(table)):
            table = table.with_columns(item=pl.Series(list(map(str, index)), dtype=pl.String))
    column, remark = find_items(table, where, item=item)
    empty = table[column].is_null()
    if empty.any():
        raise DataError(f"{where}, row {(empty.arg_max() or 0) + 1}: {column!r} is empty.")
    ids = pl.Series("item", list(map(str, table[column].to_list())), dtype=pl.String)
    told = [remark] if remark else []
    if column != "item" and "item" in table.columns:
        told.append(f"{where}: the column 'item' is not used.")
    rest = table.drop({column, "item"} & {*table.columns})
    return rest.insert_column(0, ids), tuple(told)


def _might_name(table: pl.DataFrame) -> bool:
    """Whether a column is called as ids usually are."""
    try:
        find_items(table, "")
    except DataError:
        return False
    return True


def _require_columns(table: pl.DataFrame, columns: Sequence[str], where: str) -> None:
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise DataError(
            f"{where} has no column {missing[0]!r}; it has {', '.join(table.columns[:20])}."
        )


def _refuse_suspicious(columns: Sequence[str], where: str) -> None:
    odd = [name for name in columns if name.lower() in NO_NUMBERS]
    if odd:
        raise DataError(
            f"{where} has a column {odd[0]!r}, which is hardly one of the numbers to learn from. "
            "Take it out, or name the columns that are meant."
        )


def _refuse_no_numbers(table: pl.DataFrame, columns: Sequence[str], where: str) -> None:
    if not columns:
        raise DataError(f"{where} has no columns of numbers besides its ids.")
    for name in columns:
        kind = table.schema[name]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.String, pl.Null)):
            raise DataError(
                f"{where}, column {name!r} holds {kind}, no numbers. Name the columns that are "
                "meant."
            )


def _from_lists(column: pl.Series, ids: Sequence[str], where: str) -> NDArray[np.float64]:
    """One column that holds a whole vector in every row."""
    rows = column.to_list()
    for row, (name, values) in enumerate(zip(ids, rows, strict=True)):
        if values is None or len(values) != len(rows[0] or ()) or None in values:
            raise DataError(
                f"{where}, row {row + 1} (item {name!r}), column {column.name!r}: expected "
                f"{len(rows[0] or ())} numbers as in the first row."
            )
    return np.array(rows, dtype=np.float64)
