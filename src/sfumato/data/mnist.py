"""MNIST: turn IDX files of handwritten digits into image sets."""

from pathlib import Path
from typing import Literal, assert_never

from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.data.idx import idx_images
from sfumato.data.images import ImageSet

__all__ = ["DATASET", "load"]

UPSTREAM = "https://storage.googleapis.com/cvdf-datasets/mnist"

DATASET = Dataset(
    name="mnist",
    about="70,000 handwritten digits, 28 × 28 pixels",
    source=(
        'LeCun, Cortes, Burges, "The MNIST database of handwritten digits", 1998 (copy at '
        "storage.googleapis.com/cvdf-datasets/mnist)."
    ),
    licence="usually given as CC BY-SA 3.0",
    files=(
        RemoteFile(
            "mnist/train-images-idx3-ubyte.gz",
            size=9_912_422,
            sha256="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            url=f"{UPSTREAM}/train-images-idx3-ubyte.gz",
        ),
        RemoteFile(
            "mnist/train-labels-idx1-ubyte.gz",
            size=28_881,
            sha256="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            url=f"{UPSTREAM}/train-labels-idx1-ubyte.gz",
        ),
        RemoteFile(
            "mnist/t10k-images-idx3-ubyte.gz",
            size=1_648_877,
            sha256="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            url=f"{UPSTREAM}/t10k-images-idx3-ubyte.gz",
        ),
        RemoteFile(
            "mnist/t10k-labels-idx1-ubyte.gz",
            size=4_542,
            sha256="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            url=f"{UPSTREAM}/t10k-labels-idx1-ubyte.gz",
        ),
    ),
)


def load(split: Literal["train", "test"], folder: Path | None = None) -> ImageSet:
    """The 60,000 training or the 10,000 test digits; an item is its place in the file."""
    match split:
        case "train":
            part = "train"
        case "test":
            part = "t10k"
        case _:
            assert_never(split)
    return idx_images(
        name="mnist",
        images=locate(DATASET, f"{part}-images-idx3-ubyte.gz", folder),
        labels=locate(DATASET, f"{part}-labels-idx1-ubyte.gz", folder),
        classes=tuple("0123456789"),
        split=split,
    )
