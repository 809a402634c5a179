"""From few votes to shares pulled towards what the other items look like.

Votes are modelled as draws from each item's own distribution, and those distributions as draws
from a mixture of Dirichlet distributions, one component a class ("items that are mostly a cat").
The mixture is fitted to all items at once (empirical Bayes) and each item's label is the mean of
its distribution given its own votes. The more people disagree elsewhere, the stronger the pull.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import betainc

from sfumato.labels.aggregate.evidence import Evidence
from sfumato.labels.aggregate.result import Fit, ProbabilityIntervals, posterior_of
from sfumato.labels.aggregate.shares import normalise_rows
from sfumato.provenance import Setting

LEAST, MOST = 1e-6, 1e4
"""Bounds of a Dirichlet parameter: perfect agreement would send some to zero or infinity."""

INNER_STEPS = 10
"""Fixed-point steps for the Dirichlet parameters in each iteration."""

HALVINGS = 40
"""Bisections for a quantile: 2^-40 is about 1e-12."""

NEGLIGIBLE = 1e-9
"""Components less probable than this are left out of an item's interval."""


def shrunk_shares(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    pseudo_votes: float,
) -> Fit:
    """Posterior mean of each item's shares under a fitted mixture of Dirichlet distributions.

    With component m's parameters α_m and the item's counts c, n = Σ c::

        share_k = Σ_m P(m | c) (c_k + α_mk) / (n + Σ_j α_mj)

    α and the mixture's weights maximise the marginal likelihood of all votes plus
    ``pseudo_votes`` · Σ_k q_k log(α_mk / Σ_j α_mj), q the shares over all items: each component
    has seen that many votes like everybody's before it sees any of its own.
    """
    counts = evidence.table(evidence.each_person_once())
    prior = fit_mixture(
        counts, iterations=iterations, tolerance=tolerance, pseudo_votes=pseudo_votes
    )
    belonging = _belonging(_Steps.of(counts), prior)[1]
    return Fit(
        _posterior_mean(counts, prior, belonging),
        partial(_interval, counts, prior, belonging),
        trace=prior.trace,
        converged=prior.converged,
        fitted={"prior": _describe(evidence.classes, prior)},
    )


@dataclass(frozen=True, eq=False)
class DirichletMixture:
    """A mixture of Dirichlet distributions, one component per class, and how it was fitted."""

    alpha: NDArray[np.float64]  # (components, classes)
    weight: NDArray[np.float64]  # (components,)
    overall: NDArray[np.float64]  # (classes,), the shares over all items
    trace: tuple[float, ...] = ()
    converged: bool = False


