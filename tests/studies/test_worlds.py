"""Worlds are simulated in cells, found again in tables, and told in a report."""

import math
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError
from sfumato.learn.sweep import Cell, FailedCell, FinishedCell, Progress, run_sweep
from sfumato.planning.grid import SCHEMA, component_curves, default_points, expected_work, run_grid
from sfumato.planning.information import constraints
from sfumato.planning.worlds import Ask, Point
from sfumato.reporting.page import Table
from sfumato.scores import Estimate, Estimates
from sfumato.studies import run as running
from sfumato.studies.claims import JudgedClaim, judge, read_claims
from sfumato.studies.data import Predictions, StudyData
from sfumato.studies.pages import study_page
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.sections import worlds as sections
from sfumato.studies.study import Study, Subject, Worlds, read_study, study_from, study_settings
from sfumato.studies.worlds import (
    ANSWERS,
    CELL_SECONDS,
    LABELLED,
    SPARSE_BETAS,
    THINNED,
    best_sparsity_gains,
    break_even_correlation,
    change_on_the_diagonal,
    change_with_more,
    clear_losses,
    flip_gaps,
    gap_everywhere,
    gap_on_average,
    gap_with_few_items,
    mean_rhos,
    noise_rhos,
    noise_table,
    ratio_correlations,
    simulate_points,
    thin_points,
    world_cells,
    world_points,
    worlds,
    worth_when_cheap,
)

pytestmark = pytest.mark.check

SHIPPED = ("informativeness-grid", "informativeness-sparsity", "informativeness-costs")
SIZES = (3, 10, 30)
SEEDS = 3
FEW = {
    "map_sizes": SIZES,
    "curve_sizes": SIZES,
    "dimensions": (25,),
    "kept": (2,),
    "flips": (0.3,),
    "flipped_at": (10, 25),
    "betas": (1e-3,),
    "loss_betas": (1e-3,),
    "utilities": ("linear",),
}
SMALL = {
    **FEW,
    "map_sizes": (3, 8),
    "curve_sizes": (3, 10),
    "dimensions": (5,),
    "kept": (2, 5),
    "flipped_at": (8, 5),
}


def study_of(worlds: dict[str, Any], *, name: str = "small-grid", seeds: int = SEEDS) -> Study:
    return study_from(
        {
            "name": name,
            "title": "A small grid",
            "data": "worlds",
            "seeds": seeds,
            "worlds": worlds,
            "measures": ["worlds"],
        }
    )


