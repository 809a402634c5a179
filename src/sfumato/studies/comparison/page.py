"""Draw the report of a comparison from the files in its folder alone."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.evaluation.metrics import METRICS
from sfumato.reporting.draw import Drawing
from sfumato.reporting.figures import curves
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Page, Section
from sfumato.reporting.tables import How, Table
from sfumato.reporting.text import Finding, Measure, interval, number
from sfumato.scores import (
    Difference,
    Score,
    differences_table,
    read_differences,
    read_scores,
    scores_table,
)
from sfumato.studies.comparison.figures import (
    agreement_section,
    attack_section,
    confidence_section,
    file_name,
    ladder_section,
)
from sfumato.studies.comparison.measured import AGREEMENT
from sfumato.studies.comparison.papers import PAPERS
from sfumato.studies.comparison.references import lines_against
from sfumato.studies.comparison.softness import softness_section
from sfumato.studies.comparison.told import Judged, Paper, judge
from sfumato.studies.comparison.tracking import tracking_section
from sfumato.studies.files import read_settings, read_tables, write_report
from sfumato.studies.verdicts import KINDS, counted

__all__ = [
    "ComparisonRun",
    "draw_comparison",
    "last_steps",
    "paired_with_controls",
    "read_comparison",
    "scores_beside_paper",
]

MEASURES: dict[str, Measure] = {
    each.name: Measure(each.title, each.better, each.meaning) for each in METRICS.values()
}
DRAWN = ("cross_entropy", "accuracy", "rms_calibration", "second_best_accuracy")
IN_CURVES = ("cross_entropy", "accuracy", "rms_calibration")


@dataclass(frozen=True, eq=False)
class ComparisonRun:
    """What the folder of a finished comparison holds, and what it says of the paper's claims."""

    study: dict[str, Any]
    versions: dict[str, Any]
    simulated: bool
    scores: list[Score]
    differences: list[Difference]
    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]
    paper: Paper
    judged: list[Judged]


def read_comparison(folder: Path) -> ComparisonRun:
    """Everything that a report is drawn from."""
    settings = read_settings(folder)
    differences = read_differences(folder / "differences.parquet")
    paper = PAPERS.get(settings["study"]["name"], Paper())
    return ComparisonRun(
        study=settings["study"],
        versions=settings["versions"],
        simulated=bool(settings["simulated"]),
        scores=read_scores(folder / "scores.parquet"),
        differences=differences,
        tables=read_tables(folder),
        facts=json.loads((folder / "facts.json").read_text(encoding="utf-8")),
        paper=paper,
        judged=[judge(claim, differences) for claim in paper.claims],
    )


