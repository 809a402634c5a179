"""Whom to pay what: decisions, the bonus against a plain reckoning, and who gains by lying."""

import csv
import io
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.elicit.conftest import Desk, fill_desk, make_study

from sfumato.elicit.admin.acts import decide_pay
from sfumato.elicit.live.live import Live
from sfumato.elicit.pay import (
    labels_so_far,
    pay_list,
    pay_table,
    quadratic_score,
    simulate_bonus,
    write_pay_list,
)
from sfumato.elicit.session import commands
from sfumato.elicit.storage.database import open_database
from sfumato.errors import DataError

SAID = {"ann": "cat", "bob": "cat", "eve": "dog", "dan": "deer"}
shares = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(lambda one: np.array(one))


def desk_in(folder: Path, **recruiting: Any) -> Desk:
    settings = {"pay": 2.0, "bonus": 1.0, **recruiting}
    study = make_study(layout={"trials_per_person": 12}, per_item=9, recruiting=settings)
    desk = fill_desk(open_database(f"sqlite:///{folder / 's.sqlite'}"), study, 12, {})
    for person, said in SAID.items():
        desk.finish(desk.enter(person), said)
    return desk


def lines_of(desk: Desk) -> dict[str, Any]:
    live = Live(desk.database, desk.collection, clock=lambda: desk.now)
    return {line.platform_id: line for line in pay_list(live, desk.connection)}


def test_bonus_is_the_quadratic_score_against_all_others(tmp_path: Path) -> None:
    found = lines_of(desk_in(tmp_path))

    # All four answered about all items: ann's others said cat, dog, deer; eve's cat, cat, deer.
    by_hand = {"ann": 2 / 3 - 1, "bob": 2 / 3 - 1, "eve": -1.0, "dan": -1.0}
    assert {name: line.score for name, line in found.items()} == pytest.approx(by_hand, abs=1e-4)
    assert found["ann"].bonus == round((1 + 2 / 3 - 1) / 2, 2)
    assert found["eve"].bonus == 0
    assert {line.base for line in found.values()} == {2.0}
    assert {line.answers for line in found.values()} == {12}


def test_excluded_are_paid_and_scored_but_are_nobody_elses_others(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    desk.run(commands.exclude, participant=3, rule="by hand", who="test")  # eve

    found = lines_of(desk)

    assert found["eve"].decision == "approve"
    assert found["eve"].data == "left out by by hand"
    assert found["eve"].score == -1.0
    assert found["ann"].score == pytest.approx(2 * 0.5 - 1)  # bob and dan


def test_refused_and_unfinished_get_nothing(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    desk.screen(desk.enter("fay"))
    desk.run(decide_pay, participant=1, refused="wrote =nonsense", who="test")

    found = lines_of(desk)

    assert (found["ann"].decision, found["ann"].reason) == ("reject", "wrote =nonsense")
    assert (found["fay"].decision, found["fay"].reason) == ("none", "has not finished")
    assert found["ann"].base == found["ann"].bonus == found["fay"].base == 0


def test_list_is_private_and_holds_what_no_export_holds(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    lines = list(lines_of(desk).values())
    write_pay_list(lines, tmp_path / "pay.csv")

    text = (tmp_path / "pay.csv").read_text()
    assert text == pay_table(lines)
    assert stat.S_IMODE((tmp_path / "pay.csv").stat().st_mode) == 0o600
    assert [row["platform_id"] for row in csv.DictReader(io.StringIO(text))] == list(SAID)
    with pytest.raises(DataError, match=r"\.csv"):
        write_pay_list(lines, tmp_path / "pay.xlsx")


def test_without_pay_and_sessions_nobody_can_be_paid(tmp_path: Path) -> None:
    study = make_study(recruiting={"hourly": 9.0})
    desk = fill_desk(open_database(f"sqlite:///{tmp_path / 's.sqlite'}"), study, 12, {})

    with pytest.raises(DataError, match=r"recruiting\.pay is not set"):
        lines_of(desk)


@given(shares, shares)
def test_no_answer_scores_more_than_what_others_answer(stated: Any, others: Any) -> None:
    p, q = stated / stated.sum(), others / others.sum()

    assert quadratic_score(p[None], q[None]) <= quadratic_score(q[None], q[None]) + 1e-12
    assert -1 <= quadratic_score(p[None], q[None])[0] <= 1


def test_simulated_people_who_say_what_they_expect_get_most(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    live = Live(desk.database, desk.collection, clock=lambda: desk.now)
    live.refresh()
    study = desk.collection.study

    for labels in (None, labels_so_far(live.known)):
        found = simulate_bonus(study, labels, most=2.0, rng=np.random.default_rng(0))
        means = dict(found.select("strategy", "mean").rows())

        assert max(means, key=lambda name: means[name]) == "expects"
        assert means["random"] == min(means.values())
        assert (found["high"] <= 2.0).all()
