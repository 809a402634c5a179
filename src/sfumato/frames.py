"""Tables of other libraries in and out: pandas, polars, Arrow, Hugging Face, lists of dicts.

Everything inside works on polars. ``to_frame`` is the one place where a table that somebody
hands over becomes one, and ``to_pandas`` the one place where ours become a pandas frame.
Neither needs pyarrow.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import polars as pl

from sfumato.errors import DataError, missing_package

if TYPE_CHECKING:
    import pandas as pd

TABLES = (
    "a pandas, polars or Arrow table, a Hugging Face dataset, a list of dicts, "
    "or a dict of equally long columns"
)
"""What ``to_frame`` takes, for messages."""


def is_table(source: object) -> bool:
    """Whether ``to_frame`` can read it: a table of a known library, dicts, or columns.

    >>> is_table([{"item": 1}]), is_table({"item": [1, 2]}), is_table("votes.csv")
    (True, True, False)
    """
    return (
        isinstance(source, pl.DataFrame | pl.LazyFrame)
        or _library(source) in ("pandas", "datasets")
        or hasattr(source, "__arrow_c_stream__")
        or _is_records(source)
        or _is_columns(source)
    )


def to_frame(source: object, *, what: str = "table") -> pl.DataFrame:
    """Any table as a polars frame; the index of a pandas frame that says something is a column.

    >>> to_frame([{"item": 1, "label": "cat"}, {"item": 2}])["label"].to_list()
    ['cat', None]
    """
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if _library(source) == "pandas":
        return _from_pandas(source)
    if _library(source) == "datasets":
        return _from_hugging_face(source)
    if hasattr(source, "__arrow_c_stream__"):
        return pl.DataFrame(source)
    if _is_records(source) or _is_columns(source):
        return _from_python(source, what)
    raise DataError(f"A {type(source).__name__} cannot be read as a {what}; give {TABLES}.")


def to_pandas(frame: pl.DataFrame) -> "pd.DataFrame":
    """A pandas frame of writable columns, made without pyarrow."""
    try:
        import pandas
    except ImportError:
        raise missing_package("Making a pandas frame", "pandas", "tables") from None
    return pandas.DataFrame({name: _column(frame[name]) for name in frame.columns})


def split_index(source: object, *, what: str = "table") -> tuple[pl.DataFrame, list[Any] | None]:
    """The columns of any table, and the index of a pandas frame beside them; None elsewhere."""
    if _library(source) != "pandas":
        return to_frame(source, what=what), None
    table: Any = source
    return _from_pandas(table.reset_index(drop=True)), table.index.tolist()


def _column(values: pl.Series) -> Any:
    if values.dtype.is_numeric() and not values.null_count():
        return np.array(values.to_numpy(), copy=True)
    if values.dtype.is_numeric():
        return values.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    return values.to_list()


def is_nested(source: object) -> TypeGuard[Mapping[Any, Mapping[Any, Any]]]:
    """Whether it is a dict of dicts, such as ``{item: {person: answer}}``.

    >>> is_nested({"a": {"ann": "cat"}}), is_nested({"a": ["cat"]}), is_nested({})
    (True, False, False)
    """
    return (
        isinstance(source, Mapping)
        and len(source) > 0
        and all(isinstance(inner, Mapping) for inner in source.values())
    )


def _library(source: object) -> str:
    kind = type(source)
    known = kind.__name__ in ("DataFrame", "Series", "Dataset")
    return kind.__module__.split(".")[0] if known else ""


def _is_records(source: object) -> bool:
    return (
        isinstance(source, Sequence)
        and not isinstance(source, str | bytes)
        and len(source) > 0
        and all(isinstance(row, Mapping) for row in source)
    )


def _is_columns(source: object) -> bool:
    return (
        isinstance(source, Mapping)
        and len(source) > 0
        and all(
            isinstance(values, Sequence | np.ndarray | pl.Series)
            and not isinstance(values, str | bytes)
            for values in source.values()
        )
    )


def _from_python(source: Any, what: str) -> pl.DataFrame:
    try:
        return pl.DataFrame(source, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise DataError(
            f"The {what} cannot be made of these {type(source).__name__}: {error}"
        ) from None


def _from_pandas(source: Any) -> pl.DataFrame:
    table = source.to_frame() if type(source).__name__ == "Series" else source
    if type(table.index).__name__ != "RangeIndex":
        names = [name if name is not None else "item" for name in table.index.names]
        if len(names) == 1 and names[0] in table.columns:
            names = []  # an index that repeats a column, or the row numbers after a filter
        elif table.index.names == [None] and table.index.dtype.kind in "iu":
            names = []  # row numbers after a filter say nothing
        table = table.reset_index(names=names) if names else table
    doubled = table.columns[table.columns.duplicated()]
    if len(doubled):
        raise DataError(f"The pandas frame has two columns {doubled[0]!r}; rename one.")
    return pl.DataFrame([_series(str(name), table[name]) for name in table.columns])


def _series(name: str, column: Any) -> pl.Series:
    """A column of pandas; whatever pandas calls missing is null."""
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else "O"
    if kind in "biuf" and not column.isna().any():
        return pl.Series(name, column.to_numpy())
    if kind == "M":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    missing = column.isna().to_list()
    values = [
        None if gone else value for gone, value in zip(missing, column.to_list(), strict=True)
    ]
    return pl.Series(name, values, strict=False)


def _from_hugging_face(source: Any) -> pl.DataFrame:
    return pl.DataFrame(source.with_format("arrow")[:])
