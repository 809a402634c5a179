"""From a fitted aggregate to between which values each of its probabilities lies."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sfumato.labels.aggregate.result import IntervalMaker, ProbabilityIntervals

Refit = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From one weight per person to probabilities, shape (items, classes)."""


def bootstrap(refit: Refit, people: int) -> IntervalMaker:
    """Bootstrap over annotators: how much the labels depend on who happened to answer.

    Each replicate gives every person an own weight, drawn from the exponential distribution with
    mean one (the Bayesian bootstrap, Rubin 1981), and fits again. Weights are never zero, so
    no item is ever left without judgments, and all of a person's answers move together. The
    interval lies between percentiles of the replicates. One judgment alone has width zero.
    """
    return partial(_percentiles, refit, people)


def shares_posterior(counts: NDArray[np.float64]) -> IntervalMaker:
    """Jeffreys' interval of each share, class against all others: quantiles of
    Beta(c + ½, n - c + ½), with 0 and 1 as ends where c = 0 and c = n.
    """
    return partial(_jeffreys, counts)


def _percentiles(
    refit: Refit, people: int, level: float, replicates: int, rng: np.random.Generator
) -> ProbabilityIntervals:
    # float32: percentiles of 200 draws need no more digits, and the stack is the largest thing here
    draws = np.stack(
        [refit(rng.standard_exponential(people)).astype(np.float32) for _ in range(replicates)]
    )
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0).astype(np.float64)
    return ProbabilityIntervals(low, high, level, "bootstrap over annotators")


def _jeffreys(
    counts: NDArray[np.float64], level: float, replicates: int, rng: np.random.Generator
) -> ProbabilityIntervals:
    others = counts.sum(axis=1, keepdims=True) - counts
    tail = (1 - level) / 2
    low = betaincinv(counts + 0.5, others + 0.5, tail)
    high = betaincinv(counts + 0.5, others + 0.5, 1 - tail)
    return ProbabilityIntervals(
        np.where(counts == 0, 0.0, low), np.where(others == 0, 1.0, high), level, "posterior"
    )
