"""Turn the folder of a finished grid into what reports and pages are drawn from."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.provenance import Setting
from sfumato.studies.files import kind_of, read_settings, read_tables
from sfumato.studies.informativeness.answers import Told
from sfumato.studies.informativeness.study import SUBJECTS

__all__ = ["GridRun", "read_run"]


@dataclass(frozen=True, eq=False)
class GridRun:
    """A finished grid, read from its files."""

    study: dict[str, Any]
    """The fields of ``GridStudy`` as plain values."""
    versions: dict[str, Setting]
    seconds: float | None
    """How long the grid took; None where a later run found parts of it finished."""
    told: Told
    components: pl.DataFrame
    """Of a few worlds, for studies about information."""
    failed: pl.DataFrame
    """Cells that failed, with their reason."""

    @property
    def middle(self) -> int:
        """As ``GridStudy.middle``."""
        found = sorted(self.study["dimensions"])
        return int(found[len(found) // 2])


def read_run(folder: Path) -> GridRun:
    """Read a finished grid; a folder of anything else is an error that says so."""
    settings = read_settings(folder)
    if kind_of(settings) != "grid":
        raise DataError(
            f"{folder} holds the study {settings['study']['name']!r}, which is no grid."
        )
    tables = read_tables(folder)
    for name in ("grid", "thinned"):
        if name not in tables:
            raise DataError(
                f"{folder} has no tables/{name}.parquet: it is not the folder of a finished run. "
                "Finish it with `sfumato run`."
            )
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    study = settings["study"]
    return GridRun(
        study,
        settings["versions"],
        None if facts["found_finished"] else float(facts["seconds"]),
        Told(
            tables["grid"],
            tables["thinned"],
            tuple(study["map_sizes"]),
            tuple(study.get("subjects", SUBJECTS)),  # runs from before there was a choice
        ),
        tables.get("components", pl.DataFrame()),
        tables.get("failed", pl.DataFrame()),
    )
