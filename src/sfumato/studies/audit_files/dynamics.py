"""What beliefs over epochs tell: whether learning had ended, and the data map."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation import alignment
from sfumato.evaluation.cartography import (
    LAST_EPOCHS,
    REGIONS,
    DataMap,
    convergence_table,
    data_map,
    data_map_table,
)
from sfumato.labels import signals
from sfumato.labels.labelset import LabelSet
from sfumato.reporting.text import Finding, count
from sfumato.studies.audit_files.found import AuditedFiles
from sfumato.studies.audit_files.models import aligned_sentence
from sfumato.studies.audit_files.reading import Given
from sfumato.studies.audit_files.sentences import between, share_of
from sfumato.studies.audit_files.sources import AuditSettings

__all__ = ["about_data_map", "about_movement"]


def about_movement(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """Whether training had ended."""
    if given.watched is None or given.watched.shape[1] < 2:
        return
    table = convergence_table(given.watched)
    last = table.to_dicts()[-1]
    found.tables["convergence"], found.facts["convergence"] = table, last
    bounds = "" if last["low"] is None else f" [{last['low']:.4f}, {last['high']:.4f}]"
    text = (
        f"Into the last of {given.watched.shape[1]} epochs beliefs moved by {last['jsd']:.4f}"
        f"{bounds} bits an item (Jensen-Shannon, at most 1)."
    )
    found.findings["Learning"] = [Finding(text, "found")]


def about_data_map(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """The data map by the original labels, or by people's, and whether it follows people."""
    if given.watched is None:
        return
    target = given.people if given.original is None else given.original
    if target is None:
        found.remarks.append("A data map needs labels: give --labels or --original too.")
        return
    rows = _with_target(given.watched_items, target, found.remarks)
    kept = [given.watched_items[row] for row in rows]
    last = min(LAST_EPOCHS, given.watched.shape[1])
    mapped = data_map(given.watched[:, :, rows], target.take(kept), last=last)
    human = given.people
    if human is not None and not set(kept) <= set(human.items):
        human = None
    found.tables["data_map"] = data_map_table(mapped, arm="dynamics", human=human)
    by = "people" if given.original is None else "original"
    regions = {
        region: share_of(np.array(mapped.region) == region, rng, settings.draws)
        for region in REGIONS
    }
    found.facts["data_map"] = {
        "target": by,
        "items": len(kept),
        "seeds": mapped.seeds,
        "epochs": list(mapped.epochs),
        "regions": regions,
    }
    listed = ", ".join(f"{row['items']:,} {name} ({between(row)})" for name, row in regions.items())
    text = (
        f"Data map of {count(len(kept), 'item')} (target: {by} labels; epochs {mapped.epochs[0]} "
        f"to {mapped.epochs[1]} of {count(mapped.seeds, 'seed')}): {listed}."
    )
    found.findings.setdefault("Learning", []).append(Finding(text, "found"))
    if human is not None:
        _align_map(mapped, human.take(kept), settings, found, rng)


def _with_target(items: Sequence[str], target: LabelSet, remarks: list[str]) -> NDArray[np.integer]:
    """The places of the watched items that have a label."""
    known = set(target.items)
    rows = np.flatnonzero([item in known for item in items])
    if not len(rows):
        raise DataError(
            f"No watched item has a label: the first watched is {items[0]!r}, the first labelled "
            f"{target.items[0]!r}."
        )
    if len(rows) < len(items):
        remarks.append(f"{len(items) - len(rows):,} watched items have no label and no place.")
    return rows


def _align_map(
    mapped: DataMap,
    human: LabelSet,
    settings: AuditSettings,
    found: AuditedFiles,
    rng: np.random.Generator,
) -> None:
    aligned = alignment.uncertainty_alignment(
        {"entropy of people": signals.entropy(human)},
        {"confidence": mapped.confidence, "variability": mapped.variability},
        rng=rng,
        draws=settings.draws,
    ).select(pl.lit("dynamics").alias("model"), pl.all())
    before = found.tables.get("alignment")
    found.tables["alignment"] = aligned if before is None else pl.concat([before, aligned])
    found.facts["alignment"] = found.tables["alignment"].to_dicts()
    found.findings["Learning"] += [aligned_sentence(row) for row in aligned.to_dicts()]
