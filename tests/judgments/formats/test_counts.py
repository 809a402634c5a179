"""Tables of votes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.tables import read_counts
from sfumato.judgments.judgments import Judgments


def stored(folder: Path, counts: object) -> Path:
    path = folder / "votes.npy"
    np.save(path, np.asarray(counts))
    return path


def counted(judgments: Judgments) -> NDArray[np.int64]:
    """The votes back as a table, items in the order of their numbers."""
    votes = judgments.table.with_columns(pl.col("item").cast(pl.Int64))
    n_items = int(votes["item"].max() or 0) + 1  # type: ignore[arg-type]
    names = {f'"{name}"': place for place, name in enumerate(judgments.question.classes)}
    counts = np.zeros((n_items, len(names)), dtype=np.int64)
    np.add.at(counts, (votes["item"], votes["answer"].replace_strict(names)), 1)
    return counts


tables = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.integers(0, 5)
)


@given(tables)
def test_votes_are_neither_lost_nor_moved(
    tmp_path_factory: pytest.TempPathFactory, counts: NDArray[np.int64]
) -> None:
    counts[-1, -1] = 1  # so that the last item has a vote

    judgments = read_counts(stored(tmp_path_factory.mktemp("v"), counts), ReadOptions())

    assert (counted(judgments) == counts).all()
    assert len(judgments) == counts.sum()
    assert judgments.annotators == []


def test_classes_are_numbers_unless_named(tmp_path: Path) -> None:
    path = stored(tmp_path, [[1, 2]])

    assert read_counts(path, ReadOptions()).question.classes == ("0", "1")
    named = read_counts(path, ReadOptions(classes=("cat", "dog")))
    assert named.table["answer"].to_list() == ['"cat"', '"dog"', '"dog"']


def test_number_of_classes_must_fit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 columns, but 3 classes are named: a, b, c"):
        read_counts(stored(tmp_path, [[1, 2]]), ReadOptions(classes=("a", "b", "c")))


def test_probabilities_hold_no_judgments(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no judgments\. Read it as labels"):
        read_counts(stored(tmp_path, [[0.25, 0.75], [1.0, 0.0]]), ReadOptions())


def test_whole_numbers_may_be_stored_as_floats(tmp_path: Path) -> None:
    judgments = read_counts(stored(tmp_path, [[1.0, 0.0], [0.0, 1.0]]), ReadOptions())

    assert judgments.table.select("item", "answer").rows() == [("0", '"0"'), ("1", '"1"')]


@pytest.mark.parametrize("wrong", [-1, 0.5, np.nan, np.inf])
def test_row_with_another_number_is_set_aside(tmp_path: Path, wrong: float) -> None:
    judgments = read_counts(stored(tmp_path, [[1, 2], [3, wrong], [0, 4]]), ReadOptions())

    assert set(judgments.table["item"]) == {"0", "2"}
    [row] = judgments.rejected
    assert (row.line, row.field) == (2, "1")


def test_items_without_votes_are_reported(tmp_path: Path) -> None:
    judgments = read_counts(stored(tmp_path, [[1, 2], [0, 0]]), ReadOptions())

    assert judgments.remarks[-1].what == "items without any vote"
    assert judgments.remarks[-1].example == "item 1"


@pytest.mark.parametrize("wrong", [[1, 2], ["a", "b"], [[[1]]]])
def test_arrays_of_another_form_are_refused(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(DataError, match=r"votes\.npy holds an array"):
        read_counts(stored(tmp_path, wrong), ReadOptions())


def test_something_that_is_no_table_of_votes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2,000,000,000 votes; is it a table of votes"):
        read_counts(stored(tmp_path, [[10**9, 10**9]]), ReadOptions())


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "votes.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)

    with pytest.raises(DataError, match="not a NumPy file of numbers"):
        read_counts(path, ReadOptions())


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.npy cannot be opened"):
        read_counts(tmp_path / "none.npy", ReadOptions())


def test_csv_names_its_classes_and_items(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,cat,dog\nx,1,0\ny,0,2\n")

    judgments = read_counts(path, ReadOptions())

    assert judgments.question.classes == ("cat", "dog")
    assert judgments.table["item"].to_list() == ["x", "y", "y"]


def test_csv_rows_keep_their_number_when_others_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("cat,dog\n1,0\n1\nmany,2\n,1\n0,1\n")

    judgments = read_counts(path, ReadOptions())

    assert judgments.table["item"].to_list() == ["0", "4"]
    assert [(row.line, row.field) for row in judgments.rejected] == [
        (3, ""),
        (4, "cat"),
        (5, "cat"),
    ]


def test_csv_row_without_item_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,cat,dog\nx,1,0\n,0,2\n")

    assert [row.field for row in read_counts(path, ReadOptions()).rejected] == ["item"]


def test_csv_without_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("0,0,47\n0,1,50\n")

    with pytest.raises(DataError, match="2 columns called '0'"):
        read_counts(path, ReadOptions())


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.npy or \.csv"):
        read_counts(tmp_path / "votes.txt", ReadOptions())
