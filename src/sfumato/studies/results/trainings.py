"""What a study of trained and audited networks tells its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.evaluation.metrics import METRICS
from sfumato.reporting.text import interval, number, signed
from sfumato.scores import Difference, Score
from sfumato.studies.analysis import Findings
from sfumato.studies.claims import Compared, compare_claims
from sfumato.studies.files import read_settings
from sfumato.studies.folder import read_findings
from sfumato.studies.page import OF_PAPER_5
from sfumato.studies.results.result import ClaimTold, Part
from sfumato.studies.results.told import Told, estimates, found_text, score_rows, with_ends

__all__ = ["told_by_trainings"]

FIGURES = ("scores", "differences", "strata", "reliability")

SHOWN = ("cross_entropy", "kl", "brier", "accuracy")
KEPT = (*SHOWN, "rms_calibration", "second_best_accuracy", "entropy_floor", "class_oracle")
STRATA = {
    "disputed": "Items that people disagree about",
    "unanimous": "Items that people agree about",
}
REGIONS = ("easy", "ambiguous", "hard")


def told_by_trainings(folder: Path) -> Told:
    """Scores against people, by stratum and mode, data maps, alignment, attacks; paper 5's claims
    where the study follows its protocol."""
    study, findings = read_settings(folder)["study"], read_findings(folder)
    claims: tuple[ClaimTold, ...] = ()
    if study["data"] in OF_PAPER_5:
        claims = tuple(map(_claim, compare_claims(findings, rng=np.random.default_rng(0))))
    strata = ("all", *STRATA)
    scores = [one for one in findings.scores if one.metric in KEPT and one.stratum in strata]
    parts = [
        _compared_part(study, findings),
        _close(findings),
        *(_stratum(findings, name, title) for name, title in STRATA.items()),
        _modes(findings),
        _maps(findings),
        _alignment(findings),
        _spoilt(findings),
    ]
    shown = tuple(part for part in parts if part.tables)
    return Told(claims, score_rows(scores), shown, FIGURES)


def _claim(one: Compared) -> ClaimTold:
    return ClaimTold(
        "paper 5",
        one.claim.source,
        one.claim.says,
        one.claim.paper,
        found_text(one.found) or one.claim.note,
        one.verdict,
        one.claim.note,
        estimates(one.found),
    )


def _compared_part(study: Mapping[str, Any], findings: Findings) -> Part:
    split = " / ".join(f"{share:.0%}" for share in study["split"])
    text = (
        f"Arms: {', '.join(study['arms'])}. Networks: {', '.join(study['networks'])}, "
        f"{study['seeds']} seeds each, {study['training']['epochs']} epochs at most; {split} of "
        "the items for training, choosing and reporting."
    )
    labels = findings.tables["labels"].select(
        "arm",
        pl.col("mean_entropy").map_elements(number, pl.String).alias("mean entropy (nats)"),
        pl.col("distance_to_people").map_elements(number, pl.String).alias("distance to people"),
        pl.col("mode_is_original").map_elements(number, pl.String).alias("mode is original label"),
    )
    tables = [labels]
    if "failed" in findings.tables:
        tables.append(findings.tables["failed"])
    return Part("What was compared", text, tuple(tables))


def _close(findings: Findings) -> Part:
    lines = [
        f"{METRICS[one.metric].title if one.metric in METRICS else one.metric.replace('_', ' ')} "
        f"{number(one.value)}"
        for one in {
            one.metric: one
            for one in findings.scores
            if one.metric in ("entropy_floor", "class_oracle") and one.stratum == "all"
        }.values()
    ]
    text = "Intervals are over seeds and items; accuracy is on the class that most people chose."
    if lines:
        text += f" For comparison: {', '.join(lines)}."
    return Part(
        "How close to people, by what was learnt from",
        text,
        (_score_table(findings.scores, "all"), _difference_table(findings.differences)),
    )


def _stratum(findings: Findings, name: str, title: str) -> Part:
    mine = [one for one in findings.scores if one.stratum == name]
    if not mine:
        return Part(title)
    return Part(
        title, f"{mine[0].items:,} items of the test part.", (_score_table(findings.scores, name),)
    )


def _score_table(scores: Sequence[Score], stratum: str) -> pl.DataFrame:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one in scores:
        if (one.stratum, one.against) == (stratum, "people") and one.metric in SHOWN and one.arm:
            row = rows.setdefault((one.network, one.arm), {})
            row[METRICS[one.metric].title] = with_ends(vars(one))
    return pl.DataFrame(
        [{"network": network, "arm": arm, **row} for (network, arm), row in rows.items()]
    )


def _difference_table(differences: Sequence[Difference]) -> pl.DataFrame:
    """Paired differences in cross-entropy and accuracy, a row a pair of arms."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one in differences:
        metrics = ("cross_entropy", "accuracy")
        if (one.stratum, one.against) == ("all", "people") and one.metric in metrics:
            row = rows.setdefault((one.network, f"{one.first} - {one.second}"), {})
            row[METRICS[one.metric].title] = (
                f"{signed(one.value)} {interval(one.low, one.high)}".rstrip()
            )
    return pl.DataFrame(
        [{"network": network, "difference": pair, **row} for (network, pair), row in rows.items()]
    )


