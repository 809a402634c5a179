"""Hold pictures, of a dataset or one's own, or features, with ids, labels, classes and splits.

``ImageSet`` and ``FeatureSet`` are frozen and checked when made: every item has its own id,
one label within the classes and the name of the split it belongs to. ``remap`` turns a labelled
pool into a set with other classes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError
from sfumato.items.pictures import ENDINGS, Size, open_files, read_picture, resize, stack_pictures
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.names import find, sorted_names
from sfumato.provenance import Provenance, Setting, Step, fingerprint_file

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Pictures of one size, one row per item.

    ``labels`` are positions in ``classes``: what the dataset's authors call each item.
    ``split`` names the part of the dataset that each item belongs to ("train", "test").

    >>> pictures = np.zeros((2, 8, 8, 1), np.uint8)
    >>> images = ImageSet(("a", "b"), pictures, [1, 0], ("cat", "dog"), ("train", "test"))
    >>> images.in_split("test").items
    ('b',)
    >>> images.original().probs
    array([[0., 1.],
           [1., 0.]])
    """

    items: tuple[str, ...]
    images: NDArray[np.uint8]  # (items, height, width, channels)
    labels: NDArray[np.int64]  # (items,)
    classes: tuple[str, ...]
    split: tuple[str, ...]
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        _make_tuples(self)
        _check_images(self.images)
        object.__setattr__(self, "images", _frozen(self.images))
        object.__setattr__(self, "labels", _checked_labels(self, len(self.images)))

    def __len__(self) -> int:
        return len(self.items)

    def take(self, items: Sequence[str]) -> "ImageSet":
        """The given items, in the given order; an unknown item is an error."""
        position = {item: row for row, item in enumerate(self.items)}
        missing = [item for item in items if item not in position]
        if missing:
            raise DataError(
                f"There is no picture of item {missing[0]!r} "
                f"({len(missing)} of {len(items)} without one)."
            )
        return self._rows(np.array([position[item] for item in items], dtype=np.int64))

    def in_split(self, name: str) -> "ImageSet":
        """The items of one split; a split without items is an error."""
        rows = np.flatnonzero([split == name for split in self.split])
        if not len(rows):
            known = ", ".join(map(repr, sorted(set(self.split))))
            raise DataError(f"No item is in the split {name!r}; the splits are: {known}.")
        return self._rows(rows)

    def with_splits(self, splits: Mapping[str, str]) -> "ImageSet":
        """The same pictures in other splits: item to the name of its split."""
        missing = [item for item in self.items if item not in splits]
        if missing:
            raise DataError(
                f"Item {missing[0]!r} is in no split ({len(missing)} of {len(self)} in none)."
            )
        return replace(self, split=tuple(splits[item] for item in self.items))

    def original(self) -> LabelSet:
        """The dataset's own labels, as one-hot rows."""
        return _original(self)

    def _rows(self, rows: NDArray[np.int64]) -> "ImageSet":
        images = self.images[rows]  # fancy indexing copies, so the rows are ours to freeze
        images.flags.writeable = False
        return replace(
            self,
            items=tuple(self.items[row] for row in rows),
            images=images,
            labels=self.labels[rows],
            split=tuple(self.split[row] for row in rows),
        )


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """A vector of numbers for each item, where the pictures themselves are not at hand."""

    items: tuple[str, ...]
    features: NDArray[np.float32]  # (items, features)
    labels: NDArray[np.int64]  # (items,)
    classes: tuple[str, ...]
    split: tuple[str, ...]
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        _make_tuples(self)
        features = _frozen(np.asarray(self.features, dtype=np.float32))
        if features.ndim != 2:
            raise DataError(f"Features have the shape {features.shape}; expected items × features.")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", _checked_labels(self, len(features)))

    def __len__(self) -> int:
        return len(self.items)

    def original(self) -> LabelSet:
        """The dataset's own labels, as one-hot rows."""
        return _original(self)


def remap(
    images: ImageSet,
    mapping: Mapping[str, str | None],
    classes: Sequence[str],
    *,
    size: Size | None = None,
) -> ImageSet:
    """Give a pool's pictures the classes of another set, as ImageNet-Far does (S0-43, S0-45).

    ``mapping`` says what each class of the pool is to be called; the pictures of a class that
    is not in it, or is there with None, are left out and counted in the provenance. Items keep
    their ids and splits. ``size`` (height, width) resizes the pictures by Lanczos' filter.

    >>> pool = ImageSet(("a", "b", "c"), np.zeros((3, 8, 8, 1), np.uint8), [0, 1, 2],
    ...                 ("ibex", "zebra", "teapot"), ("all",) * 3)
    >>> far = remap(pool, {"ibex": "deer", "zebra": "horse"}, ("deer", "horse"), size=(4, 4))
    >>> far.items, far.labels.tolist(), far.images.shape
    (('a', 'b'), [0, 1], (2, 4, 4, 1))
    >>> far.provenance[-1].settings["dropped"]
    {'teapot': 1}
    """
    position = _positions(images, mapping, classes)
    rows = np.flatnonzero(position[images.labels] >= 0)
    if not len(rows):
        raise DataError(
            f"None of the {len(images):,} pictures is in a class that the mapping keeps."
        )
    kept = images.take([images.items[row] for row in rows])
    return ImageSet(
        items=kept.items,
        images=kept.images if size is None else resize(kept.images, size),
        labels=position[kept.labels],
        classes=tuple(classes),
        split=kept.split,
        provenance=(*images.provenance, _step(images, position, mapping, size)),
    )


