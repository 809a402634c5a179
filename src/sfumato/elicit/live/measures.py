"""The functions that turn answers into labels, as the dashboard is given them.

This room knows nothing of labels: whoever makes the dashboard hands in functions of plain arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reading:
    """What distinct answers say."""

    probs: Array  # (answers, outcomes); a row of NaN where an answer states too little
    choice: Codes  # (answers,) the outcome put first; -1: none, or several


@dataclass(frozen=True)
class Agreed:
    """One measure of how far people agree, with its interval."""

    name: str
    value: float
    low: float
    high: float
    n: int
    """How many items it was computed from."""


@dataclass(frozen=True)
class Told:
    """How much one answer about each item tells."""

    constraints: int
    """Triplet constraints that it fixes if nobody errs."""
    contradicted: float
    """The share of comparisons in which two people contradict each other."""
    bits: float
    """What is left of the constraints after so much contradiction."""


@dataclass(frozen=True)
class Measures:
    """From answers to distributions, and what is asked of these."""

    outcomes: tuple[str, ...]
    """What the columns of a distribution stand for: the classes, or the sides of a comparison."""
    read: Callable[[Sequence[str]], Reading]
    """Distinct answers, as JSON, to what they say."""
    change: Callable[[Codes, Array, int], Array]
    """``change(item, probs, items)``: how far one more person is expected to move the distribution
    of each item, as total variation; NaN where nobody answered."""
    intervals: Callable[[Codes, Codes, Array, int], tuple[Array, Array]]
    """``intervals(item, person, probs, items)``: both ends of each probability, (items, outcomes);
    NaN where nobody answered."""
    enough: Callable[[Array, Codes, float], Array]
    """``enough(change, answers, threshold)``: with how many answers each item will have converged,
    if people go on to differ as they do; NaN where nobody answered."""
    told: Callable[[Codes, Codes, Array, int], Told | None]
    """``told(item, person, probs, items)``: what an answer about each of so many items tells; None
    where that cannot be said, or not yet."""
    agreement: Callable[[Codes, Codes, Array], Sequence[Agreed]]
    """``agreement(item, person, probs)``; empty where no two people answered about one item."""
