"""Train every arm, network and seed of a study, and keep what the models believe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.attacks import Attack
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.fit import Presentation
from sfumato.learn.folds import Split, class_of, stratified_split
from sfumato.learn.sweep import Cell, Engine, FailedCell, FinishedCell, Progress, run_sweep
from sfumato.provenance import Step, to_json
from sfumato.studies.arms import labels_of
from sfumato.studies.cell import train_and_examine
from sfumato.studies.files import start_folder
from sfumato.studies.sources import Material, load_material
from sfumato.studies.study import Study, study_to_json

__all__ = ["Trained", "Trainings", "attacks_of", "run_trainings", "split_of"]


@dataclass(frozen=True)
class Trained:
    """Which training of a study a result is of."""

    arm: str
    network: str
    seed: int


Target = tuple[LabelSet | CrowdLabels, Presentation]
"""The labels of an arm, and how they are shown."""


@dataclass(frozen=True, eq=False)
class Trainings:
    """All trainings of a study, those that failed with their reason."""

    study: Study
    material: Material
    targets: Mapping[str, Target]
    """By arm."""
    split: Split
    attacked: LabelSet
    done: Mapping[Trained, FinishedCell]
    failed: Mapping[Trained, FailedCell]
    rows: Mapping[Trained, Mapping[str, NDArray[Any]]]
    """Beliefs of each finished training, by the name of the array; small enough to be kept."""

    @property
    def last_network(self) -> str:
        """The last network of the study that was trained; the largest, as studies list them."""
        trained = {which.network for which in self.done}
        return [network for network in self.study.networks if network in trained][-1]

    def mean_target(self, arm: str) -> LabelSet:
        """The labels of an arm, those of single annotators averaged."""
        labels, _ = self.targets[arm]
        mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
        return mean.take(self.material.people.items)

    def beliefs(self, arm: str, network: str, array: str = "predictions") -> dict[int, LabelSet]:
        """What the models of an arm believe, by seed: about the test part, or under another name
        about the attacked items."""
        items = self.split.test if array == "predictions" else self.attacked.items
        provenance = self.targets[arm][0].provenance
        found = {}
        for which, arrays in self.rows.items():
            if (which.arm, which.network) == (arm, network):
                rows = arrays[array].astype(np.float64)
                step = Step("predict", {"arm": arm, "network": network, "seed": which.seed})
                found[which.seed] = LabelSet(
                    items,
                    self.material.people.classes,
                    rows / rows.sum(axis=1, keepdims=True),  # undo the rounding of float32
                    provenance=(*provenance, step),
                )
        return found


def run_trainings(
    study: Study,
    folder: Path,
    *,
    data: Path | None,
    engine: Engine = "local",
    scheduler: str | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Trainings:
    """Load what the study needs and train every arm, network and seed."""
    material = load_material(study, data)
    start_folder(
        folder,
        kind="trainings",
        study=study_to_json(study),
        simulated=material.simulated,
        provenance={
            "pictures": to_json(material.pictures.provenance),
            "people": to_json(material.people.provenance),
        },
    )
    split = split_of(study, material)
    chosen = split.test[: study.attacked_items]
    attacked = material.people.take(chosen)
    targets = {arm: labels_of(arm, material) for arm in study.arms}
    cells = _cells(study, material, targets, split, attacked)
    results = run_sweep(
        list(cells.values()),
        folder / "cells",
        engine=engine,
        scheduler=scheduler,
        progress=progress,
    )
    found = dict(zip(cells, results, strict=True))
    done = {which: result for which, result in found.items() if isinstance(result, FinishedCell)}
    failed = {which: result for which, result in found.items() if isinstance(result, FailedCell)}
    if not done:
        first = next(iter(failed.values()))
        raise DataError(f"Every training failed; the first, {first.cell.name}: {first.reason}")
    rows = {which: _without_watched(result) for which, result in done.items()}
    trainings = Trainings(study, material, targets, split, attacked, done, failed, rows)
    _write_predictions(trainings, folder / "predictions")
    return trainings


def split_of(study: Study, material: Material) -> Split:
    """The parts for training, choosing and reporting: those that came with the data, or ones
    stratified by original class."""
    if material.split is not None:
        return material.split
    training, choosing, reporting = study.split
    return stratified_split(
        material.people.items,
        class_of(material.original),
        (training, choosing, reporting),
        rng=np.random.default_rng(study.split_seed),
    )


def attacks_of(study: Study) -> list[Attack]:
    """FGSM at every bound, then PGD at every bound."""
    return [
        *(Attack("fgsm", bound) for bound in study.fgsm),
        *(Attack("pgd", bound, step_255=bound / 4, iterations=10) for bound in study.pgd),
    ]


def _cells(
    study: Study,
    material: Material,
    targets: Mapping[str, Target],
    split: Split,
    attacked: LabelSet,
) -> dict[Trained, Cell]:
    examples = Examples(material.pictures.items, material.pictures.images)
    cells = {}
    for network, arm in product(study.networks, study.arms):
        labels, presentation = targets[arm]
        for seed in range(study.seeds):
            cells[Trained(arm, network, seed)] = Cell(
                f"{arm}, {network}, seed {seed}",
                train_and_examine,
                {
                    "recipe": replace(study.training, network=network, seed=seed),
                    "examples": examples,
                    "labels": labels,
                    "split": split,
                    "presentation": presentation,
                    "attacked": attacked,
                    "attacks": attacks_of(study),
                    "corruptions": study.corruptions,
                    "strength": study.strength,
                },
            )
    return cells


def _without_watched(result: FinishedCell) -> dict[str, NDArray[Any]]:
    return {name: array for name, array in result.arrays().items() if name != "watched"}


def _write_predictions(trainings: Trainings, folder: Path) -> None:
    for network, arm in product(trainings.study.networks, trainings.study.arms):
        place = folder / network / arm
        place.mkdir(parents=True, exist_ok=True)
        for seed, labels in trainings.beliefs(arm, network).items():
            write_labels(labels, place / f"seed-{seed}.parquet")
