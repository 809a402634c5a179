"""What the arms of paper 1 learn and are tested on, against labels counted from the files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.labels.labelset import LabelSet
from sfumato.learn.folds import Split
from sfumato.studies import trainings
from sfumato.studies.cifar_sources import (
    CINIC,
    EVERY_IMAGE,
    IMAGENET_FAR,
    PEOPLE_H,
    TRAINED_ON,
)
from sfumato.studies.data import StudyData, Target
from sfumato.studies.sources import load_data
from sfumato.studies.study import read_study
from sfumato.studies.trainings import splits_of, target_of

STUDY = read_study(
    "cifar10h-attacks",
    changes={
        "arms": [
            {"use": "as pretrained"},
            {"labels": ["hard", "category", "soft", "sampled", "majority", "smoothed"]},
            {"labels": "hard", "mix": "mixup"},
            {"labels": ["distilled", "ensemble"]},
        ],
        "collection.pretraining": 0,
    },
)
"""Every arm of paper 1, under attack."""


@pytest.fixture(scope="module")
def data(data_folder: Path) -> StudyData:
    return load_data(STUDY, data_folder)


@pytest.fixture(scope="module")
def folds(data: StudyData) -> tuple[Split, ...]:
    return tuple(splits_of(data, 0))


@pytest.fixture(scope="module")
def counts(data_folder: Path) -> NDArray[np.int64]:
    """The released votes, one row per test image."""
    return np.load(data_folder / "cifar10h" / "cifar10h-counts.npy").astype(np.int64)


@pytest.fixture(scope="module")
def truth(data_folder: Path) -> NDArray[np.int64]:
    return np.load(data_folder / "cifar10" / "test_labels.npy").astype(np.int64)


def rows(labels: LabelSet) -> list[int]:
    """Official indices of the items."""
    return [int(item) for item in labels.items]


def target(data: StudyData, split: Split, arm: str) -> Target:
    return target_of(STUDY.arm(arm), data, split, 0)


def learnt(data: StudyData, split: Split, arm: str) -> LabelSet:
    labels = target(data, split, arm).labels
    assert isinstance(labels, LabelSet)
    assert labels.items == split.train
    return labels


def test_every_image_is_held_out_in_one_fold_of_a_seed(folds: tuple[Split, ...]) -> None:
    held_out = [item for fold in folds for item in fold.test]

    assert len(folds) == 3
    assert sorted(held_out, key=int) == [str(row) for row in range(10_000)]
    assert all(not set(fold.train) & set(fold.test) for fold in folds)
    assert {fold.selection for fold in folds} == {"none"}


def test_other_seeds_have_other_folds(data: StudyData, folds: tuple[Split, ...]) -> None:
    again, other = (splits_of(data, seed) for seed in (0, 1))

    assert tuple(again) == folds
    assert tuple(other) != folds


def test_soft_labels_are_shares_of_the_released_votes(
    data: StudyData, folds: tuple[Split, ...], counts: NDArray[np.int64]
) -> None:
    soft = learnt(data, folds[0], "soft")

    votes = counts[rows(soft)]
    assert soft.probs == pytest.approx(votes / votes.sum(axis=1, keepdims=True))


def test_hard_labels_are_the_official_ones(
    data: StudyData, folds: tuple[Split, ...], truth: NDArray[np.int64]
) -> None:
    for arm in ("hard", "mixup, hard", "pretrained"):
        hard = learnt(data, folds[0], arm)
        assert (hard.probs == np.eye(10)[truth[rows(hard)]]).all()


def test_majority_is_another_class_than_the_original_one_on_77_images(
    data: StudyData,
    folds: tuple[Split, ...],
    counts: NDArray[np.int64],
    truth: NDArray[np.int64],
) -> None:
    found = [learnt(data, fold, "majority") for fold in folds]
    right = [one.probs[np.arange(len(one)), truth[rows(one)]] for one in found]

    # Each image is learnt in two of the three folds. 79 modes differ if ties go to the first
    # class (S0-49); on two of these images the original class ties, and here ties are shared.
    assert (counts.argmax(axis=1) != truth).sum() == 79
    assert sum(int((share == 0).sum()) for share in right) == 2 * 77


def test_category_labels_are_class_means_of_training_images_only(
    data: StudyData,
    folds: tuple[Split, ...],
    counts: NDArray[np.int64],
    truth: NDArray[np.int64],
) -> None:
    category = learnt(data, folds[0], "category")

    mine = np.array(rows(category))
    shares = counts / counts.sum(axis=1, keepdims=True)
    means = np.stack([shares[mine[truth[mine] == one]].mean(axis=0) for one in range(10)])
    assert len(np.unique(category.probs.round(9), axis=0)) == 10
    assert category.probs == pytest.approx(means[truth[mine]])


def test_smoothed_labels_are_as_soft_as_people_on_the_images_that_are_learnt(
    data: StudyData, folds: tuple[Split, ...]
) -> None:
    for fold in folds:
        smoothed, soft = (learnt(data, fold, arm) for arm in ("smoothed", "soft"))

        off_top = [1 - labels.probs.max(axis=1).mean() for labels in (smoothed, soft)]
        assert off_top[0] == pytest.approx(off_top[1])


def test_arms_of_networks_learn_their_stored_beliefs(
    data: StudyData, folds: tuple[Split, ...], data_folder: Path
) -> None:
    files = sorted((data_folder / "cifar10h-predictions").glob("*.npz"))
    stored = {path.stem: np.load(path)["probs"].astype(np.float64) for path in files}

    ensemble, distilled = (learnt(data, folds[0], arm) for arm in ("ensemble", "distilled"))

    mean = np.mean(list(stored.values()), axis=0)[rows(ensemble)]
    assert ensemble.probs == pytest.approx(mean, abs=1e-6)
    best = stored["shake_shake_26_2x64d_SSI_cutout16"][rows(distilled)]
    assert distilled.probs == pytest.approx(best, abs=1e-6)


def test_arms_differ_in_how_labels_are_shown(data: StudyData, folds: tuple[Split, ...]) -> None:
    made = {name: target(data, folds[0], name) for name in STUDY.arm_names}

    assert {name for name, one in made.items() if one.presentation == "sampled"} == {"sampled"}
    assert {name for name, one in made.items() if one.mixing} == {"mixup, hard"}
    assert {name for name, one in made.items() if one.pretrained} == {"pretrained"}


def test_attacked_are_held_out_images_and_images_trained_on_apart(
    data: StudyData, folds: tuple[Split, ...]
) -> None:
    held_out, learnt_before = trainings.tests_of(data, folds[0])

    assert held_out.items == folds[0].test
    assert set(held_out.labels) == {PEOPLE_H, "original"}
    assert set(learnt_before.items) <= set(folds[0].train)
    assert (held_out.attacked, learnt_before.attacked) == ("original", TRAINED_ON)
    assert len(learnt_before.items) == 500
    rows_of = data.original.take(learnt_before.items).probs
    assert (learnt_before.labels[TRAINED_ON].probs == rows_of).all()


def test_all_ten_thousand_images_are_attacked_in_every_fold_at_the_size_of_the_paper(
    data: StudyData, folds: tuple[Split, ...]
) -> None:
    paper = read_study("cifar10h-attacks", "paper", changes={"collection.pretraining": 0})
    whole = replace(data, study=paper, labels={**data.labels, EVERY_IMAGE: data.original})

    found = [trainings.tests_of(whole, fold)[2] for fold in folds[:2]]
    attacked = [trainings.attacked_labels(paper, [test])["all images"] for test in found]

    assert found[0].items == found[1].items  # so that folds are paired image by image
    assert [len(labels) for labels in attacked] == [10_000, 10_000]
    assert set(folds[0].train) | set(folds[0].test) == set(attacked[0].items)
    assert {attack.keep for attack in paper.attacks if attack.kind == "pgd"} == {"last"}


def collections_in(folder: Path) -> None:
    """CINIC-10 with one image of each class, part and source; ImageNet-Far with two."""
    for part, value in (("train", 1), ("valid", 2), ("test", 3)):
        for name in CIFAR10:
            (place := folder / "cinic10" / part / name).mkdir(parents=True)
            for file in ("n1_1.png", "cifar10-train-1.png"):
                Image.fromarray(np.full((32, 32, 3), value, np.uint8)).save(place / file)
    for name in ("ibex", "zebra"):
        (place := folder / "imagenet-far" / "pictures" / name).mkdir(parents=True)
        Image.fromarray(np.zeros((50, 40, 3), np.uint8)).save(place / "1.jpg")
    table = folder / "imagenet-far" / "classes.csv"
    table.write_text("item,label\nibex,deer\nzebra,horse\n", encoding="utf-8")


def test_collections_are_tested_on_where_they_are_in_the_folder(
    data_folder: Path, tmp_path: Path
) -> None:
    for name in ("cifar10", "cifar10h"):
        (tmp_path / name).symlink_to(data_folder / name)
    changes = {"collection.near": 5}
    paper = read_study("cifar10h-shift", "paper", changes=changes)
    without = load_data(paper, tmp_path)
    collections_in(tmp_path)

    found = load_data(paper, tmp_path)
    cpu = load_data(read_study("cifar10h-shift", changes=changes), tmp_path)

    assert len(found.labels[CINIC]) == 3 * 10 and len(cpu.labels[CINIC]) == 10
    far = found.labels[IMAGENET_FAR]
    assert dict(zip(far.items, far.probs.argmax(axis=1).tolist(), strict=True)) == {
        "ImageNet-Far/ibex/1": CIFAR10.index("deer"),
        "ImageNet-Far/zebra/1": CIFAR10.index("horse"),
    }
    tested = [test.part for test in trainings.tests_of(found, splits_of(found, 0)[0])]
    assert tested[-2:] == [CINIC, IMAGENET_FAR]
    assert not any(name in text for text in found.missing for name in (CINIC, IMAGENET_FAR))
    for name, where in ((CINIC, "cinic10"), (IMAGENET_FAR, "imagenet-far")):
        (told,) = [text for text in without.missing if text.startswith(name)]
        assert where in told and "data get" not in told
