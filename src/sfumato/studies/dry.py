"""Try a study out without keeping anything: a few images through every arm and network.

A dry run shows the settings as resolved, next to what the papers say of them, that data, networks
and attacks fit together, and about what a full run would cost. Its models are worthless and are
thrown away.
"""

import json
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain
from operator import mul
from pathlib import Path
from textwrap import shorten
from typing import Any

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.fit import MEASURED_IMAGES, TrainingCost, kept_weights, training_cost
from sfumato.learn.folds import Split, class_of
from sfumato.learn.mixing import Augmenting
from sfumato.learn.networks import ImageShape
from sfumato.learn.recipe import Recipe
from sfumato.learn.train import Weights
from sfumato.names import find
from sfumato.studies.cell import TextExamples, encoded, pretrain
from sfumato.studies.data import StudyData, Target, TestSet, TrainingRun
from sfumato.studies.run import Run
from sfumato.studies.sources import load_data
from sfumato.studies.study import Study, bases_of, shipped_names, study_text
from sfumato.studies.trainings import examples_for, images_for, plan_trainings, training_cell
from sfumato.studies.worlds import world_cells

FEW = 2
"""Images of a batch, and of a test: the large networks are slow on a CPU."""
FEW_COLLECTED = 8
"""Images further away, and images to pretrain on, that are loaded."""
GPU_OPERATIONS = 10e12
"""Floating-point operations that a GPU of 2020 or later does a second in such trainings, an
assumption: from it the hours on a GPU are reckoned."""
HOUR = 3600
ENOUGH_SECONDS = 25.0
"""After so many seconds of a core nothing further is tried: a dry run ends within a minute."""
LONGEST_VALUE = 160
"""Characters of a setting that are shown beside what a paper says of it."""


@dataclass(frozen=True)
class ProtocolRow:
    """What a paper says about one setting, and what the study has."""

    setting: str
    value: Any
    place: str
    sentence: str
    stated: Any = None
    """The paper's value; None where the sentence gives none."""
    why: str = ""
    """Why the study has another value at the size of the paper, or what the paper leaves open."""

    @property
    def differs(self) -> bool:
        """Whether the study has another value; lists are the same in any order."""
        if self.stated is None:
            return False
        if isinstance(self.stated, list) and isinstance(self.value, list):
            return set(self.stated) != set(self.value)
        return bool(self.stated != self.value)

    def lines(self, size: str) -> list[str]:
        """As comments, so that settings and sentences together are still TOML."""
        about = "" if self.stated is None else ", as the paper"
        if self.differs:
            about = f"; the paper has {_shown(self.stated)}"
            about += "" if size == "paper" else f", this is the size {size!r}"
        if self.why and (self.differs or self.stated is None):
            about += f": {self.why}" if self.differs else f"; {self.why}"
        said = f'#   {self.place}: "{self.sentence}"'
        return [f"# {self.setting} = {_shown(self.value)}{about}", said]


def protocol_of(study: Study) -> tuple[ProtocolRow, ...]:
    """What the papers say about the settings of a shipped study, in ``protocol.toml``."""
    if study.beside or study.name not in shipped_names():
        return ()
    path = files("sfumato.studies").joinpath("protocol.toml")
    known = tomllib.loads(path.read_text(encoding="utf-8"))
    rows: dict[str, dict[str, Any]] = {}
    for base in bases_of(study.name):
        rows |= known.get(base, {})
    return tuple(ProtocolRow(name, _setting(study, name), **row) for name, row in rows.items())


