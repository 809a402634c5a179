"""Who sees what: balance, caps, places, repeats, checks; with people who drop out."""

import contextlib
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicit.design.study import Layout
from sfumato.elicit.refusals import CollectionClosed, Conflict, Forbidden, UnknownToken
from sfumato.elicit.session import commands
from sfumato.elicit.session.screen import BackGiven, DoneScreen, TrialScreen
from sfumato.elicit.session.sitting import is_main, lay_out, main_place


def finished(desk: Any) -> list[int]:
    return [row[0] for row in desk.rows("SELECT finished FROM stimulus WHERE role = 'main'")]


def test_simulated_people_who_drop_out_leave_every_item_full_and_none_over_the_cap(
    open_desk: Any, a_study: Any
) -> None:
    study = a_study(per_item=4, layout={"trials_per_person": 5}, reserve_minutes=10)
    desk = open_desk(study, items=20)
    rng = np.random.default_rng(1)
    running: list[tuple[str, Any]] = []
    entered = 0
    while running or entered < 200:
        desk.now += float(rng.uniform(1, 30))
        if rng.random() < 0.3:
            try:
                token = desk.enter(f"p{entered}")
            except CollectionClosed:
                desk.now += 601
            else:
                running.append((token, desk.screen(token)))
            entered += 1
        if running:
            token, shown = running.pop(int(rng.integers(len(running))))
            if rng.random() < 0.2 / 5:  # a fifth of the people leave before the end
                continue
            shown = desk.answer(token, shown.trial.id, "dog")
            if isinstance(shown, TrialScreen):
                running.append((token, shown))
        if rng.random() < 0.1:
            desk.run(commands.expire)
        if entered % 40 == 0:
            desk.check_counters()

    desk.check_counters()
    assert set(finished(desk)) == {4}


def test_items_never_differ_by_more_than_one_while_people_come(
    open_desk: Any, a_study: Any
) -> None:
    study = a_study(per_item=6, layout={"trials_per_person": 5})
    desk = open_desk(study, items=13)

    for person in range(8):
        desk.finish(desk.enter(f"p{person}"))
        counts = finished(desk)
        assert max(counts) - min(counts) <= 1


def test_freed_places_are_filled_before_others(open_desk: Any, a_study: Any) -> None:
    study = a_study(per_item=3, layout={"trials_per_person": 5}, reserve_minutes=10)
    desk = open_desk(study, items=10)
    for person in range(3):
        token = desk.enter(f"leaves{person}")
        shown = desk.screen(token)
        for _ in range(4):
            shown = desk.answer(token, shown.trial.id)
    desk.now += 700
    desk.run(commands.expire)
    before = dict(desk.rows("SELECT id, finished FROM stimulus"))

    token = desk.enter("stays")
    desk.finish(token)

    chosen = desk.rows("SELECT stimulus FROM trial WHERE session = (SELECT max(id) FROM session)")
    assert sorted(before[row[0]] for row in chosen) == sorted(before.values())[:5]
    desk.check_counters()


def test_nobody_sees_a_stimulus_twice_not_even_in_a_second_session(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 6}), items=12)
    token = desk.enter("ann")
    shown = desk.screen(token)
    for _ in range(4):
        shown = desk.answer(token, shown.trial.id)
    desk.now += 25 * 3600

    entered = desk.run(commands.enter, platform="link", platform_id="ann")
    desk.finish(entered.token)

    assert not entered.resumed
    rows = desk.rows("SELECT stimulus FROM trial WHERE opened IS NOT NULL")
    assert len(rows) == len(set(rows)) == 5 + 6
    assert desk.rows("SELECT ended FROM session ORDER BY id") == [("lapsed",), ("finished",)]
    assert desk.count("participant") == 1
    desk.check_counters()


def test_session_is_resumed_within_its_hours(desk: Any) -> None:
    token = desk.enter("ann")
    first = desk.screen(token)
    desk.now += 23 * 3600

    entered = desk.run(commands.enter, platform="link", platform_id="ann")

    assert entered.resumed
    assert desk.screen(entered.token).trial.id == first.trial.id


