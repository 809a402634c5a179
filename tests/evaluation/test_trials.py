import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from sfumato import stats
from sfumato.errors import DataError
from sfumato.evaluation import trials
from sfumato.evaluation.score import join
from sfumato.evaluation.trials import (
    ArmTrials,
    Trial,
    compare_arms,
    draw,
    measure,
    metric_rows,
    moved_to,
    pair_seeds,
    score_arm,
    stratum_places,
    value_of,
)
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step
from sfumato.scores import Estimate
from sfumato.stats import mean_of_defined, percentile_interval, two_way_interval

ITEMS = tuple(map(str, range(50)))


def pair() -> tuple[LabelSet, LabelSet]:
    human, model = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, len(ITEMS)))
    return LabelSet(ITEMS, tuple("xyz"), human), LabelSet(ITEMS, tuple("xyz"), model)


def test_moved_percentiles_lie_around_the_value_and_keep_their_width() -> None:
    drawn = np.random.default_rng(1).normal(5, 1, size=4000)

    low, high = moved_to(3.0, drawn)

    plain = percentile_interval(drawn)
    assert high - low == pytest.approx(plain.high - plain.low)
    assert (low + high) / 2 == pytest.approx(3, abs=0.1)


def test_what_cannot_be_negative_stays_so() -> None:
    assert moved_to(0.01, np.random.default_rng(1).uniform(0, 1, size=100)).low == 0


def test_rows_give_the_same_numbers_in_any_order_of_items() -> None:
    human, model = pair()
    places = np.arange(len(ITEMS))

    there = [value_of(each, places) for each in measure(human, model)]
    back = [value_of(each, places[::-1]) for each in measure(human, model)]

    assert there == pytest.approx(back)


def test_means_and_others_are_drawn_around_their_values() -> None:
    measured = measure(*pair())
    places = np.arange(len(ITEMS))

    drawn = draw(measured, places, rng=np.random.default_rng(2), draws=200)

    assert {len(column) for column in drawn} == {200, 80}
    for each, column in zip(measured, drawn, strict=True):
        if each.is_mean:
            assert column.mean() == pytest.approx(value_of(each, places), abs=column.std())


def many() -> tuple[LabelSet, LabelSet]:
    """Labels of six votes and a model that is somewhat like them."""
    random = np.random.default_rng(3)
    items = tuple(map(str, range(4000)))
    truth = random.dirichlet(np.full(4, 0.5), size=len(items))
    belief = 0.6 * truth + 0.4 * random.dirichlet(np.full(4, 0.5), size=len(items))
    votes = random.multinomial(6, truth) / 6
    return LabelSet(items, tuple("wxyz"), votes), LabelSet(items, tuple("wxyz"), belief)


def test_groups_of_many_items_vary_as_the_items_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, places = measure(*many()), np.arange(4000)
    one_by_one = draw(measured, places, rng=np.random.default_rng(4), draws=2500)

    for module in (trials, stats):
        monkeypatch.setattr(module, "MANY_ROWS", 3000)
    grouped = draw(measured, places, rng=np.random.default_rng(5), draws=2500)

    for each, single, column in zip(measured, one_by_one, grouped, strict=True):
        assert len(column) == len(single)
        assert column.std() == pytest.approx(single.std(), rel=0.12), each.metric
        assert column.mean() == pytest.approx(single.mean(), abs=0.3 * single.std()), each.metric


def test_two_models_that_are_one_differ_by_nothing_on_many_items() -> None:
    human, model = many()
    again = np.tile(np.arange(4000), 6)
    trial = Trial(
        tuple(map(str, range(24_000))),
        [replace(each, rows=each.rows[again]) for each in measure(human, model)],
        {"all": np.arange(24_000)},
        (),
    )
    same = ArmTrials("a", {0: [trial]}), ArmTrials("b", {0: [trial]})

    found = compare_arms(*same, rng=np.random.default_rng(6), draws=50)

    assert all((each.value, each.low, each.high) == (0, 0, 0) for each in found)


def test_joined_sets_have_the_order_of_the_labels() -> None:
    human, model = pair()

    _, joined = join(human, model.take(ITEMS[::-1]))

    assert joined.items == ITEMS
    assert np.array_equal(joined.probs, model.probs)


NOBODY = np.random.default_rng(99)
CLASSES = ("cat", "dog")


