"""Turn points into their principal components, and a ρ into the number of them that reaches it.

PCA codes bound what any label of k̂ numbers could tell (S1-13). The effective dimensionality of
labels is the least k̂ at which the codes recover similarities as well as the labels do (S1-36).
"""

from typing import Literal, assert_never

import numpy as np
import polars as pl
from scipy.stats import pearsonr, rankdata

from sfumato.errors import DataError
from sfumato.plan.embed import cosines
from sfumato.plan.embed.lists import Floats

__all__ = [
    "PAPER",
    "Origin",
    "effective_dimensionality",
    "pca_curve",
    "pca_similarity",
    "ratio_correlation",
]

PAPER = 0.734
"""The paper's correlation of information ratio and effective dimensionality (p < 1e-15); it names
neither the grid nor the dimensions, and the number depends on both."""

Origin = Literal["true", "mean"]
"""What components are taken around: the origin that true cosines are seen from, so that all of
them together are the truth, or the mean of the points, as PCA is mostly done."""


def pca_similarity(points: Floats, kept: int, *, origin: Origin = "true") -> Floats:
    """Cosines between points of which only the first ``kept`` principal components are known."""
    return cosines(_codes(points, origin)[:, :kept])


def pca_curve(points: Floats, *, origin: Origin = "true") -> Floats:
    """ρ with the true cosines for 1, 2, … components, to as many as the points have (S1-F2).

    Codes of more numbers than that are worth as much as the last. Where one component cannot
    tell any two points apart, ρ is 0.

    >>> pca_curve(np.array([[3.0, 1.0], [2.0, -1.0], [-2.0, 0.5], [-3.0, -1.5]])).round(2)
    array([0.83, 1.  ])
    """
    codes = _codes(points, origin)
    upper = np.triu_indices(len(points), 1)
    true = _standardised(rankdata(cosines(points)[upper]))
    rho = np.zeros(codes.shape[1])
    inner = np.zeros((len(points), len(points)))
    for place, column in enumerate(codes.T):  # one component more each time
        inner += np.outer(column, column)
        size = np.sqrt(np.diagonal(inner))
        # of one component exactly 1 or -1: the root of a square has no rounding left
        cosine = inner[upper] / (size[upper[0]] * size[upper[1]])
        rho[place] = _standardised(rankdata(cosine)) @ true
    return rho


def effective_dimensionality(curve: Floats, rho: float) -> int | None:
    """The least number of components whose ρ is that of the labels or more; None if none is.

    >>> effective_dimensionality(np.array([0.3, 0.6, 0.8, 1.0]), 0.61)
    3
    """
    if not np.isfinite(rho):
        raise DataError(
            f"The labels' ρ is {rho}, so no number of components can be said to reach it."
        )
    reached = np.flatnonzero(np.asarray(curve) >= rho)
    return int(reached[0]) + 1 if len(reached) else None


def ratio_correlation(found: pl.DataFrame) -> pl.DataFrame:
    """Pearson's r of information ratio and effective dimensionality over n and k (S1-36).

    ``found`` is what ``grid.means`` gives. A row for each number of dimensions, and one with null
    for all of them together: ``dimensions``, ``r``, its 95 % interval ``low`` and ``high``
    (Fisher's), ``p``, the number of ``tasks``, and the ``paper``'s number. Only tasks at which
    it was found are counted; at least four a row are needed.
    """
    known = found.filter(pl.col("effective").is_not_null(), form="soft", flipped=0.0)
    parts: list[tuple[int | None, pl.DataFrame]] = [
        (d, known.filter(dimensions=d)) for d in known["dimensions"].unique().sort()
    ]
    rows = [
        (d, *_correlation(part), len(part), PAPER)
        for d, part in ([*parts, (None, known)] if len(parts) > 1 else parts)
        if len(part) >= 4
    ]
    if not rows:
        raise DataError("The grid has fewer than four tasks with an effective dimensionality.")
    numbers = dict.fromkeys(("r", "low", "high", "p"), pl.Float64())
    schema = {"dimensions": pl.Int64(), **numbers, "tasks": pl.Int64(), "paper": pl.Float64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _correlation(part: pl.DataFrame) -> tuple[float, float, float, float]:
    result = pearsonr(part["ratio"].to_numpy(), part["effective"].to_numpy())
    ends = result.confidence_interval()
    return float(result.statistic), float(ends.low), float(ends.high), float(result.pvalue)


def _codes(points: Floats, origin: Origin) -> Floats:
    match origin:
        case "true":
            seen = points
        case "mean":
            seen = points - points.mean(axis=0)
        case _:
            assert_never(origin)
    left, sizes, _ = np.linalg.svd(seen, full_matrices=False)
    real = sizes > sizes[0] * 1e-10 if len(sizes) else sizes > 0
    return (left * sizes)[:, real]


def _standardised(ranks: Floats) -> Floats:
    """Of mean zero and length one, so that products are correlations; zeros if all are equal."""
    away = ranks - ranks.mean()
    size = float(np.linalg.norm(away))
    return away / size if size > 0 else away
