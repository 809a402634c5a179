"""Turn a task, prices and a pilot into advice: which form of answer to collect, and why (S1-37).

Estimates for every form come first; a pilot puts measured errors and times in place of assumed
ones; then simulated people who err as much, in worlds of the task's size, show how well each
form would recover what is true, and what that costs decides. With neither pilot nor prices
only the paper's rule of thumb is left (S1-38).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.plan.advice import Advice, Alternative, Task, plan_json, rule_of_thumb
from sfumato.plan.annotators import enough, expected_error
from sfumato.plan.changes import changes
from sfumato.plan.cost import WITH_KEPT, Cost, assumed_cost
from sfumato.plan.expected import (
    NOISES,
    Candidate,
    Expected,
    expect,
    expected_item_errors,
)
from sfumato.plan.order import items_first
from sfumato.plan.pilot import Piloted
from sfumato.plan.reasons import reasons
from sfumato.plan.weigh import Draws, Known, Spending, draw, people_grid, probabilities

__all__ = ["Advice", "Alternative", "Task", "advise", "plan_json", "rule_of_thumb"]

Array = NDArray[np.float64]

DIMENSIONS = (5, 25, 125)
"""Those of the paper, equally likely where the task's are not known."""

NOISE_ASSUMED = (0.2, 1.6)
"""Without a pilot people are this noisy, the same in every form, evenly on a logarithmic scale."""

WORTH_ANOTHER = 0.01
"""Unless a worth is given, another answer is worth it while it moves a hundredth of the mass."""


def advise(
    task: Task,
    *,
    pilots: Sequence[Piloted] = (),
    costs: Mapping[str, Cost] | None = None,
    errors: Mapping[str, float] | None = None,
    expected: Expected | None = None,
    known: LabelSet | None = None,
    worth: float | None = None,
    draws: int = 2000,
    rng: np.random.Generator,
) -> Advice:
    """Which form to collect. A cost or error (ε) that is given goes before a measured one.

    ``expected`` is a simulation to use again. ``known`` are cheap labels of the items, for which
    to ask first; ``worth`` is what a unit of error an item is worth, for how many people to ask.
    """
    costs, errors = costs or {}, errors or {}
    if not (pilots or costs or errors) and task.beta is None and task.budget is None:
        return replace(rule_of_thumb(task.items, task.classes), first=_first(known))
    by_form = _by_form(pilots)
    forms = _candidates(task, by_form, costs)
    prices = {pair: _cost(task, *pair, by_form=by_form, costs=costs) for pair in forms}
    _check_units(prices)
    spending = _spending(task, prices)
    blank = [Known(*pair, prices[pair], np.zeros(draws), None, "assumed", "") for pair in forms]
    dims = DIMENSIONS if task.dimensions is None else (task.dimensions,)
    if expected is None:
        grids = people_grid([each.cost for each in blank], spending)
        asked = [
            Candidate(k.form, k.kept, m) for k, grid in zip(blank, grids, strict=True) for m in grid
        ]
        expected = expect(asked, items=task.items, classes=task.classes, dimensions=dims, rng=rng)
    assumed = np.exp(rng.uniform(log(NOISE_ASSUMED[0]), log(NOISE_ASSUMED[1]), size=draws))
    told = [
        _told(each, by_form.get(each.form), errors, expected, assumed, task, dims, rng)
        for each in blank
    ]
    drawn = draw(told, expected, items=task.items, spending=spending, utility=task.utility, rng=rng)
    return _advice(task, told, drawn, spending, expected, by_form, known, worth, rng)


def _by_form(pilots: Sequence[Piloted]) -> dict[str, Piloted]:
    by_form = {each.form: each for each in pilots}
    if len(by_form) < len(pilots):
        raise DataError("Two pilots hold answers of the same form; hand over one of each.")
    return by_form


def _candidates(
    task: Task, by_form: Mapping[str, Piloted], costs: Mapping[str, Cost]
) -> list[tuple[str, int | None]]:
    forms = task.forms or tuple(by_form) or tuple(costs) or ("hard", "sparse", "soft")
    found: list[tuple[str, int | None]] = []
    for form in forms:
        if by_form and form not in by_form and form not in costs:
            raise DataError(
                f"The pilot holds no answers of the form {form!r}; collect some, give its cost, or "
                "leave the form out."
            )
        if form not in WITH_KEPT:
            found.append((form, None))
            continue
        own = by_form[form].kept if form in by_form else None
        if form in by_form:  # what was not piloted at this k̂ is not known well enough
            found.append((form, own))
        else:
            found += [(form, kept) for kept in task.kept]
    if len(found) < 2:
        raise DataError(
            f"Only {found[0][0]!r} is to be weighed; advice needs two forms to choose between."
        )
    return found


def _cost(
    task: Task,
    form: str,
    kept: int | None,
    *,
    by_form: Mapping[str, Piloted],
    costs: Mapping[str, Cost],
) -> Cost:
    if form in costs:
        given = costs[form]
        if kept is None or given.kept is None or kept == given.kept:
            return given
        share = kept / given.kept  # S1-31
        ends = [None if end is None else end * share for end in (given.low, given.high)]
        return replace(given, value=given.value * share, low=ends[0], high=ends[1], kept=kept)
    if form not in by_form:
        return assumed_cost(form, classes=task.classes, kept=kept or 1)
    measured = by_form[form].cost
    if measured is None:
        raise DataError(
            f"The pilot's {form} answers have no times, so what they cost is not known; give a "
            "cost."
        )
    return measured


