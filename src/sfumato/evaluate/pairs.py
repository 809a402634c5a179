"""Turn two label sets over the same items into what the metrics share: who was right, and where.

A metric compares ``human`` (the labels that count: people, their majority, the original labels)
with ``model`` (what a model believes). Both must hold the same items and classes in the same
order; ``sfumato.labels.labelset.align`` brings two sets there.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet

__all__ = ["TIE", "PerItem", "is_right", "mean_of_defined", "require_same_rows", "top_class"]

PerItem = NDArray[np.float64]  # (items,), NaN where a metric is not defined for an item

TIE = 1e-12
"""Probabilities this close, relative to their size, are equal: the order of a sum rounds."""


def require_same_rows(human: LabelSet, model: LabelSet) -> None:
    """Refuse two sets that are not aligned, naming the first item or class that differs."""
    _require_same_names(human.classes, model.classes, "class")
    _require_same_names(human.items, model.items, "item")


def top_class(labels: LabelSet) -> NDArray[np.int64]:
    """The position of each row's most probable class; among equals, the first in class order.

    >>> top_class(LabelSet(("a", "b"), ("cat", "dog"), [[0.2, 0.8], [0.5, 0.5]]))
    array([1, 0])
    """
    best = labels.probs.max(axis=1, keepdims=True)
    return (labels.probs >= best * (1 - TIE)).argmax(axis=1)


def is_right(human: LabelSet, model: LabelSet) -> NDArray[np.bool_]:
    """Where the model's most probable class is that of the human label (ties: ``top_class``)."""
    require_same_rows(human, model)
    return top_class(human) == top_class(model)


def mean_of_defined(values: PerItem) -> float:
    """The mean of what is not NaN; NaN when nothing is defined.

    >>> mean_of_defined(np.array([1.0, np.nan, 0.0]))
    0.5
    """
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _require_same_names(
    human: tuple[str, ...], model: tuple[str, ...], what: Literal["class", "item"]
) -> None:
    if human == model:
        return
    known, believed = set(human), set(model)
    for name in human:
        if name not in believed:
            raise DataError(
                f"The model says nothing about the {what} {name!r} ({len(known - believed)} of "
                f"{len(human)} are missing). Score a model on the labels it was asked about."
            )
    for name in model:
        if name not in known:
            raise DataError(
                f"The labels do not have the {what} {name!r} of the model "
                f"({len(believed - known)} of {len(model)} are not there). Take the model's rows "
                "of the labelled items only."
            )
    place = next(at for at, name in enumerate(human) if name != model[at])
    raise DataError(
        f"The {what} at position {place} is {human[place]!r} in the labels but {model[place]!r} "
        "in the model. Bring both into the same order."
    )
