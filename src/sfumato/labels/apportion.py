"""Turn shares of a whole into whole numbers of items, stratum by stratum."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["apportioned"]


def apportioned(sizes: Sequence[int], shares: Sequence[float]) -> NDArray[np.int64]:
    """Whole numbers (strata, parts) near sizes × shares, whose sums are right both ways.

    Each is the product rounded down, or one more; so is each part's total. What does not divide
    goes to the last part first, as in the published sizes 2,131, 457 and 457 (S4-41). That such a
    table exists for up to three parts, and that serving the neediest part first finds it, is the
    theorem of Gale and Ryser on tables of zeros and ones.

    >>> apportioned([7, 6], [0.5, 0.5]).tolist()
    [[3, 4], [3, 3]]
    """
    assert len(shares) <= 3
    share = np.array(shares) / sum(shares)
    exact = np.outer(sizes, share).round(9)  # 0.29 × 100 is 28.999999999999996
    low = np.floor(exact).astype(np.int64)
    total = (sum(sizes) * share).round(9)
    wanted = np.floor(total).astype(np.int64)
    broken = [part for part in reversed(range(len(share))) if total[part] > wanted[part]]
    wanted[broken[: sum(sizes) - wanted.sum()]] += 1  # the last part comes first
    need = wanted - low.sum(axis=0)
    for row, size in zip(low, sizes, strict=True):
        served = (-need).argsort(kind="stable")[: size - row.sum()]
        row[served] += 1
        need[served] -= 1
    assert not need.any()
    return low
