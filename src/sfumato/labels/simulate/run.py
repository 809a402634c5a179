"""The whole way to simulated answers: fit, load or make people, let them answer, compare."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build.distances import ORDERED, ClassDistances
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.simulate import SIMULATORS, Model, load_model, save_model, simulate
from sfumato.labels.simulate.crowd import SIMULATED, Thresholds
from sfumato.labels.simulate.held_out import HeldOutCheck, HoldOut, held_out_check
from sfumato.labels.simulate.top_two import (
    HabitsName,
    TopTwoModel,
    compare_marginals,
    fit_top_two,
    published_top_two,
    simulate_top_two,
)
from sfumato.names import find, sorted_names
from sfumato.provenance import Provenance, Step, is_simulated

# Turn answers about some items into answers about all: people's, then those of simulated ones.
#
# People were asked about some items; labels of all items are at hand (votes, hard labels, a
# model's predictions). Simulated people are fitted to what the real ones said and answer about
# the items that nobody was asked about (S2-37). What people said stays as it is; what was made up
# says so in the column ``simulated``, in its annotators' names and in the provenance.

Answer = Callable[[LabelSet], Judgments | Comparisons]
"""Lets simulated people answer about the items of a label set."""


def extend(judgments: Judgments, reference: LabelSet, answer: Answer) -> Judgments:
    """The judgments, untouched, and below them simulated ones about the other items (S2-37).

    ``answer`` are simulated people, most likely fitted to the judgments; they are asked about
    the items of ``reference`` without a judgment that a label could be made from.
    """
    check_extendable(judgments)
    wanted = items_without_answers(judgments, reference)
    made = answer(reference.take(wanted))
    if not isinstance(made, Judgments) or made.question.kind != judgments.question.kind:
        found = made.question.kind if isinstance(made, Judgments) else "comparisons"
        raise DataError(
            f"Answers to {judgments.question.kind} cannot be extended by simulated answers to "
            f"{found}."
        )
    step = Step(
        "extend by simulated answers",
        {
            "items of people": select(judgments).table["item"].n_unique(),
            "answers of people": len(judgments),
            "simulated items": len(wanted),
            "simulated answers": len(made),
            "simulated items, SHA-256": _fingerprint(wanted),
        },
        simulated=True,
    )
    # the fitted people bring the history of the judgments with them
    added = [one for one in made.provenance if one not in judgments.provenance]
    return Judgments(
        judgments.question,
        pl.concat([judgments.table, made.table]),
        judgments.rejected,
        judgments.remarks,
        (*judgments.provenance, *added, step),
    )


def check_extendable(judgments: Judgments) -> None:
    """Refuse answers that are simulated already: simulated people would be fitted to themselves."""
    if is_simulated(judgments.provenance) or judgments.table["simulated"].any():
        raise DataError(
            "These judgments hold simulated answers already. Extend what people said, with as "
            "many simulated answers per item as are wanted."
        )


def items_without_answers(judgments: Judgments, reference: LabelSet) -> list[str]:
    """The items of the reference that no label can be made for from the judgments."""
    judged = set(select(judgments).table["item"].unique().to_list())
    wanted = [item for item in reference.items if item not in judged]
    if not wanted:
        raise DataError(
            f"All {len(reference)} items of the reference have answers of people; there is "
            "nothing to extend. Give labels of further items."
        )
    return wanted


def simulated_items(answers: Judgments | CrowdLabels) -> tuple[str, ...]:
    """The items about which only simulated people answered, in natural order.

    Judgments are told apart by the column ``simulated``; rows of labels by their annotators'
    names.
    """
    if isinstance(answers, Judgments):
        table = answers.table.select("item", made_up=pl.col("simulated").fill_null(False))
    else:
        made_up = [name.startswith(SIMULATED) for name in answers.annotators] + [False]
        table = pl.DataFrame(
            {
                "item": [answers.items[place] for place in answers.item],
                "made_up": [made_up[code] for code in answers.annotator],  # -1: nobody known
            },
            schema={"item": pl.String, "made_up": pl.Boolean},
        )
    found = table.group_by("item").agg(pl.col("made_up").all()).filter("made_up")
    return tuple(sorted_names(found["item"].to_list()))


def _fingerprint(items: list[str]) -> str:
    return hashlib.sha256("\n".join(items).encode()).hexdigest()


# The whole way to simulated answers: fit, load or make people, let them answer, compare.


@dataclass(frozen=True)
class SimulationSettings:
    """Everything about a simulation except the labels that people see."""

    kind: str
    """The simulator's name."""
    per_item: int
    """Answers per item."""
    annotators: int | None = None
    """How many simulated people take turns; left out, as many as answer an item, or as the real
    people where their answers are extended or each simulated person answers as one of them."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """For people made by parameters; the thresholds also for fitted top-two people."""
    model: Path | None = None
    """People saved before."""
    save_model: Path | None = None
    """Where to keep what was fitted."""
    habits: HabitsName | None = None
    """How numbers are drawn (top-two, fitted); published if left out."""
    distances: ClassDistances | None = None
    """What orders the alternatives (top-two); learned if left out."""
    routing: LabelSet | Literal["none"] | None = None
    """Whose entropy says which items are disputed (top-two); that of the labels if left out."""
    items: Literal["all", "without answers"] = "all"
    """Whether to answer about every item, or to extend real answers to the other items."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated answers, beside the real ones that they were fitted to."""

    answers: Judgments | Comparisons
    marginals: list[dict[str, Any]]
    """Marginals of real and simulated people; empty if they did not answer about the same items."""
    people: Model | None = None
    """Who answered; None for people made by parameters."""

    @property
    def format(self) -> str:
        """The format that can hold the answers."""
        return "comparisons" if isinstance(self.answers, Comparisons) else "sfumato"

    def summary(self) -> dict[str, Any]:
        """Counts and marginals as plain numbers; ``elicited`` is what people said, if kept."""
        table = self.answers.table
        real = table.clear()
        if isinstance(self.answers, Judgments):
            real = table.filter(~table["simulated"].fill_null(False))
            table = table.filter(table["simulated"].fill_null(False))
        return {
            "simulated": True,
            "judgments": len(table),
            "people": table["annotator"].n_unique(),
            "items": table[table.columns[0]].n_unique(),
            "elicited": {"judgments": len(real), "items": real[real.columns[0]].n_unique()},
            "order": _order_of(self.answers.provenance),
            "marginals": self.marginals,
        }


