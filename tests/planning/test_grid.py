import json
import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

from sfumato.errors import DataError, UnknownName
from sfumato.planning.cost import losses, preferred_forms
from sfumato.planning.grid import (
    CURVE_SIZES,
    DIMENSIONS,
    MAP_SIZES,
    default_points,
    grid_points,
    kept_curves,
    maps,
    mean_over_seeds,
    means,
    pair_forms,
    pca_curve,
    ratio_correlation,
    recovered_means,
    run_grid,
    simulate_modes,
    simulate_point,
)
from sfumato.planning.information import ratio
from sfumato.planning.worlds import Ask, Point, world_at

# ρ of the notes for n = 3, 10, 30 by k = 3, 10, 30 in 25 dimensions, mean of 10 seeds
SOFT = {3: (0.757, 0.598, 0.439), 10: (0.816, 0.822, 0.737), 30: (0.839, 0.831, 0.889)}
HARD = {3: (0.694, 0.095, 0.004), 10: (0.611, 0.371, 0.026), 30: (0.707, 0.222, 0.198)}
SIZES = (3, 10, 30)
SEEDS = 4


def gaps(table: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Mean difference of two forms at every task and k̂."""
    task = ["dimensions", "items", "classes", "kept"]
    return mean_over_seeds(pair_forms(table, first, second), task, "gap")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    points = grid_points(
        items=SIZES,
        classes=SIZES,
        dimensions=[25],
        seeds=SEEDS,
        forms=("hard", "soft", "sparse", "top-class", "pca"),
        kept=(2, 10),
    )
    return run_grid(points)


@pytest.mark.parametrize(("form", "noted"), [("soft", SOFT), ("hard", HARD)])
def test_rho_is_that_of_the_notes_within_the_spread_of_seeds(
    table: pl.DataFrame, form: str, noted: dict[int, tuple[float, ...]]
) -> None:
    for n in SIZES:
        for k, expected in zip(SIZES, noted[n], strict=True):
            mine = table.filter(form=form, items=n, classes=k)["rho"].to_numpy()

            # two means, of 4 and of 10 seeds, each with this spread
            error = mine.std(ddof=1) * np.sqrt(1 / SEEDS + 1 / 10)
            assert abs(mine.mean() - expected) <= 4 * error + 0.03, (n, k)


def test_hard_labels_of_one_item_a_class_reach_their_closed_form() -> None:
    point = Point(10, 10, 125, 0, (Ask("hard"),))
    share = 1 / 19  # pairs of an item and its class, among all pairs

    rho = simulate_point(point)["rows"][0]["rho"]

    assert rho == pytest.approx(np.sqrt(3 * share * (1 - share)), abs=1e-3)


def test_soft_labels_recover_far_more_than_hard_ones_with_few_items(table: pl.DataFrame) -> None:
    gap = gaps(table, "soft", "hard").filter(
        pl.col("items") <= pl.col("classes"), pl.col("classes") > 3
    )

    assert len(gap) == 5
    assert (gap["gap"] > 0.3).all()
    assert (gap["low"] > 0).all()


def test_sparse_labels_are_no_worse_than_top_class_ones_on_average(table: pl.DataFrame) -> None:
    gap = gaps(table, "sparse", "top-class")

    assert gap["gap"].to_numpy().mean() > 0


def test_pca_codes_are_better_than_sparse_labels_on_average(table: pl.DataFrame) -> None:
    gap = gaps(table, "pca", "sparse")

    assert gap["gap"].to_numpy().mean() > 0.1


def test_information_ratio_goes_with_effective_dimensionality() -> None:
    sizes = [3, 22, 42]
    points = grid_points(items=sizes, classes=sizes, dimensions=[25], seeds=2, forms=["soft"])

    row = ratio_correlation(means(run_grid(points))).row(0, named=True)

    assert row["tasks"] == 9
    assert row["r"] > 0.3


def test_effective_dimensionality_reaches_rho_and_one_component_less_does_not(
    table: pl.DataFrame,
) -> None:
    for row in table.filter(form="soft", items=30, seed=0).iter_rows(named=True):
        curve = pca_curve(world_at(Point(30, row["classes"], 25, 0, ())).points)

        assert curve[row["effective"] - 1] >= row["rho"]
        assert (curve[: row["effective"] - 1] < row["rho"]).all()


def test_flipped_answers_lower_rho_and_guesses_leave_nothing() -> None:
    points = grid_points(
        items=[20], classes=[15], dimensions=[10], seeds=1, forms=["soft"], flipped=[0, 0.3, 0.5]
    )

    right, some, guessed = run_grid(points)["rho"]

    assert right > some + 0.03
    assert some > 0.4
    assert abs(guessed) < 0.2


def test_a_point_gives_the_same_numbers_whatever_else_is_asked() -> None:
    alone = simulate_point(Point(8, 5, 4, 3, (Ask("sparse", 2),)))["rows"][0]
    among = simulate_point(Point(8, 5, 4, 3, (Ask("hard"), Ask("sparse", 2), Ask("pca", 2))))

    assert among["rows"][1] == alone


def test_points_and_results_can_be_sent_and_kept() -> None:
    point = Point(5, 4, 3, 0, (Ask("soft"), Ask("pca", 2), Ask("top-class", 1)), flipped=0.0)
    function, sent = pickle.loads(pickle.dumps((simulate_point, point)))

    found = function(sent)

    assert sent == point
    assert json.loads(json.dumps(found)) == found


def test_run_may_be_anything_that_maps_and_leaves_out_what_failed() -> None:
    points = grid_points(items=[4, 5], classes=[3], dimensions=[2], seeds=1, forms=["soft"])

    def through_json(
        function: Callable[[Point], dict[str, Any]], given: Sequence[Point]
    ) -> Iterable[dict[str, Any] | None]:
        return [None if p.items == 4 else json.loads(json.dumps(function(p))) for p in given]

    found = run_grid(points, run=through_json)

    assert found.equals(run_grid(points[1:]))


def test_results_that_went_missing_are_noticed() -> None:
    points = grid_points(items=[4, 5], classes=[3], dimensions=[2], seeds=1, forms=["soft"])

    with pytest.raises(DataError, match="2 points but 0 results"):
        run_grid(points, run=lambda function, given: [])


def test_a_label_tried_twice_counts_once() -> None:
    points = grid_points(items=[4], classes=[3], dimensions=[2], seeds=2, forms=["soft"])

    assert run_grid([*points, *points]).equals(run_grid(points))


def test_default_grid_has_maps_curves_and_noise_and_each_world_once() -> None:
    points = default_points(seeds=2)
    worlds = {(p.items, p.classes, p.dimensions, p.flipped, p.seed) for p in points}

    assert len(worlds) == len(points)
    assert {(n, k, d, 0.0, 1) for n in MAP_SIZES for k in MAP_SIZES for d in DIMENSIONS} <= worlds
    assert {(n, k, d, 0.0, 0) for n in CURVE_SIZES for k in CURVE_SIZES for d in DIMENSIONS} <= (
        worlds
    )
    assert {(30, 30, 25, flip, 0) for flip in (0.1, 0.2, 0.3, 0.4)} <= worlds
    forms = {ask.form for p in points for ask in p.asks}
    assert forms == {"hard", "soft", "sparse", "top-class", "top-class-zero", "pca"}


def test_map_sizes_are_evenly_spaced() -> None:
    assert list(MAP_SIZES) == np.linspace(3, 90, 10).round().tolist()


def test_means_have_the_interval_of_students_t(table: pl.DataFrame) -> None:
    found = means(table).filter(form="soft", items=10, classes=10).row(0, named=True)
    mine = table.filter(form="soft", items=10, classes=10)["rho"].to_numpy()

    interval = ttest_1samp(mine, 0).confidence_interval()

    assert found["seeds"] == SEEDS
    assert found["rho"] == pytest.approx(mine.mean())
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))
    assert found["ratio"] == pytest.approx(float(ratio("soft", items=10, classes=10)))


def test_one_seed_has_no_interval_and_intervals_stay_within_correlations() -> None:
    points = grid_points(items=[3], classes=[3], dimensions=[1], seeds=2, forms=["soft"])

    two, one = means(run_grid(points)), means(run_grid(points[:1]))

    assert one["low"].to_list() == one["high"].to_list() == [None]
    assert two["low"].min() == -1 or two["high"].max() == 1


def test_recovered_is_what_preferences_read(table: pl.DataFrame) -> None:
    told = recovered_means(table, dimensions=25)

    found = preferred_forms(losses(told, betas=[1e-5, 1.0]))

    expected = ["form", "kept", "items", "classes", "rho", "low", "high", "seeds"]
    assert told.columns == expected
    assert "pca" not in told["form"]
    assert set(found.filter(beta=1.0, items=30)["form"]) <= {"hard", "sparse", "top-class"}
    assert len(found) == 2 * len(SIZES) ** 2


def test_recovered_from_what_was_not_simulated_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(DataError, match=r"in 7 dimensions .* results for 25 dimensions"):
        recovered_means(table, dimensions=7)


def test_maps_have_a_panel_a_form_and_a_cell_a_task(table: pl.DataFrame) -> None:
    drawn = maps(table)
    effective = maps(table, "effective")

    assert drawn.columns == ["panel", "x", "y", "value"]
    assert len(drawn.filter(panel="soft, d = 25")) == 9
    assert len(drawn.filter(panel="sparse, k̂ = 10, d = 25")) == 6
    assert not drawn.select("panel", "x", "y").is_duplicated().any()
    assert effective["panel"].unique().to_list() == ["soft, d = 25"]
    cell = drawn.filter(panel="hard, d = 25", x=30, y=3)["value"].item()
    mine = table.filter(form="hard", items=30, classes=3)["rho"].to_numpy()
    assert cell == pytest.approx(mine.mean())


def test_map_of_something_else_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="no map of 'seeds'"):
        maps(table, "seeds")


def test_curves_have_level_lines_at_every_k_of_the_panel(table: pl.DataFrame) -> None:
    drawn = kept_curves(table).filter(panel="n = 30, k = 10, d = 25")

    soft = drawn.filter(series="soft")
    assert drawn.columns == ["panel", "series", "x", "value", "low", "high"]
    assert set(drawn["series"]) == {"hard", "soft", "sparse", "top-class", "pca"}
    assert soft["x"].to_list() == [2, 10]
    assert soft["value"].n_unique() == 1
    assert drawn.filter(series="sparse", x=10)["value"].item() == soft["value"][0]


def test_curves_without_a_k_are_refused(table: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="has a k̂"):
        kept_curves(table.filter(form="soft"))


def test_panels_name_flips_and_spread() -> None:
    points = grid_points(
        items=[4], classes=[3], dimensions=[2], seeds=1, forms=["soft"], flipped=[0.1], spread=2.0
    )

    assert maps(run_grid(points))["panel"].to_list() == ["soft, d = 2, ε = 0.1, spread 2.0"]


def test_forms_are_paired_by_world_and_k(table: pl.DataFrame) -> None:
    found = gaps(table, "pca", "sparse").filter(items=30, classes=10, kept=2)
    both = [
        table.filter(form=f, items=30, classes=10, kept=2).sort("seed") for f in ("pca", "sparse")
    ]
    apart = (both[0]["rho"] - both[1]["rho"]).to_numpy()

    interval = ttest_1samp(apart, 0).confidence_interval()

    row = found.row(0, named=True)
    assert (row["gap"], row["seeds"]) == (pytest.approx(apart.mean()), SEEDS)
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_comparing_with_what_is_not_there_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="no labels of the form 'typicality'"):
        pair_forms(table, "soft", "typicality")


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(DataError, match="0 seeds"):
        grid_points(items=[3], classes=[3], dimensions=[2], seeds=0)
    with pytest.raises(UnknownName, match="Did you mean 'soft'"):
        grid_points(items=[3], classes=[3], dimensions=[2], seeds=1, forms=["softt"])


def test_with_one_mode_naming_it_and_naming_the_class_are_the_same() -> None:
    found = simulate_modes(items=20, classes=4, modes=[1, 3], dimensions=3, seeds=2)

    rho = {(m, named, form, seed): value for m, named, form, seed, value in found.iter_rows()}
    for form, seed in product(("hard", "soft"), range(2)):
        assert rho[1, "mode", form, seed] == rho[1, "class", form, seed]
        assert rho[3, "mode", form, seed] != rho[3, "class", form, seed]
    means = found.filter(modes=3, form="soft").group_by("named").agg(pl.col("rho").mean())
    by_name = dict(means.iter_rows())
    assert by_name["mode"] > by_name["class"]  # the class leaves open where an item lies
    with pytest.raises(DataError, match="Classes of 0 modes"):
        simulate_modes(items=20, classes=4, modes=[0], dimensions=3)
