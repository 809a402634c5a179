import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.tables import read_cleanlab, write_cleanlab
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask

PLAIN = ReadOptions()


def at(folder: Path, text: str) -> Path:
    path = folder / "wide.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("first", ["item", "task", "index", ""])
def test_an_index_of_pandas_with_floats_and_gaps_is_read(first: str, tmp_path: Path) -> None:
    path = at(tmp_path, f"{first},ann,ben\n0,1.0,\n1,nan,0.0\n2,2.0,0.0\n")

    found = read_cleanlab(path, PLAIN)

    assert found.question.classes == ("0", "1", "2")
    assert found.table.select("item", "annotator", "answer").rows() == [
        ("0", "ann", '"1"'),
        ("1", "ben", '"0"'),
        ("2", "ann", '"2"'),
        ("2", "ben", '"0"'),
    ]


def test_annotators_may_be_called_like_our_columns(tmp_path: Path) -> None:
    path = at(tmp_path, "task,item,label,line,annotator\n7,a,b,a,b\n")

    found = read_cleanlab(path, PLAIN)

    assert found.annotators == ["annotator", "item", "label", "line"]
    assert found.table["item"].to_list() == ["7"] * 4


def test_items_without_labels_are_remarked_and_ragged_rows_set_aside(tmp_path: Path) -> None:
    path = at(tmp_path, "item,ann,ben\n0,a,b\n1,,\n2,a\n,a,\n")

    found = read_cleanlab(path, PLAIN)

    assert len(found) == 2
    assert [(remark.what, remark.count) for remark in found.remarks] == [
        ("items without any label", 1)
    ]
    assert [(row.line, row.field) for row in found.rejected] == [(4, ""), (5, "item")]


def test_nan_may_be_a_class_if_the_user_says_so(tmp_path: Path) -> None:
    path = at(tmp_path, "item,ann,ben\n0,nan,roti\n")

    assert len(read_cleanlab(path, ReadOptions(classes=("nan", "roti")))) == 2


def test_people_of_a_platform_get_pseudonyms(tmp_path: Path) -> None:
    path = at(tmp_path, "item,5f2a9c0b1d3e4f5a6b7c8d9e,ben\n0,a,b\n")

    assert read_cleanlab(path, ReadOptions(key=lambda: "study 1")).annotators == [
        "ben",
        "person-9d139fc064",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ann,ben\n1,2\n", "first column of wide.csv is 'ann'"),
        ("item\n1\n", "no column of an annotator"),
        ("item,ann,ann\n1,2,3\n", "2 columns called 'ann'"),
        ("item,ann\n1,a\n2,a\n", "only the label 'a'"),
    ],
)
def test_other_tables_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_cleanlab(at(tmp_path, text), PLAIN)


@given(
    labels=st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["w1", "w,2", 'w"3'])),
        st.sampled_from(["x", "y é"]),
        min_size=1,
    )
)
def test_writing_then_reading_gives_the_same_votes(
    labels: dict[tuple[str, str], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [
        {"item": item, "annotator": person, "answer": json.dumps(label, ensure_ascii=False)}
        for (item, person), label in labels.items()
    ]
    path = tmp_path_factory.mktemp("cleanlab") / "wide.csv"
    options = ReadOptions(classes=("x", "y é"))

    write_cleanlab(Judgments(ask("choose-one", ["x", "y é"]), pl.DataFrame(rows)), path)
    again = read_cleanlab(path, options)

    expected = {(row["item"], row["annotator"], row["answer"]) for row in rows}
    assert set(again.table.select("item", "annotator", "answer").iter_rows()) == expected


def test_what_the_wide_table_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    question = ask("choose-one", ["a", "b"])
    twice = pl.DataFrame({"item": ["7", "7"], "annotator": ["w", "w"], "answer": ['"a"', '"b"']})
    called_item = pl.DataFrame({"item": ["7"], "annotator": ["item"], "answer": ['"a"']})

    with pytest.raises(DataError, match="more than once"):
        write_cleanlab(Judgments(question, twice), path)
    with pytest.raises(DataError, match="annotator called 'item'"):
        write_cleanlab(Judgments(question, called_item), path)
    assert not path.exists()
