"""What readers and writers share: rows with their lines, pseudonyms, ids, progress, whole files.

Every reader is a function of a path and ``ReadOptions`` that returns ``Judgments`` (or
``Comparisons`` or ``MixJudgments``). A row that cannot be read becomes a ``RejectedRow``.
"""

import csv
import hashlib
import hmac
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.coded import CodedTable
from sfumato.judgments.formats.texts import (
    DELIMITERS,
    HEAD,
    bytes_done,
    content_suffix,
    find_delimiter,
    open_table_text,
    stated_delimiter,
)
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark, judgments_from
from sfumato.judgments.question import Question, ask, top_choice
from sfumato.names import sorted_names
from sfumato.provenance import Step, fingerprint_file

Progress = Callable[[int, int], None]
"""Called with bytes (or rows) done and in all."""

PartReader = Callable[["Sequence[Path]", "PartColumns"], "Sequence[CodedTable]"]
"""From the files of a folder and the columns wanted to the coded columns of each. Where only some
rows are given, the column ``ROW`` says which."""

ROW = "\0row"
"""The column that numbers the rows of a part, where some were left out."""

Key = Callable[[], str]
"""Called for the secret of a study when it is needed, and not before."""

PLATFORM_ID = re.compile(r"[0-9a-f]{24}|A[0-9A-Z]{9,20}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
"""What worker ids of Prolific and Mechanical Turk, and e-mail addresses, look like."""

csv.field_size_limit(2**31 - 1)


class UnclearSource(DataError):
    """What a file or table holds cannot be told; naming one of ``options`` would settle it."""

    def __init__(self, message: str, *options: str) -> None:
        super().__init__(message)
        self.options = options
        """Fields of ``ReadOptions``, or "format"."""


class NoAnswers(DataError):
    """A file or table of labels or of a model's predictions: it can be read, but not as answers."""


BLOCK = 2**24
"""Bytes of a file looked at together."""

CHUNK = 10_000
"""Rows turned into columns at a time: few enough that Python's garbage collector lets them be."""


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file that the file does not say itself."""

    classes: tuple[str, ...] | None = None
    """The label columns in order; otherwise the file's own, sorted."""
    question: str | None = None
    """The kind of question, where the format leaves it open."""
    asked: Question | None = None
    """The question itself, with its classes and options, where nothing beside the file tells it."""
    item: str | None = None
    """The column that names the item, where it is not to be guessed."""
    annotator: str | None = None
    """The column that names the person."""
    answer: str | None = None
    """The column that holds the answer."""
    at: str | None = None
    """The column that says when the answer was given."""
    seconds: str | None = None
    """The column that says how long it took."""
    delimiter: str | None = None
    """What separates the fields of a text table, where it is not to be guessed."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Classes to be read under another name; several with one name become one class."""
    casefold: bool = False
    """Whether classes that differ in capitals only are one class."""
    question_file: Path | None = None
    """The question of a file in our own format, where it does not lie beside it."""
    parts: "PartReader | None" = None
    """Reads the parts of a folder in another way than one after the other in this process."""
    some_rows: bool = False
    """Whether ``parts`` gives back a share of the rows, by which no guess is judged."""
    key: Key = lambda: ""
    """Gives the secret of the study when a platform id turns up; same key, same pseudonyms."""
    progress: Progress = lambda done, total: None


@dataclass(frozen=True)
class PartColumns:
    """What is wanted of a part."""

    used: tuple[str, ...]
    """Columns to read, as far as the part has them."""
    texts: tuple[str, ...]
    """Those of them that become codes."""
    left: tuple[str, ...] = ()
    """Columns of which only is asked whether all are empty."""
    item: str = "item"
    """The column that names the item."""


@dataclass(frozen=True)
class Rows:
    """The rows of a CSV file as text, with the line each starts in; "" is null."""

    table: pl.DataFrame
    lines: list[int]
    rejected: list[RejectedRow]
    remarks: tuple[Remark, ...] = ()
    """What is unusual about the file: its delimiter, its encoding."""


def read_csv_rows(
    path: Path, *, needed: Sequence[str], progress: Progress, delimiter: str | None = None
) -> Rows:
    """Read a CSV file as text columns; a row with too many or too few fields is set aside.

    Quoted fields may hold line breaks; ``lines`` counts them. A missing column is an error.
    Without a ``delimiter`` the first lines tell it.
    """
    dialect = find_dialect(path, needed=needed, delimiter=delimiter)
    if (plain := _plain_table(path, dialect)) is not None:
        progress(total := path.stat().st_size, total)
        return Rows(plain, list(range(2, len(plain) + 2)), [], dialect.remarks)
    lines: list[int] = []
    rejected: list[RejectedRow] = []
    total = path.stat().st_size
    frames = []
    with open_table_text(path) as file:
        reader = csv.reader(file, delimiter=dialect.delimiter)
        if dialect.stated:
            next(reader)  # the line in which Excel says how it separates
        header = _header(path, reader, needed)
        for chunk in _chunks(path, reader, len(header), lines, rejected):
            frames.append(_columns(header, chunk))
            progress(min(bytes_done(file), total), total)
    progress(total, total)
    table = pl.concat(frames) if frames else _columns(header, [])
    return Rows(table, lines, rejected, dialect.remarks)


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    header: tuple[str, ...]
    delimiter: str
    stated: bool
    """Whether a first line says how fields are separated."""
    encoding: str
    remarks: tuple[Remark, ...]


def find_dialect(
    path: Path, *, needed: Sequence[str] = (), delimiter: str | None = None
) -> Dialect:
    """How a text table is written, and the names of its columns; a missing one is an error."""
    with open_table_text(path) as file:
        head = file.read(HEAD)
        file.seek(0)
        stated = stated_delimiter(head)
        usual = "\t" if content_suffix(path) in (".tsv", ".tab") else ","
        split = delimiter or stated or find_delimiter(head, default=usual)
        reader = csv.reader(file, delimiter=split)
        if stated:
            next(reader)
        header = _header(path, reader, needed)
        remarks = _on_dialect(file.encoding, split, usual)
        return Dialect(tuple(header), split, stated is not None, file.encoding, remarks)


def count_plain_lines(path: Path, dialect: Dialect) -> int | None:
    """How many lines a table has that is so plain that a line is a row; None if it is not.

    There are no quotes and no gaps, and all lines together have as many delimiters as they should.
    """
    split, width = dialect.delimiter.encode(), len(dialect.header)
    if width < 2 or dialect.stated or dialect.encoding != "utf-8-sig":
        return None
    lines = splits = 0
    block = last = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            if block.endswith(b"\r"):
                block += file.read(1)
            if b'"' in block or b"\x00" in block or block.count(b"\r") != block.count(b"\r\n"):
                return None
            lines += block.count(b"\n")
            splits += block.count(split)
            last = block[-1:]
    lines += last != b"\n"
    return lines if splits == (width - 1) * lines else None


def _plain_table(path: Path, dialect: Dialect) -> pl.DataFrame | None:
    """The columns of a plain table: a million rows are read ten times as fast so."""
    lines = count_plain_lines(path, dialect)
    if lines is None:
        return None
    try:
        table = pl.read_csv(
            path, separator=dialect.delimiter, infer_schema=False, quote_char=None, has_header=True
        )
    except pl.exceptions.PolarsError:  # too many fields in one row, too few in another
        return None
    named = [name.strip() or f"column {place}" for place, name in enumerate(table.columns)]
    if named != list(dialect.header) or len(table) != lines - 1:  # compressed, empty lines
        return None
    table.columns = list(dialect.header)
    return table


def read_csv_head(path: Path, *, delimiter: str | None = None) -> list[str]:
    """The names of the columns of a text table."""
    with open_table_text(path) as file:
        head = file.read(HEAD)
    split = delimiter or stated_delimiter(head) or find_delimiter(head)
    reader = csv.reader(head.splitlines(True), delimiter=split)
    if stated_delimiter(head):
        next(reader)
    return _header(path, reader, ())


def _on_dialect(encoding: str, delimiter: str, usual: str) -> tuple[Remark, ...]:
    remarks = []
    if delimiter != usual:
        shown = {code: name for name, code in DELIMITERS.items()}.get(delimiter, repr(delimiter))
        remarks.append(Remark(f"fields are separated by {shown}", 1))
    if encoding != "utf-8-sig":
        remarks.append(Remark(f"text read as {encoding}, not UTF-8", 1))
    return tuple(remarks)


def pseudonym(name: str, key: str) -> str:
    """A stable stand-in for a platform's worker id: the same name and key give the same one.

    HMAC-SHA256 under the study's key, so that nobody without the key can test a guess.

    >>> pseudonym("5f2a9c0b1d3e4f5a6b7c8d9e", "study 1")
    'person-9d139fc064'
    """
    digest = hmac.new(key.encode(), name.encode(), hashlib.sha256).hexdigest()
    return f"person-{digest[:10]}"


def pseudonymous(annotators: pl.Series, key: Key) -> tuple[pl.Series, int]:
    """Replace ids that look like those of a crowd platform; also how many people that were."""
    people = annotators.drop_nulls().unique().to_list()
    known = [name for name in people if PLATFORM_ID.fullmatch(name)]
    if not known:
        return annotators, 0
    secret = key()
    stands_for = {name: pseudonym(name, secret) for name in known}
    if len(set(stands_for.values())) < len(stands_for):
        raise DataError("Two annotators got the same pseudonym; choose another study key.")
    return annotators.replace(stands_for), len(stands_for)


def clean_id(values: pl.Series) -> tuple[pl.Series, int]:
    """Ids that a spreadsheet wrote as floats, back as integers; also how many there were.

    >>> clean_id(pl.Series(["1128.0", "7"]))[0].to_list()
    ['1128', '7']
    """
    floats = values.str.contains(r"^\d+\.0+$").fill_null(False)
    cleaned = values.str.strip_chars().str.replace(r"^(\d+)\.0+$", "$1")
    return cleaned, int(floats.sum())


def read_classes(path: Path) -> tuple[str, ...]:
    """The classes in order from a text file with one on each line; empty lines do not count."""
    with open_text(path) as file:
        names = tuple(line.strip() for line in file if line.strip())
    if len(names) < 2:
        raise DataError(f"{path.name} names {len(names)} classes; at least two are needed.")
    return names


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file, or say why it cannot be read."""
    try:
        file = path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
    with file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path.name} is not UTF-8 text (byte {error.start}: {error.reason}). "
                "Save it as UTF-8, or check that it is the right file."
            ) from None


_BREAK = re.compile(r"\r\n|\r|\n")


class _Rows(Protocol):
    """A ``csv.reader``, whose own type the standard library does not name."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def _header(path: Path, reader: _Rows, needed: Sequence[str]) -> list[str]:
    try:
        header = next(reader, None)
        while header == []:  # empty lines before the header
            header = next(reader, None)
    except csv.Error as error:
        raise DataError(f"{path.name}, line 1: cannot be read as CSV ({error}).") from None
    if header is None:
        wanted = ", ".join(map(repr, needed)) or "the names of its columns"
        raise DataError(f"{path.name} is empty; expected a header row with {wanted}.")
    header = [name.strip() for name in header]
    missing = [name for name in needed if name not in header]
    if missing:
        raise DataError(
            f"{path.name} has no column {missing[0]!r}. Its columns are "
            f"{_listed(header)}; needed are {_listed(needed)}."
        )
    named = [name or f"column {place}" for place, name in enumerate(header)]
    name, times = Counter(named).most_common(1)[0]
    if times > 1:
        raise DataError(f"{path.name} has {times} columns called {name!r}; rename or remove them.")
    return named


def _listed(names: Sequence[str], most: int = 20) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name[:60]) for name in names[:most]) + more


