"""Claims are asked of tables made by hand, whose answers are known."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.planning.grid import SCHEMA
from sfumato.planning.information import constraints
from sfumato.scores import Estimate, Estimates
from sfumato.studies.claims import JudgedClaim, judge, read_claims
from sfumato.studies.data import Predictions, StudyData
from sfumato.studies.measures.worlds import (
    ANSWERS,
    SPARSE_BETAS,
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
    worlds,
    worth_when_cheap,
)
from sfumato.studies.study import study_from
from sfumato.studies.worlds import THINNED

SIZES = (3, 10, 30, 90)
SEEDS = 3
STUDIES = ("informativeness-grid", "informativeness-sparsity", "informativeness-costs")
CLAIMS = {claim.id: claim for study in STUDIES for claim in read_claims(study)}

Row = tuple[str, int | None, int, int, float]
"""Form, k̂, n, k, ρ; seeds differ from it by a hundredth either way."""


def table(
    rows: Iterable[Row],
    *,
    dimensions: Sequence[int] = (5,),
    flipped: float = 0.0,
    seeds: int = SEEDS,
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
    return [(form, None, n, k, other.get(f"n{n}k{k}", rho)) for n in SIZES for k in SIZES]


def judged(name: str, rows: Iterable[Estimate]) -> JudgedClaim:
    return judge([CLAIMS[name]], Estimates.of(rows).table)[0]


@pytest.mark.parametrize(
    ("soft", "hard", "verdict"),
    [(0.8, 0.2, "reproduced"), (0.8, 0.5, "same direction"), (0.3, 0.5, "not reproduced")],
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

    assert judged("informativeness-grid-01", rows).verdict == "same direction"
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

    assert judged("informativeness-sparsity-01", everywhere).verdict == "same direction"
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
    assert judged("informativeness-grid-04", rows).verdict == "not reproduced"


def ratios(dimensions: Sequence[int]) -> pl.DataFrame:
    """The information ratio is highest where n = k, and so is the effective dimensionality."""
    parts = []
    for n in SIZES:
        for k in SIZES:
            part = table(
                [("soft", None, n, k, 0.8)], dimensions=dimensions, effective=2 if n == k else 1
            )
            count = constraints("soft", items=n, classes=k)
            parts.append(part.with_columns(constraints=pl.lit(count)))
    return pl.concat(parts)


def test_correlation_is_of_ratio_and_effective_dimensionality() -> None:
    (row,) = ratio_correlations(ratios([5]), SIZES)

    assert judged("informativeness-grid-05", [row]).verdict == "reproduced"
    assert row.note.startswith("over 16 tasks")
    assert row.p is not None
    assert not list(ratio_correlations(ratios([5]), SIZES[:1]))  # one task has no correlation


def test_all_dimensions_together_are_shown_and_decide_nothing() -> None:
    rows = list(ratio_correlations(ratios([5, 25]), SIZES))
    pooled = replace(rows[2], value=-1.0, low=-1.0, high=-0.9)

    assert [row.part for row in rows] == ["5", "25", "all"]
    assert judged("informativeness-grid-05", [*rows[:2], pooled]).verdict == "reproduced"


def test_soft_labels_cannot_tie_at_every_weight_of_the_cost() -> None:
    rows = list(clear_losses(table([*of("soft", 0.9), *of("hard", 0.2)])))

    # losses are equal at 0.7 / (n (k - 1)), here from 1 / 381 (n = 3, k = 90) to 0.117 (3, 3)
    assert judged("informativeness-costs-01", rows).verdict == "not reproduced"
    assert [(row.stratum, row.value) for row in rows[-2:]] == [("β = 0.01", 3), ("β = 0.1", 6)]
    assert [row.value for row in rows[:-2]] == [0, 0, 0]
    assert {row.note for row in rows} == {"of 7 tasks; losses are equal at β from 0.0026 to 0.12"}
    # to lose nowhere clearly is not to tie
    assert judged("informativeness-costs-01", rows[:-2]).verdict == "same direction"


def test_hard_labels_win_earlier_the_larger_the_task() -> None:
    rows = list(break_even_correlation(table([*of("soft", 0.9), *of("hard", 0.2)])))

    assert judged("informativeness-costs-02", rows).verdict == "reproduced"
    # n (k - 1) is above 0.7 / β at so many tasks
    assert "hard wins 0 at β = 1e-05, 1 at β = 0.0001" in rows[0].note


@pytest.mark.parametrize(("hard", "verdict"), [(0.2, "reproduced"), (0.95, "same direction")])
def test_soft_labels_stay_when_cost_hardly_counts(hard: float, verdict: str) -> None:
    rows = list(worth_when_cheap(table([*of("soft", 0.9), *of("hard", 0.2, n3k3=hard)])))

    assert judged("informativeness-costs-03", rows).verdict == verdict


def thinned(rho: float) -> pl.DataFrame:
    """The same on average as ``table``, but not in every seed."""
    rows = [
        (rule, "soft", 30, 30, 5, 0.3, seed, rho - 0.01 * (seed - 1))
        for rule in ("linear", "capacity")
        for seed in range(SEEDS)
    ]
    return pl.DataFrame(rows, schema=THINNED, orient="row").with_columns(cell=pl.lit("thinned"))


@pytest.mark.parametrize(("wrong", "verdict"), [(0.5, "not reproduced"), (0.8, "same direction")])
def test_wrong_answers_cost_what_the_formula_says_or_not(wrong: float, verdict: str) -> None:
    grid = table([("soft", None, 30, 30, wrong)], flipped=0.3)

    (row,) = flip_gaps(grid, thinned(0.8))

    assert judged("informativeness-grid-06", [row]).verdict == verdict
    assert (row.part, row.stratum) == ("5", "ε = 0.3")
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
        assert judged(name, answer(grid)).verdict == "same direction"
    rows = list(clear_losses(grid))
    assert math.isnan(rows[0].value)
    assert judged("informativeness-costs-01", rows).verdict == "not testable here"


def test_dimensions_that_disagree_have_not_shown_it() -> None:
    grids = [table([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(d,)) for d in (5, 25)]
    grids.append(table([*of("soft", 0.8), *of("hard", 0.6)], dimensions=(125,)))

    found = judged(
        "informativeness-grid-01", [r for grid in grids for r in gap_with_few_items(grid)]
    )

    assert found.verdict == "same direction"
    assert found.mixed == {"reproduced": 2, "same direction": 1}


def test_what_holds_in_some_dimensions_and_is_the_opposite_in_others_is_neither() -> None:
    high = table([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(5,))
    low = table([*of("soft", 0.2), *of("hard", 0.8)], dimensions=(25,))

    found = judged("informativeness-grid-01", [*gap_with_few_items(high), *gap_with_few_items(low)])

    assert [one.verdict for one in found.found] == ["reproduced", "not reproduced"]
    assert found.verdict == "not reproduced"


def test_every_number_is_simulated_and_names_the_cells_of_its_worlds() -> None:
    grid = table([*of("soft", 0.9), *of("hard", 0.2)], seeds=2)

    rows = [*mean_rhos(grid, SIZES[:2]), *gap_with_few_items(grid), *clear_losses(grid)]

    for row in Estimates.of(rows):
        assert row.simulated
        assert '"cells": ["cell-0", "cell-1"]' in row.source
        assert (row.part, row.against, row.seeds) == ("5", "", (0, 1))
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

    assert judged("informativeness-costs-04", rows).verdict == "not reproduced"


def test_kept_is_chosen_on_other_seeds_not_on_the_world_itself() -> None:
    # In each seed the other k̂ is lucky; chosen on oneself, sparse labels would win everywhere.
    lucky = [("hard", None, 0.5), ("soft", None, 0.5), ("sparse", 2, 0.9), ("sparse", 3, 0.1)]
    unlucky = [("hard", None, 0.5), ("soft", None, 0.5), ("sparse", 2, 0.1), ("sparse", 3, 0.9)]
    rows = list(
        best_sparsity_gains(by_seed([*((0, row) for row in lucky), *((1, row) for row in unlucky)]))
    )

    assert rows[0].value < 0
    assert judged("informativeness-costs-04", rows).verdict == "not reproduced"


def test_one_seed_cannot_choose() -> None:
    only = same_in_seeds(("hard", None, 0.2), ("soft", None, 0.8), ("sparse", 2, 0.78), seeds=1)

    assert not list(best_sparsity_gains(only))
