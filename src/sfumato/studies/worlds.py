"""Turn a study of simulated worlds into cells of a sweep, tables, and findings (paper 2).

A cell holds several small worlds, so that starting and keeping it costs little beside its work,
and worlds of one seed only, so that more seeds in a second run leave the first ones as they are.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.learn.sweep import Cell, CellResult, FailedCell, FinishedCell
from sfumato.planning.cost import losses
from sfumato.planning.embed import (
    Triplets,
    gnmds_triplets,
    mine_triplets,
    rank_scores,
    read_triplets,
    spearman,
)
from sfumato.planning.grid import (
    PAPER,
    component_curves,
    default_points,
    expected_work,
    mean_over_seeds,
    means,
    pair_forms,
    ratio_correlation,
    run_grid,
    simulate_point,
)
from sfumato.planning.information import NOISE
from sfumato.planning.worlds import CODES, PCA, SEARCHED, Ask, Point, scores_of, world_at
from sfumato.reporting.text import interval, number, signed_number
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.stats import NOTHING, Interval, student_interval
from sfumato.stats import spearman as rank_correlation
from sfumato.studies.data import Findings, Predictions, StudyData
from sfumato.studies.study import Study, Subject, Worlds

CELL_SECONDS = 2.0
"""About how long a cell of several worlds takes on one core."""

LABELLED: Mapping[Subject, tuple[str, ...]] = {
    "information": ("hard", "soft"),
    "sparsity": ("hard", "soft", "sparse", "top-class", "top-class-zero", *CODES),
    "costs": ("hard", "soft", "sparse", "top-class"),
}
"""Forms of labels that a subject needs."""

WORLD = {
    "items": pl.Int64(),
    "classes": pl.Int64(),
    "dimensions": pl.Int64(),
    "flipped": pl.Float64(),
    "seed": pl.Int64(),
}
"""What tells the worlds of a study apart."""
THINNED = {"rule": pl.String(), "form": pl.String(), **WORLD, "rho": pl.Float64()}


def world_cells(study: Study) -> list[Cell]:
    """All work of a study, the longest first."""
    points = world_points(_worlds(study), study.seeds)
    groups = [
        group
        for seed in range(study.seeds)
        for group in _groups([point for point in points if point.seed == seed])
    ]
    groups.sort(key=lambda group: sum(map(expected_work, group)), reverse=True)
    grid = [Cell(_name(group), simulate_points, {"points": tuple(group)}) for group in groups]
    noisy = [point for point in points if point.flipped]
    thinned = [
        Cell(
            f"fewer answers instead of wrong ones, seed {seed}",
            thin_points,
            {"points": tuple(point for point in noisy if point.seed == seed)},
        )
        for seed in range(study.seeds)
        if noisy
    ]
    return [*grid, *thinned]


def world_points(worlds: Worlds, seeds: int) -> list[Point]:
    """All worlds of a study, each once with everything that is asked of it."""
    points = default_points(
        seeds,
        map_sizes=() if set(worlds.subjects) == {"sparsity"} else worlds.map_sizes,
        curve_sizes=worlds.curve_sizes,
        dimensions=worlds.dimensions,
        kept=worlds.kept,
        flips=worlds.flips if "information" in worlds.subjects else (),
        flipped_at=worlds.flipped_at,
        codes=worlds.codes,
    )
    needed = {form for subject in worlds.subjects for form in LABELLED[subject]}
    return [
        replace(point, asks=tuple(ask for ask in point.asks if ask.form in needed))
        for point in points
    ]


def example_points(worlds: Worlds) -> list[Point]:
    """Three worlds to look at closely: many items, as many as classes, many classes (S1-F2)."""
    sizes = sorted(worlds.curve_sizes)
    few, many = sizes[len(sizes) // 4], sizes[-1]
    tasks = dict.fromkeys([(many, few), (many, many), (few, many)])
    return [Point(n, k, worlds.middle, 0, ()) for n, k in tasks]


def simulate_points(points: Sequence[Point]) -> CellResult:
    """What ``planning.grid.simulate_point`` finds at each point; the work is counted in worlds."""
    return CellResult({"found": [simulate_point(point) for point in points]}, work=len(points))


def thin_points(points: Sequence[Point]) -> CellResult:
    """ρ of right answers only, but no more of them than a formula says that wrong ones leave.

    At each point the answers that its labels hold are kept with chance 1 - ε or 1 - H₂(ε), each
    independently (S1-27): were the formula true, ρ would be that of flipped answers.
    """
    rows = [
        (rule, ask.form, *_world(point), _thinned(point, ask, share(point.flipped), rule))
        for point in points
        for ask in point.asks
        for rule, share in NOISE.items()
    ]
    return CellResult({"rows": rows}, work=len(points))


def grid_table(results: Sequence[FinishedCell | FailedCell]) -> pl.DataFrame:
    """One row per label tried, as ``planning.grid.run_grid`` gives it, and the ``cell`` it is from.

    Cells that failed are left out.
    """
    found: dict[Point, dict[str, Any]] = {}
    cells: list[tuple[Any, ...]] = []
    for result in _done(results, simulate_points):
        points = result.cell.inputs["points"]
        found |= dict(zip(points, result.scores["found"], strict=True))
        cells += [(*_world(point), result.fingerprint) for point in points]
    grid = run_grid(list(found), run=lambda _, points: [found[point] for point in points])
    known = pl.DataFrame(cells, schema={**WORLD, "cell": pl.String()}, orient="row")
    return grid.join(known, on=list(WORLD), how="left", maintain_order="left")


def thinned_table(results: Sequence[FinishedCell | FailedCell]) -> pl.DataFrame:
    """One row per formula, form, rate of wrong answers and seed, with ``rho`` and its ``cell``."""
    rows = [
        (*row, result.fingerprint)
        for result in _done(results, thin_points)
        for row in result.scores["rows"]
    ]
    table = pl.DataFrame(rows, schema={**THINNED, "cell": pl.String()}, orient="row")
    return table.sort("rule", "form", "flipped", "seed")


def _worlds(study: Study) -> Worlds:
    assert study.worlds is not None
    return study.worlds


def _done(
    results: Sequence[FinishedCell | FailedCell], function: Callable[..., CellResult]
) -> list[FinishedCell]:
    return [
        result
        for result in results
        if isinstance(result, FinishedCell) and result.cell.function is function
    ]


def _groups(points: Sequence[Point]) -> list[list[Point]]:
    """Neighbours in the given order, each group about as long as a cell should be."""
    groups: list[list[Point]] = []
    filled = CELL_SECONDS
    for point in points:
        if filled >= CELL_SECONDS:
            groups.append([])
            filled = 0.0
        groups[-1].append(point)
        filled += expected_work(point)
    return groups


def _name(group: Sequence[Point]) -> str:
    first = group[0]
    world = f"n = {first.items}, k = {first.classes}, d = {first.dimensions}, seed {first.seed}"
    return world if len(group) == 1 else f"{world} and {len(group) - 1} more"


def _world(point: Point) -> tuple[int, int, int, float, int]:
    return point.items, point.classes, point.dimensions, point.flipped, point.seed


def _thinned(point: Point, ask: Ask, share: float, rule: str) -> float:
    world = world_at(replace(point, asks=()))
    answers = mine_triplets(rank_scores(scores_of(world, ask.form, ask.kept)))
    place = list(NOISE).index(rule)
    # a stream of its own: which answers are lost has nothing to do with which are flipped
    rng = np.random.default_rng([point.seed, point.items, round(1000 * point.flipped), place])
    gram = gnmds_triplets(_kept(answers, share, rng), rng=rng).gram
    return float(np.nan_to_num(spearman(gram, world.similarity), nan=0.0))


def _kept(answers: Triplets, share: float, rng: np.random.Generator) -> Triplets:
    lucky = rng.random(len(answers.answers)) < share
    lucky[rng.integers(len(lucky))] |= not lucky.any()  # an embedding needs one at least
    return read_triplets(answers.answers[lucky], objects=answers.objects)


# What labels of each form recover of simulated worlds, and what that is worth (paper 2).
#
# Every number is about worlds of one number of dimensions, its ``part``; most are means over tasks
# (n, k, and k̂ where there is one). Their 95 % intervals are Student's over seeds, each seed giving
# one mean. Where a paper says *everywhere*, the lower end of a difference goes down to the worst
# task: then the average alone does not make the claim true.


BETAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""What a hard label's cost is worth, from next to nothing to a tenth of a perfect ρ."""
SPARSE_BETAS = (1e-4, 3e-4, 1e-3)
"""The same around where k̂ matters."""
MUCH = 2.0
"""How many times as much must be recovered to be called much."""
OFTEN = 0.5
"""The share of cases from which on something happens often."""
SMALL = 5
"""Up to so many items or classes there are few."""
TASK = ("dimensions", "items", "classes", "kept")
CASE = ("dimensions", "items", "classes", "beta")
DEARER = pl.col("items") * (pl.col("classes") - 1)
"""How much more soft labels cost than hard ones: nk answers against n."""
SERIES = {
    "flipped": "T answers, εT of them wrong",
    "linear": "(1 - ε)T right answers",
    "capacity": "(1 - H₂(ε))T right answers",
}
"""What ρ over the share of wrong answers is drawn of: those answers, and two formulas."""

