"""Draw items as people would look at them: the image, and bars of who believes what."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.report.drawing import (
    INK,
    SMALL,
    Basis,
    Drawing,
    Style,
    dress,
    finished,
    styles,
    written,
)
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, values
from sfumato.report.figures.marks import legend
from sfumato.report.numbers import number

__all__ = ["Images", "contact_sheet", "gallery", "label_pairs", "picture"]

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
    found = _shown(checked(bars, BARS, what="a gallery"))
    figure = _gallery(found, images, {item: written(item, 24) for item in set(found["item"])})
    return finished(name, title, _said(bars), figure=figure, table=found, basis=basis)


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
    pairs = checked(bars, needed, what="label pairs")
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
    return finished(name, title, _said(bars), figure=figure, table=table, basis=basis)


def contact_sheet(
    table: pl.DataFrame,
    images: Images,
    basis: Basis,
    *,
    name: str = "contact-sheet",
    title: str = "Items chosen",
) -> Drawing:
    """Images alone, ten in a row, in the order of the column ``item`` (S1-F11, S1-F12)."""
    found = checked(table, {"item": TEXT}, what="a contact sheet")
    columns = min(10, found.height)
    rows = -(-found.height // columns)
    figure = Figure(figsize=(max(0.7 * columns, 2.2), 0.7 * rows + 0.3), facecolor="white")
    top = 1 - 0.3 / (0.7 * rows + 0.3)
    grid = figure.add_gridspec(
        rows, columns, left=0.01, right=0.99, bottom=0.01, top=top, wspace=0.05, hspace=0.05
    )
    for at, item in enumerate(found["item"]):
        picture(figure.add_subplot(grid[at // columns, at % columns]), images, item)
    return finished(name, title, "", figure=figure, table=table, basis=basis)


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
