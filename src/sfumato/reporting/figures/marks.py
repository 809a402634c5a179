"""Put data on axes: dots with intervals, bars, lines with bands, a legend, reference lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.reporting.draw import COLOURS, INK, SMALL, Style, legend_columns, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Check that a table has the columns a figure draws, at the border, with a sentence if not.

Kind = Literal["text", "number"]
TEXT: Kind = "text"
NUMBER: Kind = "number"


def check_columns(
    table: pl.DataFrame, columns: Mapping[str, Kind], *, what: str, optional: Sequence[str] = ()
) -> pl.DataFrame:
    """The table's named columns as text and floats; what is optional is empty where absent."""
    for name in columns:
        if name not in table.columns and name not in optional:
            raise DataError(
                f"The table for {what} lacks the column {name!r}; it needs {', '.join(columns)}."
            )
    if table.is_empty():
        raise DataError(f"The table for {what} has no rows, so there is nothing to draw.")
    return table.select(
        _column(table, name, kind, what).alias(name) for name, kind in columns.items()
    )


def _column(table: pl.DataFrame, name: str, kind: Kind, what: str) -> pl.Expr:
    match kind:
        case "text":
            if name not in table.columns:
                return pl.lit("")
            return pl.col(name).cast(pl.String).fill_null("")
        case "number":
            if name not in table.columns:
                return pl.lit(None, dtype=pl.Float64)
            found = table.schema[name]
            if not (found.is_numeric() or found == pl.Null or found == pl.Boolean):
                raise DataError(
                    f"The column {name!r} of the table for {what} holds {found}, not numbers."
                )
            return pl.col(name).cast(pl.Float64)
        case _:
            assert_never(kind)


