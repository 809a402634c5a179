"""Draw how something moves or is spread: over epochs, seconds, annotators, entropies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.reporting.draw import (
    COLOURS,
    INK,
    NUMBER,
    SMALL,
    TEXT,
    Basis,
    Drawing,
    Interval,
    Kind,
    check_columns,
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
from sfumato.scores import metric_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

VALUE: dict[str, Kind] = {"metric": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER}
INTERVAL = ("low", "high")
MOST_BANDS = 3
"""Arms in a panel up to which their bands can be told apart."""
ASIDE = 0.009
"""How far apart, as a share of the axis, the points of more arms are set."""


def attack_curves(
    table: pl.DataFrame,
    basis: Basis,
    *,
    x: Literal["epsilon", "iteration"] = "epsilon",
    unit: str = "ℓ∞ bound, pixel values from 0 to 1",
    name: str = "attacks",
    title: str = "Under attack",
) -> Drawing:
    """Loss or accuracy against the bound, or the iteration, of FGSM and PGD (S0-F4, S0-T2).

    ``unit`` says what ``x`` counts: published bounds are easily confused (C3).
    """
    needed: dict[str, Kind] = {"arm": TEXT, "network": TEXT, "attack": TEXT, x: NUMBER, **VALUE}
    found = check_columns(table, needed, what="attack curves", optional=INTERVAL)
    by, xlabel = ("metric", "attack", "network"), f"{x}: {unit}"
    figure, caption = _curves(found, x, by=by, xlabel=xlabel)
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def convergence(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "convergence",
    title: str = "How far predictions still move",
) -> Drawing:
    """Jensen-Shannon divergence between one epoch's predictions and the next (S4-33, S4-51).

    Where the table has strata, each has a panel instead of all items together (F.3 of paper 5).
    """
    from matplotlib.ticker import MaxNLocator

    needed: dict[str, Kind] = {
        "arm": TEXT, "network": TEXT, "epoch": NUMBER, "jsd": NUMBER, "low": NUMBER, "high": NUMBER,
    }  # fmt: skip
    needed["stratum"] = TEXT
    found = check_columns(table, needed, what="convergence", optional=(*INTERVAL, "stratum"))
    by_stratum = found.filter(~pl.col("stratum").is_in(["", "all"]))
    found = by_stratum if by_stratum["stratum"].n_unique() > 1 else found
    known = styles(found["arm"])
    parts = groups(found, "network", "stratum")
    few = _few_arms(parts)
    figure, axes = panels(len(parts))
    for one, (text, part) in zip(axes, parts, strict=True):
        for arm, mine in groups(part, "arm"):
            line(one, mine, "epoch", known[arm], value="jsd", interval="band" if few else "none")
        heading(one, text)
        one.set(xlabel="epoch", ylabel="divergence from epoch before (bits)")
        one.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if (values(part, "jsd") > 0).any():  # the first epochs would hide all later ones
            one.set_yscale("log")
            one.tick_params(axis="y", which="both", labelsize=SMALL)  # also between powers of ten
    legend(figure, known, lines=True)
    told = ""
    if not few and _has_intervals(found):
        told = f"With more than {MOST_BANDS} arms in a panel intervals are in the table only. "
    caption = f"Lower: the model has settled. {told}{not_drawn(found, 'jsd')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def learning_curves(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "learning",
    title: str = "Loss while training",
) -> Drawing:
    """Training loss and, as a thick line, validation loss of every seed (S4-T5)."""
    from matplotlib.ticker import MaxNLocator

    needed: dict[str, Kind] = {
        "arm": TEXT, "network": TEXT, "seed": NUMBER, "epoch": NUMBER, "loss": NUMBER,
        "validation_loss": NUMBER,
    }  # fmt: skip
    found = check_columns(table, needed, what="learning curves", optional=("validation_loss",))
    known = styles(found["arm"])
    parts = groups(found, "network")
    figure, axes = panels(len(parts))
    for one, (text, part) in zip(axes, parts, strict=True):
        for mine in part.partition_by("arm", "seed", maintain_order=True):
            mine = mine.sort("epoch")
            colour, marker, _ = known[mine["arm"][0]]
            dot = marker if mine.height == 1 else ""
            epoch = values(mine, "epoch")
            one.plot(epoch, values(mine, "loss"), ":", color=colour, lw=0.9, marker=dot, ms=3.5)
            one.plot(
                epoch,
                values(mine, "validation_loss"),
                "-",
                color=colour,
                lw=1.4,
                marker=dot,
                ms=3.5,
            )
        heading(one, text)
        one.set(xlabel="epoch", ylabel="loss (nats)")
        one.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    legend(figure, known)
    caption = "Dotted: on the training items. Solid: on validation items. A line a seed."
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def against_seconds(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "cost",
    title: str = "What annotation time buys",
) -> Drawing:
    """Performance against total seconds of annotation (S2-F3.5, S3-F10)."""
    return _against(table, basis, "seconds", "seconds of annotation", name, title)


def against_annotators(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "annotators",
    title: str = "What more annotators buy",
) -> Drawing:
    """Performance against M, the annotators an item (S2-FB.3, S3-F6)."""
    return _against(table, basis, "M", "annotators per item (M)", name, title)


def against_items(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "items",
    title: str = "What more labelled items buy",
) -> Drawing:
    """Performance against N', the items with rich labels (S2-F3.6); column ``items``."""
    return _against(table, basis, "items", "items with such labels (N')", name, title)


