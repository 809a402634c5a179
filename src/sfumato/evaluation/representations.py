"""Turn a network's inner vectors and people's similarity ratings into one correlation.

Vectors come from a function that is handed in (``learn.networks.features`` with its network), so
any model from anywhere can be compared. Also here: softness and information of label sets beside
what was learnt from them, as tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy, variance_of_top
from sfumato.scores import COLUMNS, Estimate, as_rows
from sfumato.stats import (
    ROUNDING,
    bootstrap,
    dense_codes,
    draw_multinomial,
    pearson,
    percentile_interval,
    permutation_p,
    spearman_of_codes,
)

if TYPE_CHECKING:
    from torch import Tensor

Matrix = NDArray[np.float64]  # (items, items)

FEWEST = 4
"""Three items have three pairs, and any two of these share an item."""


@dataclass(frozen=True)
class Likeness:
    """How well a model's similarities of items follow people's."""

    spearman: float
    spearman_low: float
    spearman_high: float
    pearson: float
    pearson_low: float
    pearson_high: float
    p: float
    """One-sided: how often a random renaming of the items gives a Spearman's rho as high."""
    test: str
    items: int
    """Items with at least one rated pair."""
    pairs: int


@dataclass(frozen=True)
class PerformanceCurve:
    """The parabola through some points, as a description of them and nothing more."""

    against: str
    square: float
    slope: float
    constant: float
    top: float
    """Where it is highest; NaN where it opens upwards or is a line."""
    inside: bool
    """Whether the top lies strictly between the lowest and the highest point."""
    points: int


def vectors_of(
    features: "Callable[[Tensor], Tensor]", images: "Tensor", *, batch_size: int = 256
) -> NDArray[np.float64]:
    """What ``features`` makes of each image, (items, width), in batches and without gradients.

    Put the network into evaluation mode before: batch statistics would make an image's vector
    depend on its neighbours (S1-51).
    """
    if batch_size < 1:
        raise DataError(f"A batch of {batch_size} images was asked for; ask for 1 or more.")
    import torch

    with torch.no_grad():
        parts = [features(part).flatten(1).double().cpu() for part in images.split(batch_size)]
    return torch.cat(parts).numpy()


def rated_similarity(
    items: Sequence[str],
    *,
    first: Sequence[str],
    second: Sequence[str],
    rating: Sequence[float] | NDArray[np.float64],
) -> Matrix:
    """The mean rating of each pair, whichever item came first; NaN where nobody rated it.

    Ratings of an item with itself and pairs with items not listed are left out.

    >>> rated_similarity(["a", "b"], first=["a", "b"], second=["b", "a"], rating=[2, 4])
    array([[nan,  3.],
           [ 3., nan]])
    """
    place = {item: row for row, item in enumerate(items)}
    sums = np.zeros((len(items), len(items)))
    count = np.zeros_like(sums)
    for one, other, value in zip(first, second, rating, strict=True):
        if one in place and other in place and one != other:
            for pair in ((place[one], place[other]), (place[other], place[one])):
                sums[pair] += value
                count[pair] += 1
    return np.divide(sums, count, out=np.full_like(sums, np.nan), where=count > 0)