Answer = Callable[[pl.DataFrame], Iterable[Estimate]]
"""What the labels tried in one number of dimensions say; nothing where they cannot answer."""


def worlds(data: StudyData, predictions: Predictions) -> Findings:
    """ρ of every form at every task, what paper 2 claims about it, and tables for the figures."""
    asked = data.study.worlds
    if asked is None:
        return Findings()
    grid, thinned = grid_table(predictions.cells), thinned_table(predictions.cells)
    if not len(grid):
        raise DataError("The grid has no results; there is nothing to compare.")
    rows = [*count_worlds(grid), *mean_rhos(grid, asked.curve_sizes)]
    for answer in chain.from_iterable(ANSWERS[subject] for subject in asked.subjects):
        for part in grid.partition_by("dimensions", maintain_order=True):
            rows += answer(part)
    tables = {"grid": grid, "means": means(grid), "thinned": thinned}
    if "information" in asked.subjects:
        rows += [*ratio_correlations(grid, asked.map_sizes), *flip_gaps(grid, thinned)]
        tables["noise"] = noise_table(grid, thinned)
        rows += noise_rhos(grid, thinned)
        tables["components"] = component_curves(example_points(asked))
    return Findings(rows, tables)


def count_worlds(grid: pl.DataFrame) -> Iterator[Estimate]:
    """How many worlds were simulated, and how many sets of labels of them."""
    yield _estimate("worlds", grid, len(grid.select(*WORLD).unique()))
    yield _estimate("label_sets", grid, len(grid))


