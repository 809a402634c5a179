"""How long a run took, also if it was stopped and went on later: ``took.json`` in its folder."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.learn.sweep import Progress

__all__ = ["seconds_of", "timekeeping"]

NAME = "took.json"


@contextmanager
def timekeeping(
    folder: Path, progress: Callable[[Progress], None]
) -> Iterator[Callable[[Progress], None]]:
    """Passes progress on, and adds the time to what earlier runs in the folder took.

    The file is written after every cell, so that a run that is killed has been counted. A run that
    found everything finished adds nothing.
    """
    before, started = seconds_of(folder) or 0.0, time.monotonic()
    idle = False

    def note() -> None:
        text = json.dumps({"seconds": round(before + time.monotonic() - started, 1)})
        (folder / NAME).write_text(text + "\n", encoding="utf-8")

    def watch(state: Progress) -> None:
        nonlocal idle
        idle = state.done + state.failed == state.found
        if not idle:
            note()
        progress(state)

    yield watch
    if not idle:
        note()


def seconds_of(folder: Path) -> float | None:
    """How long the run in a folder took; None where nobody noted it."""
    path = folder / NAME
    return float(json.loads(path.read_text("utf-8"))["seconds"]) if path.is_file() else None
