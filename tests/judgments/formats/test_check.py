"""Every mistake of a file of judgments is told once, with its count and its first place."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judgments.strategies import judgments

from sfumato.errors import SfumatoError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.check import FileCheck, check_judgments, example_answer
from sfumato.judgments.formats.own import write_own
from sfumato.judgments.formats.reading import PLATFORM_ID, ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import QUESTIONS, ask, read_answers

WORKER = "5f2a9c0b1d3e4f5a6b7c8d9e"


def checked(folder: Path, text: str, name: str = "answers.csv", **question: Any) -> FileCheck:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    if question:
        path.with_suffix(".question.json").write_text(json.dumps(question), encoding="utf-8")
    return check_judgments(path)


def kinds(found: FileCheck) -> set[tuple[int | None, str, int]]:
    return {(problem.row, problem.field, problem.count) for problem in found.problems}


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@given(original=judgments())
def test_whatever_is_written_is_valid(
    suffix: str, original: Judgments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("own") / f"answers{suffix}"
    write_own(original, path)

    found = check_judgments(path)

    assert found.problems == ()
    assert (found.rows, found.items) == (len(original), original.table["item"].n_unique())
    assert found.people == len(original.annotators)


def test_verdict_counts_rows_people_and_items(tmp_path: Path) -> None:
    text = "item,annotator,answer\n1,ann,cat\n1,bob,dog\n2,ann,dog\n"

    found = checked(tmp_path, text, kind="choose-one", classes=["cat", "dog"])

    assert found.valid
    assert found.verdict == "valid: 3 judgments of 2 people about 2 items"
    assert found.advice == ()


def test_all_mistakes_of_all_rows_are_told_with_their_first_place(tmp_path: Path) -> None:
    text = (
        "item,annotator,answer,seconds,view,completed\n"
        "1,ann,cat,3 s,first,yes\n"  # two mistakes in one row
        ",bob,Dog,-1,again,true\n"
        "2,cy,dog\n"
        "3,dan,,nan,first,\n"
        "3,eve,bird,2,first,false\n"
    )

    found = checked(tmp_path, text, kind="choose-one", classes=["cat", "dog"])

    assert kinds(found) == {
        (2, "seconds", 3),
        (2, "completed", 1),
        (3, "item", 1),
        (3, "view", 1),
        (3, "answer", 2),
        (4, "", 1),
        (5, "answer", 1),
    }
    assert found.verdict == "not valid: 10 mistakes of 7 kinds in answers.csv"
    told = "\n".join(map(str, found.problems))
    assert "answers.csv, line 2, field 'seconds' (3 times): '3 s'; expected a number" in told
    assert "No class is called 'Dog'. Did you mean 'dog'?; expected the classes" in told
    assert "line 4: 3 fields where the header has 6" in told


def test_rows_of_a_table_without_lines_are_counted_from_one(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    pl.DataFrame({"item": ["a", None], "answer": ["x", "y"]}).write_parquet(path)

    (problem,) = check_judgments(path).problems

    assert str(problem).startswith("answers.parquet, row 2, field 'item': nothing; expected")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("[", "is not JSON"),
        ('{"second": "cat"}', "lacks 'first'"),
        ('"cat"', "is not an object of fields"),
        ('{"first": "cat", "ruled_out": "dog"}', "is not a list of classes"),
    ],
)
def test_wrong_form_of_an_answer_comes_with_a_right_one(
    answer: str, told: str, tmp_path: Path
) -> None:
    text = json.dumps({"item": "a", "answer": answer}) + "\n"

    found = checked(tmp_path, text * 2, "a.jsonl", kind="top-two", classes=["cat", "dog"])

    (problem,) = found.problems
    assert (problem.row, problem.field, problem.count) == (1, "answer", 2)
    assert told in problem.found
    assert '{"first": "cat", "first_percent": 70' in problem.expected


@pytest.mark.parametrize("kind", sorted(QUESTIONS))
def test_example_of_an_answer_is_right_itself(kind: str) -> None:
    options = {"subset": ["b", "c"]} if kind == "top-class" else {}
    question = ask(kind, ["a", "b", "c"][: 2 if kind == "three-point" else 3], **options)

    _, wrong = read_answers(question, [example_answer(question)])

    assert wrong == {}


def test_ids_of_platforms_are_a_mistake_and_are_not_told(tmp_path: Path) -> None:
    text = f"item,annotator,answer\n1,{WORKER},cat\n2,{WORKER},dog\n3,a@example.org,{WORKER},x\n"

    found = checked(tmp_path, text, kind="choose-one", classes=["cat", "dog"])

    assert (2, "annotator", 2) in kinds(found)
    told = json.dumps(found.to_json())
    assert WORKER not in told and "example.org" not in told
    assert "a pseudonym such as person-" in told


def test_without_a_question_plain_classes_are_valid_and_told_to_get_one(tmp_path: Path) -> None:
    found = checked(tmp_path, "item,annotator,answer\n1,a,cat\n1,b,dog\n")

    assert found.valid
    assert found.classes == 2
    assert any("answers.question.json" in sentence for sentence in found.advice)


@pytest.mark.parametrize("answer", ['"{""cat"": 1}"', '"[""cat""]"', "cat"])
def test_without_a_question_what_is_unclear_is_a_mistake(answer: str, tmp_path: Path) -> None:
    found = checked(tmp_path, f"item,annotator,answer\n1,a,{answer}\n1,b,{answer}\n")

    (problem,) = found.problems
    assert problem.field == "answer"
    assert "answers.question.json" in problem.expected


@pytest.mark.parametrize(
    "beside",
    [
        "",
        "[]",
        "{",
        '{"kind": "chose-one", "classes": ["cat", "dog"]}',
        '{"kind": "choose-one", "classes": ["cat"]}',
        '{"kind": "choose-one", "classes": "cat"}',
        '{"kind": "choose-one", "classes": ["cat", "dog"], "wording": 3}',
        '{"kind": "choose-one", "classes": ["cat", "dog"], "provenance": 3}',
        '{"kind": "choose-one", "classes": ["cat", "dog"], "provenance": [{"settings": {}}]}',
        '{"kind": "choose-one", "classes": ["cat", "dog"], '
        '"provenance": [{"name": "x", "settings": []}]}',
        '{"kind": "confidence", "classes": ["cat", "dog"], "options": {"levels": {"sure": 2}}}',
        '{"kind": "confidence", "classes": ["cat", "dog"], "options": {"levels": 2}}',
    ],
)
def test_wrong_question_is_a_mistake_in_its_own_file(beside: str, tmp_path: Path) -> None:
    (tmp_path / "answers.question.json").write_text(beside, encoding="utf-8")

    found = checked(tmp_path, "item,annotator,answer\n1,a,cat\n1,b,dog\n")

    assert {problem.file for problem in found.problems} == {"answers.question.json"}


@pytest.mark.parametrize(
    "text", ["", "\n", "item,answer\n", "task,label\n1,cat\n", "item,item,answer\n1,1,cat\n", "\0"]
)
def test_file_that_cannot_be_read_is_one_mistake(text: str, tmp_path: Path) -> None:
    found = checked(tmp_path, text, kind="choose-one", classes=["cat", "dog"])

    (problem,) = found.problems
    assert problem.row is None
    assert found.verdict == "not valid: 1 mistake in answers.csv"


def test_what_should_be_better_is_advice(tmp_path: Path) -> None:
    text = (
        "item,annotator,answer,at,gold,age\n"
        "1,ann,cat,2026-05-04T12:30:00Z,cat,30\n"
        "1,ann,dog,yesterday,fish,30\n"
        "2,,dog,,,\n"
    )

    found = checked(tmp_path, text, kind="choose-one", classes=["cat", "dog"])

    assert found.valid
    told = "\n".join(found.advice)
    for part in ("column 'age'", "1 row without", "1 answer by somebody", "'fish'", "'yesterday'"):
        assert part in told


fragments = st.sampled_from(
    ["cat", "dog", '"cat"', "1", "-1", "x", "", "true", '{"a": 1}', "[", "é"]
)


@given(
    header=st.lists(
        st.sampled_from(["annotator", "seconds", "view", "order", "completed", "gold", "zzz"]),
        unique=True,
        max_size=4,
    ),
    rows=st.lists(st.lists(fragments, min_size=1, max_size=7), max_size=5),
    kind=st.sampled_from(["choose-one", "sliders"]),
)
def test_any_table_is_valid_exactly_if_the_reader_sets_nothing_aside(
    header: list[str], rows: list[list[str]], kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines = [["item", "answer", *header], *rows]
    text = "\n".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines
    )

    found = checked(folder, text + "\n", kind=kind, classes=["cat", "dog"])

    try:
        again = read(folder / "answers.csv", "sfumato", ReadOptions())
        sound = not again.rejected
    except SfumatoError:
        sound = False
    assert found.valid == sound
    assert not any(PLATFORM_ID.search(str(problem)) for problem in found.problems)
