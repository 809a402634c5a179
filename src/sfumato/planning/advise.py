"""Turn a task, prices and a pilot into advice: which form of answer to collect, and why (S1-37).

Estimates for every form come first; a pilot puts measured errors and times in place of assumed
ones; then simulated people who err as much, in worlds of the task's size, show how well each
form would recover what is true, and what that costs decides. With neither pilot nor prices
only the paper's rule of thumb is left (S1-38).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import concentration, entropy
from sfumato.names import find
from sfumato.planning.annotators import Enough, enough, expected_error
from sfumato.planning.cost import (
    UTILITIES,
    WITH_KEPT,
    Cost,
    assumed_cost,
    break_even,
    utility_named,
)
from sfumato.planning.information import FORMS, Asked, Options, information, regime
from sfumato.planning.order import items_first
from sfumato.planning.pilot import Piloted
from sfumato.planning.weigh import (
    NOISES,
    Candidate,
    Draws,
    Expected,
    Known,
    Source,
    Spending,
    draw,
    expect,
    expected_item_errors,
    people_grid,
    probabilities,
)
from sfumato.stats import percentile_interval

# Turn draws into what would change the advice: another weight, price, noise or utility.

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


# What advice is asked about and what it says: the task, the alternatives, the recommendation.


@dataclass(frozen=True)
class Task:
    """What is to be labelled, and what matters."""

    items: int
    classes: int
    dimensions: int | None = None
    """Of the space behind it; left out: 5, 25 and 125 are equally likely."""
    forms: tuple[str, ...] | None = None
    """To choose among; left out: those of the pilot, or of the prices, or hard, sparse and soft."""
    kept: tuple[int, ...] = (2,)
    """k̂ to consider for sparse and top-class answers, besides the pilot's own."""
    beta: float | None = None
    """What of u(ρ) a unit of cost is worth (S1-33)."""
    budget: float | None = None
    """Or: what may be spent on an item. Left out like β: a single answer of the dearest form."""
    people: int = 1
    """An item, where β is given; a budget sets it by itself."""
    utility: str = "linear"

    def __post_init__(self) -> None:
        Asked(self.items, self.classes)  # the checks of n and k
        for form in self.forms or ():
            find(FORMS, form, what="form of answer")
        for kept in self.kept:
            Asked(self.items, self.classes, kept=kept)
        if self.dimensions is not None and self.dimensions < 1:
            raise DataError(f"The space has {self.dimensions} dimensions; give 1 or more.")
        utility_named(self.utility)


@dataclass(frozen=True)
class Alternative:
    """One form that could be collected; intervals hold 95 % of the draws."""

    form: str
    kept: int | None
    people: float
    """An item, on average; 0 where the budget pays for no answer."""
    probability: float
    """That it is the best of the alternatives."""
    loss: float
    low: float
    high: float
    rho: float
    rho_low: float
    rho_high: float
    cost: float
    """Of the whole collection."""
    unit: str
    cost_source: Source
    error: float | None
    """ε, the share of comparisons that one answer gets wrong; None where it is assumed."""
    error_source: Source
    error_from: str


@dataclass(frozen=True)
class Advice:
    """Which form to collect, how sure that is, and what it rests on."""

    form: str
    kept: int | None
    people: float
    """An item, as planned or as the budget allows on average."""
    probability: float | None
    """That no other form is better; None for a rule of thumb."""
    criterion: Literal["weight", "budget", "rule of thumb"]
    alternatives: tuple[Alternative, ...]
    """Most probable first."""
    reasons: tuple[str, ...]
    changes: tuple[Change, ...]
    """What would change the advice."""
    enough: Enough | None = None
    """People an item from which another answer is worth less than it costs; needs a pilot."""
    first: tuple[str, ...] = ()
    """Items to begin with; needs labels of the items, cheap ones or a model's."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each number is from: given, assumed, measured, simulated."""

    def to_json(self) -> dict[str, Any]:
        """A dict ready for ``json.dumps``."""
        plain: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("form", "kept", "people", "probability", "criterion")
        }
        stop = self.enough
        return {
            **plain,
            "alternatives": [_plain(each.__dict__) for each in self.alternatives],
            "reasons": list(self.reasons),
            "changes": [_plain(each.__dict__) for each in self.changes],
            "enough": None if stop is None else _plain(stop.__dict__),
            "first": list(self.first),
            "sources": dict(self.sources),
        }


def rule_of_thumb(items: int, classes: int) -> Advice:
    """Softer labels where data are small, harder ones where they are big (S1-38).

    >>> rule_of_thumb(20, 20).form, rule_of_thumb(5000, 10).form
    ('soft', 'hard')
    """
    Asked(items, classes)
    where = regime(items, classes)
    form = "hard" if where == "many-shot" else "soft"
    how = {"many-shot": "more", "one-shot": "as many", "less-than-one-shot": "fewer"}[where]
    than = "as" if where == "one-shot" else "than"
    reason = (
        f"With {how} items {than} classes ({where}) {'harder' if form == 'hard' else 'softer'} "
        "labels are preferable: a rule of thumb, because neither prices nor a pilot say more."
    )
    return Advice(
        form, None, 1, None, "rule of thumb", (), (reason,), (), sources={"form": "rule of thumb"}
    )


