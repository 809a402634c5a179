"""Turn the name of a dataset into its images, features, judgments, labels or published split.

``datasets.toml`` says which files a part is made of and which decoder, one of ``DECODERS``,
turns them into an image set. ``folder`` is the folder of datasets everywhere, by default
``data_folder()``.
"""

import gzip
import io
import math
import pickle
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.lib import format as npy
from numpy.typing import NDArray

from sfumato.data.images import FeatureSet, ImageSet, fill_splits, read_own_table, remap
from sfumato.data.registry import (
    DATASETS,
    Dataset,
    ImagesRecord,
    data_folder,
    find_dataset,
)
from sfumato.data.texts import TextSet, TextsPart, decode_texts
from sfumato.errors import DataError, MissingDataset
from sfumato.items.pictures import decode_picture, open_files, read_picture, resize
from sfumato.judgments.formats import Readable, read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.tables import load_array
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.soft_digits import read_table
from sfumato.names import find
from sfumato.provenance import Setting, Step, fingerprint_file

SIDE = 32
"""Height and width of the pictures of CIFAR-10 and of the sets that imitate it."""

PIXELS = 3 * SIDE * SIDE
"""Bytes of a picture of CIFAR-10: all red, all green, all blue, each row by row."""

BINARY = "cifar-10-binary.tar.gz"
PICKLED = "cifar-10-python.tar.gz"

UNSIGNED_BYTE = 8
"""The code for the only type of number that is read from IDX files."""

FROM_CIFAR = ("cifar10-", "cifar-10-")
"""How the names of the CIFAR-10 part of CINIC-10 begin, in the archive and in its description."""

SUBSETS = {"all": (True, False), "imagenet": (False,), "cifar10": (True,)}
"""Parts of CINIC-10: whether names that begin ``FROM_CIFAR`` belong to them."""


def load(
    name: str,
    part: str | None = None,
    folder: Path | None = None,
    *,
    items: Sequence[str] | None = None,
    severity: int | None = None,
    subset: str | None = None,
) -> ImageSet:
    """The images of a part of a dataset; ``part`` may be left out where there is only one.

    ``items`` are those wanted, in their order. ``severity`` says how badly the images of
    cifar10c are spoilt, from 1 to 5 (S2-81); ``subset`` which images of cinic10 are wanted:
    "all", those from ImageNet ("imagenet", S0-42), or "cifar10". The images of cifar10 are read
    from an official archive if one is there; the provenance names the file.

    >>> load("digits").images.shape
    (1797, 8, 8, 1)
    """
    dataset = find_dataset(name)
    if dataset.images is None:
        known = [other.name for other in DATASETS.values() if other.images]
        raise DataError(f"{name} holds no images. Datasets with images: {', '.join(known)}.")
    chosen = _choose(dataset.images.parts, part, what=f"part of {name}")
    wanted = _Wanted(dataset, dataset.images, chosen, folder, items, severity, subset)
    if severity is not None and dataset.images.severities is None:
        raise DataError(f"The images of {name} have no severities; leave `severity` out.")
    if subset is not None and dataset.images.kind != "class-folders":
        raise DataError(f"The images of {name} have no subsets; leave `subset` out.")
    found = DECODERS[dataset.images.kind](wanted)
    return found if items is None else found.take(items)


def load_set(
    name: str, part: str | None = None, folder: Path | None = None, **options: Any
) -> ImageSet | FeatureSet | TextSet | Readable:
    """A part of a dataset: its images, texts or features, or else people's answers.

    Texts come as a ``TextSet``: items, people's judgments, published labels, stored predictions,
    licence and citation. ``part`` may be left out where there is only one, ``options`` are those of
    ``load`` for images.

    >>> load_set("digits").images.shape
    (1797, 8, 8, 1)
    """
    dataset = find_dataset(name)
    if dataset.images is not None:
        return load(name, part, folder, **options)
    if options:
        raise DataError(f"{name} holds no images; leave `{next(iter(options))}` out.")
    if dataset.texts is not None:
        chosen = _choose(dataset.texts.parts, part, what=f"part of {name}")
        return decode_texts(TextsPart(dataset, dataset.texts, chosen, folder))
    if dataset.features:
        return load_features(name, _choose(dataset.features, part, what=f"part of {name}"), folder)
    return load_judgments(name, part, folder)


