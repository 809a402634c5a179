"""Means, vote shares and the majority, on hand-counted votes."""

import numpy as np
import pytest
from tests.labels.aggregate.crowd_sets import SIMPLE_TRUTH, WORDS, run, simple, tops, toy

from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import Votes, votes_of_columns
from sfumato.provenance import Setting

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


# Linear, logarithmic and skill-weighted pools against their formulas.


PROBS = np.array([[0.7, 0.3, 0], [0.2, 0.8, 0], [0.5, 0.5, 0], [0.1, 0, 0.9]])
CROWD = CrowdLabels(
    ("a", "b"),
    ("p", "q", "r"),
    ("x", "y", "z"),
    np.array([0, 0, 0, 1]),
    np.array([0, 1, 2, 1]),
    PROBS,
)


def test_linear_pool_weights_people() -> None:
    labels = aggregate(
        CROWD, "linear-pool", rng=np.random.default_rng(0), weights={"p": 3.0, "q": 2.0}
    ).labels

    assert np.allclose(labels.probs[0], (3 * PROBS[0] + 2 * PROBS[1] + PROBS[2]) / 6)
    assert np.allclose(labels.probs[1], PROBS[3])


def test_logarithmic_pool_is_the_weighted_geometric_mean_above_a_floor() -> None:
    labels = aggregate(
        CROWD, "log-pool", rng=np.random.default_rng(0), weights={"p": 3.0}, floor=0.25
    ).labels

    raised = np.maximum(PROBS[:3, :2], 0.25)
    product = np.prod(raised ** (np.array([3, 1, 1])[:, None] / 5), axis=0)
    # nobody gives z any mass in item a, and only it and x have any in item b
    assert np.allclose(labels.probs[0], [*(product / product.sum()), 0])
    assert np.allclose(labels.probs[1], np.array([0.25, 0, 0.9]) / 1.15)


@pytest.mark.parametrize("floor", [0.0, 1.0])
def test_a_floor_outside_its_range_is_refused(floor: float) -> None:
    with pytest.raises(DataError, match=f"floor of the logarithmic pool is {floor}"):
        aggregate(CROWD, "log-pool", rng=np.random.default_rng(0), floor=floor)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"nobody": 1.0}, "weight is given for 'nobody'"),
        ({"p": 0.0}, "weight of 'p' is 0.0"),
        ({"p": float("nan")}, "weight of 'p' is nan"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights: dict[str, Setting], message: str) -> None:
    with pytest.raises(DataError, match=message):
        aggregate(CROWD, "linear-pool", rng=np.random.default_rng(0), weights=weights)


def test_skill_is_agreement_with_the_others() -> None:
    result = aggregate(CROWD, "skill-weighted-pool", rng=np.random.default_rng(0), prior_pairs=2.0)

    same = PROBS[:3] @ PROBS[:3].T  # P(two draws are the same)
    agreed = same.sum(axis=1) - np.diag(same)
    overall = agreed.sum() / 6
    skill = (agreed + 2 * overall) / (2 + 2)
    assert result.quality is not None
    assert np.allclose(list(result.quality.values()), skill)
    assert np.allclose(result.labels.probs[0], skill @ PROBS[:3] / skill.sum())


def test_skills_need_names() -> None:
    nameless = CrowdLabels(
        ("a",), (), ("x", "y"), np.zeros(2, dtype=np.int64), np.full(2, NOT_RECORDED), np.eye(2)
    )

    with pytest.raises(DataError, match="'skill-weighted-pool' models each annotator, but 2 of 2"):
        aggregate(nameless, "skill-weighted-pool", rng=np.random.default_rng(0))


# Wawa and zero-based skill against crowd-kit's published numbers, and where they are undefined.


NAMES = ["wawa", "zero-based-skill"]


@pytest.mark.parametrize("name", NAMES)
def test_toy_numbers_are_the_published_ones(name: str) -> None:
    result = run(toy(), name, ties="first")

    assert result.estimand == "what people say"
    assert result.quality is not None
    assert np.allclose(list(result.quality.values()), [0.6, 0.8, 1.0, 0.4, 0.8], atol=1e-5)
    published = [0.461538, 0.666667, 0.277778, 1, 0.166667]
    assert np.allclose(result.labels.probs[:, 1], published, atol=1e-5)
    assert tops(result) == {"t1": "no", "t2": "yes", "t3": "no", "t4": "yes", "t5": "no"}


@pytest.mark.parametrize("name", NAMES)
def test_simple_numbers_are_the_published_ones(name: str) -> None:
    result = run(simple(), name, ties="first")

    assert result.quality is not None
    assert np.isclose(result.quality["parrot"], 1 / 3, atol=1e-5)
    assert np.isclose(result.quality["careless"], 2 / 3, atol=1e-5)
    published = np.zeros((10, 3))  # chicken, goose, parrot
    published[[0, 1, 4], 0] = 0.857143, 0.818182, 0.5
    published[[1, 2, 4, 6, 7], 1] = 0.181818, 0.9, 0.333333, 1, 0.857143
    published[[0, 2, 4, 7], 2] = 0.142857, 0.1, 0.166667, 0.142857
    published[[3, 5, 8, 9], 2] = 1
    assert np.allclose(result.labels.probs, published, atol=1e-5)
    assert tops(result) == {item: WORDS[said] for item, said in SIMPLE_TRUTH.items()}


@pytest.mark.parametrize("name", NAMES)
def test_an_item_whose_voters_have_no_skill_keeps_its_plain_shares(name: str) -> None:
    # "odd" is never with the majority, and alone on the last item
    item = [0, 0, 0, 1, 1, 1, 2]
    who = ["ann", "bob", "odd", "ann", "bob", "odd", "odd"]
    votes = votes_of_columns(item, who, ["x", "x", "y", "x", "x", "y", "y"])

    result = run(votes, name)

    assert result.labels["2"] == {"x": 0.0, "y": 1.0}
    assert np.allclose(result.labels.probs.sum(axis=1), 1)


def test_ties_go_to_the_first_class_by_name() -> None:
    assert run(toy(), "majority", ties="first").labels["t1"] == {"no": 1.0, "yes": 0.0}
    assert run(toy(), "majority").labels["t1"] == {"no": 0.5, "yes": 0.5}


def test_zero_based_skill_moves_by_smaller_and_smaller_steps() -> None:
    first = run(toy(), "zero-based-skill", rounds=1, rate=0.5, ties="first")

    # from 1/2 + 1e-5 half of the way to the agreement with the plain majority
    assert first.quality is not None
    expected = 0.5 * (0.50001 + np.array([0.6, 0.8, 1.0, 0.4, 0.8]))
    assert np.allclose(list(first.quality.values()), expected)