def _make_tuples(described: ImageSet | FeatureSet) -> None:
    for name in ("items", "classes", "split", "provenance"):
        object.__setattr__(described, name, tuple(getattr(described, name)))


def _check_images(images: ArrayLike) -> None:
    array = np.asarray(images)
    if array.dtype != np.uint8:
        raise DataError(
            f"Pictures are stored as {array.dtype}; expected uint8, 0 to 255. "
            "Scale and round them first."
        )
    if array.ndim != 4 or 0 in array.shape[1:]:
        raise DataError(
            f"Pictures have the shape {array.shape}; expected items × height × width × channels "
            "(one channel for grey)."
        )


def _checked_labels(described: ImageSet | FeatureSet, n_rows: int) -> NDArray[np.int64]:
    items, classes = described.items, described.classes
    labels = np.asarray(described.labels)
    for what, count in (("ids", len(items)), ("splits", len(described.split))):
        if count != n_rows:
            raise DataError(f"There are {n_rows} items but {count} {what}.")
    for what, names in (("item", items), ("class", classes)):
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise DataError(f"The {what} {twice!r} occurs more than once; each needs its own name.")
    if labels.shape != (n_rows,) or (n_rows and labels.dtype.kind not in "iu"):
        raise DataError(
            f"There are {n_rows} items but labels of {labels.dtype} and shape {labels.shape}; "
            "expected the position of each item's class, a whole number."
        )
    outside = np.flatnonzero((labels < 0) | (labels >= len(classes)))
    if len(outside):
        raise DataError(
            f"Item {items[outside[0]]!r} has the label {labels[outside[0]]}; "
            f"with {len(classes)} classes it must be from 0 to {len(classes) - 1}."
        )
    return _frozen(labels.astype(np.int64))


def _original(described: ImageSet | FeatureSet) -> LabelSet:
    return hard_labels(
        described.items,
        described.classes,
        described.labels,
        (*described.provenance, Step("label original")),
    )


def _frozen(array: NDArray[T]) -> NDArray[T]:
    # Tens of thousands of pictures are not copied when nobody else can write to them.
    if array.flags.writeable or array.base is not None:
        array = np.array(array)
        array.flags.writeable = False
    return array


def _positions(
    images: ImageSet, mapping: Mapping[str, str | None], classes: Sequence[str]
) -> NDArray[np.int64]:
    old = {name: place for place, name in enumerate(images.classes)}
    new = {name: place for place, name in enumerate(classes)}
    position = np.full(len(old), -1, dtype=np.int64)  # (old classes,)
    for name, target in mapping.items():
        place = find(old, name, what="class of the pool")
        if target is not None:
            position[place] = find(new, target, what="new class")
    return position


def _step(
    images: ImageSet,
    position: NDArray[np.int64],
    mapping: Mapping[str, str | None],
    size: Size | None,
) -> Step:
    counts = Counter(images.labels.tolist())
    dropped: dict[str, Setting] = {
        name: counts[place]
        for place, name in enumerate(images.classes)
        if position[place] < 0 and counts[place]
    }
    return Step(
        "remap classes",
        {
            "mapping": {**mapping},
            "size": None if size is None else [*size],
            "dropped": dropped,
        },
    )


# Turn a folder or zip archive of one's own pictures, with a table of labels, into an image set.


NEEDED = ("item", "label")

ReadPixels = Callable[[], NDArray[np.uint8]]
"""Reads one picture: height × width × channels."""


