import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from sfumato.errors import DataError
from sfumato.evaluation.metrics import (
    METRICS,
    Scorer,
)
from sfumato.labels.compare import SMALLEST, entropy_correlation
from sfumato.labels.labelset import LabelSet
from sfumato.scores import Better, metrics

BOUNDS = {
    "accuracy": (0, 1),
    "cross_entropy": (0, -math.log(SMALLEST)),
    "kl": (0, -math.log(SMALLEST)),
    "brier": (0, 2),
    "total_variation": (0, 1),
    "l1": (0, 2),
    "jensen_shannon": (0, math.log(2)),
    "second_best_accuracy": (0, 1),
    "second_best_accuracy_all": (0, 1),
    "top2_accuracy": (0, 1),
    "worst_class_accuracy": (0, 1),
    "confidence": (0, 1),
    "confidence_right": (0, 1),
    "confidence_wrong": (0, 1),
    "confidence_gap": (-1, 1),
    "entropy": (0, math.log(4)),
    "entropy_correlation": (-1, 1),
    "entropy_correlation_spearman": (-1, 1),
    "rms_calibration": (0, 1),
    "rms_calibration_published": (0, 1),
    "ece": (0, 1),
    "classwise_calibration": (0, 1),
    "manhattan": (0, 2),
    "wasserstein": (0, 7),
    "mean_error": (0, 7),
    "mean_bias": (-7, 7),
}

VALUES = (-2.0, 0.0, 1.0, 5.0)
"""What the classes count, for the metrics along a scale."""

SEES_THE_TOP_CLASS_ONLY = {"ece", "rms_calibration", "rms_calibration_published"}
"""People who disagree are not their best model (S4-37); ``test_calibration`` shows it."""

CLASS_ORDER_BREAKS_TIES = SEES_THE_TOP_CLASS_ONLY | {
    "accuracy",
    "top2_accuracy",
    "worst_class_accuracy",
    "confidence_right",
    "confidence_wrong",
    "confidence_gap",
    "second_best_accuracy_all",
}

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)

Pair = tuple[LabelSet, LabelSet]


def labels(masses: list[list[int]]) -> LabelSet:
    rows = np.array(masses, dtype=np.float64)
    return LabelSet(
        tuple(f"i{n}" for n in range(len(rows))),
        tuple("abcd"),
        rows / rows.sum(1, keepdims=True),
        values=VALUES,
    )


def pairs(row: st.SearchStrategy[list[int]]) -> st.SearchStrategy[Pair]:
    sizes = st.integers(1, 12)
    rows = sizes.flatmap(lambda n: st.lists(row, min_size=2 * n, max_size=2 * n))
    return rows.map(lambda drawn: (labels(drawn[::2]), labels(drawn[1::2])))


def with_ties() -> st.SearchStrategy[Pair]:
    """Many zeros and equal masses, on both sides."""
    mass = st.sampled_from([0, 0, 1, 1, 2, 5])
    return pairs(st.lists(mass, min_size=4, max_size=4).filter(any))


def without_ties() -> st.SearchStrategy[Pair]:
    """No two classes of a row are equal, and at most one has no mass."""
    return pairs(st.lists(st.integers(0, 40), min_size=4, max_size=4, unique=True))


def relabelled(given: LabelSet, order: list[int]) -> LabelSet:
    values = tuple(VALUES[k] for k in order)
    names = tuple(given.classes[k] for k in order)
    return LabelSet(given.items, names, given.probs[:, order], values=values)


def all_of(
    human: LabelSet, model: LabelSet, names: Iterable[str] = METRICS.keys()
) -> dict[str, float]:
    return {name: METRICS[name].overall(human, model) for name in names}


def test_every_metric_is_registered_under_its_name_and_has_bounds_here() -> None:
    assert {name: metric.name for name, metric in METRICS.items()} == {
        name: name for name in METRICS
    }
    assert METRICS.keys() == BOUNDS.keys()


@every_metric
def test_range_in_words_holds_the_bounds(metric: Scorer) -> None:
    low, high = BOUNDS[metric.name]

    assert metric.name in metrics()
    assert metric.metric.low <= low
    assert high <= metric.metric.high + 1e-12


@given(with_ties(), st.data())
def test_metrics_do_not_care_about_item_order(pair: Pair, data: st.DataObject) -> None:
    order = data.draw(st.permutations(pair[0].items))

    shuffled = all_of(pair[0].take(order), pair[1].take(order))

    assert shuffled == pytest.approx(all_of(*pair), abs=1e-9, nan_ok=True)


@given(without_ties(), st.permutations(range(4)))
def test_metrics_do_not_care_about_class_order(pair: Pair, order: list[int]) -> None:
    human, model = (relabelled(side, order) for side in pair)

    assert all_of(human, model) == pytest.approx(all_of(*pair), abs=1e-9, nan_ok=True)


