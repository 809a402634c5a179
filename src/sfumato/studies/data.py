"""What flows through a study: its data, what was trained on it, and what was found.

``sources`` loads a ``StudyData``; ``arms`` turns an arm into a ``Target``; the cells of a run
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
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import RECIPES, build
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import CrowdLabels, LabelSet
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

ORIGINAL, PEOPLE, MAJORITY = "original", "people", "majority"
"""The label set that the data came with, what people believe, and their most frequent answers."""


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
    soft_original: LabelSet | None = None
    """Original labels as distributions, where the data came with such: what the arm ``original``
    learns (S4-13). It is tested against their classes."""
    judgments: Judgments | None = None
    """What people said; None for data that holds labels only."""
    pictures: ImageSet | None = None
    """The images with their original classes, where all were judged."""
    pool: int | None = None
    """Of so many annotators per item, drawn anew each seed, one is shown at a time; None: of all
    there are (S2-22)."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Items with a role: "train", "validation", "test" as given; "elicited"; sets further away."""
    percepts: Percepts | None = None
    """What people saw in mixes of the images."""
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

    def of(self, arm: str, network: str) -> dict[int, list[TrainingRun]]:
        """Finished trainings of an arm and network by seed, the folds of each in order."""
        found: dict[int, list[TrainingRun]] = {}
        for run in self.done:
            if (run.key.arm, run.key.network) == (arm, network):
                found.setdefault(run.key.seed, []).append(run)
        return found


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


def needed_folder(folder: Path | None, what: str) -> Path:
    """The folder of datasets, or an error that says what it is needed for."""
    if folder is None:
        raise DataError(f"The study needs {what}: set SFUMATO_DATA to the folder of datasets.")
    return folder
