from collections.abc import Callable
from typing import Any

from sfumato.elicit.session import commands
from sfumato.elicit.status import status_of


def test_status_counts_people_answers_items_signs_time_and_pay(
    open_desk: Callable[..., Any], a_study: Callable[..., Any]
) -> None:
    study = a_study(
        per_item=2,
        layout={"trials_per_person": 6, "repeats": 1, "checks_every": 3},
        recruiting={"pay": 1.5, "hourly": 9.0},
    )
    desk = open_desk(study, 12, checks=2)
    ann = desk.enter("ann")
    shown = desk.screen(ann)
    desk.answer(ann, shown.trial.id, timing={"seconds": 0.1})
    desk.now += 600 - 9 * 1.5  # ten minutes in all
    desk.finish(ann)
    away = desk.enter("bob")
    desk.answer(away, desk.screen(away).trial.id)
    desk.enter("eva")
    desk.run(commands.withdraw, participant=3, who="test")
    desk.now += 3600
    late = desk.enter("cem")
    desk.answer(late, desk.screen(late).trial.id)
    desk.run(commands.exclude, participant=2, rule="checks", who="test")
    desk.run(commands.close, who="test")

    found = status_of(desk.connection, study, now=desk.now)

    assert found["people"] == {
        "entered": 3,
        "finished": 1,
        "active": 1,
        "away": 1,
        "screened_out": 0,
        "returned": 0,
        "lapsed": 0,
        "excluded": 1,
        "withdrawn": 1,
    }
    assert found["answers"] == {"check": 2, "first": 8, "repeat": 1}
    assert found["items"] == {"stimuli": 12, "min": 0, "median": 1.0, "max": 1, "at_target": 0}
    assert found["flags"]["fast"] == 1
    assert (found["closed"], found["late"], found["median_seconds"]) == (True, 0, 1.0)
    assert found["median_minutes_a_session"] == 10.0
    assert found["hourly_pay"] == {"amount": 9.0, "currency": "GBP", "meant": 9.0}


def test_status_of_a_study_that_nobody_entered_has_no_medians(desk: Any) -> None:
    found = status_of(desk.connection, desk.collection.study, now=desk.now)

    assert found["people"]["entered"] == 0
    assert (found["answers"], found["flags"]) == ({}, {})
    assert found["items"]["median"] == 0.0
    assert found["median_seconds"] is found["hourly_pay"] is None
