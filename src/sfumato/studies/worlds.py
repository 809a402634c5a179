"""Turn a study of simulated worlds into cells of a sweep, and finished cells into tables (paper 2).

A cell holds several small worlds, so that starting and keeping it costs little beside its work,
and worlds of one seed only, so that more seeds in a second run leave the first ones as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.learn.sweep import Cell, CellResult, FailedCell, FinishedCell
from sfumato.planning.embed import (
    Triplets,
    gnmds_triplets,
    mine_triplets,
    rank_scores,
    read_triplets,
    spearman,
)
from sfumato.planning.grid import default_points, expected_work, run_grid, simulate_point
from sfumato.planning.information import NOISE
from sfumato.planning.worlds import PCA, Ask, Point, scores_of, world_at
from sfumato.studies.study import Study, Subject, Worlds

CELL_SECONDS = 2.0
"""About how long a cell of several worlds takes on one core."""

LABELLED: Mapping[Subject, tuple[str, ...]] = {
    "information": ("hard", "soft"),
    "sparsity": ("hard", "soft", "sparse", "top-class", "top-class-zero", PCA),
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
