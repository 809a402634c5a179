"""Say in plain sentences what a plan found, how sure it is, and what it cannot know."""

from sfumato.planning.advise import Advice, Alternative, Task, other_items
from sfumato.planning.information import regime
from sfumato.reporting.text import Finding
from sfumato.studies.planned.asked import Planned, with_title
from sfumato.studies.planned.simulated import sizes_of, stands_for

__all__ = ["by_total_cost", "enough_people", "headline"]

SURE = 0.9
"""A probability from which a choice is called clear; below one minus it, clearly not so."""


def headline(planned: Planned) -> tuple[Finding, ...]:
    """The sentences at the top of the page."""
    advice = planned.advice
    told = [_answer(advice), Finding(advice.reasons[0], "found")]
    if (total := by_total_cost(planned)) is not None:
        told.append(total)
    if advice.changes:
        told.append(Finding(advice.changes[0].sentence, "caution"))
    told += [Finding(text, "caution") for text in other_items(planned.pilots)]
    if (few := _not_all_simulated(planned.task)) is not None:
        told.append(few)
    return tuple(told)


def _answer(advice: Advice) -> Finding:
    what = f"Collect {advice.form} answers"
    if advice.kept is not None:
        what += f" with {advice.kept} classes an answer"
    if advice.probability is None:
        return Finding(f"{what}: by rule of thumb, with nothing weighed.", "caution")
    chance = f"the probability that no other form is better is {advice.probability:.2f}"
    whom = f", {_people(advice.people)} an item" if advice.people else ""
    if advice.probability >= SURE:
        return Finding(f"{what}{whom}; {chance}.", "found")
    second = advice.alternatives[1]
    close = f"{with_title(second.form, second.kept)} has {second.probability:.2f}"
    return Finding(f"{what}{whom}, but it is not clear-cut: {chance}, {close}.", "caution")


def by_total_cost(planned: Planned) -> Finding | None:
    """Whether many quick votes beat few rich answers of the same total cost, as paper 4 cautions.

    None where votes were not weighed, or not for equal spending.
    """
    rows = planned.advice.alternatives
    votes = next((row for row in rows if row.form == "hard"), None)
    rich = next((row for row in rows if row.form != "hard"), None)
    if votes is None or rich is None or planned.advice.criterion != "budget":
        return None
    unit = "time" if votes.unit == "seconds" else "cost"
    if not (votes.people and rich.people):
        return None
    measured = {row.form: row.cost_source for row in (votes, rich)}
    sources = " and ".join(f"{form} answers {source}" for form, source in measured.items())
    compare = (
        f"By total {unit}: {_spent(planned, votes)} an item pay for {_people(votes.people)} giving "
        f"votes (ρ {votes.rho:.2f}) or {_people(rich.people)} giving "
        f"{with_title(rich.form, rich.kept)} answers (ρ {rich.rho:.2f}; {unit} of {sources}). "
        f"Paper 4 cautions that total time may favour votes. Votes are the best of the forms with "
        f"probability {votes.probability:.2f}"
    )
    if votes.probability >= SURE:
        return Finding(f"{compare}: here that is so.", "found")
    if votes.probability <= 1 - SURE:
        return Finding(f"{compare}: here that is not so.", "found")
    return Finding(f"{compare}: here it is neither shown nor ruled out.", "not found")


def _spent(planned: Planned, row: Alternative) -> str:
    return f"{row.cost / planned.task.items:.3g} {row.unit}"


def _people(many: float) -> str:
    return "1 person" if round(many, 2) == 1 else f"{many:.3g} people"


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


def enough_people(planned: Planned) -> str:
    """How many people to ask, in words."""
    stop, advice = planned.advice.enough, planned.advice
    if stop is None:
        return (
            "How many people to ask an item needs a pilot of the advised form, in which at least "
            f"two people answered about the same items. Planned are {_people(advice.people)} an "
            "item."
        )
    beyond = " It is still falling there, so this is a lower bound." if stop.beyond else ""
    return (
        f"From {stop.M} people an item on (95 % interval over the pilot's items {stop.low} to "
        f"{stop.high}) another {advice.form} answer moves less than a hundredth of a label's mass; "
        f"{stop.error:.1%} of the mass then still lies elsewhere.{beyond} Planned are "
        f"{_people(advice.people)} an item."
    )