def load_texts(name: str, part: str | None = None, folder: Path | None = None) -> TextSet:
    """A part of a dataset of texts, with people's answers; any other set is an error."""
    found = load_set(name, part, folder)
    if not isinstance(found, TextSet):
        known = [other.name for other in DATASETS.values() if other.texts]
        raise DataError(f"{name} holds no texts. Datasets with texts: {', '.join(known)}.")
    return found


def parts(name: str) -> tuple[str, ...]:
    """The parts of a dataset's images, such as its splits, versions or corruptions.

    >>> parts("cinic10")
    ('train', 'valid', 'test')
    """
    dataset = find_dataset(name)
    record = dataset.images or dataset.texts
    return tuple(record.parts if record else dataset.features)


def load_features(name: str, part: str, folder: Path | None = None) -> FeatureSet:
    """The features and labels of a dataset that has them instead of images, such as labelme.

    An item is its row.
    """
    dataset = find_dataset(name)
    if not dataset.features:
        raise DataError(f"{name} holds no features; `load` reads images.")
    files = find(dataset.features, part, what=f"part of {name}")
    features_file, labels_file = (dataset.locate(file, folder) for file in files)
    features = load_array(features_file, dimensions=2)
    return FeatureSet(
        items=tuple(map(str, range(len(features)))),
        features=features,
        labels=load_array(labels_file, dimensions=1),
        classes=dataset.classes,
        split=(part,) * len(features),
        provenance=(_step(name, {"part": part}, (features_file, labels_file)),),
    )


def load_judgments(name: str, part: str | None = None, folder: Path | None = None) -> Readable:
    """People's answers; ``part`` names the file where there are several (see the set's page)."""
    dataset = find_dataset(name)
    chosen = _choose(dataset.judgments, part, what=f"file of judgments of {name}")
    record = dataset.judgments[chosen]
    return read(dataset.locate(record.file, folder), record.format, ReadOptions())


def load_labels(name: str, part: str | None = None, folder: Path | None = None) -> LabelSet:
    """Released labels, or what a published network predicts, with the classes of the dataset.

    ``part`` names the network, or the file where there are several.
    """
    dataset = find_dataset(name)
    chosen = _choose(dataset.labels, part, what=f"file of labels of {name}")
    return read_labels(dataset.locate(dataset.labels[chosen], folder), classes=dataset.classes)


def load_split(name: str, folder: Path | None = None) -> dict[str, str]:
    """Item to its part of the published split; ``ImageSet.with_splits`` takes it.

    That of cifar10s parts the CIFAR-10 test images into "train" (7,000, with all 1,000 that have
    soft labels) and "test" (3,000), as in the paper.
    """
    dataset = find_dataset(name)
    if not dataset.split:
        raise DataError(f"{name} comes without a published split.")
    return {
        str(index): part
        for part, file in dataset.split.items()
        for index in load_array(dataset.locate(file, folder), dimensions=1)
    }


def official_archive(folder: Path | None = None) -> Path | None:
    """The archive of CIFAR-10 that would be read: the binary one, else that of pickles, else None.

    The binary one comes first because it holds nothing but numbers.
    """
    places = [(folder or data_folder()) / "cifar10" / name for name in (BINARY, PICKLED)]
    return next((path for path in places if path.is_file()), None)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of bytes in a gzip-compressed IDX file, the format of MNIST.

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


@dataclass(frozen=True)
class _Wanted:
    """Which images of a dataset are to be decoded."""

    dataset: Dataset
    record: ImagesRecord
    part: str
    folder: Path | None
    items: Sequence[str] | None
    severity: int | None
    subset: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return self.record.parts[self.part]

    def locate(self, name: str) -> Path:
        return self.dataset.locate(name, self.folder)

    def image_set(
        self,
        images: NDArray[np.uint8],
        labels: NDArray[np.int64],
        *,
        items: Sequence[str] | None = None,
        settings: Mapping[str, Setting] | None = None,
        inputs: Sequence[Path] = (),
    ) -> ImageSet:
        """What was decoded; ``items`` are the rows unless given, ``settings`` beside the part."""
        return ImageSet(
            items=tuple(map(str, range(len(images))) if items is None else items),
            images=images,
            labels=labels,
            classes=self.dataset.classes,
            split=(self.record.split or self.part,) * len(images),
            provenance=(_step(self.dataset.name, {"part": self.part, **(settings or {})}, inputs),),
        )


