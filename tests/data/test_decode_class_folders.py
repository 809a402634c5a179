"""CINIC-10 is read from its folders, ImageNet-Far from folders and a table of their classes."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sfumato.data import load
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.datasets import CIFAR10


def save(path: Path, pixels: NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def colour(value: int) -> NDArray[np.uint8]:
    return np.full((32, 32, 3), value, np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "cinic10" / "valid"
    for label, name in enumerate(CIFAR10):
        save(root / name / f"cifar10-train-{label}.png", colour(label))
        save(root / name / f"n0212162{label}_77.png", colour(100 + label))
    return tmp_path


def test_a_split_has_all_pictures_under_the_class_of_their_folder(folder: Path) -> None:
    images = load("cinic10", "valid", folder)

    assert len(images) == 20
    assert images.classes == CIFAR10
    assert np.array_equal(images.images[:, 0, 0, 0] % 100, images.labels)
    assert set(images.split) == {"valid"}


def test_imagenet_part_has_none_of_cifar10_and_both_make_the_whole(folder: Path) -> None:
    whole, imagenet, cifar = (
        load("cinic10", "valid", folder, subset=subset) for subset in ("all", "imagenet", "cifar10")
    )

    assert imagenet.items[3] == "cat/n02121623_77"
    assert imagenet.images.min() == 100
    assert cifar.images.max() == 9
    assert sorted(imagenet.items + cifar.items) == sorted(whole.items)
    assert imagenet.provenance[0].settings["subset"] == "imagenet"


def test_grey_pictures_become_colours_of_equal_parts(folder: Path) -> None:
    grey = np.arange(1_024, dtype=np.uint16).astype(np.uint8).reshape(32, 32)
    save(folder / "cinic10" / "valid" / "cat" / "n02121623_77.png", grey)

    images = load("cinic10", "valid", folder, subset="imagenet")

    assert np.array_equal(images.images[3], np.stack([grey] * 3, axis=2))


def test_broken_and_odd_pictures_are_named(folder: Path) -> None:
    odd = folder / "cinic10" / "valid" / "dog" / "n1_1.png"
    odd.write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"dog/n1_1\.png is no readable picture"):
        load("cinic10", "valid", folder)

    save(odd, np.zeros((32, 31, 3), np.uint8))
    with pytest.raises(DataError, match=r"dog/n1_1\.png has the shape \(32, 31, 3\)"):
        load("cinic10", "valid", folder)


def test_missing_folders_and_empty_parts_are_named(folder: Path) -> None:
    with pytest.raises(DataError, match=r"cinic10/test is missing"):
        load("cinic10", "test", folder)

    for path in (folder / "cinic10" / "valid").rglob("cifar10-*.png"):
        path.unlink()
    with pytest.raises(DataError, match="no PNG pictures of the part 'cifar10'"):
        load("cinic10", "valid", folder, subset="cifar10")

    (folder / "cinic10" / "valid" / "ship" / "n02121628_77.png").unlink()
    (folder / "cinic10" / "valid" / "ship").rmdir()
    with pytest.raises(DataError, match=r"valid/ship is missing"):
        load("cinic10", "valid", folder)


def test_misspelt_subset_gets_a_suggestion(folder: Path) -> None:
    with pytest.raises(UnknownName, match="No subset of cinic10 is called 'imagnet'"):
        load("cinic10", "valid", folder, subset="imagnet")


def far_folder(tmp_path: Path, rows: str) -> Path:
    root = tmp_path / "imagenet-far"
    for name, value in (("n02417914", 10), ("n02423022", 20), ("n02391049", 30), ("teapot", 40)):
        save(root / "pictures" / name / f"{name}_1.png", np.full((60, 48, 3), value, np.uint8))
    save(root / "pictures" / "n02391049" / "grey.png", np.full((64, 64), 35, np.uint8))
    (root / "classes.csv").write_text(f"item,label\n{rows}", encoding="utf-8")
    return tmp_path


def test_class_map_makes_a_far_set_of_folders_of_pictures(tmp_path: Path) -> None:
    """S0-43: ibex and gazelle as deer, zebra as horse."""
    rows = "n02417914,deer\nn02423022,deer\nn02391049,horse\n"

    far = load("imagenet-far", folder=far_folder(tmp_path, rows))

    assert far.classes == CIFAR10 and far.images.shape == (4, 32, 32, 3)
    assert [far.classes[label] for label in far.labels] == ["deer", "deer", "horse", "horse"]
    assert far.items[:2] == ("n02417914/n02417914_1", "n02423022/n02423022_1")
    assert far.images[:, 0, 0, 0].tolist() == [10, 20, 35, 30]
    assert [step.name for step in far.provenance] == ["load imagenet-far", "remap classes"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("n0241791,deer\n", "Did you mean 'n02417914'"),
        ("n02417914,deers\n", "No new class is called 'deers'. Did you mean 'deer'"),
        ("n02417914,\n", "classes.csv"),
    ],
)
def test_class_map_that_does_not_fit_is_a_sentence(tmp_path: Path, rows: str, told: str) -> None:
    with pytest.raises((DataError, UnknownName), match=told):
        load("imagenet-far", folder=far_folder(tmp_path, rows))
