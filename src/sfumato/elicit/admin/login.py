"""Who is the researcher: a key typed once, then a signed cookie, and a token in every form.

The key is checked in constant time and kept nowhere. A session is a text with its end and a random
part, signed with a key that follows from the study's own and the researcher's: another of either
ends all sessions, and a logout, which is in the log, ends one. The token against forged forms (S9)
is signed over the session in the same way.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import argon2
import itsdangerous
import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import Response

from sfumato.elicit.refusals import Forbidden
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.storage.store import audit
from sfumato.elicit.web.security import SHORTEST_KEY, Buckets, address_key
from sfumato.errors import DataError

SESSION_SECONDS = 12 * 3600


def admin_key_matches(expected: str, typed: str) -> bool:
    """Whether this is the key; ``expected`` is the key itself or its argon2id hash (S10)."""
    if not expected.startswith("$argon2id$"):
        return hmac.compare_digest(_digest(expected), _digest(typed))
    try:
        return argon2.PasswordHasher().verify(expected, typed.encode("utf-8", "surrogatepass"))
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


def new_admin_session(key: bytes, *, now: float, name: str = "") -> str:
    """A text for the researcher's cookie, good for half a day; it says who they are."""
    end = int(now) + SESSION_SECONDS
    told = f"{end}.{secrets.token_urlsafe(24)}" + (f".{name}" if name else "")
    return _signer(key, "session").sign(told).decode()


def read_admins(path: Path) -> dict[str, str]:
    """The key of each admin, or its argon2id hash: a name and a key on each line of a file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    admins: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, key = line.strip().partition(" ")
        key = key.strip()
        where = f"{path.name}, line {number}"
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name) or name in admins:
            raise DataError(
                f"{where}: a line is a name of small letters, digits and hyphens, which no other "
                "line has, a blank, and a key or its argon2id hash."
            )
        if len(key) < SHORTEST_KEY:
            raise DataError(f"{where}: the key of {name} has fewer than {SHORTEST_KEY} characters.")
        admins[name] = key
    if not admins:
        raise DataError(f"{path} names no admin; write a name and a key on each line.")
    return admins


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
    """The key itself, or its argon2id hash; empty where all admins have names."""
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
    named: Mapping[str, str] = field(default_factory=dict)
    """Keys, or hashes, of admins who have names."""

    def __post_init__(self) -> None:
        if not self.cookie:
            name = hmac.digest(self.study_key, b"cookie", "sha256").hex()[:8]
            object.__setattr__(self, "cookie", f"sfumato_admin_{name}")

    def key_of(self, name: str) -> str:
        """What somebody has to type; empty where nobody has this name."""
        return self.named.get(name, "") if self.named else "" if name else self.admin_key

    def secret(self, name: str) -> bytes:
        """What the sessions and forms of an admin are signed with: a new key ends them."""
        typed = self.key_of(name).encode("utf-8", "surrogatepass")
        return hmac.digest(self.study_key, typed, "sha256")

    def count_try(self, request: Request) -> None:
        """Count a try to log in, or raise ``TooMany`` (S10)."""
        host = request.client.host if request.client else ""
        self.tries.take(address_key(host), _SENTENCE)


def session_in(door: Door, request: Request) -> str | None:
    """The session in the cookie, if it was made here and its time is not over."""
    session = request.cookies.get(door.cookie, "")
    name = admin_in(session)
    if not session or not door.key_of(name):
        return None
    valid = admin_session_is_valid(door.secret(name), session, now=door.clock())
    return session if valid else None


def admin_in(session: str) -> str:
    """Whose session it says it is; empty where admins have no names."""
    parts = session.split(".")
    return parts[2] if len(parts) == 4 else ""


def name_of(session: str) -> str:
    """What the log calls a session: enough to tell two apart, too little to use."""
    who = admin_in(session) or "admin"
    return f"{who} {hashlib.sha256(session.encode()).hexdigest()[:8]}"


def check_form(door: Door, session: str, typed: str) -> None:
    """Refuse a form that was not made for this session (S9)."""
    signer = _signer(door.secret(admin_in(session)), "form")
    if not signer.verify_signature(session, typed.encode("utf-8", "surrogatepass")):
        raise Forbidden("The form is too old or comes from elsewhere; load the page again.")


def give_cookie(door: Door, request: Request, response: Response, *, name: str = "") -> str:
    """Begin a session; its name in the log."""
    session = new_admin_session(door.secret(name), now=door.clock(), name=name)
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
