"""CROWDLAB against loops over a wide table, following cleanlab 2.9.0's formulas."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import LabelSet
from sfumato.labels.votes import Votes, votes_of_columns


@dataclass(frozen=True)
class Work:
    wide: NDArray[np.float64]  # (items, annotators), NaN where not asked
    predictions: NDArray[np.float64]  # (items, classes)

    @property
    def votes(self) -> Votes:
        item, who = np.nonzero(~np.isnan(self.wide))
        return votes_of_columns(item, who, self.wide[item, who].astype(int))

    @property
    def labels(self) -> LabelSet:
        return LabelSet(self.votes.items, self.votes.classes, self.predictions)


def work(seed: int, asked: float) -> Work:
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=9)
    right = rng.random((9, 5)) < 0.7
    wide = np.where(right, truth[:, None], rng.integers(3, size=(9, 5))).astype(float)
    wide[rng.random(wide.shape) > asked] = np.nan
    wide[:2] = [[0, 1, 2, 0, 0], [2, 2, 1, 1, 0]]
    wide[2] = [0, np.nan, np.nan, np.nan, np.nan]
    hermit = np.full((9, 1), np.nan)  # judges one item, which nobody else does
    wide[3], hermit[3] = np.nan, 2
    wide = np.hstack([wide, hermit])
    empty = np.isnan(wide).all(axis=1)
    wide[empty, 0] = 1
    scores = np.exp(rng.normal(size=(9, 3)) + 1.5 * np.eye(3)[truth])
    return Work(wide, scores / scores.sum(axis=1, keepdims=True))


def loops(given: Work) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Distribution, annotator weights and model weight, as cleanlab computes them."""
    number = (~np.isnan(given.wide)).sum(axis=1)
    counts = np.stack([(given.wide == k).sum(axis=1) for k in range(3)], axis=1)
    tied = [np.flatnonzero(row == row.max()) for row in counts]
    first = [
        ties[beliefs[ties].argmax()] for ties, beliefs in zip(tied, given.predictions, strict=True)
    ]
    rough = average(given, np.array(first), number)[0]
    return average(given, rough.argmax(axis=1), number)


def average(
    given: Work, consensus: NDArray[np.intp], number: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    several = number > 1
    likely = np.mean(((given.wide == consensus[:, None]).sum(axis=1) / number)[several])
    commonest = np.bincount(consensus[several]).argmax()
    error = max(np.mean(consensus[several] != commonest), 1e-6)
    people = given.wide.shape[1]
    agreement = np.full(people, np.nan)
    for w in range(people):
        agreed, pairs = 0, 0
        for row in given.wide[~np.isnan(given.wide[:, w])]:
            for other in np.delete(row, w):
                agreed += int(other == row[w])
                pairs += int(not np.isnan(other))
        agreement[w] = agreed / pairs if pairs else np.nan
    agreement[np.isnan(agreement)] = np.nanmean(agreement)
    weight = np.maximum(1 - (1 - agreement) / error, 1e-6)
    wrong = np.mean(given.predictions[several].argmax(axis=1) != consensus[several])
    model = max(1 - wrong / error, 1e-6) * np.sqrt(number.mean())
    probs = given.predictions * model
    total = np.full(len(probs), model)
    for i, w in zip(*np.nonzero(~np.isnan(given.wide)), strict=True):
        for k in range(3):
            probs[i, k] += weight[w] * (likely if given.wide[i, w] == k else (1 - likely) / 2)
        total[i] += weight[w]
    return probs / total[:, None], weight, float(model)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("asked", [0.4, 0.9])
def test_crowdlab_equals_plain_loops(seed: int, asked: float) -> None:
    given = work(seed, asked)

    result = aggregate(
        given.votes, "crowdlab", rng=np.random.default_rng(0), predictions=given.labels
    )

    probs, weight, model = loops(given)
    assert result.quality is not None
    assert np.allclose(list(result.quality.values()), weight, rtol=1e-12, atol=0)
    assert np.isclose(float(str(result.fitted["model_weight"])), model, rtol=1e-12)
    assert np.allclose(result.labels.probs, probs, rtol=0, atol=1e-12)


def test_ties_that_the_classifier_leaves_open_go_to_the_rarer_class() -> None:
    # the first item is tied; class 1 is rarer, so the consensus is 1, 0, 0, 0
    labels = [0, 0, 1, 1] + [0] * 12
    votes = votes_of_columns(np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4), labels)
    even = LabelSet(votes.items, votes.classes, np.full((4, 2), 0.5))

    result = aggregate(votes, "crowdlab", rng=np.random.default_rng(0), predictions=even)

    # everybody agrees in 1 of 3 + 9 of 9 pairs; always naming class 0 errs in 1 of 4
    assert result.quality is not None
    assert np.allclose(list(result.quality.values()), 1 - (2 / 12) / (1 / 4))


def test_without_predictions_it_says_what_is_missing() -> None:
    with pytest.raises(DataError, match="needs a classifier's predictions"):
        aggregate(work(0, 0.9).votes, "crowdlab", rng=np.random.default_rng(0))


def test_one_vote_an_item_is_refused() -> None:
    votes = votes_of_columns([0, 1], [0, 1], [0, 1])
    predictions = LabelSet(votes.items, votes.classes, np.full((2, 2), 0.5))

    with pytest.raises(DataError, match="no item has two votes"):
        aggregate(votes, "crowdlab", rng=np.random.default_rng(0), predictions=predictions)


def test_predictions_that_lack_an_item_are_refused() -> None:
    given = work(0, 0.9)

    with pytest.raises(DataError, match="Item '8' has no label"):
        aggregate(
            given.votes,
            "crowdlab",
            rng=np.random.default_rng(0),
            predictions=given.labels.take(given.votes.items[:-1]),
        )
