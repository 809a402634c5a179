"""CIFAR-10-C gives one corruption at one severity, from the archive or unpacked."""

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.data import load
from sfumato.errors import DataError, UnknownName

LABELS = np.tile(np.array([4, 7], np.uint8), 5)
FOG = np.random.default_rng(1).integers(0, 256, (10, 32, 32, 3), dtype=np.uint8)


def unpacked(folder: Path, labels: NDArray[Any] = LABELS, fog: NDArray[Any] = FOG) -> Path:
    place = folder / "cifar10c" / "CIFAR-10-C"
    place.mkdir(parents=True, exist_ok=True)
    np.save(place / "labels.npy", labels)
    np.save(place / "fog.npy", fog)
    return folder


def packed(folder: Path, labels: NDArray[Any] = LABELS, fog: NDArray[Any] = FOG) -> Path:
    place = unpacked(folder, labels, fog) / "cifar10c" / "CIFAR-10-C"
    with tarfile.open(folder / "cifar10c" / "CIFAR-10-C.tar", "w") as archive:
        archive.add(place, "CIFAR-10-C")
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    return folder


@pytest.mark.parametrize("make", [unpacked, packed])
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_a_severity_is_its_fifth_of_the_file(make: Any, severity: int, tmp_path: Path) -> None:
    folder = make(tmp_path)

    images = load("cifar10c", "fog", folder, severity=severity)

    assert np.array_equal(images.images, FOG[2 * severity - 2 : 2 * severity])
    assert images.labels.tolist() == [4, 7]
    assert images.items == ("0", "1")
    assert images.provenance[0].settings == {"part": "fog", "severity": severity}


def test_unknown_corruption_gets_a_suggestion_and_severity_its_limits(tmp_path: Path) -> None:
    folder = unpacked(tmp_path)

    with pytest.raises(UnknownName, match="Did you mean 'gaussian_noise'"):
        load("cifar10c", "gausian_noise", folder, severity=1)
    with pytest.raises(DataError, match="severity 6 does not exist; `severity` goes from 1 to 5"):
        load("cifar10c", "fog", folder, severity=6)
    with pytest.raises(DataError, match="severity None does not exist"):
        load("cifar10c", "fog", folder)


@pytest.mark.parametrize("make", [unpacked, packed])
@pytest.mark.parametrize(
    ("labels", "fog", "sentence"),
    [
        (LABELS[:8], FOG, r"labels\.npy holds 8 labels, which is no multiple of 5"),
        (LABELS + 3, FOG, r"labels\.npy holds the label 10 in row 1"),
        (LABELS * 0.5, FOG, r"labels\.npy holds float64"),
        (LABELS[:, None], FOG, r"labels\.npy holds uint8 of shape \(10, 1\)"),
        (LABELS, FOG[:5], r"fog\.npy holds uint8 of shape \(5, .*expected uint8 of shape \(10,"),
        (LABELS, FOG.astype(np.int16), r"fog\.npy holds int16"),
        (LABELS, np.asfortranarray(FOG), r"fog\.npy holds uint8"),
    ],
)
def test_file_that_does_not_fit_is_named(
    make: Any, labels: NDArray[Any], fog: NDArray[Any], sentence: str, tmp_path: Path
) -> None:
    folder = make(tmp_path, labels, fog)

    with pytest.raises(DataError, match=sentence):
        load("cifar10c", "fog", folder, severity=1)


def test_truncated_and_missing_arrays_are_named(tmp_path: Path) -> None:
    place = unpacked(tmp_path) / "cifar10c" / "CIFAR-10-C"
    whole = (place / "fog.npy").read_bytes()

    (place / "fog.npy").write_bytes(whole[:-1])
    with pytest.raises(DataError, match=r"fog\.npy ends before picture 10 of 10"):
        load("cifar10c", "fog", tmp_path, severity=5)
    (place / "fog.npy").write_bytes(whole[:20])
    with pytest.raises(DataError, match=r"fog\.npy is not a NumPy file"):
        load("cifar10c", "fog", tmp_path, severity=5)
    (place / "labels.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"labels\.npy is not a NumPy file"):
        load("cifar10c", "fog", tmp_path, severity=5)
    (place / "labels.npy").unlink()
    with pytest.raises(DataError, match=r"CIFAR-10-C has no labels\.npy"):
        load("cifar10c", "fog", tmp_path, severity=5)


def test_damaged_archive_and_missing_members_are_named(tmp_path: Path) -> None:
    path = packed(tmp_path) / "cifar10c" / "CIFAR-10-C.tar"

    with pytest.raises(DataError, match=r"CIFAR-10-C\.tar has no snow\.npy"):
        load("cifar10c", "snow", tmp_path, severity=1)
    whole = path.read_bytes()
    path.write_bytes(whole[:10_000])
    with pytest.raises(DataError, match=r"CIFAR-10-C\.tar|fog\.npy"):
        load("cifar10c", "fog", tmp_path, severity=5)
    path.write_bytes(b"x" * 600)
    with pytest.raises(DataError, match=r"CIFAR-10-C\.tar is damaged"):
        load("cifar10c", "fog", tmp_path, severity=1)


def test_nothing_here_gets_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the dataset 'cifar10c'"):
        load("cifar10c", "fog", tmp_path, severity=1)