def trial(*nats: float, first: int = 0, file: str = "", **strata: list[bool]) -> Trial:
    """A network so surprised by each item, all of them "cat"; items count from ``first``."""
    items = tuple(f"i{first + number}" for number in range(len(nats)))
    right = np.exp(-np.array(nats))
    step = (Step("predict", {"file": file}),) if file else ()
    model = LabelSet(items, CLASSES, np.stack([right, 1 - right], axis=1), provenance=step)
    human = LabelSet(items, CLASSES, np.eye(2)[[0] * len(nats)])
    rows = metric_rows({"people": human}, model, ["cross_entropy", "accuracy"])
    masks = {name: np.array(mask) for name, mask in strata.items()}
    return Trial(items, rows, stratum_places(human, human, masks), model.provenance)


def losses(found: list[Estimate]) -> dict[str, Estimate]:
    return {one.stratum: one for one in found if one.metric == "cross_entropy"}


def test_folds_of_a_seed_are_averaged_and_count_as_one_value() -> None:
    arm = ArmTrials(
        "soft",
        {
            0: [trial(1, 1), trial(2, 2, 2, 2, first=2)],
            1: [trial(2, 4), trial(4, 4, 4, 4, first=2)],
            2: [trial(2, 2), trial(3, 3, 3, 3, first=2)],
        },
    )

    one = losses(score_arm(arm, interval="seeds", rng=NOBODY))["all"]

    values = [1.5, 3.5, 2.5]  # the mean of folds, whatever their sizes
    limits = ttest_1samp(values, 0).confidence_interval()
    assert one.value == pytest.approx(2.5)
    assert (one.low, one.high) == pytest.approx((max(limits.low, 0), limits.high))
    assert (one.over, one.items, one.seeds) == ("seeds", 6, (0, 1, 2))


def test_items_that_several_folds_share_are_counted_once() -> None:
    arm = ArmTrials("soft", {0: [trial(1, 1), trial(2, 2)]})

    assert losses(score_arm(arm, rng=NOBODY, draws=20))["all"].items == 2


def test_stratum_is_each_folds_own() -> None:
    arm = ArmTrials(
        "soft",
        {
            0: [
                trial(1, 1, 5, disputed=[True, True, False]),
                trial(9, 3, 3, disputed=[False, True, True]),
            ],
            1: [trial(1, 1, 5, disputed=[True, True, False]), trial(9, 3, 3)],
        },
    )

    one = losses(score_arm(arm, interval="seeds", rng=NOBODY))["disputed"]

    assert one.value == pytest.approx(2)
    assert one.seeds == (0,)  # a fold of the other seed has no such items
    assert one.note == "not defined with seed 1, left out"


def test_one_seed_of_several_folds_is_resampled_fold_by_fold() -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 2, size=200)
    arm = ArmTrials("soft", {0: [trial(*values[:100]), trial(*values[100:], first=100)]})

    one = losses(score_arm(arm, rng=rng, draws=4000))["all"]

    error = np.sqrt(values[:100].var() / 100 + values[100:].var() / 100) / 2
    assert one.low == pytest.approx(one.value - 1.96 * error, abs=0.02)
    assert one.high == pytest.approx(one.value + 1.96 * error, abs=0.02)
    assert one.over == "items"


def test_arms_are_paired_by_seed_and_fold_whatever_the_items_of_a_seed() -> None:
    hard = ArmTrials("hard", {seed: [trial(1, 2, first=seed), trial(3, 4)] for seed in range(3)})
    soft = ArmTrials(
        "soft", {seed: [trial(1, 1 + seed, first=seed), trial(3, 4)] for seed in (1, 2, 5)}
    )

    one = losses(compare_arms(soft, hard, network="lenet", interval="seeds", rng=NOBODY))["all"]

    # by seed the first fold is 0 and 0.5 apart, the second not at all
    assert one.value == pytest.approx(0.125)
    assert (one.arm, one.second, one.network, one.seeds) == ("soft", "hard", "lenet", (1, 2))
    assert one.p == pytest.approx(ttest_1samp([0, 0.25], 0).pvalue)


def table_arm(name: str, table: NDArray[np.float64], orders: Sequence[Sequence[int]]) -> ArmTrials:
    """An arm whose seeds have two folds each, dealt in an order of their own."""
    half = table.shape[1] // 2
    return ArmTrials(
        name,
        {
            seed: [shuffled(row, order[:half]), shuffled(row, order[half:])]
            for seed, (row, order) in enumerate(zip(table, orders, strict=True))
        },
    )


