"""The commands of a collection: everything that changes what is stored, each in one transaction.

A command is a function of a connection inside a transaction, the collection, the time, a source
of random numbers and the request. ``writer.Writer`` calls it and commits. What a command
refuses is an exception of ``refusals`` with an HTTP status.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam

from sfumato.elicit.design.study import Welcome
from sfumato.elicit.refusals import AnswerFault, Conflict, InvalidAnswer, UnknownToken, UnknownTrial
from sfumato.elicit.session.answers import CheckedAnswer, check_answer, swap_sides
from sfumato.elicit.session.assign import expire as expire  # "as": all commands can be had here
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.entry import enter as enter
from sfumato.elicit.session.people import announce as announce
from sfumato.elicit.session.people import close as close
from sfumato.elicit.session.people import exclude as exclude
from sfumato.elicit.session.people import halt as halt
from sfumato.elicit.session.people import include as include
from sfumato.elicit.session.people import pause as pause
from sfumato.elicit.session.people import reopen as reopen
from sfumato.elicit.session.people import return_submission as return_submission
from sfumato.elicit.session.people import withdraw as withdraw
from sfumato.elicit.session.screen import AnswerGiven, BackGiven, ProceedGiven, Screen
from sfumato.elicit.session.show import (
    STAGES,
    comprehension_screen,
    enter_stage,
    waiting_trials,
    what_to_show,
)
from sfumato.elicit.session.sitting import (
    Sitting,
    StoredTrial,
    advance,
    load_sitting,
    raise_flag,
    read_json,
    save_sitting,
    signs_in,
    trial_of,
)
from sfumato.elicit.storage import sql, store
from sfumato.elicit.storage.database import Connection, prepare


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
        raise Conflict(f"StoredTrial {trial.id} is not open yet.")
    checked = _checked(collection, trial, given.answer)
    if before is None:
        _store(connection, collection, sitting, trial, given, checked, now=now)
        if trial.slot == sitting.position:
            advance(sitting)
    elif before.answer != checked.text:
        if sitting.back_to != trial.id or before.key == given.key:
            raise Conflict(f"StoredTrial {trial.id} is closed with another answer.")
        _change(connection, trial, given, checked, before=before.answer, now=now)
    elif (
        sitting.back_to == trial.id
        and before.key != given.key
        and any(event.kind == "note" for event in given.events)  # only what stands beside it
    ):
        _change(connection, trial, given, checked, before=before.answer, now=now)
    if sitting.back_to == trial.id:
        sitting.back_to = None
    shown = what_to_show(connection, collection, sitting, now=now, rng=rng, waiting=waiting)
    # An answer that comes after the end of a session does not wake it up again.
    save_sitting(connection, sitting, sitting.last_seen if sitting.lapsed else now)
    return shown


def screen(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    token: str,
) -> Screen:
    """What to show now: the same open trial after a reload, and in every tab and browser (R3)."""
    sitting = _running(connection, collection, token, now)
    shown = what_to_show(connection, collection, sitting, now=now, rng=rng)
    save_sitting(connection, sitting, now)
    return shown


def leave_stage(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    token: str,
    given: ProceedGiven,
) -> Screen:
    """Leave the instructions, the questions about them, or the debriefing.

    A stage that was already left is not left twice: the answer is the current screen.
    """
    sitting = _running(connection, collection, token, now)
    if STAGES.index(given.stage) > STAGES.index(sitting.stage):
        raise Conflict(f"The session is not at the stage {given.stage!r} yet.")
    shown: Screen | None = None
    if given.stage == sitting.stage and sitting.ended is None:
        match given.stage:
            case "instructions":
                enter_stage(collection, sitting, "comprehension", now=now)
            case "comprehension":
                shown = _take_comprehension(connection, collection, sitting, given, now=now)
            case "debrief":
                _keep_reply(connection, sitting, given, now=now)
                enter_stage(collection, sitting, "done", now=now)
    if shown is None:
        shown = what_to_show(connection, collection, sitting, now=now, rng=rng)
    save_sitting(connection, sitting, now)
    return shown


def back(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    token: str,
    given: BackGiven,
) -> Screen:
    """Show the trial before the given one again, with its answer, so that it can be changed.

    A request that is late, as after a double click, gets the current screen.
    """
    sitting = _running(connection, collection, token, now)
    row = connection.one(sql.TRIAL_BY_ID, trial=given.trial, session=sitting.id)
    if row is None:
        raise UnknownTrial(f"StoredTrial {given.trial} was not issued to this session.")
    current = row.slot == sitting.position and row.state == "open" and sitting.back_to is None
    if sitting.stage == "trials" and (current or sitting.back_to == row.id):
        layout = collection.study.layout
        if not layout.allow_back:
            raise Conflict("This study does not allow going back.")
        if (layout.repeats or layout.repeat_numbers) and sitting.back_to is not None:
            raise Conflict("This study allows only one step back.")
        before = connection.one(sql.ANSWERED_BEFORE, session=sitting.id, slot=row.slot)
        if before is None:
            raise Conflict("There is nothing to go back to.")
        sitting.back_to = before.id
    shown = what_to_show(connection, collection, sitting, now=now, rng=rng)
    save_sitting(connection, sitting, now)
    return shown


def _running(connection: Connection, collection: Collection, token: str, now: float) -> Sitting:
    sitting = load_sitting(connection, collection, token, now)
    if sitting.lapsed:
        raise UnknownToken("This session was left for too long; enter the study again by its link.")
    return sitting


def _take_comprehension(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    given: ProceedGiven,
    *,
    now: float,
) -> Screen | None:
    """Go on where all is right, else show what was wrong; after the last attempt it is over."""
    welcome = collection.study.welcome
    if given.tries is not None and given.tries != sitting.comprehension_tries:
        # Sent again after its reply was lost. What was said then is shown, not what is said now:
        # otherwise the right answers could be tried out one after the other.
        before = connection.one(_LAST_REPLY, session=sitting.id, of_stage=given.stage)
        said = () if before is None else tuple(json.loads(before.data))
        wrong = _wrong(welcome, said)
        return comprehension_screen(collection.study, sitting, wrong=wrong)
    if len(given.answers) != len(welcome.comprehension):
        sentence = f"There are {len(welcome.comprehension)} questions; answer each."
        raise InvalidAnswer((AnswerFault("answers", "malformed", sentence),))
    _keep_reply(connection, sitting, given, now=now)
    sitting.comprehension_tries += 1
    wrong = _wrong(welcome, given.answers)
    if not wrong:
        enter_stage(collection, sitting, "trials", now=now)
    elif not welcome.comprehension_tries:  # the instructions come again, until it is understood
        enter_stage(collection, sitting, "instructions", now=now)
    elif sitting.comprehension_tries >= welcome.comprehension_tries:
        sitting.stage, sitting.ended = "done", "screened-out"
        sitting.completion_code = collection.study.recruiting.screened_out_code
    else:
        return comprehension_screen(collection.study, sitting, wrong=wrong)
    return None


def _wrong(welcome: Welcome, said: Sequence[str]) -> tuple[int, ...]:
    pairs = zip(said, welcome.comprehension, strict=False)
    return tuple(place for place, (chosen, check) in enumerate(pairs) if chosen != check.right)


_LAST_REPLY = prepare(
    sa.select(store.reply.c.data)
    .where(
        store.reply.c.session == bindparam("session"), store.reply.c.stage == bindparam("of_stage")
    )
    .order_by(store.reply.c.id.desc())
    .limit(sa.literal_column("1"))
)
_KEEP_REPLY = prepare(
    sa.insert(store.reply).values(
        {name: bindparam(name) for name in ("session", "stage", "at", "data")}
    )
)


def _keep_reply(
    connection: Connection, sitting: Sitting, given: ProceedGiven, *, now: float
) -> None:
    data = json.dumps(given.answers)
    connection.do(_KEEP_REPLY, session=sitting.id, stage=given.stage, at=now, data=data)


def _asked_for(
    connection: Connection, sitting: Sitting, trial: int, waiting: Sequence[StoredTrial]
) -> tuple[StoredTrial, Any]:
    """The trial that was answered, and the row with its answer where it has one."""
    for one in waiting:
        if one.id == trial:
            return one, None
    row = connection.one(sql.TRIAL_BY_ID, trial=trial, session=sitting.id)
    if row is None:
        raise UnknownTrial(f"StoredTrial {trial} was not issued to this session.")
    return trial_of(row), None if row.answer is None else row


def _checked(collection: Collection, trial: StoredTrial, raw: Any) -> CheckedAnswer:
    """The answer in the stimulus' own order."""
    mode, shown = collection.study.mode, read_json(trial.shown)
    checked = check_answer(collection.question, raw, mode=mode, shown=shown)
    if not trial.swapped:
        return checked
    other_way = swap_sides(collection.study.form, raw)
    return check_answer(collection.question, other_way, mode=mode, shown=shown)


def _store(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    trial: StoredTrial,
    given: AnswerGiven,
    checked: CheckedAnswer,
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


def _take_place(connection: Connection, sitting: Sitting, trial: StoredTrial) -> bool:
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
    trial: StoredTrial,
    given: AnswerGiven,
    checked: CheckedAnswer,
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
    trial: StoredTrial,
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
    trial: StoredTrial,
    given: AnswerGiven,
    checked: CheckedAnswer,
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
