"""Turn what a grid found into tables for a reader: ρ by n and k, correlations, wrong answers."""

from collections.abc import Sequence

import polars as pl

from sfumato.planning.cost import losses, preferred
from sfumato.planning.grid import means, recovered
from sfumato.reporting.text import interval, number
from sfumato.studies.informativeness.answers import Told, correlations

__all__ = ["best_rows", "correlation_rows", "kept_rows", "noise_rows", "noise_shown", "rho_rows"]

RULES = {
    "linear": "(1 - ε)T right answers",
    "capacity": "(1 - H₂(ε))T right answers",
}
FLIPPED = "T answers, εT of them wrong"


def rho_rows(grid: pl.DataFrame, form: str, sizes: Sequence[int]) -> pl.DataFrame:
    """Mean ρ of a form with its 95 % interval over seeds: a row a d and n, a column a k."""
    found = means(grid.filter(form=form, flipped=0.0)).sort("dimensions", "items", "classes")
    inside = found.filter(pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes))))
    rows: dict[tuple[int, int], dict[str, int | str]] = {}
    for one in inside.iter_rows(named=True):
        place = (one["dimensions"], one["items"])
        row = rows.setdefault(place, {"d": place[0], "n": place[1]})
        shown = f"{number(one['rho'])} {interval(one['low'], one['high'])}".rstrip()
        row[f"k = {one['classes']}"] = shown
    return pl.DataFrame(list(rows.values()), infer_schema_length=None)


def kept_rows(grid: pl.DataFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Mean ρ of the forms that have a k̂: a row a d, n, k and form, a column a k̂."""
    found = means(grid.filter(pl.col("kept").is_not_null(), flipped=0.0))
    inside = found.filter(pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes))))
    kept = inside["kept"].unique().sort().to_list()
    order = ["dimensions", "items", "classes", "form"]
    return pl.DataFrame(
        [
            {
                "d": task[0],
                "n": task[1],
                "k": task[2],
                "form": task[3],
                **{f"k̂ = {count}": _at(part, count) for count in kept},
            }
            for task, part in inside.sort(order).group_by(order, maintain_order=True)
        ]
    )


def _at(part: pl.DataFrame, kept: int) -> str:
    found = part.filter(kept=kept)
    if not len(found):
        return ""
    one = found.row(0, named=True)
    return f"{number(one['rho'])} {interval(one['low'], one['high'])}".rstrip()


def best_rows(
    grid: pl.DataFrame, sizes: Sequence[int], dimensions: int, betas: Sequence[float]
) -> pl.DataFrame:
    """The form, and k̂, of least loss with linear utility: a row an n and k, a column a β."""
    inside = grid.filter(pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes))))
    best = preferred(losses(recovered(inside, dimensions=dimensions), betas=betas))
    rows: dict[tuple[int, int], dict[str, int | str]] = {}
    for one in best.sort("items", "classes", "beta").iter_rows(named=True):
        row = rows.setdefault(
            (one["items"], one["classes"]), {"n": one["items"], "k": one["classes"]}
        )
        row[f"β = {one['beta']:g}"] = (
            one["form"] if one["kept"] is None else f"{one['form']}, k̂ = {one['kept']}"
        )
    return pl.DataFrame(list(rows.values()))


def correlation_rows(told: Told) -> pl.DataFrame:
    """r of information ratio and effective dimensionality by d and for all, beside the paper's."""
    rows = [
        {
            "dimensions": "all together" if one["dimensions"] is None else str(one["dimensions"]),
            "r": f"{number(one['r'])} {interval(one['low'], one['high'])}".rstrip(),
            "p": f"{one['p']:.1g}",
            "tasks": one["tasks"],
            "paper 2": number(one["paper"]),
        }
        for one in correlations(told).iter_rows(named=True)
    ]
    return pl.DataFrame(rows)


def noise_rows(told: Told, form: str = "soft") -> pl.DataFrame:
    """ρ of flipped answers and of as many right ones as formulas leave, by share ε.

    Columns ``series``, ``flipped``, ``rho``, ``low``, ``high``, ``seeds``. All begin at ε = 0
    with ρ of the same worlds without wrong answers.
    """
    wrong = told.grid.filter(pl.col("flipped") > 0, form=form)
    if not len(wrong):
        return pl.DataFrame()
    worlds = wrong.select("items", "classes", "dimensions").unique()
    right = told.grid.filter(form=form, flipped=0.0).join(
        worlds, on=["items", "classes", "dimensions"]
    )
    columns = ["form", "kept", "items", "classes", "dimensions", "flipped", "seed", "rho"]
    plain = {"spread": pl.lit(1.0), "constraints": pl.lit(None), "effective": pl.lit(None)}
    parts = {FLIPPED: wrong}
    parts |= {
        text: told.thinned.filter(form=form, rule=rule).with_columns(kept=pl.lit(None, pl.Int64()))
        for rule, text in RULES.items()
    }
    told_parts = [
        means(pl.concat([side.select(columns) for side in (right, part)]).with_columns(**plain))
        .select(pl.lit(text).alias("series"), "flipped", "rho", "low", "high", "seeds")
        .sort("flipped")
        for text, part in parts.items()
    ]
    return pl.concat(told_parts)


def noise_shown(rows: pl.DataFrame) -> pl.DataFrame:
    """``noise_rows`` for a reader: a row a series, a column a share ε."""
    shown = rows.with_columns(
        text=pl.struct("rho", "low", "high").map_elements(
            lambda one: f"{number(one['rho'])} {interval(one['low'], one['high'])}".rstrip(),
            pl.String,
        ),
        share=pl.format("ε = {}", pl.col("flipped").map_elements("{:g}".format, pl.String)),
    )
    return shown.pivot("share", index="series", values="text").rename({"series": ""})
