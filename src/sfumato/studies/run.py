"""Run a study end to end into one folder: labels, trainings, scores, audit, report.

The folder holds ``study.json`` (settings, versions, provenance), ``cells/`` (one finished
training each), ``predictions/``, ``scores.parquet``, ``differences.parquet``,
``tables/``, ``figures/``, ``datasheet.md`` and ``report.html``. A run that was stopped
continues where it was. A study of simulated worlds has a grid in place of trainings, one
of people's answers neither.
"""

from collections.abc import Callable
from pathlib import Path

from sfumato.learn.sweep import Engine, Progress
from sfumato.reporting.datasheet import datasheet_of, to_markdown
from sfumato.studies.analysis import analyse
from sfumato.studies.comparison.run import run_comparison
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.finished import Finished
from sfumato.studies.folder import write_findings
from sfumato.studies.hmix.run import run_hmix_study
from sfumato.studies.hmix.study import HMixStudy
from sfumato.studies.informativeness.run import run_grid_study
from sfumato.studies.informativeness.study import GridStudy
from sfumato.studies.page import draw_report
from sfumato.studies.rescore.run import run_rescore
from sfumato.studies.rescore.study import RescoreStudy
from sfumato.studies.study import AnyStudy
from sfumato.studies.took import timekeeping
from sfumato.studies.trainings import Trainings, run_trainings

__all__ = ["Finished", "run_study"]


def run_study(
    study: AnyStudy,
    folder: Path,
    *,
    data: Path | None,
    engine: Engine = "local",
    scheduler: str | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    stage: Callable[[str], None] = lambda name: None,
) -> Finished:
    """The main job. ``data`` is the folder of data sets; ``stage`` is told what begins."""
    with timekeeping(folder, progress) as watch:
        return _run(
            study,
            folder,
            data=data,
            engine=engine,
            scheduler=scheduler,
            progress=watch,
            stage=stage,
        )


def _run(
    study: AnyStudy,
    folder: Path,
    *,
    data: Path | None,
    engine: Engine,
    scheduler: str | None,
    progress: Callable[[Progress], None],
    stage: Callable[[str], None],
) -> Finished:
    if isinstance(study, GridStudy):
        return run_grid_study(
            study, folder, engine=engine, scheduler=scheduler, progress=progress, stage=stage
        )
    if isinstance(study, Comparison):
        return run_comparison(
            study,
            folder,
            data=data,
            engine=engine,
            scheduler=scheduler,
            progress=progress,
            stage=stage,
        )
    if isinstance(study, HMixStudy):
        return run_hmix_study(study, folder, data=data, stage=stage)
    if isinstance(study, RescoreStudy):
        return run_rescore(study, folder, data=data, stage=stage)
    stage("Labels and trainings")
    trainings = run_trainings(
        study, folder, data=data, engine=engine, scheduler=scheduler, progress=progress
    )
    stage("Scores and audit")
    write_findings(analyse(trainings), folder)
    _write_datasheet(trainings, folder / "datasheet.md")
    stage("Report")
    return Finished(draw_report(folder), len(trainings.done), len(trainings.failed))


def _write_datasheet(trainings: Trainings, path: Path) -> None:
    """What is known of the data set; what only its owner knows is left as questions (S4-54)."""
    material, split = trainings.material, trainings.split
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    sheet = datasheet_of(
        trainings.study.title,
        material.people,
        judgments=material.judgments,
        splits={name: len(items) for name, items in parts.items()},
    )
    path.write_text(to_markdown(sheet), encoding="utf-8")
