"""Turn the name of a dataset into what ``datasets.toml`` says of it and its files, fetched."""

import gzip
import hashlib
import os
import time
import tomllib
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, TypedDict
from urllib.error import HTTPError, URLError

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from sfumato.errors import DataError, MissingDataset, missing_package
from sfumato.items.load import cache_folder
from sfumato.judgments.formats.datasets import CIFAR10, FASHION_MNIST, LABELME
from sfumato.names import find
from sfumato.provenance import fingerprint_file

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

    kind: Literal[
        "arrays", "batches", "cifar10", "class-folders", "class-map", "idx", "package", "parquet"
    ]
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
            raise MissingDataset(f"{place} is missing", self.name)
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


# Turn the description of a dataset into files on this machine, checked against fingerprints.
#
# Nothing is fetched on import. A file arrives under a temporary name, is checked, and only then
# gets its own name, so that a file that is there is whole. What was left of an interrupted
# download is continued.


CHUNK = 1 << 16
TIMEOUT = 30.0
"""Seconds without a byte after which a server counts as out of reach."""

ABANDONED = 600.0
"""Seconds after which a part that nobody has written to belongs to a process that is gone."""

Progress = Callable[[int, int], None]
"""Called with bytes done and in all."""

State = Literal["present", "missing", "changed"]


@dataclass(frozen=True)
class Download:
    """What came of fetching a dataset."""

    files: tuple[Path, ...]
    """Those that were fetched; none if all were here."""
    note: str
    """Licence and source, to be shown to whoever asked for the data."""


class FileRow(TypedDict):
    """One file of a dataset and how it is here."""

    file: str
    state: State


def check(name: str) -> list[FileRow]:
    """Each file of a dataset: present, missing, or changed (another SHA-256)."""
    return compare(find_dataset(name), data_folder())


def get(name: str, progress: Progress = lambda done, total: None) -> Download:
    """Fetch the missing files of a dataset; what cannot be fetched is an error that says how.

    ``progress`` is called with bytes done and in all. A download that was interrupted goes on
    where it stopped.

    >>> get("digits").note
    'Licence: CC BY 4.0 (UCI Machine Learning Repository). Source: scikit-learn, ...'
    """
    dataset = find_dataset(name)
    dataset.path()  # a package that is not installed is an error here
    files = fetch(dataset, data_folder(), progress)
    return Download(tuple(files), f"Licence: {dataset.licence}. Source: {dataset.source}")


def compare(dataset: Dataset, folder: Path) -> list[FileRow]:
    """Each file of the dataset, and whether what is in ``folder`` is what it must be.

    A file of which no fingerprint is known is present when there is anything of its name.
    """
    base = dataset.base(folder)
    return [{"file": file.path, "state": _state(file, base)} for file in dataset.files]


def fetch(
    dataset: Dataset, folder: Path, progress: Progress = lambda done, total: None
) -> list[Path]:
    """Fetch the missing files of a dataset into ``folder`` and return where they are.

    Files without an address are an error that says how they were made; whatever has one is
    fetched before. A file that is there with another content is left alone and is an error.
    """
    states = {row["file"]: row["state"] for row in compare(dataset, folder)}
    for file in dataset.files:
        if states[file.path] == "changed":
            path = folder / file.path
            raise DataError(
                f"{path} is there but has the SHA-256 {_fingerprint(file, path)} instead of "
                f"{file.sha256}. Remove it or move it away to have it fetched again."
            )
    missing = [file for file in dataset.files if states[file.path] == "missing"]
    fetched = _fetch_all([file for file in missing if file.url], folder, progress)
    without_address = [file for file in missing if not file.url]
    if without_address:
        raise DataError(_how_made(dataset, without_address, folder))
    return fetched


def _state(file: RemoteFile, folder: Path) -> State:
    path = folder / file.path
    if file.sha256 is None:
        return "present" if path.exists() else "missing"
    if not path.is_file():
        return "missing"
    return "present" if _fingerprint(file, path) == file.sha256 else "changed"


def _fingerprint(file: RemoteFile, path: Path) -> str:
    if not file.path.endswith(".gz") or file.path.endswith(".tar.gz"):
        return fingerprint_file(path)
    try:
        with gzip.open(path) as unpacked:
            return hashlib.file_digest(unpacked, "sha256").hexdigest()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return fingerprint_file(path)  # of no use but to name what is there instead


def _fetch_all(files: list[RemoteFile], folder: Path, progress: Progress) -> list[Path]:
    sizes = [file.size or 0 for file in files]

    def advance(before: int, done: int) -> None:
        progress(before + done, sum(sizes))

    return [
        _fetch_one(file, folder, partial(advance, sum(sizes[:row])))
        for row, file in enumerate(files)
    ]


