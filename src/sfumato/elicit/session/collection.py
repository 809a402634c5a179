"""A running collection: its settings, its secret key, and what follows from them.

Tokens of sessions are random and pseudonyms of people keyed, so that neither can be guessed.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.session.answers import (
    AnyQuestion,
    check_length,
    longest_answer,
    question_of,
)
from sfumato.elicit.session.screen import ShownQuestion


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


@dataclass(frozen=True)
class Collection:
    """What every command needs to know; made by ``collection_of``."""

    study: ElicitStudy
    key: bytes
    """The study's own secret; pseudonyms cannot be computed without it."""
    question: AnyQuestion
    asked: ShownQuestion
    answer_bytes: int
    """Of the longest answer that the question allows."""
    consent_version: str
    """"not asked" where the study asks for no consent."""
    consent_hash: str
    """SHA-256 of the text that people agree to (S15)."""
    folder: Path | None = None
    """Of the study, where one is known."""

    def pseudonym(self, platform: str, platform_id: str) -> str:
        """What a person is called everywhere but in ``participant_identity`` (S13)."""
        return keyed_hash(self.key, self.study.name, "person", platform, platform_id)

    def withdrawal_mark(self, pseudonym: str, *, identity_only: bool) -> str:
        """By what a person who withdrew is known again in a backup, and nowhere else."""
        what = "identity" if identity_only else "all"
        return keyed_hash(self.key, self.study.name, "withdrawn", what, pseudonym)

    def link_signature(self, person: str) -> str:
        """What a link must hold beside the id of its person, so that nobody can invent one."""
        return keyed_hash(self.key, self.study.name, "link", person)


def collection_of(study: ElicitStudy, key: bytes, folder: Path | None = None) -> Collection:
    """Everything that can be worked out once."""
    assert len(key) >= 16, "a key of fewer than 128 bits can be guessed"
    text = "\n\n".join(study.welcome.consent)
    wording = study.wording
    if study.form == "three-point":  # what is probable, and not its contrary
        wording = wording.replace("{class}", study.classes[0])
    question = question_of(study)
    check_length(question)
    return Collection(
        study=study,
        key=key,
        question=question,
        answer_bytes=longest_answer(question),
        asked=ShownQuestion(
            form=study.form,
            wording=wording,
            options=study.options,
            prompts=study.prompts,
            groups=study.groups,
        ),
        consent_version=study.welcome.consent_version if study.welcome.consent else "not asked",
        consent_hash=hashlib.sha256(text.encode()).hexdigest(),
        folder=folder,
    )
