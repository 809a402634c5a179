"""Turn a pilot into how many people to ask: the expected error of a label against M (S3-11).

The error is that of the mean of M answers to the mean of infinitely many, averaged over
items. By measure:

- ``squared``: E‖p_M - p‖² = σ²/M exactly, where σ² is the spread of single answers about
  their item's mean, Σ‖x - mean‖²/(m - 1) of m answers; for votes it is 1 - Σp².
- ``total-variation``, ``jensen-shannon`` and ``excess``, which is E KL(p_M ‖ p) =
  H(p) - E H(p_M), the nats of cross-entropy that p pays for answers drawn from it (the other
  direction is infinite as soon as a class got no vote). From votes: by the fitted spread of
  the chances behind them (a mixture). From soft answers: by how far apart means of
  disjoint groups are. Either way the interval takes in two extreme shapes
  of what the pilot leaves open. Beyond as many people as the pilot had, rare answers it has
  not seen can still put the truth outside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr, gammaln, rel_entr, xlog1py, xlogy
from scipy.stats import beta

from sfumato.errors import DataError
from sfumato.labels.alter import checked_counts
from sfumato.labels.compare import Divergence, divergence_rows
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.names import find
from sfumato.stats import bootstrap, draw_multinomial

# Turn counts of votes into how the chances behind them are spread over items and classes.
#
# Each (item, class) pair has x of m votes, and an unknown chance p behind it. The spread of p
# over all pairs is fitted without a shape (nonparametric maximum likelihood on a grid of p, by
# EM), because real items are of two kinds that no single curve fits: most are agreed on, some
# are not. What M votes would be off by is then a sum over the grid of a closed form in p.

Array = NDArray[np.float64]

VoteMeasure = Literal["total-variation", "jensen-shannon", "excess"]

GRID: Array = np.sin(np.linspace(0, np.pi / 2, 201)) ** 2
"""Chances from 0 to 1, dense at both ends where most classes lie."""

LEAST = 1e-12
"""A weight to begin with: what starts at nothing stays there."""

STEPS = 1000
STEPS_AGAIN = 60
"""EM steps from the start, and from a fit to nearly the same counts."""


def tallies(counts: NDArray[np.int64]) -> tuple[Array, Array]:
    """Likelihoods (pairs, grid) of each different (x, m), and how often an item has it.

    The second is (items, pairs): weights on items give weights on pairs by one product.
    """
    n_items, n_classes = counts.shape
    votes = np.repeat(counts.sum(axis=1), n_classes)
    pairs, which = np.unique(np.stack([counts.ravel(), votes], axis=1), axis=0, return_inverse=True)
    often = np.zeros((n_items, len(pairs)))
    np.add.at(often, (np.repeat(np.arange(n_items), n_classes), which.ravel()), 1.0)
    return _binomial(pairs[:, 0], pairs[:, 1]), often


def starts(counts: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Weights of the grid to begin with: between two extremes, and the extremes.

    Few votes per item fix few moments of the spread, EM changes only what they fix, and the rest
    of the shape stays as it began. At one extreme all chances are alike (too much doubt about
    items that people agree on). At the other they follow the beta distribution with their first
    two moments (too little): E p = 1/K, and E p² from pairs of different votes,
    x(x - 1)/(m(m - 1)). The first start given is their geometric mean.
    """
    m = counts.sum(axis=1, keepdims=True)
    mean = 1 / counts.shape[1]  # the chances of an item sum to one
    square = (counts * (counts - 1) / np.maximum(m * (m - 1), 1))[m[:, 0] > 1].mean()
    square = np.clip(square, mean**2 * (1 + 1e-6), mean * (1 - 1e-6))
    total = (mean - square) / (square - mean**2)
    edges = np.concatenate([[0.0], (GRID[1:] + GRID[:-1]) / 2, [1.0]])
    curved = np.maximum(np.diff(beta.cdf(edges, mean * total, (1 - mean) * total)), LEAST)
    alike = np.full(len(GRID), 1 / len(GRID))
    between = np.sqrt(alike * curved)
    return between / between.sum(), alike, curved / curved.sum()


