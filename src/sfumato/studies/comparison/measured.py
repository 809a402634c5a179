"""From the trainings of a comparison to scores and paired differences.

A value is that of one seed: the mean over its folds, each on its own test. Intervals are over
seeds (Student's t), as the papers' are; they say nothing about other items. Differences are
paired by seed: both arms had the same items, first weights and order.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import xlogy

from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.strata import strata_of
from sfumato.labels.compare import total_variation
from sfumato.labels.labelset import CrowdLabels, LabelSet, align
from sfumato.labels.signals import entropy
from sfumato.learn.folds import Split
from sfumato.learn.sweep import FailedCell, FinishedCell
from sfumato.provenance import is_simulated
from sfumato.scores import Difference, Score
from sfumato.stats import paired_t, student_interval
from sfumato.studies.cell import attack_name, corruption_name
from sfumato.studies.comparison.cell import spoilt_name
from sfumato.studies.comparison.ladder import (
    ByFold,
    gain_differences,
    ladder_differences,
    wins_table,
)
from sfumato.studies.comparison.levels import level_differences
from sfumato.studies.comparison.references import references_table
from sfumato.studies.comparison.resonance import entropies_table, resonance_differences
from sfumato.studies.comparison.setting import (
    Comparison,
    Family,
    Known,
    Target,
    Test,
    Training,
    attacks_of,
)
from sfumato.studies.comparison.tracking import tracking_differences

__all__ = ["AGREEMENT", "CORRUPTED", "MEASURED", "Measured", "Trained", "measure"]

MEASURED = (
    "cross_entropy",
    "accuracy",
    "rms_calibration",
    "second_best_accuracy",
    "second_best_accuracy_all",
    "confidence_right",
    "confidence_wrong",
    "entropy",
)
SPOILT = ("cross_entropy", "accuracy")
"""What is measured of attacked and corrupted images, and by people's agreement."""
AGREEMENT = ("unanimous", "disputed")
"""Strata of the clean images, where the labels held against are people's (C21)."""
CORRUPTED = "corrupted"
"""The stratum of scores that are the mean over all corruptions (S2-77)."""


@dataclass(frozen=True, eq=False)
class Trained:
    """One training: what it was given and what came of it."""

    training: Training
    split: Split
    target: Target
    tests: Sequence[Test]
    result: FinishedCell | FailedCell | None = None

    @property
    def simulated(self) -> bool:
        """Whether simulated people taught the network or test it."""
        tested = (labels for test in self.tests for labels in test.labels.values())
        return self.target.simulated or any(is_simulated(one.provenance) for one in tested)

    def with_result(self, result: FinishedCell | FailedCell) -> "Trained":
        """The same training, finished or failed."""
        return replace(self, result=result)


@dataclass(frozen=True, eq=False)
class Measured:
    """Scores, differences and tables of a comparison."""

    scores: list[Score]
    differences: list[Difference]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class _What:
    """Which number: everything that tells it from others but the arm and the seed."""

    network: str
    against: str
    stratum: str
    metric: str


@dataclass(frozen=True, eq=False)
class _Value:
    fold: int
    value: float
    items: int
    simulated: bool


