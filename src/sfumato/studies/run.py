"""Run a study end to end into one folder, and read such a folder: one writer, one reader.

The folder holds ``study.toml`` (the study as resolved), ``run.json`` (versions, fingerprints, how
long it took), ``cells/`` (one finished training or group of worlds each, unless several runs share
a folder of them), ``judgments.parquet``
(answers of simulated people), ``labels/``, ``predictions/``, ``models/``, ``estimates.parquet``,
``tables/``, ``figures/``, ``datasheet.md`` and ``report.html``. A run that was stopped continues
where it was.
"""

import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from os.path import relpath
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from sfumato.data import data_folder
from sfumato.errors import DataError, SfumatoError
from sfumato.evaluation.metrics import usual_metrics
from sfumato.evaluation.models import Evaluation
from sfumato.evaluation.predictions import Kind
from sfumato.evaluation.score import Missing
from sfumato.frames import is_table
from sfumato.items.items import Items
from sfumato.judgments.formats import write as write_judgments
from sfumato.labels.files import write_labels
from sfumato.learn.examples import device_name
from sfumato.learn.model import Model, plain_settings
from sfumato.learn.sweep import (
    Cell,
    Engine,
    FailedCell,
    FinishedCell,
    Progress,
    fingerprint,
    run_sweep,
)
from sfumato.names import find
from sfumato.provenance import Step, is_simulated, to_json
from sfumato.reporting.answers import report as report_answers
from sfumato.reporting.datasheet import datasheet_of, to_markdown
from sfumato.reporting.evaluation import report_evaluation
from sfumato.reporting.page import Page
from sfumato.scores import Estimates
from sfumato.studies.audit import Audit, draw_audit, write_audit
from sfumato.studies.audit import audit as audit_sources
from sfumato.studies.audit_sources import AuditSettings, AuditSources
from sfumato.studies.cell import TextExamples, image_vectors, pretrain
from sfumato.studies.claims import LEFT_OUT, NEEDED, looked_at, read_claims
from sfumato.studies.data import (
    CELLS,
    Condition,
    Findings,
    Predictions,
    RunFolder,
    StudyData,
    Timing,
    TrainingRun,
    join_findings,
    keep_best_seeds,
)
from sfumato.studies.measures import MEASURES
from sfumato.studies.pages import SECTIONS, write_report
from sfumato.studies.results import write_results
from sfumato.studies.sources import load_data
from sfumato.studies.study import (
    Searched,
    Size,
    Study,
    read_study,
    study_settings,
    study_text,
    with_arms,
)
from sfumato.studies.trainings import examples_for, folder_name, run_trainings
from sfumato.studies.worlds import world_cells

PACKAGES = ("sfumato", "numpy", "scipy", "polars", "torch", "scikit-learn")


@dataclass(frozen=True)
class Runner:
    """Where and how cells run, and who is told about it."""

    data: Path | None = None
    """The folder of datasets."""
    engine: Engine = "local"
    scheduler: str | None = None
    progress: Callable[[Progress], None] = lambda progress: None
    stage: Callable[[str], None] = lambda name: None
    """Told what begins."""
    trainings: Path | None = None
    """A folder of finished trainings that several runs share; None: the run's own."""

    def sweep(self, cells: Sequence[Cell], run: RunFolder) -> Sequence[FinishedCell | FailedCell]:
        """Run the cells that neither the run's folder nor the shared one holds yet."""
        return run_sweep(
            cells, run.trainings, engine=self.engine, scheduler=self.scheduler,
            progress=self.progress, earlier=(run.folder / CELLS,),
        )  # fmt: skip


class Run(RunFolder):
    """A run whose report can be drawn."""

    def report(self) -> Path:
        """Draw the report again from the files alone; returns its path."""
        return write_report(self)


def run_study(study: Study, folder: Path, runner: Runner | None = None) -> Run:
    """The main job: data, cells, measures, report; whatever a study leaves empty is skipped."""
    runner = runner or Runner()
    measures = {name: find(MEASURES, name, what="measure") for name in study.measures}
    for name in study.sections:
        find(SECTIONS, name, what="section of a report")  # before hours of training
    with _timed(folder, runner) as watched:
        watched.stage("Data and labels")
        loaded = load_data(study, watched.data)
        run = _start(loaded, folder, watched.trainings)
        _keep_simulated_answers(loaded, run)
        data = _with_label_files(loaded, folder)
        predictions = _run_cells(data, run, watched)
        watched.stage("Measures")
        if study.networks and study.seeds_kept == "best":
            predictions = keep_best_seeds(data, predictions)
        found = {name: measure(data, predictions) for name, measure in measures.items()}
        watched.stage("Each seed left out")
        left_out = Findings(tables={"left_out": leave_seeds_out(data, predictions, found)})
        _write_findings(join_findings([*found.values(), left_out], study.name), predictions, folder)
        _write_datasheet(loaded, predictions, folder)
        watched.stage("Report")
    run = Run.open(folder)
    run.report()
    return run