def _chunks(
    path: Path,
    reader: _Rows,
    width: int,
    lines: list[int],
    rejected: list[RejectedRow],
) -> Iterator[list[list[str]]]:
    while True:
        first = reader.line_num + 1
        try:
            rows = list(islice(reader, CHUNK))
        except csv.Error as error:
            where = f"{path.name}, line {reader.line_num}"
            raise DataError(f"{where}: cannot be read as CSV ({error}).") from None
        if not rows:
            return
        starts = _starts(rows, first, reader.line_num)
        if all(len(row) == width for row in rows):
            lines.extend(starts)
            yield rows
            continue
        whole = []
        for line, row in zip(starts, rows, strict=True):
            if len(row) == width:
                whole.append(row)
                lines.append(line)
            elif row:  # an empty line is no row
                reason = f"{len(row)} fields where the header has {width}"
                rejected.append(RejectedRow(path.name, line, "", reason, ",".join(row)[:200]))
        yield whole


def _starts(rows: list[list[str]], first: int, last: int) -> Sequence[int]:
    """The line each row starts in, given the first and the last line of all of them."""
    if last - first + 1 == len(rows):
        return range(first, last + 1)
    breaks = [sum(len(_BREAK.findall(field)) for field in row) for row in rows]
    return list(accumulate((1 + more for more in breaks[:-1]), initial=first))