WHOLE = "all"
"""The part that is loaded if none is named."""


def _choose(table: Mapping[str, object], part: str | None, *, what: str) -> str:
    if part is None and (len(table) == 1 or WHOLE in table):
        return WHOLE if WHOLE in table else next(iter(table))
    if part is None and table:
        raise DataError(f"There is more than one {what}; name one of {', '.join(table)}.")
    find(table, part or "", what=what)
    assert part is not None
    return part


def _step(name: str, settings: dict[str, Setting], inputs: Sequence[Path]) -> Step:
    return Step(f"load {name}", settings, {path.name: fingerprint_file(path) for path in inputs})


def _check_labels(labels: NDArray[Any], classes: Sequence[str], where: str) -> NDArray[np.int64]:
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not len(labels):
        raise DataError(
            f"{where} holds {labels.dtype} of shape {labels.shape}; expected one whole number "
            "for each picture."
        )
    outside = np.flatnonzero((labels < 0) | (labels >= len(classes)))
    if len(outside):
        raise DataError(
            f"{where} holds the label {labels[outside[0]]} in row {outside[0]}; expected 0 to "
            f"{len(classes) - 1}."
        )
    return labels.astype(np.int64)


def _decode_idx(wanted: _Wanted) -> ImageSet:
    """Grey pictures and their labels."""
    images, labels = map(wanted.locate, wanted.names)
    pictures = read_idx(images)  # (items, height, width)
    if pictures.ndim != 3:
        raise DataError(f"{images.name} holds {pictures.ndim} dimensions; pictures have 3.")
    return wanted.image_set(
        pictures[..., None], read_idx(labels).astype(np.int64), inputs=(images, labels)
    )


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be unpacked: {error}. Fetch it again.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None


def _decode_cifar10(wanted: _Wanted) -> ImageSet:
    """The pictures of an official archive if there is one, else those of a zip archive.

    The members of ours are JPEG re-encodings, off by about 8 grey levels RMS: fine for training
    and for comparisons, not for reproducing published accuracies to the last digit. An archive
    of one's own with lossless PNG members is read just as well.
    """
    if official_archive(wanted.folder):
        official = DATASETS["cifar10-official"]
        assert official.images
        return _decode_batches(replace(wanted, dataset=official, record=official.images))
    archive, labels_file = map(wanted.locate, wanted.names)
    labels = _check_labels(
        load_array(labels_file, dimensions=1), wanted.dataset.classes, labels_file.name
    )
    rows = range(len(labels)) if wanted.items is None else _rows_of(wanted, len(labels))
    return wanted.image_set(
        _numbered_pictures(archive, rows, len(labels)),
        labels[list(rows)],
        items=[str(row) for row in rows],
        settings={} if wanted.items is None else {"items": len(wanted.items)},
        inputs=(archive, labels_file),
    )


def _rows_of(wanted: _Wanted, count: int) -> list[int]:
    known = {str(index): index for index in range(count)}
    for item in wanted.items or ():
        if item not in known:
            raise DataError(
                f"There is no item {item!r} in the {wanted.part} part of CIFAR-10; its items are "
                f"'0' to '{count - 1}'."
            )
    return [known[item] for item in wanted.items or ()]


def _numbered_pictures(path: Path, rows: Sequence[int], count: int) -> NDArray[np.uint8]:
    pictures = np.empty((len(rows), SIDE, SIDE, 3), dtype=np.uint8)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {PurePath(member).stem: member for member in archive.namelist()}
            for place, row in enumerate(rows):
                member = members.get(f"{row:05d}")
                if member is None:
                    raise DataError(
                        f"{path.name} has no picture {row:05d}, but there are {count:,} labels."
                    )
                pictures[place] = _picture(archive.read(member), f"{member} in {path.name}")
    except (zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path.name} is damaged: {error}. Get it again.") from None
    pictures.flags.writeable = False
    return pictures


