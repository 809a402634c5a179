"""Sections about people: labels from few votes, sets that cover answers, statements in clicks."""

import polars as pl

from sfumato.evaluation.coverage import MAJORITY
from sfumato.evaluation.coverage import PEOPLE as ANSWERS
from sfumato.labels.worth.result import worth_words
from sfumato.reporting.draw import Basis
from sfumato.reporting.figures.curves import against_annotators
from sfumato.reporting.page import Bar, Chart, Lead, Origin, Section, Table, meaning_of
from sfumato.reporting.text import with_ends
from sfumato.studies.data import RunFolder
from sfumato.studies.measures.people import (
    CLICK_SECONDS,
    READINGS,
    SHRUNK,
    WITH_MODEL,
)

SHOWN_VOTES = 3
"""Votes per item that the first screen tells of."""

DRAWN = (SHRUNK, "informed", WITH_MODEL, "habits", "dawid-skene-next")
"""Aggregators that are drawn: all others are too far away for one scale."""

VOTES_TEXT = """\
KL divergence of a label from the votes of the other half, in nats; lower is nearer. Aggregators \
that estimate which label is true are here too: what they give is no estimate of what people say, \
and the table shows by how much. Every label keeps a thousandth for all classes together."""

COVER_TEXT = """\
Of people's answers about held-out items, how many are in the set. Asked for: 90 %. The promise is \
for all items of a set together; where people disagree most, sets hold less."""

FORMS_CAVEATS = (
    "Clicks and statements come from different people, who were asked differently: clicks for "
    "what they see, statements for what 100 others would say.",
    "The target is clicks, which favours clicks; no one measured what statements are worth for "
    "private doubt, few experts or many classes.",
    f"A click is taken to last {CLICK_SECONDS:g} s, as was published; its times are not in the "
    "data at hand. The seconds of a statement are the median of the whole form.",
    "A better way to read clicks would make clicks stronger too: both are read by the same kind "
    "of model, as far as that goes.",
)


def votes_table(run: RunFolder) -> Section | None:
    """Every aggregator on every set, by the number of votes."""
    rows = run.estimates.filter(metric="kl").scores
    if "few_votes" not in run.study.measures or not len(rows):
        return None
    table = rows.table.select("part", "arm", "step", "value", "low", "high", "items")
    wide = table.pivot(on="step", index=["part", "arm"], values="value", sort_columns=False)
    wide = wide.rename({"part": "set", "arm": "aggregator"})
    drawn = table.filter(pl.col("arm").is_in(DRAWN)).rename({"part": "network", "step": "M"})
    figure = against_annotators(
        drawn.with_columns(metric=pl.lit("kl")),
        Basis(False, interval="items"),
        name="few-votes",
        title="What more votes buy",
    )
    caption = f"Nats, by the number of votes per item. {VOTES_TEXT}"
    return Section("Every aggregator", "", (figure, Table("KL divergence", wide, caption=caption)))


def coverage_table(run: RunFolder) -> Section | None:
    """Coverage, size and empty sets, calibrated on people and on majorities."""
    rows = run.estimates.filter(metric=["people_coverage", "set_size", "empty_sets"])
    table = rows.table.filter(pl.col("stratum") == "all")
    if not len(table):
        return None
    wide = table.pivot(on="metric", index=["part", "network", "arm", "items"], values="value")
    wide = wide.rename(
        {"part": "set", "network": "model", "arm": "calibrated on", "people_coverage": "covered",
         "set_size": "size", "empty_sets": "empty"}
    )  # fmt: skip
    strata = rows.filter(metric="people_coverage", arm=ANSWERS).table
    strata = strata.filter(pl.col("stratum") != "all").select(
        pl.col("part").alias("set"), pl.col("network").alias("model"), "stratum",
        pl.col("value").alias("covered"), "low", "high", "items",
    )  # fmt: skip
    blocks = (
        Table("Held-out answers", wide, caption=COVER_TEXT),
        Table("By stratum and by the size of the set", strata, caption="No promise holds here."),
    )
    return Section("What is covered", "", blocks)


def forms_table(run: RunFolder) -> Section | None:
    """Clicks and statements on one scale, in clicks and in seconds."""
    if "forms" not in run.tables:
        return None
    rows = [
        {
            "answers": f"{row['answers']} {row['form']}",
            "read": row["reading"] or "–",
            "log-loss": row["log_loss"],
            "worth in clicks": worth_words(row).replace("people", "clicks")
            if row["form"] == "statements"
            else "–",
            "seconds": row["seconds"],
            "seconds per click's worth": row["seconds_per_worth"],
        }
        for row in run.tables["forms"].to_dicts()
    ]
    caption = (
        "Log-loss of the next click. As stated: the mean of the statements. Recalibrated: read as "
        "other statements of the same people teach, without any click. Read as clicks teach: by "
        "the model that clicks are read by, fitted to clicks about other images."
    )
    table = Table("Clicks and statements", pl.DataFrame(rows), caption=caption)
    return Section("On one scale", " ".join(FORMS_CAVEATS), (table,))


# The first screen of each.


