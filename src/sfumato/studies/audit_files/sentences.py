"""Turn masks and amounts into the shares, intervals and words that findings are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.reporting.text import Finding
from sfumato.stats import bootstrap_interval, share_interval

__all__ = ["NAMED", "between", "finding", "first_named", "share_of"]

NAMED = 10
"""How many items are named in what is printed; the tables hold all."""


def share_of(mask: NDArray[np.bool_], rng: np.random.Generator, draws: int) -> dict[str, Any]:
    """The share of items in the mask with its 95 % interval over items, as plain values."""
    share = float(mask.mean())
    low, high = (
        share_interval(int(mask.sum()), len(mask))
        if share in (0, 1)
        else bootstrap_interval(mask.astype(np.float64), rng=rng, draws=draws)
    )
    return {"items": int(mask.sum()), "of": len(mask), "share": share, "low": low, "high": high}


def between(row: Mapping[str, Any]) -> str:
    """A share and its interval in words."""
    return f"{row['share']:.1%} [{row['low']:.1%}, {row['high']:.1%}]"


def finding(text: str, is_there: bool) -> Finding:
    """A sentence that is "found" where what it tells of is there."""
    return Finding(text, "found" if is_there else "not found")


def first_named(items: Sequence[str], amount: int | None = None) -> str:
    """The first items in brackets."""
    if not items:
        return ""
    more = ", …" if (amount or len(items)) > NAMED else ""
    return f" ({', '.join(items[:NAMED])}{more})"
