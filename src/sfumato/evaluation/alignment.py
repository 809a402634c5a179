"""Turn signals of ambiguity, one number an item, into correlations and shares with intervals.

A signal is any array with a value an item: entropy of the labels, share of unsure annotators,
seconds, a model's confidence. NaN says that nothing is known about the item; a pair of signals is
compared on the items where both are known. Correlations are Spearman's, because the signals have
different units and only their order is comparable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import concentration, entropy
from sfumato.stats import (
    bootstrap,
    bootstrap_interval,
    bootstrap_statistics,
    dense_codes,
    draw_multinomial,
    mid_ranks,
    percentile_interval,
    spearman_of_codes,
)

PerItem = NDArray[np.float64]  # (items,), NaN where unknown

Sign = Literal["negative", "positive"]
EXPECTED: dict[str, Sign] = {"confidence": "negative", "variability": "positive"}
"""How a model's signals should go with human uncertainty (S4-35)."""

DRAWS = 1000

FEWEST = 3
"""A rank correlation of two items is always 1 or -1 and says nothing."""

CORRELATIONS = pl.Schema(
    {
        "first": pl.String(),
        "second": pl.String(),
        "rho": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "items": pl.Int64(),
    }
)
"""The columns of a table of correlations; an undefined one is NaN."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho of two signals, with its interval over items."""

    first: str
    second: str
    rho: float
    """NaN where it is undefined: fewer than three items, or a signal that never changes."""
    low: float
    high: float
    items: int
    """On how many items both signals are known."""


@dataclass(frozen=True)
class Share:
    """Which part of a total lies in some of the items, with its interval over items."""

    value: float
    low: float
    high: float
    items: int


def correlate(
    first: PerItem,
    second: PerItem,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    names: tuple[str, str] = ("first", "second"),
) -> RankCorrelation:
    """Spearman's rho with a 95 % percentile interval from resampling items (S4-35, S4-49).

    Ties share the mean of their ranks, as in ``scipy.stats.spearmanr``, and each resample is
    ranked anew. Resamples in which a signal is constant have no rho and are left out.

    >>> found = correlate([1, 2, 3, 4], [1, 4, 9, 7], rng=np.random.default_rng(0))
    >>> round(found.rho, 3), found.items
    (0.8, 4)
    """
    x, y = _signals({names[0]: first, names[1]: second}).values()
    known = ~(np.isnan(x) | np.isnan(y))
    count = int(known.sum())
    codes = dense_codes(x[known]), dense_codes(y[known])
    rho = float(spearman_of_codes(*codes)) if count >= FEWEST else np.nan
    if np.isnan(rho):
        return RankCorrelation(*names, rho, np.nan, np.nan, count)
    drawn = bootstrap(
        partial(spearman_of_codes, *codes), count, rng=rng, draws=draws, draw=draw_multinomial
    )
    return RankCorrelation(*names, rho, *percentile_interval(drawn), count)


def correlation_matrix(
    signals: Mapping[str, PerItem], *, rng: np.random.Generator, draws: int = DRAWS
) -> pl.DataFrame:
    """Rho of every pair of signals, in the columns of ``CORRELATIONS`` (S4-49).

    Pairs follow the order of the mapping, each once. A pair is compared on the items where both
    are known, so pairs may rest on different items: ``items`` says on how many.

    >>> signals = {"entropy": [0, 0.2, 0.5], "seconds": [2, 3, 9], "unsure": [0, np.nan, 1]}
    >>> found = correlation_matrix(signals, rng=np.random.default_rng(0))
    >>> found.select("first", "second", "rho", "items").rows()[0]
    ('entropy', 'seconds', 1.0, 3)
    """
    checked = _signals(signals)
    rows = [
        correlate(checked[one], checked[other], rng=rng, draws=draws, names=(one, other))
        for one, other in combinations(checked, 2)
    ]
    return pl.DataFrame([astuple(row) for row in rows], schema=CORRELATIONS, orient="row")


