"""MNIST is read with the counts that were published."""

from pathlib import Path

import numpy as np
import pytest

from sfumato.data import mnist
from sfumato.data.images import ImageSet


@pytest.fixture(scope="module")
def train(data_folder: Path) -> ImageSet:
    return mnist.load("train", data_folder)


@pytest.fixture(scope="module")
def test(data_folder: Path) -> ImageSet:
    return mnist.load("test", data_folder)


def test_label_counts_are_the_published_ones(train: ImageSet, test: ImageSet) -> None:
    counts = [np.bincount(images.labels).tolist() for images in (train, test)]

    assert counts == [
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    ]


def test_pictures_are_grey_and_28_wide(train: ImageSet, test: ImageSet) -> None:
    assert train.images.shape == (60_000, 28, 28, 1)
    assert test.images.shape == (10_000, 28, 28, 1)
    assert (test.items[0], test.items[-1]) == ("0", "9999")
    assert set(train.split) == {"train"}


def test_no_two_of_the_70000_pictures_are_equal(train: ImageSet, test: ImageSet) -> None:
    """S4-38."""
    distinct = {picture.tobytes() for images in (train, test) for picture in images.images}

    assert len(distinct) == 70_000
