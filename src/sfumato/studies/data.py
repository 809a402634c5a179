"""What flows through a study: its data, what was trained on it, and what was found.

``sources`` loads a ``StudyData``; ``trainings`` turns an arm into a ``Target``; the cells of a run
become ``TrainingRun`` records; measures turn data and predictions into ``Findings``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import RECIPES, build
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.make import LabelSettings, make_labels
from sfumato.labels.mixing import Percepts
from sfumato.learn.folds import Split
from sfumato.learn.recipe import Mixing
from sfumato.learn.sweep import FailedCell, FinishedCell
from sfumato.names import find
from sfumato.provenance import Provenance, Step, is_simulated
from sfumato.scores import Estimate
from sfumato.studies.study import Presentation, Study

if TYPE_CHECKING:
    from sfumato.evaluation.attacks import Attack
    from sfumato.learn.examples import Examples
    from sfumato.learn.mixing import Augmenting
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Self, assert_never

from sfumato.evaluation.trials import ArmTrials, Mask, Trial, metric_rows, stratum_places
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import align
from sfumato.labels.signals import agreement_strata, disputed_thirds, strata_of
from sfumato.reporting.page import duration
from sfumato.reporting.text import count
from sfumato.scores import Estimates, source_text, with_interval
from sfumato.stats import share_interval, student_interval
from sfumato.studies.claims import JudgedClaim, judge, read_claims, read_printed
from sfumato.studies.study import Arm, read_study, study_settings
from sfumato.tabular import ShortRepr

ORIGINAL, PEOPLE, MAJORITY = "original", "people", "majority"
"""The label set that the data came with, what people believe, and their most frequent answers."""
ORIGINAL_DISTRIBUTION = "original distribution"
"""What the data came with as distributions, where it came with such (S4-13)."""


@dataclass(frozen=True, eq=False)
class JudgedSet:
    """What people and judges said about the same items."""

    people: CrowdLabels
    judges: Mapping[str, CrowdLabels | LabelSet]
    epsilon: float = 0.1
    """What the alternative-annotator test grants to a judge: more, the dearer the people."""
    most: int = 5
    """Where the scale of people ends at the latest."""
    clusters: Mapping[str, str] | None = None
    """Items that belong together, such as questions about one picture."""
    seconds: float | None = None
    """What one answer of the judges took, where it is known."""


@dataclass(frozen=True, eq=False)
class StudyData:
    """What a study works on; every stage may use it, none changes it."""

    study: Study
    examples: "Examples | None" = None
    """All images that are learnt or tested."""
    texts: Items | None = None
    """All texts, in place of images; every network has an encoder for them."""
    folds: Mapping[str, Split] = field(default_factory=dict)
    """Splits that came with the data, by name: several sets, each learnt and tested on its own."""
    labels: Mapping[str, LabelSet] = field(default_factory=dict)
    """Label sets by the names that arms and tests use; ``original`` where there is one."""
    crowds: Mapping[str, CrowdLabels] = field(default_factory=dict)
    """Labels of single annotators, by the same names or those of recipes."""
    recipes: Mapping[str, str] = field(default_factory=dict)
    """By which recipe each of the crowds was read from ``judgments``."""
    soft_original: LabelSet | None = None
    """Original labels as distributions, where the data came with such: what the arm ``original``
    learns (S4-13). It is tested against their classes."""
    judgments: Judgments | None = None
    """What people said; None for data that holds labels only."""
    ratings: Comparisons | None = None
    """Pairs of items whose similarity people rated, where somebody has such ratings."""
    pictures: ImageSet | None = None
    """The images with their original classes, where all were judged."""
    pool: int | None = None
    """Of so many annotators per item, drawn anew each seed, one is shown at a time; None: of all
    there are (S2-22)."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Items with a role: "train", "validation", "test" as given; "elicited"; sets further away."""
    percepts: Percepts | None = None
    """What people saw in mixes of the images."""
    corrupted: "Mapping[str, Examples]" = field(default_factory=dict)
    """Tested images as somebody else corrupted them, by corruption; empty: they are made here."""
    pretraining: "tuple[Examples, LabelSet] | None" = None
    predictions: Mapping[str, LabelSet] = field(default_factory=dict)
    """Stored beliefs of models that were trained elsewhere."""
    signals: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Numbers about each item of ``people`` that tell of doubt, such as ``response time``."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Answers in a form of their own, such as those about mixes."""
    judged: Mapping[str, JudgedSet] = field(default_factory=dict)
    """What people and judges said, by the name of the set."""
    provenance: Provenance = ()
    """The steps behind ``tables`` and whatever else is no label set."""
    missing: tuple[str, ...] = ()
    """What the paper has and the folder of datasets has not, a sentence each."""

    def label_set(self, name: str) -> LabelSet:
        """The labels of that name, or an error that says which there are."""
        return find(self.labels, name, what=f"label set of {self.study.data!r}")

    @property
    def original(self) -> LabelSet:
        """The labels that the data came with."""
        return self.label_set(ORIGINAL)

    @property
    def people(self) -> LabelSet:
        """The labels that the study holds everything against first."""
        return self.label_set(self.study.tests[0].against[0])

    @property
    def simulated(self) -> bool:
        """Whether simulated people are behind any label set."""
        return any(is_simulated(labels.provenance) for labels in self.labels.values())

    def rng(self, measure: str) -> np.random.Generator:
        """Chance for one measure: its intervals do not depend on which others are taken."""
        return np.random.default_rng([self.study.seed, *measure.encode()])


