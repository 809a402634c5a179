"""Read the tables and arrays that labels and predictions are stored in, before they mean anything.

What cannot be read is one sentence that names the file, the row and the column.
"""

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError

__all__ = ["read_arrays", "read_item_table", "with_numbers"]


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
            f"{path.name} has no column 'item'. {what} has item, then one column a class."
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