def _columns(header: Sequence[str], rows: list[list[str]]) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    series = [
        pl.Series(name, values, dtype=pl.String)
        for name, values in zip(header, columns, strict=True)
    ]
    return pl.DataFrame(series).with_columns(
        pl.when(pl.all() != "").then(pl.all()).otherwise(None).name.keep()
    )


# Turn a JSON text into its elements one by one, each with the line it starts in.

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """A member of a JSON object, and where its value begins."""

    line: int
    name: str
    value: Any
    start: int


def read_json_text(path: Path) -> str:
    """The text of a JSON file; an empty one is an error."""
    with open_table_text(path) as file:
        text = file.read()
    if not text.strip():
        raise DataError(f"{path.name} is empty; expected JSON.")
    return text


def parse_json(text: str, *, file: str) -> Any:
    """The value of a JSON text."""
    value, end = _decode(text, _skip(text, 0), file)
    _expect_end(text, end, file)
    return value


def elements(text: str, *, file: str) -> Iterator[tuple[int, Any]]:
    """Line and value of each element of a list; of the whole text if it is no list.

    >>> list(elements('[1,\\n {"a": 2}]', file="example.json"))
    [(1, 1), (2, {'a': 2})]
    """
    at = _skip(text, 0)
    line = 1 + text.count("\n", 0, at)
    if not text.startswith("[", at):
        yield line, parse_json(text, file=file)
        return
    seen, end = at, _skip(text, at + 1)
    while not text.startswith("]", end):
        line += text.count("\n", seen, end)
        seen = end
        value, end = _decode(text, end, file)
        yield line, value
        end = _next(text, end, "]", file)
    _expect_end(text, end + 1, file)


