from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.tables import read_crowd, write_crowd
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.files import read_gold

PLAIN = ReadOptions()


def at(folder: Path, text: str, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("name", "labels", "items", "workers", "classes"),
    [
        ("bluebird", 4212, 108, 39, ("0", "1")),
        ("dog", 8070, 807, 109, ("0", "1", "2", "3")),
        ("rte", 8000, 800, 164, ("0", "1")),
        ("face", 5242, 584, 27, ("0", "1", "2", "3")),
    ],
)
def test_the_classical_sets_have_their_published_sizes(
    name: str, labels: int, items: int, workers: int, classes: tuple[str, ...], data_folder: Path
) -> None:
    found = read_crowd(data_folder / "crowd" / f"{name}_label.csv", PLAIN)
    truth = read_gold(data_folder / "crowd" / f"{name}_truth.csv")

    assert len(found) == labels
    assert found.table["item"].n_unique() == items
    assert len(found.annotators) == workers
    assert found.question.classes == classes
    assert set(truth) == set(found.table["item"])
    assert set(truth.values()) <= set(classes)
    assert (found.rejected, found.remarks) == ((), ())


@pytest.mark.parametrize(
    "header", ["task,worker,label", "item,worker,label", "task, annotator ,label"]
)
def test_columns_are_known_by_either_name(header: str, tmp_path: Path) -> None:
    found = read_crowd(at(tmp_path, f"{header}\nt1,w1,yes\nt1,w2,no\n"), PLAIN)

    assert found.table.select("item", "annotator", "answer").rows() == [
        ("t1", "w1", '"yes"'),
        ("t1", "w2", '"no"'),
    ]


def test_tabs_separate_tsv(tmp_path: Path) -> None:
    path = at(tmp_path, "task\tworker\tlabel\nt1\tw1\ta, b\nt1\tw2\tc\n", "votes.tsv")

    assert read_crowd(path, PLAIN).question.classes == ("a, b", "c")


def test_integer_labels_are_classes_in_natural_order(tmp_path: Path) -> None:
    path = at(tmp_path, "task,worker,label\n1,1,10\n1,2,9\n1,3,-1\n")

    assert read_crowd(path, PLAIN).question.classes == ("-1", "9", "10")


def test_floats_made_by_a_spreadsheet_become_integers_again(tmp_path: Path) -> None:
    path = at(tmp_path, "task,worker,label\n4.0,1.0,0.0\n4.0,,1.0\n17.0,2.0,1.0\n")

    found = read_crowd(path, PLAIN)

    assert found.table["item"].to_list() == ["4", "4", "17"]
    assert found.table["annotator"].to_list() == ["1", None, "2"]
    assert found.question.classes == ("0", "1")
    assert {remark.what: remark.count for remark in found.remarks} == {
        "item written as a float, read as an integer": 3,
        "annotator written as a float, read as an integer": 2,
        "label written as a float, read as an integer": 3,
        "no annotator recorded": 1,
    }


def test_dotted_numbers_that_the_user_names_or_that_differ_stay(tmp_path: Path) -> None:
    path = at(tmp_path, "task,worker,label\n1.0,1,1.0\n1.1,1,2.0\n")

    found = read_crowd(path, ReadOptions(classes=("1.0", "2.0")))

    assert found.table["item"].to_list() == ["1.0", "1.1"]
    assert found.table["answer"].to_list() == ['"1.0"', '"2.0"']


def test_rows_without_item_or_label_are_set_aside(tmp_path: Path) -> None:
    path = at(tmp_path, "task,worker,label\n,w1,a\nt1,w1,\nt1,w2,a\nt1,w3,b\nt2\n")

    found = read_crowd(path, PLAIN)

    assert len(found) == 2
    assert [(row.line, row.field, row.reason) for row in found.rejected] == [
        (2, "item", "empty"),
        (3, "label", "empty"),
        (6, "", "1 fields where the header has 3"),
    ]


def test_a_label_that_is_no_class_names_line_and_nearest(tmp_path: Path) -> None:
    path = at(tmp_path, "task,worker,label\nt1,w1,cat\nt1,w2,dgo\n")

    with pytest.raises(DataError, match=r"votes\.csv, line 3, .*'dgo'.*Did you mean 'dog'"):
        read_crowd(path, ReadOptions(classes=("cat", "dog")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,worker,answer\n", "no column 'label'"),
        ("picture,worker,label\n", "neither a column 'task' nor 'item'"),
        ("task,item,worker,label\n", "both columns 'task' and 'item'"),
        ("task,task,worker,label\n", "2 columns called 'task'"),
        ("task,worker,label\nt1,w1,a\n", "only the label 'a'; name all classes"),
        ("task,worker,label\n", "no label; name all classes"),
    ],
)
def test_files_that_are_no_votes_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"votes.csv.*{message}"):
        read_crowd(at(tmp_path, text), PLAIN)


def test_another_question_is_refused(tmp_path: Path) -> None:
    path = at(tmp_path, "task,worker,label\nt1,w1,a\nt1,w2,b\n")

    with pytest.raises(DataError, match="'choose-one', not 'ranking'"):
        read_crowd(path, ReadOptions(question="ranking"))


ids = st.text("ab1é,\"\n'", min_size=1, max_size=4).filter(lambda text: text == text.strip())


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@given(
    rows=st.lists(st.tuples(ids, st.none() | ids, st.sampled_from(["x", "ä b", "z"])), min_size=1)
)
def test_writing_then_reading_gives_the_same_votes(
    suffix: str,
    rows: list[tuple[str, str | None, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    classes = ("ä b", "z", "x")
    table = pl.DataFrame(
        rows, schema=dict.fromkeys(("item", "annotator", "answer"), pl.String()), orient="row"
    )
    table = table.with_columns(pl.format('"{}"', "answer").alias("answer"))
    path = tmp_path_factory.mktemp("crowd") / f"votes{suffix}"

    write_crowd(Judgments(ask("choose-one", classes), table), path)
    again = read_crowd(path, ReadOptions(classes=classes))

    assert_frame_equal(again.table.select(table.columns), table)


def test_what_a_vote_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    sets = Judgments(ask("likely-set", ["a", "b"]), pl.DataFrame({"item": ["1"], "answer": ["[]"]}))
    table = pl.DataFrame({"item": ["1", "1"], "answer": ['"a"'] * 2, "view": ["first", "repeat"]})
    repeats = Judgments(ask("choose-one", ["a", "b"]), table)

    with pytest.raises(DataError, match="cannot hold answers to the question 'likely-set'"):
        write_crowd(sets, path)
    with pytest.raises(DataError, match=r"1 of 2 judgments are not first views .* a 'repeat'"):
        write_crowd(repeats, path)
    assert not path.exists()


def test_a_repaired_answer_is_what_is_written(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["1"], "answer": ['"a"'], "repaired": ['"b"']})
    path = tmp_path / "votes.csv"

    write_crowd(Judgments(ask("choose-one", ["a", "b"]), table), path)

    assert path.read_text() == "task,worker,label\n1,,b\n"