def test_places_are_capped_and_those_who_left_for_good_give_theirs_back(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(recruiting={"places": 2}))
    desk.enter("ann")
    ben = desk.enter("ben")

    with pytest.raises(CollectionClosed) as refused:
        desk.enter("cleo")
    desk.run(commands.return_submission, platform="link", platform_id="ann")
    desk.enter("cleo")
    with pytest.raises(CollectionClosed):
        desk.enter("dora")
    desk.now += 25 * 3600
    desk.enter("dora")

    assert refused.value.reason == "full"
    assert ben


def test_s11_a_hundred_forged_ids_are_capped_and_those_inside_unaffected(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(recruiting={"places": 3}))
    honest = desk.enter("honest")

    refused = 0
    for number in range(100):
        try:
            desk.enter(f"forged{number}")
        except CollectionClosed:
            refused += 1

    assert refused == 98
    assert desk.count("participant") == 3
    assert isinstance(desk.finish(honest), DoneScreen)


def test_without_a_number_of_places_people_enter_until_the_items_are_promised(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(per_item=2, layout={"trials_per_person": 6}), items=6)

    desk.enter("ann")
    desk.enter("ben")
    with pytest.raises(CollectionClosed):
        desk.enter("cleo")
    desk.now += 31 * 60  # ann and ben do nothing: their items go to others

    desk.enter("cleo")


def test_s15_consent_is_stored_with_its_text_and_declining_stores_nothing(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(welcome={"consent": ["I agree."], "consent_version": "2"}))

    for version in (None, "", "1"):
        with pytest.raises(Forbidden):
            desk.enter("ann", consent_version=version)
    everything = sum(desk.count(name) for name in ("participant", "session", "flag", "audit"))
    desk.enter("ann", consent_version="2")

    assert everything == 0
    stored = desk.rows("SELECT consent_version, consent_hash, consent_at FROM participant")[0]
    assert stored == ("2", desk.collection.consent_hash, desk.now)


def test_study_without_consent_records_that_nobody_was_asked(desk: Any) -> None:
    desk.enter()

    assert desk.rows("SELECT consent_version FROM participant") == [("not asked",)]


def test_entry_for_another_study_is_refused(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(recruiting={"study_id": "right"}))

    with pytest.raises(Forbidden, match="another study"):
        desk.enter("ann", study_id="wrong")
    desk.enter("ann", study_id="right")


def test_returned_session_frees_its_places_and_shows_that_it_ended(desk: Any) -> None:
    token = desk.enter("ann", platform_session="one")
    desk.answer(token, desk.screen(token).trial.id)

    ended = desk.run(commands.return_submission, platform="link", platform_id="ann")

    assert ended == 1
    assert desk.rows("SELECT sum(finished), sum(reserved) FROM stimulus") == [(1, 0)]
    assert desk.screen(token).reason == "returned"
    with pytest.raises(CollectionClosed):
        desk.enter("ann", platform_session="one")
    assert desk.run(commands.return_submission, platform="link", platform_id="nobody") == 0
    desk.check_counters()


def test_session_has_practice_checks_and_repeats_in_their_places(
    open_desk: Any, a_study: Any
) -> None:
    layout = {"trials_per_person": 6, "practice": 2, "checks_every": 3, "repeat_numbers": [2, 5]}
    desk = open_desk(a_study(layout=layout), checks=4, practice=3)

    desk.finish(desk.enter())

    rows = desk.rows("SELECT view, stimulus, repeats_trial, id FROM trial ORDER BY number")
    views = [row[0] for row in rows]
    main = [row for row in rows if row[0] == "first"]
    assert views[:2] == ["practice"] * 2
    assert Counter(views[2:6]) == Counter(views[6:10]) == {"first": 3, "check": 1}
    assert views[10:] == ["repeat"] * 2
    assert [(row[1], row[2]) for row in rows[-2:]] == [
        (main[1][1], main[1][3]),
        (main[4][1], main[4][3]),
    ]
    desk.check_counters()


