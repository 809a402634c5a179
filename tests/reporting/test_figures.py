"""Every figure from a small table, and from the tables that break figures."""

# ruff: noqa: E501 - a case is a line

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.reporting import figures
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import galleries
from sfumato.scores import COLUMNS, Estimate, as_rows

METRICS = ("cross_entropy", "accuracy")
ARMS = ("original", "majority", "soft, all annotators", "smoothed")
NETWORKS = ("LeNet", "small FFN", "deep FFN")
CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "bag", "boot")
BASIS = Basis(True, items=400, seeds=(0, 1, 2, 3, 4, 5), interval="seeds", people=20)
TAG = "simulated annotators"
RNG = np.random.default_rng(7)


def table_of(rows: Sequence[Estimate]) -> pl.DataFrame:
    """Estimates as figures take them; drawn numbers need no source here."""
    return pl.DataFrame(as_rows(rows), schema=COLUMNS)


def scores() -> pl.DataFrame:
    rows = []
    for at, (metric, network, arm) in enumerate(product(METRICS, NETWORKS, ARMS)):
        value = 0.6 - 0.02 * (at % 5) + 0.05 * (metric == "accuracy")
        rows += [
            Estimate(metric, value - 0.1 * (stratum == "disputed"), arm, network=network, stratum=stratum,
                  low=value - 0.03, high=value + 0.02, over="seeds", items=400,
                  seeds=(0, 1, 2), simulated=True)
            for stratum in ("all", "unanimous", "disputed")
        ]  # fmt: skip
    return table_of(rows)


def differences() -> pl.DataFrame:
    rows = [
        Estimate(metric, -0.05 + 0.02 * at, arm, "original", network, low=-0.09 + 0.02 * at,
                   high=-0.01 + 0.02 * at, over="seeds", items=400, seeds=(0, 1, 2))
        for metric, network, (at, arm) in product(METRICS, NETWORKS, enumerate(ARMS[1:]))
    ]  # fmt: skip
    return table_of(rows)


def grid(**axes: object) -> pl.DataFrame:
    """Every combination of the given values, as rows."""
    return pl.DataFrame(list(product(*axes.values())), schema=list(axes), orient="row")  # type: ignore[call-overload]


def valued(table: pl.DataFrame, *, column: str = "value", interval: bool = True) -> pl.DataFrame:
    value = np.round(0.3 + 0.4 * np.random.default_rng(1).random(table.height), 4)
    table = table.with_columns(pl.Series(column, value))
    return (
        table.with_columns(low=pl.col(column) - 0.05, high=pl.col(column) + 0.04)
        if interval
        else table
    )


def reliability() -> pl.DataFrame:
    table = grid(network=NETWORKS[:2], arm=ARMS[:3], bin=range(10))
    confidence = (table["bin"] + 0.5) / 10
    noise = pl.Series(RNG.normal(0, 0.04, table.height))
    return table.with_columns(
        confidence=confidence, accuracy=(confidence * 0.85 + noise).clip(0, 1),
        items=(table["bin"] + 1) * 12,
    )  # fmt: skip


def data_map(items: int = 300) -> pl.DataFrame:
    table = grid(arm=ARMS[:2], network=NETWORKS[:1], item=[f"i{n}" for n in range(items)])
    variability = RNG.random(table.height) * 0.45
    confidence = np.clip(1 - 2 * variability * RNG.random(table.height), 0, 1)
    region = np.where(variability > 0.25, "ambiguous", np.where(confidence > 0.6, "easy", "hard"))
    return table.with_columns(
        confidence=confidence, variability=variability, correctness=confidence, region=region,
        human_entropy=variability * 3 * RNG.random(table.height),
    )  # fmt: skip


def bars(items: int = 6) -> pl.DataFrame:
    rows = []
    for item, source in product(range(items), ("people", "LeNet soft", "LeNet hard")):
        probs = RNG.dirichlet(np.full(len(CLASSES), 0.3))
        rows += [(f"i{item}", source, name, p) for name, p in zip(CLASSES, probs, strict=True)]
    return pl.DataFrame(rows, schema=["item", "source", "class", "probability"], orient="row")