def measure(
    comparison: Comparison,
    family: Family,
    known: Known,
    trained: Sequence[Trained],
    told: Mapping[str, pl.DataFrame] = MappingProxyType({}),
) -> Measured:
    """Scores of every arm on every test, and all paired differences between arms.

    ``told`` are the family's own tables about its answers.
    """
    found: dict[_What, dict[str, dict[int, list[_Value]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for one in trained:
        for what, value in _values(comparison, one):
            found[what][one.training.arm][one.training.seed].append(value)
    scores: list[Score] = []
    differences: list[Difference] = []
    for what, by_arm in found.items():
        whole = {arm: _whole(by_seed, comparison.folds) for arm, by_seed in by_arm.items()}
        scores += [_score(what, arm, by_seed) for arm, by_seed in whole.items() if by_seed]
        for first, second in permutations(whole, 2):
            apart = _difference(what, first, second, whole[first], whole[second])
            differences += [] if apart is None else [apart]
    by_fold = _by_fold(found)
    differences += ladder_differences(comparison.ladders, by_fold, comparison.folds)
    differences += gain_differences(family.gains, by_fold, comparison.folds)
    differences += level_differences(comparison.levels, scores)
    differences += resonance_differences(comparison.crossed, trained, comparison.folds)
    differences += tracking_differences(told)
    tables = {
        **told,
        "labels": _labels_table(comparison, family, trained),
        "references": references_table(known, _tests_of_first_seed(trained)),
        "wins": wins_table(by_fold, comparison.arms, comparison.controls),
        "entropies": entropies_table(comparison.crossed, trained),
        "history": _history(trained),
        "failed": _failed(trained),
    }
    return Measured(scores, differences, {name: one for name, one in tables.items() if len(one)})


def _by_fold(found: Mapping[_What, Mapping[str, Mapping[int, list[_Value]]]]) -> ByFold:
    return {
        (what.network, what.against, what.metric): {
            arm: {
                (seed, each.fold): each.value for seed, values in by_seed.items() for each in values
            }
            for arm, by_seed in by_arm.items()
        }
        for what, by_arm in found.items()
        if what.stratum == "all"
    }


def _tests_of_first_seed(trained: Sequence[Trained]) -> list[Test]:
    """All folds of them; every arm and network has the same."""
    first = trained[0].training
    return [
        test
        for one in trained
        if (one.training.arm, one.training.network, one.training.seed)
        == (first.arm, first.network, first.seed)
        for test in one.tests
    ]


def _values(comparison: Comparison, one: Trained) -> Iterator[tuple[_What, _Value]]:
    """Every number of one training."""
    if not isinstance(one.result, FinishedCell):
        return
    arrays = one.result.arrays()
    for test in one.tests:
        for against, human in test.labels.items():
            clean_beliefs = _beliefs(test, arrays[test.part])
            for stratum, beliefs in (
                *_conditions(comparison, test, arrays),
                *_by_agreement(human, clean_beliefs),
            ):
                clean = stratum == "all"
                for metric in MEASURED if clean else SPOILT:
                    held = [human.take(model.items) for model in beliefs]
                    numbers = [
                        METRICS[metric].overall(people, model)
                        for people, model in zip(held, beliefs, strict=True)
                    ]
                    value = float(np.mean(numbers))
                    if not np.isnan(value):  # NaN: the metric is not defined on these labels
                        what = _What(one.training.network, against, stratum, metric)
                        simulated = one.target.simulated or is_simulated(human.provenance)
                        yield what, _Value(one.training.fold, value, len(held[0]), simulated)


def _conditions(
    comparison: Comparison, test: Test, arrays: Mapping[str, NDArray[np.float32]]
) -> Iterator[tuple[str, list[LabelSet]]]:
    """What the model believes about a test's images, untouched and spoilt, by stratum."""
    yield "all", [_beliefs(test, arrays[test.part])]
    if not test.attacked:
        return
    for attack in attacks_of(comparison):
        name = attack_name(attack)
        steps = [""] if attack.kind == "fgsm" else [f"/{n + 1}" for n in range(attack.iterations)]
        if attack.kind == "pgd":  # the same items before the first step (S0-F4)
            attacked = len(arrays[spoilt_name(test.part, name + steps[0])])
            yield f"{name}/0", [_beliefs(test, arrays[test.part][:attacked])]
        for step in steps:
            yield name + step, [_beliefs(test, arrays[spoilt_name(test.part, name + step)])]
    corrupted = [
        _beliefs(test, arrays[spoilt_name(test.part, corruption_name(name))])
        for name in comparison.corruptions
    ]
    if corrupted:
        yield CORRUPTED, corrupted


def _by_agreement(human: LabelSet, model: LabelSet) -> Iterator[tuple[str, list[LabelSet]]]:
    """Clean images on which people agree, and the others; nothing where all are of one kind."""
    masks = strata_of(human)
    if not all(mask.any() for mask in masks.values()):
        return
    for stratum in AGREEMENT:
        inside = zip(human.items, masks[stratum], strict=True)
        yield stratum, [model.take(tuple(item for item, among in inside if among))]


def _beliefs(test: Test, rows: NDArray[np.float32]) -> LabelSet:
    classes = next(iter(test.labels.values())).classes
    probs = rows.astype(np.float64)
    # Undo the rounding of float32; attacked parts are the first items of the test.
    return LabelSet(test.items[: len(probs)], classes, probs / probs.sum(axis=1, keepdims=True))


def _whole(by_seed: Mapping[int, list[_Value]], folds: int) -> dict[int, _Value]:
    """The mean over folds of every seed that has all of them."""
    return {
        seed: _Value(
            0,
            float(np.mean([each.value for each in values])),
            sum(each.items for each in values),
            any(each.simulated for each in values),
        )
        for seed, values in by_seed.items()
        if len(values) == folds
    }


def _score(what: _What, arm: str, by_seed: Mapping[int, _Value]) -> Score:
    values = np.array([each.value for each in by_seed.values()])
    low, high = student_interval(values)
    return Score(
        what.metric,
        float(values.mean()),
        arm=arm,
        network=what.network,
        against=what.against,
        stratum=what.stratum,
        low=_end(low),
        high=_end(high),
        interval="seeds",
        items=next(iter(by_seed.values())).items,
        seeds=tuple(by_seed),
        simulated=any(each.simulated for each in by_seed.values()),
    )


def _difference(
    what: _What,
    first: str,
    second: str,
    one: Mapping[int, _Value],
    other: Mapping[int, _Value],
) -> Difference | None:
    shared = [seed for seed in one if seed in other]
    if not shared:
        return None
    apart = np.array([one[seed].value - other[seed].value for seed in shared])
    low, high = student_interval(apart)
    tested = len(shared) > 1 and bool(np.isfinite(apart).all())
    return Difference(
        what.metric,
        float(apart.mean()),
        first,
        second,
        network=what.network,
        against=what.against,
        stratum=what.stratum,
        low=_end(low),
        high=_end(high),
        interval="seeds",
        p=paired_t(apart) if tested else None,
        test="paired t" if tested else "",
        items=min(one[shared[0]].items, other[shared[0]].items),
        seeds=tuple(shared),
        simulated=any(side[seed].simulated for side in (one, other) for seed in shared),
    )


def _end(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _labels_table(
    comparison: Comparison, family: Family, trained: Sequence[Trained]
) -> pl.DataFrame:
    """What the arms' labels look like on the training items of the first split.

    The distance to the first control is over the items that both learn.
    """
    first = {one.training.arm: one for one in reversed(trained)}
    people = first[comparison.controls[0] if comparison.controls else comparison.arms[0]]
    with_mixes = any(one.target.augmenting is not None for one in trained)
    rows = []
    for arm in comparison.arms:
        one = first[arm]
        mean = _mean(one.target.labels).take(one.split.train)
        learnt = set(people.split.train)
        shared = [item for item in mean.items if item in learnt]
        both = align(mean.take(shared), _mean(people.target.labels).take(shared))
        rows.append(
            {
                "arm": arm,
                "about": family.arms[arm].about,
                "shown": one.target.presentation,
                "mean_entropy": float(entropy(mean).mean()),
                "distance_to_control": float(total_variation(*both).mean()) if shared else None,
                "items": len(mean),
            }
            | (_mixes(one.target) if with_mixes else {})
        )
    return pl.DataFrame(rows)


def _mixes(target: Target) -> dict[str, float | None]:
    """How many mixed images an arm adds, and how undecided their labels are."""
    if target.augmenting is None:
        return {"mixes": None, "mixes_entropy": None}
    labels = target.augmenting.labels
    rows = labels.probs  # of every person, where they are shown one by one
    return {
        "mixes": len(target.augmenting),
        "mixes_entropy": float(-xlogy(rows, rows).sum(axis=1).mean()),
    }


def _mean(labels: LabelSet | CrowdLabels) -> LabelSet:
    return labels.mean() if isinstance(labels, CrowdLabels) else labels


def _history(trained: Sequence[Trained]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "arm": one.training.arm,
                "network": one.training.network,
                "seed": one.training.seed,
                "fold": one.training.fold,
                "epoch": int(row["epoch"]),
                "loss": row["loss"],
            }
            for one in trained
            if isinstance(one.result, FinishedCell)
            for row in one.result.scores["history"]
        ]
    )


def _failed(trained: Sequence[Trained]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"training": one.result.cell.name, "reason": one.result.reason}
            for one in trained
            if isinstance(one.result, FailedCell)
        ]
    )
