"""Run a study, audit what one was handed, report on anything: in one call each."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.data import data_folder
from sfumato.errors import DataError
from sfumato.evaluation.models import Evaluation
from sfumato.evaluation.predictions import Kind
from sfumato.evaluation.score import Missing
from sfumato.frames import is_table
from sfumato.reporting.answers import report as report_answers
from sfumato.reporting.evaluation import report_evaluation
from sfumato.reporting.page import Page
from sfumato.studies.audit import Audit, draw_audit, write_audit
from sfumato.studies.audit import audit as audit_sources
from sfumato.studies.audit_sources import AuditSettings, AuditSources
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.study import Size, Study, read_study, with_arms


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
        page = source.report()
        return page if path is None else Path(shutil.copyfile(page, path))
    if isinstance(source, Evaluation):
        return report_evaluation(source, path or "report.html", **options)
    return report_answers(source, path, **options)


def _path(file: str | Path | None) -> Path | None:
    return None if file is None else Path(file)
