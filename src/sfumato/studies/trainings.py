"""Turn a study and its data into trainings: splits, tests, targets, and the cells of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import DataError
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.learn.folds import (
    Selection,
    Split,
    class_of,
    k_folds,
    seventy_thirty_with_held_out,
    stratified_split,
)
from sfumato.learn.sweep import Cell, FailedCell, FinishedCell
from sfumato.studies.arms import target_of
from sfumato.studies.data import (
    MAJORITY,
    PEOPLE,
    StudyData,
    Target,
    TestSet,
    TrainingKey,
    TrainingRun,
)
from sfumato.studies.study import Arm, Head, Study, TestSpec

if TYPE_CHECKING:
    from sfumato.learn.examples import Examples
    from sfumato.learn.train import Weights
    from sfumato.studies.cell import TextExamples

LEARNT_SAMPLE = 500
"""How many items that were trained on are tested, where a study asks for them (C3)."""
FEWEST_FOLDS = 3
"""One fold is not cut out of others: a single fold stands for the first of so many."""

Sweep = Callable[[Sequence[Cell]], Sequence[FinishedCell | FailedCell]]


def plan_trainings(data: StudyData) -> list[TrainingRun]:
    """Every seed, fold, arm and network, with what is learnt and tested."""
    study, planned = data.study, []
    for seed in range(study.seeds):
        for (fold, split), arm in product(enumerate(splits_of(data, seed)), study.arms):
            target = target_of(arm, data, split, seed)
            tests = tests_of(data, split)
            learnt = split if target.items is None else replace(split, train=target.items)
            for network in study.networks:
                key = TrainingKey(arm.name, network, seed, fold)
                file = f"predictions/{folder_name(study, key)}"
                planned.append(TrainingRun(key, learnt, target, tests, file=file))
    return planned


def folder_name(study: Study, key: TrainingKey) -> str:
    """Where what belongs to one training lies inside a folder of a run."""
    fold = f" fold-{key.fold}" if study.folds > 1 else ""
    return f"{key.network}/{key.arm.replace('/', '-')}/seed-{key.seed}{fold}"


def splits_of(data: StudyData, seed: int) -> Sequence[Split]:
    """The folds of a seed; one, where items are not divided into folds."""
    study, parts = data.study, data.parts
    chosen = seed if study.split.seed == "each" else study.split.seed
    rng = np.random.default_rng(chosen)
    match study.split.kind:
        case "given":
            given = list(data.folds.values()) or [_given_split(parts)]
            if not study.split.learn_validation:
                return given
            return [
                Split((*one.train, *one.validation), (), one.test, selection="none")
                for one in given
            ]
        case "held out":
            return [
                seventy_thirty_with_held_out(
                    parts["train"],
                    parts["test"],
                    parts["elicited"],
                    held_out=study.split.held_out,
                    rng=np.random.default_rng(seed),
                )
            ]
        case "folds":
            original = data.original
            dealt = k_folds(
                original.items,
                max(study.folds, FEWEST_FOLDS),
                strata=class_of(original),
                selection="none",
                rng=np.random.default_rng(seed),
            )
            return dealt[: study.folds]
        case "stratified" | "difficulty":
            if {"train", "validation", "test"} <= parts.keys() and study.split.kind == "stratified":
                return [Split(parts["train"], parts["validation"], parts["test"])]
            training, choosing, reporting = study.split.shares
            return [
                stratified_split(
                    data.people.items,
                    _strata(data),
                    (training, choosing, reporting),
                    rng=rng,
                )
            ]


def _given_split(parts: Mapping[str, tuple[str, ...]]) -> Split:
    validation = parts.get("validation", ())
    selection: Selection = "nested" if validation else "none"
    return Split(parts["train"], validation, parts["test"], selection=selection)


def _strata(data: StudyData) -> dict[str, str]:
    """Original classes, or thirds of people's doubt where the split is by difficulty."""
    if data.study.split.kind == "stratified":
        return class_of(data.original.take(data.people.items))
    doubt = entropy(data.people)
    ends = np.quantile(doubt, [1 / 3, 2 / 3])
    thirds = np.searchsorted(ends, doubt, side="left")
    return {item: f"third {third}" for item, third in zip(data.people.items, thirds, strict=True)}


def tests_of(data: StudyData, split: Split) -> list[TestSet]:
    """What a network is tested on, with all labels that the study holds against it."""
    found = []
    for spec in data.study.tests:
        items = _tested_items(spec, data, split)
        labels = _held_against(spec, data)
        if not labels or items is None:
            continue  # a set that is not there is told in ``data.missing``
        known = set(next(iter(labels.values())).items)
        kept = tuple(item for item in items if item in known)
        if kept:
            taken = {name: one.take(kept) for name, one in labels.items()}
            found.append(TestSet(spec.part, taken, spec.attacked))
    if not found:
        raise DataError(f"The study {data.study.name!r} has no labelled items to test on.")
    return found


def _held_against(spec: TestSpec, data: StudyData) -> dict[str, LabelSet]:
    """The label sets of a test; ``majority`` is that of the first, where the data has none."""
    known = {name: data.labels[name] for name in spec.against if name in data.labels}
    if known and MAJORITY in spec.against and MAJORITY not in known:
        known[MAJORITY] = majority_labels(next(iter(known.values())), "share")
    return {name: known[name] for name in spec.against if name in known}


