"""Sections about judges: how many people each is worth, on which scale, and what kappa says."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from sfumato.labels.worth.result import BEST, NOBODY, TOGETHER, people_words, worth_words
from sfumato.reporting.page import Bar, Chart, Lead, Section, Table
from sfumato.reporting.text import Finding, Way, count, over_text
from sfumato.reporting.worth import CAPTION, how_worth, worth_bar
from sfumato.studies.data import RunFolder

SCALE_TEXT = """\
What is lost on the next person's answer, in nats, if so many other people's answers about the \
item are known. Where one more person tells little, the steps are small and worths are unsure."""

KAPPA_TEXT = """\
Accuracy and kappa take people's most frequent answer for the truth. They rank judges on one set \
well enough; between sets they are no worth: where people hardly agree, no judge can have a high \
kappa, and one that tells as much as two people may be refused for it."""


def first_screen(run: RunFolder) -> tuple[Lead, list[Finding], str]:
    """How many judges are worth less than a person, the best on every set, and what that means."""
    told = run.tables["worths"].filter(pl.col("stratum") == "all", pl.col("worth").is_not_null())
    told = told.filter(pl.col("judge") != NOBODY)
    alone = told.filter(pl.col("people") == 0, ~pl.col("judge").is_in([BEST, TOGETHER]))
    less, more = alone.filter(pl.col("high") < 1), alone.filter(pl.col("low") > 1)
    sets = alone["set"].n_unique()
    answer = (
        f"Of {count(len(alone), 'judge')} on {count(sets, 'dataset')}, {len(less)} are worth less "
        f"than one person, {len(more)} more, and of the rest it is open."
    )
    open_ = len(alone) - len(less) - len(more)
    counted = {"less than one person": len(less), "open": open_, "more than one": len(more)}
    bars = tuple(
        Bar(name, amount, text=f"{amount}", strong=name != "open")
        for name, amount in counted.items()
    )
    chart = Chart("How many judges are worth", bars, CAPTION, from_zero=True)
    capped = alone.filter(pl.col("capped"))
    basis = (
        f"{count(int(alone.unique('set')['items'].sum()), 'item')} that people and judges answered "
        f"about; 95 % intervals over {over_text(alone['over'])}.",
        "More or less than one person: the whole interval is above or below one.",
    )
    against = (
        f"Of {count(len(capped), 'judge')} only a least worth is known: the scale of the set ends "
        "before.",
        "The best judge of a set was chosen on the items it is shown on, which flatters it.",
        "It is a worth for these people and items; others may agree more or less.",
        *run.info["missing"],
    )
    lead = Lead(run.study.title, answer, chart, basis, against, how_worth())
    return lead, list(_findings(told, _best(alone))), ""


def _best(alone: pl.DataFrame) -> pl.DataFrame:
    """The judge of every set that loses least, those that are worth most first."""
    best = alone.sort("log_loss").group_by("set", maintain_order=True).first()
    return best.sort("worth", descending=True)


def _best_chart(alone: pl.DataFrame) -> Chart:
    best = _best(alone.filter(pl.col("worth").is_not_null()))
    end = max([*best["worth"], *best["high"].drop_nulls()])
    bars = tuple(
        worth_bar(f"{row['set']}: {row['judge']}", row, end, strong=row["low"] > 1)
        for row in best.iter_rows(named=True)
    )
    caption = f"{CAPTION} Strong: more than one person, by the 95 % interval."
    return Chart("The best judge of every set, worth in people", bars, caption, from_zero=True)


def _findings(told: pl.DataFrame, best: pl.DataFrame) -> Iterator[Finding]:
    """The best and the worst of the best judges, and what people and other judges add."""
    for row in (best.row(0, named=True), best.row(-1, named=True)):
        text = f"On {row['set']} the best judge, {row['judge']}, is worth {people_words(row)}."
        way: Way = "better" if row["low"] > 1 else "worse" if (row["high"] or 1) < 1 else ""
        yield Finding(text, "found", f"{worth_words(row)}.", way)
    for judge, people, words in (
        (BEST, 1, "One person beside the best judge adds {:.1f} people in the median of {}."),
        (
            TOGETHER,
            0,
            "All judges together are worth {:.1f} people more than the best, median of {}.",
        ),
    ):
        mine = told.filter(judge=judge, people=people, capped=False).select("set", "worth")
        other = told.filter(judge=BEST, people=0, capped=False).select("set", alone="worth")
        both = mine.join(other, on="set")
        more = (both["worth"] - both["alone"]).to_numpy()
        if len(more):
            span = f"{more.min():.2f} to {more.max():.2f} people."
            text = words.format(float(np.median(more)), count(len(more), "set"))
            yield Finding(text, "found", span)


def worths(run: RunFolder) -> Section | None:
    """Judges alone, beside one person, and all together."""
    if "worths" not in run.tables:
        return None
    table = run.tables["worths"].filter(pl.col("judge") != NOBODY, pl.col("people") < 2)
    rows = [
        {
            "set": row["set"],
            "judge": row["judge"],
            "alone": _words(row),
            "log-loss": row["log_loss"],
            "with one person": _words(beside),
            "log-loss with one person": beside["log_loss"],
        }
        for row in table.filter(pl.col("people") == 0).to_dicts()
        for beside in table.filter(
            (pl.col("people") == 1)
            & (pl.col("set") == row["set"])
            & (pl.col("judge") == row["judge"])
        ).to_dicts()
    ]
    caption = (
        f"Worth in people with 95 % intervals. {BEST.capitalize()}: the one that is best on the "
        f"training items of each fold; {TOGETHER}: evidence of all at once."
    )
    alone = table.filter(
        pl.col("people") == 0, pl.col("stratum") == "all", ~pl.col("judge").is_in([BEST, TOGETHER])
    )
    blocks = (_best_chart(alone), Table("Judges", pl.DataFrame(rows), caption=caption))
    return Section("What is each judge worth?", "", blocks)


def scales(run: RunFolder) -> Section | None:
    """What people tell about each other on each set."""
    if "scales" not in run.tables:
        return None
    wide = run.tables["scales"].pivot(on="answers", index=["set", "over"], values="log_loss")
    return Section("The scales", SCALE_TEXT, (Table("Log-loss by answers known", wide),))


def kappa_and_worth(run: RunFolder) -> Section | None:
    """The usual numbers beside the worth."""
    if "usual" not in run.tables:
        return None
    alone = run.tables["worths"].filter(pl.col("people") == 0)
    told = pl.Series("worth in people", [_words(row) for row in alone.to_dicts()], pl.String)
    named = alone.select("set", "judge").with_columns(told)
    table = run.tables["usual"].drop("over").join(named, on=["set", "judge"], how="left")
    return Section("What kappa says", KAPPA_TEXT, (Table("The usual numbers", table),))


def _words(row: dict[str, object]) -> str:
    return worth_words(row)
