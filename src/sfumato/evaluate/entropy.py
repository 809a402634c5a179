"""Turn label sets and predictions into distributions of entropy, side by side (S1-56).

Does a network come out as uncertain as the labels it learnt from? The question is about the whole
distribution of entropies, not item by item (for that see ``alignment``).
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from sfumato.errors import DataError
from sfumato.evaluate.intervals import percentiles
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy

__all__ = ["entropy_distances", "entropy_histograms", "entropy_table", "nearest_labels"]

DRAWS = 1000


def entropy_table(sources: Mapping[str, LabelSet]) -> pl.DataFrame:
    """One row an item of each source: ``source``, ``entropy`` in nats.

    >>> entropy_table({"people": LabelSet(("a",), ("cat", "dog"), [[1, 0]])}).rows()
    [('people', 0.0)]
    """
    values = {source: entropy(labels) for source, labels in sources.items()}
    return pl.DataFrame(
        {
            "source": [source for source, of_items in values.items() for _ in of_items],
            "entropy": np.concatenate([np.empty(0), *values.values()]),
        },
        schema={"source": pl.String(), "entropy": pl.Float64()},
    )


def entropy_histograms(sources: Mapping[str, LabelSet], *, bins: int = 20) -> pl.DataFrame:
    """How many items of each source lie in bins that all sources share.

    The bins are equally wide from 0 to log K, the largest entropy that K classes allow, each with
    its left end and without its right, but for the last. Columns ``source``, ``bin``, ``left``,
    ``right``, ``items``, ``share``.
    """
    if bins < 1:
        raise DataError(f"{bins} bins were asked for; ask for 1 or more.")
    edges = np.linspace(0, np.log(_classes(sources)), bins + 1)
    tables = []
    for source, labels in sources.items():
        # A uniform row may come out a rounding above log K.
        items = np.histogram(np.minimum(entropy(labels), edges[-1]), edges)[0]
        tables.append(
            pl.DataFrame(
                {
                    "source": [source] * bins,
                    "bin": np.arange(bins),
                    "left": edges[:-1],
                    "right": edges[1:],
                    "items": items,
                    "share": items / len(labels) if len(labels) else np.full(bins, np.nan),
                }
            )
        )
    return pl.concat(tables)


def entropy_distances(
    labels: Mapping[str, LabelSet],
    models: Mapping[str, LabelSet],
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> pl.DataFrame:
    """How far the entropies of each model are from those of each label set.

    The distance is Wasserstein-1 in nats, ∫ |F(h) - G(h)| dh of the two distribution functions:
    the mean entropy that must be added or taken away to turn one histogram into the other, which
    needs no bins. Columns ``model``, ``labels``, ``distance``, ``low``, ``high``, ``difference``
    (mean entropy of the model minus that of the labels), ``model_items``, ``label_items``.

    The interval resamples items: those of both sides together where they have the same items,
    separately otherwise. It never reaches zero, because two resamples always differ a little, so
    it says how well the distance is known, not whether there is one.
    """
    _classes({**labels, **models})
    rows = []
    for model, predicted in models.items():
        for name, known in labels.items():
            x, y = entropy(predicted), entropy(known)
            if not len(x) or not len(y):
                raise DataError(f"{model!r} or {name!r} has no items to compare.")
            paired = predicted.items == known.items
            distance = float(wasserstein_distance(x, y))
            low, high = percentiles(_resampled(x, y, paired, rng=rng, draws=draws))
            sizes = len(x), len(y)
            rows.append((model, name, distance, low, high, float(x.mean() - y.mean()), *sizes))
    numbers = dict.fromkeys(("distance", "low", "high", "difference"), pl.Float64())
    counts = dict.fromkeys(("model_items", "label_items"), pl.Int64())
    columns = {"model": pl.String(), "labels": pl.String(), **numbers, **counts}
    return pl.DataFrame(rows, schema=columns, orient="row")


def nearest_labels(distances: pl.DataFrame, trained_on: Mapping[str, str]) -> pl.DataFrame:
    """Whether each model's entropies resemble most those of the labels it was trained on (S1-56).

    From ``entropy_distances`` and model name to the name of its labels: ``model``,
    ``trained_on``, ``own`` (distance), ``nearest`` (labels), ``least`` (distance), ``resonates``.
    """
    rows = []
    for model, own_name in trained_on.items():
        of_model = distances.filter(pl.col("model") == model).sort("distance", "labels")
        own = of_model.filter(pl.col("labels") == own_name)["distance"]
        if not len(own):
            raise DataError(f"There is no distance of model {model!r} to labels {own_name!r}.")
        nearest, least = of_model["labels"][0], of_model["distance"][0]
        rows.append((model, own_name, own[0], nearest, least, bool(own[0] <= least)))
    columns = {
        "model": pl.String(),
        "trained_on": pl.String(),
        "own": pl.Float64(),
        "nearest": pl.String(),
        "least": pl.Float64(),
        "resonates": pl.Boolean(),
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _resampled(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    paired: bool,
    *,
    rng: np.random.Generator,
    draws: int,
) -> NDArray[np.float64]:
    """Distances of resamples, from weights on the pooled sorted values: nothing is sorted again."""
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled, kind="stable")
    gaps = np.diff(pooled[order])
    even = [np.full(len(side), 1 / len(side)) for side in (x, y)]
    found = np.empty(draws)
    for draw in range(draws):
        first = rng.multinomial(len(x), even[0]) / len(x)
        second = first if paired else rng.multinomial(len(y), even[1]) / len(y)
        ahead = np.cumsum(np.concatenate([first, -second])[order])  # F - G above each value
        found[draw] = np.abs(ahead[:-1]) @ gaps
    return found


def _classes(sources: Mapping[str, LabelSet]) -> int:
    if not sources:
        raise DataError("There is no label set to take entropies of.")
    first, *others = sources
    for name in others:
        if len(sources[name].classes) != len(sources[first].classes):
            raise DataError(
                f"{name!r} has {len(sources[name].classes)} classes and {first!r} has "
                f"{len(sources[first].classes)}; entropies compare only over as many classes."
            )
    if len(sources[first].classes) < 2:
        raise DataError(f"{first!r} has a single class, so no entropy but 0.")
    return len(sources[first].classes)
