"""Ratings, numbers, several labels, three points, predictions of others: one road for all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.judgments.formats import read, write
from sfumato.judgments.formats.check import check_judgments
from sfumato.judgments.formats.reading import UnclearSource
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Question, ask, question_from_json, read_answers, top_choice
from sfumato.labels.aggregate.pairs import score_preferences
from sfumato.labels.verbs import describe, label

LIKERT = ["disagree", "neither", "agree"]
KINDS: dict[str, tuple[Question, list[Any]]] = {
    "rating": (ask("rating", LIKERT), ["agree", "neither", 1]),
    "number": (ask("number", ["not", "fully"], values=[0, 100]), [37.5, 0, 100]),
    "multi-label": (
        ask("multi-label", ["cat", "dog"]),
        [["cat"], [], {"cat": "yes", "dog": "unsure"}],
    ),
    "three-point": (
        ask("three-point", ["yes", "no"]),
        [{"lower": 10, "best": 40, "upper": 50}, {"lower": 0, "best": 0, "upper": 100}],
    ),
    "own-and-others": (
        ask("own-and-others", ["cat", "dog"]),
        [{"own": "cat", "others": "dog"}, {"own": "dog", "others": {"cat": 70, "dog": 30}}],
    ),
}


def judged(kind: str) -> Judgments:
    question, answers = KINDS[kind]
    rows = [
        {"item": f"i{item}", "annotator": f"p{place}", "answer": json.dumps(answer), "note": "so"}
        for item in range(2)
        for place, answer in enumerate(answers)
    ]
    return Judgments(question, pl.DataFrame(rows))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_answers_with_their_notes_are_written_and_read_back(
    kind: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"answers{suffix}"
    write(judged(kind), path, "sfumato")

    found = read(path)

    assert isinstance(found, Judgments)
    assert found.question == judged(kind).question
    assert found.table.equals(judged(kind).table)
    assert found.rejected == ()
    assert check_judgments(path).valid


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_survives_json(kind: str) -> None:
    question = KINDS[kind][0]
    assert question_from_json(question.to_json(), where="here") == question


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_described(kind: str) -> None:
    found = describe(judged(kind))
    assert found["judgments"] == len(judged(kind))
    assert found["question"]["kind"] == kind


def test_a_table_is_read_with_the_question_in_hand() -> None:
    table = pl.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "score": [1, 3, 2]})

    told = read(table, question=ask("rating", LIKERT))
    named = read(table, question="rating")
    plain = read(table)

    assert isinstance(told, Judgments) and isinstance(named, Judgments)
    assert isinstance(plain, Judgments)
    assert told.question.classes == tuple(LIKERT)
    assert top_choice(told.statements)[told.statements.index].tolist() == [0, 2, 1]
    assert named.question.classes == ("1", "2", "3")
    assert named.question.values == (1, 2, 3)
    assert plain.question.values is None
    assert any("without their order" in remark.what for remark in plain.remarks)


def test_a_question_in_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "asked.json").write_text(ask("rating", LIKERT).to_json())
    (tmp_path / "said.csv").write_text("item,annotator,answer\na,x,agree\na,y,2\n")

    found = read(tmp_path / "said.csv", question=str(tmp_path / "asked.json"))

    assert isinstance(found, Judgments)
    assert found.question.values == (1, 2, 3)
    assert found.to_polars()["answer"].to_list() == ["agree", "2"]


def test_a_scale_taken_from_the_answers_has_no_gaps() -> None:
    rows = [{"item": "a", "annotator": str(place), "answer": place} for place in (-2, 1, 2)]
    found = read(rows, question="rating")
    assert isinstance(found, Judgments)
    assert found.question.classes == ("-2", "-1", "0", "1", "2")
    assert any("-2 to 2" in remark.example for remark in found.remarks)


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (ask("rating", LIKERT), "strongly agree", "disagree, neither, agree (1 to 3)"),
        (ask("rating", ["1", "2", "3"]), 9, "one of the 3 points 1 to 3"),
        (ask("number", ["0", "100"]), 101, "a number from 0 to 100"),
        (ask("three-point", ["yes", "no"]), {"lower": 0, "best": 130, "upper": 9}, "0 to 100"),
    ],
)
def test_what_is_off_the_scale_is_refused_with_item_and_person(
    question: Question, answer: Any, expected: str, tmp_path: Path
) -> None:
    given = answer if isinstance(answer, str) else json.dumps(answer)
    rows = [{"item": "img7", "annotator": "ann", "answer": given}]
    with pytest.raises(DataError) as error:
        read(rows, question=question)

    told = str(error.value)
    assert "'ann'" in told and "'img7'" in told and expected in told

    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(rows[0] | {"answer": json.dumps(answer)}) + "\n")
    (tmp_path / "answers.question.json").write_text(question.to_json())
    checked = check_judgments(path)
    assert not checked.valid
    assert "'ann'" in checked.problems[0].found and expected in checked.problems[0].expected


@pytest.mark.parametrize(
    ("kind", "classes", "options", "told"),
    [
        ("rating", ["good", "bad"], {"values": [2, 1]}, "stand in order"),
        ("rating", ["3", "1"], {}, "stand in order"),
        ("rating", ["a", "b"], {"values": [1]}, "one number for each of its 2 points"),
        ("three-point", ["a", "b", "c"], {}, "about two classes"),
    ],
)
def test_wrong_scales_are_refused(
    kind: str, classes: list[str], options: dict[str, Any], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        ask(kind, classes, **options)


def test_words_without_an_order_are_no_rating() -> None:
    rows = [{"item": "a", "annotator": "x", "answer": "good"}]
    with pytest.raises(UnclearSource, match="in which order"):
        read(rows, question="rating")
    with pytest.raises(UnclearSource, match="Name the ends"):
        read([{"item": "a", "annotator": "x", "answer": 3}], question="number")


@given(
    steps=st.lists(st.floats(0.1, 10), min_size=1, max_size=6),
    share=st.floats(0, 1),
    start=st.floats(-50, 50),
)
def test_a_number_is_the_mean_of_its_row(steps: list[float], share: float, start: float) -> None:
    values = np.cumsum([start, *steps])
    question = ask("number", [f"p{place}" for place in range(len(values))], values=values.tolist())
    number = float(np.clip(values[0] + share * (values[-1] - values[0]), values[0], values[-1]))

    stated, wrong = read_answers(question, [json.dumps(number)])

    row = np.nan_to_num(stated.mass[0])
    assert not wrong and row.sum() == pytest.approx(1)
    assert row @ np.array(question.values) == pytest.approx(number)
    assert (row > 0).sum() <= 2


def test_ticked_classes_say_no_to_the_others() -> None:
    question = ask("multi-label", ["cat", "dog"])
    stated, wrong = read_answers(question, ['["cat"]', "[]", '{"cat": "no"}'])
    assert not wrong
    assert stated.ruled_out.tolist() == [[False, True], [True, True], [True, False]]
    assert [name for name, rows in stated.oddities.items() if rows.any()] == ["unanswered"]


def test_a_best_guess_outside_its_bounds_is_odd() -> None:
    question = ask("three-point", ["yes", "no"])
    stated, _ = read_answers(question, ['{"lower": 50, "best": 40, "upper": 60}'])
    assert stated.oddities["bounds-out-of-order"].tolist() == [True]
    assert stated.bounds.tolist() == [[0.5, 0.6]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_preferences_are_written_and_read_back(suffix: str, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "first": ["a", "a", "b"],
            "second": ["b", "c", "c"],
            "preferred": ["first", "tie", "second"],
            "annotator": ["x", "y", "x"],
            "note": [None, "alike", None],
        }
    )
    path = tmp_path / f"better{suffix}"
    write(Comparisons(COMPARISON_QUESTIONS["preference"], table), path, "comparisons")

    found = read(path)

    assert isinstance(found, Comparisons)
    assert (found.kind, found.question.tie) == ("preference", True)
    assert found.table.select(table.columns).equals(table)


def test_preferences_become_shares_and_scores() -> None:
    rows = [("a", "b", "first"), ("b", "a", "second"), ("a", "b", "tie"), ("b", "c", "first")]
    table = pl.DataFrame(rows, schema=["first", "second", "preferred"], orient="row")
    told = Comparisons(COMPARISON_QUESTIONS["preference"], table)

    shares = label(told)
    scores = score_preferences(told, prior=0.5)

    assert shares["a | b"] == pytest.approx({"first": 2 / 3, "second": 0, "tie": 1 / 3})
    assert scores.scores["a"] > scores.scores["b"] > scores.scores["c"]
    turned = table.select(
        first="second",
        second="first",
        preferred=pl.col("preferred").replace({"first": "second", "second": "first"}),
    )
    other = Comparisons(COMPARISON_QUESTIONS["preference"], turned)
    assert label(other).probs.tolist() == shares.probs.tolist()
    assert score_preferences(other, prior=0.5).scores == pytest.approx(scores.scores)
    with pytest.raises(DataError, match="These are pairs"):
        score_preferences(Comparisons(COMPARISON_QUESTIONS["pairs"], pl.DataFrame({"rating": []})))


def test_a_tie_that_was_not_offered_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "better.csv"
    path.write_text("first,second,preferred\na,b,first\na,b,tie\na,c,neither\n")
    (tmp_path / "better.question.json").write_text('{"kind": "preference", "tie": false}')

    found = read(path, "comparisons")

    assert len(found) == 1
    assert [row.reason for row in found.rejected] == ["not one of first, second"] * 2
