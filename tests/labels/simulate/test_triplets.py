import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.simulate.crowd import gaussian_clusters
from sfumato.labels.simulate.people import (
    NoisyChannel,
    closer_by_position,
    draw_triples,
    send,
)
from sfumato.provenance import is_simulated


@given(n_items=st.integers(3, 20), seed=st.integers(0, 1000))
def test_triples_are_three_different_items(n_items: int, seed: int) -> None:
    triples = draw_triples(n_items, 50, rng=np.random.default_rng(seed))

    assert all(len(set(triple)) == 3 for triple in triples.tolist())
    assert triples.min() >= 0
    assert triples.max() < n_items


def test_all_triples_are_drawn_equally_often() -> None:
    triples = draw_triples(4, 24_000, rng=np.random.default_rng(0))

    _, counts = np.unique(triples, axis=0, return_counts=True)
    assert len(counts) == 24  # 4 · 3 · 2
    assert np.abs(counts - 1000).max() < 4.5 * np.sqrt(1000)


@pytest.mark.parametrize("flip", [0.0, 0.1, 0.37, 1.0])
def test_observed_flip_rate_is_the_given_one(flip: float) -> None:
    rng = np.random.default_rng(0)
    points = gaussian_clusters(items=30, classes=3, dimensions=5, rng=rng)
    triples = draw_triples(30, 20_000, rng=rng)
    closer = closer_by_position(points.positions, triples)

    answered = send(NoisyChannel(flip), points.hard.items, triples, closer, annotators=7, rng=rng)

    said_first = (answered.table["closer"] == "first").to_numpy()
    wrong = (said_first != (closer > 0)).mean()
    assert wrong == pytest.approx(flip, abs=4 * np.sqrt(flip * (1 - flip) / 20_000))


def test_table_says_who_was_compared_with_whom() -> None:
    triples = np.array([[2, 0, 1]])
    closer = closer_by_position(np.array([[0.0], [9.0], [1.0]]), triples)

    answered = send(NoisyChannel(0), "xyz", triples, closer, rng=np.random.default_rng(0))

    row = answered.table.row(0, named=True)
    assert (row["item"], row["first"], row["second"], row["closer"]) == ("z", "x", "y", "first")
    assert row["annotator"] == "simulated-0001"
    assert is_simulated(answered.provenance)


def test_a_tie_is_a_coin_toss_that_everybody_sees_alike() -> None:
    triples = np.tile([[0, 1, 2]], (1000, 1))

    answered = send(
        NoisyChannel(0),
        "abc",
        triples,
        np.zeros(1000),
        per_triple=3,
        annotators=5,
        rng=np.random.default_rng(0),
    )

    first = (answered.table["closer"] == "first").to_numpy().reshape(1000, 3)
    assert (first.all(axis=1) | ~first.any(axis=1)).all()
    assert first[:, 0].mean() == pytest.approx(0.5, abs=0.065)  # four standard errors


def test_same_seed_same_answers() -> None:
    triples, closer = np.tile([[0, 1, 2]], (50, 1)), np.ones(50)

    first, second = (
        send(NoisyChannel(0.5), "abc", triples, closer, rng=np.random.default_rng(2))
        for _ in range(2)
    )

    assert first.table.equals(second.table)


def test_wrong_requests_are_sentences() -> None:
    with pytest.raises(DataError, match=r"from 0 to 1, not 1\.1"):
        NoisyChannel(1.1)
    with pytest.raises(DataError, match="three items; there are 2"):
        draw_triples(2, 1, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="from 0 to 2; found 0 to 3"):
        closer_by_position(np.eye(3), np.array([[0, 1, 3]]))
    with pytest.raises(DataError, match=r"shape \(triples, 3\), not \(1, 2\)"):
        closer_by_position(np.eye(3), np.array([[0, 1]]))
