"""Turn numbers per item, per annotator or per seed into intervals, correlations and tests.

Which interval answers which question: over *items*, other pictures and the same trained
network; over *seeds*, the same pictures and the network trained again; over *seeds and
items*, both at once (S2-74). A difference between two arms is paired wherever it can be,
because the same hard pictures make both look bad (S4-36).

A resample is a row of weights: how often each item is in it. Weights are drawn once and shared by
everything that is computed from them, so that differences are paired draw by draw. The same
``rng`` gives the same draws, whatever is computed from them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincc, ndtri, stdtr, stdtrit

from sfumato.errors import DataError

LEVEL = 0.95
"""The share of studies in which an interval should hold the true value."""

CHUNK_CELLS = 2_000_000
"""How many weights are held at once: 16 MB, whatever the number of items and draws."""

EXACT_PAIRS = 16
"""Up to this many pairs all sign flips are counted (65,536); above, some are drawn."""

LEAST_DEFINED = 0.9
"""An interval is given where at least this share of the draws has a value."""

ROUNDING = 1e-12
"""Relative differences below this come from the order of a sum."""

DIGITS = 12
"""Values that agree to this many digits are ties: the order of a sum must not make ranks."""

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

Bounds = tuple[float, float]
"""The least and the largest value that a metric can have."""


class Interval(NamedTuple):
    """Between which values the truth lies; both NaN where nothing can be said."""

    low: float
    high: float

    def within(self, bounds: Bounds | None) -> "Interval":
        """The same interval, cut where the metric ends.

        >>> Interval(0.9, 1.1).within((0, 1))
        Interval(low=0.9, high=1.0)
        """
        if bounds is None:
            return self
        low, high = (float(np.clip(end, *bounds)) for end in self)
        return Interval(low, high)


MANY_ROWS = 20_000
"""Rows up to here are resampled one by one. More are dealt at random into ``GROUPS`` groups, and
whole groups are resampled: the same spread of a sum, at a cost that no longer grows with rows."""

GROUPS = 2_000
"""The error of a spread that so many groups tell is 1/√(2·2,000), under two percent; that of a
thousand draws is larger."""

NOTHING = Interval(float("nan"), float("nan"))


# Resampling


class Draw(Protocol):
    """``draw_weights`` or ``draw_multinomial``."""

    def __call__(self, rows: int, *, rng: np.random.Generator, draws: int) -> Iterator[Values]:
        """Chunks of weights, (draws, rows)."""


def draw_weights(rows: int, *, rng: np.random.Generator, draws: int) -> Iterator[Values]:
    """How often each row is in each resample of as many rows, in chunks of (draws, rows).

    >>> (weights,) = draw_weights(3, rng=np.random.default_rng(0), draws=2)
    >>> weights
    array([[0., 2., 1.],
           [3., 0., 0.]])
    """
    for size in _chunks(draws, rows):
        picked = rng.integers(rows, size=(size, rows), dtype=np.int32)
        picked += (np.arange(size, dtype=np.int32) * rows)[:, None]  # one count for all draws
        counts = np.bincount(picked.ravel(), minlength=size * rows)
        yield counts.reshape(size, rows).astype(np.float64)


def draw_multinomial(
    rows: int, *, rng: np.random.Generator, draws: int, size: int | None = None
) -> Iterator[Values]:
    """The same distribution of weights by ``rng.multinomial``, in chunks of (draws, rows).

    ``draw_weights`` is twice as fast; this is here because ``size`` rows can be drawn
    instead of all, and because published numbers came from these draws.
    """
    even = np.full(rows, 1 / rows)
    for some in _chunks(draws, rows):
        yield rng.multinomial(rows if size is None else size, even, size=some).astype(np.float64)


def times_drawn(*columns: NDArray[Any], rng: np.random.Generator, draws: int) -> list[Values]:
    """For each column of names, how often the name in each row was drawn, (1 + draws, rows).

    Names are drawn, not rows: all rows of an annotator come together. A name counts as often in
    one column as in another. The first row is the sample itself, where everything counts once.
    """
    names, codes = np.unique(np.concatenate(columns), return_inverse=True)
    drawn = draw_multinomial(len(names), rng=rng, draws=draws)
    counts = np.concatenate([np.ones((1, len(names))), *drawn])
    ends = np.cumsum([len(column) for column in columns])
    return [counts[:, part] for part in np.split(codes, ends[:-1])]


def crossed_weights(
    *factors: Sequence[NDArray[Any]], rng: np.random.Generator, draws: int
) -> Values:
    """How often each row counts where other items and other annotators might have been drawn.

    A factor is the columns that name its members, one column mostly, two where a row compares two
    annotators. Factors are drawn independently, and a row counts as often as the product says,
    (1 + draws, rows); in the first draw, the sample itself, once. For answers that are crossed so,
    intervals are never too narrow on average and somewhat too wide (Owen, "The pigeonhole
    bootstrap", 2007).
    """
    weights = [part for names in factors for part in times_drawn(*names, rng=rng, draws=draws)]
    return np.asarray(np.prod(weights, axis=0))


def bootstrap(
    statistic: Callable[[Values], Values],
    rows: int,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    draw: Draw = draw_weights,
) -> Values:
    """What ``statistic`` makes of the weights of all draws, chunk by chunk: (draws, …)."""
    return np.concatenate([statistic(weights) for weights in draw(rows, rng=rng, draws=draws)])


def bootstrap_sums(values: Values, *, rng: np.random.Generator, draws: int = 1000) -> Values:
    """Sums over resampled rows, (draws, columns), of values (rows, columns).

    All columns see the same resampled rows, so differences between columns are paired; of equal
    columns they are exactly zero.
    """
    if len(values) > MANY_ROWS:
        values = _sum_groups(values.T, deal_groups(len(values), rng=rng))
    # A matrix product may round equal columns differently, so each is computed once.
    keys = [(column + 0.0).tobytes() for column in values.T]  # with 0.0 for -0.0
    last = {key: place for place, key in enumerate(keys)}
    columns, position = values[:, list(last.values())], {key: n for n, key in enumerate(last)}
    drawn = bootstrap(lambda weights: weights @ columns, len(values), rng=rng, draws=draws)
    return drawn[:, [position[key] for key in keys]]


def bootstrap_means(values: Values, *, rng: np.random.Generator, draws: int = 1000) -> Values:
    """Means over resampled items, (draws, columns), of values (items, columns).

    All columns see the same resampled items. NaN counts as not there, in the sample and in each
    draw. Infinite values stay so: a draw that holds one is infinite.
    """
    n_items, n_columns = values.shape
    if not n_items:
        return np.full((draws, n_columns), np.nan)
    known, endless = ~np.isnan(values), np.isposinf(values)
    parts = [np.where(known & ~endless, values, 0.0), known, endless]
    if n_items > MANY_ROWS:  # first, so that no column is copied
        group = deal_groups(n_items, rng=rng)
        parts = [_sum_groups(part.T, group) for part in parts]
    drawn = bootstrap_sums(np.hstack(parts), rng=rng, draws=draws)
    sums, counts, infinite = np.hsplit(drawn, 3)
    return np.where(infinite > 0, np.inf, ratio(sums, counts))


def bootstrap_statistics(
    statistics: Callable[[NDArray[np.int64]], Sequence[float]],
    rows: int,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
) -> Values:
    """Statistics of no weights, computed again on resampled rows: (draws, statistics).

    ``statistics`` gets the positions of one draw's rows, sorted, some of them several times. They
    are those that ``draw_weights`` counts.
    """
    _check_draws(draws)
    drawn = (np.sort(rng.integers(rows, size=rows)) for _ in range(draws))
    return np.array([statistics(picked) for picked in drawn], dtype=np.float64)


def deal_groups(rows: int, *, rng: np.random.Generator) -> NDArray[np.int32]:
    """A group for each of many rows, at random, all groups equally large but for one row."""
    group = np.arange(rows, dtype=np.int32) % GROUPS
    rng.shuffle(group)
    return group


def _sum_groups(columns: NDArray[Any], group: NDArray[np.int32]) -> Values:
    """The sum of each column in each group, (groups, columns)."""
    return np.stack([np.bincount(group, column, GROUPS) for column in columns], axis=1)


class Resamples:
    """Resamples of many rows, by groups, shared by all that is computed from them.

    What is a sum over rows is resampled group by group. What needs every row, such as a sorted
    list cut into bins, gets weights of rows, always the same ones.

    >>> resamples = Resamples(100_000, rng=np.random.default_rng(0), draws=3)
    >>> bool(np.allclose(resamples.means(np.full(100_000, 0.25)), 0.25))
    True
    """

    def __init__(self, rows: int, *, rng: np.random.Generator, draws: int) -> None:
        _check_draws(draws)
        self._group = deal_groups(rows, rng=rng)
        self._drawn = np.concatenate([*draw_weights(GROUPS, rng=rng, draws=draws)])
        self._size = self._drawn @ np.bincount(self._group, minlength=GROUPS)
        self._seed = int(rng.integers(2**63))
        self._found: list[tuple[Values, Values]] = []

    def sums(self, cell: Codes, values: NDArray[Any] | None, cells: int) -> Values:
        """The sum of the values of each cell in each draw, (draws, cells); None: of ones."""
        key = self._group.astype(np.int64) * cells + cell
        return self._drawn @ np.bincount(key, values, GROUPS * cells).reshape(GROUPS, cells)

    def means(self, *columns: Values) -> Values:
        """The mean of each column in each draw, (columns, draws)."""
        return (self._drawn @ _sum_groups(np.array(columns), self._group)).T / self._size

    def once(self, redraw: "Callable[[Values, Resamples], Values]", values: Values) -> Values:
        """What ``redraw`` makes of the values, which is not computed again for the same ones."""
        for known, found in self._found:
            if np.array_equal(known, values):
                return found
        self._found.append((values, redraw(values, self)))
        return self._found[-1][1]

    def weights(self) -> Iterator[NDArray[np.uint8]]:
        """How often each row counts, draw by draw: a Poisson number of mean one."""
        rng = np.random.default_rng(self._seed)
        for _ in range(len(self._drawn)):
            yield _POISSON[rng.integers(2**16, size=len(self._group), dtype=np.uint16)]


_POISSON = np.searchsorted(
    gammaincc(np.arange(1, 12), 1.0), (np.arange(2**16) + 0.5) / 2**16
).astype(np.uint8)
"""The 65,536 quantiles of a Poisson number of mean one."""


# Statistics of weighted rows


def ratio(above: Values, below: Values) -> Values:
    """Quotients, NaN where there is nothing to divide by.

    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    out = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), np.nan)
    return np.divide(above, below, out=out, where=np.asarray(below) > 0)


