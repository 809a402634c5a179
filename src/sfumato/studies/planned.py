"""Turn a plan into a folder: the advice as JSON, a page that explains it, and figures for the task.

The page has the answer first, then what it rests on. Its figures are those of paper 2 for the
task's own numbers (S1-F1, F2, F3, F6), and error against the number of people.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.planning.advise import Advice, Alternative, Pair, Task, dimensions_of, plan_json
from sfumato.planning.advise import other_items as different_items
from sfumato.planning.annotators import expected_error
from sfumato.planning.cost import UTILITIES, WITH_KEPT, Cost, break_even, total_cost
from sfumato.planning.grid import component_curves, recovered_means
from sfumato.planning.information import noisy, regime
from sfumato.planning.pilot import PilotStudy
from sfumato.planning.plans import (
    Advance,
    Plan,
    Sizes,
    answer_costs,
    answers_at,
    best_two,
    kept_shown,
    noise_by_form,
    right_labels,
    sizes_around,
    sizes_of,
    stands_for,
)
from sfumato.planning.power import PowerPlan
from sfumato.planning.weigh import Candidate
from sfumato.planning.worlds import Point
from sfumato.reporting.draw import Basis, Drawing, save
from sfumato.reporting.figures import against_annotators, grid_maps
from sfumato.reporting.figures.scores import mark_cell
from sfumato.reporting.figures.worlds import (
    dimension_maps,
    information_maps,
    kept_figure,
    loss_figure,
    pca_curves,
    preference_maps,
    rho_maps,
)
from sfumato.reporting.page import (
    Bar,
    Block,
    Chart,
    Lead,
    Origin,
    Page,
    Section,
    Table,
    Text,
    write,
)
from sfumato.reporting.text import Finding, count

PACKAGES = ("sfumato", "numpy", "scipy", "polars")
FIRST_SHOWN = 30
"""Items to begin with that the page names; all are in plan.json."""
SURE = 0.9
"""A probability from which a choice is called clear; below one minus it, clearly not so."""
ERROR = "total-variation"
LEAST_PEOPLE = 20
"""The curve of error against people goes on at least so far."""
BETWEEN = 4.0
"""From one β of a figure to the next."""

TELLS = (
    "An answer is worth the comparisons of distances it fixes, such as: this item is closer to cat "
    "than to dog. The information ratio is their share of all comparisons there are."
)
RECOVERS = (
    "Worlds of items and classes are simulated, labelled in each form and embedded again from the "
    "labels alone; ρ is the rank correlation of recovered and true similarities. Whether your "
    "items and classes lie as they do in these worlds is an assumption."
)
WEIGHS = (
    "The loss of a form is β times what the whole collection costs, minus what its ρ is worth; "
    "the least loss wins. β is what you would give up of that worth for one unit of cost, so it "
    "carries the unit of the cost. Utilities say how ρ is valued: as it is (linear), or with the "
    "last steps counting less (sigmoid) or more (inverse-sigmoid)."
)


def plan_folder(path: Path) -> Path:
    """The folder to write into, made where it is not there; a file in its place is refused."""
    if path.exists() and not path.is_dir():
        raise DataError(f"{path} is a file; give a folder to write the plan into.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder {path} cannot be made: {error.strerror or error}.") from None
    return path


def write_plan(plan: Plan, folder: Path, *, advance: Advance = lambda done, total: None) -> Path:
    """Write ``plan.json``, ``plan.html`` and ``figures/``; returns the path of the page.

    ``advance`` is told how far the simulation for the figures is.
    """
    folder = plan_folder(folder)
    settings = _settings(plan)
    page = plan_page(plan, settings, advance=advance)
    remove_figures(folder / "figures")
    for drawing in page.drawings:
        save(drawing, folder / "figures")
    text = json.dumps(
        {**plan_json(plan.task, plan.advice), **settings},
        indent=2, ensure_ascii=False, allow_nan=False,
    )  # fmt: skip
    (folder / "plan.json").write_text(text + "\n", encoding="utf-8")
    path = folder / "plan.html"
    write(page, path)
    return path


NAMES = (
    "information-ratio",
    "rho",
    "effective-dimensionality",
    "components",
    "kept",
    "equal-spending",
    "preference",
    "loss",
    "annotators",
)
"""The figures of a plan, by file name."""


def remove_figures(folder: Path) -> None:
    """Remove those of an earlier plan, which may have drawn more, and nothing else."""
    for name in NAMES:
        for ending in ("svg", "png", "csv"):
            (folder / f"{name}.{ending}").unlink(missing_ok=True)


def _settings(plan: Plan) -> dict[str, Any]:
    task = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(plan.task).items()}
    costs = {
        form: {"value": cost.value, "unit": cost.unit, "kept": cost.kept}
        for form, cost in plan.costs.items()
    }
    return {
        "settings": {
            **task,
            "costs": costs,
            "errors": dict(plan.errors),
            "pilots": [_pilot_settings(each) for each in plan.pilots],
            "files": dict(plan.files),
        },
        "seed": plan.seed,
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
    }


def _pilot_settings(pilot: PilotStudy) -> dict[str, Any]:
    cost, error = pilot.cost, pilot.error
    return {
        "form": pilot.form,
        "kept": pilot.kept,
        "items": len(pilot.crowd.items),
        "answers": len(pilot.crowd),
        "answers_an_item": pilot.people,
        "cost": None if cost is None else cost.value,
        "cost_low": None if cost is None else cost.low,
        "cost_high": None if cost is None else cost.high,
        "contradicted": error.value,
        "low": error.low,
        "high": error.high,
        "by": error.how,
    }


# The page


def plan_page(plan: Plan, settings: dict[str, Any], *, advance: Advance) -> Page:
    """The page of a plan; ``settings`` is said at its end."""
    task, advice, sizes = plan.task, plan.advice, sizes_of(plan.task)
    why: list[Block] = [Text("\n\n".join(advice.reasons))]
    if advice.alternatives:
        why.append(_alternatives(plan))
    told = (_information(plan), _information_maps(task))
    recovers = draw_recovered(plan, sizes, advance=_part_of(advance, 0.0, 0.6))
    weighs = draw_weighed(plan, sizes, advance=_part_of(advance, 0.6, 1.0))
    sections = [
        *_power(plan),
        Section("Why", "", tuple(why)),
        Section("What would change it", _changes(advice)),
        Section("How many people", enough_people(plan), draw_people(plan)),
        *_first_items(advice),
        Section("Where the numbers are from", "", (_sources(advice),)),
    ]
    appendix = [
        Section("What an answer tells", TELLS, told),
        Section("What labels recover", RECOVERS, recovers),
        Section("What it is worth for what it costs", WEIGHS, weighs),
    ]
    return Page(
        title="A plan made before money is spent",
        lead=plan_lead(plan),
        findings=headline(plan),
        sections=tuple(sections),
        appendix=tuple(appendix),
        how=Origin(settings=settings),
    )


def _power(plan: Plan) -> tuple[Section, ...]:
    """The designs that are expected to show what was asked about."""
    if plan.power is None:
        return ()
    rows = [vars(design) for design in plan.power.designs]
    table = () if not rows else (Table("Designs that are expected to show it", pl.DataFrame(rows)),)
    return (Section("How many items and people will show it", " ".join(plan.power.lines()), table),)


def _power_lead(power: PowerPlan, basis: Sequence[str]) -> Lead:
    """The cheapest design that will show an effect, among others that would."""
    asked = power.comparison
    bars = tuple(
        Bar(f"{one.items:,} items, {one.people:,} people, {one.form}", one.power, one.low, one.high,
            strong=one is power.best, text=f"{one.power:.0%}")
        for one in power.designs[:8]
    )  # fmt: skip
    answer, *_ = power.lines()
    against = (
        "The effect must be the smallest that matters to you, not what a pilot showed.",
        "The pilot stands for the people and items to come: one odd person more changes it.",
        *power.remarks,
    )
    caption = "Intervals are by what the pilot leaves open."
    chart = Chart("Power that each design is expected to have", bars, caption, True, 1.0)
    return Lead(
        f"How much must be asked to show a difference of {asked.effect:g}?",
        answer,
        chart if bars else None,
        tuple(basis),
        tuple(dict.fromkeys(against)),
        Origin((POWER,), path=("variances of items and people in the pilot", "its answers")),
    )


POWER = (
    "The variances between items, between people and of what is left are drawn from what the "
    "pilot says of them; the power of a t-test on means is the mean over these draws."
)


def plan_lead(plan: Plan) -> Lead:
    """What shows the effect that was asked about; otherwise the form that is advised."""
    task, advice = plan.task, plan.advice
    answer = _answer(advice)
    sources = sorted(set(advice.sources.values()))
    basis = [enough_people(plan)] if plan.pilots else []
    if advice.probability is not None:
        basis.insert(
            0,
            f"In {100 * advice.probability:.0f} of 100 draws of worlds, people's noise and prices "
            "no other form was better.",
        )
    for pilot in plan.pilots:
        basis.append(
            f"A pilot of {pilot.form} answers: {count(len(pilot.crowd), 'answer')} about "
            f"{count(len(pilot.crowd.items), 'item')}."
        )
    if plan.power is not None:
        return _power_lead(plan.power, basis[-len(plan.pilots) :])
    listed = " and ".join([", ".join(sources[:-1]), sources[-1]] if sources[1:] else sources)
    basis.append(f"The numbers behind it are {listed}; a section says which is which.")
    against = [each.sentence for each in advice.changes[:2]]
    against += different_items(plan.pilots)
    against.append(
        "Whether your items and classes lie as in the simulated worlds is an assumption."
    )
    if advice.probability is None:
        against.insert(0, "Nothing was weighed: prices, error rates or a pilot would decide.")
    path = (
        "simulated worlds of items and classes",
        "prices, errors and pilots as given, measured or assumed",
    )
    return Lead(
        f"Which labels should be collected for {count(task.items, 'item')} of "
        f"{task.classes:,} classes?",
        answer.text,
        _chances(plan),
        tuple(basis),
        tuple(against),
        Origin((WEIGHS if advice.probability is not None else TELLS,), path=path),
    )


def _chances(plan: Plan) -> Chart:
    """How likely each form is the best, or what an answer tells where nothing was weighed."""
    advice = plan.advice
    if advice.probability is not None:
        bars = tuple(
            Bar(
                form_title(each.form, each.kept),
                each.probability,
                strong=(each.form, each.kept) == (advice.form, advice.kept),
                text=f"{each.probability:.2f}",
            )
            for each in advice.alternatives[:8]
        )
        caption = "Over draws of worlds, of people's noise and of prices."
        return Chart(
            "Probability that no other form is better", bars, caption, from_zero=True, most=1.0
        )
    known = plan_json(plan.task, plan.advice)["information"]
    bars = tuple(
        Bar(form, each["ratio"], strong=form == advice.form, text=f"{each['ratio']:.2g}")
        for form, each in known.items()
        if form not in ("pairs", "triplets")  # out of other comparisons
    )
    caption = "Of all comparisons of distances, by formula: the information ratio."
    return Chart("Share of comparisons that one answer per item fixes", bars, caption, True)


def _part_of(advance: Advance, start: float, end: float) -> Advance:
    """Shows the progress of a part as a stretch of the whole."""

    def show(done: int, total: int) -> None:
        advance(round(1000 * (start + (end - start) * done / max(total, 1))), 1000)

    return show


def _alternatives(plan: Plan) -> Table:
    rows = [
        {
            "form": form_title(each.form, each.kept),
            "probability of being best": f"{each.probability:.2f}",
            "people per item": f"{each.people:.3g}",
            "similarity recovered (ρ)": f"{each.rho:.2f} [{each.rho_low:.2f}, {each.rho_high:.2f}]",
            "cost of all": f"{each.cost:,.0f} {each.unit}",
            "cost is": each.cost_source,
            "comparisons wrong": "–" if each.error is None else f"{each.error:.1%}",
            "errors are": each.error_source,
        }
        for each in plan.advice.alternatives
    ]
    caption = "Brackets hold 95 % of the draws of worlds, people's noise and prices."
    return Table("Alternatives", pl.DataFrame(rows), caption=caption, simulated=True)


def _changes(advice: Advice) -> str:
    if advice.changes:
        return "\n\n".join(each.sentence for each in advice.changes)
    if advice.probability is None:
        return "Prices, error rates or a pilot: then forms can be weighed."
    return "No other price, noise or weight within reach that was tried."


def _first_items(advice: Advice) -> tuple[Section, ...]:
    first = advice.first
    if not first:
        return ()
    more = len(first) - FIRST_SHOWN
    others = f" … and {more:,} more, in plan.json" if more > 0 else ""
    text = (
        f"{len(first):,} items carry four fifths of the doubt in the labels at hand. Ask about "
        f"them first: {', '.join(first[:FIRST_SHOWN])}{others}."
    )
    return (Section("Which items first", text),)


def _information(plan: Plan) -> Table:
    rows = []
    for form, known in plan_json(plan.task, plan.advice)["information"].items():
        error = plan.error_rate(form)
        left = "–" if error is None else f"{noisy(known['ratio'], error, 'capacity'):.4f}"
        rows.append(
            {
                "form": form,
                "comparisons fixed": f"{known['constraints']:,}",
                "share of all": f"{known['ratio']:.4f}",
                "left by errors": left,
            }
        )
    caption = (
        "Left by errors: the bits that get through where a share ε of the comparisons is wrong, "
        "1 − H₂(ε); only for forms whose errors were given or measured. Pairs and triplets place "
        "only items, so their share is out of other comparisons."
    )
    return Table("Comparisons that one answer per item fixes", pl.DataFrame(rows), caption=caption)


def _sources(advice: Advice) -> Table:
    rows = [{"number": name, "is": source} for name, source in advice.sources.items()]
    return Table("Given, measured, assumed or simulated", pl.DataFrame(rows))


# What was found, how sure it is, and what it cannot know, in plain sentences


def headline(plan: Plan) -> tuple[Finding, ...]:
    """The sentences at the top of the page."""
    advice = plan.advice
    found = [Finding(text, "found") for text in advice.reasons[:2]]
    if (total := by_total_cost(plan)) is not None:
        found.append(total)
    if (few := _not_all_simulated(plan.task)) is not None:
        found.append(few)
    return tuple(found)


def form_title(form: str, kept: int | None) -> str:
    """A form and its k̂ in words.

    >>> form_title("sparse", 2), form_title("hard", None)
    ('sparse (2 classes)', 'hard')
    """
    return form if kept is None else f"{form} ({kept} classes)"


def _people(many: float) -> str:
    return "1 person" if round(many, 2) == 1 else f"{many:.3g} people"


def _answer(advice: Advice) -> Finding:
    what = f"Collect {advice.form} answers"
    if advice.kept is not None:
        what += f" with {advice.kept} classes an answer"
    if advice.criterion == "only form":
        return Finding(f"{what}: no other form was piloted or priced.", "caution")
    if advice.probability is None:
        return Finding(f"{what}: by rule of thumb, with nothing weighed.", "caution")
    chance = f"the probability that no other form is better is {advice.probability:.2f}"
    whom = f", {_people(advice.people)} per item" if advice.people else ""
    if advice.probability >= SURE:
        return Finding(f"{what}{whom}; {chance}.", "found")
    second = advice.alternatives[1]
    close = f"{form_title(second.form, second.kept)} has {second.probability:.2f}"
    return Finding(f"{what}{whom}, but it is not clear-cut: {chance}, {close}.", "caution")


def by_total_cost(plan: Plan) -> Finding | None:
    """Whether many quick votes beat few rich answers of the same total cost, as paper 4 cautions.

    None where votes were not weighed, or not for equal spending.
    """
    rows = plan.advice.alternatives
    votes = next((row for row in rows if row.form == "hard"), None)
    rich = next((row for row in rows if row.form != "hard"), None)
    if votes is None or rich is None or plan.advice.criterion != "budget":
        return None
    if not (votes.people and rich.people):
        return None
    head, behind = _votes_or_rich(votes, rich, votes.cost / plan.task.items)
    if votes.probability >= SURE:
        return Finding(f"{head}: votes are the better buy.", "found", behind)
    if votes.probability <= 1 - SURE:
        return Finding(f"{head}: votes are not the better buy.", "found", behind)
    open_ = "that votes are the better buy is neither shown nor ruled out"
    return Finding(f"{head}: {open_}.", "not found", behind)


def _votes_or_rich(votes: Alternative, rich: Alternative, spent: float) -> tuple[str, str]:
    """What the same cost pays for, and what is behind it."""
    unit = "time" if votes.unit == "seconds" else "cost"
    sources = " and ".join(f"{row.form} answers {row.cost_source}" for row in (votes, rich))
    head = (
        f"{spent:.3g} {votes.unit} per item pay for {_people(votes.people)} giving votes or "
        f"{_people(rich.people)} giving {form_title(rich.form, rich.kept)} answers"
    )
    behind = (
        f"Votes recover ρ {votes.rho:.2f}, the others {rich.rho:.2f}; {unit} of {sources}. Votes "
        f"are the best of the forms with probability {votes.probability:.2f}. Paper 4 cautions "
        "that total time may favour votes."
    )
    return head, behind


def _not_all_simulated(task: Task) -> Finding | None:
    sizes = sizes_of(task)
    fewer = stands_for(task, sizes)
    if not fewer:
        return None
    text = f"In the figures{fewer[:-1]}; formulas and costs are those of the whole task."
    if sizes.n < task.items:
        text += " With so many items ρ hardly moves with their number."
    own, drawn = regime(task.items, task.classes), regime(sizes.n, sizes.k)
    if own != drawn:
        text += f" The task is {own}, what is simulated is {drawn}: read ρ with care."
    return Finding(text, "caution")


def enough_people(plan: Plan) -> str:
    """How many people to ask, in words."""
    stop, advice = plan.advice.enough, plan.advice
    if stop is None:
        return (
            "How many people to ask per item needs a pilot of the advised form, in which at least "
            f"two people answered about the same items. Planned are {_people(advice.people)} an "
            "item."
        )
    beyond = " It is still falling there, so this is a lower bound." if stop.beyond else ""
    return (
        f"From {stop.M} people per item on (95 % interval over the pilot's items {stop.low} to "
        f"{stop.high}) another {advice.form} answer moves less than a hundredth of a label's mass; "
        f"{stop.error:.1%} of the mass then still lies elsewhere.{beyond} Planned are "
        f"{_people(advice.people)} per item."
    )


# Figures


def _with_words(drawn: Drawing, text: str) -> Drawing:
    return replace(drawn, caption=f"{drawn.caption} {text}")


def _information_maps(task: Task) -> Drawing:
    drawn = information_maps(
        sizes_around(task.items, most=2 * task.items),
        sizes_around(task.classes, most=2 * task.classes),
        forms=("hard", "sparse", "soft"),
        title="How much answers tell: information ratio, by formula",
    )
    drawn = mark_cell(drawn, x=task.items, y=task.classes, what="the task")
    return _with_words(drawn, "Sparse answers name 2 classes. Each map has colours of its own.")


def draw_recovered(plan: Plan, sizes: Sizes, *, advance: Advance) -> tuple[Drawing, ...]:
    """What labels without any error recover at the task and around it."""
    dims = dimensions_of(plan.task)
    labels = right_labels(sizes, dims, seed=plan.seed, advance=advance)
    own = labels.filter(items=sizes.n, classes=sizes.k)
    curves = component_curves([Point(sizes.n, sizes.k, d, plan.seed, ()) for d in dims])
    without = f"Labels without any error.{stands_for(plan.task, sizes)}"
    maps = [
        _with_words(mark_cell(drawn, x=sizes.n, y=sizes.k, what="the task"), without)
        for drawn in (rho_maps(labels), dimension_maps(labels))
    ]
    lines = "Hard and soft labels have no k̂ and are level lines; pca bounds what k̂ numbers tell."
    return (
        *maps,
        _with_words(pca_curves(curves), without),
        _with_words(kept_figure(own, interval=""), f"{without} {lines}"),
    )


def draw_people(plan: Plan) -> tuple[Drawing, ...]:
    """The expected error of a label against M, by form of the pilot (S3-11)."""
    if not plan.pilots:
        return ()
    people = {each.form: each.people for each in plan.advice.alternatives}
    up_to = max([LEAST_PEOPLE, *(int(1.5 * people.get(each.form, 1)) for each in plan.pilots)])
    curves = [
        expected_error(
            each.crowd, ERROR, up_to=up_to, draws=100, rng=np.random.default_rng([plan.seed, place])
        ).table(each.form)
        for place, each in enumerate(plan.pilots)
    ]
    items = max(len(each.crowd.items) for each in plan.pilots)
    drawn = against_annotators(
        pl.concat(curves).with_columns(metric=pl.lit("label_error")),
        Basis(simulated=False, items=items, interval="items"),
        title="What is left of a label's error with M people per item",
    )
    words = (
        "Fitted to the pilot: the mass of a label that would lie elsewhere if everybody were asked."
    )
    return (_with_words(drawn, words),)


def draw_weighed(plan: Plan, sizes: Sizes, *, advance: Advance) -> tuple[Drawing, ...]:
    """Preference over n and k and loss over k̂, for β around the one that matters (S1-F1, S1-F6).

    With a budget also what the two best forms recover for the same money.
    """
    task, costs, noise = plan.task, answer_costs(plan), noise_by_form(plan, sizes)
    people = task.people if plan.advice.criterion == "weight" else 1
    pair = [Candidate(*each, people) for each in best_two(plan)]
    swept = [Candidate(form, None, people) for form in ("hard", "soft")]
    swept += [Candidate(form, kept, people) for form in WITH_KEPT for kept in kept_shown(sizes.k)]

    def answers(
        candidates: Sequence[Candidate], axes: tuple[Sequence[int], Sequence[int]], show: Advance
    ) -> pl.DataFrame:
        return answers_at(
            candidates, items=axes[0], classes=axes[1], dimensions=dimensions_of(task),
            noise=noise, seed=plan.seed, advance=show,
        )  # fmt: skip

    axes = sorted({*sizes.items, task.items}), sorted({*sizes.classes, task.classes})
    own = answers(swept, ([task.items], [task.classes]), _part_of(advance, 0.0, 0.3))
    pairs = answers(pair, axes, _part_of(advance, 0.3, 0.7))
    betas = _betas(plan, pairs, costs, people)
    whose = _whose(plan, sizes, noise)
    words = (
        f"Answers of {_people(people)} per item. {whose} {_priced(costs)} {_weights(plan, betas)}"
    )
    drawn = [
        _with_words(draw_preference(plan, pairs, betas, costs, people), words),
        _with_words(_losses(task, own, betas, costs, people), words),
    ]
    spent = _for_the_budget(plan, pair)
    if spent:
        both = answers(spent, axes, _part_of(advance, 0.7, 1.0))
        drawn.insert(0, _with_words(_equal_spending(task, both, spent), whose))
    return tuple(drawn)


def _betas(
    plan: Plan, pairs: pl.DataFrame, costs: Mapping[str, Cost], people: int
) -> tuple[float, ...]:
    """Three weights of the cost: the task's own, or where its two forms are equally good."""
    middle = plan.task.beta or _even(plan.task, pairs, costs, best_two(plan), people)
    return (middle / BETWEEN, middle, middle * BETWEEN)


