"""Say how well an embedding recovered what is true, or what people rated.

Two numbers: Spearman's ρ between recovered and true similarities (S1-45), and the share of
answers that similarities contradict, the bit-flip rate (S1-46, S1-39).
"""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.plan.embed.lists import Floats, excess
from sfumato.plan.embed.rankings import Rankings
from sfumato.plan.embed.triplets import Triplets

__all__ = ["TIE_WIDTH", "cosines", "error_rate", "spearman", "tie_groups"]

TIE_WIDTH = 2e-3
"""Recovered similarities closer than this share of the largest are equal: a solver ends with
differences of that order between what its answers do not tell apart, and without the rule their
order, and so ρ of hard labels, is noise."""


def cosines(points: NDArray[np.floating]) -> Floats:
    """Cosine of the angle between any two points as seen from the origin; the truth of S1-29."""
    points = np.asarray(points, dtype=np.float64)
    length = np.linalg.norm(points, axis=1, keepdims=True)
    if (length == 0).any():
        where = int((length == 0).ravel().argmax())
        raise DataError(f"Point {where} is the origin, so it has no direction to compare.")
    unit = points / length
    return unit @ unit.T


def spearman(
    recovered: NDArray[np.floating],
    true: NDArray[np.floating],
    *,
    tie_width: float = TIE_WIDTH,
) -> float:
    """ρ over the upper triangles, diagonals left out; NaN if either is constant (S1-45).

    ``recovered`` values within ``tie_width`` times the largest magnitude are tied, in groups made
    from the lowest value up, and get the average of their ranks; ``true`` ones are taken as they
    are.

    >>> true = np.array([[1, 0.9, 0.1], [0.9, 1, 0.5], [0.1, 0.5, 1]])
    >>> round(spearman(true**3, true), 6), round(spearman(-true, true), 6)
    (1.0, -1.0)
    """
    from scipy.stats import rankdata  # half a second, which a server's dashboard need not wait for

    found: Floats = np.asarray(recovered, dtype=np.float64)
    truth: Floats = np.asarray(true, dtype=np.float64)
    if found.shape != truth.shape or truth.ndim != 2 or truth.shape[0] != truth.shape[1]:
        raise DataError(
            f"Similarities are square and of one size, not {found.shape} and {truth.shape}."
        )
    upper = np.triu_indices(len(truth), 1)
    values = found[upper]
    width = tie_width * float(np.abs(values).max(initial=0.0))
    return _correlation(rankdata(tie_groups(values, width)), rankdata(truth[upper]))


def tie_groups(values: Floats, width: float) -> NDArray[np.int64]:
    """Number of the group each value falls in, lowest first; a group spans at most ``width``.

    >>> tie_groups(np.array([0.31, 0.1, 0.3, 0.12, 0.15]), 0.03)
    array([2, 0, 2, 0, 1])
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order].tolist()
    starts = np.zeros(len(ranked), dtype=np.int64)
    at = 0
    while at < len(ranked):
        starts[at] = 1
        at = bisect_right(ranked, ranked[at] + width, lo=at)
    groups = np.empty(len(ranked), dtype=np.int64)
    groups[order] = starts.cumsum() - 1
    return groups


def error_rate(answers: Rankings | Triplets, similarities: NDArray[np.floating]) -> float:
    """Share of answers that the similarities contradict; an equal pair counts half (S1-46).

    ``similarities`` is a matrix over all objects; of rankings, items come first, then classes.
    """
    similarities = np.asarray(similarities, dtype=np.float64)
    if similarities.shape != (answers.objects, answers.objects):
        raise DataError(
            f"There are {answers.objects} objects but similarities of shape {similarities.shape}."
        )
    if isinstance(answers, Rankings):
        block = -similarities[: answers.items, answers.items :].ravel()
        both = np.concatenate([block, block])
        more = float(sum(excess(batch, both) for batch in answers.lists))
    else:
        anchor, near, far = answers.answers.T
        gap = np.sign(similarities[anchor, far] - similarities[anchor, near])
        more = float(answers.times @ gap)
    return (1 + more / answers.constraints) / 2


def _correlation(first: Floats, second: Floats) -> float:
    first, second = first - first.mean(), second - second.mean()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size > 0 else float("nan")
