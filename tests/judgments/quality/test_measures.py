"""Accuracy, repeats, times and copies: against the published figures and by hand."""

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.quality.rules import accuracy, choices, contains_gold, copies, repeats, times
from sfumato.judgments.question import ask
from sfumato.provenance import Step

CLASSES = ("cat", "dog", "deer")

sliders = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([0, 0.5, 1]) for name in CLASSES}
)


def answered(kind: str, answers: list[Any], **columns: list[Any]) -> Judgments:
    table = pl.DataFrame(
        {
            "item": columns.pop("item", [str(row) for row in range(len(answers))]),
            "annotator": columns.pop("annotator", ["ann"] * len(answers)),
            "answer": [json.dumps(answer) for answer in answers],
            **columns,
        },
        schema_overrides={"item": pl.String, "annotator": pl.String, "answer": pl.String},
    )
    return Judgments(ask(kind, CLASSES), table)


def top_two(first: str, percent: str) -> dict[str, Any]:
    return {"first": first, "first_percent": percent, "second": None, "second_percent": ""}


def test_annotators_of_cifar10s_are_as_accurate_as_published(cifar10s: Judgments) -> None:
    seen = accuracy(select(cifar10s))

    assert seen.answers == 6200
    assert round(100 * seen.top1, 2) == 84.35
    assert round(100 * seen.top2, 2) == 91.97
    assert len(seen.people) == 248


def test_accuracy_counts_answers_with_gold_and_people_with_names() -> None:
    judgments = answered(
        "choose-one",
        ["cat", "cat", "dog", "dog"],
        annotator=["ann", "ann", "bob", None],
        gold=["cat", None, "cat", "dog"],
    )

    seen = accuracy(judgments)

    assert (seen.answers, seen.top1) == (3, 2 / 3)
    assert seen.people.rows() == [("ann", 1, 1.0, 1.0), ("bob", 1, 0.0, 0.0)]


def test_two_tied_leaders_are_both_among_the_top_two_and_neither_is_first() -> None:
    judgments = answered("sliders", [{"cat": 0.4, "dog": 0.4, "deer": 0.2}] * 3, gold=[*CLASSES])

    assert contains_gold(judgments, among=1).to_list() == [False, False, False]
    assert contains_gold(judgments, among=2).to_list() == [True, True, False]


@given(st.lists(st.tuples(sliders, st.sampled_from(CLASSES)), min_size=1, max_size=20))
def test_gold_is_first_exactly_where_it_is_the_top_choice(
    said: list[tuple[dict[str, float], str]],
) -> None:
    judgments = answered("sliders", [answer for answer, _ in said], gold=[gold for _, gold in said])

    first = contains_gold(judgments, among=1).to_numpy()

    gold = np.array([CLASSES.index(gold) for _, gold in said])
    assert (first == (choices(judgments) == gold)).all()
    assert (contains_gold(judgments, among=2).to_numpy() >= first).all()


def test_gold_that_is_no_class_names_the_item() -> None:
    judgments = answered("choose-one", ["cat", "dog"], gold=["cat", "horse"])

    with pytest.raises(DataError, match=r"gold class 'horse' of item '1' .* Known: cat, dog, deer"):
        accuracy(judgments)


def test_repeats_of_cifar10s_are_as_consistent_as_published(cifar10s: Judgments) -> None:
    seen = repeats(cifar10s)

    assert (len(seen.pairs), seen.unpaired) == (498, 0)
    assert round(100 * seen.changed, 2) == 7.03
    assert round(seen.points, 2) == 6.10


def test_without_the_doubled_session_cifar10s_repeats_are_a_little_more_consistent(
    cifar10s: Judgments,
) -> None:
    seen = repeats(cifar10s.take(~copies(cifar10s), Step("drop copies")))

    assert len(seen.pairs) == 496
    assert seen.changed == 34 / 496
    assert round(seen.points, 2) == 6.07


def test_a_repeat_is_compared_with_the_earliest_first_view_of_the_same_person() -> None:
    judgments = answered(
        "top-two",
        [top_two("cat", said) for said in ("90", "60", "10", "70")],
        item=["1"] * 4,
        annotator=["ann", "ann", "bob", "ann"],
        view=["first", "first", "first", "repeat"],
    )

    seen = repeats(judgments)

    assert seen.pairs.select("first_row", "repeat_row", "first", "again").rows() == [
        (0, 3, "cat", "cat")
    ]
    assert seen.points == pytest.approx(20)


