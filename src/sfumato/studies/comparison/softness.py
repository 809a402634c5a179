"""Figures of label sets: what was learnt against what is tested, and how soft it is best."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sfumato.reporting.draw import Drawing
from sfumato.reporting.figures import curves, trade_off
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Section
from sfumato.reporting.tables import Table
from sfumato.reporting.text import Measures, interval, number
from sfumato.scores import Score, scores_table

__all__ = ["crossed_rows", "softness_section"]

SHOWN = ("cross_entropy", "accuracy")


def softness_section(
    study: Mapping[str, Any],
    scores: Sequence[Score],
    tables: Mapping[str, pl.DataFrame],
    measures: Measures,
) -> Section:
    """Learnt by tested labels (S1-43, S1-F5, S1-F9), and entropies of both (S1-F7)."""
    crossed = study.get("crossed", ())
    shown = [one for one in scores if one.stratum == "all" and one.metric in SHOWN]
    if not crossed or not shown:
        return Section("Learnt and tested")
    blocks: list[Block] = [
        Table(
            f"{measures[metric].title.capitalize()}: learnt in rows, tested in columns",
            crossed_rows(shown, metric),
            caption="Means over seeds with 95 % intervals (Student's t).",
            simulated=any(one.simulated for one in shown),
        )
        for metric in SHOWN
    ]
    blocks += [_against_entropy(shown, metric, crossed, tables, measures) for metric in SHOWN]
    if "entropies" in tables:
        basis = score_figures.basis_of(scores_table(shown))
        drawn = tables["entropies"].select(
            pl.format("{}, {}: {}", "arm", "network", "source").alias("source"), "entropy"
        )
        title = "Is a model as undecided as its labels?"
        blocks.append(curves.entropy_histograms(drawn, basis, name="entropies", title=title))
    text = (
        "Every label set is learnt, and every one is tested against on images that were not "
        "learnt. Mean entropies of what was learnt, in nats: "
        f"{', '.join(f'{arm} {number(value)}' for arm, value in _softness(tables).items())}."
    )
    return Section("Learnt and tested", text, tuple(blocks))


def crossed_rows(scores: Sequence[Score], metric: str) -> pl.DataFrame:
    """A row an arm and network, a column a set of labels held against."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one in scores:
        if one.metric == metric and one.stratum == "all":
            shown = f"{number(one.value)} {interval(one.low, one.high)}".rstrip()
            rows.setdefault((one.arm, one.network), {})[one.against] = shown
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    return pl.DataFrame(
        [
            {"learnt": arm, "network": network, **{name: row.get(name, "") for name in columns}}
            for (arm, network), row in rows.items()
        ]
    )


def _against_entropy(
    scores: Sequence[Score],
    metric: str,
    crossed: Sequence[str],
    tables: Mapping[str, pl.DataFrame],
    measures: Measures,
) -> Drawing:
    """A panel a test, a curve a network through the label sets by their entropy; controls have
    none and are left out."""
    soft = _softness(tables)
    mine = [one for one in scores if one.metric == metric and one.arm in crossed]
    rows = [
        {
            "panel": f"against {one.against}",
            "series": one.network,
            "x": soft[one.arm],
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "ring": one.arm == _best(mine, one, measures),
        }
        for one in sorted(mine, key=lambda one: soft[one.arm])
    ]
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    return trade_off(
        table,
        score_figures.basis_of(scores_table(mine)),
        xlabel="entropy of labels learnt (nats)",
        ylabel=measures[metric].title,
        name=f"softness-{metric.replace('_', '-')}",
        title=f"How soft should labels be? {measures[metric].title.capitalize()}",
        ringed="the best label set",
        columns=3,
    )


def _softness(tables: Mapping[str, pl.DataFrame]) -> dict[str, float]:
    labels = tables["labels"]
    return dict(zip(labels["arm"], labels["mean_entropy"], strict=True))


def _best(scores: Sequence[Score], like: Score, measures: Measures) -> str:
    """The best arm of the same network and test."""
    sign = 1.0 if measures[like.metric].better == "lower" else -1.0
    rivals = [one for one in scores if (one.network, one.against) == (like.network, like.against)]
    return min(rivals, key=lambda one: sign * one.value).arm
