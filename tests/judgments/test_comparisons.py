"""The type of comparisons and its questions."""

from typing import Any

import polars as pl
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.comparisons import (
    COMPARISON_COLUMNS,
    COMPARISON_QUESTIONS,
    MIX_COLUMNS,
    MIX_TASKS,
    ComparisonQuestion,
    Comparisons,
    MixJudgments,
    comparison_question_from_json,
)

PAIRS, TRIPLETS = COMPARISON_QUESTIONS["pairs"], COMPARISON_QUESTIONS["triplets"]


def test_pairs_hold_ratings() -> None:
    table = pl.DataFrame({"second": ["b", "a"], "first": ["a", "c"], "rating": [0, 6]})

    pairs = Comparisons(PAIRS, table)

    assert pairs.kind == "pairs"
    assert pairs.table.columns == list(COMPARISON_COLUMNS["pairs"])
    assert pairs.items == ["a", "b", "c"]
    assert len(pairs) == 2


def test_triplets_hold_which_side_is_closer() -> None:
    table = pl.DataFrame({"item": ["x"], "first": ["y"], "second": ["z"], "closer": ["second"]})

    triplets = Comparisons(TRIPLETS, table)

    assert triplets.kind == "triplets"
    assert triplets.items == ["x", "y", "z"]


@pytest.mark.parametrize("rating", [7.0, -1.0, None, float("nan")])
def test_ratings_off_the_scale_cannot_be_held(rating: float | None) -> None:
    table = pl.DataFrame(
        {"first": ["a"], "second": ["b"], "rating": [rating]},
        schema_overrides={"rating": pl.Float64},
    )

    with pytest.raises(AssertionError):
        Comparisons(PAIRS, table)


def test_closer_must_be_a_side() -> None:
    table = pl.DataFrame({"item": ["x"], "first": ["y"], "second": ["z"], "closer": ["y"]})

    with pytest.raises(AssertionError):
        Comparisons(TRIPLETS, table)


@pytest.mark.parametrize("kind", COMPARISON_QUESTIONS)
def test_questions_survive_json(kind: str) -> None:
    question = COMPARISON_QUESTIONS[kind]

    assert comparison_question_from_json(question.to_json(), where="q.json") == question


def test_question_of_a_file_may_leave_out_what_the_preset_says() -> None:
    question = comparison_question_from_json({"kind": "pairs", "scale": [1, 9]}, where="q.json")

    assert question == ComparisonQuestion("pairs", PAIRS.wording, (1, 9))


@pytest.mark.parametrize(
    "stored", [{}, {"kind": "pairs", "scale": 3}, {"kind": "pairs", "scale": [1]}]
)
def test_file_without_a_question_is_named(stored: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"q\.json holds no question"):
        comparison_question_from_json(stored, where="q.json")


def test_unknown_kinds_get_help() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'triplets'"):
        comparison_question_from_json({"kind": "triplet"}, where="q.json")


def test_scales_fit_their_kind() -> None:
    with pytest.raises(DataError, match="Pairs are rated on a scale"):
        ComparisonQuestion("pairs", "How similar?", None)
    with pytest.raises(DataError, match="triplets and preferences have none"):
        ComparisonQuestion("triplets", "Which?", (0, 1))
    with pytest.raises(DataError, match="must go up"):
        ComparisonQuestion("pairs", "How similar?", (6, 0))


# The type of mix judgments.


def test_missing_columns_are_filled_and_the_order_is_fixed() -> None:
    mixes = MixJudgments(pl.DataFrame({"perceived": [0.3], "mix": ["m"], "task": ["infer"]}))

    assert mixes.table.columns == list(MIX_COLUMNS)
    assert mixes.table["view"].to_list() == ["first"]
    assert mixes.annotators == []
    assert len(mixes) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"perceived": [1.2]}, {"confidence": [-0.1]}, {"task": ["guess"]}, {"view": ["twice"]}],
)
def test_impossible_values_cannot_be_held(wrong: dict[str, list[object]]) -> None:
    row = {"mix": ["m"], "perceived": [0.3], "task": ["infer"]}

    with pytest.raises(AssertionError):
        MixJudgments(pl.DataFrame({**row, **wrong}))


def test_every_task_has_its_wording() -> None:
    assert all(len(wording) > 40 for wording in MIX_TASKS.values())