def test_change_of_probability_is_measured_only_where_the_choice_stays_and_is_stated() -> None:
    said = [("cat", "90"), ("cat", "80"), ("cat", "90"), ("dog", "10"), ("cat", "90"), ("cat", "")]
    judgments = answered(
        "top-two",
        [top_two(*one) for one in said],
        item=["1", "1", "2", "2", "3", "3"],
        view=["first", "repeat"] * 3,
    )

    seen = repeats(judgments)

    assert seen.changed == 1 / 3
    assert seen.pairs["points"].to_list() == [pytest.approx(10), None, None]


def test_an_answer_without_a_single_top_choice_neither_changed_nor_stayed() -> None:
    judgments = answered(
        "likely-set", [["cat"], ["cat", "dog"]], item=["1", "1"], view=["first", "repeat"]
    )

    seen = repeats(judgments)

    assert seen.pairs["changed"].to_list() == [None]
    assert math.isnan(seen.changed)


def test_a_repeat_nobody_saw_before_is_counted_as_unpaired() -> None:
    judgments = answered(
        "choose-one",
        ["cat", "cat", "cat"],
        item=["1", "1", "2"],
        annotator=["ann", "bob", None],
        view=["first", "repeat", "repeat"],
    )

    assert repeats(judgments).unpaired == 2


def test_times_of_cifar10s_are_as_published(cifar10s: Judgments) -> None:
    everything, selected = times(cifar10s), times(select(cifar10s))
    first = times(select(cifar10s, keep=["duplicates"]))

    assert (everything.answers, round(everything.median, 2)) == (6723, 31.96)
    assert (first.answers, round(first.median, 2)) == (6225, 32.43)
    assert (selected.answers, round(selected.median, 2)) == (6200, 32.38)
    assert len(everything.people) == 248
    assert len(everything.items) == 1000
    assert everything.places["answers"].to_list() == [249] * 27


def test_times_leave_out_answers_whose_time_is_not_known() -> None:
    judgments = answered(
        "choose-one",
        ["cat", "dog", "cat"],
        annotator=["ann", None, "ann"],
        seconds=[1.0, 5.0, None],
        order=[1, None, 2],
    )

    taken = times(judgments)

    assert (taken.answers, taken.median, taken.mean) == (2, 3.0, 3.0)
    assert taken.people.rows() == [("ann", 1, 1.0, 1.0)]
    assert taken.places.rows() == [(1, 1, 1.0, 1.0)]


def test_without_any_time_there_is_no_median() -> None:
    taken = times(answered("choose-one", ["cat"]))

    assert taken.answers == 0
    assert math.isnan(taken.median)


def test_the_doubled_session_of_cifar10s_is_found(cifar10s: Judgments) -> None:
    again = copies(cifar10s)

    assert again.sum() == 27
    assert cifar10s.table.filter(pl.Series(again))["annotator"].n_unique() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"annotator": ["ann", "bob"]},
        {"annotator": [None, None]},
        {"seconds": [1.5, 1.6]},
        {"seconds": [None, None]},
        {"view": ["first", "repeat"]},
        {"item": ["1", "2"]},
    ],
)
def test_a_row_is_a_copy_only_if_all_is_equal_and_person_and_time_are_known(
    other: dict[str, list[Any]],
) -> None:
    same: dict[str, list[Any]] = {"item": ["1", "1"], "seconds": [1.5, 1.5]}

    equal = copies(answered("choose-one", ["cat", "cat"], **same))
    differing = copies(answered("choose-one", ["cat", "cat"], **{**same, **other}))

    assert equal.tolist() == [False, True]
    assert differing.tolist() == [False, False]


def test_seconds_on_each_input_are_read_where_they_were_recorded() -> None:
    table = pl.DataFrame(
        {
            "item": ["1", "2", "3"],
            "answer": ['"cat"', '"dog"', '"cat"'],
            "seconds": [9.0, 8.0, 7.0],
            "input_seconds": ['{"first": 1.0, "second": 4.0}', None, '{"first": 3.0}'],
        }
    )
    judgments = Judgments(ask("choose-one", ["cat", "dog"]), table)

    taken = times(judgments).inputs

    assert taken.select("input", "answers", "median").rows() == [
        ("first", 2, 2.0),
        ("second", 1, 4),
    ]
    assert times(answered("choose-one", ["cat"])).inputs.is_empty()