def fit_mixture(
    counts: NDArray[np.float64], *, iterations: int, tolerance: float, pseudo_votes: float
) -> DirichletMixture:
    """The mixture that makes the votes of all items most probable (empirical Bayes)."""
    steps = _Steps.of(counts)
    prior = _start(counts)
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        log_likelihood, belonging = _belonging(steps, prior)
        trace.append(log_likelihood + _log_prior(prior, pseudo_votes))
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance * counts.sum()
        prior = _better(steps, prior, belonging, pseudo_votes)
    return replace(prior, trace=tuple(trace), converged=converged)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Counts as stairs: log Γ(c + α) - log Γ(α) = Σ_{j<c} log(α + j) becomes a sparse product.

    Both the likelihood and its gradient then cost one pass over the votes, whatever α is.
    """

    own: csr_array  # (items, classes * height): 1 where j < c
    total: csr_array  # (items, tallest): 1 where j < n
    height: int
    tallest: int

    @classmethod
    def of(cls, counts: NDArray[np.float64]) -> "_Steps":
        height, tallest = int(counts.max()), int(counts.sum(axis=1).max())
        total = _stairs(counts.sum(axis=1)[:, None], tallest)
        return cls(_stairs(counts, height), total, height, tallest)


def _stairs(counts: NDArray[np.float64], height: int) -> csr_array:
    flat = counts.ravel().astype(np.intp)
    first = np.cumsum(flat) - flat
    step = np.arange(flat.sum()) - np.repeat(first, flat)
    column = np.repeat(np.arange(flat.size) % counts.shape[1], flat) * height + step
    ends = np.append(0, np.cumsum(counts.sum(axis=1))).astype(np.int32)
    shape = len(counts), counts.shape[1] * height
    return csr_array((np.ones(len(column)), column.astype(np.int32), ends), shape=shape)


def _start(counts: NDArray[np.float64]) -> DirichletMixture:
    classes = counts.shape[1]
    overall = (counts.sum(axis=0) + 1) / (counts.sum() + classes)
    return DirichletMixture(np.eye(classes) + 0.1, overall, overall)


def _belonging(steps: _Steps, prior: DirichletMixture) -> tuple[float, NDArray[np.float64]]:
    """Log-likelihood of all votes, and how probable each component is for each item."""
    own = np.log(prior.alpha[:, :, None] + np.arange(steps.height))  # (components, classes, height)
    total = np.log(prior.alpha.sum(axis=1)[:, None] + np.arange(steps.tallest))
    joint = steps.own @ own.reshape(len(own), -1).T - steps.total @ total.T + np.log(prior.weight)
    return posterior_of(joint)


def _log_prior(prior: DirichletMixture, pseudo_votes: float) -> float:
    means = np.log(normalise_rows(prior.alpha)) @ prior.overall
    return float(pseudo_votes * (means.sum() + np.log(prior.weight).mean()))


def _better(
    steps: _Steps, prior: DirichletMixture, belonging: NDArray[np.float64], pseudo_votes: float
) -> DirichletMixture:
    """Minka's fixed point for α (2000), which never lowers the likelihood, and the weights."""
    items, components = belonging.shape
    own = (steps.own.T @ belonging).T.reshape(components, -1, steps.height)
    total = (steps.total.T @ belonging).T  # (components, tallest)
    alpha = prior.alpha
    for _ in range(INNER_STEPS):
        sums = alpha.sum(axis=1, keepdims=True)
        rise = (own / (alpha[:, :, None] + np.arange(steps.height))).sum(axis=2)
        rise += pseudo_votes * prior.overall / alpha
        fall = (total / (sums + np.arange(steps.tallest))).sum(axis=1, keepdims=True)
        fall += pseudo_votes / sums
        alpha = np.clip(alpha * rise / fall, LEAST, MOST)
    weight = (belonging.sum(axis=0) + pseudo_votes / components) / (items + pseudo_votes)
    return DirichletMixture(alpha, weight, prior.overall)


def _posterior_mean(
    counts: NDArray[np.float64], prior: DirichletMixture, belonging: NDArray[np.float64]
) -> NDArray[np.float64]:
    size = counts.sum(axis=1, keepdims=True) + prior.alpha.sum(axis=1)  # (items, components)
    share = belonging / size
    return counts * share.sum(axis=1, keepdims=True) + share @ prior.alpha


def _interval(
    counts: NDArray[np.float64],
    prior: DirichletMixture,
    belonging: NDArray[np.float64],
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> ProbabilityIntervals:
    return beta_intervals(counts, belonging, lambda item, component: prior.alpha[component], level)


Parameters = Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float64]]
"""From items and components, both (pairs,), to Dirichlet parameters (pairs, classes)."""


def beta_intervals(
    counts: NDArray[np.float64],
    belonging: NDArray[np.float64],
    parameters: Parameters,
    level: float,
) -> ProbabilityIntervals:
    """Quantiles of each class's marginal, a mixture of Beta distributions, by bisection."""
    item, component = np.nonzero(belonging > NEGLIGIBLE)
    first = counts[item] + parameters(item, component)  # (pairs, classes)
    second = first.sum(axis=1, keepdims=True) - first
    weight = belonging[item, component][:, None]
    starts = np.searchsorted(item, np.arange(len(counts)))

    def below(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(weight * betainc(first, second, at[item]), starts, axis=0)

    tail = (1 - level) / 2
    low, high = (_bisect(below, counts.shape, target) for target in (tail, 1 - tail))
    return ProbabilityIntervals(low, high, level, "posterior")


Cumulative = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _bisect(below: Cumulative, shape: tuple[int, ...], target: float) -> NDArray[np.float64]:
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        under = below(middle) < target
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return (low + high) / 2


def _describe(classes: Sequence[str], prior: DirichletMixture) -> dict[str, Setting]:
    """For each component: how common it is, how many votes it is worth, its own class's share."""
    strength = prior.alpha.sum(axis=1)
    return {
        name: {
            "weight": float(prior.weight[row]),
            "strength": float(strength[row]),
            "own_share": float(prior.alpha[row, row] / strength[row]),
        }
        for row, name in enumerate(classes)
    }
