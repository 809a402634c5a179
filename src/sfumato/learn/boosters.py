"""LightGBM and XGBoost on soft targets: their own trees, grown by the exact gradient.

A row of features is stored once, whatever the number of classes. The first derivative of the soft
cross-entropy is exact; the second is its exact diagonal times the factor that each library's own
objective uses, so that rows with one class give the trees of that objective. Where mass is open
("any of these classes") the second derivative leaves out its negative part, as it must be positive.
Two classes have one score, as in both libraries.
"""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin

from sfumato.errors import DataError
from sfumato.labels.soft_rows import SoftRows, read_rows, split_ids
from sfumato.learn.soft_loss import blocks, loss_and_gradient, softmax

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
