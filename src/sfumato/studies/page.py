"""Draw the report of a run from the files in its folder alone."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import polars as pl

from sfumato.evaluation.metrics import METRICS
from sfumato.provenance import from_json
from sfumato.reporting.draw import Basis
from sfumato.reporting.figures import (
    curves,
    galleries,
)
from sfumato.reporting.figures import (
    scores as calibration,
)
from sfumato.reporting.figures import (
    scores as grouped,
)
from sfumato.reporting.figures import (
    scores as matrices,
)
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Page, Section, Text
from sfumato.reporting.tables import How, Table, differences_shown, score_matrix
from sfumato.reporting.text import Finding, Measure, mode_shift, summarise
from sfumato.scores import Difference, Score, differences_table, scores_table
from sfumato.studies.analysis import Findings
from sfumato.studies.arms import ARMS
from sfumato.studies.claims import claims_table
from sfumato.studies.comparison.page import draw_comparison
from sfumato.studies.files import kind_of, read_settings, write_report
from sfumato.studies.folder import read_findings
from sfumato.studies.hmix.page import draw_hmix_report
from sfumato.studies.informativeness.page import draw_grid_report
from sfumato.studies.rescore.page import draw_rescore_report

__all__ = ["OF_PAPER_5", "draw_report"]

REFERENCES = {
    "entropy_floor": Measure("entropy of people's labels", "neither", "No model can go below it."),
    "class_oracle": Measure(
        "class-level oracle", "neither", "Predict the mean of people's labels for each class."
    ),
}
MEASURES: dict[str, Measure] = {
    **{each.name: Measure(each.title, each.better, each.meaning) for each in METRICS.values()},
    **REFERENCES,
}
MODES = ("original", "majority", "soft")
OF_PAPER_5 = ("fashion-mnist-h", "soft-digits", "soft-digits-synthetic")
"""Data whose studies are held against paper 5's claims: its own, and some like them."""
HEADLINE = ("cross_entropy", "accuracy")
SHOWN = ("cross_entropy", "kl", "brier", "accuracy", "rms_calibration", "second_best_accuracy")


