"""Dawid–Skene against loops that follow the paper, and its relatives against it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.votes import Votes, votes_of_columns


def some_votes(seed: int, items: int = 30, annotators: int = 6, classes: int = 3) -> Votes:
    """Four careful people, one who always says the first class, one who guesses."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=items)
    item, who = np.divmod(np.arange(items * annotators), annotators)
    right = rng.random(len(item)) < np.array([0.9, 0.8, 0.85, 0.7, 0.0, 0.3])[who]
    label = np.where(right, truth[item], rng.integers(classes, size=len(item)))
    label = np.where(who == 4, 0, label)
    kept = rng.random(len(item)) < 0.7
    kept[:annotators] = True
    names = [f"i{code:03}" for code in item[kept]]
    return votes_of_columns(names, who[kept], label[kept])


def loops(
    votes: Votes, iterations: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[float]]:
    """Dawid and Skene 1979, equations 2.3 to 2.5, one vote at a time."""
    items, people, classes = len(votes.items), len(votes.annotators), len(votes.classes)
    posterior = np.zeros((items, classes))
    for i, label in zip(votes.item, votes.label, strict=True):
        posterior[i, label] += 1
    posterior /= posterior.sum(axis=1, keepdims=True)
    trace = []
    for step in range(iterations + 1):
        shares = posterior.mean(axis=0)
        said = np.zeros((people, classes, classes))
        for i, w, label in zip(votes.item, votes.annotator, votes.label, strict=True):
            said[w, :, label] += posterior[i]
        for w in range(people):
            given = np.unique(votes.label[votes.annotator == w])
            for t in range(classes):
                counts = np.maximum(said[w, t, given], 1e-10)
                said[w, t, given] = counts / counts.sum()
        if step == iterations:
            break
        total = 0.0
        for i in range(items):
            joint = shares.copy()
            for row in np.flatnonzero(votes.item == i):
                joint *= said[votes.annotator[row], :, votes.label[row]]
            posterior[i] = joint / joint.sum()
            total += np.log(joint.sum())
        trace.append(total)
    return posterior, said, trace


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_dawid_skene_equals_plain_loops(seed: int) -> None:
    votes = some_votes(seed)

    result = aggregate(
        votes, "dawid-skene", rng=np.random.default_rng(0), iterations=12, tolerance=-np.inf
    )

    posterior, said, trace = loops(votes, 12)
    assert np.allclose(result.labels.probs, posterior, rtol=0, atol=1e-9)
    assert result.confusion is not None
    assert np.allclose(result.confusion, said, rtol=0, atol=1e-9)
    assert np.allclose(result.trace, trace, rtol=1e-12)


def test_confusion_shows_who_always_says_the_first_class() -> None:
    result = aggregate(some_votes(0), "dawid-skene", rng=np.random.default_rng(0))

    assert result.converged
    assert result.confusion is not None and result.quality is not None
    assert np.allclose(result.confusion[4, :, 0], 1)
    assert result.quality["0"] > 0.8 > result.quality["5"]


@given(seed=st.integers(0, 20))
def test_on_certain_answers_reading_distributions_is_reading_votes(seed: int) -> None:
    votes = some_votes(seed, items=8)
    one_hot = np.eye(len(votes.classes))[votes.label]
    crowd = CrowdLabels(
        votes.items, votes.annotators, votes.classes, votes.item, votes.annotator, one_hot
    )

    soft = aggregate(crowd, "dawid-skene-soft", rng=np.random.default_rng(0))
    hard = aggregate(crowd, "dawid-skene", rng=np.random.default_rng(0))

    assert np.array_equal(soft.labels.probs, hard.labels.probs)
    assert soft.trace == hard.trace


def test_a_distribution_counts_as_fractions_of_votes() -> None:
    # half a vote for each of two classes, twice, is one vote for each
    items, who = [0, 0, 1, 1, 2], [0, 1, 0, 1, 1]
    halves = np.array([[0.5, 0.5], [1, 0], [1, 0], [1, 0], [0, 1]])
    names = ("a", "b", "c"), ("p", "q"), ("x", "y")
    doubled = CrowdLabels(*names, np.repeat(items, 2), np.repeat(who, 2), np.repeat(halves, 2, 0))
    split = np.array([[1, 0], [0, 1], *np.repeat(halves[1:], 2, axis=0)])
    votes = CrowdLabels(*names, np.repeat(items, 2), np.repeat(who, 2), split)

    soft = aggregate(doubled, "dawid-skene-soft", rng=np.random.default_rng(0))
    hard = aggregate(votes, "dawid-skene", rng=np.random.default_rng(0))

    assert np.allclose(soft.labels.probs, hard.labels.probs, rtol=0, atol=1e-12)