@dataclass(frozen=True, eq=False)
class Target:
    """What a network learns from."""

    labels: LabelSet | CrowdLabels
    presentation: Presentation = "fixed"
    mixing: Mixing | None = None
    augmenting: "Augmenting | None" = None
    items: tuple[str, ...] | None = None
    """What is learnt, where that is a part of the split's training items (S2-53)."""
    pretrained: bool = False
    """Whether the network is tested as pretraining left it; nothing is learnt then."""

    @property
    def simulated(self) -> bool:
        """Whether any of it was said by simulated people."""
        added = () if self.augmenting is None else (self.augmenting.labels,)
        return any(is_simulated(labels.provenance) for labels in (self.labels, *added))

    @property
    def mean(self) -> LabelSet:
        """The labels, those of single annotators averaged."""
        return self.labels.mean() if isinstance(self.labels, CrowdLabels) else self.labels


@dataclass(frozen=True, eq=False)
class TestSet:
    """Items that a network is tested on, and the labels it is held against."""

    __test__: ClassVar[bool] = False  # no test of ours, whatever pytest takes it for

    part: str
    labels: Mapping[str, LabelSet]
    """By whose they are; all about the same items in the same order."""
    attacked: str = ""
    """Whose labels attacks drive the network away from; empty: neither attacked nor corrupted."""

    @property
    def items(self) -> tuple[str, ...]:
        """The items, in the order of all labels."""
        return next(iter(self.labels.values())).items


@dataclass(frozen=True)
class Condition:
    """Untouched items (no attack), attacked ones, or corrupted ones."""

    attack: str = ""
    bound: float | None = None
    step: int | None = None

    def array(self, part: str) -> str:
        """The name under which a cell keeps its beliefs about items of a part.

        >>> Condition("pgd", 4, 9).array("test"), Condition().array("test")
        ('test/pgd/4/9', 'test')
        """
        numbers = [f"{n:g}" for n in (self.bound, self.step) if n is not None]
        return "/".join([part, *([self.attack, *numbers] if self.attack else [])])


CLEAN = Condition()
WATCHED = "watched"
"""The array of beliefs about the training items after each epoch, (epochs, items, classes)."""


CONSTANT = "constant predictor"
"""The arm that gives every item the mean label of those that were learnt."""
OFFSETS = "people"
"""The array of how each person differs from the average, (annotators, classes)."""


def _is_apart(name: str) -> bool:
    """Whether an array holds something else than beliefs about a test."""
    from sfumato.learn.fit import WEIGHTS

    return name in (WATCHED, OFFSETS) or name.startswith(WEIGHTS)


def conditions(
    attacks: "Sequence[Attack]", corruptions: Sequence[str], strength: int
) -> list[Condition]:
    """Everything that is done to the images of a test: FGSM, every step of PGD, corruptions."""
    found = []
    for attack in attacks:
        steps = [None] if attack.kind == "fgsm" else range(1, attack.iterations + 1)
        found += [Condition(attack.kind, attack.epsilon_255, step) for step in steps]
    return found + [Condition(name, float(strength)) for name in corruptions]


