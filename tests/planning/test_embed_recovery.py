from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sfumato.errors import DataError
from sfumato.planning.embed import (
    error_rate,
    mine_triplets,
    rank_scores,
    read_triplets,
    spearman,
)
from sfumato.planning.embed.gnmds import tie_groups


def symmetric(seed: int, size: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(size, size))
    return values + values.T


def test_rho_is_scipys_over_the_upper_triangle() -> None:
    first, second = symmetric(0, 12), symmetric(1, 12) + symmetric(0, 12)
    upper = np.triu_indices(12, 1)

    rho = spearman(first, second, tie_width=0.0)

    assert rho == pytest.approx(spearmanr(first[upper], second[upper]).statistic)


def test_diagonal_does_not_count() -> None:
    first, second = symmetric(0, 8), symmetric(1, 8)
    loud = first.copy()
    np.fill_diagonal(loud, 1e6)

    assert spearman(loud, second) == spearman(first, second)


def test_values_nearer_than_the_width_share_their_rank() -> None:
    true = symmetric(2, 10)
    stepped = np.sign(true)
    jittered = stepped + 1e-4 * symmetric(3, 10)

    assert spearman(jittered, true) == pytest.approx(spearman(stepped, true))
    assert spearman(jittered, true, tie_width=0.0) != pytest.approx(spearman(stepped, true))


def test_constant_similarities_have_no_rho() -> None:
    assert np.isnan(spearman(np.ones((4, 4)), symmetric(0, 4)))


@given(values=st.lists(st.floats(-5, 5), min_size=1, max_size=30), width=st.floats(0, 2))
@settings(max_examples=60, deadline=None)
def test_tie_groups_span_no_more_than_the_width(values: list[float], width: float) -> None:
    groups = tie_groups(np.array(values), width)

    lows = []
    for group in range(groups.max() + 1):
        members = np.array(values)[groups == group]
        assert members.max() <= members.min() + width
        lows.append(members.min())
    assert all(after > before + width for before, after in pairwise(lows))


@given(seed=st.integers(0, 500))
@settings(max_examples=30, deadline=None)
def test_error_rate_of_rankings_is_that_of_their_triplets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, (6, 5)).astype(np.float64)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    similar = symmetric(seed, 11).round()
    rankings = rank_scores(scores)

    wrong = [
        (similar[a, near] < similar[a, far]) + 0.5 * (similar[a, near] == similar[a, far])
        for a, near, far in mine_triplets(rankings).answers
    ]

    assert error_rate(rankings, similar) == pytest.approx(np.mean(wrong))
    assert error_rate(mine_triplets(rankings), similar) == pytest.approx(np.mean(wrong))


def test_repeated_answers_count_as_often_as_given() -> None:
    similar = np.array([[1, 0.9, 0.1], [0.9, 1, 0.5], [0.1, 0.5, 1]])
    triplets = read_triplets([[0, 1, 2], [1, 2, 0]], [3, 1])  # the second is wrong

    assert error_rate(read_triplets([[0, 1, 2], [1, 2, 0]], [3, 2]), similar) == pytest.approx(0.4)
    assert error_rate(triplets, similar) == pytest.approx(0.25)


def test_similarities_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(DataError, match=r"3 objects but similarities of shape \(4, 4\)"):
        error_rate(read_triplets([[0, 1, 2]]), np.eye(4))
    with pytest.raises(DataError, match="square and of one size"):
        spearman(np.eye(3), np.eye(4))
