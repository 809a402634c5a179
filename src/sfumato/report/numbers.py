"""Turn numbers into the text that a reader sees: three decimals, intervals in brackets."""

import math
from collections.abc import Iterable

__all__ = ["ROUNDING", "count", "interval", "number", "seeds_text", "signed"]

UNDEFINED = "not defined"
MISSING = "–"
ROUNDING = 1e-12
"""A difference below this comes from the order of a sum."""


def number(value: float | int | None) -> str:
    """Three decimals; whole numbers as they are; tiny ones so that they do not read as zero.

    >>> number(0.41249), number(2134), number(-0.00021), number(None), number(float("nan"))
    ('0.412', '2,134', '-0.0002', '–', 'not defined')
    """
    if value is None:
        return MISSING
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0.000"
    if abs(value) < 0.0005:  # three decimals would show 0.000 and hide the sign
        return f"{value:.1g}"
    return f"{value:,.3f}"


def signed(value: float | None) -> str:
    """A difference: as ``number``, with a plus where it is above zero.

    >>> signed(0.25), signed(-0.25), signed(4e-17)
    ('+0.250', '-0.250', '0.000')
    """
    if value is not None and abs(value) < ROUNDING:
        value = 0.0
    text = number(value)
    return f"+{text}" if value is not None and value > 0 else text


def interval(low: float | None, high: float | None) -> str:
    """The interval in brackets, or nothing where there is none.

    >>> interval(0.1, 0.25), interval(None, None)
    ('[0.100, 0.250]', '')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"[{number(low)}, {number(high)}]"


def count(amount: int, thing: str) -> str:
    """An amount with its noun.

    >>> count(1, "item"), count(1000, "seed")
    ('1 item', '1,000 seeds')
    """
    return f"{amount:,} {thing}" if amount == 1 else f"{amount:,} {thing}s"


def seeds_text(seeds: Iterable[int]) -> str:
    """How many seeds and which; a run of neighbours as a range.

    >>> seeds_text((0, 1, 2)), seeds_text([4]), seeds_text((1, 5))
    ('3 seeds (0 to 2)', '1 seed (4)', '2 seeds (1, 5)')
    """
    known = sorted(set(seeds))
    if not known:
        return "no seeds"
    run = len(known) > 2 and known[-1] - known[0] == len(known) - 1
    named = f"{known[0]} to {known[-1]}" if run else ", ".join(map(str, known))
    return f"{count(len(known), 'seed')} ({named})"
