"""Any classifier of scikit-learn's kind, learnt from label distributions instead of labels.

``SoftTargets(estimator).fit(X, labels)`` solves logistic regression directly, grows LightGBM and
XGBoost by their own objectives, and hands any other classifier with sample weights one copy of a
row per class that has mass in it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, missing_package
from sfumato.frames import is_table
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.soft_rows import (
    SoftRows,
    Unstated,
    cross_entropy_rows,
    ids_of,
    read_rows,
    split_ids,
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

from sfumato.learn.boosters import SoftBooster, can_boost
from sfumato.learn.soft_logistic import can_solve, fit_logistic


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
