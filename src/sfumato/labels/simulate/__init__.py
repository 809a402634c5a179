"""Turn labels into answers of simulated people, by parameters or fitted to real ones.

``SIMULATORS`` names the kinds of people there are; ``simulate`` lets one of them answer
about every item of a label set. What comes out says so: annotators are called
``simulated-0001``, … and the provenance has a simulated step.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build.distances import ORDERED, ClassDistances
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.simulate.crowd import SIMULATED, THRESHOLDS, Beta, Thresholds
from sfumato.labels.simulate.held_out import HeldOutCheck, HoldOut, held_out_check
from sfumato.labels.simulate.people import (
    NoisyChannel,
    UnsurePeople,
    Voters,
    answer_rates,
    closer_by_position,
    draw_triples,
    fit_unsure_people,
    fit_voters,
    resample_voters,
    send,
    simulate_votes,
    simulate_yes_no_unsure,
    skilled_voters,
)
from sfumato.labels.simulate.top_two import (
    HABITS,
    Habits,
    HabitsName,
    SeenHabits,
    TopTwoModel,
    cifar10s_top_two,
    compare_marginals,
    fit_top_two,
    simulate_top_two,
)
from sfumato.names import find, sorted_names
from sfumato.provenance import Provenance, Step, from_json, is_simulated, to_json

__all__ = [
    "SIMULATORS",
    "Model",
    "Parameters",
    "Simulator",
    "load_model",
    "save_model",
    "simulate",
]

# Turn simulated people into a JSON file and back, so that what was fitted can be used again.

Model = TopTwoModel | Voters | UnsurePeople | NoisyChannel
"""Simulated people of any kind."""

Fields = Mapping[str, Any]


def save_model(model: Model, path: Path) -> None:
    """Write simulated people as JSON; numbers come back exactly as they were."""
    stored = {**_fields(model), "provenance": to_json(model.provenance)}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load_model(path: Path) -> Model:
    """Read what ``save_model`` wrote."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return find(_READERS, stored["model"], what="kind of simulated people")(stored)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path.name} holds no simulated people ({type(error).__name__}: {error}); expected "
            "the JSON that save_model writes."
        ) from None


def _fields(model: Model) -> dict[str, Any]:
    match model:
        case TopTwoModel():
            return {
                "model": "top-two",
                "classes": list(model.classes),
                "high": _stored_habits(model.high),
                "low": _stored_habits(model.low),
                "distances": model.distances.tolist(),
                "thresholds": asdict(model.thresholds),
            }
        case Voters():
            return {
                "model": "voters",
                "classes": list(model.classes),
                "confusion": model.confusion.tolist(),
            }
        case UnsurePeople():
            return {"model": "yes-no-unsure", **{name: getattr(model, name) for name in _NUMBERS}}
        case NoisyChannel():
            return {"model": "triplets", "flip": model.flip}
        case _:
            assert_never(model)


_NUMBERS = ("no_below", "yes_from", "shift", "width", "noise")


def _top_two(stored: Fields) -> TopTwoModel:
    return TopTwoModel(
        tuple(stored["classes"]),
        _habits(stored["high"]),
        _habits(stored["low"]),
        np.array(stored["distances"], dtype=np.float64),
        Thresholds(**stored["thresholds"]),
        from_json(stored["provenance"]),
    )


def _stored_habits(habits: Habits | SeenHabits) -> dict[str, Any]:
    if isinstance(habits, Habits):
        return asdict(habits)
    drawn = [
        [None if math.isnan(number) else number for number in row] for row in habits.drawn.tolist()
    ]
    return {"drawn": drawn, "person": habits.person.tolist()}


def _habits(stored: Fields) -> Habits | SeenHabits:
    if "drawn" in stored:
        drawn = np.array(stored["drawn"], dtype=np.float64)
        return SeenHabits(drawn, np.array(stored["person"], dtype=np.int64))
    top2 = stored["top2"]
    return Habits(
        Beta(**stored["top1"]),
        tuple(stored["possible"]),
        float(stored["naming"]),
        None if top2 is None else Beta(**top2),
        int(stored["answers"]),
    )


