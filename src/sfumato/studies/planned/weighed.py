"""Draw what answers recover against what they cost: preference maps and losses over k̂."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from sfumato.planning.advise import Task
from sfumato.planning.cost import UTILITIES, WITH_KEPT, Cost, break_even, total_cost
from sfumato.planning.grid import recovered
from sfumato.planning.weigh import Candidate
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import grid_maps
from sfumato.reporting.figures.scores import mark_cell
from sfumato.studies.informativeness.figures import loss_figure, preference_maps
from sfumato.studies.planned.asked import (
    Pair,
    Planned,
    compared,
    error_of,
    noises,
    prices,
    with_title,
)
from sfumato.studies.planned.simulated import (
    Advance,
    Sizes,
    answers_at,
    dimensions_of,
    kept_shown,
    part_of,
    stands_for,
)

__all__ = ["draw_weighed"]

BETWEEN = 4.0
"""From one β of a figure to the next."""


def draw_weighed(planned: Planned, sizes: Sizes, *, advance: Advance) -> tuple[Drawing, ...]:
    """Preference over n and k and loss over k̂, for β around the one that matters (S1-F1, S1-F6).

    With a budget also what the two best forms recover for the same money.
    """
    task, costs = planned.task, prices(planned)
    people = task.people if planned.advice.criterion == "weight" else 1
    pair = [Candidate(*each, people) for each in compared(planned)]
    kept = kept_shown(sizes.k)
    swept = [Candidate(form, None, people) for form in ("hard", "soft")]
    swept += [Candidate(form, each, people) for form in WITH_KEPT for each in kept]
    noise = noises(planned, sizes)

    def answers(
        candidates: Sequence[Candidate], axes: tuple[Sequence[int], Sequence[int]], show: Advance
    ) -> pl.DataFrame:
        return answers_at(
            candidates, items=axes[0], classes=axes[1], dimensions=dimensions_of(task),
            noise=noise, seed=planned.seed, advance=show,
        )  # fmt: skip

    axes = sorted({*sizes.items, task.items}), sorted({*sizes.classes, task.classes})
    own = answers(swept, ([task.items], [task.classes]), part_of(advance, 0.0, 0.3))
    pairs = answers(pair, axes, part_of(advance, 0.3, 0.7))
    betas = _betas(planned, pairs, costs, people)
    whom = f"Answers of {_people(people)} an item.{_whose(planned, sizes, noise)}"
    dear = f"{_priced(costs)} {_weights(planned, betas)}"
    drawn = [
        _said(_preference(planned, pairs, betas, costs, people), f"{whom} {dear}"),
        _said(_losses(planned, own, betas, costs, people), f"{whom} {dear}"),
    ]
    spent = _for_the_budget(planned, pair)
    if spent:
        both = answers(spent, axes, part_of(advance, 0.7, 1.0))
        equal = _equal_spending(planned, both, spent)
        drawn.insert(0, _said(equal, _whose(planned, sizes, noise).strip()))
    return tuple(drawn)


def _betas(
    planned: Planned, pairs: pl.DataFrame, costs: Mapping[str, Cost], people: int
) -> tuple[float, ...]:
    """Three weights of the cost: the task's own, or where its two forms are equally good."""
    task = planned.task
    middle = task.beta or _even(task, pairs, costs, compared(planned), people)
    return (middle / BETWEEN, middle, middle * BETWEEN)


def _even(
    task: Task,
    pairs: pl.DataFrame,
    costs: Mapping[str, Cost],
    forms: tuple[Pair, Pair],
    people: int,
) -> float:
    """β at which two forms are equally good at the task, in two significant digits."""
    told = _at_task(pairs, task)
    spent = [_spent(costs[form], kept, task, people) for form, kept in forms]
    found = 0.0
    if spent[0] != spent[1]:
        first, second = (told[form] for form, _ in forms)
        found = break_even(first, second, cost_first=spent[0], cost_second=spent[1])
    if found <= 0:  # no weight makes the dearer one better: ρ of 0.1 for the dearer collection
        found = 0.1 / max(spent)
    return float(f"{found:.1e}")


def _spent(cost: Cost, kept: int | None, task: Task, people: int) -> float:
    share = 1.0 if kept is None or cost.kept is None else kept / cost.kept
    return share * total_cost(cost, items=task.items, people=people)


def _at_task(answers: pl.DataFrame, task: Task) -> dict[str, float]:
    told = recovered(answers, dimensions=answers["dimensions"][0])
    mine = told.filter(items=task.items, classes=task.classes)
    return dict(zip(mine["form"], mine["rho"], strict=True))


