import json
from typing import Any

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.judgments.question import (
    Question,
    Statements,
    ask,
    question_from_json,
    read_answers,
    top_choice,
)

OPTIONS = {"top-class": {"subset": ["cat", "dog"]}}


def preset(kind: str) -> Question:
    return ask(kind, ["cat", "dog", "deer"], **OPTIONS.get(kind, {}))


@pytest.mark.parametrize(
    ("kind", "classes", "options", "message"),
    [
        ("choose-one", ["a"], {}, "at least two classes"),
        ("choose-one", ["a", "b", "a"], {}, "'a' occurs more than once"),
        ("sliders", ["a", "b"], {"scale": 0}, "positive number"),
        ("top-class", ["a", "b"], {}, "needs the option 'subset'"),
        ("top-class", ["a", "b"], {"subset": ["a", "z"]}, "needs the option 'subset'"),
        ("sparse", ["a", "b"], {"count": 3}, "1 to 2 classes, not 3"),
    ],
)
def test_impossible_question_is_told_in_a_sentence(
    kind: str, classes: list[str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        ask(kind, classes, **options)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"kind": "choose-one"}',
        "3",
        '{"kind": "choose-one", "classes": "ab"}',
        '{"kind": "choose-one", "classes": [1, 2]}',
    ],
)
def test_file_without_a_question_is_named(text: str) -> None:
    with pytest.raises(DataError, match=r"answers\.question\.json"):
        question_from_json(text, where="answers.question.json")


CLASSES = ("cat", "dog", "deer")


def stated(kind: str, answer: Any, **options: Any) -> Statements:
    found, wrong = read_answers(ask(kind, CLASSES, **options), [json.dumps(answer)])
    assert not wrong
    return found


def oddities(kind: str, answer: Any, **options: Any) -> set[str]:
    found = stated(kind, answer, **options)
    return {name for name, rows in found.oddities.items() if rows.any()}


def two(first: object, percent: object, second: object = None, more: object = "", no: str = ""):  # type: ignore[no-untyped-def]
    return {
        "first": first,
        "first_percent": percent,
        "second": second,
        "second_percent": more,
        "ruled_out": no.split(),
    }


def test_said_zero_impossible_and_not_mentioned_are_three_things() -> None:
    found = stated("top-two", two("cat", 100, "dog", 0, no="deer"))

    assert found.mass[0, :2].tolist() == [1, 0]
    assert np.isnan(found.mass[0, 2])
    assert found.ruled_out.tolist() == [[False, False, True]]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (two("cat", "100", no="dog deer"), set()),
        (two("cat", "8p", "dog", "20"), {"not-a-number", "mass-under"}),
        (two("cat", "101", "dog", "20"), {"out-of-range", "mass-under"}),
        (two("cat", "100", None, "100"), {"percent-without-class"}),
        (two("cat", "60", "dog", ""), {"class-without-percent", "mass-under"}),
        (two("cat", ""), {"class-without-percent", "mass-under"}),
        (two("cat", "0"), {"zero-for-the-choice", "mass-under"}),
        (two("cat", "40", "dog", "60"), {"second-above-first"}),
        (two("cat", "100", "cat", "100"), {"same-class-twice"}),
        (two("cat", "100", no="cat"), {"chosen-and-ruled-out"}),
        (
            two("cat", "100", no="cat dog deer"),
            {"chosen-and-ruled-out", "everything-ruled-out"},
        ),
        (two("cat", "90", "dog", "90"), {"mass-over"}),
    ],
)
def test_each_contradiction_of_a_top_two_answer_is_named(
    answer: dict[str, Any], expected: set[str]
) -> None:
    assert oddities("top-two", answer) == expected


def test_percent_sign_and_spaces_are_no_oddity() -> None:
    assert stated("top-two", two("cat", " 95 % ".replace(" %", "%"))).mass[0, 0] == 0.95


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("sliders", {"cat": 0, "dog": 0, "deer": 0}, {"nothing-stated"}),
        ("sliders", {"cat": 1}, {"unanswered"}),
        ("sliders", {"cat": 2, "dog": 1, "deer": 0}, {"out-of-range"}),
        ("typicality", {"class": "cat", "typicality": "very"}, {"not-a-number", "nothing-stated"}),
        ("yes-no-unsure", {"cat": "yes"}, {"unanswered"}),
        ("yes-no-unsure", dict.fromkeys(CLASSES, "no"), {"everything-ruled-out"}),
        ("likely-set", [], {"nothing-stated"}),
        ("distribution", {"cat": 90}, {"mass-under"}),
        ("distribution", {"cat": 100, "ruled_out": ["cat"]}, {"chosen-and-ruled-out"}),
        (
            "distribution",
            {"cat": 0, "ruled_out": list(CLASSES)},
            {"nothing-stated", "mass-under", "everything-ruled-out"},
        ),
    ],
)
def test_oddities_of_other_forms_are_named(kind: str, answer: Any, expected: set[str]) -> None:
    assert oddities(kind, answer) == expected


