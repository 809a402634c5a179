"""What can be found out from the data and the trainings of a study, by name."""

from sfumato.studies.data import Measure
from sfumato.studies.measures.doubt import correlations, doubt, entropies
from sfumato.studies.measures.dynamics import convergence, data_maps
from sfumato.studies.measures.interest import duplicates, items_of_interest, label_pairs
from sfumato.studies.measures.mixed_answers import mixed_answers
from sfumato.studies.measures.modes import modes
from sfumato.studies.measures.people import cover_people, few_votes, forms_worth
from sfumato.studies.measures.persons import people
from sfumato.studies.measures.rescore import judges, rescore
from sfumato.studies.measures.similarity import similarity
from sfumato.studies.measures.trained import (
    arms,
    constant,
    gains,
    history,
    ladder,
    levels,
    references,
    reliability,
    resonance,
    scores,
    tracking,
    wins,
)
from sfumato.studies.worlds import worlds

__all__ = ["MEASURES"]

MEASURES: dict[str, Measure] = {
    "scores": scores,
    "ladder": ladder,
    "gains": gains,
    "levels": levels,
    "resonance": resonance,
    "wins": wins,
    "references": references,
    "constant": constant,
    "arms": arms,
    "history": history,
    "tracking": tracking,
    "reliability": reliability,
    "worlds": worlds,
    "duplicates": duplicates,
    "doubt": doubt,
    "correlations": correlations,
    "modes": modes,
    "data_maps": data_maps,
    "convergence": convergence,
    "entropies": entropies,
    "items_of_interest": items_of_interest,
    "label_pairs": label_pairs,
    "mixed_answers": mixed_answers,
    "rescore": rescore,
    "judges": judges,
    "few_votes": few_votes,
    "cover_people": cover_people,
    "forms_worth": forms_worth,
    "people": people,
    "similarity": similarity,
}
"""Measures by the names that studies list them under."""
