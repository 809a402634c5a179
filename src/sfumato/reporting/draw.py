"""Turn a table and a matplotlib figure into a drawing: pictures, the numbers, and a caption.

Figures are made with matplotlib's objects (``Figure()``), never with pyplot, so nothing global
is opened or left open. The palette is that of Okabe and Ito without yellow and black, which
vanish on white and on dark paper; a marker goes with every colour, so that colour is never alone.
Below stand the marks that figures put on axes: dots with intervals, bars, lines with bands, a
legend, reference lines.
"""

from __future__ import annotations

import html
import io
import json
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.reporting.text import count, interval, number, seeds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2329"
FAINT = "#c9ced6"
MARKED = "#b03a00"
"""The colour of the mark on simulated data."""

Made = Literal["annotators", "worlds"]
"""What is simulated: people who answer, or whole worlds of items and classes with their labels."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7f87")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
SMALL, SIZE = 8.0, 9.0
PNG_DPI = 200
FONT = "'DejaVu Sans'"
FONTS = f"{FONT}, Verdana, Arial, sans-serif"


@dataclass(frozen=True)
class Basis:
    """What stands behind a drawing, for its caption and its mark."""

    simulated: bool
    """Whether simulated people are behind any number drawn."""
    items: int = 0
    seeds: tuple[int, ...] = ()
    interval: str = ""
    """What intervals are over: "items", "seeds" …; empty where none is drawn."""
    people: int = 0
    made: Made = "annotators"
    """What was simulated, where something was."""

    def sentence(self) -> str:
        """What a caption says of it.

        >>> Basis(False, items=100, seeds=(0, 1, 2), interval="seeds").sentence()
        'n = 100 items; 3 seeds (0 to 2); bars and bands: 95 % interval over seeds.'
        """
        parts = [f"n = {count(self.items, 'item')}"] if self.items else []
        if self.people:
            kind = "simulated annotator" if self.simulated else "annotator"
            parts.append(count(self.people, kind))
        if self.seeds:
            parts.append(seeds_text(self.seeds))
        if self.interval:
            parts.append(f"bars and bands: 95 % interval over {self.interval}")
        return "; ".join(parts) + "." if parts else ""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure with the table that was drawn; made by the functions of ``report.figures``."""

    name: str
    """File name without ending."""
    title: str
    caption: str
    figure: Figure
    table: pl.DataFrame
    """Exactly what was drawn; its column ``simulated`` says of every row what the mark says of the
    whole."""
    simulated: bool
    made: Made = "annotators"
    per_panel: int = 1
    """Axes that belong together, where a page may show a figure in parts; 0: it may not."""

    @cached_property
    def svg(self) -> str:
        """The figure as SVG with real text, no date and no random identifiers.

        Rendered once, when first asked for: the file and the page hold the same text.
        """
        settings = {"svg.hashsalt": self.name, "svg.fonttype": "none"}
        metadata = {"Date": None, "Title": self.title}
        text = _rendered(self.figure, "svg", settings, metadata).decode().replace(FONT, FONTS)
        return _with_tips(_with_plain_ids(text))

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg


