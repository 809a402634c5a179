"""Turn a task, prices and a pilot into advice: which form of answer to collect, and why (S1-37).

Estimates for every form come first; a pilot puts measured errors and times in place of assumed
ones; then simulated people who err as much, in worlds of the task's size, show how well each
form would recover what is true, and what that costs decides. With neither pilot nor prices
only the paper's rule of thumb is left (S1-38).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import least_squares

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
from sfumato.planning.information import FORMS, AskedForm, Options, information, regime
from sfumato.planning.pilot import PilotStudy
from sfumato.planning.weigh import (
    NOISES,
    Candidate,
    Choice,
    Draws,
    FormEvidence,
    Noise,
    Source,
    Spending,
    WeighingDraws,
    expect,
    expected_item_errors,
    people_grid,
    probabilities,
)
from sfumato.stats import percentile_interval

# Turn what is known about items into which of them to ask about first.
#
# Most of people's uncertainty sits in few items (in CIFAR-10H 30 % of the images carry 83 % of the
# entropy, S0-14), so what is dear is best spent there. But every class needs some items, too:
# how many, a learning curve says (S4-15).


def items_first(known: LabelSet, *, carries: float = 0.8, per_class: int = 0) -> pl.DataFrame:
    """All items in the order in which to ask about them, and why (S0-14, S4-15).

    ``known`` are cheap labels: a pilot's votes, or what a model believes. First come the most
    uncertain items until they hold the share ``carries`` of all entropy; then, of classes with
    fewer than ``per_class`` items among them, the most uncertain others; then the rest. Columns
    ``place`` (from 1), ``item``, ``class`` (the most probable), ``entropy``, ``carried`` (share of
    the entropy up to here), ``why`` ("uncertain", "class" or "rest").

    >>> known = LabelSet(("a", "b", "c"), ("cat", "dog"), [[0.9, 0.1], [0.5, 0.5], [0, 1]])
    >>> items_first(known)["item"].to_list()
    ['b', 'a', 'c']
    """
    if not 0 < carries <= 1:
        raise DataError(f"The share of uncertainty is {carries}; give a number above 0, up to 1.")
    if per_class < 0:
        raise DataError(f"{per_class} items a class were asked for; give 0 or more.")
    doubt, top = entropy(known), known.probs.argmax(axis=1)
    by_doubt = np.argsort(-doubt, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(doubt[by_doubt])[:-1]])
    total = float(doubt.sum())
    uncertain = (before < carries * total * (1 - 1e-12)) & (doubt[by_doubt] > 0)
    stage = np.full(len(known), 2)
    stage[by_doubt[uncertain]] = 0
    for name in range(len(known.classes)):
        mine = by_doubt[top[by_doubt] == name]
        short = per_class - int((stage[mine] == 0).sum())
        stage[mine[stage[mine] == 2][: max(short, 0)]] = 1
    order = by_doubt[np.argsort(stage[by_doubt], kind="stable")]
    return pl.DataFrame(
        {
            "place": np.arange(1, len(order) + 1),
            "item": [known.items[row] for row in order],
            "class": [known.classes[top[row]] for row in order],
            "entropy": doubt[order],
            "carried": np.cumsum(doubt[order]) / total if total else np.zeros(len(order)),
            "why": np.array(["uncertain", "class", "rest"])[stage[order]],
        }
    )


def needed_per_class(sizes: Sequence[float], scores: Sequence[float], *, target: float) -> int:
    """Items a class at which a learning curve reaches ``target`` (S4-15).

    The curve is a - b·m^(-c) through the scores (higher is better) at ``sizes`` items a class.

    >>> needed_per_class([10, 20, 40, 80], [0.7, 0.8, 0.85, 0.875], target=0.88)
    100
    """
    m, y = np.asarray(sizes, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if len(np.unique(m)) < 3 or m.shape != y.shape or (m <= 0).any():
        raise DataError(
            f"A learning curve needs scores at three numbers of items a class or more, all above "
            f"zero; found {len(m)} sizes and {len(y)} scores."
        )

    def off(shape: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b, c = shape
        return np.asarray(a - b * m**-c - y)

    start = (y.max() + 0.01, max(y.max() - y.min(), 1e-3) * m.min() ** 0.5, 0.5)
    bounds = ([-np.inf, 0, 1e-3], [np.inf, np.inf, 5])
    a, b, c = least_squares(off, start, bounds=bounds, xtol=1e-12, ftol=1e-12, gtol=1e-12).x
    if b <= 1e-9 or target >= a:
        raise DataError(
            f"The learning curve levels off at {a:.4g}, so {target:g} is never reached; choose a "
            "lower target."
        )
    return max(1, ceil(round((b / (a - target)) ** (1 / c), 3)))


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


def changes(choice: Choice) -> tuple[Change, ...]:
    """What would change the choice of its first form; forms are in order of preference.

    Mean losses decide. Nothing is reported where nothing in reach changes the choice.
    """
    found = [_weight(choice), _price(choice), _noise(choice), *_utilities(choice)]
    return tuple(change for change in found if change is not None)


def _mean_draws(choice: Choice) -> tuple[Array, Array, Array]:
    """Mean loss, ρ and cost of each form; the same draws whatever is changed."""
    drawn = choice.draw(np.random.default_rng(0))  # the same worlds before and after a change
    return drawn.loss.mean(axis=0), drawn.rho.mean(axis=0), drawn.cost.mean(axis=0)


def _other_best(choice: Choice) -> str | None:
    """The form of least mean loss, if that is not the first."""
    place = int(_mean_draws(choice)[0].argmin())
    return choice.forms[place].candidate.title if place else None


def _with_best(choice: Choice, best: FormEvidence) -> Choice:
    return replace(choice, forms=(best, *choice.forms[1:]))


def _weight(choice: Choice) -> Change | None:
    beta = choice.spending.beta
    if beta is None:
        return None
    _, rho, cost = _mean_draws(choice)
    crossings = [
        (break_even(float(rho[0]), float(rho[other]), cost_first=float(cost[0]),
                    cost_second=float(cost[other]), utility=choice.utility), other)
        for other in range(1, len(choice.forms)) if cost[other] != cost[0]
    ]  # fmt: skip
    crossings = [(at, other) for at, other in crossings if at > 0]
    if not crossings:
        return None
    at, other = min(crossings, key=lambda pair: abs(np.log(pair[0] / max(beta, 1e-300))))
    then = choice.forms[other].candidate.title
    side = "above" if cost[other] < cost[0] else "below"
    return Change(
        "weight of the cost", beta, at, then, f"With a weight of the cost (β) {side} {at:.2g} "
        f"(now {beta:.2g}), {then} would be better."
    )  # fmt: skip


def _price(choice: Choice) -> Change | None:
    best = choice.forms[0]
    for factor in sorted(FACTORS, key=lambda f: abs(np.log(f))):
        moved = replace(best, cost=_scaled(best.cost, factor))
        then = _other_best(_with_best(choice, moved))
        if then is not None:
            word = "dearer" if factor > 1 else "cheaper"
            return Change(
                f"cost of a {best.form} answer", best.cost.value, moved.cost.value, then,
                f"If a {best.form} answer were {word}, about {moved.cost.value:.3g} "
                f"{best.cost.unit} (now {best.cost.value:.3g}), {then} would be better."
            )  # fmt: skip
    return None


def _scaled(cost: Cost, factor: float) -> Cost:
    low, high = (None if end is None else end * factor for end in (cost.low, cost.high))
    return replace(cost, value=cost.value * factor, low=low, high=high)


def _noise(choice: Choice) -> Change | None:
    best = choice.forms[0]
    now = float(np.median(best.noise.draws))
    for noise in sorted(choice.simulation.noises, key=lambda value: abs(value - now)):
        draws = np.full(len(best.noise.draws), noise)
        moved = replace(best, noise=replace(best.noise, draws=draws))
        then = _other_best(_with_best(choice, moved))
        if then is not None:
            word = "noisier" if noise > now else "less noisy"
            return Change(
                f"noise of {best.form} answers", now, float(noise), then,
                f"If people were {word} in {best.form} answers (noise {noise:.2g} instead of "
                f"{now:.2g} spreads of an item's log-probabilities), {then} would be better."
            )  # fmt: skip
    return None


def _utilities(choice: Choice) -> list[Change]:
    if choice.spending.beta is None:  # at equal cost all rising utilities have nearly one order
        return []
    name, _ = utility_named(choice.utility)
    found = []
    for other in UTILITIES:
        then = _other_best(replace(choice, utility=other))
        if other != name and then is not None:
            sentence = f"With the utility {other!r} instead of {name!r}, {then} is better."
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
        AskedForm(self.items, self.classes)  # the checks of n and k
        for form in self.forms or ():
            find(FORMS, form, what="form of answer")
        for kept in self.kept:
            AskedForm(self.items, self.classes, kept=kept)
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
    criterion: Literal["weight", "budget", "rule of thumb", "only form"]
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


ALMOST_ALL = 0.9
"""An answer that names at least this share of the classes is called soft."""


def rule_of_thumb(items: int, classes: int) -> Advice:
    """Softer labels where data are small, harder ones where they are big, by degrees (S1-38).

    An answer names about k (k/n)² classes: all where there are no more items than classes, and
    then fewer and fewer, a single one where there are several items per class. One item more never
    changes much.

    >>> rule_of_thumb(20, 20).form, rule_of_thumb(21, 20).form, rule_of_thumb(5000, 10).form
    ('soft', 'soft', 'hard')
    >>> rule_of_thumb(40, 20).form, rule_of_thumb(40, 20).kept
    ('sparse', 5)
    """
    AskedForm(items, classes)
    where, named = regime(items, classes), round(min(classes**3 / items**2, classes))
    form = "soft" if named >= ALMOST_ALL * classes else "sparse" if named > 1 else "hard"
    kept = named if form == "sparse" else None
    how = {"many-shot": "more", "one-shot": "as many", "less-than-one-shot": "fewer"}[where]
    than = "as" if where == "one-shot" else "than"
    about = {"soft": "all classes", "sparse": f"{kept} classes", "hard": "one class"}[form]
    reason = (
        f"With {how} items {than} classes ({where}), answers about {about}: the more items per "
        "class, the fewer classes an answer needs to name. A rule of thumb, because neither prices "
        "nor a pilot say more."
    )
    return Advice(
        form, kept, 1, None, "rule of thumb", (), (reason,), (), sources={"form": "rule of thumb"}
    )


def only_form(form: str, kept: int | None) -> Advice:
    """What is said where a pilot has one form, and forms are not the question."""
    reason = f"Only {form} answers were piloted and priced, so no forms are weighed."
    return Advice(form, kept, 1, None, "only form", (), (reason,), (), sources={"form": "given"})


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
    task: Task, rows: Sequence[Alternative], choice: Choice, by_form: Mapping[str, PilotStudy]
) -> tuple[str, ...]:
    """The advice in sentences: the comparison, each form, the rule of thumb, the limits.

    ``rows`` and the forms of ``choice`` are in the same order, the best first.
    """
    return (
        _comparison(rows, choice),
        *(_about(row, form) for row, form in zip(rows, choice.forms, strict=True)),
        _thumb(task, rows[0]),
        _simulated(task, choice.simulation),
        *(_concentrated(by_form[rows[0].form]) if rows[0].form in by_form else ()),
        *other_items(tuple(by_form.values())),
    )


def _comparison(rows: Sequence[Alternative], choice: Choice) -> str:
    best, second = rows[0], rows[1]
    names = [form.candidate.title for form in choice.forms]
    if choice.spending.budget is not None:
        budget = best.people * choice.forms[0].cost.value
        of = [_people(row.people) for row in (best, second)]
        return (
            f"For {budget:.3g} {best.unit} per item, {names[0]} answers of {of[0]} recover "
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


def _about(row: Alternative, form: FormEvidence) -> str:
    cost = form.cost
    of = f", {cost.answers:,} answers of {cost.people:,} people" if cost.answers else ""
    error = (
        f"the error rate is assumed ({row.error_from})"
        if row.error is None
        else f"{row.error:.1%} of its comparisons are wrong ({row.error_source}: {row.error_from})"
    )
    if row.error_source == "given":
        error = f"{row.error:.1%} of its comparisons are wrong (given)"
    return (
        f"One answer of the form {form.candidate.title} costs {cost.value:.3g} {cost.unit} "
        f"({cost.source}{of}); {error}."
    )


def _thumb(task: Task, best: Alternative) -> str:
    thumb = rule_of_thumb(task.items, task.classes).form
    agrees = "agrees" if best.form == thumb else "would say " + thumb
    return (
        f"The rule of thumb for {task.items:,} items and {task.classes} classes "
        f"({regime(task.items, task.classes)}) {agrees}."
    )


def _simulated(task: Task, simulation: WeighingDraws) -> str:
    dims = sorted(set(simulation.dimensions))
    some = simulation.items
    fewer = f" {some} items stand for all {task.items:,}." if some < task.items else ""
    if not dims:
        return (
            f"ρ is that of a model's own answers with what it believes, in {len(simulation.rho)} "
            f"draws of {some} of its items: what a pupil could learn of it.{fewer}"
        )
    return (
        f"ρ is that of simulated people who err as much, in {len(simulation.rho)} simulated "
        f"worlds of {', '.join(map(str, dims))} dimensions.{fewer}"
    )


def _concentrated(piloted: PilotStudy) -> tuple[str, ...]:
    doubt = entropy(piloted.crowd.mean())
    if not doubt.any():
        return ()
    return (
        f"In the pilot the most uncertain 30 % of the items carry {concentration(doubt, 0.3):.0%} "
        "of the entropy: ask about such items first.",
    )


def other_items(pilots: Sequence[PilotStudy]) -> tuple[str, ...]:
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
        "shared items only.",
    )


# Turn a task, prices and a pilot into advice: which form of answer to collect, and why (S1-37).

Pair = tuple[str, int | None]
"""A form and its k̂."""

DIMENSIONS = (5, 25, 125)
"""Those of the paper, equally likely where the task's are not known."""

