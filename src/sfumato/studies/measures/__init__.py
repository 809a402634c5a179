"""What can be found out from the data and the trainings of a study, by name."""

from sfumato.studies.data import Measure
from sfumato.studies.measures.gaps import gains, ladder, levels, resonance, wins
from sfumato.studies.measures.trained import (
    arms,
    history,
    references,
    reliability,
    scores,
    tracking,
)

__all__ = ["MEASURES"]

MEASURES: dict[str, Measure] = {
    "scores": scores,
    "ladder": ladder,
    "gains": gains,
    "levels": levels,
    "resonance": resonance,
    "wins": wins,
    "references": references,
    "arms": arms,
    "history": history,
    "tracking": tracking,
    "reliability": reliability,
}
"""Measures by the names that studies list them under."""
