"""Draw groups in rows: corruptions, and training targets tested on several kinds of labels."""

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sfumato.report.drawing import Basis, Drawing, finished, panels, styles, written
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, groups, not_drawn
from sfumato.report.figures.marks import bars, dots, heading, legend, name_rows
from sfumato.report.measure import Measures, measure_of

__all__ = ["corruption_bars", "mode_shift"]

FILLED = 0.8
"""How much of a row its bars or dots fill."""


def corruption_bars(
    table: pl.DataFrame,
    measures: Measures,
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
    found = checked(table, needed, what="corruption bars", optional=("low", "high"))
    found = found.with_columns(strength="strength " + pl.col("strength"))
    figure = _grouped(
        found,
        measures,
        rows="corruption",
        series="arm",
        by=("metric", "network", "strength"),
        mark="bars",
    )
    caption = not_drawn(found, "value")
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def mode_shift(
    table: pl.DataFrame,
    measures: Measures,
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
    found = checked(table, needed, what="mode shift", optional=("low", "high"))
    named = found.with_columns(tested_on="tested on " + pl.col("tested_on"))
    figure = _grouped(
        named,
        measures,
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
    return finished(name, title, caption, figure=figure, table=table, basis=basis)


def _grouped(
    found: pl.DataFrame,
    measures: Measures,
    *,
    rows: str,
    series: str,
    by: Sequence[str],
    mark: Literal["bars", "dots"],
) -> Figure:
    parts = groups(found, *by)
    names = list(dict.fromkeys(found[rows]))
    known = styles(found[series])
    if mark == "bars":  # a bar has no shape of its own
        known = {name: style._replace(marker="s") for name, style in known.items()}
    thick = FILLED / len(known)
    place = {one: (at + 0.5) * thick - FILLED / 2 for at, one in enumerate(known)}
    row = 0.22 + 0.11 * min(len(known), 12)
    figure, axes = panels(len(parts), height=0.95 + row * len(names), width=7.2)
    for at, (one, (text, part)) in enumerate(zip(axes, parts, strict=True)):
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
        name_rows(one, names, shown=at % 2 == 0)
        heading(one, text)
        one.xaxis.set_major_locator(MaxNLocator(5))
        one.set_xlabel(written(measure_of(measures, part["metric"][0]).axis, 60))
    legend(figure, known)
    return figure
