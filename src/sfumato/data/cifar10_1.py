"""CIFAR-10.1: turn the arrays of a new test set for CIFAR-10 classifiers into an image set."""

from pathlib import Path
from typing import Literal

import numpy as np

from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.formats.tables import load_array
from sfumato.provenance import Step, fingerprint_file

__all__ = ["DATASET", "load"]

UPSTREAM = "https://github.com/modestyachts/CIFAR-10.1/raw/master/datasets"

DATASET = Dataset(
    name="cifar10.1",
    about="about 2,000 new test pictures for CIFAR-10 classifiers, in two versions",
    source=(
        "github.com/modestyachts/CIFAR-10.1. Recht, Roelofs, Schmidt, Shankar, "
        '"Do CIFAR-10 Classifiers Generalize to CIFAR-10?", 2018. Checksums: TensorFlow Datasets.'
    ),
    licence="MIT (repository); the pictures are from Tiny Images, none stated",
    files=(
        RemoteFile(
            "cifar10.1/cifar10.1_v4_data.npy",
            size=6_208_640,
            sha256="5aaedc268df8f4cffca2ac0cf9e608ae1897a8cddb630c7a850a2ea8f6558e75",
            url=f"{UPSTREAM}/cifar10.1_v4_data.npy",
        ),
        RemoteFile(
            "cifar10.1/cifar10.1_v4_labels.npy",
            size=8_212,
            sha256="1f9544300ded199539b6662364ce7fe6c2e1ea9f87408f06db4b1a6184cffb18",
            url=f"{UPSTREAM}/cifar10.1_v4_labels.npy",
        ),
        RemoteFile(
            "cifar10.1/cifar10.1_v6_data.npy",
            size=6_144_128,
            sha256="2997188e5816f5bd545dc77771b6227828c28146049fcecf3fa10775474cacc6",
            url=f"{UPSTREAM}/cifar10.1_v6_data.npy",
        ),
        RemoteFile(
            "cifar10.1/cifar10.1_v6_labels.npy",
            size=8_128,
            sha256="ae40beda001693674edc94d925ee8268cfe68905f8f9aff800c8dcdfcd6c9448",
            url=f"{UPSTREAM}/cifar10.1_v6_labels.npy",
        ),
    ),
)


def load(version: Literal["v4", "v6"], folder: Path | None = None) -> ImageSet:
    """The 2,021 pictures of v4 or the 2,000 of v6, which has 200 of each class (S0-40, S0-41).

    Items are "v6-0", "v6-1", … in the order of the file, so that they are not taken for the
    CIFAR-10 pictures of the same number.
    """
    images_file = locate(DATASET, f"cifar10.1_{version}_data.npy", folder)
    labels_file = locate(DATASET, f"cifar10.1_{version}_labels.npy", folder)
    images = load_array(images_file, dimensions=4)
    labels = load_array(labels_file, dimensions=1)
    if images.dtype != np.uint8 or images.shape != (len(labels), 32, 32, 3):
        raise DataError(
            f"{images_file.name} holds {images.dtype} of shape {images.shape} and "
            f"{labels_file.name} {len(labels):,} labels; expected uint8 of shape "
            f"{(len(labels), 32, 32, 3)}."
        )
    outside = np.flatnonzero((labels < 0) | (labels >= len(CIFAR10)))
    if len(outside) or labels.dtype.kind not in "iu":
        found = labels[outside[0]] if len(outside) else labels.dtype
        raise DataError(
            f"{labels_file.name} holds the label {found}; expected whole numbers from 0 to "
            f"{len(CIFAR10) - 1}."
        )
    inputs = {path.name: fingerprint_file(path) for path in (images_file, labels_file)}
    return ImageSet(
        items=tuple(f"{version}-{row}" for row in range(len(labels))),
        images=images,
        labels=labels.astype(np.int64),
        classes=CIFAR10,
        split=("test",) * len(labels),
        provenance=(Step("load cifar10.1", {"version": version}, inputs),),
    )
