"""Read the folder of a finished run, whatever kind it is, into a ``Result``."""

from pathlib import Path
from typing import assert_never

from sfumato.studies.files import kind_of, read_settings
from sfumato.studies.results.comparison import told_by_comparison
from sfumato.studies.results.grid import told_by_grid
from sfumato.studies.results.hmix import told_by_hmix
from sfumato.studies.results.rescore import told_by_rescore
from sfumato.studies.results.result import Result
from sfumato.studies.results.settings import configuration_fingerprint, size_of
from sfumato.studies.results.told import Told
from sfumato.studies.results.trainings import told_by_trainings
from sfumato.studies.took import read_took

__all__ = ["read_result"]

MOST_FIGURES = 4
"""On a page; the report of the run has all."""


def read_result(folder: Path) -> Result:
    """What the run says; a folder without a finished run is an error that says so."""
    settings = read_settings(folder)
    study, told, took = settings["study"], _told(folder), read_took(folder)
    return Result(
        name=study["name"],
        title=study["title"],
        about=study["about"],
        size=size_of(study),
        seeds=study.get("seeds"),
        seconds=None if took is None else took.seconds,
        simulated=bool(settings["simulated"]),
        fingerprint=configuration_fingerprint(settings),
        versions=settings["versions"],
        claims=told.claims,
        scores=told.scores,
        parts=told.parts,
        figures=_figures(folder, told.figures),
    )


def _figures(folder: Path, wanted: tuple[str, ...]) -> tuple[Path, ...]:
    """The first figures of the run whose names begin so."""
    drawn = sorted((folder / "figures").glob("*.svg"))
    found = [path for begin in wanted for path in drawn if path.stem.startswith(begin)]
    return tuple(dict.fromkeys(found))[:MOST_FIGURES]


def _told(folder: Path) -> Told:
    kind = kind_of(read_settings(folder))
    match kind:
        case "trainings":
            return told_by_trainings(folder)
        case "comparison":
            return told_by_comparison(folder)
        case "grid":
            return told_by_grid(folder)
        case "hmix":
            return told_by_hmix(folder)
        case "rescore":
            return told_by_rescore(folder)
        case _:
            assert_never(kind)