def shift_ladder(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "shift",
    title: str = "Further and further from the training data",
) -> Drawing:
    """A metric on test sets in order of their shift, and below it the gap per step (S0-44)."""
    needed: dict[str, Kind] = {
        "data": TEXT, "step": NUMBER, "arm": TEXT, "network": TEXT, "metric": TEXT,
        "value": NUMBER, "gap": NUMBER,
    }  # fmt: skip
    found = check_columns(table, needed, what="a shift ladder", optional=("gap",))
    parts = groups(found, "metric", "network")
    known = styles(found["arm"])
    figure, axes = panels(2 * len(parts), height=2.6)
    for at, (text, part) in enumerate(parts):
        steps = part.unique("step", keep="first", maintain_order=True).sort("step")
        for one, column in ((axes[2 * at], "value"), (axes[2 * at + 1], "gap")):
            for arm, mine in groups(part, "arm"):
                line(one, mine, "step", known[arm], value=column)
            one.set_xticks(values(steps, "step"), [written(data, 16) for data in steps["data"]])
            one.tick_params(axis="x", rotation=25)
            one.set_ylabel(written(metric_words(part["metric"][0]).axis, 46))
        heading(axes[2 * at], text)
        heading(axes[2 * at + 1], "gap")
        axes[2 * at + 1].axhline(0, color=INK, linewidth=0.9)
        axes[2 * at + 1].set_ylabel("gap at this step")
    legend(figure, known, lines=True)
    caption = f"Test sets from near to far. {not_drawn(found, 'value')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def trade_off(
    table: pl.DataFrame,
    basis: Basis,
    *,
    xlabel: str,
    ylabel: str,
    name: str = "trade-off",
    title: str = "The least loss",
    ringed: str = "the lowest point of a curve",
    columns: int = 2,
    xscale: Literal["linear", "log"] = "linear",
) -> Drawing:
    """Curves over ``x`` by ``series`` and ``panel``, the lowest point of each marked.

    For the planner's ratios over n, k and k̂ and its losses over k̂ (S1-F2, S1-F3, S1-F6). A column
    ``ring`` of true and false puts the rings elsewhere, and ``ringed`` says what they mark;
    ``low`` and ``high`` are drawn as bands.
    """
    needed: dict[str, Kind] = {
        "panel": TEXT, "series": TEXT, "x": NUMBER, "value": NUMBER, "ring": NUMBER,
        "low": NUMBER, "high": NUMBER,
    }  # fmt: skip
    found = check_columns(table, needed, what="a trade-off", optional=("ring", *INTERVAL))
    known = styles(found["series"])
    parts = groups(found, "panel")
    figure, axes = panels(len(parts), columns=columns, height=2.8 if columns < 3 else 2.2)
    for one, (text, part) in zip(axes, parts, strict=True):
        for series, mine in groups(part, "series"):
            line(one, mine, "x", known[series])
            at = _ringed(mine) if "ring" in table.columns else _lowest(mine)
            x, height = values(mine, "x")[at], values(mine, "value")[at]
            one.plot(x, height, "o", mfc="none", mec=INK, markersize=8)
        heading(one, text)
        one.set(xlabel=written(xlabel, 50), ylabel=written(ylabel, 50))
        if xscale == "log":
            _logarithmic(one, values(part, "x"))
    legend(figure, known, lines=True)
    told = f"A ring marks {ringed}. " if ringed else ""
    caption = f"{told}{not_drawn(found, 'value')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def _lowest(part: pl.DataFrame) -> list[int]:
    height = values(part, "value")
    return [int(np.nanargmin(height))] if np.isfinite(height).any() else []


