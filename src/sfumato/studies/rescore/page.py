"""Draw the report on stored predictions from the files in its folder alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.metrics import METRICS
from sfumato.reporting.draw import Basis
from sfumato.reporting.figures import curves, galleries
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Page, Section
from sfumato.reporting.tables import How, Table
from sfumato.reporting.text import Finding, Measure, interval, number
from sfumato.scores import Score, read_differences, read_scores, scores_table
from sfumato.studies.comparison.told import Judged, judge
from sfumato.studies.files import (
    kind_of,
    read_pictures,
    read_settings,
    read_tables,
    write_report,
)
from sfumato.studies.rescore.claims import CLAIMS
from sfumato.studies.rescore.measured import ENSEMBLE, ORACLE, ORIGINAL, PEOPLE
from sfumato.studies.rescore.paper1 import ENSEMBLE as PRINTED_ENSEMBLE
from sfumato.studies.rescore.paper1 import TABLE_1
from sfumato.studies.rescore.stored import BEST
from sfumato.studies.verdicts import KINDS, counted

__all__ = ["RescoreRun", "draw_rescore_report", "networks_beside_paper", "read_rescore"]

MEASURES: dict[str, Measure] = {
    each.name: Measure(each.title, each.better, each.meaning) for each in METRICS.values()
}
OVER = "images"


@dataclass(frozen=True, eq=False)
class RescoreRun:
    """What the folder of a finished run holds, and what it says of the paper's claims."""

    study: dict[str, Any]
    versions: dict[str, Any]
    provenance: dict[str, Any]
    scores: list[Score]
    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]
    pictures: Mapping[str, NDArray[np.uint8]]
    judged: list[Judged]

    def score(self, arm: str, metric: str, against: str, stratum: str = "all") -> Score | None:
        """One number, or None where there is none."""
        wanted = (arm, metric, against, stratum)
        for one in self.scores:
            if (one.arm, one.metric, one.against, one.stratum) == wanted:
                return one
        return None


def read_rescore(folder: Path) -> RescoreRun:
    """Everything that a report is drawn from; another kind of folder is an error that says so."""
    settings = read_settings(folder)
    if kind_of(settings) != "rescore":
        name = settings["study"]["name"]
        raise DataError(f"{folder} holds the study {name!r}, which is not about predictions.")
    differences = read_differences(folder / "differences.parquet")
    return RescoreRun(
        settings["study"],
        settings["versions"],
        settings["provenance"],
        read_scores(folder / "scores.parquet"),
        read_tables(folder),
        json.loads((folder / "facts.json").read_text(encoding="utf-8")),
        read_pictures(folder),
        [judge(claim, differences) for claim in CLAIMS],
    )


