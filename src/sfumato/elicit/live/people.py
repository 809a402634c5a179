"""Who takes part: running, finished, gone, screened out; excluded from the data; paid or not."""

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from sfumato.elicit.design.study import Recruiting

Status = Literal["active", "away", "finished", "dropped out", "screened out"]

ACTIVE_SECONDS = 300
"""Somebody who was seen this lately is called active; later, away."""


@dataclass(frozen=True)
class Session:
    """How far one session is."""

    id: int
    participant: int
    stage: str
    ended: str | None
    started: float
    last_seen: float
    finished: float | None


@dataclass(frozen=True)
class Person:
    """What the researcher decided about somebody; data and pay are two things."""

    id: int
    pseudonym: str
    excluded: str | None
    """The rule that keeps their answers out of the data."""
    excluded_at: float | None
    paid: str | None
    """None: to be paid, as everybody is unless refused."""


@dataclass(eq=False)
class People:
    """Everybody, with their sessions."""

    persons: dict[int, Person] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)
    """Person to the session that began last."""
    running: set[int] = field(default_factory=set)
    flags: Counter[str] = field(default_factory=Counter)
    flags_of: dict[int, Counter[str]] = field(default_factory=dict)
    """Session to its flags."""

    def keep_session(self, row: Any) -> bool:
        """Note how far a session is; whether that is news."""
        session = Session(*row)
        if self.sessions.get(session.id) == session:
            return False
        self.sessions[session.id] = session
        self.latest[session.participant] = max(
            session.id, self.latest.get(session.participant, session.id)
        )
        (self.running.add if session.ended is None else self.running.discard)(session.id)
        return True

    def keep_flag(self, session: int, kind: str) -> None:
        """Count a flag."""
        self.flags[kind] += 1
        self.flags_of.setdefault(session, Counter())[kind] += 1

    def forget(self, participant: int) -> None:
        """Drop somebody who withdrew."""
        self.persons.pop(participant, None)
        self.latest.pop(participant, None)
        gone = [id_ for id_, one in self.sessions.items() if one.participant == participant]
        for id_ in gone:
            del self.sessions[id_]
            self.running.discard(id_)
            self.flags -= self.flags_of.pop(id_, Counter())


def status_of(session: Session, *, now: float) -> Status:
    """In one word, what became of a session."""
    match session.ended:
        case None:
            return "active" if now - session.last_seen <= ACTIVE_SECONDS else "away"
        case "finished":
            return "finished"
        case "screened-out":
            return "screened out"
        case _:  # returned, lapsed
            return "dropped out"


def is_running(people: People, participant: int) -> bool:
    """Whether a person may still answer."""
    latest = people.latest.get(participant)
    return latest is not None and people.sessions[latest].ended is None


def hourly_pay(people: People, recruiting: Recruiting) -> dict[str, float | str | None]:
    """What the pay comes to in an hour, over the median of sessions that were finished.

    Sessions are timed from entry to end by the server's clock, with instructions and breaks.
    """
    minutes = [
        (session.finished - session.started) / 60
        for session in people.sessions.values()
        if session.ended == "finished" and session.finished is not None
    ]
    middle = median(minutes) if minutes else None
    pay = recruiting.pay
    effective = pay / (middle / 60) if pay is not None and middle else None
    # Where only an hourly rate is promised, this is what a session would have to be paid.
    due = recruiting.hourly * middle / 60 if recruiting.hourly is not None and middle else None
    return {
        "currency": recruiting.currency,
        "sessions": len(minutes),
        "median_minutes": middle,
        "pay": pay,
        "hourly": effective,
        "promised": recruiting.hourly,
        "due": due,
    }
