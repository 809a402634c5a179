import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.planning.embed.rankings import (
    Triplets,
    flip,
    mine_triplets,
    rank_scores,
    ranking_loss,
    read_triplets,
    triplet_loss,
)

Floats = NDArray[np.float64]
Answers = list[tuple[int, int, int]]


def distances_of(triplets: Triplets, square: Floats) -> Floats:
    first, second = triplets.pairs.T
    return square[first, second]


@st.composite
def answers_that_repeat_and_contradict(draw: st.DrawFn) -> Answers:
    three = st.permutations(range(5)).map(lambda order: (order[0], order[1], order[2]))
    return draw(st.lists(three, min_size=1, max_size=25))


@given(answers=answers_that_repeat_and_contradict(), width=st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=60, deadline=None)
def test_loss_and_gradient_equal_enumeration(answers: Answers, width: float) -> None:
    square = np.random.default_rng(len(answers)).normal(size=(5, 5)) ** 2
    square += square.T
    triplets = read_triplets(answers, objects=5)
    loss, slopes = triplet_loss(triplets, distances_of(triplets, square), width)

    expected, gradient = 0.0, np.zeros((5, 5))
    for anchor, near, far in answers:
        t = 1 + square[anchor, near] - square[anchor, far]
        inside = abs(t) < width / 2
        expected += (t + width / 2) ** 2 / (2 * width) if inside else max(t, 0.0)
        slope = (t + width / 2) / width if inside else float(t > 0)
        gradient[min(anchor, near), max(anchor, near)] += slope
        gradient[min(anchor, far), max(anchor, far)] -= slope

    assert triplets.constraints == len(answers)
    assert loss == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(slopes, distances_of(triplets, gradient), rtol=1e-10, atol=1e-12)


@given(seed=st.integers(0, 1000), width=st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=40, deadline=None)
def test_mined_triplets_cost_what_their_rankings_cost(seed: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (6, 4)).astype(np.float64)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    block = rng.normal(size=scores.shape) ** 2 * 3
    square = np.zeros((10, 10))
    square[:6, 6:] = block

    rankings = rank_scores(scores)
    triplets = mine_triplets(rankings)
    by_rankings, by_block = ranking_loss(rankings, block, width)
    by_triplets, by_pairs = triplet_loss(triplets, distances_of(triplets, square), width)
    put_back = np.zeros_like(square)
    put_back[tuple(triplets.pairs.T)] = by_pairs

    assert triplets.constraints == rankings.constraints
    assert by_triplets == pytest.approx(by_rankings, rel=1e-10)
    np.testing.assert_allclose(put_back[:6, 6:], by_block, rtol=1e-10, atol=1e-10)


def test_responses_turn_triplets_round() -> None:
    by_bool = read_triplets([[0, 1, 2], [1, 2, 0]], [True, False])
    by_bit = read_triplets([[0, 1, 2], [1, 2, 0]], [1, 0])
    by_sign = read_triplets([[0, 1, 2], [1, 2, 0]], [1, -1])

    for triplets in (by_bool, by_bit, by_sign):
        assert triplets.answers.tolist() == [[0, 1, 2], [1, 0, 2]]


def test_counts_repeat_answers_and_zero_leaves_them_out() -> None:
    triplets = read_triplets([[0, 1, 2], [1, 2, 0], [2, 0, 1]], [3, 0, -2])

    assert triplets.answers.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert triplets.times.tolist() == [3, 2]
    assert triplets.constraints == 5


def test_flipping_keeps_the_number_and_turns_the_share() -> None:
    triplets = mine_triplets(rank_scores(np.random.default_rng(0).random((20, 10))))
    known = {tuple(row) for row in triplets.answers.tolist()}

    flipped = flip(triplets, 0.3, rng=np.random.default_rng(1))

    turned = sum(tuple(row) not in known for row in flipped.answers.tolist())
    assert flipped.constraints == triplets.constraints == 2800
    assert turned / 2800 == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 2800))


def test_flipping_nothing_or_everything_is_exact() -> None:
    triplets = mine_triplets(rank_scores(np.random.default_rng(0).random((5, 4))))
    rng = np.random.default_rng(0)

    assert flip(triplets, 0, rng=rng).answers.tolist() == triplets.answers.tolist()
    turned = flip(triplets, 1, rng=rng).answers[:, [0, 2, 1]]
    assert sorted(turned.tolist()) == sorted(triplets.answers.tolist())


@pytest.mark.parametrize(
    ("answers", "responses", "message"),
    [
        ([[0, 1, 2], [0, 1, 1]], None, r"Triplet 1 is \[0, 1, 1\]; its three objects"),
        ([[0, 1, -2]], None, "whole numbers from 0"),
        ([[0, 1, 1.5]], None, "whole numbers from 0"),
        ([[0, 1]], None, "three columns"),
        ([[0, 1, 9]], None, "names object 9, but there are only 5"),
        ([[0, 1, 2]], [1, 0], r"responses of shape \(2,\)"),
        ([[0, 1, 2]], [0.5], "response to triplet 0 is 0.5"),
        ([[0, 1, 2], [1, 0, 2]], [2, 0.5], "response to triplet 1 is 0.5"),
        (np.empty((0, 3)), None, "no decided triplet"),
    ],
)
def test_bad_triplets_are_one_sentence(
    answers: object, responses: list[float] | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_triplets(answers, responses, objects=5)  # type: ignore[arg-type]


def test_error_rate_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(DataError, match=r"error rate is 1\.5"):
        flip(read_triplets([[0, 1, 2]]), 1.5, rng=np.random.default_rng(0))