def mean_rhos(grid: pl.DataFrame, sizes: Sequence[int]) -> Iterator[Estimate]:
    """ρ of every form and k̂ at the tasks of the given sizes."""
    inside = pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes)))
    shown = grid.filter(inside, flipped=0.0)
    by = ["dimensions", "items", "classes", "form", "kept"]
    for (_, n, k, form, kept), part in shown.group_by(by, maintain_order=True):
        stratum = f"n = {n}, k = {k}" + ("" if kept is None else f", k̂ = {kept}")
        yield _mean_estimate("rho", part, "rho", arm=str(form), stratum=stratum)


def gap_with_few_items(grid: pl.DataFrame) -> Iterator[Estimate]:
    """Soft less hard labels where n ≤ k: at least twice as much on average, nowhere clearly less.

    The lower end is below zero where it is not twice as much, or at one task clearly less.
    """
    gaps = _gaps(grid, "soft", "hard").filter(pl.col("items") <= pl.col("classes"))
    if not len(gaps):
        return
    stratum, tasks = "n ≤ k", _by_task(gaps)
    soft, hard = (float(gaps[column].mean()) for column in ("rho", "second"))  # type: ignore[arg-type]
    yield _mean_estimate("rho", gaps, "rho", arm="soft", stratum=stratum)
    yield _mean_estimate("rho", gaps, "second", arm="hard", stratum=stratum)
    yield _mean_estimate(
        "rho", gaps, arm="soft", second="hard", stratum=stratum,
        doubts=[soft - MUCH * hard, *_clearly_less(tasks)],
        note=f"{number(soft)} against {number(hard)}; {_counts(tasks)}",
    )  # fmt: skip


