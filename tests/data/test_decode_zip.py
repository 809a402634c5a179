"""CIFAR-10 pictures are read in official order, and broken archives are named."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sfumato.data import ImageSet, load
from sfumato.errors import DataError


@pytest.fixture(scope="module")
def real(data_folder: Path) -> ImageSet:
    return load("cifar10", "test", data_folder)


def picture(pixels: NDArray[np.uint8], kind: str = "PNG") -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


def archive(folder: Path, members: dict[str, bytes], labels: list[int]) -> Path:
    (folder / "cifar10").mkdir()
    with zipfile.ZipFile(folder / "cifar10" / "train.zip", "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    np.save(folder / "cifar10" / "train_labels.npy", np.array(labels, np.uint8))
    return folder


def test_test_set_has_its_10000_official_labels(real: ImageSet, data_folder: Path) -> None:
    official = np.load(data_folder / "cifar10" / "test_labels.npy")
    names = (data_folder / "cifar10" / "classes.txt").read_text().split()

    assert real.images.shape == (10_000, 32, 32, 3)
    assert np.array_equal(real.labels, official)
    assert np.bincount(real.labels).tolist() == [1_000] * 10
    assert real.classes == tuple(names)
    assert real.items == tuple(str(index) for index in range(10_000))
    assert set(real.provenance[0].inputs) == {"test.zip", "test_labels.npy"}


def test_an_items_picture_is_the_member_of_its_number(real: ImageSet, data_folder: Path) -> None:
    items = ["0", "42", "9999"]
    with zipfile.ZipFile(data_folder / "cifar10" / "test.zip") as file:
        expected = [np.asarray(Image.open(file.open(f"{int(item):05d}.jpg"))) for item in items]

    taken = real.take(items)

    assert np.array_equal(taken.images, expected)


def test_labels_are_those_that_a_published_audit_was_given(
    real: ImageSet, data_folder: Path
) -> None:
    audit = json.loads((data_folder / "label_errors" / "cifar10_mturk.json").read_text())

    ours = real.take([str(entry["id"]) for entry in audit])

    assert len(audit) == 275
    assert ours.labels.tolist() == [int(entry["given_original_label"]) for entry in audit]


def test_lossless_members_in_any_order_are_read_by_their_number(tmp_path: Path) -> None:
    pixels = np.arange(2 * 32 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(2, 32, 32, 3)
    members = {"x/00001.png": picture(pixels[1]), "x/00000.png": picture(pixels[0])}

    images = load("cifar10", "train", archive(tmp_path, members, [3, 5]))

    assert np.array_equal(images.images, pixels)
    assert images.split == ("train", "train")


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({}, "train.zip has no picture 00000, but there are 1 labels"),
        ({"00000.jpg": b"not a picture"}, "00000.jpg in train.zip is no readable picture"),
        (
            {"00000.png": picture(np.zeros((32, 32, 3), np.uint8))[:-30]},
            "00000.png in train.zip is no readable picture",
        ),
        (
            {"00000.png": picture(np.zeros((28, 28), np.uint8))},
            r"shape \(28, 28\); expected 32 × 32 pixels",
        ),
    ],
)
def test_broken_member_is_named(tmp_path: Path, members: dict[str, bytes], sentence: str) -> None:
    folder = archive(tmp_path, members, [0])

    with pytest.raises(DataError, match=sentence):
        load("cifar10", "train", folder)


def test_damaged_archive_is_named(tmp_path: Path) -> None:
    folder = archive(tmp_path, {}, [0])
    (folder / "cifar10" / "train.zip").write_bytes(b"no archive")

    with pytest.raises(DataError, match=r"train\.zip is damaged"):
        load("cifar10", "train", folder)


def test_missing_archive_gets_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"test\.zip is missing: the dataset 'cifar10'"):
        load("cifar10", "test", tmp_path)


def test_some_items_are_read_in_the_order_asked_for(tmp_path: Path) -> None:
    pictures = [np.full((32, 32, 3), grey, np.uint8) for grey in (10, 20, 30)]
    members = {f"{index:05d}.png": picture(pixels) for index, pixels in enumerate(pictures)}
    del members["00001.png"]  # what is not asked for may be missing
    folder = archive(tmp_path, members, [7, 8, 9])

    found = load("cifar10", "train", folder, items=["2", "0"])

    assert found.items == ("2", "0")
    assert found.labels.tolist() == [9, 7]
    assert found.images[:, 0, 0, 0].tolist() == [30, 10]


def test_item_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = archive(tmp_path, {}, [7, 8])

    with pytest.raises(DataError, match=r"no item '2' in the train part .* '0' to '1'"):
        load("cifar10", "train", folder, items=["2"])