def _even(
    task: Task,
    pairs: pl.DataFrame,
    costs: Mapping[str, Cost],
    forms: tuple[Pair, Pair],
    people: int,
) -> float:
    """β at which two forms are equally good at the task, in two significant digits."""
    answers = recovered_means(pairs, dimensions=pairs["dimensions"][0])
    mine = answers.filter(items=task.items, classes=task.classes)
    rho = dict(zip(mine["form"], mine["rho"], strict=True))
    spent = [_spent(costs[form], kept, task, people) for form, kept in forms]
    found = 0.0
    if spent[0] != spent[1]:
        first, second = (rho[form] for form, _ in forms)
        found = break_even(first, second, cost_first=spent[0], cost_second=spent[1])
    if found <= 0:  # no weight makes the dearer one better: ρ of 0.1 for the dearer collection
        found = 0.1 / max(spent)
    return float(f"{found:.1e}")


def _spent(cost: Cost, kept: int | None, task: Task, people: int) -> float:
    share = 1.0 if kept is None or cost.kept is None else kept / cost.kept
    return share * total_cost(cost, items=task.items, people=people)


def draw_preference(
    plan: Plan,
    pairs: pl.DataFrame,
    betas: Sequence[float],
    costs: Mapping[str, Cost],
    people: int,
) -> Drawing:
    """Which of the two best forms loses less, by size, weight of the cost and utility."""
    (first, _), (second, _) = named = best_two(plan)
    drawn = preference_maps(
        pairs, dimensions=pairs["dimensions"][0], betas=betas, utilities=tuple(UTILITIES),
        costs=None if _all_assumed(costs) else costs, people=people, first=first, second=second,
        title=f"{form_title(*named[0]).capitalize()} against {form_title(*named[1])}, by size, "
        "weight of the cost and utility",
    )  # fmt: skip
    words = f"Above zero {first} answers are better, below zero {second} ones."
    marked = mark_cell(drawn, x=plan.task.items, y=plan.task.classes, what="the task")
    return _with_words(marked, words)


