"""Bradley–Terry against closed forms, logistic regression and crowd-kit's published numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sfumato.errors import DataError
from sfumato.labels.aggregate.pairs import bradley_terry

Games = tuple[list[str], list[str], list[str]]


def tournament(seed: int, items: int = 5, games: int = 80) -> Games:
    """Random comparisons among a few items, and a ring in which everybody lost once."""
    rng = np.random.default_rng(seed)
    names = [f"i{place}" for place in range(items)]
    first = rng.integers(items, size=games)
    second = (first + rng.integers(1, items, size=games)) % items
    strength = rng.normal(0, 1, size=items)
    wins = rng.random(games) < 1 / (1 + np.exp(strength[second] - strength[first]))
    winner = np.where(wins, first, second)
    ring = np.arange(items)
    return (
        [names[place] for place in (*first, *ring)],
        [names[place] for place in (*second, *((ring + 1) % items))],
        [names[place] for place in (*winner, *ring)],
    )


def test_two_items_have_their_shares_of_wins() -> None:
    found = bradley_terry("aaaaa", "bbbbb", "aabaa")

    assert np.isclose(found.scores["a"], 0.8)
    assert np.isclose(found.chance("b", "a"), 0.2)


@pytest.mark.parametrize(("iterations", "tolerance"), [(10, 0.0), (1000, 1e-5)])
def test_a_ring_has_the_published_equal_scores(iterations: int, tolerance: float) -> None:
    found = bradley_terry("abc", "bca", "abc", iterations=iterations, tolerance=tolerance)

    assert np.allclose(list(found.scores.values()), 1 / 3)
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("iterations", "published"), [(0, (1 / 3, 1 / 3, 1 / 3)), (10, (0.934, 0.065, 0.0))]
)
def test_steps_are_the_published_ones(iterations: int, published: tuple[float, ...]) -> None:
    found = bradley_terry("abc", "bca", "aba", iterations=iterations, tolerance=-np.inf)

    assert np.allclose(list(found.scores.values()), published, rtol=0, atol=0.005)


def test_without_a_finite_maximum_it_says_so_and_a_prior_helps() -> None:
    open_ended = bradley_terry("abc", "bca", "aba")
    helped = bradley_terry("abc", "bca", "aba", prior=0.5)

    assert "leave 3 groups of items between which all wins go one way" in open_ended.remarks[0]
    assert helped.remarks == () and helped.converged
    assert 1 > helped.scores["a"] > helped.scores["b"] > helped.scores["c"] > 0.01


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_a_logistic_regression(seed: int, prior: float) -> None:
    first, second, winner = tournament(seed)
    names = sorted(set(first))
    won = np.array([names.index(name) for name in winner])
    lost = np.array(
        [
            names.index(b if best == a else a)
            for a, b, best in zip(first, second, winner, strict=True)
        ]
    )

    def loss(free: np.ndarray) -> float:
        value = np.logaddexp(0, free[lost] - free[won]).sum()
        return value + prior * (np.logaddexp(0, free) + np.logaddexp(0, -free)).sum()

    found = bradley_terry(first, second, winner, prior=prior, tolerance=1e-13, iterations=20_000)

    best = minimize(loss, np.zeros(len(names)), tol=1e-10)
    expected = np.exp(best.x) / np.exp(best.x).sum()
    assert np.allclose(list(found.scores.values()), expected, rtol=0, atol=1e-4)
    assert (np.diff(found.trace) >= -1e-9).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_order_sides_and_names_do_not_matter_and_weights_are_repeats(seed: int) -> None:
    first, second, winner = tournament(seed, games=20)
    plain = bradley_terry(first, second, winner)

    order = np.random.default_rng(seed).permutation(len(first))
    turned = bradley_terry(*([column[row] for row in order] for column in (second, first, winner)))
    again = bradley_terry(first + first[:1], second + second[:1], winner + winner[:1])
    weighted = bradley_terry(first, second, winner, weights=[2.0] + [1.0] * (len(first) - 1))

    for item, score in plain.scores.items():
        assert np.isclose(turned.scores[item], score, atol=1e-6)
        assert np.isclose(weighted.scores[item], again.scores[item], atol=1e-6)


def test_impossible_comparisons_are_refused() -> None:
    with pytest.raises(DataError, match="There are no comparisons"):
        bradley_terry([], [], [])
    with pytest.raises(DataError, match="Comparison 2 is of 'b' and 'c' and won by 'a'"):
        bradley_terry("ab", "bc", "aa")
    with pytest.raises(DataError, match="one weight, a number above zero"):
        bradley_terry("a", "b", "a", weights=[0.0])
    with pytest.raises(DataError, match="'prior' is -1"):
        bradley_terry("a", "b", "a", prior=-1)
    with pytest.raises(DataError, match="No item is called 'z'"):
        bradley_terry("a", "b", "a").chance("a", "z")
