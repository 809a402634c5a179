"""Means, vote shares and the majority, on hand-counted votes."""

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.aggregate.columns import votes_of_columns
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import Votes

# item a: two for x, two for y; item b: x; item c: y, y, z; overall x 3, y 4, z 1
VOTES = votes_of_columns(
    list("aaaabccc"), list("pqrsppqr"), ["x", "x", "y", "y", "x", "y", "y", "z"]
)


def test_vote_shares_count() -> None:
    labels = aggregate(VOTES, "vote-shares", rng=np.random.default_rng(0)).labels

    assert np.allclose(labels.probs, np.array([[1 / 2, 1 / 2, 0], [1, 0, 0], [0, 2 / 3, 1 / 3]]))
    assert labels.weight.tolist() == [4, 1, 3]


def test_mean_of_distributions_averages_and_leaves_unjudged_items_out() -> None:
    crowd = CrowdLabels(
        ("a", "nobody looked", "b"),
        ("p",),
        ("x", "y"),
        np.array([2, 0, 0]),
        np.array([0, 0, NOT_RECORDED]),
        np.array([[0.3, 0.7], [1, 0], [0.5, 0.5]]),
    )

    labels = aggregate(crowd, "mean", rng=np.random.default_rng(0)).labels

    assert labels.items == ("a", "b")
    assert np.allclose(labels.probs, [[0.75, 0.25], [0.3, 0.7]])
    assert np.allclose(labels.probs, crowd.mean().probs)


@pytest.mark.parametrize(
    ("ties", "first"), [("share", [0.5, 0.5, 0]), ("common", [0, 1, 0])], ids=["share", "common"]
)
def test_majority_breaks_ties_as_told(ties: str, first: list[float]) -> None:
    result = aggregate(VOTES, "majority", rng=np.random.default_rng(0), ties=ties)

    assert np.allclose(result.labels.probs, np.array([first, [1, 0, 0], [0, 1, 0]]))
    assert result.estimand == "which label is true"


def test_majority_at_random_takes_each_side_of_a_tie_sometimes() -> None:
    drawn = {
        tuple(
            aggregate(VOTES, "majority", rng=np.random.default_rng(seed), ties="random")
            .labels.probs[0]
            .tolist()
        )
        for seed in range(20)
    }

    assert drawn == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)}


def test_majority_rates_people_by_how_often_they_are_with_it() -> None:
    quality = aggregate(VOTES, "majority", rng=np.random.default_rng(0)).quality

    # p: half of a tie, all of b, the majority of c
    assert quality is not None and np.isclose(quality["p"], 2.5 / 3)
    assert np.isclose(quality["r"], 0.5 / 2)


def test_an_unknown_tie_rule_is_refused() -> None:
    with pytest.raises(DataError, match="'ties' is 'coin'; it must be one of 'share'"):
        aggregate(VOTES, "majority", rng=np.random.default_rng(0), ties="coin")


def test_judgments_that_tie_at_the_top_cast_no_vote() -> None:
    crowd = CrowdLabels(
        ("a",),
        ("p", "q"),
        ("x", "y"),
        np.zeros(2, dtype=np.int64),
        np.arange(2),
        np.array([[0.5, 0.5], [0.9, 0.1]]),
    )

    result = aggregate(crowd, "vote-shares", rng=np.random.default_rng(0))

    assert result.labels.probs.tolist() == [[1, 0]]
    assert result.labels.provenance[-2].settings["tied_no_vote"] == 1


def test_no_votes_at_all_is_refused() -> None:
    none = Votes(("a",), ("p",), ("x", "y"), *np.empty((3, 0), dtype=int))

    with pytest.raises(DataError, match="no judgments to aggregate"):
        aggregate(none, "vote-shares", rng=np.random.default_rng(0))