@given(with_ties(), st.permutations(range(4)))
def test_only_metrics_of_the_top_class_care_about_class_order_where_there_are_ties(
    pair: Pair, order: list[int]
) -> None:
    human, model = (relabelled(side, order) for side in pair)
    names = METRICS.keys() - CLASS_ORDER_BREAKS_TIES

    assert all_of(human, model, names) == pytest.approx(all_of(*pair, names), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("better", ["lower", "higher"])
@given(pair=with_ties())
def test_no_model_is_better_than_people_themselves(better: Better, pair: Pair) -> None:
    human, model = pair
    judged = {name for name, metric in METRICS.items() if metric.better == better}
    sign = 1 if better == "lower" else -1

    for name in judged - SEES_THE_TOP_CLASS_ONLY:
        best, reached = (METRICS[name].overall(human, by) for by in (human, model))
        assert not sign * reached < sign * best - 1e-9, name


@given(with_ties())
def test_people_themselves_score_perfectly(pair: Pair) -> None:
    people = pair[0]
    reached = all_of(people, people, METRICS.keys() - SEES_THE_TOP_CLASS_ONLY)
    perfect = {"lower": 0.0, "higher": 1.0}

    expected = {
        name: perfect.get(METRICS[name].better, value) if not math.isnan(value) else value
        for name, value in reached.items()
    }
    expected["cross_entropy"] = reached["entropy"]  # the floor: nobody can know more

    assert reached == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(with_ties())
def test_metrics_stay_within_their_bounds(pair: Pair) -> None:
    for name, value in all_of(*pair).items():
        low, high = BOUNDS[name]
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, name


@given(with_ties())
def test_the_number_in_all_is_the_mean_over_the_items_where_it_is_defined(pair: Pair) -> None:
    for name, metric in METRICS.items():
        if metric.per_item is None:
            continue
        values = metric.per_item(*pair)
        expected = np.nanmean(values) if not np.isnan(values).all() else np.nan
        assert values.shape == (len(pair[0]),), name
        assert metric.overall(*pair) == pytest.approx(expected, nan_ok=True), name


@given(with_ties(), st.data())
def test_a_selection_of_parts_gives_the_number_of_the_selected_items(
    pair: Pair, data: st.DataObject
) -> None:
    human, model = pair
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(human), max_size=len(human))))
    items = [item for item, keep in zip(human.items, kept, strict=True) if keep]

    of_parts = {
        name: metric.summary(metric.parts(human, model)[kept]) for name, metric in METRICS.items()
    }

    assert of_parts == pytest.approx(
        all_of(human.take(items), model.take(items)), abs=1e-9, nan_ok=True
    )


@every_metric
def test_without_items_nothing_is_defined(metric: Scorer) -> None:
    nothing = LabelSet((), tuple("abcd"), np.empty((0, 4)), values=VALUES)

    assert math.isnan(metric.overall(nothing, nothing))


@given(with_ties())
def test_wasserstein_is_that_of_scipy(pair: Pair) -> None:
    human, model = pair
    expected = [
        wasserstein_distance(VALUES, VALUES, p, q)
        for p, q in zip(human.probs, model.probs, strict=True)
    ]
    assert METRICS["wasserstein"].parts(human, model)[:, 0] == pytest.approx(expected, abs=1e-9)
    moved = METRICS["mean_error"].parts(human, model)[:, 0]
    assert (moved <= np.array(expected) + 1e-9).all()


@given(with_ties(), st.floats(0.1, 10), st.floats(-5, 5))
def test_a_longer_scale_makes_longer_distances(pair: Pair, by: float, shift: float) -> None:
    human, model = pair
    longer = human.change(values=tuple(by * value + shift for value in VALUES))
    bare = LabelSet(model.items, model.classes, model.probs)
    for name in ("wasserstein", "mean_error"):
        plain, stretched = (METRICS[name].overall(one, bare) for one in (human, longer))
        assert stretched == pytest.approx(by * plain, abs=1e-9)


def test_a_scale_that_nobody_told_is_refused() -> None:
    bare = LabelSet(("a",), ("1", "2"), np.eye(2)[:1])
    for name in ("wasserstein", "mean_error", "mean_bias"):
        with pytest.raises(DataError, match="points of a scale"):
            METRICS[name].overall(bare, bare)


def test_no_two_metrics_that_are_no_means_are_the_same() -> None:
    rng = np.random.default_rng(6)
    human, model = (labels(rng.multinomial(40, np.full(4, 0.25), size=300).tolist()) for _ in "pq")
    names = [name for name, metric in METRICS.items() if not metric.per_item]

    values = all_of(human, model, names)

    assert values["entropy_correlation"] == pytest.approx(entropy_correlation(human, model))
    assert len(set(values.values())) == len(names) == 8