def draw_comparison(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    run = read_comparison(folder)
    sections = [
        _claims(run),
        *_curves(run),
        tracking_section(run.tables),
        softness_section(run.study, run.scores, run.tables, MEASURES),
        ladder_section(run.study, run.scores, run.differences, run.tables, MEASURES),
        attack_section(run.scores, MEASURES),
        *_scores(run),
        agreement_section(run.scores, MEASURES),
        confidence_section(run.study, run.scores, MEASURES),
        _arms(run),
    ]
    page = Page(
        title=run.study["title"],
        subtitle=run.study["about"],
        summary=tuple(_summary(run)),
        sections=tuple(section for section in sections if section.blocks),
        how=How(settings={"study": run.study, "versions": run.versions}),
    )
    return write_report(page, folder)


def _summary(run: ComparisonRun) -> list[Finding]:
    found = [
        Finding(f"{one.claim.says} {one.verdict.capitalize()}: {_found(one)}.", kind)
        for one in run.judged
        if (kind := KINDS[one.verdict])
    ]
    found += [Finding(sentence, "caution") for sentence in run.facts["missing"]]
    if "failed" in run.tables:
        count = len(run.tables["failed"])
        found.append(Finding(f"{count} trainings failed and are missing; see below.", "caution"))
    return found


def _found(one: Judged) -> str:
    return one.ours or one.claim.note.rstrip(".")


def _claims(run: ComparisonRun) -> Section:
    if not run.judged:
        return Section("Next to the paper")
    rows = [
        {
            "claim": one.claim.says,
            "paper": f"{one.claim.paper} ({one.claim.source})",
            "here (95 % over seeds)": one.ours or one.claim.note,
            "verdict": one.verdict,
        }
        for one in run.judged
    ]
    text = (
        f"{counted(one.verdict for one in run.judged)} Reproduced means that the interval of the "
        "paired difference lies on the claimed side of zero; same direction, that only the "
        "estimate does. Networks and training are smaller than the paper's unless the study ran at "
        "its size."
    )
    notes = tuple(dict.fromkeys(one.claim.note for one in run.judged if one.claim.note))
    table = Table("Claims", pl.DataFrame(rows), how=How(meaning=notes), simulated=run.simulated)
    return Section("Next to the paper", text, (table,))


def _curves(run: ComparisonRun) -> Iterable[Section]:
    """A section for each axis, with a figure for each set of labels held against."""
    for place, axis in enumerate(run.study.get("axes", ()), start=1):
        drawn = []
        for against in dict.fromkeys(one.against for one in run.scores):
            shown = [
                one
                for one in run.scores
                if one.against == against and (_is_clean(one) or _is_fgsm_loss(one))
            ]
            if points := _points(axis, shown, several=len(run.study["networks"]) > 1):
                drawn.append(_curve(axis, points, against, f"curve-{place}-{file_name(against)}"))
        yield Section(axis["title"], "", tuple(drawn))


Point = tuple[str, float, Score]
"""A curve's name, where on the axis, and what was found there."""


def _points(axis: Mapping[str, Any], scores: list[Score], *, several: bool) -> list[Point]:
    """What a curve goes through; an arm may lie on several, and every network has its own."""
    return [
        (f"{curve}, {one.network}" if several else curve, float(at), one)
        for curve, arms in axis["series"].items()
        for arm, at in arms.items()
        for one in scores
        if one.arm == arm
    ]


def _curve(axis: Mapping[str, Any], points: list[Point], against: str, name: str) -> Drawing:
    draw, column = {
        "annotators": (curves.against_annotators, "M"),
        "seconds": (curves.against_seconds, "seconds"),
        "items": (curves.against_items, "items"),
    }[axis["over"]]
    attacked = {
        one.stratum: Measure(f"loss under {one.stratum.replace('/', ', ').upper()}/255", "lower")
        for _, _, one in points
        if not _is_clean(one)
    }
    rows = [
        {
            "arm": curve,
            column: at,
            "metric": one.metric if _is_clean(one) else one.stratum,
            "value": one.value,
            "low": one.low,
            "high": one.high,
        }
        for curve, at, one in points
    ]
    basis = score_figures.basis_of(scores_table([one for _, _, one in points]))
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    title = f"Held against {against}"
    return draw(table, MEASURES | attacked, basis, name=name, title=title)


def _is_clean(score: Score) -> bool:
    return score.stratum == "all" and score.metric in IN_CURVES


def _is_fgsm_loss(score: Score) -> bool:
    return score.metric == "cross_entropy" and score.stratum.startswith("fgsm/")


def _scores(run: ComparisonRun) -> Iterable[Section]:
    """A section for each set of labels that models are held against."""
    for against in dict.fromkeys(one.against for one in run.scores):
        mine = [one for one in run.scores if one.against == against]
        clean = [one for one in mine if one.stratum == "all" and one.metric in DRAWN]
        spoilt = [one for one in mine if one.stratum not in ("all", *AGREEMENT)]
        name = file_name(against)
        blocks: list[Block] = [
            score_figures.by_arm(
                scores_table(clean),
                MEASURES,
                references=lines_against(run.tables.get("references"), against),
                name=f"scores-{name}",
                title=f"Against {against}",
            )
        ]
        if spoilt:
            blocks.append(
                score_figures.by_arm(
                    scores_table(last_steps(spoilt)),
                    MEASURES,
                    name=f"spoilt-{name}",
                    title=f"Attacked and corrupted images, against {against}",
                )
            )
        paired = paired_with_controls(run, against)
        if paired:
            blocks.append(
                score_figures.paired_differences(
                    differences_table(paired), MEASURES, name=f"differences-{name}"
                )
            )
        blocks.append(
            Table(
                f"Against {against}, next to the paper's numbers",
                scores_beside_paper(run, against),
                caption="Means over seeds with 95 % intervals (Student's t).",
                simulated=any(one.simulated for one in mine),
            )
        )
        yield Section(f"Held against {against}", "", tuple(blocks))


def last_steps(scores: list[Score]) -> list[Score]:
    """Scores under attack, those of PGD after its last iteration only."""
    steps = {one.stratum for one in scores if one.stratum.startswith("pgd/")}
    last = {
        max(mine, key=lambda stratum: int(stratum.rsplit("/", 1)[1]))
        for bound in {stratum.rsplit("/", 1)[0] for stratum in steps}
        if (mine := [stratum for stratum in steps if stratum.startswith(f"{bound}/")])
    }
    return [one for one in scores if one.stratum not in steps or one.stratum in last]


def paired_with_controls(run: ComparisonRun, against: str) -> list[Difference]:
    """Every arm against every control, on untouched images, by the metrics that are drawn."""
    controls = set(run.study["controls"])
    return [
        one
        for one in run.differences
        if one.against == against
        and one.second in controls
        and one.first not in controls
        and one.stratum == "all"
        and one.metric in ("cross_entropy", "accuracy", "rms_calibration")
    ]


def scores_beside_paper(run: ComparisonRun, against: str) -> pl.DataFrame:
    """A row an arm, network and stratum, a column a metric; the paper's number behind ours."""
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for one in run.scores:
        if one.against != against or (one.stratum == "all" and one.metric not in DRAWN):
            continue
        row = rows.setdefault((one.arm, one.network, one.stratum), {})
        printed = run.paper.numbers.get((one.arm, against, one.stratum, one.metric), "")
        ours = f"{number(one.value)} {interval(one.low, one.high)}".rstrip()
        row[MEASURES[one.metric].title] = f"{ours} | paper {printed}" if printed else ours
    titles = list(dict.fromkeys(title for row in rows.values() for title in row))
    return pl.DataFrame(
        [
            {"arm": arm, "network": network, "images": stratum}
            | {title: row.get(title, "") for title in titles}
            for (arm, network, stratum), row in rows.items()
        ]
    )


def _arms(run: ComparisonRun) -> Section:
    labels = run.tables["labels"].rename(
        {
            "mean_entropy": "mean entropy (nats)",
            "distance_to_control": "distance to the first control (total variation)",
            "mixes_entropy": "mean entropy of mixes (nats)",
        },
        strict=False,
    )
    table = Table("What the networks learnt from", labels, simulated=run.simulated)
    blocks: list[Block] = [table]
    if "failed" in run.tables:
        blocks.append(Table("Trainings that failed", run.tables["failed"]))
    folds = f" and {run.study['folds']} folds" if run.study["folds"] > 1 else ""
    text = (
        f"Every arm trained {', '.join(run.study['networks'])} with {run.study['seeds']} seeds"
        f"{folds}; all took {run.facts['seconds']:.0f} s in the last run."
    )
    return Section("What was compared", text, tuple(blocks))