def _all_assumed(costs: Mapping[str, Cost]) -> bool:
    """Then an answer costs as much as the numbers in it, at the k of every cell (S1-31)."""
    return all(cost.source == "assumed" for cost in costs.values())


def _losses(
    task: Task, own: pl.DataFrame, betas: Sequence[float], costs: Mapping[str, Cost], people: int
) -> Drawing:
    return loss_figure(
        own, items=task.items, classes=task.classes, dimensions=own["dimensions"][0], betas=betas,
        utilities=tuple(UTILITIES), costs=costs, people=people,
        title=f"Loss over k̂ for {task.items:,} items and {task.classes} classes",
    )  # fmt: skip


def _for_the_budget(plan: Plan, pair: Sequence[Candidate]) -> list[Candidate]:
    """The two forms with as many people as the budget pays for; none where it decides nothing."""
    if plan.advice.criterion != "budget":
        return []
    pays = {(each.form, each.kept): each.people for each in plan.advice.alternatives}
    many = [pays.get((each.form, each.kept), 0.0) for each in pair]
    if not all(many):
        return []
    return [replace(each, people=max(1, round(m))) for each, m in zip(pair, many, strict=True)]


def _equal_spending(task: Task, both: pl.DataFrame, spent: Sequence[Candidate]) -> Drawing:
    answers = recovered_means(both, dimensions=both["dimensions"][0])
    sides = [answers.filter(form=each.form) for each in spent]
    on = ["items", "classes"]
    joined = sides[0].join(sides[1].select(*on, second="rho"), on=on, maintain_order="left")
    first, second = (f"{each.title}, {_people(each.people)}" for each in spent)
    table = joined.select(
        panel=pl.lit(""), x="items", y="classes",
        value=pl.col("rho") - pl.col("second"),
    )  # fmt: skip
    seeds = tuple(both["seed"].unique().sort().to_list())
    drawn = grid_maps(
        table, Basis(True, seeds=seeds, made="annotators"), xlabel="items (n)",
        ylabel="classes (k)", text="difference of ρ", name="equal-spending",
        title=f"For the same cost: {first}, or {second}", scale="around zero", columns=1,
    )  # fmt: skip
    words = (
        f"Above zero {spent[0].form} answers recover more, below zero {spent[1].form} ones; with "
        f"{len(seeds)} worlds a cell, a few hundredths are chance."
    )
    return _with_words(mark_cell(drawn, x=task.items, y=task.classes, what="the task"), words)


