"""What an audit found: sentences, numbers and tables, and the same as plain values for JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.provenance import Provenance
from sfumato.reporting.datasheet import Datasheet
from sfumato.reporting.text import Finding

__all__ = ["TABLES", "AuditedFiles", "told"]

TABLES: dict[str, str] = {
    "duplicates": "Pictures that have a duplicate",
    "pairs": "Pairs of duplicates, closest first",
    "leakage": "Pictures that are in two splits",
    "strata": "Strata of label variation",
    "differs": "Items whose most frequent human class is not the original label",
    "concentration": "Share of all doubt in the most doubtful items",
    "correlations": "Signals of ambiguity, correlated",
    "alignment": "People's doubt against the models' confidence",
    "entropy": "Entropy of people's labels and of models",
    "modes": "Models that learnt from original, majority and soft labels",
    "gains": "What softness adds to the majority vote",
    "data_map": "Data map",
    "convergence": "How far predictions still move",
    "interest": "Samples of interest",
    "kinds": "All items with their kind of interest",
    "alternatives": "The same first guess, other alternatives",
    "leaderboard": "Closest to people first",
}
"""Every table an audit can write, with its title."""


@dataclass(frozen=True, eq=False)
class AuditedFiles:
    """What was found: sentences and numbers by part of the audit, and the tables behind them."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    bars: pl.DataFrame | None = None
    """What people and models believe of the most doubtful pictures."""
    images: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    sheet: Datasheet | None = None
    simulated: bool = False
    provenance: Provenance = ()


def told(audited: AuditedFiles) -> dict[str, Any]:
    """The findings as plain values, ready for JSON; what is no number is None."""
    return {
        "simulated": audited.simulated,
        **{name: _plain(fact) for name, fact in audited.facts.items()},
        "findings": [
            {"part": part, "text": one.text, "kind": one.kind}
            for part, findings in audited.findings.items()
            for one in findings
        ],
        "remarks": list(audited.remarks),
        "tables": {name: len(table) for name, table in audited.tables.items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
