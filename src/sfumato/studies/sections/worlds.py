"""Sections about simulated worlds: what labels recover of them, and what it is worth (paper 2)."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.planning.cost import losses, preferred_forms
from sfumato.planning.grid import recovered_means
from sfumato.reporting.draw import Drawing
from sfumato.reporting.figures import worlds as figures
from sfumato.reporting.page import Block, Section, Table
from sfumato.reporting.text import count, interval, number
from sfumato.scores import Estimate, metric_words
from sfumato.studies.data import RunFolder
from sfumato.studies.study import Subject, Worlds

CAUTION = (
    "Items, classes and labels are simulated. They show how much labels can tell in worlds like "
    "these, and nothing about people."
)
BRACKETS = "Means over seeds, in brackets the 95 % interval over seeds (Student's t)."
ON_CURVES = ("hard", "soft", "sparse", "top-class", "pca")
"""Forms in the curves over k̂; top-class labels to the letter are only in the claims."""


def simulation_words(run: RunFolder) -> Section | None:
    """How many worlds there are, and what the numbers behind the claims rest on."""
    if run.study.worlds is None:
        return None
    counts = run.estimates.filter(metric=["worlds", "label_sets"])
    amount = {one.metric: int(one.value) for one in counts}
    rows: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for one in run.estimates:
        if one.note:
            row = rows.setdefault((one.metric, one.arm, one.second, one.stratum), {})
            row["all d" if one.part == "all" else one.part] = _with_note(one)
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = pl.DataFrame(
        [
            {
                "what": metric_words(metric).title,
                "labels": f"{arm} - {second}" if second else arm,
                "where": stratum,
                **{name: row.get(name, "–") for name in columns},
            }
            for (metric, arm, second, stratum), row in rows.items()
        ]
    )
    text = (
        f"{count(amount['worlds'], 'world')} and {count(amount['label_sets'], 'set')} of labels. "
        "Below are the numbers that claims are judged by, with what they rest on."
    )
    caption = (
        "In brackets 95 % intervals over seeds of the mean over tasks; of correlations, over "
        "tasks. Where a claim is about every task, the lower end reaches down to the worst one. "
        "None allows for the number of comparisons. A task is a number of items, of classes and, "
        "where a form has one, of numbers in an answer (k̂)."
    )
    return Section(
        "What was simulated", text, (_table("Numbers behind the claims", table, caption),)
    )


def recovery(run: RunFolder) -> Section | None:
    """What hard and soft labels recover, over n and k."""
    worlds = _worlds_about(run, "information")
    if worlds is None:
        return None
    sizes = sorted(set(worlds.map_sizes))
    blocks: list[Block] = [
        figures.information_maps(sizes, sizes),
        *_drawn(lambda: figures.rho_maps(_on_map(run, worlds))),
    ]
    blocks += [
        _table(
            f"ρ of {form} labels", rho_rows(run.tables["means"], form, worlds.curve_sizes), BRACKETS
        )
        for form in ("soft", "hard")
    ]
    text = (
        "The information ratio is the share of all comparisons of distances that labels fix, by "
        "formula. ρ is Spearman's correlation of recovered and true similarities over all pairs "
        "of items and classes, the mean over seeds."
    )
    return Section("What hard and soft labels recover", text, tuple(blocks))


def dimensionality(run: RunFolder) -> Section | None:
    """How many principal components labels are worth, and whether formulas foretell it."""
    worlds = _worlds_about(run, "information")
    if worlds is None:
        return None
    blocks: list[Block] = [*_drawn(lambda: figures.dimension_maps(_on_map(run, worlds)))]
    if "components" in run.tables:
        blocks.append(figures.pca_curves(run.tables["components"]))
    rows = [
        {
            "dimensions": "all together" if one.part == "all" else one.part,
            "r": _shown(one.value, one.low, one.high),
            "p": f"{one.p:.1g}",
            "": one.note,
        }
        for one in run.estimates.filter(metric="pearson_ratio_dimensionality")
    ]
    caption = (
        "Pearson's r over the tasks of the maps above, in brackets its 95 % interval over tasks. "
        "Paper 2 prints 0.734 and names neither its grid nor its dimensions; r depends on both."
    )
    if rows:
        title = "Information ratio and effective dimensionality"
        blocks.append(_table(title, pl.DataFrame(rows), caption))
    text = (
        "The effective dimensionality of labels is the fewest principal components of the true "
        "points that recover as much as the labels do; white where no number of them does."
    )
    return Section("Effective dimensionality", text, tuple(blocks))


def wrong_answers(run: RunFolder) -> Section | None:
    """What wrong answers cost, beside fewer right ones."""
    worlds = _worlds_about(run, "information")
    if worlds is None or "noise" not in run.tables:
        return None
    noise, (size, deep) = run.tables["noise"], worlds.flipped_at
    rows = [
        {"": series}
        | {f"ε = {one['flipped']:g}": _shown(one["rho"], one["low"], one["high"]) for one in part}
        for series, part in _grouped(noise, "series")
    ]
    text = (
        f"Soft labels of {size} items and {size} classes in {deep} dimensions, of which a share ε "
        "of all answers (this is nearer than that) is turned round. Were a formula right, as "
        "many right answers as it leaves would recover as much."
    )
    shown = _table("ρ with wrong answers, and with fewer", pl.DataFrame(rows), BRACKETS)
    return Section("Wrong answers", text, (figures.noise_figure(noise), shown))


def sparsity(run: RunFolder) -> Section | None:
    """What more numbers in an answer recover."""
    worlds = _worlds_about(run, "sparsity")
    if worlds is None:
        return None
    sizes = sorted(worlds.curve_sizes)
    inside = (
        pl.col("form").is_in(ON_CURVES)
        & pl.all_horizontal(pl.col("items", "classes").is_in(sizes))
        & (pl.col("classes") > sizes[0])  # with fewest classes there is hardly a k̂ to choose
    )
    blocks: list[Block] = []
    for d in sorted(worlds.dimensions):
        blocks += _drawn(
            lambda d=d: figures.kept_figure(  # type: ignore[misc]
                run.tables["grid"].filter(inside, dimensions=d),
                name=f"kept-{d}",
                title=f"What more numbers in an answer recover, in {d} dimensions",
                columns=min(3, max(1, len(sizes) - 1)),
            )
        )
    rows = kept_rows(run.tables["means"].filter(inside))
    blocks.append(_table("ρ by numbers in an answer", rows, BRACKETS))
    text = (
        "Sparse answers score the k̂ nearest classes of each item, top-class answers the same k̂ "
        "classes of all items. PCA codes are made from the truth: a bound for k̂ numbers."
    )
    return Section("How many numbers in an answer?", text, tuple(blocks))


def preferences(run: RunFolder) -> Section | None:
    """Where soft labels are worth what they cost more."""
    worlds = _worlds_about(run, "costs")
    if worlds is None:
        return None
    drawn = _drawn(
        lambda: figures.preference_maps(
            _on_map(run, worlds),
            dimensions=worlds.middle,
            betas=worlds.betas,
            utilities=worlds.utilities,
        )
    )
    text = (
        "The loss is β times the cost less what ρ is worth. A hard label costs 1, a soft one as "
        "much as there are classes, as in the paper. Above zero soft labels are the better buy, "
        "below zero hard ones; colours end at 1, as much as ρ = 1 is worth if utility is linear."
    )
    return Section("Soft or hard?", text, drawn)


def least_losses(run: RunFolder) -> Section | None:
    """Which number of classes to ask about, by the weight of the cost."""
    worlds = _worlds_about(run, "costs")
    if worlds is None:
        return None
    grid, sizes = run.tables["grid"], sorted(worlds.curve_sizes)
    many, fewer = sizes[-1], sizes[len(sizes) // 2]
    blocks: list[Block] = []
    for n, k in dict.fromkeys([(fewer, fewer), (fewer, many), (many, fewer), (many, many)]):
        blocks += _drawn(
            lambda n=n, k=k: figures.loss_figure(  # type: ignore[misc]
                grid,
                items=n,
                classes=k,
                dimensions=worlds.middle,
                betas=worlds.loss_betas,
                utilities=worlds.utilities,
                name=f"loss-{n}-{k}",
            )
        )
    best = best_rows(grid, sizes, worlds.middle, worlds.loss_betas)
    caption = f"Linear utility, {worlds.middle} dimensions, means over seeds."
    blocks.append(_table("Labels of least loss", best, caption))
    text = "Costs are the paper's: as many hard labels as there are numbers in the answer."
    return Section("The best number of classes to ask about", text, tuple(blocks))


def rho_rows(means: pl.DataFrame, form: str, sizes: Sequence[int]) -> pl.DataFrame:
    """Mean ρ of a form with its interval: one row per d and n, one column per k."""
    inside = pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes)))
    found = means.filter(inside, form=form, flipped=0.0).sort("dimensions", "items", "classes")
    return pl.DataFrame(
        [
            {"d": d, "n": n}
            | {f"k = {one['classes']}": _shown(one["rho"], one["low"], one["high"]) for one in part}
            for (d, n), part in _grouped(found, "dimensions", "items")
        ],
        infer_schema_length=None,
    )


def kept_rows(means: pl.DataFrame) -> pl.DataFrame:
    """Mean ρ of the forms that have a k̂: one row per d, n, k and form, one column per k̂."""
    found = means.filter(pl.col("kept").is_not_null(), flipped=0.0)
    columns = {f"k̂ = {kept}": "" for kept in found["kept"].unique().sort()}
    task = ("dimensions", "items", "classes", "form")
    return pl.DataFrame(
        [
            {"d": d, "n": n, "k": k, "form": form}
            | columns
            | {f"k̂ = {one['kept']}": _shown(one["rho"], one["low"], one["high"]) for one in part}
            for (d, n, k, form), part in _grouped(found.sort(task), *task)
        ]
    )


def best_rows(
    grid: pl.DataFrame, sizes: Sequence[int], dimensions: int, betas: Sequence[float]
) -> pl.DataFrame:
    """The form, and k̂, of least loss with linear utility: one row per n and k, one column per β."""
    inside = grid.filter(pl.all_horizontal(pl.col("items", "classes").is_in(list(sizes))))
    best = preferred_forms(losses(recovered_means(inside, dimensions=dimensions), betas=betas))
    return pl.DataFrame(
        [
            {"n": n, "k": k}
            | {
                f"β = {one['beta']:g}": one["form"]
                + ("" if one["kept"] is None else f", k̂ = {one['kept']}")
                for one in part
            }
            for (n, k), part in _grouped(best.sort("items", "classes", "beta"), "items", "classes")
        ]
    )


def _worlds_about(run: RunFolder, subject: Subject) -> Worlds | None:
    """The worlds of the study, if it is about the subject."""
    worlds = run.study.worlds
    return worlds if worlds is not None and subject in worlds.subjects else None


def _on_map(run: RunFolder, worlds: Worlds) -> pl.DataFrame:
    """The evenly spaced tasks of the maps, without those that only curves are drawn at."""
    sizes = pl.col("items", "classes").is_in(worlds.map_sizes)
    return run.tables["grid"].filter(
        pl.all_horizontal(sizes), pl.col("form").is_in(["hard", "soft"]), flipped=0.0
    )


def _drawn(draw: Callable[[], Drawing]) -> tuple[Drawing, ...]:
    """The drawing; none where the worlds that it needs have failed."""
    try:
        return (draw(),)
    except DataError:
        return ()


def _grouped(table: pl.DataFrame, *by: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Rows as dicts by the values of some columns (of one column: by its value)."""
    return [
        (key if len(by) > 1 else key[0], part.to_dicts())
        for key, part in table.group_by(by, maintain_order=True)
    ]


def _table(title: str, table: pl.DataFrame, caption: str) -> Table:
    return Table(title, table, caption=caption, simulated=True, made="worlds")


def _shown(value: float, low: float | None, high: float | None) -> str:
    return f"{number(value)} {interval(low, high)}".rstrip()


def _with_note(one: Estimate) -> str:
    return f"{_shown(one.value, one.low, one.high)}; {one.note}"
