"""The researcher's key and the session that it opens: checked in constant time, kept nowhere.

A session is a text with its end and a random part, signed with a key that follows from the study's
own: no table, and a new key for the study ends all sessions. The token against forged forms
(S9) is signed over the session in the same way.
"""

import base64
import hashlib
import hmac
import secrets

import argon2

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
    payload = f"{int(now) + SESSION_SECONDS}.{secrets.token_urlsafe(24)}"
    return f"{payload}.{_signed(key, 'session', payload)}"


def admin_session_is_valid(key: bytes, session: str, *, now: float) -> bool:
    """Whether the text was made here and is not over.

    >>> session = new_admin_session(b"k" * 32, now=0)
    >>> admin_session_is_valid(b"k" * 32, session, now=60)
    True
    >>> admin_session_is_valid(b"k" * 32, session, now=86_400)
    False
    """
    payload, _, signature = session.rpartition(".")
    if not hmac.compare_digest(_digest(_signed(key, "session", payload)), _digest(signature)):
        return False
    return int(payload.partition(".")[0]) > now


def form_token(key: bytes, session: str) -> str:
    """What a form of this session must bring along."""
    return _signed(key, "form", session)


def _signed(key: bytes, what: str, text: str) -> str:
    message = f"sfumato admin {what}\n{text}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()


def _digest(text: str) -> bytes:
    """Of one length, so that the comparison takes the same time whatever was typed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
