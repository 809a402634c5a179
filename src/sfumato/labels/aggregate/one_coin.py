"""From votes to one hidden label per item and a single skill for each annotator.

The one-coin model (Zhang et al. 2016): annotator w gives the true label with probability s_w and
each of the other K - 1 labels with probability (1 - s_w) / (K - 1). One number per vote is then
enough: the log-odds it adds to the class it names.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.aggregate.answers import FLOOR
from sfumato.labels.aggregate.evidence import Evidence, sum_by
from sfumato.labels.aggregate.intervals import bootstrap
from sfumato.labels.aggregate.posterior import posterior_of
from sfumato.labels.aggregate.result import Fit
from sfumato.labels.aggregate.shares import share_agreed, winners

FAR = 0.05
"""So much less agreement with the votes than the majority's is told."""


def one_coin(
    evidence: Evidence, *, rng: np.random.Generator, iterations: int, tolerance: float
) -> Fit:
    """P(t | votes) by expectation–maximisation from the vote shares; quality is the skill s_w.

    Stops when an iteration gains less than ``tolerance`` log-likelihood a vote; a negative
    tolerance never stops early.
    """
    state = _climb(evidence, evidence.each_person_once(), iterations, tolerance)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return _climb(evidence, weight, iterations, tolerance).posterior

    shares = np.maximum(state.posterior.mean(axis=0), FLOOR)
    return Fit(
        state.posterior,
        bootstrap(refit, evidence.people),
        quality=state.skill,
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": dict(zip(evidence.classes, shares.tolist(), strict=True))},
        remarks=_remarks(evidence, state.posterior),
    )


def _remarks(evidence: Evidence, posterior: NDArray[np.float64]) -> tuple[str, ...]:
    """Where a few people who agree with each other have outvoted everybody else."""
    counts = evidence.table(evidence.each_person_once())
    agreed, most = (share_agreed(counts, winners(table)) for table in (posterior, counts))
    if most - agreed <= FAR or evidence.gold is not None:  # known labels may outvote people
        return ()
    other = (winners(posterior) * winners(counts)).sum(axis=1) == 0
    return (
        f"one-coin agrees with {agreed:.1%} of the votes, the majority with {most:.1%}, and it "
        f"contradicts the majority on {int(other.sum()):,} of {len(other):,} items: one skill per "
        "person may not fit these answers. Compare with dawid-skene or majority.",
    )


@dataclass(frozen=True, eq=False)
class _State:
    posterior: NDArray[np.float64]  # (items, classes)
    skill: NDArray[np.float64]  # (people,)
    trace: tuple[float, ...]
    converged: bool


def _climb(
    evidence: Evidence, weight: NDArray[np.float64], iterations: int, tolerance: float
) -> _State:
    posterior = evidence.start(weight)
    votes = evidence.votes(weight)
    given = sum_by(evidence.person, votes, evidence.people)
    work = np.empty_like(votes)  # one place for what each vote needs, used again and again
    skill = _right_votes(evidence, posterior, votes, work) / given
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        right, wrong = _log_probabilities(skill, len(evidence.classes))
        np.take(right - wrong, evidence.person, out=work, mode="clip")
        work *= votes
        odds = sum_by(evidence.cell, work, posterior.size)
        log_shares = np.log(np.maximum(posterior.mean(axis=0), FLOOR))
        log_joint = evidence.rule_out(odds.reshape(posterior.shape) + log_shares)
        log_likelihood, posterior = posterior_of(log_joint)
        trace.append(log_likelihood + float(given @ wrong))  # what all classes have in common
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance * float(given.sum())
        skill = _right_votes(evidence, posterior, votes, work) / given
    return _State(posterior, skill, tuple(trace), converged)


def _right_votes(
    evidence: Evidence,
    posterior: NDArray[np.float64],
    votes: NDArray[np.float64],
    work: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How many of each person's votes are right, in expectation."""
    np.take(posterior.ravel(), evidence.cell, out=work, mode="clip")
    work *= votes
    return sum_by(evidence.person, work, evidence.people)


def _log_probabilities(
    skill: NDArray[np.float64], classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of the probability of the true label and of each other one."""
    others = max(classes - 1, 1)  # with a single class there is no other label to give
    right = np.clip(skill, FLOOR, 1 - FLOOR)
    wrong = np.clip((1 - skill) / others, FLOOR, 1 - FLOOR)
    return np.log(right), np.log(wrong)
