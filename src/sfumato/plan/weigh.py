"""Turn what is known of each form, with its uncertainty, into draws of its loss.

A draw is one way things may be: a world (the same for all forms), how noisy people are in
each form, what an answer costs. In each draw one form is best; how often it is, is the
probability that it is (as far as the simulation is right).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.plan.cost import Cost, Utility, loss, utility_named
from sfumato.plan.expected import Candidate, Expected

__all__ = ["Draws", "Known", "Source", "Spending", "draw", "people_grid", "probabilities"]

Array = NDArray[np.float64]

Source = Literal["given", "assumed", "measured"]

NORMAL_95 = 1.959963984540054

UNSURE_OF_ASSUMED = log(2) / 2
"""Assumed costs are taken to be right within a factor of two, up or down, nineteen times in
twenty: this standard deviation of their logarithm."""

MOST_PEOPLE = 200
"""More people an item than this are not simulated."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of one form with its k̂."""

    form: str
    kept: int | None
    cost: Cost
    noise: Array  # (draws,): see ``expected``
    flipped: float | None
    """ε of one answer; None where it is assumed."""
    source: Source
    """Of the noise."""
    how: str
    """What the noise comes from, in words."""

    @property
    def candidate(self) -> Candidate:
        """With one person an item."""
        return Candidate(self.form, self.kept)


@dataclass(frozen=True)
class Spending:
    """How cost enters: at a weight, or as a budget an item that every form may use up."""

    beta: float | None = None
    """What of u(ρ) is given up for a unit of cost (S1-33); then ``people`` are asked."""
    people: int = 1
    budget: float | Literal["dearest"] | None = None
    """What may be spent on an item, on average; then as many people as it pays for are asked.
    "dearest": what one answer of the dearest form costs, whatever that turns out to be."""

    def __post_init__(self) -> None:
        if (self.beta is None) == (self.budget is None):
            raise DataError("Give either a weight of the cost (β) or a budget an item, not both.")
        if self.beta is not None and not (np.isfinite(self.beta) and self.beta >= 0):
            raise DataError(f"The weight of the cost (β) is {self.beta:g}; give zero or more.")
        if isinstance(self.budget, float | int) and not 0 < self.budget < np.inf:
            raise DataError(f"The budget an item is {self.budget:g}; give a number above zero.")
        if self.people < 1:
            raise DataError(f"{self.people} people an item were planned; plan 1 or more.")

    def people_for(self, prices: Array) -> Array:
        """People an item on average, at prices an answer (…, forms); 0: the budget pays for none.

        >>> Spending(budget=10).people_for(np.array([4.0, 12.0]))
        array([2.5, 0. ])
        """
        if self.budget is None:
            return np.full(prices.shape, float(self.people))
        dearest = prices.max(axis=-1, keepdims=True)
        people = (dearest if self.budget == "dearest" else self.budget) / prices
        return np.where(people < 1 - 1e-9, 0.0, np.minimum(people, MOST_PEOPLE))


@dataclass(frozen=True, eq=False)
class Draws:
    """One column a known form, one row a draw."""

    rho: Array  # (draws, forms)
    cost: Array  # (draws, forms): of the whole collection
    loss: Array  # (draws, forms)


def people_grid(costs: Sequence[Cost], spending: Spending) -> list[tuple[int, ...]]:
    """For each cost the numbers of people to simulate: those of the plan, and around them."""
    value = np.array([cost.value for cost in costs])
    off = np.exp(NORMAL_95 * np.array([_spread(cost) for cost in costs]))
    tried = [spending.people_for(value)]
    if spending.budget is not None:
        for mine in range(len(costs)):
            for way in (-1, 1):
                moved = value * off**-way
                moved[mine] = value[mine] * off[mine] ** way
                tried.append(spending.people_for(moved))
    people = np.maximum(np.stack(tried), 1)
    least, most = np.floor(people.min(axis=0)), np.ceil(people.max(axis=0))
    middle = np.rint(np.sqrt(least * most))
    return [
        tuple(sorted({int(few), int(some), int(many)}))
        for few, some, many in zip(least, middle, most, strict=True)
    ]


