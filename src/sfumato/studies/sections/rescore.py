"""The section about networks that were trained elsewhere: which is closest to people."""

import polars as pl

from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Section, Table
from sfumato.reporting.text import interval, number
from sfumato.scores import Estimates, metric_words
from sfumato.studies.data import ORIGINAL, PEOPLE
from sfumato.studies.folder import RunFolder
from sfumato.studies.measures.rescore import ORACLE
from sfumato.studies.sections.trained import clean, reference_lines

COLUMNS = (
    ("cross_entropy", PEOPLE),
    ("cross_entropy", ORIGINAL),
    ("accuracy", ORIGINAL),
    ("second_best_accuracy", PEOPLE),
    ("second_best_accuracy_all", PEOPLE),
    ("confidence_right", PEOPLE),
    ("confidence_wrong", PEOPLE),
)
"""What the table shows of each network, and against whose labels."""


def leaderboard(run: RunFolder) -> Section | None:
    """Networks by their closeness to people, with the lines that it is read against (C20)."""
    stored = clean(run.estimates.scores)
    stored = Estimates(stored.table.filter(pl.col("network") == "", pl.col("arm") != ""))
    close = stored.filter(metric="cross_entropy", against=PEOPLE)
    if ORACLE not in set(close.table["arm"]):
        return None
    ranked = pl.concat([close.table, stored.filter(metric="accuracy", against=ORIGINAL).table])
    drawn = score_figures.leaderboard(
        ranked.filter(pl.col("arm") != ORACLE), references=reference_lines(run, PEOPLE)
    )
    table = Table(
        "Networks, next to the paper's numbers",
        networks_table(run, stored),
        caption="In brackets 95 % intervals over images: each network was trained once.",
    )
    return Section("Which network is closest to people?", _lines_text(run), (drawn, table))


def _lines_text(run: RunFolder) -> str:
    floor, oracle = (
        next(iter(run.estimates.filter(metric=metric, against=PEOPLE, stratum="all"))).value
        for metric in ("entropy_floor", "class_oracle")
    )
    text = (
        f"Cross-entropy to people cannot be below {floor:.4f}; knowing each image's class and "
        f"nothing else reaches {oracle:.4f}."
    )
    for one in run.estimates.filter(metric="modes_differ", stratum="all"):
        text += (
            f" People's most frequent answer is not the original label on {one.value:,.0f} of "
            f"{one.items:,} images."
        )
    return text


def networks_table(run: RunFolder, stored: Estimates) -> pl.DataFrame:
    """One row per network, one column per number; the paper's number behind ours."""
    printed = {(row["arm"], row["metric"], row["against"]): row["printed"] for row in run.printed}
    known = {(one.arm, one.metric, one.against): one for one in stored}
    rows = []
    for arm in stored.table["arm"].unique(maintain_order=True):
        row = {"network": arm}
        for metric, against in COLUMNS:
            one = known.get((arm, metric, against))
            ours = "–" if one is None else f"{number(one.value)} {interval(one.low, one.high)}"
            paper = printed.get((arm, metric, against))
            title = f"{metric_words(metric).title}, {against}"
            row[title] = f"{ours.strip()} | paper {paper}" if paper else ours.strip()
        rows.append(row)
    return pl.DataFrame(rows)