def gap_everywhere(first: str, second: str) -> Answer:
    """By how much one form recovers more than another; the lower end goes to the worst task."""

    def answer(grid: pl.DataFrame) -> Iterator[Estimate]:
        gaps = _gaps(grid, first, second)
        if len(gaps):
            worst, note = _worst(gaps)
            yield _mean_estimate(
                "rho_everywhere", gaps, arm=first, second=second, doubts=[worst], note=note
            )

    return answer


def gap_on_average(first: str, second: str) -> Answer:
    """By how much one form recovers more than another on average."""

    def answer(grid: pl.DataFrame) -> Iterator[Estimate]:
        gaps = _gaps(grid, first, second)
        if len(gaps):
            yield _mean_estimate(
                "rho", gaps, arm=first, second=second, stratum="all", note=_worst(gaps)[1]
            )

    return answer


def change_with_more(long: str) -> Answer:
    """ρ of soft labels at the most of one side, less that at n = k, with the other side as it is.

    The other side are all sizes above ``SMALL`` of which the most is at least three times.
    """
    other = "classes" if long == "items" else "items"

    def answer(grid: pl.DataFrame) -> Iterator[Estimate]:
        soft = grid.filter(form="soft", flipped=0.0)
        if not len(soft):
            return
        most = int(soft[long].max())  # type: ignore[arg-type]
        inner = soft.filter((pl.col(other) > SMALL) & (3 * pl.col(other) <= most))
        equal = inner.filter(pl.col("items") == pl.col("classes"))
        far = _changed(equal, inner.filter(pl.col(long) == most), on=[other, "seed"])
        if len(far):
            letter, fixed = ("n", "k") if long == "items" else ("k", "n")
            sizes = far[other].unique().sort()
            note = f"from n = k to {letter} = {most}, {fixed} from {sizes[0]} to {sizes[-1]}"
            stratum = f"{long} beyond {other}"
            yield _mean_estimate("rho_change", far, arm="soft", stratum=stratum, note=note)

    return answer


def change_on_the_diagonal(grid: pl.DataFrame) -> Iterator[Estimate]:
    """ρ of soft labels at the largest n = k less that at the smallest above ``SMALL``."""
    diagonal = grid.filter(
        pl.col("items") == pl.col("classes"), pl.col("items") > SMALL, form="soft", flipped=0.0
    )
    sizes = diagonal["items"].unique().sort()
    if len(sizes) > 1:
        ends = (diagonal.filter(items=size) for size in (sizes[0], sizes[-1]))
        yield _mean_estimate(
            "rho_change", _changed(*ends, on=["seed"]), arm="soft",
            stratum="as many items as classes", note=f"from n = k = {sizes[0]} to {sizes[-1]}",
        )  # fmt: skip


def ratio_correlations(grid: pl.DataFrame, sizes: Sequence[int]) -> Iterator[Estimate]:
    """Pearson's r of information ratio and effective dimensionality over the tasks of the maps.

    The number depends on the grid: on one with many small tasks it is lower.
    """
    inside = grid.filter(
        pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes))), form="soft", flipped=0.0
    )
    try:
        found = ratio_correlation(means(inside))
    except DataError:
        return  # too few tasks for a correlation
    for row in found.iter_rows(named=True):
        mine = inside if row["dimensions"] is None else inside.filter(dimensions=row["dimensions"])
        holds = "holds" if row["low"] <= PAPER <= row["high"] else "does not hold"
        yield _estimate(
            "pearson_ratio_dimensionality", mine, row["r"], Interval(row["low"], row["high"]),
            over="tasks", p=row["p"], note=f"over {row['tasks']} tasks; it {holds} {PAPER}",
        )  # fmt: skip


def clear_losses(grid: pl.DataFrame) -> Iterator[Estimate]:
    """At how many tasks of few items or classes soft labels clearly lose, for every β.

    To lose nowhere clearly is not to tie, so the number has no interval.
    """
    gaps = _gaps(grid, "soft", "hard")
    few = (pl.col("items") <= SMALL) | (pl.col("classes") <= SMALL)
    tasks = _break_evens(gaps).filter(few)
    if not len(tasks):
        return
    low, high = (float(end) for end in (tasks["even"].min(), tasks["even"].max()))  # type: ignore[arg-type]
    note = f"of {len(tasks)} tasks; losses are equal at β from {low:.2g} to {high:.2g}"
    for beta in BETAS:
        lost = int((tasks["high"] < beta * tasks["dearer"]).sum())
        value = math.nan if tasks["high"].null_count() else lost
        yield _estimate(
            "clear_losses", gaps, value, arm="soft", second="hard", stratum=f"β = {beta:g}",
            note=note,
        )  # fmt: skip


