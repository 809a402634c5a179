from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr, ttest_ind

from sfumato.errors import DataError
from sfumato.evaluation.score import compare
from sfumato.evaluation.shift import ShiftStep, StepPrediction, gap_trends
from sfumato.labels.labelset import LabelSet, hard_labels

CLASSES = ("cat", "dog")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def believing(right: Sequence[float]) -> LabelSet:
    """A model that gives the right class, always cat, this probability on each item."""
    cat = np.array(right)
    items = tuple(str(row) for row in range(len(cat)))
    return LabelSet(items, CLASSES, np.stack([cat, 1 - cat], axis=1))


def cats(count: int) -> LabelSet:
    return hard_labels([str(row) for row in range(count)], CLASSES, np.zeros(count, dtype=int))


def step(data: str, hard: Sequence[Sequence[float]], soft: Sequence[Sequence[float]]) -> ShiftStep:
    """Arms "hard" and "soft" of one network, a row of right probabilities a seed."""
    runs = [StepPrediction("hard", "net", seed, believing(row)) for seed, row in enumerate(hard)]
    runs += [StepPrediction("soft", "net", seed, believing(row)) for seed, row in enumerate(soft)]
    return ShiftStep(data, cats(len(hard[0])), tuple(runs))


def ladder(
    shares: Sequence[float], *, items: int = 400, seeds: int = 4, noise: float = 0.3
) -> list[ShiftStep]:
    """Steps on which the soft arm is right this much more often than the hard one, whose share
    of right items is 0.4.
    """
    steps = []
    for place, share in enumerate(shares):
        drawn = rng(10 + place)
        base = drawn.random((1, items))  # an item's difficulty is the same for all networks
        luck = [base + noise * drawn.normal(size=(seeds, items)) / 10 for _ in range(2)]
        hard, soft = (
            np.where(each < limit, 0.9, 0.2)
            for each, limit in zip(luck, (0.4, 0.4 + share), strict=True)
        )
        steps.append(step(f"set {place}", hard.tolist(), soft.tolist()))
    return steps


def row_of(table: pl.DataFrame, **where: object) -> dict[str, object]:
    found = table.filter(**where)
    assert len(found) == 1
    return found.row(0, named=True)


def gap_on(step: ShiftStep, metric: str) -> float:
    """The gap of the soft arm to the hard one on a single step."""
    arms = {
        arm: {each.seed: each.model for each in step.runs if each.arm == arm}
        for arm in ("hard", "soft")
    }
    (found,) = [
        each
        for each in compare(step.human, arms, metrics=[metric], rng=rng())
        if each.against == "people"
    ]
    return found.value


def test_growing_gap_is_found_and_a_steady_one_is_not_called_so() -> None:
    growing = gap_trends(ladder([0.0, 0.1, 0.2, 0.3]), baseline="hard", rng=rng())
    steady = gap_trends(ladder([0.1, 0.1, 0.1, 0.1]), baseline="hard", rng=rng())
    falling = gap_trends(ladder([0.3, 0.2, 0.1, 0.0]), baseline="hard", rng=rng())

    assert growing["trend"].to_list() == ["grows", "grows"]  # in cross-entropy: a larger fall
    assert steady["trend"].to_list() == ["unclear", "unclear"]
    assert falling["trend"].to_list() == ["shrinks", "shrinks"]
    assert row_of(growing, metric="accuracy")["slope"] == pytest.approx(0.1, abs=0.02)
    assert row_of(growing, metric="accuracy")["rho"] == 1


def test_slope_and_rank_correlation_are_those_of_numpy_and_scipy() -> None:
    steps = ladder([0.0, 0.2, 0.05, 0.15, 0.1])

    trends = gap_trends(steps, baseline="hard", rng=rng())

    for metric, sign in (("accuracy", 1), ("cross_entropy", -1)):
        advantage = [sign * gap_on(each, metric) for each in steps]
        found = row_of(trends, metric=metric)
        assert found["slope"] == pytest.approx(np.polyfit(range(5), advantage, 1)[0])
        assert found["rho"] == pytest.approx(spearmanr(range(5), advantage).statistic)
        assert found["slope_low"] < found["slope"] < found["slope_high"]  # type: ignore[operator]
        assert found["rho_low"] <= found["rho"] <= found["rho_high"]  # type: ignore[operator]


