"""Turn points of a grid into cells of a sweep, and finished cells into tables.

A cell holds several small worlds, so that starting and keeping it costs little beside its work,
and worlds of one seed only, so that more seeds in a second run leave the first ones as they are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.learn.sweep import Cell, CellResult, FailedCell, FinishedCell
from sfumato.planning.embed import (
    Triplets,
    gnmds_triplets,
    mine,
    rank_scores,
    read_triplets,
    spearman,
)
from sfumato.planning.grid import expected_work, run_grid, simulate_point
from sfumato.planning.information import NOISE
from sfumato.planning.worlds import Ask, Point, scores_of, world_at
from sfumato.studies.informativeness.study import GridStudy, points_of

__all__ = ["grid_cells", "grid_table", "simulate_points", "thin_points", "thinned_table"]

CELL_SECONDS = 2.0
"""About how long a cell of several worlds takes on one core."""

THINNED = {
    "rule": pl.String(), "form": pl.String(), "items": pl.Int64(), "classes": pl.Int64(),
    "dimensions": pl.Int64(), "flipped": pl.Float64(), "seed": pl.Int64(), "rho": pl.Float64(),
}  # fmt: skip


def grid_cells(study: GridStudy) -> list[Cell]:
    """All work of a study, the longest first."""
    points = points_of(study)
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


def simulate_points(points: Sequence[Point]) -> CellResult:
    """What ``plan.grid.simulate_point`` finds at each point; the work is counted in worlds."""
    found = [simulate_point(point) for point in points]
    return CellResult({"found": found}, work=float(len(points)))


def thin_points(points: Sequence[Point]) -> CellResult:
    """ρ of right answers only, but no more of them than a formula says that wrong ones leave.

    At each point the answers that its labels hold are kept with chance 1 - ε or 1 - H₂(ε), each
    independently (S1-27): were the formula true, ρ would be that of flipped answers.
    """
    rows = [
        (rule, ask.form, *_task(point), _thinned(point, ask, share(point.flipped), rule))
        for point in points
        for ask in point.asks
        for rule, share in NOISE.items()
    ]
    return CellResult({"rows": rows}, work=float(len(points)))


def grid_table(results: Sequence[FinishedCell | FailedCell]) -> pl.DataFrame:
    """A row a label tried, as ``plan.grid.run_grid`` gives it; failed cells are left out."""
    found: dict[Point, dict[str, Any]] = {}
    for result in _done(results, simulate_points):
        points = result.cell.inputs["points"]
        found |= dict(zip(points, result.scores["found"], strict=True))
    return run_grid(list(found), run=lambda _, points: [found[point] for point in points])


def thinned_table(results: Sequence[FinishedCell | FailedCell]) -> pl.DataFrame:
    """A row a formula, form, rate of wrong answers and seed, with ``rho``."""
    rows = [row for result in _done(results, thin_points) for row in result.scores["rows"]]
    table = pl.DataFrame(rows, schema=THINNED, orient="row")
    return table.sort("rule", "form", "flipped", "seed")


def _done(results: Sequence[FinishedCell | FailedCell], function: object) -> list[FinishedCell]:
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


def _task(point: Point) -> tuple[int, int, int, float, int]:
    return point.items, point.classes, point.dimensions, point.flipped, point.seed


def _thinned(point: Point, ask: Ask, share: float, rule: str) -> float:
    world = world_at(replace(point, asks=()))
    answers = mine(rank_scores(scores_of(world, ask.form, ask.kept)))
    place = list(NOISE).index(rule)
    # a stream of its own: which answers are lost has nothing to do with which are flipped
    rng = np.random.default_rng([point.seed, point.items, round(1000 * point.flipped), place])
    gram = gnmds_triplets(_kept(answers, share, rng), rng=rng).gram
    return float(np.nan_to_num(spearman(gram, world.similarity), nan=0.0))


def _kept(answers: Triplets, share: float, rng: np.random.Generator) -> Triplets:
    lucky = rng.random(len(answers.answers)) < share
    lucky[rng.integers(len(lucky))] |= not lucky.any()  # an embedding needs one at least
    return read_triplets(answers.answers[lucky], objects=answers.objects)
