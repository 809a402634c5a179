"""Findings as files of a run's folder, and back: what the report is drawn from."""

import json
from pathlib import Path

from sfumato.errors import DataError
from sfumato.scores import read_differences, read_scores, write_differences, write_scores
from sfumato.studies.analysis import Findings
from sfumato.studies.files import read_pictures, read_tables, write_pictures, write_tables

__all__ = ["read_findings", "write_findings"]


def write_findings(findings: Findings, folder: Path) -> None:
    """Write scores, differences, tables, pictures and facts."""
    write_scores(findings.scores, folder / "scores.parquet")
    write_differences(findings.differences, folder / "differences.parquet")
    write_tables(findings.tables, folder)
    write_pictures(findings.images, folder)
    text = json.dumps(findings.facts, indent=2)
    (folder / "facts.json").write_text(text + "\n", encoding="utf-8")


def read_findings(folder: Path) -> Findings:
    """The inverse of ``write_findings``; a folder without them is an error that says so."""
    for name in ("scores.parquet", "differences.parquet", "facts.json", "pictures.npz"):
        if not (folder / name).is_file():
            raise DataError(
                f"{folder} has no {name}: it is not the folder of a finished run. "
                "Finish it with `sfumato run`."
            )
    return Findings(
        read_scores(folder / "scores.parquet"),
        read_differences(folder / "differences.parquet"),
        read_tables(folder),
        read_pictures(folder),
        json.loads((folder / "facts.json").read_text(encoding="utf-8")),
    )
