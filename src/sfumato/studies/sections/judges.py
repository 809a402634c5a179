"""Sections about judges: how many people each is worth, on which scale, and what kappa says."""

import polars as pl

from sfumato.labels.worth.result import BEST, NOBODY, TOGETHER, worth_words
from sfumato.reporting.page import Section, Table
from sfumato.studies.data import RunFolder

SCALE_TEXT = """\
What is lost on the next person's answer, in nats, if so many other people's answers about the \
item are known. Where one more person tells little, the steps are small and worths are unsure."""

KAPPA_TEXT = """\
Accuracy and kappa take people's most frequent answer for the truth. They rank judges on one set \
well enough; between sets they are no worth: where people hardly agree, no judge can have a high \
kappa, and one that tells as much as two people may be refused for it."""


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
    return Section(
        "What is each judge worth?", "", (Table("Judges", pl.DataFrame(rows), caption=caption),)
    )


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
