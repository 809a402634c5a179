"""IDX files are read as written, and broken ones are named."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.data import load
from sfumato.data.decode import read_idx
from sfumato.errors import DataError

IMAGES, LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


def idx(values: NDArray[np.uint8]) -> bytes:
    """IDX as the format's description has it: magic number, dimensions, values."""
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
    )


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.binary(min_size=256, max_size=256))
def test_reading_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, shape: list[int], content: bytes
) -> None:
    size = int(np.prod(shape))
    values = np.frombuffer(content, np.uint8)[:size].reshape(shape)

    read = read_idx(write(tmp_path_factory.mktemp("idx") / "a.gz", idx(values)))

    assert np.array_equal(read, values)


def test_pictures_and_labels_become_an_image_set(tmp_path: Path) -> None:
    pictures = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)

    (tmp_path / "mnist").mkdir()
    write(tmp_path / "mnist" / IMAGES, idx(pictures))
    write(tmp_path / "mnist" / LABELS, idx(np.array([1, 0, 1], np.uint8)))

    images = load("mnist", "test", tmp_path)

    assert images.items == ("0", "1", "2")
    assert np.array_equal(images.images[..., 0], pictures)
    assert images.labels.tolist() == [1, 0, 1]
    assert images.split == ("test",) * 3
    assert set(images.provenance[0].inputs) == {IMAGES, LABELS}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(
            gzip.compress(b"\x00\x00\x0d\x01"),
            "begins with 00 00 0d 01, expected 00 00 08",
            id="other type of number",
        ),
        pytest.param(gzip.compress(b""), "is not an IDX file", id="empty"),
        pytest.param(
            gzip.compress(idx(np.zeros(5, np.uint8))[:-2]),
            r"to 11 bytes; its header promises values of shape \(5,\), 13 bytes",
            id="values missing",
        ),
        pytest.param(
            gzip.compress(idx(np.zeros((2, 2), np.uint8))[:9]),
            "to 9 bytes; its header promises",
            id="half a header",
        ),
        pytest.param(
            gzip.compress(idx(np.zeros(500, np.uint8)))[:-9], "cannot be unpacked", id="cut short"
        ),
        pytest.param(b"plain text", "cannot be unpacked", id="not packed"),
    ],
)
def test_broken_file_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "broken.gz"
    path.write_bytes(content)

    with pytest.raises(DataError, match=rf"broken\.gz .*{sentence}"):
        read_idx(path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.gz cannot be opened: No such file"):
        read_idx(tmp_path / "no.gz")


def test_labels_in_place_of_pictures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    for name in (IMAGES, LABELS):
        write(tmp_path / "mnist" / name, idx(np.zeros(3, np.uint8)))

    with pytest.raises(DataError, match=r"t10k-images.* holds 1 dimensions; pictures have 3"):
        load("mnist", "test", tmp_path)