@dataclass(frozen=True)
class TrainingKey:
    """Which training of a study something is of."""

    arm: str
    network: str
    seed: int
    fold: int = 0


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """One training: what it was given and, once it ran, what came of it."""

    key: TrainingKey
    split: Split
    target: Target
    tests: Sequence[TestSet]
    result: FinishedCell | FailedCell | None = None
    file: str = ""
    """The folder of its predictions, seen from the run's."""

    @cached_property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Beliefs about tests that its cell kept, by name; empty where it failed.

        What is large, beliefs after every epoch and weights, stays on the disk (``large``).
        """
        return {} if not self.done else {n: a for n, a in self._all().items() if not _is_apart(n)}

    def large(self, name: str) -> NDArray[Any] | None:
        """An array that is read anew each time; None where its cell kept none of that name."""
        return self._all().get(name) if self.done else None

    def weights(self) -> dict[str, NDArray[Any]]:
        """The network's weights; none where models are not kept."""
        from sfumato.learn.fit import WEIGHTS

        found = self._all() if self.done else {}
        return {n.removeprefix(WEIGHTS): a for n, a in found.items() if n.startswith(WEIGHTS)}

    def _all(self) -> dict[str, NDArray[Any]]:
        return self.result.arrays() if isinstance(self.result, FinishedCell) else {}

    @property
    def done(self) -> bool:
        """Whether it ended well."""
        return isinstance(self.result, FinishedCell)

    @property
    def history(self) -> list[dict[str, float]]:
        """One row per epoch."""
        return self.result.scores["history"] if isinstance(self.result, FinishedCell) else []

    @property
    def training(self) -> dict[str, float]:
        """How well it knows its own training items at the end."""
        known = self.result.scores if isinstance(self.result, FinishedCell) else {}
        return dict(known.get("training", {}))

    @property
    def chosen(self) -> dict[str, Any]:
        """What it chose on its validation part, such as a ``rate``, and the loss of each try."""
        known = self.result.scores if isinstance(self.result, FinishedCell) else {}
        return dict(known.get("chosen", {}))

    def test(self, part: str) -> TestSet:
        """The test of that name."""
        return find({test.part: test for test in self.tests}, part, what="part that was tested")

    def beliefs(self, part: str, condition: Condition = CLEAN) -> LabelSet:
        """What the network believes about the items of a test; of attacked ones the first few."""
        test = self.test(part)
        rows = self.arrays[condition.array(part)].astype(np.float64)
        first = next(iter(test.labels.values()))
        step = Step(
            "predict",
            {"file": f"{self.file}/{condition.array(part).replace('/', ' ')}.parquet"},
            simulated=self.target.simulated,
        )
        return LabelSet(
            first.items[: len(rows)],
            first.classes,
            rows / rows.sum(axis=1, keepdims=True),  # undo the rounding of float32
            provenance=(step,),
        )

    def with_result(self, result: FinishedCell | FailedCell) -> "TrainingRun":
        """The same training, finished or failed."""
        return replace(self, result=result)


@dataclass(frozen=True, eq=False)
class Predictions:
    """What came out of the cells of a study."""

    runs: tuple[TrainingRun, ...] = ()
    cells: tuple[FinishedCell | FailedCell, ...] = ()
    """Finished and failed cells of studies that simulate worlds."""

    @property
    def done(self) -> tuple[TrainingRun, ...]:
        """The trainings that ended well."""
        return tuple(run for run in self.runs if run.done)

    @property
    def failed(self) -> list[FailedCell]:
        """Cells that failed, with their reason."""
        results = [*(run.result for run in self.runs), *self.cells]
        return [result for result in results if isinstance(result, FailedCell)]

    @property
    def seeds(self) -> list[int]:
        """The seeds of all trainings, or of all worlds."""
        return sorted(
            {run.key.seed for run in self.runs} | {_world_seed(one) for one in self.cells}
        )

    def without(self, seed: int) -> "Predictions":
        """The same as if a seed had not been run."""
        return Predictions(
            tuple(run for run in self.runs if run.key.seed != seed),
            tuple(one for one in self.cells if _world_seed(one) != seed),
        )

    def of(self, arm: str, network: str) -> dict[int, list[TrainingRun]]:
        """Finished trainings of an arm and network by seed, the folds of each in order."""
        found: dict[int, list[TrainingRun]] = {}
        for run in self.done:
            if (run.key.arm, run.key.network) == (arm, network):
                found.setdefault(run.key.seed, []).append(run)
        return found


