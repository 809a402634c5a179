import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from sfumato.labels.simulate.held_out import (
    MARGINALS,
    resampled_means,
    resampled_spreads,
    spread_of,
    swap_spreads,
    swap_values,
    values_of,
)
from sfumato.labels.simulate.top_two import TwoChoices
from sfumato.stats import mean_of_defined


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_marginals_are_read_from_the_answers() -> None:
    choices = TwoChoices(
        np.array([0, 0, 0]),
        np.array([1, -1, 1]),
        np.array([0.7, 1.0, np.nan]),
        np.array([0.4, np.nan, 0.3]),
        np.array([True, False, True]),
        np.array([2, 1, 10]),
    )

    found = values_of(choices)

    assert tuple(found) == MARGINALS
    expected = ([0.7, 1, np.nan], [2, 1, 10], [0, 1, 0], [0.4, np.nan, 0.3], [1, 0, 0])
    for values, wanted in zip(found.values(), expected, strict=True):
        np.testing.assert_array_equal(values, wanted)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=2, max_size=40
    )
)
def test_distance_is_scipys_kolmogorov_smirnov_statistic(rows: list[tuple[int, ...]]) -> None:
    real, simulated, person = np.array(rows).T

    found = swap_values(real / 10, simulated / 10, person, permutations=20, rng=rng())

    assert found.distance == pytest.approx(ks_2samp(real, simulated, method="asymp").statistic)
    assert 1 / 21 <= found.p_value <= 1


def test_few_people_are_swapped_in_all_ways() -> None:
    # two people, four ways to swap; as they are (and both swapped) is the farthest apart
    real, simulated = np.array([0.0, 0, 0, 0]), np.array([1.0, 1, 1, 1])

    found = swap_values(real, simulated, np.array([0, 0, 1, 1]), permutations=4000, rng=rng())

    assert found.distance == 1
    assert found.p_value == pytest.approx(0.5, abs=0.03)


def test_test_keeps_its_level_when_answers_of_a_person_are_alike() -> None:
    draw, person = np.random.default_rng(1), np.repeat(np.arange(40), 25)
    refused = 0
    for _ in range(200):
        habit = draw.random((2, 40))[:, person]  # a person says one thing again and again
        real, simulated = (draw.random((2, 1000)) < habit).astype(float)
        p = swap_values(real, simulated, person, permutations=99, rng=draw).p_value
        refused += p <= 0.05

    assert refused / 200 == pytest.approx(0.05, abs=0.045)  # three standard errors


def test_interval_of_a_mean_counts_people_and_not_answers() -> None:
    person = np.repeat(np.arange(50), 100)
    alike = np.repeat(np.arange(50) % 2, 100).astype(float)  # each says one thing a hundred times

    drawn = resampled_means(alike, person, draws=4000, rng=rng())

    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    assert drawn.std() == pytest.approx(0.5 / np.sqrt(50), rel=0.05)  # not / √5000


def test_values_that_are_missing_count_nowhere() -> None:
    values, person = np.array([1.0, np.nan, 0.0, np.nan]), np.array([0, 0, 1, 2])

    assert mean_of_defined(values) == 0.5
    assert spread_of(values, person) == 0.5
    assert np.isnan(mean_of_defined(values[1:2]))
    # person 2 has nothing to say: among 0, 0 and 2, or 1, 1 and 2 the mean is 1 or 0
    assert set(resampled_means(values, person, draws=500, rng=rng()).round(3)) >= {0.0, 0.5, 1.0}


def test_spread_between_people_is_resampled_and_tested() -> None:
    person = np.repeat(np.arange(60), 20)
    habit = np.random.default_rng(3).random(60)
    different, same = habit[person], np.full(1200, habit.mean())

    drawn = resampled_spreads(different, person, draws=2000, rng=rng())
    apart = swap_spreads(different, same, person, permutations=400, rng=rng())
    alike = swap_spreads(different, 1 - different, person, permutations=400, rng=rng())

    low, high = np.quantile(drawn, [0.025, 0.975])
    assert low < habit.std() < high
    assert apart.distance == pytest.approx(habit.std())
    assert apart.p_value == 1 / 401
    assert alike.p_value > 0.5
