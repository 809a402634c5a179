"""Scores and differences of a comparison, from beliefs made so that the numbers are known."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.sweep import Cell, CellResult, FailedCell, FinishedCell
from sfumato.learn.train import Recipe
from sfumato.provenance import Step
from sfumato.scores import Difference, Score
from sfumato.studies.comparison import setting
from sfumato.studies.comparison.measured import Measured, Trained, measure
from sfumato.studies.comparison.setting import (
    ArmKind,
    Comparison,
    Family,
    Known,
    Target,
    Training,
)

CLASSES = ("cat", "dog")
PEOPLE = LabelSet(("x", "y"), CLASSES, np.eye(2)[[0, 0]])
LEARNT = LabelSet(("a", "b"), CLASSES, np.eye(2))
SPLIT = Split(("a", "b"), (), ("x", "y"), selection="none")
CELL = Cell("a training", CellResult, {})


@dataclass(frozen=True, eq=False)
class Made(FinishedCell):
    """A finished training whose arrays are in memory."""

    made: dict[str, NDArray[Any]] = field(default_factory=dict)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.made


def surprised(*nats: float) -> NDArray[np.float32]:
    """Beliefs about as many images, each this surprised by "cat"."""
    right = np.exp(-np.array(nats))
    return np.stack([right, 1 - right], axis=1).astype(np.float32)


def trained(
    arm: str, seed: int, *nats: float, fold: int = 0, labels: LabelSet = LEARNT, **spoilt: Any
) -> Trained:
    arrays = {"test": surprised(*nats)} | {
        name.replace("__", "/"): surprised(*each) for name, each in spoilt.items()
    }
    history = [{"epoch": 1.0, "loss": 0.5}]
    result = Made(CELL, "", Path(), {"history": history}, 1.0, "", made=arrays)
    tests = [setting.Test("test", {"people": PEOPLE}, attacked="people")]
    return Trained(Training(arm, "lenet", seed, fold), SPLIT, Target(labels), tests, result)


def comparison(arms: tuple[str, ...], **other: Any) -> Comparison:
    return Comparison(
        name="small",
        title="",
        about="",
        family="",
        arms=arms,
        controls=arms[:1],
        networks=("lenet",),
        training=Recipe("lenet", epochs=1),
        **other,
    )


def measured(*some: Trained, **other: Any) -> Measured:
    arms = tuple(dict.fromkeys(one.training.arm for one in some))
    kinds = {
        arm: ArmKind(f"about {arm}", lambda known, split, seed: Target(LEARNT)) for arm in arms
    }
    family = Family("", lambda folder: known, kinds, lambda *_: [SPLIT], lambda *_: [])
    known = Known(Examples(("a",), np.zeros((1, 2, 2, 1), np.uint8)), {})
    return measure(comparison(arms, **other), family, known, some)


def score_of(found: Measured, arm: str, metric: str = "cross_entropy", **other: str) -> Score:
    wanted = {"arm": arm, "metric": metric, "stratum": "all"} | other
    (one,) = [
        each
        for each in found.scores
        if all(getattr(each, name) == value for name, value in wanted.items())
    ]
    return one


def difference_of(found: Measured, first: str, second: str) -> Difference:
    (one,) = [
        each
        for each in found.differences
        if (each.first, each.second) == (first, second)
        and (each.metric, each.stratum) == ("cross_entropy", "all")
    ]
    return one


def test_score_is_the_mean_over_seeds_with_students_interval() -> None:
    found = measured(*(trained("soft", seed, nats, nats) for seed, nats in enumerate((1, 2, 3))))

    one = score_of(found, "soft")

    reach = stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert one.value == pytest.approx(2, abs=1e-6)
    assert (one.low, one.high) == pytest.approx((2 - reach, 2 + reach), abs=1e-6)
    assert (one.seeds, one.items, one.interval) == ((0, 1, 2), 2, "seeds")
    assert score_of(found, "soft", "accuracy").value == 0  # e⁻¹ is below one half


def test_difference_is_paired_by_seed_and_tested_as_scipy_does() -> None:
    soft, hard = (1, 2, 3), (1, 1, 2.5)
    found = measured(
        *(trained("hard", seed, nats, nats) for seed, nats in enumerate(hard)),
        *(trained("soft", seed, nats, nats) for seed, nats in enumerate(soft)),
    )

    one = difference_of(found, "soft", "hard")

    expected = stats.ttest_rel(soft, hard)
    interval = expected.confidence_interval()
    assert one.value == pytest.approx(0.5, abs=1e-6)
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high), abs=1e-5)
    assert one.p == pytest.approx(expected.pvalue, abs=1e-6)
    assert one.test == "paired t"
    other = difference_of(found, "hard", "soft")
    assert (other.value, other.low) == pytest.approx((-one.value, -(one.high or 0)))


def test_folds_of_a_seed_are_averaged_and_count_as_one_value() -> None:
    found = measured(
        trained("soft", 0, 1, 1, fold=0),
        trained("soft", 0, 2, 2, fold=1),
        trained("soft", 1, 2, 4, fold=0),
        trained("soft", 1, 4, 4, fold=1),
        folds=2,
    )

    one = score_of(found, "soft")

    assert one.value == pytest.approx((1.5 + 3.5) / 2, abs=1e-6)
    assert (one.seeds, one.items) == ((0, 1), 4)


def test_seed_that_lacks_a_fold_is_left_out_and_named_nowhere() -> None:
    found = measured(
        trained("soft", 0, 1, 1, fold=0),
        trained("soft", 0, 2, 2, fold=1),
        trained("soft", 1, 9, 9, fold=0),
        folds=2,
    )

    one = score_of(found, "soft")

    assert one.value == pytest.approx(1.5, abs=1e-6)
    assert one.seeds == (0,)
    assert (one.low, one.high) == (None, None)  # a single seed says nothing about others


def test_difference_is_over_the_seeds_that_both_arms_have() -> None:
    found = measured(
        *(trained("hard", seed, nats, nats) for seed, nats in ((0, 1), (1, 2), (2, 5))),
        *(trained("soft", seed, nats, nats) for seed, nats in ((1, 1), (2, 3), (3, 9))),
    )

    one = difference_of(found, "soft", "hard")

    assert one.seeds == (1, 2)
    assert one.value == pytest.approx(((1 - 2) + (3 - 5)) / 2, abs=1e-6)


def test_arms_without_a_common_seed_have_no_difference() -> None:
    found = measured(trained("hard", 0, 1, 1), trained("soft", 1, 1, 1))

    assert found.differences == []
    assert {one.arm for one in found.scores} == {"hard", "soft"}


def test_attacked_images_are_a_stratum_of_their_own() -> None:
    found = measured(trained("soft", 0, 1, 1, test__fgsm__4=(3,)), fgsm=(4,))

    one = score_of(found, "soft", stratum="fgsm/4")

    assert one.value == pytest.approx(3, abs=1e-6)
    assert one.items == 1
    spoilt = {each.metric for each in found.scores if each.stratum == "fgsm/4"}
    assert spoilt == {"cross_entropy", "accuracy"}


def test_corruptions_are_averaged() -> None:
    found = measured(
        trained("soft", 0, 1, 1, test__corruption__contrast=(2,), test__corruption__pixelate=(4,)),
        corruptions=("contrast", "pixelate"),
    )

    assert score_of(found, "soft", stratum="corrupted").value == pytest.approx(3, abs=1e-6)


def test_failed_training_is_told_and_the_others_count() -> None:
    failed = trained("soft", 1, 1, 1).with_result(FailedCell(CELL, "", "It diverged."))

    found = measured(trained("soft", 0, 1, 1), failed)

    assert score_of(found, "soft").seeds == (0,)
    assert found.tables["failed"].rows() == [("a training", "It diverged.")]
    assert "failed" not in measured(trained("soft", 0, 1, 1)).tables


def test_numbers_of_simulated_people_are_marked() -> None:
    made_up = LEARNT.with_probs(LEARNT.probs, Step("made up", simulated=True))
    found = measured(trained("hard", 0, 1, 1), trained("soft", 0, 1, 1, labels=made_up))

    assert not score_of(found, "hard").simulated
    assert score_of(found, "soft").simulated
    assert difference_of(found, "hard", "soft").simulated


def test_table_of_labels_tells_entropy_and_distance_to_the_first_control() -> None:
    half = LabelSet(("a", "b"), CLASSES, np.array([[0.5, 0.5], [0, 1]]))
    found = measured(trained("hard", 0, 1, 1), trained("soft", 0, 1, 1, labels=half))

    rows = {row["arm"]: row for row in found.tables["labels"].iter_rows(named=True)}

    assert rows["hard"]["mean_entropy"] == 0
    assert rows["soft"]["mean_entropy"] == pytest.approx(np.log(2) / 2)
    assert rows["soft"]["distance_to_control"] == pytest.approx(0.25)
    assert rows["soft"]["about"] == "about soft"
