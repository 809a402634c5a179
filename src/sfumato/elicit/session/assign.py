"""Decide what a person sees next, and keep the places of every stimulus.

A main stimulus has as many places as its target. Reserving a place, finishing it and giving it
up all happen in the transaction that issues or closes the trial, so finished + reserved never
exceeds the target. The next stimulus is the one with the fewest places taken among those this
person has not seen; ties are decided by lot.
"""

from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.sitting import Sitting, StoredTrial, main_place
from sfumato.elicit.storage import sql, store
from sfumato.elicit.storage.database import Connection, Statement, prepare

_TURNABLE = ("pairs", "triplets", "preference", "mix")
"""Forms with two sides, which change places at random."""


def issue(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    slot: int,
    *,
    ahead: bool,
    now: float,
    rng: np.random.Generator,
) -> StoredTrial | None:
    """Reserve a stimulus for a slot of the plan, or None where nothing is left for this person."""
    kind, _, which = sitting.plan[slot].partition(":")
    repeats: int | None = None
    view = {"main": "first", "stimulus": "first"}.get(kind, kind)
    if kind == "repeat":
        source = connection.one(
            sql.ANSWERED_AT, session=sitting.id, slot=main_place(sitting.plan, int(which))
        )
        if source is None:
            return None
        stimulus, repeats = source.stimulus, source.id
        chosen = source
    else:
        chosen = _choose(connection, sitting.participant, kind, which)
        if chosen is None:
            return None
        stimulus = chosen.id
        connection.do(sql.RESERVE_PLACE, stimulus=stimulus, fresh_lot=rng.random())
    turn = collection.study.form in _TURNABLE and rng.random() < 0.5
    sitting.issued += 1
    trial = StoredTrial(
        id=0,
        number=sitting.issued,
        slot=slot,
        stimulus=stimulus,
        view=view,
        swapped=turn,
        opened=None if ahead else now,
        expires=now + collection.study.reserve_minutes * 60,
        state="ahead" if ahead else "open",
        images=chosen.images,
        shown=chosen.shown,
    )
    trial.id = connection.one(
        sql.INSERT_TRIAL,
        session=sitting.id,
        number=trial.number,
        slot=slot,
        stimulus=stimulus,
        view=view,
        repeats_trial=repeats,
        shown='{"swapped": true}' if turn else "{}",
        issued=now,
        opened=trial.opened,
        expires=trial.expires,
        state=trial.state,
    ).id
    return trial


def reopen_trial(
    connection: Connection,
    trial: StoredTrial,
    *,
    now: float,
    expires: float,
    rng: np.random.Generator,
) -> bool:
    """Open a trial that is ahead, or that expired and whose place is still free.

    Where the place is gone the trial is released, and the slot gets another stimulus.
    """
    if trial.state == "expired" and trial.view != "repeat":
        free = connection.one(sql.RESERVE_AGAIN, stimulus=trial.stimulus, fresh_lot=rng.random())
        if free is None:
            connection.do(sql.RELEASE_TRIAL, trial=trial.id)
            return False
    connection.do(sql.OPEN_TRIAL, trial=trial.id, now=now, expires=expires)
    return True


def give_up_places(connection: Connection, session: int) -> int:
    """Free what a session has reserved, when it ended before its time."""
    return _free(connection, connection.all(sql.RUNNING_TRIALS, session=session))


def expire(
    connection: Connection, collection: Collection, *, now: float, rng: np.random.Generator
) -> int:
    """Free the places of trials that got no answer in time; how many there were.

    An answer that still comes is kept and marked as late (R4). Sessions that were left for
    longer than ``resume_hours`` end.
    """
    freed = _free(connection, connection.all(sql.EXPIRED_TRIALS, now=now))
    before = now - collection.study.resume_hours * 3600
    for session in connection.all(sql.LAPSED_SESSIONS, before=before):
        freed += give_up_places(connection, session.id)
        connection.do(sql.END_SESSION, session=session.id, how="lapsed")
    return freed


def _free(connection: Connection, trials: list[Any]) -> int:
    for trial in trials:
        # What was never shown is as if it had not been issued; what was shown may be answered late.
        state = "released" if trial.state == "ahead" else "expired"
        connection.do(sql.SET_STATE, trial=trial.id, new_state=state)
    held = [trial for trial in trials if trial.view != "repeat"]
    for trial in sorted(held, key=lambda trial: trial.stimulus):
        connection.do(sql.GIVE_UP_PLACE, stimulus=trial.stimulus)
    return len(held)


