"""What arms learn from labels of any data: one's own, digits with simulated people, MNIST."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import CrowdLabels, hard_labels
from sfumato.labels.signals import non_max_mass
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.provenance import is_simulated
from sfumato.studies import trainings
from sfumato.studies.data import StudyData, Target
from sfumato.studies.sources import load_data
from sfumato.studies.study import Arm, Parts, Search, read_study
from sfumato.studies.trainings import LABELS, PERSONS, arm_words, splits_of, target_of

EACH = 120
"""Made-up digits of each class to learn; 4 to test."""


@pytest.fixture(scope="module")
def own(own_study: Path) -> StudyData:
    changes = {"arms": ["soft", "votes"]}
    return load_data(read_study(own_study, changes=changes), None)


@pytest.fixture(scope="module")
def digits() -> StudyData:
    return load_data(read_study("digits-table"), None)


def learnt(data: StudyData, arm: Arm, seed: int = 0) -> Target:
    return target_of(arm, data, splits_of(data, seed)[0], seed)


@pytest.mark.parametrize("name", [*LABELS, *PERSONS, "original", "people", "votes"])
def test_every_arm_labels_every_item_that_is_learnt_or_chosen_on(own: StudyData, name: str) -> None:
    (split,) = splits_of(own, 0)

    target = target_of(Arm(labels=name), own, split, 0)

    assert set(target.mean.items) == {*split.train, *split.validation}
    shown = {
        "sampled": "sampled",
        "one-annotator": "one annotator",
        "one annotator": "one annotator",
    }
    assert target.presentation == shown.get(name, "fixed")


def test_smoothed_labels_leave_as_much_off_the_top_as_people(own: StudyData) -> None:
    smoothed = learnt(own, Arm(labels="smoothed")).mean

    off_top = np.unique(non_max_mass(smoothed).round(12))
    assert off_top == pytest.approx([non_max_mass(own.people).mean()])


def test_class_level_labels_are_means_of_all_people_and_category_of_those_learnt(
    own: StudyData,
) -> None:
    items = learnt(own, Arm(labels="category")).mean.items
    original = own.original.probs.argmax(axis=1)
    among = np.isin(own.people.items, items)

    for name, counted in (("class-level", np.ones(len(among), bool)), ("category", among)):
        found = learnt(own, Arm(labels=name)).mean
        for place, item in enumerate(found.items[:4]):
            of_class = original == original[own.people.items.index(item)]
            expected = own.people.probs[of_class & counted].mean(axis=0)
            assert found.probs[place] == pytest.approx(expected)


def test_people_are_asked_for_in_any_number_and_shown_one_by_one(own: StudyData) -> None:
    few = learnt(own, Arm(labels="people", people=2, shown="one annotator"))
    averaged = learnt(own, Arm(labels="people", people=2))

    assert isinstance(few.labels, CrowdLabels)
    assert set(np.bincount(few.labels.item)) <= {0, 2}
    items = averaged.mean.items
    assert few.mean.take(items).probs.tolist() == averaged.mean.take(items).probs.tolist()


def test_majority_of_few_is_hard_and_that_of_all_shares_ties(own: StudyData) -> None:
    everybody = learnt(own, Arm(labels="people", majority=True)).mean
    of_two = learnt(own, Arm(labels="people", majority=True, people=2)).mean

    assert set(np.unique(everybody.probs)) == {0, 1}  # three people of two classes never tie
    assert set(np.unique(of_two.probs)) == {0, 1}
    assert everybody.probs.tolist() == learnt(own, Arm(labels="majority")).mean.probs.tolist()


def test_labels_that_nobody_has_are_refused(own: StudyData) -> None:
    with pytest.raises(UnknownName, match=r"for the data 'own' is called 'sotf'. Did you mean"):
        learnt(own, Arm(labels="sotf"))
    with pytest.raises(DataError, match="no answers about mixed images"):
        learnt(own, Arm(added="uniform"))
    with pytest.raises(DataError, match="'original' averaged, not those of each annotator"):
        learnt(own, Arm(labels="original", shown="one annotator"))


def test_an_arm_is_told_in_words(own: StudyData) -> None:
    told = {
        arm_words(arm, own)
        for arm in (
            Arm(labels="soft"),
            Arm(labels="votes", people=2, majority=True),
            Arm(labels="hard", mix="mixup"),
            Arm(per_class=1000),
        )
    }

    assert told == {
        "people's distribution",
        "answers read as 'votes', of 2 annotators per item, their mode as a hard label",
        "the original labels; every batch mixed (mixup)",
        "the labels 'original'; 1,000 items of each class only",
    }


def test_people_of_digits_are_simulated_and_said_to_be(digits: StudyData) -> None:
    targets = {arm.name: learnt(digits, arm) for arm in digits.study.arms}

    assert is_simulated(digits.people.provenance)
    simulated = {name for name, target in targets.items() if target.simulated}
    # smoothed ones are as soft as they are
    assert simulated == {"majority", "soft", "one annotator", "smoothed"}


def test_seeds_divide_the_digits_differently_and_test_on_nothing_learnt(digits: StudyData) -> None:
    splits = [splits_of(digits, seed)[0] for seed in (0, 1)]

    assert splits[0].test != splits[1].test
    for split in splits:
        held = {item for test in trainings.tests_of(digits, split) for item in test.items}
        assert not held & {*split.train, *split.validation}
        assert len(split.train) + len(split.validation) + len(held) == 1797


def test_every_training_of_a_study_is_planned_once(digits: StudyData) -> None:
    planned = trainings.plan_trainings(digits)

    keys = [(run.key.arm, run.key.network, run.key.seed, run.key.fold) for run in planned]
    assert len(set(keys)) == len(keys) == 5 * 1 * 3
    assert not any(run.done for run in planned)
    assert {run.file for run in planned if run.key.arm == "soft"} == {
        f"predictions/simple-ffn/soft/seed-{seed}" for seed in range(3)
    }


@pytest.fixture(scope="module")
def mnist() -> StudyData:
    """Small pictures, each class a bright column of its own."""
    rng = np.random.default_rng(0)
    items: list[str] = []
    classes: list[int] = []
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for part, each in (("train", EACH), ("test", 4)):
        for digit in range(10):
            for place in range(each):
                parts[part].append(f"{part}/{digit}-{place}")
                items.append(parts[part][-1])
                classes.append(digit)
    images = rng.integers(0, 80, size=(len(items), 12, 12, 1))
    for row, digit in enumerate(classes):
        images[row, :, digit] += 150
    return StudyData(
        read_study("mnist-curve"),
        Examples(tuple(items), images.astype(np.uint8)),
        labels={"original": hard_labels(tuple(items), tuple("0123456789"), np.array(classes))},
        parts={name: tuple(mine) for name, mine in parts.items()},
    )


def few_digits(data: StudyData, count: int, seed: int) -> tuple[str, ...]:
    items = learnt(data, Arm(per_class=count), seed).items
    assert items is not None
    return items


def test_an_arm_learns_so_many_of_each_class_and_the_fewer_are_among_the_more(
    mnist: StudyData,
) -> None:
    few, more = few_digits(mnist, 50, seed=0), few_digits(mnist, 100, seed=0)

    digits = [item.removeprefix("train/")[0] for item in few]
    assert [digits.count(digit) for digit in "0123456789"] == [50] * 10
    assert set(few) < set(more)
    assert set(few) != set(few_digits(mnist, 50, seed=1))


def test_nothing_that_is_tested_is_learnt_or_chosen_on(mnist: StudyData) -> None:
    (split,) = splits_of(mnist, 0)
    (tested,) = trainings.tests_of(mnist, split)

    assert isinstance(split, Split)
    assert (split.validation, split.selection) == ((), "none")
    assert not set(tested.items) & set(few_digits(mnist, 100, seed=0))
    assert len(tested.items) == 40


@pytest.mark.parametrize("people", [None, 2])
def test_temperature_raises_labels_to_its_inverse(own: StudyData, people: int | None) -> None:
    plain = learnt(own, Arm(labels="people", people=people)).mean
    sharp = learnt(own, Arm(labels="people", people=people, temperature=0.5)).mean
    flat = learnt(own, Arm(labels="people", people=people, temperature=1e9)).mean

    squared = plain.probs**2
    assert sharp.probs == pytest.approx(squared / squared.sum(axis=1, keepdims=True))
    mentioned = plain.probs > 0
    assert flat.probs == pytest.approx(mentioned / mentioned.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("kind", ["folds", "stratified"])
def test_what_is_searched_is_chosen_on_items_that_are_neither_learnt_nor_tested(
    digits: StudyData, kind: Literal["folds", "stratified"]
) -> None:
    study = digits.study.model_copy(
        update={"split": Parts(kind=kind), "folds": 3 if kind == "folds" else 1}
    )
    searching = study.model_copy(update={"search": Search(rates=(0.1, 0.01))})

    before = splits_of(replace(digits, study=study), 5)
    found = splits_of(replace(digits, study=searching), 5)

    for one, other in zip(before, found, strict=True):
        assert one.test == other.test
        assert {*one.train, *one.validation} == {*other.train, *other.validation}
        assert not {*other.train} & {*other.validation} and other.selection == "nested"
        share = len(other.validation) / len({*one.train, *one.validation})
        assert share == pytest.approx(0.1 if kind == "folds" else 0.15 / 0.85, abs=0.005)


@pytest.mark.parametrize("arm", [Arm(use="as pretrained"), Arm(labels="hard", mix="mixup")])
def test_every_kind_of_arm_has_labels_to_choose_by(digits: StudyData, arm: Arm) -> None:
    (split,) = splits_of(digits, 0)

    assert {*split.train, *split.validation} == set(target_of(arm, digits, split, 0).mean.items)