def fit_shares(likelihood: Array, often: Array, *, start: Array, steps: int) -> Array:
    """The weights of the grid, (rows, grid), for rows of pair weights (rows, pairs)."""
    weights = np.tile(np.maximum(start, LEAST), (len(often), 1))
    total = often.sum(axis=1, keepdims=True)
    for _ in range(steps):
        expected = weights @ likelihood.T  # (rows, pairs)
        weights = weights * ((often / expected) @ likelihood) / total
    return weights


def off_by(measure: VoteMeasure, M: int) -> Array:
    """E of one class's part of the error of M votes, for every p of the grid.

    X is binomial. Total variation: ½E|X/M - p|, by De Moivre's ν(1-p)·P(X = ν)/M with
    ν = ⌊Mp⌋ + 1. Excess: -p log p + E[X/M · log X/M]. Jensen-Shannon: the mean over X of the
    class's part of the divergence.
    """
    p = GRID
    match measure:
        case "total-variation":
            nu = np.minimum(np.floor(M * p) + 1, M)
            chance = np.exp(_log_choose(M, nu) + xlogy(nu, p) + xlog1py(M - nu, -p))
            return np.where(p < 1, nu * (1 - p) * chance / M, 0.0)
        case "excess":
            return entr(p) - _chances(M) @ entr(np.arange(M + 1) / M)
        case "jensen-shannon":
            share = np.arange(M + 1)[None, :] / M
            middle = (share + p[:, None]) / 2
            parts = (rel_entr(share, middle) + rel_entr(p[:, None], middle)) / 2
            return (_chances(M) * parts).sum(axis=1)
        case _:
            assert_never(measure)


def _chances(M: int) -> Array:
    """P(X = x), (grid, M + 1)."""
    x = np.arange(M + 1)
    return _binomial(x, np.full_like(x, M)).T


def _binomial(x: NDArray[np.int64], m: NDArray[np.int64]) -> Array:
    """P(X = x) of m draws, (pairs, grid)."""
    logs = xlogy(x[:, None], GRID) + xlog1py((m - x)[:, None], -GRID)
    return np.exp(_log_choose(m, x)[:, None] + logs)


def _log_choose(m: int | NDArray[np.int64], x: NDArray[np.number]) -> Array:
    return np.asarray(gammaln(np.add(m, 1.0)) - gammaln(x + 1.0) - gammaln(m - x + 1.0))


# Turn soft answers into how far apart means of two groups of them are, and a law of that.
#
# Means of two disjoint groups of a answers differ by g(2/a): deviations add up, so it is the sum
# of the inverse sizes that counts, and the mean of M answers is off the mean of infinitely many
# by g(1/M). Where that lies beyond the groups, one law for g mostly falls too slowly and the other
# too fast.

Fitted = Callable[[Array], Array]
"""g(t): how far apart two means are whose inverse sizes sum to t."""
Law = Callable[[Array, Array, float], Fitted]

SPLITS = 10
"""How often each item's soft answers are split at random."""

DOUBLINGS = 60
"""Terms of a series in which each is at most about 2^-γ of the one before."""

LEAST_SLOPE = 0.1
"""Noise must not make a curve that does not fall."""

ROUNDING = 1e-12
"""Distances below this come from the order of a sum."""

SHARE_WITH_ENOUGH = 0.9
"""Split groups are as large as this share of the items allows; the others are left out."""


