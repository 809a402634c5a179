"""Tokens and pseudonyms: random for sessions, keyed for people, so that neither can be guessed."""

import hashlib
import hmac
import secrets


def new_token() -> str:
    """A random text of 256 bits that names a session (S1)."""
    return secrets.token_urlsafe(32)


def token_hash(study: str, token: str) -> str:
    """What is stored of a token; the name of the study in it binds the token to the study (S1)."""
    return hashlib.sha256(f"{study}\n{token}".encode("utf-8", "surrogatepass")).hexdigest()


def keyed_hash(key: bytes, *parts: str) -> str:
    """A pseudonym that only the holder of the study's key can compute again (S13).

    >>> keyed_hash(b"key", "prolific", "5e3a") == keyed_hash(b"key", "prolific", "5e3b")
    False
    >>> keyed_hash(b"key", "a", "bc") == keyed_hash(b"key", "ab", "c")
    False
    """
    message = "\n".join(f"{len(part)}:{part}" for part in parts)
    return hmac.new(key, message.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]
