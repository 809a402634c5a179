import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from scipy.stats import spearmanr, wasserstein_distance

from sfumato.errors import DataError
from sfumato.labels.alter import uniform_labels
from sfumato.labels.compare import (
    Distance,
    class_blind_wasserstein,
    closest_pairs,
    entropy_correlation,
    farthest_pairs,
    jensen_shannon,
    kl,
    total_variation,
    wasserstein,
)
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy

Probs = NDArray[np.float64]

LINE = np.abs(np.subtract.outer(np.arange(10), np.arange(10))).astype(np.float64)
"""Ten classes in a row: for this cost the distance has a closed form."""

DISTANCES: list[Distance] = [
    total_variation,
    jensen_shannon,
    kl,
    class_blind_wasserstein,
    partial(wasserstein, cost=LINE[:4, :4]),
]


def named(probs: Probs) -> LabelSet:
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdefghij"[: probs.shape[1]]), probs
    )


@st.composite
def two_label_sets(draw: st.DrawFn) -> tuple[LabelSet, LabelSet]:
    """Two sets over the same items and four classes, with many zeros and ties."""
    n_items = draw(st.integers(1, 4))
    mass = st.sampled_from([0, 0, 1, 2, 5, 1e-9, 1e-3])
    row = st.lists(mass, min_size=4, max_size=4).filter(any)
    rows = np.array(draw(st.lists(row, min_size=2 * n_items, max_size=2 * n_items)))
    first, second = np.vsplit(rows / rows.sum(axis=1, keepdims=True), 2)
    return named(first), named(second)


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    classes = (data_folder / "cifar10" / "classes.txt").read_text().split()
    probs = votes / votes.sum(axis=1, keepdims=True)
    return LabelSet(tuple(map(str, range(len(votes)))), tuple(classes), probs)


@pytest.fixture(scope="module")
def cifar10s(data_folder: Path, cifar10h: LabelSet) -> LabelSet:
    path = data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json"
    answers = json.loads(path.read_text())
    means = np.stack([np.mean(rows, axis=0) for rows in answers.values()])
    return LabelSet(tuple(answers), cifar10h.classes, means)


def least_cost(supply: Probs, demand: Probs, cost: Probs) -> float:
    """The textbook program of one item, nothing left out."""
    n = len(supply)
    leaves = np.kron(np.eye(n), np.ones(n))
    arrives = np.kron(np.ones(n), np.eye(n))
    needed = np.arange(2 * n) != n + demand.argmax()  # one equation follows from the others
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = linprog(
        cost.ravel(),
        A_eq=np.vstack([leaves, arrives])[needed],
        b_eq=np.concatenate([supply, demand])[needed],
        options=tight,
    )
    return float(solved.fun)


@pytest.mark.parametrize("distance", DISTANCES)
@given(pair=two_label_sets(), data=st.data())
def test_distances_follow_the_names_of_items_and_classes_not_their_order(
    distance: Distance, pair: tuple[LabelSet, LabelSet], data: st.DataObject
) -> None:
    first, second = pair
    rows = data.draw(st.permutations(range(len(second))))
    columns = data.draw(st.permutations(range(4)))
    shuffled = LabelSet(
        tuple(second.items[row] for row in rows),
        tuple(second.classes[column] for column in columns),
        second.probs[np.ix_(rows, columns)],
    )

    assert distance(first, shuffled) == pytest.approx(distance(first, second), abs=1e-9)


@pytest.mark.parametrize("distance", DISTANCES)
@given(pair=two_label_sets())
def test_distances_are_not_negative_and_zero_to_oneself(
    distance: Distance, pair: tuple[LabelSet, LabelSet]
) -> None:
    first, second = pair

    assert (distance(first, second) >= 0).all()
    assert distance(first, first) == pytest.approx(np.zeros(len(first)), abs=1e-12)


