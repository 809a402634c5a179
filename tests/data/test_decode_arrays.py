"""CIFAR-10.1 is read from its four arrays, and files that do not fit are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.data import DATASETS, load
from sfumato.errors import DataError

PICTURES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
LABELS = np.array([3, 0, 9], dtype=np.int32)


def stored(
    folder: Path,
    images: NDArray[Any] = PICTURES,
    labels: NDArray[Any] = LABELS,
    version: str = "v6",
) -> Path:
    (folder / "cifar10.1").mkdir(exist_ok=True)
    np.save(folder / "cifar10.1" / f"cifar10.1_{version}_data.npy", images)
    np.save(folder / "cifar10.1" / f"cifar10.1_{version}_labels.npy", labels)
    return folder


def test_versions_are_read_apart(tmp_path: Path) -> None:
    stored(tmp_path)
    stored(tmp_path, PICTURES[:2], LABELS[:2], "v4")

    v6, v4 = load("cifar10.1", "v6", tmp_path), load("cifar10.1", "v4", tmp_path)

    assert np.array_equal(v6.images, PICTURES)
    assert v6.labels.tolist() == [3, 0, 9]
    assert v6.items == ("v6-0", "v6-1", "v6-2")
    assert len(v4) == 2
    assert set(v4.provenance[0].inputs) == {"cifar10.1_v4_data.npy", "cifar10.1_v4_labels.npy"}


def test_described_sizes_are_those_of_2021_and_2000_pictures() -> None:
    sizes = {Path(file.path).name: file.size for file in DATASETS["cifar10.1"].files}
    header = 128

    assert sizes == {
        "cifar10.1_v4_data.npy": header + 2_021 * 3_072,
        "cifar10.1_v4_labels.npy": header + 2_021 * 4,
        "cifar10.1_v6_data.npy": header + 2_000 * 3_072,
        "cifar10.1_v6_labels.npy": header + 2_000 * 4,
    }


@pytest.mark.parametrize(
    ("images", "labels", "sentence"),
    [
        (
            PICTURES[:2],
            LABELS,
            r"v6_data\.npy holds uint8 of shape \(2, .*; expected uint8 of shape \(3,",
        ),
        (PICTURES.astype(float), LABELS, r"v6_data\.npy holds float64"),
        (PICTURES[..., 0], LABELS, r"v6_data\.npy holds uint8 of shape \(3, 32, 32\); expected"),
        (PICTURES, np.array([0, 10, 1]), r"v6_labels\.npy holds the label 10 in row 1; .* 0 to 9"),
        (PICTURES, np.array([0, -1, 1]), r"v6_labels\.npy holds the label -1"),
        (
            PICTURES,
            LABELS / 2,
            r"v6_labels\.npy holds float64 of shape \(3,\); expected one whole number",
        ),
    ],
)
def test_file_that_does_not_fit_is_named(
    images: NDArray[Any], labels: NDArray[Any], sentence: str, tmp_path: Path
) -> None:
    folder = stored(tmp_path, images, labels)

    with pytest.raises(DataError, match=sentence):
        load("cifar10.1", "v6", folder)


def test_truncated_file_is_named(tmp_path: Path) -> None:
    path = stored(tmp_path) / "cifar10.1" / "cifar10.1_v6_data.npy"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(DataError, match=r"v6_data\.npy ends before picture 3 of 3\. Get it again"):
        load("cifar10.1", "v6", tmp_path)