def _world_seed(one: FinishedCell | FailedCell) -> int:
    """The seed of a cell of worlds, which all of them have."""
    return int(one.cell.inputs["points"][0].seed)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a measure found: estimates, and tables and pictures that figures are drawn from."""

    estimates: Sequence[Estimate] = ()
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    pictures: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    """Images that galleries show, by item."""


Measure = Callable[[StudyData, Predictions], Findings]


def join_findings(found: Sequence[Findings], study: str) -> Findings:
    """All findings of a study as one; empty tables are left out."""
    tables: dict[str, pl.DataFrame] = {}
    for one in found:
        twice = sorted(tables.keys() & one.tables.keys())
        if twice:
            raise DataError(f"Two measures of {study!r} write a table {twice[0]!r}.")
        tables |= {name: table for name, table in one.tables.items() if len(table)}
    return Findings(
        [replace(row, study=study) for one in found for row in one.estimates],
        tables,
        {item: image for one in found for item, image in one.pictures.items()},
    )


# What the loaders of all sources share.


def read_as(
    judgments: Judgments, recipes: Mapping[str, str], distances: ClassDistances | None = None
) -> dict[str, CrowdLabels]:
    """The judgments as each of the named recipes reads them, every recipe once.

    ``distances`` are for recipes that share mass out by similarity.
    """
    made = {
        recipe: build(
            judgments,
            recipe,
            distances=distances if "distances" in RECIPES[recipe].takes else None,
        ).crowd
        for recipe in dict.fromkeys(recipes.values())
    }
    return {name: made[recipe] for name, recipe in recipes.items()}


def read_judgments(path: Path, format_name: str, options: ReadOptions | None = None) -> Judgments:
    """What people said of single items; a file of anything else is an error."""
    found = read(path, format_name, options or ReadOptions())
    if not isinstance(found, Judgments):
        raise DataError(f"{path} holds no judgments of single items, which a study needs.")
    return found


def read_own_set(given: str, like: LabelSet) -> LabelSet:
    """A label set about items of ``like`` from a file of distributions, or FORMAT=FILE judgments.

    Judgments are read by the usual recipe and averaged; scores of sliders are averaged before they
    are normalised, as those of paper 2 are (S1-14).
    """
    format_name, _, file = given.rpartition("=")
    if format_name:
        judgments = read_judgments(Path(file), format_name, ReadOptions(classes=like.classes))
        scored = judgments.question.kind == "sliders"
        settings = LabelSettings(average="scores" if scored else "labels")
        found = make_labels(judgments, settings).labels
    else:
        found = read_labels(Path(file), classes=like.classes)
    known = set(found.items)
    items = tuple(item for item in like.items if item in known)
    if not items:
        raise DataError(
            f"{file} has no label of any item of the data: its first item is {found.items[0]!r}, "
            f"that of the data {like.items[0]!r}."
        )
    return align(like.take(items), found.take(items))[1]


def needed_folder(folder: Path | None, what: str) -> Path:
    """The folder of datasets, or an error that says what it is needed for."""
    if folder is None:
        raise DataError(f"The study needs {what}: set SFUMATO_DATA to the folder of datasets.")
    return folder


# The folder of a study that ran: what is in it, read by everything that draws or judges.


@dataclass(frozen=True)
class Timing:
    """How long a run took, over all its sittings."""

    seconds: float = 0.0
    """From beginning to end."""
    cell_seconds: float = 0.0
    """Of its cells, one after the other."""
    work: float = 0.0
    """What those cells did: model-epochs for trainings, worlds for simulations."""
    found: int = 0
    """Cells that other runs had finished, where several share them; they are in no time here."""


CELLS = "cells"
"""The folder of a run's own finished trainings."""


