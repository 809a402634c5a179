"""Check an answer from the browser against its question, strictly, before it is stored.

What is stored is exactly the JSON that ``judgments.statements.read_answers`` reads, so an export
needs no translation. Nothing a page can send gets further than here unless its types, ranges,
class names and size are right (S4). In the mode "guarded" an answer that contradicts itself is
refused as well, with the reason for each field; in "faithful" it is kept and its faults counted.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from sfumato.elicit.design.study import ElicitStudy, Form, Mode
from sfumato.elicit.refusals import AnswerFault, InvalidAnswer
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, ComparisonQuestion
from sfumato.judgments.question import RULED_OUT, Question, ask, read_answers

ANSWER_BYTES = 256 * 1024
"""Of the longest answer that a study may ask for."""
TEXT_LIMIT = 2_000
DRAWN = ("distribution", "own-and-others")
"""Kinds whose answers hold a whole distribution."""
THREE_POINTS = ("lower", "best", "upper")
NUMBER_BYTES = 24
"""Of a number, as long as Python and browsers write them."""


@dataclass(frozen=True)
class MixQuestion:
    """How much of each of two sources somebody sees in a mixed image (S2-08)."""

    wording: str
    confidence: bool = True
    """Whether they also say how sure they are."""
    version: str = "1"


AnyQuestion = Question | ComparisonQuestion | MixQuestion


@dataclass(frozen=True)
class CheckedAnswer:
    """An answer that may be stored."""

    text: str
    """JSON in one fixed order, so that equal answers are equal texts."""
    faults: tuple[str, ...]
    """Names in ``judgments.statements.ODDITIES``."""


def question_of(study: ElicitStudy) -> AnyQuestion:
    """The question that a study asks; wrong options raise ``DataError`` or ``UnknownName``."""
    form = study.form
    match form:
        case "pairs" | "triplets" | "preference":
            scale = study.options.get("scale", COMPARISON_QUESTIONS[form].scale)
            ends = None if scale is None else (float(scale[0]), float(scale[1]))
            tie = form == "preference" and bool(study.options.get("tie", True))
            return ComparisonQuestion(form, study.wording, ends, study.version, tie)
        case "mix":
            asks_confidence = bool(study.options.get("confidence", True))
            return MixQuestion(study.wording, asks_confidence, study.version)
        case _:
            plain = ask(form, study.classes, **study.options)
            return Question(form, plain.classes, study.wording, plain.options, study.version)


def longest_answer(question: AnyQuestion) -> int:
    """How many bytes of JSON an answer may have that the question allows.

    >>> longest_answer(ask("yes-no-unsure", ["cat", "dog"]))
    108
    """
    if not isinstance(question, Question):
        return 4 * NUMBER_BYTES
    names = [len(json.dumps(name)) for name in question.classes]
    named = sum(names) + (1 + NUMBER_BYTES) * len(names)  # one value a class
    match question.kind:
        case "choose-one" | "typicality":
            return max(names) + 2 * NUMBER_BYTES
        case "top-two":
            return 2 * max(names) + named + 2 * 6 * TEXT_LIMIT + 4 * NUMBER_BYTES
        case "distribution" | "own-and-others":
            return named + sum(names) + max(names) + len(names) + 4 * NUMBER_BYTES
        case _:
            return named + 2 * NUMBER_BYTES


def check_length(question: AnyQuestion) -> None:
    """Refuse a question whose answer might be longer than the server takes."""
    most = longest_answer(question)
    if most > ANSWER_BYTES:
        assert isinstance(question, Question)
        raise DataError(
            f"An answer about these {len(question.classes):,} classes could have {most:,} bytes, "
            f"and at most {ANSWER_BYTES:,} are taken; give the classes shorter names, or ask about "
            "fewer."
        )


def check_answer(
    question: AnyQuestion, answer: Any, *, mode: Mode, shown: Mapping[str, Any]
) -> CheckedAnswer:
    """The answer as it is stored, or ``InvalidAnswer`` with every fault that was found.

    ``shown`` is what the stimulus showed; a rating of typicality must be about its class.

    >>> from sfumato.judgments.question import ask
    >>> question = ask("top-two", ["cat", "dog", "deer"])
    >>> check_answer(
    ...     question, {"first": "cat", "first_percent": "120"}, mode="faithful", shown={}
    ... ).faults
    ('out-of-range', 'mass-under')
    >>> check_answer(question, {"first": "cat", "first_percent": 120}, mode="guarded", shown={})
    Traceback (most recent call last):
        ...
    sfumato.elicit.refusals.InvalidAnswer: The probability must lie between 0 and 100.
    """
    text = _as_json(answer)
    match question:
        case Question():
            _check_form(question, answer, shown)
            if question.kind == "choose-one":  # a known class: nothing can be odd in it
                return CheckedAnswer(text, ())
            return _check_statement(question, answer, text, mode)
        case ComparisonQuestion(kind="pairs"):
            _check_rating(question, answer)
        case ComparisonQuestion():
            _check_fields(answer, needed=(question.answer,))
            _check_member(question.answer, answer[question.answer], question.sides)
        case MixQuestion():
            needed = ("perceived", "confidence") if question.confidence else ("perceived",)
            _check_fields(answer, needed=needed)
            for name in needed:
                _check_number(name, answer[name], 0, 1)
        case _:
            assert_never(question)
    return CheckedAnswer(text, ())


def swap_sides(form: Form, answer: Any) -> Any:
    """The answer seen from the other side, where two sides changed places on the screen.

    >>> swap_sides("triplets", {"closer": "first"}), swap_sides("mix", {"perceived": 0.1})
    ({'closer': 'second'}, {'perceived': 0.9})
    """
    match form:
        case "triplets" | "preference":
            other = {"first": "second", "second": "first"}
            return {field: other.get(side, side) for field, side in answer.items()}
        case "mix":
            return {**answer, "perceived": round(1 - answer["perceived"], 9)}
        case _:
            return answer


def _as_json(answer: Any) -> str:
    try:
        # ASCII only: half a surrogate pair or a NUL would be refused by the database.
        text = json.dumps(answer, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        raise _malformed("", "The answer is not plain JSON with finite numbers.") from None
    if len(text) > ANSWER_BYTES:
        raise _malformed("", f"The answer is longer than {ANSWER_BYTES:,} bytes.")
    return text


def _check_form(question: Question, answer: Any, shown: Mapping[str, Any]) -> None:
    match question.kind:
        case "choose-one":
            _check_member("", answer, question.classes)
        case "top-two":
            _check_top_two(question, answer)
        case "sliders" | "top-class" | "sparse" | "distribution":
            _check_numbers(question, answer)
        case "typicality":
            _check_fields(answer, needed=("class", "typicality"))
            _check_member("class", answer["class"], question.classes)
            _check_number("typicality", answer["typicality"], 0, question.options["scale"])
            if shown.get("class", answer["class"]) != answer["class"]:
                raise _malformed("class", f"The class shown was {shown['class']!r}.")
        case "yes-no-unsure" | "multi-label":
            _check_classes(answer, question.classes)
            for name, value in answer.items():
                _check_member(name, value, ("yes", "no", "unsure"))
        case "likely-set" | "ranking":
            _check_listed("", answer, question.classes)
        case "confidence":
            _check_fields(answer, needed=("choice", "confidence"))
            _check_member("choice", answer["choice"], question.classes)
            _check_member("confidence", answer["confidence"], tuple(question.options["levels"]))
        case "rating":
            _check_member("", answer, question.classes)
        case "number":
            assert question.values is not None
            _check_number("", answer, question.values[0], question.values[-1])
        case "three-point":
            _check_fields(answer, needed=THREE_POINTS)
            for name in THREE_POINTS:
                _check_number(name, answer[name], 0, question.options["scale"])
        case "own-and-others":
            _check_fields(answer, needed=("own", "others"))
            _check_member("own", answer["own"], question.classes)
            _check_numbers(question, answer["others"])
        case _:
            assert_never(question.kind)


def _check_top_two(question: Question, answer: Any) -> None:
    _check_fields(
        answer,
        needed=("first",),
        optional=("first_percent", "second", "second_percent", "ruled_out"),
    )
    _check_member("first", answer["first"], question.classes)
    if answer.get("second") is not None:
        _check_member("second", answer["second"], question.classes)
    for name in ("first_percent", "second_percent"):
        typed = answer.get(name)
        if isinstance(typed, bool) or not isinstance(typed, str | int | float | None):
            raise _malformed(name, "A probability is a number.")
        if isinstance(typed, str) and len(typed) > TEXT_LIMIT:
            raise _malformed(name, f"The text is longer than {TEXT_LIMIT} characters.")
    _check_listed(RULED_OUT, answer.get(RULED_OUT, []), question.classes)


def _check_numbers(question: Question, answer: Any) -> None:
    """One number a class; beside a whole distribution also what it is definitely not."""
    numbers = answer
    if question.kind in DRAWN and isinstance(answer, dict):
        _check_listed(RULED_OUT, answer.get(RULED_OUT, []), question.classes)
        numbers = {name: value for name, value in answer.items() if name != RULED_OUT}
    _check_classes(numbers, question.options.get("subset") or question.classes)
    for name, value in numbers.items():
        _check_number(name, value, 0, question.options["scale"])
    count = question.options.get("count")
    if count is not None and len(numbers) > count:
        raise _malformed("", f"At most {count} classes are asked for.")


def _check_listed(field: str, listed: Any, classes: tuple[str, ...]) -> None:
    if not isinstance(listed, list) or len(listed) > len(classes):
        raise _malformed(field, "This must be a list of classes.")
    for name in listed:
        _check_member(field, name, classes)
    if len(set(listed)) < len(listed):
        raise _malformed(field, "A class is named twice.")


def _check_statement(question: Question, answer: Any, text: str, mode: Mode) -> CheckedAnswer:
    """Read the answer as the labels will be read, and see what is odd in it."""
    stated, wrong = read_answers(question, [text])
    if wrong:
        raise _malformed("", _sentence(wrong[0]))
    odd = tuple(name for name, rows in stated.oddities.items() if rows[0])
    match mode:
        case "faithful":
            return CheckedAnswer(text, odd)
        case "guarded":
            refused = [name for name in odd if _contradicts(question, name)]
            if refused:
                raise InvalidAnswer(tuple(_fault(question, answer, name) for name in refused))
            return CheckedAnswer(text, odd)
        case _:
            assert_never(mode)


def _contradicts(question: Question, oddity: str) -> bool:
    """Whether a careful person could not have meant it, given the kind of question."""
    match oddity:
        case "mass-under":  # the rest may lie elsewhere, but a whole distribution has no rest
            return question.kind in DRAWN
        case "everything-ruled-out":
            return not question.options.get("none_of_these", False)
        case "nothing-stated":  # nothing need match, but somebody must have answered
            return question.kind in (*DRAWN, "yes-no-unsure", "likely-set", "ranking")
        case _:
            return True


_FAULTS: dict[str, tuple[str, str]] = {
    "not-a-number": ("first_percent", "The probability must be a number."),
    "out-of-range": ("first_percent", "The probability must lie between 0 and {scale:g}."),
    "percent-without-class": (
        "second",
        "A second probability is given; choose the class that it belongs to.",
    ),
    "class-without-percent": ("first_percent", "Give a probability for the chosen class."),
    "zero-for-the-choice": (
        "first_percent",
        "The most probable class cannot have a probability of 0.",
    ),
    "second-above-first": (
        "second_percent",
        "The second most probable class has a higher probability than the first.",
    ),
    "same-class-twice": ("second", "The first and the second choice are the same class."),
    "chosen-and-ruled-out": ("ruled_out", "A chosen class is also marked as impossible."),
    "everything-ruled-out": ("ruled_out", "All classes are marked as impossible."),
    "mass-over": ("", "The probabilities sum to more than {scale:g}."),
    "mass-under": ("", "The probabilities sum to less than {scale:g}."),
    "nothing-stated": ("", "The answer favours no class."),
    "unanswered": ("", "Some classes have no answer yet."),
    "bounds-out-of-order": ("best", "The best guess must lie between lowest and highest."),
}
"""Oddity to the field that is pointed at, and what the annotator reads."""


def _fault(question: Question, answer: Any, oddity: str) -> AnswerFault:
    field, sentence = _FAULTS[oddity]
    scale = question.options.get("scale", 1)
    if field == "first_percent" and question.kind == "top-two":
        field = _percent_at_fault(oddity, answer, scale)
    elif question.kind != "top-two":
        field = ""
    return AnswerFault(field, oddity, sentence.format(scale=scale))


def _percent_at_fault(oddity: str, answer: Any, scale: float) -> str:
    """Which of the two probabilities has the fault."""
    tests: dict[str, Callable[[Any], bool]] = {
        "not-a-number": lambda typed: typed not in (None, "") and math.isnan(_number(typed)),
        "out-of-range": lambda typed: not 0 <= _number(typed) <= scale,
        "class-without-percent": lambda typed: typed in (None, ""),
        "zero-for-the-choice": lambda typed: _number(typed) == 0,
    }
    first_has_it = tests[oddity](answer.get("first_percent"))
    return "first_percent" if first_has_it else "second_percent"


def _number(typed: Any) -> float:
    try:
        value = float(typed.strip().removesuffix("%") if isinstance(typed, str) else typed)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return value if math.isfinite(value) else math.nan


def _check_rating(question: ComparisonQuestion, answer: Any) -> None:
    _check_fields(answer, needed=("rating",))
    assert question.scale is not None
    low, high = question.scale
    if not isinstance(answer["rating"], int):
        raise _malformed("rating", "A rating is a whole number.")
    _check_number("rating", answer["rating"], low, high)


def _check_fields(answer: Any, *, needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    if not isinstance(answer, dict):
        raise _malformed("", f"The answer must have the fields {', '.join(needed)}.")
    for name in needed:
        if name not in answer:
            raise _malformed(name, f"The answer lacks the field {name!r}.")
    for name in answer:
        if name not in needed and name not in optional:
            raise _malformed("", f"The answer has an unknown field {_short(name)}.")


def _check_classes(answer: Any, classes: tuple[str, ...] | list[str]) -> None:
    if not isinstance(answer, dict):
        raise _malformed("", "The answer must have one field a class.")
    for name in answer:
        if name not in classes:
            raise _malformed("", f"No class is called {_short(name)}.")


def _check_member(field: str, value: Any, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise _malformed(field, f"{_short(value)} is none of the possible answers.")


def _check_number(field: str, value: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _malformed(field, "The value must be a number.")
    if not low <= value <= high:
        raise _malformed(field, f"The value must lie between {low:g} and {high:g}.")


def _malformed(field: str, sentence: str) -> InvalidAnswer:
    return InvalidAnswer((AnswerFault(field, "malformed", sentence),))


def _sentence(error: Exception | UnknownName) -> str:
    text = str(error)
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
