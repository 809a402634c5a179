"""Section 7 of paper 2: label sets, who learns what, and what models are held against."""

from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.alter import sparse
from sfumato.labels.compare import jensen_shannon
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet, align, hard_labels
from sfumato.labels.signals import entropy, non_max_mass
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.soft_targets import map_labels
from sfumato.studies import trainings
from sfumato.studies.cifar_sources import (
    DENSE,
    DENSE_FILLED,
    EPSILON,
    HARD,
    IN_FILLED,
    MAPPED,
    MODES,
    MODES_S,
    NEAR,
    OF_FILES,
    PEOPLE_H,
    PEOPLE_S,
    filled_sets,
    label_sets,
)
from sfumato.studies.data import StudyData
from sfumato.studies.sources import load_data
from sfumato.studies.study import read_study, with_arms
from sfumato.studies.trainings import splits_of, target_of

STUDY = read_study("informativeness-labels")
SMALL = read_study("informativeness-small-data")
SETS = STUDY.crossed
CLASSES = tuple("abcdefghij")
ITEMS = tuple(map(str, range(1500)))
"""Of which two thirds are learnt: 100 of each class."""
SOFT = ITEMS[:60]
"""Items with soft answers."""
NEAR_ITEMS = tuple(f"train/{place}" for place in range(20))


@pytest.fixture(scope="module")
def data() -> StudyData:
    """Pictures of one bright column, votes around the original label, some soft answers."""
    rng = np.random.default_rng(0)
    digit = np.arange(len(ITEMS)) % 10
    images = rng.integers(0, 60, size=(len(ITEMS) + 20, 12, 12, 3))
    for row in range(len(images)):
        images[row, :, row % 10] += 150
    original = hard_labels(ITEMS, CLASSES, digit)
    people = LabelSet(ITEMS, CLASSES, 0.9 * original.probs + 0.1 * rng.dirichlet([0.3] * 10, 1500))
    soft = LabelSet(SOFT, CLASSES, rng.dirichlet([0.5] * 10, size=len(SOFT)))
    near = hard_labels(NEAR_ITEMS, CLASSES, np.arange(20) % 10)
    return StudyData(
        STUDY,
        Examples((*ITEMS, *NEAR_ITEMS), images.astype(np.uint8)),
        labels={"original": original, **label_sets(original, people, soft), NEAR: near},
        parts={NEAR: NEAR_ITEMS},
    )


@pytest.fixture(scope="module")
def split(data: StudyData) -> Split:
    return splits_of(data, 0)[0]


def test_smoothing_leaves_as_much_off_the_top_as_the_paper_says(data: StudyData) -> None:
    assert list(EPSILON.values()) == [0.05, 0.2]
    for name, epsilon in EPSILON.items():
        labels = data.labels[name]

        assert non_max_mass(labels) == pytest.approx(np.full(len(labels), epsilon))
        assert (labels.probs.argmax(axis=1) == data.labels[HARD].probs.argmax(axis=1)).all()


def test_soft_answers_are_filled_in_with_hard_labels_and_their_modes_too(data: StudyData) -> None:
    filled, modes = data.labels[IN_FILLED], data.labels[MODES_S]

    assert filled.take(SOFT).probs.tolist() == data.labels[PEOPLE_S].probs.tolist()
    assert (non_max_mass(filled.take(ITEMS[60:])) == 0).all()
    assert (non_max_mass(modes) == 0).all()
    assert (modes.probs.argmax(axis=1) == filled.probs.argmax(axis=1)).all()
    assert (non_max_mass(data.labels[MODES]) == 0).all()


@pytest.mark.parametrize("name", STUDY.arm_names)
def test_an_arm_learns_its_label_set_on_all_images_of_the_split(
    data: StudyData, split: Split, name: str
) -> None:
    labels = target_of(STUDY.arm(name), data, split, 0).labels

    assert isinstance(labels, LabelSet)
    assert labels.items == split.train
    assert labels.probs.tolist() == data.labels[name].take(split.train).probs.tolist()


def test_small_data_are_the_same_images_for_every_label_set(data: StudyData, split: Split) -> None:
    def learnt(count: int, seed: int) -> set[tuple[str, ...] | None]:
        arms = [arm for arm in SMALL.arms if arm.per_class == count]
        assert len(arms) == 7
        return {target_of(arm, data, split, seed).items for arm in arms}

    (many,), (fewer,) = learnt(80, 3), learnt(8, 3)

    assert many is not None
    assert fewer is not None
    digits = [int(item) % 10 for item in fewer]
    assert (len(many), [digits.count(digit) for digit in range(10)]) == (800, [8] * 10)
    assert set(fewer) < set(many) < set(split.train)
    assert learnt(8, 4) != {fewer}


