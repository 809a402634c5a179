"""What a researcher or a platform says about people: returned, excluded, withdrawn; and the switch
of the whole collection.

Excluding a person's data says nothing about their pay. It opens their places again, and it can
be undone. Withdrawing cannot: nothing of the person is left in the files of the database (S14).
"""

import json
import secrets
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.design.places import note_withdrawn, read_withdrawn
from sfumato.elicit.refusals import Conflict, Unavailable
from sfumato.elicit.session.assign import give_up_places
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.writer import run_once
from sfumato.elicit.storage import sql, store
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, Database, prepare
from sfumato.elicit.storage.schema import set_meta
from sfumato.errors import DataError

ATTEMPTS = 20
PAUSE_SECONDS = 0.25

_TOUCHED = (
    "answer_event",
    "answer",
    "trial",
    "flag",
    "reply",
    "session_token",
    "session",
    "participant_identity",
    "participant",
)
"""Tables that held something of the person."""


def return_submission(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    platform: str,
    platform_id: str,
) -> int:
    """End what a person gave back on the platform, and free its places; how many sessions."""
    pseudonym = collection.pseudonym(platform, platform_id)
    sessions = connection.all(_UNFINISHED, pseudonym=pseudonym)
    for session in sessions:
        give_up_places(connection, session.id)
        connection.do(_RETURN, session=session.id, now=now)
    return len(sessions)


def exclude(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    participant: int,
    rule: str,
    who: str,
) -> int:
    """Leave a person's answers out of the data, by a named rule; how many places opened again."""
    _lock_sessions(connection, participant)
    connection.do(_EXCLUDE, participant=participant, rule=rule, now=now)
    counted = connection.all(_COUNTED, participant=participant)
    for trial in counted:
        connection.do(_UNCOUNT_TRIAL, trial=trial.id)
        connection.do(_UNCOUNT_STIMULUS, stimulus=trial.stimulus)
    about = {"participant": participant, "rule": rule, "places": len(counted)}
    note_act(connection, who, "exclude", about, now=now)
    return len(counted)


def include(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    participant: int,
    who: str,
) -> int:
    """Undo an exclusion; answers whose places others took in the meantime are kept uncounted."""
    _lock_sessions(connection, participant)
    connection.do(_INCLUDE, participant=participant)
    places = 0
    for trial in connection.all(_UNCOUNTED, participant=participant):
        if connection.one(sql.FINISH_LATE, stimulus=trial.stimulus) is not None:
            connection.do(_COUNT_TRIAL, trial=trial.id)
            places += 1
    about = {"participant": participant, "places": places}
    note_act(connection, who, "include", about, now=now)
    return places


def withdraw(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    participant: int,
    who: str,
) -> int:
    """Erase a person and all they answered; what stays is how many answers there were (S14)."""
    _lock_sessions(connection, participant)
    _mark_withdrawn(connection, collection, participant, identity_only=False)
    for session in connection.all(_SESSIONS, participant=participant):
        give_up_places(connection, session.id)
    for trial in connection.all(_COUNTED, participant=participant):
        connection.do(_UNCOUNT_STIMULUS, stimulus=trial.stimulus)
    answers: int = connection.one(_COUNT_ANSWERS, participant=participant).answers
    for statement in _ERASE:
        connection.do(statement, participant=participant)
    connection.do(_NOTE_WITHDRAWAL, at=now, answers=answers)
    note_act(connection, who, "withdraw", {"answers": answers}, now=now)
    return answers


def close(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    who: str,
) -> None:
    """Let nobody new in; sessions that run may end."""
    set_meta(connection, "closed", repr(now))
    note_act(connection, who, "close", {}, now=now)


def reopen(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    who: str,
) -> None:
    """Let people in again."""
    connection.do(_FORGET_CLOSED)
    note_act(connection, who, "reopen", {}, now=now)


