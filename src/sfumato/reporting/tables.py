"""Turn scores into tables for a reader: values with intervals, and how each was computed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from sfumato.provenance import Provenance, Setting, Step, from_json
from sfumato.reporting.draw import Made
from sfumato.reporting.text import interval, number, over_text, seeds_text, signed_number
from sfumato.scores import Estimate, metric_words

Across = Literal["arm", "network", "stratum", "against"]


@dataclass(frozen=True)
class Origin:
    """How something was computed: what it means, the steps, the settings."""

    meaning: tuple[str, ...] = ()
    """Sentences, one a metric."""
    provenance: Provenance = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.meaning or self.provenance or self.settings)


@dataclass(frozen=True, eq=False)
class Table:
    """A table for the page; numbers are formatted when it is shown, text is shown as it is."""

    title: str
    table: pl.DataFrame
    caption: str = ""
    how: Origin = field(default_factory=Origin)
    simulated: bool = False
    made: Made = "annotators"


def scores_shown(scores: Sequence[Estimate], *, title: str = "Scores") -> Table:
    """One row per score, with interval, items and seeds."""
    rows = [
        {
            "arm": one.arm,
            "network": one.network,
            "metric": metric_words(one.metric).title,
            "against": one.against,
            "stratum": one.stratum,
            "value": number(one.value),
            "95 % interval": interval(one.low, one.high),
            "over": one.over,
            "items": number(one.items),
            "seeds": number(len(one.seeds)),
            "note": one.note,
        }
        for one in scores
    ]
    return _made(title, rows, scores, _provenance(scores))


def differences_shown(
    differences: Sequence[Estimate], *, title: str = "Paired differences"
) -> Table:
    """One row per difference, with interval, the named test, items and seeds."""
    rows = [
        {
            "first - second": f"{one.arm} - {one.second}",
            "network": one.network,
            "metric": metric_words(one.metric).title,
            "against": one.against,
            "stratum": one.stratum,
            "difference": signed_number(one.value),
            "95 % interval": interval(one.low, one.high),
            "over": one.over,
            "p": "" if one.p is None else f"{one.p:.2g}",
            "test": one.test,
            "items": number(one.items),
            "seeds": number(len(one.seeds)),
            "note": one.note,
        }
        for one in differences
    ]
    return _made(title, rows, differences, ())


def score_matrix(
    scores: Sequence[Estimate],
    *,
    metric: str,
    rows: Across = "network",
    columns: Across = "arm",
    title: str = "",
) -> Table:
    """One metric with a row a network and a column an arm, or as named (S0-T1, S4-T2).

    Where several scores fall into one cell they all stand in it: nothing is averaged here.
    """
    mine = [one for one in scores if one.metric == metric]
    across = list(dict.fromkeys(str(getattr(one, columns)) for one in mine))
    cells: dict[str, dict[str, list[str]]] = {}
    for one in mine:
        row = cells.setdefault(str(getattr(one, rows)), {})
        shown = f"{number(one.value)} {interval(one.low, one.high)}".rstrip()
        row.setdefault(str(getattr(one, columns)), []).append(shown)
    shown_rows = [
        {rows: name, **{f"{one}": "; ".join(row.get(one, ["–"])) for one in across}}
        for name, row in cells.items()
    ]
    heading = title or metric_words(metric).axis.capitalize()
    return _made(heading, shown_rows, mine, _provenance(mine), whole=True)


def _made(
    title: str,
    rows: list[dict[str, str]],
    behind: Sequence[Estimate],
    provenance: Provenance,
    *,
    whole: bool = False,
) -> Table:
    table = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()
    repeats = table.height > 1 and not whole  # a column that only repeats itself is said once
    same = [name for name in table.columns if repeats and table[name].n_unique() == 1]
    everywhere = "; ".join(f"{name} {table[name][0]}" for name in same if table[name][0])
    metrics = dict.fromkeys(one.metric for one in behind)
    meaning = [
        f"{metric_words(metric).axis}: {metric_words(metric).meaning}".rstrip(": ")
        for metric in metrics
    ]
    return Table(
        title,
        table.drop(same),
        caption=" ".join(
            part
            for part in (f"In all rows: {everywhere}." if everywhere else "", _basis(behind))
            if part
        ),
        how=Origin(tuple(meaning), provenance),
        simulated=any(one.simulated for one in behind),
    )


def _basis(behind: Sequence[Estimate]) -> str:
    items = sorted({one.items for one in behind if one.items})
    seeds = {seed for one in behind for seed in one.seeds}
    over = over_text(one.over for one in behind)
    parts = []
    if items:
        most = f"{items[-1]:,}"
        parts.append(
            f"n = {most} items" if len(items) == 1 else f"n = {items[0]:,} to {most} items"
        )
    if seeds:
        parts.append(seeds_text(seeds))
    if over:
        parts.append(f"in brackets the 95 % interval over {over}")
    return f"{'; '.join(parts)}." if parts else ""


def _provenance(scores: Sequence[Estimate]) -> Provenance:
    """Every step behind any of the scores, once, in the order of first appearance."""
    steps: list[Step] = []
    for source in dict.fromkeys(one.source for one in scores if one.source):
        told = json.loads(source)
        for step in from_json([*told.get("model", []), *told.get("labels", [])]):
            if step not in steps:
                steps.append(step)
    return tuple(steps)