def concentration_curve(
    values: Mapping[str, PerItem], *, shares: Sequence[float] = tuple(np.linspace(0, 1, 101))
) -> pl.DataFrame:
    """How much of the total the most uncertain items carry, for each share of them (S0-47).

    Columns ``source``, ``share_of_items``, ``share_of_uncertainty``. The diagonal would mean that
    every item is equally uncertain.

    >>> concentration_curve({"people": np.array([0, 3, 1, 0])}, shares=(0.25, 0.5)).rows()
    [('people', 0.25, 0.75), ('people', 0.5, 1.0)]
    """
    rows = [
        (source, float(share), concentration(uncertainty, share))
        for source, uncertainty in values.items()
        for share in shares
    ]
    columns = {
        "source": pl.String(),
        "share_of_items": pl.Float64(),
        "share_of_uncertainty": pl.Float64(),
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def share_in_top(
    values: PerItem, share: float, *, rng: np.random.Generator, draws: int = DRAWS
) -> Share:
    """Which part of the total lies in the top ``share`` of items, with its interval (S0-47).

    82.6 % of the entropy of CIFAR-10H lies in 30 % of its images.
    """
    values = np.asarray(values, dtype=np.float64)

    def carried(rows: NDArray[np.int64]) -> list[float]:
        return [concentration(values[rows], share)]

    drawn = bootstrap_statistics(carried, len(values), rng=rng, draws=draws)
    return Share(concentration(values, share), *percentile_interval(drawn[:, 0]), len(values))


def entropy_tracking(
    reference: PerItem,
    signals: Mapping[str, PerItem],
    *,
    bins: int = 5,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> pl.DataFrame:
    """Mean of each signal as the reference entropy grows (S3-18).

    Signals are, for example, the top probability (``signals.top_probability``) and the number of
    possible labels (``signals.possible_labels``) of one label set, and the reference the entropy
    of another. An item goes into the bin of its mid-rank, so that bins hold about equally many
    and equal entropies are never split: all unanimous items share a bin, and bins next to it may
    be empty and are then left out. Columns ``signal``, ``bin``, ``from_entropy``, ``to_entropy``,
    ``entropy`` (mean), ``value``, ``low``, ``high``, ``items``. Items of which the signal or the
    reference is unknown are left out.
    """
    if bins < 1:
        raise DataError(f"{bins} bins were asked for; ask for 1 or more.")
    checked = _signals({"reference": reference, **signals})
    reference = checked["reference"]
    rows = []
    for name in signals:
        known = ~(np.isnan(checked[name]) | np.isnan(reference))
        if not known.any():
            continue
        doubt, values = reference[known], checked[name][known]
        place = mid_ranks(dense_codes(doubt)) / len(doubt)  # inside (0, 1)
        for number in range(bins):
            inside = (place * bins).astype(np.int64) == number
            if inside.any():
                low, high = bootstrap_interval(values[inside], rng=rng, draws=draws)
                ends = float(doubt[inside].min()), float(doubt[inside].max())
                means = float(doubt[inside].mean()), float(values[inside].mean())
                rows.append((name, number, *ends, *means, low, high, int(inside.sum())))
    numbers = ("from_entropy", "to_entropy", "entropy", "value", "low", "high")
    columns = {
        "signal": pl.String(),
        "bin": pl.Int64(),
        **dict.fromkeys(numbers, pl.Float64()),
        "items": pl.Int64(),
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _signals(signals: Mapping[str, PerItem]) -> dict[str, PerItem]:
    checked = {name: np.asarray(values, dtype=np.float64) for name, values in signals.items()}
    for name, values in checked.items():
        first = next(iter(checked))
        if values.ndim != 1 or values.shape != checked[first].shape:
            raise DataError(
                f"The signal {name!r} has shape {values.shape} and {first!r} has shape "
                f"{checked[first].shape}; each needs one number an item, NaN where unknown."
            )
    return checked


# Turn label sets and predictions into distributions of entropy, side by side (S1-56).
#
# Does a network come out as uncertain as the labels it learnt from? The question is about the whole
# distribution of entropies, not item by item as above.


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
    _check_classes({**labels, **models})
    rows = []
    for model, predicted in models.items():
        for name, known in labels.items():
            x, y = entropy(predicted), entropy(known)
            if not len(x) or not len(y):
                raise DataError(f"{model!r} or {name!r} has no items to compare.")
            paired = predicted.items == known.items
            distance = float(wasserstein_distance(x, y))
            low, high = percentile_interval(_resampled(x, y, paired, rng=rng, draws=draws))
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

    def distances(first: NDArray[np.float64]) -> NDArray[np.float64]:
        second = first
        if not paired:
            second = np.concatenate([*draw_multinomial(len(y), rng=rng, draws=len(first))])
        shares = np.hstack([first / len(x), -second / len(y)])  # (draws, pooled)
        ahead = np.cumsum(shares[:, order], axis=1)  # F - G above each value
        return np.abs(ahead[:, :-1]) @ gaps

    return bootstrap(distances, len(x), rng=rng, draws=draws, draw=draw_multinomial)


def _check_classes(sources: Mapping[str, LabelSet]) -> None:
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
