"""Turn columns of texts into their distinct values and one small number per row, and back.

Ten million votes name a million items, ten thousand people and ten classes. Held as texts they
fill gigabytes and every check looks at each of them; held as codes they are twelve bytes a vote,
and whatever is asked of a text is asked once per distinct one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Rows = NDArray[np.bool_] | NDArray[np.integer[Any]] | Sequence[int]
"""A mask or the places of rows."""

STEP = 1_000_000
"""So many rows are looked at in one piece where a copy of all would cost."""

NULL = -1
"""The code of a row in which nothing stands."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts: its distinct values and, per row, the place among them.

    >>> column = encode(pl.Series(["dog", None, "cat", "dog"]))
    >>> column.values.to_list(), column.code.tolist()
    (['cat', 'dog'], [1, -1, 0, 1])
    """

    values: pl.Series  # distinct, sorted, none null; not all need occur
    code: NDArray[np.int32]  # (rows,)

    def __len__(self) -> int:
        return len(self.code)

    def decode(self, rows: Rows | None = None) -> pl.Series:
        """The texts, of all rows or of some."""
        code = self.code if rows is None else self.code[_places(rows)]
        if not len(self.values):
            return pl.Series([None], dtype=pl.String).new_from_index(0, len(code))
        texts = self.values.gather(pl.Series(np.maximum(code, 0)))
        return texts.set(pl.Series(code == NULL), None) if (code == NULL).any() else texts

    def take(self, rows: Rows) -> "Coded":
        """Some rows; the values stay, used or not."""
        return Coded(self.values, self.code[_places(rows)])

    def times(self) -> NDArray[np.int64]:
        """How often each value stands in a row."""
        size = len(self.values) + 1
        step = max(STEP, size)  # counted piece by piece: bincount copies what is no int64
        counted = np.zeros(size, dtype=np.int64)
        for start in range(0, len(self.code), step):
            counted += np.bincount(self.code[start : start + step] + 1, minlength=size)
        return counted[1:]

    def used(self) -> pl.Series:
        """The values that stand in some row, sorted."""
        return self.values.filter(pl.Series(self.times() > 0))

    def null_count(self) -> int:
        """In how many rows nothing stands."""
        return int((self.code == NULL).sum())

    def map(self, values: pl.Series) -> "Coded":
        """The same rows with each value replaced by another, which may be null or one for several.

        >>> column = encode(pl.Series(["cat", "Cat ", "", "dog"]))
        >>> column.map(column.values.str.strip_chars().str.to_lowercase()).decode().to_list()
        ['cat', 'cat', '', 'dog']
        """
        if values.equals(self.values, check_dtypes=True):
            return self
        new = encode(values)
        return Coded(new.values, np.append(new.code, np.int32(NULL))[self.code])


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table whose columns are coded texts, or plain; columns that hold nothing are left out."""

    columns: Mapping[str, Coded | pl.Series]
    height: int = field(default=-1)

    def __post_init__(self) -> None:
        if self.height < 0:
            object.__setattr__(self, "height", len(next(iter(self.columns.values()))))

    def __len__(self) -> int:
        return self.height

    def coded(self, name: str) -> Coded:
        """A column of texts; one that is left out holds nothing."""
        column = self.columns.get(name)
        if isinstance(column, Coded):
            return column
        if column is not None:
            return encode(column)
        nothing = pl.Series([], dtype=pl.String)
        return Coded(nothing, np.broadcast_to(np.int32(NULL), (self.height,)))

    def series(self, name: str, dtype: pl.DataType | None = None) -> pl.Series:
        """A column written out."""
        column = self.columns.get(name)
        if column is None:
            return pl.Series(name, [None], dtype=dtype or pl.String()).new_from_index(
                0, self.height
            )
        return (column.decode() if isinstance(column, Coded) else column).alias(name)

    def decode(self, rows: Rows | None = None) -> pl.DataFrame:
        """The table written out, or some of its rows."""
        return pl.DataFrame(
            [
                (
                    column.decode(rows)
                    if isinstance(column, Coded)
                    else column
                    if rows is None
                    else column.gather(_places(rows))
                ).alias(name)
                for name, column in self.columns.items()
            ]
        )

    def take(self, rows: NDArray[np.bool_]) -> "CodedTable":
        """The rows for which ``rows`` is true."""
        if rows.all():
            return self
        places = np.flatnonzero(rows)
        return CodedTable(
            {
                name: column.take(places) if isinstance(column, Coded) else column.gather(places)
                for name, column in self.columns.items()
            },
            len(places),
        )

    def change(self, **columns: Coded | pl.Series) -> "CodedTable":
        """The same rows with some columns put in or replaced."""
        return CodedTable({**self.columns, **columns}, self.height)


def encode(texts: pl.Series) -> Coded:
    """A column of texts as codes."""
    return _of_categories(texts.cast(_categories()))


def encode_table(table: pl.DataFrame, texts: Iterable[str]) -> CodedTable:
    """A table with the named columns coded, where they are texts."""
    coded = {name for name in texts if name in table.columns and table[name].dtype == pl.String}
    return CodedTable(
        {
            name: encode(table[name]) if name in coded else table[name]
            for name in table.columns
            if table[name].null_count() < len(table)
        },
        len(table),
    )


