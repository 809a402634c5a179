"""Questions as data: what is asked of one person about one item, in which words.

A question has a kind (the form of its answer), the classes it is about, its wording, its
options and a version, and is stored beside the answers. ``QUESTIONS`` holds a preset for
each kind with the wording of the paper it comes from.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from sfumato.errors import DataError
from sfumato.names import find
from sfumato.tabular import ShortRepr

Kind = Literal[
    "choose-one",
    "top-two",
    "sliders",
    "typicality",
    "yes-no-unsure",
    "top-class",
    "sparse",
    "likely-set",
    "ranking",
    "confidence",
    "distribution",
    "rating",
    "number",
    "multi-label",
    "three-point",
    "own-and-others",
]

SCALES = ("rating", "number")
"""The kinds whose classes are the points of a scale: their order is told, never guessed."""

BARE = ("choose-one", *SCALES)
"""The kinds whose answers are a single word or number, which a table may hold without quotes."""

RULED_OUT = "ruled_out"
"""The field of a drawn distribution that lists what the item is definitely not (S2-02)."""


@dataclass(frozen=True, repr=False)
class Question(ShortRepr):
    """What was asked; answers of two versions are never pooled unnoticed.

    >>> ask("choose-one", ["cat", "dog"])
    <Question: choose-one of 2 classes: cat, dog>
    >>> ask("sparse", ["cat", "dog", "deer"], count=2).options["count"]
    2
    """

    kind: Kind
    """The form of the answer."""
    classes: tuple[str, ...]
    """What the answer is about, in the order of the label columns."""
    wording: str = ""
    """What the annotator reads; ``{class}`` stands for a class shown with the item. Empty where
    nobody recorded it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of this kind: scale, count, subset, none_of_these, values of a scale's points."""
    version: str = "1"
    """Changes whenever wording, options or classes change."""

    def _summary(self) -> str:
        shown = ", ".join(self.classes[:4]) + (", …" if len(self.classes) > 4 else "")
        return f"Question: {self.kind} of {len(self.classes):,} classes: {shown}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        preset = find(QUESTIONS, self.kind, what="question")
        object.__setattr__(self, "options", {**preset.options, **self.options})
        if len(self.classes) < 2:
            raise DataError(f"A question needs at least two classes; found {list(self.classes)}.")
        if len(set(self.classes)) < len(self.classes):
            twice = sorted({name for name in self.classes if self.classes.count(name) > 1})
            raise DataError(f"The classes must differ; {twice[0]!r} occurs more than once.")
        _check_options(self)

    @property
    def values(self) -> tuple[float, ...] | None:
        """What the points of a scale count, going up; None where the classes have no order.

        Told by the option ``values``; otherwise the points' names where these are numbers, or
        their places from 1.

        >>> ask("rating", ["bad", "fair", "good"]).values
        (1.0, 2.0, 3.0)
        >>> ask("number", ["not at all", "completely"], values=[0, 100]).values
        (0.0, 100.0)
        >>> ask("choose-one", ["1", "2"]).values is None
        True
        """
        if self.kind not in SCALES:
            return None
        given = self.options.get("values")
        try:
            return tuple(float(value) for value in (self.classes if given is None else given))
        except ValueError:
            return tuple(float(place) for place in range(1, len(self.classes) + 1))

    def to_json(self) -> str:
        """The question as a JSON text, to be stored beside the answers."""
        return json.dumps(
            {
                "kind": self.kind,
                "version": self.version,
                "wording": self.wording,
                "classes": list(self.classes),
                "options": dict(self.options),
            },
            indent=1,
            ensure_ascii=False,
        )


@dataclass(frozen=True)
class Preset:
    """The wording and options a paper used for one kind of question."""

    wording: str
    options: Mapping[str, Any]
    about: str
    """What the annotator does, for the list of questions in the documentation."""


QUESTIONS: dict[str, Preset] = {
    "choose-one": Preset(
        "Choose the label that fits the image, as quickly and accurately as possible.",
        {},
        "one label (S0-01)",
    ),
    "top-two": Preset(
        "Imagine 100 crowdsourced workers are shown this image. Which category would they select "
        "as most probably the true one, and with what percent probability (0 to 100)? Which as "
        "second most probable, if any, and with what probability? Which categories is the image "
        "definitely not?",
        {"scale": 100},
        "most probable and second most probable label in percent, and what it is definitely "
        "not (S2-02)",
    ),
    "sliders": Preset(
        "How well does each category match the image, from 0 (not at all matching) to 1 "
        "(completely matching)?",
        {"scale": 1},
        "one slider per class (S1-01)",
    ),
    "typicality": Preset(
        "How typical is this image of {class}, from “Not at all typical” to “Extremely typical”?",
        {"scale": 1},
        "how typical the item is of the class shown with it (S1-02)",
    ),
    "yes-no-unsure": Preset(
        "For each category: does the image show it? Yes, No or Unsure.",
        {"none_of_these": True},
        "yes, no or unsure for every class; all no means none of these (S4-01, S4-02)",
    ),
    "top-class": Preset(
        "How well does each of these categories match the image, from 0 to 1?",
        {"scale": 1, "subset": None},
        "sliders for one fixed subset of the classes (S1-05)",
    ),
    "sparse": Preset(
        "Pick the most relevant categories and say how well each matches the image, from 0 to 1.",
        {"scale": 1, "count": 2},
        "scores for the few most relevant classes of each item (S1-06)",
    ),
    "likely-set": Preset(
        "Mark every label that is likely.",
        {},
        "the set of likely labels (S2-01)",
    ),
    "ranking": Preset(
        "Order the labels you think possible, the most likely first.",
        {},
        "labels in order of likelihood (S2-01)",
    ),
    "confidence": Preset(
        "Choose the label that fits the image. Are you guessing, or is it probably or definitely "
        "that?",
        {"levels": {"guessing": 0.5, "probably": 0.75, "definitely": 1.0}},
        "one label and how sure: guessing, probably or definitely (S2-01)",
    ),
    "distribution": Preset(
        "Draw how likely each label is; the bars always sum to 100 %.",
        {"scale": 100},
        "a whole distribution drawn by hand (S3-19)",
    ),
    "rating": Preset(
        "Rate it on this scale.",
        {"values": None},
        "one point of a scale; its classes are the points in order, from low to high",
    ),
    "number": Preset(
        "Where does it lie between these points?",
        {"values": None},
        "a number between two ends, as a slider gives it; its classes are points along the way",
    ),
    "multi-label": Preset(
        "Which of these apply? Each may, on its own.",
        {},
        "yes, no or unsure for every class on its own; several may apply, or none",
    ),
    "three-point": Preset(
        "How probable is it that “{class}”: at the lowest, at the highest, and your best guess?",
        {"scale": 100},
        "the lowest, best and highest probability of the first of two classes",
    ),
    "own-and-others": Preset(
        "What is your answer, and what do you think that others answer?",
        {"scale": 100},
        "one label, and what others are expected to say: a label, or a share for each",
    ),
}