def mean_of_defined(values: Values) -> float:
    """The mean of the values that are not NaN; NaN if there are none.

    >>> mean_of_defined(np.array([0.5, np.nan, 1.0]))
    0.75
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def weighted_mean(values: Values, weights: Values) -> Values:
    """The mean of every draw; NaN counts as not there, and is the mean of a draw of nothing.

    ``weights`` are (…, rows) and ``values`` too, or (rows,) where all draws have the same.

    >>> weighted_mean(np.array([1.0, 3.0]), np.array([[1.0, 1.0], [3.0, 1.0]]))
    array([2. , 1.5])
    """
    missing = np.isnan(values)
    weights = np.where(missing, 0.0, weights)
    return ratio(_dot(weights, np.where(missing, 0.0, values)), weights.sum(axis=-1))


def weighted_quantile(values: Values, weights: Values, share: float = 0.5) -> Values:
    """The value below which ``share`` of the weight lies, of every draw; halfway between two.

    >>> weighted_quantile(np.array([4.0, 1.0, 2.0, 3.0]), np.ones((1, 4)))
    array([2.5])
    """
    order = np.argsort(values, kind="stable")
    ordered, up_to = values[order], np.cumsum(weights[..., order], axis=-1)
    wanted = share * up_to[..., -1:]
    below = np.minimum((up_to < wanted).sum(axis=-1), len(values) - 1)
    above = np.minimum((up_to <= wanted).sum(axis=-1), len(values) - 1)
    return np.where(up_to[..., -1] > 0, (ordered[below] + ordered[above]) / 2, np.nan)


def group_means(values: Values, groups: Codes, weights: Values) -> Values:
    """The mean of each group in each draw, (draws, groups), NaN where a draw has none of it."""
    inside = np.zeros((len(values), int(groups.max()) + 1))
    inside[np.arange(len(values)), groups] = 1
    return ratio((weights * values) @ inside, weights @ inside)


def pearson(first: Values, second: Values, weights: Values | None = None) -> Values:
    """Pearson's r of every draw, NaN where one side does not vary but for rounding.

    ``weights`` are (…, rows); without any each row counts once. Values may differ between draws.

    >>> round(float(pearson(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0]))), 4)
    0.3273
    """
    weights = np.ones(np.shape(first)[-1]) if weights is None else np.asarray(weights)
    total = weights.sum(axis=-1)
    off, spread = [], []
    for side in (first, second):
        mean = ratio(_dot(weights, side), total)
        off.append(side - mean[..., None])
        squares = _dot(weights, off[-1] ** 2)
        spread.append(np.where(squares > ROUNDING**2 * total * mean**2, squares, 0.0))
    together = _dot(weights, off[0] * off[1])
    return np.clip(ratio(together, np.sqrt(spread[0] * spread[1])), -1, 1)


def spearman(first: Values, second: Values, weights: Values | None = None) -> Values:
    """Spearman's rho of every draw; ties share the mean of their ranks.

    Rows of which a value is NaN are left out. NaN where one side does not vary.

    >>> round(float(spearman(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0]))), 4)
    0.5
    """
    known = ~(np.isnan(first) | np.isnan(second))
    codes = dense_codes(first[known]), dense_codes(second[known])
    return spearman_of_codes(*codes, None if weights is None else weights[..., known])


def spearman_of_codes(first: Codes, second: Codes, weights: Values | None = None) -> Values:
    """Spearman's rho of values that were turned into codes once, so that no draw sorts again."""
    if weights is not None and weights.ndim > 1:  # one by one: what fits the cache is faster
        return np.array([spearman_of_codes(first, second, each) for each in weights])
    return pearson(mid_ranks(first, weights), mid_ranks(second, weights), weights)


