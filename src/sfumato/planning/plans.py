"""A plan: what was asked and advised, what it takes forms to cost, and worlds of about its size.

Two things are simulated around a task. Labels without any error, as the paper draws them, over
numbers of items and classes around the task's own and over k̂ at the task itself. And the answers of
people who err as much as the advice takes them to, which is what a choice between forms has to go
by.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from math import exp, log, log2, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.frames import is_table
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments
from sfumato.labels.tables import read_pairs
from sfumato.labels.verbs import to_judgments, to_labels
from sfumato.names import find
from sfumato.planning.advise import (
    NOISE_ASSUMED,
    Advice,
    Pair,
    Task,
    advise,
    dimensions_of,
    only_form,
    plan_json,
)
from sfumato.planning.cost import WITH_ALL, WITH_KEPT, Cost, assumed_cost, given_costs
from sfumato.planning.embed import spearman
from sfumato.planning.grid import SCHEMA, grid_points, run_grid, simulate_point
from sfumato.planning.information import FORMS
from sfumato.planning.pilot import PilotStudy, of_shared_items, telling_classes, to_ratings
from sfumato.planning.pilot import pilot as measure_pilot
from sfumato.planning.power import (
    BETWEEN,
    Comparison,
    FormScores,
    PowerPlan,
    plan_power,
    score_answers,
)
from sfumato.planning.weigh import (
    MOST_ITEMS,
    NOISES,
    Candidate,
    contradictions,
    embed_answers,
    perceive,
    state_answers,
)
from sfumato.planning.worlds import PCA, Point, World, stream, world_at

DRAWN = ("hard", "soft", *WITH_KEPT)
"""The forms that the paper's figures compare, whatever was asked about."""

NUMBERS = ("soft", "typicality", *WITH_KEPT)
"""The forms in which people say how much, not only which."""

LEAST = 0.01
"""Noise below this counts as so much in a geometric mean, which a zero would undo."""

MOST_CLASSES = 60
"""So many classes are simulated at most, so that drawing a plan takes seconds and not minutes."""

SIZES = 4
"""Numbers of items, and of classes, on a map."""

SEEDS = 2
"""Worlds of each size and number of dimensions, for labels without error."""

WORLDS = 3
"""Worlds of each size, at least, for the answers of people who err."""

KEPT_SHOWN = 6
"""Values of k̂ on a curve."""

TYPICAL_NOISE = sqrt(NOISE_ASSUMED[0] * NOISE_ASSUMED[1])
"""The middle, on a logarithmic scale, of what the advice assumes where nothing was measured."""

