import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.simulate.crowd import distance_labels, gaussian_clusters
from sfumato.provenance import is_simulated


def test_soft_labels_are_the_softmax_of_minus_the_distance() -> None:
    positions, centres = np.array([[0.0, 3.0]]), np.array([[4.0, 0.0], [0.0, 0.0]])

    hard, soft = distance_labels(positions, centres)

    far, near = np.exp(-5.0), np.exp(-3.0)  # distances by Pythagoras
    np.testing.assert_allclose(soft.probs, [[far / (far + near), near / (far + near)]])
    assert hard.probs.tolist() == [[0.0, 1.0]]


@given(
    items=st.integers(1, 30),
    classes=st.integers(1, 12),
    dimensions=st.sampled_from([1, 5, 25, 125]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_hard_label_is_the_mode_of_the_soft_one(
    items: int, classes: int, dimensions: int, seed: int
) -> None:
    clusters = gaussian_clusters(
        items=items, classes=classes, dimensions=dimensions, rng=np.random.default_rng(seed)
    )

    assert clusters.positions.shape == (items, dimensions)
    assert clusters.centres.shape == (classes, dimensions)
    assert (clusters.hard.probs.argmax(axis=1) == clusters.soft.probs.argmax(axis=1)).all()


def test_without_spread_every_point_is_a_centre_and_classes_are_even() -> None:
    clusters = gaussian_clusters(
        items=12, classes=4, dimensions=5, spread=0.0, rng=np.random.default_rng(0)
    )

    assert clusters.hard.probs.sum(axis=0).tolist() == [3, 3, 3, 3]


def test_points_stand_around_their_centres_with_the_given_spread() -> None:
    clusters = gaussian_clusters(
        items=4000, classes=2, dimensions=125, spread=0.5, rng=np.random.default_rng(1)
    )

    centre = clusters.centres[clusters.hard.probs.argmax(axis=1)]
    assert (clusters.positions - centre).std() == pytest.approx(0.5, abs=0.005)


def test_same_seed_same_points_and_all_is_called_simulated() -> None:
    first, second = (
        gaussian_clusters(items=9, classes=3, dimensions=5, rng=np.random.default_rng(7))
        for _ in range(2)
    )

    assert (first.positions == second.positions).all()
    assert is_simulated(first.hard.provenance)
    assert is_simulated(first.soft.provenance)


def test_no_dimension_is_refused() -> None:
    with pytest.raises(DataError, match="0 dimensions"):
        gaussian_clusters(items=9, classes=3, dimensions=0, rng=np.random.default_rng(7))


def test_the_nearest_of_a_class_s_modes_counts() -> None:
    positions = np.array([[0.0], [10.0]])
    centres = np.array([[1.0], [10.0], [4.0], [5.0]])  # two modes of one class, then of another

    hard, soft = distance_labels(positions, centres, modes=2)

    assert hard.probs.tolist() == [[1, 0], [1, 0]]
    odds = np.exp([[-1, -4], [0, -5]])
    np.testing.assert_allclose(soft.probs, odds / odds.sum(axis=1, keepdims=True))


def test_classes_of_several_modes_have_as_many_centres_each() -> None:
    rng = np.random.default_rng(0)

    clusters = gaussian_clusters(items=12, classes=3, dimensions=2, modes=2, rng=rng)

    assert clusters.centres.shape == (6, 2)
    assert clusters.soft.probs.shape == (12, 3)
