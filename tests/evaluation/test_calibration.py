from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve

from sfumato.errors import DataError
from sfumato.evaluation.metrics import (
    BINS,
    METRICS,
    bin_size_for,
    classwise_of,
    classwise_parts,
    ece_of,
    ece_parts,
    reliability,
    rms_of,
    rms_parts,
    rms_published_of,
)
from sfumato.labels.labelset import LabelSet

Probs = NDArray[np.float64]


def named(rows: object) -> LabelSet:
    probs = np.array(rows, dtype=np.float64)
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdefghij"[: probs.shape[1]]), probs
    )


def people_and_model(n_items: int, seed: int) -> tuple[LabelSet, LabelSet]:
    """Votes of five people about four classes, and a model that knows something about them."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(4, 0.3), size=n_items)
    votes = rng.multinomial(5, truth)
    model = (truth + rng.dirichlet(np.full(4, 0.3), size=n_items)) ** 3 + 1e-9
    return named(votes / 5), named(model / model.sum(axis=1, keepdims=True))


def ece(human: LabelSet, model: LabelSet, bins: int = BINS) -> float:
    return ece_of(ece_parts(human, model, bins))


def classwise_calibration(human: LabelSet, model: LabelSet, bins: int = BINS) -> float:
    return classwise_of(classwise_parts(human, model, bins))


def rms_calibration(human: LabelSet, model: LabelSet, bin_size: int | None = None) -> float:
    return rms_of(rms_parts(human, model), bin_size)


def rms_calibration_published(
    human: LabelSet, model: LabelSet, bin_size: int | None = None
) -> float:
    return rms_published_of(rms_parts(human, model), bin_size)


def overconfident(n_items: int, n_right: int) -> tuple[LabelSet, LabelSet]:
    """A model that says 0.9 to the first class every time, right as often as given."""
    right = np.arange(n_items) < n_right
    return named(np.eye(2)[(~right).astype(int)]), named(np.tile([0.9, 0.1], (n_items, 1)))


def confidence_and_right(human: LabelSet, model: LabelSet) -> tuple[Probs, NDArray[np.bool_]]:
    right = model.probs.argmax(axis=1) == human.probs.argmax(axis=1)
    return model.probs.max(axis=1), right


def rms_step_by_step(human: LabelSet, model: LabelSet, bin_size: int, leave_out: int) -> float:
    """The released routine, written out: sort, cut every ``bin_size`` items, sum over bins."""
    confidence, right = confidence_and_right(human, model)
    order = np.argsort(confidence)
    bins = [[at * bin_size, (at + 1) * bin_size] for at in range(len(order) // bin_size)]
    bins[-1][1] = len(order)
    total = 0.0
    for start, end in bins[: len(bins) - leave_out]:
        rows = order[start:end]
        gap = confidence[rows].mean() - right[rows].mean()
        total += len(rows) / len(order) * gap**2
    return float(np.sqrt(total))


@given(st.integers(10, 400), st.integers(1, 120), st.integers(0, 2**32 - 1))
def test_rms_calibration_equals_the_routine_written_out(
    n_items: int, bin_size: int, seed: int
) -> None:
    human, model = people_and_model(n_items, seed)
    size = min(bin_size, n_items)

    assert rms_calibration(human, model, size) == pytest.approx(
        rms_step_by_step(human, model, size, leave_out=0), abs=1e-9
    )
    assert rms_calibration_published(human, model, size) == pytest.approx(
        rms_step_by_step(human, model, size, leave_out=1), abs=1e-9
    )


def test_one_bin_is_the_plain_difference_of_confidence_and_accuracy() -> None:
    human, model = overconfident(100, n_right=60)

    assert rms_calibration(human, model, 100) == pytest.approx(0.3)
    assert ece(human, model) == pytest.approx(0.3)


def test_the_published_variant_forgets_the_most_confident_bin() -> None:
    human, model = overconfident(100, n_right=60)

    assert rms_calibration_published(human, model, 100) == 0  # whatever the model does (C13)
    assert rms_calibration_published(human, model, 10) == pytest.approx(0.3 * np.sqrt(0.9))


def test_fewer_items_than_a_bin_are_one_bin_but_undefined_as_published() -> None:
    human, model = overconfident(5, n_right=3)

    assert rms_calibration(human, model) == pytest.approx(0.3)
    assert np.isnan(rms_calibration_published(human, model))


def test_the_last_bin_takes_what_is_left_over() -> None:
    human, model = people_and_model(457, seed=1)

    assert rms_calibration(human, model) == pytest.approx(
        rms_step_by_step(human, model, 100, leave_out=0)
    )


def test_items_of_equal_confidence_share_what_they_got_right() -> None:
    human, model = overconfident(40, n_right=20)
    backwards = human.items[::-1]

    forth = rms_calibration(human, model, 10)
    back = rms_calibration(human.take(backwards), model.take(backwards), 10)

    assert forth == pytest.approx(0.4)  # sorted by being right it would be 0.64
    assert back == pytest.approx(forth)


def test_bins_hold_a_hundred_items_or_ten_of_a_hundred() -> None:
    assert [bin_size_for(items) for items in (50, 100, 101, 3000)] == [10, 10, 100, 100]


@given(st.integers(1, 200), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_reliability_and_ece_equal_the_curve_of_scikit_learn(
    n_items: int, bins: int, seed: int
) -> None:
    human, model = people_and_model(n_items, seed)
    confidence, right = confidence_and_right(human, model)
    accuracy_there, confidence_there = calibration_curve(right, confidence, n_bins=bins)

    table = reliability(human, model, bins)
    filled = table.drop_nulls()
    share = filled["items"].to_numpy() / n_items

    assert table["items"].sum() == n_items
    assert len(table) == bins
    assert filled["accuracy"].to_numpy() == pytest.approx(accuracy_there)
    assert filled["confidence"].to_numpy() == pytest.approx(confidence_there)
    assert (filled["low"] < filled["confidence"]).all()
    assert (filled["confidence"] <= filled["high"] + 1e-12).all()
    assert ece(human, model, bins) == pytest.approx(
        share @ np.abs(accuracy_there - confidence_there), abs=1e-12
    )


def test_a_confidence_on_an_edge_belongs_to_the_bin_below() -> None:
    human, model = named([[1, 0], [1, 0]]), named([[0.5, 0.5], [0.75, 0.25]])

    table = reliability(human, model, 4)

    assert table["items"].to_list() == [0, 1, 1, 0]
    assert table["accuracy"].to_list() == [None, 1, 1, None]


def test_ece_has_fifteen_bins_by_default() -> None:
    human, model = people_and_model(300, seed=3)

    assert METRICS["ece"].overall(human, model) == ece(human, model, 15)
    assert ece(human, model) != ece(human, model, 10)


@given(st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_classwise_calibration_is_the_mean_over_classes_of_one_against_the_rest(
    n_items: int, seed: int
) -> None:
    human, model = people_and_model(n_items, seed)

    errors = []
    for p, q in zip(human.probs.T, model.probs.T, strict=True):
        bin_of = np.clip(np.ceil(q * 15) - 1, 0, 14)
        inside = [bin_of == place for place in np.unique(bin_of)]
        errors.append(sum(rows.mean() * abs(p[rows].mean() - q[rows].mean()) for rows in inside))

    assert classwise_calibration(human, model) == pytest.approx(np.mean(errors), abs=1e-9)


def test_a_model_that_reproduces_people_who_disagree_is_punished_by_ece_and_rms() -> None:
    """The remark of S4-37: both see only the top class."""
    people = named([[0.6, 0.4]] * 200)

    assert ece(people, people) == pytest.approx(0.4)
    assert rms_calibration(people, people) == pytest.approx(0.4)
    assert classwise_calibration(people, people) == 0


@pytest.mark.parametrize("measure", [ece, classwise_calibration, reliability])
def test_no_bins_are_refused(measure: object) -> None:
    human, model = overconfident(5, n_right=3)

    with pytest.raises(DataError, match="0 bins were asked for"):
        measure(human, model, 0)  # type: ignore[operator]


def test_empty_bins_of_items_are_refused() -> None:
    human, model = overconfident(5, n_right=3)

    with pytest.raises(DataError, match="A bin of 0 items"):
        rms_calibration(human, model, 0)


def test_real_predictions_equal_the_routine_written_out(data_folder: Path) -> None:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    human = named(votes / votes.sum(axis=1, keepdims=True))
    stored = np.load(data_folder / "cifar10h-predictions" / "wrn_28_10.npz")["probs"]
    model = named(stored.astype(np.float64) / stored.astype(np.float64).sum(axis=1, keepdims=True))

    for measure, leave_out in ((rms_calibration, 0), (rms_calibration_published, 1)):
        assert measure(human, model) == pytest.approx(
            rms_step_by_step(human, model, 100, leave_out), abs=1e-4
        )


def test_calibrated_model_has_the_binomial_share_of_rms_calibration() -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, size=3000)
    model = named(np.stack([sure, 1 - sure], axis=1))

    drawn = [
        rms_calibration(named(np.eye(2)[(rng.random(3000) >= sure).astype(int)]), model)
        for _ in range(100)
    ]

    assert np.mean(drawn) == pytest.approx(np.sqrt((sure * (1 - sure)).mean() / 100), rel=0.12)
