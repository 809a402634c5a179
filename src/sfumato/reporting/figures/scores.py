"""Draw scores and differences: dots with intervals, bars by group, tables as coloured cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.reporting.draw import (
    INK,
    MARKED,
    NUMBER,
    SMALL,
    TEXT,
    Basis,
    Drawing,
    Kind,
    bars,
    check_columns,
    dots,
    finish_drawing,
    first_style,
    groups,
    heading,
    legend,
    name_rows,
    not_drawn,
    offsets,
    panels,
    reference,
    styles,
    values,
    written,
)
from sfumato.reporting.text import number, over_text
from sfumato.scores import metric_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SCORE = {
    "metric": TEXT,
    "value": NUMBER,
    "arm": TEXT,
    "network": TEXT,
    "against": TEXT,
    "stratum": TEXT,
    "low": NUMBER,
    "high": NUMBER,
    "items": NUMBER,
}
DIFFERENCE = {
    "metric": TEXT,
    "value": NUMBER,
    "arm": TEXT,
    "second": TEXT,
    "network": TEXT,
    "against": TEXT,
    "stratum": TEXT,
    "low": NUMBER,
    "high": NUMBER,
    "items": NUMBER,
}
RELATION = {
    "name": TEXT,
    "measure": TEXT,
    "x": NUMBER,
    "value": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
}

References = Mapping[str, Mapping[str, float]]
"""A metric to the lines drawn for it: what a line is called, and where it is."""


def by_arm(
    table: pl.DataFrame,
    *,
    references: References | None = None,
    name: str = "scores",
    title: str = "Scores by training labels",
) -> Drawing:
    """A dot with its interval for each arm, a panel a metric, a colour a network (S0-F2, S1-F5)."""
    scores = check_columns(table, SCORE, what="scores")
    parts = groups(scores, "metric", "against", "stratum")
    arms = list(dict.fromkeys(scores["arm"]))
    known = styles(scores["network"])
    shift = offsets(list(known))
    row = 0.24 + 0.05 * min(len(known), 8)
    lines = _named_lines(scores, references or {})
    figure, axes = panels(len(parts), height=0.95 + row * len(arms), width=7.2)
    for one, (_, part) in zip(axes, parts, strict=True):
        for network, mine in groups(part, "network"):
            rows = np.array([arms.index(arm) + shift[network] for arm in mine["arm"]])
            dots(one, mine, rows, known[network])
        name_rows(one, arms)
        _hold_against(one, part, references or {}, lines)
        _say_panel(one, part, scores)
    legend(figure, known, references=lines)
    caption = f"Each dot is one arm's value. {not_drawn(scores, 'value')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis_of(table))


def by_stratum(
    table: pl.DataFrame,
    *,
    name: str = "strata",
    title: str = "Scores by stratum of the items",
) -> Drawing:
    """A dot for each arm on each stratum, a panel a metric and network (S4-T2, S4-T3, S4-T10)."""
    scores = check_columns(table, SCORE, what="scores by stratum")
    parts = groups(scores, "metric", "network", "against")
    strata = list(dict.fromkeys(scores["stratum"]))
    labels = [f"{name} {_counted(scores, name)}".strip() for name in strata]
    known = styles(scores["arm"])
    shift = offsets(list(known))
    row = 0.24 + 0.09 * min(len(known), 12)
    figure, axes = panels(len(parts), height=0.95 + row * len(strata), width=7.2)
    for one, (_, part) in zip(axes, parts, strict=True):
        for arm, mine in groups(part, "arm"):
            rows = np.array([strata.index(stratum) + shift[arm] for stratum in mine["stratum"]])
            dots(one, mine, rows, known[arm])
        name_rows(one, labels)
        _say_panel(one, part, scores)
    legend(figure, known)
    caption = f"Each dot is one arm on one stratum. {not_drawn(scores, 'value')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis_of(table))


def leaderboard(
    table: pl.DataFrame,
    *,
    metric: str = "cross_entropy",
    beside: str = "accuracy",
    references: References | None = None,
    name: str = "leaderboard",
    title: str = "Closest to people, next to accuracy",
) -> Drawing:
    """Arms ranked by ``metric``, the best on top, with a second metric beside (S0-48)."""
    wanted = (
        table.filter(pl.col("metric").is_in([metric, beside]))
        if "metric" in table.columns
        else table
    )
    scores = check_columns(wanted, SCORE, what=f"a leaderboard by {metric!r}").with_columns(
        who=pl.concat_str(pl.col("arm"), pl.col("network"), separator=" · ").str.strip_chars(" ·")
    )
    ranked = scores.filter(pl.col("metric") == metric)
    falling = metric_words(metric).better == "higher"
    known = ranked.with_columns(pl.col("value").fill_nan(None))  # NaN would rank as the largest
    order = known.sort("value", descending=falling, nulls_last=True, maintain_order=True)["who"]
    names = list(dict.fromkeys([*order, *scores["who"]]))
    parts = [(one, scores.filter(pl.col("metric") == one)) for one in (metric, beside)]
    parts = [(one, part) for one, part in parts if part.height]
    lines = _named_lines(scores, references or {})
    figure, axes = panels(len(parts), height=0.95 + 0.24 * len(names), width=7.2)
    for one, (_, part) in zip(axes, parts, strict=True):
        rows = np.array([names.index(who) for who in part["who"]], dtype=np.float64)
        dots(one, part, rows, first_style())
        name_rows(one, names, width=36)
        _hold_against(one, part, references or {}, lines)
        _say_panel(one, part, scores)
    legend(figure, {}, references=lines)
    caption = f"Ranked by {metric_words(metric).title}; the best is on top."
    return finish_drawing(name, title, caption, figure=figure, table=wanted, basis=basis_of(wanted))


def paired_differences(
    table: pl.DataFrame,
    *,
    name: str = "differences",
    title: str = "Paired differences between arms",
) -> Drawing:
    """First minus second with intervals, a line at zero; filled where zero lies outside."""
    found = check_columns(table, DIFFERENCE, what="paired differences").with_columns(
        pair=pl.format("{} - {}", pl.col("arm"), pl.col("second"))
    )
    parts = groups(found, "metric", "against", "stratum")
    pairs = list(dict.fromkeys(found["pair"]))
    known = styles(found["network"])
    shift = offsets(list(known))
    row = 0.26 + 0.06 * min(len(known), 8)
    figure, axes = panels(len(parts), height=0.95 + row * len(pairs), width=7.2)
    for one, (_, part) in zip(axes, parts, strict=True):
        one.axvline(0, color=INK, linewidth=0.9)
        for network, mine in groups(part, "network"):
            rows = np.array([pairs.index(pair) + shift[network] for pair in mine["pair"]])
            dots(one, mine, rows, known[network])
            _open_where_zero_is_inside(one, mine, rows, known[network].marker)
        name_rows(one, pairs, width=36)
        _say_panel(one, part, found)
    legend(figure, known)
    caption = (
        "First arm minus second, paired. A filled dot: the interval excludes zero; an open dot: "
        f"it contains zero, or there is none. {not_drawn(found, 'value')}"
    ).strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis_of(table))


def relation(
    table: pl.DataFrame,
    basis: Basis,
    *,
    value: str = "correlation with rated similarity",
    name: str = "relation",
    title: str = "Label sets by what they hold",
) -> Drawing:
    """One dot a label set against each of its measures, named beside it (S1-F4, S1-F10).

    Columns ``name``, ``measure`` (a panel each: entropy, error rate …), ``x``, ``value``,
    and, where known, ``low`` and ``high``.
    """
    found = check_columns(table, RELATION, what="a relation", optional=("low", "high"))
    parts = groups(found, "measure")
    known = styles(found["name"])
    figure, axes = panels(len(parts), height=2.7)
    for one, (measure, part) in zip(axes, parts, strict=True):
        x, y = values(part, "x"), values(part, "value")
        one.vlines(x, values(part, "low"), values(part, "high"), colors=INK, linewidth=0.8)
        for who, across, up in zip(part["name"], x, y, strict=True):
            style = known[who]
            one.plot([across], [up], style.marker, color=style.colour, markersize=5.5)
        one.set(xlabel=written(measure), ylabel=written(value, 40))
    legend(figure, known)
    caption = f"Each dot is one label set. {not_drawn(found, 'x', 'value')}".strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def basis_of(table: pl.DataFrame) -> Basis:
    """What a table of scores or differences rests on: the most items, all seeds, any simulation."""
    seeds: list[int] = []
    if "seeds" in table.columns and isinstance(table.schema["seeds"], pl.List):
        seeds = table["seeds"].explode().drop_nulls().unique().sort().to_list()
    return Basis(
        simulated="simulated" in table.columns and bool(table["simulated"].any()),
        items=int(table["items"].max() or 0),  # type: ignore[arg-type]
        seeds=tuple(seeds),
        interval=over_text(table["over"].drop_nulls()) if "over" in table.columns else "",
    )


def _open_where_zero_is_inside(
    axes: Axes,
    part: pl.DataFrame,
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    marker: str,
) -> None:
    low, high = values(part, "low"), values(part, "high")
    unsure = ~((low > 0) | (high < 0))  # NaN bounds compare as false: no interval, no claim
    axes.plot(
        values(part, "value")[unsure],
        rows[unsure],
        marker,
        color="white",
        markersize=2.4,
        linestyle="none",
    )


def _counted(scores: pl.DataFrame, stratum: str) -> str:
    """How many items a stratum has; from least to most where not every score has as many."""
    found = values(scores.filter(pl.col("stratum") == stratum), "items")
    found = found[found > 0]
    if not found.size:
        return ""
    least, most = int(found.min()), int(found.max())
    return f"(n = {least:,})" if least == most else f"(n = {least:,} to {most:,})"


def _named_lines(scores: pl.DataFrame, references: References) -> list[str]:
    """The reference lines of the metrics that are drawn, each once."""
    drawn = set(scores["metric"])
    return list(
        dict.fromkeys(
            name for metric, lines in references.items() if metric in drawn for name in lines
        )
    )


def _hold_against(
    axes: Axes, part: pl.DataFrame, references: References, named: Sequence[str]
) -> None:
    for text, at in references.get(part["metric"][0], {}).items():
        reference(axes, at, position=named.index(text))


def _say_panel(axes: Axes, part: pl.DataFrame, whole: pl.DataFrame) -> None:
    """The metric below, and above what tells the panel from the others."""
    from matplotlib.ticker import MaxNLocator

    metric = part["metric"][0]
    axes.set_xlabel(written(metric_words(metric).axis, 60))
    several = whole["against"].n_unique() > 1
    where = [f"against {part['against'][0]}"] if several else []
    for column in ("stratum", "network"):
        only = set(part[column])
        if len(only) == 1 and (shown := only.pop()) not in ("", "all"):
            where.append(shown)
    heading(axes, " · ".join(where))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.08)


# Draw whether stated confidence is earned: reliability diagrams.

LARGEST = 90.0
"""Area in points² of the dot of the fullest bin."""
COLUMNS = 3


def reliability(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "reliability",
    title: str = "Is the confidence earned?",
) -> Drawing:
    """Accuracy of each bin against its mean confidence, a panel an arm (S2-71).

    A network is a colour; the area of a dot is the number of its items.
    """
    needed: dict[str, Kind] = {
        "arm": TEXT, "network": TEXT, "bin": NUMBER, "confidence": NUMBER, "accuracy": NUMBER,
        "items": NUMBER,
    }  # fmt: skip
    found = check_columns(table, needed, what="a reliability diagram")
    known = styles(found["network"])
    alone = next(iter(known)) if len(known) == 1 else ""  # which no legend names
    parts = groups(found, "arm")
    most = max(float(np.nanmax(values(found, "items"), initial=1.0)), 1.0)
    figure, axes = panels(len(parts), columns=COLUMNS, height=2.6)
    for one, (text, part) in zip(axes, parts, strict=True):
        one.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        for network, mine in part.group_by("network", maintain_order=True):
            mine = mine.sort("confidence")
            colour, marker, dash = known[str(network[0])]
            x, y = values(mine, "confidence"), values(mine, "accuracy")
            area = LARGEST * np.nan_to_num(values(mine, "items")) / most
            one.plot(x, y, dash, color=colour, linewidth=0.9, alpha=0.6)
            one.scatter(x, y, s=np.maximum(area, 6), c=colour, marker=marker, alpha=0.85, lw=0)
        heading(one, " · ".join(word for word in (text, alone) if word), width=30)
        one.set_xlabel("mean confidence in the bin")
        one.set_ylabel("accuracy in the bin")
        one.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    legend(figure, known)
    caption = (
        "On the dashed line confidence is earned; below it the model is too sure. The area of a "
        f"dot is the number of items in its bin. {not_drawn(found, 'confidence', 'accuracy')}"
    ).strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


# Draw groups in rows: corruptions, and training targets tested on several kinds of labels.

FILLED = 0.8
"""How much of a row its bars or dots fill."""


def corruption_bars(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "corruptions",
    title: str = "Under natural corruptions",
) -> Drawing:
    """A bar an arm for each corruption, a panel a metric, network and strength (S2-77)."""
    needed: dict[str, Kind] = {
        "corruption": TEXT, "strength": TEXT, "arm": TEXT, "network": TEXT, "metric": TEXT,
        "value": NUMBER, "low": NUMBER, "high": NUMBER,
    }  # fmt: skip
    found = check_columns(table, needed, what="corruption bars", optional=("low", "high"))
    found = found.with_columns(strength="strength " + pl.col("strength"))
    figure = _grouped(
        found,
        rows="corruption",
        series="arm",
        by=("metric", "network", "strength"),
        mark="bars",
    )
    caption = not_drawn(found, "value")
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def mode_shift(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "mode-shift",
    title: str = "How much of the gain is the majority vote?",
) -> Drawing:
    """Every training target on original and on re-annotated labels (S4-45, C15)."""
    needed: dict[str, Kind] = {
        "network": TEXT, "trained_on": TEXT, "tested_on": TEXT, "metric": TEXT,
        "value": NUMBER, "low": NUMBER, "high": NUMBER,
    }  # fmt: skip
    found = check_columns(table, needed, what="mode shift", optional=("low", "high"))
    named = found.with_columns(tested_on="tested on " + pl.col("tested_on"))
    figure = _grouped(
        named,
        rows="trained_on",
        series="tested_on",
        by=("metric", "network"),
        mark="dots",  # bars from zero would hide how accuracies near one differ
    )
    caption = (
        "Rows: what the model was trained on. What the majority vote already gains over the "
        "original labels is a shift of the mode; only what comes beyond it is owed to softness. "
        f"{not_drawn(found, 'value')}"
    ).strip()
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


def _grouped(
    found: pl.DataFrame,
    *,
    rows: str,
    series: str,
    by: Sequence[str],
    mark: Literal["bars", "dots"],
) -> Figure:
    from matplotlib.ticker import MaxNLocator

    parts = groups(found, *by)
    names = list(dict.fromkeys(found[rows]))
    known = styles(found[series])
    if mark == "bars":  # a bar has no shape of its own
        known = {name: style._replace(marker="s") for name, style in known.items()}
    thick = FILLED / len(known)
    place = {one: (at + 0.5) * thick - FILLED / 2 for at, one in enumerate(known)}
    row = 0.22 + 0.11 * min(len(known), 12)
    figure, axes = panels(len(parts), height=0.95 + row * len(names), width=7.2)
    for one, (text, part) in zip(axes, parts, strict=True):
        for who, mine in part.group_by(series, maintain_order=True):
            at_rows = np.array([names.index(name) + place[str(who[0])] for name in mine[rows]])
            style = known[str(who[0])]
            match mark:
                case "bars":
                    bars(one, mine, at_rows, style, height=thick * 0.92)
                case "dots":
                    dots(one, mine, at_rows, style)
                case _:
                    assert_never(mark)
        name_rows(one, names)
        heading(one, text)
        one.xaxis.set_major_locator(MaxNLocator(5))
        one.set_xlabel(written(metric_words(part["metric"][0]).axis, 60))
    legend(figure, known)
    return figure


# Draw tables of numbers as coloured cells: correlations, confusions, maps over two settings.

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
    found = check_columns(
        table, needed, what="a correlation matrix", optional=("low", "high", "items")
    )
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
    return finish_drawing(name, title, caption.strip(), figure=figure, table=table, basis=basis)


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
    found = check_columns(table, needed, what="a confusion map")
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
    return finish_drawing(name, title, caption.strip(), figure=figure, table=table, basis=basis)


def pair_map(
    table: pl.DataFrame,
    basis: Basis,
    *,
    value: str,
    text: str,
    name: str = "pairs",
    title: str = "Agreement of each two people",
) -> Drawing:
    """A number from 0 to 1 for each pair of people: ``first``, ``second`` and ``value``."""
    needed: dict[str, Kind] = {"first": TEXT, "second": TEXT, value: NUMBER}
    found = check_columns(table, needed, what="a map of pairs")
    names = list(dict.fromkeys([*found["first"], *found["second"]]))
    cells = np.full((len(names), len(names)), np.nan)
    for first, second, share in zip(
        found["first"], found["second"], values(found, value), strict=True
    ):
        at = names.index(first), names.index(second)
        cells[at] = cells[at[::-1]] = share
    side = 1.6 + 0.42 * min(len(names), 16)
    figure, axes = panels(1, width=min(side + 1.2, 8.0), height=min(side, 7.5))
    _coloured(figure, axes[0], cells, names, names, limits=(0, 1), scale="Blues", text=text)
    if len(names) <= WRITTEN_UP_TO:
        rounded = {tuple(at): f"{cells[tuple(at)]:.2f}" for at in np.argwhere(np.isfinite(cells))}
        _write_cells(axes[0], cells, rounded, middle=0.0, reach=1.0)
    return finish_drawing(name, title, "", figure=figure, table=table, basis=basis)


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
    found = check_columns(table, needed, what="maps over two settings")
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
    return finish_drawing(name, title, caption, figure=figure, table=table, basis=basis)


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


# Mark a cell of the maps that ``grid_maps`` drew, so that a reader finds their own task.


def mark_cell(drawing: Drawing, *, x: float, y: float, what: str) -> Drawing:
    """A cross in a frame at ``x`` and ``y`` on every map that has such a cell, said in the caption.

    The figure of ``drawing`` itself is drawn on.
    """
    across, up = f"{x:g}", f"{y:g}"
    found = False
    for axes in drawing.figure.axes:
        columns = _places(axes.get_xticklabels(), axes.get_xticks())
        rows = _places(axes.get_yticklabels(), axes.get_yticks())
        if not axes.images or across not in columns or up not in rows:
            continue
        at = columns[across], rows[up]
        axes.plot(*at, "s", mfc="none", mec="white", markersize=15, mew=3.2)
        axes.plot(*at, "s", mfc="none", mec=MARKED, markersize=15, mew=1.6)
        axes.plot(*at, "x", color="white", markersize=7, mew=3.2)
        axes.plot(*at, "x", color=MARKED, markersize=7, mew=1.6)
        found = True
    if not found:
        return drawing
    return replace(drawing, caption=f"{drawing.caption} The framed cross is {what}.")


def _places(labels: Iterable[Text], ticks: Iterable[float]) -> dict[str, float]:
    return {label.get_text(): float(at) for label, at in zip(labels, ticks, strict=True)}
