"""What a comparison, one table of a paper, tells its page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.evaluation.metrics import METRICS
from sfumato.reporting.text import interval, number, signed
from sfumato.scores import Difference
from sfumato.studies.comparison.page import (
    ComparisonRun,
    last_steps,
    paired_with_controls,
    read_comparison,
    scores_beside_paper,
)
from sfumato.studies.results.result import Part
from sfumato.studies.results.told import Told, judged_claim, score_rows

__all__ = ["told_by_comparison"]

FIGURES = ("curve", "entropy-tracking", "ladder", "softness-cross", "pgd", "differences")


def told_by_comparison(folder: Path) -> Told:
    """Scores against each set of labels beside the paper's numbers, differences from controls."""
    if not (folder / "facts.json").is_file():
        raise DataError(
            f"{folder} has no facts.json: it is not the folder of a finished run. "
            "Finish it with `sfumato run`."
        )
    run = read_comparison(folder)
    run = replace(run, scores=last_steps(run.scores))
    parts = [_compared(run)]
    for against in dict.fromkeys(one.against for one in run.scores):
        parts.append(_held_against(run, against))
    claims = tuple(map(judged_claim, run.judged))
    return Told(claims, score_rows(run.scores), tuple(parts), FIGURES)


def _compared(run: ComparisonRun) -> Part:
    study = run.study
    folds = f" and {study['folds']} folds" if study["folds"] > 1 else ""
    sentences = [
        f"Every arm trained {', '.join(study['networks'])} for {study['training']['epochs']} "
        f"epochs, with {study['seeds']} seeds{folds}.",
        *run.facts["missing"],
    ]
    tables = [_rounded(run.tables["labels"])]
    if "failed" in run.tables:
        tables.append(run.tables["failed"])
    return Part("What was compared", " ".join(sentences), tuple(tables))


def _rounded(table: pl.DataFrame) -> pl.DataFrame:
    plain = table.rename({name: name.replace("_", " ") for name in table.columns})
    return plain.with_columns(pl.col(pl.Float64).map_elements(number, pl.String))


def _held_against(run: ComparisonRun, against: str) -> Part:
    tables = [scores_beside_paper(run, against)]
    paired = paired_with_controls(run, against)
    if paired:
        tables.append(_differences(paired))
    text = "Means over seeds with 95 % intervals (Student's t); differences are paired by seed."
    if any(one.simulated for one in run.scores if one.against == against):
        text = f"Labels of simulated people are among these. {text}"
    return Part(f"Held against {against}", text, tuple(tables))


def _differences(paired: Sequence[Difference]) -> pl.DataFrame:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one in paired:
        row = rows.setdefault((one.network, f"{one.first} - {one.second}"), {})
        shown = f"{signed(one.value)} {interval(one.low, one.high)}".rstrip()
        row[METRICS[one.metric].title] = shown
    return pl.DataFrame(
        [{"network": network, "difference": pair, **row} for (network, pair), row in rows.items()]
    )
