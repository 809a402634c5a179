"""Growth along a ladder, gains, levels, wins and resonance, on numbers that one can count."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from tests.studies.measures.made import CATS, CLASSES, failed, found_by, only, surprised, trained

from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.studies.data import TestSet, TrainingRun
from sfumato.studies.measures.trained import (
    OWN,
    RATIO,
    gains,
    growth,
    ladder,
    level_name,
    levels,
    resonance,
    wins,
)

LADDER = ["near", "absent", "far"]


def two_tests(arm: str, seed: int, fold: int, near: float, far: float) -> TrainingRun:
    """Two items near and two far, each so surprising."""
    beliefs = {"near": surprised(near, near), "far": surprised(far, far)}
    tests = [TestSet(name, {name: CATS}) for name in ("near", "far")]
    return trained(arm, seed, fold=fold, tests=tests, beliefs=beliefs)


def runs() -> list[TrainingRun]:
    """Two seeds of two folds: soft loses 0.1 more than hard near; 0.2 and 0.4 more far."""
    found = []
    for seed in (0, 1):
        for fold in (0, 1):
            hard = 1.5 + fold
            found.append(two_tests("hard", seed, fold, hard, hard))
            found.append(two_tests("soft", seed, fold, hard + 0.1, hard + (0.2, 0.4)[seed]))
    return found


def test_growth_is_the_far_gap_less_the_near_one_paired_by_seed() -> None:
    found = found_by(ladder, *runs(), ladders=[LADDER], folds=2)

    one = only(found, arm="soft", second="hard")

    # by seed 0.1 and 0.3; Student's t with one degree of freedom: 12.706 · 0.1
    assert one.against == growth(("near", "far"))
    assert one.value == pytest.approx(0.2, abs=1e-6)
    assert one.low is not None
    assert one.high is not None
    assert (one.high - one.low) / 2 == pytest.approx(12.7062 * 0.1, rel=1e-4)
    assert one.seeds == (0, 1)


def test_growth_of_a_share_divides_before_it_subtracts() -> None:
    found = found_by(ladder, *runs(), ladders=[LADDER], folds=2)

    one = only(found, arm="soft", second="hard", metric="cross_entropy_ratio")

    # means over folds: hard 2.0; soft 2.1 near, 2.2 and 2.4 far
    assert one.value == pytest.approx(((2.2 - 2.1) / 2 + (2.4 - 2.1) / 2) / 2, abs=1e-6)


def test_growth_of_a_difference_is_kept_once_and_that_of_a_ratio_both_ways() -> None:
    found = found_by(ladder, *runs(), ladders=[LADDER], folds=2)

    kept = [(one.metric, one.arm, one.second) for one in found.estimates]

    assert sorted(kept) == [
        ("accuracy", "soft", "hard"),
        ("cross_entropy", "soft", "hard"),
        (RATIO, "hard", "soft"),
        (RATIO, "soft", "hard"),
    ]


def test_seed_without_all_folds_has_no_growth() -> None:
    whole = runs()
    some = [failed(run) if run.key.seed == 1 and run.key.fold == 1 else run for run in whole]
    none = [failed(run) if run.key.fold == 1 else run for run in whole]

    one = only(found_by(ladder, *some, ladders=[LADDER], folds=2), arm="soft", second="hard")

    assert (one.seeds, one.low) == ((0,), None)
    assert not found_by(ladder, *none, ladders=[LADDER], folds=2).estimates


def test_ladder_of_one_step_has_no_growth() -> None:
    assert not found_by(ladder, *runs(), ladders=[["near", "absent"]], folds=2).estimates


def test_wins_are_counted_training_by_training() -> None:
    some = runs()
    some[1] = two_tests("soft", 0, 0, 1.6, 0.1)  # lower is better

    wins_table = found_by(wins, *some, folds=2).tables["wins"]

    counted = {
        row["held against"]: (row["better"], row["trainings"])
        for row in wins_table.to_dicts()
        if row["metric"] == "cross_entropy"
    }
    assert counted == {"near": (0, 4), "far": (1, 4)}


def four(gap: float, slope: float) -> list[TrainingRun]:
    nats = {"soft 1": 1.0, "votes 1": 1.6, "soft 2": 1.0, "votes 2": 1.0 + gap, "hard": 3.0}
    return [
        trained(arm, seed, *[value + seed * slope * (arm == "votes 1")] * 2)
        for seed in (0, 1)
        for arm, value in nats.items()
    ]


def test_gain_of_one_pair_is_held_against_that_of_another_by_seed() -> None:
    pairs = [["soft 1", "votes 1"], ["soft 2", "votes 2"]]
    absent = [["soft 1", "votes 1"], ["soft 3", "votes 3"]]

    found = found_by(gains, *four(0.2, 0.2), gains=[pairs, absent])

    # by seed -0.6 + 0.2 and -0.8 + 0.2
    one = only(found, arm="soft 1 minus votes 1", second="soft 2 minus votes 2")
    assert (one.network, one.against, one.part) == ("lenet", "people", "test")
    assert one.value == pytest.approx(-0.5, abs=1e-6)
    assert one.low == pytest.approx(-0.5 - 12.7062 * 0.1, rel=1e-4)
    assert one.seeds == (0, 1)
    assert {each.metric for each in found.estimates} == {"cross_entropy", "accuracy"}


def test_gain_needs_a_seed_of_all_four_arms() -> None:
    some = [
        failed(run) if run.key.seed == (run.key.arm == "soft 1") else run for run in four(0.2, 0.2)
    ]

    pairs = [["soft 1", "votes 1"], ["soft 2", "votes 2"]]

    assert not found_by(gains, *some, gains=[pairs]).estimates


def test_level_is_held_against_as_if_it_were_an_arm() -> None:
    runs = [trained("soft", seed, 0.1, 0.1 + seed) for seed in (0, 1)]  # accuracies 1 and 1/2

    found = found_by(levels, *runs, levels=[0.7])

    one = only(found, metric="accuracy", second=level_name(0.7))
    assert one.value == pytest.approx(0.05)
    assert (one.low, one.high) == pytest.approx((-0.7, 0.3))  # accuracy ends at 0 and 1
    assert not found_by(levels, *runs).estimates


SURE = LabelSet(("x", "y"), CLASSES, np.array([[1, 0], [0.9, 0.1]]))
TORN = LabelSet(("x", "y"), CLASSES, np.array([[0.6, 0.4], [0.5, 0.5]]))


def learnt(arm: str, seed: int, *nats: float) -> TrainingRun:
    return trained(arm, seed, *nats, tests=[TestSet("test", {"sure": SURE, "torn": TORN})])


def test_distance_is_between_the_entropies_of_labels_learnt_and_of_the_network() -> None:
    nats = {
        ("sure", 0): (0.1, 0.2),
        ("sure", 1): (0.2, 0.3),
        ("torn", 0): (0.1, 0.1),
        ("torn", 1): (0.3, 0.3),
    }
    runs = [learnt(arm, seed, *each) for (arm, seed), each in nats.items()]

    found = found_by(resonance, *runs, crossed=["sure", "torn"])

    def distance(arm: str, seed: int) -> float:
        own = {"sure": SURE, "torn": TORN}[arm]
        rows = surprised(*nats[arm, seed]).astype(float)
        model = LabelSet(own.items, CLASSES, rows / rows.sum(axis=1, keepdims=True))
        return float(wasserstein_distance(entropy(own), entropy(model)))

    expected = {arm: [distance(arm, seed) for seed in (0, 1)] for arm in ("sure", "torn")}
    one = only(found, metric="entropy_distance", arm="torn", second="sure")
    assert one.against == OWN
    assert one.value == pytest.approx(np.mean(expected["torn"]) - np.mean(expected["sure"]))
    score = only(found, metric="entropy_distance", arm="torn")
    assert score.value == pytest.approx(np.mean(expected["torn"]))
    entropies = found.tables["entropies"]
    assert entropies.filter(arm="torn", source="labels")["entropy"].to_list() == pytest.approx(
        entropy(TORN)
    )
    assert len(entropies.filter(arm="sure", source="model")) == 2


def test_arms_whose_labels_are_not_tested_have_no_resonance() -> None:
    runs = [learnt("sure", 0, 0.1, 0.2), learnt("hard", 0, 0.1, 0.2)]

    found = found_by(resonance, *runs, crossed=["sure", "hard"])

    assert {(one.arm, one.second) for one in found.estimates} == {("sure", "")}
