import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments import formats
from sfumato.judgments.formats.spelling import class_counts, read_renames, similar_classes
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask


def read(source: Any, *said: Any, **options: Any) -> Judgments:
    """What is read, which is judgments here."""
    found = formats.read(source, *said, **options)
    assert isinstance(found, Judgments)
    return found


def answered(*labels: str) -> Judgments:
    table = pl.DataFrame({"item": ["a"] * len(labels), "answer": [json.dumps(x) for x in labels]})
    return Judgments(ask("choose-one", sorted(set(labels))), table)


def pairs(*labels: str) -> set[frozenset[str]]:
    return {
        frozenset((pair.often, pair.rare))
        for pair in similar_classes(class_counts(answered(*labels)))
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Eight", "eight"),
        ("9", "nine"),
        ("colour", "color"),
        ("airplane", "airplnae"),
        ("hate speech", "hate_speech"),
        ("cat", "cat."),
        ("Not sure", "not-sure"),
        ("automobile", "automobil"),
    ],
)
def test_spellings_of_one_class_are_pointed_out(first: str, second: str) -> None:
    assert pairs(first, second, "truck") == {frozenset((first, second))}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cat", "car"),
        ("model_a", "model_b"),
        ("group 1", "group 2"),
        ("male", "female"),
        ("1", "10"),
        ("-1", "1"),
        ("C", "C++"),
        ("true", "false"),
    ],
)
def test_different_classes_are_left_alone(first: str, second: str) -> None:
    assert pairs(first, second, "truck") == set()


ROWS = [
    {"item": 1, "rater": "a", "label": "Eight"},
    {"item": 1, "rater": "b", "label": "eight"},
    {"item": 2, "rater": "a", "label": "eight"},
    {"item": 2, "rater": "b", "label": "nine"},
    {"item": 3, "rater": "b", "label": "9"},
]


def test_casefold_keeps_the_commonest_spelling_and_counts() -> None:
    found = read(ROWS, casefold=True)

    assert found.question.classes == ("9", "eight", "nine")
    assert {remark.what: remark.count for remark in found.remarks}["classes renamed"] == 1
    assert found.provenance[-1].settings == {"renames": {"Eight": "eight"}, "answers": 1}


def test_renames_join_and_may_meet_named_classes(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("9=nine\neight=Eight\n")

    found = read(ROWS, rename=file, classes=["nine", "Eight", "ten"])

    assert found.question.classes == ("nine", "Eight", "ten")
    assert [json.loads(answer) for answer in found.table["answer"]] == [
        *("Eight", "Eight", "Eight", "nine", "nine")
    ]
    with pytest.raises(DataError, match=r"No class is called 'eigth'. Did you mean 'eight'"):
        read(ROWS, rename={"eigth": "Eight"})
    with pytest.raises(DataError, match="only the class 'x' is left"):
        read(ROWS, rename=dict.fromkeys(("Eight", "eight", "nine", "9"), "x"))


def test_shares_of_joined_classes_are_added() -> None:
    rows = [
        {"item": "a", "rater": "x", "cat": 0.25, "Cat": 0.25, "dog": 0.5},
        {"item": "a", "rater": "y", "cat": 0.0, "Cat": 0.1, "dog": 0.9},
    ]

    found = read(rows, rename={"Cat": "cat"})

    assert [json.loads(answer) for answer in found.table["answer"]] == [
        {"cat": 0.5, "dog": 0.5},
        {"cat": 0.1, "dog": 0.9},
    ]


def test_a_number_scale_without_its_order_is_remarked_upon() -> None:
    rows = [{"item": 1, "rater": who, "rating": n} for n, who in enumerate("abcde", start=1)]

    told = [remark.what for remark in read(rows).remarks]

    assert "classes are numbers (1 to 5), read without their order" in told


@pytest.mark.parametrize("text", ["a=b\nc = d\n", "a,b\nc,d\n", "a;b\nc;d\n", "a\tb\nc\td\n"])
def test_a_file_of_renames_has_lines_or_columns(text: str, tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text(text)

    assert read_renames(path) == {"a": "b", "c": "d"}


def test_a_file_of_renames_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("a=b\na=c\n")

    with pytest.raises(DataError, match=r"names\.txt, line 2: 'a' is to be called 'c' here"):
        read_renames(path)


@given(st.lists(st.sampled_from(["a", "B", "b", "C", "c"]), min_size=2))
def test_folding_never_changes_how_many_answered(labels: list[str]) -> None:
    rows = [{"item": 1, "rater": str(n), "label": x} for n, x in enumerate([*labels, "a", "z"])]

    found = read(rows, casefold=True)

    assert len(found) == len(rows)
    assert len({name.casefold() for name in found.question.classes}) == len(found.question.classes)
