"""Turn human labels and a model's beliefs into one number an item.

Every function takes two aligned label sets: ``human``, the labels that count (people, their
majority, the original labels), and ``model``. What a number is measured against is decided by
what is handed in, so cross-entropy to hard labels is ``cross_entropy`` with one-hot rows.
Logarithms are natural. NaN stands where a number is not defined for an item.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluate.pairs import TIE, PerItem, is_right, require_same_rows, top_class
from sfumato.labels import signals
from sfumato.labels.compare import jensen_shannon_rows, kl_rows, total_variation_rows
from sfumato.labels.labelset import LabelSet

__all__ = [
    "SMALLEST",
    "accuracy",
    "brier",
    "confidence",
    "confidence_right",
    "confidence_wrong",
    "cross_entropy",
    "entropy",
    "jensen_shannon",
    "kl",
    "l1",
    "second_best_accuracy",
    "second_best_accuracy_all",
    "top2_accuracy",
    "total_variation",
]

SMALLEST = float(np.finfo(np.float32).tiny)
"""A model's probability counts as at least this (1.2e-38) inside a logarithm.

It is the smallest normal number of the precision in which networks answer, so it changes no
probability that a softmax can express, and a class that a model excludes costs 87.3 nats for each
unit of human mass instead of making the mean infinite. A coarser floor such as 1e-12 would move
the published cross-entropies of the stored networks in the third decimal."""


def accuracy(human: LabelSet, model: LabelSet) -> PerItem:
    """1 where the model's most probable class is that of the human label, otherwise 0 (S0-31).

    Among equally probable classes the first in class order is taken, on both sides.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[0.6, 0.4], [0, 1]])
    >>> accuracy(human, LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [0.7, 0.3]]))
    array([1., 0.])
    """
    return is_right(human, model).astype(np.float64)


def top2_accuracy(human: LabelSet, model: LabelSet) -> PerItem:
    """1 where the human label's most probable class is among the model's two (S3-16).

    Equally probable classes of the model rank in class order.
    """
    require_same_rows(human, model)
    best_two = np.argsort(-model.probs, axis=1, kind="stable")[:, :2]
    found = (best_two == top_class(human)[:, None]).any(axis=1)
    return found.astype(np.float64)


def cross_entropy(human: LabelSet, model: LabelSet) -> PerItem:
    """−Σ p log q: nats needed to code a person's answer with the model's beliefs (S0-33, S2-70).

    With one-hot human labels it is the log loss (S0-32). q counts as at least ``SMALLEST``.

    >>> human = LabelSet(("a",), ("cat", "dog"), [[0.5, 0.5]])
    >>> cross_entropy(human, LabelSet(("a",), ("cat", "dog"), [[0.8, 0.2]])).round(4)
    array([0.9163])
    """
    require_same_rows(human, model)
    believed = np.clip(model.probs, SMALLEST, 1)
    return -(human.probs * np.log(believed)).sum(axis=1) + 0.0  # no negative zeros


def kl(human: LabelSet, model: LabelSet) -> PerItem:
    """Σ p log(p/q), human first: cross-entropy less the entropy of the human label (S4-30).

    0 log 0 is 0, and q counts as at least ``SMALLEST``.
    """
    require_same_rows(human, model)
    return kl_rows(human.probs, np.maximum(model.probs, SMALLEST))


def brier(human: LabelSet, model: LabelSet) -> PerItem:
    """Σ (q − p)² over the classes, from 0 to 2 (S4-31); not divided by their number.

    >>> human = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> brier(human, LabelSet(("a",), ("cat", "dog"), [[0, 1]]))
    array([2.])
    """
    require_same_rows(human, model)
    return ((model.probs - human.probs) ** 2).sum(axis=1)


def total_variation(human: LabelSet, model: LabelSet) -> PerItem:
    """½ Σ |p − q|: the mass that lies on other classes, from 0 to 1."""
    require_same_rows(human, model)
    return total_variation_rows(human.probs, model.probs)


def l1(human: LabelSet, model: LabelSet) -> PerItem:
    """Σ |p − q|, from 0 to 2: twice the total variation (S3-16)."""
    return 2 * total_variation(human, model)


def jensen_shannon(human: LabelSet, model: LabelSet) -> PerItem:
    """Mean divergence to the midpoint in nats, from 0 to log 2; not its square root."""
    require_same_rows(human, model)
    return jensen_shannon_rows(human.probs, model.probs)


def second_best_accuracy(human: LabelSet, model: LabelSet) -> PerItem:
    """1 where model and people name the same second choice, where people have one (S0-34, C4).

    People have a second choice when one class alone is second: it has mass, less than the first
    and more than the third. Other items are NaN. A model that has none (a one-hot row, or a tie)
    did not name it and gets 0. Whether the first choices agree plays no part.

    >>> human = LabelSet(("a", "b"), ("cat", "dog", "cow"), [[0.6, 0.3, 0.1], [1, 0, 0]])
    >>> model = LabelSet(("a", "b"), ("cat", "dog", "cow"), [[0.8, 0.2, 0], [0.8, 0.2, 0]])
    >>> second_best_accuracy(human, model)
    array([ 1., nan])
    """
    require_same_rows(human, model)
    said, is_clear = _second_choice(human.probs, above=TIE)  # less is rounding, not people
    believed, names_one = _second_choice(model.probs, above=0)
    return np.where(is_clear, (said == believed) & names_one, np.nan)


def second_best_accuracy_all(human: LabelSet, model: LabelSet) -> PerItem:
    """1 where the second-ranked classes are the same, over all items, as published (S0-34, C4).

    Rank is the place in a stable ascending sort, so of equal classes the last in class order
    ranks highest: where people were unanimous their "second choice" is the last class, an
    artefact that this variant keeps on purpose.
    """
    require_same_rows(human, model)
    if len(human.classes) < 2:
        return np.full(len(human), np.nan)
    second = [np.argsort(labels.probs, axis=1, kind="stable")[:, -2] for labels in (human, model)]
    return (second[0] == second[1]).astype(np.float64)


def confidence(human: LabelSet, model: LabelSet) -> PerItem:
    """The model's largest probability."""
    require_same_rows(human, model)
    return signals.top_probability(model)


def confidence_right(human: LabelSet, model: LabelSet) -> PerItem:
    """The model's largest probability where it is right, NaN elsewhere (S0-35)."""
    return np.where(is_right(human, model), signals.top_probability(model), np.nan)


def confidence_wrong(human: LabelSet, model: LabelSet) -> PerItem:
    """The model's largest probability where it is wrong, NaN elsewhere (S0-35)."""
    return np.where(is_right(human, model), np.nan, signals.top_probability(model))


def entropy(human: LabelSet, model: LabelSet) -> PerItem:
    """Shannon entropy of the model's row in nats."""
    require_same_rows(human, model)
    return signals.entropy(model)


def _second_choice(
    probs: NDArray[np.float64], *, above: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Which class is second, and whether it alone is."""
    n_items, n_classes = probs.shape
    if n_classes < 2:
        return np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.bool_)
    order = np.argsort(-probs, axis=1, kind="stable")[:, :3]
    ranked = np.take_along_axis(probs, order, axis=1)
    first, second = ranked[:, 0], ranked[:, 1]
    third = ranked[:, 2] if n_classes > 2 else np.zeros(n_items)
    alone = (second < first * (1 - TIE)) & (third < second * (1 - TIE))
    return order[:, 1], alone & (second > above)
