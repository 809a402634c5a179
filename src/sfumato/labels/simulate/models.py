"""Turn simulated people into a JSON file and back, so that what was fitted can be used again."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, assert_never

import numpy as np

from sfumato.errors import DataError
from sfumato.labels.simulate.beta import Beta
from sfumato.labels.simulate.habits import Habits, SeenHabits
from sfumato.labels.simulate.routing import Thresholds
from sfumato.labels.simulate.top_two import TopTwoModel
from sfumato.labels.simulate.triplets import NoisyChannel
from sfumato.labels.simulate.voters import Voters
from sfumato.labels.simulate.yes_no_unsure import UnsurePeople
from sfumato.names import find
from sfumato.provenance import from_json, to_json

__all__ = ["Model", "load_model", "save_model"]

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