def _setting(study: Study, name: str) -> Any:
    """A setting by its dotted name, as plain values; arms by their names."""
    value: Any = {**study.model_dump(mode="json"), "arms": list(study.arm_names)}
    for key in name.split("."):
        value = None if value is None else find(value, key, what="setting of a study")
    return value


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), LONGEST_VALUE, placeholder=" …")


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
    protocol: tuple[str, ...] = ()
    """What the papers say about the settings, as comments."""
    planned: tuple[NetworkCost, ...] = ()
    notes: tuple[str, ...] = ()
    pace: Pace | None = None

    def lines(self) -> list[str]:
        """For a person at the screen."""
        told = [self.settings, *self.protocol, *self.notes]
        if self.tried:
            told.append(
                f"Tried {self.tried} trainings of one batch of {FEW} images; nothing was kept."
            )
        told += [one.line() for one in self.planned]
        if len(self.planned) > 1:
            told.append(total_line(self.planned))
        if self.planned and self.pace is not None:
            told.append(self.pace.line(sum(one.operations for one in self.planned)))
        if self.planned:
            told.append(
                "Hours are for one device, a core of a CPU being one. Those here are measured on a "
                f"batch of {MEASURED_IMAGES} images, fewer of large networks; those on a GPU "
                f"assume {GPU_OPERATIONS / 1e12:.0f} TFLOP/s in use."
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
    found = DryRun(study_text(study, Path()).rstrip(), 0, _protocol_lines(study))
    if study.worlds is not None:
        return replace(found, notes=(_try_world(study),))
    if not study.networks:
        told = f"The study {study.name!r} trains nothing and takes a minute: run it."
        return replace(found, notes=(told,))
    stage("Images and labels")
    known = _load_few(study, data)
    planned = network_costs(known)
    tried, notes = _try_trainings(known, planned, stage)
    found = replace(found, tried=tried, planned=planned, notes=(*known.missing, *notes))
    if measured is None:
        return found
    stage(f"The pace of {measured}")
    return replace(found, pace=_pace(Run.open(measured), data))


def _protocol_lines(study: Study) -> tuple[str, ...]:
    rows = protocol_of(study)
    if not rows:
        return ("# No paper describes this study: its settings are our own.",)
    said = (line for row in rows for line in row.lines(study.size))
    return ("# What the papers say, and what is set here:", *said)


def _load_few(study: Study, data: Path | None) -> StudyData:
    """The data with few of the images that are only tested on or pretrained on."""
    wanted = study.collection
    most = FEW_COLLECTED if wanted.most is None else min(wanted.most, FEW_COLLECTED)
    few = wanted.model_copy(
        update={
            "near": min(wanted.near, FEW_COLLECTED),
            "pretraining": min(wanted.pretraining, FEW_COLLECTED),
            "most": most,
        }
    )
    known = load_data(study.model_copy(update={"collection": few}), data)
    return replace(known, study=study)


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


def _try_trainings(
    data: StudyData, planned: Sequence[NetworkCost], stage: Callable[[str], None]
) -> tuple[int, tuple[str, ...]]:
    """Every arm with the smallest network, every other network with one, as far as time goes."""
    least = min(planned, key=lambda one: one.cost.operations).network
    first = [run for run in plan_trainings(_one_seed(data)) if run.key.fold == 0]
    learning = next((run for run in first if not run.target.pretrained), first[0])
    wanted = [run for run in first if run.key.network == least]
    wanted += [
        replace(run, tests=run.tests[:1])
        for run in first
        if run.key.network != least and run.key.arm == learning.key.arm
    ]
    started, starts = time.process_time(), dict[str, Weights | None]()
    for tried, run in enumerate(wanted):
        network = run.key.network
        if time.process_time() - started > ENOUGH_SECONDS:
            return tried, (
                f"{len(wanted) - tried} of {len(wanted)} were not tried: the time was up.",
            )
        if network not in starts:
            stage(f"A batch through {network}")
            starts[network] = _small_start(data, network)
        small = _small_study(data.study, attacks=None if network == least else 1)
        few = _few(run)
        known = replace(data, study=small, examples=_few_examples(data, few))
        cell = training_cell(known, few, starts[network])
        cell.function(**_small_inputs(cell.inputs))
    return len(wanted), ()


def _small_study(study: Study, *, attacks: int | None) -> Study:
    """One epoch of one batch, tested on few items with so many of the attacks and corruptions."""
    return study.model_copy(
        update={
            "attacked_items": FEW,
            "fgsm": study.fgsm[:attacks],
            "pgd": study.pgd[:attacks],
            "pgd_iterations": min(study.pgd_iterations, FEW),
            "corruptions": study.corruptions[:attacks],
            "seeds": 1,
            "keep_models": False,
        }
    )


def _small_recipe(recipe: Recipe) -> Recipe:
    """One epoch of one batch."""
    return replace(recipe, epochs=1, batch_size=FEW)


def _small_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a training is given, for one batch; of values to choose from, the first."""
    recipes = {name: inputs[name] for name in ("recipe", "dynamics") if name in inputs}
    few = {name: _small_recipe(recipe) for name, recipe in recipes.items()}
    search = {what: values[:1] for what, values in inputs.get("search", {}).items()}
    return {**inputs, **few, **({"search": search} if search else {})}


def _few_examples(data: StudyData, run: TrainingRun) -> Examples | None:
    """The images that a training sees, so that no others become vectors for a head."""
    if data.examples is None:
        return None
    tested = (test.items for test in run.tests)
    seen = chain(run.split.train, run.split.validation, *tested)
    return data.examples.take(tuple(dict.fromkeys(seen)))


def _small_start(data: StudyData, network: str) -> Weights | None:
    if data.study.pretraining is None or data.pretraining is None:
        return None
    examples, labels = data.pretraining
    few = examples.items[:FEW]
    recipe = data.study.pretraining_recipe(network)
    assert recipe is not None
    shown = images_for(data.study, network, examples.take(few))
    return kept_weights(pretrain(_small_recipe(recipe), shown, labels.take(few)).arrays)


def _few(run: TrainingRun) -> TrainingRun:
    return replace(
        run,
        split=few_items(run.split, run.target.labels),
        target=replace(_few_mixes(run.target), items=None),
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
    before = study.pretraining_recipe(network)
    extra = before.epochs if before is not None and data.pretraining is not None else 0
    images, recipe = study.collection.pretraining, study.recipe_of(network, 0)
    watched = 0
    if study.dynamics is not None:
        watched = study.recipe_of(network, 0, study.dynamics).epochs
    tries = [_tries(study, run.target) for run in learning]
    epochs = [times * recipe.epochs + watched for times in tries]
    shown = [len(run.split.train) + _mixes(run.target) for run in learning]
    classes, shape = len(data.people.classes), _shape(data, network, first[0])
    return NetworkCost(
        network,
        trainings=study.seeds * sum(tries) + (1 if extra else 0),
        epochs=study.seeds * sum(epochs) + extra,
        presentations=study.seeds * sum(map(mul, shown, epochs)) + extra * images,
        cost=training_cost(recipe.network, classes=classes, image_shape=shape),
    )


def _tries(study: Study, target: Target) -> int:
    """How many trainings one cell has: one for every value that is searched."""
    search = study.search.values(mixes=target.mixing is not None)
    return sum(len(values) for values in search.values()) or 1


def _shape(data: StudyData, network: str, run: TrainingRun) -> ImageShape:
    """Of one item as the network takes it."""
    if data.examples is not None:
        first = data.examples.take(data.examples.items[:1])
        return images_for(data.study, network, first).image_shape
    examples, split = examples_for(data, network), run.split
    assert examples is not None
    if isinstance(examples, TextExamples) and examples.encoder != "tf-idf":
        split = few_items(split, run.target.labels)  # as many numbers of few as of all
    return encoded(examples, split, {}).image_shape


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
    planned = network_costs(_load_few(run.study, data))
    an_epoch = sum(one.operations for one in planned) / sum(one.epochs for one in planned)
    return Pace(str(run.folder), timing.work, timing.cell_seconds, an_epoch * timing.work)


def total_line(planned: Sequence[NetworkCost]) -> str:
    """What all trainings cost; those that studies have in common are counted in each."""
    return (
        f"Together: {sum(one.trainings for one in planned):,} trainings, "
        f"{sum(one.epochs for one in planned):,} epochs; "
        f"{sum(one.hours for one in planned):,.1f} hours on this {planned[0].cost.device}, "
        f"{sum(one.gpu_hours for one in planned):,.1f} on a GPU"
    )