def _picture(content: bytes, where: str) -> NDArray[np.uint8]:
    pixels = decode_picture(content, where)
    if pixels.shape[:2] != (SIDE, SIDE):
        raise DataError(f"{where} has the shape {pixels.shape}; expected {SIDE} × {SIDE} pixels.")
    # ImageNet has grey photographs; grey is the colour with three equal parts
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)


def _decode_class_folders(wanted: _Wanted) -> ImageSet:
    """A folder a class of PNG files; an item is its file without the ending, "cat/n02121620_1"."""
    root = wanted.locate(*wanted.names)
    subset = wanted.subset or "all"
    kept = find(SUBSETS, subset, what=f"subset of {wanted.dataset.name}")
    files = [
        (label, path)
        for label, name in enumerate(wanted.dataset.classes)
        for path in _png_files(root / name)
        if path.name.startswith(FROM_CIFAR) in kept
    ]
    if not files:
        raise DataError(f"{root} holds no PNG pictures of the part {subset!r}.")
    pictures = np.empty((len(files), SIDE, SIDE, 3), dtype=np.uint8)
    for row, (_, path) in enumerate(files):
        pictures[row] = _picture(path.read_bytes(), str(path))
    pictures.flags.writeable = False
    return wanted.image_set(
        pictures,
        np.array([label for label, _ in files], dtype=np.int64),
        items=[f"{path.parent.name}/{path.stem}" for _, path in files],
        settings={"subset": subset, "items": len(files)},
    )


def _decode_class_map(wanted: _Wanted) -> ImageSet:
    """Folders of pictures of any size, each with its class by a table (S0-43).

    An item is its file within the folders, without the ending.
    """
    root, table = map(wanted.locate, wanted.names)
    named = read_own_table(table)
    mapping = dict(zip(named["item"], named["label"], strict=True))
    members, _, read = open_files(root)
    of_folder: dict[str, list[str]] = {}
    for member in members:
        of_folder.setdefault(member.rpartition("/")[0], []).append(member)
    files = [
        (label, member)
        for label, name in enumerate(mapping)
        for member in find(of_folder, name, what=f"folder of pictures in {root}")
    ]
    pictures = np.empty((len(files), SIDE, SIDE, 3), dtype=np.uint8)
    for row, (_, member) in enumerate(files):  # one by one: those of ImageNet are large
        pictures[row] = resize(read_picture(read, member, root)[None], (SIDE, SIDE))[0]
    pool = ImageSet(
        tuple(member.rpartition(".")[0] for _, member in files),
        pictures,
        np.array([label for label, _ in files], dtype=np.int64),
        tuple(mapping),
        (wanted.part,) * len(files),
        (_step(wanted.dataset.name, {"items": len(files)}, (table,)),),
    )
    return remap(pool, mapping, wanted.dataset.classes)


def _png_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DataError(f"{folder} is missing; every split has a folder for each of ten classes.")
    return sorted(folder.glob("*.png"))


def _decode_batches(wanted: _Wanted) -> ImageSet:
    """CIFAR-10 as its authors publish it, every pixel; an item is its official index.

    Of the two archives, which have the same pictures in the same order, the Python one holds
    pickles. Only arrays, lists, texts and numbers are let through, since a pickle can name any
    code to run.
    """
    path = official_archive(wanted.folder)
    if path is None:
        place = (wanted.folder or data_folder()) / "cifar10"
        raise MissingDataset(
            f"There is neither {BINARY} nor {PICKLED} in {place}", "cifar10-official"
        )
    binary = path.name == BINARY
    form = "cifar-10-batches-bin/{}.bin" if binary else "cifar-10-batches-py/{}"
    pixels, labels = [], []
    for member, content in _members(path, [form.format(name) for name in wanted.names]).items():
        where = f"{member} in {path.name}"
        rows, numbers = _records(content, where) if binary else _pickled(content, where)
        pixels.append(rows)
        labels.append(_check_labels(numbers, wanted.dataset.classes, where))
    planes = np.concatenate(pixels).reshape(-1, 3, SIDE, SIDE)
    pictures = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    pictures.flags.writeable = False
    return wanted.image_set(pictures, np.concatenate(labels), inputs=(path,))


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


