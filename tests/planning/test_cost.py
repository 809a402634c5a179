"""Costs, losses and preferences: the paper's numbers, hand-made tables, the real times."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import QUESTIONS, ask
from sfumato.planning.cost import (
    FORM_OF_QUESTION,
    UTILITIES,
    Cost,
    assumed_cost,
    best_kept,
    break_even,
    given_costs,
    loss,
    losses,
    measured_cost,
    preference_map,
    preferred_forms,
    sparsity_curves,
    total_cost,
)
from sfumato.planning.information import FORMS, ratio_table

CLASSES = ["cat", "dog", "deer"]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def votes(seconds: Sequence[float | None], people: Sequence[str]) -> Judgments:
    rows = {
        "item": [str(row) for row in range(len(seconds))],
        "annotator": people,
        "answer": ['"cat"'] * len(seconds),
        "seconds": seconds,
    }
    return Judgments(ask("choose-one", CLASSES), pl.DataFrame(rows))


def recovered(*rows: tuple[str, int | None, int, int, float]) -> pl.DataFrame:
    columns = {"form": pl.String, "kept": pl.Int64, "items": pl.Int64, "classes": pl.Int64}
    return pl.DataFrame(rows, schema={**columns, "rho": pl.Float64}, orient="row")


def test_the_papers_costs_are_n_for_hard_and_nk_for_soft_labels() -> None:
    costs = {form: assumed_cost(form, classes=20, kept=3) for form in FORMS}

    assert total_cost(costs["hard"], items=80) == 80
    assert total_cost(costs["soft"], items=80) == 1600
    assert total_cost(costs["sparse"], items=80) == total_cost(costs["top-class"], items=80) == 240


def test_people_multiply_the_cost_and_comparisons_are_counted_by_pairs() -> None:
    assert total_cost(Cost("sparse", 32), items=1000, people=6) == 192_000
    assert total_cost(Cost("hard", 1.8), items=1000, people=51) == pytest.approx(91_800)
    assert total_cost(Cost("pairs", 1), items=10) == 45
    assert total_cost(Cost("triplets", 1), items=10) == 360
    assert total_cost(Cost("pairs", 2), items=10, answers=20) == 40


def test_real_soft_answers_took_32_seconds(data_folder: Path) -> None:
    export = read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())

    cost = measured_cost(export, rng=rng(), draws=200)

    assert cost.form == "sparse"
    assert cost.kept == 2
    assert cost.value == pytest.approx(32, abs=0.5)
    assert (cost.answers, cost.people, cost.source) == (6200, 248, "measured")
    assert cost.low is not None
    assert cost.high is not None
    assert cost.low < cost.value < cost.high
    assert cost.high - cost.low < 6
    assert measured_cost(export, by="mean", rng=rng(), draws=2).value == pytest.approx(
        44.4, abs=0.1
    )


def test_the_interval_resamples_people_not_answers() -> None:
    # two people, 100 answers each: whole people are drawn, so the median is 1, 2 or 3
    answers = votes([1.0] * 100 + [3.0] * 100, ["p"] * 100 + ["q"] * 100)

    cost = measured_cost(answers, rng=rng())

    assert (cost.value, cost.low, cost.high) == (2, 1, 3)


def test_repeats_and_missing_times_do_not_count() -> None:
    answers = votes([1.0, 3.0, None, 90.0], ["p", "q", "p", "q"])
    table = answers.table.with_columns(view=pl.Series(["first", "first", "first", "repeat"]))

    cost = measured_cost(Judgments(answers.question, table), rng=rng())

    assert (cost.value, cost.answers) == (2, 2)


def test_one_person_has_a_cost_without_an_interval() -> None:
    cost = measured_cost(votes([1.0, 3.0], ["p", "p"]), rng=rng())

    assert (cost.value, cost.low, cost.high, cost.people) == (2, None, None, 1)


def test_comparisons_have_times_too() -> None:
    table = pl.DataFrame(
        {"first": ["a", "a"], "second": ["b", "c"], "rating": [1, 6], "seconds": [2.0, 4.0]}
    )
    pairs = Comparisons(COMPARISON_QUESTIONS["pairs"], table)

    cost = measured_cost(pairs, rng=rng())

    assert (cost.form, cost.value) == ("pairs", 3)


def test_every_question_has_a_form() -> None:
    assert set(FORM_OF_QUESTION) == set(QUESTIONS)
    assert set(FORM_OF_QUESTION.values()) <= set(FORMS)


@pytest.mark.parametrize("price", [0, -1, float("nan"), float("inf")])
def test_a_cost_of_nothing_or_less_is_one_sentence(price: float) -> None:
    with pytest.raises(
        DataError, match=r"^An answer of the form 'soft' costs .*; give a cost above"
    ):
        given_costs({"soft": price})


def test_a_form_without_data_is_one_sentence() -> None:
    with pytest.raises(DataError, match="None of the 1 answers of the form 'hard' has a time"):
        measured_cost(votes([None], ["p"]), rng=rng())
    with pytest.raises(UnknownName, match="form of answer"):
        given_costs({"softt": 1})
    with pytest.raises(DataError, match="0 people per item"):
        total_cost(Cost("hard", 1), items=5, people=0)
    with pytest.raises(DataError, match="number of items is 2"):
        total_cost(Cost("hard", 1), items=2)


def test_utilities_are_those_of_the_paper() -> None:
    rho = np.array([0.0, 0.5, 0.9])

    assert UTILITIES["linear"](rho).tolist() == rho.tolist()
    assert UTILITIES["sigmoid"](rho) == pytest.approx(1 / (1 + np.exp(-rho)))
    # the sigmoid undoes the inverse sigmoid, but at the ends, which are cut off
    assert 1 / (1 + np.exp(-UTILITIES["inverse-sigmoid"](rho))) == pytest.approx([0.01, 0.5, 0.9])
    assert np.isfinite(UTILITIES["inverse-sigmoid"](np.array([-1.0, 1.0]))).all()


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_no_utility_falls(first: float, second: float) -> None:
    low, high = np.array([min(first, second)]), np.array([max(first, second)])

    for worth in UTILITIES.values():
        assert worth(low) <= worth(high)


def test_the_loss_is_weighted_cost_minus_utility() -> None:
    assert loss(0.9, 1600, beta=1e-4) == pytest.approx(0.16 - 0.9)
    assert loss(0.9, 1600, beta=0) == pytest.approx(-0.9)
    with pytest.raises(DataError, match=r"\(β\) is -1"):
        loss(0.9, 1600, beta=-1)
    with pytest.raises(UnknownName, match=r"No utility is called 'liner'\. Did you mean 'linear'"):
        loss(0.9, 1600, beta=1, utility="liner")


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.sampled_from(sorted(UTILITIES)))
def test_at_the_break_even_weight_both_forms_lose_alike(
    soft: float, hard: float, utility: str
) -> None:
    beta = break_even(soft, hard, cost_first=1600, cost_second=80, utility=utility)

    if beta >= 0:
        dear, cheap = (
            loss(rho, cost, beta=beta, utility=utility) for rho, cost in ((soft, 1600), (hard, 80))
        )
        assert dear == pytest.approx(cheap)
    with pytest.raises(DataError, match="Both cost 5"):
        break_even(soft, hard, cost_first=5, cost_second=5)


def test_the_break_even_weight_is_that_of_the_notes() -> None:
    # (u(soft) - u(hard)) / (n(k - 1)), d = 25: n=3, k=10 and n=k=90
    few = break_even(0.598, 0.095, cost_first=30, cost_second=3)
    many = break_even(0.958, 0.039, cost_first=8100, cost_second=90)

    assert few == pytest.approx(1.9e-2, rel=0.03)
    assert many == pytest.approx(1.2e-4, rel=0.06)


def test_the_form_of_least_loss_is_preferred_with_its_margin() -> None:
    table = recovered(
        ("hard", None, 10, 5, 0.2), ("soft", None, 10, 5, 0.8), ("sparse", 2, 10, 5, 0.7),
        ("sparse", 3, 10, 5, 0.75),
    )  # fmt: skip

    found = preferred_forms(losses(table, betas=[0, 0.005, 1]))

    # β = 0.005: hard 0.05 - 0.2, soft 0.25 - 0.8, sparse(2) 0.1 - 0.7, sparse(3) 0.15 - 0.75
    assert found["form"].to_list() == ["soft", "sparse", "hard"]
    assert found["kept"].to_list() == [None, 2, None]
    assert found["margin"].to_list() == pytest.approx([0.05, 0.05, 10 - 0.5])


def test_ones_own_utility_is_used_under_its_name() -> None:
    def all_or_nothing(rho: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(rho > 0.5, 1.0, 0.0)

    table = recovered(("hard", None, 10, 5, 0.2), ("soft", None, 10, 5, 0.6))

    found = losses(table, betas=[0.01], utilities=[all_or_nothing, "linear"])

    assert found.filter(utility="all_or_nothing")["loss"].to_list() == pytest.approx([0.1, -0.5])
    assert found.filter(utility="linear")["loss"].to_list() == pytest.approx([-0.1, -0.1])


def test_a_preference_map_can_be_drawn_and_has_the_papers_shape() -> None:
    sizes = [3, 10, 30, 90]
    table = ratio_table(["hard", "soft"], items=sizes, classes=sizes)

    maps = preference_map(losses(table, betas=[1e-6, 0.1], utilities=["linear", "sigmoid"]))

    assert maps.columns == ["panel", "x", "y", "value"]
    assert maps["panel"].unique().sort().to_list() == [
        "linear, β = 0.1", "linear, β = 1e-06", "sigmoid, β = 0.1", "sigmoid, β = 1e-06",
    ]  # fmt: skip
    assert len(maps) == 4 * 16
    assert (maps.filter(panel="linear, β = 1e-06")["value"] > 0).all()  # soft stays preferable
    dear = maps.filter(panel="linear, β = 0.1")
    assert (dear["value"] < 0).all()
    corner = dear.filter((pl.col("x") == 90) & (pl.col("y") == 90))["value"].item()
    assert corner == dear["value"].min()  # hard wins more as both grow


def test_maps_and_curves_are_what_the_report_draws() -> None:
    figures = pytest.importorskip("sfumato.reporting.figures")
    drawing = pytest.importorskip("sfumato.reporting.draw")
    table = ratio_table(["hard", "soft", "sparse"], items=[5, 9], classes=[4, 6], kept=[1, 2, 3])
    found = losses(table, betas=[0.01])
    basis = drawing.Basis(simulated=False)

    maps = figures.grid_maps(
        preference_map(found), basis, xlabel="items", ylabel="classes", text="soft over hard"
    )
    curves = figures.trade_off(sparsity_curves(found), basis, xlabel="k̂", ylabel="loss")

    assert maps.table.columns[:4] == ["panel", "x", "y", "value"]
    assert curves.table.columns[:4] == ["panel", "series", "x", "value"]


def test_the_best_sparsity_has_the_least_loss() -> None:
    rho = {1: 0.30, 2: 0.60, 3: 0.65, 4: 0.66}
    rows = [("sparse", kept, 10, 4, value) for kept, value in rho.items()]
    table = recovered(*rows, ("hard", None, 10, 4, 0.25), ("soft", None, 10, 4, 0.66))

    found = losses(table, betas=[0, 1e-3, 1e-2, 1])

    assert best_kept(found)["kept"].to_list() == [4, 3, 2, 1]
    curves = sparsity_curves(found)
    assert set(curves["series"]) == {"sparse", "hard", "soft"}
    one = curves.filter(panel="n = 10, k = 4, linear, β = 0.01")
    assert one.filter(series="sparse")["x"].to_list() == [1, 2, 3, 4]
    assert one.filter(series="sparse")["value"].to_list() == pytest.approx(
        [0.1 - 0.3, 0.2 - 0.6, 0.3 - 0.65, 0.4 - 0.66]
    )
    assert one.filter(series="hard")["value"].to_list() == pytest.approx([0.1 - 0.25] * 4)
    with pytest.raises(DataError, match="'hard' have no k̂"):
        best_kept(found, "hard")
    with pytest.raises(DataError, match="No form in the table has a k̂"):
        sparsity_curves(found.filter(form="hard"))
    with pytest.raises(DataError, match="no losses of the form 'top-class'; known are hard, soft"):
        best_kept(found, "top-class")


def test_given_costs_and_people_enter_the_loss() -> None:
    table = recovered(
        ("hard", None, 10, 4, 0.0), ("sparse", 2, 10, 4, 0.0), ("sparse", 4, 10, 4, 0.0)
    )
    costs = given_costs({"hard": 1.8, "sparse": 32}, kept=2)

    found = losses(table, betas=[1], costs=costs, people={"hard": 50, "sparse": 6})

    # a vote of fifty people, two probabilities of six, and four at twice the price
    assert found["cost"].to_list() == pytest.approx([900, 1920, 3840])
    with pytest.raises(DataError, match="about the form 'soft'; known are hard, sparse"):
        losses(recovered(("soft", None, 10, 4, 0.0)), betas=[1], costs=costs)
    with pytest.raises(DataError, match="lacks the column 'rho'"):
        losses(table.drop("rho"), betas=[1])


def test_a_price_of_all_classes_grows_with_their_number() -> None:
    table = recovered(("soft", None, 10, 5, 0.0), ("soft", None, 10, 20, 0.0))
    costs = {"soft": replace(given_costs({"soft": 30})["soft"], classes=10)}

    found = losses(table, betas=[1], costs=costs)

    assert found["cost"].to_list() == pytest.approx([150, 600])  # 10 items at 15, and at 60


def test_an_assumed_cost_grows_with_the_inputs() -> None:
    prices = [assumed_cost("sparse", classes=9, kept=kept, each=2).value for kept in (1, 2, 9)]

    assert prices == [2, 4, 18]
    assert assumed_cost("soft", classes=9, each=2).value == 18
    assert assumed_cost("yes-no-unsure", classes=9).value == 9
