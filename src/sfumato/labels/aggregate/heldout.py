"""Score aggregators by how well they predict judgments that they have not seen.

No ground truth is needed: a part of each item's judgments is held out, each aggregator is fitted
to the rest, and the held-out judgments are coded with its labels. Lower is better. An aggregator
that answers "which label is true" is scored by the same rule, which shows what it costs to use
its belief as a description of people.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate import AGGREGATORS, Aggregation, Estimand, aggregate
from sfumato.labels.aggregate.evidence import Codes
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.names import find
from sfumato.provenance import Step

FLOOR = 1e-3
"""Least probability that a judgment is coded with: one impossible answer costs 6.9 nats, not ∞."""

OF_PERSON = " (named annotator)"
"""Behind the name of an aggregator whose prediction knows who is going to answer."""


@dataclass(frozen=True)
class HeldOutLoss:
    """How well one aggregator predicts held-out judgments."""

    aggregator: str
    estimand: Estimand
    log_loss: float
    """Mean cross-entropy of held-out judgments in nats, averaged over splits."""
    low: float
    """The best split."""
    high: float
    """The worst split."""


def held_out_log_loss(
    crowd: CrowdLabels,
    names: Sequence[str],
    *,
    rng: np.random.Generator,
    splits: int = 5,
    share: float = 1 / 3,
    predictions: LabelSet | None = None,
) -> list[HeldOutLoss]:
    """Mean log-loss of held-out judgments for each aggregator, over random splits.

    From each item a ``share`` of its judgments is held out (rounded, never all of them), and
    coded with the probabilities fitted to the rest, which are not taken below ``FLOOR``. For a
    judgment that is a distribution q the loss is its cross-entropy, -Σ q log p. All aggregators see
    the same splits. "dawid-skene-next" gets a second row that predicts each held-out judgment from
    its author's own confusion matrix.
    """
    for name in names:
        find(AGGREGATORS, name, what="aggregator")
    losses: dict[str, list[float]] = {}
    for own in rng.spawn(splits):  # so that no split depends on what aggregators draw
        out = _held_out(crowd, share, own)
        for name, loss in _score_split(crowd, out, names, predictions, own):
            losses.setdefault(name, []).append(loss)
    return [
        HeldOutLoss(
            aggregator=name,
            estimand=AGGREGATORS[name.removesuffix(OF_PERSON)].estimand,
            log_loss=float(np.mean(values)),
            low=min(values),
            high=max(values),
        )
        for name, values in losses.items()
    ]


def _score_split(
    crowd: CrowdLabels,
    out: NDArray[np.bool_],
    names: Sequence[str],
    predictions: LabelSet | None,
    rng: np.random.Generator,
) -> Iterator[tuple[str, float]]:
    kept = crowd.take(~out, Step("hold out judgments", {"held_out": int(out.sum())}))
    for name in names:
        reads = AGGREGATORS[name].reads
        given = predictions if "predictions" in reads else None
        result = aggregate(kept, name, rng=rng, predictions=given)
        row = _rows_of(crowd, result)[crowd.item]
        scored = out & (row >= 0)  # an item whose kept judgments all tie casts no vote
        yield name, _log_loss(crowd, scored, result.labels.probs[row[scored]])
        if name == "habits":
            person = _annotators_of(crowd, result)[crowd.annotator[scored]]
            yield f"{name}{OF_PERSON}", _log_loss(crowd, scored, _own(result, row[scored], person))
        if name == "dawid-skene-next":
            beliefs = aggregate(kept, "dawid-skene", rng=rng).labels.probs
            person = _annotators_of(crowd, result)[crowd.annotator[scored]]
            own = _next_of(result, beliefs, row[scored], person)
            yield f"{name}{OF_PERSON}", _log_loss(crowd, scored, own)


def _held_out(crowd: CrowdLabels, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which judgments to hold out: a share of each item's, at random."""
    if not 0 < share < 1:
        raise DataError(f"The share to hold out is {share}; it must be between 0 and 1.")
    judgments = np.bincount(crowd.item, minlength=len(crowd.items))
    order = np.lexsort((rng.random(len(crowd)), crowd.item))
    first = np.cumsum(judgments) - judgments
    place = np.empty(len(crowd), dtype=np.intp)  # of each judgment among its item's, shuffled
    place[order] = np.arange(len(crowd)) - first[crowd.item[order]]
    number = np.minimum(np.floor(judgments * share + 0.5), judgments - 1)
    out: NDArray[np.bool_] = place < number[crowd.item]
    if not out.any():
        raise DataError(
            "No judgment can be held out: no item has enough of them. "
            "Comparing aggregators needs items with at least two judgments."
        )
    return out


def _log_loss(crowd: CrowdLabels, scored: NDArray[np.bool_], probs: NDArray[np.float64]) -> float:
    said, log_probs = crowd.said[scored], np.log(np.maximum(probs, FLOOR))
    if crowd.votes is not None:  # the one class that was chosen
        chosen = crowd.answers.argmax(axis=1)[said]
        return float(-log_probs[np.arange(len(said)), chosen].mean())
    return float(-(crowd.answers[said] * log_probs).sum(axis=1).mean())


def _rows_of(crowd: CrowdLabels, result: Aggregation) -> Codes:
    """For each item of the crowd its row in the labels, -1 where it has none."""
    position = {name: row for row, name in enumerate(result.labels.items)}
    return np.array([position.get(name, -1) for name in crowd.items], dtype=np.intp)


def _annotators_of(crowd: CrowdLabels, result: Aggregation) -> Codes:
    """For each annotator of the crowd their confusion matrix, -1 where they have none."""
    position = {name: row for row, name in enumerate(result.annotators)}
    return np.array([position.get(name, -1) for name in crowd.annotators], dtype=np.intp)


def _next_of(
    result: Aggregation, beliefs: NDArray[np.float64], row: Codes, person: Codes
) -> NDArray[np.float64]:
    """What each person would say of each item; people's answer for who was never seen."""
    assert result.confusions is not None
    own = result.labels.probs[row].copy()
    order = np.argsort(person, kind="stable")
    ends = np.searchsorted(person[order], np.arange(len(result.annotators) + 1))
    for place in range(len(result.annotators)):
        theirs = order[ends[place] : ends[place + 1]]
        if len(theirs):
            own[theirs] = beliefs[row[theirs]] @ result.confusions(place)
    return own


def _own(result: Aggregation, row: Codes, person: Codes) -> NDArray[np.float64]:
    """What each person would say by their own habits; people's answer for who was never seen."""
    assert result.types is not None and result.habits is not None
    own = np.empty((len(row), result.habits.shape[2]))
    for who in np.unique(person):
        mine = person == who
        own[mine] = (
            result.types[row[mine]] @ result.habits[who]
            if who >= 0
            else result.labels.probs[row[mine]]
        )
    return own
