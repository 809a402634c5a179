"""CIFAR-10: turn the archives of its authors into image sets, every pixel as published.

There are two, with the same pictures in the same order. The binary one is read first, because
it holds nothing but numbers; the Python one holds pickles, of which only arrays, lists, texts
and numbers are let through, since a pickle can name any code to run.
"""

import io
import pickle
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.fetch import Dataset, RemoteFile, data_folder
from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.provenance import Step, fingerprint_file

__all__ = ["DATASET", "archive", "load"]

SIDE = 32
PIXELS = 3 * SIDE * SIDE
"""Bytes of a picture: all red, all green, all blue, each row by row."""

BATCHES = {
    "train": tuple(f"data_batch_{number}" for number in range(1, 6)),
    "test": ("test_batch",),
}

BINARY = "cifar-10-binary.tar.gz"
PICKLED = "cifar-10-python.tar.gz"

DATASET = Dataset(
    name="cifar10-official",
    about="the 60,000 CIFAR-10 pictures as their authors publish them, without loss",
    source=(
        "www.cs.toronto.edu/~kriz/cifar.html, the binary version. Krizhevsky, "
        '"Learning Multiple Layers of Features from Tiny Images", 2009.'
    ),
    licence="none stated (use in research is customary)",
    files=(
        RemoteFile(
            f"cifar10/{BINARY}",
            size=170_052_171,
            sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            url=f"https://www.cs.toronto.edu/~kriz/{BINARY}",
        ),
    ),
)

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Pixels, shape (pictures, 3072), and labels."""


def archive(folder: Path | None = None) -> Path | None:
    """The archive that would be read: the binary one, else the one of pickles, else None."""
    places = [(folder or data_folder()) / "cifar10" / name for name in (BINARY, PICKLED)]
    return next((path for path in places if path.is_file()), None)


def load(split: Literal["train", "test"], folder: Path | None = None) -> ImageSet:
    """The 50,000 training or the 10,000 test pictures; an item is its official index."""
    path = archive(folder)
    if path is None:
        raise DataError(
            f"There is neither {BINARY} nor {PICKLED} in {(folder or data_folder()) / 'cifar10'}. "
            "`sfumato data get cifar10-official` fetches the first; SFUMATO_DATA names the folder "
            "of data sets."
        )
    batches = list(_batches(path, split))
    labels = np.concatenate([numbers for _, numbers in batches])
    pixels = np.concatenate([rows for rows, _ in batches])  # (items, 3072)
    pictures = np.ascontiguousarray(pixels.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1))
    pictures.flags.writeable = False
    return ImageSet(
        items=tuple(map(str, range(len(labels)))),
        images=pictures,
        labels=labels,
        classes=CIFAR10,
        split=(split,) * len(labels),
        provenance=(
            Step("load cifar10", {"split": split}, inputs={path.name: fingerprint_file(path)}),
        ),
    )


def _batches(path: Path, split: Literal["train", "test"]) -> Iterator[Batch]:
    binary = path.name == BINARY
    form = "cifar-10-batches-bin/{}.bin" if binary else "cifar-10-batches-py/{}"
    for member, content in _members(path, [form.format(name) for name in BATCHES[split]]).items():
        where = f"{member} in {path.name}"
        pixels, labels = _records(content, where) if binary else _pickled(content, where)
        outside = np.flatnonzero((labels < 0) | (labels >= len(CIFAR10)))
        if len(outside):
            raise DataError(
                f"Picture {outside[0]} of {where} has the label {labels[outside[0]]}; expected 0 "
                f"to {len(CIFAR10) - 1}."
            )
        yield pixels, labels


def _members(path: Path, names: list[str]) -> dict[str, bytes]:
    """The contents of the members, in the order of ``names``, in one pass over the archive."""
    found = {}
    try:
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name in names else None
                if file is not None:
                    found[member.name] = file.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} is damaged: {error}. Get it again.") from None
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{path.name} has no member {missing[0]}; the official archive has.")
    return {name: found[name] for name in names}


def _records(content: bytes, where: str) -> Batch:
    if not content or len(content) % (1 + PIXELS):
        raise DataError(
            f"{where} has {len(content):,} bytes; expected a multiple of {1 + PIXELS:,}, one for "
            "the label and the rest for the picture."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + PIXELS)
    return records[:, 1:], records[:, 0].astype(np.int64)


def _pickled(content: bytes, where: str) -> Batch:
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        pixels, labels = batch[b"data"], np.asarray(batch[b"labels"])
    except Exception as error:  # a damaged pickle can raise anything at all
        raise DataError(f"{where} is no readable batch of pictures: {error!r}.") from None
    if not isinstance(pixels, np.ndarray) or pixels.shape != (len(labels), PIXELS):
        raise DataError(
            f"{where} has {len(labels)} labels and data of shape {np.shape(pixels)}; expected "
            f"{(len(labels), PIXELS)}."
        )
    if pixels.dtype != np.uint8 or labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise DataError(
            f"{where} has data of {pixels.dtype} and labels of {labels.dtype}; expected bytes and "
            "whole numbers."
        )
    return pixels, labels.astype(np.int64)


class _ArraysOnly(pickle.Unpickler):
    """Reads arrays and plain values; whatever else a pickle names is refused, not imported."""

    def find_class(self, module: str, name: str) -> Any:
        # NumPy moved its core: the published files have the old name
        match module.replace("numpy._core", "numpy.core"), name:
            case "numpy", "ndarray":
                return np.ndarray
            case "numpy", "dtype":
                return np.dtype
            case "numpy.core.multiarray", "_reconstruct":
                return np.empty(0).__reduce__()[0]
            case _:
                raise pickle.UnpicklingError(f"{module}.{name} has no place in a batch of pictures")
