import json
import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, UnknownName
from sfumato.provenance import Step
from sfumato.scores import (
    COLUMNS,
    Estimate,
    Estimates,
    metric_words,
    metrics,
    source_text,
    swap_arms,
    with_interval,
)

STEP = Step("read cifar10s", {"rule": "released"}, {"a.csv": "abc"})
SCORE = Estimate(
    "kl",
    0.25,
    arm="soft",
    network="lenet",
    part="test",
    stratum="disputed",
    attack="pgd",
    bound=4.0,
    step=9,
    low=0.2,
    high=0.3,
    over="items",
    items=40,
    seeds=(0, 1),
    simulated=True,
    source=source_text(labels=(STEP,), note="few items"),
)
GAIN = replace(SCORE, second="majority", value=-0.1, p=0.03, test="t", low=None, high=None, over="")


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(value=numbers, ends=st.none() | st.tuples(numbers, numbers))
def test_difference_turned_twice_is_itself(value: float, ends: tuple[float, float] | None) -> None:
    low, high = (None, None) if ends is None else sorted(ends)
    source = source_text(labels=(STEP,), model=(STEP,), second=[{"name": "predict"}])
    one = replace(GAIN, value=value, low=low, high=high, source=source)

    other = swap_arms(one)

    assert swap_arms(other) == one
    assert (other.arm, other.second, other.value) == (one.second, one.arm, -value)
    assert (other.low, other.high) == ((None, None) if ends is None else (-max(ends), -min(ends)))
    told, before = json.loads(other.source), json.loads(source)
    assert (told["model"], told["second"]) == (before["second"], before["model"])


def test_what_is_no_difference_is_not_turned() -> None:
    ratio = replace(GAIN, metric="cross_entropy_ratio")

    assert swap_arms(ratio) == ratio
    assert swap_arms(SCORE) == SCORE
    assert not len(Estimates.of([ratio]).minus("soft"))


def test_differences_from_an_arm_are_found_whichever_way_they_are_kept() -> None:
    straight = replace(GAIN, stratum="all")
    other_way = swap_arms(replace(GAIN, arm="smoothed"))
    table = Estimates.of([SCORE, straight, other_way, swap_arms(straight)])  # one is kept twice

    found = list(table.minus("majority"))

    assert found == [straight, replace(GAIN, arm="smoothed")]


def test_estimates_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "estimates.parquet"

    Estimates.of([SCORE, GAIN]).write(path)

    assert list(Estimates.read(path)) == [SCORE, GAIN]


def test_csv_file_has_the_same_columns_and_seeds_as_text(tmp_path: Path) -> None:
    path = tmp_path / "estimates.csv"

    Estimates.of([SCORE]).write(path)

    table = pl.read_csv(path)
    assert table.columns == list(COLUMNS)
    assert table["seeds"].to_list() == ["0 1"]


def test_table_of_no_estimates_has_the_columns_of_one_with_some() -> None:
    assert Estimates.of([]).table.schema == Estimates.of([SCORE]).table.schema


def test_other_tables_are_refused_by_their_missing_column(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pl.DataFrame({"metric": ["kl"]}).write_parquet(path)

    with pytest.raises(DataError, match="lacks the column 'study'"):
        Estimates.read(path)
    with pytest.raises(DataError, match="There is no file"):
        Estimates.read(tmp_path / "none.parquet")


@pytest.mark.parametrize("source", ["", source_text()])
def test_estimate_without_a_source_is_refused(source: str) -> None:
    with pytest.raises(DataError, match="'kl' for 'soft' has no source"):
        Estimates.of([replace(SCORE, source=source)])


def test_rows_are_chosen_by_their_columns() -> None:
    clean = replace(SCORE, attack="", bound=None, step=None)
    rows = Estimates.of([SCORE, GAIN, clean])

    assert list(rows.scores) == [SCORE, clean]
    assert list(rows.differences) == [GAIN]
    assert list(rows.filter(attack="pgd", second="")) == [SCORE]
    assert list(rows.filter(bound=None)) == [clean]
    assert len(rows.filter(metric=["kl", "brier"])) == 3
    with pytest.raises(UnknownName, match="Did you mean 'metric'"):
        rows.filter(metrik="kl")


def test_note_is_read_from_the_source() -> None:
    assert SCORE.note == "few items"
    assert replace(SCORE, source=source_text(labels=(STEP,))).note == ""


def test_interval_stays_in_the_range_of_its_metric_but_differences_have_none() -> None:
    accuracy = replace(SCORE, metric="accuracy", value=0.98)

    score = with_interval(accuracy, 0.9, 1.1, "seeds")
    apart = with_interval(replace(accuracy, second="hard"), -0.1, 1.1, "seeds")

    assert (score.low, score.high, score.over) == (0.9, 1.0, "seeds")
    assert (apart.low, apart.high) == (-0.1, 1.1)


@pytest.mark.parametrize(("low", "high"), [(None, 0.3), (math.nan, 0.3), (0.1, math.nan)])
def test_half_an_interval_is_none(low: float | None, high: float) -> None:
    bare = replace(SCORE, low=None, high=None, over="")

    assert with_interval(bare, low, high, "seeds") == bare
    assert with_interval(replace(bare, value=math.nan), 0.1, 0.3, "seeds").low is None


def test_words_of_metrics_are_sorted_and_complete() -> None:
    known = metrics()

    assert list(known) == sorted(known)
    for metric in known.values():
        assert metric.title
        assert metric.meaning[0].isupper()
        assert metric.meaning.endswith(".")
        assert metric.low < metric.high


def test_unknown_metric_is_told_by_its_name_and_judges_nothing() -> None:
    words = metric_words("my_own")

    assert (words.title, words.better, words.axis) == ("my own", "neither", "my own")
