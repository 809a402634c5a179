"""Store an answer and give the next screen, in one transaction: the hot path of a collection."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.elicit.refusals import Conflict, UnknownTrial
from sfumato.elicit.session.answers import Checked, check_answer, turned
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.flags import raise_flag, signs_in
from sfumato.elicit.session.screen import AnswerGiven, Screen
from sfumato.elicit.session.show import waiting_trials, what_to_show
from sfumato.elicit.session.sitting import (
    Sitting,
    Trial,
    advance,
    load_sitting,
    read_json,
    save_sitting,
    trial_of,
)
from sfumato.elicit.storage import sql
from sfumato.elicit.storage.database import Connection


def answer(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    token: str,
    given: AnswerGiven,
) -> Screen:
    """Take the answer to a trial that is open, and show the next.

    The same answer sent again changes nothing and gets the same next screen (S3). Another
    answer to a closed trial is refused, unless the person went back to it. An answer to a trial
    whose time ran out is kept and marked as late (R4).
    """
    sitting = load_sitting(connection, collection, token, now)
    waiting = waiting_trials(connection, sitting)
    trial, before = _asked_for(connection, sitting, given.trial, waiting)
    if trial.opened is None:
        raise Conflict(f"Trial {trial.id} is not open yet.")
    checked = _checked(collection, trial, given.answer)
    if before is None:
        _store(connection, collection, sitting, trial, given, checked, now=now)
        if trial.slot == sitting.position:
            advance(sitting)
    elif before.answer != checked.text:
        if sitting.back_to != trial.id or before.key == given.key:
            raise Conflict(f"Trial {trial.id} is closed with another answer.")
        _change(connection, trial, given, checked, before=before.answer, now=now)
    if sitting.back_to == trial.id:
        sitting.back_to = None
    shown = what_to_show(connection, collection, sitting, now=now, rng=rng, waiting=waiting)
    # An answer that comes after the end of a session does not wake it up again.
    save_sitting(connection, sitting, sitting.last_seen if sitting.lapsed else now)
    return shown


def _asked_for(
    connection: Connection, sitting: Sitting, trial: int, waiting: Sequence[Trial]
) -> tuple[Trial, Any]:
    """The trial that was answered, and the row with its answer where it has one."""
    for one in waiting:
        if one.id == trial:
            return one, None
    row = connection.one(sql.TRIAL_BY_ID, trial=trial, session=sitting.id)
    if row is None:
        raise UnknownTrial(f"Trial {trial} was not issued to this session.")
    return trial_of(row), None if row.answer is None else row


def _checked(collection: Collection, trial: Trial, raw: Any) -> Checked:
    """The answer in the stimulus' own order."""
    mode, shown = collection.study.mode, read_json(trial.shown)
    checked = check_answer(collection.question, raw, mode=mode, shown=shown)
    if not trial.swapped:
        return checked
    other_way = turned(collection.study.form, raw)
    return check_answer(collection.question, other_way, mode=mode, shown=shown)


def _store(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    trial: Trial,
    given: AnswerGiven,
    checked: Checked,
    *,
    now: float,
) -> None:
    late = trial.state != "open" or now > trial.expires
    connection.do(
        sql.CLOSE_TRIAL, trial=trial.id, now=now, counted=_take_place(connection, sitting, trial)
    )
    connection.do(
        sql.INSERT_ANSWER,
        trial=trial.id,
        answer=checked.text,
        mode=collection.study.mode,
        faults=json.dumps(checked.faults) if checked.faults else "[]",
        key=given.key,
        received=now,
        seconds=given.timing.seconds,
        input_seconds=json.dumps(given.timing.inputs),
        late=late,
        changed=0,
    )
    _note_events(connection, trial, given, "answer", {"answer": checked.text}, now=now)
    _note_signs(connection, sitting, trial, given, checked, late=late, now=now)


def _take_place(connection: Connection, sitting: Sitting, trial: Trial) -> bool:
    """Turn the reserved place into a finished one; whether the answer counts for its stimulus."""
    if trial.view == "repeat":
        return False
    if sitting.excluded:
        if trial.state == "open":
            connection.do(sql.GIVE_UP_PLACE, stimulus=trial.stimulus)
        return False
    if trial.state == "open":
        connection.do(sql.FINISH_PLACE, stimulus=trial.stimulus)
        return True
    # The place was given up: it counts only if nobody else has taken it, so never over the cap.
    return connection.one(sql.FINISH_LATE, stimulus=trial.stimulus) is not None


def _change(
    connection: Connection,
    trial: Trial,
    given: AnswerGiven,
    checked: Checked,
    *,
    before: str,
    now: float,
) -> None:
    connection.do(
        sql.CHANGE_ANSWER,
        of_trial=trial.id,
        answer=checked.text,
        faults=json.dumps(checked.faults),
        key=given.key,
        received=now,
    )
    about = {"before": before, "answer": checked.text, "seconds": given.timing.seconds}
    _note_events(connection, trial, given, "change", about, now=now)


def _note_events(
    connection: Connection,
    trial: Trial,
    given: AnswerGiven,
    kind: str,
    about: dict[str, Any],
    *,
    now: float,
) -> None:
    events = [(kind, about)]
    events += [(event.kind, {"seconds": event.at, **event.data}) for event in given.events]
    connection.many(
        sql.INSERT_EVENT,
        [
            {"trial": trial.id, "kind": name, "at": now, "data": json.dumps(data)}
            for name, data in events
        ],
    )


def _note_signs(
    connection: Connection,
    sitting: Sitting,
    trial: Trial,
    given: AnswerGiven,
    checked: Checked,
    *,
    late: bool,
    now: float,
) -> None:
    assert trial.opened is not None
    same = sitting.last_answer == checked.text
    sitting.same_answers = sitting.same_answers + 1 if same else 1
    sitting.last_answer = checked.text
    for kind, about in signs_in(
        seconds=given.timing.seconds,
        passed=now - trial.opened,
        same_answers=sitting.same_answers,
        events=given.events,
    ):
        raise_flag(connection, sitting.id, kind, now=now, about={"trial": trial.id, **about})
    if late:
        raise_flag(connection, sitting.id, "late", now=now, about={"trial": trial.id})