NOISE_ASSUMED = (0.2, 1.6)
"""Without a pilot people are this noisy, the same in every form, evenly on a logarithmic scale."""

WORTH_ANOTHER = 0.01
"""Unless a worth is given, another answer is worth it while it moves a hundredth of the mass."""


def advise(
    task: Task,
    *,
    pilots: Sequence[PilotStudy] = (),
    costs: Mapping[str, Cost] | None = None,
    errors: Mapping[str, float] | None = None,
    simulation: WeighingDraws | None = None,
    known: LabelSet | None = None,
    oracle: LabelSet | None = None,
    worth: float | None = None,
    draws: int = 2000,
    rng: np.random.Generator,
) -> Advice:
    """Which form to collect. A cost or error (ε) that is given goes before a measured one.

    ``simulation`` is one to use again. ``known`` are cheap labels of the items, for which to ask
    first; ``worth`` is what a unit of error an item is worth, for how many people to ask. An
    ``oracle`` is what a model believes of items: it answers, as it believes (S1-64).
    """
    costs, errors = costs or {}, errors or {}
    if oracle is not None:
        _check_oracle(task, oracle)
    asked = pilots or costs or errors or oracle is not None
    if not asked and task.beta is None and task.budget is None:
        return replace(rule_of_thumb(task.items, task.classes), first=_first(known))
    by_form = _by_form(pilots)
    prices = {
        (form, kept): _cost(task, form, kept, by_form=by_form, costs=costs)
        for form, kept in _candidates(task, by_form, costs)
    }
    _check_units(prices)
    spending = _spending(task, prices)
    if simulation is None:
        simulation = _simulate(task, prices, spending, oracle, rng)
    noises = _noises(task, list(prices), by_form, errors, simulation, draws, rng)
    forms = (
        FormEvidence(form, kept, cost, noise)
        for ((form, kept), cost), noise in zip(prices.items(), noises, strict=True)
    )
    choice = Choice(tuple(forms), simulation, task.items, spending, task.utility)
    return _advice(task, choice, by_form, first=_first(known), worth=worth, rng=rng)


