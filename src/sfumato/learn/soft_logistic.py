"""Logistic regression on soft targets, solved directly: no copies, the exact optimum.

What is minimised is scikit-learn's own objective, Σ_i w_i loss_i + ‖coef‖² / (2 C), with the soft
cross-entropy as the loss and the intercept free of penalty; two classes have one score, as there.
L-BFGS goes as far as ``tol`` asks; Newton steps with the exact second derivative then take the
gradient to the end of what numbers can tell, so that the result does not depend on ``tol``.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from sfumato.labels.soft_rows import SoftRows
from sfumato.learn.soft_loss import blocks, loss_and_gradient, softmax

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
