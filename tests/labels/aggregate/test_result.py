"""Intervals: exact quantiles for shares, and a bootstrap that knows how few people answered."""

import numpy as np
import pytest
from scipy.stats import beta

from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.aggregate.result import GRAIN, posterior_of
from sfumato.labels.votes import Votes, votes_of_columns


def votes_of_one_item(first: int, second: int) -> Votes:
    people = np.arange(first + second)
    return votes_of_columns(np.zeros(len(people), dtype=int), people, (people >= first).astype(int))


def test_shares_have_jeffreys_interval() -> None:
    made = aggregate(
        votes_of_one_item(7, 3),
        "vote-shares",
        rng=np.random.default_rng(0),
        interval="default",
        level=0.9,
    ).interval

    assert made is not None and made.kind == "posterior" and made.level == 0.9
    assert np.allclose(made.low, beta.ppf(0.05, [[7.5, 3.5]], [[3.5, 7.5]]))
    assert np.allclose(made.high, beta.ppf(0.95, [[7.5, 3.5]], [[3.5, 7.5]]))


def test_unanimous_shares_reach_the_end_of_the_scale() -> None:
    votes = Votes(("a",), ("p", "q"), ("x", "y"), *np.array([[0, 0], [0, 1], [0, 0]]))

    made = aggregate(
        votes, "vote-shares", rng=np.random.default_rng(0), interval="default"
    ).interval

    assert made is not None
    assert made.high[0, 0] == 1 and made.low[0, 1] == 0
    assert 0 < made.low[0, 0] < 1 and np.isclose(made.high[0, 1], 1 - made.low[0, 0])


def test_bootstrap_of_a_mean_is_the_beta_distribution_of_random_weights() -> None:
    # with exponential weights the share of 6 of 10 equal people is Beta(6, 4) exactly
    made = aggregate(
        votes_of_one_item(6, 4),
        "mean",
        rng=np.random.default_rng(0),
        interval="default",
        replicates=4000,
    ).interval

    assert made is not None and made.kind == "bootstrap over annotators"
    assert np.allclose(made.low[0], beta.ppf(0.025, [6, 4], [4, 6]), atol=0.02)
    assert np.allclose(made.high[0], beta.ppf(0.975, [6, 4], [4, 6]), atol=0.02)


def test_all_answers_of_a_person_move_together() -> None:
    # 20 items by the same two people, who always differ: every item has the same interval
    votes = votes_of_columns(np.repeat(np.arange(20), 2), np.tile([0, 1], 20), np.tile([0, 1], 20))

    made = aggregate(votes, "mean", rng=np.random.default_rng(0), interval="default").interval

    assert made is not None
    assert np.allclose(made.low, made.low[0]) and np.allclose(made.high, made.high[0])
    assert made.high[0, 0] - made.low[0, 0] > 0.8


def test_more_people_narrow_the_interval_of_a_hidden_label() -> None:
    rng = np.random.default_rng(0)
    item, who = np.divmod(np.arange(20 * 40), 40)
    label = np.where(rng.random(800) < 0.75, item % 2, 1 - item % 2)

    def width(people: int) -> float:
        few = who < people
        made = aggregate(
            votes_of_columns(item[few], who[few], label[few]),
            "one-coin",
            rng=np.random.default_rng(0),
            interval="default",
            replicates=60,
        ).interval
        assert made is not None
        return float((made.high - made.low).mean())

    assert width(40) < width(5)


@pytest.mark.parametrize(("level", "replicates"), [(0.0, 200), (1.0, 200), (0.95, 1)])
def test_impossible_requests_are_refused(level: float, replicates: int) -> None:
    with pytest.raises(DataError, match=r"must be between 0 and 1|at least 2 replicates"):
        aggregate(
            votes_of_one_item(2, 1),
            "mean",
            rng=np.random.default_rng(0),
            interval="default",
            level=level,
            replicates=replicates,
        )


def test_no_interval_unless_asked_for() -> None:
    assert aggregate(votes_of_one_item(2, 1), "mean", rng=np.random.default_rng(0)).interval is None


@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "mace", "glad"])
def test_a_contested_item_among_clear_ones_stays_open(name: str) -> None:
    # 30 clear items and one with eleven votes against ten: other people might have turned it
    item, who = np.divmod(np.arange(31 * 21), 21)
    slip = np.random.default_rng(1).random(len(item)) < 0.15
    label = np.where(item < 30, (item % 2) ^ slip, who % 2)

    made = aggregate(
        votes_of_columns(item, who, label),
        name,
        rng=np.random.default_rng(0),
        interval="default",
        replicates=40,
    ).interval

    assert made is not None
    width = made.high[:, 0] - made.low[:, 0]
    assert width[30] > 0.9 > 0.1 > np.median(width)


# Beliefs: exact where they can be, and equal where the evidence is.


def test_posterior_is_bayes_rule_to_eleven_digits() -> None:
    joint = np.random.default_rng(0).random((50, 4)) * 1e-3

    log_likelihood, posterior = posterior_of(np.log(joint))

    assert np.allclose(posterior, joint / joint.sum(axis=1, keepdims=True), rtol=0, atol=GRAIN)
    assert np.isclose(log_likelihood, np.log(joint.sum(axis=1)).sum(), rtol=1e-12)


def test_hopeless_classes_get_exactly_nothing() -> None:
    log_likelihood, posterior = posterior_of(np.array([[-5.0, -800.0, -2000.0], [0, -30, -700]]))

    assert posterior.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert log_likelihood == -5


@pytest.mark.parametrize("classes", ["abcd", "dcba"])
def test_even_evidence_is_never_decided_by_rounding(classes: str) -> None:
    # labels 0 and 3 play the same part for item 4 as 2 and 3 do for item 0; without rounding,
    # a hundred iterations turn differences of 1e-16 into certainty
    item = np.array([0, 0, 1, 2, 3, 3, 4, 4])
    who = np.array([0, 1, 2, 2, 0, 1, 0, 1])
    label = np.array([3, 2, 0, 2, 2, 0, 0, 3])
    votes = Votes(tuple("01234"), tuple("pqr"), tuple(classes), item, who, label)

    result = aggregate(votes, "dawid-skene", rng=np.random.default_rng(0))

    assert result.converged
    assert np.allclose(result.labels.probs[3], [0.5, 0, 0.5, 0], rtol=0, atol=1e-9)
