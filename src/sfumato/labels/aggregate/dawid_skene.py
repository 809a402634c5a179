"""From judgments to one hidden label per item and a confusion matrix for each annotator.

The model (Dawid and Skene 1979): each item has one true label t, drawn from the class shares;
annotator w then says l with probability π_w[t, l]. Expectation–maximisation starts from the vote
shares. A judgment that is a distribution q counts as Π_l π_w[t, l]^q_l, which for a vote is
π_w[t, l] itself: reading distributions (S2-85) is the same computation on fractional entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate.answers import (
    FLOOR,
    Answers,
    InitialCounts,
    SparseAnswers,
    initial_counts,
)
from sfumato.labels.aggregate.evidence import Evidence
from sfumato.labels.aggregate.intervals import bootstrap
from sfumato.labels.aggregate.result import ConfusionOf, Fit
from sfumato.labels.aggregate.shares import agreement_with, normalise_rows
from sfumato.provenance import Setting

DENSE = 2**24
"""Up to so many numbers (people × classes × classes, 134 MB) confusions are held in full."""

Confusions = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Annotator, true label, label said: how often, or how probably."""


def dawid_skene(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    initial_confusions: Confusions | None = None,
    initial: str = "add",
) -> Fit:
    """P(t | everybody's answers); quality is the expected share of a person's right answers.

    Stops when an iteration gains less than ``tolerance`` log-likelihood a judgment; a
    negative tolerance never stops early. ``initial_confusions`` only decide where it starts:
    earlier counts are added to those of the vote shares ("add"), or stand in for them ("assign").
    """
    start = initial_counts(evidence, initial_confusions, initial)
    state = climb(evidence, evidence.each_person_once(), iterations, tolerance, start)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return climb(evidence, weight, iterations, tolerance, start).posterior

    return Fit(
        state.posterior,
        bootstrap(refit, evidence.people),
        quality=agreement_with(state.posterior, evidence),
        confusion=state.confusion_of,
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": _named(evidence, state.posterior)},
    )


def dawid_skene_next(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    annotator: str | None,
    prior_votes: float,
) -> Fit:
    """What the next annotator would say: Σ_t P(t | answers) π[t, l].

    Without ``annotator`` π is everybody's answers pooled. For a named one it is their own matrix,
    with ``prior_votes`` votes for each true label that follow the pooled matrix: most people
    have seen few items of most classes.
    """
    row = None if annotator is None else _row_of(evidence, annotator)

    def pool(reached: State, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(reached.posterior.T @ evidence.table(weight) + FLOOR)  # (true, said)

    def answers(reached: State, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        own = pooled = pool(reached, weight)
        if row is not None:
            own = shrunk_confusion(reached.counts_of(row), pooled, prior_votes)
        return normalise_rows(reached.posterior @ own)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return answers(climb(evidence, weight, iterations, tolerance), weight)

    once = evidence.each_person_once()
    state = climb(evidence, once, iterations, tolerance)
    pooled = pool(state, once)
    return Fit(
        answers(state, once),
        bootstrap(refit, evidence.people),
        quality=agreement_with(state.posterior, evidence),
        confusion=lambda person: shrunk_confusion(state.counts_of(person), pooled, prior_votes),
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": _named(evidence, state.posterior)},
    )


def shrunk_confusion(
    counts: NDArray[np.float64], pooled: NDArray[np.float64], prior_votes: float
) -> NDArray[np.float64]:
    """Expected counts ``[true, said]`` and some votes like everybody's, as probabilities."""
    more = counts + prior_votes * pooled
    return more / more.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class State:
    """Where expectation–maximisation ended."""

    posterior: NDArray[np.float64]  # (items, classes)
    confusion_of: ConfusionOf
    counts_of: ConfusionOf
    """A person's expected answers under the posterior, [true, said]."""
    trace: tuple[float, ...]
    converged: bool


def climb(
    evidence: Evidence,
    weight: NDArray[np.float64],
    iterations: int,
    tolerance: float,
    initial: InitialCounts | None = None,
) -> State:
    """Alternate between P(t | answers) and the confusion matrices, from the shares of the answers.

    Bootstrap replicates start from their own shares too. Started from the full fit they would
    stay there: its matrices were made from labels that are all but certain.
    """
    numbers = evidence.people * len(evidence.classes) ** 2
    kind: Any = Answers if numbers <= DENSE else SparseAnswers  # each with its own kind of beliefs
    answers = kind.of(evidence, weight)
    posterior = answers.beliefs(evidence.start(weight))
    said = answers.maximise(posterior, initial)
    enough = tolerance * answers.votes
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        log_shares = np.log(np.maximum(posterior.mean(axis=0), FLOOR))
        log_likelihood, posterior = answers.expect(said, log_shares, evidence)
        trace.append(log_likelihood)
        converged = len(trace) > 1 and trace[-1] - trace[-2] < enough
        said = answers.maximise(posterior)
    return State(
        answers.in_full(posterior),
        answers.confusion_of(said),
        answers.counts_of(posterior),
        tuple(trace),
        converged,
    )


def _row_of(evidence: Evidence, annotator: str) -> int:
    if annotator not in evidence.annotators:
        raise DataError(
            f"The next answer of {annotator!r} was asked for, who judged nothing here. "
            "Leave 'annotator' out to predict what people in general would say."
        )
    return evidence.annotators.index(annotator)


def _named(evidence: Evidence, posterior: NDArray[np.float64]) -> dict[str, Setting]:
    shares = np.maximum(posterior.mean(axis=0), FLOOR)
    return dict(zip(evidence.classes, shares.tolist(), strict=True))
