"""Each of the three studies simulates, claims and draws what it is about, and nothing else."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from sfumato.studies.informativeness.grids import GRIDS
from sfumato.studies.page import draw_report

from sfumato.errors import DataError
from sfumato.planning.grid import SCHEMA
from sfumato.studies.informativeness.answers import Told
from sfumato.studies.informativeness.cells import THINNED, grid_cells, thin_points
from sfumato.studies.informativeness.paper2 import PAPER_2, claims_about, compare_claims
from sfumato.studies.informativeness.sparse_answers import SPARSE_BETAS, best_sparsity_gains
from sfumato.studies.informativeness.stored import read_run
from sfumato.studies.informativeness.study import SUBJECTS, GridStudy, Subject, points_of
from sfumato.studies.run import run_study

SMALL = GridStudy(
    name="small-grid",
    title="A small grid",
    seeds=2,
    map_sizes=(3, 8),
    curve_sizes=(3, 10),
    dimensions=(5,),
    kept=(2, 5),
    flips=(0.3,),
    flipped_at=(8, 5),
    betas=(1e-3,),
    loss_betas=(1e-3,),
    utilities=("linear",),
)


def about(*subjects: Subject) -> GridStudy:
    return replace(SMALL, subjects=subjects)


def forms(study: GridStudy) -> set[str]:
    return {ask.form for point in points_of(study) for ask in point.asks}


def test_every_claim_of_paper_2_is_of_exactly_one_study() -> None:
    asked = [claim for cpu, _ in GRIDS.values() for claim in claims_about(cpu.subjects)]

    assert sorted(claim.says for claim in asked) == sorted(claim.says for claim in PAPER_2)
    assert {subject for cpu, _ in GRIDS.values() for subject in cpu.subjects} == set(SUBJECTS)


def test_only_worlds_and_forms_that_are_needed_are_simulated() -> None:
    assert forms(about("information")) == {"hard", "soft"}
    assert forms(about("costs")) == {"hard", "soft", "sparse", "top-class"}
    assert forms(about("sparsity")) == {
        "hard", "soft", "sparse", "top-class", "top-class-zero", "pca"
    }  # fmt: skip
    assert {point.items for point in points_of(about("sparsity"))} == {3, 10}
    assert {point.items for point in points_of(about("costs"))} == {3, 8, 10}
    assert any(point.flipped for point in points_of(about("information")))
    assert not any(point.flipped for point in points_of(about("sparsity", "costs")))
    assert all(cell.function is not thin_points for cell in grid_cells(about("costs")))


def test_all_subjects_together_ask_what_each_asks() -> None:
    together = {(replace(point, asks=()), ask) for point in points_of(SMALL) for ask in point.asks}
    alone = {
        (replace(point, asks=()), ask)
        for subject in SUBJECTS
        for point in points_of(about(subject))
        for ask in point.asks
    }

    assert together == alone


def test_study_without_a_subject_is_refused() -> None:
    with pytest.raises(DataError, match="subjects"):
        about()


DRAWN: dict[Subject, set[str]] = {
    "sparsity": {"kept-5"},
    "costs": {"preference", "loss-10-10"},
}


@pytest.mark.parametrize("subject", DRAWN)
def test_run_draws_and_judges_its_own_subject_only(subject: Subject, tmp_path: Path) -> None:
    done = run_study(about(subject), tmp_path, data=None)

    run = read_run(tmp_path)
    names = {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    before = (tmp_path / "report.html").read_bytes()
    assert done.failed == 0
    assert names == DRAWN[subject]
    assert {one.claim.subject for one in compare_claims(run.told)} == {subject}
    assert draw_report(tmp_path).read_bytes() == before


Row = tuple[str, int | None, float]
"""Form, k̂ and ρ of a world of 10 items and 10 classes."""


def told(rows: Iterable[tuple[int, Row]]) -> Told:
    """Worlds by seed."""
    table = [
        (form, kept, 10, 10, 5, 0.0, 1.0, seed, rho, None, None) for seed, (form, kept, rho) in rows
    ]
    grid = pl.DataFrame(table, schema=SCHEMA, orient="row")
    return Told(grid, pl.DataFrame(schema=THINNED), (10,))


def worlds(*rows: Row, seeds: int = 3) -> Told:
    return told((seed, row) for seed in range(seeds) for row in rows)


def test_best_sparsity_saves_what_the_formula_says() -> None:
    found = best_sparsity_gains(
        worlds(("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 2, 0.78), ("sparse", 5, 0.79)),
        5,
    )

    # loss = β · 10 answers each of 1, k̂ or k numbers - ρ; k̂ = 2 or 5, whichever is less
    gains = []
    for beta in SPARSE_BETAS:
        rival = min(beta * 10 - 0.2, beta * 100 - 0.8)
        gains.append(rival - min(beta * 20 - 0.78, beta * 50 - 0.79))
    assert found is not None
    assert found.value == pytest.approx(sum(gains) / len(gains))
    assert found.text.endswith(f"in {sum(gain > 0 for gain in gains)} of 3 cases")


def test_sparsity_that_is_never_better_is_not_reproduced() -> None:
    found = best_sparsity_gains(
        worlds(("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 5, 0.3)), 5
    )

    assert found.verdict == "not reproduced"


def test_kept_is_chosen_on_other_seeds_not_on_the_world_itself() -> None:
    # In each seed the other k̂ is lucky; chosen on oneself, sparse labels would win everywhere.
    lucky = [("hard", None, 0.5), ("soft", None, 0.5), ("sparse", 2, 0.9), ("sparse", 3, 0.1)]
    unlucky = [("hard", None, 0.5), ("soft", None, 0.5), ("sparse", 2, 0.1), ("sparse", 3, 0.9)]
    found = best_sparsity_gains(
        told([*((0, row) for row in lucky), *((1, row) for row in unlucky)]), 5
    )

    assert found.value is not None
    assert found.value < 0
    assert found.verdict == "not reproduced"


def test_one_seed_cannot_choose() -> None:
    only = worlds(("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 2, 0.78), seeds=1)

    assert best_sparsity_gains(only, 5).verdict == "not testable here"
