"""Turn ranked lists of distances into the hinge loss of all their pairs and its slopes.

A list orders some distances, nearest first, with ties. Every pair of a nearer and a farther
entry is one constraint "nearer by at least a margin of one". With t = 1 + d_near - d_far it costs

    hinge(t) = max(0, t), or, smoothed over a width δ > 0,
    hinge(t) = (t + δ/2)²/(2δ) for |t| < δ/2, and max(0, t) elsewhere; never more than δ/8 above.

A list of m entries has up to m(m-1)/2 pairs. None is ever stored, and there are two ways
to add them up:

* *strides*: all pairs s ranks apart, in all lists at once, are the difference of an array and
  itself moved on by s. Quick for short lists, m²/2 steps of a few tenths of a nanosecond.
* *merging*: distances are sorted once; the levels of a list are then halved again and again,
  and within each half-pair prefix sums give what every near entry sees of the far half.
  m (log₂ m + log₂ levels) steps, so ten thousand entries, or two levels as in hard labels, cost
  little.

Both are exact; ``batches`` takes the one that is likely to be quicker.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Batch",
    "Floats",
    "Ints",
    "Method",
    "batches",
    "count_pairs",
    "excess",
]

Floats = NDArray[np.float64]
"""Single precision is also taken, and kept, where a solver only wants to come near."""
Ints = NDArray[np.int64]
Method = Literal["strides", "merging"]

MISSING = -1
"""Stands below the end of a list that is shorter than its neighbours."""

CACHED = 24_000
"""Entries in a batch of strides: three arrays of them stay in a core's second-level cache."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Ranked lists side by side, all evaluated in the same way."""

    entry: Ints  # (ranks, lists): which distance stands here, MISSING below the end
    level: Ints  # (ranks, lists): tie group of the entry within its list, 0 is nearest
    tied: bool
    ragged: bool
    method: Method


def batches(scores: Floats, entry: Ints, method: Method | None = None) -> tuple[Batch, ...]:
    """Rank each row of ``scores`` (highest is nearest, equal is tied, NaN is left out).

    ``entry`` has the shape of ``scores`` and says which distance each score ranks.
    """
    order = np.argsort(-scores, axis=1, kind="stable")  # NaN goes last
    ranked = np.take_along_axis(scores, order, axis=1)
    known = ~np.isnan(ranked)
    longest = int(known.sum(axis=1).max(initial=0))
    if longest < 2:
        return ()
    ranked, known = ranked[:, :longest], known[:, :longest]
    step = np.zeros(ranked.shape, dtype=np.int64)
    step[:, 1:] = ranked[:, 1:] != ranked[:, :-1]  # NaN differs from itself: missing is never tied
    level = step.cumsum(axis=1)
    entries = np.where(known, np.take_along_axis(entry, order, axis=1)[:, :longest], MISSING)
    method = method or _quicker(level)
    return tuple(_batch(entries[part], level[part], method) for part in _parts(entries, method))


