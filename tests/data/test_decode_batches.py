"""The official CIFAR-10 archives are read to the pixel, and no pickle runs code."""

import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.data import load
from sfumato.errors import DataError

BATCHES = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]


def pictures(seed: int, count: int = 2) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)


def rows(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """All red, all green, all blue of each picture, as the authors' page describes it."""
    return np.stack([np.concatenate([image[..., c].ravel() for c in range(3)]) for image in images])


def packed(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    (folder / "cifar10").mkdir(exist_ok=True)
    with tarfile.open(folder / "cifar10" / name, "w:gz") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return folder


def binary(images: NDArray[np.uint8], labels: list[int]) -> bytes:
    return b"".join(
        bytes([label]) + row.tobytes() for label, row in zip(labels, rows(images), strict=True)
    )


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its texts, which is what the published files hold."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, bytes):
            self.write(pickle.BINSTRING + len(obj).to_bytes(4, "little") + obj)  # type: ignore[attr-defined]
        else:
            super().save(obj, save_persistent_id)  # type: ignore[misc]


def pickled(batch: dict[bytes, Any]) -> bytes:
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(batch)
    return file.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def python_batch(images: NDArray[np.uint8], labels: list[int]) -> bytes:
    return pickled(
        {
            b"batch_label": b"training batch 1 of 5",
            b"labels": labels,
            b"data": rows(images),
            b"filenames": [b"a.png"] * len(labels),
        }
    )


def binary_archive(folder: Path) -> Path:
    members = {
        f"cifar-10-batches-bin/{name}.bin": binary(pictures(seed), [seed, 9 - seed])
        for seed, name in enumerate(BATCHES)
    }
    return packed(folder, "cifar-10-binary.tar.gz", members)


def python_archive(folder: Path) -> Path:
    members = {
        f"cifar-10-batches-py/{name}": python_batch(pictures(seed), [seed, 9 - seed])
        for seed, name in enumerate(BATCHES)
    }
    return packed(folder, "cifar-10-python.tar.gz", members)


@pytest.mark.parametrize("make", [binary_archive, python_archive])
def test_both_archives_give_every_pixel_in_official_order(make: Any, tmp_path: Path) -> None:
    folder = make(tmp_path)

    train = load("cifar10-official", "train", folder)
    test = load("cifar10-official", "test", folder)

    assert np.array_equal(train.images, np.concatenate([pictures(seed) for seed in range(5)]))
    assert train.labels.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert train.items == tuple(map(str, range(10)))
    assert np.array_equal(test.images, pictures(5))
    assert test.labels.tolist() == [5, 4]
    assert test.split == ("test", "test")
    assert test.classes[3] == "cat"


def test_binary_archive_is_preferred_and_the_pictures_zip_comes_last(tmp_path: Path) -> None:
    python_archive(tmp_path)
    first = load("cifar10", "test", tmp_path)
    binary_archive(tmp_path)
    second = load("cifar10", "test", tmp_path)

    assert set(first.provenance[0].inputs) == {"cifar-10-python.tar.gz"}
    assert set(second.provenance[0].inputs) == {"cifar-10-binary.tar.gz"}
    assert np.array_equal(first.images, second.images)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("ran",)


@pytest.mark.parametrize("batch", [Evil(), {b"data": Evil(), b"labels": [0]}, [eval]])
def test_pickle_that_names_code_is_refused_and_does_not_run(
    batch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    members = {"cifar-10-batches-py/test_batch": pickle.dumps(batch, protocol=2)}
    folder = packed(tmp_path, "cifar-10-python.tar.gz", members)

    with pytest.raises(DataError, match=r"test_batch in cifar-10-python\.tar\.gz.*has no place"):
        load("cifar10-official", "test", folder)

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            binary(pictures(0), [0, 1])[:-1],
            r"test_batch\.bin in .* has 6,145 bytes; expected a mult",
        ),
        (b"", r"has 0 bytes"),
        (binary(pictures(0), [3, 10]), r"test_batch\.bin in .* holds the label 10 in row 1"),
    ],
)
def test_broken_binary_batch_is_named(content: bytes, sentence: str, tmp_path: Path) -> None:
    members = {"cifar-10-batches-bin/test_batch.bin": content}
    folder = packed(tmp_path, "cifar-10-binary.tar.gz", members)

    with pytest.raises(DataError, match=sentence):
        load("cifar10-official", "test", folder)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (python_batch(pictures(0), [0, 1])[:-40], "no readable batch of pictures"),
        (pickled({b"data": rows(pictures(0))}), "no readable batch.*labels"),
        (
            pickled({b"data": rows(pictures(0)), b"labels": [1]}),
            r"1 labels and data of uint8 and shape \(2,",
        ),
        (pickled({b"data": [1], b"labels": [1]}), r"data of list and shape \(1,\)"),
        (
            pickled({b"data": rows(pictures(0)).astype(float), b"labels": [1, 2]}),
            "data of float64",
        ),
        (python_batch(pictures(0), [0, -1]), "holds the label -1 in row 1"),
    ],
)
def test_broken_python_batch_is_named(content: bytes, sentence: str, tmp_path: Path) -> None:
    folder = packed(tmp_path, "cifar-10-python.tar.gz", {"cifar-10-batches-py/test_batch": content})

    with pytest.raises(
        DataError, match=rf"(?s)test_batch in cifar-10-python.*{sentence}|{sentence}"
    ):
        load("cifar10-official", "test", folder)


@pytest.mark.parametrize("keep", [0, 30, 3_000, -5_000])
def test_truncated_archive_is_named(keep: int, tmp_path: Path) -> None:
    path = binary_archive(tmp_path) / "cifar10" / "cifar-10-binary.tar.gz"
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(DataError, match=r"cifar-10-binary\.tar\.gz is damaged.*Get it again"):
        load("cifar10-official", "test", tmp_path)


def test_archive_without_a_batch_says_which(tmp_path: Path) -> None:
    folder = packed(tmp_path, "cifar-10-binary.tar.gz", {"readme.html": b"<html>"})

    with pytest.raises(DataError, match=r"has no member cifar-10-batches-bin/data_batch_1\.bin"):
        load("cifar10-official", "train", folder)


def test_without_an_archive_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the dataset 'cifar10-official'"):
        load("cifar10-official", "train", tmp_path)
