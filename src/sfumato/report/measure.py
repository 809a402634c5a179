"""What a reader must know of a metric: its name in words, which way is better, what it means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

__all__ = ["Better", "Measure", "Measures", "measure_of"]

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Measure:
    """How a metric is spoken of; handed in by whoever computed it."""

    title: str
    """"cross-entropy to people"."""
    better: Better = "neither"
    meaning: str = ""
    """One sentence with the formula in words."""

    @property
    def axis(self) -> str:
        """The title with its direction, for an axis.

        >>> Measure("accuracy", "higher").axis
        'accuracy (higher is better)'
        """
        match self.better:
            case "lower" | "higher":
                return f"{self.title} ({self.better} is better)"
            case "neither":
                return self.title
            case _:
                assert_never(self.better)


Measures = Mapping[str, Measure]
"""A metric's name to what is said of it."""


def measure_of(measures: Measures, metric: str) -> Measure:
    """The measure of a metric, or one that only repeats its name and judges nothing.

    >>> measure_of({}, "second_best_accuracy").title
    'second best accuracy'
    """
    return measures.get(metric, Measure(metric.replace("_", " ")))
