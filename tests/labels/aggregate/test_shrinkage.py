"""Shrunk shares: the fit against other software, its limits, and its interval."""

import numpy as np
from scipy.special import gammaln
from scipy.stats import beta, dirichlet_multinomial

from sfumato.labels.aggregate import aggregate
from sfumato.labels.aggregate.shrinkage import (
    DirichletMixture,
    _belonging,
    _better,
    _interval,
    _posterior_mean,
    _start,
    _Steps,
)
from sfumato.labels.labelset import NOT_RECORDED
from sfumato.labels.votes import Votes


def votes_with(counts: list[list[int]]) -> Votes:
    """Votes of unknown people with the given counts."""
    table = np.array(counts)
    flat = np.repeat(np.arange(table.size), table.ravel())
    item, label = np.divmod(flat, table.shape[1])
    items = tuple(f"i{row:03}" for row in range(len(table)))
    classes = tuple("abcdef"[: table.shape[1]])
    return Votes(items, (), classes, item, np.full(len(item), NOT_RECORDED), label)


COUNTS = np.array([[3.0, 1, 0], [0, 4, 0], [2, 2, 2], [0, 0, 1]])
PRIOR = DirichletMixture(
    np.array([[2.0, 0.5, 0.25], [0.3, 3.0, 0.3], [0.2, 0.2, 1.0]]),
    np.array([0.5, 0.3, 0.2]),
    np.array([0.4, 0.4, 0.2]),
)


def test_likelihood_is_a_mixture_of_dirichlet_multinomials() -> None:
    log_likelihood, belonging = _belonging(_Steps.of(COUNTS), PRIOR)

    # scipy's has the multinomial coefficient, ours is of the votes in their order
    orders = gammaln(COUNTS.sum(axis=1) + 1) - gammaln(COUNTS + 1).sum(axis=1)
    joint = np.array(
        [
            [
                weight * dirichlet_multinomial.pmf(row.astype(int), alpha, int(row.sum()))
                for alpha, weight in zip(PRIOR.alpha, PRIOR.weight, strict=True)
            ]
            for row in COUNTS
        ]
    )
    assert np.isclose(log_likelihood, (np.log(joint.sum(axis=1)) - orders).sum())
    assert np.allclose(belonging, joint / joint.sum(axis=1, keepdims=True))


def test_label_is_the_posterior_mean() -> None:
    belonging = np.array([[1.0, 0, 0], [0.25, 0.75, 0], [0, 0, 1], [0, 1, 0]])

    probs = _posterior_mean(COUNTS, PRIOR, belonging)

    assert np.allclose(probs[0], np.array([5, 1.5, 0.25]) / 6.75)
    second = 0.25 * np.array([2, 4.5, 0.25]) / 6.75 + 0.75 * np.array([0.3, 7, 0.3]) / 7.6
    assert np.allclose(probs[1], second)
    assert np.allclose(probs.sum(axis=1), 1)


def test_fitting_finds_the_dirichlet_that_votes_were_drawn_from() -> None:
    rng = np.random.default_rng(0)
    alpha = np.array([2.0, 1.0, 0.5])
    counts = np.array([rng.multinomial(30, row) for row in rng.dirichlet(alpha, 3000)], dtype=float)
    steps = _Steps.of(counts)
    prior = DirichletMixture(np.ones((1, 3)), np.ones(1), normalised_sum(counts))

    for _ in range(60):
        prior = _better(steps, prior, np.ones((3000, 1)), pseudo_votes=0.0)

    assert np.allclose(prior.alpha[0], alpha, rtol=0.08)


def normalised_sum(
    counts: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return counts.sum(axis=0) / counts.sum()


def test_interval_of_a_single_component_is_the_beta_quantile() -> None:
    belonging = np.eye(3)[[0, 1, 2, 1]]

    made = _interval(COUNTS, PRIOR, belonging, 0.9, 0, np.random.default_rng(0))

    first = COUNTS + PRIOR.alpha[[0, 1, 2, 1]]
    second = first.sum(axis=1, keepdims=True) - first
    assert np.allclose(made.low, beta.ppf(0.05, first, second), atol=1e-9)
    assert np.allclose(made.high, beta.ppf(0.95, first, second), atol=1e-9)
    assert made.kind == "posterior"


def test_interval_of_a_mixture_holds_its_share_of_draws() -> None:
    rng = np.random.default_rng(0)
    belonging = np.array([[0.6, 0.4, 0], [0.6, 0.4, 0], [0.6, 0.4, 0], [0.6, 0.4, 0]])

    made = _interval(COUNTS, PRIOR, belonging, 0.8, 0, rng)

    component = rng.choice(3, p=belonging[0], size=20_000)
    draws = np.stack([rng.dirichlet(COUNTS[0] + PRIOR.alpha[m]) for m in component])
    assert np.allclose((draws < made.low[0]).mean(axis=0), 0.1, atol=0.01)
    assert np.allclose((draws > made.high[0]).mean(axis=0), 0.1, atol=0.01)


def test_few_votes_are_pulled_further_than_many() -> None:
    counts = [[3, 1], [1, 3], [4, 0], [2, 2], [0, 4], [3, 1], [1, 0], [30, 0]] * 4
    votes = votes_with(counts)

    labels = aggregate(votes, "shrunk-shares", rng=np.random.default_rng(0)).labels

    one_vote, thirty_votes = labels.probs[6, 0], labels.probs[7, 0]
    assert 0.5 < one_vote < thirty_votes < 1


def test_where_nobody_ever_disagrees_shares_stay_close_to_certain() -> None:
    votes = votes_with([[5, 0, 0], [0, 5, 0], [0, 0, 5]] * 20)

    labels = aggregate(votes, "shrunk-shares", rng=np.random.default_rng(0)).labels

    assert (labels.probs.max(axis=1) > 0.99).all()


def test_the_fitted_prior_is_reported() -> None:
    result = aggregate(
        votes_with([[3, 1], [0, 4]] * 5), "shrunk-shares", rng=np.random.default_rng(0)
    )

    prior = result.fitted["prior"]
    assert isinstance(prior, dict) and set(prior) == {"a", "b"}
    assert result.labels.provenance[-1].settings["fitted"] == {"prior": prior}


def test_start_prefers_each_component_own_class() -> None:
    assert (_start(COUNTS).alpha.argmax(axis=1) == [0, 1, 2]).all()
