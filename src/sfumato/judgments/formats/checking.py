"""Set rows of a table aside, each with the field that is wrong and the reason."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.judgments.formats.choices import PSEUDONYMS
from sfumato.judgments.formats.reading import Key, pseudonymous
from sfumato.judgments.judgments import Rejected, Remark

__all__ = [
    "Flaw",
    "by_line",
    "empty",
    "no_number",
    "no_whole_number",
    "no_word",
    "parsed",
    "people",
    "sound_rows",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a column, and in which rows."""

    field: str
    """The column of the file."""
    reason: str
    found: pl.Series
    """What stands in the column."""
    rows: pl.Series
    """True where it is wrong; null counts as right."""


def sound_rows(
    table: pl.DataFrame,
    flaws: Sequence[Flaw],
    *,
    lines: Sequence[int] | NDArray[np.int64],
    file: str,
) -> tuple[pl.DataFrame, NDArray[np.int64], list[Rejected]]:
    """The rows without a flaw, their lines, and the others; the first flaw of a row counts."""
    first: dict[int, Flaw] = {}
    for flaw in flaws:
        for row in flaw.rows.fill_null(False).arg_true():
            first.setdefault(row, flaw)
    rejected = [
        Rejected(file, int(lines[row]), flaw.field, flaw.reason, _shown(flaw.found[row]))
        for row, flaw in sorted(first.items(), key=lambda pair: pair[0])
    ]
    good = np.ones(len(table), dtype=bool)
    good[list(first)] = False
    return table.filter(pl.Series(good)), np.asarray(lines, dtype=np.int64)[good], rejected


def by_line(*groups: Sequence[Rejected]) -> tuple[Rejected, ...]:
    """Rows that were set aside for different reasons, in the order of the file."""
    return tuple(sorted((row for group in groups for row in group), key=lambda row: row.line))


def empty(table: pl.DataFrame, field: str) -> Flaw:
    """A flaw wherever a column says nothing."""
    return Flaw(field, "empty", table[field], table[field].is_null())


def no_number(table: pl.DataFrame, field: str, *, low: float, high: float) -> Flaw:
    """A flaw wherever a text column holds something else than a number from low to high."""
    number = table[field].cast(pl.Float64, strict=False)
    inside = (number.is_between(low, high) & number.is_finite()).fill_null(False)
    bounds = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
    rows = ~inside & table[field].is_not_null()
    return Flaw(field, f"not a number {bounds}", table[field], rows)


def no_whole_number(table: pl.DataFrame, field: str) -> Flaw:
    """A flaw wherever a text column holds something else than 0, 1, 2, …."""
    rows = ~table[field].str.contains(r"^[0-9]{1,18}$")
    return Flaw(field, "not a whole number", table[field], rows)


def no_word(table: pl.DataFrame, field: str, words: Sequence[str]) -> Flaw:
    """A flaw wherever a text column holds something else than one of the given words."""
    rows = ~table[field].is_in(list(words))
    return Flaw(field, f"not one of {', '.join(words)}", table[field], rows)


def parsed(
    table: pl.DataFrame, field: str, parse: Callable[[str], T]
) -> tuple[list[T | None], list[Flaw]]:
    """What ``parse`` makes of each text of a column; the reasons of its ``ValueError``s as flaws.

    An empty field is parsed as the empty text.
    """
    values: list[T | None] = []
    wrong: dict[str, list[int]] = {}
    for row, text in enumerate(table[field]):
        try:
            values.append(parse(text or ""))
        except ValueError as error:
            values.append(None)
            wrong.setdefault(str(error), []).append(row)
    everywhere = pl.Series(range(len(table)), dtype=pl.Int64)
    flaws = [
        Flaw(field, reason, table[field], everywhere.is_in(rows)) for reason, rows in wrong.items()
    ]
    return values, flaws


def people(annotators: pl.Series, key: Key) -> tuple[pl.Series, list[Remark]]:
    """Annotators under pseudonyms where they need one, and a remark if any did."""
    names, replaced = pseudonymous(annotators, key)
    remarks = [Remark(PSEUDONYMS, replaced)] if replaced else []
    return names, remarks


def _shown(value: object) -> str:
    return "" if value is None else str(value)[:200]