def run_simulation(
    settings: SimulationSettings,
    labels: LabelSet,
    *,
    real: Judgments | None,
    rng: np.random.Generator,
) -> Simulation:
    """Simulated answers about ``labels`` by people fitted to ``real``, loaded, or by parameters.

    With ``items="without answers"`` the real answers come first, untouched, and the simulated
    ones are about the items that have none (S2-37).
    """
    simulator = find(SIMULATORS, settings.kind, what="simulator")
    _check(settings, real)
    people = _people(settings, labels, None if real is None else select(real))
    if settings.save_model is not None:
        if people is None or (real is None and settings.model is None):
            raise DataError("There is no model to save: give real judgments to fit to.")
        save_model(people, settings.save_model)
    if people is not None and not isinstance(people, simulator.model):
        raise DataError(
            f"The simulator {settings.kind!r} takes people of its own kind; the model holds "
            f"{type(people).__name__}."
        )
    answer = _answering(_with_people(settings, real), people, rng)
    if settings.items == "without answers":
        assert real is not None
        return Simulation(extend(real, labels, answer), [], people)
    answers = answer(labels)
    return Simulation(answers, _compared(real, answers), people)


def check_habits(
    settings: SimulationSettings,
    real: Judgments,
    reference: LabelSet,
    *,
    hold_out: HoldOut,
    draws: int = 300,
    seed: int = 0,
) -> list[HeldOutCheck]:
    """The held-out check of the habits in the settings, or of all three, on the same halves."""
    if settings.kind != "top-two" or settings.model is not None or settings.save_model is not None:
        raise DataError(
            "The held-out check fits top-two people anew; it takes no other kind and no model."
        )
    check_extendable(real)
    every: tuple[HabitsName, ...] = ("published", "joint", "personal")
    return [
        held_out_check(
            select(real),
            reference,
            hold_out=hold_out,
            habits=habits,
            routing=settings.routing,
            thresholds=_thresholds(settings.kind, settings.parameters),
            draws=draws,
            rng=np.random.default_rng(seed),
        )
        for habits in (every if settings.habits is None else (settings.habits,))
    ]


