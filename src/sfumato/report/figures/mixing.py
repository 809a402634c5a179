"""Draw what people see in mixed images: the mixes with their answers, curves of class pairs."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from sfumato.report.drawing import (
    COLOURS,
    INK,
    SMALL,
    Basis,
    Drawing,
    dress,
    finished,
    panels,
    styles,
    written,
)
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, groups, not_drawn, values
from sfumato.report.figures.galleries import Images, picture
from sfumato.report.figures.marks import heading, legend, line

__all__ = ["coefficient_curves", "mix_gallery", "pair_curves"]

MOST_MIXES = 12
TICKS = [0, 0.5, 1]
TICK_TEXT = ["0", "½", "1"]


def mix_gallery(
    answers: pl.DataFrame,
    images: Images,
    basis: Basis,
    *,
    name: str = "mixes",
    title: str = "Mixed images and what people said of them",
) -> Drawing:
    """Each mix between its two images, above the share that each person saw (S2-F4.3).

    ``answers`` has a row an answer, mixes in order of appearance, at most 12 of them; a dot is as
    far left as a person saw the left image, and the darker the surer they were.
    """
    needed: dict[str, Kind] = {
        "mix": TEXT, "first_item": TEXT, "second_item": TEXT, "first_class": TEXT,
        "second_class": TEXT, "shown": NUMBER, "perceived": NUMBER, "confidence": NUMBER,
    }  # fmt: skip
    found = checked(answers, needed, what="a gallery of mixes", optional=("confidence",))
    mixes = list(dict.fromkeys(found["mix"]))[:MOST_MIXES]
    found = found.filter(pl.col("mix").is_in(mixes))
    columns = min(2, len(mixes))
    rows = -(-len(mixes) // columns)
    figure = Figure(figsize=(3.6 * columns, 2.15 * rows), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.1)  # type: ignore[union-attr,call-arg]
    grid = figure.add_gridspec(rows, columns)
    for at, mix in enumerate(mixes):
        _card(figure, grid[divmod(at, columns)], found.filter(pl.col("mix") == mix), images)
    caption = (
        "In the middle the mix, beside it its images. The line marks the coefficient it was made "
        "with, the diamond the mean answer; a dot is an answer, the darker the surer. "
        f"{not_drawn(found, 'perceived')}"
    ).strip()
    return finished(name, title, caption, figure=figure, table=found, basis=basis)


def pair_curves(
    points: pl.DataFrame,
    lines: pl.DataFrame,
    basis: Basis,
    *,
    columns: int = 5,
    name: str = "pair-curves",
    title: str = "What people see against what was mixed, by class pair",
) -> Drawing:
    """Mean answers of each class pair with the curve fitted to them and its band (S2-F4.4).

    ``points`` and ``lines`` have the columns pair, shown, value, low and high.
    """
    needed: dict[str, Kind] = {
        "pair": TEXT, "shown": NUMBER, "value": NUMBER, "low": NUMBER, "high": NUMBER,
    }  # fmt: skip
    dots = checked(points, needed, what="points of class pairs")
    curves = checked(lines, needed, what="curves of class pairs")
    parts = groups(dots, "pair")
    small = len(parts) > 2
    figure, axes = panels(
        len(parts), columns=columns, width=7.6 if small else 0, height=1.45 if small else 3.4
    )
    known = styles(["mean answer"])["mean answer"]
    for place, (one, (pair, part)) in enumerate(zip(axes, parts, strict=True)):
        one.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=(0, (4, 2)))
        mine = curves.filter(pl.col("pair") == part["pair"][0])
        at = values(mine, "shown")
        one.fill_between(
            at, values(mine, "low"), values(mine, "high"), color=COLOURS[1], alpha=0.18, lw=0
        )
        one.plot(at, values(mine, "value"), color=COLOURS[1], lw=1.3)
        x, low, high = (values(part, column) for column in ("shown", "low", "high"))
        one.vlines(x, low, high, colors=known.colour, linewidth=1.0)
        one.plot(x, values(part, "value"), known.marker, color=known.colour, ms=3 if small else 4.5)
        heading(one, pair, width=24)
        if small:
            one.title.set_fontsize(SMALL - 1)
        _square(one, left=place % columns == 0, lower=place >= len(parts) - columns, small=small)
    caption = (
        "Dashed: people see what was mixed. Points: mean answers; curve: the fitted logistic. "
        "The share is that of the class named first."
    )
    together = pl.concat(
        [dots.with_columns(kind=pl.lit("answers")), curves.with_columns(kind=pl.lit("curve"))]
    )
    return finished(name, title, caption, figure=figure, table=together, basis=basis)


def coefficient_curves(
    table: pl.DataFrame,
    basis: Basis,
    *,
    ylabel: str,
    name: str = "by-coefficient",
    title: str = "By coefficient",
) -> Drawing:
    """Something by the coefficient of the mixes, a line for each ``series``, with intervals."""
    needed: dict[str, Kind] = {
        "series": TEXT, "shown": NUMBER, "value": NUMBER, "low": NUMBER, "high": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="curves by coefficient")
    known = styles(found["series"])
    figure, axes = panels(1, height=3.2)
    for place, (series, part) in enumerate(groups(found, "series")):
        aside = 0.008 * (place - (len(known) - 1) / 2)
        line(axes[0], part, "shown", known[series], interval="bars", aside=aside)
    axes[0].set_xticks(sorted(set(found["shown"])))
    axes[0].set(xlabel="coefficient of the first image", ylabel=written(ylabel, 60))
    legend(figure, known, lines=True)
    return finished(name, title, "", figure=figure, table=table, basis=basis)


def _square(axes: Axes, *, left: bool, lower: bool, small: bool) -> None:
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.set_xticks(TICKS, TICK_TEXT)
    axes.set_yticks(TICKS, TICK_TEXT)
    axes.tick_params(labelleft=left or not small, labelbottom=lower or not small)
    if not small:
        axes.set(xlabel="share that was mixed", ylabel="share that people see")


def _card(figure: Figure, place: SubplotSpec, mine: pl.DataFrame, images: Images) -> None:
    grid = place.subgridspec(2, 3, height_ratios=[3, 1])
    row = mine.row(0, named=True)
    names = (
        (row["first_item"], row["first_class"]),
        (row["mix"], f"{row['shown']:g} : {1 - row['shown']:g}"),
        (row["second_item"], row["second_class"]),
    )
    for column, (item, text) in enumerate(names):
        axes = figure.add_subplot(grid[0, column])
        picture(axes, images, item)
        axes.set_title(written(text, 14), fontsize=SMALL, color=INK)
    axes = figure.add_subplot(grid[1, :])
    dress(axes)
    perceived, sure = values(mine, "perceived"), values(mine, "confidence")
    shades = 0.25 + 0.75 * np.where(np.isfinite(sure), sure, 0.5)
    height = np.linspace(-0.3, 0.3, len(perceived)) if len(perceived) > 1 else np.zeros(1)
    axes.axvline(row["shown"], color=INK, lw=1.2)
    axes.scatter(perceived, height, s=26, c=COLOURS[0], alpha=shades.tolist(), lw=0)
    if np.isfinite(perceived).any():
        axes.plot(float(np.nanmean(perceived)), 0, "D", color=COLOURS[1], ms=4.5)
    axes.set(xlim=(1.04, -0.04), ylim=(-0.6, 0.6))  # left as the left image
    axes.set_yticks([])
    axes.set_xticks([1, 0.5, 0], ["1", "½", "0"])
    axes.spines["left"].set_visible(False)
