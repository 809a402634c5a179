import time
from collections.abc import Callable
from functools import partial
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics.pairwise import cosine_similarity
from statsmodels.stats.multitest import multipletests

from sfumato.errors import DataError
from sfumato.stats import (
    CHUNK_CELLS,
    Draw,
    Interval,
    bootstrap,
    bootstrap_interval,
    bootstrap_means,
    bootstrap_statistics,
    bootstrap_sums,
    cosines,
    crossed_weights,
    dense_codes,
    draw_multinomial,
    draw_weights,
    group_means,
    holm,
    item_influence,
    mean_interval,
    mean_of_defined,
    mid_ranks,
    paired_items,
    paired_t,
    pearson,
    percentile_interval,
    permutation_p,
    sample_and_interval,
    share_interval,
    sign_flip,
    spearman,
    spearman_of_codes,
    student_interval,
    student_reach,
    times_drawn,
    two_way_interval,
    two_way_t,
    weighted_mean,
    weighted_quantile,
    wilcoxon,
)

Values = NDArray[np.float64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


TESTS: dict[str, Callable[[Values], float]] = {
    "paired t": paired_t,
    "sign-flip": partial(sign_flip, rng=rng()),
    "wilcoxon": wilcoxon,
}

some = arrays(np.float64, st.integers(3, 12), elements=st.floats(0, 1, width=16))
"""Few enough values that ties are common."""


def two_columns(draw: st.DrawFn) -> tuple[Values, Values]:
    n = draw(st.integers(3, 12))
    column = arrays(np.float64, n, elements=st.integers(0, 6).map(lambda value: value / 3))
    return draw(column), draw(column)


pairs = st.composite(two_columns)()


def test_bootstrap_of_items_agrees_with_scipy() -> None:
    values = rng(1).exponential(size=400)

    ours = bootstrap_interval(values, rng=rng(2), draws=20_000)

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
            bootstrap_interval(draw.exponential(size=200), rng=draw, draws=300) for _ in range(600)
        )
    ]

    assert 0.91 <= np.mean(held) <= 0.975  # 0.95, less a little for skewness


