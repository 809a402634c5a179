"""The commands of a collection: everything that changes what is stored, each in one transaction.

A command is a function of a connection inside a transaction, the collection, the time, a source
of random numbers and the request. ``writer.Writer`` calls it and commits. What a command
refuses is an exception of ``refusals`` with an HTTP status.
"""

import json
from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam

from sfumato.elicit.design.settings import Welcome
from sfumato.elicit.refusals import BadAnswer, Conflict, Fault, UnknownToken, UnknownTrial
from sfumato.elicit.session.assign import expire as expire  # "as": all commands can be had here
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.entry import enter as enter
from sfumato.elicit.session.people import close as close
from sfumato.elicit.session.people import exclude as exclude
from sfumato.elicit.session.people import include as include
from sfumato.elicit.session.people import pause as pause
from sfumato.elicit.session.people import reopen as reopen
from sfumato.elicit.session.people import returned as returned
from sfumato.elicit.session.people import withdraw as withdraw
from sfumato.elicit.session.screen import BackGiven, ProceedGiven, Screen
from sfumato.elicit.session.show import STAGES, comprehension_screen, enter_stage, what_to_show
from sfumato.elicit.session.sitting import Sitting, load_sitting, save_sitting
from sfumato.elicit.session.submit import answer as answer
from sfumato.elicit.storage import sql, store
from sfumato.elicit.storage.database import Connection, prepare


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


def proceed(
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
        raise UnknownTrial(f"Trial {given.trial} was not issued to this session.")
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
        raise BadAnswer((Fault("answers", "malformed", sentence),))
    _keep_reply(connection, sitting, given, now=now)
    sitting.comprehension_tries += 1
    wrong = _wrong(welcome, given.answers)
    if not wrong:
        enter_stage(collection, sitting, "trials", now=now)
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