def draw(
    known: Sequence[Known],
    expected: Expected,
    *,
    items: int,
    spending: Spending,
    utility: str | Utility = "linear",
    rng: np.random.Generator,
) -> Draws:
    """Correlation, cost and loss of every form in each draw."""
    draws = len(known[0].noise)
    world = rng.integers(len(expected.rho), size=draws)  # one for all forms
    unsure = np.array([_spread(each.cost) for each in known])
    value = np.array([each.cost.value for each in known])
    prices = value * np.exp(unsure * rng.standard_normal((draws, len(known))))
    people = spending.people_for(prices)
    rho = np.stack(
        [_rho(each, expected, world, people[:, at]) for at, each in enumerate(known)], axis=1
    )
    cost = items * prices * people
    if spending.beta is not None:
        return Draws(rho, cost, loss(rho, cost, beta=spending.beta, utility=utility))
    _, worth = utility_named(utility)
    affordable = cost > 0
    return Draws(rho, cost, np.where(affordable, -worth(rho), np.inf))


def probabilities(drawn: Draws) -> Array:
    """How often each form has the least loss, (forms,); never quite 0 or 1.

    Half a draw a form is added: what no draw shows may still be so.
    """
    n_draws, n_forms = drawn.loss.shape
    often = np.bincount(drawn.loss.argmin(axis=1), minlength=n_forms)
    return np.asarray((often + 0.5) / (n_draws + 0.5 * n_forms))


def rho_at(expected: Expected, which: int, world: NDArray[np.int64], noise: Array) -> Array:
    """ρ of a candidate in the given worlds, between simulated noises."""
    grid = expected.noises
    right = np.clip(np.searchsorted(grid, noise), 1, len(grid) - 1)
    share = np.clip((noise - grid[right - 1]) / (grid[right] - grid[right - 1]), 0, 1)
    table = expected.rho[:, which]
    return np.asarray((1 - share) * table[world, right - 1] + share * table[world, right])


def _rho(known: Known, expected: Expected, world: NDArray[np.int64], people: Array) -> Array:
    """ρ in each draw, between simulated noises and (on a logarithmic scale) numbers of people."""
    mine = [
        (candidate.people, place)
        for place, candidate in enumerate(expected.candidates)
        if (candidate.form, candidate.kept) == (known.form, known.kept)
    ]
    if not mine:
        raise DataError(
            f"Nothing was simulated about {known.candidate.title}; simulate it, or leave it out."
        )
    mine.sort()
    asked = np.log([many for many, _ in mine])
    curves = np.stack([rho_at(expected, place, world, known.noise) for _, place in mine], axis=1)
    wanted = np.clip(np.log(np.maximum(people, 1)), asked[0], asked[-1])
    right = np.clip(np.searchsorted(asked, wanted), min(1, len(mine) - 1), len(mine) - 1)
    left = np.maximum(right - 1, 0)
    gap = np.where(right > left, asked[right] - asked[left], 1.0)
    share = (wanted - asked[left]) / gap
    rows = np.arange(len(world))
    return np.asarray((1 - share) * curves[rows, left] + share * curves[rows, right])


def _spread(cost: Cost) -> float:
    """Standard deviation of the logarithm of a cost."""
    if cost.source == "assumed":
        return UNSURE_OF_ASSUMED
    if cost.low is None or cost.high is None or cost.low <= 0:
        return 0.0
    # People are few in a pilot; the percentile interval over them is too narrow by about this.
    few = np.sqrt(cost.people / (cost.people - 1)) if cost.people > 1 else 1.0
    return float(few * np.log(cost.high / cost.low) / (2 * NORMAL_95))
