"""Turn how well answers recover a space, and what they cost, into a preference."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from sfumato.errors import DataError
from sfumato.plan.cost import Cost, Utility, assumed_cost, loss, total_cost, utility_named

__all__ = ["best_kept", "losses", "preference_map", "preferred", "sparsity_curves"]

TASK = ["items", "classes", "utility", "beta"]

Value = TypeVar("Value")


def losses(
    recovered: pl.DataFrame,
    *,
    betas: Sequence[float],
    utilities: Sequence[str | Utility] = ("linear",),
    costs: Mapping[str, Cost] | None = None,
    people: int | Mapping[str, int] = 1,
) -> pl.DataFrame:
    """The loss of every row of ``recovered``, for every β and utility.

    ``recovered`` has the columns ``form``, ``kept`` (k̂ or null), ``items``, ``classes`` and
    ``rho``, as ``ratios.ratio_table`` gives it. Without ``costs`` the paper's hold, which grow
    with the number of inputs (S1-31); ``people`` is M, for all or by form. A cost that names
    its k̂ is taken in proportion at others. Adds ``cost``,
    ``utility``, ``beta``, ``loss``.
    """
    for name in ("form", "kept", "items", "classes", "rho"):
        if name not in recovered.columns:
            raise DataError(f"The table of correlations lacks the column {name!r}.")
    spent = [
        total_cost(
            _cost(row["form"], row["classes"], row["kept"], costs),
            items=row["items"],
            people=people if isinstance(people, int) else _of(people, row["form"]),
        )
        for row in recovered.iter_rows(named=True)
    ]
    priced = recovered.with_columns(pl.Series("cost", spent, dtype=pl.Float64))
    rho, cost = priced["rho"].to_numpy(), priced["cost"].to_numpy()
    parts = [
        priced.with_columns(
            pl.lit(name).alias("utility"),
            pl.lit(float(beta)).alias("beta"),
            pl.Series("loss", loss(rho, cost, beta=beta, utility=worth)),
        )
        for name, worth in map(utility_named, utilities)
        for beta in betas
    ]
    return pl.concat(parts)


def preferred(found: pl.DataFrame) -> pl.DataFrame:
    """The form (and k̂) of least loss for every task, β and utility, and by how much (S1-34).

    ``margin`` is the loss of the next best form minus that of the best one; null with one form.
    """
    each = _least(found).sort("loss", maintain_order=True)
    return (
        each.group_by(TASK, maintain_order=True)
        .agg(
            pl.col("form", "kept", "rho", "cost", "loss").first(),
            (pl.col("loss").get(1, null_on_oob=True) - pl.col("loss").first()).alias("margin"),
        )
        .sort("utility", "beta", "items", "classes")
    )


def preference_map(
    found: pl.DataFrame, *, first: str = "soft", second: str = "hard"
) -> pl.DataFrame:
    """By how much ``first`` is preferred to ``second``, over n and k: a table to draw (S1-34).

    Columns ``panel`` (utility and β), ``x`` (items), ``y`` (classes), ``value``: the loss of
    ``second`` minus that of ``first``, above zero where ``first`` is better. A form with several
    k̂ is taken at its best one.
    """
    least = _least(found)
    sides = [_rows_of(least, form).select(*TASK, "loss") for form in (first, second)]
    # panels in the order they were asked for, not in that of their losses
    tasks = found.select(TASK).unique(maintain_order=True)
    both = tasks.join(sides[0], on=TASK, maintain_order="left").join(
        sides[1], on=TASK, suffix="_second", maintain_order="left"
    )
    return both.select(
        _panel(),
        pl.col("items").alias("x"),
        pl.col("classes").alias("y"),
        (pl.col("loss_second") - pl.col("loss")).alias("value"),
    )


def best_kept(found: pl.DataFrame, form: str = "sparse") -> pl.DataFrame:
    """The k̂ of least loss of a form, for every task, β and utility (S1-35).

    The smallest k̂ where several are as good.
    """
    mine = _rows_of(found, form)
    if mine["kept"].null_count():
        raise DataError(f"Answers of the form {form!r} have no k̂ to choose.")
    return _least(mine).sort("utility", "beta", "items", "classes")


def sparsity_curves(found: pl.DataFrame) -> pl.DataFrame:
    """Loss against k̂, with forms that have no k̂ as level lines: a table to draw (S1-35, S1-F6).

    Columns ``panel`` (task, utility and β, in the order of ``found``), ``series`` (form), ``x``
    (k̂), ``value`` (loss).
    """
    panel = pl.format("n = {}, k = {}, {}", "items", "classes", _panel())
    named = found.with_columns(panel.alias("panel"))
    curves = named.filter(pl.col("kept").is_not_null())
    if not len(curves):
        raise DataError("No form in the table has a k̂; add sparse or top-class answers.")
    ticks = curves.select("panel", "kept").unique(maintain_order=True)
    level = named.filter(pl.col("kept").is_null()).drop("kept")
    flat = level.join(ticks, on="panel", maintain_order="left")
    drawn = pl.concat(
        [part.select("panel", series="form", x="kept", value="loss") for part in (curves, flat)]
    )
    panels = named.select("panel").unique(maintain_order=True).with_row_index("place")
    placed = drawn.join(panels, on="panel", maintain_order="left")
    return placed.sort("place", "series", "x", maintain_order=True).drop("place")


def _cost(form: str, classes: int, kept: int | None, costs: Mapping[str, Cost] | None) -> Cost:
    if costs is None:
        return assumed_cost(form, classes=classes, kept=kept or 1)
    known = _of(costs, form)
    if kept is None or known.kept is None:
        return known
    return replace(known, value=known.value * kept / known.kept, kept=kept)


def _of(table: Mapping[str, Value], form: str) -> Value:
    if form not in table:
        raise DataError(f"Nothing is said about the form {form!r}; known are {', '.join(table)}.")
    return table[form]


def _rows_of(found: pl.DataFrame, form: str) -> pl.DataFrame:
    mine = found.filter(form=form)
    if not len(mine):
        raise DataError(
            f"There are no losses of the form {form!r}; known are "
            f"{', '.join(found['form'].unique().sort())}."
        )
    return mine


def _least(found: pl.DataFrame) -> pl.DataFrame:
    """One row a task and form: the one of least loss, of the smallest k̂ among equals."""
    ordered = found.sort("loss", "kept", nulls_last=True, maintain_order=True)
    return ordered.unique([*TASK, "form"], keep="first", maintain_order=True)


def _panel() -> pl.Expr:
    weight = pl.col("beta").map_elements("{:g}".format, pl.String)
    return pl.format("{}, β = {}", "utility", weight).alias("panel")