def load_own(
    path: Path,
    labels_table: Path,
    *,
    classes: Sequence[str] | None = None,
    size: Size | None = None,
) -> ImageSet:
    """Pictures (PNG, JPEG) from a folder or zip archive, with the labels of a CSV table.

    The table has the columns ``item`` and ``label`` and, if wanted, ``split``; without it all
    are in the split "all". An item is the path of its picture, its file name, or the file name
    without the ending, as long as only one picture fits; rows and pictures must match one to
    one. ``classes`` default to the labels in natural order. Pictures must be of one size unless
    ``size`` (height, width) has them resized by Lanczos' filter. They are grey if all are, else
    in colour.
    """
    table = read_own_table(labels_table)
    names, _, read = open_files(path)
    items = table["item"].to_list()
    members = _matched(items, names, table=labels_table, pictures=path)
    images = stack_pictures([read_picture(read, member, path) for member in members], members, size)
    labels = table["label"].to_list()
    known = tuple(classes) if classes is not None else tuple(sorted_names(sorted(set(labels))))
    position = {name: place for place, name in enumerate(known)}
    settings: dict[str, Setting] = {"size": None if size is None else [*size]}
    inputs = {labels_table.name: fingerprint_file(labels_table)}
    if path.is_file():
        inputs[path.name] = fingerprint_file(path)
    return ImageSet(
        items=tuple(items),
        images=images,
        labels=np.array([find(position, name, what="class") for name in labels], np.int64),
        classes=known,
        split=tuple(table["split"].to_list()),
        provenance=(Step("load own pictures", settings, inputs),),
    )


def find_pictures(path: Path, items: Sequence[str]) -> dict[str, NDArray[np.uint8]]:
    """The pictures of the given items in a folder or zip archive, of whatever size.

    Items without a picture, or with several, are left out.
    """
    return {item: read() for item, read in match_pictures(path, items).items()}


def match_pictures(path: Path, items: Sequence[str]) -> dict[str, ReadPixels]:
    """How to read the picture of each item that has one in a folder or zip archive.

    An item is the path of its picture, its file name, or that without the ending. Items without a
    picture, or with several, are left out; a folder in which no item has one is an error.
    """
    if not path.exists():
        raise DataError(f"There is no folder or archive {path}.")
    names, _, read = open_files(path)
    by_name = _by_name(names)
    members = {item: by_name.get(item, []) for item in items}
    found = {item: item if item in fit else fit[0] for item, fit in members.items() if fit}
    clear = {item: name for item, name in found.items() if len(members[item]) == 1 or name == item}
    if items and not clear:
        raise DataError(
            f"{path} has no picture ({', '.join(ENDINGS)}) that is called as an item; the first "
            f"item is {items[0]!r}."
        )
    return {item: partial(read_picture, read, name, path) for item, name in clear.items()}


def fill_splits(table: pl.DataFrame, needed: Sequence[str], *, path: Path) -> pl.DataFrame:
    """The table with a column ``split``, "all" where it has none; an empty cell is an error."""
    if "split" not in table.columns:
        table = table.with_columns(split=pl.lit("all"))
    for name in (*needed, "split"):
        empty = table[name].is_null().arg_true()
        if len(empty):
            raise DataError(f"{path.name}, row {empty[0] + 1}: {name!r} is empty.")
    return table


def read_own_table(path: Path) -> pl.DataFrame:
    """The columns ``item``, ``label`` and ``split`` of a table of one's own, all as text."""
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} cannot be read as CSV: {str(error).splitlines()[0]}.") from None
    for name in NEEDED:
        if name not in table.columns:
            raise DataError(
                f"{path.name} has no column {name!r}; it has {', '.join(table.columns)}. Expected "
                "item, label and, if wanted, split."
            )
    table = fill_splits(table, NEEDED, path=path)
    if table.is_empty():
        raise DataError(f"{path.name} has no rows.")
    twice = table["item"].filter(table["item"].is_duplicated())
    if len(twice):
        raise DataError(f"{path.name} has more than one row for the item {twice[0]!r}.")
    return table


def _matched(
    items: Sequence[str], names: Sequence[str], *, table: Path, pictures: Path
) -> list[str]:
    by_name = _by_name(names)
    members = [_member(item, by_name, table=table, pictures=pictures) for item in items]
    owner: dict[str, str] = {}
    for item, member in zip(items, members, strict=True):
        if member in owner:
            raise DataError(
                f"{table.name} names the picture {member} twice: {owner[member]!r} and {item!r}."
            )
        owner[member] = item
    unlabelled = [name for name in names if name not in owner]
    if unlabelled:
        raise DataError(
            f"{unlabelled[0]} in {pictures.name} has no row in {table.name} ({len(unlabelled)} of "
            f"{len(names)} pictures without one). Add it, or take the picture away."
        )
    return members


def _by_name(names: Sequence[str]) -> dict[str, list[str]]:
    """The pictures that each path, file name, or file name without ending may mean."""
    found: dict[str, list[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        for called in {name, path.name, path.stem}:
            found.setdefault(called, []).append(name)
    return found


def _member(item: str, by_name: Mapping[str, Sequence[str]], *, table: Path, pictures: Path) -> str:
    found = by_name.get(item, [])
    if item in found:  # the whole path, whatever else has the same file name
        return item
    if not found:
        raise DataError(
            f"{table.name} has the item {item!r}, but {pictures.name} has no picture of that name "
            f"({', '.join(ENDINGS)})."
        )
    if len(found) > 1:
        raise DataError(
            f"The item {item!r} of {table.name} can be {found[0]} or {found[1]}. Name the path."
        )
    return found[0]