def _whose(plan: Plan, sizes: Sizes, noise: Mapping[str, float]) -> str:
    """How noisy the simulated people are, and what stands for what."""
    known = [form for form in noise if plan.error_rate(form) is not None]
    how = (
        f"as noisy as the errors of {' and '.join(known)} answers say"
        if known
        else "as noisy as the advice assumes at the middle"
    )
    dims = ", ".join(map(str, dimensions_of(plan.task)))
    return (
        f"The people are simulated, {how}; ρ is the mean over worlds of {dims} "
        f"dimensions.{stands_for(plan.task, sizes)}"
    )


def _priced(costs: Mapping[str, Cost]) -> str:
    def named(cost: Cost) -> str:
        at = "" if cost.kept is None else f" (k̂ = {cost.kept})"
        return f"{cost.form}{at} {cost.value:.3g} ({cost.source})"

    shown = [named(costs[form]) for form in ("hard", "sparse", "top-class", "soft")]
    unit = costs["hard"].unit
    if _all_assumed(costs):
        return "An answer is assumed to cost as many hard labels as there are numbers in it."
    return (
        f"An answer costs, in {unit}: {', '.join(shown)}; other k̂, and answers about all of more "
        "or fewer classes, in proportion."
    )


def _weights(plan: Plan, betas: Sequence[float]) -> str:
    if plan.task.beta:
        return f"The middle β ({betas[1]:g}) is the task's."
    first, second = (form_title(*each) for each in best_two(plan))
    return (
        f"At the middle β ({betas[1]:g}) {first} and {second} answers are about equally good at "
        "the task with linear utility."
    )
