"""soft-digits pictures are read in both forms of storage and fit their labels by id."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sfumato.data import load
from sfumato.data.decode import read_digit_images
from sfumato.errors import DataError
from sfumato.labels.soft_digits import read_soft_digits

PIXELS = np.random.default_rng(5).integers(0, 256, (3, 28, 28), dtype=np.uint8)


def png(row: int) -> bytes:
    content = io.BytesIO()
    Image.fromarray(PIXELS[row]).save(content, "PNG")
    return content.getvalue()


AS_FILES: list[Any] = [{"bytes": png(row), "path": None} for row in range(3)]
AS_LISTS: list[Any] = PIXELS.tolist()


def stored(folder: Path, **columns: list[Any]) -> Path:
    soft = np.eye(10)[[3, 8, 0]].tolist()
    table = {
        "images": AS_FILES,
        "original_labels": [3, 8, 0],
        "indices": [17, 4, 99],
        "soft_label": soft,
        "soft_label_yes_unc_equal": soft,
        "split": ["train", "test", "train"],
        **columns,
    }
    (folder / "soft_digits").mkdir(exist_ok=True)
    path = folder / "soft_digits" / "soft-digits.parquet"
    pl.DataFrame({name: values for name, values in table.items() if values}).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "images",
    [
        AS_FILES,
        [png(row) for row in range(3)],
        AS_LISTS,
        PIXELS[..., None].tolist(),
        PIXELS.astype(float).tolist(),
        (PIXELS / 255).tolist(),
        (PIXELS / 255).round(4).tolist(),
    ],
)
def test_pictures_are_the_same_however_stored(images: list[Any], tmp_path: Path) -> None:
    stored(tmp_path, images=images)

    found = load("soft-digits", folder=tmp_path)

    assert np.array_equal(found.images, PIXELS[..., None])
    assert found.items == ("17", "4", "99")
    assert found.labels.tolist() == [3, 8, 0]
    assert found.split == ("train", "test", "train")


def test_items_are_those_of_the_labels_in_the_same_file(tmp_path: Path) -> None:
    path = stored(tmp_path)

    assert read_digit_images(path).items == read_soft_digits(path).weighted.items


def test_original_label_that_is_a_distribution_counts_as_its_largest_class(
    tmp_path: Path,
) -> None:
    probs = [[0.0] * 10 for _ in range(3)]
    for row, (first, second) in enumerate([(3, 5), (8, 3), (0, 6)]):
        probs[row][first], probs[row][second] = 0.6, 0.4

    path = stored(tmp_path, original_labels=probs)

    assert read_digit_images(path).labels.tolist() == [3, 8, 0]


def test_without_splits_all_are_in_one(tmp_path: Path) -> None:
    path = stored(tmp_path, split=[])

    assert read_digit_images(path).split == ("all",) * 3


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"images": []}, "has no column 'images'"),
        ({"images": [*AS_FILES[:2], None]}, "row 3: 'images' is empty"),
        ({"images": [*AS_FILES[:2], {"bytes": b"x", "path": None}]}, "row 3, is no readable pict"),
        (
            {"images": [*AS_FILES[:2], {"bytes": None, "path": "a.png"}]},
            "row 3: the picture is nei",
        ),
        ({"images": [*AS_LISTS[:2], [[1, 2], [3]]]}, "row 3: the picture is neither"),
        ({"images": [*AS_LISTS[:2], [[1, 2], [3, 4]]]}, r"row 3: .* shape \(2, 2, 1\)"),
        ({"images": [[1], [2], [3]]}, "row 1: the picture is neither"),
        ({"images": [[[7.0]], [[0.1]], [[1.0]]]}, r"row 2: .* go from 0\.1 to 0\.1; expected"),
        ({"images": [[[256]], [[1]], [[1]]]}, "row 1: .* go from 256 to 256; expected"),
        ({"images": [[[0.5]], [[-0.5]], [[1.0]]]}, "row 1: .* go from 0.5 to 0.5; expected"),
        ({"images": [[[0.5]], [[float("nan")]], [[1.0]]]}, "expected all to be whole numbers"),
        ({"original_labels": [3, 10, 1]}, "row 2: the original label 10 is neither a digit"),
        ({"original_labels": [[1.0], [0.5, 0.5], [1.0]]}, r"row 1: the original label \[1\.0\]"),
        ({"indices": [1, 1, 2]}, "item '1' occurs more than once"),
    ],
)
def test_what_does_not_fit_is_named(
    columns: dict[str, list[Any]], sentence: str, tmp_path: Path
) -> None:
    path = stored(tmp_path, **columns)

    with pytest.raises(DataError, match=sentence):
        read_digit_images(path)


def test_truncated_and_missing_files_are_named(tmp_path: Path) -> None:
    path = stored(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"soft-digits\.parquet cannot be read"):
        load("soft-digits", folder=tmp_path)

    path.unlink()
    with pytest.raises(DataError, match=r"the dataset 'soft-digits'"):
        load("soft-digits", folder=tmp_path)
