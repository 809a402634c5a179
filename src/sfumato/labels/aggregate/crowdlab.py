"""From votes and a classifier's predictions to one hidden label per item (Goh et al. 2022).

CROWDLAB averages the classifier's distribution with one made from each vote, in proportion to
how far each is better than always naming the commonest class. The formulas are cleanlab's, and
so are the weights; the whole distribution is returned. The consensus that the weights are judged
against is first the majority, then the class that the first average favours.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence, sum_by
from sfumato.labels.aggregate.result import Fit, bootstrap
from sfumato.labels.aggregate.shares import agreement_with_others, best_among

LEAST = 1e-6
"""Least weight of an annotator or classifier, and least error of naming the commonest class."""


def crowdlab(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """Weighted average of predictions and votes; quality is an annotator's weight.

    An annotator's weight is 1 - e_w / e, with e_w how often they differ from others on the same
    item and e how often the consensus is not the commonest class; the classifier's is the same with
    its disagreement from the consensus, times √(mean votes per item). Neither is below 1e-6.
    """
    if evidence.predictions is None:
        raise DataError("'crowdlab' needs a classifier's predictions: pass 'predictions'.")
    several = sum_by(evidence.item, evidence.mass, len(evidence.items)) > 1
    if not several.any():
        raise DataError(
            "'crowdlab' compares annotators with each other, but no item has two votes. "
            "Use 'vote-shares' or a classifier on its own."
        )
    luck = rng.random(evidence.predictions.shape)
    predictions = evidence.predictions

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return _average(evidence, predictions, weight, several, luck).probs

    result = _average(evidence, predictions, evidence.each_person_once(), several, luck)
    return Fit(
        result.probs,
        bootstrap(refit, evidence.people),
        quality=result.annotator_weight,
        fitted={"model_weight": result.model_weight, "consensus_agreement": result.agreement},
    )


@dataclass(frozen=True, eq=False)
class _Average:
    probs: NDArray[np.float64]  # (items, classes)
    annotator_weight: NDArray[np.float64]  # (people,)
    model_weight: float
    agreement: float


def _average(
    evidence: Evidence,
    predictions: NDArray[np.float64],
    weight: NDArray[np.float64],
    several: NDArray[np.bool_],
    luck: NDArray[np.float64],
) -> _Average:
    counts = evidence.table(weight)
    agreement = _agreement(evidence, weight, counts)
    first = _majority(evidence, weight, counts, predictions, luck)
    trust = partial(_weighted, evidence, weight, counts, predictions, several, agreement)
    rough = trust(first)
    best = rough.probs == rough.probs.max(axis=1, keepdims=True)
    clear = best.sum(axis=1) == 1
    consensus = np.where(clear, best.argmax(axis=1), first)
    return trust(consensus)


def _weighted(
    evidence: Evidence,
    weight: NDArray[np.float64],
    counts: NDArray[np.float64],
    predictions: NDArray[np.float64],
    several: NDArray[np.bool_],
    agreement: NDArray[np.float64],
    consensus: NDArray[np.intp],
) -> _Average:
    """The average of predictions and votes, with weights judged against a consensus."""
    others = max(len(evidence.classes) - 1, 1)
    sizes = counts.sum(axis=1)
    voted = np.take_along_axis(counts, consensus[:, None], axis=1)[:, 0] / sizes
    likely = float(voted[several].mean())  # that any vote is the consensus
    unlikely = (1 - likely) / others

    agreed = consensus[several]
    commonest = np.bincount(agreed, minlength=len(evidence.classes)).argmax()
    commonest_error = max(float((agreed != commonest).mean()), LEAST)
    people = np.maximum(1 - (1 - agreement) / commonest_error, LEAST)  # (people,)
    model_error = float((predictions[several].argmax(axis=1) != agreed).mean())
    model = max(1 - model_error / commonest_error, LEAST) * float(np.sqrt(sizes.mean()))

    trusted = evidence.table(people * weight)  # (items, classes)
    total = trusted.sum(axis=1, keepdims=True)
    votes = trusted * likely + (total - trusted) * unlikely
    return _Average((predictions * model + votes) / (total + model), people, model, likely)


def _agreement(
    evidence: Evidence, weight: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How often each person agrees with another on the same item; the mean for who met nobody."""
    agreed, pairs = agreement_with_others(evidence, weight, counts)
    met = pairs > 0
    rate = np.divide(agreed, pairs, where=met, out=np.zeros(len(pairs)))
    return np.where(met, rate, rate[met].mean())


def _majority(
    evidence: Evidence,
    weight: NDArray[np.float64],
    counts: NDArray[np.float64],
    predictions: NDArray[np.float64],
    luck: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Most votes; ties go to what the classifier favours, then the rarer class, then to the
    voters who agree more with clear majorities, then by chance.
    """
    most = counts == counts.max(axis=1, keepdims=True)
    clear = most.sum(axis=1) == 1
    open_to = best_among(most, predictions)
    open_to = best_among(open_to, np.broadcast_to(-counts.sum(axis=0), counts.shape))
    if (open_to.sum(axis=1) > 1).any():
        open_to = best_among(open_to, _standing(evidence, weight, counts, clear))
        open_to = best_among(open_to, luck)
    return open_to.argmax(axis=1)


def _standing(
    evidence: Evidence,
    weight: NDArray[np.float64],
    counts: NDArray[np.float64],
    clear: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """For each item and class, how often its voters are with the majority where that is clear."""
    winner = counts.argmax(axis=1)
    counted = clear[evidence.item] * evidence.mass
    with_it = counted * (winner[evidence.item] == evidence.label)
    chances = sum_by(evidence.person, counted, evidence.people)
    rate = sum_by(evidence.person, with_it, evidence.people) / np.maximum(chances, 1)
    known = chances > 0
    rate[~known] = rate[known].mean() if known.any() else 0.0
    return evidence.table(rate * weight) / np.maximum(counts, LEAST)
