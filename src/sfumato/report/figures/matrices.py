"""Draw tables of numbers as coloured cells: correlations, confusions, maps over two settings."""

from typing import Literal, assert_never

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sfumato.report.drawing import INK, SMALL, Basis, Drawing, finished, panels, written
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, groups, not_drawn, values
from sfumato.report.figures.marks import heading
from sfumato.report.numbers import number

__all__ = ["confusion", "correlation_matrix", "grid_maps"]

Bar = Literal["shared", "each"]
"""Whether all maps have one bar of colours and its ends, or each its own."""
Scale = Literal["rising", "around zero"]
"""Whether colours tell low from high, or what is above zero from what is below."""
COLOURED: dict[Scale, str] = {"rising": "cividis", "around zero": "PuOr_r"}
Beyond = Literal["neither", "both", "min", "max"]

Cells = NDArray[np.float64]  # (rows, columns), NaN where nothing is known
WRITTEN_UP_TO = 14
"""Rows or columns from which cells are too small for their numbers."""


def correlation_matrix(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "correlations",
    title: str = "Signals of ambiguity, correlated",
) -> Drawing:
    """Rank correlations of all pairs of signals, with intervals in the cells (S4-49, S4-T7)."""
    needed: dict[str, Kind] = {
        "first": TEXT, "second": TEXT, "rho": NUMBER, "low": NUMBER, "high": NUMBER,
        "items": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="a correlation matrix", optional=("low", "high", "items"))
    names = list(dict.fromkeys([*found["first"], *found["second"]]))
    cells = np.full((len(names), len(names)), np.nan)
    texts: dict[tuple[int, int], str] = {}
    bounds = zip(values(found, "low"), values(found, "high"), strict=True)
    for row, rho, (low, high) in zip(
        found.iter_rows(named=True), values(found, "rho"), bounds, strict=True
    ):
        first, second = names.index(row["first"]), names.index(row["second"])
        text = f"{rho:.2f}" if np.isfinite(rho) else ""
        if first != second and np.isfinite(low) and np.isfinite(high):
            text += f"\n[{low:.2f}, {high:.2f}]"
        for cell in ((first, second), (second, first)):
            cells[cell], texts[cell] = rho, text
    side = 2.0 + 0.72 * min(len(names), WRITTEN_UP_TO)
    figure, axes = panels(1, width=min(side + 0.9, 8.5), height=min(side, 8.0))
    _coloured(figure, axes[0], cells, names, names, limits=(-1, 1), scale="PuOr_r", text="ρ")
    if len(names) <= WRITTEN_UP_TO:
        _write_cells(axes[0], cells, texts, middle=0.0, reach=1.0)
    caption = f"Spearman's ρ of every pair, 95 % interval in brackets. {not_drawn(found, 'rho')}"
    return finished(name, title, caption.strip(), figure=figure, table=table, basis=basis)


def confusion(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "confusion",
    title: str = "What people see, what the model says",
) -> Drawing:
    """Share of the model's mass on each class, by the class people hold most likely.

    Columns ``people``, ``model`` (classes) and ``share``; the rows of a class sum to one.
    """
    needed: dict[str, Kind] = {"people": TEXT, "model": TEXT, "share": NUMBER}
    found = checked(table, needed, what="a confusion map")
    names = list(dict.fromkeys([*found["people"], *found["model"]]))
    cells = np.full((len(names), len(names)), np.nan)
    shares = values(found, "share")
    for people, model, share in zip(found["people"], found["model"], shares, strict=True):
        cells[names.index(people), names.index(model)] = share
    side = 1.6 + 0.42 * min(len(names), 16)
    figure, axes = panels(1, width=min(side + 1.0, 8.0), height=min(side, 7.5))
    _coloured(figure, axes[0], cells, names, names, limits=(0, 1), scale="Blues", text="share")
    if len(names) <= WRITTEN_UP_TO:
        rounded = {tuple(at): f"{cells[tuple(at)]:.2f}" for at in np.argwhere(cells >= 0.005)}
        _write_cells(axes[0], cells, rounded, middle=0.0, reach=1.0)
    axes[0].set(xlabel="the model says", ylabel="people see")
    caption = f"A row sums to one; shares below 0.005 are not written. {not_drawn(found, 'share')}"
    return finished(name, title, caption.strip(), figure=figure, table=table, basis=basis)