@given(two_label_sets())
def test_divergences_equal_those_of_scipy(pair: tuple[LabelSet, LabelSet]) -> None:
    first, second = pair
    rows = list(zip(first.probs, second.probs, strict=True))

    assert kl(first, second) == pytest.approx([scipy_entropy(p, q) for p, q in rows], abs=1e-12)
    assert jensen_shannon(first, second) == pytest.approx(
        [jensenshannon(p, q) ** 2 for p, q in rows], abs=1e-9
    )
    assert class_blind_wasserstein(first, second) == pytest.approx(
        [wasserstein_distance(p, q) for p, q in rows], abs=1e-12
    )


@given(two_label_sets(), st.floats(0.01, 100))
def test_wasserstein_with_one_price_is_total_variation(
    pair: tuple[LabelSet, LabelSet], price: float
) -> None:
    moved = wasserstein(*pair, price * (1 - np.eye(4)))

    assert moved == pytest.approx(price * total_variation(*pair), rel=1e-9, abs=1e-12)


@given(two_label_sets())
def test_wasserstein_on_a_line_is_the_distance_of_the_cumulative_sums(
    pair: tuple[LabelSet, LabelSet],
) -> None:
    first, second = (labels.probs.cumsum(axis=1) for labels in pair)

    moved = wasserstein(*pair, LINE[:4, :4])

    assert moved == pytest.approx(np.abs(first - second).sum(axis=1), abs=1e-9)


@given(two_label_sets(), st.integers(0, 2**32 - 1))
def test_wasserstein_is_exact_for_costs_that_are_no_metric(
    pair: tuple[LabelSet, LabelSet], seed: int
) -> None:
    cost = np.random.default_rng(seed).random((4, 4)) ** 4  # far from symmetric or triangular
    np.fill_diagonal(cost, 0)

    rows = zip(pair[0].probs, pair[1].probs, strict=True)
    expected = [least_cost(p, q, cost) for p, q in rows]

    assert wasserstein(*pair, cost) == pytest.approx(expected, abs=1e-8)


def test_wasserstein_survives_masses_of_any_smallness() -> None:
    rng = np.random.default_rng(0)
    raw = np.exp(40 * rng.normal(size=(2, 200, 10)))
    first, second = (named(rows / rows.sum(axis=1, keepdims=True)) for rows in raw)

    expected = np.abs(first.probs.cumsum(axis=1) - second.probs.cumsum(axis=1)).sum(axis=1)

    assert wasserstein(first, second, LINE) == pytest.approx(expected, abs=1e-8)


def test_mass_that_both_sets_share_moves_when_going_through_a_third_class_is_cheaper() -> None:
    first = named(np.array([[0.5, 0.5, 0]]))
    second = named(np.array([[0, 0.5, 0.5]]))
    cost = np.array([[0, 1, 10], [1, 0, 1], [10, 1, 0]])

    assert wasserstein(first, second, cost) == pytest.approx([1.0])  # not 5, from a to c directly


def test_wasserstein_is_solved_in_several_parts_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    first, second = (named(rng.dirichlet(np.ones(6), size=50)) for _ in range(2))
    cost = np.linalg.norm(rng.random((6, 1, 2)) - rng.random((1, 6, 2)), axis=-1)
    np.fill_diagonal(cost, 0)

    together = wasserstein(first, second, cost)
    monkeypatch.setattr("sfumato.labels.compare.LP_VARIABLES", 100)

    assert wasserstein(first, second, cost) == pytest.approx(together, abs=1e-9)


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        (np.zeros((3, 3)), "2 classes but costs of shape"),
        (np.array([[0, 1], [-1, 0]]), "from 'b' to 'a' costs -1"),
        (np.array([[0, 1], [1, 2]]), "from 'b' to 'b' costs 2"),
        (np.array([[0, np.inf], [1, 0]]), "from 'a' to 'b' costs inf"),
    ],
)
def test_costs_of_the_wrong_form_are_refused(cost: Probs, says: str) -> None:
    labels = named(np.eye(2))

    with pytest.raises(DataError, match=says):
        wasserstein(labels, labels, cost)


