"""What an aggregator turns judgments into: label distributions that say which question they answer.

Two different questions hide behind the word "aggregate". *What would people say?* keeps
disagreement: with more votes the answer tends to the shares of the population. *Which label
is true?* is a belief about one hidden label: with more votes it tends to a single class, and
is then a bad description of people. Every result here carries its ``Estimand``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Setting

Estimand = Literal["what people say", "which label is true"]
"""The question that an aggregator answers."""

IntervalKind = Literal["posterior", "bootstrap over annotators"]
"""Where an interval comes from."""


ConfusionOf = Callable[[int], NDArray[np.float64]]
"""From the row of a person to their matrix ``[true, said]``."""

MOST_CONFUSIONS = 2**27
"""So many numbers (1 GB) the confusion matrices of all annotators may have together."""


@dataclass(frozen=True, eq=False)
class ProbabilityIntervals:
    """Between which values each probability lies, class by class."""

    low: NDArray[np.float64]  # (items, classes)
    high: NDArray[np.float64]  # (items, classes)
    level: float
    """The share of cases in which such an interval is meant to hold the value, e.g. 0.95."""
    kind: IntervalKind


@dataclass(frozen=True, eq=False)
class Aggregation:
    """Labels, and what was learnt about people and items on the way."""

    labels: LabelSet
    """One row per item that was judged, in the order of the crowd's items."""
    estimand: Estimand
    annotators: tuple[str, ...] = ()
    """Who judged anything, in the order of the crowd's annotators: the rows of ``confusion``."""
    quality: Mapping[str, float] | None = None
    """One number per annotator, higher is better; the aggregator's ``about`` says what it is."""
    confusions: ConfusionOf | None = None
    """From the row of an annotator to their matrix; ``confusion_of`` takes the name."""
    difficulty: NDArray[np.float64] | None = None
    """One number per item, higher is harder (GLAD's exp(-β)); None where none is estimated."""
    types: NDArray[np.float64] | None = None
    """``[item, type]``: how probable each hidden type is (habits); None for other aggregators."""
    habits: NDArray[np.float64] | None = None
    """``[annotator, type, said]``: how probable an answer is to an item of a type."""
    trace: tuple[float, ...] = ()
    """Log-likelihood, or what else the method climbs, before each iteration; may be empty."""
    converged: bool = True
    """Whether the last iteration gained less than the tolerance; true without iterations."""
    interval: ProbabilityIntervals | None = None
    """None unless it was asked for."""
    fitted: Mapping[str, Setting] = field(default_factory=dict)
    """Other numbers that were estimated, such as the prior; also in the provenance."""
    remarks: tuple[str, ...] = ()
    """Sentences with numbers where the result is likely to mislead."""

    def confusion_of(self, annotator: str) -> NDArray[np.float64]:
        """``[true, said]``: how probable each answer of one annotator is, given the true label."""
        if self.confusions is None:
            raise DataError("This aggregator estimates no confusion matrices.")
        if annotator not in self.annotators:
            raise DataError(f"No annotator is called {annotator!r}.")
        return self.confusions(self.annotators.index(annotator))

    def answers_of(self, annotator: str) -> NDArray[np.float64]:
        """``[item, class]``: what one annotator would say of each item, also of those not seen."""
        if self.types is None or self.habits is None:
            raise DataError("This aggregator learns no habits of annotators; 'habits' does.")
        if annotator not in self.annotators:
            raise DataError(f"No annotator is called {annotator!r}.")
        said: NDArray[np.float64] = self.types @ self.habits[self.annotators.index(annotator)]
        return said

    @cached_property
    def confusion(self) -> NDArray[np.float64] | None:
        """``[annotator, true, said]``, everybody's; None where none are estimated."""
        if self.confusions is None:
            return None
        people, classes = len(self.annotators), len(self.labels.classes)
        if people * classes**2 > MOST_CONFUSIONS:
            raise DataError(
                f"The confusion matrices of {people:,} annotators over {classes:,} classes would "
                f"take {people * classes**2 * 8 / 1e9:.1f} GB; ask for one by confusion_of."
            )
        return np.stack([self.confusions(row) for row in range(people)])


IntervalMaker = Callable[[float, int, np.random.Generator], ProbabilityIntervals]
"""From level, number of replicates and random numbers to an interval."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method hands back, in the order of its ``Evidence``; ``aggregate`` restores names."""

    probs: NDArray[np.float64]  # (items, classes)
    interval: IntervalMaker
    quality: NDArray[np.float64] | None = None  # (annotators,)
    confusion: ConfusionOf | None = None
    difficulty: NDArray[np.float64] | None = None  # (items,)
    types: NDArray[np.float64] | None = None  # (items, types)
    habits: NDArray[np.float64] | None = None  # (annotators, types, classes)
    trace: tuple[float, ...] = ()
    converged: bool = True
    fitted: Mapping[str, Setting] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


# From a fitted aggregate to between which values each of its probabilities lies.


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


# From log-probabilities of answers and each possible label to beliefs about the label.


BLOCK = 2**17
"""So many numbers are worked on at a time: they stay in the processor's cache."""

GRAIN = 2.0**-36
"""Odds against the best class are rounded to multiples of this, about 1.5e-11."""


def posterior_of(log_joint: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """From log P(answers, t), shape (items, classes), to the log-likelihood and P(t | answers).

    >>> log_likelihood, posterior = posterior_of(np.log([[0.3, 0.1]]))
    >>> round(float(np.exp(log_likelihood)), 3), posterior.round(3)
    (0.4, array([[0.75, 0.25]]))

    Odds are rounded to ``GRAIN``. Where the evidence for two labels is the same but for the order
    of a sum, expectation–maximisation would blow a difference in the last digit up until it
    decides; rounded, what is equal stays equal. It also saves most exponentials, and all
    arithmetic on denormal numbers, which is many times slower.
    """
    height = max(BLOCK // max(log_joint.shape[1], 1), 1)
    if len(log_joint) <= height:
        logs, posterior = _posterior(log_joint)
        return float(logs.sum()), posterior
    logs, posterior = np.empty(len(log_joint)), np.empty(log_joint.shape)
    for first in range(0, len(log_joint), height):
        rows = slice(first, first + height)
        logs[rows], posterior[rows] = _posterior(log_joint[rows])
    return float(logs.sum()), posterior


def _posterior(
    log_joint: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    by_class = np.ascontiguousarray(log_joint.T)  # (classes, items): reduces several times faster
    top = by_class.max(axis=0)
    by_class -= top
    near = by_class > np.log(GRAIN / 2)
    odds = np.zeros_like(by_class)
    odds[near] = np.rint(np.exp(by_class[near]) / GRAIN) * GRAIN
    sums = odds.sum(axis=0)
    odds /= sums
    return top + np.log(sums), np.ascontiguousarray(odds.T)
