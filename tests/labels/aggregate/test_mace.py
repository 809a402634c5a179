"""MACE: spammers are found whatever the order of rows, and starts really differ."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma, gammaln
from scipy.stats import dirichlet

from sfumato.labels.aggregate import aggregate
from sfumato.labels.votes import Votes, votes_of_columns


def with_spammers(seed: int) -> Votes:
    """Forty items seen by six careful people and four who each always give one class."""
    rng = np.random.default_rng(seed)
    item, who = np.divmod(np.arange(40 * 10), 10)
    truth = rng.integers(4, size=40)
    slip = rng.random(400) < 0.1
    label = np.where(slip, rng.integers(4, size=400), truth[item])
    label = np.where(who >= 6, who - 6, label)
    rows = rng.permutation(400)
    return votes_of_columns(item[rows], who[rows], label[rows])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_constant_spammers_are_recovered_from_shuffled_rows(seed: int) -> None:
    votes = with_spammers(seed)

    result = aggregate(votes, "mace", rng=np.random.default_rng(0))

    assert result.confusion is not None and result.quality is not None
    spam = [result.annotators.index(str(name)) for name in (6, 7, 8, 9)]
    blind = [result.confusion[row].sum(axis=0).argmax() for row in spam]
    assert blind == [0, 1, 2, 3]
    careful = min(result.quality[str(name)] for name in range(6))
    assert careful > 0.6 > 0.3 > max(result.quality[str(name)] for name in (6, 7, 8, 9))


def test_starts_differ_and_the_best_end_is_kept() -> None:
    rng = np.random.default_rng(4)
    votes = votes_of_columns(
        np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12), rng.integers(3, size=48)
    )

    result = aggregate(votes, "mace", rng=np.random.default_rng(0), restarts=8, iterations=3)

    bounds = result.fitted["bound_of_each_start"]
    assert isinstance(bounds, list) and len(bounds) == 8
    assert len({round(float(str(bound)), 6) for bound in bounds}) == 8
    assert result.trace[-1] == max(float(str(bound)) for bound in bounds)


def test_same_seed_same_answer() -> None:
    votes = with_spammers(0)

    first = aggregate(votes, "mace", rng=np.random.default_rng(3))
    again = aggregate(votes, "mace", rng=np.random.default_rng(3))

    assert np.array_equal(first.labels.probs, again.labels.probs)


def test_first_posterior_and_bound_equal_products_of_probabilities() -> None:
    votes = votes_of_columns([0, 0, 1, 1, 1], [0, 1, 0, 1, 2], [0, 1, 1, 1, 0])

    result = aggregate(votes, "mace", rng=np.random.default_rng(0), restarts=1, iterations=1)

    # the first start: everybody tries half of the time, and gives what they gave
    posterior = np.full((2, 2), 0.5)
    divergence = 0.0
    for i, w, said in zip(votes.item, votes.annotator, votes.label, strict=True):
        own = np.array([(votes.label[votes.annotator == w] == k).sum() / 2 for k in (0, 1)])
        n = own.sum()  # tried n times, blind n times
        try_ = np.exp(digamma(n + 0.5) - digamma(2 * n + 1))
        blind = np.exp(digamma(n + 0.5) - digamma(2 * n + 1))
        blind *= np.exp(digamma(own[said] + 10) - digamma(n + 20))
        posterior[i] *= np.where(np.arange(2) == said, try_ + blind, blind)
    evidence = posterior.sum(axis=1, keepdims=True)
    for w in range(3):
        own = np.array([(votes.label[votes.annotator == w] == k).sum() / 2 for k in (0, 1)])
        divergence += dirichlet_divergence(np.array([own.sum(), own.sum()]) + 0.5, 0.5)
        divergence += dirichlet_divergence(own + 10, 10)
    assert np.allclose(result.labels.probs, posterior / evidence, rtol=1e-12)
    assert np.isclose(result.trace[0], np.log(evidence).sum() - divergence, rtol=1e-10)


def dirichlet_divergence(belief: NDArray[np.float64], prior: float) -> float:
    """KL(Dirichlet(belief) || Dirichlet(prior, prior)), by way of its entropy."""
    mean_logs = digamma(belief) - digamma(belief.sum())
    cross = -(gammaln(2 * prior) - 2 * gammaln(prior) + (prior - 1) * mean_logs.sum())
    return float(cross - dirichlet(belief).entropy())
