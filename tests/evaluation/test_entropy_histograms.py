from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from sfumato.errors import DataError
from sfumato.evaluation.alignment import (
    entropy_distances,
    entropy_table,
    nearest_labels,
)
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy


def seeded() -> np.random.Generator:
    return np.random.default_rng(2)


def named(probs: NDArray[np.float64], prefix: str = "i") -> LabelSet:
    items = tuple(f"{prefix}{n}" for n in range(len(probs)))
    return LabelSet(items, tuple("abcdefghij"[: probs.shape[1]]), probs)


SURE = named(np.array([[1.0, 0], [0, 1], [1, 0], [1, 0]]))
TORN = named(np.full((4, 2), 0.5))


def test_table_has_a_row_an_item_in_the_agreed_columns() -> None:
    found = entropy_table({"people": SURE, "model": TORN})

    assert found.columns == ["source", "entropy"]
    assert found["source"].to_list() == ["people"] * 4 + ["model"] * 4
    assert found["entropy"].to_list() == pytest.approx([0] * 4 + [np.log(2)] * 4)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 1000))
def test_distance_is_scipys_for_any_sizes(first: int, second: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = named(rng.dirichlet(np.ones(3), first))
    y = named(rng.dirichlet(np.ones(3), second))

    found = entropy_distances({"y": y}, {"x": x}, rng=rng, draws=1)

    assert found["distance"][0] == pytest.approx(wasserstein_distance(entropy(x), entropy(y)))
    assert found["difference"][0] == pytest.approx(entropy(x).mean() - entropy(y).mean())


def test_sure_and_torn_are_log_two_apart() -> None:
    found = entropy_distances({"people": SURE}, {"model": TORN}, rng=seeded())

    assert found.select("distance", "low", "high").row(0) == pytest.approx([np.log(2)] * 3)


@pytest.mark.parametrize("prefix", ["i", "other"])
def test_interval_is_that_of_resampled_items(prefix: str) -> None:
    rng = np.random.default_rng(0)
    x, y = named(rng.dirichlet(np.ones(4), 60)), named(rng.dirichlet(np.ones(4) / 2, 60), prefix)
    hx, hy = entropy(x), entropy(y)
    plain = []
    for _ in range(2000):
        at = rng.integers(60, size=60)
        other = at if prefix == "i" else rng.integers(60, size=60)
        plain.append(wasserstein_distance(hx[at], hy[other]))

    found = entropy_distances({"y": y}, {"x": x}, rng=seeded(), draws=2000)

    expected = np.percentile(plain, [2.5, 97.5])
    assert (found["low"][0], found["high"][0]) == pytest.approx(tuple(expected), abs=0.015)


def test_model_resonates_with_labels_that_are_as_soft_as_it_is() -> None:
    labels = {"hard": SURE, "soft": TORN}
    almost = named(np.array([[0.4, 0.6], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]))
    distances = entropy_distances(
        labels, {"of hard": almost, "of soft": almost}, rng=seeded(), draws=10
    )

    found = nearest_labels(distances, {"of hard": "hard", "of soft": "soft"})

    assert found.select("model", "nearest", "resonates").rows() == [
        ("of hard", "soft", False),
        ("of soft", "soft", True),
    ]
    assert found["own"][0] > found["least"][0] == found["own"][1]
    with pytest.raises(DataError, match="model 'of hard' to labels 'smooth'"):
        nearest_labels(distances, {"of hard": "smooth"})


def test_sets_over_other_numbers_of_classes_do_not_compare() -> None:
    three = named(np.eye(3))

    with pytest.raises(DataError, match="'b' has 3 classes and 'a' has 2"):
        entropy_distances({"a": SURE}, {"b": three}, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="no label set"):
        entropy_distances({}, {}, rng=np.random.default_rng(0))


def test_networks_trained_on_hard_labels_are_surer_than_people(data_folder: Path) -> None:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    human = named(votes / votes.sum(axis=1, keepdims=True))
    stored = np.load(data_folder / "cifar10h-predictions" / "wrn_28_10.npz")["probs"]
    probs = stored.astype(np.float64)
    model = named(probs / probs.sum(axis=1, keepdims=True))

    found = entropy_distances({"people": human}, {"wrn": model}, rng=seeded(), draws=100)

    row = found.row(0, named=True)
    assert row["difference"] < -0.05
    assert row["low"] < row["distance"] < row["high"]
    assert row["distance"] == pytest.approx(wasserstein_distance(entropy(human), entropy(model)))