def test_the_class_blind_distance_does_not_see_which_class_is_meant() -> None:
    cat, dog = (named(np.array([row])) for row in ([0.9, 0.1], [0.1, 0.9]))

    assert class_blind_wasserstein(cat, dog) == pytest.approx([0])
    assert wasserstein(cat, dog, 1 - np.eye(2)) == pytest.approx([0.8])


def test_cifar10s_against_cifar10h_gives_the_published_figures(
    cifar10s: LabelSet, cifar10h: LabelSet
) -> None:
    assert entropy_correlation(cifar10s, cifar10h) == pytest.approx(0.624, abs=5e-4)
    assert class_blind_wasserstein(cifar10s, cifar10h).mean() == pytest.approx(0.0270, abs=5e-5)
    assert wasserstein(cifar10s, cifar10h, LINE).mean() == pytest.approx(0.52, abs=5e-3)


def test_wasserstein_of_real_labels_on_a_line_equals_that_of_scipy(
    cifar10s: LabelSet, cifar10h: LabelSet
) -> None:
    people = cifar10h.take(cifar10s.items)
    place = np.arange(10)

    expected = [
        wasserstein_distance(place, place, p, q)
        for p, q in zip(cifar10s.probs, people.probs, strict=True)
    ]

    assert wasserstein(cifar10s, cifar10h, LINE) == pytest.approx(expected, abs=1e-9)


def test_rank_correlation_of_entropies_equals_that_of_scipy() -> None:
    rng = np.random.default_rng(5)
    first, second = (named(rng.multinomial(6, [0.7, 0.2, 0.1], size=80) / 6) for _ in range(2))

    expected = spearmanr(entropy(first).round(12), entropy(second).round(12)).statistic

    assert entropy_correlation(first, second, "spearman") == pytest.approx(expected)


@given(st.permutations(range(5)))
def test_rank_correlation_does_not_rank_rounding(columns: list[int]) -> None:
    row = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    first = named(np.stack([row, row[::-1], row[columns], np.eye(5)[0]]))
    second = named(np.stack([row, row, row, np.eye(5)[0]]))

    assert entropy_correlation(first, second, "spearman") == pytest.approx(1)


def test_a_correlation_with_constant_entropy_is_refused() -> None:
    flat = uniform_labels(["i0", "i1"], ["a", "b"])

    with pytest.raises(DataError, match="second label set has the same entropy"):
        entropy_correlation(named(np.array([[1, 0], [0.5, 0.5]])), flat)


def test_closest_and_farthest_pairs_are_the_two_ends_of_one_ranking() -> None:
    first = named(np.array([[1, 0], [1, 0], [1, 0], [1, 0]])).take(["i3", "i2", "i1", "i0"])
    rows = np.array([[0.2, 0.8], [1, 0], [0, 1], [0.2, 0.8]])
    second = LabelSet(("i3", "i1", "i2", "i0"), ("b", "a"), rows)

    near = closest_pairs(first, second, 9)
    far = farthest_pairs(first, second, 2)

    assert [pair.item for pair in near] == ["i2", "i0", "i3", "i1"]
    assert [pair.item for pair in far] == ["i1", "i0"]  # equal distances by name
    assert far[0].distance == 1
    assert far[0].first.tolist() == [1, 0]
    assert far[0].second.tolist() == [0, 1]


def test_pairs_can_be_ranked_by_any_distance() -> None:
    first = named(np.array([[1, 0, 0], [1, 0, 0]]))
    second = named(np.array([[0.4, 0.6, 0], [0.6, 0, 0.4]]))

    by_mass = farthest_pairs(first, second, 1)
    by_cost = farthest_pairs(first, second, 1, lambda p, q: wasserstein(p, q, LINE[:3, :3]))

    assert [pair.item for pair in by_mass + by_cost] == ["i0", "i1"]
    assert by_cost[0].distance == pytest.approx(0.8)


def test_a_negative_number_of_pairs_is_refused() -> None:
    with pytest.raises(DataError, match="ask for 0 or more"):
        closest_pairs(named(np.eye(2)), named(np.eye(2)), -1)
