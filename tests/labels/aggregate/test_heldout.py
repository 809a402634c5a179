"""Held-out log-loss: its arithmetic, and what it says about real crowds."""

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.labels.aggregate.heldout import FLOOR, OF_PERSON, _held_out, held_out_log_loss
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import Votes, votes_of_columns


def crowd_of(votes: Votes) -> CrowdLabels:
    one_hot = np.eye(len(votes.classes))[votes.label]
    return CrowdLabels(
        votes.items, votes.annotators, votes.classes, votes.item, votes.annotator, one_hot
    )


def test_a_third_of_each_item_is_held_out_and_never_all() -> None:
    votes = votes_of_columns(np.repeat(np.arange(4), [1, 2, 3, 10]), np.arange(16), [0] * 16)

    out = _held_out(crowd_of(votes), 1 / 3, np.random.default_rng(0))

    assert np.bincount(votes.item[out], minlength=4).tolist() == [0, 1, 1, 3]


def test_one_judgment_of_each_item_is_kept_whatever_the_share() -> None:
    votes = votes_of_columns(np.repeat(np.arange(2), [2, 5]), np.arange(7), [0] * 7)

    out = _held_out(crowd_of(votes), 0.95, np.random.default_rng(0))

    assert np.bincount(votes.item[out]).tolist() == [1, 4]


def test_impossible_answers_cost_the_floor() -> None:
    # two people always differ: the held-out vote was always given probability zero
    votes = votes_of_columns(np.repeat(np.arange(5), 2), np.tile([0, 1], 5), np.tile([0, 1], 5))

    [row] = held_out_log_loss(crowd_of(votes), ["vote-shares"], rng=np.random.default_rng(0))

    assert np.isclose(row.log_loss, -np.log(FLOOR))
    assert (row.aggregator, row.estimand) == ("vote-shares", "what people say")


def test_a_held_out_distribution_is_scored_by_cross_entropy() -> None:
    probs = np.array([[0.8, 0.2], [0.8, 0.2]])
    crowd = CrowdLabels(
        ("a",), ("p", "q"), ("x", "y"), np.zeros(2, dtype=np.int64), np.arange(2), probs
    )

    [row] = held_out_log_loss(crowd, ["mean"], rng=np.random.default_rng(0))

    assert np.isclose(row.log_loss, -(0.8 * np.log(0.8) + 0.2 * np.log(0.2)))
    assert row.low == row.high or np.isclose(row.low, row.high)


def test_knowing_who_answers_helps_when_people_have_habits() -> None:
    rng = np.random.default_rng(0)
    item, who = np.divmod(np.arange(100 * 9), 9)
    label = np.where(who < 5, item % 2, 0)  # five look, four always say the first class
    label = np.where(rng.random(900) < 0.05, 1 - label, label)
    crowd = crowd_of(votes_of_columns(item, who, label))

    rows = held_out_log_loss(crowd, ["dawid-skene-next"], rng=np.random.default_rng(0))

    anybody, named = rows
    assert (anybody.aggregator, named.aggregator) == (
        "dawid-skene-next",
        f"dawid-skene-next{OF_PERSON}",
    )
    assert named.log_loss < 0.8 * anybody.log_loss
    assert named.estimand == "what people say"


def test_single_judgments_cannot_be_compared() -> None:
    votes = votes_of_columns([0, 1], [0, 1], [0, 1])

    with pytest.raises(DataError, match="at least two judgments"):
        held_out_log_loss(crowd_of(votes), ["mean"], rng=np.random.default_rng(0))


def test_names_are_checked_before_anything_is_fitted() -> None:
    votes = votes_of_columns([0, 0], [0, 1], [0, 1])

    with pytest.raises(UnknownName, match="No aggregator is called 'meen'"):
        held_out_log_loss(crowd_of(votes), ["mean", "meen"], rng=np.random.default_rng(0))


# --- real crowds --------------------------------------------------------------------------------


def small_crowd(name: str, folder: Path) -> CrowdLabels:
    with (folder / "crowd" / f"{name}_label.csv").open() as file:
        _, *rows = csv.reader(file)
    return crowd_of(votes_of_columns(*zip(*rows, strict=True)))


def labelme(folder: Path) -> CrowdLabels:
    answers = np.load(folder / "labelme_crowd" / "answers.npy")
    item, who = np.nonzero(answers >= 0)
    return crowd_of(votes_of_columns(item, who, answers[item, who]))


def cifar10n(folder: Path, items: int = 3000) -> CrowdLabels:
    with np.load(folder / "cifar10n" / "cifar10n-labels.npz") as saved:
        labels = np.stack([saved[f"random_label{k}"][:items] for k in (1, 2, 3)], axis=1)
    return CrowdLabels(
        tuple(map(str, range(items))),
        (),
        tuple(map(str, range(10))),
        np.repeat(np.arange(items), 3),
        np.full(3 * items, NOT_RECORDED),
        np.eye(10)[labels.ravel()],
    )


REAL: dict[str, Callable[[Path], CrowdLabels]] = {
    **{name: partial(small_crowd, name) for name in ("bluebird", "dog", "rte", "face")},
    "labelme": labelme,
    "cifar10n": cifar10n,
}


@pytest.mark.parametrize("name", REAL)
def test_shrunk_shares_predict_real_people_better_than_vote_shares(
    name: str, data_folder: Path
) -> None:
    crowd = REAL[name](data_folder)

    shares, shrunk = held_out_log_loss(
        crowd, ["vote-shares", "shrunk-shares"], rng=np.random.default_rng(0)
    )

    assert shrunk.log_loss < shares.log_loss


# an independent computation of the same figures, with other splits: log-loss of shares,
# Dawid–Skene, its next answer, and that of a named annotator
ELSEWHERE = {
    "bluebird": (0.619, 2.175, 0.610, 0.461),
    "dog": (0.853, 1.704, 0.670, 0.589),
    "rte": (0.724, 1.718, 0.573, 0.469),
    "face": (1.006, 1.631, 0.841, 0.805),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_belief_in_one_label_is_a_bad_description_of_real_people(
    name: str, data_folder: Path
) -> None:
    crowd = small_crowd(name, data_folder)

    rows = held_out_log_loss(
        crowd, ["vote-shares", "dawid-skene", "dawid-skene-next"], rng=np.random.default_rng(0)
    )

    found = np.array([row.log_loss for row in rows])
    assert np.allclose(found, ELSEWHERE[name], rtol=0.08)
    assert found[1] > 1.4 * found[0] > 1.4 * found[3]


def test_splits_are_shared_so_that_equal_labels_score_equally(data_folder: Path) -> None:
    crowd = small_crowd("bluebird", data_folder)

    rows = held_out_log_loss(crowd, ["mean", "linear-pool"], rng=np.random.default_rng(0), splits=2)

    losses: NDArray[np.float64] = np.array([row.log_loss for row in rows])
    assert np.isclose(*losses)
