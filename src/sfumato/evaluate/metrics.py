"""All metrics under the names that a person types: what each means, and its number in all.

A metric is a function of two aligned label sets, ``human`` (the labels that count: people, their
majority, the original labels) and ``model``. Those that are means over items live in
``per_item`` and can be imported from here too, those about calibration in ``calibration``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluate.calibration import (
    classwise_of,
    classwise_parts,
    ece_of,
    ece_parts,
    rms_of,
    rms_parts,
    rms_published_of,
)
from sfumato.evaluate.joint import (
    by_class,
    class_and_right,
    correlation_of,
    entropies,
    entropy_codes,
    rank_correlation_of,
    worst_class_accuracy,
    worst_class_of,
)
from sfumato.evaluate.pairs import PerItem, mean_of_defined
from sfumato.evaluate.per_item import (
    SMALLEST,
    accuracy,
    brier,
    confidence,
    confidence_right,
    confidence_wrong,
    cross_entropy,
    entropy,
    jensen_shannon,
    kl,
    l1,
    second_best_accuracy,
    second_best_accuracy_all,
    top2_accuracy,
    total_variation,
)
from sfumato.labels.labelset import LabelSet
from sfumato.names import find

__all__ = [
    "METRICS",
    "SMALLEST",
    "Better",
    "Metric",
    "accuracy",
    "brier",
    "by_class",
    "confidence",
    "confidence_right",
    "confidence_wrong",
    "cross_entropy",
    "entropy",
    "jensen_shannon",
    "kl",
    "l1",
    "metric_named",
    "second_best_accuracy",
    "second_best_accuracy_all",
    "top2_accuracy",
    "total_variation",
    "worst_class_accuracy",
]

Better = Literal["lower", "higher", "neither"]
"""Which way is good; "neither" describes the model rather than judging it."""


@dataclass(frozen=True)
class Metric:
    """A number about a model, with what it means and how it is computed.

    ``parts`` gives a row an item and ``summary`` turns any selection of those rows, repeated or
    not, into the number; strata and bootstraps work on the rows. Where a metric is a mean over
    items, ``per_item`` gives its values, NaN for items on which it is not defined.
    """

    name: str
    title: str
    better: Better
    meaning: str
    """One sentence with the formula in words and where it comes from."""
    parts: Callable[[LabelSet, LabelSet], NDArray[np.float64]]  # (items, numbers)
    summary: Callable[[NDArray[np.float64]], float]
    per_item: Callable[[LabelSet, LabelSet], PerItem] | None = None

    def overall(self, human: LabelSet, model: LabelSet) -> float:
        """The number over all items; NaN where it is not defined on them."""
        return self.summary(self.parts(human, model))


def metric_named(name: str) -> Metric:
    """The metric of that name; a wrong name gets the nearest."""
    return find(METRICS, name, what="metric")


def _mean_over_items(
    name: str,
    title: str,
    better: Better,
    meaning: str,
    per_item: Callable[[LabelSet, LabelSet], PerItem],
) -> Metric:
    def parts(human: LabelSet, model: LabelSet) -> NDArray[np.float64]:
        return per_item(human, model)[:, None]

    def summary(rows: NDArray[np.float64]) -> float:
        return mean_of_defined(rows[:, 0])

    return Metric(name, title, better, meaning, parts, summary, per_item)


_ALL: tuple[Metric, ...] = (
    _mean_over_items(
        "accuracy",
        "accuracy",
        "higher",
        "Share of items whose most probable class is the same for model and labels; among equals "
        "the first in class order (S0-31, S4-32).",
        accuracy,
    ),
    _mean_over_items(
        "cross_entropy",
        "cross-entropy",
        "lower",
        "Mean of −Σ p log q in nats, p the label and q the model; with hard labels the log loss. "
        "Its least possible value is the entropy of the labels (S0-32, S0-33, S2-70).",
        cross_entropy,
    ),
    _mean_over_items(
        "kl",
        "KL divergence",
        "lower",
        "Mean of Σ p log(p/q) in nats, people first: the cross-entropy less the entropy of the "
        "labels (S4-30).",
        kl,
    ),
    _mean_over_items(
        "brier",
        "Brier score",
        "lower",
        "Mean of the squared differences of probabilities summed over the classes, from 0 to 2 "
        "(S4-31).",
        brier,
    ),
    _mean_over_items(
        "total_variation",
        "total variation",
        "lower",
        "Mean of half the absolute differences of probabilities: the mass that lies on other "
        "classes, from 0 to 1.",
        total_variation,
    ),
    _mean_over_items(
        "l1",
        "L1 distance",
        "lower",
        "Mean of the absolute differences of probabilities summed over the classes, from 0 to 2 "
        "(S3-16).",
        l1,
    ),
    _mean_over_items(
        "jensen_shannon",
        "Jensen–Shannon divergence",
        "lower",
        "Mean divergence of labels and model from their midpoint in nats, from 0 to log 2; the "
        "divergence, not its square root.",
        jensen_shannon,
    ),
    _mean_over_items(
        "second_best_accuracy",
        "second-best accuracy",
        "higher",
        "Share of items on which model and people have the same second choice, among items where "
        "people have one: a class that alone is second and has mass (S0-34, C4).",
        second_best_accuracy,
    ),
    _mean_over_items(
        "second_best_accuracy_all",
        "second-best accuracy, all items (published)",
        "higher",
        "Share of all items whose second-ranked classes are equal, ties ranked by a stable sort; "
        "where people are unanimous the order of the classes decides, so prefer "
        "second_best_accuracy (S0-34, C4).",
        second_best_accuracy_all,
    ),
    _mean_over_items(
        "top2_accuracy",
        "top-2 accuracy",
        "higher",
        "Share of items whose label's most probable class is among the model's two most probable "
        "(S3-16).",
        top2_accuracy,
    ),
    Metric(
        "worst_class_accuracy",
        "worst-class accuracy",
        "higher",
        "Accuracy on the class where it is lowest, classes being the labels' most probable "
        "(S3-16).",
        class_and_right,
        worst_class_of,
    ),
    _mean_over_items(
        "confidence",
        "confidence",
        "neither",
        "Mean of the model's largest probability.",
        confidence,
    ),
    _mean_over_items(
        "confidence_right",
        "confidence when right",
        "neither",
        "Mean of the model's largest probability over the items on which it is right (S0-35).",
        confidence_right,
    ),
    _mean_over_items(
        "confidence_wrong",
        "confidence when wrong",
        "neither",
        "Mean of the model's largest probability over the items on which it is wrong (S0-35).",
        confidence_wrong,
    ),
    _mean_over_items(
        "entropy",
        "entropy of the model",
        "neither",
        "Mean entropy of the model's rows in nats.",
        entropy,
    ),
    Metric(
        "entropy_correlation",
        "entropy correlation (Pearson)",
        "higher",
        "Pearson correlation over items of the entropy of the labels and that of the model "
        "(S3-16).",
        entropies,
        correlation_of,
    ),
    Metric(
        "entropy_correlation_spearman",
        "entropy correlation (Spearman)",
        "higher",
        "Spearman correlation over items of the entropy of the labels and that of the model.",
        entropy_codes,
        rank_correlation_of,
    ),
    Metric(
        "rms_calibration",
        "RMS calibration error",
        "lower",
        "Root of the mean squared difference of confidence and accuracy over bins of 100 items of "
        "like confidence (of 10 with at most 100 items), all bins counted (S2-71).",
        rms_parts,
        rms_of,
    ),
    Metric(
        "rms_calibration_published",
        "RMS calibration error (published)",
        "lower",
        "RMS calibration error as released with the papers, which leaves the most confident bin "
        "out; only for comparison with published numbers (S2-71, C13).",
        rms_parts,
        rms_published_of,
    ),
    Metric(
        "ece",
        "expected calibration error",
        "lower",
        "Mean absolute difference of confidence and accuracy over 15 equal-width bins; it sees "
        "the top class only and punishes a model that reproduces people who disagree, so it is "
        "unsuited to label variation (S4-37).",
        ece_parts,
        ece_of,
    ),
    Metric(
        "classwise_calibration",
        "classwise calibration error",
        "lower",
        "Mean over classes of the absolute difference between the model's and the labels' "
        "probability of the class over 15 equal-width bins (Kull et al. 2019).",
        classwise_parts,
        classwise_of,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by its name, in the order in which a table shows them."""
