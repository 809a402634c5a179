import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from sfumato.cli.commands import app
from sfumato.errors import DataError
from sfumato.learn.sweep import Cell, FailedCell, FinishedCell, Progress, run_sweep
from sfumato.planning.grid import default_points, expected_work, run_grid
from sfumato.planning.worlds import Ask, Point
from sfumato.studies.files import kind_of
from sfumato.studies.finished import Finished
from sfumato.studies.informativeness import run as grid_run
from sfumato.studies.informativeness.cells import (
    CELL_SECONDS,
    grid_cells,
    simulate_points,
    thin_points,
)
from sfumato.studies.informativeness.components import component_curves
from sfumato.studies.informativeness.study import SUBJECTS, GridStudy, points_of
from sfumato.studies.page import draw_report
from sfumato.studies.results.gather import read_result
from sfumato.studies.results.page import page_of
from sfumato.studies.run import run_study
from sfumato.studies.shipped import GRIDS
from sfumato.studies.study import study_to_json

SIZES = (3, 10, 30)
SEEDS = 3
STUDY = GridStudy(
    name="small-grid",
    title="A small grid",
    seeds=SEEDS,
    map_sizes=SIZES,
    curve_sizes=SIZES,
    dimensions=(25,),
    kept=(2,),
    flips=(0.3,),
    flipped_at=(10, 25),
    betas=(1e-3,),
    loss_betas=(1e-3,),
    utilities=("linear",),
)

