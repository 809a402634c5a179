"""The commands, on both databases; tests named after requirements of the notes carry their id."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from sfumato.elicit.refusals import (
    CollectionClosed,
    Conflict,
    InvalidAnswer,
    UnknownToken,
    UnknownTrial,
)
from sfumato.elicit.session import commands
from sfumato.elicit.session.screen import (
    AnswerGiven,
    BackGiven,
    ClosedScreen,
    ComprehensionScreen,
    DebriefScreen,
    DoneScreen,
    InstructionsScreen,
    ProceedGiven,
    TrialScreen,
)

CHECKS = [{"question": "What?", "choices": ["a", "b"], "right": "a"}]


def test_session_goes_from_first_trial_to_code(desk: Any) -> None:
    token = desk.enter()

    last = desk.finish(token)

    assert isinstance(last, DoneScreen)
    assert last.code
    assert desk.count("answer") == 6
    assert desk.rows("SELECT stage, ended, position FROM session") == [("done", "finished", 6)]
    desk.check_counters()


def test_s1_forged_truncated_and_other_studies_tokens_are_unknown(
    desk: Any, a_study: Callable[..., Any]
) -> None:
    token = desk.enter()

    for forged in ("", token[:-1], token + "x", "\ud800", "' OR 1=1 --"):
        with pytest.raises(UnknownToken):
            desk.screen(forged)
    other = commands.screen
    renamed = desk.collection.study.model_copy(update={"name": "plants"})
    with pytest.raises(UnknownToken):
        other(
            desk.connection,
            type(desk.collection)(**{**vars(desk.collection), "study": renamed}),
            now=desk.now,
            rng=desk.rng,
            token=token,
        )
    assert desk.count("trial") == 0


def test_s1_tokens_are_stored_hashed(desk: Any) -> None:
    token = desk.enter()

    stored = desk.rows("SELECT token_hash FROM session_token")

    assert len(token) >= 22  # 128 bits in base 64
    assert token not in str(stored)


def test_s2_only_an_open_trial_of_ones_own_can_be_answered(desk: Any) -> None:
    ann, ben = desk.enter("ann"), desk.enter("ben")
    of_ann, of_ben = desk.screen(ann).trial.id, desk.screen(ben).trial.id
    ahead = desk.rows(f"SELECT id FROM trial WHERE state = 'ahead' AND id > {of_ann}")[0][0]

    with pytest.raises(UnknownTrial) as unissued:
        desk.answer(ann, 4_711)
    with pytest.raises(UnknownTrial):
        desk.answer(ann, of_ben)
    with pytest.raises(Conflict) as future:
        desk.answer(ann, ahead)

    assert (unissued.value.status, future.value.status) == (404, 409)
    assert desk.count("answer") == 0


def test_s3_same_answer_again_changes_nothing_and_gets_the_same_screen(desk: Any) -> None:
    token = desk.enter()
    given = desk.given(desk.screen(token).trial.id)

    first = desk.run(commands.answer, token=token, given=given)
    before = desk.rows("SELECT id, state FROM trial ORDER BY id")
    again = desk.run(commands.answer, token=token, given=given)

    assert again == first
    assert desk.rows("SELECT id, state FROM trial ORDER BY id") == before
    assert desk.count("answer") == 1
    assert desk.count("answer_event") == 1
    desk.check_counters()


def test_s3_another_answer_to_a_closed_trial_is_refused(desk: Any) -> None:
    token = desk.enter()
    trial = desk.screen(token).trial.id
    desk.answer(token, trial, "cat")

    with pytest.raises(Conflict, match="closed with another answer"):
        desk.answer(token, trial, "dog")

    assert [json.loads(row[0]) for row in desk.rows("SELECT answer FROM answer")] == ["cat"]


def test_s4_bad_answer_stores_nothing_and_leaves_the_trial_open(desk: Any) -> None:
    token = desk.enter()
    trial = desk.screen(token).trial.id

    with pytest.raises(InvalidAnswer) as refused:
        desk.answer(token, trial, "unicorn")

    assert refused.value.faults[0].fault == "malformed"
    assert desk.count("answer") == 0
    assert desk.screen(token).trial.id == trial


@pytest.mark.parametrize(
    "change",
    [
        {"surprise": 1},
        {"trial": "1"},
        {"trial": 0},
        {"trial": 2**40},
        {"trial": True},
        {"key": "short"},
        {"key": "has spaces in it"},
        {"timing": {"seconds": float("nan")}},
        {"timing": {"seconds": -1.0}},
        {"timing": {"seconds": 1.0, "clock": 5}},
        {"timing": {"seconds": 1.0, "inputs": {"a": float("inf")}}},
        {"events": [{"kind": "escape", "at": 0.0}]},
        {"events": [{"kind": "focus", "at": 0.0}] * 201},
    ],
)
def test_s4_unknown_fields_and_wrong_types_are_refused(change: dict[str, Any]) -> None:
    right: dict[str, Any] = {
        "trial": 1,
        "key": "abcdefgh",
        "answer": "cat",
        "timing": {"seconds": 1.0},
    }

    AnswerGiven(**right)
    with pytest.raises(ValidationError):
        AnswerGiven(**{**right, **change})


def test_s4_payload_is_read_from_json() -> None:
    body = (
        '{"trial": 1, "key": "abcdefgh", "answer": null, "timing": {"seconds": 1, "inputs": '
        '{"first": 2}}, "events": [{"kind": "focus", "at": 0.5, "data": {"lost": true}}]}'
    )

    given = AnswerGiven.model_validate_json(body)

    assert given.events[0].data == {"lost": True}


NASTY = "Robert'); DROP TABLE answer;-- \"%s %(x)s :x <img onerror=1>"


def test_s8_injection_texts_are_stored_as_text(open_desk: Any, a_study: Any) -> None:
    study = a_study(
        classes=(NASTY, "dog"),
        welcome={"debrief": ["Anything?"]},
        layout={"trials_per_person": 2},
    )
    desk = open_desk(study)
    token = desk.enter(NASTY, platform_session=NASTY, study_id=NASTY, language=NASTY, address=NASTY)
    shown = desk.screen(token)
    event = {"kind": "inputs", "at": 0.1, "data": {NASTY: NASTY}}
    given = desk.given(shown.trial.id, NASTY, events=[event])
    shown = desk.run(commands.answer, token=token, given=given)
    desk.answer(token, shown.trial.id, NASTY)
    desk.run(
        commands.leave_stage, token=token, given=ProceedGiven(stage="debrief", answers=(NASTY,))
    )
    participant = desk.rows("SELECT id FROM participant")[0][0]
    desk.run(commands.exclude, participant=participant, rule=NASTY, who=NASTY)
    desk.run(commands.return_submission, platform=NASTY, platform_id=NASTY)

    assert desk.rows("SELECT platform_id FROM participant_identity") == [(NASTY,)]
    assert [json.loads(row[0]) for row in desk.rows("SELECT answer FROM answer")] == [NASTY] * 2
    assert json.loads(desk.rows("SELECT data FROM reply")[0][0]) == [NASTY]
    assert desk.rows("SELECT excluded FROM participant") == [(NASTY,)]


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "x" * 201, "line\nbreak"])
def test_s8_ids_that_no_platform_gives_are_refused(desk: Any, name: str) -> None:
    with pytest.raises(InvalidAnswer):
        desk.enter(name)

    assert desk.count("participant") == 0


def test_s12_a_simulated_bot_is_flagged_and_its_rows_are_kept(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 12}))
    token = desk.enter()
    shown = desk.screen(token)
    events = [
        {"kind": "focus", "at": 0.0, "data": {"lost": True}},
        {"kind": "paste", "at": 0.0},
        {"kind": "hint", "at": 0.0, "data": {"webdriver": True}},
    ]
    while isinstance(shown, TrialScreen):
        desk.now += 0.05
        given = desk.given(shown.trial.id, "cat", timing={"seconds": 0.05}, events=events)
        shown = desk.run(commands.answer, token=token, given=given)

    kinds = [row[0] for row in desk.rows("SELECT kind FROM flag")]

    assert desk.count("answer") == 12
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "fast": 12,
        "same-answers": 1,
        "focus": 12,
        "paste": 12,
        "automation": 12,
    }


def test_s12_many_sessions_from_one_address_are_flagged(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(), items=50)

    for number in range(7):
        desk.enter(f"p{number}", address="192.0.2.7")
    desk.enter("elsewhere", address="192.0.2.8")

    assert [row[0] for row in desk.rows("SELECT kind FROM flag")] == ["one-address"] * 2
    assert "192.0.2.7" not in str(desk.rows("SELECT * FROM session"))


def test_s13_platform_id_is_in_one_table_only(desk: Any) -> None:
    token = desk.enter("CANARY-5e3a", platform_session="CANARY-attempt")
    desk.finish(token)
    desk.run(commands.return_submission, platform="link", platform_id="CANARY-5e3a")

    tables = ("participant", "session", "session_token", "trial", "answer", "answer_event", "flag")
    everywhere = str([desk.rows(f"SELECT * FROM {name}") for name in tables])

    assert "CANARY" not in everywhere
    assert desk.rows("SELECT platform_id FROM participant_identity") == [("CANARY-5e3a",)]


def test_s16_screens_never_hold_gold(open_desk: Any, a_study: Any) -> None:
    study = a_study(
        layout={"trials_per_person": 6, "practice": 1, "checks_every": 2, "repeats": 2},
        welcome={
            "instructions": ["Look."],
            "comprehension": [{**CHECKS[0], "choices": ["a", "RIGHT"], "right": "RIGHT"}],
            "debrief": ["Well?"],
        },
    )
    desk = open_desk(study, checks=5, practice=2)
    token = desk.enter()
    seen = [desk.screen(token)]
    seen.append(
        desk.run(commands.leave_stage, token=token, given=ProceedGiven(stage="instructions"))
    )
    comprehension = seen[-1]
    given = ProceedGiven(stage="comprehension", answers=("RIGHT",))
    seen.append(desk.run(commands.leave_stage, token=token, given=given))
    participant = desk.rows("SELECT id FROM participant")[0][0]
    desk.run(commands.exclude, participant=participant, rule="EXCLUDED-rule", who="admin")
    while isinstance(seen[-1], TrialScreen):
        seen.append(desk.answer(token, seen[-1].trial.id))

    text = " ".join(shown.model_dump_json() for shown in seen)
    trials = [shown for shown in seen if isinstance(shown, TrialScreen)]

    assert len(trials) == 1 + 6 + 3 + 2
    for secret in ("GOLD", "SECRET", "EXCLUDED", "item-", "check", "repeat", 'right"', "stimulus"):
        assert secret not in text.replace("pcheck", "")  # the names of images are ours here
    assert set(comprehension.questions[0].model_dump()) == {"question", "choices"}
    fields = set(trials[1].trial.model_dump())
    assert all(set(shown.trial.model_dump()) == fields for shown in trials)


def test_r3_reload_and_a_second_browser_get_the_same_open_trial(desk: Any) -> None:
    token = desk.enter("ann", platform_session="attempt")
    first = desk.screen(token)
    desk.now += 60

    again = desk.screen(token)
    entered = desk.run(
        commands.enter, platform="link", platform_id="ann", platform_session="attempt"
    )
    elsewhere = desk.screen(entered.token)

    assert entered.resumed
    assert entered.token != token
    assert again == first == elsewhere == desk.screen(token)
    assert desk.rows("SELECT kind FROM flag") == [("entered-again",)]
    desk.check_counters()


def test_another_attempt_of_the_same_person_is_refused(desk: Any) -> None:
    token = desk.enter("ann", platform_session="one")

    with pytest.raises(Conflict):
        desk.enter("ann", platform_session="two")
    desk.finish(token)
    with pytest.raises(Conflict, match="already taken part"):
        desk.enter("ann", platform_session="two")
    again = desk.enter("ann", platform_session="one")

    assert isinstance(desk.screen(again), DoneScreen)


def test_r4_late_answer_is_kept_marked_and_counted_where_the_place_is_free(desk: Any) -> None:
    token = desk.enter()
    trial = desk.screen(token).trial.id
    desk.now += 31 * 60

    freed = desk.run(commands.expire)
    shown = desk.answer(token, trial)

    assert freed == 2
    assert isinstance(shown, TrialScreen)
    assert shown.trial.number == 2
    assert [bool(row[0]) for row in desk.rows("SELECT late FROM answer")] == [True]
    assert desk.rows("SELECT kind FROM flag") == [("late",)]
    desk.check_counters()


def test_r4_late_answer_never_pushes_an_item_over_its_cap(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(per_item=1, layout={"trials_per_person": 1}), items=1)
    ann = desk.enter("ann")
    trial = desk.screen(ann).trial.id
    desk.now += 31 * 60
    desk.run(commands.expire)
    ben = desk.enter("ben")
    desk.finish(ben)

    last = desk.answer(ann, trial, "dog")

    assert isinstance(last, DoneScreen)
    assert desk.count("answer") == 2
    assert desk.rows("SELECT finished, reserved FROM stimulus") == [(1, 0)]
    desk.check_counters()


def test_r4_answer_after_the_session_lapsed_is_kept(desk: Any) -> None:
    token = desk.enter()
    trial = desk.screen(token).trial.id
    desk.now += 25 * 3600

    with pytest.raises(UnknownToken):
        desk.screen(token)
    shown = desk.answer(token, trial)
    desk.run(commands.expire)

    assert shown == ClosedScreen(reason="expired")
    assert desk.count("answer") == 1
    assert desk.rows("SELECT ended FROM session") == [("lapsed",)]
    desk.check_counters()


def test_expired_trial_is_shown_again_where_its_place_is_free(desk: Any) -> None:
    token = desk.enter()
    first = desk.screen(token)
    desk.now += 3600
    desk.run(commands.expire)

    again = desk.screen(token)

    assert again.trial.id == first.trial.id
    desk.check_counters()


def test_expired_trial_whose_place_is_gone_makes_room_for_another(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(per_item=1, layout={"trials_per_person": 1}), items=2)
    other = desk.rows("SELECT id FROM stimulus")[1][0]
    desk.run(commands.pause, stimulus=other, paused=True, who="admin")
    ann = desk.enter("ann")
    first = desk.screen(ann).trial
    desk.now += 3600
    desk.run(commands.expire)
    desk.screen(desk.enter("ben"))
    desk.run(commands.pause, stimulus=other, paused=False, who="admin")

    shown = desk.screen(ann).trial
    last = desk.answer(ann, shown.id)

    assert shown.id != first.id
    assert shown.images != first.images
    assert shown.number == first.number
    assert isinstance(last, DoneScreen)
    desk.check_counters()


def test_r5_times_are_the_servers_and_a_skewed_clock_is_flagged(desk: Any) -> None:
    token = desk.enter()
    trial = desk.screen(token).trial.id
    desk.now += 3.0
    given = desk.given(trial, timing={"seconds": 86_400.0})

    desk.run(commands.answer, token=token, given=given)

    assert desk.rows("SELECT received, seconds FROM answer") == [(desk.now, 86_400.0)]
    assert desk.rows("SELECT opened, closed FROM trial WHERE closed IS NOT NULL") == [
        (desk.now - 3.0, desk.now)
    ]
    assert desk.rows("SELECT kind FROM flag") == [("clock",)]


def test_stages_come_in_order_and_a_double_click_changes_nothing(
    open_desk: Any, a_study: Any
) -> None:
    study = a_study(
        welcome={"instructions": ["Read."], "comprehension": CHECKS, "debrief": ["Well?"]},
        layout={"trials_per_person": 1},
    )
    desk = open_desk(study)
    token = desk.enter()
    read = ProceedGiven(stage="instructions")

    assert isinstance(desk.screen(token), InstructionsScreen)
    with pytest.raises(Conflict):
        desk.run(commands.leave_stage, token=token, given=ProceedGiven(stage="debrief"))
    assert isinstance(desk.run(commands.leave_stage, token=token, given=read), ComprehensionScreen)
    assert isinstance(desk.run(commands.leave_stage, token=token, given=read), ComprehensionScreen)
    right = ProceedGiven(stage="comprehension", answers=("a",))
    shown = desk.run(commands.leave_stage, token=token, given=right)
    assert desk.run(commands.leave_stage, token=token, given=right) == shown
    assert isinstance(desk.answer(token, shown.trial.id), DebriefScreen)
    assert desk.rows("SELECT completion_code FROM session") == [(None,)]
    words = ProceedGiven(stage="debrief", answers=("fine 😀",))
    assert isinstance(desk.run(commands.leave_stage, token=token, given=words), DoneScreen)
    assert desk.rows("SELECT stage FROM reply ORDER BY id") == [("comprehension",), ("debrief",)]


def test_comprehension_without_a_limit_leads_back_to_the_instructions_until_it_is_right(
    open_desk: Any, a_study: Any
) -> None:
    welcome = {"instructions": ["Read."], "comprehension": CHECKS, "comprehension_tries": 0}
    desk = open_desk(a_study(welcome=welcome))
    token = desk.enter()
    read = ProceedGiven(stage="instructions")

    for tries in range(5):
        asked = desk.run(commands.leave_stage, token=token, given=read)
        assert (asked.stage, asked.tries, asked.of) == ("comprehension", tries, 0)
        wrong = ProceedGiven(stage="comprehension", answers=("b",), tries=tries)
        assert desk.run(commands.leave_stage, token=token, given=wrong).stage == "instructions"
    desk.run(commands.leave_stage, token=token, given=read)
    right = ProceedGiven(stage="comprehension", answers=("a",), tries=5)

    assert desk.run(commands.leave_stage, token=token, given=right).stage == "trials"


def test_comprehension_allows_a_second_attempt_and_then_screens_out(
    open_desk: Any, a_study: Any
) -> None:
    study = a_study(
        welcome={"comprehension": CHECKS * 2},
        recruiting={"screened_out_code": "OUT", "completion_code": "IN", "places": 1},
    )
    desk = open_desk(study)
    token = desk.enter()

    with pytest.raises(InvalidAnswer):
        desk.run(
            commands.leave_stage,
            token=token,
            given=ProceedGiven(stage="comprehension", answers=("a",)),
        )
    wrong = ProceedGiven(stage="comprehension", answers=("a", "b"))
    first = desk.run(commands.leave_stage, token=token, given=wrong)
    second = desk.run(commands.leave_stage, token=token, given=wrong)

    assert (first.tries, first.of, first.wrong) == (1, 2, (1,))
    assert second == DoneScreen(code="OUT", redirect=None, screened_out=True)
    assert desk.count("trial") == 0
    assert desk.enter("ben")  # the place is free again


def test_completion_code_and_address_come_from_the_study(open_desk: Any, a_study: Any) -> None:
    recruiting = {"completion_code": "C1 &", "completion_url": "https://example.org/?cc={code}"}
    desk = open_desk(a_study(recruiting=recruiting, layout={"trials_per_person": 1}))

    last = desk.finish(desk.enter())

    assert last == DoneScreen(code="C1 &", redirect="https://example.org/?cc=C1%20%26")


def test_going_back_changes_one_row_and_keeps_the_history(desk: Any) -> None:
    token = desk.enter()
    first = desk.screen(token)
    second = desk.answer(token, first.trial.id, "cat")

    earlier = desk.run(commands.back, token=token, given=BackGiven(trial=second.trial.id))
    double = desk.run(commands.back, token=token, given=BackGiven(trial=second.trial.id))
    forward = desk.answer(token, first.trial.id, "dog")

    assert earlier == double
    assert (earlier.trial.id, earlier.trial.draft) == (first.trial.id, "cat")
    assert not first.trial.can_back
    assert second.trial.can_back
    assert forward.trial.id == second.trial.id
    assert [(json.loads(a), c) for a, c in desk.rows("SELECT answer, changed FROM answer")] == [
        ("dog", 1)
    ]
    events = desk.rows("SELECT kind, data FROM answer_event ORDER BY id")
    assert [kind for kind, _ in events] == ["answer", "change"]
    assert json.loads(json.loads(events[1][1])["before"]) == "cat"
    desk.check_counters()


def test_going_back_and_forth_without_a_change_stores_nothing(desk: Any) -> None:
    token = desk.enter()
    first = desk.screen(token)
    second = desk.answer(token, first.trial.id, "cat")
    third = desk.answer(token, second.trial.id, "dog")

    desk.run(commands.back, token=token, given=BackGiven(trial=third.trial.id))
    earliest = desk.run(commands.back, token=token, given=BackGiven(trial=second.trial.id))
    forward = desk.answer(token, first.trial.id, "cat")

    assert earliest.trial.id == first.trial.id
    assert forward == third
    assert desk.rows("SELECT sum(changed) FROM answer") == [(0,)]


def test_back_is_refused_where_the_study_forbids_it(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 6, "allow_back": False}))
    token = desk.enter()
    second = desk.answer(token, desk.screen(token).trial.id)

    assert not second.trial.can_back
    with pytest.raises(Conflict, match="does not allow"):
        desk.run(commands.back, token=token, given=BackGiven(trial=second.trial.id))
    with pytest.raises(UnknownTrial):
        desk.run(commands.back, token=token, given=BackGiven(trial=99))


def test_only_one_step_back_where_first_answers_are_asked_again(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 6, "repeats": 2}))
    token = desk.enter()
    second = desk.answer(token, desk.screen(token).trial.id)
    third = desk.answer(token, second.trial.id)

    earlier = desk.run(commands.back, token=token, given=BackGiven(trial=third.trial.id))

    assert third.trial.can_back
    assert not earlier.trial.can_back
    with pytest.raises(Conflict, match="one step"):
        desk.run(commands.back, token=token, given=BackGiven(trial=second.trial.id))


@pytest.mark.parametrize(
    ("form", "answer", "other"),
    [
        ("triplets", {"closer": "first"}, {"closer": "second"}),
        ("mix", {"perceived": 0.1, "confidence": 1}, {"perceived": 0.9, "confidence": 1}),
        ("pairs", {"rating": 4}, {"rating": 4}),
    ],
)
def test_answers_are_stored_in_the_order_of_the_stimulus(
    open_desk: Any, a_study: Any, form: str, answer: Any, other: Any
) -> None:
    study = a_study(form=form, wording="{first} {second}", layout={"trials_per_person": 12})
    desk = open_desk(study)
    token = desk.enter()
    shown = desk.screen(token)
    sides = set()
    while isinstance(shown, TrialScreen):
        trial = shown.trial
        row = desk.rows(
            "SELECT s.images, t.shown FROM trial t JOIN stimulus s ON s.id = t.stimulus "
            f"WHERE t.id = {trial.id}"
        )[0]
        swapped = json.loads(row[1]) == {"swapped": True}
        images = [f"/image/{name}" for name in json.loads(row[0])]
        if swapped and len(images) > 1:
            images[-2], images[-1] = images[-1], images[-2]
        assert list(trial.images) == images
        if form == "mix":
            expected = ["dog", "cat"] if swapped else ["cat", "dog"]
            assert trial.shown["classes"] == expected
            assert trial.question.wording == " ".join(expected)
        shown = desk.answer(token, trial.id, answer)
        stored = json.loads(desk.rows(f"SELECT answer FROM answer WHERE trial = {trial.id}")[0][0])
        assert stored == (other if swapped else answer)
        if isinstance(shown, TrialScreen):
            again = desk.run(commands.back, token=token, given=BackGiven(trial=shown.trial.id))
            assert again.trial.draft == answer
            assert desk.answer(token, trial.id, answer) == shown
        sides.add(swapped)

    assert sides == {True, False}


def test_typicality_is_asked_about_the_class_shown(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(form="typicality", wording="How typical of {class}?"))
    token = desk.enter()
    shown = desk.screen(token)

    assert shown.trial.question.wording == "How typical of cat?"
    assert shown.trial.shown == {"class": "cat"}
    with pytest.raises(InvalidAnswer, match="class shown was 'cat'"):
        desk.answer(token, shown.trial.id, {"class": "dog", "typicality": 1})
    desk.answer(token, shown.trial.id, {"class": "cat", "typicality": 1})


def test_everybody_has_an_order_of_classes_of_their_own(desk: Any) -> None:
    orders = {desk.screen(desk.enter(f"p{number}")).trial.classes for number in range(6)}

    stored = {tuple(json.loads(row[0])) for row in desk.rows("SELECT label_order FROM session")}

    assert len(orders) > 1
    assert orders == stored
    assert {tuple(sorted(order)) for order in orders} == {("cat", "deer", "dog", "horse")}


def test_closed_study_takes_nobody_in_and_lets_those_inside_finish(desk: Any) -> None:
    ann = desk.enter("ann")
    desk.run(commands.close, who="admin")

    with pytest.raises(CollectionClosed) as refused:
        desk.enter("ben")
    assert isinstance(desk.finish(ann), DoneScreen)
    desk.run(commands.reopen, who="admin")
    desk.enter("ben")

    assert (refused.value.status, refused.value.reason) == (410, "closed")
    assert [row[0] for row in desk.rows("SELECT what FROM audit ORDER BY id")] == [
        "close",
        "reopen",
    ]