def members(text: str, *, file: str, start: int = 0) -> Iterator[Member]:
    """The members of the object that begins at ``start``; a name that occurs twice comes twice.

    >>> [(line, name) for line, name, value, start in members('{"a": 1,\\n"a": 2}', file="x.json")]
    [(1, 'a'), (2, 'a')]
    """
    seen = _skip(text, start)
    line = 1 + text.count("\n", 0, seen)
    if not text.startswith("{", seen):
        raise _broken(text, seen, file, "expected a JSON object")
    at = _skip(text, seen + 1)
    while not text.startswith("}", at):
        line += text.count("\n", seen, at)
        seen = at
        name, at = _decode(text, at, file)
        at = _skip(text, at)
        if not isinstance(name, str) or not text.startswith(":", at):
            raise _broken(text, at, file, "not JSON (expected a name and a colon)")
        begins = _skip(text, at + 1)
        value, at = _decode(text, begins, file)
        yield Member(line, name, value, begins)
        at = _next(text, at, "}", file)
    if start == 0:
        _expect_end(text, at + 1, file)


def plain_text(value: Any) -> str | None:
    """An id or label as text: texts stay, whole numbers lose a ``.0``; None for anything else.

    >>> plain_text("cat"), plain_text(3), plain_text(3.0), plain_text([3]), plain_text(True)
    ('cat', '3', '3', None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and value.strip() and is_utf8(value):
        return value.strip()
    return None


def is_utf8(text: str) -> bool:
    """Whether a text can be stored: JSON escapes can spell half a surrogate pair.

    >>> is_utf8("\\u00e9"), is_utf8("\\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decode(text: str, at: int, file: str) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {error.lineno}: not JSON ({error.msg}).") from None
    except (ValueError, RecursionError):  # a number or a nesting beyond what Python reads
        raise _broken(text, at, file, "a number too large or a nesting too deep") from None


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _next(text: str, at: int, close: str, file: str) -> int:
    """From the end of an element to the next one, or to the closing bracket."""
    at = _skip(text, at)
    if text.startswith(close, at):
        return at
    if not text.startswith(",", at):
        raise _broken(text, at, file, f"not JSON (expected ',' or {close!r})")
    at = _skip(text, at + 1)
    if text.startswith(close, at):
        raise _broken(text, at, file, f"not JSON (a comma before {close!r})")
    return at