def break_even_correlation(grid: pl.DataFrame) -> Iterator[Estimate]:
    """Whether the β from which hard labels win falls as n·k grows (Spearman's ρ over tasks)."""
    gaps = _gaps(grid, "soft", "hard")
    tasks = _break_evens(gaps)
    if len(tasks) < 4:
        return
    size = (tasks["items"] * tasks["classes"]).to_numpy()
    rho = float(rank_correlation(size, tasks["even"].to_numpy()))
    reach = 1.96 / np.sqrt(len(tasks) - 3)  # Fisher's
    middle = np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9))
    won = ", ".join(
        f"{int((tasks['gap'] < beta * tasks['dearer']).sum())} at β = {beta:g}" for beta in BETAS
    )
    yield _estimate(
        "spearman_size_break_even", gaps, rho,
        Interval(float(np.tanh(middle - reach)), float(np.tanh(middle + reach))),
        arm="soft", second="hard", over="tasks", note=f"of {len(tasks)} tasks hard wins {won}",
    )  # fmt: skip


def worth_when_cheap(grid: pl.DataFrame) -> Iterator[Estimate]:
    """What soft labels are worth more than hard ones at the lowest β, and nowhere clearly less."""
    beta = BETAS[0]
    gaps = _gaps(grid, "soft", "hard").with_columns(gap=pl.col("gap") - beta * DEARER)
    if not len(gaps):
        return
    tasks = _by_task(gaps)
    lost, wins = _clearly_less(tasks), int((tasks["gap"] > 0).sum())
    yield _mean_estimate(
        "worth_everywhere", gaps, arm="soft", second="hard", doubts=lost,
        note=f"of {len(tasks)} tasks soft wins {wins} at β = {beta:g}, clearly loses {len(lost)}",
    )  # fmt: skip


def best_sparsity_gains(grid: pl.DataFrame) -> Iterator[Estimate]:
    """How much less sparse labels with the best k̂ lose than hard ones and than dense soft ones.

    The k̂ of a world is that of least mean loss in the other seeds' worlds of its size: chosen on
    itself it could only win, for k̂ = k are soft labels. What it saves is held against whichever
    of the two others is better in that very world.
    """
    forms = ("hard", "soft", "sparse")
    plain = grid.filter(
        pl.col("form").is_in(forms), pl.col("items") > SMALL, pl.col("classes") > SMALL, flipped=0.0
    )
    task = ["items", "classes", "dimensions"]
    mine = plain.join(
        plain.filter(form="sparse").select(task).unique(),
        on=task,
        how="semi",
        maintain_order="left",
    )
    if mine["seed"].n_unique() < 2 or not set(forms) <= set(mine["form"]):
        return
    saved = _saved(losses(mine, betas=SPARSE_BETAS))
    cases = saved.group_by(CASE, maintain_order=True).agg(pl.col("gap").mean())["gap"]
    won = int((cases > 0).sum())
    note = f"less loss than both in {won} of {len(cases)} cases"
    yield _mean_estimate("best_sparsity_gain", saved, arm="sparse", stratum="gain", note=note)
    share = won / len(cases) - OFTEN
    yield _estimate(
        "best_sparsity_gain", saved, share, Interval(share, share), arm="sparse",
        stratum=f"share of cases - {OFTEN:g}", over="", note=note,
    )  # fmt: skip


