"""Hold pictures, or features computed from them, with ids, original labels, classes and splits.

``ImageSet`` and ``FeatureSet`` are frozen and checked when made: every item has its own id,
one label within the classes and the name of the split it belongs to. ``remap`` turns a labelled
pool into a set with other classes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError
from sfumato.items.pictures import Size, resize
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.names import find
from sfumato.provenance import Provenance, Setting, Step

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
