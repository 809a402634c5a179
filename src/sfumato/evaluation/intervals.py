"""Turn numbers of items or of seeds into 95 % intervals, and two paired rows into a named test.

Which interval answers which question: over *items*, other pictures and the same trained
network; over *seeds*, the same pictures and the network trained again; over *seeds and
items*, both at once (S2-74). A difference between two arms is paired wherever it can be,
because the same hard pictures make both look bad (S4-36).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from scipy.stats import wilcoxon as scipy_wilcoxon

from sfumato.errors import DataError
from sfumato.names import find

__all__ = [
    "LEVEL",
    "SEED_TESTS",
    "Interval",
    "bootstrap_items",
    "bootstrap_means",
    "bootstrap_seeds",
    "bootstrap_statistics",
    "holm",
    "over_seeds",
    "over_seeds_and_items",
    "paired_items",
    "percentiles",
    "seed_test",
    "share_of_all_or_none",
    "sign_flip",
]

LEVEL = 0.95
"""The share of studies in which an interval should hold the true value."""

TAILS = (0.025, 0.975)
"""What lies below the lower and below the upper end."""

CHUNK_CELLS = 2_000_000
"""How many weights are held at once: 16 MB, whatever the number of items and draws."""

EXACT_SEEDS = 16
"""Up to this many pairs all sign flips are counted (65,536); above, some are drawn."""

LEAST_DEFINED = 0.9
"""An interval is given where at least this share of the draws has a value."""

ROUNDING = 1e-12
"""Relative differences below this come from the order of a sum."""

Values = NDArray[np.float64]


class Interval(NamedTuple):
    """Between which values the truth lies; both NaN where nothing can be said."""

    low: float
    high: float


NOTHING = Interval(float("nan"), float("nan"))


def bootstrap_items(values: Values, *, rng: np.random.Generator, draws: int = 1000) -> Interval:
    """The interval of a mean over items: percentiles of the means of resampled items.

    Items where the value is NaN count as not there, in the sample and in each draw.

    >>> bootstrap_items(np.full(50, 0.25), rng=np.random.default_rng(0))
    Interval(low=0.25, high=0.25)
    """
    return percentiles(bootstrap_means(values[:, None], rng=rng, draws=draws)[:, 0])


def share_of_all_or_none(share: float, n_items: int) -> Interval:
    """The exact (Clopper–Pearson) interval of a share that is 0 or 1.

    No resampling can doubt it, but ten of ten right is not a hundred of a hundred: the far end
    is 0.025^(1/n) from the other side.

    >>> share_of_all_or_none(1.0, 10)
    Interval(low=0.691..., high=1.0)
    """
    far = float(TAILS[0] ** (1 / n_items))
    return Interval(far, 1.0) if share else Interval(0.0, 1 - far)


def bootstrap_means(values: Values, *, rng: np.random.Generator, draws: int = 1000) -> Values:
    """Means of resampled items, (draws, columns), of values (items, columns).

    All columns see the same resampled items, so differences between columns are paired. A draw
    is a row of multinomial weights and many rows are one matrix product, made in chunks.
    Infinite values stay so: a draw that holds one is infinite.
    """
    n_items, n_columns = values.shape
    if not n_items:
        return np.full((draws, n_columns), np.nan)
    known, endless = ~np.isnan(values), np.isposinf(values)
    columns = np.hstack([np.where(known & ~endless, values, 0.0), known])  # sums and counts
    infinite = bool(endless.any())
    means = []
    for weights in _weights(n_items, rng=rng, draws=draws):
        sums, counts = np.hsplit(weights @ columns, 2)
        mean = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        if infinite:
            mean[weights @ endless.astype(np.float64) > 0] = np.inf
        means.append(mean)
    return np.concatenate(means)


def bootstrap_statistics(
    statistics: Callable[[NDArray[np.int64]], Sequence[float]],
    n_items: int,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
) -> Values:
    """Statistics that are no means, computed again on resampled items: (draws, statistics).

    ``statistics`` gets the positions of one draw's items, sorted, some of them several times.
    """
    _check_draws(draws)
    drawn = (np.sort(rng.integers(n_items, size=n_items)) for _ in range(draws))
    return np.array([statistics(rows) for rows in drawn], dtype=np.float64)


def percentiles(drawn: Values) -> Interval:
    """The 2.5th and 97.5th percentile of what was drawn, NaN left out.

    >>> percentiles(np.arange(1001.0))
    Interval(low=25.0, high=975.0)
    """
    found = np.sort(drawn[~np.isnan(drawn)])
    if not len(found) or len(found) < LEAST_DEFINED * len(drawn):
        return NOTHING
    low, high = (_quantile(found, share) for share in TAILS)
    return Interval(low, high)


def over_seeds(values: Values) -> Interval:
    """Student's t interval of the mean over seeds, mean ± t(n - 1) · s/√n (S2-74).

    A single seed says nothing about others: NaN.

    >>> over_seeds(np.array([1.0, 2.0, 3.0]))  # 2 ± 4.303 · 1/√3
    Interval(low=-0.484..., high=4.484...)
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return NOTHING
    error = values.std(ddof=1) / np.sqrt(len(values))
    return _around(float(values.mean()), float(error), len(values) - 1)


