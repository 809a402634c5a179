"""Mix judgments as files."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MixJudgments
from sfumato.judgments.formats.own import read_mixes, write_mixes
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.provenance import Step, is_simulated

shares = st.floats(0, 1)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)
rows = st.fixed_dictionaries(
    {
        "mix": texts,
        "first_class": texts | st.none(),
        "shown": shares | st.none(),
        "annotator": st.sampled_from(["p1", "p2", None]),
        "perceived": shares,
        "confidence": shares | st.none(),
        "seconds": st.floats(0, 1e6) | st.none(),
        "order": st.integers(1, 99) | st.none(),
        "view": st.sampled_from(["first", "repeat"]),
        "task": st.sampled_from(["infer", "construct-midpoint"]),
    }
)


def written(mixes: MixJudgments, path: Path) -> Path:
    write_mixes(mixes, path)
    return path


@given(st.lists(rows, min_size=1, max_size=5))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, held: list[dict[str, Any]]
) -> None:
    types = {"shown": pl.Float64, "first_class": pl.String, "annotator": pl.String}
    types |= {"confidence": pl.Float64, "seconds": pl.Float64, "order": pl.Int64}
    mixes = MixJudgments(pl.DataFrame(held, schema_overrides=types))

    back = read_mixes(written(mixes, tmp_path_factory.mktemp("m") / "m.csv"), ReadOptions())

    assert_frame_equal(back.table, mixes.table)
    assert back.rejected == ()


def test_bad_rows_are_set_aside_with_line_field_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(
        "mix,perceived,confidence,order,view,task\n"
        "a,0.5,,1,first,infer\n"
        "b,1.5,,1,first,infer\n"
        "c,0.5,lots,1,first,infer\n"
        "d,0.5,,1.5,first,infer\n"
        "e,0.5,,1,again,infer\n"
        "f,0.5,,1,first,guess\n"
        ",0.5,,1,first,infer\n"
        "h,,,1,first,infer\n"
        "i,nan,,1,first,infer\n"
    )

    mixes = read_mixes(path, ReadOptions())

    assert mixes.table["mix"].to_list() == ["a"]
    assert [(row.line, row.field) for row in mixes.rejected] == [
        (3, "perceived"),
        (4, "confidence"),
        (5, "order"),
        (6, "view"),
        (7, "task"),
        (8, "mix"),
        (9, "perceived"),
        (10, "perceived"),
    ]
    assert str(mixes.rejected[0]) == "m.csv, line 3, field 'perceived': not a number from 0 to 1"


def test_simulated_answers_stay_simulated(tmp_path: Path) -> None:
    step = Step("simulate mixes", simulated=True)
    table = pl.DataFrame({"mix": ["m"], "perceived": [0.3], "task": ["infer"]})

    path = written(MixJudgments(table, provenance=(step,)), tmp_path / "m.csv")

    assert is_simulated(read_mixes(path, ReadOptions()).provenance)


def test_platform_ids_are_replaced_on_reading_and_refused_on_writing(tmp_path: Path) -> None:
    worker = "5f2a9c0b1d3e4f5a6b7c8d9e"
    path = tmp_path / "m.csv"
    path.write_text(f"mix,perceived,task,annotator\nm,0.3,infer,{worker}\n")

    mixes = read_mixes(path, ReadOptions(key=lambda: "study 1"))

    assert mixes.annotators == ["person-9d139fc064"]
    assert mixes.remarks[0].count == 1
    with pytest.raises(DataError, match="never written"):
        write_mixes(
            MixJudgments(mixes.table.with_columns(annotator=pl.lit(worker))), tmp_path / "n.csv"
        )


def test_only_csv_is_written(tmp_path: Path) -> None:
    empty = MixJudgments(pl.DataFrame({"mix": [], "perceived": [], "task": []}))

    with pytest.raises(DataError, match=r"written as \.csv"):
        write_mixes(empty, tmp_path / "m.json")


def test_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("mix,task\nm,infer\n")

    with pytest.raises(DataError, match="no column 'perceived'"):
        read_mixes(path, ReadOptions())
