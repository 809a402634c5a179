"""Score stored predictions into one folder: scores, differences, figures and a report."""

import json
from collections.abc import Callable
from pathlib import Path

from sfumato.data import load
from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build
from sfumato.provenance import to_json
from sfumato.scores import write_differences, write_scores
from sfumato.studies.files import start_folder, write_pictures, write_tables
from sfumato.studies.finished import Finished
from sfumato.studies.rescore.measured import rescore
from sfumato.studies.rescore.page import draw_rescore_report
from sfumato.studies.rescore.stored import read_stored
from sfumato.studies.rescore.study import RescoreStudy
from sfumato.studies.study import study_to_json

__all__ = ["run_rescore"]


def run_rescore(
    study: RescoreStudy,
    folder: Path,
    *,
    data: Path | None,
    stage: Callable[[str], None] = lambda name: None,
) -> Finished:
    """Read, score, draw; ``data`` is the folder of data sets, ``stage`` is told what begins."""
    if data is None:
        raise DataError("The study needs CIFAR-10H: set SFUMATO_DATA to the folder of data sets.")
    stage("Votes and predictions")
    votes = read(data / "cifar10h" / "cifar10h-counts.npy", "cifar10h", ReadOptions())
    assert isinstance(votes, Judgments)
    people = build(votes, "votes").crowd.mean()
    networks = read_stored(data, people.classes)
    pictures = load("cifar10", "test", data)
    start_folder(
        folder,
        kind="rescore",
        study=study_to_json(study),
        simulated=False,
        provenance={"people": to_json(people.provenance)},
    )
    stage("Scores and intervals")
    found = rescore(people, pictures.original().take(people.items), networks, study)
    write_scores(found.scores, folder / "scores.parquet")
    write_differences(found.differences, folder / "differences.parquet")
    write_tables(found.tables, folder)
    shown = list(dict.fromkeys(found.tables["gallery"]["item"]))
    write_pictures(dict(zip(shown, pictures.take(shown).images, strict=True)), folder)
    text = json.dumps(found.facts, indent=2)
    (folder / "facts.json").write_text(text + "\n", encoding="utf-8")
    stage("Report")
    return Finished(draw_rescore_report(folder), done=1, failed=0)
