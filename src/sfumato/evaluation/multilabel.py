"""Turn labels of each class on its own, and a model's, into scores with intervals over items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.evaluation.trials import ArmTrials, MetricRows, Trial, score_arm
from sfumato.labels.build import NO_YES
from sfumato.labels.compare import SMALLEST
from sfumato.labels.labelset import LabelSet
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.names import find
from sfumato.scores import Estimate
from sfumato.stats import mean_of_defined

PerClass = NDArray[np.float64]  # (items, classes)

MULTI_LABEL_METRICS: dict[str, Callable[[PerClass, PerClass], PerClass]] = {
    "multi_label_cross_entropy": lambda p, q: (
        -(p * np.log(np.maximum(q, SMALLEST)) + (1 - p) * np.log(np.maximum(1 - q, SMALLEST)))
    ),
    "multi_label_brier": lambda p, q: (q - p) ** 2,
    "multi_label_manhattan": lambda p, q: 2 * np.abs(q - p),
    "multi_label_error": lambda p, q: np.where(np.isnan(p), np.nan, (p >= 0.5) != (q >= 0.5)),
    "multi_label_entropy_floor": lambda p, q: entr(p) + entr(1 - p),
}
"""From people's and a model's probability of yes to a number for each item and class."""


def score_multi_labels(
    human: MultiLabelSet,
    models: Mapping[str, MultiLabelSet],
    *,
    metrics: Sequence[str] | None = None,
    rng: np.random.Generator,
    draws: int = 1000,
) -> list[Estimate]:
    """Every metric of every model, a mean over the classes of an item and then over items.

    >>> human = MultiLabelSet(("a", "b"), ("cat", "dog"), [[1, 0.5], [0, 1]])
    >>> model = MultiLabelSet(("a", "b"), ("cat", "dog"), [[1, 0.5], [0, 0]])
    >>> found = score_multi_labels(human, {"ours": model}, rng=np.random.default_rng(0))
    >>> [(row.metric, row.value) for row in found][1:3]
    [('multi_label_brier', 0.25), ('multi_label_manhattan', 0.5)]
    """
    asked = metrics or list(MULTI_LABEL_METRICS)
    for name in asked:
        find(MULTI_LABEL_METRICS, name, what="metric of several labels")
    everywhere = {"all": np.arange(len(human))}
    found = []
    for arm, model in models.items():
        believed = model.take(human.items, human.classes)
        rows = [
            MetricRows(
                name,
                "people",
                _by_item(MULTI_LABEL_METRICS[name](human.probs, believed.probs)),
                lambda of_items: mean_of_defined(of_items[:, 0]),
                is_mean=True,
                labels=human.provenance,
            )
            for name in asked
        ]
        trial = Trial(human.items, rows, everywhere, model.provenance)
        found += score_arm(ArmTrials(arm, {0: [trial]}), rng=rng, draws=draws)
    return [replace(row, seeds=()) for row in found]


def as_units(human: MultiLabelSet, model: MultiLabelSet) -> LabelSet:
    """What a model believes of every item and class that people were asked about, no and yes."""
    believed = model.take(human.items, human.classes).probs
    row, column = np.nonzero(~np.isnan(human.probs))
    share = believed[row, column]
    names = [f"{human.items[r]}: {human.classes[c]}" for r, c in zip(row, column, strict=True)]
    probs = np.stack([1 - share, share], axis=1)
    return LabelSet(tuple(names), NO_YES, probs, provenance=model.provenance)


def _by_item(each: PerClass) -> NDArray[np.float64]:
    asked = ~np.isnan(each)
    count = asked.sum(axis=1)
    total = np.where(asked, each, 0.0).sum(axis=1)
    means = np.divide(total, count, out=np.full(len(each), np.nan), where=count > 0)
    return means[:, None]
