"""Turn the name of a dataset into what ``datasets.toml`` says of it and where its files are."""

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from sfumato.errors import DataError, missing_package
from sfumato.items.vectors import cache_folder
from sfumato.judgments.formats.datasets import CIFAR10, FASHION_MNIST, LABELME
from sfumato.names import find

Presence = Literal["all", "some", "none", "embedded"]

CLASSES = {
    "cifar10": CIFAR10,
    "digits": tuple("0123456789"),
    "fashion-mnist": FASHION_MNIST,
    "labelme": LABELME,
}


class Record(BaseModel):
    """A table of ``datasets.toml``; a field that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RemoteFile(Record):
    """A file of a dataset: what it must hold, and where it comes from."""

    path: str
    """Where it lies within the data folder."""
    size: int | None = None
    """Bytes; None where they are not known."""
    sha256: str | None = None
    """Of its content; of a ``.gz`` file that is no archive, of what it unpacks to, because the
    same content is packed with different names and times inside. None where none is published,
    or for a folder: then whatever is there counts as present."""
    url: str | None = None
    """Where the same content can be had, or None: then ``made`` says how it came about."""
    made: str | None = None


class ImagesRecord(Record):
    """Where the images of a dataset are stored, and how."""

    kind: Literal["arrays", "batches", "cifar10", "class-folders", "idx", "package", "parquet"]
    """The decoder that reads them."""
    parts: dict[str, tuple[str, ...]]
    """The files or members of each part: images, then labels where they have a file."""
    split: str | None = None
    """The split of all items, where it is not the name of the part."""
    archive: str | None = None
    """The archive that has the files as its members; its folder is named like it."""
    severities: int | None = None
    """How many severities follow each other in a file of corrupted images."""


class TextsRecord(Record):
    """Where the texts, answers and stored predictions of a dataset are, and how."""

    kind: Literal["aggrecat", "chaosnli", "judge-bench", "judges", "lewidi", "varierr"]
    """The decoder that reads them."""
    parts: dict[str, tuple[str, ...]]
    """The files of each part: answers first."""
    rename: dict[str, dict[str, str]] = {}
    """By part: what answers count as, where the dataset's authors count several as one."""
    asked: dict[str, str] = {}
    """By part: the kind of question, where the form of the answers does not tell it."""


class JudgmentsRecord(Record):
    """A file of people's answers."""

    file: str
    format: str
    answers: int
    """How many it holds, as published or counted."""


class Dataset(Record):
    """What is known of a dataset before any of it is here."""

    name: str
    about: str
    source: str
    """Repository or publisher, and the paper to cite."""
    licence: str
    items: dict[str, int] = {}
    """How many items each part has, as published."""
    classes: Annotated[tuple[str, ...], BeforeValidator(lambda name: CLASSES[name])] = ()
    """The classes of its images and labels, by the name of a list in ``CLASSES``."""
    package: str | None = None
    """The Python package that brings the data along, where one does; files are paths in it."""
    made: str | None = None
    """How files without an address came about, where they do not say it themselves."""
    files: tuple[RemoteFile, ...] = ()
    images: ImagesRecord | None = None
    texts: TextsRecord | None = None
    pictures: str | None = None
    """``NAME/PART`` of the dataset whose images its items are, where it holds none itself."""
    features: dict[str, tuple[str, str]] = {}
    """By part: the file of features, in place of images, and that of labels."""
    judgments: dict[str, JudgmentsRecord] = {}
    labels: dict[str, str] = {}
    """Files of distributions: released labels, or what published networks predict."""
    split: dict[str, str] = {}
    """The files of row numbers that make up each part of the published split."""

    @model_validator(mode="after")
    def _check_origins(self) -> "Dataset":
        for file in self.files:
            assert file.url is None or (file.size and file.sha256 and not file.made), file.path
            assert file.url or file.made or self.made, file.path
        return self

    def path(self, folder: Path | None = None) -> Path:
        """Where the files are, or would be; a package that is not installed is an error."""
        base = self.base(folder)
        folders = [Path(file.path).parent for file in self.files]
        return base / os.path.commonpath(folders) if folders else base

    def base(self, folder: Path | None = None) -> Path:
        """The folder that paths of files are in: the package's, or that of datasets."""
        if not self.package:
            return folder or data_folder()
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            raise missing_package(f"The dataset {self.name!r}", "scikit-learn", "learn")
        return Path(spec.origin).parent

    def locate(self, name: str, folder: Path | None = None) -> Path:
        """Where the file called ``name`` is; a missing one is an error with a remedy."""
        files = {Path(file.path).name: file for file in self.files}
        files |= {file.path: file for file in self.files}  # names may occur in several folders
        place = self.base(folder) / find(files, name, what=f"file of {self.name}").path
        if not place.exists():
            raise DataError(
                f"{place} is missing. `sfumato data get {self.name}` fetches it or says how to "
                "make it; SFUMATO_DATA names the folder of datasets."
            )
        return place

    def presence(self, folder: Path) -> Presence:
        """How many of the files are in ``folder``, whatever they hold."""
        if self.package:
            return "embedded"
        here = [(folder / file.path).exists() for file in self.files]
        if all(here):
            return "all"
        return "some" if any(here) else "none"


class DatasetRow(TypedDict):
    """One dataset in a list of them."""

    name: str
    about: str
    items: dict[str, int]
    licence: str
    source: str
    present: Presence


def _read_records() -> dict[str, Dataset]:
    text = Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8")
    return {name: Dataset(name=name, **table) for name, table in tomllib.loads(text).items()}


DATASETS: dict[str, Dataset] = _read_records()


def find_dataset(name: str) -> Dataset:
    """What is known of a dataset; an unknown name is an error with the nearest one."""
    return find(DATASETS, name, what="dataset")


def listing() -> list[DatasetRow]:
    """All datasets, and which of their files are here (``check`` also reads what they hold)."""
    folder = data_folder()
    return [
        {
            "name": dataset.name,
            "about": dataset.about,
            "items": dataset.items,
            "licence": dataset.licence,
            "source": dataset.source,
            "present": dataset.presence(folder),
        }
        for dataset in DATASETS.values()
    ]


def path(name: str) -> Path:
    """Where the files of a dataset are, or would be.

    >>> path("cifar10h").name
    'cifar10h'
    """
    return find_dataset(name).path()


def locate(name: str, file: str, folder: Path | None = None) -> Path:
    """Where a file of a dataset is; a missing one is an error with a remedy.

    ``folder`` is the folder of datasets, otherwise ``data_folder()``.
    """
    return find_dataset(name).locate(file, folder)


def data_folder() -> Path:
    """Where datasets are kept: ``SFUMATO_DATA``, or else the user's cache folder."""
    named = os.environ.get("SFUMATO_DATA")
    return Path(named).expanduser() if named else cache_folder() / "sfumato"
