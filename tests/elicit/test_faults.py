"""Faults that an attack on a study found: each has a test of its number, none may come back.

Those of the page and of the running server stand in ``page`` and ``web``.
"""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.elicit.making.make import new_study
from sfumato.elicit.refusals import CollectionClosed
from sfumato.elicit.session.answers import check_answer, longest_answer
from sfumato.errors import DataError
from sfumato.judgments.question import ask


def noise(count: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {f"item{place}": rng.integers(0, 255, (8, 8), np.uint8) for place in range(count)}


def test_fault_01_new_refuses_what_could_not_be_answered(tmp_path: Path) -> None:
    names = [f"{place:04d} {'a very long name ' * 10}end" for place in range(3_000)]

    with pytest.raises(DataError, match=r"3,000 classes could have .* bytes"):
        new_study(tmp_path / "s", images=noise(), classes=names, preset="distribution", seed=0)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("kind", ["yes-no-unsure", "sliders", "distribution", "top-two", "sparse"])
def test_fault_01_longest_answer_bounds_every_answer(kind: Any) -> None:
    classes = tuple(f"{place:03d} Großer „Blauer“ Häher 🐦 \"x\\y\" {place}" for place in range(60))
    question = ask(kind, classes)
    third = 100 / 3
    said: dict[str, Any] = {
        "yes-no-unsure": dict.fromkeys(classes, "unsure"),
        "sliders": dict.fromkeys(classes, 1 / 3),
        "distribution": {**dict.fromkeys(classes[:3], third), "ruled_out": list(classes[3:])},
        "top-two": {
            "first": classes[0],
            "first_percent": "9" * 2_000,
            "second": classes[1],
            "second_percent": "ä" * 2_000,
            "ruled_out": list(classes),
        },
        "sparse": dict.fromkeys(classes[:2], 1 / 3),
    }
    text = check_answer(question, said[kind], mode="faithful", shown={}).text

    assert json.loads(text) == said[kind]
    assert len(text) <= longest_answer(question)


def squat(desk: Any, count: int, *, address: str = "attacker") -> None:
    """Enter under invented ids, as many as there are places for."""
    with contextlib.suppress(CollectionClosed):
        for number in range(count):
            desk.enter(f"invented{number}", address=address)


def test_fault_04_invented_ids_keep_nobody_out(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(recruiting={"places": 20}), 60)
    squat(desk, 25)

    for number in range(10):
        squat(desk, 5)  # it goes on meanwhile
        token = desk.enter(f"honest{number}", address=f"home{number}")
        assert desk.screen(token).stage == "trials"
    running = desk.rows("SELECT count(*) FROM session WHERE ended IS NULL")
    assert running == [(20,)]
    for number in range(10):
        assert desk.finish(desk.enter(f"honest{number}", address=f"home{number}")).stage == "done"


def test_fault_04_nor_where_the_items_are_the_places(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 10}), 12)
    squat(desk, 25)

    token = desk.enter("honest", address="home")

    assert desk.finish(token).stage == "done"
    desk.check_counters()


def test_fault_04_nor_where_people_get_whole_batches(open_desk: Any, a_study: Any) -> None:
    study = a_study(layout={"trials_per_person": 4, "whole_batches": True})
    desk = open_desk(study, 12, batches=3)
    squat(desk, 40)

    assert desk.finish(desk.enter("honest", address="home")).stage == "done"
    desk.check_counters()


def test_fault_04_who_answers_or_is_alone_is_not_displaced(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(recruiting={"places": 3}), 60)
    at_work = desk.enter("ann", address="home")
    desk.answer(at_work, desk.screen(at_work).trial.id)
    reading = desk.enter("bob", address="office")
    third = desk.enter("cyd", address="office")
    desk.answer(third, desk.screen(third).trial.id)

    with pytest.raises(CollectionClosed):  # the one who reads is the only one of that address
        desk.enter("dan", address="elsewhere")
    for token in (at_work, reading, third):
        assert desk.screen(token).stage == "trials"


def test_fault_04_place_of_who_never_began_is_free_after_minutes(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(recruiting={"places": 2}), 60)
    for number in range(2):
        desk.enter(f"invented{number}", address=f"bot{number}")
    with pytest.raises(CollectionClosed):
        desk.enter("honest", address="home")
    desk.now += 11 * 60

    assert desk.finish(desk.enter("honest", address="home")).stage == "done"
