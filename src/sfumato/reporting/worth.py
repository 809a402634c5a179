"""Draw what judges are worth: the curve of people, the judges on it, and the tables."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.labels.worth.result import NO_SCALE, NOBODY, Worth, worth_words
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
from sfumato.reporting.page import Bar, Chart, Lead, Origin, Page, Section, Table, write

QUESTION = "How many people is a judge worth?"

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
    """The answer, the curve, judges alone and with people, the usual numbers, items to ask."""
    simulated = found.notes["simulated"]

    def table(title: str, rows: pl.DataFrame) -> Table:
        return Table(title, rows, simulated=simulated)

    curve = found.people.rename({"answers": "answers known", "log_loss": "log-loss"})
    numbers = ["judge", "worth", "low", "high", "capped", "excess", "log_loss", "items"]
    others = found.table.filter((pl.col("judge") != NOBODY) & (pl.col("stratum") == "all"))
    by_part = found.table.filter((pl.col("stratum") != "all") & (pl.col("judge") != NOBODY))
    sections = [
        Section("The scale", IN_WORDS, (draw_worth(found), table("The scale: people", curve))),
        Section(
            "Judges",
            "",
            (
                table("Judges alone", _shown(found.judges.select(numbers))),
                table("Judges with people and together", _shown(others.drop("stratum"))),
                *([table("By stratum and group", _shown(by_part))] if len(by_part) else []),
                table("What judges are otherwise told by", _spaced(found.usual)),
            ),
        ),
    ]
    if len(found.needs):
        text = "What asking one more person is expected to gain, given the judges, in nats."
        ranked = table("First of the list", found.needs.head(20))
        sections.append(Section("Which items need a person", text, (ranked,)))
    how = Origin(meaning=(f"Predictors: {found.notes['predictors']}.",))
    return Page(
        "What is a judge worth?", _lead(found), sections=tuple(sections), how=how, alone=True
    )


def _lead(found: Worth) -> Lead:
    """The judge that is worth most, and all of them as bars."""
    known = found.judges.filter(pl.col("worth").is_not_null()).sort("log_loss")
    basis = f"{found.notes['items']:,} items; 95 % intervals over {found.over}."
    if not len(known):
        told = NO_SCALE if len(found.judges) else "no judge was given; the scale of people is below"
        return Lead(QUESTION, f"{told.capitalize()}.", basis=(basis,), against=found.remarks)
    best = known.row(0, named=True)
    bars = [
        Bar(
            row["judge"], row["worth"], row["low"], row["high"] or float(found.scale),
            strong=row["judge"] == best["judge"],
            text=f"≥ {row['worth']:g}" if row["capped"] else f"{row['worth']:.2f}",
        )
        for row in known.iter_rows(named=True)
    ]  # fmt: skip
    caption = "How many other people's answers tell you as much about the next person's answer."
    scale = float(found.scale)
    chart = Chart("Worth in people", tuple(bars), caption, from_zero=True, most=scale)
    return Lead(
        QUESTION,
        f"{best['judge']} is worth {worth_words(best)}.",
        chart,
        (basis, f"The scale ends at {found.scale} people: beyond it nothing can be told apart."),
        (*_speaks_against(best), *found.remarks),
        rows=tuple(found.estimates.filter(metric="worth", stratum="all", arm=list(known["judge"]))),
    )


def _speaks_against(best: Mapping[str, Any]) -> Iterator[str]:
    """What a reader should know before the number is quoted."""
    if best["low"] < 1 <= best["worth"]:
        yield f"It may be worth less than one person: the interval begins at {best['low']:.2f}."
    yield "It is a worth for these people and items; others may agree more or less."


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
