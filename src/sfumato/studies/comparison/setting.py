"""What a comparison is: arms that learn on the same items, and are tested by the same labels.

A *family* says what can be compared on one collection of data: its images and labels, its arms,
how items are divided and whose labels are tested against. A *comparison* is one table of a
paper: some arms of a family, networks, seeds and a recipe. ``families`` names them all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from sfumato.errors import DataError
from sfumato.evaluation.attacks import Attack
from sfumato.evaluation.corruptions import CORRUPTIONS
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.mixing import Percepts
from sfumato.learn.examples import Examples
from sfumato.learn.fit import Presentation
from sfumato.learn.folds import Split
from sfumato.learn.mixing import Augmenting, Mixing
from sfumato.learn.networks import NETWORKS
from sfumato.learn.train import Recipe
from sfumato.names import find
from sfumato.provenance import is_simulated
from sfumato.studies.comparison.ladder import Pair

__all__ = [
    "ArmKind",
    "Axis",
    "Comparison",
    "Family",
    "Known",
    "Target",
    "Test",
    "Training",
    "Use",
    "attacks_of",
]


@dataclass(frozen=True)
class Axis:
    """What some arms of a comparison have more or less of, and are drawn against."""

    over: Literal["annotators", "seconds", "items"]
    """Annotators an item (M), seconds of annotation an item, or items with such labels (N')."""
    series: Mapping[str, Mapping[str, float]]
    """A curve's name to its arms, and how much each has."""
    title: str


@dataclass(frozen=True)
class Comparison:
    """One table of a paper: which arms, trained how, on how many seeds."""

    name: str
    title: str
    about: str
    """A sentence or two for the head of the report."""
    family: str
    """A name of ``FAMILIES``."""
    arms: tuple[str, ...]
    """Names of the family's arms."""
    controls: tuple[str, ...]
    """Arms that the report compares all others with."""
    networks: tuple[str, ...]
    training: Recipe
    """Everything about a training but its network and seed, the same for all arms."""
    learning_rates: Mapping[str, float] = field(default_factory=dict)
    """Of networks that have one of their own, by name (S2-42)."""
    pretraining: Recipe | None = None
    """How networks learn before, on the images the family has for that (S0-27)."""
    seeds: int = 3
    folds: int = 1
    """Folds of every seed, for families that divide items so; scores are averaged over them."""
    fgsm: tuple[float, ...] = ()
    """Bounds of FGSM, in units of 1/255."""
    pgd: tuple[float, ...] = ()
    """Bounds of PGD, in units of 1/255."""
    pgd_iterations: int = 10
    attacked_items: int = 300
    """How many items of a test are attacked and corrupted."""
    corruptions: tuple[str, ...] = ()
    strength: int = 3
    """Of the corruptions, 1 to 5 (S2-77)."""
    ladders: tuple[tuple[str, ...], ...] = ()
    """Tests from near to far, by the labels they are held against (S0-44)."""
    axes: tuple[Axis, ...] = ()
    """Curves in the report, besides the arms beside each other."""
    levels: tuple[float, ...] = ()
    """Accuracies that every arm is held against, as if they were another arm's (S4-15)."""
    crossed: tuple[str, ...] = ()
    """Arms whose labels are tested against too: learnt by tested labels, and entropies (S1-43)."""

    def __post_init__(self) -> None:
        for name in self.networks:
            find(NETWORKS, name, what="network")
        for name in self.corruptions:
            find(CORRUPTIONS, name, what="corruption")
        for name in self.learning_rates:
            find(dict.fromkeys(self.networks), name, what=f"network of {self.name!r}")
        drawn = [arm for axis in self.axes for curve in axis.series.values() for arm in curve]
        for name in (*self.controls, *drawn, *self.crossed):
            find(dict.fromkeys(self.arms), name, what=f"arm of {self.name!r}")
        if len(set(self.arms)) < len(self.arms):
            raise DataError(f"The comparison {self.name!r} names an arm twice.")
        if not (self.arms and self.networks) or min(self.seeds, self.folds) < 1:
            raise DataError(f"The comparison {self.name!r} needs an arm, a network and a seed.")


@dataclass(frozen=True)
class Training:
    """Which training of a comparison a result is of."""

    arm: str
    network: str
    seed: int
    fold: int


@dataclass(frozen=True, eq=False)
class Known:
    """What a family of comparisons works on."""

    examples: Examples
    """All images that are trained on or tested."""
    labels: Mapping[str, LabelSet]
    """Labels of the items, by the family's names for them."""
    crowds: Mapping[str, CrowdLabels] = field(default_factory=dict)
    """Labels of single annotators."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Items with a role of their own, such as those that were elicited."""
    percepts: Percepts | None = None
    """What people saw in mixes of the images."""
    pretraining: tuple[Examples, LabelSet] | None = None
    missing: tuple[str, ...] = ()
    """What the paper has and the folder of data sets has not, a sentence each."""


Use = Literal["learnt", "as pretrained"]
"""Whether a network learns a target, or is tested as pretraining left it; its labels then only
say what it had learnt before."""


@dataclass(frozen=True, eq=False)
class Target:
    """What a network learns from."""

    labels: LabelSet | CrowdLabels
    presentation: Presentation = "fixed"
    mixing: Mixing | None = None
    augmenting: Augmenting | None = None
    items: tuple[str, ...] | None = None
    """What is learnt, where that is a part of the split's training items (S2-53)."""
    use: Use = "learnt"

    @property
    def simulated(self) -> bool:
        """Whether any of it was said by simulated people."""
        added = () if self.augmenting is None else (self.augmenting.labels,)
        return any(is_simulated(labels.provenance) for labels in (self.labels, *added))


@dataclass(frozen=True)
class ArmKind:
    """A way to turn what is known into a target, for one split and seed."""

    about: str
    make: Callable[[Known, Split, int], Target]


@dataclass(frozen=True, eq=False)
class Test:
    """Images that a model is tested on, and the labels it is held against."""

    part: str
    """The name of these images: "test", "held out", "near" …"""
    labels: Mapping[str, LabelSet]
    """By whose they are; all about the same items in the same order."""
    attacked: str = ""
    """Whose labels attacks drive the model away from; empty: neither attacked nor corrupted."""

    @property
    def items(self) -> tuple[str, ...]:
        """The items, in the order of all labels."""
        return next(iter(self.labels.values())).items


@dataclass(frozen=True)
class Family:
    """Everything that comparisons on the same data share."""

    about: str
    load: Callable[[Path | None], Known]
    arms: Mapping[str, ArmKind]
    splits: Callable[[Known, Comparison, int], Sequence[Split]]
    """The folds of a seed; one, where items are not divided into folds."""
    tests: Callable[[Known, Split], Sequence[Test]]
    tables: Callable[[Path | None], Mapping[str, pl.DataFrame]] = lambda folder: {}
    """What the answers themselves tell, for the report."""
    gains: Sequence[tuple[Pair, Pair]] = ()
    """Pairs of arms whose gaps a paper compares, where a comparison has all four."""


def attacks_of(comparison: Comparison) -> list[Attack]:
    """FGSM at every bound, then PGD at every bound, in steps of a quarter of it."""
    return [
        *(Attack("fgsm", bound) for bound in comparison.fgsm),
        *(
            Attack("pgd", bound, step_255=bound / 4, iterations=comparison.pgd_iterations)
            for bound in comparison.pgd
        ),
    ]
