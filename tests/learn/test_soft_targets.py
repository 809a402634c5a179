"""Ordinary classifiers learn from distributions."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier, early_stopping
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBClassifier

from sfumato.errors import DataError
from sfumato.evaluation.scorers import soft_scorer
from sfumato.labels.alter import temperature
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.soft_rows import read_rows
from sfumato.learn.soft_targets import SoftTargets, derivatives, loss_and_gradient, map_labels

Array = NDArray[np.float64]


def sample(rows: int = 80, classes: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Features and distributions that follow them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    scores = X @ rng.normal(size=(4, classes)) + rng.normal(size=(rows, classes))
    return X, np.exp(log_softmax(scores, axis=1))


def labels_of(probs: Array) -> LabelSet:
    names = tuple(f"i{row}" for row in range(len(probs)))
    return LabelSet(names, tuple("xyzuvw"[: probs.shape[1]]), probs)


@parametrize_with_checks(
    [SoftTargets(LogisticRegression()), SoftTargets(DecisionTreeClassifier(random_state=0))]
)
def test_scikit_learns_contract_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("C", [0.3, 100.0])
def test_logistic_regression_is_the_optimum_that_scipy_finds_by_another_way(
    classes: int, C: float
) -> None:
    X, probs = sample(classes=classes)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    scores = classes if classes > 2 else 1

    def objective(flat: Array) -> float:
        coef, intercept = np.split(flat.reshape(scores, 5), [4], axis=1)
        raw = X @ coef.T + intercept.T
        raw = raw if scores > 1 else np.hstack([np.zeros_like(raw), raw])
        costs = -(probs * log_softmax(raw, axis=1)).sum(axis=1)
        return float(C * (weight @ costs) + 0.5 * (coef**2).sum()) / (C * len(X))

    # Gradients by differences: nothing of ours is in it.
    solved = minimize(
        objective, np.zeros(scores * 5), method="BFGS", options={"gtol": 1e-9}, jac="3-point"
    )
    coef, intercept = np.split(solved.x.reshape(scores, 5), [4], axis=1)
    model = SoftTargets(LogisticRegression(C=C)).fit(X, probs, sample_weight=weight)

    assert np.abs(model.estimator_.coef_ - coef).max() < 1e-6
    centred = intercept[:, 0] - (intercept.mean() if scores > 1 else 0)
    assert np.abs(model.estimator_.intercept_ - centred).max() < 1e-6


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [None, "balanced", {0: 3.0}])
def test_logistic_regression_on_labels_is_that_of_scikit_learn(
    classes: int, intercept: bool, weights: Any
) -> None:
    X, probs = sample(classes=classes)
    y = probs.argmax(axis=1)
    plain = LogisticRegression(
        fit_intercept=intercept, class_weight=weights, tol=1e-9, max_iter=999
    )

    soft = SoftTargets(plain).fit(X, np.eye(classes)[y])

    assert np.allclose(soft.predict_proba(X), plain.fit(X, y).predict_proba(X), atol=1e-6)
    assert soft.estimator_.coef_.shape == plain.coef_.shape


def test_logistic_regression_takes_sparse_features() -> None:
    X, probs = sample()
    X[np.abs(X) < 0.5] = 0

    dense = SoftTargets(LogisticRegression()).fit(X, probs)
    sparse = SoftTargets(LogisticRegression()).fit(csr_array(X), probs)

    assert np.allclose(dense.predict_proba(X), sparse.predict_proba(csr_array(X)), atol=1e-9)


@pytest.mark.parametrize("unstated", ["even", "any"])
def test_derivatives_are_those_of_differences(unstated: Any) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 4))
    rows = read_rows(
        [[0.2, 0.3, np.nan, np.nan], [np.nan] * 3 + [0.0], [0.1, 0.2, 0.3, 0.4]], unstated=unstated
    )
    slope, step = np.empty_like(scores), 1e-5
    for place in np.ndindex(scores.shape):
        moved = np.zeros_like(scores)
        moved[place] = step
        up, down = loss_and_gradient(scores + moved, rows), loss_and_gradient(scores - moved, rows)
        slope[place] = (up[0] - down[0]) / (2 * step)

    assert np.allclose(loss_and_gradient(scores, rows)[1], slope, atol=1e-8)


def test_any_of_a_set_is_learnt_from_what_sets_rule_out() -> None:
    X, probs = sample(400, classes=4)
    rng, true = np.random.default_rng(2), probs.argmax(axis=1)
    sets = np.eye(4, dtype=bool)[true] | (rng.random((400, 4)) < 0.4)

    model = SoftTargets(LogisticRegression(), unstated="any").fit(X, sets)
    flat = SoftTargets(LogisticRegression(), unstated="even").fit(X, sets)

    assert model.score(X, true) > flat.score(X, true)  # even mass flattens what is believed
    assert (model.predict(X) == true).mean() > 0.7


def test_other_learners_get_one_copy_per_class_with_mass() -> None:
    class Remembering(GaussianNB):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Remembering":
            self.seen_ = (np.array(X), np.array(y), sample_weight)
            return super().fit(X, y, sample_weight)

    X = np.array([[0.0], [1.0], [2.0]])
    probs = np.array([[0.5, 0.5, 0], [0, 0, 1], [0.25, 0, 0.75]])

    copies, y, weight = SoftTargets(Remembering()).fit(X, probs).estimator_.seen_

    assert copies[:, 0].tolist() == [0, 0, 1, 2, 2]
    assert y.tolist() == [0, 1, 2, 0, 2]
    assert weight.tolist() == [0.5, 0.5, 1, 0.25, 0.75]


def test_copies_equal_logistic_regression_solved_directly() -> None:
    X, probs = sample()
    with_l1 = LogisticRegression(l1_ratio=1e-12, solver="saga", tol=1e-9, max_iter=9999)

    direct = SoftTargets(LogisticRegression()).fit(X, probs)
    copies = SoftTargets(with_l1).fit(X, probs)

    assert np.allclose(direct.predict_proba(X), copies.predict_proba(X), atol=1e-5)


def test_rows_are_those_of_the_labels_or_joined_by_id() -> None:
    X, probs = sample()
    labels = labels_of(probs)
    order = np.random.default_rng(0).permutation(len(X))
    names = [labels.items[row] for row in order]
    table = pd.DataFrame(X[order], columns=list("abcd"))
    forms = [
        table.assign(item=names),
        table.set_axis(names),
        pl.DataFrame({"item": names, **{name: table[name].to_numpy() for name in "abcd"}}),
        dict(zip(names, X[order], strict=True)),
    ]

    expected = SoftTargets(LogisticRegression()).fit(X, labels)

    assert expected.classes_.tolist() == list("xyz")
    for form in forms:
        model = SoftTargets(LogisticRegression()).fit(form, labels)
        assert np.allclose(model.predict_proba(form), expected.predict_proba(X[order]), atol=1e-8)
        assert model.score(form, labels) == pytest.approx(expected.score(X, labels))


def test_items_of_the_features_decide_which_labels_are_learnt() -> None:
    X, probs = sample()
    labels = labels_of(probs)
    table = pd.DataFrame(X, index=list(labels.items), columns=list("abcd"))

    part = SoftTargets(LogisticRegression()).fit(table.iloc[:40], labels)

    expected = SoftTargets(LogisticRegression()).fit(X[:40], probs[:40])
    assert np.allclose(part.predict_proba(table), expected.predict_proba(X), atol=1e-8)
    assert part.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(DataError, match="has no target"):
        part.fit(table, labels.take(labels.items[:40]))


def test_each_judgment_counts_once() -> None:
    X, probs = sample(30)
    rng = np.random.default_rng(0)
    item = rng.integers(30, size=90)
    choice = np.array([rng.choice(3, p=probs[row]) for row in item])
    names = labels_of(probs).items
    crowd = CrowdLabels(names, ("p",), ("x", "y", "z"), item, np.zeros(90, int), np.eye(3)[choice])

    together = SoftTargets(LogisticRegression()).fit(X, crowd)

    apart = LogisticRegression(tol=1e-10, max_iter=999).fit(X[item], choice)
    assert np.allclose(together.predict_proba(X), apart.predict_proba(X), atol=1e-6)
    by_judgment = SoftTargets(LogisticRegression()).fit(X[item], crowd)
    assert np.allclose(by_judgment.predict_proba(X), apart.predict_proba(X), atol=1e-6)


def test_pipelines_hold_it_and_are_held_by_it_alike() -> None:
    X, probs = sample()
    X *= [1, 10, 100, 1000]

    outside = make_pipeline(StandardScaler(), SoftTargets(LogisticRegression())).fit(X, probs)
    inside = SoftTargets(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, probs)

    assert np.allclose(outside.predict_proba(X), inside.predict_proba(X), atol=1e-9)
    assert inside.n_features_in_ == 4


def test_a_step_that_needs_classes_gets_the_most_probable() -> None:
    X, probs = sample()
    inner = make_pipeline(SelectKBest(k=2), DecisionTreeClassifier(max_depth=2, random_state=0))

    model = SoftTargets(inner).fit(X, probs)

    kept = SelectKBest(k=2).fit(X, probs.argmax(axis=1)).get_support()
    assert (model.estimator_[0].get_support() == kept).all()


def test_searches_and_cross_validation_take_distributions() -> None:
    X, probs = sample()
    table = pd.DataFrame(probs, columns=list("xyz"), index=pd.Index(labels_of(probs).items))

    search = GridSearchCV(SoftTargets(LogisticRegression()), {"estimator__C": [1e-4, 1.0]}, cv=3)

    assert search.fit(X, probs).best_params_ == {"estimator__C": 1.0}
    assert search.fit(X, table).best_estimator_.classes_.tolist() == list("xyz")
    scores = cross_val_score(SoftTargets(GaussianNB()), X, probs, cv=3)
    assert (scores < 0).all()


def test_label_sets_are_split_by_rows_whatever_their_ids_are() -> None:
    X, probs = sample()
    ids = np.random.default_rng(1).permutation(len(probs))  # as ids, these are other rows
    labels = LabelSet(tuple(ids), tuple("xyz"), probs)
    search = GridSearchCV(
        SoftTargets(LogisticRegression()), {"estimator__C": [1e-4, 1.0]}, cv=3,
        scoring=soft_scorer("total-variation"),
    )  # fmt: skip

    of_rows, of_labels = (search.fit(X, y).cv_results_["mean_test_score"] for y in (probs, labels))
    train_X, test_X, train, test = train_test_split(X, labels, random_state=0)

    assert of_labels == pytest.approx(of_rows)
    assert (cross_val_score(SoftTargets(GaussianNB()), X, labels, cv=3) < 0).all()
    row_of = dict(zip(labels.items, X.tolist(), strict=True))
    assert [row_of[item] for item in train.items] == train_X.tolist()
    assert [row_of[item] for item in test.items] == test_X.tolist()


def test_clone_keeps_parameters_and_models_can_be_pickled() -> None:
    model = SoftTargets(LogisticRegression(C=3), classes=("a", "b", "c"), unstated="normalise")
    X, probs = sample()

    assert clone(model).get_params()["estimator__C"] == 3
    model.fit(X, probs)
    assert model.classes_.tolist() == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_score_is_minus_the_mean_soft_cross_entropy() -> None:
    X, probs = sample()
    model = SoftTargets(LogisticRegression()).fit(X, probs)
    each = -(probs * np.log(model.predict_proba(X))).sum(axis=1)
    weight = np.arange(len(X), dtype=float)

    assert model.score(X, probs) == pytest.approx(-each.mean())
    assert model.score(X, probs, weight) == pytest.approx(-np.average(each, weights=weight))


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()])
def test_a_class_without_mass_has_probability_0(estimator: Any) -> None:
    X, probs = sample()
    padded = np.insert(probs, 1, 0.0, axis=1)

    model = SoftTargets(estimator).fit(X, padded)

    believed = model.predict_proba(X)
    assert believed.shape == padded.shape
    assert (believed[:, 1] == 0).all()
    assert np.allclose(believed.sum(axis=1), 1)
    assert set(model.predict(X)) <= {0, 2, 3}


def test_an_estimator_without_predict_proba_predicts() -> None:
    X, probs = sample()
    model = SoftTargets(LinearSVC()).fit(X, probs)

    assert set(model.predict(X)) <= {0, 1, 2}
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (KNeighborsClassifier(), "KNeighborsClassifier takes no sample_weight"),
        (GridSearchCV(LogisticRegression(), {}), r"Put SoftTargets inside: GridSearchCV\(Soft"),
    ],
)
def test_an_estimator_without_sample_weight_is_refused(estimator: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        SoftTargets(estimator).fit(*sample())


def test_any_of_a_set_is_refused_where_copies_are_made() -> None:
    X, _ = sample()
    sets = np.tile([True, True, False], (len(X), 1))

    with pytest.raises(DataError, match='take "even" or "normalise"'):
        SoftTargets(GaussianNB(), unstated="any").fit(X, sets)
    with pytest.raises(DataError, match="class_weight cannot be used"):
        SoftTargets(LogisticRegression(class_weight="balanced"), unstated="any").fit(X, sets)


def test_weights_that_are_all_0_are_refused() -> None:
    X, probs = sample()

    with pytest.raises((DataError, ValueError)):
        SoftTargets(LogisticRegression()).fit(X, probs, sample_weight=np.zeros(len(X)))


def test_ensembles_that_take_weights_get_copies() -> None:
    X, probs = sample()
    boosted = AdaBoostClassifier(n_estimators=3, random_state=0)

    assert SoftTargets(boosted).fit(X, probs).predict_proba(X).shape == probs.shape


# LightGBM and XGBoost grow the trees that soft cross-entropy asks for.


def light(**options: Any) -> Any:
    return LGBMClassifier(**{"n_estimators": 5, "verbose": -1, "n_jobs": 1, **options})


def extreme(**options: Any) -> Any:
    return XGBClassifier(**{"n_estimators": 5, "n_jobs": 1, **options})


BOTH = pytest.mark.parametrize("make", [light, extreme])


def boosted_sample(rows: int = 300, classes: int = 3) -> tuple[Array, Array]:
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
    X, probs = boosted_sample(classes=classes)
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
    X, probs = boosted_sample(3000)

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
    X, probs = boosted_sample(600, classes=4)
    true = probs.argmax(axis=1)
    sets = np.eye(4, dtype=bool)[true] | (np.random.default_rng(2).random((600, 4)) < 0.4)

    model = SoftTargets(make(n_estimators=30), unstated="any").fit(X, sets)
    flat = SoftTargets(make(n_estimators=30), unstated="even").fit(X, sets)

    assert model.score(X, true) > flat.score(X, true)


def test_held_out_soft_targets_stop_lightgbm() -> None:
    X, probs = boosted_sample(400)
    fit = {"eval_set": [(X[300:], probs[300:])], "callbacks": [early_stopping(3, verbose=False)]}

    model = SoftTargets(light(n_estimators=200, learning_rate=0.5)).fit(X[:300], probs[:300], **fit)

    grown = model.estimator_.model_
    assert 0 < grown.best_iteration_ < 200
    told = grown.evals_result_["valid_0"]["soft cross-entropy"][grown.best_iteration_ - 1]
    assert model.score(X[300:], probs[300:]) == pytest.approx(-told)


def test_held_out_soft_targets_stop_xgboost() -> None:
    X, probs = boosted_sample(400)
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
        SoftTargets(estimator).fit(*boosted_sample())


@BOTH
def test_a_single_class_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="only one class"):
        SoftTargets(make()).fit(np.zeros((4, 1)), ["a"] * 4)


@BOTH
def test_sets_too_small_for_a_split_give_the_shares_of_classes(make: Callable[..., Any]) -> None:
    X, probs = boosted_sample(12)
    options = {} if make is light else {"min_child_weight": 99}

    model = SoftTargets(make(**options)).fit(X, probs)

    assert np.allclose(model.predict_proba(X), probs.mean(axis=0), atol=1e-6)


def test_a_map_that_sharpens_is_learnt_from_some_items_and_holds_for_all() -> None:
    rng = np.random.default_rng(0)
    names = tuple(map(str, range(200)))
    dense = LabelSet(names, ("cat", "dog", "frog"), 0.97 * rng.dirichlet(np.ones(3), 200) + 0.01)
    sharp = temperature(dense, 0.5)

    mapped = map_labels(dense, sharp.take(names[:100]))

    assert mapped.items == dense.items
    np.testing.assert_allclose(mapped.probs, sharp.probs, atol=0.01)
    assert mapped.provenance[-1].settings["learnt from"] == 100


def test_a_map_needs_items_and_classes_in_common() -> None:
    dense = LabelSet(("a", "b"), ("cat", "dog"), np.array([[0.5, 0.5], [1, 0]]))

    with pytest.raises(DataError, match="No item has both"):
        map_labels(dense, LabelSet(("c",), ("cat", "dog"), np.eye(1, 2)))
    with pytest.raises(DataError, match="classes"):
        map_labels(dense, LabelSet(("a",), ("cat", "frog"), np.eye(1, 2)))
