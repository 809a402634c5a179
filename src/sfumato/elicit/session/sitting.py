"""One session: how its trials are laid out, how far it is, and the signs that it deserves a look.

A slot of the plan is a short text: "practice", "main", "main:STRATUM", "stimulus:ID" (of a batch),
"check" or "repeat:NUMBER", where the number counts the main slots from 1. Signs are noted, and
nothing is ever dropped because of them (S12).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from sfumato.elicit.design.study import Layout
from sfumato.elicit.refusals import UnknownToken
from sfumato.elicit.session.collection import Collection, token_hash
from sfumato.elicit.session.screen import Event
from sfumato.elicit.storage import sql
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


def lay_out(
    layout: Layout, *, strata: Sequence[str], batch: Sequence[int], rng: np.random.Generator
) -> list[str]:
    """The slots of one session.

    Practice comes first, then the main trials with a check somewhere in every ``checks_every`` of
    them, so that nobody knows when to look, then the repeats. ``batch`` holds the stimuli of a
    whole batch, and is empty where each trial gets its stimulus just in time.

    >>> layout = Layout(trials_per_person=4, practice=1, checks_every=2, repeat_numbers=(2, 1))
    >>> lay_out(layout, strata=[], batch=[], rng=np.random.default_rng(0))[:4]
    ['practice', 'main', 'main', 'check']
    >>> lay_out(layout, strata=[], batch=[], rng=np.random.default_rng(0))[4:]
    ['main', 'main', 'check', 'repeat:2', 'repeat:1']
    """
    main = _main_slots(layout, strata, batch, rng)
    slots = ["practice"] * layout.practice
    checked = _checked_places(layout, len(main), rng)
    for number, slot in enumerate(main, start=1):
        slots.append(slot)
        if number in checked:
            slots.append("check")
    return [*slots, *(f"repeat:{number}" for number in _repeated(layout, len(main), rng))]


def is_main(slot: str) -> bool:
    """Whether labels are made from the answers at this slot."""
    return slot.startswith(("main", "stimulus"))


def main_place(plan: Sequence[str], number: int) -> int:
    """The place in the plan of the main slot with this number, from 1."""
    places = [place for place, slot in enumerate(plan) if is_main(slot)]
    return places[number - 1]


def _main_slots(
    layout: Layout, strata: Sequence[str], batch: Sequence[int], rng: np.random.Generator
) -> list[str]:
    if batch:
        return [f"stimulus:{batch[place]}" for place in rng.permutation(len(batch))]
    count = layout.trials_per_person
    if not (layout.per_class and strata):
        return ["main"] * count
    # As many of each stratum as divide evenly (S0-03); who gets one more is drawn.
    order = rng.permutation(len(strata))
    slots = [f"main:{strata[order[place % len(strata)]]}" for place in range(count)]
    return [slots[place] for place in rng.permutation(count)]


def _checked_places(layout: Layout, main: int, rng: np.random.Generator) -> set[int]:
    """The main trials, from 1, after which a check comes: one of each whole block."""
    block = layout.checks_every
    blocks = main // block if block else 0
    return {block * place + int(rng.integers(1, block + 1)) for place in range(blocks)}


def _repeated(layout: Layout, main: int, rng: np.random.Generator) -> list[int]:
    if layout.repeat_numbers:
        return [number for number in layout.repeat_numbers if 1 <= number <= main]
    # The last main trial is still in memory and one step back; it is repeated only for want of
    # another.
    pool = max(main - 1, min(layout.repeats, main))
    return [int(place) + 1 for place in rng.permutation(pool)[: layout.repeats]]


@dataclass(slots=True)
class Sitting:
    """A session while a command works on it; the one thing here that changes."""

    id: int
    participant: int
    stage: str
    plan: Sequence[str]
    batch: str | None
    position: int
    issued: int
    wanted: int
    """Main slots that look-ahead has not reached."""
    back_to: int | None
    label_order: Sequence[str]
    last_answer: str | None
    same_answers: int
    last_seen: float
    finished: float | None
    ended: str | None
    comprehension_tries: int
    completion_code: str | None
    excluded: bool
    lapsed: bool
    """Left for longer than ``resume_hours``: answers are kept, but it does not go on."""
    stage_found: tuple[Any, ...]
    """The values of ``STAGE_COLUMNS`` when it was loaded."""


@dataclass(slots=True)
class StoredTrial:
    """A trial with what its stimulus shows, while a command works on it."""

    id: int
    number: int
    slot: int
    stimulus: int
    view: str
    swapped: bool
    opened: float | None
    expires: float
    state: str
    images: str
    """JSON list of image ids, in the stimulus' own order."""
    shown: str
    """JSON."""
    counted: bool = False


@lru_cache(maxsize=1024)
def read_json(text: str) -> Any:
    """Plain data that was stored and is only read; what is the same for many is kept.

    >>> read_json('["cat", "dog"]')
    ['cat', 'dog']
    """
    return json.loads(text)


def load_sitting(connection: Connection, collection: Collection, token: str, now: float) -> Sitting:
    """The session of a token, locked; 401 where there is none (S1)."""
    hashed = token_hash(collection.study.name, token)
    row = connection.one(sql.SITTING_BY_TOKEN, token_hash=hashed)
    if row is None:
        raise UnknownToken("No session has this token; enter the study again by its link.")
    values = row._asdict()
    values["plan"] = read_json(row.plan)
    values["label_order"] = read_json(row.label_order)
    values["excluded"] = row.excluded is not None
    unseen = now - row.last_seen
    lapsed = row.ended is None and unseen > collection.study.resume_hours * 3600
    stage = tuple(values[name] for name in sql.STAGE_COLUMNS)
    return Sitting(**values, lapsed=lapsed or row.ended == "lapsed", stage_found=stage)


def save_sitting(connection: Connection, sitting: Sitting, now: float) -> None:
    """Write everything that a command may have changed."""
    if sitting.ended:
        sitting.wanted = 0
    sitting.last_seen = now
    progress = {name: getattr(sitting, name) for name in sql.PROGRESS_COLUMNS}
    stage = {name: getattr(sitting, name) for name in sql.STAGE_COLUMNS}
    if tuple(stage.values()) == sitting.stage_found:
        connection.do(sql.SAVE_PROGRESS, session=sitting.id, **progress)
    else:
        connection.do(sql.SAVE_SITTING, session=sitting.id, **progress, **stage)


def advance(sitting: Sitting) -> None:
    """Go to the next slot; the one after it is about to get its stimulus too."""
    sitting.position += 1
    _reach(sitting, sitting.position + 1)


def begin_trials(sitting: Sitting) -> None:
    """Reach the first slot and the one after it."""
    for slot in (0, 1):
        _reach(sitting, slot)


def _reach(sitting: Sitting, slot: int) -> None:
    if slot < len(sitting.plan) and is_main(sitting.plan[slot]):
        sitting.wanted -= 1


def trial_of(row: Any) -> StoredTrial:
    """A trial from a row of ``TRIAL_BY_ID`` or ``TRIALS_AT_SLOTS``."""
    return StoredTrial(
        id=row.id,
        number=row.number,
        slot=row.slot,
        stimulus=row.stimulus,
        view=row.view,
        swapped="swapped" in row.shown,
        opened=row.opened,
        expires=row.expires,
        state=row.state,
        images=row.images,
        shown=row.stimulus_shown,
        counted=bool(row.counted),
    )
