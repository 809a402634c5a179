"""Turn stated probabilities into a Beta distribution, by its first two moments."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

__all__ = ["ENDPOINT", "LARGEST", "Beta", "fit_beta"]

ENDPOINT = 0.001
"""How far inside 0 and 1 a stated 0 or 1 is taken to lie.

People say 100 % again and again; a Beta has no mass at exactly 1. Moved inside, values of
any kind have the moments of some Beta, even when all of them are 0 or 1.
"""

LARGEST = 1e6
"""The largest a + b: so narrow a Beta stands for people who all say the same."""


@dataclass(frozen=True)
class Beta:
    """A distribution over probabilities, with mean a / (a + b).

    >>> round(Beta(1.71, 0.33).mean, 3)
    0.838
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (0 < self.a < np.inf and 0 < self.b < np.inf):
            raise DataError(
                f"The parameters of a Beta distribution are positive numbers, not "
                f"{self.a} and {self.b}."
            )

    @property
    def mean(self) -> float:
        """a / (a + b)."""
        return self.a / (self.a + self.b)

    def draw(self, count: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """``count`` independent probabilities."""
        return rng.beta(self.a, self.b, count)


def fit_beta(values: NDArray[np.float64]) -> Beta:
    """The Beta with the mean m and variance v of the values: a + b = m(1 − m)/v − 1.

    Values at 0 and 1 are first moved inside by ``ENDPOINT``.

    >>> fitted = fit_beta(np.array([0.5, 0.7, 0.9]))  # m = 0.7, v = 0.08/3
    >>> round(fitted.a, 4), round(fitted.b, 4)
    (4.8125, 2.0625)
    """
    if not len(values):
        raise DataError("A Beta distribution cannot be fitted to no values at all.")
    inside = np.clip(values, ENDPOINT, 1 - ENDPOINT)
    mean, variance = float(inside.mean()), float(inside.var())
    size = min(mean * (1 - mean) / max(variance, 1 / LARGEST**2) - 1, LARGEST)
    return Beta(mean * size, (1 - mean) * size)