def pictures(items: int = 24) -> dict[str, NDArray[np.uint8]]:
    rng = np.random.default_rng(3)
    return {f"i{n}": rng.integers(0, 256, (14, 14), dtype=np.uint8) for n in range(items)}


def shift() -> pl.DataFrame:
    sets = pl.DataFrame(
        {"data": ["CIFAR-10 50k", "10.1 v6", "CINIC-10", "ImageNet-Far"], "step": [0, 1, 2, 3]}
    )
    table = sets.join(grid(arm=ARMS[:2], network=["mean"], metric=METRICS), how="cross")
    base = table["step"] * 0.5 + 0.6 + (table["arm"] == "original").cast(pl.Float64) * 0.2
    return table.with_columns(
        value=base, gap=(table["arm"] == "original") * 0.1 * (table["step"] + 1)
    )


def history() -> pl.DataFrame:
    table = grid(arm=ARMS[:2], network=NETWORKS[:2], seed=range(3), epoch=range(20))
    fall = (-table["epoch"].cast(pl.Float64) / 6).exp() * 2
    return table.with_columns(loss=fall + 0.1, validation_loss=fall + 0.4 + table["seed"] * 0.03)


def correlations() -> pl.DataFrame:
    signals = ("seconds", "mean uncertainty", "unsure share", "entropy, equal", "entropy, weighted")
    table = grid(first=signals, second=signals).filter(pl.col("first") <= pl.col("second"))
    rho = pl.Series(RNG.uniform(-0.9, 0.9, table.height))
    rho = pl.select(pl.when(table["first"] == table["second"]).then(1.0).otherwise(rho)).to_series()
    return table.with_columns(rho=rho, low=rho - 0.08, high=rho + 0.08, items=pl.lit(400))


def concentration() -> pl.DataFrame:
    x = np.linspace(0, 1, 51)
    parts = [
        pl.DataFrame({"source": [who] * 51, "share_of_items": x, "share_of_uncertainty": x**power})
        for who, power in (("people", 0.3), ("model", 0.6))
    ]
    return pl.concat(parts)


def entropies() -> pl.DataFrame:
    parts = [
        pl.DataFrame({"source": [who] * 200, "entropy": RNG.gamma(shape, 0.3, 200)})
        for who, shape in (("labels: votes", 1.0), ("LeNet on votes", 1.6), ("labels: soft", 3.0))
    ]
    return pl.concat(parts)


def confusions() -> pl.DataFrame:
    table = grid(people=CLASSES[:6], model=CLASSES[:6])
    share = RNG.dirichlet(np.full(6, 0.4), 6) * 0.3 + np.eye(6) * 0.7
    return table.with_columns(share=share.ravel())


def grouped(groups: list[str], size: int = 30) -> pl.DataFrame:
    return pl.DataFrame(
        {"group": np.repeat(groups, size), "value": RNG.normal(0.5, 0.2, size * len(groups))}
    )


@dataclass(frozen=True)
class Case:
    """A figure function, a table it draws, and the columns whose names and numbers may be odd."""

    draw: Callable[[pl.DataFrame], Drawing]
    table: pl.DataFrame
    names: str
    numbers: str