def test_missing_checks_make_the_session_shorter_and_are_flagged(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 4, "checks_every": 1}), checks=2)

    last = desk.finish(desk.enter())

    assert isinstance(last, DoneScreen)
    assert Counter(row[0] for row in desk.rows("SELECT view FROM trial")) == {
        "first": 4,
        "check": 2,
    }
    assert desk.rows("SELECT kind FROM flag") == [("ran-out",)] * 2


def test_trials_are_spread_over_the_classes(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 8, "per_class": True}), items=40)

    desk.finish(desk.enter())

    strata = desk.rows(
        "SELECT stratum, count(*) FROM trial t JOIN stimulus s ON s.id = t.stimulus "
        "GROUP BY stratum"
    )
    assert dict(strata) == {"cat": 2, "dog": 2, "deer": 2, "horse": 2}


def test_class_without_items_left_is_made_up_for_by_others(open_desk: Any, a_study: Any) -> None:
    layout = {"trials_per_person": 8, "per_class": True}
    desk = open_desk(a_study(layout=layout), items=16)
    for number in desk.rows("SELECT id FROM stimulus WHERE stratum = 'cat'"):
        desk.run(commands.pause, stimulus=number[0], paused=True, who="admin")

    desk.finish(desk.enter())

    assert desk.count("answer") == 8


def test_whole_batches_are_given_out_evenly(open_desk: Any, a_study: Any) -> None:
    study = a_study(per_item=2, layout={"trials_per_person": 5, "whole_batches": True})
    desk = open_desk(study, items=20, batches=4)

    tokens = [desk.enter(f"p{number}") for number in range(8)]
    with pytest.raises(CollectionClosed):
        desk.enter("one too many")
    for token in tokens:
        desk.finish(token)

    batches = Counter(row[0] for row in desk.rows("SELECT batch FROM session"))
    assert set(batches.values()) == {2}
    assert set(finished(desk)) == {2}
    per_session = desk.rows(
        "SELECT count(DISTINCT s.batch) FROM trial t JOIN stimulus s ON s.id = t.stimulus "
        "GROUP BY t.session"
    )
    assert set(per_session) == {(1,)}


def test_excluding_opens_places_and_including_takes_them_back_where_free(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(per_item=1, layout={"trials_per_person": 4}), items=4)
    desk.finish(desk.enter("ann"))
    ann = desk.rows("SELECT id FROM participant")[0][0]

    opened = desk.run(commands.exclude, participant=ann, rule="checks", who="admin")
    ben = desk.enter("ben")
    desk.answer(ben, desk.screen(ben).trial.id)
    desk.check_counters()
    desk.run(commands.return_submission, platform="link", platform_id="ben")
    back = desk.run(commands.include, participant=ann, who="admin")

    assert (opened, back) == (4, 3)
    assert finished(desk) == [1] * 4
    assert desk.count("answer") == 5
    desk.check_counters()


def test_answers_of_an_excluded_person_are_kept_but_not_counted(desk: Any) -> None:
    token = desk.enter("ann")
    shown = desk.answer(token, desk.screen(token).trial.id)
    desk.run(commands.exclude, participant=1, rule="checks", who="admin")

    desk.answer(token, shown.trial.id)

    assert desk.count("answer") == 2
    assert sum(finished(desk)) == 0
    desk.check_counters()


def test_s14_withdrawing_leaves_a_count_and_nothing_else(open_desk: Any, a_study: Any) -> None:
    study = a_study(layout={"trials_per_person": 3}, welcome={"debrief": ["Well?"]})
    desk = open_desk(study)
    desk.finish(desk.enter("ann"))
    ben = desk.enter("ben")
    desk.answer(ben, desk.screen(ben).trial.id)

    erased = desk.run(commands.withdraw, participant=2, who="admin")

    assert erased == 1
    assert desk.rows("SELECT answers FROM withdrawal") == [(1,)]
    assert [desk.count(name) for name in ("participant", "participant_identity", "session")] == [
        1,
        1,
        1,
    ]
    assert desk.count("answer") == 3
    with pytest.raises(Conflict):
        desk.run(commands.withdraw, participant=2, who="admin")
    desk.check_counters()