@dataclass(frozen=True, eq=False, repr=False)
class RunFolder(ShortRepr):
    """The folder of a study that ran, finished or not."""

    folder: Path
    study: Study
    info: Mapping[str, Any]
    """Versions, fingerprints, whether people are simulated, what is missing, timing."""

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        """The run in a folder; a folder of anything else is an error that says so."""
        folder = Path(folder)
        if (folder / "study.json").is_file() and not (folder / "study.toml").is_file():
            raise DataError(
                f"{folder} holds a run of version 0.1, whose folders had another form. Run the "
                "study again; its labels and predictions can still be read as files."
            )
        if not (folder / "study.toml").is_file() or not (folder / "run.json").is_file():
            raise DataError(f"{folder} has no study.toml and run.json: it is not a run's folder.")
        info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        return cls(folder, read_study(folder / "study.toml"), info)

    def _summary(self) -> str:
        done = (self.folder / "estimates.parquet").is_file()
        state = f"{len(self.estimates):,} estimates" if done else "not finished"
        return f"{type(self).__name__} of {self.study.name} in {self.folder}: {state}"

    @property
    def simulated(self) -> bool:
        """Whether simulated people are behind any of it."""
        return bool(self.info["simulated"])

    @property
    def timing(self) -> Timing:
        """How long it took so far."""
        return Timing(**self.info.get("timing", {}))

    @property
    def trainings(self) -> Path:
        """The folder of its finished trainings, which other runs may share."""
        return self.folder / self.info.get("trainings", CELLS)

    @cached_property
    def estimates(self) -> Estimates:
        """Every number with its interval."""
        path = self.folder / "estimates.parquet"
        if not path.is_file():
            raise DataError(
                f"{self.folder} has no estimates.parquet: the run is not finished. Run the study "
                "again into the same folder; only what is missing is done."
            )
        return Estimates.read(path)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """What figures are drawn from besides estimates, by name."""
        paths = sorted((self.folder / "tables").glob("*.parquet"))
        return {path.stem: pl.read_parquet(path) for path in paths}

    @cached_property
    def pictures(self) -> dict[str, NDArray[np.uint8]]:
        """The images that galleries show, by item."""
        path = self.folder / "pictures.npz"
        if not path.is_file():
            return {}
        with np.load(path, allow_pickle=False) as stored:
            return dict(zip(stored["items"].tolist(), stored["images"], strict=True))

    @property
    def judgments_file(self) -> Path:
        """Where answers are kept that nobody gave: simulated ones."""
        return self.folder / "judgments.parquet"

    @cached_property
    def claims(self) -> list[JudgedClaim]:
        """What papers say about the study, and what was found."""
        claims = read_claims(self.study.beside or self.study.name)
        return judge(claims, self.estimates.table, self.tables.get("left_out"))

    @property
    def printed(self) -> list[dict[str, Any]]:
        """What papers print for the arms of the study."""
        return read_printed(self.study.beside or self.study.name)

    @property
    def settings(self) -> dict[str, Any]:
        """The resolved study as plain values."""
        return study_settings(self.study)

    def label_set(self, name: str) -> LabelSet:
        """Labels that the run worked with, by name."""
        return read_labels(self.folder / "labels" / f"{name.replace('/', '-')}.parquet")


def compute_text(runs: Sequence[RunFolder]) -> str:
    """The time of devices that runs took, by kind of device (S2-56).

    Trainings that a run found finished count where they ran.
    """
    seconds: dict[str, float] = {}
    for run in runs:
        device = str(run.info.get("versions", {}).get("device", "unknown device"))
        seconds[device] = seconds.get(device, 0.0) + run.timing.cell_seconds
    told = [f"{duration(spent)} of {device}" for device, spent in sorted(seconds.items())]
    return (
        f"Compute: {' and '.join(told)} in {count(len(runs), 'run')}; "
        "each core of a CPU counts as a device."
    )


# From the trainings of a study to trials: what each network believes about each test.
#
# Every measure of trained networks begins here, so that all of them leave out the same seeds, pair
# the same arms and make their rows alike.


@dataclass(frozen=True)
class Venue:
    """Where arms meet: the items of a test, whose labels are held against, and a network."""

    part: str
    against: str
    network: str


