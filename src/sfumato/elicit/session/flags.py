"""Signs that a session deserves a look; nothing is ever dropped because of them (S12)."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.elicit.session.screen import Event
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.storage.store import flag

FLAGS: dict[str, str] = {
    "fast": "an answer faster than a person can see the image and react (under 0.3 s)",
    "same-answers": "the same answer ten times in a row, or twenty, or thirty …",
    "focus": "the window lost focus during a trial",
    "paste": "something was pasted into an answer",
    "automation": "the page saw signs of an automated browser",
    "clock": "the page claims more time than passed since the trial was opened",
    "entered-again": "the session was entered again, perhaps from another browser",
    "one-address": "more than five sessions came from one address",
    "ran-out": "fewer trials were left than the session should have had",
    "late": "an answer came after its place had been given up",
}
"""Name of each sign to what it means."""

FAST_SECONDS = 0.3
SAME_ANSWERS = 10
CLOCK_SLACK_SECONDS = 2.0

_INSERT = prepare(
    sa.insert(flag).values(
        session=sa.bindparam("session"),
        kind=sa.bindparam("kind"),
        at=sa.bindparam("at"),
        data=sa.bindparam("data"),
    )
)


def raise_flag(
    connection: Connection, session: int, kind: str, *, now: float, about: dict[str, Any]
) -> None:
    """Note a sign with what it is about."""
    assert kind in FLAGS
    connection.do(_INSERT, session=session, kind=kind, at=now, data=json.dumps(about))


def signs_in(
    *, seconds: float, passed: float, same_answers: int, events: Sequence[Event]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The signs in one answer: its name and the figures.

    ``passed`` are the seconds since the trial was opened by the server's clock.

    >>> [name for name, _ in signs_in(seconds=0.1, passed=0.2, same_answers=20, events=())]
    ['fast', 'same-answers']
    """
    if seconds < FAST_SECONDS or passed < FAST_SECONDS:
        yield "fast", {"seconds": seconds, "passed": round(passed, 3)}
    if seconds > passed + CLOCK_SLACK_SECONDS:
        yield "clock", {"seconds": seconds, "passed": round(passed, 3)}
    if same_answers and same_answers % SAME_ANSWERS == 0:
        yield "same-answers", {"in_a_row": same_answers}
    lost = sum(1 for event in events if event.kind == "focus" and event.data.get("lost"))
    if lost:
        yield "focus", {"times": lost}
    for kind, name in (("paste", "paste"), ("hint", "automation")):
        times = sum(1 for event in events if event.kind == kind)
        if times:
            yield name, {"times": times}
