"""From few votes, and what a model believes, to shares of what people would say.

Each item's shares are drawn from a mixture of Dirichlet distributions, as in ``shrinkage``, but
the mixture knows more. Its components are those that shrunk shares fits, each in several
strengths, everybody's shares, and, where a model's beliefs are given, what people say where the
model believes so, at several temperatures and strengths. Only the weights of the components are
fitted to the votes (EM on a concave likelihood), so the fit has one optimum and few votes do for
it.

A guard stands beside it: the result is a Bayes mixture with plain shrunk shares, weighted by how
probable each makes the votes of items that it was not fitted to. Such a mixture loses at most
log 2 nats in total against the better of the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from sfumato.labels.aggregate.evidence import Evidence
from sfumato.labels.aggregate.result import Fit, ProbabilityIntervals, posterior_of
from sfumato.labels.aggregate.shares import normalise_rows
from sfumato.labels.aggregate.shrinkage import LEAST, DirichletMixture, beta_intervals, fit_mixture

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

STRENGTHS = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 100.0)
"""How many votes a component is worth."""

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The components of shrunk shares, by how much weaker or stronger."""

POWERS = (0.15, 0.3, 0.6, 1.0)
"""Powers of a model's beliefs: models are mostly surer than people."""

MANY_CLASSES = 40
"""From here on, components are not scaled and no table of classes by classes is learnt."""

BLENDS = (0.05, 0.2, 0.5)
"""With many classes: shares of everybody's answers in a model's belief."""

MOST_ITEMS = 50_000
"""Items that weights are fitted to; of more, so many are drawn."""

CHUNK = 20_000
"""Items whose labels are made at once."""

FOLDS = 5
MAP_STEPS = 50


def informed(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    pseudo_votes: float,
) -> Fit:
    """Posterior mean of each item's shares under a mixture that has seen people and a model.

    With component m's parameters α_im for item i, its counts c and n = Σ c::

        informed_k = Σ_m P(m | c) (c_k + α_imk) / (n + Σ_j α_imj)
        share_k = w · informed_k + (1 - w) · shrunk_k

    w is the posterior probability of the informed mixture beside that of shrunk shares, each
    fitted to four fifths of the items and asked about the votes of the others.
    """
    counts, beliefs = evidence.table(evidence.each_person_once()), evidence.predictions
    rows = np.sort(rng.permutation(len(counts))[:MOST_ITEMS])
    seen, known = counts[rows], None if beliefs is None else beliefs[rows]
    fitting = partial(_fit, iterations=iterations, tolerance=tolerance, pseudo_votes=pseudo_votes)
    gain = _held_out_gain(seen, known, fitting, rng)
    trust = float(expit(gain))
    prior = fitting(seen, known).guarded(trust)
    chunks = range(0, len(counts), CHUNK)
    parts = [prior.posterior_mean(counts[at : at + CHUNK], _part(beliefs, at)) for at in chunks]
    return Fit(
        np.concatenate(parts),
        partial(_intervals, prior, counts, beliefs),
        trace=prior.trace,
        converged=prior.converged,
        fitted={
            "weight_of_informed": trust,
            "gain_on_held_out_votes": gain / counts[rows].sum(),
            "uses_predictions": beliefs is not None,
        },
    )


def _part(beliefs: Floats | None, at: int) -> Floats | None:
    return None if beliefs is None else beliefs[at : at + CHUNK]


@dataclass(frozen=True, eq=False)
class _ModelMap:
    """What people say where a model believes so: beliefs to a power, then a table."""

    power: float
    table: Floats | None  # (believed, said); None with many classes
    overall: Floats  # (classes,)
    blend: float = 0.0

    def means(self, beliefs: Floats) -> Floats:
        raised = _raise_to(beliefs, self.power)
        if self.table is None:
            return (1 - self.blend) * raised + self.blend * self.overall
        return raised @ self.table


