"""Recipes for "most probable, second most probable, definitely not": what silence means.

``consistent``, the default, holds four things: a chosen class cannot be impossible, a
class said to be 0 % gets 0, a class chosen twice is chosen once, with the first number, and
a first choice without a number states too little (its row is NaN). ``released`` follows the
published CIFAR-10S label file, quirks included; it agrees with that file to the last bit
that matters (1e-12). ``docs/label.md`` lists where and why the two differ.
"""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.judgments.question import Statements

Rule = Literal["consistent", "released"]

FULL = 1 - 1e-9
"""Stated mass counts as 100 % from here on: 0.7 + 0.2 + 0.1 is a hair below one."""


def top1_uniform(stated: Statements, *, rule: Rule) -> NDArray[np.float64]:
    """The first choice's mass; what is left equally over all other classes (S2-16)."""
    return _uniform(stated, _masses(stated, count=1, rule=rule), rule)


def top2_uniform(stated: Statements, *, rule: Rule) -> NDArray[np.float64]:
    """Both choices' masses; what is left equally over all other classes (S2-16)."""
    return _uniform(stated, _masses(stated, count=2, rule=rule), rule)


def top1_clamp(stated: Statements, *, gamma: float, rule: Rule) -> NDArray[np.float64]:
    """The first choice's mass; what is left over the classes not ruled out (S2-17, S2-18)."""
    return _clamp(stated, _masses(stated, count=1, rule=rule), gamma, rule)


def top2_clamp(stated: Statements, *, gamma: float, rule: Rule) -> NDArray[np.float64]:
    """Both choices' masses; what is left over the classes not ruled out (S2-17, S2-18).

    With m the stated mass and n open classes (neither stated nor ruled out):
    an open class gets (1 - m) / n; if m ≥ 1, stated masses are scaled to 1 - γ and an open
    class gets γ / n (S2-18). Without open classes the stated masses are divided by m (S2-19).
    """
    return _clamp(stated, _masses(stated, count=2, rule=rule), gamma, rule)


