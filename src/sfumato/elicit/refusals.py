"""Why the server does not do what it was asked: one sentence and one HTTP status each.

Refused            the root; ``status`` is the HTTP status, ``str(error)`` the sentence
├── UnknownToken   401  no session has this token, or it ended
├── Forbidden      403  no consent, or an entry from another study
├── UnknownTrial   404  not issued to this session
├── Conflict       409  closed with another answer, not open yet, another attempt is running
├── Closed         410  the collection is full or closed; ``reason`` is one word for the page
├── BadAnswer      422  ``faults`` says which field is wrong and why
├── TooMany        429  slow down
└── Unavailable    503  nothing was stored; send it again
"""

from dataclasses import dataclass

from sfumato.errors import SfumatoError


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with an answer."""

    field: str
    """The field of the answer, or empty for the answer as a whole."""
    fault: str
    """A name in ``judgments.statements.ODDITIES``, or "malformed"."""
    sentence: str
    """What the annotator reads."""


class Refused(SfumatoError):
    """The root of all refusals; nothing was changed."""

    status = 400


class UnknownToken(Refused):
    """No session has this token, or it is over."""

    status = 401


class Forbidden(Refused):
    """There is no consent, or the entry belongs to another study."""

    status = 403


class UnknownTrial(Refused):
    """The trial was not issued to this session."""

    status = 404


class Conflict(Refused):
    """The request does not fit what is stored."""

    status = 409


class Closed(Refused):
    """The collection takes nobody in."""

    status = 410

    def __init__(self, sentence: str, *, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class BadAnswer(Refused):
    """The answer is not one that the question allows."""

    status = 422

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(" ".join(fault.sentence for fault in faults))
        self.faults = faults


class TooMany(Refused):
    """Too many requests in a short time."""

    status = 429


class Unavailable(Refused):
    """The database could not store it; nothing was acknowledged and it may be sent again."""

    status = 503