def test_every_label_set_is_tested_against_on_images_that_are_not_learnt(
    data: StudyData, split: Split
) -> None:
    held_out, elicited, near = trainings.tests_of(data, split)

    assert set(held_out.labels) == set(SETS)
    assert held_out.items == split.test
    assert not set(held_out.items) & set(split.train)
    assert set(elicited.items) == set(SOFT) & set(split.test)
    assert tuple(elicited.labels) == (PEOPLE_S,)
    assert near.items == NEAR_ITEMS


def test_folds_without_soft_answers_are_not_tested_against_them(data: StudyData) -> None:
    without = Split(ITEMS[:100], (), ITEMS[900:], selection="none")

    assert [test.part for test in trainings.tests_of(data, without)] == ["held out", NEAR]


def test_label_sets_of_the_data_folder_are_as_soft_as_the_papers(data_folder: Path) -> None:
    study = read_study("informativeness-labels", changes={"collection": {"sets": [], "near": 0}})

    found = load_data(study, data_folder).labels

    soft = found[PEOPLE_S]
    assert entropy(soft).mean() == pytest.approx(0.69, abs=0.01)  # S1-18
    assert non_max_mass(found[PEOPLE_H]).mean() == pytest.approx(0.0456, abs=5e-5)  # S1-16
    assert found[IN_FILLED].take(soft.items).probs.tolist() == soft.probs.tolist()
    assert len(soft) == 1000
    by_softness = sorted(SETS, key=lambda name: float(entropy(found[name]).mean()))
    assert by_softness == [HARD, IN_FILLED, PEOPLE_H, *EPSILON]


def test_soft_answers_are_filled_in_with_dense_labels_of_so_many_classes(data: StudyData) -> None:
    dense, soft = data.labels[PEOPLE_H], data.labels[PEOPLE_S]

    made = filled_sets(dense, soft, OF_FILES)

    assert set(made) == {*DENSE_FILLED, MAPPED}
    for name, keep in DENSE_FILLED.items():
        filled = made[name]
        assert filled.take(SOFT).probs.tolist() == soft.probs.tolist()
        assert ((filled.take(ITEMS[60:]).probs > 0).sum(axis=1) <= keep).all()
    all_classes = made["CIFAR-10S+dense, 10 classes"].take(ITEMS[60:])
    np.testing.assert_allclose(all_classes.probs, dense.take(ITEMS[60:]).probs)
    assert filled_sets(dense, soft, ["CIFAR-10S+dense"]).keys() == {"CIFAR-10S+dense"}


def test_a_file_of_dense_labels_brings_its_arms(data_folder: Path, tmp_path: Path) -> None:
    plain = {"collection": {"sets": [], "near": 0}}
    votes = load_data(read_study("informativeness-labels", changes=plain), data_folder)
    write_labels(votes.labels[PEOPLE_H], tmp_path / "dense.parquet")  # stands for CIFAR-10DS here
    given = {**plain, "own.sets.CIFAR-10DS": str(tmp_path / "dense.parquet")}

    found = load_data(read_study("informativeness-labels", changes=given), data_folder)

    assert {DENSE, *DENSE_FILLED, MAPPED} <= found.labels.keys()
    top_two = found.labels["CIFAR-10S+dense"]
    soft = found.labels[PEOPLE_S]
    assert top_two.take(soft.items).probs.tolist() == soft.probs.tolist()
    mapped = map_labels(found.labels[DENSE], soft.take(soft.items[:500]))
    said = soft.take(soft.items[500:])
    by_map, thinned = (
        jensen_shannon(*align(labels.take(said.items), said)).mean()
        for labels in (mapped, sparse(found.labels[DENSE], 2))
    )
    assert by_map < 0.8 * thinned  # 0.047 and 0.063 nats on the 500 images that it did not see


def test_an_arm_of_labels_that_nobody_gave_says_which_file_it_needs(data_folder: Path) -> None:
    study = read_study("informativeness-labels", changes={"collection": {"sets": [], "near": 0}})

    with pytest.raises(DataError, match="needs CIFAR-10T, which was never published: give its"):
        load_data(with_arms(study, ["CIFAR-10T"]), data_folder)
