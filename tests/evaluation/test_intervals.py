import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.intervals import (
    SEED_TESTS,
    bootstrap_items,
    bootstrap_means,
    bootstrap_seeds,
    bootstrap_statistics,
    holm,
    over_seeds,
    over_seeds_and_items,
    paired_items,
    percentiles,
    seed_test,
    sign_flip,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_bootstrap_of_items_agrees_with_scipy() -> None:
    values = rng(1).exponential(size=400)

    ours = bootstrap_items(values, rng=rng(2), draws=20_000)

    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=rng(3)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.02 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.02 * width)


def test_interval_of_items_covers_the_truth_as_often_as_it_says() -> None:
    draw = rng(4)

    held = [
        low <= 1.0 <= high
        for low, high in (
            bootstrap_items(draw.exponential(size=200), rng=draw, draws=300) for _ in range(600)
        )
    ]

    assert 0.91 <= np.mean(held) <= 0.975  # 0.95, less a little for skewness


def test_percentiles_are_those_of_numpy() -> None:
    drawn = rng().normal(size=777)

    low, high = percentiles(drawn)

    assert [low, high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]).tolist())


def test_mean_of_draws_is_the_mean_and_their_variance_that_of_the_mean() -> None:
    values = rng(5).normal(size=300)

    drawn = bootstrap_means(values[:, None], rng=rng(6), draws=20_000)[:, 0]

    assert drawn.mean() == pytest.approx(values.mean(), abs=0.002)
    assert drawn.var() == pytest.approx(values.var() / 300, rel=0.03)


def test_all_columns_see_the_same_items() -> None:
    values = rng(7).normal(size=(50, 1))

    drawn = bootstrap_means(np.hstack([values, 3 - values]), rng=rng(8), draws=200)

    assert np.allclose(drawn.sum(axis=1), 3)


def test_chunks_do_not_change_the_number_of_draws() -> None:
    values = np.ones((900_000, 1))  # two draws a chunk

    assert bootstrap_means(values, rng=rng(), draws=5).tolist() == [[1.0]] * 5


def test_undefined_items_count_as_not_there() -> None:
    values = rng(9).normal(size=200)
    with_gaps = np.concatenate([values, np.full(200, np.nan)])

    drawn = bootstrap_means(with_gaps[:, None], rng=rng(10), draws=20_000)[:, 0]

    assert drawn.mean() == pytest.approx(values.mean(), abs=0.002)
    assert drawn.var() == pytest.approx(values.var() / 200, rel=0.05)


def test_nothing_defined_gives_no_interval() -> None:
    assert np.isnan(bootstrap_items(np.full(9, np.nan), rng=rng())).all()
    assert np.isnan(bootstrap_items(np.empty(0), rng=rng())).all()


def test_infinite_item_makes_the_upper_end_infinite_and_never_nan() -> None:
    values = np.append(np.zeros(99), np.inf)

    low, high = bootstrap_items(values, rng=rng())

    assert (low, high) == (0.0, np.inf)  # about a third of the draws is without it


def test_ten_thousand_items_twenty_metrics_and_a_thousand_draws_are_quick() -> None:
    values = rng().normal(size=(10_000, 20))
    started = time.process_time()

    bootstrap_means(values, rng=rng(), draws=1000)

    assert time.process_time() - started < 5  # 0.3 s on a free core


def test_statistic_that_is_no_mean_is_computed_on_resampled_items() -> None:
    values = rng(11).normal(size=300)

    drawn = bootstrap_statistics(lambda rows: [np.median(values[rows])], 300, rng=rng(12))

    theirs = stats.bootstrap(
        (values,), np.median, n_resamples=1000, method="percentile", rng=rng(13)
    )
    assert drawn.shape == (1000, 1)
    assert drawn.std() == pytest.approx(float(theirs.standard_error), rel=0.15)


def test_no_draws_are_refused() -> None:
    with pytest.raises(DataError, match="0 draws"):
        bootstrap_items(np.ones(3), rng=rng(), draws=0)
    with pytest.raises(DataError, match="0 draws"):
        bootstrap_statistics(lambda rows: [0.0], 3, rng=rng(), draws=0)


def test_t_interval_agrees_with_scipy() -> None:
    values = rng(14).normal(size=6)

    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)

    assert over_seeds(values) == pytest.approx((theirs.low, theirs.high))


def test_one_seed_says_nothing_about_others() -> None:
    assert np.isnan(over_seeds(np.array([0.5]))).all()
    assert np.isnan(bootstrap_seeds(np.array([0.5]), rng=rng())).all()


def test_t_covers_six_seeds_and_their_bootstrap_does_not() -> None:
    draw = rng(15)
    samples = draw.normal(size=(800, 6))

    by_t = [low <= 0 <= high for low, high in map(over_seeds, samples)]
    boot = [
        low <= 0 <= high
        for low, high in (bootstrap_seeds(row, rng=draw, draws=200) for row in samples)
    ]

    assert 0.93 <= np.mean(by_t) <= 0.97
    assert np.mean(boot) < 0.91


@pytest.mark.parametrize(("seed_sd", "item_sd"), [(0.3, 1.0), (0.0, 1.0), (0.3, 0.0)])
def test_seeds_and_items_cover_the_truth(seed_sd: float, item_sd: float) -> None:
    draw = rng(16)

    def study() -> NDArray[np.float64]:
        return (
            draw.normal(size=(6, 1)) * seed_sd
            + draw.normal(size=(1, 80)) * item_sd
            + draw.normal(size=(6, 80))
        )

    held = [low <= 0 <= high for low, high in (over_seeds_and_items(study()) for _ in range(500))]

    assert 0.925 <= np.mean(held) <= 0.99


