"""Run a grid of simulated worlds into one folder, with tables and a report.

The folder holds ``study.json`` (settings, versions), ``cells/`` (a few finished worlds each),
``tables/``, ``facts.json``, ``figures/`` and ``report.html``. A run that was stopped continues
where it was.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.learn.sweep import Engine, FailedCell, FinishedCell, Progress, run_sweep
from sfumato.planning.grid import means
from sfumato.studies.files import start_folder, write_tables
from sfumato.studies.finished import Finished
from sfumato.studies.informativeness.cells import grid_cells, grid_table, thinned_table
from sfumato.studies.informativeness.components import component_curves
from sfumato.studies.informativeness.page import draw_grid_report
from sfumato.studies.informativeness.study import GridStudy, example_points
from sfumato.studies.study import study_to_json

__all__ = ["run_grid_study"]


def run_grid_study(
    study: GridStudy,
    folder: Path,
    *,
    engine: Engine = "local",
    scheduler: str | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    stage: Callable[[str], None] = lambda name: None,
) -> Finished:
    """Simulate every world, then write tables and report; ``stage`` is told what begins."""
    start_folder(folder, kind="grid", study=study_to_json(study), simulated=True)
    stage("Simulated worlds")
    start, found = time.monotonic(), 0

    def watch(state: Progress) -> None:
        nonlocal found
        found = state.found
        progress(state)

    results = run_sweep(
        grid_cells(study),
        folder / "cells",
        engine=engine,
        scheduler=scheduler,
        progress=watch,
    )
    failed = [result for result in results if isinstance(result, FailedCell)]
    done = [result for result in results if isinstance(result, FinishedCell)]
    if not done:
        raise DataError(f"Every world failed; the first, {failed[0].cell.name}: {failed[0].reason}")
    seconds = time.monotonic() - start
    stage("Tables and report")
    write_tables(_tables(study, results), folder)
    text = json.dumps({"seconds": round(seconds, 1), "found_finished": found}, indent=2)
    (folder / "facts.json").write_text(text + "\n", encoding="utf-8")
    return Finished(draw_grid_report(folder), len(done), len(failed))


def _tables(
    study: GridStudy, results: Sequence[FinishedCell | FailedCell]
) -> dict[str, pl.DataFrame]:
    grid = grid_table(results)
    tables = {
        "grid": grid,
        "means": means(grid),
        "thinned": thinned_table(results),
    }
    if "information" in study.subjects:
        tables["components"] = component_curves(example_points(study))
    failed = [
        {"worlds": result.cell.name, "reason": result.reason}
        for result in results
        if isinstance(result, FailedCell)
    ]
    return tables | ({"failed": pl.DataFrame(failed)} if failed else {})
