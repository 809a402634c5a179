"""Draw items as people would look at them: the image, and bars of who believes what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.reporting.draw import (
    COLOURS,
    INK,
    NUMBER,
    SMALL,
    TEXT,
    Basis,
    Drawing,
    Kind,
    Style,
    check_columns,
    dress,
    finish_drawing,
    groups,
    heading,
    legend,
    line,
    not_drawn,
    panels,
    styles,
    values,
    written,
)
from sfumato.reporting.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

Image = NDArray[np.generic]  # (height, width) or (height, width, channels)
Images = Mapping[str, Image]
"""An item to its image: whole numbers to 255, or parts of one."""

BARS: dict[str, Kind] = {"item": TEXT, "source": TEXT, "class": TEXT, "probability": NUMBER}
MOST_CLASSES = 6
MOST_ITEMS = 24
REST = "others together"


def gallery(
    bars: pl.DataFrame,
    images: Images,
    basis: Basis,
    *,
    name: str = "gallery",
    title: str = "People and models, item by item",
) -> Drawing:
    """Each item's image with the probabilities of all sources side by side (S0-F1, S1-F13).

    The six classes with the most mass are shown, the others together; at most 24 items.
    """
    found = _shown(check_columns(bars, BARS, what="a gallery"))
    figure = _gallery(found, images, {item: written(item, 24) for item in set(found["item"])})
    return finish_drawing(
        name, title, _said(bars), figure=figure, table=found, basis=basis, per_panel=2
    )


def label_pairs(
    bars: pl.DataFrame,
    images: Images,
    basis: Basis,
    *,
    name: str = "label-pairs",
    title: str = "Where two label sets are closest and farthest",
) -> Drawing:
    """The items on which two label sets agree most and least (S3-17: S3-F4, S3-F8, S3-F9).

    As a gallery, with two more columns: ``group`` ("closest", "farthest") and ``distance``.
    """
    needed: dict[str, Kind] = {**BARS, "group": TEXT, "distance": NUMBER}
    pairs = check_columns(bars, needed, what="label pairs")
    found = _shown(pairs)
    about = pairs.unique("item", keep="first", maintain_order=True).iter_rows(named=True)
    texts = {
        row["item"]: f"{written(row['item'], 14)}: {written(row['group'], 12)}, "
        f"{number(row['distance'])}"
        for row in about
    }
    figure = _gallery(found, images, texts)
    extra = pairs.select("item", "group", "distance").unique("item", keep="first")
    table = found.join(extra, on="item", how="left", maintain_order="left")
    return finish_drawing(
        name, title, _said(bars), figure=figure, table=table, basis=basis, per_panel=2
    )


def contact_sheet(
    table: pl.DataFrame,
    images: Images,
    basis: Basis,
    *,
    name: str = "contact-sheet",
    title: str = "Items chosen",
) -> Drawing:
    """Images alone, ten in a row, in the order of the column ``item`` (S1-F11, S1-F12)."""
    from matplotlib.figure import Figure

    found = check_columns(table, {"item": TEXT}, what="a contact sheet")
    columns = min(10, found.height)
    rows = -(-found.height // columns)
    figure = Figure(figsize=(max(0.7 * columns, 2.2), 0.7 * rows + 0.3), facecolor="white")
    top = 1 - 0.3 / (0.7 * rows + 0.3)
    grid = figure.add_gridspec(
        rows, columns, left=0.01, right=0.99, bottom=0.01, top=top, wspace=0.05, hspace=0.05
    )
    for at, item in enumerate(found["item"]):
        picture(figure.add_subplot(grid[at // columns, at % columns]), images, item)
    return finish_drawing(name, title, "", figure=figure, table=table, basis=basis, per_panel=0)


def _shown(found: pl.DataFrame) -> pl.DataFrame:
    """The rows that are drawn: for each item its leading classes, and the rest together."""
    items = list(dict.fromkeys(found["item"]))[:MOST_ITEMS]
    parts = []
    for item in items:
        mine = found.filter(pl.col("item") == item).select(list(BARS))
        mass = mine.group_by("class", maintain_order=True).agg(pl.col("probability").max())
        ranked = mass.sort("probability", descending=True, nulls_last=True, maintain_order=True)
        kept = ranked["class"].to_list()
        if len(kept) > MOST_CLASSES + 1:
            kept = kept[:MOST_CLASSES]
        rest = mine.filter(~pl.col("class").is_in(kept))
        leading = pl.concat([mine.filter(pl.col("class") == one) for one in kept])
        parts.append(leading)
        if rest.height:
            together = rest.group_by("source", maintain_order=True).agg(pl.col("probability").sum())
            parts.append(
                together.select(
                    item=pl.lit(item),
                    source="source",
                    **{"class": pl.lit(REST)},
                    probability="probability",
                )
            )
    return pl.concat(parts)


def _said(bars: pl.DataFrame) -> str:
    amount = bars["item"].n_unique()
    if amount > MOST_ITEMS:
        return f"The first {MOST_ITEMS} of {amount:,} items."
    return "Bars are probabilities from 0 to 1."


def _gallery(found: pl.DataFrame, images: Images, texts: Mapping[str, str]) -> Figure:
    from matplotlib.figure import Figure

    items = list(dict.fromkeys(found["item"]))
    known = styles(found["source"])
    columns = min(2, len(items))
    rows = -(-len(items) // columns)
    high = 0.55 + 0.085 * (MOST_CLASSES + 1) * max(len(known), 2)
    figure = Figure(figsize=(3.6 * columns, high * rows), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)  # type: ignore[union-attr,call-arg]
    grid = figure.add_gridspec(rows, columns * 2, width_ratios=[1, 1.5] * columns)
    for at, item in enumerate(items):
        row, column = divmod(at, columns)
        left = figure.add_subplot(grid[row, 2 * column])
        picture(left, images, item)
        left.set_title(texts[item], fontsize=SMALL, color=INK, loc="left")
        beside = figure.add_subplot(grid[row, 2 * column + 1])
        _bars(beside, found.filter(pl.col("item") == item), known)
    legend(figure, {name: style._replace(marker="s") for name, style in known.items()})
    return figure


def _bars(axes: Axes, mine: pl.DataFrame, known: Mapping[str, Style]) -> None:
    dress(axes)
    classes = list(dict.fromkeys(mine["class"]))
    thick = 0.84 / len(known)
    for at, (source, style) in enumerate(known.items()):
        part = mine.filter(pl.col("source") == source)
        place = np.array([classes.index(one) for one in part["class"]]) - 0.42 + (at + 0.5) * thick
        height = np.nan_to_num(values(part, "probability"))
        axes.barh(place, height, height=thick * 0.92, color=style.colour, edgecolor="none")
    axes.set_yticks(range(len(classes)), [written(one, 16) for one in classes])
    axes.set_ylim(max(len(classes), 2) - 0.4, -0.6)
    axes.set_xlim(0, 1.02)
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    axes.grid(False, axis="y")
    axes.tick_params(labelsize=SMALL - 1)


def picture(axes: Axes, images: Images, item: str) -> None:
    """An item's image on axes of its own, pixel by pixel, or words that say it has none."""
    axes.set_axis_off()
    if item not in images:
        axes.text(0.5, 0.5, "no image", ha="center", va="center", fontsize=SMALL, color=INK)
        return
    image = np.asarray(images[item])
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (3, 4)):
        raise DataError(
            f"The image of item {item!r} has the shape {image.shape}; "
            "give height × width, with 1, 3 or 4 channels last."
        )
    top = 255 if np.issubdtype(image.dtype, np.integer) else 1
    axes.imshow(image, cmap="gray", vmin=0, vmax=top, interpolation="none")


