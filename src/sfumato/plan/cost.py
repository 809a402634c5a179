"""Turn prices into what answers cost, and costs and correlations into a loss.

A cost is that of one answer by one person about one item, in any unit: seconds, money, or
hard labels, as the paper counts (S1-31). A label of M people costs M times as much (S2-39).
The loss of a form of answer is L = β·c - u(ρ) (S1-33): c is what the whole collection costs,
u what a correlation ρ of recovered and true similarities is worth, β how much of that one
gives up for a unit of cost. With the paper's costs a hard label is the unit, so c is n for
hard and n·k for soft labels. The information ratio may stand in for ρ.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from sfumato.errors import DataError
from sfumato.names import find
from sfumato.plan.information import FORMS, Asked

__all__ = [
    "UTILITIES",
    "Cost",
    "Utility",
    "assumed_cost",
    "assumed_costs",
    "break_even",
    "given_costs",
    "loss",
    "total_cost",
    "utility_named",
]

Utility = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""What correlations are worth; only differences count, so any constant may be added."""

CLIP = 0.01
"""The inverse sigmoid is endless at 0 and 1; correlations are kept this far from both."""


WITH_KEPT = ("sparse", "top-class")
"""The forms of answer that have a k̂."""


@dataclass(frozen=True)
class Cost:
    """What one answer of a form costs, and how that is known."""

    form: str
    value: float
    unit: str = "seconds"
    low: float | None = None
    high: float | None = None
    """95 % interval over people; None where the cost was not measured on several."""
    kept: int | None = None
    """The k̂ of the answer that costs this much; other k̂ then cost in proportion (S1-31)."""
    answers: int = 0
    people: int = 0
    source: Literal["given", "assumed", "measured"] = "given"

    def __post_init__(self) -> None:
        find(FORMS, self.form, what="form of answer")
        if not (isfinite(self.value) and self.value > 0):
            raise DataError(
                f"An answer of the form {self.form!r} costs {self.value:g} {self.unit}; give a "
                "cost above zero."
            )


def given_costs(
    prices: Mapping[str, float], *, unit: str = "seconds", kept: int | None = None
) -> dict[str, Cost]:
    """Costs as somebody states them; each must be above zero.

    ``kept`` is the k̂ that the prices of sparse and top-class answers are for.

    >>> given_costs({"hard": 1.8, "sparse": 32})["sparse"].value
    32.0
    """
    return {
        form: Cost(form, float(price), unit, kept=kept if form in WITH_KEPT else None)
        for form, price in prices.items()
    }


def assumed_cost(form: str, *, classes: int, kept: int = 2, each: float = 1.0) -> Cost:
    """The paper's assumption: an answer costs as much as the numbers or choices in it (S1-31).

    One for a hard label, a typicality, a pair or a triplet, k for soft labels and yes/no/unsure,
    k̂ for sparse and top-class ones, each times ``each``.

    >>> assumed_cost("soft", classes=20).value, assumed_cost("sparse", classes=20, kept=3).value
    (20.0, 3.0)
    """
    find(FORMS, form, what="form of answer")
    inputs = {"soft": classes, "yes-no-unsure": classes, "sparse": kept, "top-class": kept}
    at = kept if form in WITH_KEPT else None
    return Cost(form, inputs.get(form, 1) * each, "hard labels", kept=at, source="assumed")


def assumed_costs(*, classes: int, kept: int = 2, each: float = 1.0) -> dict[str, Cost]:
    """``assumed_cost`` of every form."""
    return {form: assumed_cost(form, classes=classes, kept=kept, each=each) for form in FORMS}


def total_cost(cost: Cost, *, items: int, people: int = 1, answers: int | None = None) -> float:
    """What a whole collection costs: cost · answers · M (S1-31, S2-39).

    Labels need one answer an item; ratings of pairs n(n-1)/2 and triplets 3·C(n, 3), or as many
    as ``answers`` says.

    >>> total_cost(Cost("sparse", 32), items=1000, people=6)
    192000.0
    """
    Asked(items, classes=3)  # the check of the number of items
    if people < 1:
        raise DataError(f"{people} people an item were planned; plan 1 or more.")
    match cost.form:
        case "pairs":
            needed = comb(items, 2)
        case "triplets":
            needed = 3 * comb(items, 3)
        case _:
            needed = items
    return float(cost.value * (needed if answers is None else answers) * people)


def linear(rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """u(ρ) = ρ."""
    return np.asarray(rho, dtype=np.float64)


def sigmoid(rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """u(ρ) = 1/(1 + exp(-ρ))."""
    return np.asarray(expit(rho), dtype=np.float64)


def inverse_sigmoid(rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """u(ρ) = log(ρ/(1-ρ)), with ρ kept between 0.01 and 0.99: the last per cent are dear."""
    return np.asarray(logit(np.clip(rho, CLIP, 1 - CLIP)), dtype=np.float64)


UTILITIES: dict[str, Utility] = {
    "linear": linear,
    "sigmoid": sigmoid,
    "inverse-sigmoid": inverse_sigmoid,
}
"""What a correlation is worth (S1-32); the paper's scale b is part of β."""


def loss(
    rho: float | NDArray[np.float64],
    cost: float | NDArray[np.float64],
    *,
    beta: float,
    utility: str | Utility = "linear",
) -> NDArray[np.float64]:
    """L = β·c - u(ρ); the less the better (S1-33).

    >>> loss(0.9, 1600, beta=1e-4).round(3), loss(0.3, 80, beta=1e-4).round(3)
    (np.float64(-0.74), np.float64(-0.292))
    """
    if not (np.isfinite(beta) and beta >= 0):
        raise DataError(f"The weight of the cost (β) is {beta:g}; give zero or more.")
    _, worth = utility_named(utility)
    return beta * np.asarray(cost, dtype=np.float64) - worth(np.asarray(rho, dtype=np.float64))


def break_even(
    rho_first: float,
    rho_second: float,
    *,
    cost_first: float,
    cost_second: float,
    utility: str | Utility = "linear",
) -> float:
    """The β at which two forms are equally good: (u(ρ₁) - u(ρ₂)) / (c₁ - c₂).

    Below it the dearer form is better, above it the cheaper one. Zero or less: the dearer form
    never is. Not defined for equal costs.

    >>> round(break_even(0.9, 0.3, cost_first=1600, cost_second=80), 6)  # soft and hard, n=80, k=20
    0.000395
    """
    if cost_first == cost_second:
        raise DataError(f"Both cost {cost_first:g}, so no weight of the cost decides between them.")
    _, worth = utility_named(utility)
    gain = worth(np.array([rho_first])) - worth(np.array([rho_second]))
    return float(gain[0] / (cost_first - cost_second))


def utility_named(utility: str | Utility) -> tuple[str, Utility]:
    """The name and the function of a utility: one of ``UTILITIES``, or one's own."""
    if isinstance(utility, str):
        return utility, find(UTILITIES, utility, what="utility")
    return getattr(utility, "__name__", "own"), utility
