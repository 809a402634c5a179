"""Turn the times of a table into ISO 8601, and its durations into seconds."""

import polars as pl

from sfumato.judgments.formats.columns import is_milliseconds
from sfumato.judgments.formats.shapes import to_numbers

SLOWEST = 100.0
"""Reaction times of which half are above this are thousandths of a second."""

_ISO = (
    r"^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?)?$"
)
_EPOCHS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6))  # from, to, per second
_CLOCK = r"^(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:[.,]\d+)?)$"


def to_iso(values: pl.Series) -> pl.Series:
    """Times as ISO 8601: ISO texts stay, numbers are seconds, thousandths or millionths since 1970.

    Dates such as 9.3.2021 and 03/09/2021 are read where some row shows which part is the day;
    anything else is null.

    >>> to_iso(pl.Series(["2021-03-09 22:16", "1706500000", "1706500000000", "soon"])).to_list()
    ['2021-03-09T22:16', '2024-01-29T03:46:40+00:00', '2024-01-29T03:46:40+00:00', None]
    """
    if values.dtype == pl.Date:
        return values.cast(pl.String)
    if values.dtype == pl.Datetime:
        return values.dt.to_string("iso:strict")
    texts = values.cast(pl.String, strict=False).str.strip_chars()
    iso = texts.set(~texts.str.contains(_ISO).fill_null(False), None)
    iso = iso.str.replace(r"^(\d{4}-\d\d-\d\d) ", "${1}T")
    numbers = texts.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    for low, high, per_second in _EPOCHS:
        fits = (numbers >= low) & (numbers < high)
        if fits.any():
            micros = (numbers.set(~fits.fill_null(False), None) * (1e6 / per_second)).round()
            moments = micros.cast(pl.Int64).cast(pl.Datetime("us"))
            iso = iso.fill_null(_in_utc(moments))
    return iso.fill_null(_from_calendar(texts)) if iso.null_count() > texts.null_count() else iso


def to_seconds(values: pl.Series, name: str) -> tuple[pl.Series, str]:
    """Durations in seconds, and the unit they were in; null where there is no duration.

    A name that says ``ms`` decides. Reaction times (``rt``, ``latency`` …) of which half are
    above 100 are taken for milliseconds too. 00:01:30 is 90 seconds.

    >>> found, unit = to_seconds(pl.Series(["1500", "900"]), "rt_ms")
    >>> found.to_list(), unit
    ([1.5, 0.9], 'milliseconds')
    """
    numbers = to_numbers(values)
    if values.dtype == pl.String:
        parts = values.str.strip_chars().str.extract_groups(_CLOCK).struct
        hours = parts.field("1").cast(pl.Float64, strict=False).fill_null(0)
        minutes = parts.field("2").cast(pl.Float64, strict=False)
        rest = parts.field("3").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        numbers = numbers.fill_null(hours * 3600 + minutes * 60 + rest)
    numbers = numbers.set(~(numbers.is_finite() & (numbers >= 0)).fill_null(False), None)
    middle = numbers.median()
    quick = any(word in name.casefold() for word in ("rt", "reaction", "response", "latency"))
    slow = isinstance(middle, float) and middle > SLOWEST and quick
    if is_milliseconds(name) or slow:
        return (numbers / 1000).round(6), "milliseconds"
    return numbers, "seconds"


def _in_utc(moments: pl.Series) -> pl.Series:
    return moments.dt.to_string("%Y-%m-%dT%H:%M:%S%.f").str.replace(r"\.0*$", "") + "+00:00"


def _from_calendar(texts: pl.Series) -> pl.Series:
    """Dates with the year at the end, if one of them tells days from months."""
    parts = texts.str.extract_groups(
        r"^(\d{1,2})[./](\d{1,2})[./](\d{4})(?:[ T,]+(\d{1,2}:\d\d(?::\d\d)?))?$"
    ).struct
    first = parts.field("1").cast(pl.Int64, strict=False)
    second = parts.field("2").cast(pl.Int64, strict=False)
    nothing = pl.repeat(None, len(texts), dtype=pl.String, eager=True)
    dotted = bool(texts.drop_nulls().str.contains(r"^\d{1,2}\.\d").any())
    day_first, month_first = bool((first > 12).any()) or dotted, bool((second > 12).any())
    if day_first == month_first:  # neither is told, or both are claimed
        return nothing
    day, month = (first, second) if day_first else (second, first)
    date = parts.field("3") + "-" + _two(month) + "-" + _two(day)
    time = parts.field("4").str.replace(r"^(\d:)", "0$1")
    both = (date + "T" + time).fill_null(date)
    return both.set(~both.str.contains(_ISO).fill_null(False), None)


def _two(numbers: pl.Series) -> pl.Series:
    return numbers.cast(pl.String).str.zfill(2)