def dense_codes(values: Values) -> Codes:
    """Numbers from 0 that keep the order of the values; equal values get equal numbers.

    Equal means to ``DIGITS`` digits of the largest finite value.

    >>> dense_codes(np.array([0.3, 0.1 + 0.2, 7.0, -1.0]))
    array([1, 1, 2, 0])
    """
    values = np.asarray(values, dtype=np.float64)
    finite = np.abs(values[np.isfinite(values)])
    largest = finite.max() if finite.any() else 1.0
    codes = np.unique((values / largest).round(DIGITS), return_inverse=True)[1]
    return codes.reshape(values.shape).astype(np.int64, copy=False)


def mid_ranks(codes: Codes, weights: Values | None = None) -> Values:
    """The weight below each row's code and half that of its own.

    Of rows that count once it is the mean rank, counted from ½.

    >>> mid_ranks(np.array([1, 0, 1]))
    array([2. , 0.5, 2. ])
    """
    held = np.bincount(codes, weights)
    return (np.cumsum(held) - held / 2)[codes]


# Intervals


def cosines(vectors: NDArray[np.floating]) -> Values:
    """Cosines of the angles between all pairs of vectors, as seen from the origin (S1-29, S1-51).

    >>> cosines(np.array([[1.0, 0.0], [3.0, 3.0]])).round(4)[0]
    array([1.    , 0.7071])
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    pointless = ~(np.isfinite(length) & (length > 0))
    if pointless.any():
        worst = int(pointless.argmax())
        raise DataError(
            f"Vector {worst} has length {length[worst, 0]}; a cosine needs vectors of finite "
            "length above zero."
        )
    unit = vectors / length
    return np.clip(unit @ unit.T, -1, 1)


def percentile_interval(
    drawn: Values,
    *,
    level: float = LEVEL,
    least: float = LEAST_DEFINED,
    bounds: Bounds | None = None,
) -> Interval:
    """The percentiles of what was drawn, NaN left out; nothing where fewer than ``least`` are
    defined.

    >>> percentile_interval(np.arange(1001.0))
    Interval(low=25.0, high=975.0)
    """
    if not 0 < level < 1:
        raise DataError(f"The level of the interval is {level}; give a number between 0 and 1.")
    found = np.sort(drawn[~np.isnan(drawn)])
    if not len(found) or len(found) < least * len(drawn):
        return NOTHING
    tail = round((1 - level) / 2, DIGITS)
    return Interval(_quantile(found, tail), _quantile(found, 1 - tail)).within(bounds)


def sample_and_interval(drawn: Values, *, bounds: Bounds | None = None) -> tuple[float, Interval]:
    """The estimate, where the first draw is the sample itself, and the interval of the others."""
    return float(drawn[0]), percentile_interval(drawn[1:], bounds=bounds)


def bootstrap_interval(
    values: Values, *, rng: np.random.Generator, draws: int = 1000, bounds: Bounds | None = None
) -> Interval:
    """The interval of a mean over items: percentiles of the means of resampled items.

    Items where the value is NaN count as not there. Of few values it is too narrow: six normal
    ones are covered by about 87 %, not 95 %, so seeds are better served by ``student_interval``.

    >>> bootstrap_interval(np.full(50, 0.25), rng=np.random.default_rng(0))
    Interval(low=0.25, high=0.25)
    """
    drawn = bootstrap_means(values[:, None], rng=rng, draws=draws)[:, 0]
    return percentile_interval(drawn, bounds=bounds)


def student_interval(
    values: Values, *, level: float = LEVEL, bounds: Bounds | None = None
) -> Interval:
    """Student's t interval of a mean, mostly over seeds: mean ± t(n - 1) · s/√n (S2-74).

    A single seed says nothing about others: NaN.

    >>> student_interval(np.array([1.0, 2.0, 3.0]))  # 2 ± 4.303 · 1/√3
    Interval(low=-0.484..., high=4.484...)
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return NOTHING
    mean, reach = float(values.mean()), float(student_reach(len(values), level=level))
    reach *= float(values.std(ddof=1))
    return Interval(mean - reach, mean + reach).within(bounds)