def test_slope_between_two_steps_of_one_seed_has_the_interval_of_welch() -> None:
    drawn = rng(8)
    gains = [drawn.uniform(0, 0.3, size=30), drawn.uniform(0.1, 0.5, size=12)]
    steps = [step(str(len(gain)), [[0.5] * len(gain)], [(0.5 + gain).tolist()]) for gain in gains]

    found = row_of(
        gap_trends(steps, baseline="hard", rng=rng(), metrics=["total_variation"], draws=10)
    )

    expected = ttest_ind(gains[1], gains[0], equal_var=False).confidence_interval()
    assert (found["slope_low"], found["slope_high"]) == pytest.approx(expected)


def test_slope_of_items_that_agree_has_the_t_interval_of_its_seeds() -> None:
    hard = [[0.5] * 4] * 3
    far = [[0.6] * 4, [0.7] * 4, [0.9] * 4]  # gains 0.1, 0.2 and 0.4, from 0

    found = row_of(
        gap_trends(
            [step("near", hard, hard), step("far", hard, far)],
            baseline="hard",
            rng=rng(),
            metrics=["total_variation"],
        )
    )

    reach = 4.302653 * np.std([0.1, 0.2, 0.4], ddof=1) / np.sqrt(3)
    assert found["slope_high"] - found["slope"] == pytest.approx(reach)  # type: ignore[operator]


def test_rank_correlation_is_unsure_where_seeds_disagree() -> None:
    hard = [[0.5] * 4] * 2
    apart = [[[0.6] * 4, [0.7] * 4], [[0.7] * 4, [0.55] * 4]]  # one seed rises, the other falls

    found = row_of(
        gap_trends(
            [step(str(place), hard, soft) for place, soft in enumerate(apart)],
            baseline="hard",
            rng=rng(),
            metrics=["brier"],
        )
    )

    assert (found["rho_low"], found["rho_high"]) == (-1, 1)


def test_slope_interval_covers_a_true_slope_of_zero_about_as_often_as_it_says() -> None:
    drawn = rng(3)
    covered = 0
    for _ in range(150):
        steps = []
        for place in range(3):
            hard = np.clip(0.5 + drawn.normal(size=(3, 20)) / 10, 0.01, 0.99)
            lucky = drawn.normal(size=(3, 1)) / 20 + drawn.normal(size=(1, 20)) / 20
            soft = np.clip(hard + lucky, 0.01, 0.99)
            steps.append(step(str(place), hard.tolist(), soft.tolist()))
        found = gap_trends(steps, baseline="hard", rng=drawn, metrics=["brier"], draws=2)
        covered += found["trend"].to_list() == ["unclear"]

    assert covered / 150 > 0.9


def test_same_predictions_everywhere_have_no_trend() -> None:
    steps = [step(str(place), [[0.9, 0.2]], [[0.9, 0.2]]) for place in range(3)]

    found = row_of(gap_trends(steps, baseline="hard", rng=rng()), metric="accuracy")

    assert (found["slope"], found["slope_low"], found["slope_high"]) == (0, 0, 0)
    assert np.isnan(found["rho"])  # type: ignore[call-overload]
    assert found["trend"] == "unclear"


def without(steps: list[ShiftStep], arm: str) -> list[ShiftStep]:
    last = steps[-1]
    runs = tuple(run for run in last.runs if run.arm != arm)
    return [*steps[:-1], ShiftStep(last.data, last.human, runs)]


def doubled(steps: list[ShiftStep]) -> list[ShiftStep]:
    return [ShiftStep(each.data, each.human, (*each.runs, each.runs[0])) for each in steps]


def with_other_seeds(steps: list[ShiftStep]) -> list[ShiftStep]:
    last = steps[-1]
    runs = tuple(
        StepPrediction(run.arm, run.network, run.seed + 50, run.model) for run in last.runs
    )
    return [*steps[:-1], ShiftStep(last.data, last.human, runs)]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda steps: gap_trends(without(steps, "hard"), baseline="hard", rng=rng()), "'set 1'"),
        (lambda steps: gap_trends(without(steps, "soft"), baseline="hard", rng=rng()), "'soft'"),
        (lambda steps: gap_trends(doubled(steps), baseline="hard", rng=rng()), "seed 0; give"),
        (lambda steps: gap_trends(with_other_seeds(steps), baseline="hard", rng=rng()), "no seed"),
        (lambda steps: gap_trends(steps[:1], baseline="hard", rng=rng()), "has 1"),
        (
            lambda steps: gap_trends(steps, baseline="hard", rng=rng(), metrics=["ece"]),
            "'ece' has no value for each item",
        ),
    ],
)
def test_ladder_that_cannot_be_climbed_is_refused(
    make: Callable[[list[ShiftStep]], object], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        make(ladder([0.0, 0.1], items=10))
