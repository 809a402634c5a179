"""Claims are asked of tables made by hand, whose answers are known."""

from collections.abc import Iterable, Sequence

import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.planning.grid import SCHEMA
from sfumato.planning.information import constraints
from sfumato.studies.answers import Found
from sfumato.studies.informativeness.answers import (
    Told,
    at_least,
    correlated,
    falls_with_classes,
    falls_with_items,
    grows_on_the_diagonal,
    hard_wins_as_tasks_grow,
    linear_loss_of_flips,
    much_better_with_few_items,
    soft_stays_when_cheap,
    soft_ties_when_small,
)
from sfumato.studies.informativeness.cells import THINNED
from sfumato.studies.informativeness.paper2 import (
    PAPER_2,
    Claim,
    claims_table,
    compare_claims,
)

SIZES = (3, 10, 30, 90)
SEEDS = 3

Row = tuple[str, int | None, int, int, float]
"""Form, k̂, n, k, ρ; seeds differ from it by a hundredth either way."""


def told(
    rows: Iterable[Row],
    *,
    dimensions: Sequence[int] = (5,),
    flipped: float = 0.0,
    seeds: int = SEEDS,
    effective: int | None = None,
) -> pl.DataFrame:
    table = [
        (form, kept, n, k, d, flipped, 1.0, seed, rho + 0.01 * (seed - 1), None, effective)
        for form, kept, n, k, rho in rows
        for d in dimensions
        for seed in range(seeds)
    ]
    return pl.DataFrame(table, schema=SCHEMA, orient="row")


def tables(grid: pl.DataFrame, thinned: pl.DataFrame | None = None) -> Told:
    return Told(grid, pl.DataFrame(schema=THINNED) if thinned is None else thinned, SIZES)


def of(form: str, rho: float, **other: float) -> list[Row]:
    """ρ of a form at all tasks; ``n30k10=0.5`` says otherwise for one."""
    return [(form, None, n, k, other.get(f"n{n}k{k}", rho)) for n in SIZES for k in SIZES]


@pytest.mark.parametrize(
    ("soft", "hard", "verdict"),
    [(0.8, 0.2, "reproduced"), (0.8, 0.5, "same direction"), (0.3, 0.5, "not reproduced")],
)
def test_much_better_is_twice_as_much(soft: float, hard: float, verdict: str) -> None:
    grid = told([*of("soft", soft), *of("hard", hard)])

    found = much_better_with_few_items(tables(grid), 5)

    assert found.verdict == verdict
    assert "of 10 tasks" in found.text  # n ≤ k


def test_one_task_at_which_hard_labels_are_clearly_better_is_enough_to_fail() -> None:
    grid = pl.concat(
        [told(of("soft", 0.8)), told(of("hard", 0.1, n10k30=0.9))]
    )  # differences do not vary between seeds: every one is clear

    found = much_better_with_few_items(tables(grid), 5)

    assert found.verdict == "same direction"
    assert "no less at 9 of 10 tasks, clearly less at 1" in found.text


def kept_rows(form: str, rho: dict[int, float]) -> list[Row]:
    return [(form, kept, 30, 10, value) for kept, value in rho.items()]


def test_sparse_everywhere_fails_at_one_task_and_holds_on_average() -> None:
    grid = told(
        [
            *kept_rows("sparse", {1: 0.3, 2: 0.5, 5: 0.7, 10: 0.8}),
            *kept_rows("top-class", {1: 0.4, 2: 0.4, 5: 0.5, 10: 0.9}),
        ]
    )

    everywhere = at_least("sparse", "top-class", everywhere=True)(tables(grid), 5)
    average = at_least("sparse", "top-class", everywhere=False)(tables(grid), 5)

    assert isinstance(everywhere, Found)
    assert isinstance(average, Found)
    assert (everywhere.verdict, average.verdict) == ("same direction", "reproduced")
    # (-0.1 + 0.1 + 0.2) / 3: with k̂ = k both are soft labels, and nothing is compared
    assert everywhere.text.startswith("+0.067 ")
    assert "no less at 2 of 3 tasks" in everywhere.text
    assert "the worst -0.100 at n = 30, k = 10, k̂ = 1" in everywhere.text


def test_forms_that_were_not_simulated_decide_nothing() -> None:
    found = at_least("sparse", "top-class", everywhere=True)(tables(told(of("soft", 1))), 5)

    assert found == Found("no labels of the form sparse", "not testable here")


def test_phases_are_changes_away_from_as_many_items_as_classes() -> None:
    falling = told(of("soft", 0.8, n10k90=0.5, n30k90=0.5, n90k10=0.9, n90k30=0.9, n90k90=0.9))

    assert falls_with_classes(tables(falling), 5).text.startswith("-0.300 ")
    assert falls_with_classes(tables(falling), 5).verdict == "reproduced"
    assert falls_with_items(tables(falling), 5).text.startswith("+0.100 ")
    assert falls_with_items(tables(falling), 5).verdict == "not reproduced"
    assert grows_on_the_diagonal(tables(falling), 5).text.startswith("+0.100 ")
    assert "from n = k = 10 to 90" in grows_on_the_diagonal(tables(falling), 5).text


