"""Recalibrated pools: who is too sure is believed less, who knows is believed more."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato as sf
from sfumato.labels.aggregate import Aggregation, aggregate
from sfumato.labels.labelset import CrowdLabels

CLASSES = ("cat", "dog", "owl")


def statements(rows: NDArray[np.float64]) -> CrowdLabels:
    """From (items, people, classes)."""
    items, people, _ = rows.shape
    item, who = np.indices((items, people))
    return CrowdLabels(
        tuple(f"{at:03}" for at in range(items)), tuple(f"p{at}" for at in range(people)), CLASSES,
        item.ravel(), who.ravel(), rows.reshape(-1, 3),
    )  # fmt: skip


def pool(rows: NDArray[np.float64]) -> Aggregation:
    return aggregate(statements(rows), "recalibrated", rng=np.random.default_rng(0))


def made_up(items: int = 300) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True shares; three simulated people state them, one states a guess, and is sure of it."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet([0.5] * 3, items)
    near = 0.8 * true[:, None] + 0.2 * rng.dirichlet([2.0] * 3, (items, 3))
    guess = np.eye(3)[rng.integers(3, size=(items, 1))]
    return true, np.concatenate([near, guess], axis=1)


def divergence(true: NDArray[np.float64], label: NDArray[np.float64]) -> float:
    return float((true * np.log(true / np.maximum(label, 1e-9))).sum(axis=1).mean())


def test_a_guesser_is_hardly_believed_and_the_pool_is_nearer_the_truth() -> None:
    true, rows = made_up()

    found = pool(rows)

    assert found.quality is not None
    assert found.quality["p3"] < 0.2 < 0.5 < min(found.quality[f"p{at}"] for at in range(3))
    assert divergence(true, found.labels.probs) < 0.5 * divergence(true, rows.mean(axis=1))


def test_a_lone_statement_is_read_with_caution_and_several_with_less() -> None:
    _, rows = made_up()
    sure = np.eye(3)[rows.argmax(axis=2)]

    found = pool(sure).labels.probs

    agreed = (sure[:, :3].mean(axis=1) == 1).any(axis=1)
    assert 0.7 < found[agreed].max(axis=1).mean() < 1.0
    assert found[agreed].max(axis=1).mean() > found[~agreed].max(axis=1).mean()


def test_where_nobody_shares_an_item_nothing_is_recalibrated() -> None:
    rows = np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.1, 0.8]]])

    found = pool(rows)

    assert found.labels.probs == pytest.approx(rows[:, 0], abs=1e-6)
    assert "nothing is recalibrated" in found.remarks[0]


def test_statements_of_cifar10s_come_nearer_to_clicks(data_folder: Path) -> None:
    stated = sf.label(data_folder / "cifar10s" / "raw_human_data.csv", per_annotator=True)
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    people = votes[[int(item) for item in stated.items]] / 1.0
    people /= people.sum(axis=1, keepdims=True)

    def loss(name: str) -> float:
        labels = aggregate(stated, name, rng=np.random.default_rng(0)).labels.take(stated.items)
        return float(-(people * np.log(0.999 * labels.probs + 1e-4)).sum(axis=1).mean())

    assert loss("recalibrated") < 0.65
    assert loss("mean") > 0.67
