"""What all readers share: rows of a CSV file with their lines, pseudonyms, ids, progress.

Every reader is a function of a path and ``ReadOptions`` that returns ``Judgments`` (or
``Comparisons`` or ``MixJudgments``). A row that cannot be read becomes a ``Rejected``.
"""

import csv
import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Protocol, TextIO

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.judgments import Rejected

__all__ = [
    "PLATFORM_ID",
    "Key",
    "Progress",
    "ReadOptions",
    "Rows",
    "clean_id",
    "open_text",
    "pseudonym",
    "pseudonymous",
    "read_classes",
    "read_csv_rows",
]

Progress = Callable[[int, int], None]
"""Called with bytes (or rows) done and in all."""

Key = Callable[[], str]
"""Called for the secret of a study when it is needed, and not before."""

PLATFORM_ID = re.compile(r"[0-9a-f]{24}|A[0-9A-Z]{9,20}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
"""What worker ids of Prolific and Mechanical Turk, and e-mail addresses, look like."""

csv.field_size_limit(2**31 - 1)

CHUNK = 10_000
"""Rows turned into columns at a time: few enough that Python's garbage collector lets them be."""


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file that the file does not say itself."""

    classes: tuple[str, ...] | None = None
    """The label columns in order; otherwise the file's own, sorted."""
    question: str | None = None
    """The kind of question, where the format leaves it open."""
    question_file: Path | None = None
    """The question of a file in our own format, where it does not lie beside it."""
    key: Key = lambda: ""
    """Gives the secret of the study when a platform id turns up; same key, same pseudonyms."""
    progress: Progress = lambda done, total: None


@dataclass(frozen=True)
class Rows:
    """The rows of a CSV file as text, with the line each starts in; "" is null."""

    table: pl.DataFrame
    lines: list[int]
    rejected: list[Rejected]


def read_csv_rows(
    path: Path, *, needed: Sequence[str], progress: Progress, delimiter: str = ","
) -> Rows:
    """Read a CSV file as text columns; a row with too many or too few fields is set aside.

    Quoted fields may hold line breaks; ``lines`` counts them. A missing column is an error.
    """
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter)
        header = _header(path, reader, needed)
        lines: list[int] = []
        rejected: list[Rejected] = []
        total = path.stat().st_size
        frames = []
        for chunk in _chunks(path, reader, len(header), lines, rejected):
            frames.append(_columns(header, chunk))
            progress(file.buffer.tell(), total)
        progress(total, total)
    table = pl.concat(frames) if frames else _columns(header, [])
    return Rows(table, lines, rejected)


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
    rejected: list[Rejected],
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
                rejected.append(Rejected(path.name, line, "", reason, ",".join(row)[:200]))
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
