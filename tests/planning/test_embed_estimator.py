import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from sfumato.errors import DataError, UnknownName
from sfumato.planning.embed import GNMDS, objective_of, rank_scores, read_triplets


@pytest.fixture(scope="module")
def asked() -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Questions about twelve points in the plane, and the true answers."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2))
    three = np.array([rng.choice(12, 3, replace=False) for _ in range(800)])
    anchor, middle, last = points[three].transpose(1, 0, 2)
    nearer = ((anchor - middle) ** 2).sum(axis=1) < ((anchor - last) ** 2).sum(axis=1)
    return three, nearer


def in_order(asked: tuple[NDArray[np.int64], NDArray[np.bool_]]) -> NDArray[np.int64]:
    three, nearer = asked
    return np.where(nearer[:, None], three, three[:, [0, 2, 1]])


def test_ordered_triplets_and_responses_give_the_same_points(
    asked: tuple[NDArray[np.int64], NDArray[np.bool_]],
) -> None:
    three, nearer = asked

    ordered = GNMDS(2, random_state=0).fit_transform(in_order(asked))
    by_bool = GNMDS(2, random_state=0).fit_transform(three, nearer)
    by_sign = GNMDS(2, random_state=0).fit_transform(three, np.where(nearer, 1, -1))

    assert ordered.shape == (12, 2)
    np.testing.assert_array_equal(ordered, by_bool)
    np.testing.assert_array_equal(ordered, by_sign)


def test_points_answer_as_the_truth_does(
    asked: tuple[NDArray[np.int64], NDArray[np.bool_]],
) -> None:
    three, nearer = asked
    train, test = slice(0, 600), slice(600, None)

    estimator = GNMDS(2, random_state=0).fit(three[train], nearer[train])

    assert estimator.score(three[train], nearer[train]) > 0.98
    assert estimator.score(three[test], nearer[test]) > 0.93
    agree = (estimator.predict(three[test]) == nearer[test]).mean()
    assert agree == pytest.approx(estimator.score(three[test], nearer[test]))
    assert estimator.score(in_order(asked)[test]) == pytest.approx(agree)


def test_stress_is_the_exact_objective(
    asked: tuple[NDArray[np.int64], NDArray[np.bool_]],
) -> None:
    estimator = GNMDS(2, lambd=1.5, random_state=0).fit(*asked)

    exact = objective_of(read_triplets(*asked), estimator.embedding_, regularisation=1.5)

    assert estimator.stress_ == pytest.approx(exact)
    assert estimator.n_iter_ > 0
    assert estimator.converged_


def test_settings_follow_scikit_learn() -> None:
    estimator = GNMDS(3, lambd=0.5, random_state=7)

    copy = clone(estimator)
    grid = [
        copy.set_params(**params).n_components for params in ParameterGrid({"n_components": [1, 4]})
    ]

    assert copy is not estimator
    assert clone(estimator).get_params() == estimator.get_params()
    assert grid == [1, 4]
    assert estimator.n_components == 3
    assert eval(repr(estimator)).get_params() == estimator.get_params()


def test_no_setting_is_read_before_fit() -> None:
    estimator = GNMDS(n_components=-3)

    with pytest.raises(DataError, match="at least one component"):
        estimator.fit([[0, 1, 2]])


def test_unknown_setting_is_named() -> None:
    with pytest.raises(UnknownName, match="no setting 'backend'"):
        GNMDS().set_params(backend="torch")


def test_objects_without_answers_get_points_too() -> None:
    points = GNMDS(2, random_state=0).fit_transform([[0, 1, 2], [1, 0, 2]], n_objects=5)

    assert points.shape == (5, 2)
    assert np.isfinite(points).all()


def test_rankings_can_be_fitted_directly() -> None:
    truth = np.random.default_rng(0).normal(size=(25, 2))
    near = -((truth[:15, None] - truth[None, 15:]) ** 2).sum(axis=2)
    rankings = rank_scores(near)

    estimator = GNMDS(2, lambd=None, random_state=0).fit(rankings)

    assert estimator.embedding_.shape == (25, 2)
    assert estimator.score(rankings) > 0.9


def test_initial_points_are_used(asked: tuple[NDArray[np.int64], NDArray[np.bool_]]) -> None:
    first = GNMDS(2, random_state=0).fit(*asked)

    again = GNMDS(2, random_state=1).fit(*asked, init=first.embedding_)

    assert again.stress_ <= first.stress_ * 1.01 + 1e-9


def test_reading_points_before_fit_is_one_sentence() -> None:
    with pytest.raises(DataError, match="has not been fitted"):
        GNMDS().transform()
