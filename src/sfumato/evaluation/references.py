"""Turn labels into the lines a score is read against: the best possible, and cheap rivals.

A cross-entropy means little alone. ``entropy_floor`` is what a perfect model would reach, and
``class_oracle`` what is reached by knowing the class and nothing about the picture (C20).
"""

import numpy as np

from sfumato.errors import DataError
from sfumato.evaluation.metrics import cross_entropy, rms_of, rms_parts, top_class
from sfumato.labels.alter import class_level
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.provenance import Step
from sfumato.stats import mean_of_defined


def entropy_floor(human: LabelSet) -> float:
    """Mean entropy of the human labels in nats: no model has a lower cross-entropy to them.

    >>> round(entropy_floor(LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [1, 0]])), 4)
    0.3466
    """
    return mean_of_defined(entropy(human))


def class_oracle(human: LabelSet, original: LabelSet) -> float:
    """Cross-entropy to people of predicting each item's class mean: one row a class (C20).

    The oracle is given the original class of each item and the mean human label of the class,
    over these same items, and nothing about the item itself.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [1, 0]])
    >>> original = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]])
    >>> round(class_oracle(human, original), 4)
    0.5623
    """
    return mean_of_defined(cross_entropy(human, class_oracle_labels(human, original)))


def class_oracle_labels(human: LabelSet, original: LabelSet) -> LabelSet:
    """What the class oracle answers, as if it were a model: it can be scored by any metric."""
    oracle = class_level(human, original)
    return LabelSet(oracle.items, oracle.classes, oracle.probs, provenance=oracle.provenance)


def uniform(human: LabelSet) -> float:
    """Cross-entropy of knowing nothing, log K whatever the labels are.

    >>> round(uniform(LabelSet(("a",), ("cat", "dog"), [[1, 0]])), 4)
    0.6931
    """
    return float(np.log(len(human.classes))) if len(human) else float("nan")


def mean_label(human: LabelSet) -> float:
    """Cross-entropy of always predicting the mean human label: the best constant answer.

    It is the entropy of the mean label, and at most ``uniform``.
    """
    if not len(human):
        return float("nan")
    everywhere = np.broadcast_to(human.probs.mean(axis=0), human.probs.shape)
    step = Step("mean label everywhere")
    return mean_of_defined(cross_entropy(human, human.with_probs(np.array(everywhere), step)))


def majority_class(human: LabelSet) -> float:
    """Accuracy of always naming the class that most items have."""
    if not len(human):
        return float("nan")
    return float(np.bincount(top_class(human)).max() / len(human))


def rms_calibration_floor(
    model: LabelSet, *, rng: np.random.Generator, draws: int = 100, bin_size: int | None = None
) -> float:
    """The RMS calibration error that chance alone leaves, were the model perfectly calibrated.

    Each draw makes every item right with the probability that the model states, and the mean of
    ``rms_calibration`` over the draws is given: about 0.034 for 3,000 items in bins of 100.
    """
    if draws < 1:
        raise DataError(f"{draws} draws were asked for; at least one is needed.")
    if not len(model):
        return float("nan")
    parts = rms_parts(model, model)
    errors = np.empty(draws)
    for draw in range(draws):
        parts[:, 2] = rng.random(len(model)) < parts[:, 1]
        errors[draw] = rms_of(parts, bin_size)
    return float(errors.mean())
