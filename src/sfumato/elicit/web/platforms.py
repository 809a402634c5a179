"""Who comes, and who goes: the parameters and the messages of the recruitment platform.

Links of our own are signed, the parameters that other platforms add are not: what those are good
for is decided by ``entry.enter``. Prolific's messages about submissions are (S18); one that was
given back frees its places at once.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, assert_never
from urllib.parse import urlencode

import numpy as np
import sqlalchemy as sa
from pydantic import BaseModel, Field, ValidationError
from sqlalchemy import bindparam as given

from sfumato.elicit.design.study import Platform
from sfumato.elicit.refusals import AnswerFault, Forbidden, InvalidAnswer, Refusal
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.entry import collection_hash
from sfumato.elicit.session.people import return_submission
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.web.bodies import parse_json

MTURK_HOSTS = ("www.mturk.com", "worker.mturk.com", "workersandbox.mturk.com")
"""Only these may show the page in a frame, and only there a finished session is sent."""
SIGNATURE = "signature"
"""Parameter of a link that shows for whom it was made."""
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


@dataclass(frozen=True)
class Arrival:
    """A person as the platform names them."""

    platform: Platform
    platform_id: str
    platform_session: str | None
    """One attempt of this person."""
    study_id: str


def arrival_of(collection: Collection, parameters: Mapping[str, str]) -> Arrival:
    """The ids in an address; 422 where the person's is missing, 403 in a preview.

    403 also where a link is not one that was made for this person.
    """
    recruiting = collection.study.recruiting
    match recruiting.platform:
        case "prolific":
            return Arrival(
                platform="prolific",
                platform_id=_needed(parameters, "PROLIFIC_PID"),
                platform_session=_needed(parameters, "SESSION_ID"),
                study_id=parameters.get("STUDY_ID", ""),
            )
        case "mturk":
            # Somebody only looks at the task: they see the page, but there is no session.
            if parameters.get("assignmentId") == MTURK_PREVIEW:
                raise Forbidden("This is a preview; accept the task first.")
            return Arrival(
                platform="mturk",
                platform_id=_needed(parameters, "workerId"),
                platform_session=_needed(parameters, "assignmentId"),
                study_id=parameters.get("hitId", ""),
            )
        case "link":
            person = _needed(parameters, recruiting.id_parameter)
            if recruiting.entry == "signed":
                _check_link(collection, person, parameters.get(SIGNATURE, ""))
            return Arrival(
                platform="link",
                platform_id=person,
                platform_session=None,
                # An ordinary link is written by the researcher: it belongs to this study.
                study_id=recruiting.study_id,
            )
        case _:
            assert_never(recruiting.platform)


def link_for(collection: Collection, address: str, person: str) -> str:
    """The link by which one person comes to the study at an address."""
    parameters = {collection.study.recruiting.id_parameter: person}
    if collection.study.recruiting.entry == "signed":
        parameters[SIGNATURE] = collection.link_signature(person)
    return f"{address.rstrip('/')}/?{urlencode(parameters)}"


def _check_link(collection: Collection, person: str, signature: str) -> None:
    if not hmac.compare_digest(collection.link_signature(person).encode(), signature.encode()):
        raise Forbidden("This link was not made for you; open the study by the link you were sent.")


def _needed(parameters: Mapping[str, str], name: str) -> str:
    value = parameters.get(name, "").strip()
    if not value or "{{%" in value:  # the second is what a platform should have filled in
        sentence = f"The address lacks {name}; open the study by its link on the platform."
        raise InvalidAnswer((AnswerFault(name, "malformed", sentence),))
    return value


WINDOW_SECONDS = 300
FREEING = ("RETURNED", "TIMED-OUT")
"""Statuses of a submission that will not go on. A rejection says something about pay, and is no
reason to forget that the work was done."""

Id = Annotated[str, Field(max_length=200)]


class Message(BaseModel):
    """What Prolific says about a submission; other kinds of messages lack some of it."""

    event_type: Id
    resource_id: Id = ""
    """The submission: the SESSION_ID of the address."""
    participant_id: Id = ""
    status: Id = ""


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """Base64 of HMAC-SHA256 over the timestamp and the body as it was sent."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def check_signature(
    secret: str, *, timestamp: str, signature: str, body: bytes, now: float
) -> None:
    """Refuse a message that is not Prolific's, or older than five minutes (S18)."""
    expected = signature_of(secret, timestamp, body)
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        raise Forbidden("The signature is not right.")
    sent = int(timestamp) if timestamp.isdecimal() and len(timestamp) <= 12 else 0
    if abs(now - sent) > WINDOW_SECONDS:
        raise Forbidden("The message is too old.")


def message_in(body: bytes) -> Message:
    """The message in a body whose signature was right."""
    try:
        return Message.model_validate(parse_json(body))
    except ValidationError:
        raise Refusal("The message has another shape than expected.") from None


def take_message(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    event_id: str,
    message: Message,
) -> int:
    """How many sessions the message ended; the same message again changes nothing."""
    if connection.one(_KNOWN, event_id=event_id) is not None:
        return 0
    connection.do(_NOTE, event_id=event_id, at=now)
    if message.event_type != "submission.status.change" or message.status not in FREEING:
        return 0
    # One subscription serves all studies of a workspace: the attempt must be one of ours.
    attempt = collection_hash(collection, "attempt", message.resource_id)
    person = collection.pseudonym("prolific", message.participant_id)
    if connection.one(_OURS, attempt=attempt, pseudonym=person) is None:
        return 0
    return return_submission(
        connection,
        collection,
        now=now,
        rng=rng,
        platform="prolific",
        platform_id=message.participant_id,
    )


_KNOWN = prepare(
    sa.select(store.webhook_event.c.at).where(store.webhook_event.c.event_id == given("event_id"))
)
_NOTE = prepare(
    sa.insert(store.webhook_event).values({name: given(name) for name in ("event_id", "at")})
)
_OURS = prepare(
    sa.select(store.session.c.id)
    .select_from(
        store.session.join(store.participant, store.participant.c.id == store.session.c.participant)
    )
    .where(
        store.session.c.platform_session == given("attempt"),
        store.participant.c.pseudonym == given("pseudonym"),
    )
)
