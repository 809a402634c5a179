"""From log-probabilities of answers and each possible label to beliefs about the label."""

import numpy as np
from numpy.typing import NDArray

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