def shuffled(row: NDArray[np.float64], order: Sequence[int]) -> Trial:
    blank = trial(*np.zeros(len(order)))
    rows = [replace(blank.rows[0], rows=row[list(order), None], summary=mean_of_defined)]
    return replace(blank, items=tuple(f"item-{at}" for at in order), rows=rows)


def test_arms_are_paired_over_seeds_and_items_however_folds_are_dealt() -> None:
    rng = np.random.default_rng(3)
    hard = rng.normal(2, 0.1, size=(4, 40)) + rng.normal(size=40)  # items that are hard for both
    soft = hard - 0.3 + rng.normal(0, 0.2, size=(4, 40)) + rng.normal(0, 0.3, size=40)
    orders = [rng.permutation(40).tolist() for _ in range(4)]

    (one,) = compare_arms(table_arm("soft", soft, orders), table_arm("hard", hard, orders), rng=rng)

    whole = two_way_interval(soft - hard)
    assert (one.over, one.test) == ("seeds and items", "paired t over seeds and items")
    assert one.value == pytest.approx((soft - hard).mean())
    assert (one.low, one.high) == pytest.approx(whole, abs=0.01)  # folds are centred one by one
    assert one.high is not None
    assert one.high < 0
    apart = two_way_interval(soft)
    assert whole.high - whole.low < (apart.high - apart.low) / 2  # what is hard cancels out


def test_an_arm_that_is_not_defined_on_some_items_is_paired_all_the_same() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(2, 1, size=(3, 30))
    some = values.copy()
    some[:, ::3] = np.nan
    orders = [list(range(30))] * 3

    (one,) = compare_arms(
        table_arm("soft", some, orders), table_arm("hard", values, orders), rng=rng
    )

    assert one.over == "seeds and items"
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.value < one.high


def test_what_is_no_mean_over_items_is_told_over_seeds() -> None:
    hard, soft = (
        ArmTrials(
            name,
            {
                seed: [replace(t, rows=[replace(t.rows[0], is_mean=False)])]
                for seed, t in enumerate((trial(1, 2), trial(2, at)))
            },
        )
        for name, at in (("hard", 3), ("soft", 4))
    )

    assert losses(compare_arms(soft, hard, rng=NOBODY))["all"].over == "seeds"
    assert losses(score_arm(soft, rng=NOBODY))["all"].over == "seeds"


def test_one_seed_on_other_items_cannot_be_paired_item_by_item() -> None:
    hard, soft = (
        ArmTrials("hard", {0: [trial(1, 2)]}),
        ArmTrials("soft", {0: [trial(1, 1, first=1)]}),
    )

    one = losses(compare_arms(soft, hard, rng=NOBODY, draws=20))["all"]

    assert one.value == pytest.approx(-0.5)
    assert (one.low, one.p) == (None, None)


def test_number_of_several_models_leads_to_all_of_their_files() -> None:
    hard = ArmTrials("hard", {seed: [trial(1, 2, file=f"hard-{seed}")] for seed in range(3)})
    soft = ArmTrials("soft", {seed: [trial(1, 1, file=f"soft-{seed}")] for seed in range(3)})

    score = json.loads(losses(score_arm(soft, rng=NOBODY))["all"].source)
    apart = json.loads(losses(compare_arms(soft, hard, rng=NOBODY))["all"].source)

    assert [step["settings"]["file"] for step in score["model"]] == ["soft-0", "soft-1", "soft-2"]
    assert apart["model"] == score["model"]
    assert [step["settings"]["file"] for step in apart["second"]] == ["hard-0", "hard-1", "hard-2"]


def test_arm_without_predictions_is_refused() -> None:
    with pytest.raises(DataError, match="'soft' has no predictions"):
        ArmTrials("soft", {})


def test_paired_differences_have_students_interval_and_test() -> None:
    apart = {0: 0.1, 2: 0.3, 5: 0.2}

    one = pair_seeds(Estimate("kl", float("nan"), second="hard"), apart, rng=NOBODY)

    theirs = ttest_1samp(list(apart.values()), 0)
    limits = theirs.confidence_interval()
    assert (one.low, one.high) == pytest.approx((limits.low, limits.high))
    assert one.p == pytest.approx(theirs.pvalue)
    assert (one.test, one.seeds) == ("paired t", (0, 2, 5))
