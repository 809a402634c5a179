"""Triplets: "the anchor is nearer to this than to that", any list of them.

The columns are anchor, near, far, as in cblearn's ordered lists. Answers may contradict each
other and may repeat; each counts. ``mine`` writes out what rankings stand for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError
from sfumato.plan.embed.lists import Floats, Ints
from sfumato.plan.embed.rankings import Rankings

__all__ = ["Triplets", "flip", "mine", "read_triplets", "triplet_loss"]


@dataclass(frozen=True, eq=False)
class Triplets:
    """Answers about ``objects`` objects; equal answers are kept once with their number."""

    objects: int
    answers: Ints  # (different answers, 3): anchor, near, far
    times: Floats  # (different answers,): how often each was given
    pairs: Ints  # (pairs, 2): the pairs whose distances occur, lower number first
    near: Ints  # (different answers,): position in ``pairs``
    far: Ints  # (different answers,)

    @property
    def constraints(self) -> int:
        """The number of answers, repeated ones included."""
        return int(self.times.sum())


def read_triplets(
    answers: ArrayLike, responses: ArrayLike | None = None, *, objects: int | None = None
) -> Triplets:
    """Check a list of triplets of shape (answers, 3).

    Without ``responses`` the middle column is the nearer one. Responses are True (or 1) if it is,
    False (or 0) if the last one is nearer. As in cblearn, whole numbers other than 0 and 1 make all
    of them counts: 3 is three answers for the middle one, -1 one for the last, 0 is undecided.

    >>> read_triplets([[0, 1, 2], [0, 1, 2]], [True, False]).answers
    array([[0, 1, 2],
           [0, 2, 1]])
    """
    table = _whole(answers)
    known = int(table.max(initial=-1)) + 1
    objects = known if objects is None else objects
    if known > objects:
        row = int(np.flatnonzero((table >= objects).any(axis=1))[0])
        raise DataError(
            f"Triplet {row} names object {table[row].max()}, but there are only {objects} objects, "
            f"0 to {objects - 1}."
        )
    times = np.ones(len(table))
    if responses is not None:
        signed = _signed(responses, len(table))
        table = np.where((signed >= 0)[:, None], table, table[:, [0, 2, 1]])
        times = np.abs(signed).astype(np.float64)
        table, times = table[times > 0], times[times > 0]
    if not len(table):
        raise DataError("There is no decided triplet; an embedding needs at least one.")
    return _collected(table, times, objects)


def mine(rankings: Rankings) -> Triplets:
    """Every triplet that the rankings stand for, one by one (S1-28): kn(n+k-2)/2 without ties.

    >>> from sfumato.plan.embed.rankings import rank_scores
    >>> mine(rank_scores(np.array([[0.9, 0.1], [0.3, 0.7]]))).answers.tolist()
    [[0, 2, 3], [1, 3, 2], [2, 0, 1], [3, 1, 0]]
    """
    items = np.arange(rankings.items)
    classes = np.arange(rankings.items, rankings.objects)
    rows = _mined(rankings.scores, anchors=items, others=classes)
    columns = _mined(rankings.scores.T, anchors=classes, others=items)
    table = np.concatenate([rows, columns])
    return _collected(table, np.ones(len(table)), rankings.objects)


def flip(triplets: Triplets, rate: float, *, rng: np.random.Generator) -> Triplets:
    """Turn each answer round with probability ``rate``, independently (S1-20, S1-27)."""
    if not 0 <= rate <= 1:
        raise DataError(f"The error rate is {rate}; it must be from 0 to 1.")
    turned = rng.binomial(triplets.times.astype(np.int64), rate).astype(np.float64)
    table = np.concatenate([triplets.answers, triplets.answers[:, [0, 2, 1]]])
    times = np.concatenate([triplets.times - turned, turned])
    return _collected(table[times > 0], times[times > 0], triplets.objects)


def triplet_loss(triplets: Triplets, distances: Floats, width: float) -> tuple[float, Floats]:
    """Hinge loss for squared ``distances`` of ``triplets.pairs``, and its gradient by them.

    The hinge is that of ``lists``; repeated answers count as often as they were given.
    """
    gap = 1.0 + distances[triplets.near] - distances[triplets.far]
    if width > 0:
        gap += width / 2
        u = gap.clip(0.0, width)
        loss = float(triplets.times @ (u * gap - u * u / 2)) / width
        slope = triplets.times * u / width
    else:
        loss = float(triplets.times @ gap.clip(0.0))
        slope = triplets.times * (gap > 0)
    pairs = len(triplets.pairs)
    slopes = np.zeros(pairs)
    slopes += np.bincount(triplets.near, slope, pairs)
    slopes -= np.bincount(triplets.far, slope, pairs)
    return loss, slopes


def _mined(scores: Floats, *, anchors: Ints, others: Ints) -> Ints:
    found = [np.empty((0, 3), dtype=np.int64)]
    for anchor, row in zip(anchors, scores, strict=True):
        near, far = np.nonzero(row[:, None] > row[None, :])  # False where one is NaN
        found.append(np.stack([np.full(len(near), anchor), others[near], others[far]], axis=1))
    return np.concatenate(found)


def _collected(table: Ints, times: Floats, objects: int) -> Triplets:
    code = (table[:, 0] * objects + table[:, 1]) * objects + table[:, 2]
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    table, times = table[first], np.bincount(group, times).astype(np.float64)
    near, far = np.sort(table[:, [0, 1]], axis=1), np.sort(table[:, [0, 2]], axis=1)
    code = np.concatenate([near, far]) @ np.array([objects, 1])
    pairs, where = np.unique(code, return_inverse=True)
    where = where.astype(np.int64)
    return Triplets(
        objects,
        table,
        times,
        np.stack([pairs // objects, pairs % objects], axis=1),
        where[: len(table)],
        where[len(table) :],
    )


def _whole(answers: ArrayLike) -> Ints:
    table = np.asarray(answers)
    if table.ndim != 2 or table.shape[1] != 3:
        raise DataError(
            f"Triplets are a table with three columns (anchor, near, far), not an array of shape "
            f"{table.shape}."
        )
    whole: Ints = table.astype(np.int64)
    bad = (whole != table).any(axis=1) | (whole < 0).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"Triplet {row} is {table[row].tolist()}; objects are whole numbers from 0."
        )
    same = (
        (whole[:, 0] == whole[:, 1]) | (whole[:, 0] == whole[:, 2]) | (whole[:, 1] == whole[:, 2])
    )
    if same.any():
        row = int(same.argmax())
        raise DataError(
            f"Triplet {row} is {table[row].tolist()}; its three objects must be different."
        )
    return whole


def _signed(responses: ArrayLike, length: int) -> NDArray[np.int64]:
    given = np.asarray(responses)
    if given.shape != (length,):
        raise DataError(f"There are {length} triplets but responses of shape {given.shape}.")
    if given.dtype == np.bool_ or np.isin(given, [0, 1]).all():
        return np.where(given, 1, -1).astype(np.int64)
    signed: NDArray[np.int64] = given.astype(np.int64)
    if (signed != given).any():
        row = int((signed != given).argmax())
        raise DataError(
            f"The response to triplet {row} is {given[row]}; it must be True, False or a whole "
            "number of answers."
        )
    return signed