STUDY = study_of(FEW)

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
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run."""
    seen: list[Progress] = []
    folder = tmp_path_factory.mktemp("grid") / "small"
    found = run_study(STUDY, folder, Runner(progress=seen.append))
    assert (seen[-1].done, seen[-1].failed) == (len(world_cells(STUDY)), 0)
    # worlds, and those with fewer answers
    assert seen[-1].work == len(world_points(Worlds.model_validate(FEW), SEEDS)) + SEEDS
    return found


def test_run_leaves_what_it_found_in_its_folder(run: Run) -> None:
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    names = {path.stem for path in (run.folder / "figures").glob("*.svg")}

    assert study_settings(run.study) == study_settings(STUDY)
    assert run.simulated
    assert "simulated worlds" in page
    assert "simulated annotators" not in page
    assert names >= {
        "information-ratio", "rho", "preference", "effective-dimensionality", "components",
        "kept-25", "loss-10-10", "loss-30-30", "flipped",
    }  # fmt: skip


def test_tables_are_those_of_the_same_points_in_a_loop(run: Run) -> None:
    points = world_points(Worlds.model_validate(FEW), SEEDS)
    few = [point for point in points if point.items == 3 and point.seed == 1]

    stored = run.tables["grid"].filter(items=3, seed=1).drop("cell")

    assert_frame_equal(stored, run_grid(few), check_exact=True)


@pytest.mark.parametrize("form", NOTED)
def test_rho_is_that_of_the_notes_within_the_spread_of_seeds(run: Run, form: str) -> None:
    table = run.tables["grid"].filter(form=form, flipped=0.0)
    for n in SIZES:
        for k, noted, spread in zip(SIZES, NOTED[form][n], SPREAD[form][n], strict=True):
            mine = table.filter(items=n, classes=k)["rho"].to_numpy()

            # two means, of 3 and of 10 seeds, each with this spread
            error = max(spread, LEAST_SPREAD) * np.sqrt(1 / SEEDS + 1 / 10)
            assert len(mine) == SEEDS
            assert abs(mine.mean() - noted) <= 3 * error, (n, k)


def test_every_estimate_leads_to_a_cell_of_the_run(run: Run) -> None:
    stored = {path.stem for path in (run.folder / "cells").glob("*.json")}

    assert set(run.tables["grid"]["cell"]) < stored  # those of fewer answers are not in the grid
    for row in run.estimates:
        assert row.simulated
        assert any(cell in row.source for cell in stored)
    means = run.tables["means"].filter(form="soft", items=30, classes=10, flipped=0.0)
    shown = next(iter(run.estimates.filter(metric="rho", arm="soft", stratum="n = 30, k = 10")))
    assert (shown.value, shown.low, shown.high) == pytest.approx(
        means.select("rho", "low", "high").row(0)
    )


def test_report_is_drawn_again_from_files_alone(run: Run, tmp_path: Path) -> None:
    for name in ("study.toml", "run.json", "estimates.parquet"):
        shutil.copy(run.folder / name, tmp_path / name)
    shutil.copytree(run.folder / "tables", tmp_path / "tables")

    again = Run.open(tmp_path).report()

    assert again.read_bytes() == (run.folder / "report.html").read_bytes()


def test_stopped_run_goes_on_and_ends_with_equal_tables(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = tmp_path / "partial"
    shutil.copytree(run.folder / "cells", partial / "cells")
    for name in ("study.toml", "run.json"):
        shutil.copy(run.folder / name, partial / name)
    lost = sorted((partial / "cells").glob("*.json"))[::2]
    for path in lost:
        path.unlink()
    monkeypatch.setattr(running, "write_report", lambda run: run.folder / "report.html")
    seen: list[Progress] = []

    again = run_study(STUDY, partial, Runner(progress=seen.append))

    assert seen[0].found == len(world_cells(STUDY)) - len(lost)
    assert again.tables.keys() == run.tables.keys()
    for name, table in run.tables.items():
        assert_frame_equal(again.tables[name], table, check_exact=True)
    assert_frame_equal(again.estimates.table, run.estimates.table, check_exact=True)


def test_unfinished_run_has_no_report(run: Run, tmp_path: Path) -> None:
    for name in ("study.toml", "run.json"):
        shutil.copy(run.folder / name, tmp_path / name)

    with pytest.raises(DataError, match="not finished"):
        Run.open(tmp_path).report()


def test_folder_of_another_study_is_refused(run: Run) -> None:
    with pytest.raises(DataError, match="holds the study 'small-grid'"):
        run_study(study_of(FEW, name="other"), run.folder)


def test_sections_show_numbers_with_intervals(run: Run) -> None:
    rho = sections.rho_rows(run.tables["means"], "soft", SIZES)
    dimensions = sections.dimensionality(run)
    noise = sections.wrong_answers(run)

    assert rho.columns == ["d", "n", "k = 3", "k = 10", "k = 30"]
    assert rho.select("d", "n").rows() == [(25, 3), (25, 10), (25, 30)]
    assert "[" in rho["k = 30"][2]
    assert dimensions is not None
    last, second = dimensions.blocks[-1], (noise.blocks[1] if noise else None)
    assert isinstance(last, Table)
    assert last.table["dimensions"].to_list() == ["d = 25"]
    assert noise is not None
    assert isinstance(second, Table)
    assert second.table.columns == ["", "ε = 0", "ε = 0.3"]


def test_claims_are_found_in_the_estimates_of_a_run(tmp_path: Path) -> None:
    # the shipped names have the claims; the worlds are few and small
    for shipped in SHIPPED:
        subjects = read_study(shipped).worlds
        assert subjects is not None
        study = study_of({**SMALL, "subjects": subjects.subjects}, name=shipped, seeds=2)
        found = run_study(study, tmp_path / shipped)

        assert len(found.claims) == len(read_claims(shipped))
        known = {one.claim.id: one for one in found.claims}
        if shipped == "informativeness-grid":
            assert {one.part for one in known["informativeness-grid-01"].found} == {"d = 5"}
            assert known["informativeness-grid-06"].found[0].stratum == "ε = 0.3"


def test_table_of_claims_has_a_column_for_each_number_of_dimensions(tmp_path: Path) -> None:
    worlds = {**SMALL, "dimensions": (5, 8), "subjects": ("information",)}
    run = run_study(study_of(worlds, seeds=2), tmp_path)

    section = sections.simulation_words(run)

    assert section is not None
    count = len(world_points(Worlds.model_validate(worlds), 2))
    assert section.text.startswith(f"{count} worlds and ")
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert table.table.columns[:5] == ["what", "labels", "where", "d = 5", "d = 8"]
    flips = table.table.filter(where="ε = 0.3")
    assert flips["d = 8"].to_list() == ["–"]
    assert (table.simulated, table.made) == (True, "worlds")


def test_command_runs_a_grid_and_counts_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def instead(
        cells: Sequence[Cell], folder: Path, **options: Any
    ) -> list[FinishedCell | FailedCell]:
        options["progress"](Progress(total=4, found=0, done=1, failed=0, seconds=2.0, work=9.0))
        raise DataError(f"{len(cells)} cells")

    monkeypatch.setattr(running, "run_sweep", instead)
    monkeypatch.setattr("sfumato.cli.printing.QUIET_SECONDS", 0.0)

    result = CliRunner().invoke(
        app, ["run", "informativeness-grid", "-o", str(tmp_path), "--seeds", "2"]
    )

    assert result.exit_code == 1
    cells = world_cells(read_study("informativeness-grid", changes={"seeds": 2}))
    assert str(result.exception) == f"{len(cells)} cells"
    assert "Simulating: 25%, 4.5 worlds a second, 6 s left" in result.stderr


def test_shipped_grid_is_the_default_grid() -> None:
    worlds = read_study("informativeness-grid").worlds

    assert worlds is not None
    everything = worlds.model_copy(update={"subjects": tuple(LABELLED)})
    assert world_points(everything, 3) == default_points(3)
    assert worlds.middle == 25


def test_cells_hold_every_point_once_and_more_seeds_leave_them_as_they_are() -> None:
    study = study_of({"subjects": ("information",)})
    grid = [cell for cell in world_cells(study) if cell.function is simulate_points]
    more = {cell.inputs["points"] for cell in world_cells(study.model_copy(update={"seeds": 5}))}

    held = [point for cell in grid for point in cell.inputs["points"]]
    work = [sum(map(expected_work, cell.inputs["points"])) for cell in grid]
    assert study.worlds is not None
    assert len(held) == len(set(held))
    assert set(held) == set(world_points(study.worlds, SEEDS))
    assert {cell.inputs["points"] for cell in grid} <= more
    assert work == sorted(work, reverse=True)
    alone = max(map(expected_work, held))
    assert max(work) <= max(alone, 2 * CELL_SECONDS)
    assert np.median(work) >= CELL_SECONDS / 2


def test_failed_worlds_are_told_and_the_rest_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = run_sweep

    def one_fails(
        cells: Sequence[Cell], place: Path, **options: Any
    ) -> list[FinishedCell | FailedCell]:
        results = sweep(cells, place, **options)
        return [FailedCell(cells[0], "0" * 64, "out of memory"), *results[1:]]

    shutil.copytree(run.folder / "cells", tmp_path / "cells")
    monkeypatch.setattr(running, "run_sweep", one_fails)

    found = run_study(STUDY, tmp_path)

    lost = sum(len(point.asks) for point in world_cells(STUDY)[0].inputs["points"])
    assert found.tables["failed"]["reason"].to_list() == ["out of memory"]
    assert len(found.tables["grid"]) == len(run.tables["grid"]) - lost
    whole, part = ([one.title for one in study_page(each).sections] for each in (run, found))
    assert set(whole) <= set(part)  # no section is gone


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
    ("change", "reason"),
    [
        ({"dimensions": ()}, "needs one of its dimensions"),
        ({"subjects": ()}, "needs one of its subjects"),
        ({"map_sizes": (2,)}, "3 or more"),
        ({"flips": (0.7,)}, "0 to 0.5"),
    ],
)
def test_impossible_grid_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        study_of({**FEW, **change})
    with pytest.raises(DataError, match="seeds"):
        study_of(FEW, seeds=0)


def forms(*subjects: Subject) -> set[str]:
    return {ask.form for point in points_about(*subjects) for ask in point.asks}


def points_about(*subjects: Subject) -> list[Point]:
    return world_points(Worlds.model_validate({**SMALL, "subjects": subjects}), 2)


def test_every_claim_about_worlds_is_of_exactly_one_study() -> None:
    asked = [claim for name in SHIPPED for claim in read_claims(name)]
    subjects = [read_study(name).worlds for name in SHIPPED]

    assert len(asked) == len({claim.id for claim in asked}) == 13
    assert all(len(claim.studies) == 1 for claim in asked)
    assert {subject for worlds in subjects if worlds for subject in worlds.subjects} == set(
        LABELLED
    )


def test_only_worlds_and_forms_that_are_needed_are_simulated() -> None:
    assert forms("information") == {"hard", "soft"}
    assert forms("costs") == {"hard", "soft", "sparse", "top-class"}
    assert forms("sparsity") == {"hard", "soft", "sparse", "top-class", "top-class-zero", "pca"}
    assert {point.items for point in points_about("sparsity")} == {3, 10}
    assert {point.items for point in points_about("costs")} == {3, 8, 10}
    assert any(point.flipped for point in points_about("information"))
    assert not any(point.flipped for point in points_about("sparsity", "costs"))
    cells = world_cells(study_of({**SMALL, "subjects": ("costs",)}))
    assert all(cell.function is not thin_points for cell in cells)


def test_all_subjects_together_ask_what_each_asks() -> None:
    def asked(points: list[Point]) -> set[tuple[Point, Ask]]:
        return {(replace(point, asks=()), ask) for point in points for ask in point.asks}

    alone = [asked(points_about(subject)) for subject in LABELLED]

    assert asked(points_about(*LABELLED)) == set().union(*alone)


DRAWN: dict[Subject, set[str]] = {
    "sparsity": {"kept-5"},
    "costs": {"preference", "loss-10-10"},
}


@pytest.mark.parametrize("subject", DRAWN)
def test_run_draws_its_own_subject_only(subject: Subject, tmp_path: Path) -> None:
    found = run_study(study_of({**SMALL, "subjects": (subject,)}, seeds=2), tmp_path)

    names = {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    before = (tmp_path / "report.html").read_bytes()
    assert "failed" not in found.tables
    assert names == DRAWN[subject]
    assert found.report().read_bytes() == before


# Claims are asked of tables made by hand, whose answers are known.


MEASURED_SIZES = (3, 10, 30, 90)
MEASURED_SEEDS = 3
STUDIES = ("informativeness-grid", "informativeness-sparsity", "informativeness-costs")
CLAIMS = {claim.id: claim for study in STUDIES for claim in read_claims(study)}

Row = tuple[str, int | None, int, int, float]
"""Form, k̂, n, k, ρ; seeds differ from it by a hundredth either way."""


def table(
    rows: Iterable[Row],
    *,
    dimensions: Sequence[int] = (5,),
    flipped: float = 0.0,
    seeds: int = MEASURED_SEEDS,
    effective: int | None = None,
) -> pl.DataFrame:
    found = [
        (form, kept, n, k, d, flipped, 1.0, seed, rho + 0.01 * (seed - 1), None, effective)
        for form, kept, n, k, rho in rows
        for d in dimensions
        for seed in range(seeds)
    ]
    return with_cells(pl.DataFrame(found, schema=SCHEMA, orient="row"))


def with_cells(grid: pl.DataFrame) -> pl.DataFrame:
    """Worlds of one seed are of one cell."""
    return grid.with_columns(cell=pl.format("cell-{}", "seed"))


def of(form: str, rho: float, **other: float) -> list[Row]:
    """ρ of a form at all tasks; ``n30k10=0.5`` says otherwise for one."""
    return [
        (form, None, n, k, other.get(f"n{n}k{k}", rho))
        for n in MEASURED_SIZES
        for k in MEASURED_SIZES
    ]


def judged(name: str, rows: Iterable[Estimate]) -> JudgedClaim:
    return judge([CLAIMS[name]], Estimates.of(rows).table)[0]


@pytest.mark.parametrize(
    ("soft", "hard", "verdict"),
    [(0.8, 0.2, "reproduced"), (0.8, 0.5, "undecided"), (0.3, 0.5, "contradicted")],
)
def test_much_better_is_twice_as_much(soft: float, hard: float, verdict: str) -> None:
    rows = list(gap_with_few_items(table([*of("soft", soft), *of("hard", hard)])))

    assert judged("informativeness-grid-01", rows).verdict == verdict
    assert [row.value for row in rows] == pytest.approx([soft, hard, soft - hard])
    assert "of 10 tasks" in rows[2].note  # n ≤ k
    assert {row.stratum for row in rows} == {"n ≤ k"}


def test_one_task_at_which_hard_labels_are_clearly_better_is_enough_to_fail() -> None:
    # differences do not vary between seeds: every one is clear
    rows = list(gap_with_few_items(table([*of("soft", 0.8), *of("hard", 0.1, n10k30=0.9)])))

    assert judged("informativeness-grid-01", rows).verdict == "undecided"
    assert rows[2].low == pytest.approx(-0.1)
    assert "no less at 9 of 10 tasks, clearly less at 1" in rows[2].note


def kept_rows(form: str, rho: dict[int, float]) -> list[Row]:
    return [(form, kept, 30, 10, value) for kept, value in rho.items()]


def test_sparse_everywhere_fails_at_one_task_and_holds_on_average() -> None:
    grid = table(
        [
            *kept_rows("sparse", {1: 0.3, 2: 0.5, 5: 0.7, 10: 0.8}),
            *kept_rows("top-class", {1: 0.4, 2: 0.4, 5: 0.5, 10: 0.9}),
        ]
    )

    everywhere = list(gap_everywhere("sparse", "top-class")(grid))
    average = list(gap_on_average("sparse", "top-class")(grid))

    assert judged("informativeness-sparsity-01", everywhere).verdict == "undecided"
    # (-0.1 + 0.1 + 0.2) / 3: with k̂ = k both are soft labels, and nothing is compared
    assert everywhere[0].value == average[0].value == pytest.approx(0.2 / 3)
    assert average[0].low is not None
    assert average[0].low > 0
    assert "no less at 2 of 3 tasks" in everywhere[0].note
    assert "the worst -0.100 at n = 30, k = 10, k̂ = 1" in everywhere[0].note


def test_forms_that_were_not_simulated_decide_nothing() -> None:
    soft = table(of("soft", 1))
    answers = (gap_with_few_items, *ANSWERS["sparsity"], *ANSWERS["costs"])

    assert not [row for answer in answers for row in answer(soft)]
    assert judged("informativeness-sparsity-01", []).verdict == "not testable here"


def test_phases_are_changes_away_from_as_many_items_as_classes() -> None:
    falling = table(of("soft", 0.8, n10k90=0.5, n30k90=0.5, n90k10=0.9, n90k30=0.9, n90k90=0.9))

    (classes,) = change_with_more("classes")(falling)
    (items,) = change_with_more("items")(falling)
    (diagonal,) = change_on_the_diagonal(falling)

    assert [row.value for row in (classes, items, diagonal)] == pytest.approx([-0.3, 0.1, 0.1])
    assert classes.note == "from n = k to k = 90, n from 10 to 30"
    assert diagonal.note == "from n = k = 10 to 90"
    rows = [classes, items, diagonal]
    assert judged("informativeness-grid-02", rows).verdict == "reproduced"
    assert judged("informativeness-grid-03", rows).verdict == "reproduced"
    assert judged("informativeness-grid-04", rows).verdict == "contradicted"


def ratios(dimensions: Sequence[int]) -> pl.DataFrame:
    """The information ratio is highest where n = k, and so is the effective dimensionality."""
    parts = []
    for n in MEASURED_SIZES:
        for k in MEASURED_SIZES:
            part = table(
                [("soft", None, n, k, 0.8)], dimensions=dimensions, effective=2 if n == k else 1
            )
            count = constraints("soft", items=n, classes=k)
            parts.append(part.with_columns(constraints=pl.lit(count)))
    return pl.concat(parts)


def test_correlation_is_of_ratio_and_effective_dimensionality() -> None:
    (row,) = ratio_correlations(ratios([5]), MEASURED_SIZES)

    assert judged("informativeness-grid-05", [row]).verdict == "reproduced"
    assert row.note.startswith("over 16 tasks")
    assert row.p is not None
    assert not list(
        ratio_correlations(ratios([5]), MEASURED_SIZES[:1])
    )  # one task has no correlation


def test_all_dimensions_together_are_shown_and_decide_nothing() -> None:
    rows = list(ratio_correlations(ratios([5, 25]), MEASURED_SIZES))
    pooled = replace(rows[2], value=-1.0, low=-1.0, high=-0.9)

    assert [row.part for row in rows] == ["d = 5", "d = 25", "all"]
    assert judged("informativeness-grid-05", [*rows[:2], pooled]).verdict == "reproduced"


def test_soft_labels_cannot_tie_at_every_weight_of_the_cost() -> None:
    rows = list(clear_losses(table([*of("soft", 0.9), *of("hard", 0.2)])))

    # losses are equal at 0.7 / (n (k - 1)), here from 1 / 381 (n = 3, k = 90) to 0.117 (3, 3)
    assert judged("informativeness-costs-01", rows).verdict == "contradicted"
    assert [(row.stratum, row.value) for row in rows[-2:]] == [("β = 0.01", 3), ("β = 0.1", 6)]
    assert [row.value for row in rows[:-2]] == [0, 0, 0]
    assert {row.note for row in rows} == {"of 7 tasks; losses are equal at β from 0.0026 to 0.12"}
    # to lose nowhere clearly is not to tie
    assert judged("informativeness-costs-01", rows[:-2]).verdict == "undecided"


def test_hard_labels_win_earlier_the_larger_the_task() -> None:
    rows = list(break_even_correlation(table([*of("soft", 0.9), *of("hard", 0.2)])))

    assert judged("informativeness-costs-02", rows).verdict == "reproduced"
    # n (k - 1) is above 0.7 / β at so many tasks
    assert "hard wins 0 at β = 1e-05, 1 at β = 0.0001" in rows[0].note


@pytest.mark.parametrize(("hard", "verdict"), [(0.2, "reproduced"), (0.95, "undecided")])
def test_soft_labels_stay_when_cost_hardly_counts(hard: float, verdict: str) -> None:
    rows = list(worth_when_cheap(table([*of("soft", 0.9), *of("hard", 0.2, n3k3=hard)])))

    assert judged("informativeness-costs-03", rows).verdict == verdict


def thinned(rho: float) -> pl.DataFrame:
    """The same on average as ``table``, but not in every seed."""
    rows = [
        (rule, "soft", 30, 30, 5, 0.3, seed, rho - 0.01 * (seed - 1))
        for rule in ("linear", "capacity")
        for seed in range(MEASURED_SEEDS)
    ]
    return pl.DataFrame(rows, schema=THINNED, orient="row").with_columns(cell=pl.lit("thinned"))


@pytest.mark.parametrize(("wrong", "verdict"), [(0.5, "contradicted"), (0.8, "undecided")])
def test_wrong_answers_cost_what_the_formula_says_or_not(wrong: float, verdict: str) -> None:
    grid = table([("soft", None, 30, 30, wrong)], flipped=0.3)

    (row,) = flip_gaps(grid, thinned(0.8))

    assert judged("informativeness-grid-06", [row]).verdict == verdict
    assert (row.part, row.stratum) == ("d = 5", "ε = 0.3")
    assert row.value == pytest.approx(wrong - 0.8)
    assert not list(flip_gaps(grid.with_columns(dimensions=25), thinned(0.8)))


def test_curves_of_wrong_answers_begin_with_none_wrong() -> None:
    right = table([("soft", None, 30, 30, 0.9), ("soft", None, 10, 30, 0.1)])
    grid = pl.concat([right, table([("soft", None, 30, 30, 0.5)], flipped=0.3)])

    found = noise_table(grid, thinned(0.8))
    rows = list(noise_rhos(grid, thinned(0.8)))

    assert found["flipped"].to_list() == [0.0, 0.3] * 3
    assert found["rho"].to_list() == pytest.approx([0.9, 0.5, 0.9, 0.8, 0.9, 0.8])
    assert [row.value for row in rows] == pytest.approx([0.5, 0.8, 0.8])
    assert rows[1].stratum == "(1 - ε)T right answers, ε = 0.3"
    assert not len(noise_table(right, thinned(0.8)))


def test_a_single_seed_shows_a_direction_at_most() -> None:
    grid = table([*of("soft", 0.9), *of("hard", 0.2)], seeds=1)

    for name, answer in (
        ("informativeness-grid-01", gap_with_few_items),
        ("informativeness-costs-03", worth_when_cheap),
    ):
        assert judged(name, answer(grid)).verdict == "undecided"
    rows = list(clear_losses(grid))
    assert math.isnan(rows[0].value)
    assert judged("informativeness-costs-01", rows).verdict == "not testable here"


def test_dimensions_that_disagree_have_not_shown_it() -> None:
    grids = [table([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(d,)) for d in (5, 25)]
    grids.append(table([*of("soft", 0.8), *of("hard", 0.6)], dimensions=(125,)))

    found = judged(
        "informativeness-grid-01", [r for grid in grids for r in gap_with_few_items(grid)]
    )

    assert found.verdict == "undecided"
    assert found.mixed == {"reproduced": 2, "undecided": 1}


def test_what_holds_in_some_dimensions_and_is_the_opposite_in_others_is_neither() -> None:
    high = table([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(5,))
    low = table([*of("soft", 0.2), *of("hard", 0.8)], dimensions=(25,))

    found = judged("informativeness-grid-01", [*gap_with_few_items(high), *gap_with_few_items(low)])

    assert [one.verdict for one in found.found] == ["reproduced", "contradicted"]
    assert found.verdict == "contradicted"


def test_every_number_is_simulated_and_names_the_cells_of_its_worlds() -> None:
    grid = table([*of("soft", 0.9), *of("hard", 0.2)], seeds=2)

    rows = [*mean_rhos(grid, MEASURED_SIZES[:2]), *gap_with_few_items(grid), *clear_losses(grid)]

    for row in Estimates.of(rows):
        assert row.simulated
        assert '"cells": ["cell-0", "cell-1"]' in row.source
        assert (row.part, row.against, row.seeds) == ("d = 5", "", (0, 1))
    assert len([row for row in rows if row.stratum == "n = 3, k = 10"]) == 2  # hard and soft


def test_grid_without_results_is_refused() -> None:
    study = study_from({"name": "none", "title": "No worlds", "worlds": {}})

    with pytest.raises(DataError, match="no results"):
        worlds(StudyData(study), Predictions())


World = tuple[str, int | None, float]
"""Form, k̂ and ρ of a world of 10 items and 10 classes."""


def by_seed(rows: Iterable[tuple[int, World]]) -> pl.DataFrame:
    found = [
        (form, kept, 10, 10, 5, 0.0, 1.0, seed, rho, None, None) for seed, (form, kept, rho) in rows
    ]
    return with_cells(pl.DataFrame(found, schema=SCHEMA, orient="row"))


def same_in_seeds(*rows: World, seeds: int = 3) -> pl.DataFrame:
    return by_seed((seed, row) for seed in range(seeds) for row in rows)


def test_best_sparsity_saves_what_the_formula_says() -> None:
    rows = list(
        best_sparsity_gains(
            same_in_seeds(
                ("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 2, 0.78), ("sparse", 5, 0.79)
            )
        )
    )

    # loss = β · 10 answers each of 1, k̂ or k numbers - ρ; k̂ = 2 or 5, whichever is less
    gains = []
    for beta in SPARSE_BETAS:
        rival = min(beta * 10 - 0.2, beta * 100 - 0.8)
        gains.append(rival - min(beta * 20 - 0.78, beta * 50 - 0.79))
    won = sum(gain > 0 for gain in gains)
    assert [row.stratum for row in rows] == ["gain", "share of cases - 0.5"]
    assert rows[0].value == pytest.approx(sum(gains) / len(gains))
    assert rows[1].value == rows[1].low == rows[1].high == won / 3 - 0.5
    assert rows[0].note.endswith(f"in {won} of 3 cases")


def test_sparsity_that_is_never_better_is_not_reproduced() -> None:
    rows = best_sparsity_gains(
        same_in_seeds(("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 5, 0.3))
    )

    assert judged("informativeness-costs-04", rows).verdict == "contradicted"


def test_kept_is_chosen_on_other_seeds_not_on_the_world_itself() -> None:
    # In each seed the other k̂ is lucky; chosen on oneself, sparse labels would win everywhere.
    lucky = [("hard", None, 0.5), ("soft", None, 0.5), ("sparse", 2, 0.9), ("sparse", 3, 0.1)]
    unlucky = [("hard", None, 0.5), ("soft", None, 0.5), ("sparse", 2, 0.1), ("sparse", 3, 0.9)]
    rows = list(
        best_sparsity_gains(by_seed([*((0, row) for row in lucky), *((1, row) for row in unlucky)]))
    )

    assert rows[0].value < 0
    assert judged("informativeness-costs-04", rows).verdict == "contradicted"


def test_one_seed_cannot_choose() -> None:
    only = same_in_seeds(("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 2, 0.78), seeds=1)

    assert not list(best_sparsity_gains(only))