def _ringed(part: pl.DataFrame) -> list[int]:
    return np.flatnonzero(values(part, "ring") == 1).tolist()


def _logarithmic(axes: Axes, x: NDArray[np.float64]) -> None:
    """With the numbers 1, 2, 5, 10 … written out rather than as powers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if (x > 0).any():
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())


def _against(
    table: pl.DataFrame,
    basis: Basis,
    x: str,
    xlabel: str,
    name: str,
    title: str,
) -> Drawing:
    needed: dict[str, Kind] = {"arm": TEXT, x: NUMBER, **VALUE}
    found = check_columns(table, needed, what=f"a figure over {x!r}", optional=INTERVAL)
    figure, caption = _curves(found, x, by=("metric",), xlabel=xlabel)
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def _curves(found: pl.DataFrame, x: str, *, by: Sequence[str], xlabel: str) -> tuple[Figure, str]:
    """The figure and its caption: a panel a group of ``by``, a line an arm.

    Bands of many arms hide each other: then intervals are thin bars, a little beside each other.
    """
    from matplotlib.ticker import MaxNLocator

    parts = groups(found, *by)
    known = styles(found["arm"])
    beside = not _few_arms(parts) and _has_intervals(found)
    aside = _asides(list(known), values(found, x)) if beside else dict.fromkeys(known, 0.0)
    figure, axes = panels(len(parts))
    for one, (text, part) in zip(axes, parts, strict=True):
        for arm, mine in groups(part, "arm"):
            interval: Interval = "bars" if beside else "band"
            line(one, mine, x, known[arm], interval=interval, aside=aside[arm])
        if len(by) > 1:
            heading(one, text)
        one.set_xlabel(written(xlabel, 60))
        one.set_ylabel(written(metric_words(part["metric"][0]).axis, 46))
        one.xaxis.set_major_locator(MaxNLocator(5, integer=x in ("M", "iteration")))
    legend(figure, known, lines=True)
    told = ""
    if beside:
        told = (
            f"With more than {MOST_BANDS} arms in a panel intervals are thin bars, and the points "
            "of one position stand a little beside each other. "
        )
    return figure, f"{told}{not_drawn(found, 'value')}".strip()


def _few_arms(parts: Sequence[tuple[str, pl.DataFrame]]) -> bool:
    return all(part["arm"].n_unique() <= MOST_BANDS for _, part in parts)


def _has_intervals(found: pl.DataFrame) -> bool:
    return bool((np.isfinite(values(found, "low")) & np.isfinite(values(found, "high"))).any())


def _asides(arms: Sequence[str], at: NDArray[np.float64]) -> dict[str, float]:
    """How far each arm's points stand beside their place, around it on both sides."""
    known = at[np.isfinite(at)]
    step = ASIDE * float(np.ptp(known)) if known.size else 0.0
    return {arm: step * (place - (len(arms) - 1) / 2) for place, arm in enumerate(arms)}


