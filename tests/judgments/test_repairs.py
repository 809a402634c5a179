"""Repairs fill the column ``repaired``, leave the answer alone and keep a log."""

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import UnknownName
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.judgments.repairs import REPAIRS, repair, repair_table

CLASSES = ("cat", "dog", "deer")


def answer(first_percent: Any, second_percent: Any = "", second: str | None = None) -> str:
    fields = {
        "first": "cat",
        "first_percent": first_percent,
        "second": second,
        "second_percent": second_percent,
        "ruled_out": ["deer"],
    }
    return json.dumps(fields)


def table(*answers: str) -> pl.DataFrame:
    people = [f"p{place}" for place in range(len(answers))]
    return pl.DataFrame({"item": ["7"] * len(answers), "annotator": people, "answer": answers})


def first_percents(repaired: pl.Series) -> list[Any]:
    return [None if text is None else json.loads(text)["first_percent"] for text in repaired]


@pytest.mark.parametrize("typed", ["0", " 0", "0.0", "0%", 0])
def test_zero_for_the_most_probable_class_is_read_as_100(typed: str | int) -> None:
    mended = repair_table(table(answer(typed)), "cifar10s")

    assert first_percents(mended.table["repaired"]) == ["100"]


def test_zero_for_the_second_class_is_meant() -> None:
    mended = repair_table(table(answer("100", "0", "dog")), "cifar10s")

    assert mended.table["repaired"].to_list() == [None]
    assert mended.log == ()


def test_p_behind_digits_is_read_as_0() -> None:
    mended = repair_table(table(answer("8p"), answer("10p")), "cifar10s")

    assert first_percents(mended.table["repaired"]) == ["80", "100"]


def test_p_in_the_second_number_is_read_as_0_too() -> None:
    mended = repair_table(table(answer("80", "2p", "dog")), "cifar10s")

    assert json.loads(mended.table["repaired"][0])["second_percent"] == "20"


@pytest.mark.parametrize("typed", ["p", "p\\\\\\", "8pp", "p8", "8o", "80p", "0p", "", None, "8 p"])
def test_other_text_is_left_to_be_reported(typed: str | None) -> None:
    mended = repair_table(table(answer(typed)), "cifar10s")

    assert mended.table["repaired"].to_list() == [None]


def test_probability_for_no_alternative_is_no_case_for_a_repair() -> None:
    mended = repair_table(table(answer("90", "10", None)), "cifar10s")

    assert mended.log == ()


def test_log_says_who_what_and_why() -> None:
    mended = repair_table(table(answer("70"), answer("0"), answer("8p", "0p", "dog")), "cifar10s")

    assert [(entry.item, entry.annotator) for entry in mended.log] == [("7", "p1"), ("7", "p2")]
    assert mended.log[0].given == answer("0")
    assert json.loads(mended.log[0].repaired)["first_percent"] == "100"
    assert mended.log[0].reason == "0 typed for the most probable class is read as 100"
    assert "p lies next to 0" in mended.log[1].reason


def test_remarks_count_each_reason_with_an_example() -> None:
    mended = repair_table(table(answer("0"), answer("0"), answer("8p")), "cifar10s")

    assert [remark.count for remark in mended.remarks] == [2, 1]
    assert all("'cifar10s', version 1" in remark.what for remark in mended.remarks)
    assert mended.remarks[1].example == f"item 7: {answer('8p')}"


def test_answers_that_are_no_objects_are_left_alone() -> None:
    given_answers = ["", "{", "[1]", '"cat"', "null", "[" * 100_000]

    mended = repair_table(table(*given_answers), "cifar10s")

    assert mended.table["answer"].to_list() == given_answers
    assert mended.table["repaired"].null_count() == len(given_answers)


def test_unknown_repairs_name_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'cifar10s'"):
        repair_table(table(), "cifar10")


def test_repair_of_judgments_is_a_step_and_changes_what_is_stated() -> None:
    judgments = Judgments(ask("top-two", CLASSES), table(answer("0"), answer("60")))

    after, log = repair(judgments, "cifar10s")

    assert judgments.statements.mass[:, 0].tolist() == [0.0, 0.6]
    assert [after.statements.mass[row, 0] for row in after.statements.index] == [1.0, 0.6]
    assert after.provenance[-1].settings == {"name": "cifar10s", "version": "1", "answers": 1}
    assert len(after.remarks) == len(log) == 1


def test_earlier_repairs_stay() -> None:
    kept = answer("55")
    before = table(answer("60"), answer("0")).with_columns(repaired=pl.Series([kept, None]))

    mended = repair_table(before, "cifar10s")

    assert first_percents(mended.table["repaired"]) == ["55", "100"]


percents = st.sampled_from(["0", "8p", "80", "", " 0 ", "x", "100"]) | st.text(max_size=4)


@given(st.lists(st.tuples(percents, percents, st.sampled_from([None, "dog"])), max_size=6))
def test_repairs_keep_answers_and_find_nothing_the_second_time(
    rows: list[tuple[str, str, str | None]],
) -> None:
    before = table(*(answer(*row) for row in rows)).cast(pl.String)

    once = repair_table(before, "cifar10s")
    twice = repair_table(once.table, "cifar10s")

    assert once.table["answer"].equals(before["answer"])
    assert len(once.log) == once.table["repaired"].count()
    assert twice.log == ()
    assert twice.table.equals(once.table)


def test_every_set_says_what_it_does() -> None:
    assert all(rules.about and rules.version for rules in REPAIRS.values())