def flip_gaps(grid: pl.DataFrame, thinned: pl.DataFrame) -> Iterator[Estimate]:
    """What wrong answers recover less than leaving out as many, as (1 - ε)T has it (S1-27)."""
    fewer = thinned.filter(form="soft", rule="linear").select(
        *WORLD, fewer="rho", second_cell="cell"
    )
    wrong = grid.filter(pl.col("flipped") > 0, form="soft")
    both = wrong.join(fewer, on=list(WORLD), maintain_order="left").with_columns(
        gap=pl.col("rho") - pl.col("fewer")
    )
    for (_, rate), part in both.sort("flipped", "seed").group_by(
        "dimensions", "flipped", maintain_order=True
    ):
        yield _mean_estimate(
            "rho_flipped_less_thinned", part, arm="soft", stratum=f"ε = {rate:g}",
            note=f"{number(_average(part, 'rho'))} against {number(_average(part, 'fewer'))}",
        )  # fmt: skip


def noise_table(grid: pl.DataFrame, thinned: pl.DataFrame) -> pl.DataFrame:
    """ρ of flipped soft answers and of as many right ones as formulas leave, by share ε.

    Columns ``series``, ``flipped``, ``rho``, ``low``, ``high``, ``seeds``. All begin at ε = 0
    with ρ of the same worlds without wrong answers.
    """
    parts = [
        mean_over_seeds(pl.concat([right, part]), ["flipped"], "rho")
        .with_columns(pl.col("low", "high").clip(-1, 1))
        .select(pl.lit(name).alias("series"), "flipped", "rho", "low", "high", "seeds")
        .sort("flipped")
        for name, right, part in _noise_parts(grid, thinned)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


def noise_rhos(grid: pl.DataFrame, thinned: pl.DataFrame) -> Iterator[Estimate]:
    """The numbers of ``noise_table`` above ε = 0."""
    for name, _, part in _noise_parts(grid, thinned):
        for (rate,), mine in part.sort("flipped").group_by("flipped", maintain_order=True):
            stratum = f"{name}, ε = {rate:g}"
            yield _mean_estimate("rho", mine, "rho", arm="soft", stratum=stratum)


ANSWERS: Mapping[Subject, tuple[Answer, ...]] = {
    "information": (
        gap_with_few_items,
        change_with_more("classes"),
        change_on_the_diagonal,
        change_with_more("items"),
    ),
    "sparsity": (
        gap_everywhere("sparse", "top-class"),
        gap_everywhere("sparse", "top-class-zero"),
        gap_on_average(PCA, "sparse"),
        gap_on_average(SEARCHED, PCA),
    ),
    "costs": (clear_losses, break_even_correlation, worth_when_cheap, best_sparsity_gains),
}
"""What is asked in each number of dimensions, by subject."""


def _estimate(
    metric: str,
    behind: pl.DataFrame,
    value: float,
    ends: Interval = NOTHING,
    *,
    arm: str = "",
    second: str = "",
    stratum: str = "",
    over: str = "seeds",
    p: float | None = None,
    note: str = "",
) -> Estimate:
    """A number with the cells of the worlds that are behind it."""
    dimensions = behind["dimensions"].unique()
    cells = chain.from_iterable(
        behind[column] for column in ("cell", "second_cell") if column in behind.columns
    )
    row = Estimate(
        metric, value, arm, second, against="", stratum=stratum,
        part=f"d = {dimensions[0]}" if len(dimensions) == 1 else "all",
        seeds=tuple(behind["seed"].unique().sort()), p=p, simulated=True,
        source=source_text(cells=[*sorted(set(cells))], simulated=True, note=note),
    )  # fmt: skip
    return with_interval(row, ends.low, ends.high, over)


def _mean_estimate(
    metric: str,
    gaps: pl.DataFrame,
    column: str = "gap",
    *,
    doubts: Sequence[float] = (),
    arm: str = "",
    second: str = "",
    stratum: str = "",
    note: str = "",
) -> Estimate:
    """Mean over seeds of each seed's mean, with its interval.

    ``doubts`` are numbers about more than the average: the lower end is no higher than those of
    them that are below zero.
    """
    by_seed = (
        gaps.group_by("seed", maintain_order=True)
        .agg(pl.col(column).mean())
        .sort("seed")[column]
        .to_numpy()
    )
    average = student_interval(by_seed)
    low = min([average.low, *(doubt for doubt in doubts if doubt < 0)])
    if low < average.low:
        note = f"{interval(*average)} on average; {note}"
    ends = NOTHING if math.isnan(average.low) else Interval(low, average.high)
    return _estimate(
        metric, gaps, float(by_seed.mean()), ends, arm=arm, second=second, stratum=stratum,
        note=note,
    )  # fmt: skip


def _gaps(grid: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Two forms in the same world without wrong answers; empty where one of them is not there.

    Where k̂ = k, forms with a k̂ are the same soft labels; that is no comparison.
    """
    plain = grid.filter(flipped=0.0)
    if not {first, second} <= set(plain["form"]):
        return plain.clear().with_columns(second="rho", gap="rho")
    both = pair_forms(plain, first, second)
    if {first, second} & set(CODES):
        return both
    return both.filter(pl.col("kept").is_null() | (pl.col("kept") < pl.col("classes")))


def _by_task(gaps: pl.DataFrame) -> pl.DataFrame:
    return mean_over_seeds(gaps, TASK, "gap")


def _break_evens(gaps: pl.DataFrame) -> pl.DataFrame:
    """Of every task the ``gap`` of soft and hard, its ``dearer`` cost, and ``even``, the β of equal
    loss with linear utility and the paper's costs (S1-31)."""
    return _by_task(gaps).with_columns(dearer=DEARER, even=pl.col("gap") / DEARER)


def _changed(start: pl.DataFrame, end: pl.DataFrame, *, on: list[str]) -> pl.DataFrame:
    both = end.join(
        start.select(*on, start="rho", second_cell="cell"), on=on, maintain_order="left"
    )
    return both.with_columns(gap=pl.col("rho") - pl.col("start"))


def _saved(priced: pl.DataFrame) -> pl.DataFrame:
    """``gap`` of every size, β and seed: the better other form's loss less that of sparse."""
    sparse = priced.filter(form="sparse").select(*CASE, "seed", "kept", "loss", "cell")
    others = (pl.col("loss").sum() - pl.col("loss")) / (pl.len() - 1)
    chosen = (
        sparse.with_columns(elsewhere=others.over([*CASE, "kept"]))
        .sort("elsewhere", "kept", maintain_order=True)
        .unique([*CASE, "seed"], keep="first", maintain_order=True)
    )
    rivals = priced.filter(pl.col("form") != "sparse").group_by(*CASE, "seed", maintain_order=True)
    both = chosen.join(
        rivals.agg(rival=pl.col("loss").min()), on=[*CASE, "seed"], maintain_order="left"
    )
    return both.with_columns(gap=pl.col("rival") - pl.col("loss"))


def _noise_parts(
    grid: pl.DataFrame, thinned: pl.DataFrame
) -> Iterator[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """A name, labels without wrong answers, and those with, or with fewer."""
    columns = [*WORLD, "rho", "cell"]
    soft = grid.filter(form="soft")
    wrong = soft.filter(pl.col("flipped") > 0)
    if not len(wrong):
        return
    task = ["items", "classes", "dimensions"]
    right = (
        soft.filter(flipped=0.0)
        .join(wrong, on=task, how="semi", maintain_order="left")
        .select(columns)
    )
    for rule, name in SERIES.items():
        mine = wrong if rule == "flipped" else thinned.filter(form="soft", rule=rule)
        yield name, right, mine.select(columns)


def _worst(gaps: pl.DataFrame) -> tuple[float, str]:
    """The least gap of a task, and in how many there is none."""
    tasks = _by_task(gaps)
    worst = tasks.sort("gap").row(0, named=True)
    note = _counts(tasks)
    if worst["gap"] < 0:
        at = f"n = {worst['items']}, k = {worst['classes']}, k̂ = {worst['kept']}"
        note += f", the worst {signed_number(worst['gap'])} at {at}"
    return worst["gap"], note


def _counts(tasks: pl.DataFrame) -> str:
    no_less = int((tasks["gap"] >= 0).sum())
    less = len(_clearly_less(tasks))
    return f"no less at {no_less} of {len(tasks)} tasks, clearly less at {less}"


def _clearly_less(tasks: pl.DataFrame) -> list[float]:
    """Upper ends of the tasks whose interval over seeds lies below zero.

    Some do by chance where there are many.
    """
    return tasks.filter(pl.col("high") < 0)["high"].to_list()


def _average(table: pl.DataFrame, column: str) -> float:
    return float(table[column].mean())  # type: ignore[arg-type]