def venues(data: StudyData, predictions: Predictions) -> Iterator[Venue]:
    """Every test and label set in the order of the study, each with all networks."""
    tests = {test.part: test for run in predictions.runs for test in run.tests}
    for part, test in tests.items():
        for against, network in product(test.labels, data.study.networks):
            yield Venue(part, against, network)


def pairs(study: Study, arms: Sequence[str]) -> list[tuple[str, str]]:
    """The arms whose differences are told, (first, second) for first minus second.

    Those of all arms, or those to the controls, each pair once (``scores.swap_arms``).
    """
    every = every_pair(study, arms)
    match study.pairs:
        case "all":
            return every
        case "controls":
            return [pair for pair in every if pair[1] in study.controls]
        case _:
            assert_never(study.pairs)


def every_pair(study: Study, arms: Sequence[str]) -> list[tuple[str, str]]:
    """Every two arms once: an arm minus a control, else the later minus the earlier one."""
    controls = [control for control in study.controls if control in arms]
    ordered = [*controls, *(arm for arm in arms if arm not in controls)]
    place = {arm: at for at, arm in enumerate(ordered)}
    return [(arm, second) for arm, second in product(arms, ordered) if place[arm] > place[second]]


def arm_trials(
    data: StudyData,
    predictions: Predictions,
    venue: Venue,
    metrics: Sequence[str],
    conditions: Sequence[Condition] = (CLEAN,),
    *,
    first: int | None = None,
    stratified: bool = False,
) -> dict[str, ArmTrials]:
    """What every arm measured at a venue with the seeds that have all of their folds.

    Several ``conditions``, such as all corruptions, are averaged as folds are. ``first`` keeps so
    many items. ``stratified`` adds the strata that the study asks for.
    """
    found = {}
    for arm in data.study.arm_names:
        trials = {
            seed: [
                _trial(data, run, venue, metrics, condition, first, stratified)
                for run, condition in product(runs, conditions)
            ]
            for seed, runs in whole_seeds(predictions, arm, venue).items()
        }
        if trials:
            found[arm] = ArmTrials(arm, trials)
    return found


def whole_seeds(predictions: Predictions, arm: str, venue: Venue) -> dict[int, list[TrainingRun]]:
    """The trainings of an arm that were tested at a venue, of seeds of which no fold failed."""

    def meets(run: TrainingRun) -> bool:
        return any(test.part == venue.part and venue.against in test.labels for test in run.tests)

    folds = len({run.key.fold for run in predictions.runs if meets(run)})
    tested = {
        seed: [run for run in runs if meets(run)]
        for seed, runs in predictions.of(arm, venue.network).items()
    }
    return {seed: runs for seed, runs in tested.items() if len(runs) == folds}


def keep_best_seeds(data: StudyData, predictions: Predictions) -> Predictions:
    """Of every network the trainings of one seed: the one of least cross-entropy (S1-41).

    It is that of the first test, averaged over arms, so that arms stay paired. Where only some
    arms have a seed it is not considered.
    """
    test, best = data.study.tests[0], {}
    for network in data.study.networks:
        venue = Venue(test.part, test.against[0], network)
        arms = arm_trials(data, predictions, venue, ("cross_entropy",))
        values = [arm.values["all", 0] for arm in arms.values()]
        shared = set.intersection(*(set(one) for one in values)) if values else set()
        if shared:
            best[network] = min(sorted(shared), key=lambda seed: sum(one[seed] for one in values))
    kept = tuple(run for run in predictions.runs if run.key.seed == best.get(run.key.network))
    return replace(predictions, runs=kept)


def _trial(
    data: StudyData,
    run: TrainingRun,
    venue: Venue,
    metrics: Sequence[str],
    condition: Condition,
    first: int | None,
    stratified: bool,
) -> Trial:
    model = run.beliefs(venue.part, condition)
    if first is not None:
        model = model.take(model.items[:first])
    labels = run.test(venue.part).labels
    human, model = align(labels[venue.against].take(model.items), model)
    strata = _strata(data, labels, venue.against, human) if stratified else {}
    return Trial(
        human.items,
        metric_rows({venue.against: human}, model, metrics),
        stratum_places(human, human, strata),
        model.provenance,
    )