def pause(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    stimulus: int,
    paused: bool,
    who: str,
) -> None:
    """Stop showing a stimulus to more people, or show it again."""
    if connection.one(_PAUSE, stimulus=stimulus, paused=paused) is None:
        raise Conflict(f"There is no stimulus {stimulus}.")
    note_act(connection, who, "pause", {"stimulus": stimulus, "paused": paused}, now=now)


def announce(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    message: str,
    who: str,
) -> None:
    """Show a message to everybody who is answering; an empty one takes it away."""
    set_meta(connection, "message", message)
    note_act(connection, who, "message", {"message": message}, now=now)


def halt(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    halted: bool,
    who: str,
) -> None:
    """Show nobody a further trial, or go on; what was answered is stored either way."""
    set_meta(connection, "halted", "yes" if halted else "")
    note_act(connection, who, "halt" if halted else "go on", {}, now=now)


def note_act(
    connection: Connection, who: str, what: str, about: dict[str, Any], *, now: float
) -> None:
    """Write a line of the audit log (S10)."""
    connection.do(_AUDIT, at=now, who=who, what=what, data=json.dumps(about))


@dataclass(frozen=True)
class Withdrawal:
    """What a withdrawal did."""

    answers: int
    """Erased, or kept without the person where only the identity was to go."""
    scrubbed: bool
    """Whether the files are rewritten; if not, somebody was reading them all the time."""


def withdraw_person(
    database: Database,
    collection: Collection,
    person: str,
    *,
    identity_only: bool,
    who: str,
    now: float,
    rng: np.random.Generator,
) -> Withdrawal:
    """Erase a person with all their answers, or only who they are, as the consent promised.

    ``person`` is their pseudonym or their id on the platform.
    """
    with database.connect() as connection:
        participant = person_called(connection, person)
        command = forget_identity if identity_only else withdraw
        answers = run_once(
            connection, collection, command, now=now, rng=rng, participant=participant, who=who
        )
        return Withdrawal(answers, scrub(connection))


def withdraw_again(
    database: Database,
    collection: Collection,
    *,
    who: str,
    now: float,
    rng: np.random.Generator,
) -> int:
    """Erase from a restored backup who withdrew after it was made; how many people."""
    assert collection.folder is not None
    marks = read_withdrawn(collection.folder)
    again = 0
    with database.connect() as connection:
        for person in connection.all(_PSEUDONYMS) if marks else ():
            for identity_only, command in ((False, withdraw), (True, forget_identity)):
                mark = collection.withdrawal_mark(person.pseudonym, identity_only=identity_only)
                if mark in marks:
                    run: dict[str, Any] = {"now": now, "rng": rng, "who": who}
                    run_once(connection, collection, command, participant=person.id, **run)
                    again += 1
                    break
        if again:
            scrub(connection)
    return again


def _mark_withdrawn(
    connection: Connection, collection: Collection, participant: int, *, identity_only: bool
) -> None:
    """Note who withdrew, before it is done: who asked for it must not come back with a backup."""
    found = connection.one(_PSEUDONYM, participant=participant)
    if collection.folder is not None and found is not None:
        mark = collection.withdrawal_mark(found.pseudonym, identity_only=identity_only)
        note_withdrawn(collection.folder, mark)


def person_called(connection: Connection, person: str) -> int:
    """The number of the participant with this pseudonym or platform id."""
    found = connection.all(_BY_NAME, name=person)
    if len(found) == 1:
        return int(found[0].id)
    # What was typed may be a platform id: it is not repeated (S13).
    if found:
        raise DataError(
            f"{len(found)} people of different platforms have this id; give the pseudonym."
        )
    raise DataError(
        "Nobody in this study has this pseudonym or platform id; pseudonyms are in the column "
        "'annotator' of an export."
    )