def student_reach(count: int | NDArray[np.integer], *, level: float = LEVEL) -> Values:
    """t(n - 1)/√n: how many standard deviations Student's interval of a mean reaches to a side.

    >>> student_reach(np.array([2, 6])).round(3)
    array([8.985, 1.049])
    """
    degrees = np.asarray(count) - 1
    return np.asarray(stdtrit(degrees, (1 + level) / 2) / np.sqrt(count))


def two_way_t(by_seed: Values, influence: Values) -> tuple[Interval, float]:
    """The interval of a mean over seeds when seeds and items might both have been others, and the
    two-sided p of its being zero.

    ``by_seed`` are the values of the seeds, ``influence`` (seeds, items) what each item adds to
    the error of each (``item_influence``), 0 where a seed was not tested on it. The variance is
    that over seeds and the mean covariance of two seeds, which comes from the items that they
    share; Satterthwaite's degrees of freedom, Student's t. Where all seeds have all items it is
    (MSseeds + MSitems - MSrest) / (S·I) of the two-way table, where none shares any it is
    Student's t over seeds. A bootstrap of both sides is too narrow with few seeds.
    """
    n_seeds, n_items = influence.shape
    if n_seeds < 2 or n_items < 2 or not np.isfinite(by_seed).all():
        return NOTHING, float("nan")
    items = float((influence.sum(axis=0) ** 2).sum()) / n_seeds**2
    shared = (items - float((influence**2).sum()) / n_seeds**2) * n_seeds / (n_seeds - 1)
    parts = np.array([float(by_seed.var(ddof=1)) / n_seeds, items, items - shared])
    # Never below what either side alone says: the estimate may, by chance.
    total = float(max(parts[0] + shared, parts[0], items))
    mean = float(by_seed.mean())
    if total <= (ROUNDING * np.abs(by_seed).max()) ** 2:
        return Interval(mean, mean), float("nan") if mean else 1.0
    degrees = np.array([n_seeds - 1, n_items - 1, (n_seeds - 1) * (n_items - 1)])
    freedom = _freedom(parts, degrees, total)
    return _t_interval(mean, total, freedom), float(2 * stdtr(freedom, -abs(mean) / total**0.5))


