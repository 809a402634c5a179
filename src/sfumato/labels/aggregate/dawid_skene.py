"""From judgments to one hidden label per item and a confusion matrix for each annotator.

The model (Dawid and Skene 1979): each item has one true label t, drawn from the class shares;
annotator w then says l with probability π_w[t, l]. Expectation–maximisation starts from the vote
shares. A judgment that is a distribution q counts as Π_l π_w[t, l]^q_l, which for a vote is
π_w[t, l] itself: reading distributions (S2-85) is the same computation on fractional entries.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence
from sfumato.labels.aggregate.intervals import bootstrap
from sfumato.labels.aggregate.posterior import posterior_of
from sfumato.labels.aggregate.result import Fit
from sfumato.labels.aggregate.shares import agreement_with, normalise_rows
from sfumato.provenance import Setting

FLOOR = 1e-10
"""Least expected count of an answer that an annotator did give, and least share of a class."""


def dawid_skene(
    evidence: Evidence, *, rng: np.random.Generator, iterations: int, tolerance: float
) -> Fit:
    """P(t | everybody's answers); quality is the expected share of a person's right answers.

    Stops when an iteration gains less than ``tolerance`` log-likelihood a judgment; a
    negative tolerance never stops early.
    """
    state = _climb(evidence, evidence.each_person_once(), iterations, tolerance)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return _climb(evidence, weight, iterations, tolerance).posterior

    return Fit(
        state.posterior,
        bootstrap(refit, evidence.people),
        quality=agreement_with(state.posterior, evidence),
        confusion=state.confusion,
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
    state = _climb(evidence, evidence.each_person_once(), iterations, tolerance)
    row = None if annotator is None else _row_of(evidence, annotator)

    def answers(reached: _State) -> NDArray[np.float64]:
        pooled = normalise_rows(reached.counts.sum(axis=0) + FLOOR)  # (true, said)
        own = pooled if row is None else shrunk_confusion(reached.counts[row], pooled, prior_votes)
        return normalise_rows(reached.posterior @ own)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return answers(_climb(evidence, weight, iterations, tolerance))

    pooled = normalise_rows(state.counts.sum(axis=0) + FLOOR)
    return Fit(
        answers(state),
        bootstrap(refit, evidence.people),
        quality=agreement_with(state.posterior, evidence),
        confusion=shrunk_confusion(state.counts, pooled, prior_votes),
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": _named(evidence, state.posterior)},
    )


def shrunk_confusion(
    counts: NDArray[np.float64], pooled: NDArray[np.float64], prior_votes: float
) -> NDArray[np.float64]:
    """Expected counts ``[..., true, said]`` and some votes like everybody's, as probabilities."""
    more = counts + prior_votes * pooled
    return more / more.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class _State:
    posterior: NDArray[np.float64]  # (items, classes)
    counts: NDArray[np.float64]  # (people, true, said): expected answers under the posterior
    confusion: NDArray[np.float64]  # (people, true, said)
    trace: tuple[float, ...]
    converged: bool


def _climb(
    evidence: Evidence, weight: NDArray[np.float64], iterations: int, tolerance: float
) -> _State:
    """Alternate between P(t | answers) and the confusion matrices, from the shares of the answers.

    Bootstrap replicates start from their own shares too. Started from the full fit they would
    stay there: its matrices were made from labels that are all but certain.
    """
    posterior = normalise_rows(evidence.table(weight))
    answers = _answers(evidence, weight)
    said = _maximise(answers, posterior, evidence)
    enough = tolerance * float(answers.sum())
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        log_shares = np.log(np.maximum(posterior.mean(axis=0), FLOOR))
        log_likelihood, posterior = posterior_of(answers.T @ _logs(said) + log_shares)
        trace.append(log_likelihood)
        converged = len(trace) > 1 and trace[-1] - trace[-2] < enough
        said = _maximise(answers, posterior, evidence)
    shape = evidence.people, len(evidence.classes), len(evidence.classes)
    counts = (answers @ posterior).reshape(shape).transpose(0, 2, 1)
    return _State(
        posterior, counts, said.reshape(shape).transpose(0, 2, 1), tuple(trace), converged
    )


def _answers(evidence: Evidence, weight: NDArray[np.float64]) -> csr_array:
    """All answers, shape (people * classes, items), the rows in the order of people.

    Both steps walk along these rows, so that the confusion matrices, by far the largest table,
    are read from front to back; only the posterior, which is small, is looked up at random.
    """
    classes = len(evidence.classes)
    ends = np.searchsorted(evidence.item, np.arange(len(evidence.items) + 1)).astype(np.int32)
    place = (evidence.person * classes + evidence.label).astype(np.int32)
    by_item = csr_array(
        (evidence.mass * weight[evidence.person], place, ends),
        shape=(len(evidence.items), evidence.people * classes),
    )
    return by_item.T.tocsr()


def _maximise(
    answers: csr_array, posterior: NDArray[np.float64], evidence: Evidence
) -> NDArray[np.float64]:
    """P(said | true) for each person, shape (people, said, true); 0 for answers never given."""
    classes = len(evidence.classes)
    said = (answers @ posterior).reshape(evidence.people, classes, classes)
    np.maximum(said, FLOOR, out=said)
    said *= (np.diff(answers.indptr) > 0).reshape(evidence.people, classes, 1)
    said /= np.einsum("wlt->wt", said)[:, None]  # a sum, faster than .sum over a middle axis
    return said


def _logs(said: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):  # answers never given are never looked up
        return np.log(said).reshape(-1, said.shape[2])


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