def bootstrap_seeds(values: Values, *, rng: np.random.Generator, draws: int = 1000) -> Interval:
    """Percentiles of the means of resampled seeds.

    Too narrow with few seeds: six normal values are covered by about 87 %, not 95 %. It is
    here because papers use it; ``over_seeds`` is the one to report.
    """
    if len(values) < 2:
        return NOTHING
    return bootstrap_items(values, rng=rng, draws=draws)


def over_seeds_and_items(values: Values) -> Interval:
    """The interval of the mean of (seeds, items) when both might have been others.

    Every seed is tested on the same items, so with rows and columns as random effects
    Var(mean) = (MSseeds + MSitems - MSrest) / (S·I), from the mean squares of the two-way
    table, with Satterthwaite's degrees of freedom and Student's t. A bootstrap of both sides
    is too narrow with few seeds, as ``bootstrap_seeds`` is.
    """
    n_seeds, n_items = values.shape
    if n_seeds < 2 or n_items < 2 or not np.isfinite(values).all():
        return NOTHING
    mean, by_seed, by_item = values.mean(), values.mean(axis=1), values.mean(axis=0)
    rest = values - by_seed[:, None] - by_item[None, :] + mean
    freedom = np.array([n_seeds - 1, n_items - 1, (n_seeds - 1) * (n_items - 1)])
    sums = [values.size * by_seed.var(), values.size * by_item.var(), (rest**2).sum()]
    squares = np.array(sums) / freedom
    # Never below what either side alone says: the estimate may, by chance.
    total = max(squares[0] + squares[1] - squares[2], squares[0], squares[1])
    if not total:
        return Interval(float(mean), float(mean))
    degrees = max(total**2 / (squares**2 / freedom).sum(), 1.0)
    return _around(float(mean), float(np.sqrt(total / values.size)), float(degrees))


def paired_items(
    differences: Values, *, rng: np.random.Generator, draws: int = 1000
) -> tuple[Interval, float]:
    """For differences item by item: the paired bootstrap interval of their mean, and the p-value
    of the sign-flip permutation test.
    """
    interval = bootstrap_items(differences, rng=rng, draws=draws)
    return interval, sign_flip(differences[~np.isnan(differences)], rng=rng, draws=draws)