def item_influence(values: Values) -> Values:
    """What each item adds to the error of a mean over items, so that their squares sum up to its
    variance; NaN counts as not there, and adds nothing.

    >>> values = np.array([1.0, 2.0, np.nan, 6.0])
    >>> round(float((item_influence(values) ** 2).sum()), 6)  # the variance 7, over 3 items
    2.333333
    """
    known = ~np.isnan(values)
    count = known.sum(axis=-1, keepdims=True)
    filled = np.where(known, values, 0.0)
    off = np.where(known, filled - filled.sum(axis=-1, keepdims=True) / count.clip(1), 0.0)
    return np.asarray(off / np.sqrt((count * (count - 1)).clip(1)))


def table_by_item(items: Sequence[Sequence[str]], values: Sequence[Values]) -> NDArray[np.float64]:
    """Values of several seeds, each with the items it was tested on, as one table (seeds, items),
    NaN where a seed was not.

    >>> table_by_item([("a", "b"), ("b", "c")], [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    array([[ 1.,  2., nan],
           [nan,  3.,  4.]])
    """
    numbers = {item: n for n, item in enumerate(dict.fromkeys(i for each in items for i in each))}
    table = np.full((len(items), len(numbers)), np.nan)
    for row, (names, each) in enumerate(zip(items, values, strict=True)):
        table[row, [numbers[name] for name in names]] = each
    return table