def _modes(findings: Findings) -> Part:
    title = "Softness or a shifted mode?"
    if "modes" not in findings.tables:
        return Part(title)
    facts, modes = findings.facts, findings.tables["modes"]
    text = (
        f"People's mode is the original label on {float(str(facts['mode_agreement'])):.2%} of "
        f"{int(str(facts['items'])):,} items. Every model on the original labels, on people's "
        "majority vote and on their distribution:"
    )
    tables = tuple(
        _pivoted(
            modes.filter(metric=metric).with_columns(
                pl.format(f"{METRICS[metric].title} on {{}}", "tested_on").alias("on")
            ),
            ("network", "trained_on"),
            "on",
        ).rename({"trained_on": "trained on"})
        for metric in ("accuracy", "kl")
    )
    return Part(title, text, tables)


def _maps(findings: Findings) -> Part:
    title = "Data maps"
    if "data_map" not in findings.tables:
        return Part(title)
    agreed = pl.col("human_entropy") <= 1e-9
    counted = (
        findings.tables["data_map"]
        .with_columns(
            stratum=pl.when(agreed).then(pl.lit("unanimous")).otherwise(pl.lit("disputed"))
        )
        .group_by("network", "arm", "stratum", maintain_order=True)
        .agg(
            pl.len().alias("items"),
            *((pl.col("region") == region).mean().alias(region) for region in REGIONS),
            pl.col("confidence", "variability").mean(),
        )
        .sort("stratum", descending=True, maintain_order=True)
        .with_columns(
            *(pl.col(region).map_elements("{:.1%}".format, pl.String) for region in REGIONS),
            pl.col("confidence", "variability").map_elements(number, pl.String),
        )
    )
    text = (
        "Training items over late epochs and seeds; easy from confidence 0.75 up and variability "
        "to 0.2, hard from confidence 0.25 down and as steady, ambiguous the rest. The paper's "
        "bounds are lost; these are ours."
    )
    return Part(title, text, (counted,))


def _alignment(findings: Findings) -> Part:
    title = "Do models doubt what people doubt?"
    if "alignment" not in findings.tables:
        return Part(title)
    rows = findings.tables["alignment"].filter(stratum="all")
    rows = rows.with_columns(pl.format("{} and {}", "first", "second").alias("signals"))
    table = _pivoted(rows, ("network", "arm"), "signals", value="rho")
    return Part(title, "Spearman's rank correlation, intervals over items (S4-35).", (table,))


def _spoilt(findings: Findings) -> Part:
    title = "Attacked and corrupted images"
    tables = []
    if "robustness" in findings.tables:
        rows = findings.tables["robustness"].with_columns(
            pl.format("{} {}/255", "attack", pl.col("epsilon").cast(pl.Int64)).alias("bound")
        )
        tables.append(_losses(rows, "bound"))
    if "corruptions" in findings.tables:
        tables.append(_losses(findings.tables["corruptions"], "corruption"))
    text = "Cross-entropy to people on the attacked items, means over seeds."
    return Part(title, text, tuple(tables))


def _losses(table: pl.DataFrame, column: str) -> pl.DataFrame:
    rows = table.filter(metric="cross_entropy").with_columns(
        pl.col("value").map_elements(number, pl.String)
    )
    return rows.pivot(column, index=["network", "arm"], values="value").fill_null("–")


def _pivoted(
    table: pl.DataFrame, index: Sequence[str], on: str, value: str = "value"
) -> pl.DataFrame:
    """A row an index, a column a name of ``on``, numbers with their intervals."""
    shown = table.with_columns(
        pl.struct(value, "low", "high")
        .map_elements(lambda row: with_ends(row, value), pl.String)
        .alias("shown")
    )
    return shown.pivot(on, index=list(index), values="shown").fill_null("–")