def draw_report(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    settings = read_settings(folder)
    kind = kind_of(settings)
    match kind:
        case "trainings":
            return write_report(_page(settings, read_findings(folder)), folder)
        case "comparison":
            return draw_comparison(folder)
        case "grid":
            return draw_grid_report(folder)
        case "hmix":
            return draw_hmix_report(folder)
        case "rescore":
            return draw_rescore_report(folder)
        case _:
            assert_never(kind)


def _page(settings: Mapping[str, Any], findings: Findings) -> Page:
    study = settings["study"]
    simulated = bool(settings["simulated"])
    everyone = Basis(simulated, items=int(str(findings.facts.get("items", 0))))
    sections = [
        _what_was_compared(study, findings, everyone),
        _scores_section(findings),
        _modes_section(findings, _basis(findings, everyone)),
        _calibration_section(findings, _basis(findings, everyone)),
        _robustness_section(findings, _attack_basis(findings, everyone)),
        _people_section(findings, everyone),
        _dynamics_section(findings, _train_basis(findings, everyone)),
        _items_section(findings, everyone),
        _pictures_section(findings, simulated),
    ]
    if study["data"] in OF_PAPER_5:
        sections.append(Section("Next to paper 5", "", (claims_table(findings),)))
    return Page(
        title=study["title"],
        subtitle=study["about"],
        summary=tuple(_summary(study, findings)),
        sections=tuple(section for section in sections if section.blocks),
        how=How(
            provenance=from_json(settings["provenance"]["people"]),
            settings={"study": study, "versions": settings["versions"]},
        ),
    )


def _summary(study: Mapping[str, Any], findings: Findings) -> list[Finding]:
    chosen = [
        one for one in _headline(findings) if one.first == "soft" or "soft" not in study["arms"]
    ]
    scores = [one for one in findings.scores if one.against == "people"]
    found = summarise(scores, chosen, MEASURES, metrics=HEADLINE)
    facts = findings.facts
    pictures, leaked = int(str(facts["pictures"])), int(str(facts["leaked"]))
    if leaked:
        found.append(
            Finding(
                f"{leaked} pairs of the same or nearly the same picture lie in the training part "
                f"and in the part that is reported on ({pictures:,} pictures).",
                "caution",
            )
        )
    if "failed" in findings.tables:
        number = len(findings.tables["failed"])
        found.append(Finding(f"{number} trainings failed and are missing; see below.", "caution"))
    return found


def _what_was_compared(study: Mapping[str, Any], findings: Findings, basis: Basis) -> Section:
    labels = findings.tables["labels"]
    about = [ARMS[arm].about if arm in ARMS else f"the recipe {arm}" for arm in labels["arm"]]
    shown = labels.with_columns(pl.Series("what", about)).select(
        "arm", "what", "mean_entropy", "distance_to_people", "mode_is_original"
    )
    blocks: list[Block] = [
        Table(
            "What the networks learnt from",
            shown.rename(
                {
                    "mean_entropy": "mean entropy (nats)",
                    "distance_to_people": "distance to people (total variation)",
                    "mode_is_original": "mode is the original label",
                }
            ),
            caption=f"Over all {basis.items:,} items.",
            simulated=basis.simulated,
        )
    ]
    if "failed" in findings.tables:
        blocks.append(Table("Trainings that failed", findings.tables["failed"]))
    networks = ", ".join(study["networks"])
    text = (
        f"Every arm trained {networks}, with {study['seeds']} seeds each, on the same "
        f"{study['split'][0]:.0%} of the items; {study['split'][1]:.0%} chose the epoch, and the "
        f"remaining {study['split'][2]:.0%} are reported here."
    )
    return Section("What was compared", text, tuple(blocks))


def _scores_section(findings: Findings) -> Section:
    overall = [
        one
        for one in findings.scores
        if one.stratum == "all" and one.against == "people" and one.metric in SHOWN
    ]
    if not overall:
        return Section("How close to people")
    lines = {
        metric: {
            reference.title: next(
                one.value for one in findings.scores if one.metric == name and one.stratum == "all"
            )
            for name, reference in REFERENCES.items()
            if any(one.metric == name and one.stratum == "all" for one in findings.scores)
        }
        for metric in ("cross_entropy",)
    }
    blocks: list[Block] = [score_figures.by_arm(scores_table(overall), MEASURES, references=lines)]
    blocks += [score_matrix(overall, MEASURES, metric=metric) for metric in HEADLINE]
    paired = _headline(findings)
    if paired:
        blocks.append(score_figures.paired_differences(differences_table(paired), MEASURES))
        of_soft = [one for one in paired if one.first == "soft"]
        if of_soft:
            title = "Soft labels against original labels and against their majority vote"
            blocks.append(differences_shown(of_soft, MEASURES, title=title))
    split = [
        one
        for one in findings.scores
        if one.stratum in ("unanimous", "disputed")
        and one.against == "people"
        and one.metric in ("kl", "accuracy")
    ]
    if split:
        blocks.append(score_figures.by_stratum(scores_table(split), MEASURES))
    return Section(
        "How close to people",
        "All scores are on items that no network was trained on and no epoch was chosen on. "
        "The other metrics and strata are in scores.parquet.",
        tuple(blocks),
    )


def _modes_section(findings: Findings, basis: Basis) -> Section:
    title = "Softness or a shifted mode?"
    if "modes" not in findings.tables:
        return Section(title)
    modes = findings.tables["modes"]
    kept = modes.filter(pl.col("metric").is_in(["accuracy", "kl"]))
    differ, items = int(str(findings.facts["modes_differ"])), int(str(findings.facts["items"]))
    text = (
        f"The most frequent answer of people is not the original label on {differ:,} of "
        f"{items:,} items. Re-annotation moves the label; a gain may come from that alone. "
        "Soft labels are therefore held against the majority vote of the same people, on the "
        "original labels and on people's."
    )
    sentences = mode_shift(_headline(findings), MEASURES, *MODES)
    told = [Text(finding.text) for finding in sentences]
    return Section(title, text, (*told, grouped.mode_shift(kept, MEASURES, basis)))


def _calibration_section(findings: Findings, basis: Basis) -> Section:
    drawn = calibration.reliability(findings.tables["reliability"], replace(basis, interval=""))
    text = "Right means the class that most people chose; the seeds' predictions are pooled."
    return Section("Calibration", text, (drawn,))


def _robustness_section(findings: Findings, basis: Basis) -> Section:
    blocks: list[Block] = []
    if "robustness" in findings.tables:
        table = findings.tables["robustness"]
        for kind in _names(table, "attack"):
            blocks.append(
                curves.attack_curves(
                    table.filter(pl.col("attack") == kind),
                    MEASURES,
                    basis,
                    unit="ℓ∞ bound in units of 1/255",
                    name=f"attack-{kind}",
                    title=f"Under {kind.upper()} attack",
                )
            )
    if "corruptions" in findings.tables:
        table = findings.tables["corruptions"].filter(pl.col("metric") == "cross_entropy")
        blocks.append(grouped.corruption_bars(table, MEASURES, basis))
    return Section(
        "Attacked and corrupted images",
        "Attacks drive up the cross-entropy to people's labels on images that were not trained "
        "on; pixels are normalised inside the network, so bounds are in pixels.",
        tuple(blocks),
    )


def _people_section(findings: Findings, basis: Basis) -> Section:
    facts = findings.facts
    blocks: list[Block] = []
    text = ""
    top = facts.get("share_in_top")
    if isinstance(top, dict):
        text = (
            f"The {top['share']:.0%} most doubtful items hold {top['value']:.1%} of all doubt "
            f"(95 % interval over items {top['low']:.1%} to {top['high']:.1%})."
        )
        blocks.append(curves.concentration(findings.tables["concentration"], basis))
    strata = facts.get("strata")
    if isinstance(strata, dict):
        counted = pl.DataFrame({"stratum": list(strata), "items": list(strata.values())})
        blocks.append(Table("Strata of human label variation", counted, simulated=basis.simulated))
    if "correlations" in findings.tables:
        blocks.append(matrices.correlation_matrix(findings.tables["correlations"], basis))
    return Section("People's doubt", text, tuple(blocks))


def _dynamics_section(findings: Findings, basis: Basis) -> Section:
    blocks: list[Block] = []
    tables = findings.tables
    if "data_map" in tables:
        for network in _names(tables["data_map"], "network"):
            blocks.append(
                curves.data_map(
                    tables["data_map"].filter(pl.col("network") == network),
                    basis,
                    name=f"data-map-{network}",
                    title=f"Data maps of {network}, coloured by people's uncertainty",
                )
            )
    if "alignment" in tables:
        columns = ("arm", "network", "first", "second", "rho", "low", "high", "expected", "found")
        shown = tables["alignment"].filter(pl.col("stratum") == "all").select(columns)
        blocks.append(
            Table(
                "Do models doubt what people doubt? (training part)",
                shown.rename({"first": "people", "second": "model"}),
                caption="Spearman's rank correlation with its 95 % interval over items (S4-35).",
                simulated=basis.simulated,
            )
        )
    if "steadiness" in tables:
        told = {
            "movement": "movement in a run (bits)",
            "spread": "spread between seeds (bits)",
            "apart": "spread - movement",
        }
        blocks.append(
            Table(
                "How steady the end of training is",
                tables["steadiness"].rename(told),
                caption=(
                    "Mean Jensen-Shannon divergence over the last epochs, and the 95 % interval of "
                    "the difference over items (S4-51)."
                ),
                simulated=basis.simulated,
            )
        )
    if "convergence" in tables:
        blocks.append(curves.convergence(tables["convergence"], basis))
    blocks.append(curves.learning_curves(tables["history"], basis))
    return Section("How it was learnt", "", tuple(blocks))


def _items_section(findings: Findings, basis: Basis) -> Section:
    tables, images = findings.tables, findings.images
    blocks: list[Block] = []
    if "entropy" in tables:
        blocks.append(curves.entropy_histograms(tables["entropy"], basis))
    for name, title in (
        ("doubtful", "The items that people doubt most"),
        ("alternatives", "The same first guess, other alternatives"),
        ("interest_bars", "Annotator noise, noisy image or true ambiguity?"),
    ):
        if name in tables and len(tables[name]):
            blocks.append(galleries.gallery(tables[name], images, basis, name=name, title=title))
    if "interest" in tables and len(tables["interest"]):
        columns = ("item", "kind", "human_entropy", "confidence", "variability")
        blocks.append(
            Table(
                "Samples of interest",
                tables["interest"].select(columns),
                caption="Training items, by rules on people's answers and the model's dynamics.",
                simulated=basis.simulated,
            )
        )
    return Section("Single items", "", tuple(blocks))


def _pictures_section(findings: Findings, simulated: bool) -> Section:
    facts = findings.facts
    text = (
        f"{int(str(facts['pictures'])):,} pictures were searched for exact and near duplicates: "
        f"{facts['duplicated']} have one; {facts['leaked']} pairs lie in the training part and "
        "in the part that is reported on."
    )
    blocks: list[Block] = [
        Text("Pairs that are nearly the same carry their distance, for a person to judge.")
    ]
    if "duplicates" in findings.tables:
        blocks.append(Table("Duplicates", findings.tables["duplicates"]))
    if "leakage" in findings.tables:
        blocks.append(Table("Leaked between parts", findings.tables["leakage"]))
    return Section("The pictures", text, tuple(blocks))


def _headline(findings: Findings) -> list[Difference]:
    return [
        one
        for one in findings.differences
        if one.stratum == "all" and one.against == "people" and one.metric in HEADLINE
    ]


def _names(table: pl.DataFrame, column: str) -> list[str]:
    return table[column].unique(maintain_order=True).to_list()


def _basis(findings: Findings, everyone: Basis) -> Basis:
    return _of(findings.scores, everyone)


def _of(scores: Iterable[Score], everyone: Basis) -> Basis:
    first = next((one for one in scores if one.stratum == "all"), None)
    if first is None:
        return everyone
    return Basis(everyone.simulated, first.items, first.seeds, first.interval)


def _attack_basis(findings: Findings, everyone: Basis) -> Basis:
    seeds = _of(findings.scores, everyone).seeds
    table = findings.tables.get("robustness", findings.tables.get("corruptions"))
    items = int(table["items"][0]) if table is not None and len(table) else 0
    return Basis(everyone.simulated, items, seeds, "seeds and items")


def _train_basis(findings: Findings, everyone: Basis) -> Basis:
    seeds = _of(findings.scores, everyone).seeds
    items = findings.tables["data_map"]["item"].n_unique() if "data_map" in findings.tables else 0
    return Basis(everyone.simulated, items, seeds)