def test_correlation_is_of_ratio_and_effective_dimensionality() -> None:
    parts = []
    for n in SIZES:
        for k in SIZES:
            count = constraints("soft", items=n, classes=k)
            part = told([("soft", None, n, k, 0.8)], effective=2 if n == k else 1)
            parts.append(part.with_columns(constraints=pl.lit(count)))

    found = correlated(tables(pl.concat(parts)), 5)

    assert found.verdict == "reproduced"  # ratios are highest where n = k
    assert "over 16 tasks" in found.text


def test_soft_labels_cannot_tie_at_every_weight_of_the_cost() -> None:
    grid = told([*of("soft", 0.9), *of("hard", 0.2)])

    found = soft_ties_when_small(tables(grid), 5)

    # losses are equal at 0.7 / (n (k - 1)), here from 1 / 381 (n = 3, k = 90) to 0.117 (3, 3)
    assert found.verdict == "not reproduced"
    assert found.text == (
        "of 7 tasks soft clearly loses 3 at β = 0.01, 6 at β = 0.1; losses are equal at β from "
        "0.0026 to 0.12"
    )


def test_hard_labels_win_earlier_the_larger_the_task() -> None:
    grid = told([*of("soft", 0.9), *of("hard", 0.2)])

    found = hard_wins_as_tasks_grow(tables(grid), 5)

    assert found.verdict == "reproduced"
    # n (k - 1) is above 0.7 / β at so many tasks
    assert "hard wins 0 at β = 1e-05, 1 at β = 0.0001" in found.text


@pytest.mark.parametrize(("hard", "verdict"), [(0.2, "reproduced"), (0.95, "same direction")])
def test_soft_labels_stay_when_cost_hardly_counts(hard: float, verdict: str) -> None:
    grid = told([*of("soft", 0.9), *of("hard", 0.2, n3k3=hard)])

    assert soft_stays_when_cheap(tables(grid), 5).verdict == verdict


def thinned(rho: float) -> pl.DataFrame:
    rows = [
        (rule, "soft", 30, 30, 5, 0.3, seed, rho + 0.01 * (seed - 1))
        for rule in ("linear", "capacity")
        for seed in range(SEEDS)
    ]
    return pl.DataFrame(rows, schema=THINNED, orient="row")


@pytest.mark.parametrize(("wrong", "verdict"), [(0.5, "not reproduced"), (0.8, "same direction")])
def test_wrong_answers_cost_what_the_formula_says_or_not(wrong: float, verdict: str) -> None:
    grid = told([("soft", None, 30, 30, wrong)], flipped=0.3)
    # the same on average, but not in every seed
    fewer = thinned(0.8).with_columns(rho=0.8 - (pl.col("rho") - 0.8))

    found = linear_loss_of_flips(tables(grid, fewer), 5)

    assert found is not None
    assert found.verdict == verdict
    assert linear_loss_of_flips(tables(grid, fewer), 25) is None


def test_a_single_seed_shows_a_direction_at_most() -> None:
    grid = told([*of("soft", 0.9), *of("hard", 0.2)], seeds=1)

    for answer in (much_better_with_few_items, soft_stays_when_cheap):
        assert answer(tables(grid), 5).verdict == "same direction"
    assert soft_ties_when_small(tables(grid), 5).verdict == "not testable here"


def test_dimensions_that_disagree_have_not_shown_it() -> None:
    low = told([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(5, 25))
    other = told([*of("soft", 0.8), *of("hard", 0.6)], dimensions=(125,))

    compared = compare_claims(tables(pl.concat([low, other])), PAPER_2[:1])

    assert compared[0].verdict == "same direction"
    assert compared[0].where == "reproduced in 2 of 3, same direction in 1 of 3"


def test_what_holds_in_some_dimensions_and_is_the_opposite_in_others_is_neither() -> None:
    high = told([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(5,))
    low = told([*of("soft", 0.2), *of("hard", 0.8)], dimensions=(25,))

    compared = compare_claims(tables(pl.concat([high, low])), PAPER_2[:1])

    assert [found.verdict for _, found in compared[0].found] == ["reproduced", "not reproduced"]
    assert compared[0].verdict == "not reproduced"


def test_table_has_a_column_for_each_number_of_dimensions() -> None:
    grid = told([*of("soft", 0.8), *of("hard", 0.2)], dimensions=(5, 25))
    claims = [
        PAPER_2[0],
        Claim("only once", "here", lambda told, d: None if d == 5 else Found("yes", "reproduced")),
    ]

    table = claims_table(compare_claims(tables(grid), claims))

    assert table.table.columns == ["paper 2 says", "d = 5", "d = 25", "verdict"]
    assert table.table.row(1) == ("only once (here)", "–", "yes", "reproduced")
    assert (table.simulated, table.made) == (True, "worlds")


def test_grid_without_results_is_refused() -> None:
    with pytest.raises(DataError, match="no results"):
        compare_claims(tables(pl.DataFrame(schema=SCHEMA)))
