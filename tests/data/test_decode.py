"""Datasets are read by name, with the counts that were published."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sfumato.data import (
    DATASETS,
    ImageSet,
    TextSet,
    load,
    load_features,
    load_judgments,
    load_labels,
    load_split,
    load_texts,
    parts,
)
from sfumato.errors import DataError, UnknownName

ELSEWHERE = (
    "cifar10-official", "cifar10.1", "cinic10", "cifar10c", "glove", "imagenet-far", "soft-digits",
)  # fmt: skip
"""Not among the shared files."""


@pytest.fixture(scope="module")
def mnist_train(data_folder: Path) -> ImageSet:
    return load("mnist", "train", data_folder)


@pytest.fixture(scope="module")
def mnist_test(data_folder: Path) -> ImageSet:
    return load("mnist", "test", data_folder)


def test_mnist_label_counts_are_the_published_ones(
    mnist_train: ImageSet, mnist_test: ImageSet
) -> None:
    counts = [np.bincount(images.labels).tolist() for images in (mnist_train, mnist_test)]

    assert counts == [
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    ]


def test_mnist_pictures_are_grey_and_28_wide(mnist_train: ImageSet, mnist_test: ImageSet) -> None:
    assert mnist_train.images.shape == (60_000, 28, 28, 1)
    assert mnist_test.images.shape == (10_000, 28, 28, 1)
    assert (mnist_test.items[0], mnist_test.items[-1]) == ("0", "9999")
    assert set(mnist_train.split) == {"train"}


def test_no_two_of_the_70000_mnist_pictures_are_equal(
    mnist_train: ImageSet, mnist_test: ImageSet
) -> None:
    """S4-38."""
    distinct = {
        picture.tobytes() for images in (mnist_train, mnist_test) for picture in images.images
    }

    assert len(distinct) == 70_000


def test_a_thousand_garments_of_each_kind_agree_with_most_voters(data_folder: Path) -> None:
    votes = np.load(data_folder / "fashion_mnist_h" / "fmh-counts.npy")

    images = load("fashion-mnist-h", folder=data_folder)

    assert images.images.shape == (10_000, 28, 28, 1)
    assert np.bincount(images.labels).tolist() == [1_000] * 10
    assert images.classes[9] == "Ankle boot"
    assert round((votes.argmax(axis=1) == images.labels).mean(), 4) == 0.8202


def test_each_split_has_its_features_and_labels(data_folder: Path) -> None:
    sets = [load_features("labelme", split, data_folder) for split in ("train", "valid", "test")]

    assert [features.features.shape for features in sets] == [(1000, 512), (500, 512), (1188, 512)]
    assert all(set(features.labels) == set(range(8)) for features in sets)


def test_first_test_pictures_have_the_published_names(data_folder: Path) -> None:
    features = load_features("labelme", "test", data_folder)

    first = [features.classes[label] for label in features.labels[:8]]

    assert first == [
        "tallbuilding",
        "insidecity",
        "coast",
        "street",
        "forest",
        "tallbuilding",
        "opencountry",
        "coast",
    ]


def test_features_tell_the_classes_apart(data_folder: Path) -> None:
    """Rows of features and labels belong together: the nearest class mean is mostly right."""
    train, test = (
        load_features("labelme", "train", data_folder),
        load_features("labelme", "test", data_folder),
    )
    means = np.stack([train.features[train.labels == label].mean(axis=0) for label in range(8)])

    distance = ((test.features[:, None, :] - means) ** 2).sum(axis=2)  # (items, classes)

    assert (distance.argmin(axis=1) == test.labels).mean() > 0.75


def test_split_of_the_cifar10s_paper_parts_all_10000_and_trains_on_every_soft_label(
    data_folder: Path,
) -> None:
    labelled = json.loads((data_folder / "cifar10s" / "human_soft_labels_data.json").read_text())

    split = load_split("cifar10s", data_folder)

    assert Counter(split.values()) == {"train": 7_000, "test": 3_000}
    assert set(split) == {str(index) for index in range(10_000)}
    assert {split[item] for item in labelled} == {"train"}


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (name, part)
        for name, dataset in DATASETS.items()
        for part in parts(name)
        if part in dataset.items and name not in ELSEWHERE
    ],
)
def test_parts_have_the_published_number_of_items(name: str, part: str, data_folder: Path) -> None:
    dataset = DATASETS[name]
    read = load_features if dataset.features else load_texts if dataset.texts else load

    found = read(name, part, data_folder)

    judged = found.judgments.table["item"].unique() if isinstance(found, TextSet) else found.items
    assert len(judged) == dataset.items[part]


@pytest.mark.parametrize(
    ("name", "part"),
    [(name, part) for name, dataset in DATASETS.items() for part in dataset.judgments],
)
def test_files_of_judgments_have_the_published_number_of_answers(
    name: str, part: str, data_folder: Path
) -> None:
    answers = load_judgments(name, part, data_folder)

    assert len(answers) == DATASETS[name].judgments[part].answers


@pytest.mark.parametrize(
    ("name", "part"),
    [(name, part) for name, dataset in DATASETS.items() for part in dataset.labels],
)
def test_files_of_labels_have_the_classes_of_their_set(
    name: str, part: str, data_folder: Path
) -> None:
    labels = load_labels(name, part, data_folder)

    assert labels.classes == DATASETS[name].classes


def test_a_part_is_named_where_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"more than one part of mnist; name one of train, test\."):
        load("mnist")
    with pytest.raises(
        UnknownName, match=r"No part of mnist is called 'tset'\. Did you mean 'test'"
    ):
        load("mnist", "tset")
    with pytest.raises(
        DataError, match=r"more than one file of judgments of crowd; .*bluebird, dog"
    ):
        load_judgments("crowd")
    with pytest.raises(UnknownName, match=r"No file of labels of crowd is called"):
        load_labels("crowd", "dog")


def test_what_a_set_does_not_hold_is_said() -> None:
    with pytest.raises(DataError, match=r"cifar10h holds no images\. .*: digits, cifar10,"):
        load("cifar10h")
    with pytest.raises(DataError, match=r"mnist holds no features; `load` reads images"):
        load_features("mnist", "train")
    with pytest.raises(DataError, match=r"mnist comes without a published split"):
        load_split("mnist")
    with pytest.raises(DataError, match=r"mnist have no severities"):
        load("mnist", "test", severity=3)
    with pytest.raises(DataError, match=r"cifar10 have no subsets"):
        load("cifar10", "test", subset="imagenet")
