"""Run a comparison into one folder: trainings, scores, differences, report.

The folder holds ``study.json`` (settings, versions), ``cells/`` (one finished training each),
``scores.parquet``, ``differences.parquet``, ``tables/``, ``facts.json``, ``figures/`` and
``report.html``. A run that was stopped continues where it was.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.fit import kept_weights
from sfumato.learn.folds import Split
from sfumato.learn.sweep import (
    Cell,
    Engine,
    FailedCell,
    FinishedCell,
    Progress,
    fingerprint,
    run_sweep,
)
from sfumato.learn.train import Recipe, Weights
from sfumato.names import find
from sfumato.scores import write_differences, write_scores
from sfumato.studies.comparison.cell import pretrain, train_and_test
from sfumato.studies.comparison.families import FAMILIES
from sfumato.studies.comparison.measured import Trained, measure
from sfumato.studies.comparison.page import draw_comparison
from sfumato.studies.comparison.setting import (
    Comparison,
    Family,
    Known,
    Target,
    Test,
    Training,
    attacks_of,
)
from sfumato.studies.files import start_folder, write_tables
from sfumato.studies.finished import Finished
from sfumato.studies.study import study_to_json

__all__ = ["cell_of", "planned_trainings", "run_comparison"]


def run_comparison(
    comparison: Comparison,
    folder: Path,
    *,
    data: Path | None,
    engine: Engine = "local",
    scheduler: str | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    stage: Callable[[str], None] = lambda name: None,
) -> Finished:
    """Train every arm, network, seed and fold, then write scores and report."""
    family = find(FAMILIES, comparison.family, what="family of comparisons")
    stage("Images and labels")
    known = family.load(data)
    planned = planned_trainings(comparison, family, known)
    simulated = any(one.simulated for one in planned)
    start_folder(
        folder,
        kind="comparison",
        study=study_to_json(comparison),
        simulated=simulated,
        provenance={"data": fingerprint(Cell("all data", pretrain, {"known": known}))},
    )
    how = {"engine": engine, "scheduler": scheduler, "progress": progress}
    started = time.monotonic()

    def sweep(cells: Sequence[Cell]) -> Sequence[FinishedCell | FailedCell]:
        return run_sweep(cells, folder / "cells", **how)  # type: ignore[arg-type]

    starts: dict[str, Weights] = {}
    if comparison.pretraining is not None:
        stage("Pretraining")
        starts = _pretrained(comparison, known, sweep)
    stage("Trainings")
    cells = [cell_of(comparison, known, one, starts.get(one.training.network)) for one in planned]
    trained = [plan.with_result(result) for plan, result in zip(planned, sweep(cells), strict=True)]
    done = [one for one in trained if isinstance(one.result, FinishedCell)]
    if not done:
        first = trained[0].result
        assert isinstance(first, FailedCell)
        raise DataError(f"Every training failed; the first, {first.cell.name}: {first.reason}")
    stage("Scores and report")
    found = measure(comparison, family, known, trained, family.tables(data))
    write_scores(found.scores, folder / "scores.parquet")
    write_differences(found.differences, folder / "differences.parquet")
    write_tables(found.tables, folder)
    facts = {"seconds": round(time.monotonic() - started, 1), "missing": list(known.missing)}
    (folder / "facts.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return Finished(draw_comparison(folder), len(done), len(trained) - len(done))


def _pretrained(
    comparison: Comparison,
    known: Known,
    sweep: Callable[[Sequence[Cell]], Sequence[FinishedCell | FailedCell]],
) -> dict[str, Weights]:
    """One network of each kind, which all arms and seeds go on from."""
    if known.pretraining is None or comparison.pretraining is None:
        raise DataError(f"The family {comparison.family!r} has no images to pretrain on.")
    examples, labels = known.pretraining
    cells = [
        Cell(
            f"pretraining of {network}",
            pretrain,
            {
                "recipe": replace(comparison.pretraining, network=network),
                "examples": examples,
                "labels": labels,
            },
        )
        for network in comparison.networks
    ]
    starts: dict[str, Weights] = {}
    for network, result in zip(comparison.networks, sweep(cells), strict=True):
        if isinstance(result, FailedCell):
            raise DataError(f"The {result.cell.name} failed: {result.reason}")
        starts[network] = kept_weights(result.arrays())
    return starts


def planned_trainings(comparison: Comparison, family: Family, known: Known) -> list[Trained]:
    """Every seed, fold, arm and network, with what is learnt and tested."""
    planned = []
    for seed in range(comparison.seeds):
        folds = family.splits(known, comparison, seed)
        for (fold, split), arm in product(enumerate(folds), comparison.arms):
            kind = find(family.arms, arm, what=f"arm of the family {comparison.family!r}")
            target = kind.make(known, split, seed)
            tests = family.tests(known, split)
            learnt = split if target.items is None else replace(split, train=target.items)
            planned += [
                Trained(Training(arm, network, seed, fold), learnt, target, tests)
                for network in comparison.networks
            ]
    return planned


def cell_of(comparison: Comparison, known: Known, plan: Trained, start: Weights | None) -> Cell:
    """One training as a cell of a sweep."""
    training = plan.training
    fold = f", fold {training.fold}" if comparison.folds > 1 else ""
    inputs = {
        "recipe": _recipe(comparison, training),
        "examples": known.examples,
        "target": _needed(plan.target, plan.split),
        "split": plan.split,
        "parts": {test.part: test.items for test in plan.tests},
        "attacked": _attacked(comparison, plan.tests),
        "attacks": attacks_of(comparison),
        "corruptions": comparison.corruptions,
        "strength": comparison.strength,
    }
    return Cell(
        f"{training.arm}, {training.network}, seed {training.seed}{fold}",
        train_and_test,
        inputs if start is None else {**inputs, "start": start},
    )


def _recipe(comparison: Comparison, training: Training) -> Recipe:
    own = comparison.learning_rates.get(training.network, comparison.training.learning_rate)
    return replace(
        comparison.training, network=training.network, seed=training.seed, learning_rate=own
    )


def _needed(target: Target, split: Split) -> Target:
    """The target with labels of the items that are learnt and chosen on, no others."""
    if isinstance(target.labels, LabelSet):
        return replace(target, labels=target.labels.take((*split.train, *split.validation)))
    return target


def _attacked(comparison: Comparison, tests: Sequence[Test]) -> dict[str, LabelSet]:
    if not (attacks_of(comparison) or comparison.corruptions):
        return {}
    return {
        test.part: test.labels[test.attacked].take(test.items[: comparison.attacked_items])
        for test in tests
        if test.attacked
    }
