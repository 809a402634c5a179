"""Turn what labels recovered in simulated worlds into the figures of paper 2 (S1-F1, F2, F3, F6).

``table`` is what ``planning.grid.run_grid`` gives, one row per label tried; every function returns
one drawing.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl

from sfumato.errors import DataError
from sfumato.planning.cost import Cost, Utility, losses, preference_map, sparsity_curves
from sfumato.planning.grid import kept_curves, maps, recovered_means
from sfumato.planning.information import ratio_table
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures.curves import trade_off
from sfumato.reporting.figures.scores import grid_maps

ORDER = (
    "hard",
    "soft",
    "sparse",
    "top-class",
    "top-class-zero",
    "yes-no-unsure",
    "typicality",
    "pca",
)
"""Forms in the order of legends, so that a form has the same colour in every figure."""
ITEMS, CLASSES = "items (n)", "classes (k)"
KEPT = "numbers in an answer (k̂)"
RECOVERED = "ρ with the truth"


def information_maps(
    items: Sequence[int],
    classes: Sequence[int],
    *,
    forms: Sequence[str] = ("hard", "soft"),
    title: str = "Information ratio, by formula",
) -> Drawing:
    """Information ratios over n and k, one map per form with colours of its own (S1-24, S1-F1)."""
    table = ratio_table(forms, items=items, classes=classes).select(
        panel="form", x="items", y="classes", value="rho"
    )
    return grid_maps(
        table, Basis(simulated=False), xlabel=ITEMS, ylabel=CLASSES, text="information ratio",
        name="information-ratio", title=title, bar="each", columns=min(len(forms), 3),
    )  # fmt: skip


def rho_maps(table: pl.DataFrame) -> Drawing:
    """Mean ρ of hard and soft labels over n and k, one column per number of dimensions (S1-30)."""
    mine = table.filter(pl.col("form").is_in(["hard", "soft"]), flipped=0.0)
    drawn = pl.concat([maps(mine.filter(form=form)) for form in ("hard", "soft")])
    return grid_maps(
        drawn, _basis(mine, interval=""), xlabel=ITEMS, ylabel=CLASSES, text=RECOVERED,
        name="rho", title="How well labels recover what is true", columns=_across(mine),
        limits=(min(0.0, _least(drawn)), 1.0),
    )  # fmt: skip


def preference_maps(
    table: pl.DataFrame,
    *,
    dimensions: int,
    betas: Sequence[float],
    utilities: Sequence[str | Utility] = ("linear", "sigmoid", "inverse-sigmoid"),
    costs: Mapping[str, Cost] | None = None,
    people: int | Mapping[str, int] = 1,
    first: str = "soft",
    second: str = "hard",
    title: str = "",
) -> Drawing:
    """Which of two forms has less loss over n and k, by utility and β (S1-34, S1-F1).

    Colours end at a difference of 1, as much as a perfect ρ is worth with linear utility: who
    wins is seen everywhere, by how much only up to there.
    """
    shown = recovered_means(table, dimensions=dimensions).filter(
        pl.col("form").is_in([first, second])
    )
    found = losses(shown, betas=betas, utilities=utilities, costs=costs, people=people)
    drawn = preference_map(found, first=first, second=second)
    return grid_maps(
        drawn, _basis(table.filter(dimensions=dimensions), interval=""), xlabel=ITEMS,
        ylabel=CLASSES, text=f"loss saved by {first} over {second}", name="preference",
        title=title or f"{first.capitalize()} against {second}, in {dimensions} dimensions",
        columns=len(betas), scale="around zero", limits=(-1.0, 1.0),
    )  # fmt: skip


def dimension_maps(table: pl.DataFrame) -> Drawing:
    """The fewest principal components that recover as much as soft labels (S1-36, S1-F2)."""
    mine = table.filter(form="soft", flipped=0.0)
    drawn = maps(mine, "effective")
    return grid_maps(
        drawn, _basis(mine, interval=""), xlabel=ITEMS, ylabel=CLASSES,
        text="components", name="effective-dimensionality",
        title="Effective dimensionality of soft labels", bar="each", columns=_across(mine),
    )  # fmt: skip


def pca_curves(curves: pl.DataFrame) -> Drawing:
    """ρ over the number of principal components, one panel per world, soft labels ringed (S1-F2).

    ``curves`` is what ``planning.grid.component_curves`` gives.
    """
    panel = pl.format("n = {}, k = {}, d = {}", "items", "classes", "dimensions")
    mine = curves.with_columns(panel.alias("panel"))
    known = mine.select(
        "panel", pl.lit("principal components").alias("series"), x="kept", value="rho",
        ring=pl.lit(False),
    )  # fmt: skip
    soft = mine.filter(_level_ends()).select(
        "panel", pl.lit("soft labels").alias("series"), x="kept", value="soft",
        ring=pl.col("kept") == pl.col("effective"),
    )  # fmt: skip
    drawn = pl.concat([known, soft])
    return trade_off(
        drawn, _basis(curves, interval=""), xlabel="principal components", ylabel=RECOVERED,
        name="components", title="What principal components recover, and where soft labels stand",
        xscale="log", columns=min(3, mine["panel"].n_unique()),
        ringed="the fewest components that recover as much as soft labels",
    )  # fmt: skip


def kept_figure(
    table: pl.DataFrame,
    *,
    name: str = "kept",
    title: str = "What more numbers in an answer recover",
    columns: int = 3,
    interval: Literal["seeds", ""] = "seeds",
) -> Drawing:
    """ρ over k̂ of every form that has one, the others as level lines, one panel per task (S1-F3).

    Bands are 95 % intervals over seeds; none are drawn where ``interval`` is empty.
    """
    mine = table.filter(flipped=0.0)
    drawn = _in_order(kept_curves(mine)).with_columns(ring=pl.lit(False))
    if not interval:  # two seeds tell next to nothing about how far others lie apart
        drawn = drawn.drop("low", "high")
    return trade_off(
        drawn, _basis(mine, interval), xlabel=KEPT, ylabel=RECOVERED, name=name, title=title,
        ringed="", columns=min(columns, drawn["panel"].n_unique()), xscale="log",
    )  # fmt: skip


def loss_figure(
    table: pl.DataFrame,
    *,
    items: int,
    classes: int,
    dimensions: int,
    betas: Sequence[float],
    utilities: Sequence[str | Utility] = ("linear", "sigmoid", "inverse-sigmoid"),
    costs: Mapping[str, Cost] | None = None,
    people: int | Mapping[str, int] = 1,
    name: str = "loss",
    title: str = "",
) -> Drawing:
    """Loss over k̂ of one task, one row of panels per utility, one column per β (S1-35, S1-F6).

    Rings mark the least loss of every form that has a k̂.
    """
    task = recovered_means(table, dimensions=dimensions).filter(items=items, classes=classes)
    if not len(task):
        raise DataError(f"Nothing was simulated for {items} items and {classes} classes.")
    found = losses(task, betas=betas, utilities=utilities, costs=costs, people=people)
    curves = _in_order(sparsity_curves(found))
    with_kept = task.filter(pl.col("kept").is_not_null())["form"].unique()
    lowest = pl.int_range(pl.len()).over("panel", "series") == pl.col("value").arg_min().over(
        "panel", "series"
    )
    drawn = curves.with_columns(
        panel=pl.col("panel").str.strip_prefix(f"n = {items}, k = {classes}, "),
        ring=lowest & pl.col("series").is_in(with_kept.implode()),
    )
    mine = table.filter(items=items, classes=classes, dimensions=dimensions)
    return trade_off(
        drawn, _basis(mine, interval=""), xlabel=KEPT, ylabel="loss", name=name,
        title=title or f"Loss over k̂: {items} items, {classes} classes, {dimensions} dimensions",
        ringed="the least loss of a form that has a k̂", columns=len(betas), xscale="log",
    )  # fmt: skip


def noise_figure(noise: pl.DataFrame) -> Drawing:
    """ρ over the share of flipped answers, beside right ones, as many as a formula leaves (S1-27).

    ``noise`` has the columns ``series``, ``flipped``, ``rho``, ``low``, ``high``, ``seeds``.
    """
    drawn = noise.select(
        panel=pl.lit(""), series="series", x="flipped", value="rho", low="low", high="high",
        ring=pl.lit(False),
    )  # fmt: skip
    seeds = tuple(range(int(noise["seeds"].max() or 0)))  # type: ignore[arg-type]
    basis = Basis(True, seeds=seeds, interval="seeds", made="worlds")
    return trade_off(
        drawn, basis, xlabel="share of answers that are wrong (ε)", ylabel=RECOVERED,
        name="flipped", title="What wrong answers cost, and what formulas foretell", ringed="",
    )  # fmt: skip


def _basis(table: pl.DataFrame, interval: str = "seeds") -> Basis:
    """Seeds behind a drawing; intervals only where there is more than one."""
    seeds = tuple(table["seed"].unique().sort().to_list())
    return Basis(True, seeds=seeds, interval=interval if len(seeds) > 1 else "", made="worlds")


def _in_order(curves: pl.DataFrame) -> pl.DataFrame:
    """Panels as they come, in each the forms in ``ORDER``."""
    known = {form: at for at, form in enumerate(ORDER)}
    place = pl.col("series").replace_strict(known, default=len(ORDER))
    panels = curves.select("panel").unique(maintain_order=True).with_row_index("place")
    placed = curves.join(panels, on="panel", maintain_order="left")
    return placed.sort("place", place, "x", maintain_order=True).drop("place")


def _level_ends() -> pl.Expr:
    """Where a level line begins, ends and is ringed."""
    kept = pl.col("kept")
    return (kept == 1) | (kept == kept.max().over("panel")) | (kept == pl.col("effective"))


def _across(table: pl.DataFrame) -> int:
    return max(1, table["dimensions"].n_unique())


def _least(drawn: pl.DataFrame) -> float:
    return float(drawn["value"].min() or 0.0)  # type: ignore[arg-type]