@dataclass(frozen=True, eq=False)
class _InformedPrior:
    """The components, in the order: shrunk shares' own, scaled, everybody's, the model's."""

    plain: DirichletMixture
    fixed: Floats  # (components, classes): parameters that are the same for all items
    maps: tuple[_ModelMap, ...]
    weight: Floats  # (shrunk shares' components + fixed + maps x strengths,)
    trace: tuple[float, ...] = ()
    converged: bool = False

    def guarded(self, trust: float) -> "_InformedPrior":
        """The Bayes mixture of this with plain shrunk shares."""
        weight = self.weight * trust
        weight[: len(self.plain.weight)] = self.plain.weight * (1 - trust)
        return replace(self, weight=weight)

    def parameters(self, beliefs: Floats | None) -> Iterator[Floats]:
        """Of each component: (classes,) or, where a model has a say, (items, classes)."""
        yield from self.plain.alpha
        yield from self.fixed
        for one in self.maps:
            assert beliefs is not None
            means = one.means(beliefs)
            for strength in STRENGTHS:
                yield strength * means

    def log_likelihoods(self, counts: Floats, beliefs: Floats | None) -> Floats:
        """Of each item's votes under each component, (items, components)."""
        votes = _Votes.of(counts)
        return np.stack([votes.log_likelihood(one) for one in self.parameters(beliefs)], axis=1)

    def belonging(self, counts: Floats, beliefs: Floats | None) -> Floats:
        with np.errstate(divide="ignore"):  # the guard may rule components out
            joint = self.log_likelihoods(counts, beliefs) + np.log(self.weight)
        return posterior_of(joint)[1]

    def posterior_mean(self, counts: Floats, beliefs: Floats | None) -> Floats:
        belonging, total = self.belonging(counts, beliefs), counts.sum(axis=1)
        mean = np.zeros_like(counts)
        for one, mine in zip(self.parameters(beliefs), belonging.T, strict=True):
            share = mine / (total + one.sum(axis=-1))
            mean += share[:, None] * (counts + one)
        return normalise_rows(mean)


@dataclass(frozen=True, eq=False)
class _Votes:
    """Counts without their zeros, for log Γ(c + α) - log Γ(α)."""

    item: Codes
    label: Codes
    count: Floats
    total: Floats  # (items,)

    @classmethod
    def of(cls, counts: Floats) -> "_Votes":
        item, label = np.nonzero(counts)
        return cls(item, label, counts[item, label], counts.sum(axis=1))

    def log_likelihood(self, alpha: Floats) -> Floats:
        alpha = np.maximum(alpha, LEAST)
        mine = alpha[self.label] if alpha.ndim == 1 else alpha[self.item, self.label]
        steps = gammaln(self.count + mine) - gammaln(mine)
        size = alpha.sum(axis=-1)
        own = np.bincount(self.item, weights=steps, minlength=len(self.total))
        return own + gammaln(size) - gammaln(size + self.total)


def _fit(
    counts: Floats,
    beliefs: Floats | None,
    *,
    iterations: int,
    tolerance: float,
    pseudo_votes: float,
) -> _InformedPrior:
    """Components from the votes, then the weights that make the votes most probable."""
    plain = fit_mixture(
        counts, iterations=iterations, tolerance=tolerance, pseudo_votes=pseudo_votes
    )
    few = counts.shape[1] < MANY_CLASSES
    scaled = [plain.alpha * scale for scale in (SCALES if few else (1.0,))]
    everybody = [strength * plain.overall for strength in STRENGTHS]
    fixed = np.concatenate([*scaled, everybody])
    maps = tuple(_maps(counts, beliefs, plain.overall)) if beliefs is not None else ()
    size = len(plain.weight) + len(fixed) + len(maps) * len(STRENGTHS)
    start = np.full(size, 1.0)
    start[: len(plain.weight)] = 0  # shrunk shares come in by the guard alone
    prior = _InformedPrior(plain, fixed, maps, start / start.sum())
    fitted = _fit_weights(
        prior.log_likelihoods(counts, beliefs)[:, len(plain.weight) :],
        iterations=iterations,
        tolerance=tolerance * counts.sum(),
        pseudo_votes=pseudo_votes,
    )
    weight = np.concatenate([np.zeros(len(plain.weight)), fitted.weight])
    return replace(prior, weight=weight, trace=fitted.trace, converged=fitted.converged)


