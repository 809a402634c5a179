"""What a study measures, by name: functions of its data and what came out of its cells."""

from sfumato.studies.data import Measure
from sfumato.studies.measures.worlds import worlds

MEASURES: dict[str, Measure] = {
    "worlds": worlds,
}
"""Every measure that a study can name."""
