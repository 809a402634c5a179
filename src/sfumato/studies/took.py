"""How long a run took, also if it was stopped and went on later: ``took.json`` in its folder."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.learn.sweep import Progress

__all__ = ["Took", "read_took", "timekeeping"]

NAME = "took.json"


@dataclass(frozen=True)
class Took:
    """The time of a run, over all its sittings."""

    seconds: float = 0.0
    """From beginning to end."""
    cell_seconds: float = 0.0
    """Of its cells, one after the other; 0 in runs that did not note it."""
    work: float = 0.0
    """What those cells did: model-epochs for trainings."""


@contextmanager
def timekeeping(
    folder: Path, progress: Callable[[Progress], None]
) -> Iterator[Callable[[Progress], None]]:
    """Passes progress on, and adds the time to what earlier runs in the folder took.

    The file is written after every cell, so that a run that is killed has been counted. A run that
    found everything finished adds nothing.
    """
    before, started = read_took(folder) or Took(), time.monotonic()
    idle = False
    sweeps: list[Progress] = []  # the last word of each; a run may have several, one by one

    def note() -> None:
        now = Took(
            round(before.seconds + time.monotonic() - started, 1),
            round(before.cell_seconds + sum(one.cell_seconds for one in sweeps), 1),
            before.work + sum(one.work for one in sweeps),
        )
        (folder / NAME).write_text(json.dumps(asdict(now)) + "\n", encoding="utf-8")

    def watch(state: Progress) -> None:
        nonlocal idle
        idle = state.done + state.failed == state.found
        if idle or not sweeps:  # every sweep begins with what it finds
            sweeps.append(state)
        else:
            sweeps[-1] = state
        if not idle:
            note()
        progress(state)

    yield watch
    if not idle:
        note()


def read_took(folder: Path) -> Took | None:
    """How long the run in a folder took; None where nobody noted it."""
    path = folder / NAME
    return Took(**json.loads(path.read_text("utf-8"))) if path.is_file() else None