IMAGES = pictures()
f = figures
CASES: dict[str, Case] = {
    "by_arm": Case(
        lambda t: f.by_arm(t, references={"cross_entropy": {"entropy floor": 0.45, "class oracle": 0.5}}),
        scores().filter(pl.col("stratum") == "all"), "arm", "value"),
    "by_stratum": Case(lambda t: f.by_stratum(t), scores(), "arm", "value"),
    "leaderboard": Case(lambda t: f.leaderboard(t, references={"cross_entropy": {"entropy floor": 0.45}}),
        scores().filter(pl.col("stratum") == "all"), "network", "value"),
    "paired_differences": Case(lambda t: f.paired_differences(t), differences(), "arm", "value"),
    "relation": Case(lambda t: f.relation(t, BASIS), valued(grid(measure=["entropy", "error rate"], name=list(ARMS)))
        .with_columns(x=pl.Series(np.linspace(0, 1, 8))), "name", "x"),
    "reliability": Case(lambda t: f.reliability(t, BASIS), reliability(), "arm", "accuracy"),
    "data_map": Case(lambda t: f.data_map(t, BASIS), data_map(), "region", "human_entropy"),
    "entropy_tracking": Case(lambda t: f.entropy_tracking(t, BASIS), pl.DataFrame({
        "item": [f"i{n}" for n in range(200)], "top_probability": RNG.uniform(0.3, 1, 200),
        "possible_labels": RNG.integers(1, 9, 200) + RNG.normal(0, 0.1, 200),
        "reference_entropy": RNG.random(200)}), "item", "top_probability"),
    "seconds_against_entropy": Case(lambda t: f.seconds_against_entropy(t, BASIS), pl.DataFrame({
        "item": [f"i{n}" for n in range(200)], "seconds": RNG.lognormal(2, 0.6, 200),
        "entropy": RNG.random(200)}), "item", "seconds"),
    "concentration": Case(lambda t: f.concentration(t, BASIS), concentration(), "source", "share_of_uncertainty"),
    "entropy_histograms": Case(lambda t: f.entropy_histograms(t, BASIS), entropies(), "source", "entropy"),
    "histograms": Case(lambda t: f.histograms(t, BASIS, xlabel="agreement with the others", counted="annotators"),
        grouped(["kept", "excluded"]), "group", "value"),
    "boxes": Case(lambda t: f.boxes(t, BASIS, xlabel="generating coefficient", ylabel="inferred", diagonal=(0.1, 0.5, 0.9)),
        grouped(["0.1", "0.5", "0.9"]), "group", "value"),
    "gallery": Case(lambda t: f.gallery(t, IMAGES, BASIS), bars(), "class", "probability"),
    "label_pairs": Case(lambda t: f.label_pairs(t, IMAGES, BASIS), bars(4).with_columns(
        group=pl.when(pl.col("item") < "i2").then(pl.lit("closest")).otherwise(pl.lit("farthest")),
        distance=pl.lit(0.25)), "source", "probability"),
    "contact_sheet": Case(lambda t: f.contact_sheet(t, IMAGES, BASIS), pl.DataFrame({"item": list(IMAGES)}), "item", ""),
    "attack_curves": Case(lambda t: f.attack_curves(t, BASIS), valued(grid(
        metric=METRICS, attack=["pgd"], network=NETWORKS[:2], arm=ARMS[:3], epsilon=[0, 1 / 255, 2 / 255, 4 / 255])), "arm", "value"),
    "corruption_bars": Case(lambda t: f.corruption_bars(t, BASIS), valued(grid(
        metric=["cross_entropy"], network=NETWORKS[:2], strength=[3], arm=ARMS[:3],
        corruption=["gaussian noise", "fog", "jpeg", "contrast"]), interval=False), "corruption", "value"),
    "shift_ladder": Case(lambda t: f.shift_ladder(t, BASIS), shift(), "arm", "value"),
    "mode_shift": Case(lambda t: f.mode_shift(t, BASIS), valued(grid(
        metric=METRICS, network=NETWORKS[:2], trained_on=ARMS[:3], tested_on=["original", "people's majority"])), "trained_on", "value"),
    "convergence": Case(lambda t: f.convergence(t, BASIS), valued(grid(
        network=NETWORKS, arm=ARMS[:2], epoch=range(30)), column="jsd"), "arm", "jsd"),
    "correlation_matrix": Case(lambda t: f.correlation_matrix(t, BASIS), correlations(), "first", "rho"),
    "learning_curves": Case(lambda t: f.learning_curves(t, BASIS), history(), "arm", "loss"),
    "against_seconds": Case(lambda t: f.against_seconds(t, BASIS), valued(grid(
        metric=METRICS, arm=ARMS[:3], seconds=[1000, 4000, 9000])), "arm", "value"),
    "against_annotators": Case(lambda t: f.against_annotators(t, BASIS), valued(grid(
        metric=METRICS, arm=ARMS[:3], M=[1, 2, 4, 6])), "arm", "value"),
    "against_items": Case(lambda t: f.against_items(t, BASIS), valued(grid(
        metric=METRICS, arm=ARMS[:3], items=[100, 400, 1000])), "arm", "value"),
    "pair_map": Case(lambda t: f.pair_map(t, BASIS, value="same", text="same top choice"), pl.DataFrame({
        "first": ["ann", "ann", "ben"], "second": ["ben", "eve", "eve"], "same": [0.9, 0.5, 0.7]}), "first", "same"),
    "confusion": Case(lambda t: f.confusion(t, BASIS), confusions(), "people", "share"),
    "grid_maps": Case(lambda t: f.grid_maps(t, BASIS, xlabel="items", ylabel="classes", text="information ratio"),
        valued(grid(panel=["soft", "top-2"], x=[10, 100, 1000, 10000], y=[2, 10, 100]), interval=False), "panel", "value"),
    "mix_gallery": Case(lambda t: f.mix_gallery(t, IMAGES, BASIS), valued(grid(
        first_class=["cat", "owl"], first_item=["i0"], second_item=["i1"], second_class=["dog"], shown=[0.25],
        confidence=[0.2, 0.9]), column="perceived", interval=False).with_columns(mix=pl.col("first_class") + " + dog"), "first_class", "perceived"),
    "pair_curves": Case(lambda t: f.pair_curves(t, t, BASIS), valued(grid(
        pair=["cat + dog", "cat + owl", "dog + owl"], shown=[0.1, 0.5, 0.9])), "pair", "value"),
    "coefficient_curves": Case(lambda t: f.coefficient_curves(t, BASIS, ylabel="confidence"), valued(grid(
        series=["thesis", "later"], shown=[0.1, 0.5, 0.9])), "series", "value"),
    "trade_off": Case(lambda t: f.trade_off(t, BASIS, xlabel="labels an item (k̂)", ylabel="loss"),
        valued(grid(panel=["β = 0.1", "β = 1"], series=["n = 100", "n = 1,000"], x=range(1, 9)), interval=False), "series", "value"),
}  # fmt: skip


