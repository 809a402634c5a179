"""The metrics of soft labels where other libraries look for them: scorers and running metrics.

``soft_scorer("cross-entropy")`` is what ``GridSearchCV(scoring=…)`` and ``cross_val_score`` call;
``SoftMetric`` has ``update``, ``compute`` and ``reset`` as in torchmetrics, which it does not need.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.metrics import Scorer, metric_named
from sfumato.labels.labelset import LabelSet
from sfumato.labels.soft_rows import ids_of, read_rows, split_ids

Given = Literal["probabilities", "logits"]
"""What a running metric is updated with."""


class ScoreFunction(Protocol):
    """What scikit-learn calls with a fitted estimator, features and targets; higher is better."""

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The score of the estimator on these rows."""


def soft_scorer(name: str) -> ScoreFunction:
    """A metric as a scorer of scikit-learn; where lower is better its sign is turned.

    ``y`` may have any form that ``SoftTargets`` takes (of rows that leave mass open it is shared
    evenly). Every row counts once.

    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0]], [0, 1])
    >>> round(soft_scorer("cross-entropy")(model, [[0]], [[0.75, 0.25]]), 4)
    -0.6931
    """
    scorer = _metric(name)
    if scorer.better == "neither":
        raise DataError(
            f"The metric {scorer.title!r} describes a model and does not judge it, so nothing can "
            "be chosen by it."
        )
    return _SoftScorer(scorer.name)


class _SoftScorer:
    """Known by its metric's name alone, so that it can be sent to other processes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        ids, features = split_ids(X, ids_of(y))
        probs = np.asarray(estimator.predict_proba(features), dtype=np.float64)
        classes = np.asarray(estimator.classes_).tolist()
        rows = read_rows(y, ids=ids, number=len(probs), classes=_columns(y, classes))
        counted = rows.weight > 0  # an item that nobody judged has no label
        scorer = metric_named(self.name)
        value = _compare(scorer, rows.over(classes).mass[counted], probs[counted], classes)
        return value if scorer.better == "higher" else -value

    def __repr__(self) -> str:
        return f"soft_scorer({self.name!r})"


class SoftMetric:
    """A metric over batches: ``update`` with each, ``compute`` at the end, ``reset`` to begin anew.

    Batches are arrays or tensors (items, classes); targets may also be class numbers. All rows
    are kept until ``reset``, because some metrics (calibration, correlations) need them together.

    >>> metric = SoftMetric("accuracy")
    >>> metric.update(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.8, 0.2], [0.3, 0.7]]))
    >>> metric.compute()
    0.5
    """

    def __init__(self, name: str, *, given: Given = "probabilities") -> None:
        if given not in get_args(Given):
            raise DataError(f"A metric is given {given!r}; it must be 'probabilities' or 'logits'.")
        self.scorer = _metric(name)
        self.given = given
        self.reset()

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch of what a model believes, and of the labels that count."""
        believed = _as_array(preds)
        if believed.ndim != 2:
            raise DataError(
                f"Predictions of shape {believed.shape} were given; give (items, classes)."
            )
        classes = range(believed.shape[1])
        labels = _as_array(target)
        columns = None if labels.ndim == 1 else classes
        rows = read_rows(labels, classes=columns, number=len(believed)).over(classes)
        believed = believed.astype(np.float64)
        if self.given == "logits":
            believed = np.exp(believed - believed.max(axis=1, keepdims=True))
            believed /= believed.sum(axis=1, keepdims=True)
        self._believed.append(believed)
        self._labels.append(rows.mass)

    def compute(self) -> float:
        """The metric over all rows since the last reset, in its own direction."""
        if not self._labels:
            raise DataError(f"The metric {self.scorer.title!r} was given no rows yet.")
        labels, believed = np.concatenate(self._labels), np.concatenate(self._believed)
        return _compare(self.scorer, labels, believed, range(labels.shape[1]))

    def reset(self) -> None:
        """Forget all rows."""
        self._believed: list[NDArray[np.float64]] = []
        self._labels: list[NDArray[np.float64]] = []

    def __call__(self, preds: Any, target: Any) -> float:
        """The metric of this batch alone, which is also added to the rest."""
        self.update(preds, target)
        alone = SoftMetric(self.scorer.name)
        alone._believed, alone._labels = self._believed[-1:], self._labels[-1:]
        return alone.compute()

    def __repr__(self) -> str:
        return f"SoftMetric({self.scorer.name!r}, given={self.given!r})"


def _metric(name: str) -> Scorer:
    return metric_named(name.replace("-", "_"))


def _columns(y: Any, classes: list[Any]) -> Sequence[Hashable] | None:
    """Columns of a bare array are the model's classes; labels and tables name their own."""
    bare = ids_of(y) is None and not hasattr(y, "columns") and np.ndim(y) == 2
    return classes if bare else None


def _as_array(values: Any) -> NDArray[Any]:
    if hasattr(values, "detach"):
        # numpy does not know bfloat16.
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() and values.itemsize < 4 else values
    return np.asarray(values)


def _compare(
    scorer: Scorer,
    labels: NDArray[np.float64],
    believed: NDArray[np.float64],
    classes: Sequence[Hashable],
) -> float:
    items = tuple(map(str, range(len(labels))))
    names = tuple(map(str, classes))
    # float32 rows sum to one less exactly than a label set must.
    return scorer.overall(
        LabelSet(items, names, labels / labels.sum(axis=1, keepdims=True)),
        LabelSet(items, names, believed / believed.sum(axis=1, keepdims=True)),
    )