def forget_identity(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    participant: int,
    who: str,
) -> int:
    """Keep the answers, but nothing that leads from them to the person; how many answers.

    The pseudonym is replaced as well: whoever has the key could compute the old one from the
    platform id. Free texts go, because people sign them.
    """
    _mark_withdrawn(connection, collection, participant, identity_only=True)
    for session in connection.all(_LOCK_SESSIONS, participant=participant):
        give_up_places(connection, session.id)
        for statement in _FORGET_OF_SESSION:
            connection.do(statement, session=session.id)
    connection.do(_END_SESSIONS, participant=participant, now=now)
    connection.do(_FORGET_IDENTITY, participant=participant)
    fresh = f"withdrawn-{secrets.token_hex(12)}"
    connection.do(_RENAME, participant=participant, fresh=fresh, now=now)
    answers: int = connection.one(_COUNT_ANSWERS, participant=participant).answers
    connection.do(_NOTE, at=now)
    note_act(connection, who, "forget identity", {"answers": answers}, now=now)
    return answers


def scrub_files(database: Database) -> bool:
    """The same with a connection of its own."""
    try:
        with database.connect() as connection:
            return scrub(connection)
    except Unavailable:
        return False


def scrub(connection: Connection) -> bool:
    """Rewrite the files of the database, so that erased rows are in none of them.

    On SQLite the whole file is rebuilt and the log beside it emptied, which has to wait for
    readers; on PostgreSQL the tables are rebuilt, while its own log keeps what it has until it
    is recycled. Whether it was done.
    """
    try:
        if connection.dialect == "postgresql":
            connection.plain("SET lock_timeout = '10s'")
            for table in _TOUCHED:
                connection.plain(f'VACUUM (FULL) "{table}"')
            return True
        connection.plain("VACUUM")
        for _ in range(ATTEMPTS):
            cursor = connection.driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if cursor.fetchone()[0] == 0:
                return True
            time.sleep(PAUSE_SECONDS)
    except DATABASE_ERRORS:
        return False  # locked for longer than one should wait; the rows are gone all the same
    return False


def _lock_sessions(connection: Connection, participant: int) -> None:
    """Let no answer of this person come in between (PostgreSQL)."""
    if connection.one(_PARTICIPANT, participant=participant) is None:
        raise Conflict(f"There is no participant {participant}.")
    connection.all(_LOCK_SESSIONS, participant=participant)


_participant, _session, _trial, _stimulus = (
    store.participant,
    store.session,
    store.trial,
    store.stimulus,
)
_their_sessions = sa.select(_session.c.id).where(_session.c.participant == given("participant"))
_their_trials = sa.select(_trial.c.id).where(_trial.c.session.in_(_their_sessions))

