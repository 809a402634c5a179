"""Check that a table has the columns a figure draws, at the border, with a sentence if not."""

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError

__all__ = ["NUMBER", "TEXT", "checked", "groups", "not_drawn", "values"]

Kind = Literal["text", "number"]
TEXT: Kind = "text"
NUMBER: Kind = "number"


def checked(
    table: pl.DataFrame, columns: Mapping[str, Kind], *, what: str, optional: Sequence[str] = ()
) -> pl.DataFrame:
    """The table's named columns as text and floats; what is optional is empty where absent."""
    for name in columns:
        if name not in table.columns and name not in optional:
            raise DataError(
                f"The table for {what} lacks the column {name!r}; it needs {', '.join(columns)}."
            )
    if table.is_empty():
        raise DataError(f"The table for {what} has no rows, so there is nothing to draw.")
    return table.select(
        _column(table, name, kind, what).alias(name) for name, kind in columns.items()
    )


def _column(table: pl.DataFrame, name: str, kind: Kind, what: str) -> pl.Expr:
    match kind:
        case "text":
            if name not in table.columns:
                return pl.lit("")
            return pl.col(name).cast(pl.String).fill_null("")
        case "number":
            if name not in table.columns:
                return pl.lit(None, dtype=pl.Float64)
            found = table.schema[name]
            if not (found.is_numeric() or found == pl.Null or found == pl.Boolean):
                raise DataError(
                    f"The column {name!r} of the table for {what} holds {found}, not numbers."
                )
            return pl.col(name).cast(pl.Float64)
        case _:
            assert_never(kind)


def values(table: pl.DataFrame, column: str) -> NDArray[np.float64]:
    """A column of numbers; empty cells and infinities are NaN, which no mark is drawn for."""
    found = table[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def not_drawn(table: pl.DataFrame, *columns: str) -> str:
    """A sentence on rows without a finite number in ``columns``; empty when there are none."""
    lost = np.zeros(table.height, dtype=bool)
    for column in columns:
        lost |= np.isnan(values(table, column))
    if not lost.any():
        return ""
    return f"{int(lost.sum())} of {table.height} values are not defined or infinite and not drawn."


def groups(table: pl.DataFrame, *columns: str) -> list[tuple[str, pl.DataFrame]]:
    """The table in parts by the given columns, in order of appearance, each with its heading.

    A heading holds what differs between parts, but not the metric, which is said on an axis.
    """
    parts = table.partition_by(columns, maintain_order=True)
    said = [name for name in columns if name != "metric"]
    varying = [name for name in said if table[name].n_unique() > 1] or said[:1]
    return [
        (" · ".join(str(part[name][0]) for name in varying if part[name][0] != ""), part)
        for part in parts
    ]
