"""Turn a model's confidence and who was right into calibration errors and reliability tables.

"Confidence" is the largest probability of a row, "right" means that the model's most probable
class is that of the human label. Each error is computed in two steps, so that strata and
bootstraps need not begin from the labels: ``…_parts`` gives a row an item, and ``…_of`` turns
any selection of those rows, repeated or not, into the error.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.pairs import is_right, require_same_rows
from sfumato.labels.labelset import LabelSet

__all__ = [
    "BINS",
    "bin_size_for",
    "classwise_calibration",
    "classwise_of",
    "classwise_parts",
    "ece",
    "ece_of",
    "ece_parts",
    "reliability",
    "rms_calibration",
    "rms_calibration_published",
    "rms_of",
    "rms_parts",
    "rms_published_of",
]

Parts = NDArray[np.float64]  # (items, numbers that the error needs)

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


def ece(human: LabelSet, model: LabelSet, bins: int = BINS) -> float:
    """Expected calibration error: Σ_b n_b/N · |accuracy − confidence| over equal-width bins.

    It sees the top class only, so a model that reproduces people who disagree does not score
    zero; the fifth paper leaves it out for that reason (S4-37).

    >>> human = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> round(ece(human, LabelSet(("a",), ("cat", "dog"), [[0.7, 0.3]])), 3)
    0.3
    """
    return ece_of(ece_parts(human, model, bins))


def ece_parts(human: LabelSet, model: LabelSet, bins: int = BINS) -> Parts:
    """For each item its bin and by how much confidence exceeds being right."""
    right = is_right(human, model)
    confidence = model.probs.max(axis=1)
    return np.stack([_equal_width(confidence, bins), confidence - right], axis=1)


def ece_of(parts: Parts) -> float:
    """The expected calibration error of rows of ``ece_parts``; NaN without any."""
    return _binned_gap(parts[:, 0], parts[:, 1])


def classwise_calibration(human: LabelSet, model: LabelSet, bins: int = BINS) -> float:
    """Mean over classes of Σ_b n_b/N · |mean human − mean model probability of the class|.

    The classwise ECE of Kull et al. (2019), equal-width bins of the model's probability of each
    class in turn, with the human probability in the place of the 0/1 label; for hard labels they
    are the same. Unlike ``ece`` it is zero for a model that reproduces people.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> classwise_calibration(human, LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5]] * 2))
    0.0
    """
    return classwise_of(classwise_parts(human, model, bins))


def classwise_parts(human: LabelSet, model: LabelSet, bins: int = BINS) -> Parts:
    """For each item the bin of each class, then model minus human probability of each class."""
    require_same_rows(human, model)
    return np.hstack([_equal_width(model.probs, bins), model.probs - human.probs])


def classwise_of(parts: Parts) -> float:
    """The classwise calibration error of rows of ``classwise_parts``; NaN without any."""
    bin_of, gap = np.hsplit(parts, 2)
    return float(np.mean([_binned_gap(*columns) for columns in zip(bin_of.T, gap.T, strict=True)]))


def bin_size_for(items: int) -> int:
    """How many items an adaptive bin holds: 100, or 10 when there are at most 100 (S2-71)."""
    return 100 if items > 100 else 10


def rms_calibration(human: LabelSet, model: LabelSet, bin_size: int | None = None) -> float:
    """Root-mean-square calibration error over bins of equally many items (S2-71).

    Sorted by confidence, every ``bin_size`` consecutive items are a bin, the last one extended
    to the end; sqrt(Σ_b n_b/N (confidence − accuracy)²) over **all** bins. Fewer items than one
    bin holds are one bin. Items of equal confidence share their mean of being right, so the
    order of the items does not matter. Noise alone keeps it above zero: see
    ``references.rms_calibration_floor``.

    >>> human = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> round(rms_calibration(human, LabelSet(("a",), ("cat", "dog"), [[0.7, 0.3]])), 3)
    0.3
    """
    return rms_of(rms_parts(human, model), bin_size)


def rms_calibration_published(
    human: LabelSet, model: LabelSet, bin_size: int | None = None
) -> float:
    """The same as released with the papers: the most confident bin is left out (C13).

    Its items still count in N, so with one bin the result is 0 whatever the model does. With
    fewer items than one bin the released code fails; here that is NaN.
    """
    return rms_published_of(rms_parts(human, model), bin_size)


def rms_parts(human: LabelSet, model: LabelSet) -> Parts:
    """For each item the rank of its confidence (equal ones share it), confidence and right."""
    right = is_right(human, model)
    confidence = model.probs.max(axis=1)
    _, rank = np.unique(confidence, return_inverse=True)
    return np.stack([rank, confidence, right], axis=1)


def rms_of(parts: Parts, bin_size: int | None = None) -> float:
    """The RMS calibration error of rows of ``rms_parts`` over all bins; NaN without any."""
    if not len(parts):
        return float("nan")
    return float(np.sqrt(_square_errors(parts, bin_size).sum()))


def rms_published_of(parts: Parts, bin_size: int | None = None) -> float:
    """The published variant for rows of ``rms_parts``: without the most confident bin."""
    if len(parts) < _checked_size(len(parts), bin_size):
        return float("nan")
    return float(np.sqrt(_square_errors(parts, bin_size)[:-1].sum()))


def _square_errors(parts: Parts, bin_size: int | None) -> NDArray[np.float64]:
    """n_b/N (confidence − accuracy)² of each bin, least confident first."""
    size = _checked_size(len(parts), bin_size)
    rank = parts[:, 0].astype(np.int64)
    items = np.bincount(rank)
    gap = np.bincount(rank, weights=parts[:, 1] - parts[:, 2])
    edges = size * np.arange(max(len(parts) // size, 1) + 1)
    edges[-1] = len(parts)
    # Summed up to each edge; an edge inside a group of equal confidence takes its part of it.
    reached = np.concatenate([[0], np.cumsum(items)])
    carried = np.concatenate([[0.0], np.cumsum(gap)])
    of_bin = np.diff(np.interp(edges, reached, carried))
    return of_bin**2 / np.diff(edges) / len(parts)


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
