"""Turn raw answers into what they state: masses, exclusions, doubts, choices.

The raw answer is never rewritten. What it states is derived here, once for every
*distinct* answer, because people repeat themselves: ``index`` leads from a judgment to
its row. "0 because I said 0" is a mass of 0, "0 because impossible" is ``ruled_out``,
and "not mentioned" is a mass of NaN: three different things.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnknownName
from sfumato.judgments.question import RULED_OUT, Question
from sfumato.names import find

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
