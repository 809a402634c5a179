"""Draw the report of a grid of simulated worlds from the files in its folder alone."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from sfumato.reporting.page import Block, Page, Section
from sfumato.reporting.tables import How, Table
from sfumato.reporting.text import Finding
from sfumato.studies.files import write_report
from sfumato.studies.informativeness import figures
from sfumato.studies.informativeness.paper2 import (
    Compared,
    claims_table,
    compare_claims,
)
from sfumato.studies.informativeness.stored import GridRun, read_run
from sfumato.studies.informativeness.study import Subject
from sfumato.studies.informativeness.tables import (
    best_rows,
    correlation_rows,
    kept_rows,
    noise_rows,
    noise_shown,
    rho_rows,
)
from sfumato.studies.verdicts import KINDS, counted

__all__ = ["draw_grid_report"]

BRACKETS = "Means over seeds, in brackets the 95 % interval over seeds (Student's t)."
ASKED = ("hard", "soft", "sparse", "top-class", "pca")
"""Forms in the curves over k̂; top-class labels to the letter are only in the claims."""


def draw_grid_report(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    return write_report(_page(read_run(folder)), folder)


def _page(run: GridRun) -> Page:
    compared = compare_claims(run.told)
    sections = [
        Section(
            "Next to paper 2", counted(one.verdict for one in compared), (claims_table(compared),)
        ),
        *(draw(run) for subject in run.told.subjects for draw in SECTIONS[subject]),
        _failed(run),
    ]
    return Page(
        title=run.study["title"],
        subtitle=run.study["about"],
        summary=tuple(_summary(run, compared)),
        sections=tuple(section for section in sections if section.blocks),
        how=How(settings={"study": run.study, "versions": run.versions}),
    )


def _summary(run: GridRun, compared: list[Compared]) -> list[Finding]:
    found = [
        Finding(
            f"{one.claim.says}: {one.verdict}{f' ({one.where})' if one.where else ''}.",
            KINDS[one.verdict],
        )
        for one in compared
    ]
    found.append(
        Finding(
            "Items, classes and labels are simulated. They show how much labels can tell in "
            "worlds like these, and nothing about people.",
            "caution",
        )
    )
    if len(run.failed):
        told = f"{len(run.failed)} groups of worlds failed and are missing; see below."
        found.append(Finding(told, "caution"))
    return found


def _recovered(run: GridRun) -> Section:
    study, grid = run.study, run.told.grid
    maps = _on_map(run)
    sizes = sorted(set(study["map_sizes"]))
    blocks: list[Block] = [figures.information_maps(sizes, sizes), figures.rho_maps(maps)]
    blocks += [
        _table(f"ρ of {form} labels", rho_rows(grid, form, study["curve_sizes"]), BRACKETS)
        for form in ("soft", "hard")
    ]
    text = (
        "The information ratio is the share of all comparisons of distances that labels fix, by "
        "formula. ρ is Spearman's correlation of recovered and true similarities over all pairs "
        "of items and classes, the mean over seeds."
    )
    return Section("What hard and soft labels recover", text, tuple(blocks))


def _preferences(run: GridRun) -> Section:
    study = run.study
    drawn = figures.preference_maps(
        _on_map(run), dimensions=run.middle, betas=study["betas"], utilities=study["utilities"]
    )
    text = (
        "The loss is β times the cost less what ρ is worth. A hard label costs 1, a soft one as "
        "much as there are classes, as in the paper. Above zero soft labels are the better buy, "
        "below zero hard ones; colours end at 1, as much as ρ = 1 is worth if utility is linear."
    )
    return Section("Soft or hard?", text, (drawn,))


def _dimensionality(run: GridRun) -> Section:
    blocks: list[Block] = [
        figures.dimension_maps(_on_map(run)),
        figures.pca_curves(run.components),
        _table(
            "Information ratio and effective dimensionality",
            correlation_rows(run.told),
            "Pearson's r over the tasks of the maps above, in brackets its 95 % interval over "
            "tasks. Paper 2 names neither its grid nor its dimensions, and r depends on both.",
        ),
    ]
    text = (
        "The effective dimensionality of labels is the fewest principal components of the true "
        "points that recover as much as the labels do; white where no number of them does."
    )
    return Section("Effective dimensionality", text, tuple(blocks))


def _kept(run: GridRun) -> Section:
    sizes = sorted(run.study["curve_sizes"])
    asked = run.told.grid.filter(
        pl.col("form").is_in(ASKED),
        pl.all_horizontal(pl.col("items", "classes").is_in(sizes)),
        pl.col("classes") > sizes[0],  # with fewest classes there is hardly a k̂ to choose
    )
    blocks: list[Block] = [
        figures.kept_figure(
            asked.filter(dimensions=d),
            name=f"kept-{d}",
            title=f"What more numbers in an answer recover, in {d} dimensions",
            columns=min(3, max(1, len(sizes) - 1)),
        )
        for d in sorted(run.study["dimensions"])
    ]
    blocks.append(_table("ρ by numbers in an answer", kept_rows(asked, sizes), BRACKETS))
    text = (
        "Sparse answers score the k̂ nearest classes of each item, top-class answers the same k̂ "
        "classes of all items. PCA codes are made from the truth: a bound for k̂ numbers."
    )
    return Section("How many numbers in an answer?", text, tuple(blocks))


def _losses(run: GridRun) -> Section:
    study = run.study
    sizes = sorted(study["curve_sizes"])
    many = sizes[-1]
    fewer = sizes[len(sizes) // 2]
    tasks = dict.fromkeys([(fewer, fewer), (fewer, many), (many, fewer), (many, many)])
    blocks: list[Block] = [
        figures.loss_figure(
            run.told.grid,
            items=n,
            classes=k,
            dimensions=run.middle,
            betas=study["loss_betas"],
            utilities=study["utilities"],
            name=f"loss-{n}-{k}",
        )
        for n, k in tasks
    ]
    best = best_rows(run.told.grid, sizes, run.middle, study["loss_betas"])
    caption = f"Linear utility, {run.middle} dimensions, means over seeds."
    blocks.append(_table("Labels of least loss", best, caption))
    text = "Costs are the paper's: as many hard labels as there are numbers in the answer."
    return Section("The best number of classes to ask about", text, tuple(blocks))


def _noise(run: GridRun) -> Section:
    title = "Wrong answers"
    rows = noise_rows(run.told)
    if not len(rows):
        return Section(title)
    size, deep = run.study["flipped_at"]
    text = (
        f"Soft labels of {size} items and {size} classes in {deep} dimensions, of which a share ε "
        "of all answers (this is nearer than that) is turned round. Were a formula right, as "
        "many right answers as it leaves would recover as much."
    )
    shown = _table("ρ with wrong answers, and with fewer", noise_shown(rows), BRACKETS)
    return Section(title, text, (figures.noise_figure(rows), shown))


def _failed(run: GridRun) -> Section:
    blocks = (Table("Worlds that failed", run.failed),) if len(run.failed) else ()
    return Section("What is missing", "", blocks)


def _on_map(run: GridRun) -> pl.DataFrame:
    """The evenly spaced tasks of the maps, without those that only curves are drawn at."""
    sizes = pl.col("items", "classes").is_in(run.study["map_sizes"])
    return run.told.grid.filter(
        pl.all_horizontal(sizes), pl.col("form").is_in(["hard", "soft"]), flipped=0.0
    )


def _table(title: str, table: pl.DataFrame, caption: str) -> Table:
    return Table(title, table, caption=caption, simulated=True, made="worlds")


SECTIONS: Mapping[Subject, tuple[Callable[[GridRun], Section], ...]] = {
    "information": (_recovered, _dimensionality, _noise),
    "sparsity": (_kept,),
    "costs": (_preferences, _losses),
}
"""What is drawn for each subject, in this order."""
