"""However a table of votes lies on the disk, whole, in parts or in shares, it is the same table."""

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.make import (
    COUNTED,
    LabelSettings,
    count_votes,
    join_counts,
    label_counts,
    make_labels,
)
from sfumato.learn.parts import read_parts_through

ROW = st.tuples(
    st.sampled_from(["7", "8", "9", " 8 ", "", None]),
    st.sampled_from(["ann", "bob", "cem", "", None]),
    st.sampled_from(["cat", "dog", '"cat"', "  ", "", None]),
    st.sampled_from(["first", "first", "first", "repeat", "check", "later", None]),
)
ROWS = st.lists(ROW, min_size=4, max_size=30).map(
    lambda rows: [("7", "dan", "cat", "first"), ("8", "dan", "dog", "first"), *rows]
)
NAMES = (("item", "annotator", "answer", "view"), ("task", "worker", "label", "view"))


def table_of(rows: list[tuple[str | None, ...]], names: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def write_parts(table: pl.DataFrame, folder: Path, parts: int) -> Path:
    folder.mkdir()
    size = -(-len(table) // parts)
    for number in range(parts):
        table.slice(number * size, size).write_parquet(folder / f"part{number}.parquet")
    return folder


def read_whole(path: Path) -> Judgments:
    """What a file holds; a table in which most rows make no sense is no case."""
    try:
        found = read(path)
    except DataError as error:
        assert "do not fit" in str(error) or "nothing" in str(error)
        reject()
    assert isinstance(found, Judgments)
    return found


def facts(found: Judgments) -> tuple[object, ...]:
    """Everything about judgments but in which file they stand."""
    return (
        found.question,
        found.table.rows(),
        [(row.field, row.reason, row.text) for row in found.rejected],
        found.remarks,
        [(step.name, {**step.settings}) for step in found.provenance],
    )


@given(ROWS, st.sampled_from(NAMES), st.integers(1, 3))
def test_parts_are_read_as_the_whole(
    rows: list[tuple[str | None, ...]], names: tuple[str, ...], parts: int
) -> None:
    table = table_of(rows, names)
    with TemporaryDirectory() as place:
        file = Path(place) / "votes.parquet"
        table.write_parquet(file)
        folder = write_parts(table, Path(place) / "votes", parts)
        kept = ReadOptions(parts=read_parts_through(Path(place) / "kept"))

        whole = read_whole(file)
        joined, resumed = read(folder), read(folder, options=kept)

    assert isinstance(joined, Judgments)
    assert isinstance(resumed, Judgments)
    assert facts(joined) == facts(whole)
    assert facts(resumed) == facts(whole)


@given(ROWS, st.sampled_from(NAMES))
def test_a_scan_is_read_as_a_table_in_memory(
    rows: list[tuple[str | None, ...]], names: tuple[str, ...]
) -> None:
    table = table_of(rows, names)
    with TemporaryDirectory() as place:
        file = Path(place) / "votes.parquet"
        table.write_parquet(file)

        scanned, held = read(file, "table"), read(table)

    assert isinstance(scanned, Judgments)
    assert isinstance(held, Judgments)
    assert facts(scanned)[:3] == facts(held)[:3]
    assert {remark.what for remark in scanned.remarks} == {remark.what for remark in held.remarks}


@given(ROWS, st.integers(1, 3), st.sampled_from(COUNTED))
def test_labels_of_shares_are_those_of_the_whole(
    rows: list[tuple[str | None, ...]], parts: int, aggregator: str
) -> None:
    """Duplicates, repeats and rows set aside fall into the share of their item."""
    table, settings = table_of(rows, NAMES[0]), LabelSettings(aggregate=aggregator)
    counts = []
    with TemporaryDirectory() as place:
        folder = write_parts(table, Path(place) / "votes", parts)
        whole = read_whole(folder)
        for number in range(2):
            through = read_parts_through(Path(place) / "kept", bucket=(number, 2))
            try:
                share = read(folder, options=ReadOptions(parts=through, some_rows=True))
            except DataError as error:  # all items are in the other share
                assert "nothing" in str(error)
                continue
            assert isinstance(share, Judgments)
            counted = count_votes(share, settings)
            assert counted is not None
            counts.append(counted)

    expected = make_labels(whole, settings).labels

    found = label_counts(join_counts(counts), settings).labels
    assert found.items == expected.items
    assert found.classes == expected.classes
    assert (found.probs == expected.probs).all()
    assert (found.weight == expected.weight).all()
    if len(counts) == 2:
        assert found.provenance == expected.provenance


def test_a_rejected_row_names_its_part_and_line(tmp_path: Path) -> None:
    table = table_of(
        [("a", "p", "cat", None), ("b", "p", "dog", None), ("c", "p", None, None)], NAMES[0]
    )

    found = read(write_parts(table, tmp_path / "votes", 2))

    (row,) = found.rejected
    assert (row.file, row.line, row.field) == ("part1.parquet", 1, "answer")
    assert list(found.provenance[-1].inputs) == ["votes/part0.parquet", "votes/part1.parquet"]


def test_parts_may_lack_columns_that_others_have(tmp_path: Path) -> None:
    folder = tmp_path / "votes"
    folder.mkdir()
    pl.DataFrame({"item": ["a"], "answer": ["cat"]}).write_parquet(folder / "a.parquet")
    more = pl.DataFrame({"item": [2], "answer": ["dog"], "annotator": ["ann"]})
    more.write_parquet(folder / "b.parquet")

    found = read(folder)

    assert found.table.select("item", "annotator").rows() == [("a", None), ("2", "ann")]


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    folder = write_parts(table_of([("a", "p", "cat", None)] * 2, NAMES[0]), tmp_path / "votes", 2)
    (folder / "part1.parquet").write_bytes(b"PAR1 and nothing else")

    with pytest.raises(DataError, match=r"part1\.parquet cannot be read as Parquet"):
        read(folder)


def test_plain_and_quoted_text_are_read_alike(tmp_path: Path) -> None:
    plain, quoted = tmp_path / "plain.csv", tmp_path / "quoted.csv"
    plain.write_text("item,annotator,answer\na,ann,cat\na,bob,\n,bob,dog\nb,bob,dog\n")
    quoted.write_text('item,annotator,answer\na,ann,"cat"\na,bob,\n,bob,dog\nb,bob,"dog"\n')

    first, second = read(plain), read(quoted)

    assert isinstance(first, Judgments)
    assert isinstance(second, Judgments)
    assert facts(first) == facts(second)
    assert [row.line for row in first.rejected] == [3, 4]


def test_what_does_not_fit_into_memory_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "votes.parquet"
    table_of([("a", "p", "cat", None), ("b", "p", "dog", None)], NAMES[0]).write_parquet(file)
    monkeypatch.setattr("sfumato.errors.free_memory", lambda: 50)

    with pytest.raises(DataError, match=r"The 2 rows of votes\.parquet need about .* folder"):
        read(file)
