"""Draw scores and paired differences: dots with intervals by arm, stratum, network; a ranking."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sfumato.report.drawing import INK, Basis, Drawing, finished, panels, styles, written
from sfumato.report.figures.columns import NUMBER, TEXT, checked, groups, not_drawn, values
from sfumato.report.figures.marks import (
    dots,
    first_style,
    heading,
    legend,
    name_rows,
    offsets,
    reference,
)
from sfumato.report.measure import Measures, measure_of

__all__ = ["by_arm", "by_stratum", "leaderboard", "paired_differences", "relation"]

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
    "first": TEXT,
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
    measures: Measures,
    *,
    references: References | None = None,
    name: str = "scores",
    title: str = "Scores by training labels",
) -> Drawing:
    """A dot with its interval for each arm, a panel a metric, a colour a network (S0-F2, S1-F5)."""
    scores = checked(table, SCORE, what="scores")
    parts = groups(scores, "metric", "against", "stratum")
    arms = list(dict.fromkeys(scores["arm"]))
    known = styles(scores["network"])
    shift = offsets(list(known))
    row = 0.24 + 0.05 * min(len(known), 8)
    lines = _named_lines(scores, references or {})
    figure, axes = panels(len(parts), height=0.95 + row * len(arms), width=7.2)
    for at, (one, (_, part)) in enumerate(zip(axes, parts, strict=True)):
        for network, mine in groups(part, "network"):
            rows = np.array([arms.index(arm) + shift[network] for arm in mine["arm"]])
            dots(one, mine, rows, known[network])
        name_rows(one, arms, shown=at % 2 == 0)
        _hold_against(one, part, references or {}, lines)
        _say_panel(one, part, measures)
    legend(figure, known, references=lines)
    caption = f"Each dot is one arm's value. {not_drawn(scores, 'value')}".strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis_of(table))


def by_stratum(
    table: pl.DataFrame,
    measures: Measures,
    *,
    name: str = "strata",
    title: str = "Scores by stratum of the items",
) -> Drawing:
    """A dot for each arm on each stratum, a panel a metric and network (S4-T2, S4-T3, S4-T10)."""
    scores = checked(table, SCORE, what="scores by stratum")
    parts = groups(scores, "metric", "network", "against")
    strata = list(dict.fromkeys(scores["stratum"]))
    labels = [f"{name} {_counted(scores, name)}".strip() for name in strata]
    known = styles(scores["arm"])
    shift = offsets(list(known))
    row = 0.24 + 0.09 * min(len(known), 12)
    figure, axes = panels(len(parts), height=0.95 + row * len(strata), width=7.2)
    for at, (one, (_, part)) in enumerate(zip(axes, parts, strict=True)):
        for arm, mine in groups(part, "arm"):
            rows = np.array([strata.index(stratum) + shift[arm] for stratum in mine["stratum"]])
            dots(one, mine, rows, known[arm])
        name_rows(one, labels, shown=at % 2 == 0)
        _say_panel(one, part, measures)
    legend(figure, known)
    caption = f"Each dot is one arm on one stratum. {not_drawn(scores, 'value')}".strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis_of(table))


def leaderboard(
    table: pl.DataFrame,
    measures: Measures,
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
    scores = checked(wanted, SCORE, what=f"a leaderboard by {metric!r}").with_columns(
        who=pl.concat_str(pl.col("arm"), pl.col("network"), separator=" · ").str.strip_chars(" ·")
    )
    ranked = scores.filter(pl.col("metric") == metric)
    falling = measure_of(measures, metric).better == "higher"
    known = ranked.with_columns(pl.col("value").fill_nan(None))  # NaN would rank as the largest
    order = known.sort("value", descending=falling, nulls_last=True, maintain_order=True)["who"]
    names = list(dict.fromkeys([*order, *scores["who"]]))
    parts = [(one, scores.filter(pl.col("metric") == one)) for one in (metric, beside)]
    parts = [(one, part) for one, part in parts if part.height]
    lines = _named_lines(scores, references or {})
    figure, axes = panels(len(parts), height=0.95 + 0.24 * len(names), width=7.2)
    for at, (one, (_, part)) in enumerate(zip(axes, parts, strict=True)):
        rows = np.array([names.index(who) for who in part["who"]], dtype=np.float64)
        dots(one, part, rows, first_style())
        name_rows(one, names, shown=at == 0, width=36)
        _hold_against(one, part, references or {}, lines)
        _say_panel(one, part, measures)
    legend(figure, {}, references=lines)
    caption = f"Ranked by {measure_of(measures, metric).title}; the best is on top."
    return finished(name, title, caption, figure=figure, table=wanted, basis=basis_of(wanted))


def paired_differences(
    table: pl.DataFrame,
    measures: Measures,
    *,
    name: str = "differences",
    title: str = "Paired differences between arms",
) -> Drawing:
    """First minus second with intervals, a line at zero; filled where zero lies outside."""
    found = checked(table, DIFFERENCE, what="paired differences").with_columns(
        pair=pl.format("{} - {}", pl.col("first"), pl.col("second"))
    )
    parts = groups(found, "metric", "against", "stratum")
    pairs = list(dict.fromkeys(found["pair"]))
    known = styles(found["network"])
    shift = offsets(list(known))
    row = 0.26 + 0.06 * min(len(known), 8)
    figure, axes = panels(len(parts), height=0.95 + row * len(pairs), width=7.2)
    for at, (one, (_, part)) in enumerate(zip(axes, parts, strict=True)):
        one.axvline(0, color=INK, linewidth=0.9)
        for network, mine in groups(part, "network"):
            rows = np.array([pairs.index(pair) + shift[network] for pair in mine["pair"]])
            dots(one, mine, rows, known[network])
            _open_where_zero_is_inside(one, mine, rows, known[network].marker)
        name_rows(one, pairs, shown=at % 2 == 0, width=36)
        _say_panel(one, part, measures)
    legend(figure, known)
    caption = (
        "First arm minus second, paired. A filled dot: the interval excludes zero; an open dot: "
        f"it contains zero, or there is none. {not_drawn(found, 'value')}"
    ).strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis_of(table))


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
    found = checked(table, RELATION, what="a relation", optional=("low", "high"))
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
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def basis_of(table: pl.DataFrame) -> Basis:
    """What a table of scores or differences rests on: the most items, all seeds, any simulation."""
    seeds: list[int] = []
    if "seeds" in table.columns and isinstance(table.schema["seeds"], pl.List):
        seeds = table["seeds"].explode().drop_nulls().unique().sort().to_list()
    over = table["interval"].unique().sort().to_list() if "interval" in table.columns else []
    return Basis(
        simulated="simulated" in table.columns and bool(table["simulated"].any()),
        items=int(table["items"].max() or 0),  # type: ignore[arg-type]
        seeds=tuple(seeds),
        interval=" or over ".join(one for one in over if one),
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


def _say_panel(axes: Axes, part: pl.DataFrame, measures: Measures) -> None:
    metric = part["metric"][0]
    axes.set_xlabel(written(measure_of(measures, metric).axis, 60))
    where = [f"against {part['against'][0]}"] if part["against"][0] else []
    for column in ("stratum", "network"):
        only = set(part[column])
        if len(only) == 1 and (shown := only.pop()) not in ("", "all"):
            where.append(shown)
    heading(axes, " · ".join(where))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.08)
