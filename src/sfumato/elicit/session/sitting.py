"""Load a session by its token, and write back what a command changed in it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sfumato.elicit.refusals import UnknownToken
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.identity import token_hash
from sfumato.elicit.session.slots import is_main
from sfumato.elicit.storage import sql
from sfumato.elicit.storage.database import Connection


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
class Trial:
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


def trial_of(row: Any) -> Trial:
    """A trial from a row of ``TRIAL_BY_ID`` or ``TRIALS_AT_SLOTS``."""
    return Trial(
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