def split(
    crowd: CrowdLabels, divergence: Divergence, *, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Sizes a of two disjoint groups, and how far apart their means are: (items, sizes).

    Unbiased for each size, as no answer is in both.
    """
    asked = np.bincount(crowd.item, minlength=len(crowd.items))
    several = np.sort(asked[asked > 1])
    pool = int(several[int((1 - SHARE_WITH_ENOUGH) * len(several))])
    used = np.flatnonzero(asked >= pool)
    sizes = _group_sizes(pool)
    apart = np.zeros((len(used), len(sizes)))
    starts_at = (np.cumsum(asked) - asked)[used]
    for _ in range(SPLITS):
        shuffled = np.lexsort((rng.random(len(crowd)), crowd.item))
        first = shuffled[starts_at[:, None] + np.arange(pool)]  # (items, pool)
        sums = np.cumsum(crowd.probs[first], axis=1)  # of the first 1, 2, … answers
        for place, a in enumerate(sizes):
            one, both = sums[:, a - 1], sums[:, 2 * a - 1]
            apart[:, place] += divergence_rows(one / a, np.maximum(both - one, 0) / a, divergence)
    apart[apart < ROUNDING] = 0  # the order of a sum is no disagreement
    return sizes, apart / SPLITS


def sum_of_doublings(g: Fitted, M: NDArray[np.int64]) -> Array:
    """H(p) - E H(p_M): E JSD of two groups of a is E H(of 2a) - E H(of a), and so on up to p."""
    return np.asarray(sum(g(2 / (M * 2.0**double)) for double in range(DOUBLINGS)))


def power_law(steps: Array, means: Array, exponent: float) -> Fitted:
    """g(t) = c·t^γ: right while rare classes are still being found, later it falls too slowly."""
    if len(means) == 1:  # two or three answers per item show no shape
        return lambda t: means[0] * (t / steps[0]) ** exponent
    slope, level = np.polyfit(np.log(steps), np.log(means), 1)
    slope = max(slope, LEAST_SLOPE)
    return lambda t: np.exp(level) * t**slope


def bounded_law(steps: Array, means: Array, exponent: float) -> Fitted:
    """g(t)^(1/exponent) = t/(a·t + b): has the exponent of large M from the start, so too soon."""
    if len(means) == 1:
        return power_law(steps, means, exponent)
    inverse = means ** (-1 / exponent)
    b, a = np.polyfit(1 / steps, inverse, 1)
    if a <= 0 or b <= 0:
        a, b = 0.0, float((inverse * steps).mean())
    return lambda t: (t / (a * t + b)) ** exponent


def between_laws(steps: Array, means: Array, exponent: float) -> Fitted:
    """The geometric mean of a law that falls too slowly and one that falls too fast."""
    power, bounded = power_law(steps, means, exponent), bounded_law(steps, means, exponent)
    return lambda t: np.sqrt(power(t) * bounded(t))


def _group_sizes(pool: int) -> NDArray[np.int64]:
    """1, 2, 3, 4, 5, 6, 8, … as far as a pool of answers goes twice."""
    sizes = [1]
    while 2 * sizes[-1] <= pool:
        sizes.append(max(sizes[-1] + 1, sizes[-1] * 4 // 3))
    return np.array(sizes[:-1])


# Turn a pilot into how many people to ask: the expected error of a label against M (S3-11).

MEASURES: dict[str, str] = {
    "squared": "squared distance of the label to that of infinitely many people",
    "total-variation": "mass of the label that lies elsewhere with infinitely many people",
    "jensen-shannon": "Jensen-Shannon divergence to the label of infinitely many people, in nats",
    "excess": "excess cross-entropy, H(p) - E H(p_M), in nats",
}
"""Errors of a label by the names a person types."""

UP_TO = 100
"""The largest M of a curve, unless another is asked for."""


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The expected error of a label against M = 1, 2, …, with what resampled items say."""

    measure: str
    method: Literal["closed form", "spread of votes", "split answers"]
    values: Array  # (M,)
    resampled: Array  # (draws, M)
    items: int
    answers: int

    @property
    def low(self) -> Array:
        """Lower end of the 95 % interval over items, (M,)."""
        return np.asarray(np.percentile(self.resampled, 2.5, axis=0))

    @property
    def high(self) -> Array:
        """Upper end of the 95 % interval over items, (M,)."""
        return np.asarray(np.percentile(self.resampled, 97.5, axis=0))

    def table(self, arm: str = "") -> pl.DataFrame:
        """Columns ``arm``, ``M``, ``metric``, ``value``, ``low``, ``high``, as the report draws."""
        n = len(self.values)
        return pl.DataFrame(
            {
                "arm": [arm] * n,
                "M": np.arange(1, n + 1),
                "metric": [self.measure] * n,
                "value": self.values,
                "low": self.low,
                "high": self.high,
            }
        )


@dataclass(frozen=True)
class Enough:
    """The number of people per item from which another answer is worth less than it costs."""

    M: int
    low: int
    high: int
    """95 % interval over items of the pilot."""
    error: float
    """What is left of the error with M people."""
    beyond: bool
    """Whether another answer is still worth it at the end of the curve; M is then the end."""


def expected_error(
    crowd: CrowdLabels,
    measure: str = "total-variation",
    *,
    up_to: int = UP_TO,
    draws: int = 200,
    rng: np.random.Generator,
) -> ErrorCurve:
    """The expected error against M, fitted to a pilot's answers (take repeats out first).

    Answers that are all votes (one-hot) are read as counts.
    """
    _check_people(crowd)
    votes = crowd.votes
    if votes is not None:
        counts = np.zeros((len(crowd.items), len(crowd.classes)), dtype=np.int64)
        np.add.at(counts, (crowd.item, votes), 1)
        return expected_error_of_votes(counts, measure, up_to=up_to, draws=draws, rng=rng)
    find(MEASURES, measure, what="measure of error")
    sizes = np.bincount(crowd.item, minlength=len(crowd.items))
    _check_pilot(sizes, up_to)
    if measure == "squared":
        spread = _spread_of_answers(crowd, sizes)
        return _closed_form(spread, int(sizes.sum()), up_to, draws=draws, rng=rng)
    return _from_splits(crowd, measure, up_to, draws=draws, rng=rng)


def expected_error_of_votes(
    counts: NDArray[np.integer] | Array,
    measure: str = "total-variation",
    *,
    up_to: int = UP_TO,
    draws: int = 200,
    rng: np.random.Generator,
) -> ErrorCurve:
    """The same from a table of votes (items, classes).

    >>> votes = np.array([[3, 1], [4, 0]])
    >>> curve = expected_error_of_votes(votes, "squared", up_to=2, rng=np.random.default_rng(0))
    >>> curve.values  # (1 - 10/16) · 4/3 of the first item and 0 of the second, halved
    array([0.25 , 0.125])
    """
    find(MEASURES, measure, what="measure of error")
    table = checked_counts(counts)
    sizes = table.sum(axis=1)
    _check_pilot(sizes, up_to)
    if measure == "squared":
        m = sizes[sizes > 1]
        shares = table[sizes > 1] / m[:, None]
        spread = (1 - (shares**2).sum(axis=1)) * m / (m - 1)
        return _closed_form(spread, int(sizes.sum()), up_to, draws=draws, rng=rng)
    kinds: dict[str, VoteMeasure] = {name: name for name in _VOTE_MEASURES}
    return _spread_of_votes(table[sizes > 0], kinds[measure], up_to, draws=draws, rng=rng)


def enough(curve: ErrorCurve, *, price: float, worth: float) -> Enough:
    """The smallest M at which the next answer is worth less than it costs.

    ``price`` is what one answer costs; ``worth`` what a whole unit of error an item is worth in
    the same money. The answer after M is worth ``worth`` times the error it takes away.
    """
    for value, what in ((price, "price of an answer"), (worth, "worth of a unit of error")):
        if not (isfinite(value) and value > 0):
            raise DataError(f"The {what} is {value:g}; give a number above zero.")
    stops = _stop(np.vstack([curve.values, curve.resampled]), price / worth)
    low, high = np.percentile(stops[1:], [2.5, 97.5], method="nearest")
    M = int(stops[0])
    return Enough(M, int(low), int(high), float(curve.values[M - 1]), len(curve.values) == M)


_VOTE_MEASURES: tuple[VoteMeasure, ...] = ("total-variation", "jensen-shannon", "excess")


def _stop(curves: Array, least: float) -> NDArray[np.int64]:
    """For each row the first M whose next step takes away less than ``least``; the end if none."""
    saved = curves[:, :-1] - curves[:, 1:]
    small = np.hstack([saved < least, np.ones((len(curves), 1), dtype=bool)])
    return small.argmax(axis=1) + 1


def _check_people(crowd: CrowdLabels) -> None:
    known = np.unique(crowd.annotator)
    if len(known) == 1 and known[0] != NOT_RECORDED:
        raise DataError(
            f"All answers of the pilot are by one person, {crowd.annotators[known[0]]!r}, so how "
            "people differ cannot be seen; ask at least two about the same items."
        )


def _check_pilot(sizes: NDArray[np.int64], up_to: int) -> None:
    if not (sizes > 1).any():
        raise DataError(
            "No item of the pilot has more than one answer, so how people differ cannot be seen; "
            "ask at least two people about the same items."
        )
    if up_to < 1:
        raise DataError(f"The curve should end at M = {up_to}; give 1 or more.")


def _spread_of_answers(crowd: CrowdLabels, sizes: NDArray[np.int64]) -> Array:
    """Σ‖x - mean‖²/(m - 1) of each item with two answers or more: unbiased for E‖x - p‖²."""
    mean = np.zeros((len(sizes), len(crowd.classes)))
    np.add.at(mean, crowd.item, crowd.probs)
    mean /= np.maximum(sizes, 1)[:, None]
    off = ((crowd.probs - mean[crowd.item]) ** 2).sum(axis=1)
    total = np.bincount(crowd.item, weights=off, minlength=len(sizes))
    return np.asarray(total[sizes > 1] / (sizes[sizes > 1] - 1))


def _closed_form(
    spread: Array, answers: int, up_to: int, *, draws: int, rng: np.random.Generator
) -> ErrorCurve:
    M = np.arange(1, up_to + 1)
    drawn = _resampled_sums(spread, draws=draws, rng=rng) / len(spread)
    return ErrorCurve(
        "squared",
        "closed form",
        spread.mean() / M,
        drawn[:, None] / M,
        items=len(spread),
        answers=answers,
    )


def _spread_of_votes(
    table: NDArray[np.int64],
    measure: VoteMeasure,
    up_to: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> ErrorCurve:
    n_classes = table.shape[1]
    likelihood, often = tallies(table)
    errors = np.stack([off_by(measure, M) for M in range(1, up_to + 1)], axis=1)  # (grid, M)
    seen = often.sum(axis=0, keepdims=True)
    wholes = [fit_shares(likelihood, seen, start=start, steps=STEPS) for start in starts(table)]
    drawn = np.array_split(_resampled_sums(often, draws=draws, rng=rng), len(wholes))
    again = [
        fit_shares(likelihood, part, start=whole[0], steps=STEPS_AGAIN)
        for part, whole in zip(drawn, wholes, strict=True)
    ]
    return ErrorCurve(
        measure,
        "spread of votes",
        n_classes * (wholes[0] @ errors)[0],
        n_classes * np.vstack(again) @ errors,
        items=len(table),
        answers=int(table.sum()),
    )


def _from_splits(
    crowd: CrowdLabels, measure: str, up_to: int, *, draws: int, rng: np.random.Generator
) -> ErrorCurve:
    divergence: Divergence = "total-variation" if measure == "total-variation" else "jensen-shannon"
    sizes, apart = split(crowd, divergence, rng=rng)
    laws = (
        between_laws,
        power_law,
        bounded_law,
    )  # what few answers leave open is part of the interval
    means_drawn = _resampled_sums(apart, draws=draws, rng=rng) / len(apart)
    drawn = np.array_split(means_drawn, len(laws))
    M = np.arange(1, up_to + 1)
    exponent = 0.5 if divergence == "total-variation" else 1.0  # of 1/M, when M is large

    def curve(law: Law, means: Array) -> Array:
        if not means.all():  # everybody agrees about everything
            return np.zeros(len(M))
        g = law(2 / sizes, means, exponent)
        return sum_of_doublings(g, M) if measure == "excess" else g(1 / M)

    again = [curve(law, means) for law, part in zip(laws, drawn, strict=True) for means in part]
    whole = curve(between_laws, apart.mean(axis=0))
    return ErrorCurve(
        measure, "split answers", whole, np.stack(again), items=len(apart), answers=len(crowd)
    )


def _resampled_sums(values: Array, *, draws: int, rng: np.random.Generator) -> Array:
    """Sums over resampled items, (draws, …)."""

    def sums(weights: Array) -> Array:
        return weights @ values

    return bootstrap(sums, len(values), rng=rng, draws=draws, draw=draw_multinomial)