def _run_cells(data: StudyData, run: Run, runner: Runner) -> Predictions:
    study = data.study
    if study.networks:
        if data.examples is not None and study.heads:
            runner.stage("Vectors of the images")
            for network in study.networks:
                examples_for(data, network)
        runner.stage("Trainings")
        runs = run_trainings(data, lambda cells: runner.sweep(cells, run))
        predictions = Predictions(runs)
        _write_trainings(data, predictions, run.folder)
        return predictions
    if study.worlds is not None:
        runner.stage("Simulated worlds")
        cells = tuple(runner.sweep(world_cells(study), run))
        if not any(isinstance(cell, FinishedCell) for cell in cells):
            first = cells[0]
            assert isinstance(first, FailedCell)
            raise DataError(f"Every world failed; the first, {first.cell.name}: {first.reason}")
        return Predictions(cells=cells)
    return Predictions()


FEWEST_SEEDS = 3
"""With fewer, leaving one out leaves none to tell an effect from chance by."""


def leave_seeds_out(
    data: StudyData, predictions: Predictions, found: Mapping[str, Findings]
) -> pl.DataFrame:
    """What claims are judged by, once more without each seed, which the column ``left_out`` names.

    ``found`` is what each measure found with all seeds; those that claims look at are taken again,
    by the metrics that claims name. Numbers that no seed is behind stay as they are.
    """
    study = data.study
    claims = [one for one in read_claims(study.beside or study.name) if one.metric]
    tables = {
        name: looked_at(claims, Estimates.of(one.estimates).table) for name, one in found.items()
    }
    again = [name for name, table in tables.items() if table["seeds"].list.len().sum()]
    seeds = predictions.seeds
    if not again or len(seeds) < FEWEST_SEEDS:
        return pl.DataFrame()
    fixed = [table for name, table in tables.items() if name not in again]
    narrow = _with_metrics(data, {one.metric for one in claims})
    without = []
    for seed in seeds:
        fewer = predictions.without(seed)
        rows = [row for name in again for row in MEASURES[name](narrow, fewer).estimates]
        table = pl.concat([*fixed, looked_at(claims, Estimates.of(rows).table)])
        without.append(table.with_columns(pl.lit(seed).alias(LEFT_OUT), study=pl.lit(study.name)))
    return pl.concat(without).select("study", LEFT_OUT, *NEEDED)


def _with_metrics(data: StudyData, named: Set[str]) -> StudyData:
    """The same with no other metrics than these, where the study measures any of them."""
    known = data.study.metrics or (usual_metrics(data.people) if data.study.networks else ())
    kept = tuple(metric for metric in known if metric in named)
    return replace(data, study=data.study.model_copy(update={"metrics": kept})) if kept else data


def _start(data: StudyData, folder: Path, trainings: Path | None) -> Run:
    """Make the folder; another study's folder is refused.

    Where trainings are shared is noted, so that the run goes on there also when nobody says so.
    """
    if (folder / "study.toml").is_file() or (folder / "study.json").is_file():
        known = Run.open(folder).study.name
        if known != data.study.name:
            raise DataError(
                f"{folder} holds the study {known!r}; give {data.study.name!r} another folder."
            )
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "study.toml", study_text(data.study, folder))
    before = _read_info(folder)
    shared = before.get("trainings", CELLS) if trainings is None else relpath(trainings, folder)
    info = {
        "versions": _versions(),
        "simulated": data.simulated or data.study.worlds is not None,
        "fingerprint": study_fingerprint(data),
        "missing": list(data.missing),
        "corrupted elsewhere": bool(data.corrupted),
        "trainings": shared,
        "timing": before.get("timing", {}),
    }
    _write_info(folder, info)
    return Run.open(folder)


def study_fingerprint(data: StudyData) -> str:
    """SHA-256 over everything that decides the numbers but the versions."""
    known = {
        "settings": json.dumps(study_settings(data.study), sort_keys=True),
        "labels": dict(data.labels),
        "examples": data.examples,
        **({} if data.texts is None else {"texts": data.texts.fingerprint}),
        "predictions": dict(data.predictions),
        "provenance": json.dumps(to_json(data.provenance)),
    }
    return fingerprint(Cell("all data", pretrain, known))


