"""What one answer about each item tells, in triplet constraints and in bits, by answers so far."""

from dataclasses import dataclass

import numpy as np

from sfumato.judgments.question import Question
from sfumato.labels.labelset import CrowdLabels
from sfumato.planning.cost import FORM_OF_QUESTION
from sfumato.planning.information import FEWEST, Options, constraints, noisy
from sfumato.planning.pilot import error_rate


@dataclass(frozen=True)
class AnswerInformation:
    """How much one answer about each item tells."""

    constraints: int
    """Triplet constraints that it fixes if nobody errs."""
    contradicted: float
    """The share of comparisons in which two people contradict each other."""
    bits: float
    """What is left of the constraints after so much contradiction."""


def answer_information(
    question: Question, crowd: CrowdLabels, *, items: int
) -> AnswerInformation | None:
    """Triplet constraints (S1-21…), less what people's contradictions take away (S1-27).

    ``items`` is how many items are asked about; ``crowd`` may hold some of them. None where it
    cannot be said, or not yet: fewer than three items or classes, or no two people who answered
    about one item.
    """
    classes = len(question.classes)
    if not (np.bincount(crowd.item) > 1).any() or min(items, classes) < FEWEST:
        return None
    options: Options = {}
    kept = _kept(question)
    if kept is not None:
        options["kept"] = kept
    fixed = constraints(FORM_OF_QUESTION[question.kind], items=items, classes=classes, **options)
    error = error_rate(crowd, "agreement", draws=1, rng=np.random.default_rng(0))
    return AnswerInformation(fixed, error.value, noisy(fixed, min(error.flipped, 0.5), "capacity"))


def _kept(question: Question) -> int | None:
    """How many classes an answer scores, where it is not all of them."""
    match question.kind:
        case "top-two":
            return 2
        case "sparse":
            return question.options.get("count")
        case "top-class":
            return len(question.options["subset"])
        case _:
            return None
