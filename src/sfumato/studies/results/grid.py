"""What a grid of simulated worlds tells its page."""

from pathlib import Path
from typing import Any

import polars as pl

from sfumato.planning.grid import means
from sfumato.reporting.text import count
from sfumato.studies.informativeness.paper2 import Compared, compare_claims
from sfumato.studies.informativeness.stored import GridRun, read_run
from sfumato.studies.informativeness.tables import (
    best_rows,
    correlation_rows,
    kept_rows,
    noise_rows,
    noise_shown,
    rho_rows,
)
from sfumato.studies.results.result import ClaimTold, Part
from sfumato.studies.results.told import Told, estimates, found_text

__all__ = ["told_by_grid"]

FIGURES = ("rho", "flipped", "kept", "preference", "loss-30-30", "loss-90-90")

MEANS = ("form", "kept", "items", "classes", "dimensions", "flipped", "rho", "low", "high", "seeds")


def told_by_grid(folder: Path) -> Told:
    """ρ by form, size and dimensions, wrong answers, and the claims of paper 2."""
    run = read_run(folder)
    claims = tuple(map(_claim, compare_claims(run.told)))
    return Told(claims, _scores(run), tuple(_parts(run)), FIGURES)


def _claim(one: Compared) -> ClaimTold:
    return ClaimTold(
        "paper 2",
        one.claim.source,
        one.claim.says,
        one.claim.number or "no number given",
        found_text(one.found),
        one.verdict,
        one.claim.note,
        estimates(one.found),
    )


def _scores(run: GridRun) -> list[dict[str, Any]]:
    sizes = list(run.study["curve_sizes"])
    inside = pl.all_horizontal(pl.col("items", "classes").is_in(sizes))
    return means(run.told.grid.filter(inside)).select(MEANS).fill_nan(None).to_dicts()


def _parts(run: GridRun) -> list[Part]:
    grid, sizes = run.told.grid, run.study["curve_sizes"]
    worlds = len(grid.select("items", "classes", "dimensions", "flipped", "seed").unique())
    over = "in brackets 95 % intervals over seeds (Student's t); with few seeds they are wide."
    parts = [
        Part(
            f"ρ of {form} labels",
            f"Spearman's correlation of recovered and true similarities; {over}",
            (rho_rows(grid, form, sizes),),
        )
        for form in ("soft", "hard")
        if form in set(grid["form"])
    ]
    made = f"{count(worlds, 'world')} and {count(len(grid), 'set')} of labels were simulated."
    parts.insert(0, Part("What was simulated", made))
    if "sparsity" in run.told.subjects:
        title = "ρ by numbers in an answer (k̂)"
        parts.append(Part(title, over.capitalize(), (kept_rows(grid, sizes),)))
    if "costs" in run.told.subjects:
        best = best_rows(grid, sizes, run.middle, run.study["loss_betas"])
        where = f"With linear utility, in {run.middle} dimensions, by means over seeds."
        parts.append(Part("Labels of least loss", where, (best,)))
    if "information" in run.told.subjects:
        title = "Information ratio and effective dimensionality"
        parts.append(Part(title, "", (correlation_rows(run.told),)))
    rows = noise_rows(run.told)
    if len(rows):
        size, deep = run.study["flipped_at"]
        where = f"ρ of soft labels of {size} items and {size} classes in {deep} dimensions."
        parts.append(Part("Wrong answers", where, (noise_shown(rows),)))
    return parts
