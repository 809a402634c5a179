"""All metrics under the names that a person types, as functions of labels and predictions.

A metric compares two aligned label sets, ``human`` (the labels that count: people, their majority,
the original labels) and ``model``. What each means is said in ``metrics.toml``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels import signals
from sfumato.labels.compare import (
    SMALLEST,
    earth_mover,
    jensen_shannon_rows,
    kl_rows,
    total_variation_rows,
)
from sfumato.labels.labelset import LabelSet
from sfumato.names import find
from sfumato.scores import Better, Metric, metric_words
from sfumato.stats import (
    Resamples,
    mean_of_defined,
    mid_ranks,
    pearson,
    ratio,
    spearman_of_codes,
)

# Turn two label sets over the same items into what the metrics share: who was right, and where.
#
# A metric compares ``human`` (the labels that count: people, their majority, the original labels)
# with ``model`` (what a model believes). Both must hold the same items and classes in the same
# order; ``sfumato.labels.labelset.align`` brings two sets there.

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


# Turn human labels and a model's beliefs into one number an item.
#
# Every function takes two aligned label sets: ``human``, the labels that count (people, their
# majority, the original labels), and ``model``. What a number is measured against is decided by
# what is handed in, so cross-entropy to hard labels is ``cross_entropy`` with one-hot rows.
# Logarithms are natural. NaN stands where a number is not defined for an item.


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


def wasserstein(human: LabelSet, model: LabelSet) -> PerItem:
    """How far mass moves along the scale: ``scipy.stats.wasserstein_distance`` with its values.

    >>> human = LabelSet(("a",), ("1", "2", "3"), [[1, 0, 0]], values=(1, 2, 3))
    >>> wasserstein(human, LabelSet(("a",), ("1", "2", "3"), [[0, 0, 1]]))
    array([2.])
    """
    require_same_rows(human, model)
    return earth_mover(human, model)


def mean_error(human: LabelSet, model: LabelSet) -> PerItem:
    """|mean of the model − mean of people| on the scale."""
    return np.abs(mean_bias(human, model))


def mean_bias(human: LabelSet, model: LabelSet) -> PerItem:
    """Mean of the model − mean of people on the scale: above zero where it rates too high."""
    require_same_rows(human, model)
    values = np.array(human.require_values("The error of a mean"))
    return (model.probs - human.probs) @ values


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


def right_and_confidence(human: LabelSet, model: LabelSet) -> NDArray[np.float64]:
    """Whether the model is right, and its largest probability: (items, 2)."""
    return np.stack([is_right(human, model), signals.top_probability(model)], axis=1)


def confidence_gap_of(rows: NDArray[np.float64]) -> float:
    """Mean confidence where right less that where wrong; NaN where either is nowhere (S0-35)."""
    right, confident = rows[:, 0] == 1, rows[:, 1]
    if right.all() or not right.any():
        return float("nan")
    return float(confident[right].mean() - confident[~right].mean())


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


# Turn human labels and a model's beliefs into numbers that are no mean over items.
#
# As for calibration, one function gives a row an item and another, ``…_of``, turns any selection
# of those rows into the number, so that strata and bootstraps need not begin from the labels.

Parts = NDArray[np.float64]  # (items, numbers)

SAME = 1e-12
"""Entropies that differ by less differ by rounding."""


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
    """The accuracy on the class where it is lowest, among classes that the labels have (S3-16).

    Of rows of ``class_and_right``; NaN without any.
    """
    if not len(parts):
        return float("nan")
    of_class = parts[:, 0].astype(np.int64)
    items = np.bincount(of_class)
    right = np.bincount(of_class, weights=parts[:, 1])
    return float((right[items > 0] / items[items > 0]).min())


def redraw_worst_class(parts: Parts, drawn: Resamples) -> Parts:
    """The lowest accuracy of a class on resampled rows of ``class_and_right``."""
    of_class = parts[:, 0].astype(np.int64)
    classes = int(of_class.max()) + 1
    right, items = (drawn.sums(of_class, values, classes) for values in (parts[:, 1], None))
    return np.asarray(np.nanmin(ratio(right, items), axis=1))


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
    return float(spearman_of_codes(*codes.T.astype(np.int64)))


def redraw_rank_correlation(codes: Parts, drawn: Resamples) -> Parts:
    """Spearman correlations of resampled rows of ``entropy_codes``, to first order.

    With F(x) the share of rows below x and half of those at x, the correlation is that of F(x) and
    G(y). Rows that come again also move the ranks of all others: a row adds to E[F·G] its own
    F(x)·G(y), and what G it is below and what F.
    """
    places = codes.T.astype(np.int64)
    first, second = ranks = [mid_ranks(place) / len(codes) for place in places]

    def below(side: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        held = np.bincount(places[side], values) / len(codes)
        above: NDArray[np.float64] = (held[::-1].cumsum()[::-1] - held / 2)[places[side]]
        return above

    added = [
        first * second + below(0, second) + below(1, first),
        *(rank * rank + 2 * below(side, rank) for side, rank in enumerate(ranks)),
    ]
    now = [first @ second, first @ first, second @ second]
    shared, *own = (
        mean - 2 * value / len(codes) - 0.25
        for mean, value in zip(drawn.means(*added), now, strict=True)
    )
    return shared / np.sqrt(np.prod(own, axis=0))


def correlation_of(pairs: Parts) -> float:
    """Pearson correlation of two columns; NaN where one does not vary, as among the unanimous."""
    if len(pairs) < 2:
        return float("nan")
    x, y = np.ascontiguousarray(pairs.T)
    if np.ptp(x) <= SAME or np.ptp(y) <= SAME:
        return float("nan")
    return float(pearson(x, y))


def redraw_correlation(pairs: Parts, drawn: Resamples) -> Parts:
    """Pearson correlations of resampled rows."""
    x, y = (pairs - pairs.mean(axis=0)).T
    to_x, to_y, xx, yy, xy = drawn.means(x, y, x * x, y * y, x * y)
    return np.asarray((xy - to_x * to_y) / np.sqrt((xx - to_x**2) * (yy - to_y**2)))


# Turn a model's confidence and who was right into calibration errors and reliability tables.
#
# "Confidence" is the largest probability of a row, "right" means that the model's most probable
# class is that of the human label. Each error is computed in two steps, so that strata and
# bootstraps need not begin from the labels: ``…_parts`` gives a row an item, and ``…_of`` turns
# any selection of those rows, repeated or not, into the error.

BINS = 15
"""Equal-width bins, as in the usual definition of ECE."""


def reliability(human: LabelSet, model: LabelSet, bins: int = BINS) -> pl.DataFrame:
    """The table behind a reliability diagram: a row an equal-width bin of confidence.

    Columns: ``bin``, ``low`` and ``high`` (the interval is (low, high]), ``confidence`` and
    ``accuracy`` (means, null in an empty bin), ``items``.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]])
    >>> model = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [0.2, 0.8]])
    >>> reliability(human, model, 2).select("low", "high", "accuracy", "items").row(1)
    (0.5, 1.0, 0.5, 2)
    """
    right = is_right(human, model).astype(np.float64)
    confidence = model.probs.max(axis=1)
    bin_of = _equal_width(confidence, bins)
    items = np.bincount(bin_of, minlength=bins)
    edges = np.linspace(0, 1, bins + 1)

    def mean(values: NDArray[np.float64]) -> list[float | None]:
        sums = np.bincount(bin_of, weights=values, minlength=bins)
        return [float(s / n) if n else None for s, n in zip(sums, items, strict=True)]

    return pl.DataFrame(
        {
            "bin": np.arange(bins),
            "low": edges[:-1],
            "high": edges[1:],
            "confidence": pl.Series(mean(confidence), dtype=pl.Float64),
            "accuracy": pl.Series(mean(right), dtype=pl.Float64),
            "items": items,
        }
    )


def ece_parts(human: LabelSet, model: LabelSet, bins: int = BINS) -> Parts:
    """For each item its bin and by how much confidence exceeds being right."""
    right = is_right(human, model)
    confidence = model.probs.max(axis=1)
    return np.stack([_equal_width(confidence, bins), confidence - right], axis=1)


def ece_of(parts: Parts) -> float:
    """Expected calibration error: Σ_b n_b/N · |accuracy − confidence| over equal-width bins.

    Of rows of ``ece_parts``; NaN without any. It sees the top class only, so a model that
    reproduces people who disagree does not score zero; the fifth paper leaves it out for that
    reason (S4-37).

    >>> human = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> model = LabelSet(("a",), ("cat", "dog"), [[0.7, 0.3]])
    >>> round(ece_of(ece_parts(human, model)), 3)
    0.3
    """
    return _binned_gap(parts[:, 0], parts[:, 1])


def redraw_ece(parts: Parts, drawn: Resamples) -> Parts:
    """``ece_of`` resampled rows."""
    return _binned_gaps(parts[:, 0], parts[:, 1], drawn)


def classwise_parts(human: LabelSet, model: LabelSet, bins: int = BINS) -> Parts:
    """For each item the bin of each class, then model minus human probability of each class."""
    require_same_rows(human, model)
    return np.hstack([_equal_width(model.probs, bins), model.probs - human.probs])


def classwise_of(parts: Parts) -> float:
    """Mean over classes of Σ_b n_b/N · |mean human − mean model probability of the class|.

    Of rows of ``classwise_parts``; NaN without any. The classwise ECE of Kull et al. (2019),
    equal-width bins of the model's probability of each class in turn, with the human probability
    in the place of the 0/1 label; for hard labels they are the same. Unlike ``ece_of`` it is zero
    for a model that reproduces people.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> model = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5]] * 2)
    >>> classwise_of(classwise_parts(human, model))
    0.0
    """
    bin_of, gap = np.hsplit(parts, 2)
    return float(np.mean([_binned_gap(*columns) for columns in zip(bin_of.T, gap.T, strict=True)]))


def redraw_classwise(parts: Parts, drawn: Resamples) -> Parts:
    """``classwise_of`` resampled rows."""
    bin_of, gap = np.hsplit(parts, 2)
    columns = zip(bin_of.T, gap.T, strict=True)
    by_class = (_binned_gaps(places, values, drawn) for places, values in columns)
    return np.asarray(sum(by_class) * 2 / parts.shape[1])


def bin_size_for(items: int) -> int:
    """How many items an adaptive bin holds: 100, or 10 when there are at most 100 (S2-71)."""
    return 100 if items > 100 else 10


def rms_parts(human: LabelSet, model: LabelSet) -> Parts:
    """For each item the rank of its confidence (equal ones share it), confidence and right."""
    right = is_right(human, model)
    confidence = model.probs.max(axis=1)
    _, rank = np.unique(confidence, return_inverse=True)
    return np.stack([rank, confidence, right], axis=1)


def rms_of(parts: Parts, bin_size: int | None = None) -> float:
    """Root-mean-square calibration error over bins of equally many items (S2-71).

    Of rows of ``rms_parts``; NaN without any. Sorted by confidence, every ``bin_size`` consecutive
    items are a bin, the last one extended to the end; sqrt(Σ_b n_b/N (confidence − accuracy)²)
    over **all** bins. Fewer items than one bin holds are one bin. Items of equal confidence share
    their mean of being right, so the order of the items does not matter. Noise alone keeps it
    above zero: a calibrated model has about 0.034 on 3,000 items in bins of 100.

    >>> human = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> model = LabelSet(("a",), ("cat", "dog"), [[0.7, 0.3]])
    >>> round(rms_of(rms_parts(human, model)), 3)
    0.3
    """
    if not len(parts):
        return float("nan")
    return float(np.sqrt(_square_errors(parts, bin_size).sum()))


def rms_published_of(parts: Parts, bin_size: int | None = None) -> float:
    """``rms_of`` as released with the papers: the most confident bin is left out (C13).

    Its items still count in N, so with one bin the result is 0 whatever the model does. With
    fewer items than one bin the released code fails; here that is NaN.
    """
    if len(parts) < _checked_size(len(parts), bin_size):
        return float("nan")
    return float(np.sqrt(_square_errors(parts, bin_size)[:-1].sum()))


def redraw_rms(parts: Parts, drawn: Resamples) -> Parts:
    """``rms_of`` resampled rows."""
    return drawn.once(_redraw_both_rms, parts)[:, 0]


def redraw_rms_published(parts: Parts, drawn: Resamples) -> Parts:
    """``rms_published_of`` resampled rows."""
    return drawn.once(_redraw_both_rms, parts)[:, 1]


def _square_errors(parts: Parts, bin_size: int | None) -> NDArray[np.float64]:
    """n_b/N (confidence − accuracy)² of each bin, least confident first."""
    rank = parts[:, 0].astype(np.int64)
    items = np.bincount(rank)
    gap = np.bincount(rank, weights=parts[:, 1] - parts[:, 2])
    return _errors_of_bins(np.cumsum(items), np.cumsum(gap), bin_size)


def _redraw_both_rms(parts: Parts, drawn: Resamples) -> Parts:
    """Errors over all bins, and over all but the last, of resampled rows: (draws, 2)."""
    order = np.argsort(parts[:, 0], kind="stable")
    last = np.flatnonzero(np.diff(parts[order, 0], append=np.inf))  # of rows with one confidence
    gap = (parts[:, 1] - parts[:, 2])[order]
    found = []
    for weights in drawn.weights():
        times = weights[order]
        reached, carried = times.cumsum(dtype=np.int64), (times * gap).cumsum()
        if len(last) < len(order):
            reached, carried = reached[last], carried[last]
        errors = _errors_of_bins(reached, carried, None)
        found.append([errors.sum(), errors[:-1].sum()])
    return np.sqrt(found)


def _errors_of_bins(
    reached: NDArray[np.int64], carried: NDArray[np.float64], bin_size: int | None
) -> NDArray[np.float64]:
    """The same of how many items, and what sum of gaps, there are up to each confidence."""
    total = int(reached[-1])
    size = _checked_size(total, bin_size)
    edges = size * np.arange(max(total // size, 1) + 1)
    edges[-1] = total
    # Summed up to each edge; an edge inside a group of equal confidence takes its part of it.
    up_to = np.interp(edges, np.append(0, reached), np.append(0.0, carried))
    return np.asarray(np.diff(up_to) ** 2 / np.diff(edges) / total)


def _checked_size(items: int, bin_size: int | None) -> int:
    size = bin_size_for(items) if bin_size is None else bin_size
    if size < 1:
        raise DataError(f"A bin of {size} items was asked for; it must hold at least one.")
    return size


def _equal_width(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """Which of the intervals (a, b] from 0 to 1 each value is in; 0 is in the first."""
    if bins < 1:
        raise DataError(f"{bins} bins were asked for; there must be at least one.")
    return np.digitize(values, np.linspace(0, 1, bins + 1)[1:-1], right=True)


def _binned_gap(bin_of: NDArray[np.float64], gap: NDArray[np.float64]) -> float:
    """Σ_b n_b/N · |mean gap in the bin|, which is the sum of the bins' |sum of gaps| over N."""
    if not len(gap):
        return float("nan")
    return float(np.abs(np.bincount(bin_of.astype(np.int64), weights=gap)).sum() / len(gap))