# Draw what people see in mixed images: the mixes with their answers, curves of class pairs.

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
    from matplotlib.figure import Figure

    needed: dict[str, Kind] = {
        "mix": TEXT, "first_item": TEXT, "second_item": TEXT, "first_class": TEXT,
        "second_class": TEXT, "shown": NUMBER, "perceived": NUMBER, "confidence": NUMBER,
    }  # fmt: skip
    found = check_columns(answers, needed, what="a gallery of mixes", optional=("confidence",))
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
    return finish_drawing(
        name, title, caption, figure=figure, table=found, basis=basis, per_panel=4
    )


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
    dots = check_columns(points, needed, what="points of class pairs")
    curves = check_columns(lines, needed, what="curves of class pairs")
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
    return finish_drawing(name, title, caption, figure=figure, table=together, basis=basis)


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
    found = check_columns(table, needed, what="curves by coefficient")
    known = styles(found["series"])
    figure, axes = panels(1, height=3.2)
    for place, (series, part) in enumerate(groups(found, "series")):
        aside = 0.008 * (place - (len(known) - 1) / 2)
        line(axes[0], part, "shown", known[series], interval="bars", aside=aside)
    axes[0].set_xticks(sorted(set(found["shown"])))
    axes[0].set(xlabel="coefficient of the first image", ylabel=written(ylabel, 60))
    legend(figure, known, lines=True)
    return finish_drawing(name, title, "", figure=figure, table=table, basis=basis)


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