def _keep_simulated_answers(data: StudyData, run: Run) -> None:
    """Answers that lie in no file, so that a number leads back to them too."""
    if data.judgments is not None and is_simulated(data.judgments.provenance):
        write_judgments(data.judgments, run.judgments_file, "sfumato")


def _with_label_files(data: StudyData, folder: Path) -> StudyData:
    """Keeps every label set as a file; from here on its provenance is that file."""
    place = folder / "labels"
    place.mkdir(exist_ok=True)
    pointed = {}
    for name, labels in data.labels.items():
        path = place / f"{name.replace('/', '-')}.parquet"
        write_labels(labels, path)
        step = Step(
            "labels", {"file": f"labels/{path.name}"}, simulated=is_simulated(labels.provenance)
        )
        pointed[name] = replace(labels, provenance=(step,))
    return replace(data, labels=pointed)


def _write_trainings(data: StudyData, predictions: Predictions, folder: Path) -> None:
    """Predictions and models of every training, and ``trainings.parquet`` that leads from them to
    what was learnt."""
    rows = []
    for run in predictions.runs:
        key, result = run.key, run.result
        rows.append(
            {
                "arm": key.arm,
                "network": key.network,
                "seed": key.seed,
                "fold": key.fold,
                "predictions": run.file,
                "cell": result.fingerprint if isinstance(result, FinishedCell) else "",
                "failed": result.reason if isinstance(result, FailedCell) else "",
                "learnt": json.dumps(to_json(run.target.labels.provenance)),
            }
        )
        if run.done:
            _write_predictions(run, folder)
            _write_model(data, run, folder)
    pl.DataFrame(rows).write_parquet(folder / "trainings.parquet")


def _write_predictions(run: TrainingRun, folder: Path) -> None:
    place = folder / run.file
    place.mkdir(parents=True, exist_ok=True)
    for array in run.arrays:
        path = place / f"{array.replace('/', ' ')}.parquet"
        part, condition = read_array_name(array)
        if not path.is_file():
            write_labels(run.beliefs(part, condition), path)


def read_array_name(name: str) -> tuple[str, Condition]:
    """The part and condition that ``Condition.array`` made a name of.

    >>> read_array_name("test/pgd/4/9")
    ('test', Condition(attack='pgd', bound=4.0, step=9))
    """
    part, *rest = name.split("/")
    if not rest:
        return part, Condition()
    bound = float(rest[1]) if len(rest) > 1 else None
    return part, Condition(rest[0], bound, int(rest[2]) if len(rest) > 2 else None)


def _write_model(data: StudyData, run: TrainingRun, folder: Path) -> None:
    """The network of a training as a ``Model``, if weights are kept."""
    weights = run.weights()
    path = folder / "models" / f"{folder_name(data.study, run.key)}.safetensors"
    if not weights or (path.is_file() and path.with_suffix(".json").is_file()):
        return
    key, target, size = run.key, run.target, data.study.own.size
    shown = _shown(data, run)
    recipe = asdict(data.study.recipe_of(key.network, key.seed))
    recipe["learning_rate"] = run.chosen.get("rate", recipe["learning_rate"])
    settings = plain_settings({**recipe, "presentation": target.presentation})
    about = {**settings, "study": data.study.name, "arm": key.arm, "fold": key.fold}
    Model(
        network=recipe["network"],
        classes=target.labels.classes,
        kind=shown.kind,
        shape=shown.shape,
        encoder=shown.encoder,
        weights=weights,
        size=(size[0], size[1]) if size else None,
        recipe=settings,
        history=tuple(run.history),
        best_epoch=_kept_epoch(run, recipe["weights"]),
        trained_on=len(run.split.train),
        validated_on=len(run.split.validation),
        provenance=(
            *target.labels.provenance,
            Step("train", about, simulated=target.simulated),
        ),
    ).save(path)


def _shown(data: StudyData, run: TrainingRun) -> Items:
    """An item as the network of a training saw it."""
    examples = data.examples or examples_for(data, run.key.network)
    if isinstance(examples, TextExamples):
        return examples.vectors(run.split.train, run.split.train[:1])
    assert examples is not None
    first, head = examples.take(examples.items[:1]), data.study.heads.get(run.key.network)
    if head is not None:
        return image_vectors(first, head.encoder)
    return Items(first.items, first.images, "images")


def _kept_epoch(run: TrainingRun, weights: str) -> int:
    """The epoch whose weights were kept; 0 where nothing was learnt."""
    losses = [row.get("validation_loss", np.inf) for row in run.history]
    return int(np.argmin(losses)) + 1 if losses and weights == "best" else len(losses)