def test_next_answer_is_belief_times_pooled_confusion() -> None:
    votes = some_votes(3)

    belief, _, _ = loops(votes, 9)
    counts = np.zeros((3, 3))
    for i, label in zip(votes.item, votes.label, strict=True):
        counts[:, label] += belief[i]
    pooled = counts / counts.sum(axis=1, keepdims=True)
    result = aggregate(
        votes, "dawid-skene-next", rng=np.random.default_rng(0), iterations=9, tolerance=-np.inf
    )

    assert result.estimand == "what people say"
    assert np.allclose(result.labels.probs, belief @ pooled, rtol=0, atol=1e-7)


def test_a_person_s_next_answer_leans_on_everybody_s() -> None:
    votes = some_votes(3)

    belief, _, _ = loops(votes, 9)
    counts = np.zeros((6, 3, 3))
    for i, w, label in zip(votes.item, votes.annotator, votes.label, strict=True):
        counts[w, :, label] += belief[i]
    pooled = counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, None]
    own = (counts[5] + 4 * pooled) / (counts[5].sum(axis=1, keepdims=True) + 4)
    result = aggregate(
        votes,
        "dawid-skene-next",
        rng=np.random.default_rng(0),
        iterations=9,
        tolerance=-np.inf,
        annotator="5",
        prior_votes=4.0,
    )

    assert np.allclose(result.labels.probs, belief @ own, rtol=0, atol=1e-7)


def test_next_answer_of_who_always_says_the_first_class_is_the_first_class() -> None:
    votes = some_votes(0)

    result = aggregate(
        votes, "dawid-skene-next", rng=np.random.default_rng(0), annotator="4", prior_votes=0.01
    )

    assert (result.labels.probs[:, 0] > 0.95).all()


def test_next_answer_of_a_stranger_is_refused() -> None:
    with pytest.raises(DataError, match="next answer of 'nobody' was asked for"):
        aggregate(
            some_votes(0), "dawid-skene-next", rng=np.random.default_rng(0), annotator="nobody"
        )


# The one-coin model against loops that follow its equations.


def one_coin_votes(seed: int) -> Votes:
    rng = np.random.default_rng(seed)
    item, who = np.divmod(np.arange(20 * 5), 5)
    label = np.where(rng.random(100) < 0.7, item % 4, rng.integers(4, size=100))
    items = tuple(f"i{code:02}" for code in range(20))
    return Votes(items, tuple("pqrst"), tuple("abcd"), item, who, label)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_coin_equals_plain_loops(seed: int) -> None:
    votes = one_coin_votes(seed)

    result = aggregate(
        votes, "one-coin", rng=np.random.default_rng(0), iterations=7, tolerance=-np.inf
    )

    posterior = np.zeros((20, 4))
    np.add.at(posterior, (votes.item, votes.label), 1 / 5)
    trace = []
    for _ in range(7):
        shares = posterior.mean(axis=0)
        skill = [posterior[votes.item, votes.label][votes.annotator == w].mean() for w in range(5)]
        total = 0.0
        for i in range(20):
            joint = shares.copy()
            for row in np.flatnonzero(votes.item == i):
                s = skill[votes.annotator[row]]
                joint *= np.where(np.arange(4) == votes.label[row], s, (1 - s) / 3)
            total += np.log(joint.sum())
            posterior[i] = joint / joint.sum()
        trace.append(total)
    assert np.allclose(result.labels.probs, posterior, rtol=0, atol=1e-10)
    assert np.allclose(result.trace, trace, rtol=1e-12)
    assert result.quality is not None
    after = [posterior[votes.item, votes.label][votes.annotator == w].mean() for w in range(5)]
    assert np.allclose(list(result.quality.values()), after)


def test_a_single_class_is_certain() -> None:
    votes = Votes(("a",), ("p", "q"), ("x",), *np.array([[0, 0], [0, 1], [0, 0]]))

    assert aggregate(votes, "one-coin", rng=np.random.default_rng(0)).labels.probs == 1
