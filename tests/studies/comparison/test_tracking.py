import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.studies.comparison.tracking import (
    POSSIBLE,
    TABLE,
    TOP,
    tracking_differences,
    tracking_section,
    tracking_table,
)

CLASSES = ["cat", "dog", "fox", "ship"]


def answer(first: int, second: int, ruled_out: str) -> str:
    return (
        f'{{"first": "cat", "first_percent": {first}, "second": "dog", '
        f'"second_percent": {second}, "ruled_out": [{ruled_out}]}}'
    )


@pytest.fixture
def answers() -> Judgments:
    sure, torn = answer(90, 5, '"fox", "ship"'), answer(50, 40, "")
    table = pl.DataFrame(
        {
            "item": ["b", "b", "a", "a"],
            "annotator": ["ann", "bob", "ann", "bob"],
            "answer": [sure, sure, torn, sure],
        }
    )
    return Judgments(ask("top-two", CLASSES), table)


def votes() -> LabelSet:
    rows = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0]])
    return LabelSet(("b", "a"), tuple(CLASSES), rows)


def test_row_of_an_item_holds_what_was_said_of_it(answers: Judgments) -> None:
    labels = build(answers, "top2-clamp").crowd.mean()

    rows = {row["item"]: row for row in tracking_table(answers, labels, votes()).to_dicts()}

    assert rows["b"]["possible_labels"] == 2  # two of four are ruled out, by both
    assert rows["a"]["possible_labels"] == 3  # four and two
    assert rows["b"]["top_probability"] > rows["a"]["top_probability"]
    assert (rows["b"]["reference_entropy"], rows["a"]["reference_entropy"]) == pytest.approx(
        (0, np.log(2))
    )


def test_rank_correlations_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    doubt = rng.random(60)
    table = pl.DataFrame(
        {
            "item": [str(number) for number in range(60)],
            "top_probability": 1 - doubt + 0.3 * rng.random(60),
            "possible_labels": np.round(1 + 3 * doubt + rng.random(60)),
            "reference_entropy": doubt,
        }
    )

    found = {one.first: one for one in tracking_differences({TABLE: table})}

    for name, column in ((TOP, "top_probability"), (POSSIBLE, "possible_labels")):
        assert found[name].value == pytest.approx(spearmanr(table[column], doubt).statistic)
        assert found[name].low < found[name].value < found[name].high  # type: ignore[operator]
        assert found[name].items == 60


def test_without_the_table_nothing_is_told() -> None:
    assert tracking_differences({}) == []
    assert not tracking_section({}).blocks
