"""Check that a table of pictures has a split and no empty cells."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sfumato.errors import DataError

__all__ = ["filled"]


def filled(table: pl.DataFrame, needed: Sequence[str], *, path: Path) -> pl.DataFrame:
    """The table with a column ``split``, "all" where it has none; an empty cell is an error."""
    if "split" not in table.columns:
        table = table.with_columns(split=pl.lit("all"))
    for name in (*needed, "split"):
        empty = table[name].is_null().arg_true()
        if len(empty):
            raise DataError(f"{path.name}, row {empty[0] + 1}: {name!r} is empty.")
    return table
