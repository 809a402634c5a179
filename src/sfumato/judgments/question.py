"""Questions as data: what is asked about one item, in which words, and what answers state.

A question has a kind (the form of its answer), the classes it is about, its wording, its
options and a version, and is stored beside the answers. ``QUESTIONS`` holds a preset for
each kind with the wording of the paper it comes from.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
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


# Turn raw answers into what they state: masses, exclusions, doubts, choices.
#
# The raw answer is never rewritten. What it states is derived here, once for every
# *distinct* answer, because people repeat themselves: ``index`` leads from a judgment to
# its row. "0 because I said 0" is a mass of 0, "0 because impossible" is ``ruled_out``,
# and "not mentioned" is a mass of NaN: three different things.


ODDITIES: dict[str, str] = {
    "not-a-number": "other text in a number field",
    "out-of-range": "a number outside the scale that was asked for",
    "percent-without-class": "a probability typed although no alternative was chosen",
    "class-without-percent": "a class chosen without a probability",
    "zero-for-the-choice": "probability 0 for the class chosen as most probable",
    "second-above-first": "the second choice got more than the first",
    "same-class-twice": "the same class chosen as first and second",
    "chosen-and-ruled-out": "a chosen class is also marked as impossible",
    "everything-ruled-out": "all classes marked as impossible",
    "mass-over": "stated mass over 100 %",
    "mass-under": "stated mass under 100 %",
    "nothing-stated": "an answer that favours no class",
    "unanswered": "some classes were left without an answer",
    "bounds-out-of-order": "a best guess that is not between the lowest and the highest",
}


class BadAnswer(Exception):
    """An answer that does not have the form its question asks for; the reader sets it aside."""


class OffScale(BadAnswer):
    """A number that is not on the scale: the scale is another, so the reader refuses the whole."""

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(f"{_short(found)} is not {expected}")
        self.found, self.expected = _short(found), expected


@dataclass(frozen=True, eq=False)
class Statements:
    """What the distinct answers of a table state, and which judgment gave which."""

    index: NDArray[np.integer[Any]]  # (judgments,) row of each judgment below
    mass: NDArray[np.float64]  # (answers, classes) share of 1; NaN: not mentioned
    ruled_out: NDArray[np.bool_]  # (answers, classes) said to be impossible
    unsure: NDArray[np.bool_]  # (answers, classes) said to be unsure
    rank: NDArray[np.int64]  # (answers, classes) 1: named first; 0: not named
    none_of_these: NDArray[np.bool_]  # (answers,)
    said_again: NDArray[np.float64]  # (answers,) mass typed when the first choice was chosen twice
    oddities: Mapping[str, NDArray[np.bool_]]  # name to (answers,)
    bounds: NDArray[np.float64]  # (answers, 2) lowest and highest mass of the first class, or NaN

    def __len__(self) -> int:
        return len(self.index)


@dataclass
class _Stated:
    """What one answer states, while it is being read."""

    mass: dict[str, float] = field(default_factory=dict)
    ruled_out: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    named: list[list[str]] = field(default_factory=list)
    """Named classes, best first; classes of equal standing share a place."""
    none_of_these: bool = False
    said_again: float = math.nan
    bounds: tuple[float, float] = (math.nan, math.nan)
    odd: list[str] = field(default_factory=list)


def read_answers(
    question: Question, answers: Sequence[str]
) -> tuple[Statements, dict[int, BadAnswer | UnknownName]]:
    """What distinct answers state, and what is wrong with those that cannot be read.

    ``answers`` are JSON texts, each different; ``index`` is then the identity.

    >>> from sfumato.judgments.question import ask
    >>> question = ask("top-two", ["cat", "dog", "deer"])
    >>> answer = '{"first": "cat", "first_percent": "70", "second": "dog", "second_percent": "8p"}'
    >>> stated, wrong = read_answers(question, [answer])
    >>> stated.mass
    array([[0.7, nan, nan]])
    >>> [name for name, rows in stated.oddities.items() if rows.any()]
    ['not-a-number', 'mass-under']
    """
    parse = _PARSERS[question.kind]
    column = {name: place for place, name in enumerate(question.classes)}
    shape = (len(answers), len(question.classes))
    mass = np.full(shape, np.nan)
    ruled_out, unsure = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    rank = np.zeros(shape, dtype=np.int64)
    none_of_these = np.zeros(len(answers), dtype=bool)
    said_again = np.full(len(answers), np.nan)
    bounds = np.full((len(answers), 2), np.nan)
    oddities = {name: np.zeros(len(answers), dtype=bool) for name in ODDITIES}
    wrong: dict[int, BadAnswer | UnknownName] = {}
    for row, text in enumerate(answers):
        try:
            stated = parse(question, _load(text))
        except (BadAnswer, UnknownName) as error:
            wrong[row] = error
            continue
        for name, value in stated.mass.items():
            mass[row, column[name]] = value
        for name in stated.ruled_out:
            ruled_out[row, column[name]] = True
        for name in stated.unsure:
            unsure[row, column[name]] = True
        for place, names in enumerate(stated.named, start=1):
            for name in names:
                rank[row, column[name]] = place
        if stated.none_of_these:
            none_of_these[row] = True
        if not math.isnan(stated.said_again):
            said_again[row] = stated.said_again
        bounds[row] = stated.bounds
        for name in stated.odd:
            oddities[name][row] = True
    index = np.arange(len(answers))
    stated_all = Statements(
        index, mass, ruled_out, unsure, rank, none_of_these, said_again, oddities, bounds
    )
    return stated_all, wrong


def top_choice(stated: Statements) -> NDArray[np.int64]:
    """The class each distinct answer puts first, -1 where it names none or several.

    Classes named in an order decide; otherwise the largest stated mass does.
    """
    first = stated.rank == 1  # (answers, classes)
    mass = np.where(np.isnan(stated.mass), -1.0, stated.mass)
    largest = (mass == mass.max(axis=1, keepdims=True)) & (mass > 0)
    best = np.where(first.any(axis=1, keepdims=True), first, largest)
    return np.where(best.sum(axis=1) == 1, best.argmax(axis=1), -1)


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also numbers of thousands of digits, endless brackets
        raise BadAnswer(f"the answer {_short(text)} is not JSON") from None


def _choose_one(question: Question, answer: Any) -> _Stated:
    return _Stated(mass={_known(question, answer): 1.0}, named=[[answer]])


def _top_two(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer, needed=("first",))
    first, second = _known(question, fields["first"]), fields.get("second")
    stated = _Stated(named=[[first]])
    stated.ruled_out = [_known(question, name) for name in _listed(fields.get("ruled_out", []))]
    first_mass = _share(question, fields.get("first_percent"), stated.odd)
    second_mass = _share(question, fields.get("second_percent"), stated.odd)
    if first_mass is not None:
        stated.mass[first] = first_mass
    elif fields.get("first_percent") in (None, ""):
        stated.odd.append("class-without-percent")
    if first_mass == 0:
        stated.odd.append("zero-for-the-choice")
    if second is None:
        if fields.get("second_percent") not in (None, ""):
            stated.odd.append("percent-without-class")
    elif _known(question, second) == first:
        stated.odd.append("same-class-twice")
        stated.said_again = math.nan if second_mass is None else second_mass
    else:
        stated.named.append([second])
        if second_mass is not None:
            stated.mass[second] = second_mass
        elif fields.get("second_percent") in (None, ""):
            stated.odd.append("class-without-percent")
        if first_mass is not None and second_mass is not None and second_mass > first_mass:
            stated.odd.append("second-above-first")
    chosen = {name for names in stated.named for name in names}
    _note_exclusions(question, stated, chosen=chosen)
    _note_total(stated)
    return stated


def _sliders(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer)
    stated = _Stated()
    for name, value in fields.items():
        share = _share(question, value, stated.odd)
        if share is not None:
            stated.mass[_known(question, name)] = share
    if not any(stated.mass.values()):
        stated.odd.append("nothing-stated")
    if len(fields) < len(_asked(question)):
        stated.odd.append("unanswered")
    return stated


def _top_class(question: Question, answer: Any) -> _Stated:
    outside = [name for name in _fields(answer) if name not in question.options["subset"]]
    if outside:
        raise BadAnswer(
            f"class {outside[0]!r} is not in the subset {question.options['subset']} asked about"
        )
    return _sliders(question, answer)


def _sparse(question: Question, answer: Any) -> _Stated:
    count = question.options["count"]
    if len(_fields(answer)) > count:
        raise BadAnswer(f"{len(answer)} classes are scored where {count} were asked for")
    return _sliders(question, answer)


def _distribution(question: Question, answer: Any) -> _Stated:
    fields = dict(_fields(answer))
    ruled_out = [_known(question, name) for name in _listed(fields.pop(RULED_OUT, []))]
    stated = _sliders(question, fields)
    stated.odd = [name for name in stated.odd if name != "unanswered"]  # no bar means 0
    stated.ruled_out = ruled_out
    _note_exclusions(question, stated, chosen={name for name, one in stated.mass.items() if one})
    stated.mass = {name: stated.mass.get(name, 0.0) for name in question.classes}
    _note_total(stated)
    return stated


def _typicality(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer, needed=("class", "typicality"))
    stated = _Stated()
    shown = _known(question, fields["class"])
    share = _share(question, fields["typicality"], stated.odd)
    stated.named = [[shown]]
    if share is not None:
        stated.mass[shown] = share
    else:
        stated.odd.append("nothing-stated")
    return stated


def _yes_no_unsure(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer)
    given: dict[str, list[str]] = {"yes": [], "no": [], "unsure": []}
    for name, value in fields.items():
        if not isinstance(value, str) or value not in given:
            raise BadAnswer(f"{_short(value)} for class {name!r} is not yes, no or unsure")
        given[value].append(_known(question, name))
    stated = _Stated(ruled_out=given["no"], unsure=given["unsure"])
    stated.named = [given["yes"], given["unsure"]] if given["yes"] else []
    all_no = len(given["no"]) == len(question.classes)
    stated.none_of_these = all_no and question.options.get("none_of_these", False)
    if len(fields) < len(question.classes):
        stated.odd.append("unanswered")
    if not given["yes"] and not given["unsure"] and not stated.none_of_these:
        stated.odd.append("nothing-stated")
    if all_no:
        stated.odd.append("everything-ruled-out")
    return stated


def _likely_set(question: Question, answer: Any) -> _Stated:
    names = [_known(question, name) for name in _listed(answer)]
    if len(set(names)) < len(names):
        raise BadAnswer("a class is in the set twice")
    stated = _Stated(named=[names] if names else [])
    if not names:
        stated.odd.append("nothing-stated")
    return stated


def _ranking(question: Question, answer: Any) -> _Stated:
    stated = _likely_set(question, answer)
    stated.named = [[name] for names in stated.named for name in names]
    return stated


def _confidence(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer, needed=("choice", "confidence"))
    levels: Mapping[str, float] = question.options["levels"]
    level = fields["confidence"]
    if not isinstance(level, str) or level not in levels:
        raise BadAnswer(f"confidence {_short(level)} is not one of {', '.join(levels)}")
    chosen = _known(question, fields["choice"])
    return _Stated(mass={chosen: levels[level]}, named=[[chosen]])


def _rating(question: Question, answer: Any) -> _Stated:
    point, values = _text_of(answer), question.values
    assert values is not None
    if point not in question.classes:
        number = _number_of(answer)
        if number not in values:
            raise OffScale(answer, _points(question))
        point = question.classes[values.index(number)]
    return _Stated(mass={point: 1.0}, named=[[point]])


def _number(question: Question, answer: Any) -> _Stated:
    """A number lies between two points: both get mass, so that their mean is the number."""
    values, number = question.values, _number_of(answer)
    assert values is not None
    if not values[0] <= number <= values[-1]:
        raise OffScale(answer, f"a number from {values[0]:g} to {values[-1]:g}")
    above = max(1, bisect_left(values, number))
    share = (number - values[above - 1]) / (values[above] - values[above - 1])
    low, high = question.classes[above - 1 : above + 1]
    return _Stated(mass={low: 1 - share, high: share})


def _multi_label(question: Question, answer: Any) -> _Stated:
    if isinstance(answer, list):  # what was ticked; the rest was not
        ticked = [name for names in _likely_set(question, answer).named for name in names]
        answer = {name: "yes" if name in ticked else "no" for name in question.classes}
    stated = _yes_no_unsure(question, answer)
    stated.odd = [name for name in stated.odd if name == "unanswered"]  # nothing need apply
    return stated


def _three_point(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer, needed=("lower", "best", "upper"))
    scale = question.options["scale"]
    numbers = [_number_of(fields[name]) for name in ("lower", "best", "upper")]
    for name, number in zip(("lower", "best", "upper"), numbers, strict=True):
        if not 0 <= number <= scale:
            raise OffScale(fields[name], f"a probability from 0 to {scale:g} ({name})")
    lower, best, upper = (number / scale for number in numbers)
    first, second = question.classes
    odd = [] if lower <= best <= upper else ["bounds-out-of-order"]
    return _Stated(mass={first: best, second: 1 - best}, bounds=(lower, upper), odd=odd)


def _own_and_others(question: Question, answer: Any) -> _Stated:
    fields = _fields(answer, needed=("own", "others"))
    own, others = _known(question, fields["own"]), fields["others"]
    if not isinstance(others, dict):
        return _Stated(named=[[own]], mass={_known(question, others): 1.0})
    return replace(_distribution(question, others), named=[[own]])


_PARSERS: dict[str, Callable[[Question, Any], _Stated]] = {
    "choose-one": _choose_one,
    "top-two": _top_two,
    "sliders": _sliders,
    "typicality": _typicality,
    "yes-no-unsure": _yes_no_unsure,
    "top-class": _top_class,
    "sparse": _sparse,
    "likely-set": _likely_set,
    "ranking": _ranking,
    "confidence": _confidence,
    "distribution": _distribution,
    "rating": _rating,
    "number": _number,
    "multi-label": _multi_label,
    "three-point": _three_point,
    "own-and-others": _own_and_others,
}


def _asked(question: Question) -> Sequence[str]:
    """The classes that each want a number."""
    match question.kind:
        case "top-class":
            return list(question.options["subset"])
        case "sparse":
            return question.classes[: question.options["count"]]
        case _:
            return question.classes


def _known(question: Question, name: Any) -> str:
    if isinstance(name, str) and name in question.classes:
        return name
    # An unknown class is refused, not set aside: leaving its votes out would change every share.
    find(dict.fromkeys(question.classes), str(name), what="class")
    raise BadAnswer(f"class {name!r} is not a text")


def _fields(answer: Any, *, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise BadAnswer(f"the answer {_short(answer)} is not an object of fields")
    missing = [name for name in needed if name not in answer]
    if missing:
        raise BadAnswer(f"the answer {_short(answer)} lacks {missing[0]!r}")
    return answer


def _listed(answer: Any) -> list[Any]:
    if not isinstance(answer, list):
        raise BadAnswer(f"{_short(answer)} is not a list of classes")
    return answer


def _share(question: Question, typed: Any, odd: list[str]) -> float | None:
    """The number somebody typed as a share of the scale; None if it cannot be used."""
    if typed is None or typed == "":
        return None
    scale = question.options.get("scale", 1)
    try:
        number = float(typed.strip().removesuffix("%") if isinstance(typed, str) else typed)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(typed, bool) or not math.isfinite(number):
        odd.append("not-a-number")
        return None
    if not 0 <= number <= scale:
        odd.append("out-of-range")
        return None
    return number / scale


def _text_of(answer: Any) -> str:
    """A point as it is named; 3 and 3.0 are both written 3."""
    if isinstance(answer, str):
        return answer
    number = _number_of(answer)
    return str(int(number)) if number.is_integer() else str(number)


def _number_of(answer: Any) -> float:
    """A number, or a text that is one; NaN for anything else."""
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        return math.nan
    try:
        return float(answer)
    except (ValueError, OverflowError):
        return math.nan


def _points(question: Question) -> str:
    """The scale in words: its points, or its ends where there are many."""
    names, values = question.classes, question.values
    assert values is not None
    ends = f"{values[0]:g} to {values[-1]:g}"
    if all(name == f"{value:g}" for name, value in zip(names, values, strict=True)):
        return f"one of the {len(names)} points {ends}"
    shown = names if len(names) <= 7 else (names[0], "…", names[-1])
    return f"one of the {len(names)} points {', '.join(shown)} ({ends})"


def _note_exclusions(question: Question, stated: _Stated, *, chosen: set[str]) -> None:
    if chosen & set(stated.ruled_out):
        stated.odd.append("chosen-and-ruled-out")
    if len(set(stated.ruled_out)) == len(question.classes):
        stated.odd.append("everything-ruled-out")


def _note_total(stated: _Stated) -> None:
    total = sum(stated.mass.values())
    if total > 1 + 1e-9:
        stated.odd.append("mass-over")
    if total < 1 - 1e-9:
        stated.odd.append("mass-under")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return repr(text if len(text) <= 60 else text[:57] + "…")
