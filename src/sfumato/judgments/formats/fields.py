"""Turn the text columns of a judgments table into typed ones, and say which rows do not fit."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.judgments.judgments import VIEWS, Rejected

__all__ = ["Fault", "Fields", "set_aside", "typed_fields"]


@dataclass(frozen=True)
class Fault:
    """Why a row cannot be read."""

    field: str
    reason: str


@dataclass(frozen=True)
class Fields:
    """The columns of ``COLUMNS`` in their types, and the first fault of each unsound row."""

    table: pl.DataFrame
    faults: dict[int, Fault]

    @property
    def sound(self) -> pl.Series:
        """Whether each row can be read."""
        rows = pl.Series(list(self.faults), dtype=pl.UInt32)
        return pl.repeat(True, len(self.table), eager=True).scatter(rows, False)


def typed_fields(table: pl.DataFrame) -> Fields:
    """Check every field of a table that has all columns; texts may stand for numbers.

    >>> from sfumato.judgments.judgments import COLUMNS
    >>> row = {**dict.fromkeys(COLUMNS), "item": "a", "answer": '"cat"', "seconds": "3 s"}
    >>> typed_fields(pl.DataFrame([row])).faults
    {0: Fault(field='seconds', reason="'3 s' is not a number of seconds")}
    """
    faults: dict[int, Fault] = {}
    for name in ("item", "answer"):
        for row in table[name].is_null().arg_true():
            faults.setdefault(row, Fault(name, "empty"))
    typed = []
    for name, (read, expected) in _READ.items():
        given = table[name]
        values = read(given).alias(name)
        for row in (given.is_not_null() & values.is_null()).arg_true():
            faults.setdefault(row, Fault(name, f"{_shown(given[row])} is not {expected}"))
        typed.append(values)
    return Fields(table.with_columns(typed), faults)


def set_aside(
    table: pl.DataFrame, faults: dict[int, Fault], *, file: str, lines: Sequence[int]
) -> list[Rejected]:
    """The rows with faults, as they stood in the file."""
    aside = []
    for row, fault in sorted(faults.items()):
        fields = {name: value for name, value in table.row(row, named=True).items() if value}
        text = json.dumps(fields, ensure_ascii=False, default=str)
        aside.append(Rejected(file, lines[row], fault.field, fault.reason, text[:200]))
    return aside


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    return values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _seconds(values: pl.Series) -> pl.Series:
    numbers = _numbers(values)
    return numbers.set(~(numbers.is_finite() & (numbers >= 0)), None)


def _order(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars().str.replace(r"^(\d+)\.0*$", "$1")
    whole = text.cast(pl.Int64, strict=False)
    return whole.set(whole < 0, None)


def _view(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars()
    return text.set(~text.is_in(VIEWS), None)


def _true_or_false(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    meaning = {"true": True, "1": True, "false": False, "0": False}
    return text.replace_strict(meaning, default=None, return_dtype=pl.Boolean)


def _input_seconds(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String)
    wrong = [given for given in text.drop_nulls().unique() if not _holds_seconds(given)]
    return text.set(text.is_in(wrong), None)


def _holds_seconds(text: str) -> bool:
    try:
        held: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in held.values()
    )


_READ: dict[str, tuple[Callable[[pl.Series], pl.Series], str]] = {
    "seconds": (_seconds, "a number of seconds"),
    "order": (_order, "a place in the session"),
    "view": (_view, f"one of {', '.join(VIEWS)}"),
    "completed": (_true_or_false, "true or false"),
    "simulated": (_true_or_false, "true or false"),
    "input_seconds": (_input_seconds, "a JSON object from inputs to seconds"),
}


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= 60 else text[:57] + "…")