Advance = Callable[[int, int], None]
"""Told how many of how many worlds are done."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What was asked about, and what was advised; ``advice.reasons`` say why in sentences."""

    task: Task
    advice: Advice
    pilots: tuple[PilotStudy, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    """Given ones, by form."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Given ones, by form."""
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    """Names of what was read to the SHA-256 of their content."""
    power: PowerPlan | None = None
    """How many items and people a comparison needs, where one was asked about."""
    telling: Mapping[str, float] = field(default_factory=dict)
    """Classes to ask about in a top-class form, by what the first pilot says that they tell of
    which items are alike, in nats, most first (S1-05); empty unless asked for."""

    @property
    def usual_kept(self) -> int:
        """The k̂ of forms that have one, where nothing else says so."""
        return self.task.kept[0] if self.task.kept else 2

    def to_json(self) -> dict[str, Any]:
        """What every form tells and the advice, as plain values."""
        told = {} if self.power is None else {"power": self.power.to_json()}
        told |= {"telling": dict(self.telling)} if self.telling else {}
        return plan_json(self.task, self.advice) | told

    def __repr__(self) -> str:
        kept = "" if self.advice.kept is None else f" with {self.advice.kept} classes per answer"
        sure = self.advice.probability
        told = "" if sure is None else f", probability {sure:.2f}"
        return (
            f"<Plan for {self.task.items:,} items and {self.task.classes:,} classes: collect "
            f"{self.advice.form} answers{kept}{told}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{escape(reason)}</li>" for reason in self.advice.reasons)
        return f"<p>{escape(repr(self)[1:-1])}</p><ul>{rows}</ul>"

    def error_rate(self, form: str) -> float | None:
        """ε of one answer where it was given or else measured."""
        measured = {pilot.form: pilot.error.flipped for pilot in self.pilots}
        return self.errors.get(form, measured.get(form))


def plan(
    items: int,
    classes: int,
    *,
    dimensions: int | None = None,
    forms: Sequence[str] | None = None,
    kept: Sequence[int] = (2,),
    cost: Mapping[str, float] | None = None,
    error: Mapping[str, float] | None = None,
    pilot: object = (),
    ratings: object = None,
    shared: bool = False,
    beta: float | None = None,
    budget: float | None = None,
    people: int = 1,
    utility: str = "linear",
    known: object = None,
    subset: int | None = None,
    oracle: object = None,
    effect: float | None = None,
    between: str = "items",
    outcome: str | None = None,
    new_people: bool = False,
    clusters: object = None,
    worth: Mapping[str, float] | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    seed: int = 0,
) -> Plan:
    """Which labels to collect for so many items and classes, at what cost.

    ``pilot`` are answers of a pilot, or a list of several, one form each: judgments, files or
    tables. ``cost`` are seconds of one answer by form, ``error`` shares of comparisons that an
    answer gets wrong. ``known`` are cheap labels of the items, to say which to ask about first.
    ``ratings`` are rated pairs of the pilot's items: errors are then measured by them, not by
    agreement. ``subset`` asks which so many classes tell most, to ask about the same ones always.
    ``oracle`` are a model's beliefs about items: it answers in place of simulated people.

    With the smallest ``effect`` that matters the plan also says how many items and people a
    comparison needs: of the share of answers ``outcome`` (or the mean answer) ``between`` two kinds
    of items or two groups of people. ``clusters`` names items that belong together, ``worth`` how
    many answers of the pilot's form one answer of another form is worth.

    >>> plan(items=30, classes=3, cost={"hard": 2, "soft": 30})
    <Plan for 30 items and 3 classes: collect ...>
    """
    task = Task(
        items, classes, dimensions, tuple(forms) if forms else None, tuple(kept), beta, budget,
        people, utility,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    rated = None if ratings is None else to_ratings(ratings)
    read = _read_pilots(pilot)
    chosen = of_shared_items(read) if shared else read
    measured = tuple(measure_pilot(one, ratings=rated, rng=rng) for one in chosen)
    prices = given_costs(cost or {}, kept=task.kept[0] if task.kept else 2)
    labels = None if known is None else to_labels(known)
    alone = effect is not None and not task.forms and {one.form for one in measured} >= {*prices}
    if alone and len(measured) == 1:
        advice = only_form(measured[0].form, measured[0].kept)
    else:
        advice = advise(
            task, pilots=measured, costs=prices, errors=error or {}, known=labels,
            oracle=None if oracle is None else to_labels(oracle), rng=rng,
        )  # fmt: skip
    steps = [step for one in (*read, labels) if one is not None for step in one.provenance]
    files = {name: content for step in steps for name, content in step.inputs.items()}
    needed = None
    if effect is not None:
        sides = find(BETWEEN, between, what="side to compare")
        comparison = Comparison(effect, sides, new_people, alpha, power)
        needed = _power(
            task, measured, prices, comparison, outcome, read_pairs(clusters, "item"), worth or {},
            np.random.default_rng([seed, 1]),
        )  # fmt: skip
    telling = {} if subset is None else _telling(task, measured, rated, subset, seed)
    return Plan(
        task, advice, measured, prices, error or {}, seed=seed, files=files, power=needed,
        telling=telling,
    )  # fmt: skip


def _read_pilots(pilot: object) -> list[Judgments]:
    several = isinstance(pilot, list | tuple) and not is_table(pilot)
    return [to_judgments(one) for one in (pilot if several else [pilot])]  # type: ignore[attr-defined]


def _telling(
    task: Task,
    pilots: Sequence[PilotStudy],
    ratings: Comparisons | None,
    subset: int,
    seed: int,
) -> dict[str, float]:
    """So many of the classes that tell most, by the first pilot."""
    if not pilots:
        raise DataError("Which classes tell most is told from a pilot only; give one.")
    if not 1 <= subset <= task.classes:
        raise DataError(f"{subset} classes were asked for; choose 1 to {task.classes}.")
    rng = np.random.default_rng([seed, 2])
    told = telling_classes(pilots[0].crowd.mean(), ratings, rng=rng)
    return dict(list(told.items())[:subset])


def _power(
    task: Task,
    pilots: Sequence[PilotStudy],
    prices: Mapping[str, Cost],
    comparison: Comparison,
    outcome: str | None,
    clusters: Mapping[str, str] | None,
    worth: Mapping[str, float],
    rng: np.random.Generator,
) -> PowerPlan:
    """Each form of the pilots, and those that are worth so many answers of the first."""
    if not pilots:
        raise DataError("How many items and people a comparison needs is told from a pilot only.")
    forms: list[FormScores] = []
    for one in pilots:
        scores, told = score_answers(one.crowd, outcome, clusters)
        cost = prices.get(one.form) or one.cost
        price, unit = (None, "") if cost is None else (cost.value, cost.unit)
        forms.append(FormScores(one.form, scores.draw(rng), price, unit))
    for form, rate in worth.items():
        find(FORMS, form, what="form of answer")
        if not rate > 0:
            raise DataError(f"One {form} answer is said to be worth {rate:g}; give more than 0.")
        cost = prices.get(form)
        price, unit = (None, "") if cost is None else (cost.value, cost.unit)
        forms.append(FormScores(form, forms[0].variances.per_answer(rate), price, unit))
    return plan_power(forms, comparison, outcome=told, most_items=task.items)


@dataclass(frozen=True)
class Sizes:
    """Numbers of items and classes to draw, the simulated ones of the task itself among them."""

    items: tuple[int, ...]
    classes: tuple[int, ...]
    n: int
    """Simulated items that stand for the task's own; fewer where the task has very many."""
    k: int


def best_two(plan: Plan) -> tuple[Pair, Pair]:
    """The advised form, and the best of the others: two forms to hold against each other."""
    advice = plan.advice
    first = (advice.form, advice.kept)
    others = [each for each in advice.alternatives if each.form != advice.form]
    if others:
        return first, (others[0].form, others[0].kept)
    return first, ("soft" if advice.form == "hard" else "hard", None)


def answer_costs(plan: Plan) -> dict[str, Cost]:
    """The cost of an answer of every form to be drawn, given, measured or assumed.

    An assumed cost is the paper's, so much a number in the answer (S1-31), at the least price of a
    number among known forms: those that ask for numbers, if it does too and there are any.
    """
    classes, kept = plan.task.classes, plan.usual_kept
    known = {each.form: each.cost for each in plan.pilots if each.cost is not None}
    known |= plan.costs
    forms = dict.fromkeys([*DRAWN, *(each.form for each in plan.advice.alternatives), *known])
    plain = {form: assumed_cost(form, classes=classes, kept=kept) for form in forms}
    if not known:
        return plain
    unit = next(iter(known.values())).unit
    a_number = {
        form: cost.value / assumed_cost(form, classes=classes, kept=cost.kept or kept).value
        for form, cost in known.items()
    }
    found = {
        form: known.get(form)
        or replace(cost, value=cost.value * min(_alike(form, a_number)), unit=unit)
        for form, cost in plain.items()
    }
    return {
        form: replace(cost, classes=classes) if form in WITH_ALL else cost
        for form, cost in found.items()
    }


def noise_by_form(plan: Plan, sizes: Sizes) -> dict[str, float]:
    """How noisy people are taken to be in each form, in spreads of an item's log-probabilities.

    Where an error rate is known, the noise at which simulated people contradict one another as
    often; elsewhere the geometric mean of the known ones (those of forms that ask for numbers, if
    it does too and there are any), or what the advice assumes.
    """
    kept = {each.form: each.kept for each in plan.advice.alternatives}
    forms = tuple(dict.fromkeys((*DRAWN, *kept)))
    known: dict[str, float] = {}
    for form in forms:
        if (error := plan.error_rate(form)) is not None:
            asked = (kept.get(form) or plan.usual_kept) if form in WITH_KEPT else None
            differ = 2 * error * (1 - error)  # of two answers that err on their own
            dims = dimensions_of(plan.task)
            known[form] = noise_at(form, asked, differ, sizes=sizes, dimensions=dims)
    return {form: known[form] if form in known else _usual_noise(form, known) for form in forms}


def _usual_noise(form: str, known: Mapping[str, float]) -> float:
    if not known:
        return TYPICAL_NOISE
    return exp(float(np.mean([log(max(noise, LEAST)) for noise in _alike(form, known)])))


def _alike(form: str, known: Mapping[str, float]) -> list[float]:
    """What is known of forms that ask for numbers, if this one does too and there are any."""
    alike = [value for other, value in known.items() if other in NUMBERS and form in NUMBERS]
    return alike or list(known.values())


def sizes_around(own: int, *, most: int, many: int = SIZES, least: int = 3) -> tuple[int, ...]:
    """``many`` numbers about a factor of two apart, ``own`` (or ``most``) and its nearest.

    >>> sizes_around(10, most=60), sizes_around(1000, most=60), sizes_around(3, most=60)
    ((3, 5, 10, 20), (8, 15, 30, 60), (3, 6, 12, 24))
    """
    middle = min(own, most)
    tried = {int(middle * 2.0**step + 0.5) for step in range(-9, 10)}
    inside = [size for size in tried if least <= size <= most]
    near = sorted(inside, key=lambda size: (abs(log2(size / middle)), -size))
    return tuple(sorted(near[:many]))


def sizes_of(task: Task) -> Sizes:
    """The sizes to simulate for a task: its own, capped, and those around it."""
    return Sizes(
        sizes_around(task.items, most=MOST_ITEMS),
        sizes_around(task.classes, most=MOST_CLASSES),
        min(task.items, MOST_ITEMS),
        min(task.classes, MOST_CLASSES),
    )


def stands_for(task: Task, sizes: Sizes) -> str:
    """A sentence, with a space before it, where fewer were simulated than the task has."""
    fewer = [
        f"{few} simulated {what} stand for the task's {own:,}"
        for few, own, what in (
            (sizes.n, task.items, "items"),
            (sizes.k, task.classes, "classes"),
        )
        if few < own
    ]
    return f" {' and '.join(fewer)}." if fewer else ""


def kept_shown(classes: int) -> list[int]:
    """k̂ from 1 to k, evenly on a logarithmic scale.

    >>> kept_shown(10), kept_shown(3)
    ([1, 2, 3, 4, 6, 10], [1, 2, 3])
    """
    return sorted({int(size + 0.5) for size in np.geomspace(1, classes, KEPT_SHOWN)})


def right_labels(
    sizes: Sizes, dimensions: Sequence[int], *, seed: int, advance: Advance
) -> pl.DataFrame:
    """Hard and soft labels over all sizes, and every form over k̂ at the task, without error."""
    maps = grid_points(items=sizes.items, classes=sizes.classes, dimensions=dimensions, seeds=SEEDS)
    curves = grid_points(
        items=[sizes.n],
        classes=[sizes.k],
        dimensions=dimensions,
        seeds=SEEDS,
        forms=("hard", "soft", "sparse", "top-class", PCA),
        kept=kept_shown(sizes.k),
    )
    others = [point for point in maps if (point.items, point.classes) != (sizes.n, sizes.k)]
    points = [replace(point, seed=seed + point.seed) for point in (*curves, *others)]

    def counted(_: object, points: Sequence[Point]) -> Iterable[dict[str, object]]:
        for done, point in enumerate(points):
            yield simulate_point(point)
            advance(done + 1, len(points))

    return run_grid(points, run=counted)


def answers_at(
    candidates: Sequence[Candidate],
    *,
    items: Sequence[int],
    classes: Sequence[int],
    dimensions: Sequence[int],
    noise: Mapping[str, float],
    seed: int,
    advance: Advance,
) -> pl.DataFrame:
    """ρ of the answers of simulated people who err, in the columns of ``grid.run_grid``.

    ``noise`` is by form, in spreads of an item's log-probabilities (see ``weigh``). At sizes
    beyond what is simulated the largest ones stand in. A k̂ above k is left out. Worlds of all
    dimensions are put together, as equally likely, and counted as seeds of the first of them.
    """
    rows: list[tuple[object, ...]] = []
    cells = [(n, k) for n in items for k in classes]
    found: dict[tuple[int, int, Candidate], list[float]] = {}
    for done, (n, k) in enumerate(cells):
        few = min(n, MOST_ITEMS), min(k, MOST_CLASSES)
        points = _worlds(*few, dimensions, seed)
        for each in candidates:
            if (each.kept or 1) > few[1]:
                continue
            if (*few, each) not in found:
                found[*few, each] = [_recovered(point, each, noise[each.form]) for point in points]
            for world, rho in enumerate(found[*few, each]):
                task = (each.form, each.kept, n, k, dimensions[0], 0.0, 1.0)
                rows.append((*task, seed + world, rho, None, None))
        advance(done + 1, len(cells))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def noise_at(
    form: str, kept: int | None, contradicted: float, *, sizes: Sizes, dimensions: Sequence[int]
) -> float:
    """The noise at which two simulated people contradict one another in such a share of pairs."""
    points = _worlds(sizes.n, sizes.k, dimensions, 0)
    shares = np.zeros(len(NOISES))
    for point in points:
        logits, rng = _logits(world_at(point)), stream(point, "channel")
        for at, noise in enumerate(NOISES):
            said = state_answers(perceive(logits, noise, people=2, rng=rng), form, kept)
            both, against = contradictions(said[0], said[1])
            shares[at] += against.sum() / max(both.sum(), 1) / len(points)
    rising = np.maximum.accumulate(shares) + 1e-9 * np.arange(len(shares))
    return float(np.interp(contradicted, rising, NOISES))


def _worlds(items: int, classes: int, dimensions: Sequence[int], seed: int) -> list[Point]:
    """At least three worlds, the dimensions in turn."""
    many = -(-WORLDS // len(dimensions))
    return [Point(items, classes, d, seed + more, ()) for d in dimensions for more in range(many)]


def _logits(world: World) -> Array:
    return np.asarray(np.log(np.maximum(world.soft.probs, 1e-300)))


def _recovered(point: Point, asked: Candidate, noise: float) -> float:
    world = world_at(point)
    logits, truth = _logits(world), world.similarity
    if asked.form == "top-class":  # which stand first is what ``stated`` takes to be asked about
        n = len(world.items)
        order = np.concatenate([np.arange(n), n + world.telling])
        logits, truth = logits[:, world.telling], truth[np.ix_(order, order)]
    rng = stream(point, "channel")
    said = state_answers(
        perceive(logits, noise, people=asked.people, rng=rng), asked.form, asked.kept
    )
    gram = embed_answers(said, rng=stream(point, "fit"))
    return float(np.nan_to_num(spearman(gram, truth), nan=0.0))
