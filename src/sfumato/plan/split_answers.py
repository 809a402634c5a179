"""Turn soft answers into how far apart means of two groups of them are, and a law of that.

Means of two disjoint groups of a answers differ by g(2/a): deviations add up, so it is the sum
of the inverse sizes that counts, and the mean of M answers is off the mean of infinitely many
by g(1/M). Where that lies beyond the groups, one law for g mostly falls too slowly and the other
too fast.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.compare import Divergence, divergence_rows
from sfumato.labels.labelset import CrowdLabels

__all__ = ["Law", "between_laws", "bounded_law", "power_law", "split", "sum_of_doublings"]

Array = NDArray[np.float64]
Fitted = Callable[[Array], Array]
"""g(t): how far apart two means are whose inverse sizes sum to t."""
Law = Callable[[Array, Array, float], Fitted]

SPLITS = 10
"""How often each item's soft answers are split at random."""

DOUBLINGS = 60
"""Terms of a series in which each is at most about 2^-γ of the one before."""

LEAST_SLOPE = 0.1
"""Noise must not make a curve that does not fall."""

ROUNDING = 1e-12
"""Distances below this come from the order of a sum."""

SHARE_WITH_ENOUGH = 0.9
"""Split groups are as large as this share of the items allows; the others are left out."""


def split(
    crowd: CrowdLabels, divergence: Divergence, *, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Sizes a of two disjoint groups, and how far apart their means are: (items, sizes).

    Unbiased for each size, as no answer is in both.
    """
    asked = np.bincount(crowd.item, minlength=len(crowd.items))
    several = np.sort(asked[asked > 1])
    pool = int(several[int((1 - SHARE_WITH_ENOUGH) * len(several))])
    used = np.flatnonzero(asked >= pool)
    sizes = _group_sizes(pool)
    apart = np.zeros((len(used), len(sizes)))
    starts_at = (np.cumsum(asked) - asked)[used]
    for _ in range(SPLITS):
        shuffled = np.lexsort((rng.random(len(crowd)), crowd.item))
        first = shuffled[starts_at[:, None] + np.arange(pool)]  # (items, pool)
        sums = np.cumsum(crowd.probs[first], axis=1)  # of the first 1, 2, … answers
        for place, a in enumerate(sizes):
            one, both = sums[:, a - 1], sums[:, 2 * a - 1]
            apart[:, place] += divergence_rows(one / a, np.maximum(both - one, 0) / a, divergence)
    apart[apart < ROUNDING] = 0  # the order of a sum is no disagreement
    return sizes, apart / SPLITS


def sum_of_doublings(g: Fitted, M: NDArray[np.int64]) -> Array:
    """H(p) - E H(p_M): E JSD of two groups of a is E H(of 2a) - E H(of a), and so on up to p."""
    return np.asarray(sum(g(2 / (M * 2.0**double)) for double in range(DOUBLINGS)))


def power_law(steps: Array, means: Array, exponent: float) -> Fitted:
    """g(t) = c·t^γ: right while rare classes are still being found, later it falls too slowly."""
    if len(means) == 1:  # two or three answers an item show no shape
        return lambda t: means[0] * (t / steps[0]) ** exponent
    slope, level = np.polyfit(np.log(steps), np.log(means), 1)
    slope = max(slope, LEAST_SLOPE)
    return lambda t: np.exp(level) * t**slope


def bounded_law(steps: Array, means: Array, exponent: float) -> Fitted:
    """g(t)^(1/exponent) = t/(a·t + b): has the exponent of large M from the start, so too soon."""
    if len(means) == 1:
        return power_law(steps, means, exponent)
    inverse = means ** (-1 / exponent)
    b, a = np.polyfit(1 / steps, inverse, 1)
    if a <= 0 or b <= 0:
        a, b = 0.0, float((inverse * steps).mean())
    return lambda t: (t / (a * t + b)) ** exponent


def between_laws(steps: Array, means: Array, exponent: float) -> Fitted:
    """The geometric mean of a law that falls too slowly and one that falls too fast."""
    power, bounded = power_law(steps, means, exponent), bounded_law(steps, means, exponent)
    return lambda t: np.sqrt(power(t) * bounded(t))


def _group_sizes(pool: int) -> NDArray[np.int64]:
    """1, 2, 3, 4, 5, 6, 8, … as far as a pool of answers goes twice."""
    sizes = [1]
    while 2 * sizes[-1] <= pool:
        sizes.append(max(sizes[-1] + 1, sizes[-1] * 4 // 3))
    return np.array(sizes[:-1])
