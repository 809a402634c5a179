"""Findings as files of a run's folder, and back: what the report is drawn from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.scores import read_differences, read_scores, write_differences, write_scores
from sfumato.studies.analysis import Findings

__all__ = ["read_findings", "read_settings", "write_findings"]


def write_findings(findings: Findings, folder: Path) -> None:
    """Write scores, differences, tables, pictures and facts."""
    write_scores(findings.scores, folder / "scores.parquet")
    write_differences(findings.differences, folder / "differences.parquet")
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for old in tables.glob("*.parquet"):
        if old.stem not in findings.tables:
            old.unlink()
    for name, table in findings.tables.items():
        table.write_parquet(tables / f"{name}.parquet")
    np.savez_compressed(
        folder / "pictures.npz",
        items=np.array(list(findings.images), dtype=np.str_),
        images=np.array(list(findings.images.values()), dtype=np.uint8),
    )
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
    with np.load(folder / "pictures.npz", allow_pickle=False) as stored:
        images = dict(zip(stored["items"].tolist(), stored["images"], strict=True))
    tables = sorted((folder / "tables").glob("*.parquet"))
    return Findings(
        read_scores(folder / "scores.parquet"),
        read_differences(folder / "differences.parquet"),
        {path.stem: pl.read_parquet(path) for path in tables},
        images,
        json.loads((folder / "facts.json").read_text(encoding="utf-8")),
    )


def read_settings(folder: Path) -> dict[str, Any]:
    """What ``study.json`` says: settings, versions, provenance."""
    path = folder / "study.json"
    if not path.is_file():
        raise DataError(f"{folder} has no study.json: it is not the folder of a run.")
    settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return settings
