"""Comparisons as files."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sfumato.errors import DataError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, ComparisonQuestion, Comparisons
from sfumato.judgments.formats.own import read_comparisons, write_comparisons
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.provenance import Step, is_simulated

RATINGS = Comparisons(
    ComparisonQuestion("pairs", "Wie ähnlich?", (1, 7), "2"),
    pl.DataFrame(
        {
            "first": ["a", 'b,"c"', "ü"],
            "second": ["b", "a", "a\nb"],
            "rating": [1.0, 2.5, 7.0],
            "annotator": ["p1", None, "p2"],
            "seconds": [1.25, None, 0.1],
            "order": [1, 2, None],
            "view": ["first", "repeat", "first"],
        }
    ),
    provenance=(Step("simulate ratings", simulated=True),),
)
TRIPLETS = Comparisons(
    COMPARISON_QUESTIONS["triplets"],
    pl.DataFrame(
        {"item": ["x", "x"], "first": ["y", "z"], "second": ["z", "y"], "closer": ["first"] * 2}
    ),
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("comparisons", [RATINGS, TRIPLETS], ids=["pairs", "triplets"])
def test_what_is_written_is_read(tmp_path: Path, comparisons: Comparisons, suffix: str) -> None:
    path = tmp_path / f"c{suffix}"

    write_comparisons(comparisons, path)
    back = read_comparisons(path, ReadOptions())

    assert_frame_equal(back.table, comparisons.table)
    assert back.question == comparisons.question
    assert back.rejected == ()
    assert is_simulated(back.provenance) == is_simulated(comparisons.provenance)


def test_columns_tell_the_kind_when_no_question_is_beside(tmp_path: Path) -> None:
    pairs, triplets = tmp_path / "p.csv", tmp_path / "t.csv"
    pairs.write_text("first,second,rating\na,b,3\n")
    triplets.write_text("item,first,second,closer\nx,y,z,second\n")

    assert read_comparisons(pairs, ReadOptions()).question == COMPARISON_QUESTIONS["pairs"]
    assert read_comparisons(triplets, ReadOptions()).kind == "triplets"


def test_bad_ratings_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        "first,second,rating,seconds,order\n"
        "a,b,6,1.5,1\n"
        "a,b,7,,\n"
        "a,b,very,,\n"
        "a,b,,,\n"
        "a,a,3,,\n"
        ",b,3,,\n"
        "a,b,3,-1,\n"
        "a,b,3,inf,\n"
        "a,b,3,,second\n"
        "a,b,3\n"
    )

    pairs = read_comparisons(path, ReadOptions())

    assert pairs.table.select("first", "rating", "order").rows() == [("a", 6.0, 1)]
    assert [(row.line, row.field) for row in pairs.rejected] == [
        (3, "rating"),
        (4, "rating"),
        (5, "rating"),
        (6, "second"),
        (7, "first"),
        (8, "seconds"),
        (9, "seconds"),
        (10, "order"),
        (11, ""),
    ]
    assert pairs.rejected[0].text == "7"


def test_bad_triplets_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,first,second,closer\nx,y,z,first\nx,y,z,y\nx,y,z,\n")

    triplets = read_comparisons(path, ReadOptions())

    assert len(triplets) == 1
    assert [(row.line, row.reason) for row in triplets.rejected] == [
        (3, "not one of first, second"),
        (4, "empty"),
    ]


def test_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("first,second,closer\ny,z,first\n")

    with pytest.raises(DataError, match="no column 'item'"):
        read_comparisons(path, ReadOptions())


def test_broken_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    path.write_bytes(b"PAR1 not really")

    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_comparisons(path, ReadOptions())


def test_platform_ids_are_never_written(tmp_path: Path) -> None:
    table = RATINGS.table.with_columns(annotator=pl.lit("5f2a9c0b1d3e4f5a6b7c8d9e"))

    with pytest.raises(DataError, match="never written"):
        write_comparisons(Comparisons(RATINGS.question, table), tmp_path / "c.csv")


def test_other_files_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.csv or \.parquet"):
        write_comparisons(RATINGS, tmp_path / "c.txt")
