"""Turn scores into tables for a reader: values with intervals, and how each was computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from sfumato.provenance import Provenance, Setting
from sfumato.reporting.draw import Made
from sfumato.reporting.text import Measures, interval, measure_of, number, seeds_text, signed
from sfumato.scores import Difference, Score

__all__ = ["How", "Table", "differences_shown", "score_matrix", "scores_shown"]

Across = Literal["arm", "network", "stratum", "against"]


@dataclass(frozen=True)
class How:
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
    how: How = field(default_factory=How)
    simulated: bool = False
    made: Made = "annotators"


def scores_shown(scores: Sequence[Score], measures: Measures, *, title: str = "Scores") -> Table:
    """A row a score, with interval, items and seeds."""
    rows = [
        {
            "arm": one.arm,
            "network": one.network,
            "metric": measure_of(measures, one.metric).title,
            "against": one.against,
            "stratum": one.stratum,
            "value": number(one.value),
            "95 % interval": interval(one.low, one.high),
            "over": one.interval,
            "items": number(one.items),
            "seeds": number(len(one.seeds)),
            "note": one.note,
        }
        for one in scores
    ]
    return _made(title, rows, scores, measures, _provenance(scores))


def differences_shown(
    differences: Sequence[Difference], measures: Measures, *, title: str = "Paired differences"
) -> Table:
    """A row a difference, with interval, the named test, items and seeds."""
    rows = [
        {
            "first - second": f"{one.first} - {one.second}",
            "network": one.network,
            "metric": measure_of(measures, one.metric).title,
            "against": one.against,
            "stratum": one.stratum,
            "difference": signed(one.value),
            "95 % interval": interval(one.low, one.high),
            "over": one.interval,
            "p": "" if one.p is None else f"{one.p:.2g}",
            "test": one.test,
            "items": number(one.items),
            "seeds": number(len(one.seeds)),
            "note": one.note,
        }
        for one in differences
    ]
    return _made(title, rows, differences, measures, ())


def score_matrix(
    scores: Sequence[Score],
    measures: Measures,
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
    heading = title or measure_of(measures, metric).axis.capitalize()
    return _made(heading, shown_rows, mine, measures, _provenance(mine), whole=True)


def _made(
    title: str,
    rows: list[dict[str, str]],
    behind: Sequence[Score] | Sequence[Difference],
    measures: Measures,
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
        f"{measure_of(measures, metric).axis}: {measure_of(measures, metric).meaning}".rstrip(": ")
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
        how=How(tuple(meaning), provenance),
        simulated=any(one.simulated for one in behind),
    )


def _basis(behind: Sequence[Score] | Sequence[Difference]) -> str:
    items = sorted({one.items for one in behind if one.items})
    seeds = {seed for one in behind for seed in one.seeds}
    over = sorted({one.interval for one in behind if one.interval})
    parts = []
    if items:
        most = f"{items[-1]:,}"
        parts.append(
            f"n = {most} items" if len(items) == 1 else f"n = {items[0]:,} to {most} items"
        )
    if seeds:
        parts.append(seeds_text(seeds))
    if over:
        parts.append(f"in brackets the 95 % interval over {' or '.join(over)}")
    return f"{'; '.join(parts)}." if parts else ""


def _provenance(scores: Sequence[Score]) -> Provenance:
    """Every step behind any of the scores, once, in the order of first appearance."""
    steps = []
    for one in scores:
        for step in one.provenance:
            if step not in steps:
                steps.append(step)
    return tuple(steps)
