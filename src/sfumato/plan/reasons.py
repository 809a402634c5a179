"""Turn weighed alternatives into sentences that say why."""

from collections.abc import Mapping, Sequence

from sfumato.labels.signals import concentration, entropy
from sfumato.plan.advice import Alternative, Task, rule_of_thumb
from sfumato.plan.expected import Expected
from sfumato.plan.pilot import Piloted
from sfumato.plan.ratios import regime
from sfumato.plan.weigh import Known, Spending

__all__ = ["other_items", "reasons"]


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
