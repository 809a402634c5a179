"""Show how far long work is: a bar on a terminal, plain lines elsewhere, both on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress", "say"]

QUIET_SECONDS = 3.0
"""Elsewhere than on a terminal, a line is written this often at most, and none for short work."""


def say(text: str) -> None:
    """A line for the person at the screen; standard output is kept for results."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function of (done, total) that shows how far ``what`` is."""
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(what: str) -> Callable[[int, int], None]:
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET_SECONDS:
            last = time.monotonic()
            say(f"{what}: {done / max(total, 1):.0%}")

    return show