def ask(kind: str, classes: Sequence[str], **options: Any) -> Question:
    """The preset question of a kind about the given classes; options replace the preset's.

    >>> ask("choose-one", ["cat", "dog"]).wording
    'Choose the label that fits the image, as quickly and accurately as possible.'
    >>> ask("top-two", ["cat", "dog"], scal=10)
    Traceback (most recent call last):
        ...
    sfumato.errors.UnknownName: No option of the question 'top-two' is called 'scal'. ...
    """
    preset = find(QUESTIONS, kind, what="question")
    for name in options:
        find(preset.options, name, what=f"option of the question {kind!r}")
    settings = {**preset.options, **options}
    return Question(kind, tuple(classes), preset.wording, settings)  # type: ignore[arg-type]


def question_from_json(text: str, *, where: str) -> Question:
    """Read a stored question; ``where`` names the file in errors."""
    try:
        stored = json.loads(text)
        if not all(isinstance(name, str) for name in stored["classes"]) or isinstance(
            stored["classes"], str
        ):
            raise TypeError("classes are a list of texts")
        if not isinstance(stored.get("wording", ""), str):
            raise TypeError("the wording is a text")
        plain = ask(stored["kind"], stored["classes"], **stored.get("options", {}))
        return replace(
            plain,
            wording=stored.get("wording", plain.wording),
            version=str(stored.get("version", plain.version)),
        )
    except json.JSONDecodeError as error:
        raise DataError(f"{where} is not JSON: {error}.") from None
    except (KeyError, TypeError, AttributeError):
        raise DataError(
            f"{where} holds no question: it needs an object with at least "
            '{"kind": "choose-one", "classes": ["cat", "dog"]}.'
        ) from None


def _check_options(question: Question) -> None:
    options = question.options
    scale = options.get("scale", 1)
    if not isinstance(scale, int | float) or not scale > 0:
        raise DataError(f"The scale of a question must be a positive number, not {scale!r}.")
    if question.kind == "top-class":
        subset = options.get("subset") or ()
        unknown = [name for name in subset if name not in question.classes]
        if len(subset) < 2 or unknown:
            raise DataError(
                "A top-class question needs the option 'subset', at least two of its classes; "
                f"found {list(subset)}."
            )
    levels = options.get("levels", {})
    if not isinstance(levels, Mapping) or not all(map(_is_share, levels.values())):
        raise DataError(
            "The levels of a question are names with numbers from 0 to 1, such as "
            f'{{"guessing": 0.5, "definitely": 1}}; found {levels!r}.'
        )
    if question.kind in ("distribution", "own-and-others") and RULED_OUT in question.classes:
        raise DataError(
            f"A class of a distribution cannot be called {RULED_OUT!r}: so is the list of what an "
            "item is definitely not. Call it otherwise."
        )
    if question.kind == "three-point" and len(question.classes) != 2:
        raise DataError(
            "A three-point probability is about two classes, what may happen and its contrary; "
            f"found {len(question.classes)}."
        )
    if question.kind in SCALES:
        _check_values(question, options.get("values"))
    if question.kind == "sparse" and not 1 <= options.get("count", 2) <= len(question.classes):
        raise DataError(
            f"A sparse question asks for 1 to {len(question.classes)} classes, "
            f"not {options['count']!r}."
        )


def _check_values(question: Question, given: Any) -> None:
    numbers = isinstance(given, list | tuple) and all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in given
    )
    if given is not None and (not numbers or len(given) != len(question.classes)):
        raise DataError(
            f"The values of a scale are one number for each of its {len(question.classes)} points; "
            f"found {given!r}."
        )
    values = question.values or ()
    if not all(low < high for low, high in pairwise(values)):
        raise DataError(
            "The points of a scale stand in order, from the lowest to the highest value; found "
            f"{', '.join(f'{value:g}' for value in values)}."
        )


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
