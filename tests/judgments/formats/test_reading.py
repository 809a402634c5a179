from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import (
    clean_id,
    pseudonym,
    read_classes,
    read_csv_rows,
)


def quiet(done: int, total: int) -> None: ...


def test_lines_count_line_breaks_inside_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('item,answer\n1,"two\nlines"\n2,x\n')

    rows = read_csv_rows(path, needed=["item"], progress=quiet)

    assert rows.lines == [2, 4]
    assert rows.table["answer"].to_list() == ["two\nlines", "x"]


def test_ragged_row_is_set_aside_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,answer\n1,x\n2,x,y\n3\n\n4,x\n")

    rows = read_csv_rows(path, needed=["item"], progress=quiet)

    assert rows.table["item"].to_list() == ["1", "4"]
    assert [(row.line, row.reason) for row in rows.rejected] == [
        (3, "3 fields where the header has 2"),
        (4, "1 fields where the header has 2"),
    ]


def test_missing_column_names_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,answer\n")

    with pytest.raises(DataError, match=r"a\.csv has no column 'item'. Its columns are 'task'"):
        read_csv_rows(path, needed=["item"], progress=quiet)


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item\n1\n2\n")
    seen: list[tuple[int, int]] = []

    read_csv_rows(path, needed=["item"], progress=lambda done, total: seen.append((done, total)))

    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


@given(st.text(min_size=1), st.text(), st.text())
def test_pseudonyms_depend_on_name_and_key_only(name: str, key: str, other: str) -> None:
    assert pseudonym(name, key) == pseudonym(name, key)
    assert (pseudonym(name, key) == pseudonym(name, other)) == (key == other)


def test_ids_written_as_floats_are_integers_again() -> None:
    cleaned, count = clean_id(pl.Series(["12.0", "12.5", " 7 ", "x"]))

    assert cleaned.to_list() == ["12", "12.5", "7", "x"]
    assert count == 1


def test_one_class_is_too_few(tmp_path: Path) -> None:
    path = tmp_path / "classes.txt"
    path.write_text("cat\n\n")

    with pytest.raises(DataError, match=r"classes\.txt names 1 classes"):
        read_classes(path)