def test_percentiles_are_those_of_numpy() -> None:
    drawn = rng().normal(size=777)

    low, high = percentile_interval(drawn)

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
    values = np.ones((CHUNK_CELLS // 2, 1))  # two draws per chunk

    assert bootstrap_means(values, rng=rng(), draws=5).tolist() == [[1.0]] * 5


def test_undefined_items_count_as_not_there() -> None:
    values = rng(9).normal(size=200)
    with_gaps = np.concatenate([values, np.full(200, np.nan)])

    drawn = bootstrap_means(with_gaps[:, None], rng=rng(10), draws=20_000)[:, 0]

    assert drawn.mean() == pytest.approx(values.mean(), abs=0.002)
    assert drawn.var() == pytest.approx(values.var() / 200, rel=0.05)


def test_nothing_defined_gives_no_interval() -> None:
    assert np.isnan(bootstrap_interval(np.full(9, np.nan), rng=rng())).all()
    assert np.isnan(bootstrap_interval(np.empty(0), rng=rng())).all()


def test_infinite_item_makes_the_upper_end_infinite_and_never_nan() -> None:
    values = np.append(np.zeros(99), np.inf)

    low, high = bootstrap_interval(values, rng=rng())

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
        bootstrap_interval(np.ones(3), rng=rng(), draws=0)
    with pytest.raises(DataError, match="0 draws"):
        bootstrap_statistics(lambda rows: [0.0], 3, rng=rng(), draws=0)


def test_t_interval_agrees_with_scipy() -> None:
    values = rng(14).normal(size=6)

    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)

    assert student_interval(values) == pytest.approx((theirs.low, theirs.high))


def test_one_seed_says_nothing_about_others() -> None:
    assert np.isnan(student_interval(np.array([0.5]))).all()


def test_t_covers_six_seeds_and_their_bootstrap_does_not() -> None:
    draw = rng(15)
    samples = draw.normal(size=(800, 6))

    by_t = [low <= 0 <= high for low, high in map(student_interval, samples)]
    boot = [
        low <= 0 <= high
        for low, high in (bootstrap_interval(row, rng=draw, draws=200) for row in samples)
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

    held = [low <= 0 <= high for low, high in (two_way_interval(study()) for _ in range(500))]

    assert 0.925 <= np.mean(held) <= 0.99


def test_seeds_and_items_with_equal_items_is_the_t_interval_over_seeds() -> None:
    by_seed = rng(17).normal(size=6)
    values = np.repeat(by_seed[:, None], 40, axis=1)

    assert two_way_interval(values) == pytest.approx(student_interval(by_seed), rel=1e-6)


def test_seeds_and_items_with_equal_seeds_is_the_t_interval_over_items() -> None:
    by_item = rng(18).normal(size=40)
    values = np.repeat(by_item[None, :], 6, axis=0)

    assert two_way_interval(values) == pytest.approx(student_interval(by_item), rel=1e-6)


def test_seeds_and_items_that_only_add_up_have_the_sum_of_both_variances() -> None:
    seeds, items = rng(29).normal(size=6), 2 * rng(30).normal(size=40)

    low, high = two_way_interval(seeds[:, None] + items[None, :])

    parts = np.array([seeds.var(ddof=1) / 6, items.var(ddof=1) / 40])
    degrees = parts.sum() ** 2 / (parts**2 / [5, 39]).sum()  # Welch and Satterthwaite
    reach = stats.t.ppf(0.975, degrees) * np.sqrt(parts.sum())
    middle = seeds.mean() + items.mean()
    assert (low, high) == pytest.approx((middle - reach, middle + reach))


def test_seeds_and_items_is_the_two_way_analysis_of_variance() -> None:
    values = rng(31).normal(size=(4, 25)) + rng(32).normal(size=(4, 1)) + rng(33).normal(size=25)
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    seeds, items = values.mean(axis=1).var(ddof=1) * 25, values.mean(axis=0).var(ddof=1) * 4
    squares = np.array([seeds, items, (rest**2).sum() / (3 * 24)])  # mean squares

    (low, high), p = two_way_t(values.mean(axis=1), item_influence(values))

    variance = (squares[0] + squares[1] - squares[2]) / 100
    freedom = (variance * 100) ** 2 / (squares**2 / [3, 24, 72]).sum()
    reach = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    assert (low, high) == pytest.approx((values.mean() - reach, values.mean() + reach))
    t = abs(values.mean()) / np.sqrt(variance)
    assert p == pytest.approx(2 * stats.t.sf(t, freedom))


def own_tests(draw: np.random.Generator, seeds: int, of: int) -> Values:
    """Differences without effect: ``seeds`` tests of 60 items, each drawn from ``of`` items."""
    items, table = draw.normal(size=of), np.full((seeds, of), np.nan)
    for row in table:
        own = draw.permutation(of)[:60]
        row[own] = items[own] + draw.normal(0, 0.1) + draw.normal(size=60)
    return table


@pytest.mark.parametrize(("seeds", "of"), [(3, 60), (3, 90), (5, 200)])
def test_seeds_and_items_hold_the_truth_whatever_items_the_seeds_share(seeds: int, of: int) -> None:
    draw = rng(34)
    tables = [own_tests(draw, seeds, of) for _ in range(600)]
    means = [np.nanmean(table, axis=1) for table in tables]

    both = [two_way_t(mean, item_influence(t))[0] for mean, t in zip(means, tables, strict=True)]
    alone = [student_interval(mean) for mean in means]

    held, too_sure = (np.mean([low <= 0 <= high for low, high in e]) for e in (both, alone))
    assert 0.92 <= held <= 0.985
    assert too_sure < held - 0.02  # Student's t over seeds takes the items for granted


def test_seeds_that_share_no_item_are_students() -> None:
    table = np.full((5, 200), np.nan)
    for seed in range(5):
        table[seed, seed * 40 : seed * 40 + 40] = rng(seed).normal(seed, 0.1, size=40)
    means = np.nanmean(table, axis=1)

    both = two_way_t(means, item_influence(table))[0]

    assert both == pytest.approx(student_interval(means), rel=0.01)


@given(arrays(np.float64, (3, 5), elements=st.floats(-2, 2, width=16)))
def test_test_over_seeds_and_items_agrees_with_its_interval(values: Values) -> None:
    (low, high), p = two_way_t(values.mean(axis=1), item_influence(values))

    if low < high:
        assert (p < 0.05) == (not low <= 0 <= high) or p == pytest.approx(0.05)


def test_constant_table_has_no_width() -> None:
    assert two_way_interval(np.full((3, 4), 0.5)) == (0.5, 0.5)


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
    assert TESTS[name](np.linspace(5, 6, 6)) == pytest.approx(1 / 32)


def test_paired_t_and_wilcoxon_agree_with_scipy() -> None:
    first, second = rng(22).normal(size=(2, 8))

    assert paired_t(first - second) == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert wilcoxon(first - second) == pytest.approx(stats.wilcoxon(first, second).pvalue)


@pytest.mark.parametrize("name", TESTS)
def test_equal_arms_differ_by_chance_only(name: str) -> None:
    assert TESTS[name](np.zeros(6)) == 1.0


@pytest.mark.parametrize("name", TESTS)
def test_tests_keep_their_level_when_nothing_differs(name: str) -> None:
    draw = rng(23)

    refused = [TESTS[name](draw.normal(size=6)) <= 0.05 for _ in range(400)]

    assert np.mean(refused) <= 0.08


@pytest.mark.parametrize("name", TESTS)
@settings(max_examples=20)
@given(differences=st.lists(st.floats(-9, 9, width=16), min_size=2, max_size=8))
def test_tests_do_not_care_which_arm_is_first(name: str, differences: list[float]) -> None:
    values = np.array(differences)

    one, other = (TESTS[name](side) for side in (values, -values))

    assert one == pytest.approx(other, nan_ok=True)


def test_differences_that_are_all_equal_have_no_t_test() -> None:
    assert np.isnan(paired_t(np.full(6, 0.1)))


def test_one_seed_has_no_test() -> None:
    assert np.isnan(paired_t(np.ones(1)))
    assert np.isnan(wilcoxon(np.ones(1)))
    assert sign_flip(np.ones(1), rng=rng()) == 1.0  # both signs are as far from zero


def test_paired_items_are_narrower_than_items_apart() -> None:
    hard = rng(24).exponential(size=500)  # the same hard pictures for both arms
    first, second = hard + 0.02 * rng(25).normal(size=(2, 500)) + [[0.01], [0.0]]

    (low, high), p = paired_items(first - second, rng=rng(26))

    alone = bootstrap_interval(first, rng=rng(27))
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


@pytest.mark.parametrize("draw", [draw_weights, draw_multinomial])
def test_draws_hold_as_many_rows_as_there_are(draw: Draw) -> None:
    weights = np.concatenate([*draw(40, rng=rng(31), draws=3000)])

    assert weights.shape == (3000, 40)
    assert (weights.sum(axis=1) == 40).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(40), abs=0.1)
    assert weights.var() == pytest.approx(39 / 40, rel=0.02)


def test_fewer_rows_can_be_drawn_than_there_are() -> None:
    (weights,) = draw_multinomial(40, rng=rng(), draws=7, size=39)

    assert (weights.sum(axis=1) == 39).all()


@pytest.mark.parametrize("draw", [draw_weights, draw_multinomial])
def test_same_rng_gives_the_same_draws_in_chunks_of_any_size(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = draw(30, rng=rng(32), draws=50)
    monkeypatch.setattr("sfumato.stats.CHUNK_CELLS", 200)

    parts = [*draw(30, rng=rng(32), draws=50)]

    assert [len(part) for part in parts] == [6] * 8 + [2]
    assert np.array_equal(np.concatenate(parts), whole)


def test_statistics_see_the_rows_that_weights_count() -> None:
    (weights,) = draw_weights(25, rng=rng(33), draws=40)

    counted = bootstrap_statistics(
        lambda rows: np.bincount(rows, minlength=25).tolist(), 25, rng=rng(33), draws=40
    )

    assert np.array_equal(counted, weights)


@given(st.integers(1, 300), st.integers(1, 9), st.integers(0, 99))
def test_identical_arms_differ_by_exactly_zero_in_every_draw(
    n_items: int, n_columns: int, seed: int
) -> None:
    arm = rng(seed).normal(size=(n_items, n_columns))

    first, second = np.hsplit(bootstrap_means(np.hstack([arm, arm]), rng=rng(seed), draws=20), 2)

    assert np.array_equal(first, second)


def test_sums_are_those_of_the_weights() -> None:
    values = rng(34).normal(size=(30, 4))
    (weights,) = draw_weights(30, rng=rng(35), draws=60)

    assert bootstrap_sums(values, rng=rng(35), draws=60) == pytest.approx(weights @ values)


def test_statistic_of_weights_is_the_statistic_of_repeated_rows() -> None:
    first, second = rng(36).normal(size=(2, 50))

    by_weight = bootstrap(partial(spearman, first, second), 50, rng=rng(37), draws=30)

    by_rows = bootstrap_statistics(
        lambda rows: [stats.spearmanr(first[rows], second[rows]).statistic],
        50,
        rng=rng(37),
        draws=30,
    )
    assert by_weight == pytest.approx(by_rows[:, 0])


@given(some, st.data())
def test_weights_count_as_rows_that_stand_there_several_times(
    values: Values, data: st.DataObject
) -> None:
    times = data.draw(arrays(np.int64, len(values), elements=st.integers(0, 3)))
    if times.sum() < 2:
        return
    weights, repeated = times[None].astype(float), np.repeat(values, times)
    other = values[::-1].copy()

    assert weighted_mean(values, weights)[0] == pytest.approx(repeated.mean())
    assert weighted_quantile(values, weights)[0] == pytest.approx(np.median(repeated))
    if np.ptp(repeated) > 0.01 and np.ptp(np.repeat(other, times)) > 0.01:
        again = np.repeat(other, times)
        assert pearson(values, other, weights)[0] == pytest.approx(
            np.corrcoef(repeated, again)[0, 1], abs=1e-9
        )
        assert spearman(values, other, weights)[0] == pytest.approx(
            stats.spearmanr(repeated, again).statistic, abs=1e-9
        )


@given(some)
def test_quartiles_leave_a_quarter_on_each_side(values: Values) -> None:
    ones = np.ones((1, len(values)))
    low, high = (weighted_quantile(values, ones, share)[0] for share in (0.25, 0.75))

    assert (values < low).mean() <= 0.25
    assert (values > high).mean() <= 0.25


def test_draw_without_any_row_is_not_defined() -> None:
    values, none = np.arange(3.0), np.zeros((1, 3))

    assert np.isnan(weighted_mean(values, none))
    assert np.isnan(weighted_quantile(values, none))
    assert np.isnan(pearson(values, values, none))
    assert np.isnan(spearman(values, values, none))


def test_mean_of_nothing_defined_is_not_a_number() -> None:
    assert np.isnan(mean_of_defined(np.array([np.nan])))
    assert np.isnan(mean_of_defined(np.empty(0)))


def test_values_of_a_mean_may_be_missing_and_differ_between_draws() -> None:
    values = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 5.0]])

    assert weighted_mean(values, np.array([1.0, 4.0, 1.0])).tolist() == [2.0, 5.0]