def votes_lead(run: RunFolder) -> Lead | None:
    """How much nearer the best default comes than shares, at three votes."""
    shown = run.estimates.filter(metric="kl", step=SHOWN_VOTES)
    rows = {(row.part, row.arm): row for row in shown.scores}
    sets = list(dict.fromkeys(part for part, _ in rows))
    mine = [part for part in sets if (part, WITH_MODEL) in rows]
    if not mine:
        return None
    apart = [row for row in shown.differences if row.arm == WITH_MODEL and row.second == SHRUNK]
    less = [1 - rows[part, WITH_MODEL].value / rows[part, SHRUNK].value for part in mine]
    arms = (SHRUNK, "informed", WITH_MODEL)
    bars = [
        Bar(arm, rows[part, arm].value, rows[part, arm].low, rows[part, arm].high, part,
            arm == WITH_MODEL)
        for part in sets for arm in arms if (part, arm) in rows
    ]  # fmt: skip
    worse = [
        f"On {row.part}, ‘informed’ without a model is farther than shrunk shares: "
        f"{with_ends(row)}."
        for row in shown.differences
        if row.arm == "informed" and row.second == SHRUNK and (row.low or 0) > 0
    ]
    truth = [rows[part, "dawid-skene"].value / rows[part, SHRUNK].value
             for part in sets if (part, "dawid-skene") in rows]  # fmt: skip
    if truth:
        worse.append(
            f"Beliefs about one true label (Dawid–Skene) are {min(truth):.0f} to {max(truth):.0f} "
            "times as far from people as shrunk shares: they answer another question."
        )
    return Lead(
        run.study.title,
        f"With {SHOWN_VOTES} votes per item and a model's beliefs, ‘informed’ labels are "
        f"{100 * min(less):.0f} to {100 * max(less):.0f} % nearer to what other people say than "
        f"shrunk shares, on all {len(mine)} sets that have a model.",
        Chart(f"KL divergence from the other half of the votes, {SHOWN_VOTES} votes, in nats",
              tuple(bars), "Lower is nearer. Lines are 95 % intervals over items.",
              from_zero=True),
        (f"{sum(rows[part, SHRUNK].items for part in sets):,} items of {len(sets)} sets, "
         f"{run.study.seeds} draws; the votes that labels are held against were not seen.",
         *(f"{row.part}: {with_ends(row)} against shrunk shares." for row in apart)),
        tuple(worse),
        Origin(meaning_of(apart)),
        tuple(apart),
    )  # fmt: skip


def cover_lead(run: RunFolder) -> Lead | None:
    """What sets hold that were calibrated on people, and on majorities."""
    shown = run.estimates.filter(metric="people_coverage", stratum="all")
    people, majority = (list(shown.filter(arm=arm)) for arm in (ANSWERS, MAJORITY))
    if not people:
        return None
    hold = [row.value for row in people]
    short = [row.value for row in majority]
    bars = [
        Bar(row.arm, row.value, row.low, row.high, f"{row.part}, {row.network}", row.arm == ANSWERS,
            _share(row.value))
        for pair in zip(people, majority, strict=True) for row in pair
    ]  # fmt: skip
    strata = run.estimates.filter(metric="people_coverage", arm=ANSWERS)
    worst = min((row for row in strata if row.stratum != "all" and "sets of" not in row.stratum),
                key=lambda row: row.value)  # fmt: skip
    return Lead(
        run.study.title,
        f"Calibrated on people's answers, sets hold {_share(min(hold))} to {_share(max(hold))} "
        f"of them where 90 % were asked for; calibrated on majority labels {_share(min(short))} "
        f"to {_share(max(short))}.",
        Chart("People's answers inside the set", tuple(bars),
              "Asked for: 90 %. Lines are 95 % intervals over items.", most=1.0),
        (f"{len(people)} models on {len({row.part for row in people})} sets; each half of the "
         "items has the threshold of the other, 200 halvings.",),
        (f"The promise is for all items together: on {worst.part} ({worst.network}), "
         f"‘{worst.stratum}’, the same sets hold {_share(worst.value)}.",),
        Origin(meaning_of(people[:1])),
        tuple(people + majority),
    )  # fmt: skip


def forms_lead(run: RunFolder) -> Lead | None:
    """One statement in clicks, raw and recalibrated, and what it takes."""
    worths = {row.arm: row for row in run.estimates.filter(metric="worth")}
    prices = {row.arm: row for row in run.estimates.filter(metric="seconds_per_worth")}
    one = [f"1 statement, {reading}" for reading in READINGS]
    if not set(one) <= set(worths):
        return None
    raw, read, taught = (worths[arm] for arm in one)
    many = [arm for arm in worths if arm.endswith(READINGS[1])][-1]
    bars = [
        Bar(f"{row.arm.partition(',')[0]}", row.value, row.low, row.high,
            row.arm.partition(", ")[2], row.arm == read.arm)
        for reading in READINGS for row in worths.values() if row.arm.endswith(reading)
    ]  # fmt: skip
    return Lead(
        run.study.title,
        f"One statement is worth {raw.value:.1f} clicks as it is stated and {read.value:.1f} once "
        f"recalibrated, but takes {prices[read.arm].value:.0f} s per click's worth, where a click "
        f"takes {CLICK_SECONDS:g} s.",
        Chart("Worth in clicks", tuple(bars), "Lines are 95 % intervals over items.", True),
        (f"{with_ends(read)} recalibrated from statements alone; {with_ends(taught)} read as "
         f"clicks teach. {many.partition(',')[0]} are worth {with_ends(worths[many])} clicks.",
         f"{read.items:,} images."),
        FORMS_CAVEATS,
        Origin(meaning_of([read, prices[read.arm]])),
        (raw, read, taught),
    )  # fmt: skip


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"