def two_way_interval(values: Values, *, bounds: Bounds | None = None) -> Interval:
    """The interval of the mean of (seeds, items) when both might have been others."""
    if not values.size or not np.isfinite(values).all():
        return NOTHING
    return two_way_t(values.mean(axis=1), item_influence(values))[0].within(bounds)


def mean_interval(
    values: Values, *, rng: np.random.Generator, draws: int = 1000, bounds: Bounds | None = None
) -> Interval:
    """The interval of the mean of (seeds, items) over both, or over items where there is one seed.

    Items on which a seed has no value are left out.
    """
    defined = values[:, ~np.isnan(values).any(axis=0)]
    if len(defined) > 1 and np.isfinite(defined).all():
        return two_way_interval(defined, bounds=bounds)
    return bootstrap_interval(values.mean(axis=0), rng=rng, draws=draws, bounds=bounds)


def share_interval(
    hits: int, count: int, *, method: Literal["exact", "wilson"] = "exact", level: float = LEVEL
) -> Interval:
    """The interval of a share, ``hits`` of ``count``: exact (Clopper and Pearson), or Wilson's.

    No resampling doubts a share of all or none, but ten of ten right is not a hundred of a
    hundred.

    >>> share_interval(10, 10)
    Interval(low=0.691..., high=1.0)
    """
    tail = (1 - level) / 2
    match method:
        case "exact":
            low = betaincinv(hits, count - hits + 1, tail) if hits else 0.0
            high = betaincinv(hits + 1, count - hits, 1 - tail) if hits < count else 1.0
        case "wilson":
            share, z2 = hits / count, float(ndtri(tail)) ** 2
            middle = share + z2 / (2 * count)
            reach = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * count)) / count)
            low, high = (end / (1 + z2 / count) for end in (middle - reach, middle + reach))
        case _:
            assert_never(method)
    return Interval(float(low), float(high)).within((0.0, 1.0))


# Tests


def paired_t(differences: Values) -> float:
    """Two-sided p of Student's t on the differences; NaN where they are all equal and not 0.

    >>> round(paired_t(np.array([0.3, 0.1, 0.2, 0.4])), 4)
    0.0305
    """
    if len(differences) < 2 or not np.isfinite(differences).all():
        return float("nan")
    mean = float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    if error <= ROUNDING * np.abs(differences).max():
        return float("nan") if mean else 1.0
    return float(2 * stdtr(len(differences) - 1, -abs(mean) / error))


def wilcoxon(differences: Values) -> float:
    """Two-sided p of Wilcoxon's signed-rank test, differences of zero left out."""
    # A second to import, and everything that has a number imports this module.
    from scipy.stats import wilcoxon as signed_rank

    if len(differences) < 2 or not np.isfinite(differences).all():
        return float("nan")
    if not differences.any():
        return 1.0
    return float(signed_rank(differences[differences != 0]).pvalue)


