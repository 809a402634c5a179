"""What a network can learn from: the arms of a study."""

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.errors import DataError
from sfumato.labels.alter import class_level, majority_labels, matched_smoothing
from sfumato.labels.build import RECIPES, build
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.fit import Presentation
from sfumato.names import find
from sfumato.studies.sources import Material

__all__ = ["ARMS", "Arm", "labels_of"]


@dataclass(frozen=True)
class Arm:
    """A way to turn what is known of the items into targets."""

    about: str
    make: Callable[[Material], LabelSet | CrowdLabels]
    presentation: Presentation = "fixed"


ARMS: dict[str, Arm] = {
    "original": Arm(
        "the label that the data set came with (of pictures that a model made: the model's)",
        lambda known: known.original if known.model_made is None else known.model_made,
    ),
    "majority": Arm(
        "the most frequent answer of the same people as a hard label; ties share it",
        lambda known: majority_labels(known.people, "share"),
    ),
    "soft": Arm("people's distribution", lambda known: known.people),
    "sampled": Arm(
        "a hard label drawn afresh from people's distribution each epoch",
        lambda known: known.people,
        "sampled",
    ),
    "one-annotator": Arm(
        "one person's own answer, drawn afresh each epoch",
        lambda known: _crowd(known),
        "one annotator",
    ),
    "smoothed": Arm(
        "original labels smoothed until they leave as much off the top class as people do",
        lambda known: matched_smoothing(known.original, known.people),
    ),
    "class-level": Arm(
        "for each original class, the mean of people's distributions",
        lambda known: class_level(known.people, known.original),
    ),
}


def labels_of(name: str, known: Material) -> tuple[LabelSet | CrowdLabels, Presentation]:
    """The labels of an arm and how they are shown; a recipe's name reads the judgments by it."""
    if name in ARMS:
        arm = ARMS[name]
        return arm.make(known), arm.presentation
    find(RECIPES, name, what="arm")
    if known.judgments is None:
        held = find(known.made, name, what="recipe by which the data set holds labels")
        return held, "fixed"
    return build(known.judgments, name).crowd.mean().take(known.people.items), "fixed"


def _crowd(known: Material) -> CrowdLabels:
    if known.crowd is None:
        raise DataError(
            "The data set holds people's labels averaged, not each person's, so nothing can be "
            "learnt from one person at a time; leave out the arm 'one-annotator'."
        )
    return known.crowd