def _tested_items(spec: TestSpec, data: StudyData, split: Split) -> tuple[str, ...] | None:
    match spec.items:
        case "test":
            return split.test
        case "second test":
            return split.second_test
        case "trained on":
            rows = np.random.default_rng(0).permutation(len(split.train))[:LEARNT_SAMPLE]
            return tuple(split.train[row] for row in rows)
        case name:
            items = data.parts.get(name)
            if items is None or not data.folds:
                return items
            own = set(split.test)  # of several sets, each is tested by those who learnt it
            return tuple(item for item in items if item in own)


def training_cell(data: StudyData, run: TrainingRun, start: "Weights | None") -> Cell:
    """One training as a cell of a sweep."""
    from sfumato.learn.targets import judgments_on
    from sfumato.studies.cell import train_and_test

    study, key = data.study, run.key
    fold = f", fold {key.fold}" if study.folds > 1 else ""
    inputs: dict[str, Any] = {
        "recipe": study.recipe_of(key.network, key.seed),
        "examples": examples_for(data, key.network),
        "target": _needed(run.target, run.split),
        "split": run.split,
        "parts": {test.part: test.items for test in run.tests},
        "attacked": attacked_labels(study, run.tests),
        "attacks": study.attacks,
        "corruptions": study.corruptions,
        "strength": study.strength,
        "watch": study.watch,
        "keep_weights": study.keep_models,
    }
    if "people" in study.measures:
        inputs["crowd"] = judgments_on(data.crowds[PEOPLE], run.split.train)
    return Cell(
        f"{key.arm}, {key.network}, seed {key.seed}{fold}",
        train_and_test,
        inputs if start is None else {**inputs, "start": start},
    )


def examples_for(data: StudyData, network: str) -> "Examples | TextExamples | None":
    """What a network learns from: images, or texts that it encodes itself."""
    from sfumato.studies.cell import TextExamples

    if data.texts is None:
        return data.examples
    head = data.study.heads.get(network, Head())
    return TextExamples.of(data.texts, head.encoder)


def attacked_labels(study: Study, tests: Sequence[TestSet]) -> dict[str, LabelSet]:
    """The labels that attacks drive networks away from, by part."""
    if not (study.attacks or study.corruptions):
        return {}
    return {
        test.part: test.labels[test.attacked].take(test.items[: study.attacked_items])
        for test in tests
        if test.attacked
    }


def _needed(target: Target, split: Split) -> Target:
    """The target with labels of the items that are learnt and chosen on, no others."""
    if isinstance(target.labels, LabelSet):
        return replace(target, labels=target.labels.take((*split.train, *split.validation)))
    return target


def pretrained_weights(data: StudyData, sweep: Sweep) -> "dict[str, Weights]":
    """One network of each kind, which all arms and seeds go on from; none without pretraining."""
    from sfumato.learn.fit import kept_weights
    from sfumato.studies.cell import pretrain

    study = data.study
    if study.pretraining is None:
        return {}
    if data.pretraining is None:
        raise DataError(f"The data {study.data!r} has no images to pretrain on.")
    examples, labels = data.pretraining
    cells = [
        Cell(
            f"pretraining of {network}",
            pretrain,
            {
                "recipe": replace(study.pretraining, network=network),
                "examples": examples,
                "labels": labels,
            },
        )
        for network in study.networks
    ]
    starts: dict[str, Weights] = {}
    for network, result in zip(study.networks, sweep(cells), strict=True):
        if isinstance(result, FailedCell):
            raise DataError(f"The {result.cell.name} failed: {result.reason}")
        starts[network] = kept_weights(result.arrays())
    return starts


def run_trainings(data: StudyData, sweep: Sweep) -> tuple[TrainingRun, ...]:
    """All trainings of a study, finished or failed; an error if none ended well."""
    planned = plan_trainings(data)
    if data.texts is not None:
        _encode_once(data, planned)
    starts = pretrained_weights(data, sweep)
    cells = [training_cell(data, run, starts.get(run.key.network)) for run in planned]
    results = sweep(cells)
    runs = tuple(run.with_result(result) for run, result in zip(planned, results, strict=True))
    if not any(run.done for run in runs):
        first = results[0]
        assert isinstance(first, FailedCell)
        raise DataError(f"Every training failed; the first, {first.cell.name}: {first.reason}")
    return runs


def _encode_once(data: StudyData, planned: Sequence[TrainingRun]) -> None:
    """Compute vectors that are kept before many processes do so at the same time."""
    from sfumato.studies.cell import encoded

    for run in planned:
        head = data.study.heads.get(run.key.network, Head())
        if head.encoder != "tf-idf" and run.key.seed == 0 and run.key.arm == planned[0].key.arm:
            examples = examples_for(data, run.key.network)
            assert examples is not None
            encoded(examples, run.split, {test.part: test.items for test in run.tests})


def first_targets(
    data: StudyData, runs: Sequence[TrainingRun]
) -> dict[str, tuple[Arm, TrainingRun]]:
    """The first training of every arm, by its name."""
    first = {run.key.arm: run for run in reversed(runs)}
    return {arm.name: (arm, first[arm.name]) for arm in data.study.arms if arm.name in first}
