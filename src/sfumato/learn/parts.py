"""Turn the parts of a folder into coded columns, each part one cell: kept, resumed, distributed.

A part that is read stays read: killed half-way, the next run reads the others. With a bucket only
the rows of some items are given back, so that a folder of any size can be worked through.
"""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.coded import Coded, CodedTable
from sfumato.judgments.formats.reading import ROW, PartColumns, PartReader
from sfumato.judgments.formats.scan import code_part
from sfumato.learn.sweep import (
    Cell,
    CellResult,
    Engine,
    FailedCell,
    FinishedCell,
    encode,
    fingerprint,
    open_folder,
    read,
    run_sweep,
    write,
)


def read_parts_through(
    folder: Path,
    *,
    engine: Engine = "local",
    scheduler: str | None = None,
    bucket: tuple[int, int] = (0, 1),
) -> PartReader:
    """A reader of parts that keeps each finished part in ``folder``.

    "local" reads in this process, whose polars uses all cores; "dask" lets the workers of a cluster
    read, which must see the files under the same names. ``bucket`` is which of how many shares of
    the items to give back: the answers about an item are all in one.
    """

    def read_parts(files: Sequence[Path], wanted: PartColumns) -> list[CodedTable]:
        cells = [Cell(file.name, read_part, {"file": file, "wanted": wanted}) for file in files]
        if engine == "dask":
            done = run_sweep(cells, folder, engine=engine, scheduler=scheduler)
        else:
            open_folder(folder)
            done = [_here(cell, folder) for cell in cells]
        return [_only(bucket, _table(cell), wanted.item) for cell in done]

    return read_parts


def read_part(file: Path, wanted: PartColumns) -> CellResult:
    """The wanted columns of one part, as arrays."""
    table = code_part(file, wanted)
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, column in table.columns.items():
        if isinstance(column, Coded):
            arrays[f"code {name}"] = column.code
        held = column.values if isinstance(column, Coded) else column
        arrays[f"held {name}"] = _packed(held)
    return CellResult({"rows": len(table)}, arrays, work=len(table))


def _here(cell: Cell, folder: Path) -> FinishedCell:
    each = fingerprint(cell)
    done = read(cell, each, folder)
    if done is not None:
        return done
    return write(encode(cell, each, cell.function(**cell.inputs)), cell, each, folder)


def _table(cell: FinishedCell | FailedCell) -> CodedTable:
    if isinstance(cell, FailedCell):
        raise DataError(f"The part {cell.cell.name} could not be read: {cell.reason}")
    arrays = cell.arrays()
    columns: dict[str, Coded | pl.Series] = {}
    for name in (name[5:] for name in arrays if name.startswith("held ")):
        held = _unpacked(arrays[f"held {name}"])
        code = arrays.get(f"code {name}")
        columns[name] = held if code is None else Coded(held, code)
    return CodedTable(columns, int(cell.scores["rows"]))


def _only(bucket: tuple[int, int], table: CodedTable, item: str) -> CodedTable:
    """The rows about a share of the items; rows without an item are in the first."""
    number, of = bucket
    if of == 1:
        return table
    named = table.coded(item)
    here = np.append((named.values.hash(seed=0) % of == number).to_numpy(), number == 0)
    return table.change(**{ROW: pl.Series(np.arange(len(table)))}).take(here[named.code])


def _packed(values: pl.Series) -> NDArray[np.uint8]:
    buffer = io.BytesIO()
    pl.DataFrame({"held": values}).write_ipc(buffer, compression="zstd")
    return np.frombuffer(buffer.getvalue(), dtype=np.uint8)


def _unpacked(stored: NDArray[np.generic]) -> pl.Series:
    return pl.read_ipc(io.BytesIO(stored.tobytes()))["held"].alias("")