_PSEUDONYMS = prepare(sa.select(_participant.c.id, _participant.c.pseudonym))
_PSEUDONYM = prepare(
    sa.select(_participant.c.pseudonym).where(_participant.c.id == given("participant"))
)
_PARTICIPANT = prepare(
    sa.select(_participant.c.id).where(_participant.c.id == given("participant")).with_for_update()
)
_LOCK_SESSIONS = prepare(_their_sessions.with_for_update())
_SESSIONS = prepare(_their_sessions)
_UNFINISHED = prepare(
    sa.select(_session.c.id)
    .select_from(_session.join(_participant, _participant.c.id == _session.c.participant))
    .where(
        _participant.c.pseudonym == given("pseudonym"),
        sa.or_(_session.c.ended.is_(None), _session.c.ended == "lapsed"),
    )
    .with_for_update(of=_session)
)
_RETURN = prepare(
    sa.update(_session)
    .where(_session.c.id == given("session"))
    .values(ended=sa.literal_column("'returned'"), returned=given("now"))
)
_EXCLUDE = prepare(
    sa.update(_participant)
    .where(_participant.c.id == given("participant"))
    .values(excluded=given("rule"), excluded_at=given("now"))
)
_INCLUDE = prepare(
    sa.update(_participant)
    .where(_participant.c.id == given("participant"))
    .values(excluded=sa.null(), excluded_at=sa.null())
)
_COUNTED = prepare(
    sa.select(_trial.c.id, _trial.c.stimulus)
    .where(_trial.c.session.in_(_their_sessions), _trial.c.counted)
    .order_by(_trial.c.stimulus)
)
_UNCOUNTED = prepare(
    sa.select(_trial.c.id, _trial.c.stimulus)
    .where(
        _trial.c.session.in_(_their_sessions),
        ~_trial.c.counted,
        _trial.c.state == "answered",
        _trial.c.view != "repeat",
    )
    .order_by(_trial.c.stimulus)
)
_UNCOUNT_TRIAL = prepare(
    sa.update(_trial).where(_trial.c.id == given("trial")).values(counted=sa.false())
)
_COUNT_TRIAL = prepare(
    sa.update(_trial).where(_trial.c.id == given("trial")).values(counted=sa.true())
)
_UNCOUNT_STIMULUS = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"))
    .values(finished=_stimulus.c.finished - 1)
)
_COUNT_ANSWERS = prepare(
    sa.select(sa.func.count().label("answers"))
    .select_from(store.answer)
    .where(store.answer.c.trial.in_(_their_trials))
)
_ERASE = tuple(
    prepare(sa.delete(table).where(column.in_(rows)))
    for table, column, rows in (
        (store.answer_event, store.answer_event.c.trial, _their_trials),
        (store.answer, store.answer.c.trial, _their_trials),
        (_trial, _trial.c.session, _their_sessions),
        (store.flag, store.flag.c.session, _their_sessions),
        (store.reply, store.reply.c.session, _their_sessions),
        (store.session_token, store.session_token.c.session, _their_sessions),
    )
) + tuple(
    prepare(sa.delete(table).where(column == given("participant")))
    for table, column in (
        (_session, _session.c.participant),
        (store.participant_identity, store.participant_identity.c.participant),
        (_participant, _participant.c.id),
    )
)
_NOTE_WITHDRAWAL = prepare(
    sa.insert(store.withdrawal).values({name: given(name) for name in ("at", "answers")})
)
_FORGET_CLOSED = prepare(sa.delete(store.meta).where(store.meta.c.key == "closed"))
_PAUSE = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"))
    .values(paused=given("paused"))
    .returning(_stimulus.c.id)
)
_AUDIT = prepare(
    sa.insert(store.audit).values({name: given(name) for name in ("at", "who", "what", "data")})
)
_BY_NAME = prepare(
    sa.select(store.participant.c.id)
    .select_from(store.participant.outerjoin(store.participant_identity))
    .where(
        sa.or_(
            store.participant.c.pseudonym == given("name"),
            store.participant_identity.c.platform_id == given("name"),
        )
    )
)
_FORGET_OF_SESSION = (
    prepare(
        sa.delete(store.session_token).where(store.session_token.c.session == given("session"))
    ),
    prepare(sa.delete(store.reply).where(store.reply.c.session == given("session"))),
    prepare(
        sa.update(_session)
        .where(_session.c.id == given("session"))
        .values(platform_session=sa.null(), address=sa.null(), completion_code=sa.null())
    ),
)
_END_SESSIONS = prepare(
    sa.update(_session)
    .where(_session.c.participant == given("participant"), _session.c.ended.is_(None))
    .values(ended=sa.literal_column("'returned'"), returned=given("now"))
)
_FORGET_IDENTITY = prepare(
    sa.delete(store.participant_identity).where(
        store.participant_identity.c.participant == given("participant")
    )
)
_RENAME = prepare(
    sa.update(store.participant)
    .where(store.participant.c.id == given("participant"))
    .values(pseudonym=given("fresh"), withdrawn_at=given("now"))
)
_NOTE = prepare(sa.insert(store.withdrawal).values(at=given("at"), answers=sa.literal_column("0")))
