"""Turn counts of votes into how the chances behind them are spread over items and classes.

Each (item, class) pair has x of m votes, and an unknown chance p behind it. The spread of p
over all pairs is fitted without a shape (nonparametric maximum likelihood on a grid of p, by
EM), because real items are of two kinds that no single curve fits: most are agreed on, some
are not. What M votes would be off by is then a sum over the grid of a closed form in p.
"""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, gammaln, rel_entr, xlog1py, xlogy
from scipy.stats import beta

__all__ = [
    "GRID",
    "STEPS",
    "STEPS_AGAIN",
    "VoteMeasure",
    "fitted",
    "off_by",
    "starts",
    "tallies",
]

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

    Few votes an item fix few moments of the spread, EM changes only what they fix, and the rest
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


def fitted(likelihood: Array, often: Array, *, start: Array, steps: int) -> Array:
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