def test_group_means_are_those_of_each_group() -> None:
    found = group_means(
        np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1]), np.array([[1.0, 1, 1], [0, 2, 0]])
    )

    assert found[0].tolist() == [2.0, 10.0]
    assert found[1, 0] == 3.0
    assert np.isnan(found[1, 1])


def crossed_answers(people: int = 20, mixes: int = 30) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    rows = [(f"p{a}", f"m{b}") for a in range(people) for b in range(mixes) if (a + b) % 3]
    person, mix = np.array(rows).T
    return person, mix


def test_answer_counts_as_often_as_its_person_times_its_mix() -> None:
    person, mix = crossed_answers()

    weights = crossed_weights([mix], [person], rng=rng(), draws=50)

    assert weights.shape == (51, len(mix))
    assert (weights[0] == 1).all()
    corner = {
        (a, b): weights[:, np.flatnonzero((person == a) & (mix == b))[0]]
        for a in ("p0", "p1")
        for b in ("m1", "m4")
    }
    assert np.array_equal(
        corner["p0", "m1"] * corner["p1", "m4"], corner["p0", "m4"] * corner["p1", "m1"]
    )  # a weight is that of the person times that of the mix
    assert weights[1:].mean() == pytest.approx(1, abs=0.1)


def test_name_counts_alike_in_both_columns() -> None:
    first, second = times_drawn(np.array(["a", "b"]), np.array(["b", "c"]), rng=rng(), draws=20)

    assert np.array_equal(first[:, 1], second[:, 0])


