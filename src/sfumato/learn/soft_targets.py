"""Any classifier of scikit-learn's kind, learnt from label distributions instead of labels.

``SoftTargets(estimator).fit(X, labels)`` solves logistic regression directly, grows LightGBM and
XGBoost by their own objectives, and hands any other classifier with sample weights one copy of a
row per class that has mass in it.
"""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import logit, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from sfumato.errors import DataError, missing_package
from sfumato.frames import is_table
from sfumato.labels.labelset import CrowdLabels, LabelSet, align
from sfumato.labels.soft_rows import (
    SoftRows,
    Unstated,
    cross_entropy_rows,
    ids_of,
    read_rows,
    split_ids,
)
from sfumato.provenance import Step, to_json

# The loss of scores against soft targets, with its exact derivatives, in blocks of rows.
#
# Of one row with the scores z, q = softmax(z), the stated mass t, the open mass m on a set A of
# classes, and T = Σ t + m, the loss is
#
#     T log Σ exp z − Σ t z − m log Σ_A exp z  =  −Σ t log q − m log Σ_A q,
#
# its gradient T q − t − m r with r = q within A divided by its sum, and the diagonal of its second
# derivative T q (1 − q) − m r (1 − r). Without open mass this is plain soft cross-entropy.


Scores = NDArray[np.float64]  # (rows, classes)

BLOCK = 2**20
"""Numbers that are worked on at a time: few enough to need little memory."""


def blocks(rows: int, classes: int) -> Iterator[slice]:
    """Consecutive parts of so many rows that a part has about ``BLOCK`` numbers."""
    size = max(1, BLOCK // classes)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def loss_and_gradient(scores: Scores, rows: SoftRows) -> tuple[float, Scores]:
    """The sum over rows of what they cost, each times its weight, and its derivative by scores.

    >>> from sfumato.labels.soft_rows import read_rows
    >>> value, slope = loss_and_gradient(np.zeros((1, 2)), read_rows([[0.75, 0.25]]))
    >>> round(value, 4), slope
    (0.6931, array([[-0.25,  0.25]]))
    """
    total = rows.total
    probs, log_sums = _softmax(scores)
    each = total * log_sums - np.einsum("ik,ik->i", rows.mass, scores)
    probs *= total[:, None]
    probs -= rows.mass
    if rows.open is not None and rows.open_mass is not None:
        each -= rows.open_mass * _log_sum(scores, rows.open)
        probs -= rows.open_mass[:, None] * within(scores, rows.open)
    probs *= rows.weight[:, None]
    return float(each @ rows.weight), probs


def softmax(scores: Scores) -> Scores:
    """Probabilities of scores, row by row; made in one new array."""
    return _softmax(scores)[0]


def within(scores: Scores, allowed: NDArray[np.bool_]) -> Scores:
    """Probabilities among the allowed classes of each row; a row that allows none is zero."""
    logs = np.where(allowed, scores - _log_sum(scores, allowed)[:, None], -np.inf)
    return np.exp(logs)


def _log_sum(scores: Scores, allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """log Σ exp over the allowed classes; 0 where none is, which no mass is put on."""
    some = allowed.any(axis=1)
    sums = np.zeros(len(scores))
    sums[some] = logsumexp(np.where(allowed[some], scores[some], -np.inf), axis=1)
    return sums


def _softmax(scores: Scores) -> tuple[Scores, NDArray[np.float64]]:
    """Probabilities, and log Σ exp of each row."""
    top = scores.max(axis=1)
    probs = scores - top[:, None]
    np.exp(probs, out=probs)
    sums = probs.sum(axis=1)
    probs /= sums[:, None]
    return probs, top + np.log(sums)


# Logistic regression on soft targets, solved directly: no copies, the exact optimum.
#
# What is minimised is scikit-learn's own objective, Σ_i w_i loss_i + ‖coef‖² / (2 C), with the soft
# cross-entropy as the loss and the intercept free of penalty; two classes have one score, as there.
# L-BFGS goes as far as ``tol`` asks; Newton steps with the exact second derivative then take the
# gradient to the end of what numbers can tell, so that the result does not depend on ``tol``.


Vector = NDArray[np.float64]

EXACT = 1e-10
"""Newton steps end where no part of the gradient (of the mean loss) is larger."""
MOST_STEPS = 20
WIDE = 512
"""Products with fewer features than this take longer on several threads than on one: the threads
wait for each other, on a busy machine a hundred times as long as they work."""


def can_solve(estimator: Any) -> bool:
    """Whether it is a logistic regression whose objective is the one solved here.

    An L1 penalty and liblinear, which also shrinks the intercept, have objectives of their own.
    """
    if type(estimator) is not LogisticRegression:
        return False
    penalty = getattr(estimator, "penalty", "deprecated")
    smooth = penalty in ("l2", None) or (penalty == "deprecated" and not estimator.l1_ratio)
    return smooth and estimator.solver != "liblinear" and not estimator.dual


def fit_logistic(estimator: LogisticRegression, X: Any, rows: SoftRows) -> LogisticRegression:
    """Fit the estimator itself: ``coef_``, ``intercept_``, ``classes_`` and ``n_iter_``."""
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64)
    number = len(rows.classes)
    if number < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {rows.classes[0]!r}"
        )
    free = getattr(estimator, "penalty", "l2") is None
    task = _Task(
        X,
        rows,
        penalty=0.0 if free else 1 / estimator.C,
        intercept=bool(estimator.fit_intercept),
        scale=float(rows.weight @ rows.total),
    )
    with threadpool_limits(1 if X.shape[1] < WIDE else None, user_api="blas"):
        point, iterations = _solve(task, estimator)
    weights = point.reshape(task.shape)
    if number > 2 and task.intercept:  # a constant added to all intercepts changes nothing
        weights[:, -1] -= weights[:, -1].mean()
    estimator.classes_ = np.array(rows.classes)
    estimator.coef_ = weights[:, : X.shape[1]].copy()
    estimator.intercept_ = weights[:, -1].copy() if task.intercept else np.zeros(task.shape[0])
    estimator.n_iter_ = np.array([iterations], dtype=np.int32)
    return estimator


