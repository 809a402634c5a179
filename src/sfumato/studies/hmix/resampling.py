"""Turn answers of people about mixes into estimates with intervals over both of them.

Other people might have answered, about other mixes, so both are resampled, independently: an answer
counts as often as its person was drawn times as often as its mix was. For answers that are crossed
so, these intervals are never too narrow on average and somewhat too wide (Owen, "The pigeonhole
bootstrap", 2007). The first row of every array of weights is the sample itself, so a statistic
is one function that gives the estimate and all draws.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.stats import Interval, percentile_interval

__all__ = [
    "correlation",
    "crossed_weights",
    "ends_of",
    "group_means",
    "mean",
    "mean_of",
    "middle",
    "times_drawn",
]

Values = NDArray[np.float64]


def crossed_weights(
    table: pl.DataFrame, *people: str, rng: np.random.Generator, draws: int
) -> Values:
    """How often each row counts in each draw, (1 + draws, rows); in the first, once each.

    The column ``mix`` names what was answered about, and ``people`` who answered: several columns
    where a row compares two people.
    """
    (weights,) = times_drawn(table["mix"], rng=rng, draws=draws)
    for drawn in times_drawn(*(table[name] for name in people), rng=rng, draws=draws):
        weights = weights * drawn
    return weights


def times_drawn(*columns: pl.Series, rng: np.random.Generator, draws: int) -> list[Values]:
    """For each column, how often the name in each row was drawn, (1 + draws, rows).

    A name counts as often in one column as in another; in the first row everything counts once.
    """
    names = pl.concat([column.alias("name") for column in columns]).unique().sort()
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws)
    counts = np.vstack([np.ones(len(names)), drawn])
    place = {name: at for at, name in enumerate(names)}
    return [counts[:, [place[name] for name in column]] for column in columns]


def mean(values: Values, weights: Values) -> Values:
    """The mean of every draw, NaN in a draw without any of the rows.

    >>> mean(np.array([1.0, 3.0]), np.array([[1.0, 1.0], [3.0, 1.0]]))
    array([2. , 1.5])
    """
    return _divided(weights @ values, weights.sum(axis=1))


def mean_of(values: Values, weights: Values) -> Values:
    """As ``mean``, of values that differ between draws: (draws, rows). NaN may count nowhere."""
    return _divided((np.nan_to_num(values) * weights).sum(axis=1), weights.sum(axis=1))


def middle(values: Values, weights: Values, share: float = 0.5) -> Values:
    """The value below which ``share`` of the answers lie; halfway where it falls between two.

    >>> middle(np.array([4.0, 1.0, 2.0, 3.0]), np.ones((1, 4)))
    array([2.5])
    """
    order = np.argsort(values, kind="stable")
    ordered, up_to = values[order], np.cumsum(weights[:, order], axis=1)
    wanted = share * up_to[:, -1:]
    below = np.minimum((up_to < wanted).sum(axis=1), len(values) - 1)
    above = np.minimum((up_to <= wanted).sum(axis=1), len(values) - 1)
    found = (ordered[below] + ordered[above]) / 2
    return np.where(up_to[:, -1] > 0, found, np.nan)


def correlation(first: Values, second: Values, weights: Values) -> Values:
    """Pearson's r of every draw; values may differ between draws, as means do: (draws, rows)."""
    first, second = np.broadcast_to(first, weights.shape), np.broadcast_to(second, weights.shape)
    total = weights.sum(axis=1)
    one, two = (
        values - _divided((weights * values).sum(axis=1), total)[:, None]
        for values in (first, second)
    )
    together = (weights * one * two).sum(axis=1)
    spread = (weights * one**2).sum(axis=1) * (weights * two**2).sum(axis=1)
    return _divided(together, np.sqrt(np.maximum(spread, 0)))


def group_means(values: Values, groups: NDArray[np.int64], weights: Values) -> Values:
    """The mean of each group in each draw, (draws, groups), NaN where a draw has none of it."""
    inside = np.zeros((len(values), int(groups.max()) + 1))
    inside[np.arange(len(values)), groups] = 1
    return _divided((weights * values) @ inside, weights @ inside)


def ends_of(drawn: Values) -> tuple[float, Interval]:
    """The estimate, which comes first, and its 95 % interval from the draws after it."""
    return float(drawn[0]), percentile_interval(drawn[1:])


def _divided(sums: Values, counts: Values) -> Values:
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
