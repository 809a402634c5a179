"""From votes to one hidden label per item, abilities of annotators and difficulties of items.

GLAD (Whitehill et al. 2009): a vote is right with probability σ(α_w exp(β_i)) and each of the
other K - 1 labels has an equal part of the rest; α and β have normal priors with mean and
variance one. As in the one-coin model each vote needs one number only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.aggregate.evidence import Codes, Evidence, sum_by
from sfumato.labels.aggregate.result import Fit, bootstrap, posterior_of

PRIOR_MEAN = 1.0
"""Mean of the normal priors of α and β, and where both start."""

LEAST_MARGIN = -700.0
"""Below this a vote is wrong for certain, and exp(-margin) would no longer be a number."""

GRADIENT_TOLERANCE = 1e-2
"""When the conjugate gradients of one iteration stop: largest component of the gradient."""

WARM_ITERATIONS = 3
"""Iterations of a bootstrap replicate, which starts from the fitted abilities and difficulties;
fewer would leave it too close to them."""


def glad(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    gradient_steps: int,
) -> Fit:
    """P(t | votes) by expectation–maximisation; quality is the ability α_w.

    Each iteration improves α and β by up to ``gradient_steps`` conjugate-gradient steps. The trace
    is the log-likelihood plus the log-density of the priors. Stops when an iteration gains less
    than ``tolerance`` of it a vote; a negative tolerance never stops early.
    """
    model = _Model.of(evidence, evidence.each_person_once())
    start = np.full(evidence.people + len(evidence.items), PRIOR_MEAN)
    state = _climb(model, start, iterations, tolerance, gradient_steps)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        again = _Model.of(evidence, weight)
        moved = _climb(again, state.parameters, WARM_ITERATIONS, tolerance, gradient_steps)
        return again.posterior(moved.parameters)[1]

    return Fit(
        state.posterior,
        bootstrap(refit, evidence.people),
        quality=state.parameters[: evidence.people],
        difficulty=np.exp(-state.parameters[evidence.people :]),
        trace=state.trace,
        converged=state.converged,
    )


@dataclass(frozen=True, eq=False)
class _State:
    posterior: NDArray[np.float64]  # (items, classes)
    parameters: NDArray[np.float64]  # α of every person, then β of every item
    trace: tuple[float, ...]
    converged: bool


@dataclass(frozen=True, eq=False)
class _Model:
    """Votes, ready for the two steps; entries ascend by item."""

    evidence: Evidence
    votes: NDArray[np.float64]  # (entries,), the weight of each
    first: Codes  # (items,), the first entry of each
    work: NDArray[np.float64]  # (4, entries): used again at every step, as fresh memory is slow

    @classmethod
    def of(cls, evidence: Evidence, weight: NDArray[np.float64]) -> "_Model":
        votes = evidence.votes(weight)
        first = np.searchsorted(evidence.item, np.arange(len(evidence.items)))
        return cls(evidence, votes, first, np.empty((4, len(votes))))

    def posterior(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Log-likelihood plus log-prior, and P(t | votes)."""
        people, (items, classes) = self.evidence.people, self.shape
        margin = parameters[self.evidence.person]
        margin *= np.exp(parameters[people:])[self.evidence.item]
        # log P(right) - log P(one wrong label) = margin + log(K - 1), in the voted class only
        log_others = np.log(max(classes - 1, 1))
        odds = sum_by(self.evidence.cell, self.votes * (margin + log_others), items * classes)
        log_joint = self.evidence.rule_out(odds.reshape(self.shape))
        log_likelihood, posterior = posterior_of(log_joint)
        common = -(self.votes * (np.logaddexp(0, margin) + log_others)).sum()
        common -= items * np.log(classes)  # every class is as probable beforehand
        prior = -0.5 * ((parameters - PRIOR_MEAN) ** 2 + np.log(2 * np.pi)).sum()
        return float(log_likelihood + common + prior), posterior

    def loss(
        self, parameters: NDArray[np.float64], right: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Minus the expected log-joint (without its constants), and its gradient.

        ``right`` is each vote's weight times the posterior probability of its class; with margin
        m = α exp(β) a vote v contributes right·m - v·log(1 + exp m).
        """
        margin, held, small, pull = self.work
        each = self._ease(parameters)
        np.take(parameters, self.evidence.person, out=margin, mode="clip")
        margin *= each
        np.maximum(margin, LEAST_MARGIN, out=held)  # log(1 + exp m) = m + log(1 + exp -m)
        np.negative(held, out=small)
        np.exp(small, out=small)
        np.log1p(small, out=pull)
        off = parameters - PRIOR_MEAN
        value = right @ margin - self.votes @ held - self.votes @ pull - 0.5 * (off @ off)
        small += 1
        np.divide(self.votes, small, out=small)  # v σ(m)
        np.subtract(right, small, out=pull)
        margin *= pull
        pull *= each
        by_person = sum_by(self.evidence.person, pull, self.evidence.people)
        by_item = np.add.reduceat(margin, self.first)
        return -float(value), off - np.concatenate([by_person, by_item])

    @property
    def shape(self) -> tuple[int, int]:
        """Items and classes."""
        return len(self.evidence.items), len(self.evidence.classes)

    def _ease(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """exp β of each entry's item."""
        length = np.diff(self.first, append=len(self.votes))
        return np.repeat(np.exp(parameters[self.evidence.people :]), length)


def _climb(
    model: _Model,
    parameters: NDArray[np.float64],
    iterations: int,
    tolerance: float,
    gradient_steps: int,
) -> _State:
    # imported here: it is large, and the other aggregators do without it
    from scipy.optimize import minimize

    trace: list[float] = []
    converged = False
    posterior = np.empty(model.shape)
    while not converged and len(trace) < iterations:
        log_joint, posterior = model.posterior(parameters)
        trace.append(log_joint)
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance * float(model.votes.sum())
        parameters = minimize(
            model.loss,
            parameters,
            args=(model.votes * posterior.ravel()[model.evidence.cell],),
            method="CG",
            jac=True,
            tol=GRADIENT_TOLERANCE,
            options={"maxiter": gradient_steps},
        ).x
    return _State(posterior, parameters, tuple(trace), converged)
