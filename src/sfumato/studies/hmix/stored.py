"""A finished analysis of H-Mix as files of its folder, and back."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.provenance import Setting
from sfumato.studies.files import (
    kind_of,
    read_pictures,
    read_settings,
    read_tables,
    write_pictures,
    write_tables,
)
from sfumato.studies.hmix.analysis import Analysis

__all__ = ["HMixRun", "read_run", "write_analysis"]


@dataclass(frozen=True, eq=False)
class HMixRun:
    """A finished analysis, read from its files."""

    study: dict[str, Any]
    """The fields of ``HMixStudy`` as plain values."""
    versions: dict[str, Setting]
    provenance: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    facts: dict[str, Any]
    pictures: dict[str, NDArray[np.uint8]]

    def measured(self, part: str, measure: str, group: str) -> dict[str, Any] | None:
        """The row of one number: value, low, high, answers, mixes, people; None if it has none."""
        found = self.tables["measured"].filter(part=part, measure=measure, group=group)
        return found.row(0, named=True) if len(found) else None


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write ``tables/``, ``pictures.npz`` and ``facts.json``."""
    write_tables(analysis.tables, folder)
    write_pictures(analysis.pictures, folder)
    text = json.dumps(analysis.facts, indent=2)
    (folder / "facts.json").write_text(text + "\n", encoding="utf-8")


def read_run(folder: Path) -> HMixRun:
    """Read a finished analysis; a folder of anything else is an error that says so."""
    settings = read_settings(folder)
    if kind_of(settings) != "hmix":
        raise DataError(
            f"{folder} holds the study {settings['study']['name']!r}, which is not about H-Mix."
        )
    tables = read_tables(folder)
    facts = folder / "facts.json"
    if "measured" not in tables or not facts.is_file():
        raise DataError(
            f"{folder} is not the folder of a finished run. Finish it with `sfumato run`."
        )
    return HMixRun(
        settings["study"],
        settings["versions"],
        settings["provenance"],
        tables,
        json.loads(facts.read_text(encoding="utf-8")),
        read_pictures(folder),
    )
