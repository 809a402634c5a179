"""What a plan was asked about and answered, and what it takes each form to cost and to err."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log

import numpy as np

from sfumato.planning.advise import Advice, Task
from sfumato.planning.cost import WITH_KEPT, Cost, assumed_cost
from sfumato.planning.pilot import Piloted
from sfumato.studies.planned.simulated import TYPICAL_NOISE, Sizes, dimensions_of, noise_at

__all__ = ["Pair", "Planned", "compared", "error_of", "noises", "prices", "with_title"]

DRAWN = ("hard", "soft", *WITH_KEPT)
"""The forms that the paper's figures compare, whatever was asked about."""

NUMBERS = ("soft", "typicality", *WITH_KEPT)
"""The forms in which people say how much, not only which."""

LEAST = 0.01
"""Noise below this counts as so much in a geometric mean, which a zero would undo."""

Pair = tuple[str, int | None]
"""A form and its k̂."""


@dataclass(frozen=True, eq=False)
class Planned:
    """What a plan was asked about, and what it answered."""

    task: Task
    advice: Advice
    pilots: tuple[Piloted, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    """Given ones, by form."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Given ones, by form."""
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    """Names of what was read to the SHA-256 of their content."""


def with_title(form: str, kept: int | None) -> str:
    """A form and its k̂ in words.

    >>> with_title("sparse", 2), with_title("hard", None)
    ('sparse (2 classes)', 'hard')
    """
    return form if kept is None else f"{form} ({kept} classes)"


def compared(planned: Planned) -> tuple[Pair, Pair]:
    """The advised form, and the best of the others: two forms to hold against each other."""
    advice = planned.advice
    first = (advice.form, advice.kept)
    others = [each for each in advice.alternatives if each.form != advice.form]
    if others:
        return first, (others[0].form, others[0].kept)
    return first, ("soft" if advice.form == "hard" else "hard", None)


def prices(planned: Planned) -> dict[str, Cost]:
    """The cost of an answer of every form to be drawn, given, measured or assumed.

    An assumed cost is the paper's, so much a number in the answer (S1-31), at the least price of a
    number among known forms: those that ask for numbers, if it does too and there are any.
    """
    task = planned.task
    known = {each.form: each.cost for each in planned.pilots if each.cost is not None}
    known |= planned.costs
    forms = dict.fromkeys([*DRAWN, *(each.form for each in planned.advice.alternatives), *known])
    kept = task.kept[0] if task.kept else 2
    plain = {form: assumed_cost(form, classes=task.classes, kept=kept) for form in forms}
    if not known:
        return plain
    unit = next(iter(known.values())).unit
    return {
        form: known[form]
        if form in known
        else replace(
            cost, value=cost.value * _price_of_a_number(form, known, task.classes, kept), unit=unit
        )
        for form, cost in plain.items()
    }


def _price_of_a_number(form: str, known: Mapping[str, Cost], classes: int, kept: int) -> float:
    alike = [cost for cost in known.values() if cost.form in NUMBERS and form in NUMBERS]
    return min(cost.value / _inputs(cost, classes, kept) for cost in alike or known.values())


def _inputs(cost: Cost, classes: int, kept: int) -> float:
    return assumed_cost(cost.form, classes=classes, kept=cost.kept or kept).value


def error_of(planned: Planned, form: str) -> tuple[float, str] | None:
    """ε of a form where it was given or measured, and which of the two."""
    if form in planned.errors:
        return planned.errors[form], "given"
    for piloted in planned.pilots:
        if piloted.form == form:
            return piloted.error.flipped, "measured"
    return None


def noises(planned: Planned, sizes: Sizes) -> dict[str, float]:
    """How noisy people are taken to be in each form, in spreads of an item's log-probabilities.

    Where an error rate is known, the noise at which simulated people contradict one another as
    often; elsewhere the geometric mean of the known ones (those of forms that ask for numbers, if
    it does too and there are any), or what the advice assumes.
    """
    kept = {each.form: each.kept for each in planned.advice.alternatives}
    usual = planned.task.kept[0] if planned.task.kept else 2
    known = {}
    for form in dict.fromkeys((*DRAWN, *kept)):
        if (error := error_of(planned, form)) is not None:
            asked = (kept.get(form) or usual) if form in WITH_KEPT else None
            differ = 2 * error[0] * (1 - error[0])  # of two answers that err on their own
            dims = dimensions_of(planned.task)
            known[form] = noise_at(form, asked, differ, sizes=sizes, dimensions=dims)
    return {form: _noise_like(form, known) for form in dict.fromkeys((*DRAWN, *kept))}


def _noise_like(form: str, known: Mapping[str, float]) -> float:
    if form in known:
        return known[form]
    if not known:
        return TYPICAL_NOISE
    alike = [noise for other, noise in known.items() if other in NUMBERS and form in NUMBERS]
    return exp(float(np.mean([log(max(noise, LEAST)) for noise in alike or known.values()])))