def top1_semantic(stated: Statements, *, similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first choice's mass; the rest in proportion to similarity with it (S2-20)."""
    return _semantic(stated, _masses(stated, count=1, rule="consistent"), similarity)


def top2_semantic(stated: Statements, *, similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both choices' masses; the rest in proportion to similarity with the first (S2-20)."""
    return _semantic(stated, _masses(stated, count=2, rule="consistent"), similarity)


def top2_stated(stated: Statements) -> NDArray[np.float64]:
    """Both choices' masses divided by their sum; nothing for classes that were not chosen.

    No paper proposes it, but it is what the training code released with CIFAR-10S makes of
    every answer, whatever way to share out the rest it is told to use (C1).
    """
    said = np.nan_to_num(_masses(stated, count=2, rule="consistent"), nan=0.0)
    rows = _spread(said, np.zeros_like(said), gamma=0.0, chosen=stated.rank == 1)
    return _without_numberless(stated, rows, "consistent")


def select_top2(stated: Statements) -> NDArray[np.float64]:
    """Half the mass on each of the two chosen classes, all on one if there is no second (S3-08)."""
    chosen = ((stated.rank == 1) | (stated.rank == 2)).astype(np.float64)
    return chosen / chosen.sum(axis=1, keepdims=True)


def _masses(stated: Statements, *, count: int, rule: Rule) -> NDArray[np.float64]:
    """Masses of the first ``count`` choices, NaN elsewhere.

    ``released`` lets the mass typed for the second choice overwrite the first one's when both
    are the same class, and takes a missing number for 0.
    """
    named = (stated.rank > 0) & (stated.rank <= count)
    mass = np.where(named, stated.mass, np.nan)
    match rule:
        case "consistent":
            return mass
        case "released":
            mass = np.where(named, np.nan_to_num(mass, nan=0.0), np.nan)
            if count == 2:
                twice = stated.oddities["same-class-twice"]
                again = np.nan_to_num(stated.said_again, nan=0.0)[:, None]
                mass = np.where((stated.rank == 1) & twice[:, None], again, mass)
            return mass
        case _:
            assert_never(rule)


def _uniform(stated: Statements, mass: NDArray[np.float64], rule: Rule) -> NDArray[np.float64]:
    said = np.nan_to_num(mass, nan=0.0)
    match rule:
        case "consistent":
            other = np.isnan(mass)
        case "released":
            other = said == 0
        case _:
            assert_never(rule)
    rows = _spread(said, _share_out(other, other.sum(axis=1)), gamma=0.0, chosen=stated.rank == 1)
    return _without_numberless(stated, rows, rule)


def _clamp(
    stated: Statements, mass: NDArray[np.float64], gamma: float, rule: Rule
) -> NDArray[np.float64]:
    said = np.nan_to_num(mass, nan=0.0)
    chosen = stated.rank > 0
    match rule:
        case "consistent":
            open_to = np.isnan(mass) & ~(stated.ruled_out & ~chosen)
            divisor = open_to.sum(axis=1)
        case "released":
            # Counts a class that is both chosen and ruled out twice, and takes 0 % for unsaid.
            open_to = (said == 0) & ~stated.ruled_out
            divisor = said.shape[1] - stated.ruled_out.sum(axis=1) - (said > 0).sum(axis=1)
        case _:
            assert_never(rule)
    rows = _spread(said, _share_out(open_to, divisor), gamma=gamma, chosen=chosen)
    return _without_numberless(stated, rows, rule)


def _semantic(
    stated: Statements, mass: NDArray[np.float64], similarity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Left-over mass to the unsaid classes by max(0, similarity with the first choice).

    An opposite meaning counts as none, for a share cannot be negative. A row of inf says that
    mass is left for unsaid classes, but none of them has any similarity: the caller's error.
    """
    said = np.nan_to_num(mass, nan=0.0)
    first = (stated.rank == 1).argmax(axis=1)
    weight = np.clip(similarity[first], 0, None) * np.isnan(mass)  # (answers, classes)
    total = weight.sum(axis=1, keepdims=True)
    share = np.divide(weight, total, where=total > 0, out=np.zeros_like(weight))
    rows = _spread(said, share, gamma=0.0, chosen=stated.rank > 0)
    left = said.sum(axis=1, keepdims=True) < FULL
    rows = np.where(left & (total <= 0) & np.isnan(mass).any(axis=1, keepdims=True), np.inf, rows)
    return _without_numberless(stated, rows, "consistent")


def _share_out(open_to: NDArray[np.bool_], divisor: NDArray[np.integer]) -> NDArray[np.float64]:
    """What one unit of left-over mass gives each class; zeros where nothing is open."""
    some = (divisor > 0)[:, None]
    return np.divide(open_to, divisor[:, None], where=some, out=np.zeros(open_to.shape))


def _spread(
    said: NDArray[np.float64],
    share: NDArray[np.float64],
    *,
    gamma: float,
    chosen: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Stated masses plus left-over mass by ``share``, each row summing to one."""
    total = said.sum(axis=1, keepdims=True)
    full = total >= FULL
    is_open = share.any(axis=1, keepdims=True)
    kept = np.where(full & is_open, 1 - gamma, 1.0)
    scaled = np.divide(said, total, where=full, out=said.copy()) * kept
    left = np.where(full, gamma, 1 - total)
    rows = scaled + left * share
    # Nothing stated and nothing open: the choice itself is all there is.
    rows = np.where(rows.any(axis=1, keepdims=True), rows, chosen)
    return rows / rows.sum(axis=1, keepdims=True)


def _without_numberless(
    stated: Statements, rows: NDArray[np.float64], rule: Rule
) -> NDArray[np.float64]:
    """Under ``consistent``, NaN for answers whose first choice has no usable number."""
    match rule:
        case "consistent":
            numberless = ((stated.rank == 1) & np.isnan(stated.mass)).any(axis=1)
            return np.where(numberless[:, None], np.nan, rows)
        case "released":
            return rows
        case _:
            assert_never(rule)
