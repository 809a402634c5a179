"""The type of mix judgments."""

import polars as pl
import pytest

from sfumato.judgments.mixes import MIX_COLUMNS, MIX_TASKS, MixJudgments


def test_missing_columns_are_filled_and_the_order_is_fixed() -> None:
    mixes = MixJudgments(pl.DataFrame({"perceived": [0.3], "mix": ["m"], "task": ["infer"]}))

    assert mixes.table.columns == list(MIX_COLUMNS)
    assert mixes.table["view"].to_list() == ["first"]
    assert mixes.annotators == []
    assert len(mixes) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"perceived": [1.2]}, {"confidence": [-0.1]}, {"task": ["guess"]}, {"view": ["twice"]}],
)
def test_impossible_values_cannot_be_held(wrong: dict[str, list[object]]) -> None:
    row = {"mix": ["m"], "perceived": [0.3], "task": ["infer"]}

    with pytest.raises(AssertionError):
        MixJudgments(pl.DataFrame({**row, **wrong}))


def test_every_task_has_its_wording() -> None:
    assert all(len(wording) > 40 for wording in MIX_TASKS.values())