def _check(settings: SimulationSettings, real: Judgments | None) -> None:
    """Refuse options that would have no effect."""
    of_top_two = {
        "habits": settings.habits,
        "distances of classes": settings.distances,
        "a routing": settings.routing,
    }
    given = [name for name, value in of_top_two.items() if value is not None]
    if settings.kind != "top-two" and given:
        raise DataError(
            f"Only the simulator 'top-two' takes {' and '.join(given)}, not {settings.kind!r}."
        )
    if real is None and settings.habits not in (None, "published"):
        raise DataError(
            f"The habits {settings.habits!r} are real people's answers: give judgments to fit to."
        )
    if real is None and settings.routing == "none":
        raise DataError(
            "Whether items are routed is decided when people are fitted: give judgments to fit to."
        )
    if settings.model is not None and (settings.distances is not None or settings.habits):
        raise DataError("The saved model has its own habits and its own order of classes.")
    if settings.items == "without answers":
        if real is None:
            raise DataError("There is nothing to extend: give the judgments of real people.")
        check_extendable(real)


def _people(settings: SimulationSettings, labels: LabelSet, real: Judgments | None) -> Model | None:
    """Fitted, loaded or, for top-two, made by parameters; None: the simulator makes its own."""
    if settings.model is not None:
        return load_model(settings.model)
    if settings.kind == "top-two":
        return _top_two_people(settings, labels, real)
    if real is None:
        return None
    fit = SIMULATORS[settings.kind].fit
    if fit is None:
        raise DataError(f"The simulator {settings.kind!r} cannot be fitted to real answers.")
    return fit(real, labels)


def _top_two_people(
    settings: SimulationSettings, labels: LabelSet, real: Judgments | None
) -> TopTwoModel:
    thresholds = _thresholds(settings.kind, settings.parameters)
    if real is None:
        return published_top_two(labels, distances=settings.distances, thresholds=thresholds)
    return fit_top_two(
        real,
        labels,
        habits=settings.habits or "published",
        distances=settings.distances,
        routing=settings.routing,
        thresholds=thresholds,
    )


def _thresholds(kind: str, parameters: Mapping[str, float]) -> Thresholds:
    known = SIMULATORS[kind].parameters
    for name in parameters:
        find(known, name, what=f"parameter of the simulator {kind!r}")
    given = {**known, **parameters}
    return Thresholds(given["high_entropy"], given["low_entropy"])


def _with_people(settings: SimulationSettings, real: Judgments | None) -> SimulationSettings:
    like_the_real = settings.items == "without answers" or settings.habits == "personal"
    if settings.annotators is not None or real is None or not like_the_real:
        return settings
    return replace(settings, annotators=max(settings.per_item, len(real.annotators)))


def _answering(
    settings: SimulationSettings, people: Model | None, rng: np.random.Generator
) -> Callable[[LabelSet], Judgments | Comparisons]:
    def answer(labels: LabelSet) -> Judgments | Comparisons:
        if isinstance(people, TopTwoModel):
            routing = settings.routing if isinstance(settings.routing, LabelSet) else None
            return simulate_top_two(
                people,
                labels,
                per_item=settings.per_item,
                annotators=settings.annotators,
                routing=routing,
                rng=rng,
            )
        return simulate(
            settings.kind,
            labels,
            people=people,
            parameters=settings.parameters,
            per_item=settings.per_item,
            annotators=settings.annotators,
            rng=rng,
        )

    return answer


def _compared(real: Judgments | None, answers: Judgments | Comparisons) -> list[dict[str, Any]]:
    if real is None or not isinstance(answers, Judgments):
        return []
    seen = answers.table["item"].is_in(real.table["item"].unique().to_list())
    same = answers.take(seen, Step("take items that real people judged"))
    return compare_marginals(select(real), same).to_dicts() if len(same) else []


def _order_of(provenance: Provenance) -> str | None:
    """What ordered the classes, where anything did."""
    told = [str(step.settings["by"]) for step in provenance if step.name == ORDERED]
    return told[-1] if told else None
