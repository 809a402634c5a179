"""Rows that are set aside."""

import polars as pl

from sfumato.judgments.formats.reading import (
    Flaw,
    flag_empty,
    flag_no_number,
    flag_no_whole_number,
    flag_unknown_word,
    parse_column,
    sound_rows,
)

TABLE = pl.DataFrame({"field": ["1", "x", None, "2.5", "-1", "inf", "nan", " 3"]})


def wrong(flaw: Flaw) -> list[str | None]:
    return TABLE["field"].filter(flaw.rows.fill_null(False)).to_list()


def test_numbers_may_be_missing_but_nothing_else() -> None:
    assert wrong(flag_no_number(TABLE, "field", low=0, high=2)) == [
        "x",
        "2.5",
        "-1",
        "inf",
        "nan",
        " 3",
    ]
    assert wrong(flag_no_number(TABLE, "field", low=0, high=float("inf"))) == [
        "x",
        "-1",
        "inf",
        "nan",
        " 3",
    ]


def test_whole_numbers_are_digits() -> None:
    assert wrong(flag_no_whole_number(TABLE, "field")) == ["x", "2.5", "-1", "inf", "nan", " 3"]


def test_words_are_a_closed_set() -> None:
    assert wrong(flag_unknown_word(TABLE, "field", ("1", "x"))) == ["2.5", "-1", "inf", "nan", " 3"]


def test_empty_fields() -> None:
    assert wrong(flag_empty(TABLE, "field")) == [None]


def test_first_flaw_of_a_row_is_reported_with_its_line() -> None:
    flaws = [
        flag_empty(TABLE, "field"),
        flag_no_number(TABLE, "field", low=0, high=2),
        flag_empty(TABLE, "field"),
    ]

    kept, lines, rejected = sound_rows(TABLE, flaws, lines=range(2, 10), file="t.csv")

    assert kept["field"].to_list() == ["1"]
    assert lines.tolist() == [2]
    assert [(row.line, row.reason) for row in rejected][:2] == [
        (3, "not a number from 0 to 2"),
        (4, "empty"),
    ]
    assert rejected[1].text == ""


def test_table_without_flaws_stays_as_it_is() -> None:
    kept, lines, rejected = sound_rows(TABLE, [], lines=range(8), file="t.csv")

    assert kept.equals(TABLE)
    assert lines.tolist() == list(range(8))
    assert rejected == []


def test_parsed_values_stand_beside_their_reasons() -> None:
    def doubled(text: str) -> int:
        if not text.isdigit():
            raise ValueError("no digits" if text else "nothing")
        return 2 * int(text)

    values, flaws = parse_column(TABLE.head(4), "field", doubled)

    assert values == [2, None, None, None]
    assert [(flaw.reason, flaw.rows.arg_true().to_list()) for flaw in flaws] == [
        ("no digits", [1, 3]),
        ("nothing", [2]),
    ]