def _expect_end(text: str, at: int, file: str) -> None:
    at = _skip(text, at)
    if at < len(text):
        raise _broken(text, at, file, "not JSON (text after the end)")


def _broken(text: str, at: int, file: str, what: str) -> DataError:
    return DataError(f"{file}, line {1 + text.count(chr(10), 0, at)}: {what}.")


# Turn items, annotators and one label each into choose-one judgments.

PSEUDONYMS = "platform ids replaced by pseudonyms"
"""What a remark says when people's ids were replaced; its count is people."""

MOST_CLASSES = 5_000
"""More different labels than this are free text, unless the user names the classes."""


def judgments_of_choices(
    path: Path,
    table: pl.DataFrame,
    *,
    lines: Sequence[int] | pl.Series,
    rejected: Sequence[RejectedRow],
    remarks: Sequence[Remark],
    options: ReadOptions,
    format_name: str,
) -> Judgments:
    """Choose-one judgments from the text columns item, annotator and label.

    A row without item or label is set aside, one without annotator stays: its vote counts.
    """
    if options.question not in (None, "choose-one"):
        raise DataError(
            f"The format {format_name!r} holds one label per judgment, so its question is "
            f"'choose-one', not {options.question!r}."
        )
    place = pl.Series(lines, dtype=pl.Int64)
    table, noted = _tidy(table, options)
    whole = table["item"].is_not_null() & table["label"].is_not_null()
    aside = [
        RejectedRow(
            path.name, line, "item" if item is None else "label", "empty", _shown(item, label)
        )
        for line, item, label in zip(
            place.filter(~whole),
            *table.filter(~whole).select("item", "label"),
            strict=True,
        )
    ]
    table = table.filter(whole)
    asked = ask("choose-one", classes_among(table["label"], options.classes, file=path.name))
    question = replace(asked, wording="")  # nobody recorded what people read
    return judgments_from(
        question,
        table.select("item", "annotator", answer=_as_json(table["label"])),
        file=path.name,
        lines=place.filter(whole).to_numpy(),
        rejected=[*rejected, *aside],
        remarks=[*remarks, *noted],
        provenance=(Step(f"read {format_name}", {}, {path.name: fingerprint_file(path)}),),
    )


def classes_among(
    labels: pl.Series, named: Sequence[str] | None, *, file: str, answers: int | None = None
) -> tuple[str, ...]:
    """The classes that the user named, otherwise the different labels in natural order.

    ``answers`` says how many there were, where ``labels`` are only the different ones.
    """
    if named is not None:
        return tuple(named)
    found = labels.drop_nulls().unique()
    if len(found) > MOST_CLASSES:
        raise UnclearSource(
            f"{file} holds {len(found):,} different labels, such as {found.min()!r} and "
            f"{found.max()!r}: too many to be taken for classes. Name the classes.",
            "classes",
        )
    _refuse_free_text(found, labels.count() if answers is None else answers, file)
    if len(found) < 2:
        only = f"only the label {found[0]!r}" if len(found) else "no label"
        raise UnclearSource(f"{file} holds {only}; name all classes.", "classes")
    return tuple(sorted_names(found.to_list()))


def _refuse_free_text(found: pl.Series, answers: int, file: str) -> None:
    """Long texts, or hundreds that hardly repeat, are comments or contents, not classes."""
    lengths, words = found.str.len_chars(), found.str.count_matches(r"\S+")
    long = (lengths.mean() or 0) > 50 and len(found) > 5  # type: ignore[operator]
    sentences = (words.mean() or 0) > 4 and len(found) > 10 and len(found) > 0.5 * answers  # type: ignore[operator]
    unlike = len(found) > 100 and len(found) > 0.8 * answers
    if long or sentences or unlike:
        longest = found[int(lengths.arg_max() or 0)]
        raise UnclearSource(
            f"{file} holds {len(found):,} different answers in {answers:,}, such as "
            f"{longest[:60]!r}: free text or ids, not classes that people chose from. Read the "
            "column of the classes, or name the classes.",
            "answer",
            "classes",
        )


