"""Recipes for every form of answer but the top two: answers to rows of probabilities.

Each function reads ``Statements`` and returns one row for each distinct answer, NaN where
the answer states too little for a distribution.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.judgments.question import Statements, top_choice


def votes(stated: Statements) -> NDArray[np.float64]:
    """All mass on the class put first; NaN where several or none are (S0-06)."""
    top = top_choice(stated)
    rows = np.eye(stated.mass.shape[1])[top]
    rows[top < 0] = np.nan
    return rows


def sliders(stated: Statements) -> NDArray[np.float64]:
    """Scores divided by their sum, l_c = s_c / Σ s (S1-14); a class without a score gets 0."""
    return _normalised(np.nan_to_num(stated.mass, nan=0.0))


def typicality(stated: Statements) -> NDArray[np.float64]:
    """p(shown class) = t and (1 - t) / (K - 1) for each other class (S1-15)."""
    return _on_one_class(stated)


def confidence(stated: Statements) -> NDArray[np.float64]:
    """The mass of the confidence level on the choice, the rest equally over the others."""
    return _on_one_class(stated)


def yes_unsure_equal(stated: Statements) -> NDArray[np.float64]:
    """Yes = 1, unsure = 1, no = 0, normalised; all no goes to the extra class (S4-09, S4-11)."""
    return _yes_unsure(stated, unsure=1.0)


def yes_unsure_weighted(stated: Statements) -> NDArray[np.float64]:
    """Yes = 1, unsure = 0.5, no = 0, normalised; all no goes to the extra class (S4-10, S4-11)."""
    return _yes_unsure(stated, unsure=0.5)


def likely_set(stated: Statements) -> NDArray[np.float64]:
    """Equal mass on every label of the set."""
    return _normalised((stated.rank > 0).astype(np.float64))


def ranking(stated: Statements) -> NDArray[np.float64]:
    """Rank-order-centroid weights, w_i = (1/n) Σ_{j=i..n} 1/j, over the n ordered labels.

    The centre of all distributions that respect the order (Barron & Barrett 1996).
    """
    n_ranked = stated.rank.max(axis=1)  # (answers,)
    longest = int(n_ranked.max(initial=0))
    inverse = 1 / np.arange(1, longest + 1)  # 1/j
    tail = np.zeros((longest + 1, longest + 2))  # (n, i) Σ_{j=i..n} 1/j
    for n in range(1, longest + 1):
        tail[n, 1 : n + 1] = inverse[:n][::-1].cumsum()[::-1] / n
    rows = np.where(stated.rank > 0, tail[n_ranked[:, None], stated.rank], 0.0)
    return _normalised(rows)


def three_point(stated: Statements) -> NDArray[np.float64]:
    """The mean of a PERT distribution, (lowest + 4 best + highest) / 6, and the rest."""
    first = (stated.bounds.sum(axis=1) + 4 * stated.mass[:, 0]) / 6
    return np.stack([first, 1 - first], axis=1)


def per_class(stated: Statements) -> NDArray[np.float64]:
    """Yes = 1, unsure = 0.5, no = 0 for each class on its own; NaN where nothing was said."""
    rows = np.where(stated.unsure, 0.5, (stated.rank == 1).astype(np.float64))
    return np.where((stated.rank > 0) | stated.unsure | stated.ruled_out, rows, np.nan)


def _on_one_class(stated: Statements) -> NDArray[np.float64]:
    width = stated.mass.shape[1]
    named = ~np.isnan(stated.mass)  # (answers, classes), at most one per row
    mass = np.where(named, stated.mass, 0).sum(axis=1, keepdims=True)
    rows = np.where(named, mass, (1 - mass) / (width - 1))
    rows[~named.any(axis=1)] = np.nan
    return rows


def _yes_unsure(stated: Statements, *, unsure: float) -> NDArray[np.float64]:
    yes = (stated.rank == 1).astype(np.float64)
    weight = yes + unsure * stated.unsure
    none = stated.none_of_these.astype(np.float64)[:, None]
    return _normalised(np.hstack([weight, none]))


def _normalised(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows divided by their sums; NaN where a row is all zero."""
    total = weight.sum(axis=1, keepdims=True)
    return np.divide(weight, total, where=total > 0, out=np.full_like(weight, np.nan))
