"""Whether soft answers follow the ambiguity that others' votes show (S3-18, S3-F5)."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from sfumato.evaluation.alignment import correlate
from sfumato.judgments.judgments import Judgments
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy, possible_labels, top_probability
from sfumato.reporting.draw import Basis
from sfumato.reporting.figures import curves
from sfumato.reporting.page import Section
from sfumato.scores import Difference

__all__ = [
    "POSSIBLE",
    "RANK_CORRELATION",
    "REFERENCE",
    "TABLE",
    "TOP",
    "tracking_differences",
    "tracking_section",
    "tracking_table",
]

TABLE = "tracking"
"""The name of the table in the folder of a run."""
RANK_CORRELATION = "rank_correlation"
TOP, POSSIBLE = "top probability", "possible labels"
REFERENCE = "reference entropy"
_COLUMNS = {TOP: "top_probability", POSSIBLE: "possible_labels"}


def tracking_table(answers: Judgments, labels: LabelSet, reference: LabelSet) -> pl.DataFrame:
    """An item a row: its label's top probability, how many classes people left possible on
    average, and the entropy of its reference label. ``labels`` are made of ``answers``."""
    items = answers.table["item"].to_numpy()
    place = {item: number for number, item in enumerate(labels.items)}
    codes = np.array([place[item] for item in items])
    stated = answers.statements
    return pl.DataFrame(
        {
            "item": labels.items,
            "top_probability": top_probability(labels),
            "possible_labels": possible_labels(
                stated.ruled_out[stated.index], codes, len(labels.items)
            ),
            "reference_entropy": entropy(reference.take(labels.items)),
        }
    )


def tracking_differences(tables: Mapping[str, pl.DataFrame]) -> list[Difference]:
    """Spearman's ρ of each with the reference entropy, with its interval over items."""
    if TABLE not in tables:
        return []
    table = tables[TABLE]
    found = {
        name: correlate(
            table[column].to_numpy(),
            table["reference_entropy"].to_numpy(),
            rng=np.random.default_rng(0),
        )
        for name, column in _COLUMNS.items()
    }
    return [
        Difference(
            RANK_CORRELATION,
            one.rho,
            name,
            REFERENCE,
            low=one.low,
            high=one.high,
            interval="items",
            items=one.items,
        )
        for name, one in found.items()
    ]


def tracking_section(tables: Mapping[str, pl.DataFrame]) -> Section:
    """The items as dots."""
    title = "Answers and ambiguity"
    if TABLE not in tables:
        return Section(title)
    table = tables[TABLE]
    drawing = curves.entropy_tracking(table, Basis(simulated=False, items=table.height))
    text = (
        "People who gave soft answers did not see the votes. Where these disagree more, a first "
        "choice that is less probable and more classes that are left possible say the same."
    )
    return Section(title, text, (drawing,))