def values(table: pl.DataFrame, column: str) -> NDArray[np.float64]:
    """A column of numbers; empty cells and infinities are NaN, which no mark is drawn for."""
    found = table[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def not_drawn(table: pl.DataFrame, *columns: str) -> str:
    """A sentence on rows without a finite number in ``columns``; empty when there are none."""
    lost = np.zeros(table.height, dtype=bool)
    for column in columns:
        lost |= np.isnan(values(table, column))
    if not lost.any():
        return ""
    return f"{int(lost.sum())} of {table.height} values are not defined or infinite and not drawn."


def groups(table: pl.DataFrame, *columns: str) -> list[tuple[str, pl.DataFrame]]:
    """The table in parts by the given columns, in order of appearance, each with its heading.

    A heading holds what differs between parts, but not the metric, which is said on an axis.
    """
    parts = table.partition_by(columns, maintain_order=True)
    said = [name for name in columns if name != "metric"]
    varying = [name for name in said if table[name].n_unique() > 1] or said[:1]
    return [
        (" · ".join(str(part[name][0]) for name in varying if part[name][0] != ""), part)
        for part in parts
    ]


# Put data on axes: dots with intervals, bars, lines with bands, a legend, reference lines.

Numbers = NDArray[np.float64]
SPREAD = 0.62
"""How much of a row's height its series share."""
REFERENCE_DASHES = ((4, 2), (1, 2), (6, 2, 1, 2), (9, 3))
Interval = Literal["band", "bars", "none"]
"""How the interval of a line is drawn."""


def offsets(names: Sequence[str]) -> dict[str, float]:
    """Where in a row each series sits, so that intervals do not cover each other."""
    if len(names) == 1:
        return {names[0]: 0.0}
    return dict(zip(names, np.linspace(-SPREAD / 2, SPREAD / 2, len(names)), strict=True))


def dots(axes: Axes, part: pl.DataFrame, at: Numbers, style: Style, *, size: float = 4.5) -> None:
    """Values as dots at heights ``at``, with ``low`` and ``high`` as a line through them."""
    value, low, high = values(part, "value"), values(part, "low"), values(part, "high")
    known = np.isfinite(low) & np.isfinite(high)
    axes.hlines(at[known], low[known], high[known], colors=style.colour, linewidth=1.3)
    axes.plot(value, at, style.marker, color=style.colour, markersize=size, linestyle="none")


def bars(axes: Axes, part: pl.DataFrame, at: Numbers, style: Style, *, height: float) -> None:
    """Values as horizontal bars from zero, with ``low`` and ``high`` as a thin line."""
    value = np.nan_to_num(values(part, "value"))
    axes.barh(at, value, height=height, color=style.colour, edgecolor="none")
    low, high = values(part, "low"), values(part, "high")
    known = np.isfinite(low) & np.isfinite(high)
    axes.hlines(at[known], low[known], high[known], colors=INK, linewidth=1.0)


def line(
    axes: Axes,
    part: pl.DataFrame,
    x: str,
    style: Style,
    *,
    value: str = "value",
    interval: Interval = "band",
    aside: float = 0.0,
) -> None:
    """Values over ``x``, moved ``aside``, as a line with markers; ``low`` and ``high`` as told."""
    part = part.sort(x, maintain_order=True)
    at, height = values(part, x) + aside, values(part, value)
    marker = style.marker if part.height <= 25 else ""
    axes.plot(
        at, height, style.dash, marker=marker, color=style.colour, markersize=3.5, linewidth=1.3
    )
    if not {"low", "high"} <= set(part.columns):
        return
    low, high = values(part, "low"), values(part, "high")
    match interval:
        case "band" if part.height > 1:
            axes.fill_between(at, low, high, color=style.colour, alpha=0.18, linewidth=0)
        case "band" | "bars":  # a band over one point has no width
            axes.vlines(at, low, high, colors=style.colour, linewidth=0.8)
        case "none":
            pass
        case _:
            assert_never(interval)


def name_rows(axes: Axes, names: Sequence[str], *, shown: bool = True, width: int = 30) -> None:
    """One row a name, the first on top."""
    axes.set_yticks(range(len(names)), [written(name, width) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelleft=shown)
    axes.grid(False, axis="y")


def heading(axes: Axes, text: str, *, width: int = 44) -> None:
    """A panel's heading, left over its axes."""
    axes.set_title(written(text, width), loc="left", fontsize=SMALL + 0.5, color=INK)


def reference(axes: Axes, at: float, *, position: int = 0) -> None:
    """A vertical line that results are held against; the legend names it by its dashes."""
    axes.axvline(at, color=INK, linewidth=0.9, linestyle=_dashes(position))


def _dashes(position: int) -> tuple[int, tuple[int, ...]]:
    return 0, REFERENCE_DASHES[position % len(REFERENCE_DASHES)]


def legend(
    figure: Figure,
    known: Mapping[str, Style],
    *,
    lines: bool = False,
    references: Sequence[str] = (),
) -> None:
    """A legend below the panels; the figure grows by its rows. A single series needs no name.

    ``references`` names the lines that ``reference`` drew, by position: text beside a line would
    lie over the data.
    """
    from matplotlib.lines import Line2D

    shown = {name: style for name, style in known.items() if name}
    if len(shown) < 2:
        shown = {}
    if not shown and not references:
        return
    labels = [written(name) for name in (*shown, *references)]
    handles = [
        Line2D(
            [],
            [],
            color=style.colour,
            marker=style.marker,
            ls=style.dash if lines else "none",
            markersize=4.5,
            linewidth=1.3,
        )
        for style in shown.values()
    ]
    handles += [
        Line2D([], [], color=INK, linewidth=0.9, linestyle=_dashes(position))
        for position in range(len(references))
    ]
    width, height = figure.get_size_inches()
    columns = legend_columns(labels, float(width))
    figure.set_size_inches(width, height + 0.12 + 0.19 * -(-len(labels) // columns))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        fontsize=SMALL,
        frameon=False,
        labelcolor=INK,
        handletextpad=0.5,
        columnspacing=1.4,
        handlelength=2.4 if lines or references else 2.0,  # a pattern of dashes shows whole
    )


def first_style() -> Style:
    """The style of a series that stands alone."""
    return Style(COLOURS[0], "o", "-")
