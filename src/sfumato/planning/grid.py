"""Turn numbers of items, classes and dimensions into how well labels of each form recover a world.

At each point of a grid a simulated world is drawn, labelled, embedded from its labels alone (S1-28,
S1-29), and compared with the truth: ρ of recovered and true similarities over all items and
classes (S1-30). ``grid_points`` lists the work, ``simulate_point`` does one piece of it, and
``run_grid`` maps one over the other by whatever runs things. The rest are tables of what came out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal, assert_never

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.stats import pearsonr

from sfumato.errors import DataError
from sfumato.labels.simulate.crowd import distance_labels, gaussian_clusters
from sfumato.names import find
from sfumato.planning.embed import (
    Rankings,
    flip,
    gnmds_rankings,
    gnmds_triplets,
    mine_triplets,
    rank_scores,
    spearman,
)
from sfumato.planning.embed.rankings import Floats
from sfumato.planning.information import FORMS, all_constraints
from sfumato.planning.worlds import (
    CODES,
    LABELS,
    PCA,
    SEARCHED,
    Ask,
    Point,
    World,
    scores_of,
    stream,
    world_at,
)
from sfumato.stats import cosines, dense_codes, mid_ranks, spearman_of_codes, student_reach

# Turn points into their principal components, and a ρ into the number of them that reaches it.
#
# PCA codes bound what any label of k̂ numbers could tell (S1-13). The effective dimensionality of
# labels is the least k̂ at which the codes recover similarities as well as the labels do (S1-36).

PAPER = 0.734
"""The paper's correlation of information ratio and effective dimensionality (p < 1e-15); it names
neither the grid nor the dimensions, and the number depends on both."""

Origin = Literal["true", "mean"]
"""What components are taken around: the origin that true cosines are seen from, so that all of
them together are the truth, or the mean of the points, as PCA is mostly done."""


def pca_curve(points: Floats, *, origin: Origin = "true") -> Floats:
    """ρ with the true cosines for 1, 2, … components, to as many as the points have (S1-F2).

    Codes of more numbers than that are worth as much as the last. Where one component cannot
    tell any two points apart, ρ is 0.

    >>> pca_curve(np.array([[3.0, 1.0], [2.0, -1.0], [-2.0, 0.5], [-3.0, -1.5]])).round(2)
    array([0.83, 1.  ])
    """
    codes = _codes(points, origin)
    upper = np.triu_indices(len(points), 1)
    true = dense_codes(cosines(points)[upper])
    rho = np.zeros(codes.shape[1])
    inner = np.zeros((len(points), len(points)))
    for place, column in enumerate(codes.T):  # one component more each time
        inner += np.outer(column, column)
        size = np.sqrt(np.diagonal(inner))
        cosine = inner[upper] / (size[upper[0]] * size[upper[1]])
        rho[place] = spearman_of_codes(dense_codes(cosine), true)
    return np.nan_to_num(rho)


SEARCH_STEPS = 300
"""Of the search for a code; from PCA codes on it has mostly settled by then."""


def search_codes(points: Floats, keep: int) -> tuple[Floats, float]:
    """Codes of ``keep`` numbers whose cosines follow the true ones in rank, and their ρ (S1-62).

    PCA codes keep distances, but ρ asks for the order of cosines. From PCA codes on, Pearson's
    correlation of a code's cosines with the ranks of the true ones, which is smooth in the code,
    is raised by L-BFGS; where that does not raise ρ itself, the PCA codes are given back. A code of
    one number has only a sign, which no smooth search moves: it stays PCA's. Like
    these the codes are made from the truth, so they say what a label of ``keep`` numbers could
    tell, not how to ask for it.

    >>> points = np.array([[3.0, 1.0], [2.0, -1.0], [-2.0, 0.5], [-3.0, -1.5]])
    >>> search_codes(points, 2)[1]
    1.0
    """
    if keep < 1:
        raise DataError(f"A code of {keep} numbers was asked for; ask for 1 or more.")
    start = _codes(points, "true")[:, :keep]
    upper = np.triu_indices(len(points), 1)
    true = cosines(points)[upper]
    wanted = mid_ranks(dense_codes(true))
    wanted = wanted - wanted.mean()
    wanted /= np.linalg.norm(wanted)

    def loss(flat: Floats) -> tuple[float, Floats]:
        codes = flat.reshape(start.shape)
        size = np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)
        unit = codes / size
        apart = (unit @ unit.T)[upper]
        apart = apart - apart.mean()
        length = max(float(np.linalg.norm(apart)), 1e-12)
        found = float(apart @ wanted) / length
        slope = np.zeros((len(points), len(points)))
        slope[upper] = (wanted - found * apart / length) / length
        along = (slope + slope.T) @ unit
        along = (along - (along * unit).sum(axis=1, keepdims=True) * unit) / size
        return -found, -along.ravel()

    ended = minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": SEARCH_STEPS}
    )
    both = (start, ended.x.reshape(start.shape))
    rhos = [
        float(
            np.nan_to_num(spearman_of_codes(dense_codes(cosines(codes)[upper]), dense_codes(true)))
        )
        for codes in both
    ]
    best = int(rhos[1] > rhos[0])
    return both[best], rhos[best]


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


CURVE_SCHEMA = {
    "items": pl.Int64(),
    "classes": pl.Int64(),
    "dimensions": pl.Int64(),
    "seed": pl.Int64(),
    "kept": pl.Int64(),
    "rho": pl.Float64(),
    "soft": pl.Float64(),
    "effective": pl.Int64(),
}


def component_curves(points: Sequence[Point]) -> pl.DataFrame:
    """ρ of the first 1, 2, … principal components in the world of each point (S1-F2).

    Columns ``items``, ``classes``, ``dimensions``, ``seed``, ``kept`` (components), ``rho``, and
    on every row ``soft``, the ρ of soft labels in this world, with ``effective``, the fewest
    components that reach it. What is asked at the points is not read.
    """
    rows: list[tuple[float | int | None, ...]] = []
    for point in points:
        soft = simulate_point(replace(point, asks=(Ask("soft"),), flipped=0.0))["rows"][0]
        task = (point.items, point.classes, point.dimensions, point.seed)
        rows += [
            (*task, place + 1, float(rho), soft["rho"], soft["effective"])
            for place, rho in enumerate(pca_curve(world_at(point).points))
        ]
    return pl.DataFrame(rows, schema=CURVE_SCHEMA, orient="row")


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


# Turn numbers of items, classes and dimensions into how well labels of each form recover a world.

DIMENSIONS = (5, 25, 125)
MAP_SIZES = (3, 13, 22, 32, 42, 51, 61, 71, 80, 90)
"""Ten numbers of items and of classes from 3 to 90, evenly spaced (S1-30)."""
CURVE_SIZES = (3, 10, 30, 90)
"""Numbers of items and of classes at which curves over k̂ are drawn (S1-F3)."""
KEPT = (1, 2, 3, 5, 10, 20, 40)
FLIPS = (0.1, 0.2, 0.3, 0.4)
FLIPPED_AT = (30, 25)
"""Rates of wrong answers that the default grid tries on one task, of so many items and classes in
so many dimensions: flipped answers are written out one by one, so large tasks take long."""

Found = dict[str, Any]
"""What ``simulate_point`` found, of plain values that JSON can hold."""

Run = Callable[[Callable[[Point], Found], Sequence[Point]], Iterable[Found | None]]
"""What calls the function with every point, in order; None stands for a call that failed."""


def grid_points(
    *,
    items: Sequence[int],
    classes: Sequence[int],
    dimensions: Sequence[int],
    seeds: int,
    forms: Sequence[str] = ("hard", "soft"),
    kept: Sequence[int] = KEPT,
    flipped: Sequence[float] = (0.0,),
    spread: float = 1.0,
) -> list[Point]:
    """A point for every n, k, d, error rate and seed (0, 1, …); k̂ above k is left out.

    ``forms`` are names of ``worlds.LABELS`` or of ``worlds.CODES``.

    >>> points = grid_points(items=[3, 9], classes=[4], dimensions=[5], seeds=2, forms=["sparse"])
    >>> len(points), [ask.kept for ask in points[0].asks]
    (4, [1, 2, 3])
    """
    if seeds < 1:
        raise DataError(f"{seeds} seeds were asked for; a simulation needs 1 or more.")
    return [
        Point(n, k, d, seed, _asks(forms, kept, k), rate, spread)
        for n in items
        for k in classes
        for d in dimensions
        for rate in flipped
        for seed in range(seeds)
    ]


def default_points(
    seeds: int = 3,
    *,
    map_sizes: Sequence[int] = MAP_SIZES,
    curve_sizes: Sequence[int] = CURVE_SIZES,
    dimensions: Sequence[int] = DIMENSIONS,
    kept: Sequence[int] = KEPT,
    flips: Sequence[float] = FLIPS,
    flipped_at: tuple[int, int] = FLIPPED_AT,
    codes: Sequence[str] = (PCA,),
) -> list[Point]:
    """The whole default grid, the longest work first.

    Maps: hard and soft labels at 10 x 10 numbers of items and classes in 5, 25 and 125
    dimensions. Curves: all forms with a k̂, and ``codes``, at 4 x 4 of them. Noise: flipped
    answers of four rates at 30 items and classes in 25 dimensions. Other sizes make a smaller
    or a larger grid of the same kind.
    """
    maps = grid_points(items=map_sizes, classes=map_sizes, dimensions=dimensions, seeds=seeds)
    curves = grid_points(
        items=curve_sizes,
        classes=curve_sizes,
        dimensions=dimensions,
        seeds=seeds,
        forms=("hard", "soft", "sparse", "top-class", "top-class-zero", *codes),
        kept=kept,
    )
    size, deep = flipped_at
    noise = grid_points(items=[size], classes=[size], dimensions=[deep], seeds=seeds, flipped=flips)
    return sorted(_merged([*maps, *curves, *noise]), key=expected_work, reverse=True)


def expected_work(point: Point) -> float:
    """About how many seconds of one core a point takes; only ratios between points matter."""
    each = point.items * point.classes * (point.items + point.classes)
    return len(point.asks) * (0.02 + 3.5e-7 * each)


def simulate_point(point: Point) -> Found:
    """Draw the world of a point, embed its labels of each form, and say how well each does.

    Gives ``rows``, one an ask, with ``form``, ``kept``, ``rho``, ``constraints`` (null for codes)
    and for soft labels without wrong answers ``effective``, their effective dimensionality
    (S1-36). Where labels leave all similarities equal, nothing is recovered and ρ is 0. The same
    point gives the same numbers, whatever else was asked of its world.
    """
    world = world_at(point)
    curve = pca_curve(world.points) if _needs_curve(point) else np.empty(0)
    return {"rows": [_row(point, ask, world, curve) for ask in point.asks]}


def in_a_loop(function: Callable[[Point], Found], points: Sequence[Point]) -> Iterable[Found]:
    """One point after the other, in this process."""
    return map(function, points)


def run_grid(points: Sequence[Point], *, run: Run = in_a_loop) -> pl.DataFrame:
    """A row for every label tried: what was asked, the seed, and how well it did.

    ``run`` maps ``simulate_point`` over the points: in a loop, on all cores, on a cluster, or
    from what an earlier run kept. Points that it gives None for are left out.
    """
    found = list(run(simulate_point, points))
    if len(found) != len(points):
        raise DataError(f"There are {len(points)} points but {len(found)} results of them.")
    rows = [
        (
            row["form"], row["kept"], point.items, point.classes, point.dimensions,
            point.flipped, point.spread, point.seed, row["rho"], row["constraints"],
            row["effective"],
        )
        for point, result in zip(points, found, strict=True)
        if result is not None
        for row in result["rows"]
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return table.unique(KEY, keep="first", maintain_order=True).sort(KEY, maintain_order=True)


def means(table: pl.DataFrame) -> pl.DataFrame:
    """The mean over seeds of all that ``run_grid`` found, with its 95 % interval (Student's t).

    Columns: the settings, ``rho``, ``low``, ``high`` (null with one seed, never beyond -1 and 1),
    ``seeds``, ``ratio`` (constraints over all possible ones, S1-24), ``effective``.
    """
    possible = [all_constraints(n, k) for n, k in table.select("items", "classes").iter_rows()]
    told = table.with_columns(ratio=pl.col("constraints") / pl.Series(possible, dtype=pl.Float64))
    others = told.group_by(SETTINGS, maintain_order=True).agg(pl.col("ratio", "effective").mean())
    found = mean_over_seeds(told, SETTINGS, "rho").with_columns(pl.col("low", "high").clip(-1, 1))
    return found.join(others, on=SETTINGS, nulls_equal=True, maintain_order="left")


def recovered_means(table: pl.DataFrame, *, dimensions: int, flipped: float = 0.0) -> pl.DataFrame:
    """What ``cost.losses`` reads, for worlds of one number of dimensions and error rate.

    Columns ``form``, ``kept``, ``items``, ``classes``, ``rho``, ``low``, ``high``, ``seeds``; only
    the forms that people can be asked for.
    """
    mine = table.filter(
        pl.col("form").is_in(list(FORMS)), dimensions=dimensions, flipped=flipped, spread=1.0
    )
    if not len(mine):
        known = ", ".join(map(str, table["dimensions"].unique().sort()))
        raise DataError(
            f"Nothing was simulated in {dimensions} dimensions with a share of {flipped:g} flipped "
            f"answers; there are results for {known} dimensions."
        )
    return means(mine).select("form", "kept", "items", "classes", "rho", "low", "high", "seeds")


def maps(table: pl.DataFrame, column: str = "rho") -> pl.DataFrame:
    """A column of ``means`` over n and k, for ``figures.grid_maps`` (S1-F1; effective: S1-F2).

    Columns ``panel`` (form and dimensions), ``x`` (items), ``y`` (classes), ``value``.
    """
    found = means(table)
    if column not in ("rho", "ratio", "effective"):
        raise DataError(f"There is no map of {column!r}; choose rho, ratio or effective.")
    panel = pl.format("{}, {}", _named("form", "kept"), _where())
    drawn = found.filter(pl.col(column).is_not_null())
    return drawn.select(panel.alias("panel"), x="items", y="classes", value=column)


def kept_curves(table: pl.DataFrame) -> pl.DataFrame:
    """ρ over k̂ by form, with other forms as level lines, for ``figures.trade_off`` (S1-F3).

    Columns ``panel`` (the task; by d, n and k), ``series`` (form), ``x`` (k̂), ``value``, ``low``,
    ``high``.
    """
    panel = pl.format("n = {}, k = {}, {}", "items", "classes", _where())
    found = means(table).sort(SETTINGS).with_columns(panel.alias("panel"))
    curves = found.filter(pl.col("kept").is_not_null())
    if not len(curves):
        raise DataError("No form in the grid has a k̂; add sparse, top-class or pca labels.")
    ticks = curves.select("panel", "kept").unique(maintain_order=True)
    level = found.filter(pl.col("kept").is_null()).drop("kept")
    flat = level.join(ticks, on="panel", maintain_order="left")
    told = [
        part.select("panel", series="form", x="kept", value="rho", low="low", high="high")
        for part in (curves, flat)
    ]
    tasks = found.select("panel").unique(maintain_order=True).with_row_index("task")
    drawn = pl.concat(told).join(tasks, on="panel", maintain_order="left")
    return drawn.sort("task", "series", "x", maintain_order=True).drop("task")


def simulate_modes(
    *,
    items: int,
    classes: int,
    modes: Sequence[int],
    dimensions: int,
    seeds: int = 3,
    spread: float = 1.0,
) -> pl.DataFrame:
    """ρ over items where every class has several centres, and people name modes or classes (S1-63).

    A class with m modes is m clusters; an item's label goes by the nearest mode of each class.
    People who name the mode answer about classes · m classes of one mode each, as the paper has it;
    people who name the class leave open which mode. Columns ``modes``, ``named`` ("mode" or
    "class"), ``form``, ``seed``, ``rho``: that of items, because a class of several modes has no
    one place. With one mode both are the same.
    """
    rows = []
    for many, seed in product(modes, range(seeds)):
        if many < 1:
            raise DataError(f"Classes of {many} modes were asked for; give 1 or more.")
        drawn = gaussian_clusters(
            items=items, classes=classes, dimensions=dimensions, spread=spread, modes=many,
            rng=np.random.default_rng([seed, items, classes, dimensions, many]),
        )  # fmt: skip
        by_mode = distance_labels(drawn.positions, drawn.centres)
        truth = cosines(drawn.positions)
        for named, labels in (("mode", by_mode), ("class", (drawn.hard, drawn.soft))):
            for form, each in zip(("hard", "soft"), labels, strict=True):
                rng = np.random.default_rng([seed, many])
                gram = gnmds_rankings(rank_scores(each.probs), rng=rng).gram[:items, :items]
                rho = float(np.nan_to_num(spearman(gram, truth)))
                rows.append((many, named, form, seed, rho))
    schema = {
        "modes": pl.Int64(), "named": pl.String(), "form": pl.String(), "seed": pl.Int64(),
        "rho": pl.Float64(),
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def mean_over_seeds(table: pl.DataFrame, by: Sequence[str], column: str) -> pl.DataFrame:
    """Mean of a column, its 95 % interval over seeds (null with one), and the number of seeds."""
    spread, count = pl.col(column).std().alias("half"), pl.len().cast(pl.Int64).alias("seeds")
    found = table.group_by(list(by), maintain_order=True).agg(pl.col(column).mean(), spread, count)
    # null with one seed, whose spread is not known
    half = pl.col("half") * pl.Series(student_reach(found["seeds"].to_numpy()))
    ends = ((pl.col(column) - half).alias("low"), (pl.col(column) + half).alias("high"))
    return found.with_columns(*ends).select(*by, column, "low", "high", "seeds")


def pair_forms(table: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """By how much the ρ of one form is above that of another, in the same world.

    The rows of the first form (with the same k̂, if both forms have one), with the ρ of the other
    as ``second`` and the difference as ``gap``; ``mean_over_seeds`` sums them up.
    """
    sides = [table.filter(form=form) for form in (first, second)]
    for form, side in zip((first, second), sides, strict=True):
        if not len(side):
            raise DataError(f"The grid has no labels of the form {form!r}.")
    both_kept = all(side["kept"].null_count() == 0 for side in sides)
    on = [name for name in KEY if name != "form" and (name != "kept" or both_kept)]
    paired = sides[0].join(sides[1].select(*on, second="rho"), on=on, maintain_order="left")
    return paired.with_columns(gap=pl.col("rho") - pl.col("second"))


SCHEMA = {
    "form": pl.String(),
    "kept": pl.Int64(),
    "items": pl.Int64(),
    "classes": pl.Int64(),
    "dimensions": pl.Int64(),
    "flipped": pl.Float64(),
    "spread": pl.Float64(),
    "seed": pl.Int64(),
    "rho": pl.Float64(),
    "constraints": pl.Int64(),
    "effective": pl.Int64(),
}
SETTINGS = ["dimensions", "items", "classes", "spread", "flipped", "form", "kept"]
KEY = [*SETTINGS, "seed"]


def _named(form: str, kept: str) -> pl.Expr:
    return (
        pl.when(pl.col(kept).is_null())
        .then(pl.col(form))
        .otherwise(pl.format("{}, k̂ = {}", form, kept))
    )


def _where() -> pl.Expr:
    plain = pl.format("d = {}", "dimensions")
    wrong = pl.format(", ε = {}", "flipped")
    wide = pl.format(", spread {}", "spread")
    return pl.concat_str(
        plain,
        pl.when(pl.col("flipped") > 0).then(wrong).otherwise(pl.lit("")),
        pl.when(pl.col("spread") != 1).then(wide).otherwise(pl.lit("")),
    )


def _asks(forms: Sequence[str], kept: Sequence[int], classes: int) -> tuple[Ask, ...]:
    asks = []
    for form in forms:
        if form in CODES or find(LABELS, form, what="form of label").has_kept:
            asks += [Ask(form, each) for each in kept if each <= classes]
        else:
            asks.append(Ask(form))
    return tuple(asks)


def _merged(points: Sequence[Point]) -> list[Point]:
    """One point a world, with everything that is asked of it."""
    asks: dict[Point, dict[Ask, None]] = {}
    for point in points:
        asks.setdefault(replace(point, asks=()), {}).update(dict.fromkeys(point.asks))
    return [replace(world, asks=tuple(asked)) for world, asked in asks.items()]


def _needs_curve(point: Point) -> bool:
    forms = {ask.form for ask in point.asks}
    return PCA in forms or ("soft" in forms and not point.flipped)


def _row(point: Point, ask: Ask, world: World, curve: Floats) -> Found:
    row: Found = {"form": ask.form, "kept": ask.kept, "constraints": None, "effective": None}
    if ask.form == PCA:
        assert ask.kept is not None
        return row | {"rho": float(curve[min(ask.kept, len(curve)) - 1])}
    if ask.form == SEARCHED:
        assert ask.kept is not None
        return row | {"rho": search_codes(world.points, ask.kept)[1]}
    rankings = rank_scores(scores_of(world, ask.form, ask.kept))
    rho = _recovered(point, rankings, world)
    if ask.form == "soft" and not point.flipped:
        row["effective"] = effective_dimensionality(curve, rho)
    return row | {"rho": rho, "constraints": rankings.constraints}


def _recovered(point: Point, rankings: Rankings, world: World) -> float:
    rng = stream(point, "fit")
    if point.flipped:
        answers = flip(mine_triplets(rankings), point.flipped, rng=stream(point, "channel"))
        gram = gnmds_triplets(answers, rng=rng).gram
    else:
        gram = gnmds_rankings(rankings, rng=rng).gram
    return float(np.nan_to_num(spearman(gram, world.similarity), nan=0.0))
