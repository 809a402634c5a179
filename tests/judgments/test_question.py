import pytest

from sfumato.errors import DataError
from sfumato.judgments.question import Question, ask, question_from_json

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