class Style(NamedTuple):
    """How one series looks: colour, marker and dash differ together."""

    colour: str
    marker: str
    dash: str


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each name in the order of first appearance; 49 before one comes twice."""
    known = dict.fromkeys(names)
    return {name: _style(position) for position, name in enumerate(known)}


def _style(position: int) -> Style:
    turn = position // len(COLOURS)  # a second round shifts markers and dashes against colours
    return Style(
        COLOURS[position % len(COLOURS)],
        MARKERS[(position + turn) % len(MARKERS)],
        DASHES[turn % len(DASHES)],
    )


def written(text: str, width: int = 30) -> str:
    r"""A name as it can stand in a figure: one line, shortened in the middle, never a formula.

    >>> written("a$b\nc"), written("abcdefghijklmnop", 9)
    ('a\\$b c', 'abcd…mnop')
    """
    line = " ".join(str(text).split())
    line = "".join("�" if unicodedata.category(sign)[0] == "C" else sign for sign in line)
    if len(line) > width:
        half = (width - 1) // 2
        line = f"{line[: width - 1 - half]}…{line[-half:]}"
    return line.replace("\\$", "$").replace("$", r"\$")


def panels(
    amount: int, *, columns: int = 2, width: float = 0.0, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """A figure with ``amount`` dressed axes, ``columns`` in a row; ``height`` is that of a row."""
    from matplotlib.figure import Figure

    columns = min(columns, amount)
    rows = -(-amount // columns)
    width = width or (4.4 if columns == 1 else 7.2)  # a panel fits a phone
    figure = Figure(figsize=(width, rows * height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)  # type: ignore[union-attr,call-arg]
    grid = figure.add_gridspec(rows, columns)
    axes = [figure.add_subplot(grid[at // columns, at % columns]) for at in range(amount)]
    for one in axes:
        dress(one)
    return figure, axes


def dress(axes: Axes) -> None:
    """The house style: two thin axis lines, a faint grid behind the data, small text."""
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    axes.grid(True, color=FAINT, linewidth=0.6, alpha=0.7)
    axes.tick_params(labelsize=SMALL, colors=INK, length=3, width=0.6)
    axes.xaxis.label.set(size=SMALL, color=INK)
    axes.yaxis.label.set(size=SMALL, color=INK)
    axes.title.set(size=SIZE, color=INK)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set(color=INK, linewidth=0.6)


def finish_drawing(
    name: str,
    title: str,
    caption: str,
    *,
    figure: Figure,
    table: pl.DataFrame,
    basis: Basis,
    per_panel: int = 1,
) -> Drawing:
    """The drawing, marked where it is simulated, with n, seeds and interval in the caption."""
    if basis.simulated:
        figure.suptitle(
            f"simulated {basis.made}",
            x=0.015,  # on the left, where a phone shows the beginning of a broad figure
            ha="left",
            fontsize=SMALL,
            color=MARKED,
            bbox={"boxstyle": "round,pad=0.3", "facecolor": "none", "edgecolor": MARKED},
        )
    table = _flat(table)
    if "simulated" not in table.columns:  # rows may know it each for themselves
        table = table.with_columns(simulated=pl.lit(basis.simulated))
    text = " ".join(part for part in (caption, basis.sentence()) if part)
    return Drawing(name, title, text, figure, table, basis.simulated, basis.made, per_panel)


def panel_boxes(drawing: Drawing) -> list[tuple[float, float, float, float]]:
    """Where the panels of a figure lie in its SVG: left, top, width and height in points.

    Empty where it has one panel, or several bars of colours; one that all panels share comes last.
    """
    from matplotlib.transforms import Bbox

    figure, each = drawing.figure, drawing.per_panel
    bars = sum(axes.get_label() == "<colorbar>" for axes in figure.axes)
    if not each or bars > 1 or len(figure.axes) - bars <= each:
        return []
    assert drawing.svg  # drawn, and so laid out
    scale, top = 72 / figure.dpi, figure.get_figheight() * 72
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    parts = [Bbox.union(boxes[at : at + each]) for at in range(0, len(boxes), each)]  # type: ignore[arg-type]
    return [
        (
            box.x0 * scale - 2,
            top - box.y1 * scale - 2,
            box.width * scale + 4,
            box.height * scale + 4,
        )
        for box in parts
    ]


SIGNS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖"}
"""Markers as they can stand in a line of text."""


def legend_entries(drawing: Drawing) -> list[tuple[str, str, str]]:
    """What the legend of a figure names: a sign, its colour and the name."""
    entries = []
    for legend_ in drawing.figure.legends:
        for handle, text in zip(legend_.legend_handles, legend_.get_texts(), strict=True):
            sign = SIGNS.get(str(handle.get_marker()), "┄")  # type: ignore[union-attr]
            colour = str(handle.get_color()).replace(INK, "var(--ink)")  # type: ignore[union-attr]
            entries.append((sign, colour, text.get_text().replace("\\$", "$")))
    return entries


def save(drawing: Drawing, folder: Path) -> list[Path]:
    """Write NAME.svg, NAME.png and NAME.csv; the same drawing gives the same bytes."""
    if not re.fullmatch(r"[\w.-]+", drawing.name) or drawing.name.startswith("."):
        raise DataError(
            f"A drawing is called {drawing.name!r}, which is no file name; "
            "use letters, digits, '-', '_' and '.'."
        )
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{drawing.name}.{ending}" for ending in ("svg", "png", "csv")]
    paths[0].write_text(drawing.svg, encoding="utf-8")
    paths[1].write_bytes(png_bytes(drawing))
    drawing.table.write_csv(paths[2])
    return paths


def png_bytes(drawing: Drawing) -> bytes:
    """The figure as PNG, without a note of the program that wrote it."""
    return _rendered(drawing.figure, "png", {}, {"Software": None})


def _rendered(
    figure: Figure, kind: str, settings: dict[str, str], metadata: dict[str, str | None]
) -> bytes:
    import matplotlib as mpl

    page = io.BytesIO()
    with mpl.rc_context(settings), warnings.catch_warnings():  # type: ignore[arg-type]
        # a script that the font lacks shows as boxes in the PNG and is whole in the SVG
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # axes squeezed by long names keep their place: nothing to be done about it here
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure.savefig(page, format=kind, dpi=PNG_DPI, metadata=metadata)
    return page.getvalue()


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Without what CSV cannot hold: lists become text, and provenance stays with the scores."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.drop("provenance", strict=False).with_columns(
        pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists
    )


def _with_plain_ids(text: str) -> str:
    """Clip paths counted in their order: matplotlib names them after unrounded coordinates.

    >>> _with_plain_ids('<g clip-path="url(#p0123456789)"/><clipPath id="p0123456789">')
    '<g clip-path="url(#clip1)"/><clipPath id="clip1">'
    """
    known: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        return found[1] + known.setdefault(found[2], f"clip{len(known) + 1}")

    return re.sub(r'(url\(#|id=")(p[0-9a-f]{10})\b', plain, text)


def _tips(part: pl.DataFrame, value: Numbers) -> str:
    """What a reader sees who points at a mark, as the name of the marks: one text each."""
    named = [each for each in TOLD if each in part.columns]
    low, high = (values(part, end) if end in part.columns else value for end in ("low", "high"))
    texts = []
    for at, row in enumerate(part.select(named).iter_rows()):
        if np.isfinite(value[at]):  # no mark is drawn for others
            who = " · ".join(str(each) for each in row if each)
            ends = interval(float(low[at]), float(high[at])) if low[at] < high[at] else ""
            texts.append(f"{who}: {number(float(value[at]))} {ends}".strip(": "))
    return "tips-" + json.dumps(texts).encode().hex()


TOLD = ("pair", "arm", "series", "trained_on", "tested_on", "network", "stratum")
"""Columns that tell marks apart."""


def _with_tips(text: str) -> str:
    """With a title in every mark whose texts stand in the name of its group."""
    head, *groups_ = re.split(r'id="tips-([0-9a-f]+)"', text)
    parts = [head]
    for told, rest in zip(groups_[::2], groups_[1::2], strict=True):
        titles = iter(json.loads(bytes.fromhex(told)))

        def mark(found: re.Match[str], titles: Iterator[str] = titles) -> str:
            title = next(titles, None)
            inside = "" if title is None else f"<title>{html.escape(_printable(title))}</title>"
            return f"{found[1]}>{inside}</use>"

        parts.append('class="marks"' + re.sub(r"(<use [^>]*?)\s*/>", mark, rest))
    return "".join(parts)


def _printable(text: str) -> str:
    """Without what XML cannot hold."""
    return "".join(letter for letter in text if letter.isprintable() or letter == " ")


def legend_columns(labels: Sequence[str], width: float) -> int:
    """How many legend entries fit beside each other in ``width`` inches."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), int(width / (0.066 * longest + 0.42))))


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
    (drawn,) = axes.plot(
        value, at, style.marker, color=style.colour, markersize=size, linestyle="none"
    )
    drawn.set_gid(_tips(part, value))


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
    (drawn,) = axes.plot(
        at, height, style.dash, marker=marker, color=style.colour, markersize=3.5, linewidth=1.3
    )
    if marker:
        drawn.set_gid(_tips(part, np.where(np.isfinite(at), height, np.nan)))
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


def name_rows(axes: Axes, names: Sequence[str], *, width: int = 30) -> None:
    """One row a name, the first on top."""
    axes.set_yticks(range(len(names)), [written(name, width) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
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
