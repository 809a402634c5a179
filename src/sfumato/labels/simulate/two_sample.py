"""Turn what real and simulated people said into two-sample tests that count people, not answers.

One person's answers are alike: who says 100 % says it again. So people are resampled and
people are swapped, never single answers; an interval or a test over answers would be too sure.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.simulate.marginals import TwoChoices, over_full

__all__ = [
    "MARGINALS",
    "SPREAD",
    "SwapTest",
    "holm",
    "mean_of",
    "resampled_means",
    "resampled_spreads",
    "spread_of",
    "swap_spreads",
    "swap_values",
    "values_of",
]

Values = NDArray[np.float64]
People = NDArray[np.int64]

MARGINALS = (
    "top-1 probability",
    "number of possible classes",
    "share without an alternative",
    "top-2 probability",
    "share stating more than 100 %",
)
"""What is compared, one value an answer (S2-31, S2-33, S2-34)."""

SPREAD = "top-1 probability, spread between people"
"""Also compared: the standard deviation of people's own means."""


class SwapTest(NamedTuple):
    """How far two samples are apart, and how often swapped people are as far."""

    distance: float
    p_value: float


def values_of(choices: TwoChoices) -> dict[str, Values]:
    """Each marginal's value in each answer; NaN where an answer has none."""
    of_each = (
        choices.top1,
        choices.possible.astype(np.float64),
        (~choices.named).astype(np.float64),
        np.where(choices.named, choices.top2, np.nan),
        over_full(choices).astype(np.float64),
    )
    return dict(zip(MARGINALS, of_each, strict=True))


def mean_of(values: Values) -> float:
    """The mean of the values there are; NaN if there are none.

    >>> mean_of(np.array([0.5, np.nan, 1.0]))
    0.75
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def spread_of(values: Values, person: People) -> float:
    """The standard deviation between people of each one's mean.

    >>> spread_of(np.array([0.2, 0.4, 0.9]), np.array([0, 0, 1]))  # means 0.3 and 0.9
    0.3
    """
    return round(_deviation(_means(values, person)), 12)


def resampled_means(
    values: Values, person: People, *, draws: int, rng: np.random.Generator
) -> Values:
    """The mean over answers when people are drawn anew with all their answers; (draws,)."""
    sums, counts = _sums(values, person)
    weights = _weights(len(sums), draws=draws, rng=rng)
    total = weights @ counts
    return np.divide(weights @ sums, total, out=np.full(draws, np.nan), where=total > 0)


def resampled_spreads(
    values: Values, person: People, *, draws: int, rng: np.random.Generator
) -> Values:
    """The spread between people when people are drawn anew; (draws,)."""
    means = _means(values, person)
    known = np.nan_to_num(means)
    weights = _weights(len(means), draws=draws, rng=rng) * ~np.isnan(means)
    total = np.maximum(weights.sum(axis=1), 1)
    mean = weights @ known / total
    return np.sqrt(np.maximum(weights @ known**2 / total - mean**2, 0))


def swap_values(
    real: Values,
    simulated: Values,
    person: People,
    *,
    permutations: int,
    rng: np.random.Generator,
) -> SwapTest:
    """Kolmogorov–Smirnov distance, tested by swapping people with their simulated doubles.

    Both samples hold the same people's answers about the same items, so person j's real and
    simulated answers can be exchanged if the simulation is right; all answers of a person go
    together. p = (1 + number of swaps at least as far) / (1 + permutations). With two values
    the distance is the difference of the shares.
    """
    levels = np.unique(np.concatenate([real, simulated]).round(9))
    levels = levels[~np.isnan(levels)]
    ours, theirs = (_counted(values, person, levels) for values in (real, simulated))
    swapped = np.vstack([np.zeros(len(ours)), _swaps(len(ours), permutations, rng)])
    moved = swapped @ (theirs - ours)  # (1 + permutations, levels)
    distance = np.abs(_shares(ours.sum(axis=0) + moved) - _shares(theirs.sum(axis=0) - moved))
    return _tested(distance.max(axis=1, initial=0))


def swap_spreads(
    real: Values,
    simulated: Values,
    person: People,
    *,
    permutations: int,
    rng: np.random.Generator,
) -> SwapTest:
    """The difference of the spreads between people, tested by the same swaps."""
    ours, theirs = _means(real, person), _means(simulated, person)
    swapped = np.vstack([np.zeros(len(ours)), _swaps(len(ours), permutations, rng)]) > 0
    first, second = np.where(swapped, theirs, ours), np.where(swapped, ours, theirs)
    return _tested(np.abs(np.nanstd(first, axis=1) - np.nanstd(second, axis=1)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment for several tests: p₍ᵢ₎ times the number not yet refused, never falling.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    left = len(order) - np.arange(len(order))
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(np.array(p_values)[order] * left, 1))
    return adjusted.tolist()


def _tested(distances: Values) -> SwapTest:
    """The first distance is that of the samples as they are."""
    as_far = int((distances[1:] >= distances[0] - 1e-12).sum())
    return SwapTest(float(distances[0]), (1 + as_far) / len(distances))


def _swaps(people: int, permutations: int, rng: np.random.Generator) -> Values:
    return rng.integers(2, size=(permutations, people)).astype(np.float64)


def _shares(counts: Values) -> Values:
    """Cumulated shares of counts, (samples, levels)."""
    return np.cumsum(counts, axis=1) / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _counted(values: Values, person: People, levels: Values) -> Values:
    """How often each person gave each value, (people, levels)."""
    known = ~np.isnan(values)
    width = len(levels)
    place = person[known] * width + np.searchsorted(levels, values[known].round(9))
    size = (int(person.max(initial=-1)) + 1) * width
    return np.bincount(place, minlength=size).reshape(-1, width).astype(np.float64)


def _sums(values: Values, person: People) -> tuple[Values, Values]:
    """Each person's sum and number of values."""
    people = int(person.max(initial=-1)) + 1
    known = ~np.isnan(values)
    sums = np.bincount(person, weights=np.where(known, values, 0.0), minlength=people)
    counts = np.bincount(person[known], minlength=people)
    return sums.astype(np.float64), counts.astype(np.float64)


def _means(values: Values, person: People) -> Values:
    sums, counts = _sums(values, person)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def _deviation(means: Values) -> float:
    known = means[~np.isnan(means)]
    return float(known.std()) if len(known) else float("nan")


def _weights(people: int, *, draws: int, rng: np.random.Generator) -> Values:
    """How often each person is in each draw of as many people, (draws, people)."""
    return rng.multinomial(people, np.full(people, 1 / people), size=draws).astype(np.float64)