def _write_findings(found: Findings, predictions: Predictions, folder: Path) -> None:
    Estimates.of(found.estimates).write(folder / "estimates.parquet")
    tables = dict(found.tables)
    if predictions.failed:
        rows = [{"cell": one.cell.name, "reason": one.reason} for one in predictions.failed]
        tables["failed"] = pl.DataFrame(rows)
    if any(run.chosen for run in predictions.runs):
        tables["chosen"] = chosen_settings(predictions)
    place = folder / "tables"
    place.mkdir(exist_ok=True)
    for old in place.glob("*.parquet"):
        if old.stem not in tables:
            old.unlink()  # of an earlier run of the same folder
    for name, table in tables.items():
        table.write_parquet(place / f"{name}.parquet")
    if found.pictures:
        np.savez_compressed(
            folder / "pictures.npz",
            items=np.array(list(found.pictures), dtype=np.str_),
            images=np.array(list(found.pictures.values()), dtype=np.uint8),
        )


def chosen_settings(predictions: Predictions) -> pl.DataFrame:
    """What every training chose on its validation part, one row per value that it tried."""
    rows = [
        {**asdict(run.key), "setting": what, "value": tried[what],
         "validation_loss": tried["validation_loss"], "chosen": tried[what] == run.chosen[what]}
        for run in predictions.runs
        for what in get_args(Searched)
        for tried in run.chosen.get(f"{what}s", [])
    ]  # fmt: skip
    return pl.DataFrame(rows)


def _write_datasheet(data: StudyData, predictions: Predictions, folder: Path) -> None:
    """What is known of the data; what only its owner knows is left as questions (S4-54).

    Answers are told of where the labels that networks are tested by are made of them.
    """
    if not data.labels or not predictions.runs:
        return
    steps = () if data.judgments is None else data.judgments.provenance
    answered = data.people.provenance[: len(steps)] == steps
    split = predictions.runs[0].split
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    sheet = datasheet_of(
        data.study.title,
        data.people,
        judgments=data.judgments if answered else None,
        splits={name: len(items) for name, items in parts.items() if items},
    )
    _write(folder / "datasheet.md", to_markdown(sheet))


@contextmanager
def _timed(folder: Path, runner: Runner) -> Iterator[Runner]:
    """The runner, whose time is added to what earlier sittings in the folder took.

    It is noted after every cell, so that a run that is killed has been counted. A run that found
    everything finished adds nothing, unless it is the first in its folder.
    """
    before, started = Timing(**_read_info(folder).get("timing", {})), time.monotonic()
    idle = False
    sweeps: list[Progress] = []  # the last word of each; a run may have several, one by one

    def note() -> None:
        now = Timing(
            round(before.seconds + time.monotonic() - started, 1),
            round(before.cell_seconds + sum(one.cell_seconds for one in sweeps), 1),
            before.work + sum(one.work for one in sweeps),
            before.found if before.seconds else sum(one.found for one in sweeps),
        )
        _write_info(folder, {**_read_info(folder), "timing": asdict(now)})

    def watch(state: Progress) -> None:
        nonlocal idle
        idle = state.done + state.failed == state.found
        if idle or not sweeps:  # every sweep begins with what it finds
            sweeps.append(state)
        else:
            sweeps[-1] = state
        if not idle:
            note()
        runner.progress(state)

    yield replace(runner, progress=watch)
    if not idle or not before.seconds:
        note()


def _versions() -> dict[str, str]:
    """What else decides the numbers; the device is that of the machine which started the run."""
    packages = {package: version(package) for package in PACKAGES}
    return {"python": platform.python_version(), **packages, "device": device_name()}


