"""Tables of other libraries become polars frames and go back without a loss."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from datasets import Dataset

from sfumato.errors import DataError
from sfumato.frames import is_table, to_frame, to_pandas

ROWS = [{"item": 1, "who": "ann", "label": "cat"}, {"item": 2, "who": None, "label": "dog"}]
FRAME = pl.DataFrame(ROWS)


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.lazy(),
        pd.DataFrame(ROWS),
        pa.Table.from_pylist(ROWS),
        Dataset.from_list(ROWS),
        ROWS,
        {"item": [1, 2], "who": ["ann", None], "label": np.array(["cat", "dog"])},
    ],
    ids=["polars", "lazy", "pandas", "arrow", "hugging face", "dicts", "columns"],
)
def test_every_kind_of_table_gives_the_same_frame(source: object) -> None:
    assert is_table(source)
    assert to_frame(source).equals(FRAME)


def test_an_index_that_says_something_becomes_a_column() -> None:
    wide = pd.DataFrame({"ann": ["cat", "dog"]}, index=["a", "b"])
    assert to_frame(wide).columns == ["item", "ann"]
    wide.index.name = "picture"
    assert to_frame(wide).columns == ["picture", "ann"]


def test_row_numbers_after_a_filter_say_nothing() -> None:
    table = pd.DataFrame(ROWS)
    assert to_frame(table[table.item == 2]).to_dicts() == [ROWS[1]]


def test_what_pandas_calls_missing_is_null() -> None:
    table = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", pd.NA], "c": [True, None]})
    table["t"] = pd.to_datetime(["2026-01-02", None])
    table["k"] = pd.Categorical(["p", None])
    frame = to_frame(table)
    assert frame.null_count().row(0) == (1, 1, 1, 1, 1)
    assert frame["t"][0] == datetime.datetime(2026, 1, 2)


def test_mixed_columns_are_read_as_what_they_hold() -> None:
    assert to_frame([{"a": 1}, {"a": "x"}])["a"].to_list() == ["1", "x"]


def test_two_columns_of_one_name_are_refused() -> None:
    table = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(DataError, match="two columns 'a'"):
        to_frame(table)


def test_what_is_no_table_is_told() -> None:
    for source in ("votes.csv", 3, [], [1, 2], {"a": 1}):
        assert not is_table(source)
        with pytest.raises(DataError, match="cannot be read as a table; give a pandas"):
            to_frame(source)


def test_a_pandas_frame_can_be_written_to() -> None:
    table = to_pandas(pl.DataFrame({"a": [1.5, 2.0], "n": [1, None], "s": ["x", None]}))
    table.loc[0, "a"] = 3.0
    assert table["a"].tolist() == [3.0, 2.0]
    assert np.isnan(table["n"][1])
    assert table["s"].isna().tolist() == [False, True]
