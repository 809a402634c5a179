"""Turn the name of a data set into what is known of it and what of it is here."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypedDict

from sfumato.data import (
    cifar10,
    cifar10_1,
    cifar10_official,
    cifar10c,
    cifar10h,
    cifar10h_predictions,
    cifar10n,
    cifar10s,
    cinic10,
    crowd,
    cub_s,
    digits,
    fashion_mnist,
    hmix,
    label_errors,
    labelme,
    mnist,
    soft_digits,
)
from sfumato.data.fetch import Dataset, FileRow, Progress, compare, data_folder, fetch
from sfumato.errors import MissingPackage
from sfumato.names import find

__all__ = [
    "DATASETS",
    "DatasetRow",
    "Fetched",
    "Presence",
    "check",
    "get",
    "list_datasets",
    "path_of",
]

DATASETS: dict[str, Dataset] = {
    "digits": digits.DATASET,
    "cifar10": cifar10.DATASET,
    "cifar10-official": cifar10_official.DATASET,
    "cifar10.1": cifar10_1.DATASET,
    "cinic10": cinic10.DATASET,
    "cifar10c": cifar10c.DATASET,
    "cifar10h": cifar10h.DATASET,
    "cifar10h-predictions": cifar10h_predictions.DATASET,
    "cifar10s": cifar10s.DATASET,
    "cifar10n": cifar10n.DATASET,
    "hmix": hmix.DATASET,
    "cub-s": cub_s.DATASET,
    "fashion-mnist-h": fashion_mnist.DATASET,
    "mnist": mnist.DATASET,
    "soft-digits": soft_digits.DATASET,
    "label-errors": label_errors.DATASET,
    "labelme": labelme.DATASET,
    "crowd": crowd.DATASET,
}

Presence = Literal["all", "some", "none", "embedded"]


class DatasetRow(TypedDict):
    """One data set in a list of them."""

    name: str
    about: str
    licence: str
    source: str
    present: Presence


@dataclass(frozen=True)
class Fetched:
    """What came of fetching a data set."""

    files: tuple[Path, ...]
    """Those that were fetched; none if all were here."""
    note: str
    """Licence and source, to be shown to whoever asked for the data."""


def list_datasets() -> list[DatasetRow]:
    """All data sets, and which of their files are here (``check`` also reads what they hold)."""
    folder = data_folder()
    return [
        {
            "name": dataset.name,
            "about": dataset.about,
            "licence": dataset.licence,
            "source": dataset.source,
            "present": _presence(dataset, folder),
        }
        for dataset in DATASETS.values()
    ]


def path_of(name: str) -> Path:
    """Where the files of a data set are, or would be.

    >>> path_of("cifar10h").name
    'cifar10h'
    """
    dataset = find(DATASETS, name, what="data set")
    if dataset.package:
        return _package_folder(dataset)
    return data_folder() / Path(dataset.files[0].path).parent


def check(name: str) -> list[FileRow]:
    """Each file of a data set: present, missing, or changed (another SHA-256)."""
    return compare(find(DATASETS, name, what="data set"), data_folder())


def get(name: str, progress: Progress = lambda done, total: None) -> Fetched:
    """Fetch the missing files of a data set; what cannot be fetched is an error that says how.

    ``progress`` is called with bytes done and in all. A download that was interrupted goes on
    where it stopped.

    >>> get("digits").note
    'Licence: CC BY 4.0 (UCI Machine Learning Repository). Source: scikit-learn, ...'
    """
    dataset = find(DATASETS, name, what="data set")
    files: list[Path] = []
    if dataset.package:
        _package_folder(dataset)
    else:
        files = fetch(dataset, data_folder(), progress)
    return Fetched(tuple(files), f"Licence: {dataset.licence}. Source: {dataset.source}")


def _presence(dataset: Dataset, folder: Path) -> Presence:
    if dataset.package:
        return "embedded"
    here = [(folder / file.path).exists() for file in dataset.files]
    if all(here):
        return "all"
    return "some" if any(here) else "none"


def _package_folder(dataset: Dataset) -> Path:
    assert dataset.package
    spec = find_spec(dataset.package)
    if spec is None or spec.origin is None:
        raise MissingPackage(digits.INSTALL)
    return Path(spec.origin).parent