# Draw where uncertainty lies: data maps, entropy histograms, concentration, times, boxes.

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

    A dot's shape is its region (easy, ambiguous, hard), its colour what people said of their own
    doubt, or the entropy of their labels where they could not. Every stratum has its panel.
    """
    needed: dict[str, Kind] = {
        "item": TEXT, "arm": TEXT, "network": TEXT, "confidence": NUMBER, "variability": NUMBER,
        "correctness": NUMBER, "region": TEXT, "human_entropy": NUMBER, "stratum": TEXT,
        "human_uncertainty": NUMBER,
    }  # fmt: skip
    optional = ("stratum", "human_uncertainty")
    found = check_columns(table, needed, what="a data map", optional=optional)
    told = "human_uncertainty" if found["human_uncertainty"].count() else "human_entropy"
    parts = groups(found, "arm", "network", "stratum")
    known = {name: style._replace(colour="#7a7f87") for name, style in styles(REGIONS).items()}
    known |= {  # regions of other names, should there be any
        name: style._replace(colour="#7a7f87")
        for name, style in styles(found["region"]).items()
        if name not in known
    }
    known = {name: style for name, style in known.items() if (found["region"] == name).any()}
    scale = _scale(values(found, told))
    widest = np.nanmax(values(found, "variability"), initial=0.01)
    figure, axes = panels(len(parts), height=2.9)
    for one, (text, part) in zip(axes, parts, strict=True):
        for region, mine in groups(part, "region"):
            _cloud(
                one,
                (values(mine, "variability"), values(mine, "confidence")),
                colour=values(mine, told),
                scale=scale,
                marker=known[region].marker,
                raster=part.height >= RASTER_FROM,
            )
        heading(one, text)
        one.set(xlabel="variability", ylabel="confidence in the target")
        one.set_ylim(-0.03, 1.03)
        one.set_xlim(-0.02 * widest, 1.04 * widest)
    legend(figure, known)
    unit = {
        "human_entropy": "entropy of people's labels (nats)",
        "human_uncertainty": "mean uncertainty of annotators",
    }
    _colour_bar(figure, axes, scale, unit[told])
    caption = (
        "Each dot is an item: mean and standard deviation of the probability of its target over "
        f"epochs and seeds. {not_drawn(found, 'confidence', 'variability')}"
    ).strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


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
    found = check_columns(table, needed, what="entropy tracking")
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
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def seconds_against_entropy(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "seconds",
    title: str = "Do people take longer where they disagree?",
) -> Drawing:
    """Response time of an item against the entropy of its label (S4-49)."""
    from matplotlib.ticker import LogLocator, NullFormatter

    needed: dict[str, Kind] = {"item": TEXT, "seconds": NUMBER, "entropy": NUMBER}
    found = check_columns(table, needed, what="response times")
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
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


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
    found = check_columns(table, needed, what="concentration")
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
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def entropy_histograms(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "entropy",
    title: str = "Entropy of labels and of models",
) -> Drawing:
    """A histogram a source on one scale, an item a count, the mean marked (S1-F7)."""
    needed: dict[str, Kind] = {"source": TEXT, "entropy": NUMBER}
    found = check_columns(table, needed, what="entropy histograms")
    figure = _histograms(found, "source", "entropy", "entropy (nats)")
    caption = f"The line marks the mean. {not_drawn(found, 'entropy')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def histograms(
    table: pl.DataFrame,
    basis: Basis,
    *,
    xlabel: str,
    counted: str = "items",
    name: str = "distribution",
    title: str = "Distribution",
) -> Drawing:
    """A histogram of ``value`` for each ``group``: agreement of annotators, answers per item."""
    needed: dict[str, Kind] = {"group": TEXT, "value": NUMBER}
    found = check_columns(table, needed, what="histograms")
    figure = _histograms(found, "group", "value", xlabel, counted=counted)
    caption = f"The line marks the mean. {not_drawn(found, 'value')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


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
    found = check_columns(table, needed, what="boxes")
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
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


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
    from matplotlib.colors import Normalize

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
    from matplotlib.cm import ScalarMappable

    bar = figure.colorbar(ScalarMappable(scale, SCALE), ax=axes, shrink=0.85, pad=0.02, aspect=30)
    bar.set_label(text, size=SMALL, color=INK)
    bar.ax.tick_params(labelsize=SMALL, colors=INK)
    bar.outline.set_visible(False)