def tidy_ids(values: pl.Series) -> tuple[pl.Series, int]:
    """Ids without spaces around them; back as integers if a spreadsheet made all of them floats.

    >>> tidy_ids(pl.Series([" 4.0", None, "17.0"]))[0].to_list()
    ['4', None, '17']
    >>> tidy_ids(pl.Series(["1.0", "1.1"]))[0].to_list()
    ['1.0', '1.1']
    """
    stripped = values.str.strip_chars()
    stripped = stripped.set(stripped == "", None)
    floats = stripped.drop_nulls().str.contains(r"^\d+\.0+$")
    if floats.all() and len(floats):
        return clean_id(stripped)
    return stripped, 0


def _tidy(table: pl.DataFrame, options: ReadOptions) -> tuple[pl.DataFrame, list[Remark]]:
    remarks = []
    for name in ("item", "annotator", "label"):
        values, floats = tidy_ids(table[name])
        if name == "label" and floats and table["label"].is_in(list(options.classes or ())).any():
            continue  # the user says that these are the names
        table = table.with_columns(values.alias(name))
        if floats:
            remarks.append(Remark(f"{name} written as a float, read as an integer", floats))
    nameless = table["annotator"].null_count()
    if nameless:
        remarks.append(Remark("no annotator recorded", nameless))
    people, replaced = pseudonymous(table["annotator"], options.key)
    if replaced:
        remarks.append(Remark(PSEUDONYMS, replaced))
    return table.with_columns(people.alias("annotator")), remarks


def _as_json(labels: pl.Series) -> pl.Series:
    found = labels.unique().to_list()
    as_json = [json.dumps(label, ensure_ascii=False) for label in found]
    return labels.replace_strict(found, as_json, return_dtype=pl.String)


def _shown(item: str | None, label: str | None) -> str:
    return f"item {item!r}, label {label!r}"


# Set rows of a table aside, each with the field that is wrong and the reason.