def test_names_are_drawn_whatever_the_order_of_the_rows() -> None:
    names = np.array(["b", "a", "c", "a"])
    order = [2, 0, 3, 1]

    (drawn,) = times_drawn(names, rng=rng(38), draws=20)
    (again,) = times_drawn(names[order], rng=rng(38), draws=20)

    assert np.array_equal(drawn[:, order], again)


def test_crossed_interval_is_wider_than_with_answers_taken_for_independent() -> None:
    person, mix = crossed_answers()
    draw = rng(1)
    of_person = dict(zip(np.unique(person), draw.normal(size=20), strict=True))
    values = np.array([of_person[name] for name in person]) + draw.normal(size=len(person))

    drawn = weighted_mean(values, crossed_weights([mix], [person], rng=draw, draws=500))
    value, crossed = sample_and_interval(drawn)

    alone = bootstrap_interval(values, rng=draw, draws=500)
    assert crossed.high - crossed.low > 2 * (alone.high - alone.low)
    assert crossed.low < value < crossed.high
    assert value == pytest.approx(values.mean())


@given(pairs)
def test_correlations_are_those_of_scipy(columns: tuple[Values, Values]) -> None:
    first, second = columns
    if not np.ptp(first) or not np.ptp(second):
        assert np.isnan(pearson(first, second))
        assert np.isnan(spearman(first, second))
        return

    assert pearson(first, second) == pytest.approx(stats.pearsonr(first, second).statistic)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


