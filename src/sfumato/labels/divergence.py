"""Turn two arrays of probability rows into one distance a row.

These work on bare arrays, so that label sets (``compare``) and single judgments
(``agreement``) share one definition. Everything logarithmic is in nats.
"""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

__all__ = [
    "Divergence",
    "divergence_rows",
    "jensen_shannon_rows",
    "kl_rows",
    "total_variation_rows",
]

Rows = NDArray[np.float64]

Divergence = Literal["jensen-shannon", "total-variation"]
"""The bounded, symmetric distances: at most log 2 and at most 1."""


def divergence_rows(first: Rows, second: Rows, divergence: Divergence) -> NDArray[np.float64]:
    """The distance of the given name, row by row."""
    match divergence:
        case "jensen-shannon":
            return jensen_shannon_rows(first, second)
        case "total-variation":
            return total_variation_rows(first, second)
        case _:
            assert_never(divergence)


def total_variation_rows(first: Rows, second: Rows) -> NDArray[np.float64]:
    """Half the sum of absolute differences: the mass that lies elsewhere.

    >>> total_variation_rows(np.array([[0.7, 0.3]]), np.array([[0.5, 0.5]])).round(3)
    array([0.2])
    """
    return np.abs(first - second).sum(axis=-1) / 2


def kl_rows(first: Rows, second: Rows) -> NDArray[np.float64]:
    """Σ p log(p/q); infinite where the second excludes what the first allows.

    >>> kl_rows(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.6931,    inf])
    """
    return np.maximum(rel_entr(first, second).sum(axis=-1), 0)  # rounding may end below zero


def jensen_shannon_rows(first: Rows, second: Rows) -> NDArray[np.float64]:
    """Mean Kullback–Leibler divergence to the midpoint; the divergence, not its square root.

    >>> jensen_shannon_rows(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])).round(4)  # log 2
    array([0.6931])
    """
    middle = (first + second) / 2
    return (kl_rows(first, middle) + kl_rows(second, middle)) / 2