def grid_maps(
    table: pl.DataFrame,
    basis: Basis,
    *,
    xlabel: str,
    ylabel: str,
    text: str,
    name: str = "grid",
    title: str = "Over two settings",
    columns: int = 2,
    bar: Bar = "shared",
    scale: Scale = "rising",
    limits: tuple[float, float] | None = None,
) -> Drawing:
    """``value`` over ``x`` and ``y``, one map a ``panel``: the planner's ratios (S1-F1, S1-F2).

    ``columns`` maps stand in a row. Colours end at ``limits``, left out at the least and greatest
    value, of all maps or, with a bar each, of each map.
    """
    needed: dict[str, Kind] = {"panel": TEXT, "x": NUMBER, "y": NUMBER, "value": NUMBER}
    found = checked(table, needed, what="maps over two settings")
    span = _span(found, scale)
    parts = groups(found, "panel")
    figure, axes = panels(len(parts), columns=columns, height=2.9 if columns < 3 else 2.5)
    for one, (above, part) in zip(axes, parts, strict=True):
        across = sorted(set(part["x"].drop_nulls()))
        up = sorted(set(part["y"].drop_nulls()), reverse=True)
        cells = np.full((len(up), len(across)), np.nan)
        for row, value in zip(part.iter_rows(named=True), values(part, "value"), strict=True):
            if row["x"] is not None and row["y"] is not None:
                cells[up.index(row["y"]), across.index(row["x"])] = value
        ends = limits or (span if bar == "shared" else _span(part, scale))
        _cells_drawn(
            one, cells, [f"{v:g}" for v in up], [f"{v:g}" for v in across],
            limits=ends, scale=COLOURED[scale], fitting=20 if columns < 3 else 8,
        )  # fmt: skip
        if bar == "each":
            _bar(figure, one, text, beyond=_beyond(part, ends))
        heading(one, above)
        one.set(xlabel=written(xlabel, 40), ylabel=written(ylabel, 40))
    if bar == "shared":
        _bar(figure, axes, text, beyond=_beyond(found, limits or span))
    known = _span(found, "rising")
    caption = f"From {number(known[0])} to {number(known[1])}. {not_drawn(found, 'value')}".strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def _span(table: pl.DataFrame, scale: Scale) -> tuple[float, float]:
    """The least and the greatest finite value, or as far to both sides of zero."""
    known = values(table, "value")
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    match scale:
        case "rising":
            return float(known.min()), float(known.max())
        case "around zero":
            reach = float(np.abs(known).max()) or 1.0
            return -reach, reach
        case _:
            assert_never(scale)


def _beyond(table: pl.DataFrame, limits: tuple[float, float]) -> Beyond:
    """Whether values lie beyond the ends of the colours; the bar shows it by an arrow."""
    known = values(table, "value")
    low, high = bool((known < limits[0]).any()), bool((known > limits[1]).any())
    if low and high:
        return "both"
    return "min" if low else "max" if high else "neither"


def _coloured(
    figure: Figure,
    axes: Axes,
    cells: Cells,
    rows: list[str],
    columns: list[str],
    *,
    limits: tuple[float, float],
    scale: str,
    text: str,
) -> None:
    _cells_drawn(axes, cells, rows, columns, limits=limits, scale=scale)
    _bar(figure, axes, text)


def _cells_drawn(
    axes: Axes,
    cells: Cells,
    rows: list[str],
    columns: list[str],
    *,
    limits: tuple[float, float],
    scale: str,
    fitting: int = 20,
) -> None:
    """``fitting`` names at most stand below the map or beside it; others are left out evenly."""
    low, high = limits
    axes.imshow(
        cells,
        cmap=scale,
        vmin=low,
        vmax=high if high > low else low + 1,
        interpolation="none",
        aspect="auto",
    )
    apart_rows, apart_columns = -(-len(rows) // fitting), -(-len(columns) // fitting)
    # counted from below, as the columns are from the left
    shown = range((len(rows) - 1) % apart_rows, len(rows), apart_rows)
    axes.set_yticks(shown, [written(rows[at], 22) for at in shown])
    axes.set_xticks(
        range(0, len(columns), apart_columns), [written(n, 22) for n in columns[::apart_columns]]
    )
    long = max(len(name) for name in columns) > 6
    axes.tick_params(length=0)
    if long:
        axes.tick_params(axis="x", rotation=45)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _bar(figure: Figure, axes: Axes | list[Axes], text: str, *, beyond: Beyond = "neither") -> None:
    """A colour bar for one map, or for all that have the same ends."""
    first = axes[0] if isinstance(axes, list) else axes
    several = isinstance(axes, list) and len(axes) > 2
    bar = figure.colorbar(
        first.images[0],
        ax=axes,
        shrink=0.6 if several else 0.8,
        aspect=30 if several else 25,
        pad=0.02,
        extend=beyond,
    )
    bar.set_label(written(text, 40), size=SMALL, color=INK)
    bar.ax.tick_params(labelsize=SMALL, colors=INK)
    bar.outline.set_visible(False)


def _write_cells(
    axes: Axes, cells: Cells, texts: dict[tuple[int, int], str], *, middle: float, reach: float
) -> None:
    for (row, column), text in texts.items():
        deep = abs(cells[row, column] - middle) > 0.6 * reach
        axes.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=SMALL - 1,
            color="white" if deep else "#1f2328",  # stays dark on a pale cell in dark mode too
        )