def words(drawing: Drawing, *, laid_out: bool = False) -> str:
    """All text of the SVG, which must be well-formed; laying it out takes most of the time."""
    if not laid_out:
        drawing.figure.set_layout_engine("none")
    return " ".join(ET.fromstring(drawing.svg).itertext())


@pytest.mark.parametrize("name", CASES)
def test_figure_draws_its_table_with_mark_and_caption(name: str) -> None:
    case = CASES[name]

    drawing = case.draw(case.table)

    assert drawing.table.height > 0
    assert drawing.title
    assert drawing.table["simulated"].unique().to_list() == [drawing.simulated]
    assert (TAG in words(drawing, laid_out=True)) == drawing.simulated
    assert "seeds" in drawing.caption


def test_every_figure_function_has_a_case() -> None:
    assert set(CASES) == set(figures.__all__)


@pytest.mark.parametrize("name", CASES)
def test_figure_draws_a_single_row(name: str) -> None:
    case = CASES[name]

    drawing = case.draw(case.table.head(1))

    assert words(drawing)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].numbers])
def test_figure_draws_around_what_is_not_a_number(name: str) -> None:
    case = CASES[name]
    odd = pl.Series(case.numbers, [math.nan, math.inf, None, -math.inf, 0.5, 0.0] * 2)
    some = case.table.head(12).with_columns(odd.head(min(case.table.height, 12)))
    none = case.table.head(2).with_columns(odd.head(2))

    assert words(case.draw(some))
    assert case.draw(none).table.height