@given(
    trials=st.integers(1, 30),
    practice=st.integers(0, 3),
    every=st.integers(0, 7),
    repeats=st.integers(0, 5),
    strata=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_plans_hold_what_the_layout_asks_for(
    trials: int, practice: int, every: int, repeats: int, strata: int, seed: int
) -> None:
    repeats, every = min(repeats, trials - 1), min(every, trials)
    layout = Layout(
        trials_per_person=trials,
        practice=practice,
        checks_every=every,
        repeats=repeats,
        per_class=strata > 0,
    )
    names = [f"s{number}" for number in range(strata)]

    plan = lay_out(layout, strata=names, batch=[], rng=np.random.default_rng(seed))

    main = [slot for slot in plan if is_main(slot)]
    per_stratum = Counter(main).values()
    numbers = [int(slot.split(":")[1]) for slot in plan if slot.startswith("repeat")]
    assert len(main) == trials
    assert plan.count("practice") == practice
    assert plan.count("check") == (trials // every if every else 0)
    assert len(set(numbers)) == len(numbers) == repeats
    assert trials not in numbers  # the last one would still be in memory
    assert not strata or max(per_stratum) - min(per_stratum) <= 1
    assert all(is_main(plan[main_place(plan, number)]) for number in numbers)


ACTIONS = ("enter", "answer", "answer", "answer", "change", "leave", "wait", "expire", "late")


@given(actions=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)), max_size=40))
def test_whatever_simulated_people_do_the_counters_agree_and_no_cap_is_passed(
    desk_in_memory: Any, actions: list[tuple[str, int]]
) -> None:
    layout = {"trials_per_person": 3, "checks_every": 2, "repeats": 1}
    desk = desk_in_memory(4, roles={"checks": 2}, per_item=2, layout=layout)
    people: list[list[Any]] = []
    left: list[tuple[str, int]] = []
    for number, (action, which) in enumerate(actions):
        person = people[which % len(people)] if people else None
        match action:
            case "enter":
                with contextlib.suppress(CollectionClosed):
                    token = desk.enter(f"p{number}")
                    people.append([token, desk.screen(token)])
            case "answer" if person and isinstance(person[1], TrialScreen):
                person[1] = desk.answer(person[0], person[1].trial.id, "dog")
            case "change" if person and isinstance(person[1], TrialScreen):
                with contextlib.suppress(Conflict, UnknownToken):
                    back = BackGiven(trial=person[1].trial.id)
                    person[1] = desk.run(commands.back, token=person[0], given=back)
            case "leave" if person:
                people.remove(person)
                if isinstance(person[1], TrialScreen):
                    left.append((person[0], person[1].trial.id))
            case "wait":
                desk.now += which * 1_800
            case "expire":
                desk.run(commands.expire)
            case "late" if left:
                token, trial = left.pop()
                desk.answer(token, trial, "deer")
        desk.check_counters()
    desk.now += 25 * 3600
    desk.run(commands.expire)

    desk.check_counters()
    assert desk.rows("SELECT sum(reserved) FROM stimulus") == [(0,)]
    assert (
        desk.count("answer")
        == desk.rows("SELECT count(*) FROM trial WHERE state = 'answered'")[0][0]
    )
    desk.connection.close()


def test_ties_are_decided_at_random(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(per_item=50, layout={"trials_per_person": 1}), items=5)

    firsts = Counter(
        json.dumps(desk.screen(desk.enter(f"p{number}")).trial.images) for number in range(60)
    )

    assert len(firsts) == 5  # and evenly, because the least shown comes first
    assert set(firsts.values()) == {12}
    order = [row[0] for row in desk.rows("SELECT stimulus FROM trial ORDER BY id")]
    rounds = {tuple(order[place : place + 5]) for place in range(0, 60, 5)}
    assert len(rounds) > 3
