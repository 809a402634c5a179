"""Draw what judges are worth: the curve of people, the judges on it, and the tables."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.labels.worth.result import (
    BEST,
    NO_SCALE,
    NOBODY,
    PREDICTORS,
    TOGETHER,
    Worth,
    people_words,
    worth_words,
)
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
from sfumato.reporting.text import Finding, count

QUESTION = "How many people is a judge worth?"
CAPTION = "Worth: how many other people's answers tell as much about the next person's answer."

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
    return Page(
        QUESTION,
        _lead(found),
        findings=tuple(_findings(found)),
        sections=tuple(sections),
        alone=True,
    )


def _lead(found: Worth) -> Lead:
    """The judge that is worth most, and all of them as bars."""
    known = found.judges.filter(pl.col("worth").is_not_null()).sort("log_loss")
    basis = f"{found.notes['items']:,} items; 95 % intervals over {found.over}."
    if not len(known):
        told = NO_SCALE if len(found.judges) else "no judge was given; the scale of people is below"
        return Lead(QUESTION, f"{told.capitalize()}.", basis=(basis,), against=found.remarks)
    best = known.row(0, named=True)
    scale = float(found.scale)
    bars = [
        worth_bar(row["judge"], row, scale, strong=row["judge"] == best["judge"])
        for row in known.iter_rows(named=True)
    ]
    chart = Chart("Worth in people", tuple(bars), CAPTION, from_zero=True, most=scale)
    of = f", the most of {len(known)} judges" if len(known) > 1 else ""
    sure = f"{best['judge']}: {worth_words(best)}, 95 % interval over {found.over}."
    end = f"The scale ends at {found.scale} people: beyond it nothing can be told apart."
    return Lead(
        QUESTION,
        f"{best['judge']} is worth {people_words(best)}{of}.",
        chart,
        (sure, f"{count(found.notes['items'], 'item')}. {end}"),
        (*_speaks_against(best), *found.remarks),
        how_worth(),
        rows=tuple(found.estimates.filter(metric="worth", stratum="all", arm=list(known["judge"]))),
    )


def worth_bar(label: str, row: Mapping[str, Any], scale: float, *, strong: bool = False) -> Bar:
    """One worth with its interval, which ends where the scale does."""
    text = f"≥ {row['worth']:g}" if row["capped"] else f"{row['worth']:.2f}"
    high = scale if row["high"] is None else row["high"]
    return Bar(label, row["worth"], row["low"], high, strong=strong, text=text)


def how_worth() -> Origin:
    """How a worth is computed, in words."""
    path = ("worth in people", "log-loss on answers that were held out", "people's answers")
    return Origin((*IN_WORDS.split("\n\n"), f"Predictors: {PREDICTORS}."), path=path)


def _findings(found: Worth) -> Iterator[Finding]:
    """What the best judge adds, which judge is worth little, and what people tell."""
    known = found.judges.filter(pl.col("worth").is_not_null()).sort("log_loss")
    whole = found.table.filter(pl.col("stratum") == "all", pl.col("worth").is_not_null())
    for row in known[:1].iter_rows(named=True):
        yield from _adding(row, whole)
    for row in known.filter(pl.col("high") < 1).iter_rows(named=True):
        text = f"{row['judge']} is worth less than one person: {people_words(row)}."
        yield Finding(text, "found", f"{worth_words(row)}.", "worse")
        break
    losses = found.people.sort("answers")["log_loss"].to_list()
    if len(losses) > 1:
        more = f", a second one to {losses[2]:.2f}" if len(losses) > 2 else ""
        yield Finding(
            f"One person's answer lowers what is lost on the next from {losses[0]:.2f} to "
            f"{losses[1]:.2f} nats{more}.",
            "found",
            f"Log-loss by answers known: {', '.join(f'{loss:.3f}' for loss in losses)}.",
        )
    for row in found.needs[:1].iter_rows(named=True):
        yield Finding(
            f"A person is needed most on {row['item']}: one answer more gains "
            f"{row['gain']:.2f} nats there.",
            "found",
            f"The median item gains {np.median(found.needs['gain'].to_numpy()):.2f} nats.",
        )


def _adding(best: Mapping[str, Any], whole: pl.DataFrame) -> Iterator[Finding]:
    """What the best judge gives beside one person, and what the other judges add to it."""
    for row in whole.filter(judge=best["judge"], people=1).iter_rows(named=True):
        text = f"{best['judge']} and one person together are worth {people_words(row)}."
        yield Finding(text, "found", f"{worth_words(row)}.", "better")
    together = whole.filter(judge=TOGETHER, people=0)
    alone = whole.filter(judge=BEST, people=0)
    for row, one in zip(together.to_dicts(), alone.to_dicts(), strict=False):
        more = row["worth"] - one["worth"]
        text = f"All judges together are worth {people_words(row)}, "
        text += f"{more:.1f} more than the best." if more >= 0.05 else "no more than the best."
        yield Finding(text, "found", f"{worth_words(row)}; the best {worth_words(one)}.")


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
