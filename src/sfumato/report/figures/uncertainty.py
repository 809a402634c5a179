"""Draw where uncertainty lies: data maps, entropy histograms, concentration, times, boxes."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from sfumato.report.drawing import (
    COLOURS,
    INK,
    SMALL,
    Basis,
    Drawing,
    finished,
    panels,
    styles,
    written,
)
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, groups, not_drawn, values
from sfumato.report.figures.marks import heading, legend

__all__ = [
    "boxes",
    "concentration",
    "data_map",
    "entropy_histograms",
    "entropy_tracking",
    "histograms",
    "seconds_against_entropy",
]

RASTER_FROM = 800
"""Points from which a layer is drawn as pixels, so that a page stays small."""
SCALE = "cividis"
"""A colour scale that reads the same with every kind of colour vision."""
BINS = 24

Numbers = NDArray[np.float64]

REGIONS = ("easy", "ambiguous", "hard")
"""The regions of a data map, in the order of the legend."""


def data_map(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "data-map",
    title: str = "Data map, coloured by people's uncertainty",
) -> Drawing:
    """Confidence against variability over epochs and seeds, an item a dot (S4-50).

    A dot's shape is its region (easy, ambiguous, hard).
    """
    needed: dict[str, Kind] = {
        "item": TEXT, "arm": TEXT, "network": TEXT, "confidence": NUMBER, "variability": NUMBER,
        "correctness": NUMBER, "region": TEXT, "human_entropy": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="a data map")
    parts = groups(found, "arm", "network")
    known = {name: style._replace(colour="#7a7f87") for name, style in styles(REGIONS).items()}
    known |= {  # regions of other names, should there be any
        name: style._replace(colour="#7a7f87")
        for name, style in styles(found["region"]).items()
        if name not in known
    }
    known = {name: style for name, style in known.items() if (found["region"] == name).any()}
    scale = _scale(values(found, "human_entropy"))
    widest = np.nanmax(values(found, "variability"), initial=0.01)
    figure, axes = panels(len(parts), height=2.9)
    for one, (text, part) in zip(axes, parts, strict=True):
        for region, mine in groups(part, "region"):
            _cloud(
                one,
                (values(mine, "variability"), values(mine, "confidence")),
                colour=values(mine, "human_entropy"),
                scale=scale,
                marker=known[region].marker,
                raster=part.height >= RASTER_FROM,
            )
        heading(one, text)
        one.set(xlabel="variability", ylabel="confidence in the target")
        one.set_ylim(-0.03, 1.03)
        one.set_xlim(-0.02 * widest, 1.04 * widest)
    legend(figure, known)
    _colour_bar(figure, axes, scale, "entropy of people's labels (nats)")
    caption = (
        "Each dot is an item: mean and standard deviation of the probability of its target over "
        f"epochs and seeds. {not_drawn(found, 'confidence', 'variability')}"
    ).strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def entropy_tracking(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "entropy-tracking",
    title: str = "Do answers follow the ambiguity of an item?",
) -> Drawing:
    """Top probability and number of possible labels, coloured by reference entropy (S3-F5)."""
    needed: dict[str, Kind] = {
        "item": TEXT, "top_probability": NUMBER, "possible_labels": NUMBER,
        "reference_entropy": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="entropy tracking")
    scale = _scale(values(found, "reference_entropy"))
    figure, axes = panels(1, height=3.3)
    _cloud(
        axes[0],
        (values(found, "possible_labels"), values(found, "top_probability")),
        colour=values(found, "reference_entropy"),
        scale=scale,
        marker="o",
        raster=found.height >= RASTER_FROM,
    )
    axes[0].set(xlabel="labels that people held possible", ylabel="probability of the first choice")
    _colour_bar(figure, axes, scale, "entropy in the reference labels (nats)")
    caption = (
        f"Each dot is an item. {not_drawn(found, 'top_probability', 'possible_labels')}".strip()
    )
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def seconds_against_entropy(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "seconds",
    title: str = "Do people take longer where they disagree?",
) -> Drawing:
    """Response time of an item against the entropy of its label (S4-49)."""
    needed: dict[str, Kind] = {"item": TEXT, "seconds": NUMBER, "entropy": NUMBER}
    found = checked(table, needed, what="response times")
    figure, axes = panels(1, height=3.1)
    seconds = values(found, "seconds")
    axes[0].scatter(
        values(found, "entropy"),
        np.where(seconds > 0, seconds, np.nan),  # a logarithmic axis has no zero
        s=9,
        c=COLOURS[0],
        alpha=0.55,
        lw=0,
        rasterized=found.height >= RASTER_FROM,
    )
    if (seconds > 0).any():
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[0].yaxis.set_major_formatter("{x:g}")
        axes[0].yaxis.set_minor_formatter(NullFormatter())
    axes[0].set(xlabel="entropy of people's labels (nats)", ylabel="seconds (logarithmic)")
    axes[0].tick_params(which="both", labelsize=SMALL)
    caption = f"Each dot is an item. {not_drawn(found, 'seconds', 'entropy')}".strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def concentration(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "concentration",
    title: str = "How few items hold the uncertainty",
) -> Drawing:
    """The share of all entropy that the most uncertain x % of items hold (S0-47)."""
    needed: dict[str, Kind] = {
        "source": TEXT, "share_of_items": NUMBER, "share_of_uncertainty": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="concentration")
    known = styles(found["source"])
    figure, axes = panels(1, height=3.3)
    axes[0].plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
    for source, mine in groups(found, "source"):
        mine = mine.sort("share_of_items")
        x, y = values(mine, "share_of_items"), values(mine, "share_of_uncertainty")
        colour, marker, dash = known[source]
        apart = max(1, len(x) // 8)
        axes[0].plot(x, y, dash, color=colour, marker=marker, markevery=apart, ms=4, lw=1.4)
    axes[0].set(xlabel="share of items, the most uncertain first", ylabel="share of uncertainty")
    axes[0].set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
    legend(figure, known, lines=True)
    caption = "Dashed: uncertainty spread equally over all items."
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def entropy_histograms(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "entropy",
    title: str = "Entropy of labels and of models",
) -> Drawing:
    """A histogram a source on one scale, an item a count, the mean marked (S1-F7)."""
    needed: dict[str, Kind] = {"source": TEXT, "entropy": NUMBER}
    found = checked(table, needed, what="entropy histograms")
    figure = _histograms(found, "source", "entropy", "entropy (nats)")
    caption = f"The line marks the mean. {not_drawn(found, 'entropy')}".strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def histograms(
    table: pl.DataFrame,
    basis: Basis,
    *,
    xlabel: str,
    counted: str = "items",
    name: str = "distribution",
    title: str = "Distribution",
) -> Drawing:
    """A histogram of ``value`` for each ``group``: agreement of annotators, answers an item."""
    needed: dict[str, Kind] = {"group": TEXT, "value": NUMBER}
    found = checked(table, needed, what="histograms")
    figure = _histograms(found, "group", "value", xlabel, counted=counted)
    caption = f"The line marks the mean. {not_drawn(found, 'value')}".strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def boxes(
    table: pl.DataFrame,
    basis: Basis,
    *,
    xlabel: str,
    ylabel: str,
    diagonal: Sequence[float] = (),
    name: str = "boxes",
    title: str = "Distribution by group",
) -> Drawing:
    """A box of ``value`` for each ``group`` (S2-F4.2, S2-F4.4, S2-F4.5).

    ``diagonal`` gives a height a group that would be expected, such as the coefficient an image
    was mixed with; groups stand in order of appearance.
    """
    needed: dict[str, Kind] = {"group": TEXT, "value": NUMBER}
    found = checked(table, needed, what="boxes")
    parts = groups(found, "group")
    figure, axes = panels(1, height=3.3)
    known = [values(part, "value") for _, part in parts]
    axes[0].boxplot(
        [one[np.isfinite(one)] for one in known],
        positions=range(len(parts)),
        widths=0.55,
        boxprops={"color": COLOURS[0]},
        whiskerprops={"color": COLOURS[0]},
        capprops={"color": COLOURS[0]},
        medianprops={"color": COLOURS[1], "linewidth": 1.6},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "#7a7f87"},
    )
    if len(diagonal) == len(parts):
        axes[0].plot(range(len(parts)), diagonal, color=INK, lw=0.9, ls=(0, (4, 2)))
    many = len(parts) > 6
    axes[0].set_xticks(range(len(parts)), [written(str(p["group"][0]), 18) for _, p in parts])
    axes[0].tick_params(axis="x", rotation=60 if many else 0, labelsize=SMALL)
    axes[0].set(xlabel=written(xlabel, 60), ylabel=written(ylabel, 60))
    caption = (
        "Box: the middle half with the median; whiskers: the last value within 1.5 box lengths. "
        f"{not_drawn(found, 'value')}"
    ).strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def _histograms(
    found: pl.DataFrame, by: str, column: str, xlabel: str, *, counted: str = "items"
) -> Figure:
    parts = groups(found, by)
    every = values(found, column)
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    known = styles(found[by])
    figure, axes = panels(len(parts), height=1.7)
    for one, (text, part) in zip(axes, parts, strict=True):
        here = values(part, column)
        here = here[np.isfinite(here)]
        one.hist(here, bins=edges.tolist(), color=known[part[by][0]].colour, alpha=0.85)
        if here.size:
            one.axvline(float(here.mean()), color=INK, linewidth=1.0)
        heading(one, text)
        one.set(xlabel=written(xlabel, 50), ylabel=counted)
        one.set_xlim(float(edges[0]), float(edges[-1]))
    return figure


def _scale(colour: Numbers) -> Normalize:
    known = colour[np.isfinite(colour)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return Normalize(low, high if high > low else low + 1)


def _cloud(
    axes: Axes,
    at: tuple[Numbers, Numbers],
    *,
    colour: Numbers,
    scale: Normalize,
    marker: str,
    raster: bool,
) -> None:
    x, y = at
    order = np.argsort(np.nan_to_num(colour, nan=-1.0), kind="stable")  # the uncertain on top
    known = np.isfinite(colour[order])
    for chosen, paint in ((order[~known], "#b9bec6"), (order[known], None)):
        axes.scatter(
            x[chosen],
            y[chosen],
            s=11,
            c=paint if paint else colour[chosen],
            cmap=None if paint else SCALE,
            norm=None if paint else scale,
            marker=marker,
            alpha=0.85,
            linewidths=0,
            rasterized=raster,
        )


def _colour_bar(figure: Figure, axes: list[Axes], scale: Normalize, text: str) -> None:
    bar = figure.colorbar(ScalarMappable(scale, SCALE), ax=axes, shrink=0.85, pad=0.02, aspect=30)
    bar.set_label(text, size=SMALL, color=INK)
    bar.ax.tick_params(labelsize=SMALL, colors=INK)
    bar.outline.set_visible(False)
