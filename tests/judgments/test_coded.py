"""Codes give back what they were made from, and say which rows stood there before."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sfumato.judgments.coded import (
    CodedTable,
    encode,
    encode_table,
    join_tables,
    mark_again,
    natural_order,
    scan_table,
)
from sfumato.names import sorted_names

WORDS = ["", " ", "a", "b", "9", "10", "é", "-3"]
texts = st.lists(st.none() | st.sampled_from(WORDS), max_size=30)
numbers = st.lists(st.none() | st.sampled_from(["9", "10", "-3", "0"]), max_size=30)


def as_series(values: list[str | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


@given(texts)
def test_encoding_is_undone_by_decoding(values: list[str | None]) -> None:
    column = encode(as_series(values))

    assert column.decode().to_list() == values
    assert column.values.to_list() == sorted(set(values) - {None})  # type: ignore[type-var]
    assert column.null_count() == values.count(None)
    assert column.times().tolist() == [values.count(one) for one in column.values]


@given(texts | numbers)
def test_natural_order_is_that_of_names(values: list[str | None]) -> None:
    names, code = natural_order(encode(as_series(values)))

    assert list(names) == sorted_names([one for one in set(values) if one is not None])
    assert [None if at < 0 else names[at] for at in code] == values


@given(texts, st.data())
def test_map_does_to_the_values_what_it_would_do_to_the_rows(
    values: list[str | None], data: st.DataObject
) -> None:
    column = encode(as_series(values))
    new = {one: data.draw(st.none() | st.sampled_from(["x", "y"])) for one in column.values}

    mapped = column.map(pl.Series([new[one] for one in column.values], dtype=pl.String))

    assert mapped.decode().to_list() == [None if one is None else new[one] for one in values]


@given(st.lists(texts, min_size=1, max_size=4))
def test_joined_parts_are_the_whole(parts: list[list[str | None]]) -> None:
    whole = [value for part in parts for value in part]
    tables = [encode_table(pl.DataFrame({"item": as_series(part)}), ["item"]) for part in parts]

    joined = join_tables(tables)

    assert joined.coded("item").decode().to_list() == whole


@given(texts)
def test_a_scan_is_coded_as_the_table_is(values: list[str | None]) -> None:
    table = pl.DataFrame({"item": as_series(values), "seconds": [1.5] * len(values)})

    scanned = scan_table(table.lazy(), ["item"])

    assert scanned.coded("item").decode().to_list() == values
    assert scanned.series("seconds", pl.Float64()).to_list() == [1.5] * len(values)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), max_size=40))
def test_marked_rows_are_those_seen_before(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, dtype=np.int32).reshape(-1, 2).T

    again = mark_again(first, second)

    assert again.tolist() == [pair in pairs[:row] for row, pair in enumerate(pairs)]


def test_taking_all_rows_copies_nothing() -> None:
    table = CodedTable({"item": encode(pl.Series(["a", "b"]))})

    assert table.take(np.ones(2, dtype=bool)) is table
    assert table.take(np.array([False, True])).decode().rows() == [("b",)]
