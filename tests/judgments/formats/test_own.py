import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.judgments.strategies import judgments

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.own import read_own, write_own
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.provenance import is_simulated

SUFFIXES = (".parquet", ".jsonl", ".csv")
PLAIN = ReadOptions()


def at(folder: Path, text: str, name: str = "answers.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def beside(path: Path, **question: Any) -> None:
    path.with_suffix(".question.json").write_text(json.dumps(question), encoding="utf-8")


# Round trip


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(original=judgments())
def test_writing_then_reading_gives_an_equal_table(
    suffix: str, original: Judgments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("own") / f"answers{suffix}"

    write_own(original, path)
    again = read_own(path, PLAIN)

    assert_frame_equal(again.table, original.table)
    assert again.question == original.question
    assert again.provenance[:-1] == original.provenance
    assert is_simulated(again.provenance)
    assert (again.rejected, again.remarks) == ((), ())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_left_behind_but_the_table_and_its_question(suffix: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["a"], "answer": ['"x"']})

    write_own(Judgments(ask("choose-one", ["x", "y"]), table), tmp_path / f"answers{suffix}")

    assert {path.name for path in tmp_path.iterdir()} == {
        f"answers{suffix}",
        "answers.question.json",
    }


# What was asked


def test_without_a_question_the_answers_are_the_classes(tmp_path: Path) -> None:
    path = at(tmp_path, 'item,answer\n1,dog\n1,"""cat"""\n2, dog \n')

    found = read_own(path, PLAIN)

    assert found.question == ask("choose-one", ["cat", "dog"])
    assert found.table["answer"].to_list() == ['"dog"', '"cat"', '"dog"']
    assert found.table["view"].unique().to_list() == ["first"]


def test_numbers_as_bare_labels_are_classes_in_natural_order(tmp_path: Path) -> None:
    path = at(tmp_path, '{"item": 1, "answer": 10}\n{"item": 1, "answer": "9"}\n', "a.jsonl")

    found = read_own(path, PLAIN)

    assert found.question.classes == ("9", "10")
    assert found.table["item"].to_list() == ["1", "1"]


def test_real_json_values_and_json_texts_are_the_same_answer(tmp_path: Path) -> None:
    lines = [
        {"item": "a", "answer": {"cat": 0.5}, "completed": True, "seconds": 2},
        {"item": "a", "answer": '{"cat": 0.5}', "completed": "true", "seconds": "2.0"},
    ]
    path = at(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl")

    found = read_own(path, ReadOptions(classes=("cat", "dog"), question="sliders"))

    assert len(found) == 2
    assert found.table.n_unique() == 1


def test_unknown_classes_of_another_kind_say_which_file_to_write(tmp_path: Path) -> None:
    path = at(tmp_path, 'item,answer\n1,"[""cat""]"\n')

    with pytest.raises(DataError, match=r'write answers\.question\.json .* {"kind": "ranking"'):
        read_own(path, ReadOptions(question="ranking"))


def test_unknown_kind_suggests_the_nearest(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer\n1,cat\n")

    with pytest.raises(UnknownName, match="Did you mean 'ranking'"):
        read_own(path, ReadOptions(question="rankin"))


def test_classes_may_be_put_into_another_order_but_not_replaced(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer\n1,cat\n")
    beside(path, kind="choose-one", classes=["cat", "dog"])

    assert read_own(path, ReadOptions(classes=("dog", "cat"))).question.classes == ("dog", "cat")
    with pytest.raises(DataError, match=r"answers\.question\.json differ, first in 'deer'"):
        read_own(path, ReadOptions(classes=("cat", "dog", "deer")))
    with pytest.raises(DataError, match="the question is 'choose-one', not 'ranking'"):
        read_own(path, ReadOptions(question="ranking"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "expected a JSON object"),
        ('{"kind": "choose-one"}', "'classes' is a list of texts"),
        ('{"kind": "choose-one", "classes": "catdog"}', "'classes' is a list of texts"),
        ('{"kind": "choose-one", "classes": [1, 2]}', "'classes' is a list of texts"),
        ('{"kind": "chose-one", "classes": ["a", "b"]}', "Did you mean 'choose-one'"),
        ('{"kind": "choose-one", "classes": ["a"]}', "at least two classes"),
        ('{"kind": "choose-one", "classes": ["a", "b"], "provenance": [1]}', "list of steps"),
        ("", "is empty"),
    ],
)
def test_a_broken_question_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer\n1,a\n")
    at(tmp_path, text, "answers.question.json")

    with pytest.raises(DataError, match=f"answers.question.json.*{message}"):
        read_own(path, PLAIN)


def test_an_answer_that_is_no_class_names_line_and_nearest(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer\n1,cat\n2,dgo\n")

    with pytest.raises(DataError, match=r"answers\.csv, line 3, .*'dgo'.*Did you mean 'dog'"):
        read_own(path, ReadOptions(classes=("cat", "dog")))


def test_thousands_of_different_answers_are_not_taken_for_classes(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer\n" + "".join(f"1,text {k}\n" for k in range(6000)))

    with pytest.raises(DataError, match="6,000 different labels"):
        read_own(path, PLAIN)


# Rows that are set aside


BAD_FIELDS = [
    ("item", "", "empty"),
    ("answer", "", "empty"),
    ("answer", "   ", "empty"),
    ("seconds", "8p", "'8p' is not a number of seconds"),
    ("seconds", "-1", "'-1' is not a number of seconds"),
    ("seconds", "NaN", "'NaN' is not a number of seconds"),
    ("seconds", "inf", "'inf' is not a number of seconds"),
    ("order", "third", "'third' is not a place in the session"),
    ("order", "1.5", "'1.5' is not a place in the session"),
    ("order", "-2", "'-2' is not a place in the session"),
    ("view", "second", "'second' is not one of first, repeat, check, practice"),
    ("completed", "maybe", "'maybe' is not true or false"),
    ("input_seconds", "{", "'{' is not a JSON object from inputs to seconds"),
    ("input_seconds", '{"a": "x"}', "is not a JSON object from inputs to seconds"),
]


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    table = pl.DataFrame(rows)
    writers: dict[str, Callable[[Path], Any]] = {
        ".csv": table.write_csv,
        ".jsonl": table.write_ndjson,
        ".parquet": table.write_parquet,
    }
    writers[path.suffix](path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("field", "text", "reason"), BAD_FIELDS)
def test_a_bad_field_sets_its_row_aside(
    field: str, text: str, reason: str, suffix: str, tmp_path: Path
) -> None:
    good = {"item": "a", "answer": "cat", field: "1"} | {"item": "a", "answer": "cat"}
    good |= {"view": "first"} if field == "view" else {}
    good |= {"input_seconds": '{"a": 1}'} if field == "input_seconds" else {}
    path = tmp_path / f"answers{suffix}"
    write_rows(path, [good, good | {field: text}, good | {"answer": "dog"}])

    found = read_own(path, PLAIN)

    [row] = found.rejected
    assert len(found) == 2
    assert (row.file, row.field) == (path.name, field)
    assert row.line == (3 if suffix == ".csv" else 2)
    assert reason in row.reason


def test_lines_are_counted_through_line_breaks_in_fields(tmp_path: Path) -> None:
    path = at(tmp_path, 'item,answer,at\n1,cat,"two\r\nlines"\n\n2,dog\n3,dog,x,y\n4,"dog","z"\n')

    found = read_own(path, PLAIN)

    assert [(row.line, row.reason) for row in found.rejected] == [
        (5, "2 fields where the header has 3"),
        (6, "4 fields where the header has 3"),
    ]
    assert found.table["item"].to_list() == ["1", "4"]


def test_a_line_that_is_not_json_is_set_aside_with_its_line(tmp_path: Path) -> None:
    huge = "1" * 5000
    lines = [
        '{"item": "a", "answer": "cat"}',
        "",
        "{oops",
        "[1]",
        f'{{"item": {huge}}}',
        "[" * 5000,
        r'{"item": "\ud800", "answer": "cat"}',
        r'{"item": "\ud83c\udfa8", "answer": "dog"}',
    ]
    path = at(tmp_path, "\n".join(lines), "a.jsonl")

    found = read_own(path, PLAIN)

    assert found.table["item"].to_list() == ["a", "🎨"]
    assert [(row.line, row.reason) for row in found.rejected] == [
        (3, "not JSON"),
        (4, "not a JSON object"),
        (5, "not JSON"),
        (6, "not JSON"),
        (7, "half of a character (a lone surrogate)"),
    ]


def test_an_answer_of_the_wrong_form_is_set_aside(tmp_path: Path) -> None:
    path = at(tmp_path, 'item,answer\n1,"[""cat""]"\n2,cat\n3,"{""a"": 1}"\n')

    found = read_own(path, ReadOptions(classes=("cat", "dog"), question="likely-set"))

    assert [(row.line, row.field) for row in found.rejected] == [(3, "answer"), (4, "answer")]


# Columns


def test_an_unknown_column_is_remarked_without_an_example(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer,prolific_id\n1,cat,5f2a9c0b1d3e4f5a6b7c8d9e\n2,dog,\n")

    [remark] = read_own(path, PLAIN).remarks

    assert remark.what == "column 'prolific_id' is not one of ours and was left out"
    assert (remark.count, remark.example) == (1, "")


def test_platform_ids_become_pseudonyms(tmp_path: Path) -> None:
    people = ["5f2a9c0b1d3e4f5a6b7c8d9e", "A2XJ1SEGCKLAQ0", "someone@example.org", "w1"]
    path = at(tmp_path, "item,answer,annotator\n" + "".join(f"1,c{p},{p}\n" for p in people))

    found = read_own(path, ReadOptions(key=lambda: "study 1"))

    assert found.table["annotator"][0] == "person-9d139fc064"
    assert found.table["annotator"].str.starts_with("person-").to_list() == [True] * 3 + [False]
    assert [(remark.what, remark.count) for remark in found.remarks] == [
        ("platform ids replaced by pseudonyms", 3)
    ]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["a"], "label": ["cat"]})
    table.write_csv(tmp_path / "a.csv")
    table.write_ndjson(tmp_path / "a.jsonl")
    table.write_parquet(tmp_path / "a.parquet")

    for suffix in SUFFIXES:
        with pytest.raises(DataError, match=rf"a\{suffix} has no column 'answer'.*'item', 'label'"):
            read_own(tmp_path / f"a{suffix}", PLAIN)


def test_columns_of_numbers_in_parquet_become_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame(
        {"item": [1.0, 2.0, None], "annotator": [7, 8, 9], "answer": ["a", "b", "a"]}
    ).write_parquet(path)

    found = read_own(path, PLAIN)

    assert found.table["item"].to_list() == ["1", "2"]
    assert found.table["annotator"].to_list() == ["7", "8"]
    assert [(row.line, row.field) for row in found.rejected] == [(3, "item")]


def test_nested_columns_in_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"item": ["a"], "answer": [["cat"]]}).write_parquet(path)

    with pytest.raises(DataError, match=r"Column 'answer' of a\.parquet holds List"):
        read_own(path, PLAIN)


def test_gold_that_is_no_class_is_remarked(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer,gold\n1,cat,catt\n2,dog,dog\n3,dog,\n")

    [remark] = read_own(path, PLAIN).remarks

    assert (remark.what, remark.count, remark.example) == ("gold is none of the classes", 1, "catt")


# Files


def test_another_suffix_names_the_three(tmp_path: Path) -> None:
    path = at(tmp_path, "item,answer\n1,cat\n", "answers.txt")
    found = Judgments(
        ask("choose-one", ["a", "b"]), pl.DataFrame({"item": ["1"], "answer": ['"a"']})
    )

    with pytest.raises(DataError, match=r"\.parquet, \.jsonl or \.csv"):
        read_own(path, PLAIN)
    with pytest.raises(DataError, match=r"\.parquet, \.jsonl or \.csv"):
        write_own(found, path)


@given(share=st.floats(0, 0.999), junk=st.binary(max_size=40))
def test_a_parquet_file_that_breaks_off_is_a_sentence(
    share: float, junk: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a.parquet"
    pl.DataFrame({"item": ["a", "b"], "answer": ["x", "y"]}).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))] + junk)

    with pytest.raises(DataError, match=r"a\.parquet cannot be read as Parquet"):
        read_own(path, PLAIN)