HOSTILE = (
    "<script>alert(1)</script>",
    "--><b>&amp;\"'",
    "$\\frac{1}{0}$ costs $5",
    "naïve Übergrößenträger 日本語 🐱 עברית",
    "a\nvery " + "long " * 40 + "name\x00\x1b",
    "",
)


@pytest.mark.parametrize("name", CASES)
def test_names_are_text_and_nothing_else(name: str) -> None:
    case = CASES[name]
    table = case.table.with_columns(
        pl.Series(case.names, [HOSTILE[n % len(HOSTILE)] for n in range(case.table.height)])
    ).head(6)

    drawing = case.draw(table)

    drawing.figure.set_layout_engine("none")
    tree = ET.fromstring(drawing.svg)
    kinds = {element.tag.split("}")[1] for element in tree.iter()}
    assert not kinds & {"script", "b"}


@pytest.mark.parametrize("name", ["by_arm", "mode_shift", "convergence"])
def test_forty_arms_fit(name: str) -> None:
    case = CASES[name]
    first = case.table.head(1)
    table = pl.concat(
        [
            first.with_columns(pl.lit(f"arm number {n} with a longer name").alias(case.names))
            for n in range(40)
        ]
    )

    drawing = case.draw(table)

    text = words(drawing)
    assert all(f"arm number {n} " in text for n in range(40))
    assert drawing.figure.get_size_inches()[1] < 25


@pytest.mark.parametrize("name", CASES)
def test_missing_column_is_named(name: str) -> None:
    case = CASES[name]

    with pytest.raises(DataError, match=rf"lacks the column '{case.names}'"):
        case.draw(case.table.drop(case.names))


@pytest.mark.parametrize("name", CASES)
def test_empty_table_is_refused(name: str) -> None:
    case = CASES[name]

    with pytest.raises(DataError, match="no rows"):
        case.draw(case.table.clear())


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].numbers])
def test_text_in_place_of_numbers_is_refused(name: str) -> None:
    case = CASES[name]

    with pytest.raises(DataError, match=rf"'{case.numbers}'.*not numbers"):
        case.draw(case.table.with_columns(pl.lit("many").alias(case.numbers)))