@dataclass(frozen=True, eq=False)
class _Weights:
    """Weights of components, and how the fit climbed."""

    weight: Floats
    trace: tuple[float, ...]
    converged: bool


def _fit_weights(
    log_likelihoods: Floats, *, iterations: int, tolerance: float, pseudo_votes: float
) -> _Weights:
    """The most probable weights of given components, by EM; the likelihood is concave in them."""
    items, components = log_likelihoods.shape
    top = log_likelihoods.max(axis=1, keepdims=True)
    likelihoods, shift = np.exp(log_likelihoods - top), float(top.sum())
    weight = np.full(components, 1 / components)
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        mixed = likelihoods @ weight
        prior = pseudo_votes * float(np.log(weight).mean())
        trace.append(float(np.log(mixed).sum()) + shift + prior)
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance
        counted = weight * ((1 / mixed) @ likelihoods)
        weight = (counted + pseudo_votes / components) / (items + pseudo_votes)
    return _Weights(weight, tuple(trace), converged)


def _maps(counts: Floats, beliefs: Floats, overall: Floats) -> Iterator[_ModelMap]:
    for power in POWERS:
        if counts.shape[1] < MANY_CLASSES:
            yield _ModelMap(
                power, _learn_table(counts, _raise_to(beliefs, power), overall), overall
            )
        else:
            yield from (_ModelMap(power, None, overall, blend) for blend in BLENDS)


def _learn_table(counts: Floats, believed: Floats, overall: Floats) -> Floats:
    """T with q(y) = Σ_c p_c T(y | c): what people say where a model believes c, by EM."""
    start = (np.eye(len(overall)) + overall) / 2
    table = start
    for _ in range(MAP_STEPS):
        ratio = counts / np.maximum(believed @ table, LEAST)
        table = normalise_rows(table * (believed.T @ ratio) + start)
    return table


def _raise_to(beliefs: Floats, power: float) -> Floats:
    return normalise_rows(np.maximum(beliefs, LEAST) ** power)


def _held_out_gain(
    counts: Floats,
    beliefs: Floats | None,
    fitting: partial[_InformedPrior],
    rng: np.random.Generator,
) -> float:
    """How many nats the informed mixture saves on votes of items that it was not fitted to."""
    if len(counts) < 2 * FOLDS:
        return 0.0  # too few items to tell: both have equal say
    fold = rng.permutation(np.arange(len(counts)) % FOLDS)
    gain = 0.0
    for one in range(FOLDS):
        out = fold == one
        prior = fitting(counts[~out], None if beliefs is None else beliefs[~out])
        likelihoods = prior.log_likelihoods(counts[out], None if beliefs is None else beliefs[out])
        gain += _evidence_of(likelihoods, prior.weight)
        gain -= _evidence_of(likelihoods[:, : len(prior.plain.weight)], prior.plain.weight)
    return gain


def _evidence_of(log_likelihoods: Floats, weight: Floats) -> float:
    with np.errstate(divide="ignore"):
        return posterior_of(log_likelihoods + np.log(weight))[0]


def _intervals(
    prior: _InformedPrior,
    counts: Floats,
    beliefs: Floats | None,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> ProbabilityIntervals:
    belonging = prior.belonging(counts, beliefs)
    components = list(prior.parameters(beliefs))

    def parameters(item: Codes, component: Codes) -> Floats:
        found = np.empty((len(item), counts.shape[1]))
        for which in np.unique(component):
            mine, one = component == which, components[which]
            found[mine] = one if one.ndim == 1 else one[item[mine]]
        return np.maximum(found, LEAST)

    return beta_intervals(counts, belonging, parameters, level)