def sign_flip(differences: Values, *, rng: np.random.Generator, draws: int = 9999) -> float:
    """Two-sided p of the sign-flip permutation test: how often random signs give a mean as far
    from zero.

    With up to 16 pairs all 2ⁿ signs are counted, so that six seeds can reach 2/64 = 1/32 and no
    less; with more, ``draws`` signs are drawn and p = (1 + hits) / (1 + draws).

    >>> sign_flip(np.array([0.3, 0.1, 0.2, 0.4, 0.1, 0.2]), rng=np.random.default_rng(0))
    0.03125
    """
    count = len(differences)
    if not count or not np.isfinite(differences).all():
        return float("nan")
    far = abs(differences.sum()) - ROUNDING * np.abs(differences).sum()
    if count <= EXACT_SEEDS:
        signs = 1.0 - 2.0 * (np.arange(2**count)[:, None] >> np.arange(count) & 1)
        return float((np.abs(signs @ differences) >= far).mean())
    hits = 0
    for size in _sizes(draws, count):
        signs = rng.integers(2, size=(size, count), dtype=np.int8).astype(np.float64)
        # Σ ±d = 2 Σ (flipped d) - Σ d
        hits += int((np.abs(2 * (signs @ differences) - differences.sum()) >= far).sum())
    return (1 + hits) / (1 + draws)


def paired_t(differences: Values, *, rng: np.random.Generator) -> float:
    """Two-sided p of Student's t on the differences; NaN where they are all equal and not 0."""
    if len(differences) < 2 or not np.isfinite(differences).all():
        return float("nan")
    mean = float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    if error <= ROUNDING * np.abs(differences).max():
        return float("nan") if mean else 1.0
    return float(2 * student.sf(abs(mean) / error, len(differences) - 1))


def wilcoxon(differences: Values, *, rng: np.random.Generator) -> float:
    """Two-sided p of Wilcoxon's signed-rank test, differences of zero left out."""
    if len(differences) < 2 or not np.isfinite(differences).all():
        return float("nan")
    if not differences.any():
        return 1.0
    return float(scipy_wilcoxon(differences[differences != 0]).pvalue)


SEED_TESTS: dict[str, Callable[..., float]] = {
    "paired t": paired_t,
    "sign-flip": sign_flip,
    "wilcoxon": wilcoxon,
}
"""Tests of paired differences over seeds: functions of the differences and ``rng``."""


def seed_test(name: str, differences: Values, *, rng: np.random.Generator) -> float:
    """The two-sided p-value of the named test; NaN with fewer than two seeds.

    With six seeds ``sign-flip`` and ``wilcoxon`` cannot go below 1/32, whatever the difference.
    """
    test = find(SEED_TESTS, name, what="test")
    return test(differences, rng=rng) if len(differences) > 1 else float("nan")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment for several tests: p₍ᵢ₎ times the number not yet refused, never falling.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    reached = 0.0
    for place, which in enumerate(order):
        reached = max(reached, min(1.0, p_values[which] * (len(p_values) - place)))
        adjusted[which] = reached
    return [float(value) for value in adjusted]


def _weights(n_items: int, *, rng: np.random.Generator, draws: int) -> Iterator[Values]:
    """Rows of multinomial weights: how often each item is in a draw of as many items."""
    _check_draws(draws)
    for size in _sizes(draws, n_items):
        picked = rng.integers(n_items, size=(size, n_items), dtype=np.int32)
        picked += (np.arange(size, dtype=np.int32) * n_items)[:, None]  # one count for all rows
        counts = np.bincount(picked.ravel(), minlength=size * n_items)
        yield counts.reshape(size, n_items).astype(np.float64)


def _check_draws(draws: int) -> None:
    if draws < 1:
        raise DataError(f"{draws} draws were asked for; an interval needs 1 or more.")


def _sizes(draws: int, n_items: int) -> list[int]:
    step = max(1, CHUNK_CELLS // n_items)
    return [min(step, draws - done) for done in range(0, draws, step)]


def _quantile(ordered: Values, share: float) -> float:
    """Linear between neighbours, as NumPy's default, but infinite where both neighbours are."""
    place = share * (len(ordered) - 1)
    below = int(np.floor(place))
    part = place - below
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return float(low if part == 0 or low == high else low + part * (high - low))


def _around(mean: float, error: float, degrees: float) -> Interval:
    reach = float(student.ppf(TAILS[1], degrees)) * error
    return Interval(mean - reach, mean + reach)
