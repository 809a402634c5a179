"""Turn a Parquet or plain CSV file, or a folder of such parts, into coded columns while reading.

Texts become codes as polars streams over the file, so that memory holds each distinct text once
and four bytes per row and column. What is no such file is None: other readers take it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError, require_memory
from sfumato.judgments.coded import CodedTable, encode_table, join_tables, scan_table
from sfumato.judgments.formats.reading import (
    ROW,
    PartColumns,
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

    def read(self, wanted: PartColumns, options: ReadOptions) -> CodedRows | None:
        """The wanted columns of all parts; None if a text table turns out not to be plain."""
        if options.parts is None:
            require_memory(
                PEAK_BYTES * self.rows,
                what=f"The {self.rows:,} rows of {self.parts[0].path.name}",
                instead="Write them as a folder of Parquet files, which is labelled part by part, "
                "or use a machine with more memory.",
            )
        table = self._columns(wanted, options)
        if table is None:
            return None
        places, rows = self.places, table.columns.get(ROW)
        if isinstance(rows, pl.Series):
            places = replace(places, line=rows.to_numpy())
            held = {name: column for name, column in table.columns.items() if name != ROW}
            table = CodedTable(held, len(table))
        return CodedRows(table, places, (), self.remarks)

    def _columns(self, wanted: PartColumns, options: ReadOptions) -> CodedTable | None:
        if self.first == 1:
            tables = (options.parts or code_parts)([part.path for part in self.parts], wanted)
            starts = self.places.starts.tolist()
            shifted = [_shift(*pair) for pair in zip(tables, starts, strict=True)]
            del tables
            return join_tables(shifted)
        (part,) = self.parts
        try:
            table = scan_table(_select(part.frame, wanted), wanted.texts)
        except pl.exceptions.PolarsError:  # too many fields in one row, too few in another
            return None
        return table if len(table) == part.rows else None

    def count(self, names: Iterable[str]) -> tuple[tuple[str, int], ...]:
        """In how many rows of each column something stands."""
        counts = dict.fromkeys(names, 0)
        for part in self.parts:
            held = [name for name in counts if name in part.frame.collect_schema()]
            found = part.frame.select(pl.col(held).count()).collect(engine="streaming")
            for name in held:
                counts[name] += int(found[name][0])
        return tuple(counts.items())


BLANK = "(nothing else)"
"""Whether nothing stands in the columns that are not used."""

PEAK_BYTES = 70
"""Bytes of memory that an answer takes while codes are made and labelled."""

COUNTED_BYTES = 40
"""The same where votes are only counted."""


def code_parts(files: Sequence[Path], wanted: PartColumns) -> list[CodedTable]:
    """The wanted columns of each Parquet file, one after the other."""
    return [code_part(file, wanted) for file in files]


def code_part(file: Path, wanted: PartColumns) -> CodedTable:
    """The wanted columns of a Parquet file as codes."""
    try:
        return scan_table(_select(pl.scan_parquet(file), wanted), wanted.texts)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(file, error) from None


def _shift(table: CodedTable, start: int) -> CodedTable:
    """The rows of a part numbered as those of the folder."""
    rows = table.columns.get(ROW)
    return table.change(**{ROW: rows + start}) if isinstance(rows, pl.Series) else table


def _select(part: pl.LazyFrame, wanted: PartColumns) -> pl.LazyFrame:
    schema = part.collect_schema()
    empty = [
        pl.col(name).str.strip_chars().fill_null("") == ""
        if schema[name] == pl.String
        else pl.col(name).is_null()
        for name in wanted.left
        if name in schema
    ]
    held = [name for name in wanted.used if name in schema]
    blank = [pl.all_horizontal(empty).alias(BLANK)] if empty else []
    return part.select(*held, *blank)


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
