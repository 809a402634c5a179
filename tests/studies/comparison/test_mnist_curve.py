"""Table 5 of paper 5: who learns which digits, and what it is held against."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.train import Recipe
from sfumato.scores import Score, read_scores
from sfumato.studies.comparison import families, mnist
from sfumato.studies.comparison.levels import level_differences, level_name
from sfumato.studies.comparison.mnist import ARMS, ORIGINAL, PER_CLASS, arm
from sfumato.studies.comparison.mnist_tables import COMPARISONS, CURVE, PAPERS, PRINTED
from sfumato.studies.comparison.page import read_comparison
from sfumato.studies.comparison.run import run_comparison
from sfumato.studies.comparison.setting import Known

EACH = 120
"""Made-up digits of each class to learn; 4 to test."""


@pytest.fixture(scope="module")
def known() -> Known:
    """Small pictures, each class a bright column of its own."""
    rng = np.random.default_rng(0)
    items: list[str] = []
    digits: list[int] = []
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for part, each in (("train", EACH), ("test", 4)):
        for digit in range(10):
            for place in range(each):
                parts[part].append(f"{part}/{digit}-{place}")
                items.append(parts[part][-1])
                digits.append(digit)
    images = rng.integers(0, 80, size=(len(items), 12, 12, 1))
    for row, digit in enumerate(digits):
        images[row, :, digit] += 150
    return Known(
        Examples(tuple(items), images.astype(np.uint8)),
        labels={ORIGINAL: hard_labels(tuple(items), tuple("0123456789"), np.array(digits))},
        parts={name: tuple(mine) for name, mine in parts.items()},
    )


def learnt(known: Known, count: int, seed: int) -> tuple[str, ...]:
    split = mnist.splits(known, CURVE, seed)[0]
    items = ARMS[arm(count)].make(known, split, seed).items
    assert items is not None
    return items


def test_an_arm_learns_so_many_of_each_class_and_the_fewer_are_among_the_more(
    known: Known,
) -> None:
    few, more = learnt(known, 50, seed=0), learnt(known, 100, seed=0)

    digits = [item.removeprefix("train/")[0] for item in few]
    assert [digits.count(digit) for digit in "0123456789"] == [50] * 10
    assert set(few) < set(more)
    assert set(few) != set(learnt(known, 50, seed=1))


def test_nothing_that_is_tested_is_learnt_or_chosen_on(known: Known) -> None:
    split = mnist.splits(known, CURVE, 0)[0]
    tested = mnist.tests(known, split)[0]

    assert isinstance(split, Split)
    assert split.validation == ()
    assert not set(tested.items) & set(learnt(known, 100, seed=0))
    assert len(tested.items) == 40


def test_sizes_and_training_are_the_papers() -> None:
    assert COMPARISONS["mnist-curve"][0] == COMPARISONS["mnist-curve"][1]
    assert tuple(PRINTED) == PER_CLASS == (50, 100, 150, 300, 500, 1000, 2000)
    recipe = CURVE.training
    assert (recipe.network, recipe.optimizer, recipe.batch_size, recipe.epochs) == (
        "lenet", "adam", 64, 25
    )  # fmt: skip
    assert CURVE.seeds == 5
    assert CURVE.axes[0].series["LeNet"][arm(150)] == 1500


def test_a_level_takes_the_place_of_a_second_arm() -> None:
    score = Score("accuracy", 0.95, arm="a", network="n", against=ORIGINAL, low=0.94, high=0.96)
    other = replace(score, metric="cross_entropy")

    found = level_differences([0.945], [score, other])

    assert len(found) == 1
    assert (found[0].first, found[0].second) == ("a", level_name(0.945))
    assert (found[0].value, found[0].low, found[0].high) == pytest.approx((0.005, -0.005, 0.015))


def test_run_gives_a_score_a_size_and_a_verdict_a_claim(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = replace(mnist.FAMILY, load=lambda folder: known)
    monkeypatch.setitem(families.FAMILIES, "mnist", family)
    arms = (arm(50), arm(100))
    small = replace(
        CURVE,
        arms=arms,
        controls=arms[:1],
        networks=("simple-ffn",),
        training=Recipe("simple-ffn", epochs=4, learning_rate=3e-3),
        seeds=2,
        axes=(replace(CURVE.axes[0], series={"FFN": {arm(50): 500, arm(100): 1000}}),),
    )

    done = run_comparison(small, tmp_path, data=None)

    run = read_comparison(tmp_path)
    verdicts = {one.claim.says: one.verdict for one in run.judged}
    accuracy = {
        one.arm: one.value
        for one in read_scores(tmp_path / "scores.parquet")
        if (one.metric, one.stratum) == ("accuracy", "all")
    }
    page = done.report.read_text(encoding="utf-8")
    assert done.failed == 0
    assert set(accuracy) == set(arms)
    assert min(accuracy.values()) > 0.9
    assert verdicts["Accuracy is higher with 150 digits of each class than with 100."] == (
        "not testable here"
    )
    assert verdicts[run.judged[1].claim.says] != "not testable here"
    assert "Against the number of digits" in page
    assert "paper 0.8958" in page


def test_claims_name_arms_and_levels_that_there_are() -> None:
    for claim in PAPERS["mnist-curve"].claims:
        assert claim.first in CURVE.arms
        assert claim.second in (*CURVE.arms, *map(level_name, CURVE.levels))
        assert claim.against == ORIGINAL


def test_mnist_of_the_data_folder_has_both_parts(data_folder: Path) -> None:
    known = mnist.load(data_folder)

    labels: LabelSet = known.labels[ORIGINAL]
    assert [len(items) for items in known.parts.values()] == [60_000, 10_000]
    assert known.examples.items == labels.items
    assert labels.take(("train/0", "test/0")).probs.argmax(axis=1).tolist() == [5, 7]


def test_without_a_folder_of_data_sets_mnist_is_asked_for() -> None:
    with pytest.raises(DataError, match="MNIST: set SFUMATO_DATA"):
        mnist.load(None)