def _voters(stored: Fields) -> Voters:
    confusion = np.array(stored["confusion"], dtype=np.float64)
    return Voters(tuple(stored["classes"]), confusion, from_json(stored["provenance"]))


def _unsure_people(stored: Fields) -> UnsurePeople:
    numbers = {name: float(stored[name]) for name in _NUMBERS}
    return UnsurePeople(**numbers, provenance=from_json(stored["provenance"]))


def _channel(stored: Fields) -> NoisyChannel:
    return NoisyChannel(float(stored["flip"]), from_json(stored["provenance"]))


_READERS: dict[str, Callable[[Fields], Model]] = {
    "top-two": _top_two,
    "triplets": _channel,
    "voters": _voters,
    "yes-no-unsure": _unsure_people,
}


# Turn labels into answers of simulated people, by parameters or fitted to real ones.

Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Simulator:
    """A kind of simulated people."""

    about: str
    model: type[Model]
    """What describes such people, and what ``load_model`` must give for them."""
    by_parameters: Callable[..., Model]
    """Makes people without real answers: takes labels, parameters, how many, and ``rng``."""
    function: Callable[..., Judgments | Comparisons]
    """Lets ``people`` answer about ``labels``: takes ``per_item``, ``annotators`` and ``rng``."""
    fit: Callable[[Judgments, LabelSet], Model] | None = None
    """Fits people to real answers about items that the labels describe; None: cannot be fitted."""
    parameters: Parameters = field(default_factory=dict)
    """What ``by_parameters`` can be told, with defaults."""


def simulate(
    name: str,
    labels: LabelSet,
    *,
    people: Model | None = None,
    parameters: Parameters | None = None,
    per_item: int,
    annotators: int | None = None,
    rng: np.random.Generator,
) -> Judgments | Comparisons:
    """``per_item`` simulated answers about each item of ``labels``, by the named simulator.

    ``people`` are fitted or loaded; left out they are made by ``parameters``, where those not
    named keep their defaults. Left out, ``annotators`` is ``per_item``, or for fitted voters
    as many as were fitted.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> rng = np.random.default_rng(0)
    >>> simulate("voters", labels, parameters={"spammers": 1}, per_item=3, rng=rng).annotators
    ['simulated-0001', 'simulated-0002', 'simulated-0003']
    """
    simulator = find(SIMULATORS, name, what="simulator")
    given = dict(parameters or {})
    for parameter in given:
        find(simulator.parameters, parameter, what=f"parameter of the simulator {name!r}")
    if people is None:
        people = simulator.by_parameters(
            labels, {**simulator.parameters, **given}, annotators or per_item, rng
        )
    elif given or not isinstance(people, simulator.model):
        raise DataError(
            f"The simulator {name!r} takes either parameters or fitted people of its own kind; "
            f"found people of the kind {type(people).__name__} and parameters {sorted(given)}."
        )
    return simulator.function(people, labels, per_item=per_item, annotators=annotators, rng=rng)


def _make_top_two(
    labels: LabelSet, given: Parameters, count: int, rng: np.random.Generator
) -> TopTwoModel:
    thresholds = Thresholds(given["high_entropy"], given["low_entropy"])
    return cifar10s_top_two(labels, thresholds=thresholds)


def _make_voters(
    labels: LabelSet, given: Parameters, count: int, rng: np.random.Generator
) -> Voters:
    skill = Beta(given["skill_a"], given["skill_b"])
    return skilled_voters(labels.classes, count, skill=skill, spammers=given["spammers"], rng=rng)


def _vote(
    people: Voters,
    labels: LabelSet,
    *,
    per_item: int,
    annotators: int | None,
    rng: np.random.Generator,
) -> Judgments:
    if annotators is not None and annotators != len(people):
        people = resample_voters(people, annotators, rng=rng)
    return simulate_votes(people, labels, per_item=per_item, rng=rng)


