"""Turn counts of finished cells into what people want to know: how fast, and how long still."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a sweep is. Cells with equal fingerprints are one cell here."""

    total: int
    found: int
    """Cells that were finished before this run began."""
    done: int
    """Cells that are finished, the found ones included."""
    failed: int
    seconds: float
    """Since this run began."""
    work: float
    """What the cells of this run say they did: model-epochs for trainings."""
    cell_seconds: float = 0.0
    """What they took, one after the other."""


def seconds_left(progress: Progress) -> float | None:
    """Seconds until all cells are done at the pace so far; None before the first is.

    Cells found finished took no time and say nothing about the pace.

    >>> seconds_left(Progress(total=12, found=2, done=6, failed=1, seconds=20.0, work=0.0))
    20.0
    """
    tried = progress.done - progress.found + progress.failed
    remaining = progress.total - progress.done - progress.failed
    if not remaining:
        return 0.0
    return progress.seconds / tried * remaining if tried else None


def work_per_second(progress: Progress) -> float:
    """Units of work a second, all workers together.

    >>> work_per_second(Progress(total=9, found=0, done=3, failed=0, seconds=20.0, work=180.0))
    9.0
    """
    return progress.work / progress.seconds if progress.seconds else 0.0
