"""Trainings whose beliefs are made up, so that every number about them is known."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.labelset import LabelSet
from sfumato.learn.folds import Split
from sfumato.learn.sweep import Cell, CellResult, FailedCell, FinishedCell
from sfumato.scores import Estimate, Estimates
from sfumato.studies.data import (
    Findings,
    Predictions,
    StudyData,
    Target,
    TestSet,
    TrainingKey,
    TrainingRun,
)
from sfumato.studies.study import Study, study_from

CLASSES = ("cat", "dog")
CATS = LabelSet(("x", "y"), CLASSES, np.eye(2)[[0, 0]])
LEARNT = LabelSet(("a", "b"), CLASSES, np.eye(2))
SPLIT = Split(("a", "b"), (), ("x", "y"), selection="none")
CELL = Cell("a training", CellResult, {})


@dataclass(frozen=True, eq=False)
class Made(FinishedCell):
    """A finished training whose arrays are in memory."""

    made: dict[str, NDArray[Any]] = field(default_factory=dict)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.made


def surprised(*nats: float) -> NDArray[np.float32]:
    """Beliefs about as many images, each this surprised by "cat"."""
    right = np.exp(-np.array(nats))
    return np.stack([right, 1 - right], axis=1).astype(np.float32)


def trained(
    arm: str,
    seed: int,
    *nats: float,
    fold: int = 0,
    labels: LabelSet = LEARNT,
    tests: list[TestSet] | None = None,
    beliefs: dict[str, NDArray[np.float32]] | None = None,
    split: Split = SPLIT,
    **target: Any,
) -> TrainingRun:
    """A training that is so surprised by each item of its test; ``beliefs`` are of other parts and
    conditions."""
    arrays = ({"test": surprised(*nats)} if nats else {}) | (beliefs or {})
    history = [{"epoch": 1.0, "loss": 0.5}]
    result = Made(CELL, "", Path(), {"history": history}, 1.0, "", made=arrays)
    tests = tests or [TestSet("test", {"people": CATS}, attacked="people")]
    key = TrainingKey(arm, "lenet", seed, fold)
    file = f"predictions/lenet/{arm}/seed-{seed} fold-{fold}"
    return TrainingRun(key, split, Target(labels, **target), tests, result, file)


def failed(run: TrainingRun) -> TrainingRun:
    """The same training, had it failed."""
    return run.with_result(FailedCell(CELL, "", "It diverged."))


def study(*runs: TrainingRun, **other: Any) -> Study:
    """A study whose arms are those of the trainings; the first is the control."""
    arms = list(dict.fromkeys(run.key.arm for run in runs))
    stated = {
        "name": "small",
        "title": "Small",
        "arms": arms,
        "controls": arms[:1],
        "networks": ["lenet"],
        "pairs": "all",
        "interval": "seeds",
        "metrics": ["cross_entropy", "accuracy"],
        "strata": ["unanimous", "disputed"],
        **other,
    }
    return study_from(stated)


def data_of(
    *runs: TrainingRun, labels: dict[str, LabelSet] | None = None, **other: Any
) -> StudyData:
    """What measures are given beside predictions."""
    known = {name: held for run in runs for test in run.tests for name, held in test.labels.items()}
    return StudyData(study(*runs, **other), labels={**known, **(labels or {})})


def found_by(measure: Any, *runs: TrainingRun, **other: Any) -> Findings:
    """What a measure finds; every estimate has a source."""
    found: Findings = measure(data_of(*runs, **other), Predictions(runs))
    assert len(Estimates.of(found.estimates)) == len(found.estimates)
    return found


def only(found: Findings, **wanted: Any) -> Estimate:
    """The one estimate with these columns; of cross-entropy on all untouched items by default."""
    wanted = {
        "metric": "cross_entropy", "second": "", "stratum": "all", "attack": "", **wanted
    }  # fmt: skip
    (one,) = [
        each
        for each in found.estimates
        if all(getattr(each, name) == value for name, value in wanted.items())
    ]
    return one
