"""Let a person in: consent, places, a plan of their own; or take up where they stopped."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.refusals import (
    AnswerFault,
    CollectionClosed,
    Conflict,
    Forbidden,
    InvalidAnswer,
)
from sfumato.elicit.session.assign import choose_batch, give_up_places, has_room
from sfumato.elicit.session.collection import Collection, keyed_hash, new_token, token_hash
from sfumato.elicit.session.show import STAGES
from sfumato.elicit.session.sitting import is_main, lay_out, raise_flag
from sfumato.elicit.storage import sql, store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.storage.schema import get_meta

ID_LIMIT = 200
SAME_ADDRESS = 5
HOLD_SECONDS = 600
"""So long somebody who has answered nothing keeps a place that another wants."""
_ENTRY_LOCK = 7_364_120
"""One entry at a time, over all processes: the number of places is counted before it is taken."""


@dataclass(frozen=True)
class EntryToken:
    """The secret with which the browser speaks from now on."""

    token: str
    resumed: bool


def enter(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    platform: str,
    platform_id: str,
    platform_session: str | None = None,
    study_id: str = "",
    consent_version: str | None = None,
    language: str = "en",
    address: str | None = None,
) -> EntryToken:
    """A token for a new session, or for the one this person has not finished.

    The ids of platforms are not signed, so anybody can type another person's. A second browser
    gets into a session only with the platform's id of the same attempt, and is flagged.
    Nothing is stored for somebody who has not agreed to the text of consent (S15).
    """
    _check_ids(platform, platform_id, platform_session or "", study_id, language)
    _check_consent(collection, consent_version)
    _check_study(collection, study_id)
    if connection.dialect == "postgresql":
        connection.one(_LOCK)
    attempt = platform_session and collection_hash(collection, "attempt", platform_session)
    person = connection.one(_PERSON, pseudonym=collection.pseudonym(platform, platform_id))
    last = None if person is None else connection.one(_LAST_SESSION, participant=person.id)
    if last is not None and _goes_on(connection, collection, last, attempt, now=now):
        raise_flag(connection, last.id, "entered-again", now=now, about={})
        return EntryToken(_give_token(connection, collection, last.id, now), resumed=True)
    if get_meta(connection, "closed") is not None:
        raise CollectionClosed("This study is closed.", reason="closed")
    hashed = address and collection_hash(collection, "address", address)
    plan, batch = _plan(connection, collection, person, hashed, now=now, rng=rng)
    participant = (
        person.id
        if person is not None
        else _new_participant(connection, collection, platform, platform_id, now)
    )
    session = _new_session(
        connection,
        collection,
        participant,
        plan=plan,
        batch=batch,
        study_id=study_id,
        attempt=attempt,
        language=language,
        address=hashed,
        now=now,
        rng=rng,
    )
    return EntryToken(_give_token(connection, collection, session, now), resumed=False)


def collection_hash(collection: Collection, what: str, value: str) -> str:
    """A keyed hash of something that is not stored itself."""
    return keyed_hash(collection.key, collection.study.name, what, value)


def _check_ids(*texts: str) -> None:
    for text in texts:
        if len(text) > ID_LIMIT or not text.isprintable():
            sentence = f"An id has at most {ID_LIMIT} printable characters."
            raise InvalidAnswer((AnswerFault("id", "malformed", sentence),))
    platform_id = texts[1]
    if not platform_id.strip():
        raise InvalidAnswer(
            (AnswerFault("id", "malformed", "The address lacks the id of the person."),)
        )


def _check_consent(collection: Collection, version: str | None) -> None:
    if collection.study.welcome.consent and version != collection.consent_version:
        raise Forbidden("Please read and agree to the current text of consent first.")


def _check_study(collection: Collection, study_id: str) -> None:
    expected = collection.study.recruiting.study_id
    if expected and study_id != expected:
        raise Forbidden("This address belongs to another study.")


def _goes_on(
    connection: Connection, collection: Collection, last: Any, attempt: str | None, *, now: float
) -> bool:
    """Whether the last session of this person is the one to show; refuses a second attempt."""
    other_attempt = last.platform_session != attempt
    recruiting = collection.study.recruiting
    if last.ended in ("finished", "screened-out"):
        # Where anybody may type any id, nobody is shown the code that belongs to it.
        is_open = recruiting.platform == "link" and recruiting.entry == "open"
        if other_attempt or is_open:
            raise Conflict("You have already taken part in this study.")
        return True
    if last.ended == "returned":
        if not other_attempt and attempt is not None:
            raise CollectionClosed("This submission was returned.", reason="returned")
        return False
    if last.ended is None and now - last.last_seen <= collection.study.resume_hours * 3600:
        if other_attempt:
            raise Conflict("This study is already open in another attempt of yours.")
        return True
    if last.ended is None:
        # Nobody picks up a half-forgotten task: after a day the instructions come again.
        give_up_places(connection, last.id)
        connection.do(sql.END_SESSION, session=last.id, how="lapsed")
    return False


def _plan(
    connection: Connection,
    collection: Collection,
    person: Any,
    address: str | None,
    *,
    now: float,
    rng: np.random.Generator,
) -> tuple[list[str], str | None]:
    study = collection.study
    participant = None if person is None else person.id
    while (found := _place(connection, study, participant, now=now, rng=rng)) is None:
        if not _displace(connection, study, address, now=now):
            raise CollectionClosed("All places in this study are taken.", reason="full")
    batch, stimuli = found
    strata = json.loads(get_meta(connection, "strata") or "[]")
    return lay_out(study.layout, strata=strata, batch=stimuli, rng=rng), batch


def _place(
    connection: Connection,
    study: ElicitStudy,
    participant: int | None,
    *,
    now: float,
    rng: np.random.Generator,
) -> tuple[str | None, list[int]] | None:
    """The batch for one more person and its stimuli, where people get batches; None: all is full"""
    seen_since = now - study.reserve_minutes * 60
    places = study.recruiting.places
    if places is not None:
        resumable_since = now - study.resume_hours * 3600
        if connection.one(_PLACES_TAKEN, since=resumable_since).taken >= places:
            return None
    elif not has_room(connection, seen_since=seen_since):
        return None
    if not study.layout.whole_batches:
        return None, []
    return choose_batch(connection, participant, seen_since=seen_since, rng=rng)


def _displace(
    connection: Connection, study: ElicitStudy, address: str | None, *, now: float
) -> bool:
    """Whether a session without any answer gave its place up for somebody from this address.

    Ids in addresses can be invented, so a place is not held for ever by who never began, and not at
    all by who holds several from an address with more of them than the newcomer's. Nobody who has
    answered loses a place, nor the only one who reads the instructions at an address.
    """
    since = now - study.resume_hours * 3600
    idle = connection.all(_UNPROVEN, since=since)
    stale = [one for one in idle if now - one.last_seen > HOLD_SECONDS]
    held = Counter(one.address for one in idle if one.address is not None)
    if not stale and held and address is not None:
        fullest, most = held.most_common(1)[0]
        if most > max(held[address], 1):
            stale = [one for one in idle if one.address == fullest]
    if not stale:
        return False
    give_up_places(connection, stale[0].id)
    connection.do(sql.END_SESSION, session=stale[0].id, how="lapsed")
    return True


def _new_participant(
    connection: Connection, collection: Collection, platform: str, platform_id: str, now: float
) -> int:
    participant: int = connection.one(
        _ADD_PARTICIPANT,
        pseudonym=collection.pseudonym(platform, platform_id),
        consent_version=collection.consent_version,
        consent_hash=collection.consent_hash,
        consent_at=now,
    ).id
    connection.do(
        _ADD_IDENTITY, participant=participant, platform=platform, platform_id=platform_id
    )
    return participant


def _new_session(
    connection: Connection,
    collection: Collection,
    participant: int,
    *,
    plan: list[str],
    batch: str | None,
    study_id: str,
    attempt: str | None,
    language: str,
    address: str | None,
    now: float,
    rng: np.random.Generator,
) -> int:
    study = collection.study
    seed = int(rng.integers(2**31))
    order = list(study.classes)
    if study.layout.shuffle_classes:
        order = [order[place] for place in np.random.default_rng(seed).permutation(len(order))]
    session: int = connection.one(
        _ADD_SESSION,
        participant=participant,
        study_id=study_id,
        platform_session=attempt,
        address=address,
        language=language,
        stage=_first_stage(collection),
        plan=json.dumps(plan),
        batch=batch,
        wanted=sum(map(is_main, plan)),
        order_seed=seed,
        label_order=json.dumps(order),
        now=now,
    ).id
    if address and connection.one(_SAME_ADDRESS, address=address).sessions > SAME_ADDRESS:
        raise_flag(connection, session, "one-address", now=now, about={})
    return session


def _first_stage(collection: Collection) -> str:
    welcome = collection.study.welcome
    if welcome.instructions:
        return STAGES[0]
    return STAGES[1] if welcome.comprehension else STAGES[2]


def _give_token(connection: Connection, collection: Collection, session: int, now: float) -> str:
    token = new_token()
    connection.do(
        _ADD_TOKEN,
        token_hash=token_hash(collection.study.name, token),
        session=session,
        issued=now,
    )
    return token


_session = store.session

_LOCK = prepare(sa.select(sa.func.pg_advisory_xact_lock(sa.literal_column(str(_ENTRY_LOCK)))))
_PERSON = prepare(
    sa.select(store.participant.c.id).where(store.participant.c.pseudonym == given("pseudonym"))
)
_LAST_SESSION = prepare(
    sa.select(_session.c.id, _session.c.platform_session, _session.c.ended, _session.c.last_seen)
    .where(_session.c.participant == given("participant"))
    .order_by(_session.c.id.desc())
    .limit(sa.literal_column("1"))
    .with_for_update()
)
_PLACES_TAKEN = prepare(
    sa.select(sa.func.count().label("taken")).where(
        sa.or_(
            _session.c.ended == "finished",
            sa.and_(_session.c.ended.is_(None), _session.c.last_seen >= given("since")),
        )
    )
)
_UNPROVEN = prepare(
    sa.select(_session.c.id, _session.c.address, _session.c.last_seen)
    .where(
        _session.c.ended.is_(None),
        _session.c.last_answer.is_(None),
        _session.c.last_seen >= given("since"),
    )
    .order_by(_session.c.last_seen, _session.c.id)
    .with_for_update(skip_locked=True)
)
_ADD_PARTICIPANT = prepare(
    sa.insert(store.participant)
    .values(
        {
            name: given(name)
            for name in ("pseudonym", "consent_version", "consent_hash", "consent_at")
        }
    )
    .returning(store.participant.c.id)
)
_ADD_IDENTITY = prepare(
    sa.insert(store.participant_identity).values(
        {name: given(name) for name in ("participant", "platform", "platform_id")}
    )
)
_ADD_SESSION = prepare(
    sa.insert(_session)
    .values(
        {
            name: given(name)
            for name in (
                "participant",
                "study_id",
                "platform_session",
                "address",
                "language",
                "stage",
                "plan",
                "batch",
                "wanted",
                "order_seed",
                "label_order",
            )
        }
        | {name: sa.literal_column("0") for name in ("position", "issued", "same_answers")}
        | {"comprehension_tries": sa.literal_column("0")}
        | {"started": given("now"), "last_seen": given("now")}
    )
    .returning(_session.c.id)
)
_ADD_TOKEN = prepare(
    sa.insert(store.session_token).values(
        {name: given(name) for name in ("token_hash", "session", "issued")}
    )
)
_SAME_ADDRESS = prepare(
    sa.select(sa.func.count().label("sessions")).where(_session.c.address == given("address"))
)
