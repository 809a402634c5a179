"""How a run of a study ended."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Finished"]


@dataclass(frozen=True)
class Finished:
    """Where a run's report is, and how its cells went: trainings, or groups of worlds."""

    report: Path
    done: int
    failed: int