def _binned_gaps(
    bin_of: NDArray[np.float64], gap: NDArray[np.float64], drawn: Resamples
) -> NDArray[np.float64]:
    """``_binned_gap`` of resampled rows."""
    places = bin_of.astype(np.int64)
    bins = int(places.max()) + 1
    counts = drawn.sums(np.zeros_like(places), None, 1)[:, 0]
    return np.asarray(np.abs(drawn.sums(places, gap, bins)).sum(axis=1) / counts)


# All metrics under the names that a person types: how each is computed. What is said of them is in
# metrics.toml.


@dataclass(frozen=True)
class Scorer:
    """How a metric is computed; its words are those of ``scores.Metric``.

    ``parts`` gives one row per item and ``summary`` turns any selection of those rows, repeated or
    not, into the number; strata and bootstraps work on the rows. Where a metric is a mean over
    items, ``per_item`` gives its values, NaN for items on which it is not defined.
    """

    name: str
    parts: Callable[[LabelSet, LabelSet], NDArray[np.float64]]  # (items, numbers)
    summary: Callable[[NDArray[np.float64]], float]
    per_item: Callable[[LabelSet, LabelSet], PerItem] | None = None
    scale: bool = False
    """Whether it needs labels whose classes are the points of a scale."""
    redraw: Callable[[NDArray[np.float64], Resamples], NDArray[np.float64]] | None = None
    """The number on resamples of many rows, where it is no mean: (draws,)."""

    @property
    def metric(self) -> Metric:
        """What the number means to a reader."""
        return metric_words(self.name)

    @property
    def title(self) -> str:
        """The metric's name in words."""
        return self.metric.title

    @property
    def better(self) -> Better:
        """Which way is good."""
        return self.metric.better

    @property
    def meaning(self) -> str:
        """One sentence with the formula in words and where it comes from."""
        return self.metric.meaning

    def overall(self, human: LabelSet, model: LabelSet) -> float:
        """The number over all items; NaN where it is not defined on them."""
        return self.summary(self.parts(human, model))