def draw_rescore_report(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    run = read_rescore(folder)
    settings = {"study": run.study, "versions": run.versions, "provenance": run.provenance}
    page = Page(
        title=run.study["title"],
        subtitle=run.study["about"],
        summary=tuple(_summary(run)),
        sections=(_claims(run), _leaderboard(run), _agreement(run), _doubts(run)),
        how=How(settings=settings),
    )
    return write_report(page, folder)


def _summary(run: RescoreRun) -> list[Finding]:
    lines = (
        f"Cross-entropy to people cannot be below {run.facts['entropy_floor']:.4f}; knowing each "
        f"image's class and nothing else reaches {run.facts['class_oracle']:.4f}, which no "
        "network of the eight does before it learns from people."
        if _all_above_oracle(run)
        else f"Cross-entropy to people cannot be below {run.facts['entropy_floor']:.4f}; knowing "
        f"each image's class and nothing else reaches {run.facts['class_oracle']:.4f}."
    )
    modes = (
        f"People's most frequent answer is not the original label on "
        f"{run.facts['modes_that_differ']} of {run.facts['items']:,} images."
    )
    return [
        Finding(lines, "found"),
        Finding(modes, "found"),
        *(
            Finding(
                f"{one.claim.says} {one.verdict.capitalize()}: "
                f"{(one.ours or one.claim.note).rstrip('.')}.",
                KINDS[one.verdict],
            )
            for one in run.judged
        ),
    ]


def _all_above_oracle(run: RescoreRun) -> bool:
    found = [run.score(name, "cross_entropy", PEOPLE) for name in TABLE_1]
    return all(one is not None and one.value > run.facts["class_oracle"] for one in found)


def _claims(run: RescoreRun) -> Section:
    rows = [
        {
            "claim": one.claim.says,
            "paper": f"{one.claim.paper} ({one.claim.source})",
            f"here (95 % over {OVER})": one.ours or one.claim.note,
            "verdict": one.verdict,
        }
        for one in run.judged
    ]
    text = (
        f"{counted(one.verdict for one in run.judged)} A claim about every network is reproduced "
        "where the interval of each lies on the claimed side of zero. Intervals are over images: "
        "each network was trained once, by the authors."
    )
    notes = tuple(dict.fromkeys(one.claim.note for one in run.judged if one.claim.note))
    return Section(
        "Next to the paper", text, (Table("Claims", pl.DataFrame(rows), how=How(meaning=notes)),)
    )


def _leaderboard(run: RescoreRun) -> Section:
    """Networks by their closeness to people, with the lines that it is read against (C20)."""
    ranked = [
        one
        for one in run.scores
        if one.stratum == "all"
        and (one.metric, one.against) in (("cross_entropy", PEOPLE), ("accuracy", ORIGINAL))
        and one.arm != ORACLE
    ]
    lines = {
        "cross_entropy": {
            "entropy of people's labels": run.facts["entropy_floor"],
            ORACLE: run.facts["class_oracle"],
        }
    }
    drawn = score_figures.leaderboard(scores_table(ranked), MEASURES, references=lines)
    table = Table(
        "Networks, next to the paper's numbers",
        networks_beside_paper(run),
        caption=f"In brackets 95 % intervals over {OVER}.",
    )
    return Section("Which network is closest to people?", "", (drawn, table))


COLUMNS = (
    ("cross_entropy", PEOPLE),
    ("cross_entropy", ORIGINAL),
    ("accuracy", ORIGINAL),
    ("second_best_accuracy", PEOPLE),
    ("second_best_accuracy_all", PEOPLE),
    ("confidence_right", PEOPLE),
    ("confidence_wrong", PEOPLE),
)


def networks_beside_paper(run: RescoreRun) -> pl.DataFrame:
    """A row a network, a column a number; table 1's number of pretrained networks behind ours."""
    printed = {
        (name, "cross_entropy", against): f"{table['pretrained'][place]:.2f}"
        for name, table in TABLE_1.items()
        for place, against in enumerate((PEOPLE, ORIGINAL))
    }
    printed[ENSEMBLE, "cross_entropy", PEOPLE] = f"{PRINTED_ENSEMBLE:.2f}"
    rows = []
    for arm in dict.fromkeys(one.arm for one in run.scores):
        row = {"network": arm}
        for metric, against in COLUMNS:
            one = run.score(arm, metric, against)
            ours = "–" if one is None else f"{number(one.value)} {interval(one.low, one.high)}"
            told = printed.get((arm, metric, against))
            title = f"{MEASURES[metric].title}, {against}"
            row[title] = f"{ours.strip()} | paper {told}" if told else ours.strip()
        rows.append(row)
    return pl.DataFrame(rows)


def _agreement(run: RescoreRun) -> Section:
    shown = [
        one
        for one in run.scores
        if one.stratum != "all" and one.against == PEOPLE and one.metric in ("kl", "accuracy")
    ]
    drawn = score_figures.by_stratum(scores_table(shown), MEASURES, title="By people's agreement")
    return Section("Where people agree, and where not", "", (drawn,))


def _doubts(run: RescoreRun) -> Section:
    basis = Basis(simulated=False, items=run.facts["items"])
    return Section(
        "Where the doubts are",
        f"Below: images on which people and {BEST} name the same class and differ most over the "
        "rest, chosen for it.",
        (
            curves.concentration(run.tables["concentration"], basis),
            galleries.gallery(
                run.tables["gallery"],
                run.pictures,
                basis,
                title="Same first guess, other alternatives",
            ),
        ),
    )
