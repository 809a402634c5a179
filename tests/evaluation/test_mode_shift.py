"""Gains are divided into shifted modes and softness, exactly where the answer is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.mode_shift import DEFAULT_METRICS, Gain, mode_shift, mode_shift_table
from sfumato.labels.alter import majority_labels, smooth
from sfumato.labels.compare import kl
from sfumato.labels.labelset import LabelSet, hard_labels

CLASSES = ("a", "b", "c")


def named(probs: NDArray[np.float64]) -> LabelSet:
    return LabelSet(tuple(map(str, range(len(probs)))), CLASSES, probs)


def shifted_world(count: int = 200, shifted: int = 30) -> tuple[LabelSet, LabelSet]:
    """Original labels of class a, and people who moved the mode of the first items to b."""
    human = np.tile([0.7, 0.2, 0.1], (count, 1))
    human[:shifted] = [0.3, 0.6, 0.1]
    people = named(human)
    return hard_labels(people.items, CLASSES, np.zeros(count, dtype=np.int64)), people


def wrong_on(labels: LabelSet, rows: list[int]) -> LabelSet:
    """The same beliefs, but sure of class c on some items."""
    probs = labels.probs.copy()
    probs[rows] = [0, 0, 1]
    return named(probs)


def gain(gains: tuple[Gain, ...], on: str, metric: str = "accuracy") -> Gain:
    return next(one for one in gains if (one.tested_on, one.metric) == (on, metric))


def test_a_gain_that_is_only_the_modes_is_explained_by_them_in_full() -> None:
    original, human = shifted_world()
    learnt = {
        "original": [original] * 3,
        "majority": [majority_labels(human, "error")] * 3,
        "soft": [human] * 3,
    }

    found = mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))

    relabelled = gain(found.gains, "majority")
    assert (found.modes_differ, found.items, found.seeds, found.ties) == (30, 200, 3, 0)
    assert found.share_of_modes == 0.15
    assert found.sentence.endswith("on 30 of 200 items (15.0%).")
    assert relabelled.total.value == pytest.approx(0.15)
    assert relabelled.by_mode.value == pytest.approx(0.15)
    assert relabelled.by_softness.value == 0
    assert relabelled.share_by_mode.value == 1
    assert (relabelled.share_by_mode.low, relabelled.share_by_mode.high) == (1, 1)
    assert gain(found.gains, "original").total.value == pytest.approx(-0.15)


def test_the_share_is_the_ratio_of_the_two_steps() -> None:
    original, human = shifted_world(count=400, shifted=60)
    behind = list(range(100, 140))  # where learning from the vote fails and softness does not
    also = list(range(100, 180))  # and where the original labels fail too
    learnt = {
        "original": [wrong_on(original, also)],
        "majority": [wrong_on(majority_labels(human, "error"), behind)],
        "soft": [human],
    }

    found = mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))

    steps = gain(found.gains, "majority")
    assert steps.total.value == pytest.approx(140 / 400)
    assert steps.by_mode.value == pytest.approx(100 / 400)
    assert steps.by_softness.value == pytest.approx(40 / 400)
    assert steps.share_by_mode.value == pytest.approx(100 / 140)
    assert steps.share_by_mode.low < 100 / 140 < steps.share_by_mode.high
    assert steps.by_softness.low > 0
    assert "gains 0.350 [" in steps.sentence
    assert "+0.250 [" in steps.sentence
    assert "the majority vote's part is 71% [" in steps.sentence


def test_metrics_where_less_is_better_count_a_fall_as_a_gain() -> None:
    original, human = shifted_world()
    beliefs = {
        "original": smooth(original, 0.1),
        "majority": smooth(majority_labels(human, "error"), 0.1),
        "soft": human,
    }
    learnt = {name: [labels] for name, labels in beliefs.items()}

    found = mode_shift(
        learnt, original=original, human=human, metrics=["kl"], rng=np.random.default_rng(0)
    )

    apart = {name: kl(human, labels).mean() for name, labels in beliefs.items()}
    steps = gain(found.gains, "soft", "kl")
    assert steps.total.value == pytest.approx(apart["original"] - apart["soft"])
    assert steps.by_mode.value == pytest.approx(apart["original"] - apart["majority"])
    assert steps.share_by_mode.value == pytest.approx(steps.by_mode.value / steps.total.value)


@given(st.integers(0, 1000), st.integers(1, 3))
def test_the_two_steps_add_up_to_the_gain(seed: int, n_seeds: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(3), size=(3, n_seeds, 12))
    learnt = {
        name: [named(run) for run in runs]
        for name, runs in zip(("original", "majority", "soft"), rows, strict=True)
    }
    human = named(rng.dirichlet(np.ones(3), size=12))
    original = hard_labels(human.items, CLASSES, rng.integers(3, size=12))

    found = mode_shift(learnt, original=original, human=human, rng=rng, draws=20)

    assert len(found.gains) == 3 * len(DEFAULT_METRICS)
    for one in found.gains:
        assert one.by_mode.value + one.by_softness.value == pytest.approx(one.total.value)
        assert np.isnan(one.share_by_mode.value) != one.total.clear


def test_changing_only_the_test_labels_is_told_apart_from_training() -> None:
    original, human = shifted_world()
    learnt = {name: [original] for name in ("original", "majority", "soft")}

    found = mode_shift(
        learnt, original=original, human=human, metrics=["accuracy"], rng=np.random.default_rng(0)
    )

    assert [one.change.value for one in found.relabelling] == pytest.approx([-0.15] * 3)
    assert all(one.total.value == 0 for one in found.gains)
    assert "not clearly better or worse" in found.gains[0].sentence
    assert np.isnan(found.gains[0].share_by_mode.value)


def test_the_table_has_every_target_on_every_label_by_every_metric() -> None:
    original, human = shifted_world(20, 5)
    learnt = {name: [human, human] for name in ("original", "majority", "soft-a", "soft-b")}

    found = mode_shift(
        learnt, original=original, human=human, network="lenet", rng=np.random.default_rng(0)
    )

    table = mode_shift_table(found)
    assert table.columns == [
        "network",
        "trained_on",
        "tested_on",
        "metric",
        "value",
        "low",
        "high",
    ]
    assert len(table) == 4 * 3 * len(DEFAULT_METRICS)
    assert {one.target for one in found.gains} == {"soft-a", "soft-b"}
    accuracy = table.filter(metric="accuracy", trained_on="majority")
    assert dict(accuracy.select("tested_on", "value").iter_rows()) == {
        "original": 0.75,
        "majority": 1,
        "soft": 1,
    }


def test_runs_are_brought_into_one_order() -> None:
    original, human = shifted_world(20, 5)
    back = LabelSet(human.items[::-1], CLASSES[::-1], human.probs[::-1, ::-1])
    rng = np.random.default_rng(0)

    found = mode_shift(
        {"original": [human], "majority": [back], "soft": [back]},
        original=LabelSet(original.items[::-1], CLASSES, original.probs[::-1]),
        human=back,
        rng=rng,
    )

    assert all(one.total.value == pytest.approx(0, abs=1e-12) for one in found.gains)
    assert found.modes_differ == 5


def test_intervals_over_seeds_are_wider_where_seeds_differ() -> None:
    original, human = shifted_world()
    steady = [human] * 4
    moving = [wrong_on(human, list(range(100, 100 + n))) for n in (0, 20, 40, 60)]

    wide, narrow = (
        mode_shift(
            {"original": [original] * 4, "majority": runs, "soft": runs},
            original=original,
            human=human,
            metrics=["accuracy"],
            rng=np.random.default_rng(0),
        )
        for runs in (moving, steady)
    )

    spans = [
        one.total.high - one.total.low
        for one in (gain(wide.gains, "majority"), gain(narrow.gains, "majority"))
    ]
    assert spans[0] > 2 * spans[1] > 0


def test_a_failed_run_leaves_every_step_the_seeds_that_both_sides_have() -> None:
    original, human = shifted_world()
    vote = majority_labels(human, "error")
    learnt = {
        "original": {0: original, 1: original, 2: wrong_on(original, list(range(50, 90)))},
        "majority": {1: vote, 2: vote},
        "soft": {0: human, 1: human},
        "smoothed": {},
    }

    found = mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))

    step = gain(found.gains, "majority")
    assert (step.total.seeds, step.by_mode.seeds, step.by_softness.seeds) == ((0, 1), (1, 2), (1,))
    assert step.total.value == pytest.approx(0.15)
    assert step.by_mode.value == pytest.approx(0.25)  # of both seeds: 30 and 70 of 200
    assert step.share_by_mode.seeds == (1,)
    assert step.share_by_mode.value == pytest.approx(1)
    assert {row.trained_on for row in found.rows} == {"original", "majority", "soft"}
    assert found.seeds == 3


def test_without_any_run_of_the_vote_only_what_needs_it_is_undefined() -> None:
    original, human = shifted_world()
    learnt = {"original": {0: original}, "majority": {}, "soft": {0: human}}

    found = mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))

    step = gain(found.gains, "majority")
    assert step.total.value == pytest.approx(0.15)
    assert np.isnan(step.by_mode.value) and np.isnan(step.by_softness.value)


def test_seeds_with_tests_of_their_own_are_paired_seed_by_seed() -> None:
    original, human = shifted_world()
    vote = majority_labels(human, "error")
    # the modes of the first 30 items are shifted: all of seed 0's first thirty, half of seed 1's
    tests = {0: human.items[:60], 1: human.items[15:45], 2: human.items[::-1][:100]}

    def runs(labels: LabelSet, *seeds: int) -> dict[int, LabelSet]:
        return {seed: labels.take(tests[seed]) for seed in seeds}

    learnt = {
        "original": runs(original, 0, 1),
        "majority": runs(vote, 0, 1, 2),
        "soft": runs(human, 1, 2),
    }

    found = mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))

    step = gain(found.gains, "majority")
    assert (step.total.seeds, step.by_mode.seeds, step.by_softness.seeds) == ((1,), (0, 1), (1, 2))
    assert step.total.value == pytest.approx(15 / 30)
    assert step.by_mode.value == pytest.approx((30 / 60 + 15 / 30) / 2)
    assert (step.total.over, step.by_mode.over) == ("items", "seeds and items")
    assert step.share_by_mode.value == pytest.approx(1)
    assert found.items == 60 + 100
    assert found.modes_differ == 30


@given(seed=st.integers(0, 2**16))
def test_steps_add_up_where_seeds_have_tests_of_their_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    original, human = shifted_world(40, 10)
    learnt = {
        name: {
            s: named(rng.dirichlet(np.ones(3), size=40)).take(human.items[s * 10 : s * 10 + 20])
            for s in range(3)
        }
        for name in ("original", "majority", "soft")
    }

    found = mode_shift(learnt, original=original, human=human, rng=rng, draws=100)

    for each in found.gains:
        assert each.total.value == pytest.approx(each.by_mode.value + each.by_softness.value)
        assert each.total.seeds == (0, 1, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"majority": None}, "learnt from 'majority' labels"),
        ({"original": None}, "learnt from 'original' labels"),
        ({"soft": 2}, "There are 2 runs of 'soft' and 1 of 'original'"),
    ],
)
def test_missing_controls_and_runs_are_refused(change: dict[str, int | None], says: str) -> None:
    original, human = shifted_world(10, 2)
    learnt = {name: [human] for name in ("original", "majority", "soft")}
    for name, runs in change.items():
        if runs is None:
            del learnt[name]
        else:
            learnt[name] = [human] * runs

    with pytest.raises(DataError, match=says):
        mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))


def test_items_that_only_some_runs_predict_are_refused() -> None:
    original, human = shifted_world(10, 2)
    learnt = {name: [human] for name in ("majority", "soft")} | {
        "original": [human.take(human.items[:9])]
    }

    with pytest.raises(DataError, match="'majority' predicts item '9', which that of 'original'"):
        mode_shift(learnt, original=original, human=human, rng=np.random.default_rng(0))


def test_a_metric_that_is_no_mean_over_items_is_refused() -> None:
    original, human = shifted_world(10, 2)
    learnt = {name: [human] for name in ("original", "majority", "soft")}

    with pytest.raises(DataError, match="'ece' is no mean over items"):
        mode_shift(
            learnt, original=original, human=human, metrics=["ece"], rng=np.random.default_rng(0)
        )