def dimensions_of(task: Task) -> tuple[int, ...]:
    """The task's own number of dimensions, or the three that are equally likely."""
    return DIMENSIONS if task.dimensions is None else (task.dimensions,)


def _by_form(pilots: Sequence[PilotStudy]) -> dict[str, PilotStudy]:
    by_form = {each.form: each for each in pilots}
    if len(by_form) < len(pilots):
        raise DataError("Two pilots hold answers of the same form; hand over one of each.")
    return by_form


def _candidates(
    task: Task, by_form: Mapping[str, PilotStudy], costs: Mapping[str, Cost]
) -> list[Pair]:
    forms = task.forms or tuple(dict.fromkeys((*by_form, *costs))) or ("hard", "sparse", "soft")
    found: list[Pair] = []
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
    by_form: Mapping[str, PilotStudy],
    costs: Mapping[str, Cost],
) -> Cost:
    if form in costs:
        given = costs[form]
        if kept is None or given.kept is None or kept == given.kept:
            return given
        return replace(_scaled(given, kept / given.kept), kept=kept)  # S1-31
    if form not in by_form:
        return assumed_cost(form, classes=task.classes, kept=kept or 1)
    measured = by_form[form].cost
    if measured is None:
        raise DataError(
            f"The pilot's {form} answers have no times, so what they cost is not known; give a "
            "cost."
        )
    return measured