def metric_named(name: str) -> Scorer:
    """The metric of that name; a wrong name gets the nearest."""
    return find(METRICS, name, what="metric")


def _mean_over_items(
    name: str, per_item: Callable[[LabelSet, LabelSet], PerItem], *, scale: bool = False
) -> Scorer:
    def parts(human: LabelSet, model: LabelSet) -> NDArray[np.float64]:
        return per_item(human, model)[:, None]

    def summary(rows: NDArray[np.float64]) -> float:
        return mean_of_defined(rows[:, 0])

    return Scorer(name, parts, summary, per_item, scale)


METRICS: dict[str, Scorer] = {
    scorer.name: scorer
    for scorer in (
        _mean_over_items("accuracy", accuracy),
        _mean_over_items("cross_entropy", cross_entropy),
        _mean_over_items("kl", kl),
        _mean_over_items("brier", brier),
        _mean_over_items("total_variation", total_variation),
        _mean_over_items("l1", l1),
        _mean_over_items("jensen_shannon", jensen_shannon),
        _mean_over_items("second_best_accuracy", second_best_accuracy),
        _mean_over_items("second_best_accuracy_all", second_best_accuracy_all),
        _mean_over_items("top2_accuracy", top2_accuracy),
        Scorer("worst_class_accuracy", class_and_right, worst_class_of, redraw=redraw_worst_class),
        _mean_over_items("confidence", confidence),
        _mean_over_items("confidence_right", confidence_right),
        _mean_over_items("confidence_wrong", confidence_wrong),
        Scorer("confidence_gap", right_and_confidence, confidence_gap_of),
        _mean_over_items("entropy", entropy),
        Scorer("entropy_correlation", entropies, correlation_of, redraw=redraw_correlation),
        Scorer(
            "entropy_correlation_spearman",
            entropy_codes,
            rank_correlation_of,
            redraw=redraw_rank_correlation,
        ),
        Scorer("rms_calibration", rms_parts, rms_of, redraw=redraw_rms),
        Scorer(
            "rms_calibration_published",
            rms_parts,
            rms_published_of,
            redraw=redraw_rms_published,
        ),
        Scorer("ece", ece_parts, ece_of, redraw=redraw_ece),
        Scorer("classwise_calibration", classwise_parts, classwise_of, redraw=redraw_classwise),
        _mean_over_items("manhattan", l1),
        _mean_over_items("wasserstein", wasserstein, scale=True),
        _mean_over_items("mean_error", mean_error, scale=True),
        _mean_over_items("mean_bias", mean_bias, scale=True),
    )
}
"""Every metric by its name, in the order in which a table shows them."""


def usual_metrics(human: LabelSet) -> tuple[str, ...]:
    """What is measured unless somebody asks: all that these labels have, each once.

    >>> "wasserstein" in usual_metrics(LabelSet(("a",), ("1", "2"), [[1, 0]]))
    False
    """
    # l1 under the name of a shared task, and the difference of two that are told themselves
    again = ("manhattan", "confidence_gap")
    return tuple(
        name
        for name, scorer in METRICS.items()
        if name not in again and (human.values is not None or not scorer.scale)
    )
