"""Draw what judges are worth: the curve of people, the judges on it, and the tables."""

from pathlib import Path

import polars as pl

from sfumato.labels.worth.result import NOBODY, Worth, worth_words
from sfumato.reporting.draw import (
    INK,
    Basis,
    Drawing,
    finish_drawing,
    legend,
    line,
    panels,
    styles,
)
from sfumato.reporting.page import (
    Bar,
    Block,
    Chart,
    Lead,
    Origin,
    Page,
    Section,
    Table,
    write,
)
from sfumato.reporting.text import Finding

IN_WORDS = """\
Somebody else is asked about the same item. How well can their answer be told beforehand? Knowing \
nothing about the item, badly; knowing what one other person said, better; knowing two, better \
still. Evidence is worth as many people as tell the next answer equally well. No answer is taken \
for the truth.

The log-loss is minus the logarithm of the probability that the answer was given, averaged: 0 is \
certain and right, and lower is better. All of it is measured on items and people that the models \
had not seen."""


def draw_worth(found: Worth) -> Drawing:
    """The loss on the next person by the number of people known, and the judges on that scale."""
    figure, (axes,) = panels(1, height=3.4)
    people = found.people.select("answers", pl.col("log_loss").alias("value"), "low", "high")
    judges = found.judges.filter(pl.col("worth").is_not_null())
    looks = styles([NOBODY, *judges["judge"]])
    line(axes, people, "answers", looks[NOBODY])
    for row in judges.iter_rows(named=True):
        look = looks[row["judge"]]
        high = float(found.scale) if row["high"] is None else row["high"]
        axes.hlines(row["log_loss"], row["low"], high, colors=look.colour, linewidth=1.0)
        axes.plot([row["worth"]], [row["log_loss"]], look.marker, color=look.colour, markersize=5)
    if found.floor is not None:
        axes.axhline(found.floor, color=INK, linewidth=0.9, linestyle="--")
    axes.set_xlabel("people whose answers are known")
    axes.set_ylabel("log-loss of the next person, nats (lower is better)")
    axes.set_xticks(range(found.scale + 1))
    legend(figure, looks)
    told = judges.select(
        "judge", pl.col("worth").alias("answers"), pl.col("log_loss").alias("value")
    )
    table = pl.concat(
        [people.with_columns(judge=pl.lit(NOBODY)), told], how="diagonal_relaxed"
    ).select("judge", "answers", "value", "low", "high")
    floor = (
        "" if found.floor is None else " Dashed: the floor, were everything about an item known."
    )
    caption = (
        "The line is people: how much is lost on the next one if so many others are known. Each "
        "judge stands where people lose as much; its bar is the interval of its worth, cut where "
        f"the scale ends.{floor}"
    )
    basis = Basis(found.notes["simulated"], items=found.notes["items"], interval=found.over)
    return finish_drawing(
        "worth", "How many people is it worth?", caption, figure=figure, table=table, basis=basis
    )


def worth_page(found: Worth) -> Page:
    """Findings, the curve, judges alone and with people, the usual numbers, items to ask about."""
    simulated = found.notes["simulated"]
    rows = found.judges.to_dicts()
    findings = [Finding(f"{row['judge']} is worth {worth_words(row)}.", "found") for row in rows]
    curve = found.people.rename({"answers": "answers known", "log_loss": "log-loss"})
    numbers = ["judge", "worth", "low", "high", "capped", "excess", "log_loss", "items"]
    alone = Table("Judges alone", _shown(found.judges.select(numbers)), simulated=simulated)
    usual = Table("What judges are otherwise told by", _spaced(found.usual), simulated=simulated)
    others = found.table.filter((pl.col("judge") != NOBODY) & (pl.col("stratum") == "all"))
    mixed = Table(
        "Judges with people and together", _shown(others.drop("stratum")), simulated=simulated
    )
    by_part = found.table.filter((pl.col("stratum") != "all") & (pl.col("judge") != NOBODY))
    blocks: list[Block] = [
        draw_worth(found),
        Table("The scale: people", curve, simulated=simulated),
    ]
    strata = (
        [Table("By stratum and group", _shown(by_part), simulated=simulated)]
        if len(by_part)
        else []
    )
    sections = [
        Section("What is measured", IN_WORDS),
        Section("The scale", "", tuple(blocks)),
        Section("Judges", "", (alone, mixed, *strata, usual)),
    ]
    if len(found.needs):
        text = "What asking one more person is expected to gain, given the judges, in nats."
        table = Table("First of the list", found.needs.head(20), simulated=simulated)
        sections.append(Section("Which items need a person", text, (table,)))
    how = Origin(meaning=(f"Predictors: {found.notes['predictors']}.",))
    return Page(
        "What is a judge worth?",
        _lead(found, how),
        f"{found.notes['items']:,} items, intervals over {found.over}",
        tuple(findings),
        sections=tuple(sections),
        how=how,
        alone=True,
    )


def _lead(found: Worth, how: Origin) -> Lead:
    """The judge that tells most, and all of them on one scale."""
    told = found.judges.filter(pl.col("worth").is_not_null()).sort("worth", descending=True)
    question = "How many people is a judge worth?"
    if not len(told):
        return Lead(question, "People do not predict one another here, so no judge has a worth.")
    rows = told.to_dicts()
    bars = tuple(
        Bar(
            row["judge"],
            row["worth"],
            row["low"],
            float(found.scale) if row["high"] is None else row["high"],
            strong=row is rows[0],
            text=worth_words(row),
        )
        for row in rows
    )
    chart = Chart(
        "Worth in people", bars, "How many other people's answers tell the next person's as well.",
        from_zero=True, most=float(found.scale),
    )  # fmt: skip
    basis = (
        f"{found.notes['items']:,} items; 95 % intervals over {found.over}.",
        f"The scale ends at {found.scale} people: what is beyond it is told as at least that many.",
    )
    answer = f"{rows[0]['judge']} is worth {worth_words(rows[0])}."
    return Lead(question, answer, chart, basis, tuple(found.remarks), how)


def _shown(table: pl.DataFrame) -> pl.DataFrame:
    """Worths with their intervals in words instead of four columns."""
    told = pl.Series("worth in people", [worth_words(row) for row in table.to_dicts()], pl.String)
    rest = table.drop("worth", "low", "high", "capped", "excess")
    return _spaced(rest.insert_column(1, told))


def _spaced(table: pl.DataFrame) -> pl.DataFrame:
    """Columns with the names that a reader sees."""
    return table.rename({name: name.replace("_", " ") for name in table.columns})


def report_worth(found: Worth, path: str | Path) -> Path:
    """Write the page; returns its path."""
    write(worth_page(found), Path(path))
    return Path(path)
