"""LightGBM and XGBoost grow the trees that soft cross-entropy asks for."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier, early_stopping
from numpy.typing import NDArray
from scipy.special import log_softmax
from xgboost import XGBClassifier

from sfumato.errors import DataError
from sfumato.labels.soft_rows import read_rows
from sfumato.learn.boosters import derivatives
from sfumato.learn.soft_loss import loss_and_gradient
from sfumato.learn.soft_targets import SoftTargets

Array = NDArray[np.float64]


def light(**options: Any) -> Any:
    return LGBMClassifier(**{"n_estimators": 5, "verbose": -1, "n_jobs": 1, **options})


def extreme(**options: Any) -> Any:
    return XGBClassifier(**{"n_estimators": 5, "n_jobs": 1, **options})


BOTH = pytest.mark.parametrize("make", [light, extreme])


def sample(rows: int = 300, classes: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    scores = X @ rng.normal(size=(4, classes)) + rng.normal(size=(rows, classes))
    return X, np.exp(log_softmax(scores, axis=1))


@pytest.mark.parametrize("classes", [2, 4])
def test_derivatives_equal_finite_differences(classes: int) -> None:
    rng = np.random.default_rng(0)
    scores, step = rng.normal(size=(5, classes)), 1e-5
    rows = read_rows(rng.dirichlet(np.ones(classes), 5))

    slope, second = derivatives(scores, rows)

    for place in np.ndindex(scores.shape):
        moved = np.zeros_like(scores)
        moved[place] = step
        up, down = loss_and_gradient(scores + moved, rows), loss_and_gradient(scores - moved, rows)
        assert slope[place] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-8)
        assert second[place] == pytest.approx((up[1] - down[1])[place] / (2 * step), abs=1e-8)


@BOTH
@pytest.mark.parametrize("classes", [2, 4])
def test_one_hot_rows_give_the_trees_of_the_librarys_own_objective(
    make: Callable[..., Any], classes: int
) -> None:
    X, probs = sample(classes=classes)
    y = probs.argmax(axis=1)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))

    soft = SoftTargets(make()).fit(X, np.eye(classes)[y], sample_weight=weight)

    own = make().fit(X, y, sample_weight=weight)
    assert np.allclose(soft.predict_proba(X), own.predict_proba(X), atol=1e-5)


@BOTH
@pytest.mark.parametrize("classes", [2, 3])
def test_soft_rows_give_the_trees_of_weighted_copies(
    make: Callable[..., Any], classes: int
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(5, size=(400, 2)).astype(float)  # few values, so that bins are the same
    probs = rng.dirichlet(np.ones(classes) * (1 + X[:1, 0]), 400)
    options = {"min_child_samples": 1, "min_data_in_bin": 1} if make is light else {}

    soft = SoftTargets(make(**options)).fit(X, probs)

    copies = make(**options).fit(
        np.repeat(X, classes, axis=0),
        np.tile(np.arange(classes), len(X)),
        sample_weight=probs.ravel(),
    )
    assert np.allclose(soft.predict_proba(X), copies.predict_proba(X), atol=1e-4)


@BOTH
def test_it_learns_and_can_be_pickled_without_its_targets(make: Callable[..., Any]) -> None:
    X, probs = sample(3000)

    model = SoftTargets(make(), classes=("a", "b", "c")).fit(X, probs)

    base = -(probs * np.log(probs.mean(axis=0))).sum(axis=1).mean()
    assert model.score(X, probs) > -base
    text = pickle.dumps(model)
    assert len(text) < probs.nbytes * 3
    assert (pickle.loads(text).predict_proba(X) == model.predict_proba(X)).all()
    assert model.n_features_in_ == 4
    assert model.estimator_.feature_importances_.shape == (4,)
    assert set(model.predict(X)) <= {"a", "b", "c"}


@BOTH
def test_any_of_a_set_can_be_learnt(make: Callable[..., Any]) -> None:
    X, probs = sample(600, classes=4)
    true = probs.argmax(axis=1)
    sets = np.eye(4, dtype=bool)[true] | (np.random.default_rng(2).random((600, 4)) < 0.4)

    model = SoftTargets(make(n_estimators=30), unstated="any").fit(X, sets)
    flat = SoftTargets(make(n_estimators=30), unstated="even").fit(X, sets)

    assert model.score(X, true) > flat.score(X, true)


def test_held_out_soft_targets_stop_lightgbm() -> None:
    X, probs = sample(400)
    fit = {"eval_set": [(X[300:], probs[300:])], "callbacks": [early_stopping(3, verbose=False)]}

    model = SoftTargets(light(n_estimators=200, learning_rate=0.5)).fit(X[:300], probs[:300], **fit)

    grown = model.estimator_.model_
    assert 0 < grown.best_iteration_ < 200
    told = grown.evals_result_["valid_0"]["soft cross-entropy"][grown.best_iteration_ - 1]
    assert model.score(X[300:], probs[300:]) == pytest.approx(-told)


def test_held_out_soft_targets_stop_xgboost() -> None:
    X, probs = sample(400)
    learner = extreme(n_estimators=200, learning_rate=0.8, early_stopping_rounds=3)

    model = SoftTargets(learner).fit(X[:300], probs[:300], eval_set=[(X[300:], probs[300:])])

    grown = model.estimator_.model_
    assert 0 < grown.best_iteration < 199
    assert model.score(X[300:], probs[300:]) == pytest.approx(-grown.best_score, abs=1e-5)


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (light(objective="multiclassova"), "The objective of LGBMClassifier is 'multiclassova'"),
        (extreme(objective="count:poisson"), "leave the objective out"),
        (light(is_unbalance=True), "is_unbalance = True, which its own objectives alone know"),
    ],
)
def test_settings_that_soft_targets_cannot_keep_are_refused(estimator: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        SoftTargets(estimator).fit(*sample())


@BOTH
def test_a_single_class_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="only one class"):
        SoftTargets(make()).fit(np.zeros((4, 1)), ["a"] * 4)


@BOTH
def test_sets_too_small_for_a_split_give_the_shares_of_classes(make: Callable[..., Any]) -> None:
    X, probs = sample(12)
    options = {} if make is light else {"min_child_weight": 99}

    model = SoftTargets(make(**options)).fit(X, probs)

    assert np.allclose(model.predict_proba(X), probs.mean(axis=0), atol=1e-6)
