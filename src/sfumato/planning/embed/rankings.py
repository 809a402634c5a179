"""Turn labels into rankings and triplets, and both into the loss of points that contradict them.

A soft label says which of any two classes an item is nearer to, and a column of soft labels
which of any two items is nearer to the class: kn(n+k-2)/2 constraints in n + k ranked lists
(S1-22, S1-28). Equal values are ties and say nothing; NaN was never asked and says nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError

# Turn ranked lists of distances into the hinge loss of all their pairs and its slopes.
#
# A list orders some distances, nearest first, with ties. Every pair of a nearer and a farther
# entry is one constraint "nearer by at least a margin of one". With t = 1 + d_near - d_far it costs
#
#     hinge(t) = max(0, t), or, smoothed over a width δ > 0,
#     hinge(t) = (t + δ/2)²/(2δ) for |t| < δ/2, and max(0, t) elsewhere; never more than δ/8 above.
#
# A list of m entries has up to m(m-1)/2 pairs. None is ever stored, and there are two ways
# to add them up:
#
# * *strides*: all pairs s ranks apart, in all lists at once, are the difference of an array and
#   itself moved on by s. Quick for short lists, m²/2 steps of a few tenths of a nanosecond.
# * *merging*: distances are sorted once; the levels of a list are then halved again and again,
#   and within each half-pair prefix sums give what every near entry sees of the far half.
#   m (log₂ m + log₂ levels) steps, so ten thousand entries, or two levels as in hard labels, cost
#   little.
#
# Both are exact; ``batches`` takes the one that is likely to be quicker.

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


# Turn labels into rankings: each item orders the classes, each class orders the items.


@dataclass(frozen=True, eq=False)
class Rankings:
    """For ``items`` items and ``classes`` classes, who is nearer to whom.

    Objects are numbered items first: item i is object i, class c is object ``items + c``.
    """

    items: int
    classes: int
    lists: tuple[Batch, ...]
    scores: Floats  # (items, classes)

    @property
    def objects(self) -> int:
        """Items and classes together."""
        return self.items + self.classes

    @property
    def constraints(self) -> int:
        """How many triplets the rankings stand for; ties and gaps give none (S1-22, C18).

        >>> rank_scores(np.random.default_rng(0).random((80, 20))).constraints
        78400
        >>> rank_scores(np.eye(3)).constraints
        12
        """
        return sum(count_pairs(batch) for batch in self.lists)


def rank_scores(scores: NDArray[np.floating]) -> Rankings:
    """Rankings from a table of items by classes, where higher means nearer and NaN not asked.

    Rows order the classes of an item, columns the items of a class; as in the paper, columns are
    ordered by the same numbers, although a probability is relative to the item's other classes.
    """
    table = np.array(scores, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(
            f"Rankings need a table of items by classes, not an array of shape {table.shape}."
        )
    if np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise DataError(
            f"The score of item {row} for class {column} is {table[row, column]}; it must be a "
            "number, or NaN if it was not asked."
        )
    lists = _lists(table)
    if not lists or not any(count_pairs(batch) for batch in lists):
        raise DataError("The table ranks nothing: every known score is tied or stands alone.")
    table.flags.writeable = False
    return Rankings(table.shape[0], table.shape[1], lists, table)


def ranking_loss(
    rankings: Rankings, block: Floats, width: float, *, strides: int | None = None
) -> tuple[float, Floats]:
    """Hinge loss over all triplets for squared distances ``block``, and its gradient by them.

    ``block`` has the shape (items, classes); ``width`` and ``strides`` are those of ``add_loss``.
    """
    distances = np.concatenate([block.ravel(), block.ravel()])  # as rows see them, as columns do
    slopes = np.zeros_like(distances)
    loss = sum(
        add_loss(batch, distances, width, slopes, strides=strides) for batch in rankings.lists
    )
    by_rows, by_columns = slopes.reshape(2, *block.shape)
    return float(loss), by_rows + by_columns


def _lists(table: Floats) -> tuple[Batch, ...]:
    entry = np.arange(table.size, dtype=np.int64).reshape(table.shape)
    by_columns = entry.T + table.size
    if len(table) == table.shape[1]:  # lists of one length are quicker side by side
        return batches(np.concatenate([table, table.T]), np.concatenate([entry, by_columns]))
    return batches(table, entry) + batches(table.T, by_columns)


# Triplets: "the anchor is nearer to this than to that", any list of them.
#
# The columns are anchor, near, far, as in cblearn's ordered lists. Answers may contradict each
# other and may repeat; each counts. ``mine`` writes out what rankings stand for.


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


def mine_triplets(rankings: Rankings) -> Triplets:
    """Every triplet that the rankings stand for, one by one (S1-28): kn(n+k-2)/2 without ties.

    >>> from sfumato.planning.embed.rankings import rank_scores
    >>> mine_triplets(rank_scores(np.array([[0.9, 0.1], [0.3, 0.7]]))).answers.tolist()
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

    The hinge is that of ``add_loss``; repeated answers count as often as they were given.
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