@pytest.mark.parametrize(
    ("kind", "answer", "reason"),
    [
        ("choose-one", 3, "No class is called '3'"),
        ("choose-one", "lynx", "No class is called 'lynx'"),
        ("top-two", "cat", "not an object"),
        ("top-two", {"second": "cat"}, "lacks 'first'"),
        ("top-two", {"first": "cat", "ruled_out": "dog"}, "not a list"),
        ("sliders", ["cat"], "not an object"),
        ("distribution", {"cat": 100, "ruled_out": "dog"}, "not a list"),
        ("distribution", {"cat": 100, "ruled_out": ["lynx"]}, "No class is called 'lynx'"),
        ("sparse", dict.fromkeys(CLASSES, 1), "3 classes are scored where 2"),
        ("yes-no-unsure", {"cat": "maybe"}, "'maybe' for class 'cat' is not yes, no or unsure"),
        ("yes-no-unsure", {"cat": ["yes"]}, "for class 'cat' is not yes, no or unsure"),
        ("yes-no-unsure", {"cat": {"a": 1}}, "for class 'cat' is not yes, no or unsure"),
        ("yes-no-unsure", {"cat": None}, "'null' for class 'cat' is not yes, no or unsure"),
        ("likely-set", ["cat", "cat"], "twice"),
        ("confidence", {"choice": "cat", "confidence": "sure"}, "not one of guessing, probably"),
        ("confidence", {"choice": "cat", "confidence": ["probably"]}, "not one of guessing"),
        ("confidence", {"choice": ["cat"], "confidence": "probably"}, "No class is called"),
    ],
)
def test_answer_of_another_form_is_refused_with_its_reason(
    kind: str, answer: Any, reason: str
) -> None:
    _, wrong = read_answers(ask(kind, CLASSES), [json.dumps(answer)])

    assert reason in str(wrong[0])


def test_impossible_zero_and_unmentioned_are_told_apart_in_a_distribution() -> None:
    said = stated("distribution", {"cat": 100, "dog": 0, "ruled_out": ["deer"]})
    before = stated("distribution", {"cat": 100, "deer": 0})  # as stored before there was the list

    assert said.ruled_out.tolist() == [[False, False, True]]
    assert before.ruled_out.tolist() == [[False, False, False]]
    assert said.mass.tolist() == before.mass.tolist() == [[1.0, 0.0, 0.0]]


def test_class_called_as_the_list_is_refused() -> None:
    with pytest.raises(DataError, match="'ruled_out'"):
        ask("distribution", ["cat", "ruled_out"])
    assert ask("sliders", ["cat", "ruled_out"]).classes == ("cat", "ruled_out")


def test_text_that_is_no_json_is_refused() -> None:
    texts = ["{broken", "[" * 100_000, "9" * 5_000]

    _, wrong = read_answers(ask("choose-one", CLASSES), texts)

    assert all("is not JSON" in str(wrong[row]) for row in range(3))


def test_number_too_large_for_a_float_is_no_number() -> None:
    assert "not-a-number" in oddities("top-two", two("cat", 10**400))


def test_score_outside_the_subset_is_refused() -> None:
    question = ask("top-class", CLASSES, subset=["cat", "dog"])

    _, wrong = read_answers(question, ['{"deer": 1}'])

    assert "'deer' is not in the subset" in str(wrong[0])


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("choose-one", "dog", 1),
        ("sliders", {"cat": 0.2, "dog": 0.9, "deer": 0.1}, 1),
        ("sliders", {"cat": 0.9, "dog": 0.9, "deer": 0.1}, -1),
        ("ranking", ["deer", "cat"], 2),
        ("likely-set", ["cat", "dog"], -1),
        ("likely-set", ["dog"], 1),
        ("yes-no-unsure", {"cat": "no", "dog": "yes", "deer": "unsure"}, 1),
        ("yes-no-unsure", {"cat": "no", "dog": "unsure", "deer": "unsure"}, -1),
        ("top-two", two("cat", 40, "dog", 60), 0),
    ],
)
def test_top_choice_is_the_one_put_first_or_none(kind: str, answer: Any, expected: int) -> None:
    assert top_choice(stated(kind, answer)).tolist() == [expected]
