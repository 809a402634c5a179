"""Turn draws into what would change the advice: another weight, price, noise or utility."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.plan.cost import UTILITIES, break_even, utility_named
from sfumato.plan.expected import Expected
from sfumato.plan.weigh import Known, Spending, draw

__all__ = ["Change", "changes"]

Array = NDArray[np.float64]

FACTORS = (0.1, 0.2, 0.33, 0.5, 0.67, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Prices are tried at these multiples of what they are."""


@dataclass(frozen=True)
class Change:
    """Something that, if it were otherwise, would make another form the best."""

    what: str
    now: float
    at: float
    """The value from which on ``then`` is better."""
    then: str
    """The form that is best there."""
    sentence: str


def changes(
    known: Sequence[Known], expected: Expected, items: int, spending: Spending, utility: str
) -> tuple[Change, ...]:
    """What would change the choice of ``known[0]``; ``known`` is in order of preference.

    Mean losses decide. Nothing is reported where nothing in reach changes the choice.
    """
    found = [
        _weight(known, expected, items, spending, utility),
        _price(known, expected, items, spending, utility),
        _noise(known, expected, items, spending, utility),
        *_utilities(known, expected, items, spending, utility),
    ]
    return tuple(change for change in found if change is not None)


def _means(
    known: Sequence[Known], expected: Expected, items: int, spending: Spending, utility: str
) -> tuple[Array, Array, Array]:
    """Mean loss, ρ and cost of each form; the same draws whatever is changed."""
    drawn = draw(
        known, expected, items=items, spending=spending, utility=utility,
        rng=np.random.default_rng(0),  # the same worlds before and after a change
    )  # fmt: skip
    return drawn.loss.mean(axis=0), drawn.rho.mean(axis=0), drawn.cost.mean(axis=0)


def _weight(
    known: Sequence[Known], expected: Expected, items: int, spending: Spending, utility: str
) -> Change | None:
    if spending.beta is None:
        return None
    _, rho, cost = _means(known, expected, items, spending, utility)
    crossings = [
        (break_even(float(rho[0]), float(rho[other]), cost_first=float(cost[0]),
                    cost_second=float(cost[other]), utility=utility), other)
        for other in range(1, len(known)) if cost[other] != cost[0]
    ]  # fmt: skip
    crossings = [(at, other) for at, other in crossings if at > 0]
    if not crossings:
        return None
    beta = spending.beta
    at, other = min(crossings, key=lambda pair: abs(np.log(pair[0] / max(beta, 1e-300))))
    then = known[other].candidate.title
    side = "above" if cost[other] < cost[0] else "below"
    return Change(
        "weight of the cost", beta, at, then, f"With a weight of the cost (β) {side} {at:.2g} "
        f"(now {beta:.2g}), {then} would be better."
    )  # fmt: skip


def _price(
    known: Sequence[Known], expected: Expected, items: int, spending: Spending, utility: str
) -> Change | None:
    best = known[0]
    for factor in sorted(FACTORS, key=lambda f: abs(np.log(f))):
        value = best.cost.value * factor
        ends = [None if e is None else e * factor for e in (best.cost.low, best.cost.high)]
        moved = replace(best, cost=replace(best.cost, value=value, low=ends[0], high=ends[1]))
        lost, _, _ = _means([moved, *known[1:]], expected, items, spending, utility)
        if (other := int(lost.argmin())) != 0:
            then = known[other].candidate.title
            word = "dearer" if factor > 1 else "cheaper"
            return Change(
                f"cost of a {best.form} answer", best.cost.value, value, then,
                f"If a {best.form} answer were {word}, about {value:.3g} {best.cost.unit} "
                f"(now {best.cost.value:.3g}), {then} would be better."
            )  # fmt: skip
    return None


def _noise(
    known: Sequence[Known], expected: Expected, items: int, spending: Spending, utility: str
) -> Change | None:
    best, now = known[0], float(np.median(known[0].noise))
    for noise in sorted(expected.noises, key=lambda value: abs(value - now)):
        moved = replace(best, noise=np.full(len(best.noise), noise))
        lost, _, _ = _means([moved, *known[1:]], expected, items, spending, utility)
        if (other := int(lost.argmin())) != 0:
            then = known[other].candidate.title
            word = "noisier" if noise > now else "less noisy"
            return Change(
                f"noise of {best.form} answers", now, float(noise), then,
                f"If people were {word} in {best.form} answers (noise {noise:.2g} instead of "
                f"{now:.2g} spreads of an item's log-probabilities), {then} would be better."
            )  # fmt: skip
    return None


def _utilities(
    known: Sequence[Known], expected: Expected, items: int, spending: Spending, utility: str
) -> list[Change]:
    if spending.beta is None:  # at equal cost every rising utility has nearly the same order
        return []
    name, _ = utility_named(utility)
    found = []
    for other_name in UTILITIES:
        lost, _, _ = _means(known, expected, items, spending, other_name)
        if other_name != name and (other := int(lost.argmin())) != 0:
            then = known[other].candidate.title
            sentence = f"With the utility {other_name!r} instead of {name!r}, {then} is better."
            found.append(Change("utility", float("nan"), float("nan"), then, sentence))
    return found