@given(pairs, st.randoms(use_true_random=False))
def test_correlations_do_not_depend_on_the_order_of_rows_or_sides(
    columns: tuple[Values, Values], random: Random
) -> None:
    first, second = columns
    order = random.sample(range(len(first)), len(first))

    for correlation in (pearson, spearman):
        value = correlation(first, second)
        assert correlation(first[order], second[order]) == pytest.approx(value, nan_ok=True)
        assert correlation(second, first) == pytest.approx(value, nan_ok=True)


@given(pairs)
def test_rank_correlation_sees_only_the_order(columns: tuple[Values, Values]) -> None:
    first, second = columns

    assert spearman(np.exp(first), -second) == pytest.approx(-spearman(first, second), nan_ok=True)


def test_rounding_makes_no_ranks_and_no_variation() -> None:
    torn = np.array([0.3, 0.1 + 0.2, 0.2, 0.1])

    assert spearman(torn, np.array([2.0, 2, 1, 0])) == pytest.approx(1)
    assert np.isnan(pearson(np.array([0.3, 0.1 + 0.2, 0.3]), np.arange(3.0)))
    weights = rng(39).random((50, 7))
    assert np.isnan(spearman(np.full(7, 0.1), np.arange(7.0), weights)).all()
    assert np.isnan(pearson(np.full(7, 0.1), np.arange(7.0), weights)).all()


def test_unknown_values_are_left_out_of_a_rank_correlation() -> None:
    first, second = np.array([1, np.nan, 2, 5.0, 3]), np.array([2.0, 9, 4, np.nan, 6])

    assert spearman(first, second) == pytest.approx(1)
    assert spearman(first, second, np.ones((2, 5))) == pytest.approx([1, 1])


@given(some)
def test_mid_ranks_are_the_ranks_of_scipy(values: Values) -> None:
    assert mid_ranks(dense_codes(values)) + 0.5 == pytest.approx(stats.rankdata(values))


def test_infinite_values_rank_above_all() -> None:
    assert dense_codes(np.array([0.3, 0.1 + 0.2, np.inf, 0.4])).tolist() == [0, 0, 2, 1]


def test_rank_correlation_of_codes_takes_weights_of_any_size() -> None:
    first, second = rng(40).integers(6, size=(2, 30))
    weights = rng(41).random(30)

    found = spearman_of_codes(first, second, weights)

    assert spearman_of_codes(first, second, 7 * weights) == pytest.approx(found)
    assert spearman_of_codes(first, second, np.stack([weights] * 2)) == pytest.approx([found] * 2)


@given(
    arrays(np.float64, st.integers(0, 9), elements=st.floats(-3, 3)),
    st.tuples(st.floats(-1, 0), st.floats(0, 1)),
)
def test_no_interval_leaves_the_range_of_its_metric(
    values: Values, bounds: tuple[float, float]
) -> None:
    table = np.stack([values, values[::-1]])
    found = [
        student_interval(values, bounds=bounds),
        two_way_interval(table, bounds=bounds),
        mean_interval(table, rng=rng(), draws=20, bounds=bounds),
        bootstrap_interval(values, rng=rng(), draws=20, bounds=bounds),
        percentile_interval(values, bounds=bounds),
    ]

    for low, high in found:
        assert np.isnan(low) == np.isnan(high)
        assert np.isnan(low) or bounds[0] <= low <= high <= bounds[1]