def _read_info(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _write_info(folder: Path, info: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "run.json", json.dumps(info, indent=2) + "\n")


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a run may be killed at any moment."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


# Run a study, audit what one was handed, report on anything: in one call each.


def choose_study(
    study: str | Path | Study,
    *,
    size: Size = "cpu",
    seeds: int | None = None,
    arms: Sequence[str] | None = None,
    networks: Sequence[str] | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Study:
    """A study by its name or TOML file, with what differs from the file.

    ``settings`` change anything by its dotted name, such as ``{"training.batch_size": 32}``.
    """
    named = {
        "seeds": seeds,
        "networks": None if networks is None else list(networks),
        "training.epochs": epochs,
    }
    changes = dict(settings or {}) | {
        key: value for key, value in named.items() if value is not None
    }
    if isinstance(study, Study):
        if changes:
            raise DataError(
                f"{next(iter(changes))!r} changes a study's file; this study has been read already."
            )
        chosen = study
    else:
        chosen = read_study(str(study), size, changes=changes)
        if epochs is not None and chosen.dynamics is not None:
            both = changes | {"dynamics.epochs": epochs}
            chosen = read_study(str(study), size, changes=both)
    if not chosen.networks and not chosen.worlds and seeds is not None:
        raise DataError(f"The study {chosen.name!r} trains nothing, so it has no seeds to count.")
    return chosen if arms is None else with_arms(chosen, tuple(arms))


def run(
    study: str | Path | Study,
    folder: str | Path | None = None,
    *,
    size: Size = "cpu",
    seeds: int | None = None,
    arms: Sequence[str] | None = None,
    networks: Sequence[str] | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    runner: Runner | None = None,
) -> Run:
    """Run a study end to end: labels, trainings, evaluation, audit, report.

    The folder, by default ``runs/STUDY``, keeps everything; a run that was stopped goes on where
    it was. ``runner`` says where data lies and on what machines the work is done.
    """
    chosen = choose_study(
        study, size=size, seeds=seeds, arms=arms, networks=networks, epochs=epochs,
        settings=settings,
    )  # fmt: skip
    target = Path(folder) if folder is not None else Path("runs") / chosen.name
    return run_study(chosen, target, runner or Runner(data_folder()))


Watch = Callable[[Study], AbstractContextManager[Callable[[Progress], None]]]
"""Somebody who is told how far the trainings of a study are."""


def run_paper(
    studies: Sequence[Study], folder: Path, results: Path, runner: Runner, watch: Watch
) -> dict[str, str]:
    """Run studies one after the other, each into a folder of ``folder``; results after each.

    They share one folder of trainings. A study that cannot run does not stop the others; returned
    is why it could not, by its name. What was stopped goes on where it was.
    """
    shared = replace(runner, trainings=runner.trainings or folder / "trainings")
    failed = {}
    for study in studies:
        runner.stage(f"{study.name}: {study.title}")
        try:
            with watch(study) as progress:
                run_study(study, folder / study.name, replace(shared, progress=progress))
            write_results([folder / study.name], results)
        except SfumatoError as error:
            failed[study.name] = str(error)
    return failed


def audit(
    labels: object = None,
    predictions: Mapping[str, object] | None = None,
    *,
    judgments: object = None,
    format: str | None = None,
    recipe: str | None = None,
    original: object = None,
    images: str | Path | None = None,
    table: str | Path | None = None,
    dynamics: str | Path | None = None,
    classes: Sequence[str] | None = None,
    kind: Kind = "probabilities",
    missing: Missing = "error",
    near: bool = True,
    draws: int = 1000,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Audit:
    """Everything that labels, answers, pictures and predictions tell; all are optional but one.

    Duplicates and leakage, label variation, mode shift, data maps, how models align with people.
    ``predictions`` are by model, a list of several being its seeds. With a ``folder`` the tables
    and the page are written there.

    >>> people = [{"item": 1, "cat": 0.5, "dog": 0.5}, {"item": 2, "cat": 1, "dog": 0}]
    >>> len(audit(people).estimates) > 0
    True
    """
    named = [
        (name, one)
        for name, given in (predictions or {}).items()
        for one in (given if isinstance(given, list) and not is_table(given) else [given])
    ]
    sources = AuditSources(
        labels=labels,
        judgments=judgments,
        format=format,
        recipe=recipe,
        original=original,
        images=_path(images),
        table=_path(table),
        predictions=tuple(named),
        dynamics=_path(dynamics),
    )
    settings = AuditSettings(tuple(classes) if classes else None, kind, missing, near, draws, seed)
    audited = audit_sources(sources, settings)
    if folder is not None:
        write_audit(audited, Path(folder))
        draw_audit(audited, Path(folder))
    return audited


def report(source: object, path: str | Path | None = None, **options: Any) -> Path | Page:
    """One page about a run, an evaluation, or people's answers.

    A run (or its folder) draws its report again; an evaluation needs a ``path`` to write to;
    answers are judgments or whatever ``read`` reads, written where a ``path`` is given. Options
    are ``title``, ``text``, ``pictures``, and for answers those of ``read``.
    """
    if isinstance(source, str | Path) and (Path(source) / "run.json").is_file():
        source = Run.open(source)
    if isinstance(source, Run):
        return write_report(source, None if path is None else Path(path))
    if isinstance(source, Evaluation):
        return report_evaluation(source, path or "report.html", **options)
    return report_answers(source, path, **options)


def _path(file: str | Path | None) -> Path | None:
    return None if file is None else Path(file)
