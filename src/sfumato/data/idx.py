"""Turn IDX files, the format of MNIST, into arrays and image sets."""

import gzip
import math
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.provenance import Step, fingerprint_file

__all__ = ["idx_images", "read_idx"]

UNSIGNED_BYTE = 8
"""The code for the only type of number that is read here."""


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of bytes in a gzip-compressed IDX file.

    Two zero bytes, the type of number, the number of dimensions, each dimension as four bytes
    (big-endian), then the values with the last dimension fastest.
    """
    content = _unpacked(path)
    if content[:3] != bytes([0, 0, UNSIGNED_BYTE]) or len(content) < 4:
        raise DataError(
            f"{path.name} is not an IDX file of bytes: it begins with {content[:4].hex(' ')}, "
            "expected 00 00 08."
        )
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4))
    expected = start + math.prod(shape)
    if len(content) != expected:
        raise DataError(
            f"{path.name} unpacks to {len(content):,} bytes; its header promises values of shape "
            f"{shape}, {expected:,} bytes. Fetch it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def idx_images(
    *, name: str, images: Path, labels: Path, classes: Sequence[str], split: str
) -> ImageSet:
    """Grey pictures and their labels; items are "0", "1", … in the order of the file."""
    pictures = read_idx(images)  # (items, height, width)
    if pictures.ndim != 3:
        raise DataError(f"{images.name} holds {pictures.ndim} dimensions; pictures have 3.")
    step = Step(
        f"load {name}",
        {"split": split},
        inputs={path.name: fingerprint_file(path) for path in (images, labels)},
    )
    return ImageSet(
        items=tuple(map(str, range(len(pictures)))),
        images=pictures[..., None],
        labels=read_idx(labels).astype(np.int64),
        classes=tuple(classes),
        split=(split,) * len(pictures),
        provenance=(step,),
    )


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be unpacked: {error}. Fetch it again.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
