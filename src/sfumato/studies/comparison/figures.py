"""Figures of a comparison besides its scores: ladders, attacks step by step, confidence."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sfumato.reporting.draw import Drawing
from sfumato.reporting.figures import curves
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Section
from sfumato.reporting.tables import Table
from sfumato.reporting.text import Measures
from sfumato.scores import Difference, Score, scores_table
from sfumato.studies.comparison.ladder import ladder_rows
from sfumato.studies.comparison.measured import AGREEMENT

__all__ = [
    "agreement_section",
    "attack_section",
    "confidence_section",
    "file_name",
    "ladder_section",
]

CONFIDENCE = ("confidence_right", "confidence_wrong")
FIRST_STEPS = 2
"""Steps a ladder has at least."""


def ladder_section(
    study: Mapping[str, Any],
    scores: Sequence[Score],
    differences: Sequence[Difference],
    tables: Mapping[str, pl.DataFrame],
    measures: Measures,
) -> Section:
    """Arms on tests ever further away (S0-F2), and in how many trainings each was better (C5)."""
    blocks: list[Block] = []
    for place, ladder in enumerate(study.get("ladders", ()), start=1):
        shown = [one for one in scores if one.against in ladder]
        rows = ladder_rows(ladder, shown, differences, study["controls"][0])
        if len(rows) and rows["step"].n_unique() >= FIRST_STEPS:
            blocks.append(
                curves.shift_ladder(
                    rows,
                    measures,
                    score_figures.basis_of(scores_table(shown)),
                    name=f"ladder-{place}",
                    title=f"From {rows['data'][0]} further and further away",
                )
            )
    if blocks and "wins" in tables:
        caption = "How many trainings, of the same seed and fold, are better than the control's."
        blocks.append(Table("Training by training", tables["wins"], caption=caption))
    text = f"The gap is to {study['controls'][0]!r}." if blocks else ""
    return Section("Further and further away", text, tuple(blocks))


def attack_section(scores: Sequence[Score], measures: Measures) -> Section:
    """Loss and accuracy after every iteration of PGD (S0-F4)."""
    drawn = []
    for against in dict.fromkeys(one.against for one in scores):
        shown = [one for one in scores if one.against == against and one.stratum[:4] == "pgd/"]
        if shown:
            drawn.append(_attack_curve(shown, against, measures))
    text = (
        "Bounds are in units of 1/255 of the way from black to white. Iteration 0 is the same "
        "images before the attack."
    )
    return Section("Under attack, step by step", text if drawn else "", tuple(drawn))


def _attack_curve(shown: Sequence[Score], against: str, measures: Measures) -> Drawing:
    rows = []
    for one in shown:
        kind, bound, step = one.stratum.split("/")
        rows.append(
            {
                "arm": one.arm,
                "network": one.network,
                "attack": f"{kind.upper()} within {bound}/255",
                "iteration": int(step),
                "metric": one.metric,
                "value": one.value,
                "low": one.low,
                "high": one.high,
            }
        )
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    return curves.attack_curves(
        table.sort("metric", "attack", "network", "arm", "iteration", descending=False),
        measures,
        score_figures.basis_of(scores_table(shown)),
        x="iteration",
        unit="steps of a quarter of the bound",
        name=f"pgd-{file_name(against)}",
        title=f"Held against {against}",
    )


def confidence_section(
    study: Mapping[str, Any], scores: Sequence[Score], measures: Measures
) -> Section:
    """How sure models are when they are right, and when they are wrong (S0-35, S0-F3).

    Steps of a ladder are left out: it would be the same figure many times.
    """
    steps = {step for ladder in study.get("ladders", ()) for step in ladder}
    drawn = []
    for against in dict.fromkeys(one.against for one in scores if one.against not in steps):
        shown = [
            one
            for one in scores
            if (one.against, one.stratum) == (against, "all") and one.metric in CONFIDENCE
        ]
        if shown:
            drawn.append(
                score_figures.by_arm(
                    scores_table(shown),
                    measures,
                    name=f"confidence-{file_name(against)}",
                    title=f"Right or wrong by {against}",
                )
            )
    return Section("How sure, right or wrong", "", tuple(drawn))


def agreement_section(scores: Sequence[Score], measures: Measures) -> Section:
    """Where people agree and where they do not: who gains where (C21)."""
    shown = [one for one in scores if one.stratum in AGREEMENT]
    if not shown:
        return Section("Where people agree, and where not")
    drawn = score_figures.by_stratum(
        scores_table(shown), measures, name="agreement", title="By people's agreement"
    )
    return Section("Where people agree, and where not", "", (drawn,))


def file_name(against: str) -> str:
    """The part of a figure's file name that says whose labels it is about.

    >>> file_name("CIFAR-10S+hard")
    'cifar-10s-hard'
    """
    return re.sub(r"[^\w.]+", "-", against.lower()).strip("-")