def _check_units(prices: Mapping[Pair, Cost]) -> None:
    (first, *_), units = prices.values(), {cost.unit for cost in prices.values()}
    if len(units) > 1:
        other = next(cost for cost in prices.values() if cost.unit != first.unit)
        raise DataError(
            f"A {first.form} answer costs {first.unit} and a {other.form} one {other.unit}; give "
            "all costs in one unit."
        )


def _spending(task: Task, prices: Mapping[Pair, Cost]) -> Spending:
    if task.beta is not None:
        return Spending(beta=task.beta, people=task.people, budget=task.budget)
    spending = Spending(budget="dearest" if task.budget is None else task.budget)
    least = min(prices.values(), key=lambda cost: cost.value)
    if not spending.people_for(np.array([cost.value for cost in prices.values()])).any():
        raise DataError(
            f"A budget of {task.budget:g} {least.unit} per item pays for no answer; the cheapest, "
            f"{least.form}, costs {least.value:g}."
        )
    return spending


def _check_oracle(task: Task, oracle: LabelSet) -> None:
    if len(oracle.classes) != task.classes:
        raise DataError(
            f"The model believes in {len(oracle.classes)} classes and the task has {task.classes}; "
            "give beliefs about the task's classes."
        )
    if len(oracle) < 3:
        raise DataError(f"The model believes something of {len(oracle)} items; give 3 or more.")


