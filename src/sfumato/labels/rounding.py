"""Tell rounding from error: rows of probabilities that miss one by what their digits explain.

A number stored with three decimals stands for anything within half a thousandth of it, and one
stored as float16 for anything within a two-thousandth part of it. A row is rounded if some
distribution within these bounds sums to one; its rounding is undone by dividing by its sum. Any
other row is no distribution, however close to one its sum may be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.labels.labelset import SUM_TOLERANCE

Rows = NDArray[np.float64]  # (rows, classes)

MOST_DECIMALS = 7
"""Numbers with more decimals than this are not rounded for a reader's sake."""

EXACT = 1e-14
"""A sum this close to one is one: dividing by it would change digits that somebody wrote."""

COMPUTED = 4
"""A softmax computed in a narrow type is off by a few of its roundings, not by one."""

FLOATS: dict[str, int] = {"bfloat16": 8, "float16": 11, "float32": 24}
"""Narrow floating-point types by the bits of their significand."""


@dataclass(frozen=True)
class Precision:
    """How finely the numbers of a file are stored."""

    name: str
    """"3 decimals", "float16"; empty for numbers in full."""
    step: float = 0.0
    """Half a unit in the last decimal."""
    share: float = 0.0
    """How far a number may be off as a part of itself."""


@dataclass(frozen=True, eq=False)
class NormalisedRows:
    """Rows that sum to one, and what was done to get there."""

    probs: Rows
    wrong: NDArray[np.bool_]  # (rows,): no distribution; these are left as they are
    rounded: int
    """How many rows missed one by rounding."""
    words: str
    """What was done, for a remark; empty where every row summed to one."""


@dataclass(frozen=True)
class Digits:
    """How many digits the numbers of a text have at most."""

    decimals: int
    """Behind the point."""
    significant: int
    """From the first that is not zero."""


def count_digits(texts: pl.Series | Sequence[str]) -> Digits:
    """The most digits of any number, behind the point and significant.

    >>> count_digits(["0.125", "1", "2.5e-3"])
    Digits(decimals=4, significant=3)
    """
    plain = pl.Series("text", texts, dtype=pl.String).str.strip_chars().str.to_lowercase()
    parts = plain.str.replace(",", ".", literal=True).str.split_exact("e", 1).struct.unnest()
    mantissa, power = pl.col("field_0").str.strip_chars_start("+-"), pl.col("field_1")
    behind = mantissa.str.len_bytes() - mantissa.str.find(".", literal=True) - 1
    digits = mantissa.str.strip_chars_start("0.").str.replace(".", "", literal=True)
    decimals, significant = (
        parts.select(
            behind.cast(pl.Int64).fill_null(0) - power.cast(pl.Int64, strict=False).fill_null(0),
            digits.str.len_bytes().alias("significant"),
        )
        .max()
        .row(0)
    )
    return Digits(max(decimals or 0, 0), significant or 0)


def normalise(values: Rows, *, digits: Digits | None = None) -> NormalisedRows:
    """Divide each row by its sum where rounding explains that it is not one.

    ``digits`` are those of the text that the numbers were read from; without, the decimals are
    found from the numbers themselves.

    >>> done = normalise(np.array([[0.333, 0.333, 0.333], [0.5, 0.25, 0.25]]))
    >>> done.rounded, done.words
    (1, '1 of 2 rows is rounded to 3 decimals and does not sum to one (0.999); divided by its sum')
    >>> normalise(np.array([[0.333, 0.333, 0.4]])).wrong
    array([ True])
    """
    sums = values.sum(axis=1)
    explained = np.abs(sums - 1) <= SUM_TOLERANCE
    why = Precision("")
    for precision in _precisions(values, digits):
        if explained.all():
            break
        more = ~explained & _explains(precision, values)
        why = precision if more.any() else why
        explained |= more
    explained &= (values >= 0).all(axis=1)
    divided = explained & (np.abs(sums - 1) > EXACT)
    probs = np.where(divided[:, None], values / np.where(sums > 0, sums, 1)[:, None], values)
    off = explained & (np.abs(sums - 1) > SUM_TOLERANCE)
    return NormalisedRows(probs, ~explained, int(off.sum()), _words(why, sums[off], len(values)))


def _explains(precision: Precision, values: Rows) -> NDArray[np.bool_]:
    """Where a distribution lies within the bounds of every number of the row."""
    off = precision.step + precision.share * np.abs(values)
    least, most = np.maximum(values - off, 0).sum(axis=1), np.minimum(values + off, 1).sum(axis=1)
    slack = SUM_TOLERANCE
    return (least <= 1 + slack) & (most >= 1 - slack) & (values.sum(axis=1) > 0)


def _precisions(values: Rows, digits: Digits | None) -> Iterator[Precision]:
    """The ways of storing in which every one of the numbers can be stored, as it is."""
    decimals = _fewest_decimals(values) if digits is None else digits.decimals
    if decimals is not None and 0 < decimals <= MOST_DECIMALS:  # whole numbers are no rounding
        words = "1 decimal" if decimals == 1 else f"{decimals} decimals"
        yield Precision(words, step=0.5 * 10.0**-decimals)
    elif digits is not None and 1 < digits.significant < MOST_DECIMALS < digits.decimals:
        words = f"{digits.significant} significant digits"
        yield Precision(words, share=5 * 10.0**-digits.significant)
    for name, bits in FLOATS.items():
        if np.array_equal(_narrowed(values, bits), values):
            yield Precision(name, share=COMPUTED * 2.0**-bits)


def _fewest_decimals(values: Rows) -> int | None:
    """With how few decimals the numbers can be written; None if not with a few."""
    narrow = np.array_equal(_narrowed(values, FLOATS["float32"]), values)
    for decimals in range(MOST_DECIMALS if not narrow else 6):
        scaled = np.abs(values) * 10.0**decimals
        spare = scaled * (2.0**-23 if narrow else 2.0**-50) + 1e-9
        if (np.abs(scaled - np.rint(scaled)) <= spare).all():
            return decimals
    return None


def _narrowed(values: Rows, bits: int) -> Rows:
    """The numbers rounded to so many binary digits."""
    fraction, power = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), power - bits)


def _words(precision: Precision, sums: NDArray[np.float64], rows: int) -> str:
    if not len(sums):
        return ""
    verb, whose = ("is", "its sum") if len(sums) == 1 else ("are", "their sums")
    does = "does" if len(sums) == 1 else "do"
    low, high = f"{sums.min():.6g}", f"{sums.max():.6g}"
    span = low if low == high else f"{low} to {high}"
    return (
        f"{len(sums):,} of {rows:,} rows {verb} rounded to {precision.name} and {does} not sum to "
        f"one ({span}); divided by {whose}"
    )
