"""Try a study out without keeping anything: a few images through every arm and network.

A dry run shows that settings, data, networks and attacks fit together, and about what a full run
would cost. Its models are worthless and are thrown away.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

from sfumato.errors import DataError
from sfumato.learn.cost import training_cost
from sfumato.learn.examples import Examples
from sfumato.studies.arms import labels_of
from sfumato.studies.cell import train_and_examine
from sfumato.studies.comparison.dry import dry_run_comparison, plan_comparison
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.files import read_settings
from sfumato.studies.hmix.study import HMixStudy
from sfumato.studies.informativeness.cells import grid_cells, simulate_points
from sfumato.studies.informativeness.study import GridStudy
from sfumato.studies.rescore.study import RescoreStudy
from sfumato.studies.results.settings import size_of
from sfumato.studies.shipped import shipped_study
from sfumato.studies.sources import Material, load_material
from sfumato.studies.study import AnyStudy, Study
from sfumato.studies.took import read_took
from sfumato.studies.trainings import attacks_of, split_of
from sfumato.studies.trial import DryRun, Pace, Planned, few_items, small_recipe

__all__ = ["dry_run"]


def dry_run(
    study: AnyStudy,
    *,
    data: Path | None,
    measured: Path | None = None,
    stage: Callable[[str], None] = lambda name: None,
) -> DryRun:
    """Try whatever the study does, as little of it as possible; ``data`` as for a run.

    ``measured`` is the folder of a finished run, of this study or another, whose pace tells what a
    full run will take.
    """
    tried = _tried(study, data, stage)
    if measured is None:
        return tried
    stage(f"The pace of {measured}")
    return replace(tried, pace=_pace(measured, data))


def _tried(study: AnyStudy, data: Path | None, stage: Callable[[str], None]) -> DryRun:
    if isinstance(study, Comparison):
        return dry_run_comparison(study, data=data, stage=stage)
    if isinstance(study, GridStudy):
        return _dry_grid(study)
    if isinstance(study, HMixStudy | RescoreStudy):
        told = f"The study {study.name!r} trains nothing and takes a minute: run it."
        return DryRun(0, notes=(told,))
    return _dry_trainings(study, data, stage)


def _dry_grid(study: GridStudy) -> DryRun:
    """The smallest group of worlds; there is no training in any."""
    cells = grid_cells(study)
    smallest = [cell for cell in cells if cell.function is simulate_points][-1]
    started = time.monotonic()
    smallest.function(**smallest.inputs)
    told = (
        f"Tried the smallest of {len(cells):,} groups of worlds ({smallest.name}) in "
        f"{time.monotonic() - started:.1f} s; nothing was kept."
    )
    return DryRun(0, notes=(told,))


def _dry_trainings(study: Study, data: Path | None, stage: Callable[[str], None]) -> DryRun:
    stage("Images and labels")
    material = load_material(study, data)
    split = split_of(study, material)
    examples = Examples(material.pictures.items, material.pictures.images)
    for network, arm in product(study.networks, study.arms):
        stage(f"A batch through {network}, {arm}")
        labels, presentation = labels_of(arm, material)
        few = few_items(split, labels)
        recipe = small_recipe(replace(study.training, network=network))
        train_and_examine(
            recipe,
            examples,
            labels,
            few,
            presentation,
            material.people.take(few.test),
            attacks_of(study),
            study.corruptions,
            study.strength,
        )
    planned = _all_planned(study, material, len(split.train))
    return DryRun(len(study.networks) * len(study.arms), planned)


def _all_planned(study: Study, material: Material, images: int) -> tuple[Planned, ...]:
    return tuple(_planned(study, material, network, images) for network in study.networks)


def _pace(folder: Path, data: Path | None) -> Pace:
    """How fast the trainings of a finished run were."""
    settings, took = read_settings(folder)["study"], read_took(folder)
    size = size_of(settings)
    if size == "other":
        raise DataError(
            f"{folder} holds {settings['name']!r} with settings of its own; give a run of a "
            "shipped study."
        )
    study = shipped_study(settings["name"], "paper" if size == "paper" else "cpu")
    if isinstance(study, Comparison):
        planned = plan_comparison(study, data=data)
    elif isinstance(study, Study):
        material = load_material(study, data)
        planned = _all_planned(study, material, len(split_of(study, material).train))
    else:
        planned = ()
    if not planned or took is None or not took.cell_seconds:
        raise DataError(
            f"Nobody noted in {folder} what its trainings took; run a study that trains networks, "
            "and give its folder."
        )
    an_epoch = sum(one.operations for one in planned) / sum(one.epochs for one in planned)
    return Pace(str(folder), took.work, took.cell_seconds, an_epoch * took.work)


def _planned(study: Study, material: Material, network: str, images: int) -> Planned:
    trainings = study.seeds * len(study.arms)
    epochs = trainings * study.training.epochs
    shape = material.pictures.images.shape[1:]
    classes = len(material.people.classes)
    cost = training_cost(network, classes=classes, image_shape=shape)
    return Planned(network, trainings, epochs, epochs * images, cost)