def _records(content: bytes, where: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Pixels, shape (pictures, 3072), and labels."""
    if not content or len(content) % (1 + PIXELS):
        raise DataError(
            f"{where} has {len(content):,} bytes; expected a multiple of {1 + PIXELS:,}, one for "
            "the label and the rest for the picture."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + PIXELS)
    return records[:, 1:], records[:, 0]


def _pickled(content: bytes, where: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        pixels, labels = batch[b"data"], np.asarray(batch[b"labels"])
    except Exception as error:  # a damaged pickle can raise anything at all
        raise DataError(f"{where} is no readable batch of pictures: {error!r}.") from None
    if (
        not isinstance(pixels, np.ndarray)
        or pixels.dtype != np.uint8
        or pixels.shape != (len(labels), PIXELS)
    ):
        kind = getattr(pixels, "dtype", type(pixels).__name__)
        raise DataError(
            f"{where} has {len(labels)} labels and data of {kind} and shape {np.shape(pixels)}; "
            f"expected bytes of shape {(len(labels), PIXELS)}."
        )
    return pixels, labels


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


def _decode_arrays(wanted: _Wanted) -> ImageSet:
    """NumPy files of pictures and labels, or one severity of them (S0-40, S0-41, S2-81).

    Items of versions of a set are "v6-0", "v6-1", …, so that they are not taken for the CIFAR-10
    pictures of the same number; those of corrupted pictures are the official indices, so that
    labels of CIFAR-10 and CIFAR-10H fit.
    """
    severities, severity = wanted.record.severities, wanted.severity
    if severities and severity not in range(1, severities + 1):
        raise DataError(
            f"The severity {severity!r} does not exist; `severity` goes from 1 to {severities}."
        )
    images_name, labels_name = wanted.names
    with _open_array(wanted, labels_name) as file:
        labels = _check_labels(_array(file, labels_name), wanted.dataset.classes, labels_name)
    if len(labels) % (severities or 1):
        raise DataError(
            f"{labels_name} holds {len(labels):,} labels, which is no multiple of {severities}, "
            "the number of severities."
        )
    count = len(labels) // (severities or 1)
    first = count * ((severity or 1) - 1)
    rows = slice(first, first + count)
    with _open_array(wanted, images_name) as file:
        images = _array_rows(file, images_name, rows, total=len(labels))
    if severity:
        # fingerprints of gigabytes would take longer than reading the part that is used
        return wanted.image_set(images, labels[rows], settings={"severity": severity})
    items = [f"{wanted.part}-{row}" for row in range(count)]
    inputs = [wanted.locate(name) for name in wanted.names]
    return wanted.image_set(images, labels, items=items, inputs=inputs)


@contextmanager
def _open_array(wanted: _Wanted, name: str) -> Iterator[IO[bytes]]:
    """An array's file: of its own, or in an archive or the folder that it unpacks to."""
    if wanted.record.archive is None:
        with wanted.locate(name).open("rb") as file:
            yield file
        return
    unpacked = wanted.dataset.path(wanted.folder) / PurePath(wanted.record.archive).stem
    place = unpacked if unpacked.is_dir() else wanted.locate(wanted.record.archive)
    missing = DataError(f"{place} has no {name}; the published dataset has.")
    if place.is_dir():
        if not (place / name).is_file():
            raise missing
        with (place / name).open("rb") as file:
            yield file
        return
    try:
        with tarfile.open(place, "r:") as archive:
            member = archive.extractfile(f"{unpacked.name}/{name}")
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


def _array_rows(file: IO[bytes], name: str, rows: slice, *, total: int) -> NDArray[np.uint8]:
    """Some of the pictures, without reading the others: of 150 MB a severity is a fifth."""
    try:
        major, _ = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(file)
    except (ValueError, EOFError, tarfile.ReadError) as error:
        raise DataError(f"{name} is not a NumPy file of numbers: {error}.") from None
    expected = (total, SIDE, SIDE, 3)
    if shape != expected or dtype != np.uint8 or fortran:
        raise DataError(
            f"{name} holds {dtype} of shape {shape}; expected uint8 of shape {expected}, one "
            "picture for each label."
        )
    count = rows.stop - rows.start
    file.seek(file.tell() + rows.start * PIXELS)
    content = file.read(count * PIXELS)
    if len(content) < count * PIXELS:
        raise DataError(f"{name} ends before picture {rows.stop:,} of {total:,}. Get it again.")
    return np.frombuffer(content, dtype=np.uint8).reshape(count, SIDE, SIDE, 3)


# Turn the digits of scikit-learn, or a Parquet file of soft-digits, into images and labels. What
# people saw in the digits of soft-digits is read by ``sfumato.labels``.

DARKEST = 16
"""The largest grey level in scikit-learn's file, drawn as 255."""

DIGITS = tuple("0123456789")
DIGIT_COLUMNS = ("images", "indices", "original_labels")
DIGIT_SOURCES = ("mnist", "mukhoti")
"""Where a picture is from: MNIST, or the synthetic Ambiguous-MNIST of Mukhoti et al."""


def read_digits() -> ImageSet:
    """The 1,797 digits; an item is its place in the file, all are in the split "all".

    Grey levels 0 to 16 become 0 to 255, so that they can be shown and scaled as any other.
    """
    find_dataset("digits").path()  # without scikit-learn an error that says how to install it
    from sklearn import __version__
    from sklearn.datasets import load_digits

    stored = load_digits()
    grey = np.rint(stored.images * (255 / DARKEST)).astype(np.uint8)  # (items, 8, 8)
    return ImageSet(
        items=tuple(map(str, range(len(grey)))),
        images=grey[..., None],
        labels=stored.target,
        classes=tuple(map(str, stored.target_names)),
        split=("all",) * len(grey),
        provenance=(Step("load digits", {"scikit-learn": __version__}),),
    )


def label_by_neighbours(pictures: ImageSet, neighbours: int = 15) -> LabelSet:
    """Simulated sight: class shares of the most similar other images.

    Ambiguous digits have mixed neighbours. Each image is compared with the nine tenths of the
    images that it is not among. Nobody annotated these digits; the step is marked as simulated.
    """
    find_dataset("digits").path()  # without scikit-learn an error that says how to install it
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    flat = pictures.images.reshape(len(pictures), -1)
    nearest = KNeighborsClassifier(n_neighbors=neighbours)
    shares = cross_val_predict(nearest, flat, pictures.labels, cv=10, method="predict_proba")
    step = Step("simulate what people see", {"neighbours": neighbours}, simulated=True)
    return LabelSet(
        pictures.items, pictures.classes, shares, provenance=(*pictures.provenance, step)
    )


def read_digit_images(path: Path) -> ImageSet:
    """The pictures of a Parquet file in the columns of soft-digits; items are its ``indices``.

    Column ``images`` holds files, as the hub stores them (``{"bytes": …}``), or numbers in
    nested lists, height × width (× channels): all whole numbers from 0 to 255, or all from 0 to
    1, which are multiplied by 255 and rounded. An original label that is a distribution, as in
    the synthetic part, counts as its largest class. Without a column ``split`` all are in the
    split "all".
    """
    table = _digit_table(path)
    pictures = [
        _digit_pixels(value, f"{path.name}, row {row + 1}")
        for row, value in enumerate(table["images"].to_list())
    ]
    shapes = [picture.shape for picture in pictures]
    other = next((row for row, shape in enumerate(shapes) if shape != shapes[0]), None)
    if other is not None:
        raise DataError(
            f"{path.name}, row {other + 1}: the picture has the shape {shapes[other]}, but the "
            f"first has {shapes[0]}."
        )
    return ImageSet(
        items=tuple(table["indices"].cast(pl.String).to_list()),
        images=_digit_bytes(np.stack(pictures), path.name),
        labels=np.array(
            [
                _digit_class(value, f"{path.name}, row {row + 1}")
                for row, value in enumerate(table["original_labels"].to_list())
            ]
        ),
        classes=DIGITS,
        split=tuple(table["split"].cast(pl.String).to_list()),
        provenance=(Step("load soft-digits", {}, {path.name: read_table(path).fingerprint}),),
    )


def read_digit_sources(path: Path) -> dict[str, str]:
    """Item to where its picture is from, one of ``DIGIT_SOURCES``."""
    table = _digit_table(path, ("indices", "source"))
    found = dict(zip(table["indices"].cast(pl.String), table["source"].to_list(), strict=True))
    for item, source in found.items():
        if source not in DIGIT_SOURCES:
            raise DataError(
                f"{path.name}: the source of item {item!r} is {source!r}; expected "
                f"{' or '.join(map(repr, DIGIT_SOURCES))}."
            )
    return found


def read_original_labels(path: Path) -> LabelSet:
    """The labels that came with the pictures: a digit, or the distribution of synthetic ones."""
    table = _digit_table(path, ("indices", "original_labels"))
    probs = [
        _digit_probs(value, f"{path.name}, row {row + 1}")
        for row, value in enumerate(table["original_labels"].to_list())
    ]
    step = Step("read original labels", {}, {path.name: read_table(path).fingerprint})
    items = tuple(table["indices"].cast(pl.String).to_list())
    return LabelSet(items, DIGITS, np.stack(probs), provenance=(step,))


def _digit_table(path: Path, needed: tuple[str, ...] = DIGIT_COLUMNS) -> pl.DataFrame:
    table = read_table(path).columns
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise DataError(f"{path.name} has no column {missing[0]!r}; needed are {needed}.")
    if table.is_empty():
        raise DataError(f"{path.name} has no rows.")
    return fill_splits(table, needed, path=path)


def _digit_pixels(value: Any, where: str) -> NDArray[Any]:
    if isinstance(value, dict):
        value = value.get("bytes")
    if isinstance(value, bytes):
        pixels: NDArray[Any] = decode_picture(value, f"The picture of {where},")
    else:
        try:
            pixels = np.array(value, dtype=np.float64)
        except (ValueError, TypeError):
            pixels = np.empty(0)
    if pixels.ndim not in (2, 3) or not pixels.size:
        raise DataError(
            f"{where}: the picture is neither a file nor numbers in height × width (× channels)."
        )
    return pixels if pixels.ndim == 3 else pixels[..., None]


def _digit_bytes(pixels: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """Grey levels 0 to 255; decided for all pictures at once, for a black one fits both scales."""
    if pixels.dtype == np.uint8:
        return pixels
    inside = (pixels >= 0) & (pixels <= 255)
    whole = inside & (pixels == np.rint(pixels))
    if whole.all():
        return pixels.astype(np.uint8)
    if inside.all() and pixels.max() <= 1:
        return np.rint(255 * pixels).astype(np.uint8)
    row = int(np.flatnonzero(~whole.all(axis=(1, 2, 3)))[0])
    raise DataError(
        f"{name}, row {row + 1}: the picture's numbers go from {pixels[row].min():g} to "
        f"{pixels[row].max():g}; expected all to be whole numbers from 0 to 255, or all "
        "from 0 to 1."
    )


def _digit_class(value: Any, where: str) -> int:
    return int(_digit_probs(value, where).argmax())


def _digit_probs(value: Any, where: str) -> NDArray[np.float64]:
    if isinstance(value, list):
        try:
            probs = np.array(value, dtype=np.float64)
        except (ValueError, TypeError):
            probs = np.empty(0)
        if probs.shape == (len(DIGITS),) and np.isfinite(probs).all():
            return probs
    elif str(value) in DIGITS:
        return np.eye(len(DIGITS))[DIGITS.index(str(value))]
    raise DataError(
        f"{where}: the original label {value!r} is neither a digit nor ten probabilities."
    )


DECODERS: dict[str, Callable[[_Wanted], ImageSet]] = {
    "arrays": _decode_arrays,
    "batches": _decode_batches,
    "cifar10": _decode_cifar10,
    "class-folders": _decode_class_folders,
    "class-map": _decode_class_map,
    "idx": _decode_idx,
    "package": lambda wanted: read_digits(),
    "parquet": lambda wanted: read_digit_images(wanted.locate(*wanted.names)),
}
