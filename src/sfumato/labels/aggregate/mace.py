"""From votes to one hidden label per item, and for each annotator how often they try.

MACE (Hovy et al. 2013): with probability θ_w annotator w gives the true label; otherwise they
answer without looking, from an own distribution ξ_w over the classes. Variational Bayes with the
priors Beta(½, ½) on θ and Dirichlet(10) on ξ, in logarithms throughout.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, expit, gammaln

from sfumato.labels.aggregate.evidence import Codes, Evidence, sum_by
from sfumato.labels.aggregate.result import Fit, bootstrap, posterior_of
from sfumato.labels.aggregate.shares import agreement_with_others
from sfumato.names import format_count

TRYING_PRIOR = 0.5
"""Both parameters of the Beta prior on θ."""

STRATEGY_PRIOR = 10.0
"""The parameter, for each class, of the Dirichlet prior on ξ."""

END = 0.01
"""So near to 0 or 1 the expected share of answers that somebody looked for is at an end."""

MANY = 0.2
"""The share of votes by such people from which on it is told."""


def mace(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    restarts: int,
) -> Fit:
    """P(t | votes) from the best of several starts; quality is the posterior mean of θ_w.

    The trace is the variational bound on the log-likelihood, by which starts are compared. Stops
    when an iteration gains less than ``tolerance`` of it a vote; a negative one never stops early.
    """
    model = _Model.of(evidence, evidence.each_person_once())
    starts = _starts(evidence, model, restarts, rng)
    ends = [_climb(model, start, iterations, tolerance) for start in starts]
    best = _best(ends)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        again = _Model.of(evidence, weight)
        return _climb(again, best.beliefs, iterations, tolerance).posterior

    trying, strategy = best.beliefs.means()
    return Fit(
        best.posterior,
        bootstrap(refit, evidence.people),
        quality=trying,
        confusion=partial(_confusion, trying, strategy),
        trace=best.trace,
        converged=best.converged,
        fitted={"bound_of_each_start": [end.trace[-1] for end in ends]},
        remarks=_remarks(evidence, best.beliefs.tried),
    )


def _remarks(evidence: Evidence, tried: NDArray[np.float64]) -> tuple[str, ...]:
    """Where many votes are by people whom the fit takes to never, or always, look."""
    given = sum_by(evidence.person, evidence.votes(evidence.each_person_once()), evidence.people)
    ends = {"never": tried / given < END, "always": tried / given > 1 - END}
    votes = {word: float(given[at].sum() / given.sum()) for word, at in ends.items()}
    if sum(votes.values()) < MANY:
        return ()
    told = " and ".join(
        f"{format_count(int(at.sum()), 'person', 'people')} with {votes[word]:.1%} of the votes "
        f"{word} look"
        for word, at in ends.items()
        if at.any()
    )
    return (
        f"mace ended at an end point: it takes it that {told} before they answer (an expected "
        f"share of looks below {END:g} or above {1 - END:g}). The votes of the former count for "
        "nothing, those of the latter are taken as proof; compare with dawid-skene.",
    )


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """Expected counts: how often each person tried, and what they said when they did not."""

    tried: NDArray[np.float64]  # (people,)
    blind: NDArray[np.float64]  # (people, classes)

    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior means of θ and ξ."""
        tries, strategy = self._parameters()
        return tries[:, 0] / tries.sum(axis=1), strategy / strategy.sum(axis=1, keepdims=True)

    def log_parameters(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """E[log θ], shape (people, 1), and E[log (1 - θ) + log ξ], shape (people, classes)."""
        tries, strategy = self._parameters()
        log_tries = digamma(tries) - digamma(tries.sum(axis=1, keepdims=True))
        log_strategy = digamma(strategy) - digamma(strategy.sum(axis=1, keepdims=True))
        return log_tries[:, :1], log_tries[:, 1:] + log_strategy

    def divergence(self) -> float:
        """Kullback–Leibler divergence of the beliefs about all θ and ξ from their priors."""
        tries, strategy = self._parameters()
        return _dirichlet_divergence(tries, TRYING_PRIOR) + _dirichlet_divergence(
            strategy, STRATEGY_PRIOR
        )

    def _parameters(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        tries = np.stack([self.tried, self.blind.sum(axis=1)], axis=1) + TRYING_PRIOR
        return tries, self.blind + STRATEGY_PRIOR


@dataclass(frozen=True, eq=False)
class _Model:
    cell: Codes  # place of each vote among items by classes
    answer: Codes  # place of each vote among people by classes
    votes: NDArray[np.float64]  # (entries,), the weight of each
    given: NDArray[np.float64]  # (people, classes), sum of votes
    evidence: Evidence

    @classmethod
    def of(cls, evidence: Evidence, weight: NDArray[np.float64]) -> "_Model":
        answer = evidence.person * len(evidence.classes) + evidence.label
        votes = evidence.votes(weight)
        shape = evidence.people, len(evidence.classes)
        given = sum_by(answer, votes, shape[0] * shape[1]).reshape(shape)
        return cls(evidence.cell, answer, votes, given, evidence)


@dataclass(frozen=True, eq=False)
class _State:
    posterior: NDArray[np.float64]  # (items, classes)
    beliefs: _Beliefs
    trace: tuple[float, ...]
    converged: bool


def _climb(model: _Model, beliefs: _Beliefs, iterations: int, tolerance: float) -> _State:
    people, classes = model.given.shape
    trace: list[float] = []
    converged = False
    posterior = np.empty((len(model.evidence.items), classes))
    while not converged and len(trace) < iterations:
        log_try, log_blind = beliefs.log_parameters()
        odds = np.logaddexp(0, log_try - log_blind)  # log of (try or blind) over (blind)
        own = sum_by(model.cell, model.votes * odds.ravel()[model.answer], posterior.size)
        log_joint = own.reshape(posterior.shape) - np.log(classes)
        log_likelihood, posterior = posterior_of(model.evidence.rule_out(log_joint))
        bound = log_likelihood + float((model.given * log_blind).sum()) - beliefs.divergence()
        trace.append(bound)
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance * model.given.sum()
        right = model.votes * posterior.ravel()[model.cell]
        hits = sum_by(model.answer, right, model.given.size).reshape(people, classes)
        tried = hits * -np.expm1(-odds)  # P(tried | right) = 1 - blind / (try + blind)
        beliefs = _Beliefs(tried.sum(axis=1), np.maximum(model.given - tried, 0))
    return _State(posterior, beliefs, tuple(trace), converged)


def _starts(
    evidence: Evidence, model: _Model, restarts: int, rng: np.random.Generator
) -> list[_Beliefs]:
    """Everybody tries half of the time; then starts that trust agreement more, less, or against it.

    A start is two random numbers that turn a person's agreement with others into how often they
    try. It knows no names and no order, so renaming people cannot change the answer.
    """
    agreed, pairs = agreement_with_others(evidence, evidence.each_person_once())
    agreement = agreed / np.maximum(pairs, 1)
    spread = agreement.std()
    score = (agreement - agreement.mean()) / spread if spread > 1e-9 else np.zeros(len(agreement))
    tilts = [(0.0, 0.0), *rng.normal(0, (1, 2), size=(restarts - 1, 2)).tolist()]
    tries = [expit(level + slope * score) for level, slope in tilts]
    return [
        _Beliefs(model.given.sum(axis=1) * often, model.given * (1 - often)[:, None])
        for often in tries
    ]


def _best(ends: list[_State]) -> _State:
    """The end with the highest bound; of practically equal ones, the first.

    Mirror images of a solution have the same bound up to rounding, which must not choose.
    """
    best = ends[0]
    for end in ends[1:]:
        if end.trace[-1] > best.trace[-1] + 1e-7 * abs(best.trace[-1]):
            best = end
    return best


def _dirichlet_divergence(parameters: NDArray[np.float64], prior: float) -> float:
    """Σ KL(Dirichlet(row) || Dirichlet(prior, prior, …))."""
    width = parameters.shape[1]
    sums = parameters.sum(axis=1, keepdims=True)
    logs = digamma(parameters) - digamma(sums)  # E[log p]
    normalisers = gammaln(sums[:, 0]) - gammaln(parameters).sum(axis=1)
    prior_normaliser = gammaln(width * prior) - width * gammaln(prior)
    return float((normalisers - prior_normaliser + ((parameters - prior) * logs).sum(axis=1)).sum())


def _confusion(
    trying: NDArray[np.float64], strategy: NDArray[np.float64], person: int
) -> NDArray[np.float64]:
    """[true, said] = θ [said = true] + (1 - θ) ξ[said]."""
    knows = trying[person] * np.eye(strategy.shape[1])
    return knows + (1 - trying[person]) * strategy[person]
