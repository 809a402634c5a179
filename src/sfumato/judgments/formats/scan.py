"""Turn a Parquet or plain CSV file, or a folder of such parts, into coded columns while reading.

Texts become codes as polars streams over the file, so that memory holds each distinct text once
and four bytes per row and column. What is no such file is None: other readers take it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.coded import CodedTable, encode_table, join_tables, scan_table
from sfumato.judgments.formats.reading import (
    ReadOptions,
    Rows,
    count_plain_lines,
    find_dialect,
)
from sfumato.judgments.judgments import CODED, Places, RejectedRow, Remark
from sfumato.provenance import fingerprint_file

HEAD = 100_000
"""Rows by which columns are understood."""


@dataclass(frozen=True)
class CodedRows:
    """The rows of one or several files as coded columns, and where each stands."""

    table: CodedTable
    places: Places
    rejected: tuple[RejectedRow, ...] = ()
    remarks: tuple[Remark, ...] = ()
    unused: tuple[tuple[str, int], ...] = ()
    """Columns that were not read, and in how many rows something stands in them."""


@dataclass(frozen=True)
class Part:
    """One file of a scan."""

    path: Path
    frame: pl.LazyFrame
    rows: int


@dataclass(frozen=True)
class Scan:
    """Files with the same columns, to be read one after the other."""

    parts: tuple[Part, ...]
    first: int
    """The line in which the first row of a file stands."""
    remarks: tuple[Remark, ...] = ()

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of all parts together; where two differ in type, that of the first."""
        found: dict[str, pl.DataType] = {}
        for part in self.parts:
            for name, dtype in part.frame.collect_schema().items():
                found.setdefault(name, dtype)
        return found

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(part.rows for part in self.parts)

    @property
    def places(self) -> Places:
        """In which file and line each row stands."""
        starts = list(accumulate((part.rows for part in self.parts[:-1]), initial=0))
        files = tuple(part.path.name for part in self.parts)
        return Places(files, np.array(starts, dtype=np.int64), range(self.rows), self.first)

    def head(self) -> pl.DataFrame:
        """The first rows."""
        frames = [part.frame.head(HEAD) for part in self.parts if part.rows][:2]
        return pl.concat(frames, how="diagonal_relaxed").head(HEAD).collect()

    def read(
        self, texts: Iterable[str], select: Callable[[pl.LazyFrame], pl.LazyFrame]
    ) -> CodedTable | None:
        """What ``select`` takes of every part; None if a text table turns out not to be plain."""
        tables = []
        for part in self.parts:
            try:
                table = scan_table(select(part.frame), texts)
            except pl.exceptions.PolarsError as error:
                if part.path.suffix != ".parquet":
                    return None
                raise _unreadable(part.path, error) from None
            if len(table) != part.rows:
                return None
            tables.append(table)
        return join_tables(tables)

    def count(self, names: Iterable[str]) -> tuple[tuple[str, int], ...]:
        """In how many rows of each column something stands."""
        counts = dict.fromkeys(names, 0)
        for part in self.parts:
            held = [name for name in counts if name in part.frame.collect_schema()]
            found = part.frame.select(pl.col(held).count()).collect(engine="streaming")
            for name in held:
                counts[name] += int(found[name][0])
        return tuple(counts.items())


def scan(path: Path, options: ReadOptions) -> Scan | None:
    """A scan of a file or of a folder of parts; None where it cannot be scanned."""
    files = parts_of(path) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        return None
    with files[0].open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return Scan(tuple(map(_parquet, files)), 1)
    if path.is_dir() or path.suffix.lower() not in (".csv", ".tsv", ".tab", ".txt"):
        return None
    return _plain_text(path, options)


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder, by name.

    Everything else in it, such as a file that says that all are written, is left alone.
    """
    return sorted(
        file for file in folder.glob("*.parquet") if file.is_file() and file.name[0] not in "._"
    )


def inputs_of(path: Path) -> dict[str, str]:
    """The fingerprints of a file, or of the parts of a folder."""
    if not path.is_dir():
        return {path.name: fingerprint_file(path)}
    return {f"{path.name}/{part.name}": fingerprint_file(part) for part in parts_of(path)}


def code_rows(rows: Rows, file: str) -> CodedRows:
    """Rows of texts that some other reader found."""
    ours = [name for name in rows.table.columns if name in CODED]
    return CodedRows(
        encode_table(rows.table, ours),
        Places.of(file, rows.lines),
        tuple(rows.rejected),
        rows.remarks,
        tuple((name, rows.table[name].count()) for name in rows.table.columns),
    )


def _parquet(path: Path) -> Part:
    try:
        frame = pl.scan_parquet(path)
        return Part(path, frame, frame.select(pl.len()).collect().item())
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DataError:
    reason = str(error).splitlines()[0][:200] if str(error) else "it is damaged"
    return DataError(f"{path.name} cannot be read as Parquet ({reason}).")


def _plain_text(path: Path, options: ReadOptions) -> Scan | None:
    """A text table without quotes, gaps and ragged rows, in which a line is a row."""
    dialect = find_dialect(path, delimiter=options.delimiter)
    lines = count_plain_lines(path, dialect)
    if lines is None:
        return None
    frame = pl.scan_csv(
        path, separator=dialect.delimiter, infer_schema=False, quote_char=None, has_header=True
    )
    found = frame.collect_schema().names()
    if [name.strip() or f"column {place}" for place, name in enumerate(found)] != [*dialect.header]:
        return None
    named = dict(zip(found, dialect.header, strict=True))
    return Scan((Part(path, frame.rename(named), lines - 1),), 2, dialect.remarks)
