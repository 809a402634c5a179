"""Turn a world into what its principal components recover, with its soft labels beside (S1-F2)."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from sfumato.planning.grid import pca_curve, simulate_point
from sfumato.planning.worlds import Ask, Point, world_at

__all__ = ["component_curves"]

SCHEMA = {
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
    """ρ of the first 1, 2, … principal components in the world of each point.

    Columns ``items``, ``classes``, ``dimensions``, ``seed``, ``kept`` (components), ``rho``, and
    on every row ``soft``, the ρ of soft labels in this world, with ``effective``, the fewest
    components that reach it. What is asked at the points is not read.
    """
    rows = [row for point in points for row in _curve(point)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _curve(point: Point) -> list[tuple[float | int | None, ...]]:
    soft = simulate_point(replace(point, asks=(Ask("soft"),), flipped=0.0))["rows"][0]
    task = (point.items, point.classes, point.dimensions, point.seed)
    return [
        (*task, place + 1, float(rho), soft["rho"], soft["effective"])
        for place, rho in enumerate(pca_curve(world_at(point).points))
    ]
