"""What pictures tell: duplicates, and what is in two splits."""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from sfumato.data import ImageSet
from sfumato.evaluation import duplicates
from sfumato.reporting.text import Finding, count
from sfumato.studies.audit_files.found import AuditedFiles
from sfumato.studies.audit_files.reading import Given
from sfumato.studies.audit_files.sentences import between, finding, first_named, share_of
from sfumato.studies.audit_files.sources import AuditSettings

__all__ = ["about_pictures"]


def about_pictures(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """Exact and near duplicates, those with other labels, and what is in two splits."""
    if given.pictures is None:
        return
    splits = Counter(given.pictures.split)
    same = duplicates.find_duplicates(
        _by_split(given.pictures, given.source), near=duplicates.NEAR if settings.near else None
    )
    groups = duplicates.groups_table(same, "near" if settings.near else "exact")
    pairs = duplicates.pairs_table(same).with_columns(
        labels_agree=pl.col("first_label") == pl.col("second_label")
    )
    found.tables.update(duplicates=groups, pairs=pairs)
    kinds = Counter(groups["kind"].to_list())
    disagree = pairs.filter(~pl.col("labels_agree"))
    leaks = _leaks(same, splits, found, rng, settings.draws)
    found.facts["pictures"] = {
        "pictures": len(given.pictures),
        "splits": dict(splits),
        "near_sought": settings.near,
        "groups": groups["group"].n_unique(),
        "exact": kinds["exact"],
        "near": kinds["near"] if settings.near else None,
        "pairs": len(pairs),
        "pairs_with_other_labels": len(disagree),
        "leakage": leaks,
    }
    near = f", {kinds['near']:,} a near one" if settings.near else " (near ones were not sought)"
    sure: list[Finding] = [
        finding(
            f"Of {count(len(given.pictures), 'picture')} {kinds['exact']:,} have an exact "
            f"duplicate{near}.",
            bool(len(groups)),
        ),
    ]
    if len(pairs):
        text = (
            f"{count(len(disagree), 'pair')} of {len(pairs):,} with different labels"
            f"{first_named(disagree['first_item'].to_list())}."
        )
        sure.append(finding(text, bool(len(disagree))))
    if len(splits) == 1:
        sure.append(Finding("There is one split, so no leakage between splits.", "not found"))
    for leak in leaks:
        sure.append(
            finding(
                f"{leak['items']:,} of {leak['of']:,} pictures of {leak['test']!r} "
                f"({between(leak)}) are in {leak['train']!r} too, {leak['exact']:,} of them "
                f"exactly; {leak['other_label']:,} with another label.",
                bool(leak["items"]),
            )
        )
    found.findings["Pictures"] = sure


def _by_split(pictures: ImageSet, source: str) -> list[duplicates.Pictures]:
    parts = []
    for split in dict.fromkeys(pictures.split):
        part = pictures.in_split(split)
        labels = tuple(pictures.classes[place] for place in part.labels)
        parts.append(duplicates.Pictures(source, split, part.items, part.images, labels))
    return parts


def _leaks(
    same: duplicates.Duplicates,
    splits: Mapping[str, int],
    found: AuditedFiles,
    rng: np.random.Generator,
    draws: int,
) -> list[dict[str, Any]]:
    """Each pair of splits; what is learnt from comes first: "train", then as in the table."""
    order = sorted(splits, key=lambda split: split != "train")
    rows, tables = [], []
    for train, test in combinations(order, 2):
        leaked = duplicates.leakage_table(same, train=train, test=test)
        tables.append(leaked.with_columns(split=pl.lit(test), twin_split=pl.lit(train)))
        inside = np.arange(splits[test]) < len(leaked)
        rows.append(
            {
                "train": train,
                "test": test,
                **share_of(inside, rng, draws),
                "exact": leaked.filter(pl.col("kind") == "exact").height,
                "other_label": leaked.filter(~pl.col("labels_agree")).height,
            }
        )
    if tables:
        found.tables["leakage"] = pl.concat(tables)
    return rows