def test_seeds_and_items_with_equal_items_is_the_t_interval_over_seeds() -> None:
    by_seed = rng(17).normal(size=6)
    values = np.repeat(by_seed[:, None], 40, axis=1)

    assert over_seeds_and_items(values) == pytest.approx(over_seeds(by_seed), rel=1e-6)


def test_seeds_and_items_with_equal_seeds_is_the_t_interval_over_items() -> None:
    by_item = rng(18).normal(size=40)
    values = np.repeat(by_item[None, :], 6, axis=0)

    assert over_seeds_and_items(values) == pytest.approx(over_seeds(by_item), rel=1e-6)


def test_seeds_and_items_that_only_add_up_have_the_sum_of_both_variances() -> None:
    seeds, items = rng(29).normal(size=6), 2 * rng(30).normal(size=40)

    low, high = over_seeds_and_items(seeds[:, None] + items[None, :])

    parts = np.array([seeds.var(ddof=1) / 6, items.var(ddof=1) / 40])
    degrees = parts.sum() ** 2 / (parts**2 / [5, 39]).sum()  # Welch and Satterthwaite
    reach = stats.t.ppf(0.975, degrees) * np.sqrt(parts.sum())
    middle = seeds.mean() + items.mean()
    assert (low, high) == pytest.approx((middle - reach, middle + reach))


def test_constant_table_has_no_width() -> None:
    assert over_seeds_and_items(np.full((3, 4), 0.5)) == (0.5, 0.5)


def test_sign_flip_counts_all_signs_as_written_out() -> None:
    differences = np.array([0.5, -0.2, 0.9, 0.1, 0.4])

    signs = np.array(list(product([-1, 1], repeat=5)))
    expected = (np.abs(signs @ differences) >= differences.sum() - 1e-12).mean()

    assert sign_flip(differences, rng=rng()) == pytest.approx(expected)


def test_sign_flip_agrees_with_scipy() -> None:
    differences = rng(19).normal(0.4, 1, size=9)

    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )

    assert sign_flip(differences, rng=rng()) == pytest.approx(theirs.pvalue)


def test_drawn_sign_flips_are_close_to_all_of_them() -> None:
    differences = rng(20).normal(0.3, 1, size=40)

    drawn = sign_flip(differences, rng=rng(21), draws=20_000)

    assert drawn == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)


@pytest.mark.parametrize("name", ["sign-flip", "wilcoxon"])
def test_six_seeds_cannot_go_below_one_in_thirty_two(name: str) -> None:
    assert seed_test(name, np.linspace(5, 6, 6), rng=rng()) == pytest.approx(1 / 32)


def test_paired_t_and_wilcoxon_agree_with_scipy() -> None:
    first, second = rng(22).normal(size=(2, 8))

    assert seed_test("paired t", first - second, rng=rng()) == pytest.approx(
        stats.ttest_rel(first, second).pvalue
    )
    assert seed_test("wilcoxon", first - second, rng=rng()) == pytest.approx(
        stats.wilcoxon(first, second).pvalue
    )


@pytest.mark.parametrize("name", SEED_TESTS)
def test_equal_arms_differ_by_chance_only(name: str) -> None:
    assert seed_test(name, np.zeros(6), rng=rng()) == 1.0


@pytest.mark.parametrize("name", SEED_TESTS)
def test_tests_keep_their_level_when_nothing_differs(name: str) -> None:
    draw = rng(23)

    refused = [seed_test(name, draw.normal(size=6), rng=draw) <= 0.05 for _ in range(400)]

    assert np.mean(refused) <= 0.08


@pytest.mark.parametrize("name", SEED_TESTS)
@settings(max_examples=20)
@given(differences=st.lists(st.floats(-9, 9, width=16), min_size=2, max_size=8))
def test_tests_do_not_care_which_arm_is_first(name: str, differences: list[float]) -> None:
    values = np.array(differences)

    one, other = (seed_test(name, side, rng=rng()) for side in (values, -values))

    assert one == pytest.approx(other, nan_ok=True)


def test_differences_that_are_all_equal_have_no_t_test() -> None:
    assert np.isnan(seed_test("paired t", np.full(6, 0.1), rng=rng()))


def test_one_seed_has_no_test() -> None:
    assert all(np.isnan(seed_test(name, np.ones(1), rng=rng())) for name in SEED_TESTS)


def test_unknown_test_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wilcoxon'"):
        seed_test("wilcoxen", np.ones(3), rng=rng())


def test_paired_items_are_narrower_than_items_apart() -> None:
    hard = rng(24).exponential(size=500)  # the same hard pictures for both arms
    first, second = hard + 0.02 * rng(25).normal(size=(2, 500)) + [[0.01], [0.0]]

    (low, high), p = paired_items(first - second, rng=rng(26))

    alone = bootstrap_items(first, rng=rng(27))
    assert 0 < low < 0.01 < high
    assert high - low < 0.2 * (alone.high - alone.low)
    assert p == pytest.approx(1 / 1001)


def test_holm_agrees_with_statsmodels() -> None:
    p_values = rng(28).uniform(0, 0.2, size=12)

    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)

    assert all(after >= before for before, after in zip(p_values, adjusted, strict=True))
    assert all(value <= 1 for value in adjusted)
    assert all(
        adjusted[i] <= adjusted[j] for i in np.argsort(p_values)[:1] for j in range(len(adjusted))
    )
