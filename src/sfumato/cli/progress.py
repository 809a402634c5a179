"""Show how far long work is: a bar on a terminal, plain lines elsewhere, both on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Advance", "progress", "say"]

QUIET_SECONDS = 3.0
"""Elsewhere than on a terminal, a line is written this often at most, and none for short work."""


def say(text: str) -> None:
    """A line for the person at the screen; standard output is kept for results."""
    sys.stderr.write(f"{text}\n")


class Advance(Protocol):
    """Shows that so much is done; the note says more, such as the pace."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Move the bar, or write a line if the last was long ago."""


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A function of (done, total) that shows how far ``what`` is."""
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)

        def move(done: int, total: int, note: str = "") -> None:
            described = f"{what} ({note})" if note else what
            bar.update(task, completed=done, total=total, description=described)

        yield move


def _lines(what: str) -> Advance:
    last = time.monotonic()

    def show(done: int, total: int, note: str = "") -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET_SECONDS:
            last = time.monotonic()
            say(f"{what}: {done / max(total, 1):.0%}" + (f", {note}" if note else ""))

    return show