def _solve(task: "_Task", estimator: LogisticRegression) -> tuple[Vector, int]:
    found = minimize(
        task.value_and_gradient,
        np.zeros(task.shape[0] * task.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": estimator.max_iter,
            "maxls": 50,
            "gtol": estimator.tol,
            "ftol": 64 * np.finfo(np.float64).eps,
        },
    )
    if found.status == 1:
        warnings.warn(
            f"L-BFGS stopped after max_iter = {estimator.max_iter} iterations before the gradient "
            f"was below tol = {estimator.tol:g}. Scale the features, or allow more iterations.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return found.x, found.nit
    # With open mass the loss is not convex, and a Newton step may climb.
    return (task.polish(found.x) if task.rows.open is None else found.x), found.nit


@dataclass(frozen=True, eq=False)
class _Task:
    """The mean loss and penalty as a function of one flat vector of weights."""

    X: Any  # (rows, features), an array or CSR
    rows: SoftRows
    penalty: float
    intercept: bool
    scale: float
    """What the sum of losses is divided by, so that tol means what it does in scikit-learn."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of weights (one alone for two classes), and features with the intercept last."""
        classes = len(self.rows.classes)
        return (1 if classes == 2 else classes), self.X.shape[1] + self.intercept

    def value_and_gradient(self, point: Vector) -> tuple[float, Vector]:
        weights = point.reshape(self.shape)
        value, slope = 0.0, np.zeros(self.shape)
        for part in blocks(len(self.rows), len(self.rows.classes)):
            scores, rows = self._scores(weights, part), self.rows.take(part)
            cost, by_score = loss_and_gradient(scores, rows)
            value += cost
            slope += self._back(by_score, part)
        held = self._penalised(weights)
        value += 0.5 * self.penalty * float((held**2).sum())
        return value / self.scale, ((slope + self.penalty * held) / self.scale).ravel()

    def polish(self, point: Vector) -> Vector:
        """Newton steps, each solved by conjugate gradients, as long as the gradient shrinks."""
        slope = self.value_and_gradient(point)[1]
        for _ in range(MOST_STEPS):
            if np.abs(slope).max() <= EXACT:
                break
            times, diagonal = self._curvature(point)
            size = len(point)
            step, _ = cg(
                LinearOperator((size, size), matvec=times),
                -slope,
                rtol=1e-4,
                maxiter=500,
                M=LinearOperator((size, size), matvec=lambda v, by=diagonal: v / by),
            )
            new_slope = self.value_and_gradient(point + step)[1]
            if not np.abs(new_slope).max() < 0.9 * np.abs(slope).max():
                break
            point, slope = point + step, new_slope
        return point

    def _curvature(self, point: Vector) -> tuple[Callable[[Vector], Vector], Vector]:
        """The second derivative at a point: its product with a vector, and its diagonal."""
        weights = point.reshape(self.shape)
        counts = self.rows.weight * self.rows.total
        parts = list(blocks(len(self.rows), len(self.rows.classes)))
        probs = [softmax(self._scores(weights, part)) for part in parts]
        penalty = self._penalised(np.full(self.shape, self.penalty))

        def times(flat: Vector) -> Vector:
            direction = flat.reshape(self.shape)
            product = penalty * direction
            for part, q in zip(parts, probs, strict=True):
                moved = self._scores(direction, part)
                moved -= np.einsum("ik,ik->i", q, moved)[:, None]
                moved *= q
                moved *= counts[part, None]
                product += self._back(moved, part)
            return (product / self.scale).ravel()

        diagonal = penalty.copy()
        for part, q in zip(parts, probs, strict=True):
            diagonal += self._back(q * (1 - q) * counts[part, None], part, squared=True)
        return times, np.maximum(diagonal / self.scale, np.finfo(np.float64).tiny).ravel()

    def _scores(self, weights: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = self.X[part] @ weights[:, : self.X.shape[1]].T
        if self.intercept:
            scores += weights[:, -1]
        if len(self.rows.classes) == 2:  # the first class has the score 0
            return np.concatenate([np.zeros_like(scores), scores], axis=1)
        return scores

    def _back(
        self, by_score: NDArray[np.float64], part: slice, *, squared: bool = False
    ) -> NDArray[np.float64]:
        """A derivative by scores as one by weights; through squared features for a diagonal."""
        if len(self.rows.classes) == 2:
            by_score = by_score[:, 1:]
        X = self.X[part]
        if squared:
            X = X.multiply(X).tocsr() if issparse(X) else X**2
        by_feature = (X.T @ by_score).T
        if not self.intercept:
            return by_feature
        return np.concatenate([by_feature, by_score.sum(axis=0)[:, None]], axis=1)

    def _penalised(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.intercept:
            return weights
        held = weights.copy()
        held[:, -1] = 0
        return held


# LightGBM and XGBoost on soft targets: their own trees, grown by the exact gradient.
#
# A row of features is stored once, whatever the number of classes. The first derivative of the soft
# cross-entropy is exact; the second is its exact diagonal times the factor that each library's own
# objective uses, so that rows with one class give the trees of that objective. Where mass is open
# ("any of these classes") the second derivative leaves out its negative part, as it must be
# positive. Two classes have one score, as in both libraries.


OWN_OBJECTIVES = {
    "LGBMClassifier": (None, "binary", "multiclass", "softmax", "cross_entropy"),
    "XGBClassifier": (None, "binary:logistic", "multi:softprob", "multi:softmax"),
}
"""Objectives that mean softmax and cross-entropy; any other is refused."""

LEAST_SECOND = 1e-16
"""The least second derivative, as in XGBoost."""


def can_boost(estimator: Any) -> bool:
    """Whether it is LightGBM's or XGBoost's classifier; neither is imported to find out."""
    kind = type(estimator)
    return kind.__module__.split(".")[0] in ("lightgbm", "xgboost") and (
        kind.__name__ in OWN_OBJECTIVES
    )


class SoftBooster(ClassifierMixin, BaseEstimator):
    """A LightGBM or XGBoost model that was grown on soft targets.

    ``model_`` is the library's fitted model (importances, plots), ``base_score_`` the score of
    each class before the first tree: the logarithm of its share of the mass.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, rows: SoftRows, **fit_params: Any) -> "SoftBooster":
        """Grow the trees; ``eval_set=[(X, targets), …]`` is scored by soft cross-entropy."""
        if len(rows.classes) < 2:
            raise ValueError(f"There is only one class, {rows.classes[0]!r}; give at least two.")
        name = type(self.estimator).__name__
        parameters = self.estimator.get_params()
        _check_parameters(name, parameters)
        self.classes_ = np.array(rows.classes)
        self.base_score_ = _base_score(rows)
        held_out = [_held_out(pair, rows) for pair in fit_params.pop("eval_set", None) or ()]
        objective = _Objective(
            (rows, *(targets for _, targets in held_out)),
            factor=_second_factor(name, len(rows.classes)),
        )
        grow = _grow_lightgbm if name == "LGBMClassifier" else _grow_xgboost
        self.model_ = grow(
            parameters, X, objective, self.base_score_, [each for each, _ in held_out], fit_params
        )
        objective.release()
        self.n_features_in_ = self.model_.n_features_in_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The softmax of the trees' scores added to the base score."""
        option = "raw_score" if type(self.model_).__name__ == "LGBMModel" else "output_margin"
        raw = np.asarray(self.model_.predict(X, **{option: True}), dtype=np.float64)
        return softmax(_as_scores(raw + self.base_score_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """What the library counts as a feature's importance."""
        return np.asarray(self.model_.feature_importances_)


class _Objective:
    """The gradient of soft cross-entropy as both libraries ask for it.

    They hand back a label with every row; here it is the number of the set that the row is in, the
    training set being 0, and rows keep their order.
    """

    def __init__(self, sets: Sequence[SoftRows], *, factor: float) -> None:
        self.sets = tuple(sets)
        self.factor = factor

    def __call__(
        self, y_true: NDArray[Any], y_pred: NDArray[Any], sample_weight: object = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rows = self.sets[0]  # which hold the weights already
        raw = np.asarray(y_pred)
        first = np.empty(raw.shape, dtype=np.float32)
        second = np.empty(raw.shape, dtype=np.float32)
        for part in blocks(len(rows), len(rows.classes)):
            slope, curve = derivatives(_as_scores(raw[part]), rows.take(part))
            curve = np.maximum(curve * self.factor, LEAST_SECOND)
            first[part] = slope if raw.ndim == 2 else slope[:, 1]
            second[part] = curve if raw.ndim == 2 else curve[:, 1]
        return first, second

    def soft_cross_entropy(self, y_true: NDArray[Any], y_pred: NDArray[Any]) -> float:
        """The mean soft cross-entropy of the set that these rows are."""
        rows, scores = self.sets[int(y_true[0])], np.asarray(y_pred)
        parts = blocks(len(rows), len(rows.classes))
        cost = sum(
            loss_and_gradient(_as_scores(scores[part]), rows.take(part))[0] for part in parts
        )
        return cost / float(rows.weight @ rows.total)

    def release(self) -> None:
        """Let go of the targets: a model that is kept or pickled does not need them."""
        self.sets = ()


def derivatives(
    scores: NDArray[np.float64], rows: SoftRows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The gradient of the loss by each score, and the diagonal of its second derivative.

    The second is w T q (1 − q): exact without open mass, and from above with it.

    >>> derivatives(np.zeros((1, 2)), read_rows([[0.75, 0.25]]))
    (array([[-0.25,  0.25]]), array([[0.25, 0.25]]))
    """
    probs = softmax(scores)
    second = probs * (1 - probs) * (rows.weight * rows.total)[:, None]
    return loss_and_gradient(scores, rows)[1], second


def _as_scores(raw: NDArray[Any]) -> NDArray[np.float64]:
    """A score for each class; where two classes share one score, it is the second's."""
    scores = np.asarray(raw, dtype=np.float64)
    if scores.ndim == 2:
        return scores
    return np.stack([np.zeros_like(scores), scores], axis=1)


def _base_score(rows: SoftRows) -> NDArray[np.float64]:
    """log of each class's share of the mass; of two classes, the logit of the second's.

    Open mass counts evenly for the classes that it is open to.
    """
    mass = rows.weight @ rows.mass
    if rows.open is not None and rows.open_mass is not None:
        share = rows.weight * rows.open_mass / np.maximum(rows.open.sum(axis=1), 1)
        mass = mass + share @ rows.open
    shares: NDArray[np.float64] = mass / mass.sum()
    return logit(shares[1:]) if len(shares) == 2 else np.log(shares)


def _second_factor(name: str, classes: int) -> float:
    """What each library multiplies q (1 − q) by where there are more than two classes."""
    if classes == 2:
        return 1.0
    return classes / (classes - 1) if name == "LGBMClassifier" else 2.0


def _check_parameters(name: str, parameters: dict[str, Any]) -> None:
    objective = parameters.get("objective")
    if callable(objective) or objective not in OWN_OBJECTIVES[name]:
        raise DataError(
            f"The objective of {name} is {objective!r}, but soft targets are learnt by soft "
            "cross-entropy; leave the objective out."
        )
    neutral = {"is_unbalance": False, "unbalance": False, "scale_pos_weight": 1}
    for option, value in neutral.items():
        if parameters.get(option) not in (None, value):
            raise DataError(
                f"{name} has {option} = {parameters[option]}, which its own objectives alone know; "
                "give sample weights instead."
            )


def _held_out(pair: tuple[Any, Any], rows: SoftRows) -> tuple[Any, SoftRows]:
    X, targets = pair
    ids, X = split_ids(X)
    return X, read_rows(targets, ids=ids, number=X.shape[0]).over(rows.classes)


def _scores_of(rows: int, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """The base score of every row, without a copy for each."""
    return np.broadcast_to(base, (rows, len(base))) if len(base) > 1 else np.full(rows, base[0])


def _grow_lightgbm(
    parameters: dict[str, Any],
    X: Any,
    objective: _Objective,
    base: NDArray[np.float64],
    held_out: list[Any],
    fit_params: dict[str, Any],
) -> Any:
    from lightgbm import LGBMModel

    def score(y_true: NDArray[Any], y_pred: NDArray[Any]) -> tuple[str, float, bool]:
        return "soft cross-entropy", objective.soft_cross_entropy(y_true, y_pred), False

    number = {} if len(base) == 1 else {"num_class": len(base)}
    settings = {
        # LightGBM fails where it filters out all features of a small set before an own objective.
        "feature_pre_filter": False,
        **parameters,
        "objective": objective,
        "class_weight": None,
        **number,
    }
    if held_out:
        labels = [np.full(each.shape[0], at) for at, each in enumerate(held_out, 1)]
        fit_params = {
            **_evaluated(LGBMModel, held_out, labels),
            "eval_init_score": [_scores_of(each.shape[0], base) for each in held_out],
            "eval_metric": score,
            **fit_params,
        }
    return LGBMModel(**settings).fit(
        X, np.zeros(X.shape[0]), init_score=_scores_of(X.shape[0], base), **fit_params
    )


def _evaluated(kind: Any, held_out: list[Any], labels: list[Any]) -> dict[str, Any]:
    """The held-out sets in the words of this version of LightGBM, which renamed them."""
    if "eval_X" in signature(kind.fit).parameters:
        return {"eval_X": tuple(held_out), "eval_y": tuple(labels)}
    return {"eval_set": list(zip(held_out, labels, strict=True))}


def _grow_xgboost(
    parameters: dict[str, Any],
    X: Any,
    objective: _Objective,
    base: NDArray[np.float64],
    held_out: list[Any],
    fit_params: dict[str, Any],
) -> Any:
    from xgboost import XGBModel

    number = {} if len(base) == 1 else {"num_class": len(base)}
    settings = {
        **parameters,
        "objective": objective,
        "base_score": 0.0,
        "disable_default_eval_metric": True,  # it would compare scores with our numbers of sets
        **number,
    }
    if held_out:
        settings["eval_metric"] = objective.soft_cross_entropy
        fit_params = {
            "eval_set": [(each, np.full(each.shape[0], at)) for at, each in enumerate(held_out, 1)],
            "base_margin_eval_set": [_scores_of(each.shape[0], base) for each in held_out],
            "verbose": False,
            **fit_params,
        }
    weight = objective.sets[0].weight  # XGBoost bins features by weighted quantiles
    return XGBModel(**settings).fit(
        X,
        np.zeros(X.shape[0]),
        sample_weight=None if (weight == 1).all() else weight,
        base_margin=_scores_of(X.shape[0], base),
        **fit_params,
    )


try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.pipeline import Pipeline
    from sklearn.utils import _safe_indexing, assert_all_finite, get_tags
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        _num_samples,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
    )
except ImportError:
    raise missing_package("Learning from soft targets", "scikit-learn", "boost") from None


def _estimator_has(name: str) -> Any:
    def check(self: "SoftTargets") -> bool:
        # The fitted one where there is one: its error names what is missing.
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class SoftTargets(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that learns from distributions: soft cross-entropy in place of log loss.

    ``estimator`` is a classifier, or a pipeline that ends in one; what stands before it is fitted
    on the rows as they are, with the most probable class as y. How it is solved:

    - ``LogisticRegression`` without L1: directly, to the exact optimum of its own objective;
    - ``LGBMClassifier``, ``XGBClassifier``: by native objectives with exact gradients;
    - any other with ``sample_weight``: one copy of a row per class with mass, weighted by it.

    ``classes`` names the columns of targets that are plain arrays. ``unstated`` says what becomes
    of the mass that sets of classes and partial rows leave open: "even" shares it equally among
    the open classes, "normalise" divides what is stated by its sum, and "any" counts any of the
    open classes as right, which only the first two kinds above can learn.

    After fitting: ``estimator_``, ``classes_``, ``n_features_in_``. A class that has no mass in
    any row has probability 0.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SoftTargets(LogisticRegression()).fit(X, [[1, 0], [0.7, 0.3], [0.4, 0.6], [0, 1]])
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.53, 0.47]])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        classes: Sequence[Hashable] | None = None,
        unstated: Unstated = "even",
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.unstated = unstated

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> "SoftTargets":
        """Learn from rows of features and their targets.

        ``y`` is a ``LabelSet``, ``CrowdLabels`` (each judgment counts once), a table with one
        column per class, or an array: rows that sum to one, rows with NaN where nothing is stated,
        sets of classes as rows of 0 and 1, or plain class labels. Rows of X are in the order of
        ``labels.items``, or carry ids: a column or index ``item``, or a dict of id to row. They
        are then joined by id, and labels of other items are not used. ``sample_weight`` belongs to
        the rows of X. ``fit_params`` go to the estimator's ``fit``; the ``eval_set`` of a booster
        holds soft targets.
        """
        rows, X = self._read(X, y, self.classes)
        self.classes_ = _as_array(rows.classes)
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            rows = SoftRows(
                rows.classes, rows.mass, rows.weight * weight, None, rows.open, rows.open_mass
            )
        if not (rows.weight > 0).any():
            raise DataError("Every row has weight 0, so there is nothing to learn from.")
        self.estimator_ = _fitted(clone(self.estimator), X, rows.seen(), fit_params)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, one row per row of X; columns are ``classes_``."""
        check_is_fitted(self)
        probs = np.asarray(self.estimator_.predict_proba(split_ids(X)[1]))
        if probs.shape[1] == len(self.classes_):
            return probs
        place = {name: column for column, name in enumerate(self.classes_.tolist())}
        whole = np.zeros((len(probs), len(self.classes_)), dtype=probs.dtype)
        whole[:, [place[name] for name in self.estimator_.classes_.tolist()]] = probs
        return whole

    @available_if(_estimator_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that the estimator finds most probable for each row of X."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(split_ids(X)[1]))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean soft cross-entropy to the targets, in nats: higher is better.

        ``y`` may have any form that ``fit`` takes; plain class labels give minus the log loss.
        ``sfumato.evaluation.scorers`` has other metrics.
        """
        check_is_fitted(self)
        rows, features = self._read(X, y, self.classes_.tolist())
        weight = rows.weight
        if sample_weight is not None:
            weight = weight * _check_sample_weight(sample_weight, features, dtype=np.float64)
        each = cross_entropy_rows(rows, self.predict_proba(features))
        return -float(np.average(each, weights=weight))

    def _read(self, X: Any, y: Any, classes: Sequence[Hashable] | None) -> tuple[SoftRows, Any]:
        """The targets of each row of X, and X without ids."""
        if y is None:
            raise ValueError(
                "SoftTargets requires y to be passed, but the target y is None: give the targets."
            )
        ids, X = split_ids(X, ids_of(y))
        y = _checked(X, y)
        return (
            read_rows(y, classes=classes, unstated=self.unstated, ids=ids, number=_num_samples(X)),
            X,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _checked(X: Any, y: Any) -> Any:
    """Plain class labels as scikit-learn checks them; anything else as it is."""
    if not _num_samples(X):
        raise ValueError(
            "There are 0 samples of features (0 rows), while a minimum of 1 is required."
        )
    if isinstance(y, LabelSet | CrowdLabels | Mapping) or (not hasattr(y, "ndim") and is_table(y)):
        return y
    y = y if hasattr(y, "shape") else np.asarray(y)
    if len(y.shape) == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if len(y.shape) == 1:
        check_consistent_length(X, y)
        if getattr(y.dtype, "kind", "O") == "f":
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
    return y


def _as_array(classes: Sequence[Hashable]) -> NDArray[Any]:
    return np.array(classes)


def _fitted(estimator: Any, X: Any, rows: SoftRows, fit_params: dict[str, Any]) -> Any:
    if isinstance(estimator, Pipeline):
        return _fitted_pipeline(estimator, X, rows, fit_params)
    if can_solve(estimator):
        if fit_params:
            raise DataError(
                f"Logistic regression is solved here and takes no {sorted(fit_params)[0]!r}."
            )
        return fit_logistic(estimator, X, _with_class_weight(rows, estimator))
    if can_boost(estimator):
        return SoftBooster(estimator).fit(X, _with_class_weight(rows, estimator), **fit_params)
    return _fitted_on_copies(estimator, X, rows, fit_params)


def _fitted_pipeline(
    pipeline: Pipeline, X: Any, rows: SoftRows, fit_params: dict[str, Any]
) -> Pipeline:
    """What stands before the last step is fitted on rows, not on copies of them."""
    *before, (name, last) = pipeline.steps
    if before:
        transformers = Pipeline(before, memory=pipeline.memory, verbose=pipeline.verbose)
        X = transformers.fit_transform(X, _most_probable(rows))
        before = transformers.steps
    steps = [*before, (name, _fitted(last, X, rows, fit_params))]
    return Pipeline(steps, memory=pipeline.memory, verbose=pipeline.verbose)


def _most_probable(rows: SoftRows) -> NDArray[Any]:
    mass = rows.mass if rows.open is None else rows.mass + rows.open
    return _as_array(rows.classes)[mass.argmax(axis=1)]


def _with_class_weight(rows: SoftRows, estimator: Any) -> SoftRows:
    """The mass on each class times its ``class_weight``; "balanced" by mass."""
    wanted = getattr(estimator, "class_weight", None)
    if wanted is None:
        return rows
    if rows.open is not None:
        raise DataError(
            "class_weight cannot be used where any of several classes is right; choose another way "
            'for unstated mass than "any", or weigh rows by sample_weight.'
        )
    mass = rows.weight @ rows.mass
    if isinstance(wanted, str):
        if wanted != "balanced":
            raise ValueError(f"class_weight is {wanted!r}; it must be a dict, 'balanced' or None.")
        factor = mass.sum() / (len(mass) * mass)
    else:
        names = _as_array(rows.classes)
        factor = compute_class_weight(wanted, classes=names, y=names)
    return SoftRows(rows.classes, rows.mass * factor, rows.weight)


def _fitted_on_copies(estimator: Any, X: Any, rows: SoftRows, fit_params: dict[str, Any]) -> Any:
    """One copy of a row per class with mass; rows that have one class alone are not copied."""
    name = type(estimator).__name__
    if not has_fit_parameter(estimator, "sample_weight"):
        hint = (
            f" Put SoftTargets inside: {name}(SoftTargets(…), …)."
            if hasattr(estimator, "estimator")
            else " Choose one whose fit takes sample_weight."
        )
        raise DataError(
            f"{name} takes no sample_weight, so it cannot learn from soft targets.{hint}"
        )
    if rows.open is not None:
        raise DataError(
            f"{name} learns from one weighted copy per class, which cannot say that any of several "
            'classes is right; take "even" or "normalise" for unstated mass.'
        )
    row, column = np.nonzero((rows.mass > 0) & (rows.weight > 0)[:, None])
    weight = rows.mass[row, column] * rows.weight[row]
    alone = len(row) == len(rows) and bool((row == np.arange(len(row))).all())
    copies = X if alone else _safe_indexing(X, row)
    labels = _as_array(rows.classes)[column]
    if alone and bool((weight == 1).all()):
        return estimator.fit(copies, labels, **fit_params)
    return estimator.fit(copies, labels, sample_weight=weight, **fit_params)


def cross_fit_words(texts: Sequence[str], probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a logistic regression on tf-idf believes of texts that it has not seen, in ten parts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import KFold
    from sklearn.pipeline import make_pipeline

    words, found = np.array(texts, dtype=object), np.empty_like(probs)
    for train, test in KFold(10, shuffle=True, random_state=0).split(words):
        model = SoftTargets(make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression()))
        found[test] = model.fit(words[train], probs[train]).predict_proba(words[test])
    return found


FLOOR = 1e-3
"""Shares below this are taken for it where their logarithm is learnt from."""


def map_labels(dense: LabelSet, elicited: LabelSet) -> LabelSet:
    """What people asked in one way would say of every item, learnt from another way (S1-61).

    Logistic regression from the logarithms of ``dense`` labels to ``elicited`` ones of the same
    classes, on the items that have both; then all items of ``dense``. A map that sharpens,
    flattens, or favours classes is such a regression exactly. Unlike ``alter.sparse`` it is not
    told how many classes people name; thin its result where that is known.
    """
    known = set(dense.items)
    shared = tuple(item for item in elicited.items if item in known)
    if not shared:
        raise DataError("No item has both a dense and an elicited label to learn a map from.")
    align(dense.take(shared), elicited.take(shared))  # refuses other classes
    logs = dict(zip(dense.items, np.log(np.maximum(dense.probs, FLOOR)), strict=True))
    learner = SoftTargets(LogisticRegression(C=1e3, max_iter=1000))
    model = learner.fit(np.array([logs[item] for item in shared]), elicited.take(shared))
    found = model.predict_proba(np.array(list(logs.values())))
    place = {name: column for column, name in enumerate(model.classes_.tolist())}
    step = Step(
        "map labels", {"learnt from": len(shared), "elicited": to_json(elicited.provenance)}
    )
    return dense.with_probs(found[:, [place[name] for name in dense.classes]], step)
