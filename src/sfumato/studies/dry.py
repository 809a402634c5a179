"""Try a study out without keeping anything: a few images through every arm and network.

A dry run shows the settings as resolved, that data, networks and attacks fit together, and about
what a full run would cost. Its models are worthless and are thrown away.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.fit import MEASURED_IMAGES, TrainingCost, kept_weights, training_cost
from sfumato.learn.folds import Split, class_of
from sfumato.learn.mixing import Augmenting
from sfumato.learn.recipe import Recipe
from sfumato.learn.train import Weights
from sfumato.studies.cell import encoded, pretrain
from sfumato.studies.data import StudyData, Target, TestSet, TrainingRun
from sfumato.studies.run import Run
from sfumato.studies.sources import load_data
from sfumato.studies.study import Study, study_text
from sfumato.studies.trainings import examples_for, plan_trainings, training_cell
from sfumato.studies.worlds import world_cells

FEW = 2
"""Images of a batch, and of a test: the large networks are slow on a CPU."""
GPU_OPERATIONS = 10e12
"""Floating-point operations that a GPU of 2020 or later does a second in such trainings, an
assumption: from it the hours on a GPU are reckoned."""
HOUR = 3600
ENOUGH_SECONDS = 35.0
"""After so many seconds no further arm is tried: a dry run ends within a minute."""


@dataclass(frozen=True)
class NetworkCost:
    """The trainings of one network that a full run has."""

    network: str
    trainings: int
    epochs: int
    """Of all trainings together, those of pretraining included."""
    presentations: int
    """Images shown in all epochs of all trainings."""
    cost: TrainingCost

    @property
    def hours(self) -> float:
        """On one device like the one here."""
        return self.presentations * self.cost.seconds / HOUR

    @property
    def gpu_hours(self) -> float:
        """On one GPU that does ``GPU_OPERATIONS`` a second."""
        return self.operations / GPU_OPERATIONS / HOUR

    @property
    def operations(self) -> float:
        """Floating-point operations of all trainings."""
        return self.presentations * self.cost.operations

    def line(self) -> str:
        """For a person at the screen."""
        return (
            f"{self.network}: {self.trainings:,} trainings, {self.epochs:,} epochs, "
            f"{self.presentations:,} images shown; {self.hours:,.1f} hours on this "
            f"{self.cost.device}, {self.gpu_hours:,.1f} on a GPU"
        )


@dataclass(frozen=True)
class Pace:
    """How fast the trainings of a finished run were."""

    run: str
    epochs: float
    """Of all trainings together."""
    seconds: float
    """Of all trainings, one after the other."""
    operations: float
    """Floating-point operations of these epochs."""

    @property
    def speed(self) -> float:
        """Floating-point operations a second."""
        return self.operations / self.seconds

    def line(self, operations: float) -> str:
        """What so many operations would take at this speed, and on a GPU.

        >>> pace = Pace("runs/a", epochs=200, seconds=3600, operations=1.8e14)
        >>> pace.line(1.8e16).partition(". ")[2]
        'At this speed a full run takes 100.0 hours; a GPU does 200 times as much and takes 0.5.'
        """
        hours = operations / self.speed / HOUR
        times = GPU_OPERATIONS / self.speed
        return (
            f"Measured in {self.run}: {self.epochs:,.0f} epochs took {self.seconds:,.0f} s of one "
            f"device, {self.speed / 1e9:.0f} GFLOP/s. At this speed a full run takes {hours:,.1f} "
            f"hours; a GPU does {times:,.0f} times as much and takes {hours / times:,.1f}."
        )


@dataclass(frozen=True)
class DryRun:
    """The resolved settings, what was tried, and what a full run would do."""

    settings: str
    """As TOML."""
    tried: int
    """Trainings of one batch that ended well."""
    planned: tuple[NetworkCost, ...] = ()
    notes: tuple[str, ...] = ()
    pace: Pace | None = None

    def lines(self) -> list[str]:
        """For a person at the screen."""
        told = [self.settings, *self.notes]
        if self.tried:
            told.append(
                f"Tried {self.tried} trainings of one batch of {FEW} images; nothing was kept."
            )
        told += [one.line() for one in self.planned]
        if len(self.planned) > 1:
            told.append(_total(self.planned))
        if self.planned and self.pace is not None:
            told.append(self.pace.line(sum(one.operations for one in self.planned)))
        if self.planned:
            told.append(
                "Hours are for one device, a core of a CPU being one. Those here are measured on a "
                f"batch of {MEASURED_IMAGES} images; those on a GPU assume "
                f"{GPU_OPERATIONS / 1e12:.0f} TFLOP/s in use."
            )
        return told


def dry_run(
    study: Study,
    *,
    data: Path | None,
    measured: Path | None = None,
    stage: Callable[[str], None] = lambda name: None,
) -> DryRun:
    """Try whatever the study does, as little of it as possible; ``data`` as for a run.

    ``measured`` is the folder of a finished run, of this study or another, whose pace tells what a
    full run will take.
    """
    settings = study_text(study, Path()).rstrip()
    if study.worlds is not None:
        return DryRun(settings, 0, notes=(_try_world(study),))
    if not study.networks:
        told = f"The study {study.name!r} trains nothing and takes a minute: run it."
        return DryRun(settings, 0, notes=(told,))
    stage("Images and labels")
    known = load_data(study, data)
    tried, notes = _try_trainings(known, stage)
    found = DryRun(settings, tried, network_costs(known), (*known.missing, *notes))
    if measured is None:
        return found
    stage(f"The pace of {measured}")
    return replace(found, pace=_pace(Run.open(measured), data))


def network_costs(data: StudyData) -> tuple[NetworkCost, ...]:
    """The trainings that a run has, by network, without trying any."""
    first = plan_trainings(_one_seed(data))
    return tuple(
        _network_cost(data, network, [run for run in first if run.key.network == network])
        for network in data.study.networks
    )


def _one_seed(data: StudyData) -> StudyData:
    return replace(data, study=data.study.model_copy(update={"seeds": 1}))


def _try_world(study: Study) -> str:
    """The smallest group of worlds; there is no training in any."""
    cells = world_cells(study)
    smallest = min(cells, key=lambda cell: len(cell.inputs["points"]))
    started = time.monotonic()
    smallest.function(**smallest.inputs)
    return (
        f"Tried one of {len(cells):,} groups of worlds ({smallest.name}) in "
        f"{time.monotonic() - started:.1f} s; nothing was kept."
    )


def _try_trainings(data: StudyData, stage: Callable[[str], None]) -> tuple[int, tuple[str, ...]]:
    """Every arm with every network on a few images, as far as the time goes."""
    study = data.study
    small = study.model_copy(
        update={
            "training": _small_recipe(study.training),
            "attacked_items": FEW,
            "pgd_iterations": min(study.pgd_iterations, FEW),
            "seeds": 1,
            "keep_models": False,
        }
    )
    planned = [_few(run) for run in plan_trainings(_one_seed(data)) if run.key.fold == 0]
    started, tried = time.monotonic(), 0
    few = replace(data, study=small)
    for network in study.networks:
        stage(f"A batch through {network}")
        start = _small_start(data, network)
        for run in (run for run in planned if run.key.network == network):
            if time.monotonic() - started > ENOUGH_SECONDS:
                return tried, (
                    f"{len(planned) - tried} of {len(planned)} were not tried: the time was up.",
                )
            cell = training_cell(few, run, start)
            cell.function(**cell.inputs)
            tried += 1
    return tried, ()


def _small_recipe(recipe: Recipe) -> Recipe:
    """One epoch of one batch."""
    return replace(recipe, epochs=1, batch_size=FEW)


def _small_start(data: StudyData, network: str) -> Weights | None:
    if data.study.pretraining is None or data.pretraining is None:
        return None
    examples, labels = data.pretraining
    few = examples.items[:FEW]
    recipe = _small_recipe(replace(data.study.pretraining, network=network))
    return kept_weights(pretrain(recipe, examples.take(few), labels.take(few)).arrays)


def _few(run: TrainingRun) -> TrainingRun:
    return replace(
        run,
        split=few_items(run.split, run.target.labels),
        target=_few_mixes(run.target),
        tests=[_few_tested(test) for test in run.tests],
    )


def few_items(split: Split, labels: LabelSet | CrowdLabels) -> Split:
    """A few items of one class of each part that is learnt or chosen on, and of the tests.

    Of one class, so that no item is asked about whose class was not learnt.
    """
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    parts = (split.train, split.validation, split.test, split.second_test)
    known = set(mean.items)
    wanted = tuple(dict.fromkeys(item for part in parts for item in part if item in known))
    of_item = class_of(mean.take(wanted))
    one = of_item[split.train[0]]
    train, validation, test, second = (
        tuple(item for item in part if of_item.get(item, one) == one)[:FEW] for part in parts
    )
    if split.selection == "on-test-part":
        validation = test
    return Split(train, validation, test, second, split.selection)


def _few_tested(test: TestSet) -> TestSet:
    items = test.items[:FEW]
    return replace(test, labels={name: held.take(items) for name, held in test.labels.items()})


def _few_mixes(target: Target) -> Target:
    """The target with a few of the mixed images that join the training part."""
    if target.augmenting is None:
        return target
    mixes, labels = target.augmenting.examples, target.augmenting.labels
    few = mixes.items[:FEW]
    kept = labels.take(few) if isinstance(labels, LabelSet) else labels.of_items(few)
    return replace(target, augmenting=Augmenting(mixes.take(few), kept))


def _network_cost(data: StudyData, network: str, first: Sequence[TrainingRun]) -> NetworkCost:
    """What a full run shows one network, from the trainings of the first seed."""
    study = data.study
    learning = [run for run in first if not run.target.pretrained]
    shown = sum(len(run.split.train) + _mixes(run.target) for run in learning)
    before = study.pretraining
    extra = before.epochs if before is not None and data.pretraining is not None else 0
    images = len(data.pretraining[0]) if data.pretraining is not None else 0
    classes = len(data.people.classes)
    examples = examples_for(data, network)
    assert examples is not None
    shape = encoded(examples, first[0].split, {}).image_shape
    return NetworkCost(
        network,
        trainings=study.seeds * len(learning) + (1 if extra else 0),
        epochs=study.seeds * len(learning) * study.training.epochs + extra,
        presentations=study.seeds * shown * study.training.epochs + extra * images,
        cost=training_cost(study.recipe_of(network, 0).network, classes=classes, image_shape=shape),
    )


def _mixes(target: Target) -> int:
    return 0 if target.augmenting is None else len(target.augmenting)


def _pace(run: Run, data: Path | None) -> Pace:
    """How fast the trainings of a finished run were."""
    timing = run.timing
    if not run.study.networks or not timing.cell_seconds:
        raise DataError(
            f"Nobody noted in {run.folder} what its trainings took; run a study that trains "
            "networks, and give its folder."
        )
    planned = network_costs(load_data(run.study, data))
    an_epoch = sum(one.operations for one in planned) / sum(one.epochs for one in planned)
    return Pace(str(run.folder), timing.work, timing.cell_seconds, an_epoch * timing.work)


def _total(planned: tuple[NetworkCost, ...]) -> str:
    return (
        f"Together: {sum(one.trainings for one in planned):,} trainings, "
        f"{sum(one.epochs for one in planned):,} epochs; "
        f"{sum(one.hours for one in planned):,.1f} hours on this {planned[0].cost.device}, "
        f"{sum(one.gpu_hours for one in planned):,.1f} on a GPU"
    )
