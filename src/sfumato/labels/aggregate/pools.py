"""From distributions and a weight for each annotator to one pooled distribution per item."""

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence, sum_by
from sfumato.labels.aggregate.intervals import bootstrap
from sfumato.labels.aggregate.result import Fit
from sfumato.labels.aggregate.shares import normalise_rows


def linear_pool(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """Weighted average, P = Σ w_m p_m / Σ w_m; without given weights it is the mean."""

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(evidence.table(weight))

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=evidence.weight)


def log_pool(evidence: Evidence, *, rng: np.random.Generator, floor: float) -> Fit:
    """Weighted geometric mean, P ∝ Π max(p_m, floor)^(w_m / Σ w).

    Without the floor a single zero would veto a class. A class to which all of an
    item's judgments give zero stays at zero.
    """
    if not 0 < floor < 1:
        raise DataError(
            f"The floor of the logarithmic pool is {floor}; it must be between 0 and 1."
        )
    # log max(p, floor) = log floor + rise; the first part is the same for every class
    rise = np.log(np.maximum(evidence.mass, floor)) - np.log(floor)
    shape = len(evidence.items), len(evidence.classes)
    possible = evidence.table(evidence.each_person_once()) > 0

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        person = (evidence.weight * weight)[evidence.person]
        rises = sum_by(evidence.cell, person * rise, possible.size).reshape(shape)
        share = sum_by(evidence.item, person * evidence.mass, shape[0])[:, None]
        log_probs = np.where(possible, rises / share, -np.inf)
        return normalise_rows(np.exp(log_probs - log_probs.max(axis=1, keepdims=True)))

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=evidence.weight)


def skill_weighted_pool(evidence: Evidence, *, rng: np.random.Generator, prior_pairs: float) -> Fit:
    """Linear pool in which a person weighs as much as they agree with the others.

    The weight is the mean probability that an answer of theirs equals the answer of another
    person about the same item, Σ p_m·p_j / (number of such pairs), with ``prior_pairs`` pairs of
    average agreement added, so that few answers neither silence a person nor make them an expert.
    """
    if not prior_pairs > 0:
        raise DataError(f"'prior_pairs' is {prior_pairs}; it must be above zero.")

    def skills(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        agreed, pairs = agreement_with_others(evidence, weight)
        overall = agreed.sum() / pairs.sum() if agreed.sum() else 1.0
        return (agreed + prior_pairs * overall) / (pairs + prior_pairs)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(evidence.table(skills(weight) * weight))

    once = evidence.each_person_once()
    return Fit(refit(once), bootstrap(refit, evidence.people), quality=skills(once))


def agreement_with_others(
    evidence: Evidence, weight: NDArray[np.float64], table: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each person, the agreement with others summed over pairs of answers, and the pairs.

    For votes an answer's agreement with the n - 1 others is (votes for it - 1) / (n - 1).
    ``table`` is the evidence's, where it is known.
    """
    table = evidence.table(weight) if table is None else table
    same = table.ravel()[evidence.cell]
    same -= evidence.votes(weight)
    agreed = sum_by(evidence.person, evidence.times_mass(same), evidence.people)
    anybody = table.sum(axis=1)[evidence.item]
    anybody -= (weight * evidence.weight)[evidence.person]
    pairs = sum_by(evidence.person, evidence.times_mass(anybody), evidence.people)
    return np.maximum(agreed, 0), np.maximum(pairs, 0)  # rounding must not make them negative