def test_platform_ids_are_never_written(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["1"], "answer": ['"a"'], "annotator": ["A2XJ1SEGCKLAQ0"]})

    with pytest.raises(DataError, match="look like those of a crowd platform, such as A2XJ…"):
        write_own(Judgments(ask("choose-one", ["a", "b"]), table), tmp_path / "a.csv")


def test_a_folder_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    found = Judgments(
        ask("choose-one", ["a", "b"]), pl.DataFrame({"item": ["1"], "answer": ['"a"']})
    )

    with pytest.raises(DataError, match="cannot be written: No such file"):
        write_own(found, tmp_path / "nowhere" / "a.csv")


def test_a_file_that_cannot_be_replaced_leaves_no_part_behind(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["1"], "answer": ['"a"']})
    (tmp_path / "a.csv").mkdir()

    with pytest.raises(DataError, match=r"a\.csv cannot be written"):
        write_own(Judgments(ask("choose-one", ["a", "b"]), table), tmp_path / "a.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_time_that_is_no_number_is_written_as_not_recorded(suffix: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["1", "2"], "answer": ['"a"'] * 2, "seconds": [float("nan"), 2]})
    path = tmp_path / f"a{suffix}"

    write_own(Judgments(ask("choose-one", ["a", "b"]), table), path)

    assert read_own(path, PLAIN).table["seconds"].to_list() == [None, 2.0]


def test_judgments_without_item_are_not_written(tmp_path: Path) -> None:
    found = Judgments(
        ask("choose-one", ["a", "b"]), pl.DataFrame({"item": [""], "answer": ['"a"']})
    )

    with pytest.raises(DataError, match="Judgments without an item cannot be written: 1 of"):
        write_own(found, tmp_path / "a.csv")