# ρ of the notes by n, for k = 3, 10, 30 in 25 dimensions, the mean of 10 seeds, and the standard
# deviation over 10 seeds that was measured here.
NOTED = {
    "soft": {3: (0.757, 0.598, 0.439), 10: (0.816, 0.822, 0.737), 30: (0.839, 0.831, 0.889)},
    "hard": {3: (0.694, 0.095, 0.004), 10: (0.611, 0.371, 0.026), 30: (0.707, 0.222, 0.198)},
}
SPREAD = {
    "soft": {3: (0.159, 0.119, 0.040), 10: (0.065, 0.046, 0.036), 30: (0.033, 0.014, 0.013)},
    "hard": {3: (0.000, 0.099, 0.081), 10: (0.084, 0.000, 0.058), 30: (0.031, 0.020, 0.080)},
}
LEAST_SPREAD = 0.02
"""Few seeds may all agree by chance; the notes' solver is another one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("grid") / "small"
    seen: list[Progress] = []
    done = run_study(STUDY, folder, data=None, progress=seen.append)
    assert (done.done, done.failed) == (len(grid_cells(STUDY)), 0)
    assert seen[-1].work == len(points_of(STUDY)) + SEEDS  # worlds, and those with fewer answers
    return folder


def test_run_leaves_what_it_found_in_its_folder(folder: Path) -> None:
    told = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    page = (folder / "report.html").read_text(encoding="utf-8")

    assert told["kind"] == "grid"
    assert told["study"] == study_to_json(STUDY)
    assert told["simulated"]
    assert "simulated worlds" in page
    assert "simulated annotators" not in page
    names = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert names >= {
        "information-ratio", "rho", "preference", "effective-dimensionality", "components",
        "kept-25", "loss-10-10", "loss-30-30", "flipped",
    }  # fmt: skip


def test_tables_are_those_of_the_same_points_in_a_loop(folder: Path) -> None:
    few = [point for point in points_of(STUDY) if point.items == 3 and point.seed == 1]

    stored = pl.read_parquet(folder / "tables" / "grid.parquet")

    assert_frame_equal(stored.filter(items=3, seed=1), run_grid(few), check_exact=True)


@pytest.mark.parametrize("form", NOTED)
def test_rho_is_that_of_the_notes_within_the_spread_of_seeds(folder: Path, form: str) -> None:
    table = pl.read_parquet(folder / "tables" / "grid.parquet").filter(form=form, flipped=0.0)
    for n in SIZES:
        for k, noted, spread in zip(SIZES, NOTED[form][n], SPREAD[form][n], strict=True):
            mine = table.filter(items=n, classes=k)["rho"].to_numpy()

            # two means, of 3 and of 10 seeds, each with this spread
            error = max(spread, LEAST_SPREAD) * np.sqrt(1 / SEEDS + 1 / 10)
            assert len(mine) == SEEDS
            assert abs(mine.mean() - noted) <= 3 * error, (n, k)


def test_report_is_drawn_again_from_files_alone(folder: Path, tmp_path: Path) -> None:
    for name in ("study.json", "facts.json"):
        shutil.copy(folder / name, tmp_path / name)
    shutil.copytree(folder / "tables", tmp_path / "tables")

    again = draw_report(tmp_path)

    assert again.read_bytes() == (folder / "report.html").read_bytes()


def test_stopped_run_goes_on_and_ends_with_equal_tables(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = tmp_path / "partial"
    shutil.copytree(folder / "cells", partial / "cells")
    shutil.copy(folder / "study.json", partial / "study.json")
    lost = sorted((partial / "cells").glob("*.json"))[::2]
    for path in lost:
        path.unlink()
    monkeypatch.setattr(grid_run, "draw_grid_report", lambda folder: folder / "report.html")
    seen: list[Progress] = []

    run_study(STUDY, partial, data=None, progress=seen.append)

    assert seen[0].found == len(grid_cells(STUDY)) - len(lost)
    for path in sorted((folder / "tables").glob("*.parquet")):
        other = partial / "tables" / path.name
        assert_frame_equal(pl.read_parquet(other), pl.read_parquet(path), check_exact=True)


def test_unfinished_run_has_no_report(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "study.json", tmp_path / "study.json")

    with pytest.raises(DataError, match="not the folder of a finished run"):
        draw_report(tmp_path)


def test_folder_of_another_study_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="holds the study 'small-grid'"):
        run_study(replace(STUDY, name="other"), folder, data=None)


def test_page_of_the_documentation_has_numbers_and_verdicts(folder: Path, tmp_path: Path) -> None:
    result = read_result(folder)
    page = page_of(result)

    assert "| 25 | 30 | " in page
    assert "| all together |" not in page  # one number of dimensions
    assert "T answers, εT of them wrong" in page
    first = result.claims[0]
    assert (first.work, first.verdict, first.found[0].where) == ("paper 2", "reproduced", "d = 25")
    assert first.found[0].low is not None
    assert first.found[0].low > 0
    with pytest.raises(DataError, match="not the folder of a run"):
        read_result(tmp_path)


def test_command_runs_a_grid_and_counts_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def instead(study: GridStudy, folder: Path, **options: Any) -> Finished:
        options["progress"](Progress(total=4, found=0, done=1, failed=0, seconds=2.0, work=9.0))
        return Finished(folder / f"{study.name}-{study.seeds}.html", done=3, failed=1)

    monkeypatch.setattr("sfumato.studies.run.run_study", instead)
    monkeypatch.setattr("sfumato.cli.printing.QUIET_SECONDS", 0.0)

    result = CliRunner().invoke(
        app, ["run", "informativeness-grid", "-o", str(tmp_path), "--seeds", "2"]
    )

    assert result.exit_code == 0
    assert result.stdout == f"Report: {tmp_path / 'informativeness-grid-2.html'}\n"
    assert "Simulating: 25%, 4.5 worlds a second, 6 s left" in result.stderr
    assert "1 of 4 cells failed" in result.stderr


def test_folder_that_names_no_kind_is_one_of_trainings() -> None:
    assert kind_of({"study": {}}) == "trainings"
    assert kind_of({"kind": "grid", "study": {}}) == "grid"


def test_shipped_grid_is_the_default_grid() -> None:
    study = GRIDS["informativeness-grid"].cpu

    assert points_of(replace(study, subjects=SUBJECTS)) == default_points(3)
    assert study.middle == 25


def test_cells_hold_every_point_once_and_more_seeds_leave_them_as_they_are() -> None:
    study = GRIDS["informativeness-grid"].cpu
    grid = [cell for cell in grid_cells(study) if cell.function is simulate_points]
    more = {cell.inputs["points"] for cell in grid_cells(replace(study, seeds=5))}

    held = [point for cell in grid for point in cell.inputs["points"]]
    work = [sum(map(expected_work, cell.inputs["points"])) for cell in grid]
    assert len(held) == len(set(held))
    assert set(held) == set(points_of(study))
    assert {cell.inputs["points"] for cell in grid} <= more
    assert work == sorted(work, reverse=True)
    alone = max(map(expected_work, held))
    assert max(work) <= max(alone, 2 * CELL_SECONDS)
    assert np.median(work) >= CELL_SECONDS / 2


def test_failed_worlds_are_told_and_the_rest_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_fails(
        cells: Sequence[Cell], place: Path, **options: Any
    ) -> list[FinishedCell | FailedCell]:
        results = run_sweep(cells, place, **options)
        return [FailedCell(cells[0], "0" * 64, "out of memory"), *results[1:]]

    shutil.copytree(folder / "cells", tmp_path / "cells")
    monkeypatch.setattr(grid_run, "run_sweep", one_fails)
    monkeypatch.setattr(grid_run, "draw_grid_report", lambda folder: folder / "report.html")

    done = run_study(STUDY, tmp_path, data=None)

    failed = pl.read_parquet(tmp_path / "tables" / "failed.parquet")
    grid = pl.read_parquet(tmp_path / "tables" / "grid.parquet")
    lost = sum(len(point.asks) for point in grid_cells(STUDY)[0].inputs["points"])
    assert done.failed == 1
    assert failed["reason"].to_list() == ["out of memory"]
    assert len(grid) == len(pl.read_parquet(folder / "tables" / "grid.parquet")) - lost


def test_answers_that_are_left_out_cost_less_than_answers_that_are_wrong() -> None:
    asks = (Ask("soft"),)
    point = Point(10, 10, 25, 0, asks, flipped=0.4)

    rows = thin_points([point, replace(point, flipped=0.0)]).scores["rows"]

    found = {(rule, flipped): rho for rule, _, _, _, _, flipped, _, rho in rows}
    wrong = run_grid([point])["rho"].item()
    right = run_grid([replace(point, flipped=0.0)])["rho"].item()
    assert wrong < found["linear", 0.4] - 0.1
    assert found["capacity", 0.4] < found["linear", 0.4]
    assert found["linear", 0.0] == pytest.approx(right, abs=0.01)  # nothing is left out


def test_components_end_at_the_truth_and_reach_soft_labels_where_they_say() -> None:
    table = component_curves([Point(10, 6, 5, 0, ())])

    at = int(table["effective"][0])
    assert table["kept"].to_list() == [1, 2, 3, 4, 5]
    assert table["rho"][-1] == pytest.approx(1)
    assert table.filter(kept=at)["rho"].item() >= table["soft"][0]
    assert (table.filter(pl.col("kept") < at)["rho"] < table["soft"][0]).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seeds": 0}, "0 seeds"),
        ({"dimensions": ()}, "needs one of its dimensions"),
        ({"map_sizes": (2,)}, "3 or more"),
        ({"flips": (0.7,)}, "0 to 0.5"),
    ],
)
def test_impossible_grid_is_refused(change: dict[str, tuple[int, ...]], told: str) -> None:
    with pytest.raises(DataError, match=told):
        replace(STUDY, **change)  # type: ignore[arg-type]