def _simulate(
    task: Task,
    prices: Mapping[Pair, Cost],
    spending: Spending,
    oracle: LabelSet | None,
    rng: np.random.Generator,
) -> WeighingDraws:
    """Worlds of the task's size, and every form with as many people as the spending may pay for."""
    grids = people_grid(list(prices.values()), spending)
    candidates = [
        Candidate(form, kept, people)
        for (form, kept), grid in zip(prices, grids, strict=True)
        for people in grid
    ]
    return expect(
        candidates, items=task.items, classes=task.classes, dimensions=dimensions_of(task),
        oracle=oracle, rng=rng,
    )  # fmt: skip


def _noises(
    task: Task,
    forms: Sequence[Pair],
    by_form: Mapping[str, PilotStudy],
    errors: Mapping[str, float],
    simulation: WeighingDraws,
    draws: int,
    rng: np.random.Generator,
) -> list[Noise]:
    """The noise of each form: given, measured, or assumed to be the same in all of them."""
    assumed = np.exp(rng.uniform(log(NOISE_ASSUMED[0]), log(NOISE_ASSUMED[1]), size=draws))
    found = []
    for form, kept in forms:
        candidate = Candidate(form, kept)
        first = min(place for _, place in simulation.places(candidate))
        curve = simulation.disagreed[first]
        if form in errors:
            noise = _noise_of_error(form, errors[form], curve, simulation.noises)
            found.append(Noise(np.full(draws, noise), "given", "given", errors[form]))
        elif form in by_form:
            piloted = by_form[form]
            rates = rng.choice(piloted.error.resampled, size=draws)
            grid: Array = simulation.noises
            if piloted.error.how == "ratings":
                asked = replace(candidate, people=max(1, round(piloted.people)))
                curve = expected_item_errors(
                    asked, items=piloted.error.items, classes=task.classes,
                    dimensions=dimensions_of(task), rng=rng,
                )  # fmt: skip
                grid = np.array(NOISES)
            how = _how_in_words(piloted)
            noisy = np.interp(rates, curve, grid)
            found.append(Noise(noisy, "measured", how, piloted.error.flipped))
        elif not simulation.dimensions:
            found.append(Noise(np.zeros(draws), "assumed", "a model answers as it believes", 0.0))
        else:
            how = "no pilot: the same noise in every form, little to much"
            found.append(Noise(assumed, "assumed", how))
    return found