def sign_flip(differences: Values, *, rng: np.random.Generator, draws: int = 9999) -> float:
    """Two-sided p of the sign-flip permutation test: how often random signs give a mean as far
    from zero.

    With up to 16 pairs all 2ⁿ signs are counted, so that six seeds can reach 2/64 = 1/32 and no
    less; with more, ``draws`` signs are drawn and p = (1 + hits) / (1 + draws). Above ``MANY_ROWS``
    pairs the signs are those of groups of pairs.

    >>> sign_flip(np.array([0.3, 0.1, 0.2, 0.4, 0.1, 0.2]), rng=np.random.default_rng(0))
    0.03125
    """
    count = len(differences)
    if not count or not np.isfinite(differences).all():
        return float("nan")
    if count > MANY_ROWS:
        differences = _sum_groups(differences[None], deal_groups(count, rng=rng))[:, 0]
        count = len(differences)
    differences = differences / (np.abs(differences).sum() or 1.0)  # so that rounding is relative
    far = abs(float(differences.sum()))
    if count <= EXACT_PAIRS:
        signs = 1.0 - 2.0 * (np.arange(2**count)[:, None] >> np.arange(count) & 1)
        return float((np.abs(signs @ differences) >= far - ROUNDING).mean())
    flipped = (
        rng.integers(2, size=(size, count), dtype=np.int8).astype(np.float64) @ differences
        for size in _chunks(draws, count)
    )
    # Σ ±d = 2 Σ (flipped d) - Σ d
    return permutation_p(far, np.abs(2 * np.concatenate([*flipped]) - differences.sum()))


def permutation_p(value: float, drawn: Values) -> float:
    """How often chance is as high as ``value``, which counts as one draw: (1 + hits) / (1 + n).

    Values are of order one: what is lower by less than ``ROUNDING`` is as high.

    >>> permutation_p(0.8, np.array([0.1, 0.9, 0.3]))
    0.5
    """
    return float(1 + (drawn >= value - ROUNDING).sum()) / (1 + len(drawn))


def paired_items(
    differences: Values, *, rng: np.random.Generator, draws: int = 1000
) -> tuple[Interval, float]:
    """For differences item by item: the paired bootstrap interval of their mean, and the p-value
    of the sign-flip permutation test.
    """
    interval = bootstrap_interval(differences, rng=rng, draws=draws)
    return interval, sign_flip(differences[~np.isnan(differences)], rng=rng, draws=draws)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment for several tests: p₍ᵢ₎ times the number not yet refused, never falling.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    left = len(order) - np.arange(len(order))
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(np.array(p_values)[order] * left, 1))
    return adjusted.tolist()


def _freedom(
    parts: Values, degrees: Sequence[float] | NDArray[Any], total: float | None = None
) -> float:
    """Satterthwaite's degrees of freedom; ``total`` where the variance is not the plain sum."""
    total = float(parts.sum()) if total is None else total
    spread = float(((parts / total) ** 2 / np.asarray(degrees)).sum()) if total else 1.0
    return max(1 / spread, 1.0)


def _t_interval(mean: float, variance: float, freedom: float) -> Interval:
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * variance**0.5
    return Interval(mean - reach, mean + reach)


def _chunks(draws: int, rows: int) -> list[int]:
    """How many draws each chunk holds."""
    _check_draws(draws)
    step = max(1, CHUNK_CELLS // max(rows, 1))
    return [min(step, draws - done) for done in range(0, draws, step)]


def _check_draws(draws: int) -> None:
    if draws < 1:
        raise DataError(f"{draws} draws were asked for; ask for 1 or more.")


def _quantile(ordered: Values, share: float) -> float:
    """Linear between neighbours, as NumPy's default, but infinite where both neighbours are."""
    place = share * (len(ordered) - 1)
    below = int(np.floor(place))
    part = place - below
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return float(low if part == 0 or low == high else low + part * (high - low))


def _dot(weights: Values, values: Values) -> Values:
    """Sums over rows; not by BLAS, whose threads cost more here than they save and round anew."""
    return np.asarray(np.einsum("...i,...i->...", weights, values))
