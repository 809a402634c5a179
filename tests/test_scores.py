from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.provenance import Step
from sfumato.scores import (
    Difference,
    Score,
    read_differences,
    read_scores,
    scores_table,
    write_differences,
    write_scores,
)

SCORE = Score(
    "kl",
    0.25,
    arm="soft",
    network="lenet",
    stratum="disputed",
    low=0.2,
    high=0.3,
    interval="items",
    items=40,
    seeds=(0, 1),
    simulated=True,
    note="few items",
    provenance=(Step("read cifar10s", {"rule": "released"}, {"a.csv": "abc"}),),
)


def test_scores_survive_their_file(tmp_path: Path) -> None:
    scores = [SCORE, replace(SCORE, low=None, high=None, interval="", seeds=(), provenance=())]

    write_scores(scores, tmp_path / "scores.parquet")

    assert read_scores(tmp_path / "scores.parquet") == scores


def test_differences_survive_their_file(tmp_path: Path) -> None:
    found = [Difference("kl", -0.1, "soft", "majority", p=0.03, test="t", seeds=(1,))]

    write_differences(found, tmp_path / "differences.parquet")

    assert read_differences(tmp_path / "differences.parquet") == found


def test_table_of_no_scores_has_the_columns_of_one_with_some() -> None:
    assert scores_table([]).schema == scores_table([SCORE]).schema


def test_other_tables_are_refused_by_their_missing_column(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pl.DataFrame({"metric": ["kl"]}).write_parquet(path)

    with pytest.raises(DataError, match="lacks the column 'value'"):
        read_scores(path)
    with pytest.raises(DataError, match="There is no file"):
        read_scores(tmp_path / "none.parquet")
