"""Growth along a ladder, wins, and reference lines, on numbers made up so that one can count."""

import math

import numpy as np
import polars as pl
import pytest

from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.scores import Difference, Score
from sfumato.studies.comparison import setting
from sfumato.studies.comparison.ladder import (
    gain_differences,
    growth,
    ladder_differences,
    ladder_rows,
    wins_table,
)
from sfumato.studies.comparison.references import lines_against, references_table
from sfumato.studies.comparison.setting import Known

LADDER = ("near", "absent", "far")


def found(metric: str = "accuracy") -> dict:  # type: ignore[type-arg]
    """Two seeds of two folds: the gain of soft is 0.1 near; 0.2 and 0.4 far."""
    hard = {(seed, fold): 1.5 + fold for seed in (0, 1) for fold in (0, 1)}
    near = {key: value + 0.1 for key, value in hard.items()}
    far = {key: value + (0.2, 0.4)[key[0]] for key, value in hard.items()}
    return {
        ("net", "near", metric): {"hard": hard, "soft": near},
        ("net", "far", metric): {"hard": hard, "soft": far},
    }


def both() -> dict:  # type: ignore[type-arg]
    return found("accuracy") | found("cross_entropy")


def grown(folds: int = 2) -> dict[tuple[str, str], Difference]:
    apart = ladder_differences([LADDER], both(), folds)
    return {(one.metric, one.first): one for one in apart}


def test_growth_is_the_far_gap_less_the_near_one_paired_by_seed() -> None:
    one = grown()["accuracy", "soft"]

    # by seed 0.1 and 0.3; Student's t with one degree of freedom: 12.706 · 0.1
    assert (one.first, one.second, one.against) == ("soft", "hard", growth(("near", "far")))
    assert one.value == pytest.approx(0.2)
    assert one.low is not None
    assert one.high is not None
    assert (one.high - one.low) / 2 == pytest.approx(12.7062 * 0.1, rel=1e-4)
    assert one.seeds == (0, 1)


def test_growth_of_a_share_divides_before_it_subtracts() -> None:
    one = grown()["cross_entropy_ratio", "soft"]

    # means over folds: hard 2.0; soft 2.1 near, 2.2 and 2.4 far
    assert one.value == pytest.approx(((2.2 - 2.1) / 2 + (2.4 - 2.1) / 2) / 2)


def test_growth_turns_its_sign_with_the_arms() -> None:
    apart = grown()

    assert apart["accuracy", "hard"].value == pytest.approx(-apart["accuracy", "soft"].value)


def test_seed_without_all_folds_has_no_growth() -> None:
    assert grown(folds=3) == {}


def test_ladder_of_one_step_has_no_growth() -> None:
    assert ladder_differences([("near", "absent")], both(), 2) == []


def test_ladder_figure_has_only_steps_that_were_tested_in_their_order() -> None:
    scores = [
        Score("accuracy", value, arm=arm, network="net", against=against)
        for against, arm, value in (
            ("far", "hard", 0.5), ("far", "soft", 0.7), ("near", "hard", 0.8), ("near", "soft", 0.9)
        )
    ]  # fmt: skip
    apart = [
        Difference("accuracy", value, "soft", "hard", network="net", against=against)
        for against, value in (("near", 0.1), ("far", 0.2))
    ]

    rows = ladder_rows(LADDER, scores, apart, "hard")

    by = {(row["data"], row["arm"]): row for row in rows.iter_rows(named=True)}
    assert {data: row["step"] for (data, _), row in by.items()} == {"near": 0, "far": 1}
    assert (by["far", "soft"]["gap"], by["far", "hard"]["gap"]) == (0.2, None)


def test_wins_are_counted_training_by_training() -> None:
    values = found("cross_entropy")
    values["net", "far", "cross_entropy"]["soft"][0, 0] = 0.1  # lower is better

    wins = wins_table(values, ("hard", "soft"), ("hard",))

    counted = {row["held against"]: (row["better"], row["trainings"]) for row in wins.to_dicts()}
    assert counted == {"near": (0, 4), "far": (1, 4)}


ITEMS = ("a", "b", "c", "d")
PEOPLE = LabelSet(ITEMS, ("cat", "dog"), np.array([[0.5, 0.5], [1, 0], [0, 1], [0, 1]]))
ORIGINAL = LabelSet(ITEMS, ("cat", "dog"), np.eye(2)[[0, 0, 1, 1]])


def lines(*tests: setting.Test, original: LabelSet = ORIGINAL) -> pl.DataFrame:
    images = Examples(ITEMS, np.zeros((4, 8, 8, 1), np.uint8))
    return references_table(Known(images, {"original": original}), tests)


def test_lines_are_the_floor_and_the_class_oracle_over_all_folds() -> None:
    folds = [
        setting.Test("test", {"people": PEOPLE.take(part), "original": ORIGINAL.take(part)})
        for part in (ITEMS[:2], ITEMS[2:])
    ]

    against = lines_against(lines(*folds), "people")["cross_entropy"]

    # cats are half unsure: class mean (3/4, 1/4)
    oracle = (-0.5 * math.log(3 / 4) - 0.5 * math.log(1 / 4) - math.log(3 / 4)) / 4
    assert against == pytest.approx(
        {"entropy of the labels": math.log(2) / 4, "class-level oracle": oracle}
    )


def test_hard_labels_have_no_lines() -> None:
    test = setting.Test("test", {"people": PEOPLE, "original": ORIGINAL})

    assert set(lines(test)["against"]) == {"people"}


def test_oracle_needs_the_class_of_every_item() -> None:
    test = setting.Test("test", {"people": PEOPLE})

    found = lines(test, original=ORIGINAL.take(ITEMS[:3]))

    assert found["line"].to_list() == ["entropy of the labels"]
    assert lines_against(None, "people") == {}


def test_gain_of_one_pair_is_held_against_that_of_another_by_seed() -> None:
    by_arm = {
        arm: {(seed, 0): value + seed * slope for seed in (0, 1)}
        for arm, value, slope in (
            ("soft 1", 1.0, 0.0),
            ("votes 1", 1.6, 0.2),
            ("soft 2", 1.0, 0.0),
            ("votes 2", 1.2, 0.0),
            ("hard", 3.0, 0.0),
        )
    }
    pairs = (("soft 1", "votes 1"), ("soft 2", "votes 2"))
    absent = (("soft 1", "votes 1"), ("soft 3", "votes 3"))

    (one,) = gain_differences([pairs, absent], {("net", "people", "cross_entropy"): by_arm}, 1)

    # by seed -0.6 + 0.2 and -0.8 + 0.2
    assert (one.first, one.second) == ("soft 1 minus votes 1", "soft 2 minus votes 2")
    assert (one.network, one.against, one.metric) == ("net", "people", "cross_entropy")
    assert one.value == pytest.approx(-0.5)
    assert one.low == pytest.approx(-0.5 - 12.7062 * 0.1, rel=1e-4)
    assert one.seeds == (0, 1)


def test_gain_needs_a_seed_with_all_folds_of_all_four_arms() -> None:
    by_arm = {arm: {(0, 0): 1.0, (0, 1): 1.0} for arm in ("a", "b", "c")} | {"d": {(0, 0): 1.0}}

    assert not gain_differences([(("a", "b"), ("c", "d"))], {("net", "p", "accuracy"): by_arm}, 2)