def _fetch_one(file: RemoteFile, folder: Path, advance: Callable[[int], None]) -> Path:
    target = folder / file.path
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _claim_rest(target, part)
        continued = part.exists()
        _download(file, target, part, advance)
        if continued and _fingerprint(file, part) != file.sha256:
            part.unlink()  # what was here is of another file than what came: once more, whole
            _download(file, target, part, advance)
        _check_content(file, part)
        part.replace(target)
    except OSError as error:
        raise DataError(
            f"{target} cannot be written: {error.strerror or error}. "
            "SFUMATO_DATA can name another folder."
        ) from None
    finally:
        with suppress(OSError):  # the sentence above matters more than a left-over
            _release_rest(target, part)
    return target


def _claim_rest(target: Path, part: Path) -> None:
    """Take over what an earlier download left; renaming gives it to one process only."""
    left = [target.with_name(f"{target.name}.part")]
    now = time.time()
    for other in sorted(target.parent.glob(f"{target.name}.*.part")):
        with suppress(OSError):  # its owner may finish it meanwhile
            if now - other.stat().st_mtime > ABANDONED:
                left.append(other)
    for rest in left:
        with suppress(FileNotFoundError):
            rest.replace(part)
            return


def _release_rest(target: Path, part: Path) -> None:
    if part.exists():
        if part.stat().st_size:
            part.replace(target.with_name(f"{target.name}.part"))
        else:
            part.unlink()


def _check_content(file: RemoteFile, part: Path) -> None:
    found = _fingerprint(file, part)
    if found != file.sha256:
        part.unlink()
        raise DataError(
            f"{file.url} has the SHA-256 {found} instead of {file.sha256} and was not kept. "
            "Try again; if it stays so, the file there is no longer the one described here."
        )


def _download(file: RemoteFile, target: Path, part: Path, advance: Callable[[int], None]) -> None:
    """Fetch what is missing of ``part``, or all of it if the server cannot continue."""
    assert file.url
    remedy = f"Try again, what has come is kept; or download it yourself and save it as {target}."
    with part.open("ab") as saved:
        for start, chunk in _chunks(file.url, saved.tell(), remedy):
            if start != saved.tell():  # the server began anew
                saved.truncate(start)
                saved.seek(start)
            saved.write(chunk)
            advance(start + len(chunk))


def _chunks(url: str, here: int, remedy: str) -> Iterator[tuple[int, bytes]]:
    """What the server sends, each piece with its place in the file."""
    try:
        with _answer(url, here) as answer:
            done = here if answer.status == HTTPStatus.PARTIAL_CONTENT else 0
            promised = done + int(answer.headers.get("Content-Length", 0))
            while chunk := answer.read(CHUNK):
                yield done, chunk
                done += len(chunk)
    except HTTPError as error:
        error.close()
        raise DataError(
            f"{url} cannot be fetched: the server answers {error.code} {error.reason}. {remedy}"
        ) from None
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise DataError(
            f"{url} cannot be fetched: {reason}. Check the network connection. {remedy}"
        ) from None
    if done < promised:  # a connection that ends early is no error to urllib
        raise DataError(f"{url} stopped after {done:,} of {promised:,} bytes. {remedy}")


def _answer(url: str, here: int) -> HTTPResponse:
    """The rest of a file after the bytes that are here (status 206), or the whole of it."""
    answer: HTTPResponse
    if here:
        asked = urllib.request.Request(url, headers={"Range": f"bytes={here}-"})
        try:
            answer = urllib.request.urlopen(asked, timeout=TIMEOUT)
        except HTTPError as error:  # nothing is left to send, or it is not sent in parts
            error.close()
        else:
            found = answer.headers.get("Content-Range", "")
            if answer.status == HTTPStatus.OK or found.startswith(f"bytes {here}-"):
                return answer
            answer.close()
    answer = urllib.request.urlopen(url, timeout=TIMEOUT)
    return answer


def _how_made(dataset: Dataset, files: list[RemoteFile], folder: Path) -> str:
    by_making: dict[str, list[str]] = {}
    for file in files:
        by_making.setdefault(file.made or dataset.made or "", []).append(file.path)
    ways = " ".join(f"{', '.join(paths)}: {made}" for made, paths in by_making.items())
    return (
        f"{len(files)} of the {len(dataset.files)} files of {dataset.name} cannot be fetched and "
        f"have to be put into {folder}. {ways} Source: {dataset.source}"
    )