def plan_json(task: Task, advice: Advice) -> dict[str, Any]:
    """What ``sfumato plan --json`` prints: what every form tells, and the advice."""
    told = {}
    kept = task.kept[0] if task.kept else 2
    for form in FORMS:
        options = Options(kept=kept) if form in WITH_KEPT else Options()
        each = information(form, items=task.items, classes=task.classes, **options)
        told[form] = {"constraints": each.constraints, "ratio": float(each.ratio)}
    return {"information": told, "advice": advice.to_json()}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers that JSON knows: what is not finite is null."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in values.items()
    }


# Turn weighed alternatives into sentences that say why.


def reasons(
    task: Task,
    rows: Sequence[Alternative],
    told: Sequence[Known],
    spending: Spending,
    expected: Expected,
    by_form: Mapping[str, Piloted],
) -> tuple[str, ...]:
    """The advice in sentences: the comparison, each form, the rule of thumb, the limits."""
    return (
        _comparison(rows, told, spending),
        *(_about(row, known) for row, known in zip(rows, told, strict=True)),
        _thumb(task, rows[0]),
        _simulated(task, expected),
        *(_concentrated(by_form[rows[0].form]) if rows[0].form in by_form else ()),
        *other_items(tuple(by_form.values())),
    )


def _comparison(rows: Sequence[Alternative], told: Sequence[Known], spending: Spending) -> str:
    best, second = rows[0], rows[1]
    names = [known.candidate.title for known in told]
    if spending.budget is not None:
        budget = best.people * told[0].cost.value
        of = [_people(row.people) for row in (best, second)]
        return (
            f"For {budget:.3g} {best.unit} an item, {names[0]} answers of {of[0]} recover "
            f"similarities with ρ = {best.rho:.2f}, {names[1]} answers of {of[1]} with "
            f"{second.rho if second.people else 0:.2f}."
        )
    return (
        f"{names[0].capitalize()} answers recover similarities with ρ = {best.rho:.2f} for "
        f"{best.cost:,.0f} {best.unit} (loss {best.loss:.3f}), {names[1]} answers with "
        f"{second.rho:.2f} for {second.cost:,.0f} (loss {second.loss:.3f})."
    )


def _people(many: float) -> str:
    if not many:
        return "nobody"
    return "1 person" if many == 1 else f"{many:.3g} people"


def _about(row: Alternative, known: Known) -> str:
    cost = known.cost
    of = f", {cost.answers:,} answers of {cost.people:,} people" if cost.answers else ""
    error = (
        f"the error rate is assumed ({row.error_from})"
        if row.error is None
        else f"{row.error:.1%} of its comparisons are wrong ({row.error_source}: {row.error_from})"
    )
    if row.error_source == "given":
        error = f"{row.error:.1%} of its comparisons are wrong (given)"
    return (
        f"One answer of the form {known.candidate.title} costs {cost.value:.3g} {cost.unit} "
        f"({cost.source}{of}); {error}."
    )


def _thumb(task: Task, best: Alternative) -> str:
    thumb = rule_of_thumb(task.items, task.classes).form
    agrees = "agrees" if best.form == thumb else "would say " + thumb
    return (
        f"The rule of thumb for {task.items:,} items and {task.classes} classes "
        f"({regime(task.items, task.classes)}) {agrees}."
    )


def _simulated(task: Task, expected: Expected) -> str:
    dims = sorted(set(expected.dimensions))
    fewer = f" {expected.items} items stand for all {task.items:,}." * (expected.items < task.items)
    return (
        f"ρ is that of simulated people who err as much, in {len(expected.rho)} simulated "
        f"worlds of {', '.join(map(str, dims))} dimensions.{fewer}"
    )


def _concentrated(piloted: Piloted) -> tuple[str, ...]:
    doubt = entropy(piloted.crowd.mean())
    if not doubt.any():
        return ()
    return (
        f"In the pilot the most uncertain 30 % of the items carry {concentration(doubt, 0.3):.0%} "
        "of the entropy: ask about such items first.",
    )


def other_items(pilots: Sequence[Piloted]) -> tuple[str, ...]:
    """A caution where pilots of two forms are not about the same items."""
    asked = [set(each.crowd.items) for each in pilots]
    if len(asked) < 2 or all(items == asked[0] for items in asked):
        return ()
    each = ", ".join(
        f"{len(items):,} ({piloted.form})" for items, piloted in zip(asked, pilots, strict=True)
    )
    return (
        f"The pilots are about different items: {each}, {len(set.intersection(*asked)):,} of them "
        "shared. Harder items make the people of one form look noisier; compare forms on the "
        "same items (--shared).",
    )


# Turn a task, prices and a pilot into advice: which form of answer to collect, and why (S1-37).

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
    low, high = percentile_interval(lost)
    rho_low, rho_high = percentile_interval(rho)
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