T = TypeVar("T")


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a column, and in which rows."""

    field: str
    """The column of the file."""
    reason: str
    found: pl.Series
    """What stands in the column."""
    rows: pl.Series
    """True where it is wrong; null counts as right."""


def sound_rows(
    table: pl.DataFrame,
    flaws: Sequence[Flaw],
    *,
    lines: Sequence[int] | NDArray[np.int64],
    file: str,
) -> tuple[pl.DataFrame, NDArray[np.int64], list[RejectedRow]]:
    """The rows without a flaw, their lines, and the others; the first flaw of a row counts."""
    first: dict[int, Flaw] = {}
    for flaw in flaws:
        for row in flaw.rows.fill_null(False).arg_true():
            first.setdefault(row, flaw)
    rejected = [
        RejectedRow(file, int(lines[row]), flaw.field, flaw.reason, _shown_value(flaw.found[row]))
        for row, flaw in sorted(first.items(), key=lambda pair: pair[0])
    ]
    good = np.ones(len(table), dtype=bool)
    good[list(first)] = False
    return table.filter(pl.Series(good)), np.asarray(lines, dtype=np.int64)[good], rejected


def by_line(*groups: Sequence[RejectedRow]) -> tuple[RejectedRow, ...]:
    """Rows that were set aside for different reasons, in the order of the file."""
    return tuple(sorted((row for group in groups for row in group), key=lambda row: row.line))


def flag_empty(table: pl.DataFrame, field: str) -> Flaw:
    """A flaw wherever a column says nothing."""
    return Flaw(field, "empty", table[field], table[field].is_null())


def flag_no_number(table: pl.DataFrame, field: str, *, low: float, high: float) -> Flaw:
    """A flaw wherever a text column holds something else than a number from low to high."""
    number = table[field].cast(pl.Float64, strict=False)
    inside = (number.is_between(low, high) & number.is_finite()).fill_null(False)
    bounds = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
    rows = ~inside & table[field].is_not_null()
    return Flaw(field, f"not a number {bounds}", table[field], rows)


def flag_no_whole_number(table: pl.DataFrame, field: str) -> Flaw:
    """A flaw wherever a text column holds something else than 0, 1, 2, …."""
    rows = ~table[field].str.contains(r"^[0-9]{1,18}$")
    return Flaw(field, "not a whole number", table[field], rows)


def flag_unknown_word(table: pl.DataFrame, field: str, words: Sequence[str]) -> Flaw:
    """A flaw wherever a text column holds something else than one of the given words."""
    rows = ~table[field].is_in(list(words))
    return Flaw(field, f"not one of {', '.join(words)}", table[field], rows)


def parse_column(
    table: pl.DataFrame, field: str, parse: Callable[[str], T]
) -> tuple[list[T | None], list[Flaw]]:
    """What ``parse`` makes of each text of a column; the reasons of its ``ValueError``s as flaws.

    An empty field is parsed as the empty text.
    """
    values: list[T | None] = []
    wrong: dict[str, list[int]] = {}
    for row, text in enumerate(table[field]):
        try:
            values.append(parse(text or ""))
        except ValueError as error:
            values.append(None)
            wrong.setdefault(str(error), []).append(row)
    everywhere = pl.Series(range(len(table)), dtype=pl.Int64)
    flaws = [
        Flaw(field, reason, table[field], everywhere.is_in(rows)) for reason, rows in wrong.items()
    ]
    return values, flaws


def people(annotators: pl.Series, key: Key) -> tuple[pl.Series, list[Remark]]:
    """Annotators under pseudonyms where they need one, and a remark if any did."""
    names, replaced = pseudonymous(annotators, key)
    remarks = [Remark(PSEUDONYMS, replaced)] if replaced else []
    return names, remarks


def _shown_value(value: object) -> str:
    return "" if value is None else str(value)[:200]


# What all writers share: whole files or none, no platform ids, one label where one fits.


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to that takes the place of ``path`` once everything is written."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def refuse_platform_ids(annotators: pl.Series) -> None:
    """Worker ids of a platform are never exported."""
    people = annotators.drop_nulls().unique().sort().to_list()
    found = [name for name in people if PLATFORM_ID.fullmatch(name)]
    if found:
        raise DataError(
            f"{len(found)} annotator ids look like those of a crowd platform, such as "
            f"{found[0][:4]}…; they are never written. Replace them by pseudonyms first."
        )


def choices_of(judgments: Judgments, format_name: str) -> pl.DataFrame:
    """Columns item, annotator and label of choose-one judgments; anything else is refused.

    A format with one label per judgment would turn repeats and checks into ordinary answers.
    """
    refuse_platform_ids(judgments.table["annotator"])
    if judgments.question.kind != "choose-one":
        raise DataError(
            f"The format {format_name!r} holds one label per judgment and cannot hold answers to "
            f"the question {judgments.question.kind!r}. Write them as 'sfumato'."
        )
    other = judgments.table.filter(pl.col("view") != "first")
    if len(other):
        raise DataError(
            f"The format {format_name!r} cannot say that {len(other)} of {len(judgments)} "
            f"judgments are not first views (the first is a {other['view'][0]!r}). Leave them "
            "out, or write 'sfumato'."
        )
    chosen = top_choice(judgments.statements)[judgments.statements.index]
    labels = pl.Series(judgments.question.classes, dtype=pl.String).gather(chosen)
    return judgments.table.select("item", "annotator").with_columns(labels.alias("label"))


def refuse_second_labels(table: pl.DataFrame, format_name: str) -> None:
    """For formats with one place for each person's label of an item."""
    nameless = int(table["annotator"].null_count())
    if nameless:
        raise DataError(
            f"The format {format_name!r} needs the annotator of every judgment; {nameless} of "
            f"{len(table)} are not recorded. Write 'crowd' or 'sfumato'."
        )
    again = table.filter(~pl.struct("item", "annotator").is_first_distinct())
    if len(again):
        item, annotator = again.select("item", "annotator").row(0)
        raise DataError(
            f"The format {format_name!r} has one place for an annotator's label of an item, but "
            f"{annotator!r} judged item {item!r} more than once. Leave duplicates out first."
        )