def _choose(connection: Connection, participant: int, kind: str, which: str) -> Any:
    match kind:
        case "main" if which:
            chosen = _first(
                connection, sql.CHOOSE_OF_STRATUM, participant=participant, stratum=which
            )
            # A stratum that has nothing left is made up for by the others.
            return chosen or _first(connection, sql.CHOOSE_MAIN, participant=participant)
        case "main":
            return _first(connection, sql.CHOOSE_MAIN, participant=participant)
        case "stimulus":
            return _first(
                connection, sql.CHOOSE_BY_ID, participant=participant, stimulus=int(which)
            )
        case _:
            return _first(connection, sql.CHOOSE_OF_ROLE, participant=participant, role=kind)


def _first(connection: Connection, choices: tuple[Statement, ...], **values: Any) -> Any:
    """The choice; on PostgreSQL a second look waits for rows that others hold."""
    if connection.dialect == "sqlite":
        return connection.one(choices[0], **values)
    for choice in choices:
        chosen = connection.one(choice, **values)
        if chosen is not None:
            return chosen
    return None


_BATCHES = prepare(
    sa.select(
        store.stimulus.c.batch,
        sa.func.sum(store.load).label("taken"),
        sa.func.sum(store.stimulus.c.target).label("places"),
    )
    .where(
        store.stimulus.c.role == "main",
        store.stimulus.c.batch.is_not(None),
        ~store.stimulus.c.paused,
    )
    .group_by(store.stimulus.c.batch)
    .order_by(store.stimulus.c.batch)
)
_PROMISED = prepare(
    sa.select(store.session.c.batch, sa.func.sum(store.session.c.wanted).label("wanted"))
    .where(store.session.c.ended.is_(None), store.session.c.last_seen > given("since"))
    .group_by(store.session.c.batch)
)
_HAD = prepare(
    sa.select(store.session.c.batch)
    .distinct()
    .where(store.session.c.participant == given("participant"))
)
_IN_BATCH = prepare(
    sa.select(store.stimulus.c.id)
    .where(store.available, store.stimulus.c.batch == given("batch"))
    .order_by(store.stimulus.c.id)
)
_EMPTIEST = (
    sa.select((store.stimulus.c.target - store.load).label("room"))
    .where(store.available)
    .order_by(store.load, store.stimulus.c.lot)
)
_ROOM_IN = prepare(
    sa.select(
        sa.func.sum(_EMPTIEST.limit(given("stimuli", type_=sa.Integer)).subquery().c.room).label(
            "room"
        )
    )
)
_FEW, _MANY, _ALL = 200, 5_000, 2_000_000


def choose_batch(
    connection: Connection,
    participant: int | None,
    *,
    seen_since: float,
    rng: np.random.Generator,
) -> tuple[str, list[int]] | None:
    """The batch with the fewest places taken or promised to running sessions, and its stimuli.

    Sessions not seen since ``seen_since`` hold nothing. None where all batches are full, or this
    person had them all.
    """
    promised = {row.batch: int(row.wanted) for row in connection.all(_PROMISED, since=seen_since)}
    had = (
        set()
        if participant is None
        else {row.batch for row in connection.all(_HAD, participant=participant)}
    )
    open_batches = [
        (int(row.taken) + promised.get(row.batch, 0), lot, row.batch)
        for row, lot in ((row, rng.random()) for row in connection.all(_BATCHES))
        if row.batch not in had and row.taken + promised.get(row.batch, 0) < row.places
    ]
    if not open_batches:
        return None
    batch = min(open_batches)[2]
    return batch, [row.id for row in connection.all(_IN_BATCH, batch=batch)]


def has_room(connection: Connection, *, seen_since: float) -> bool:
    """Whether main stimuli have places that are neither taken nor promised to a running session."""
    promised = sum(int(row.wanted) for row in connection.all(_PROMISED, since=seen_since))
    # The emptiest stimuli nearly always tell that there is room; all are added up only if not.
    rooms = (connection.one(_ROOM_IN, stimuli=count).room for count in (_FEW, _MANY, _ALL))
    return any(int(room or 0) > promised for room in rooms)