def test_interval_without_bounds_stays_as_it_is() -> None:
    assert Interval(-1.0, 2.0).within(None) == (-1.0, 2.0)


@given(arrays(np.float64, (3, 8), elements=st.floats(-9, 9)), st.permutations(range(8)))
def test_intervals_over_seeds_do_not_depend_on_the_order_of_items(
    values: Values, order: list[int]
) -> None:
    assert two_way_interval(values[:, order]) == pytest.approx(two_way_interval(values), abs=1e-9)
    assert student_interval(values[0, order]) == pytest.approx(
        student_interval(values[0]), abs=1e-9
    )


def test_reach_of_several_counts_at_once_is_that_of_each() -> None:
    values = rng(42).normal(size=6)

    low, high = student_interval(values)

    reach = student_reach(np.array([2, 6]))
    assert reach[1] * values.std(ddof=1) == pytest.approx((high - low) / 2)
    assert reach[0] == pytest.approx(stats.t.ppf(0.975, 1) / np.sqrt(2))


def test_level_of_an_interval_can_be_another() -> None:
    values = rng(43).normal(size=9)

    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.8)

    assert student_interval(values, level=0.8) == pytest.approx((theirs.low, theirs.high))
    assert percentile_interval(np.arange(1001.0), level=0.8) == (100, 900)
    with pytest.raises(DataError, match="level of the interval is 1"):
        percentile_interval(values, level=1)


def test_too_few_defined_draws_give_no_interval_unless_asked_for() -> None:
    drawn = np.array([1.0, 1.0, np.nan, np.nan])

    assert np.isnan(percentile_interval(drawn)).all()
    assert percentile_interval(drawn, least=0) == (1, 1)


def test_several_seeds_are_seen_two_ways_and_one_by_its_items() -> None:
    values = rng(44).normal(size=(4, 30))
    with_gap = values.copy()
    with_gap[1, 3] = np.nan

    assert mean_interval(values, rng=rng()) == pytest.approx(two_way_interval(values))
    assert mean_interval(values[:1], rng=rng(45)) == bootstrap_interval(values[0], rng=rng(45))
    without = np.delete(values, 3, axis=1)
    assert mean_interval(with_gap, rng=rng()) == pytest.approx(two_way_interval(without))


@given(st.integers(1, 60), st.data())
def test_intervals_of_a_share_are_those_of_scipy(count: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, count))

    exact, wilson = (
        stats.binomtest(hits, count).proportion_ci(method=method) for method in ("exact", "wilson")
    )

    assert share_interval(hits, count) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert share_interval(hits, count, method="wilson") == pytest.approx(
        (wilson.low, wilson.high), abs=1e-9
    )


@given(st.integers(1, 300))
def test_share_of_all_is_doubted_as_the_closed_form_says(count: int) -> None:
    far = 0.025 ** (1 / count)

    assert share_interval(count, count) == pytest.approx((far, 1))
    assert share_interval(0, count) == pytest.approx((0, 1 - far))


@given(arrays(np.float64, st.integers(1, 25), elements=st.floats(-9, 9, width=16)))
def test_sign_flip_does_not_see_the_unit(differences: Values) -> None:
    p = sign_flip(differences, rng=rng(46), draws=200)

    assert sign_flip(differences * 1e-15, rng=rng(46), draws=200) == p


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(0, 1)), st.floats(0, 1))
def test_permutation_p_is_never_zero(drawn: Values, value: float) -> None:
    p = permutation_p(value, drawn)

    assert 1 / (1 + len(drawn)) <= p <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_monotone_in_every_p_value(p_values: list[float]) -> None:
    adjusted = holm(p_values)

    lower = holm([p_values[0] / 2, *p_values[1:]])

    assert all(after <= before for after, before in zip(lower, adjusted, strict=True))


def test_cosines_are_those_of_the_angles_and_of_scikit_learn() -> None:
    half, vectors = np.sqrt(0.5), np.random.default_rng(0).normal(size=(6, 4))

    found = cosines(np.array([[1.0, 0.0], [3.0, 3.0], [-2.0, 0.0]]))

    np.testing.assert_allclose(found, [[1, half, -1], [half, 1, -half], [-1, -half, 1]])
    np.testing.assert_allclose(cosines(vectors), cosine_similarity(vectors))


def test_vector_without_direction_is_named() -> None:
    with pytest.raises(DataError, match=r"Vector 1 has length 0\.0"):
        cosines(np.array([[1.0, 2], [0, 0]]))
