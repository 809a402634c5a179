"""Who is the researcher: a key typed once, then a signed cookie, and a token in every form.

The key is checked in constant time and kept nowhere. A session is a text with its end and a random
part, signed with a key that follows from the study's own and the researcher's: another of either
ends all sessions, and a logout, which is in the log, ends one. The token against forged forms (S9)
is signed over the session in the same way.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import argon2
import itsdangerous
import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import Response

from sfumato.elicit.refusals import Forbidden
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.storage.store import audit
from sfumato.elicit.web.security import Buckets, address_key

SESSION_SECONDS = 12 * 3600


def admin_key_matches(expected: str, typed: str) -> bool:
    """Whether this is the key; ``expected`` is the key itself or its argon2id hash (S10)."""
    if not expected.startswith("$argon2id$"):
        return hmac.compare_digest(_digest(expected), _digest(typed))
    try:
        return argon2.PasswordHasher().verify(expected, typed.encode("utf-8", "surrogatepass"))
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


def new_admin_session(key: bytes, *, now: float) -> str:
    """A text for the researcher's cookie, good for half a day."""
    end = int(now) + SESSION_SECONDS
    return _signer(key, "session").sign(f"{end}.{secrets.token_urlsafe(24)}").decode()


def admin_session_is_valid(key: bytes, session: str, *, now: float) -> bool:
    """Whether the text was made here and is not over.

    >>> session = new_admin_session(b"k" * 32, now=0)
    >>> admin_session_is_valid(b"k" * 32, session, now=60)
    True
    >>> admin_session_is_valid(b"k" * 32, session, now=86_400)
    False
    """
    try:
        signed = _signer(key, "session").unsign(session.encode("utf-8", "surrogatepass"))
    except itsdangerous.BadSignature:
        return False
    return int(signed.partition(b".")[0]) > now


def form_token(key: bytes, session: str) -> str:
    """What a form of this session must bring along."""
    return _signer(key, "form").get_signature(session).decode()


def _signer(key: bytes, what: str) -> itsdangerous.Signer:
    return itsdangerous.Signer(key, salt=f"sfumato admin {what}", digest_method=hashlib.sha256)


def _digest(text: str) -> bytes:
    """Of one length, so that the comparison takes the same time whatever was typed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


TRIES_PER_MINUTE = 5
"""Of one address. Others are not slowed down by them, or anybody could keep the researcher out."""
_SENTENCE = "Too many tries; wait a minute before the next."


@dataclass(frozen=True)
class Door:
    """What is needed to tell the researcher from others."""

    admin_key: str
    """The key itself, or its argon2id hash."""
    study_key: bytes
    """Signs sessions."""
    clock: Callable[[], float] = time.time
    tries: Buckets = field(
        default_factory=lambda: Buckets(
            per_second=TRIES_PER_MINUTE / 60, burst=TRIES_PER_MINUTE, clock=time.monotonic
        )
    )
    cookie: str = ""
    """What the session's cookie is called; another for each study, as cookies know no ports."""

    def __post_init__(self) -> None:
        if not self.cookie:
            name = hmac.digest(self.study_key, b"cookie", "sha256").hex()[:8]
            object.__setattr__(self, "cookie", f"sfumato_admin_{name}")

    @cached_property
    def secret(self) -> bytes:
        """What sessions and forms are signed with."""
        typed = self.admin_key.encode("utf-8", "surrogatepass")
        return hmac.digest(self.study_key, typed, "sha256")

    def count_try(self, request: Request) -> None:
        """Count a try to log in, or raise ``TooMany`` (S10)."""
        host = request.client.host if request.client else ""
        self.tries.take(address_key(host), _SENTENCE)


def session_in(door: Door, request: Request) -> str | None:
    """The session in the cookie, if it was made here and its time is not over."""
    session = request.cookies.get(door.cookie, "")
    valid = bool(session) and admin_session_is_valid(door.secret, session, now=door.clock())
    return session if valid else None


def name_of(session: str) -> str:
    """What the log calls a session: enough to tell two apart, too little to use."""
    return f"admin {hashlib.sha256(session.encode()).hexdigest()[:8]}"


def check_form(door: Door, session: str, typed: str) -> None:
    """Refuse a form that was not made for this session (S9)."""
    signer = _signer(door.secret, "form")
    if not signer.verify_signature(session, typed.encode("utf-8", "surrogatepass")):
        raise Forbidden("The form is too old or comes from elsewhere; load the page again.")


def give_cookie(door: Door, request: Request, response: Response) -> str:
    """Begin a session; its name in the log."""
    session = new_admin_session(door.secret, now=door.clock())
    response.set_cookie(
        door.cookie,
        session,
        max_age=SESSION_SECONDS,
        path=_path(request),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return name_of(session)


def take_cookie(door: Door, request: Request, response: Response) -> None:
    """Take the session away from this browser."""
    response.delete_cookie(door.cookie, path=_path(request))


def is_logged_out(connection: Connection, session: str) -> bool:
    """Whether the log says that this session was ended."""
    return connection.one(_LOGOUT, who=name_of(session)) is not None


_LOGOUT = prepare(
    sa.select(audit.c.id)
    .where(audit.c.who == sa.bindparam("who"), audit.c.what == sa.literal_column("'logout'"))
    .limit(sa.literal_column("1"))
)


def _path(request: Request) -> str:
    return request.scope.get("root_path") or "/"