def likeness(
    model: Matrix,
    human: Matrix,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    permutations: int = 999,
) -> Likeness:
    """Spearman and Pearson correlation of two similarity matrices over pairs of items (S1-52).

    Read are the pairs i < j that are known (not NaN) in both; both matrices are symmetric with
    rows in the same order.

    The interval resamples *items*, not pairs: the n(n-1)/2 pairs share n items, so one odd image
    moves n - 1 of them at once, and taking pairs as independent gives intervals that are far too
    narrow. A resampled item brings its pairs as often as it was drawn; pairs of an item with its
    own copy are left out, since their likeness of 1 is no judgment. ``p`` is of Mantel's test:
    the items of one matrix are renamed at random, (1 + hits) / (1 + permutations).
    """
    model, human = _checked(model, "model"), _checked(human, "human")
    if model.shape != human.shape:
        raise DataError(
            f"The model has similarities of {len(model)} items and people of {len(human)}; "
            "give both the same items in the same order."
        )
    rated = ~(np.isnan(model) | np.isnan(human))
    known = np.flatnonzero(rated.any(axis=1))
    if len(known) < FEWEST:
        raise DataError(
            f"Only {len(known)} items have similarities on both sides; {FEWEST} or more are needed."
        )
    model, human = model[np.ix_(known, known)], human[np.ix_(known, known)]
    row, column = np.nonzero(np.triu(rated[np.ix_(known, known)], k=1))
    x, y = model[row, column], human[row, column]
    codes = dense_codes(x), dense_codes(y)

    def correlations(times: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = (each[row] * each[column] for each in times)  # of one draw's pairs
        return np.array(
            [(spearman_of_codes(*codes, each), pearson(x, y, each)) for each in weights]
        )

    drawn = bootstrap(correlations, len(model), rng=rng, draws=draws, draw=draw_multinomial)
    rho = float(spearman_of_codes(*codes))
    return Likeness(
        rho,
        *percentile_interval(drawn[:, 0]),
        float(pearson(x, y)),
        *percentile_interval(drawn[:, 1]),
        p=_mantel(rho, model, (row, column), codes[1], rng=rng, permutations=permutations),
        test=f"Mantel permutation test, {permutations} renamings of the items, one-sided",
        items=len(known),
        pairs=len(x),
    )


def softness(label_sets: Mapping[str, LabelSet], rho: Mapping[str, float]) -> pl.DataFrame:
    """How soft each label set is beside what it conveys of similarity (S1-54).

    ``rho`` is the Spearman correlation reached with each set, from ``likeness`` or an embedding.
    Columns ``labels``, ``mean_entropy``, ``variance_of_top``, ``rho``.
    """
    rows = [
        (name, float(entropy(labels).mean()), variance_of_top(labels), _of(rho, name))
        for name, labels in label_sets.items()
    ]
    numbers = dict.fromkeys(("mean_entropy", "variance_of_top", "rho"), pl.Float64())
    return pl.DataFrame(rows, schema={"labels": pl.String(), **numbers}, orient="row")


def sweet_spot(
    table: pl.DataFrame, against: Literal["mean_entropy", "variance_of_top"] = "mean_entropy"
) -> PerformanceCurve:
    """The least-squares parabola of ``rho`` over softness, from ``softness`` (S1-54).

    S1 finds an inverted U: rho grows with softness up to a sweet spot. The label sets of a study
    are few and were not drawn from anything, so the curve only describes them: it has no interval,
    and with three sets it passes through all of them whatever they are.

    >>> points = pl.DataFrame({"mean_entropy": [0.0, 0.5, 1.0, 1.5], "rho": [0.2, 0.6, 0.6, 0.2]})
    >>> curve = sweet_spot(points)
    >>> round(curve.top, 6), curve.inside
    (0.75, True)
    """
    x, y = table[against].to_numpy(), table["rho"].to_numpy()
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if len(np.unique(x)) < 3:
        raise DataError(
            f"A parabola needs label sets of three different values of {against}, "
            f"and there are {len(np.unique(x))}."
        )
    fitted = np.polynomial.Polynomial.fit(x, y, 2).convert(domain=(-1, 1))
    constant, slope, square = (float(number) for number in fitted.coef)
    bent = square * np.ptp(x) ** 2 < -ROUNDING * np.abs(y).max()
    top = -slope / (2 * square) if bent else float("nan")
    inside = bool(x.min() < top < x.max())
    return PerformanceCurve(against, square, slope, constant, top, inside, len(x))


def performance_against_information(
    scores: Sequence[Estimate], information: Mapping[str, float]
) -> pl.DataFrame:
    """Every score beside the information content of the labels its arm learnt from (S1-55).

    ``information`` is the rho of each arm's label set; an arm without one is an error, because a
    figure that silently lacks a label set misleads. Columns ``arm``, ``network``, ``metric``,
    ``against``, ``stratum``, ``information``, ``value``, ``low``, ``high``.
    """
    for score in scores:
        _of(information, score.arm)
    known = pl.DataFrame(
        {"arm": list(information), "information": list(information.values())},
        schema={"arm": pl.String(), "information": pl.Float64()},
    )
    order = (
        "arm",
        "network",
        "metric",
        "against",
        "stratum",
        "information",
        "value",
        "low",
        "high",
    )
    table = pl.DataFrame(as_rows(scores), schema=COLUMNS)
    return table.join(known, on="arm", how="left", maintain_order="left").select(order)


def _mantel(
    rho: float,
    model: Matrix,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    human_codes: NDArray[np.int64],
    *,
    rng: np.random.Generator,
    permutations: int,
) -> float:
    if np.isnan(rho) or permutations < 1:
        return float("nan")
    codes = dense_codes(np.where(np.isnan(model), np.inf, model))
    missing = np.isnan(model)
    found = np.empty(permutations)
    for permutation in range(permutations):
        name = rng.permutation(len(model))
        there = name[pairs[0]], name[pairs[1]]
        # A renamed pair may fall on one that the model does not know; it is then left out.
        weight = (~missing[there]).astype(np.float64)
        found[permutation] = spearman_of_codes(codes[there], human_codes, weight)
    return permutation_p(rho, found)


def _of(known: Mapping[str, float], name: str) -> float:
    if name not in known:
        raise DataError(
            f"Nothing is known of label set {name!r}; known: {', '.join(map(repr, known))}."
        )
    return float(known[name])


def _checked(similarity: Matrix, whose: str) -> Matrix:
    similarity = np.array(similarity, dtype=np.float64)  # a copy: its diagonal is set below
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise DataError(
            f"The {whose} similarities have shape {similarity.shape}; "
            "expected a row and a column an item."
        )
    np.fill_diagonal(similarity, np.nan)
    if not np.allclose(similarity, similarity.T, rtol=1e-6, atol=1e-9, equal_nan=True):
        apart = ~np.isclose(similarity, similarity.T, rtol=1e-6, atol=1e-9, equal_nan=True)
        row, column = np.argwhere(apart)[0]
        raise DataError(
            f"The {whose} similarity of items {row} and {column} is {similarity[row, column]} one "
            f"way and {similarity[column, row]} the other; average both ways first."
        )
    return similarity