def _strata(
    data: StudyData, labels: Mapping[str, LabelSet], against: str, human: LabelSet
) -> dict[str, Mask]:
    """By the labels that are held against, if people agree on some items and not on others; else
    by those that the test is held against first."""
    first = next(iter(labels.values())).take(human.items)
    # a majority has the strata of its people, and so have distributions that nobody gave
    of_people = against in data.labels and against != ORIGINAL_DISTRIBUTION
    own = human if of_people else first
    for one in (own, first):
        agreed = strata_of(one)
        if all(mask.any() for mask in agreed.values()):
            known = {**agreed, **disputed_thirds(one)}
            wanted = data.study.strata or tuple(known)
            original = data.labels.get(ORIGINAL)
            if original is not None and set(one.items) <= set(original.items):
                known |= agreement_strata(one, original.take(one.items))
            return {name: find(known, name, what="stratum") for name in wanted}
    return {}


# What measures beyond the scores share: the arms of a decoupling, beliefs by seed, and rows.

LEARNT_ORIGINAL = Arm(labels="original").name
LEARNT_VOTE = Arm(labels="majority").name
LEARNT_SOFT = Arm(labels="soft").name
"""What softness is told apart from a shifted mode by (S4-45)."""

Values = NDArray[np.float64]


def beliefs_by_seed(
    data: StudyData, predictions: Predictions, arm: str, network: str
) -> dict[int, LabelSet]:
    """What an arm's networks believe of the first test, by seed, the folds of each together.

    Seeds of which a fold failed are left out. Every seed may have been tested on other items.
    """
    test = data.study.tests[0]
    venue = Venue(test.part, test.against[0], network)
    return {
        seed: _joined([run.beliefs(test.part) for run in runs])
        for seed, runs in whole_seeds(predictions, arm, venue).items()
    }


def shared_items(tested: Iterable[Iterable[tuple[str, ...]]]) -> tuple[str, ...]:
    """The test that most arms have, given the tests of each arm's trainings; the earliest of
    several.

    Where every seed has a test of its own and some trainings failed, what shows arms side by side
    is about these: the first training of one arm may have seen other items than that of another.
    """
    counted = Counter(items for arm in tested for items in dict.fromkeys(arm))
    return max(counted, key=lambda items: counted[items], default=())


def _joined(folds: Sequence[LabelSet]) -> LabelSet:
    if len(folds) == 1:
        return folds[0]
    return LabelSet(
        tuple(item for fold in folds for item in fold.items),
        folds[0].classes,
        np.concatenate([fold.probs for fold in folds]),
        provenance=tuple(step for fold in folds for step in fold.provenance),
    )


def blank_row(data: StudyData, runs: Sequence[TrainingRun], *, part: str) -> Estimate:
    """A row about what some trainings made of a part, to be filled; it names their files."""
    source = source_text(
        labels=data.people.provenance,
        predictions=[run.file for run in runs],
    )
    people = is_simulated(data.people.provenance)
    simulated = people or any(run.target.simulated for run in runs)
    seeds = tuple(dict.fromkeys(run.key.seed for run in runs))
    return Estimate("", 0.0, part=part, seeds=seeds, simulated=simulated, source=source)


def share_row(blank: Estimate, metric: str, mask: Mask) -> Estimate:
    """The share of items in a mask, with the exact binomial interval (Clopper and Pearson)."""
    hits, count = int(mask.sum()), len(mask)
    row = replace(blank, metric=metric, value=hits / count, items=count)
    return with_interval(row, *share_interval(hits, count), "items")


def mean_row(blank: Estimate, metric: str, values: Values) -> Estimate:
    """The mean over items with Student's t interval; none where all values are the same."""
    row = replace(blank, metric=metric, value=float(values.mean()), items=len(values))
    if len(values) < 2 or not values.std():
        return row
    return with_interval(row, *student_interval(values), "items")


def apart_row(first: Estimate, second: Estimate, blank: Estimate) -> Estimate:
    """First minus second of which only the own intervals are known.

    The interval excludes zero where the two do not overlap, which is stricter than needed.
    """
    row = replace(blank, value=first.value - second.value)
    ends = (first.low, first.high, second.low, second.high)
    if any(end is None for end in ends):
        return row
    low, high, other_low, other_high = (float(end) for end in ends if end is not None)
    return with_interval(row, low - other_high, high - other_low, first.over)
