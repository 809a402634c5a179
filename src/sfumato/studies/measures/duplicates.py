"""Turn pictures into those that are there twice, and those that are in two parts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from sfumato.evaluation.duplicates import (
    NEAR,
    Duplicates,
    Pictures,
    find_duplicates,
    groups_table,
    leakage_table,
    pairs_table,
)
from sfumato.scores import Estimate, source_text
from sfumato.studies.data import Findings, Predictions, StudyData
from sfumato.studies.measures.trials import share_row

LEARNT = "train"
"""The part that is learnt: a picture of another part that is here too has leaked."""


def duplicates(data: StudyData, predictions: Predictions) -> Findings:
    """Duplicates in the parts of the first training, and what leaked between them."""
    if data.pictures is None or not predictions.runs:
        return Findings()
    split, names = predictions.runs[0].split, np.array(data.pictures.classes, dtype=object)
    parts = []
    for part, items in (
        (LEARNT, split.train),
        ("validation", split.validation),
        ("test", split.test),
    ):
        if items:
            taken = data.pictures.take(items)
            labels = tuple(names[taken.labels].tolist())
            parts.append(Pictures(data.study.data, part, items, taken.images, labels))
    return same_pictures(parts, near=data.study.near_duplicates)


def same_pictures(parts: Sequence[Pictures], *, near: bool) -> Findings:
    """Exact and near duplicates, those with other labels, and what is in two parts.

    A leak is about the pictures of ``part``, of which some are in the part ``against`` too.
    """
    found = find_duplicates(parts, near=NEAR if near else None)
    groups = groups_table(found, "near" if near else "exact")
    pairs = pairs_table(found).with_columns(
        labels_agree=pl.col("first_label") == pl.col("second_label")
    )
    source = source_text(pictures=[*dict.fromkeys(part.source for part in parts)])
    blank = Estimate("", 0.0, against="", items=len(found.pictures), source=source)
    kinds = ("exact", "near") if near else ("exact",)
    rows = [
        replace(blank, metric="pictures", value=len(found.pictures)),
        *(replace(blank, metric="pictures", value=len(p.items), part=p.split) for p in parts),
        replace(blank, metric="duplicated_pictures", value=len(groups)),
        *(
            replace(
                blank,
                metric="duplicated_pictures",
                value=groups.filter(pl.col("kind") == kind).height,
                stratum=kind,
            )
            for kind in kinds
        ),
        replace(blank, metric="duplicate_groups", value=groups["group"].n_unique()),
        replace(blank, metric="duplicate_pairs", value=len(pairs)),
        replace(
            blank,
            metric="duplicate_pairs",
            value=pairs.filter(~pl.col("labels_agree")).height,
            stratum="other label",
        ),
    ]
    leaks, leaked = _leaks(found, parts, blank)
    return Findings([*rows, *leaks], {"duplicates": groups, "pairs": pairs, **leaked})


def _leaks(
    found: Duplicates, parts: Sequence[Pictures], blank: Estimate
) -> tuple[list[Estimate], dict[str, pl.DataFrame]]:
    """Each pair of parts; what is learnt comes first, the others as they were given."""
    sizes = {part.split: len(part.items) for part in parts}
    rows, tables = [], []
    for learnt, tested in combinations(sorted(sizes, key=lambda part: part != LEARNT), 2):
        leaked = leakage_table(found, train=learnt, test=tested)
        tables.append(leaked.with_columns(split=pl.lit(tested), twin_split=pl.lit(learnt)))
        pair = replace(blank, part=tested, against=learnt, items=sizes[tested])
        rows.append(share_row(pair, "leaked_share", np.arange(sizes[tested]) < len(leaked)))
        rows += [
            replace(pair, metric="leaked_pictures", value=amount, stratum=stratum)
            for stratum, amount in (
                ("all", len(leaked)),
                ("exact", leaked.filter(pl.col("kind") == "exact").height),
                ("other label", leaked.filter(~pl.col("labels_agree")).height),
            )
        ]
    return rows, {"leakage": pl.concat(tables)} if tables else {}