def test_dot_of_a_score_is_where_its_value_is() -> None:
    table = table_of(
        [Estimate("accuracy", 0.75, "a", low=0.5, high=0.875), Estimate("accuracy", 0.25, "b")]
    )

    axes = f.by_arm(table).figure.axes[0]

    points = [tuple(point) for line in axes.lines for point in np.asarray(line.get_data()).T]
    spans = [segment.tolist() for c in axes.collections for segment in c.get_segments()]  # type: ignore[attr-defined]
    assert points == [(0.75, 0), (0.25, 1)]
    assert spans == [[[0.5, 0], [0.875, 0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first arm is on top


@pytest.mark.parametrize("draw", [f.by_arm, f.leaderboard])
def test_reference_lines_are_named_outside_the_data(draw: Callable[..., Drawing]) -> None:
    lines = {"cross_entropy": {"entropy floor": 0.25, "oracle": 0.5}, "kl": {"not drawn": 0.1}}
    table = table_of([Estimate("cross_entropy", 0.75, "a"), Estimate("accuracy", 0.75, "a")])

    drawing = draw(table, references=lines)

    panel = drawing.figure.axes[0]
    drawn = {
        float(np.atleast_1d(line.get_xdata())[0]): line.get_linestyle()
        for line in panel.lines
        if line.get_linestyle() != "None"
    }
    assert sorted(drawn) == [0.25, 0.5]
    assert panel.get_xlim()[0] < 0.25  # not on the edge of the panel
    assert not panel.texts
    assert [text.get_text() for text in drawing.figure.legends[0].get_texts()] == [
        "entropy floor",
        "oracle",
    ]
    assert len(drawing.figure.axes[1].lines) == 1  # the other metric has no references


def test_strata_are_named_with_their_items() -> None:
    rows = [
        Estimate("accuracy", 0.5, "a", stratum="disputed", items=1234),
        Estimate("accuracy", 0.5, "b", stratum="disputed", items=1234),
        Estimate("accuracy", 0.5, "a", stratum="HLV", items=9),
        Estimate("accuracy", 0.5, "b", stratum="HLV", items=7),
        Estimate("accuracy", 0.5, "a", stratum="unknown", items=0),
    ]

    axes = f.by_stratum(table_of(rows)).figure.axes[0]

    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["disputed (n = 1,234)", "HLV (n = 7 to 9)", "unknown"]


def modes() -> pl.DataFrame:
    return pl.DataFrame(
        {"network": "n", "trained_on": ["soft", "hard"], "tested_on": "people", "metric": "accuracy",
         "value": [0.96, 0.95], "low": [0.94, None], "high": [0.97, None]}
    )  # fmt: skip


def test_mode_shift_is_dots_on_an_axis_that_shows_the_difference() -> None:
    axes = f.mode_shift(modes(), BASIS).figure.axes[0]

    assert not axes.patches
    assert [float(x) for line in axes.lines for x in np.atleast_1d(line.get_xdata())] == [
        0.96,
        0.95,
    ]
    assert axes.get_xlim()[0] > 0.9


def attacked(arms: int) -> pl.DataFrame:
    names = [f"arm {n}" for n in range(arms)]
    return valued(
        grid(metric=["accuracy"], attack=["pgd"], network=["n"], arm=names, epsilon=[0, 8, 16])
    )


@pytest.mark.parametrize(("arms", "bands"), [(1, 1), (3, 3), (4, 0), (8, 0)])
def test_bands_are_drawn_only_for_as_many_arms_as_can_be_told_apart(arms: int, bands: int) -> None:
    drawing = f.attack_curves(attacked(arms), BASIS)

    panel = drawing.figure.axes[0]
    drawn = [one for one in panel.collections if isinstance(one, PolyCollection)]
    assert len(drawn) == bands
    assert len(panel.collections) == arms  # otherwise each has thin bars
    assert ("thin bars" in drawing.caption) == (bands == 0)


def test_points_of_many_arms_stand_beside_each_other_around_their_place() -> None:
    panel = f.attack_curves(attacked(5), BASIS).figure.axes[0]

    at = np.array([line.get_xdata() for line in panel.lines])  # (arms, places)
    assert np.allclose(at.mean(axis=0), [0, 8, 16])
    assert (np.diff(at, axis=0) > 0).all()
    assert np.ptp(at, axis=0).max() < 1


def test_convergence_of_many_arms_leaves_intervals_to_the_table() -> None:
    table = valued(grid(network=["n"], arm=ARMS, epoch=range(1, 5)), column="jsd")

    few, many = (
        f.convergence(table.filter(pl.col("arm") != ARMS[0]), BASIS),
        f.convergence(table, BASIS),
    )

    assert len(few.figure.axes[0].collections) == 3
    assert not many.figure.axes[0].collections
    assert "intervals are in the table only" in many.caption
    assert "table only" not in few.caption


def test_reliability_has_a_panel_an_arm_and_a_colour_a_network() -> None:
    drawing = f.reliability(reliability(), BASIS)

    panels = drawing.figure.axes
    assert [panel.get_title(loc="left") for panel in panels] == list(ARMS[:3])
    assert all(len(panel.collections) == 2 for panel in panels)
    assert [text.get_text() for text in drawing.figure.legends[0].get_texts()] == list(NETWORKS[:2])


def test_reliability_of_one_network_names_it_in_the_headings() -> None:
    drawing = f.reliability(reliability().filter(pl.col("network") == "LeNet"), BASIS)

    assert drawing.figure.axes[0].get_title(loc="left") == "original · LeNet"


@pytest.mark.parametrize(
    ("low", "high", "hollow"),
    [(0.1, 0.2, 0), (-0.2, -0.1, 0), (-0.1, 0.1, 1), (0.0, 0.1, 1), (None, None, 1)],
)
def test_difference_is_filled_only_where_the_interval_excludes_zero(
    low: float | None, high: float | None, hollow: int
) -> None:
    table = table_of([Estimate("accuracy", 0.1, "a", "b", low=low, high=high)])

    axes = f.paired_differences(table).figure.axes[0]

    white = [line for line in axes.lines if line.get_color() == "white"]
    assert sum(len(np.atleast_1d(line.get_xdata())) for line in white) == hollow


@pytest.mark.parametrize(
    ("metric", "first"), [("cross_entropy", "b"), ("accuracy", "a"), ("entropy", "b")]
)
def test_leaderboard_has_the_best_on_top(metric: str, first: str) -> None:
    table = table_of(
        [Estimate(metric, 0.9, "a"), Estimate(metric, 0.1, "b"), Estimate(metric, np.nan, "c")]
    )

    axes = f.leaderboard(table, metric=metric).figure.axes[0]

    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == first
    assert labels[-1] == "c"


def test_panels_never_mix_strata() -> None:
    drawing = f.by_arm(scores())

    assert len(drawing.figure.axes) == len(METRICS) * 3


def test_gallery_sums_small_classes_and_keeps_the_mass() -> None:
    table = bars(3)

    shown = f.gallery(table, IMAGES, BASIS).table

    sums = shown.group_by("item", "source").agg(pl.col("probability").sum())["probability"]
    assert np.allclose(sums, 1)
    assert shown.group_by("item").agg(pl.col("class").n_unique())["class"].to_list() == [7, 7, 7]


def test_gallery_says_when_it_shows_not_all_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galleries, "MOST_ITEMS", 2)

    drawing = f.gallery(bars(3), IMAGES, BASIS)

    assert drawing.table["item"].n_unique() == 2
    assert "first 2 of 3 items" in drawing.caption


def test_item_without_image_says_so() -> None:
    assert "no image" in words(f.gallery(bars(1), {}, BASIS))


def test_image_of_a_wrong_shape_names_its_item() -> None:
    with pytest.raises(DataError, match=r"item 'i0' has the shape \(2, 3, 5\)"):
        f.gallery(bars(1), {"i0": np.zeros((2, 3, 5))}, BASIS)


@pytest.mark.parametrize("shape", [(5, 5), (5, 5, 1), (5, 5, 3), (5, 5, 4)])
def test_images_with_these_channels_are_drawn(shape: tuple[int, ...]) -> None:
    assert words(f.gallery(bars(1), {"i0": np.zeros(shape)}, BASIS))


def coloured(axes: Axes) -> NDArray[np.float64]:
    cells = axes.images[0].get_array()
    assert cells is not None
    return np.ma.getdata(cells)


def test_correlations_fill_both_halves() -> None:
    table = pl.DataFrame(
        {"first": ["a"], "second": ["b"], "rho": [0.5], "low": [0.4], "high": [0.6], "items": [9]}
    )

    axes = f.correlation_matrix(table, BASIS).figure.axes[0]

    cells = coloured(axes)
    assert cells[0, 1] == cells[1, 0] == 0.5
    assert [text.get_text() for text in axes.texts] == ["0.50\n[0.40, 0.60]"] * 2


def test_confusion_puts_people_in_rows() -> None:
    table = pl.DataFrame({"people": ["cat", "cat"], "model": ["cat", "dog"], "share": [0.75, 0.25]})

    axes = f.confusion(table, BASIS).figure.axes[0]

    assert coloured(axes)[0].tolist() == [0.75, 0.25]


def test_trade_off_rings_the_lowest_point() -> None:
    table = pl.DataFrame({"panel": "p", "series": "s", "x": [1, 2, 3], "value": [3.0, 1.0, 2.0]})

    axes = f.trade_off(table, BASIS, xlabel="x", ylabel="y").figure.axes[0]

    ring = axes.lines[-1]
    assert [float(v[0]) for v in map(np.atleast_1d, ring.get_data())] == [2.0, 1.0]


def test_trade_off_rings_what_its_table_says_and_shows_intervals() -> None:
    table = pl.DataFrame(
        {
            "panel": "p", "series": "s", "x": [1, 2, 4], "value": [3.0, 1.0, 2.0],
            "low": [2.0, 0.5, 1.0], "high": [4.0, 1.5, 3.0], "ring": [False, False, True],
        }
    )  # fmt: skip

    drawing = f.trade_off(table, BASIS, xlabel="x", ylabel="y", ringed="the chosen", xscale="log")

    axes = drawing.figure.axes[0]
    ring = axes.lines[-1]
    assert [float(v[0]) for v in map(np.atleast_1d, ring.get_data())] == [4.0, 2.0]
    assert len(axes.collections) == 1  # the band
    assert axes.get_xscale() == "log"
    assert drawing.caption.startswith("A ring marks the chosen.")


def test_maps_share_a_bar_or_have_one_each() -> None:
    table = pl.DataFrame(
        {"panel": ["a", "a", "b", "b"], "x": [1, 2, 1, 2], "y": 1, "value": [-2.0, 1.0, 0.5, 9.0]}
    )

    def bars(**options: Any) -> list[tuple[float, float]]:
        drawing = f.grid_maps(table, BASIS, xlabel="x", ylabel="y", text="v", **options)
        return [one.images[0].get_clim() for one in drawing.figure.axes if one.images] + [
            (0.0, 0.0) for one in drawing.figure.axes[2:]
        ]

    assert bars() == [(-2.0, 9.0), (-2.0, 9.0), (0.0, 0.0)]
    assert bars(bar="each") == [(-2.0, 1.0), (0.5, 9.0), (0.0, 0.0), (0.0, 0.0)]
    assert bars(scale="around zero")[0] == (-9.0, 9.0)
    assert bars(limits=(0.0, 1.0))[0] == (0.0, 1.0)


def test_lines_are_drawn_in_the_order_of_their_axis() -> None:
    table = pl.DataFrame(
        {"arm": "a", "M": [4, 1, 2], "metric": "accuracy", "value": [0.4, 0.1, 0.2]}
    )

    line = f.against_annotators(table, BASIS).figure.axes[0].lines[0]

    assert np.asarray(line.get_data()).tolist() == [[1, 2, 4], [0.1, 0.2, 0.4]]


def test_caption_counts_what_could_not_be_drawn() -> None:
    table = valued(grid(metric=["accuracy"], arm=["a"], M=[1, 2, 3])).with_columns(
        value=pl.Series([0.5, float("nan"), float("inf")])
    )

    assert "2 of 3 values" in f.against_annotators(table, BASIS).caption


def test_many_points_become_pixels_so_that_the_file_stays_small() -> None:
    drawing = f.data_map(data_map(4000), BASIS)

    text = drawing.svg

    assert "data:image/png" in text
    assert len(text) < 400_000


def test_data_map_shows_the_uncertain_on_top() -> None:
    drawing = f.data_map(data_map(50), BASIS)

    for collection in drawing.figure.axes[0].collections:
        colours = collection.get_array()
        assert colours is None or np.all(np.diff(colours) >= 0)


def test_figures_leave_no_global_state() -> None:
    before = dict(mpl.rcParams)
    assert f.reliability(reliability(), BASIS).svg

    assert dict(mpl.rcParams) == before
    sources = Path(figures.__file__).parent.parent.rglob("*.py")
    assert not [path for path in sources if "import matplotlib.pyplot" in path.read_text("utf-8")]


def test_real_people_carry_no_mark() -> None:
    drawing = f.reliability(reliability(), Basis(False, items=5))

    assert TAG not in words(drawing)
    assert not drawing.simulated
    assert "imulated" not in drawing.caption
    assert re.search(r"n = 5 items", drawing.caption)


def test_seeds_of_a_drawn_table_are_text() -> None:
    drawing = f.by_arm(scores())

    assert drawing.table["seeds"][0] == "0 1 2"
    assert "provenance" not in drawing.table.columns
