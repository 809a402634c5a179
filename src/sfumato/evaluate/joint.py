"""Turn human labels and a model's beliefs into numbers that are no mean over items.

As in ``calibration``, one function gives a row an item and another, ``…_of``, turns any selection
of those rows into the number, so that strata and bootstraps need not begin from the labels.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluate.pairs import is_right, require_same_rows, top_class
from sfumato.evaluate.per_item import accuracy, cross_entropy
from sfumato.labels import signals
from sfumato.labels.labelset import LabelSet

__all__ = [
    "by_class",
    "class_and_right",
    "correlation_of",
    "entropies",
    "entropy_codes",
    "rank_correlation_of",
    "worst_class_accuracy",
    "worst_class_of",
]

Parts = NDArray[np.float64]  # (items, numbers)

SAME = 1e-12
"""Entropies that differ by less differ by rounding."""


def worst_class_accuracy(human: LabelSet, model: LabelSet) -> float:
    """The accuracy on the class where it is lowest, among classes that the labels have (S3-16)."""
    return worst_class_of(class_and_right(human, model))


def by_class(human: LabelSet, model: LabelSet) -> pl.DataFrame:
    """Accuracy and cross-entropy by the human label's most probable class (S3-16).

    A row a class: ``class``, ``accuracy``, ``cross_entropy`` (null without items), ``items``.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]])
    >>> model = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [0, 1]])
    >>> by_class(human, model)["accuracy"].to_list()
    [0.5, None]
    """
    values = {"accuracy": accuracy(human, model), "cross_entropy": cross_entropy(human, model)}
    of_class = [top_class(human) == place for place in range(len(human.classes))]
    means = {
        name: pl.Series([each[rows].mean() if rows.any() else None for rows in of_class])
        for name, each in values.items()
    }
    return pl.DataFrame(
        {
            "class": human.classes,
            **{name: column.cast(pl.Float64) for name, column in means.items()},
            "items": [int(rows.sum()) for rows in of_class],
        }
    )


def class_and_right(human: LabelSet, model: LabelSet) -> Parts:
    """For each item the human label's most probable class, and 1 where the model is right."""
    return np.stack([top_class(human), is_right(human, model)], axis=1).astype(np.float64)


def worst_class_of(parts: Parts) -> float:
    """The lowest accuracy of a class among rows of ``class_and_right``; NaN without any."""
    if not len(parts):
        return float("nan")
    of_class = parts[:, 0].astype(np.int64)
    items = np.bincount(of_class)
    right = np.bincount(of_class, weights=parts[:, 1])
    return float((right[items > 0] / items[items > 0]).min())


def entropies(human: LabelSet, model: LabelSet) -> Parts:
    """For each item the entropy of the human label and that of the model's row, in nats."""
    require_same_rows(human, model)
    return np.stack([signals.entropy(human), signals.entropy(model)], axis=1)


def entropy_codes(human: LabelSet, model: LabelSet) -> Parts:
    """For each item the places of its two entropies among all, equal ones sharing a place.

    With them any selection of items can be ranked without sorting.
    """
    # Rounded, because the order of a sum must not make ranks.
    columns = entropies(human, model).round(12).T
    places = [np.unique(column, return_inverse=True)[1] for column in columns]
    return np.stack(places, axis=1).astype(np.float64)


def rank_correlation_of(codes: Parts) -> float:
    """Spearman correlation of rows of ``entropy_codes``; NaN where one column does not vary."""
    return correlation_of(np.stack([_mean_ranks(column) for column in codes.T]).T)


def correlation_of(pairs: Parts) -> float:
    """Pearson correlation of two columns; NaN where one does not vary, as among the unanimous."""
    if len(pairs) < 2:
        return float("nan")
    x, y = np.ascontiguousarray(pairs.T)
    if np.ptp(x) <= SAME or np.ptp(y) <= SAME:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    # Without np.corrcoef, which takes five times as long, and a bootstrap asks a thousand times.
    together = x @ y / np.sqrt((x @ x) * (y @ y))
    return float(np.clip(together, -1, 1))


def _mean_ranks(codes: Parts) -> Parts:
    places = codes.astype(np.int64)
    count = np.bincount(places)
    return (np.cumsum(count) - (count - 1) / 2)[places]
