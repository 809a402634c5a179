from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from sfumato.errors import DataError
from sfumato.evaluation.alignment import (
    CORRELATIONS,
    concentration_curve,
    correlate,
    correlation_matrix,
    entropy_tracking,
    share_in_top,
)
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.quality import times
from sfumato.labels.build import build, codes
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy, possible_labels, top_probability

Values = NDArray[np.float64]

NAN = float("nan")


def seeded() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    classes = (data_folder / "cifar10" / "classes.txt").read_text().split()
    probs = votes / votes.sum(axis=1, keepdims=True)
    return LabelSet(tuple(map(str, range(len(votes)))), tuple(classes), probs)


@pytest.fixture(scope="module")
def cifar10s(data_folder: Path) -> Judgments:
    found = read(data_folder / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(found, Judgments)
    return select(found)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=20).filter(
        lambda pairs: all(len({pair[side] for pair in pairs}) > 1 for side in (0, 1))
    )
)
def test_rho_is_scipys_with_many_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=np.float64).T

    found = correlate(x, y, rng=seeded(), draws=2)

    assert found.rho == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


def test_interval_is_that_of_resampled_items() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    y = x + rng.normal(size=80)
    picks = (rng.integers(80, size=80) for _ in range(2000))
    plain = np.percentile([spearmanr(x[at], y[at]).statistic for at in picks], [2.5, 97.5])

    found = correlate(x, y, rng=seeded(), draws=2000)

    assert (found.low, found.high) == pytest.approx(tuple(plain), abs=0.03)


def test_items_unknown_to_either_signal_do_not_count() -> None:
    x = np.array([1, 2, NAN, 4, 5, 3.0])
    y = np.array([2, 4, 100, 8, NAN, 9.0])

    found = correlate(x, y, rng=seeded())

    assert found.items == 4
    assert found.rho == pytest.approx(spearmanr([1, 2, 4, 3], [2, 4, 8, 9]).statistic)


@pytest.mark.parametrize("values", [[1.0, 1, 1, 1], [1, 2, NAN, NAN], [NAN, NAN, NAN, NAN]])
def test_rho_of_nothing_is_undefined(values: list[float]) -> None:
    found = correlate(np.array(values), np.array([1.0, 2, 3, 4]), rng=seeded())

    assert np.isnan([found.rho, found.low, found.high]).all()


def test_matrix_holds_each_pair_once_in_the_agreed_columns() -> None:
    signals = {"a": np.arange(9.0), "b": -np.arange(9.0), "c": np.array([0, 1, 2] + [NAN] * 6)}

    found = correlation_matrix(signals, rng=seeded(), draws=50)

    assert found.schema == CORRELATIONS
    assert found.select("first", "second").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["rho"].to_list() == [-1, 1, -1]
    assert found["items"].to_list() == [9, 3, 3]


def test_signal_of_other_length_is_named() -> None:
    with pytest.raises(DataError, match=r"'seconds' has shape \(2,\) and 'entropy'"):
        correlation_matrix({"entropy": np.zeros(3), "seconds": np.zeros(2)}, rng=seeded())


def test_curve_rises_from_nothing_to_all_above_the_diagonal() -> None:
    values = {"people": seeded().exponential(size=50), "even": np.ones(50)}

    found = concentration_curve(values, shares=np.linspace(0, 1, 11).tolist())

    people = found.filter(source="people")["share_of_uncertainty"].to_numpy()
    assert found.columns == ["source", "share_of_items", "share_of_uncertainty"]
    assert people[0] == 0
    assert people[-1] == pytest.approx(1)
    assert (np.diff(people, 2) <= 1e-12).all()  # the most uncertain come first
    even = found.filter(source="even")
    assert even["share_of_uncertainty"].to_numpy() == pytest.approx(
        even["share_of_items"].to_numpy()
    )


def test_tracking_never_splits_equal_entropies() -> None:
    reference = np.array([0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4])
    signal = np.array([1, 1, 1, 0.6, 0.5, 0.5, 0.3, 0.1])

    found = entropy_tracking(reference, {"top": signal}, bins=4, rng=seeded(), draws=50)

    assert found.select("from_entropy", "to_entropy", "items").rows() == [
        (0, 0, 4),
        (0.1, 0.2, 2),
        (0.3, 0.4, 2),
    ]
    assert found["value"].to_list() == pytest.approx([0.9, 0.5, 0.2])
    assert found["entropy"].to_list() == pytest.approx([0, 0.15, 0.35])
    assert found["low"][1] == found["high"][1] == 0.5


def test_tracking_leaves_unknown_items_out() -> None:
    found = entropy_tracking(
        np.array([0, NAN, 1]), {"a": np.array([1, 2, NAN])}, bins=2, rng=seeded()
    )

    assert found.select("value", "items").rows() == [(1, 1)]


def test_uncertainty_of_cifar10h_is_concentrated_as_published(cifar10h: LabelSet) -> None:
    found = share_in_top(entropy(cifar10h), 0.3, rng=seeded(), draws=200)

    assert found.value == pytest.approx(0.826, abs=5e-4)  # S0-47
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.02


def test_time_and_doubt_of_cifar10s_follow_entropy_of_other_people(
    cifar10h: LabelSet, cifar10s: Judgments
) -> None:
    labels = build(cifar10s, "top2-clamp").crowd.mean()
    taken = times(cifar10s).items
    seconds = dict(zip(taken["item"], taken["median"], strict=True))
    items, item = codes(cifar10s.table["item"])
    stated = cifar10s.statements
    possible = possible_labels(stated.ruled_out[stated.index], item, len(items))
    signals = {
        "seconds": np.array([seconds[name] for name in labels.items]),
        "entropy": entropy(labels),
        "top": top_probability(labels),
        "possible": np.array([dict(zip(items, possible, strict=True))[i] for i in labels.items]),
    }
    reference = entropy(cifar10h.take(labels.items))

    found = correlation_matrix({"10H": reference, **signals}, rng=seeded(), draws=200)
    tracked = entropy_tracking(
        reference, {name: signals[name] for name in ("top", "possible")}, rng=seeded(), draws=200
    )

    rho = dict(zip(found["second"][:4], found["rho"][:4], strict=True))
    exact = reference.round(11)  # SciPy ranks the rounding of sums; we call it a tie
    scipys = {name: spearmanr(exact, row.round(11)).statistic for name, row in signals.items()}
    assert rho == pytest.approx(scipys, abs=1e-12)
    assert found.filter(first="10H", second="seconds")["low"][0] > 0.25
    assert (np.diff(tracked.filter(signal="top")["value"]) < 0).all()  # S3-F5
    assert (np.diff(tracked.filter(signal="possible")["value"]) > 0).all()
