"""Settings, tables and report as files of a run's folder, whatever kind of study it is."""

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.learn.examples import device_name
from sfumato.reporting.draw import Drawing, save
from sfumato.reporting.page import Page, write

__all__ = [
    "Kind",
    "kind_of",
    "read_pictures",
    "read_settings",
    "read_tables",
    "start_folder",
    "write_pictures",
    "write_report",
    "write_tables",
]

Kind = Literal["trainings", "comparison", "grid", "hmix", "rescore"]
"""What a study is made of: networks that are trained and audited, a paper's table of trainings, a
grid of simulated worlds, answers of people about mixed images, or predictions that are stored."""

PACKAGES = ("sfumato", "numpy", "scipy", "polars", "torch", "scikit-learn")


def start_folder(
    folder: Path,
    *,
    kind: Kind,
    study: Mapping[str, Any],
    simulated: bool,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Make the folder and write ``study.json``; another study's folder is refused."""
    path = folder / "study.json"
    if path.is_file():
        known = read_settings(folder)["study"]["name"]
        if known != study["name"]:
            raise DataError(
                f"{folder} holds the study {known!r}; give {study['name']!r} another folder."
            )
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "kind": kind,
        "study": study,
        "versions": _versions(),
        "simulated": simulated,
        "provenance": provenance or {},
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    part.replace(path)


def _versions() -> dict[str, str]:
    """What else decides the numbers; the device is that of the machine which started the run."""
    packages = {package: version(package) for package in PACKAGES}
    return {"python": platform.python_version(), **packages, "device": device_name()}


def kind_of(settings: Mapping[str, Any]) -> Kind:
    """What kind of study ``study.json`` is about; it did not say so while there was one kind."""
    return settings.get("kind", "trainings")


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write ``tables/NAME.parquet``; tables of an earlier run that are not among them go."""
    place = folder / "tables"
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("*.parquet"):
        if old.stem not in tables:
            old.unlink()
    for name, table in tables.items():
        table.write_parquet(place / f"{name}.parquet")


def read_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """All tables of a run, by name."""
    paths = sorted((folder / "tables").glob("*.parquet"))
    return {path.stem: pl.read_parquet(path) for path in paths}


def write_pictures(pictures: Mapping[str, NDArray[np.uint8]], folder: Path) -> None:
    """Write ``pictures.npz``: images of one size, by item."""
    np.savez_compressed(
        folder / "pictures.npz",
        items=np.array(list(pictures), dtype=np.str_),
        images=np.array(list(pictures.values()), dtype=np.uint8),
    )


def read_pictures(folder: Path) -> dict[str, NDArray[np.uint8]]:
    """The inverse of ``write_pictures``."""
    with np.load(folder / "pictures.npz", allow_pickle=False) as stored:
        return dict(zip(stored["items"].tolist(), stored["images"], strict=True))


def write_report(page: Page, folder: Path) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Drawing):
                save(block, figures)
    path = folder / "report.html"
    write(page, path)
    return path


def read_settings(folder: Path) -> dict[str, Any]:
    """What ``study.json`` says: settings, versions, provenance."""
    path = folder / "study.json"
    if not path.is_file():
        raise DataError(f"{folder} has no study.json: it is not the folder of a run.")
    settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return settings
