"""CIFAR-10-C: turn arrays of corrupted CIFAR-10 test pictures into image sets."""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sfumato.data.fetch import Dataset, RemoteFile, data_folder, locate
from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.names import find
from sfumato.provenance import Step

__all__ = ["CORRUPTIONS", "DATASET", "load"]

SEVERITIES = 5

CORRUPTIONS = (
    "brightness",
    "contrast",
    "defocus_blur",
    "elastic_transform",
    "fog",
    "frost",
    "gaussian_blur",
    "gaussian_noise",
    "glass_blur",
    "impulse_noise",
    "jpeg_compression",
    "motion_blur",
    "pixelate",
    "saturate",
    "shot_noise",
    "snow",
    "spatter",
    "speckle_noise",
    "zoom_blur",
)

ARCHIVE = "CIFAR-10-C.tar"

DATASET = Dataset(
    name="cifar10c",
    about="the CIFAR-10 test pictures under 19 corruptions of five severities",
    source=(
        "doi.org/10.5281/zenodo.2535967. Hendrycks, Dietterich, "
        '"Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", '
        "ICLR 2019. Checksum: TensorFlow Datasets."
    ),
    licence="CC BY 4.0",
    files=(
        RemoteFile(
            f"cifar10c/{ARCHIVE}",
            size=2_918_471_680,
            sha256="c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
            url=f"https://zenodo.org/records/2535967/files/{ARCHIVE}",
        ),
    ),
)


def load(corruption: str, severity: Literal[1, 2, 3, 4, 5], folder: Path | None = None) -> ImageSet:
    """The 10,000 test pictures under one corruption (S2-81); an item is its official index.

    Read from the archive, or from the folder ``CIFAR-10-C`` that it unpacks to. Items are those
    of CIFAR-10 and CIFAR-10H, so that their labels fit.
    """
    name = find({name: name for name in CORRUPTIONS}, corruption, what="corruption")
    if severity not in range(1, SEVERITIES + 1):
        raise DataError(f"The severity {severity!r} does not exist; it goes from 1 to 5.")
    place = _place(folder)
    with _opened(place, "labels.npy") as file:
        labels = _labels(_array(file, "labels.npy"))
    count = len(labels) // SEVERITIES
    rows = slice((severity - 1) * count, severity * count)
    with _opened(place, f"{name}.npy") as file:
        images = _rows(file, f"{name}.npy", rows, total=len(labels))
    return ImageSet(
        items=tuple(map(str, range(count))),
        images=images,
        labels=labels[rows],
        classes=CIFAR10,
        split=("test",) * count,
        # fingerprints of gigabytes would take longer than reading the part that is used
        provenance=(Step("load cifar10c", {"corruption": name, "severity": severity}),),
    )


def _place(folder: Path | None) -> Path:
    unpacked = (folder or data_folder()) / "cifar10c" / "CIFAR-10-C"
    return unpacked if unpacked.is_dir() else locate(DATASET, ARCHIVE, folder)


@contextmanager
def _opened(place: Path, name: str) -> Iterator[IO[bytes]]:
    """An array's file, in the folder or inside the archive, of which it can be a part."""
    missing = DataError(f"{place} has no {name}; the published data set has.")
    if place.is_dir():
        if not (place / name).is_file():
            raise missing
        with (place / name).open("rb") as file:
            yield file
        return
    try:
        with tarfile.open(place, "r:") as archive:
            member = archive.extractfile(f"CIFAR-10-C/{name}")
            if member is None:
                raise missing
            with member:
                yield member
    except KeyError:
        raise missing from None
    except tarfile.TarError as error:
        raise DataError(f"{place.name} is damaged: {error}. Get it again.") from None


def _array(file: IO[bytes], name: str) -> NDArray[Any]:
    try:
        # of an archive's members NumPy asks for what they do not have, a file descriptor
        return npy.read_array(io.BytesIO(file.read()), allow_pickle=False)
    except (ValueError, EOFError, tarfile.ReadError) as error:
        raise DataError(f"{name} is not a NumPy file of numbers: {error}.") from None


def _labels(labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not len(labels):
        raise DataError(
            f"labels.npy holds {labels.dtype} of shape {labels.shape}; expected one whole number "
            "for each picture."
        )
    if len(labels) % SEVERITIES:
        raise DataError(
            f"labels.npy holds {len(labels):,} labels, which is no multiple of {SEVERITIES}, the "
            "number of severities."
        )
    outside = np.flatnonzero((labels < 0) | (labels >= len(CIFAR10)))
    if len(outside):
        raise DataError(
            f"labels.npy holds the label {labels[outside[0]]} in row {outside[0]}; expected 0 to "
            f"{len(CIFAR10) - 1}."
        )
    return labels.astype(np.int64)


def _rows(file: IO[bytes], name: str, rows: slice, *, total: int) -> NDArray[np.uint8]:
    """One severity, without reading the other four fifths of 150 MB."""
    try:
        major, _ = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(file)
    except (ValueError, EOFError, tarfile.ReadError) as error:
        raise DataError(f"{name} is not a NumPy file of numbers: {error}.") from None
    expected = (total, 32, 32, 3)
    if shape != expected or dtype != np.uint8 or fortran:
        raise DataError(
            f"{name} holds {dtype} of shape {shape}; expected uint8 of shape {expected}, one "
            "picture for each label."
        )
    picture = 32 * 32 * 3
    count = rows.stop - rows.start
    file.seek(file.tell() + rows.start * picture)
    content = file.read(count * picture)
    if len(content) < count * picture:
        raise DataError(f"{name} ends before picture {rows.stop:,} of {total:,}. Get it again.")
    return np.frombuffer(content, dtype=np.uint8).reshape(count, 32, 32, 3)