def _preference(
    planned: Planned,
    pairs: pl.DataFrame,
    betas: Sequence[float],
    costs: Mapping[str, Cost],
    people: int,
) -> Drawing:
    (first, _), (second, _) = named = compared(planned)
    drawn = preference_maps(
        pairs, dimensions=pairs["dimensions"][0], betas=betas, utilities=tuple(UTILITIES),
        costs=None if _all_assumed(costs) else costs, people=people, first=first, second=second,
        title=f"{with_title(*named[0]).capitalize()} against {with_title(*named[1])}, by size, "
        "weight of the cost and utility",
    )  # fmt: skip
    said = f"Above zero {first} answers are better, below zero {second} ones."
    return _said(_mark(drawn, planned.task), said)


def _all_assumed(costs: Mapping[str, Cost]) -> bool:
    """Then an answer costs as much as the numbers in it, at the k of every cell (S1-31)."""
    return all(cost.source == "assumed" for cost in costs.values())


def _losses(
    planned: Planned,
    own: pl.DataFrame,
    betas: Sequence[float],
    costs: Mapping[str, Cost],
    people: int,
) -> Drawing:
    task = planned.task
    return loss_figure(
        own, items=task.items, classes=task.classes, dimensions=own["dimensions"][0], betas=betas,
        utilities=tuple(UTILITIES), costs=costs, people=people,
        title=f"Loss over k̂ for {task.items:,} items and {task.classes} classes",
    )  # fmt: skip


def _for_the_budget(planned: Planned, pair: Sequence[Candidate]) -> list[Candidate]:
    """The two forms with as many people as the budget pays for; none where it decides nothing."""
    if planned.advice.criterion != "budget":
        return []
    pays = {(each.form, each.kept): each.people for each in planned.advice.alternatives}
    many = [pays.get((each.form, each.kept), 0.0) for each in pair]
    if not all(many):
        return []
    return [replace(each, people=max(1, round(m))) for each, m in zip(pair, many, strict=True)]


def _equal_spending(planned: Planned, both: pl.DataFrame, spent: Sequence[Candidate]) -> Drawing:
    told = recovered(both, dimensions=both["dimensions"][0])
    sides = [told.filter(form=each.form) for each in spent]
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
    said = (
        f"Above zero {spent[0].form} answers recover more, below zero {spent[1].form} ones; with "
        f"{len(seeds)} worlds a cell, a few hundredths are chance."
    )
    return _said(_mark(drawn, planned.task), said)


def _mark(drawn: Drawing, task: Task) -> Drawing:
    return mark_cell(drawn, x=task.items, y=task.classes, what="the task")


def _said(drawn: Drawing, text: str) -> Drawing:
    return replace(drawn, caption=f"{drawn.caption} {text}")


def _people(many: int) -> str:
    return "1 person" if many == 1 else f"{many} people"


def _whose(planned: Planned, sizes: Sizes, noise: Mapping[str, float]) -> str:
    """How noisy the simulated people are, and what stands for what."""
    known = [form for form in noise if error_of(planned, form) is not None]
    how = (
        f"as noisy as the errors of {' and '.join(known)} answers say"
        if known
        else "as noisy as the advice assumes at the middle"
    )
    dims = ", ".join(map(str, dimensions_of(planned.task)))
    return (
        f" The people are simulated, {how}; ρ is the mean over worlds of {dims} "
        f"dimensions.{stands_for(planned.task, sizes)}"
    )


def _priced(costs: Mapping[str, Cost]) -> str:
    def named(cost: Cost) -> str:
        at = "" if cost.kept is None else f" (k̂ = {cost.kept})"
        return f"{cost.form}{at} {cost.value:.3g} ({cost.source})"

    shown = [named(costs[form]) for form in ("hard", "sparse", "top-class", "soft")]
    unit = costs["hard"].unit
    if _all_assumed(costs):
        return "An answer is assumed to cost as many hard labels as there are numbers in it."
    return f"An answer costs, in {unit}, at every size: {', '.join(shown)}; other k̂ in proportion."


def _weights(planned: Planned, betas: Sequence[float]) -> str:
    if planned.task.beta:
        return f"The middle β ({betas[1]:g}) is the task's."
    first, second = (with_title(*each) for each in compared(planned))
    return (
        f"At the middle β ({betas[1]:g}) {first} and {second} answers are about equally good at "
        "the task with linear utility."
    )
