"""LabelMe features fit the true classes and the people's answers."""

from pathlib import Path

import numpy as np

from sfumato.data import labelme


def test_each_split_has_its_features_and_labels(data_folder: Path) -> None:
    sets = [labelme.load(split, data_folder) for split in ("train", "valid", "test")]

    assert [features.features.shape for features in sets] == [(1000, 512), (500, 512), (1188, 512)]
    assert all(set(features.labels) == set(range(8)) for features in sets)


def test_first_test_pictures_have_the_published_names(data_folder: Path) -> None:
    features = labelme.load("test", data_folder)

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
    train, test = labelme.load("train", data_folder), labelme.load("test", data_folder)
    means = np.stack([train.features[train.labels == label].mean(axis=0) for label in range(8)])

    distance = ((test.features[:, None, :] - means) ** 2).sum(axis=2)  # (items, classes)

    assert (distance.argmin(axis=1) == test.labels).mean() > 0.75
