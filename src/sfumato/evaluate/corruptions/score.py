"""Turn corrupted images and a network into a table of scores."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.corruptions.corrupt import (
    STRENGTHS,
    CorruptedImages,
    Images,
    corrupted_sets,
)
from sfumato.evaluate.intervals import bootstrap_items
from sfumato.evaluate.metrics import metric_named
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step

__all__ = ["Predict", "corruption_scores", "score_corrupted"]

Predict = Callable[[Images], NDArray[np.floating]]
"""What a network believes about images: probabilities, shape (items, classes)."""

METRICS_OF_CORRUPTION = ("accuracy", "cross_entropy")

_COLUMNS = pl.Schema(
    {
        "corruption": pl.String(),
        "strength": pl.Int64(),
        **dict.fromkeys(("arm", "network", "metric"), pl.String()),
        **dict.fromkeys(("value", "low", "high"), pl.Float64()),
        "items": pl.Int64(),
    }
)


def corruption_scores(
    predict: Predict,
    images: Images,
    labels: LabelSet,
    *,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    strengths: Sequence[int] = STRENGTHS,
    metrics: Sequence[str] = METRICS_OF_CORRUPTION,
    arm: str = "",
    network: str = "",
    draws: int = 1000,
) -> pl.DataFrame:
    """How one network does on clean and corrupted images (S2-73, S2-77).

    Scored against ``labels``, of the images in order. For several networks make the images once
    with ``corrupted_sets`` and give them to ``score_corrupted``: it is quicker, and all see the
    same ones.
    """
    sets = corrupted_sets(images, rng=rng, names=names, strengths=strengths)
    return score_corrupted(
        predict, sets, labels, rng=rng, metrics=metrics, arm=arm, network=network, draws=draws
    )


def score_corrupted(
    predict: Predict,
    sets: Iterable[CorruptedImages],
    labels: LabelSet,
    *,
    rng: np.random.Generator,
    metrics: Sequence[str] = METRICS_OF_CORRUPTION,
    arm: str = "",
    network: str = "",
    draws: int = 1000,
) -> pl.DataFrame:
    """One row a corruption, strength and metric; the clean images are "clean" of strength 0.

    Intervals are 95 %, over items, and NaN for a metric that has no value for each item.
    """
    chosen = [metric_named(name) for name in metrics]
    rows = []
    for each in sets:
        model = _beliefs(predict, each, labels)
        for metric in chosen:
            row = {"corruption": each.corruption, "strength": each.strength, "arm": arm}
            row |= {"network": network, "metric": metric.name, "items": len(labels)}
            row["value"] = metric.overall(labels, model)
            row["low"] = row["high"] = float("nan")
            if metric.per_item is not None:
                values = metric.per_item(labels, model)
                row["low"], row["high"] = bootstrap_items(values, rng=rng, draws=draws)
            rows.append(row)
    return pl.DataFrame(rows, schema=_COLUMNS)


def _beliefs(predict: Predict, corrupted: CorruptedImages, labels: LabelSet) -> LabelSet:
    if len(corrupted.images) != len(labels):
        raise DataError(
            f"There are {len(corrupted.images)} images for {len(labels)} labels; "
            "give one image for each label, in the same order."
        )
    probs = np.asarray(predict(corrupted.images), dtype=np.float64)
    if probs.shape != labels.probs.shape:
        raise DataError(
            f"The network gave probabilities of shape {probs.shape} for {len(labels)} images "
            f"and {len(labels.classes)} classes."
        )
    sums = probs.sum(axis=1, keepdims=True)
    # Networks answer in float32; anything further from one is a mistake for LabelSet to name.
    probs = np.divide(probs, sums, out=probs, where=np.abs(sums - 1) < 1e-3)
    step = Step(
        "predict corrupted", {"corruption": corrupted.corruption, "strength": corrupted.strength}
    )
    return LabelSet(labels.items, labels.classes, probs, provenance=(step,))
