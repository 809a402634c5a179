"""Analyse the release of H-Mix into one folder: tables, pictures, figures and a report."""

from collections.abc import Callable
from pathlib import Path

from sfumato.provenance import to_json
from sfumato.studies.files import start_folder
from sfumato.studies.finished import Finished
from sfumato.studies.hmix.analysis import analyse
from sfumato.studies.hmix.material import read_material
from sfumato.studies.hmix.page import draw_hmix_report
from sfumato.studies.hmix.stored import write_analysis
from sfumato.studies.hmix.study import HMixStudy
from sfumato.studies.study import study_to_json

__all__ = ["run_hmix_study"]


def run_hmix_study(
    study: HMixStudy,
    folder: Path,
    *,
    data: Path | None,
    stage: Callable[[str], None] = lambda name: None,
) -> Finished:
    """Read, analyse, draw; ``data`` is the folder of data sets, ``stage`` is told what begins."""
    stage("Answers and images")
    material = read_material(data)
    start_folder(
        folder,
        kind="hmix",
        study=study_to_json(study),
        simulated=False,
        provenance={"hmix": to_json(material.provenance)},
    )
    stage("Numbers and intervals")
    write_analysis(analyse(material, study), folder)
    stage("Report")
    return Finished(draw_hmix_report(folder), done=1, failed=0)