def scan_table(source: pl.LazyFrame, texts: Iterable[str]) -> CodedTable:
    """What a scan gives, the named columns coded while it runs: their texts are never all there.

    Whole numbers become texts; other types stay as they are, for somebody who knows what they
    mean.
    """
    schema = source.collect_schema()
    named = [name for name in texts if name in schema]
    coded = [name for name in named if schema[name] == pl.String or schema[name].is_integer()]
    table = source.with_columns(
        pl.col(name).cast(pl.String).cast(_categories()) for name in coded
    ).collect(engine="streaming")
    columns: dict[str, Coded | pl.Series] = {}
    height = len(table)
    for name in list(table.columns):
        column = table.drop_in_place(name)
        if column.null_count() < height or not height:
            columns[name] = _of_categories(column) if name in coded else column
    return CodedTable(columns, height)


def join_tables(parts: list[CodedTable]) -> CodedTable:
    """Tables one below the other; a column that one of them lacks holds nothing there.

    The list is emptied, so that a column of a part is gone when it has been joined.
    """
    if len(parts) == 1:
        return parts.pop()
    given = [(dict(part.columns), len(part)) for part in parts]
    parts.clear()
    columns: dict[str, Coded | pl.Series] = {}
    for name in dict.fromkeys(name for held, _ in given for name in held):
        some = [
            CodedTable({name: held.pop(name)} if name in held else {}, size) for held, size in given
        ]
        found = [part.columns.get(name) for part in some]
        if any(isinstance(column, Coded) for column in found):
            columns[name] = _join([part.coded(name) for part in some])
        else:
            dtype = next(column.dtype for column in found if isinstance(column, pl.Series))
            columns[name] = pl.concat([part.series(name, dtype) for part in some])
    return CodedTable(columns, sum(size for _, size in given))


def natural_order(column: Coded) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The values that occur in natural order, and the place of each row's; -1: null.

    >>> natural_order(encode(pl.Series(["10", "9", None])))
    (('9', '10'), array([ 1,  0, -1], dtype=int32))
    """
    names, place = natural_places(column.values, column.times())
    return names, place[column.code]


def natural_places(
    values: pl.Series, times: NDArray[np.int64]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The values that occur at all in natural order, and the place of each; the last: of null."""
    occurs = np.flatnonzero(times > 0)
    names = values.gather(occurs)
    if names.str.contains(r"^-?\d{1,18}$").all():
        order = np.lexsort((np.arange(len(names)), names.cast(pl.Int64).to_numpy()))
        names, occurs = names.gather(order), occurs[order]
    place = np.full(len(values) + 1, NULL, dtype=np.int32)
    place[occurs] = np.arange(len(occurs), dtype=np.int32)
    return tuple(names.to_list()), place


def mark_again(*codes: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Rows whose codes, taken together, stood in an earlier row already; -1 counts as a value.

    >>> mark_again(np.array([0, 0, 1, 0]), np.array([5, 6, 5, 5])).tolist()
    [False, False, False, True]
    """
    ordered = _pack(codes)
    ordered.sort()  # in place, and packed again below: of many rows memory is dearer than time
    doubled = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    again = np.zeros(len(codes[0]), dtype=bool)
    if len(doubled):  # few: look only at these in the order of the rows
        key = _pack(codes)
        rows = np.flatnonzero(pl.Series(key).is_in(pl.Series(doubled).implode()).to_numpy())
        again[rows] = True
        again[rows[np.unique(key[rows], return_index=True)[1]]] = False
    return again


def _pack(codes: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.int64]:
    """Several codes of a row as one number."""
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        key *= int(code.max(initial=0)) + 2
        key += code
    return key


def _join(parts: Sequence[Coded]) -> Coded:
    joined = encode(pl.concat([part.values for part in parts]))
    ends = np.cumsum([len(part.values) for part in parts])
    code = np.empty(sum(map(len, parts)), dtype=np.int32)
    start = 0
    for part, end in zip(parts, ends, strict=True):
        places = np.append(joined.code[end - len(part.values) : end], np.int32(NULL))
        code[start : start + len(part)] = places[part.code]
        start += len(part)
    return Coded(joined.values, code)


def _categories() -> pl.Categorical:
    """Categories of their own: those of all columns together would never be let go."""
    return pl.Categorical(pl.Categories.random())


def _of_categories(column: pl.Series) -> Coded:
    physical = column.to_physical()
    size = int(physical.max() or 0) + 2 if len(column) else 1  # type: ignore[arg-type]
    given = physical.fill_null(size - 1).to_numpy()  # the last place is that of null
    occurs = np.zeros(size, dtype=bool)
    occurs[given] = True
    occurs[-1] = False
    numbers = np.flatnonzero(occurs).astype(np.uint32)
    if not len(numbers):
        return Coded(pl.Series([], dtype=pl.String), np.full(len(column), NULL, dtype=np.int32))
    texts = pl.Series(numbers).cat.to(column.dtype).cast(pl.String)
    order = texts.arg_sort()
    place = np.full(size, NULL, dtype=np.int32)
    place[numbers[order.to_numpy()]] = np.arange(len(numbers), dtype=np.int32)
    return Coded(texts.gather(order).alias(""), place[given])


def _places(rows: Rows) -> NDArray[np.int64]:
    array = np.asarray(rows)
    return np.flatnonzero(array) if array.dtype == bool else array.astype(np.int64, copy=False)