def _noise_of_error(form: str, error: float, curve: Array, noises: Array) -> float:
    """The noise at which two people contradict one another as often as a given ε has it."""
    if not 0 <= error < 0.5:
        raise DataError(
            f"The error rate of {form} answers is {error:g}; give 0 or more, below 0.5."
        )
    return float(np.interp(2 * error * (1 - error), curve, noises))


def _how_in_words(piloted: PilotStudy) -> str:
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
    choice: Choice,
    by_form: Mapping[str, PilotStudy],
    *,
    first: tuple[str, ...],
    worth: float | None,
    rng: np.random.Generator,
) -> Advice:
    drawn = choice.draw(rng)
    chance = probabilities(drawn)
    order = np.argsort(-chance, kind="stable")
    people = choice.spending.people_for(np.array([form.cost.value for form in choice.forms]))
    rows = tuple(
        _alternative(choice.forms[at], drawn, at, float(chance[at]), float(people[at]))
        for at in order
    )
    ordered = replace(choice, forms=tuple(choice.forms[at] for at in order))
    best = rows[0]
    stop = None
    if best.form in by_form:
        price = ordered.forms[0].cost.value
        curve = expected_error(by_form[best.form].crowd, "total-variation", rng=rng)
        stop = enough(curve, price=price, worth=worth or price / WORTH_ANOTHER)
    rho = "simulated" if choice.simulation.dimensions else "a model's answers"
    return Advice(
        best.form,
        best.kept,
        best.people,
        best.probability,
        "weight" if choice.spending.beta is not None else "budget",
        rows,
        reasons(task, rows, ordered, by_form),
        changes(ordered),
        stop,
        first,
        _sources(task, rows, worth) | {"rho": rho},
    )


def _alternative(
    form: FormEvidence, drawn: Draws, at: int, chance: float, people: float
) -> Alternative:
    finite = np.isfinite(drawn.loss[:, at])
    lost = drawn.loss[finite, at] if finite.any() else np.array([np.inf])
    rho = drawn.rho[:, at]
    low, high = percentile_interval(lost)
    rho_low, rho_high = percentile_interval(rho)
    return Alternative(
        form.form,
        form.kept,
        people,
        chance,
        float(lost.mean()),
        float(low),
        float(high),
        float(rho.mean()),
        float(rho_low),
        float(rho_high),
        float(drawn.cost[:, at].mean()),
        form.cost.unit,
        form.cost.source,
        form.noise.flipped,
        form.noise.source,
        form.noise.how,
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
        "worth": "assumed" if worth is None else "given",
        **{f"cost of {row.form}": row.cost_source for row in rows},
        **{
            f"error of {row.form}": f"{row.error_source} ({row.error_from})"
            if row.error_source == "measured"
            else row.error_source
            for row in rows
        },
    }
