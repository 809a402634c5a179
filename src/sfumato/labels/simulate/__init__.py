"""Turn labels into answers of simulated people, by parameters or fitted to real ones.

``SIMULATORS`` names the kinds of people there are; ``simulate`` lets one of them answer
about every item of a label set. What comes out says so: annotators are called
``simulated-0001``, … and the provenance has a simulated step.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, assert_never

import numpy as np

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import THRESHOLDS, Beta, Thresholds
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
    Habits,
    SeenHabits,
    TopTwoModel,
    fit_top_two,
    published_top_two,
    simulate_top_two,
)
from sfumato.names import find
from sfumato.provenance import from_json, to_json

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
    return published_top_two(labels, thresholds=thresholds)


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