def _check_units(prices: Mapping[tuple[str, int | None], Cost]) -> None:
    (first, *_), units = prices.values(), {cost.unit for cost in prices.values()}
    if len(units) > 1:
        other = next(cost for cost in prices.values() if cost.unit != first.unit)
        raise DataError(
            f"A {first.form} answer costs {first.unit} and a {other.form} one {other.unit}; give "
            "all costs in one unit."
        )


def _spending(task: Task, prices: Mapping[tuple[str, int | None], Cost]) -> Spending:
    if task.beta is not None:
        return Spending(beta=task.beta, people=task.people, budget=task.budget)
    spending = Spending(budget="dearest" if task.budget is None else task.budget)
    least = min(prices.values(), key=lambda cost: cost.value)
    if not spending.people_for(np.array([cost.value for cost in prices.values()])).any():
        raise DataError(
            f"A budget of {task.budget:g} {least.unit} an item pays for no answer; the cheapest, "
            f"{least.form}, costs {least.value:g}."
        )
    return spending


def _told(
    blank: Known,
    piloted: Piloted | None,
    errors: Mapping[str, float],
    expected: Expected,
    assumed: Array,
    task: Task,
    dims: Sequence[int],
    rng: np.random.Generator,
) -> Known:
    """The form with its noise: given, measured, or assumed."""
    place = next(
        (
            i
            for i, c in enumerate(expected.candidates)
            if (c.form, c.kept) == (blank.form, blank.kept)
        ),
        None,
    )
    if place is None:
        raise DataError(f"Nothing was simulated about {blank.candidate.title}; simulate it.")
    curve = expected.disagreed[place]
    if blank.form in errors:
        given = errors[blank.form]
        if not 0 <= given < 0.5:
            raise DataError(
                f"The error rate of {blank.form} answers is {given:g}; give 0 or more, below 0.5."
            )
        noise = np.interp(2 * given * (1 - given), curve, expected.noises)
        return replace(
            blank, noise=np.full(len(assumed), noise), flipped=given, source="given", how="given"
        )
    if piloted is None:
        how = "no pilot: the same noise in every form, little to much"
        return replace(blank, noise=assumed, how=how)
    error = piloted.error
    rates = rng.choice(error.resampled, size=len(assumed))
    if error.how == "ratings":
        asked = Candidate(blank.form, blank.kept, max(1, round(piloted.people)))
        curve = expected_item_errors(
            asked, items=error.items, classes=task.classes, dimensions=dims, rng=rng
        )
        noise = np.interp(rates, curve, NOISES)
    else:
        noise = np.interp(rates, curve, expected.noises)
    return replace(
        blank, noise=noise, flipped=error.flipped, source="measured", how=_how_in_words(piloted)
    )


def _how_in_words(piloted: Piloted) -> str:
    error = piloted.error
    match error.how:
        case "ratings":
            return f"similarity ratings of {error.items:,} items"
        case "agreement":
            return f"agreement between people on {error.items:,} items"
        case "repeats":
            return f"repeats of {error.items:,} people"


def _advice(
    task: Task,
    told: Sequence[Known],
    drawn: Draws,
    spending: Spending,
    expected: Expected,
    by_form: Mapping[str, Piloted],
    known: LabelSet | None,
    worth: float | None,
    rng: np.random.Generator,
) -> Advice:
    chance = probabilities(drawn)
    order = np.argsort(-chance, kind="stable")
    planned = spending.people_for(np.array([each.cost.value for each in told]))
    rows = tuple(
        _alternative(told[at], drawn, at, float(chance[at]), float(planned[at])) for at in order
    )
    best = rows[0]
    stop = None
    if best.form in by_form:
        price = told[order[0]].cost.value
        curve = expected_error(by_form[best.form].crowd, "total-variation", rng=rng)
        stop = enough(curve, price=price, worth=worth or price / WORTH_ANOTHER)
    return Advice(
        best.form,
        best.kept,
        best.people,
        best.probability,
        "weight" if spending.beta is not None else "budget",
        rows,
        reasons(task, rows, [told[at] for at in order], spending, expected, by_form),
        changes([told[at] for at in order], expected, task.items, spending, task.utility),
        stop,
        _first(known),
        _sources(task, rows, worth),
    )


def _alternative(known: Known, drawn: Draws, at: int, chance: float, people: float) -> Alternative:
    finite = np.isfinite(drawn.loss[:, at])
    lost = drawn.loss[finite, at] if finite.any() else np.array([np.inf])
    rho = drawn.rho[:, at]
    low, high = np.percentile(lost, [2.5, 97.5])
    rho_low, rho_high = np.percentile(rho, [2.5, 97.5])
    return Alternative(
        known.form,
        known.kept,
        people,
        chance,
        float(lost.mean()),
        float(low),
        float(high),
        float(rho.mean()),
        float(rho_low),
        float(rho_high),
        float(drawn.cost[:, at].mean()),
        known.cost.unit,
        known.cost.source,
        known.flipped,
        known.source,
        known.how,
    )


def _first(known: LabelSet | None) -> tuple[str, ...]:
    if known is None:
        return ()
    order = items_first(known)
    return tuple(order.filter(order["why"] == "uncertain")["item"])


def _sources(task: Task, rows: Sequence[Alternative], worth: float | None) -> dict[str, str]:
    spent = "given" if task.beta is not None or task.budget is not None else "assumed"
    return {
        "budget" if task.beta is None else "beta": spent,
        "dimensions": "assumed" if task.dimensions is None else "given",
        "rho": "simulated",
        "worth": "assumed" if worth is None else "given",
        **{f"cost of {row.form}": row.cost_source for row in rows},
        **{
            f"error of {row.form}": f"{row.error_source} ({row.error_from})"
            if row.error_source == "measured"
            else row.error_source
            for row in rows
        },
    }
