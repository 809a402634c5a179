"""Why the server does not do what it was asked: one sentence and one HTTP status each.

Refusal                the root; ``status`` is the HTTP status, ``str(error)`` the sentence
├── UnknownToken       401  no session has this token, or it ended
├── Forbidden          403  no consent, or an entry from another study
├── UnknownTrial       404  not issued to this session
├── Conflict           409  closed with another answer, not open yet, another attempt is running
├── CollectionClosed   410  the collection is full or closed; ``reason`` is one word for the page
├── InvalidAnswer      422  ``faults`` says which field is wrong and why
├── TooMany            429  slow down; ``wait`` are the seconds until the next request may come
└── Unavailable        503  nothing was stored; send it again
"""

from dataclasses import dataclass

from sfumato.errors import SfumatoError


@dataclass(frozen=True)
class AnswerFault:
    """One thing that is wrong with an answer."""

    field: str
    """The field of the answer, or empty for the answer as a whole."""
    fault: str
    """A name in ``judgments.statements.ODDITIES``, or "malformed"."""
    sentence: str
    """What the annotator reads."""


class Refusal(SfumatoError):
    """The root of all refusals; nothing was changed."""

    status = 400


class UnknownToken(Refusal):
    """No session has this token, or it is over."""

    status = 401


class Forbidden(Refusal):
    """There is no consent, or the entry belongs to another study."""

    status = 403


class UnknownTrial(Refusal):
    """The trial was not issued to this session."""

    status = 404


class Conflict(Refusal):
    """The request does not fit what is stored."""

    status = 409


class CollectionClosed(Refusal):
    """The collection takes nobody in."""

    status = 410

    def __init__(self, sentence: str, *, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class InvalidAnswer(Refusal):
    """The answer is not one that the question allows."""

    status = 422

    def __init__(self, faults: tuple[AnswerFault, ...]) -> None:
        super().__init__(" ".join(fault.sentence for fault in faults))
        self.faults = faults


class TooMany(Refusal):
    """Too many requests in a short time; ``wait`` are the seconds until the next may come."""

    status = 429

    def __init__(self, sentence: str, *, wait: float) -> None:
        super().__init__(sentence)
        self.wait = wait


class Unavailable(Refusal):
    """The database could not store it; nothing was acknowledged and it may be sent again."""

    status = 503
