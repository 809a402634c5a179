"""Let a person withdraw, so that nothing of them is left in the files of the database (S14)."""

import secrets
import time
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.session.assign import give_up_places
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.people import note_act, withdraw
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, Database, prepare
from sfumato.elicit.storage.writer import run_once
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


@dataclass(frozen=True)
class Withdrawn:
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
) -> Withdrawn:
    """Erase a person with all their answers, or only who they are, as the consent promised.

    ``person`` is their pseudonym or their id on the platform.
    """
    with database.connect() as connection:
        participant = person_called(connection, person)
        command = forget_identity if identity_only else withdraw
        answers = run_once(
            connection, collection, command, now=now, rng=rng, participant=participant, who=who
        )
        return Withdrawn(answers, scrub(connection))


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
    for session in connection.all(_SESSIONS, participant=participant):
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


_session = store.session
_their_trials = sa.select(store.trial.c.id).where(
    store.trial.c.session.in_(
        sa.select(_session.c.id).where(_session.c.participant == given("participant"))
    )
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
_SESSIONS = prepare(
    sa.select(_session.c.id).where(_session.c.participant == given("participant")).with_for_update()
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
_COUNT_ANSWERS = prepare(
    sa.select(sa.func.count().label("answers"))
    .select_from(store.answer)
    .where(store.answer.c.trial.in_(_their_trials))
)
_NOTE = prepare(sa.insert(store.withdrawal).values(at=given("at"), answers=sa.literal_column("0")))