def _make_unsure(
    labels: LabelSet, given: Parameters, count: int, rng: np.random.Generator
) -> UnsurePeople:
    return UnsurePeople(
        no_below=given["no_below"],
        yes_from=given["yes_from"],
        shift=given["shift"],
        width=given["width"],
        noise=given["noise"],
    )


def _fit_unsure(judgments: Judgments, labels: LabelSet) -> UnsurePeople:
    judged = judgments.table["item"].unique(maintain_order=True).to_list()
    return fit_unsure_people(labels.take(judged), answer_rates(judgments))


def _say_yes_or_no(
    people: UnsurePeople,
    labels: LabelSet,
    *,
    per_item: int,
    annotators: int | None,
    rng: np.random.Generator,
) -> Judgments:
    return simulate_yes_no_unsure(
        people, labels, per_item=per_item, annotators=annotators or per_item, rng=rng
    )


def _make_channel(
    labels: LabelSet, given: Parameters, count: int, rng: np.random.Generator
) -> NoisyChannel:
    return NoisyChannel(given["flip"])


def _compare(
    people: NoisyChannel,
    labels: LabelSet,
    *,
    per_item: int,
    annotators: int | None,
    rng: np.random.Generator,
) -> Comparisons:
    """Random triplets, ``per_item`` for each item on average, by distance of the label rows."""
    triples = draw_triples(len(labels), per_item * len(labels), rng=rng)
    closer = closer_by_position(labels.probs, triples)
    return send(
        people,
        labels.items,
        triples,
        closer,
        annotators=annotators or per_item,
        provenance=labels.provenance,
        rng=rng,
    )


SIMULATORS: dict[str, Simulator] = {
    "voters": Simulator(
        "people with confusion matrices who choose one class; by parameters their skill is "
        "drawn from a Beta, with a share of spammers",
        Voters,
        _make_voters,
        _vote,
        fit_voters,
        {"skill_a": 19.0, "skill_b": 1.0, "spammers": 0.0},
    ),
    "top-two": Simulator(
        "the six-step annotators of the thesis: two classes in percent and what it is "
        "definitely not; by parameters with the habits of CIFAR-10S annotators (S2-30…S2-36)",
        TopTwoModel,
        _make_top_two,
        simulate_top_two,
        fit_top_two,
        {"high_entropy": THRESHOLDS.high, "low_entropy": THRESHOLDS.low},
    ),
    "yes-no-unsure": Simulator(
        "people with thresholds of their own who say yes, no or unsure about every class (S4-59)",
        UnsurePeople,
        _make_unsure,
        _say_yes_or_no,
        _fit_unsure,
        {"no_below": 0.2, "yes_from": 0.5, "shift": 0.04, "width": 0.3, "noise": 0.04},
    ),
    "triplets": Simulator(
        "which of two items is closer to a third, by distance of their labels, each answer "
        "flipped with a given probability (S1-20)",
        NoisyChannel,
        _make_channel,
        _compare,
        parameters={"flip": 0.1},
    ),
}
"""Everyone who can be simulated, by the name a user types."""


# The whole way to simulated answers: fit, load or make people, let them answer, compare.


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
    """How numbers are drawn (top-two); independent if left out. ``published`` is the thesis, which
    needs ``distances``."""
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
    """The held-out check of the habits in the settings, or of all, on the same halves."""
    if settings.kind != "top-two" or settings.model is not None or settings.save_model is not None:
        raise DataError(
            "The held-out check fits top-two people anew; it takes no other kind and no model."
        )
    check_extendable(real)
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
        for habits in (HABITS.values() if settings.habits is None else (settings.habits,))
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
    if settings.habits == "published" and settings.distances is None:
        raise DataError(
            "The habits 'published' are the thesis's (B.5), which orders alternatives by word "
            "vectors: give vectors or distances of the classes, or use the habits 'independent'."
        )
    if real is None and settings.habits not in (None, "independent", "published"):
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
        return cifar10s_top_two(
            labels,
            habits="published" if settings.habits == "published" else "independent",
            distances=settings.distances,
            thresholds=thresholds,
        )
    return fit_top_two(
        real,
        labels,
        habits=settings.habits or "independent",
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