def _parts(entries: Ints, method: Method) -> Iterator[slice]:
    lists, ranks = entries.shape
    size = lists if method == "merging" else max(1, CACHED // ranks)
    for start in range(0, lists, size):
        yield slice(start, start + size)


def _batch(entries: Ints, level: Ints, method: Method) -> Batch:
    ranks = entries.shape[1]
    return Batch(
        entry=np.ascontiguousarray(entries.T),
        level=np.ascontiguousarray(level.T),
        tied=bool((level[:, -1] < ranks - 1).any()),
        ragged=bool((entries == MISSING).any()),
        method=method,
    )


def _quicker(level: Ints) -> Method:
    lists, ranks = level.shape
    depth = _depth(level)
    strides = 1.5e-9 * lists * ranks * ranks / 2  # seconds, roughly, on one core
    merging = 2e-7 * lists * ranks * (depth + 2)
    return "strides" if strides <= merging else "merging"


def _depth(level: Ints) -> int:
    return int(level.max()).bit_length()


def count_pairs(batch: Batch) -> int:
    """How many pairs of different levels there are: the constraints of these lists."""
    known = batch.entry != MISSING
    length = known.sum(axis=0)
    lists = np.broadcast_to(np.arange(batch.entry.shape[1]), batch.entry.shape)
    width = batch.entry.shape[0]
    ties = np.bincount((lists * width + batch.level)[known])
    return int((length * (length - 1) // 2).sum() - (ties * (ties - 1) // 2).sum())


def add_loss(
    batch: Batch, distances: Floats, width: float, slopes: Floats, *, strides: int | None = None
) -> float:
    """The summed hinge of all pairs; its derivative by each distance is put into ``slopes``.

    ``distances`` and ``slopes`` are flat; ``batch.entry`` points into them, once an entry.
    With ``strides``, about so many evenly chosen strides stand for all of them: a sketch of the
    loss that is good enough to begin with.
    """
    match batch.method:
        case "strides":
            every = max(1, len(batch.entry) // strides) if strides else 1
            loss, slope = _by_strides(batch, _ranked(batch, distances), width, every)
        case "merging":
            loss, slope = _by_merging(batch, distances, width)
        case _:
            assert_never(batch.method)
    if batch.ragged:
        known = batch.entry != MISSING
        slopes[batch.entry[known]] = slope[known]
    else:
        slopes[batch.entry] = slope
    return loss


def excess(batch: Batch, distances: Floats) -> int:
    """Pairs in the wrong order minus pairs in the right order; equal distances count for none."""
    ranked = _ranked(batch, distances)
    total = 0
    for stride in range(1, len(ranked)):
        wrong = np.sign(ranked[:-stride] - ranked[stride:])
        if batch.ragged:
            wrong[batch.entry[stride:] == MISSING] = 0
        if batch.tied:
            wrong[batch.level[:-stride] == batch.level[stride:]] = 0
        total += int(wrong.sum())
    return total


def _ranked(batch: Batch, distances: Floats) -> Floats:
    """Distances in list order; missing ones so far away that no pair with them costs anything."""
    ranked = distances.take(batch.entry)  # MISSING reads the last one, which is replaced here
    if batch.ragged:
        ranks = np.arange(1.0, len(ranked) + 1)[:, None]
        beyond = (2 + np.abs(distances).max()) * 4 * ranks
        np.copyto(ranked, beyond, where=batch.entry == MISSING)
    return ranked


def _by_strides(batch: Batch, ranked: Floats, width: float, every: int = 1) -> tuple[float, Floats]:
    """Pairs s ranks apart are an array minus itself moved on by s; one pass an s.

    With s = t + δ/2 and u = min(max(s, 0), δ) the slope is u/δ and the hinge (u s - u²/2)/δ, so the
    sums of u over the far entries of a near one and over the near entries of a far one are
    all that is needed beside the sum of u².
    """
    lists = ranked.shape[1]
    far = ranked.ravel()
    near = far + far.dtype.type(1.0 + width / 2)
    most = width if width > 0 else np.inf
    room: Floats = np.empty(0)
    if batch.tied:  # tied pairs get no room at all, all others enough
        enough = width if width > 0 else 1.0 + 2 * float(np.ptp(ranked))
        room = (batch.level * enough).astype(far.dtype).ravel()
    as_near, as_far = np.zeros_like(far), np.zeros_like(far)
    scratch, bound = np.empty_like(far), np.empty_like(far)
    linear = squares = 0.0
    for moved in range((every + 1) // 2 * lists, far.size, every * lists):
        size = far.size - moved
        u = scratch[:size]
        np.subtract(near[:size], far[moved:], out=u)
        u.clip(0.0, most, out=u)
        if batch.tied:
            np.subtract(room[moved:], room[:size], out=bound[:size])
            np.minimum(u, bound[:size], out=u)
        if width > 0:
            squares += float(u.dot(u))
        else:
            linear += float(u.sum())
            np.sign(u, out=u)
        nearer, farther = as_near[:size], as_far[moved:]
        nearer += u
        farther += u
    slope = as_near - as_far
    if width > 0:
        total = float(as_near.sum(dtype=np.float64))
        loss = ((1 + width / 2) * total + float(slope.dot(far)) - squares / 2) / width
        slope /= width
    else:
        loss = linear
    return float(loss) * every, slope.reshape(ranked.shape) * every


def _by_merging(batch: Batch, distances: Floats, width: float) -> tuple[float, Floats]:
    """The smooth hinge is the difference of two squared hinges, at margins 1 ± δ/2."""
    entry = batch.entry.T  # (lists, ranks)
    known = entry != MISSING
    values = distances[entry].astype(np.float64) - float(distances.mean())  # keeps digits in sums
    values[~known] = np.inf
    margins = (1.0 + width / 2, 1.0 - width / 2) if width > 0 else (1.0,)
    seen = [_Seen(values, margin) for margin in margins]
    for near, far in _halves(values, batch.level.T, known):
        for one in seen:
            one.add(near, far)
    if width > 0:
        outer, inner = seen
        loss = (outer.squared - inner.squared) / (2 * width)
        slope = (outer.total - inner.total) / width
    else:
        loss, slope = seen[0].linear, seen[0].count
    return loss, slope.reshape(values.shape).T


@dataclass(frozen=True, eq=False)
class _Half:
    """Entries of the nearer or the farther half of all nodes, by node and then by distance."""

    entry: Ints
    node: Ints  # ascending
    value: Floats
    starts: Ints  # (nodes + 1,): where each node's entries begin here
    sums: Floats  # (entries + 1,): of the values before
    squares: Floats


def _halves(values: Floats, level: Ints, known: NDArray[np.bool_]) -> Iterator[tuple[_Half, _Half]]:
    """Halve the levels of each list, then those of each half, and so on: every pair of levels is
    parted exactly once."""
    lists, ranks = values.shape
    order = np.argsort(values, axis=1, kind="stable") + np.arange(lists)[:, None] * ranks
    order = order.ravel()[known.ravel()[order.ravel()]]
    flat, levels = values.ravel(), level.ravel()
    for shift in reversed(range(_depth(level))):
        above = levels[order] >> shift
        whole = (above >> 1) + (order // ranks) * (ranks + 1)  # one number a list and node
        node = np.concatenate([[0], np.cumsum(whole[1:] != whole[:-1])])
        is_far = (above & 1).astype(bool)
        near, far = (
            _half(order[half], node[half], flat, int(node[-1]) + 1)
            for half in (np.flatnonzero(~is_far), np.flatnonzero(is_far))
        )
        yield near, far
        # a stable partition: each half stays together by node and sorted within it
        order = np.concatenate([near.entry, far.entry])


def _half(entry: Ints, node: Ints, flat: Floats, nodes: int) -> _Half:
    value = flat[entry]
    starts = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=nodes))])
    return _Half(entry, node, value, starts, _before(value), _before(value * value))


def _before(value: Floats) -> Floats:
    return np.concatenate([[0.0], value.cumsum()])


class _Seen:
    """Sums of t = margin + d_near - d_far over pairs with t > 0, gathered half by half."""

    def __init__(self, values: Floats, margin: float) -> None:
        ranks = values.shape[1]
        # where t is exactly 0 the near copy comes first, so that the pair is not counted
        order = np.argsort(np.concatenate([values + margin, values], axis=1), kind="stable")
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(2 * ranks)[None, :], axis=1)
        self.margin, self.places = margin, 2 * ranks
        self.as_near = place[:, :ranks].ravel()
        self.as_far = place[:, ranks:].ravel()
        self.total = np.zeros(values.size)  # of t over the entry's pairs, minus where it is far
        self.count = np.zeros(values.size)  # the same for the number of pairs
        self.linear = self.squared = 0.0

    def add(self, near: _Half, far: _Half) -> None:
        """Take in all pairs of a near and a far entry of the same node."""
        near_place = near.node * self.places + self.as_near[near.entry]
        far_place = far.node * self.places + self.as_far[far.entry]

        first, until = far.starts[near.node], np.searchsorted(far_place, near_place)
        pairs = until - first
        x = near.value + self.margin
        sums = far.sums[until] - far.sums[first]
        total = pairs * x - sums
        self.total[near.entry] += total
        self.count[near.entry] += pairs
        self.linear += float(total.sum())
        squares = far.squares[until] - far.squares[first]
        self.squared += float((x * (total - sums) + squares).sum())

        after, last = np.searchsorted(near_place, far_place), near.starts[far.node + 1]
        pairs = last - after
        sums = near.sums[last] - near.sums[after]
        self.total[far.entry] -= sums + pairs * (self.margin - far.value)
        self.count[far.entry] -= pairs
