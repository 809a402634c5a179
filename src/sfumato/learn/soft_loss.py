"""The loss of scores against soft targets, with its exact derivatives, in blocks of rows.

Of one row with the scores z, q = softmax(z), the stated mass t, the open mass m on a set A of
classes, and T = Σ t + m, the loss is

    T log Σ exp z − Σ t z − m log Σ_A exp z  =  −Σ t log q − m log Σ_A q,

its gradient T q − t − m r with r = q within A divided by its sum, and the diagonal of its second
derivative T q (1 − q) − m r (1 − r). Without open mass this is plain soft cross-entropy.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sfumato.labels.soft_rows import SoftRows

Scores = NDArray[np.float64]  # (rows, classes)

BLOCK = 2**20
"""Numbers that are worked on at a time: few enough to need little memory."""


def blocks(rows: int, classes: int) -> Iterator[slice]:
    """Consecutive parts of so many rows that a part has about ``BLOCK`` numbers."""
    size = max(1, BLOCK // classes)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def loss_and_gradient(scores: Scores, rows: SoftRows) -> tuple[float, Scores]:
    """The sum over rows of what they cost, each times its weight, and its derivative by scores.

    >>> from sfumato.labels.soft_rows import read_rows
    >>> value, slope = loss_and_gradient(np.zeros((1, 2)), read_rows([[0.75, 0.25]]))
    >>> round(value, 4), slope
    (0.6931, array([[-0.25,  0.25]]))
    """
    total = rows.total
    probs, log_sums = _softmax(scores)
    each = total * log_sums - np.einsum("ik,ik->i", rows.mass, scores)
    probs *= total[:, None]
    probs -= rows.mass
    if rows.open is not None and rows.open_mass is not None:
        each -= rows.open_mass * _log_sum(scores, rows.open)
        probs -= rows.open_mass[:, None] * within(scores, rows.open)
    probs *= rows.weight[:, None]
    return float(each @ rows.weight), probs


def diagonal_hessian(scores: Scores, rows: SoftRows) -> Scores:
    """The second derivative of ``loss`` by each score; negative in places where mass is open."""
    probs = softmax(scores)
    second: Scores = rows.total[:, None] * probs * (1 - probs)
    if rows.open is not None and rows.open_mass is not None:
        inside = within(scores, rows.open)
        second -= rows.open_mass[:, None] * inside * (1 - inside)
    return second * rows.weight[:, None]


def softmax(scores: Scores) -> Scores:
    """Probabilities of scores, row by row; made in one new array."""
    return _softmax(scores)[0]


def within(scores: Scores, allowed: NDArray[np.bool_]) -> Scores:
    """Probabilities among the allowed classes of each row; a row that allows none is zero."""
    logs = np.where(allowed, scores - _log_sum(scores, allowed)[:, None], -np.inf)
    return np.exp(logs)


def _log_sum(scores: Scores, allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """log Σ exp over the allowed classes; 0 where none is, which no mass is put on."""
    some = allowed.any(axis=1)
    sums = np.zeros(len(scores))
    sums[some] = logsumexp(np.where(allowed[some], scores[some], -np.inf), axis=1)
    return sums


def _softmax(scores: Scores) -> tuple[Scores, NDArray[np.float64]]:
    """Probabilities, and log Σ exp of each row."""
    top = scores.max(axis=1)
    probs = scores - top[:, None]
    np.exp(probs, out=probs)
    sums = probs.sum(axis=1)
    probs /= sums[:, None]
    return probs, top + np.log(sums)
