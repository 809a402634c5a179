"""``Items``: ids and contents of what people judged and models learn.

Labels only need ids; training and prediction need contents too. Items are of one kind, images,
texts or vectors, frozen and checked when made, and joined to labels by id, never by position.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Protocol, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, missing_package
from sfumato.items.pictures import Size
from sfumato.provenance import Provenance
from sfumato.tabular import Tabular

if TYPE_CHECKING:
    import torch
from collections.abc import Collection
from typing import get_args

from sfumato.names import sorted_names

Kind = Literal["images", "texts", "vectors"]
"""What the contents are."""

Naming = Literal["path", "name", "stem"]
"""How a file becomes an id: its path in the folder or archive, its file name, or that without the
ending."""

Id = str | int
"""Ids may be given as whole numbers; inside they are text."""

TEXT = "text"
"""What the only field of a text is called, unless it has a name."""


class Encoder(Protocol):
    """What turns images or texts into vectors, always the same way (``learn.encoders``)."""

    @property
    def name(self) -> str:
        """What a person typed to have it."""

    @property
    def reads(self) -> Kind:
        """What it turns into vectors."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides the vectors."""

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again, as plain values."""

    def encode(self, items: "Items") -> "Items":
        """The items as vectors, which know their encoder."""


@dataclass(frozen=True, eq=False, repr=False)
class Items(Tabular):
    """Ids and contents of one kind, one row per item.

    >>> items = Items(("a", "b"), np.array([[0.5, 1.0], [2.0, 3.0]]), "vectors")
    >>> items
    <Items: 2 vectors of 2 numbers, a, b>
    >>> items["b"]
    array([2., 3.])
    >>> items[["b"]].ids, items["a":"b"].ids, "a" in items
    (('b',), ('a', 'b'), True)
    >>> [item for item, content in items if content.sum() > 2]
    ['b']
    >>> pairs = Items(("1",), [["It rains.", "It is wet."]], "texts", ("premise", "hypothesis"))
    >>> pairs
    <Items: 1 text (premise, hypothesis), 1>
    >>> pairs["1"]
    {'premise': 'It rains.', 'hypothesis': 'It is wet.'}
    """

    ids: tuple[str, ...]
    contents: NDArray[Any]
    """Images: (items, height, width, channels), uint8 or float32 from 0 to 1. Texts: (items,
    fields), str. Vectors: (items, numbers), float32 or float64."""
    kind: Kind
    columns: tuple[str, ...] = ()
    """Texts: what each field is called. Vectors of a table: what each number is called; otherwise
    empty."""
    files: bool = False
    """Whether ids are paths of files, which labels may call by file name or stem as well."""
    size: Size | None = None
    """Height and width that pictures were brought to when they were read; None: as they were."""
    remarks: tuple[str, ...] = ()
    """What was left out when they were read, a sentence each."""
    provenance: Provenance = ()
    encoder: Encoder | None = None
    """What made these vectors of images or texts, where something did."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", as_ids(self.ids))
        for name in ("columns", "remarks", "provenance"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        match self.kind:
            case "images":
                contents = _checked_images(self.contents, self.ids)
            case "texts":
                object.__setattr__(self, "columns", self.columns or (TEXT,))
                contents = _checked_texts(self.contents, self.ids, self.columns)
            case "vectors":
                contents = _checked_vectors(self.contents, self.ids, self.columns)
            case _:
                assert_never(self.kind)
        object.__setattr__(self, "contents", _frozen(contents))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for row, item in enumerate(self.ids):
            yield item, self._content(row)

    def __contains__(self, item: object) -> bool:
        return str(item) in self._place

    def __getitem__(self, wanted: Id | slice | Sequence[Id]) -> Any:
        """A copy of one item's content, of a text its fields by name; or the items of a list or
        slice of ids, ends included."""
        if isinstance(wanted, slice):
            first = None if wanted.start is None else self._row(wanted.start)
            last = None if wanted.stop is None else self._row(wanted.stop) + 1
            return self.take(self.ids[slice(first, last, wanted.step)])
        if isinstance(wanted, str | int | np.integer):
            return self._content(self._row(wanted))
        return self.take(wanted)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one item: (height, width, channels), (fields,), or (numbers,)."""
        return self.contents.shape[1:]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over ids and contents."""
        about = (self.kind, self.ids, self.columns, self.contents.dtype.str, self.contents.shape)
        total = hashlib.sha256(json.dumps(about).encode())
        if self.kind == "texts":
            total.update(json.dumps(self.contents.tolist()).encode())
            return total.hexdigest()
        total.update(np.ascontiguousarray(self.contents).reshape(-1).view(np.uint8).data)
        return total.hexdigest()

    def describe(self) -> str:
        """How many there are, and of what form: ``'1,797 images of 8 × 8 pixels, grey'``."""
        told = describe_kind(self.kind, self.shape, self.columns, plural=len(self) != 1)
        return f"{len(self):,} {told}"

    def take(self, ids: Sequence[Id]) -> "Items":
        """The given items in the given order; an unknown one is an error."""
        wanted = as_ids(ids)
        if not wanted:
            raise DataError("No items were asked for; name at least one.")
        missing = [item for item in wanted if item not in self._place]
        if missing:
            raise self._unknown(missing, len(wanted))
        rows = [self._place[item] for item in wanted]
        return replace(self, ids=wanted, contents=self.contents[rows])

    def named(self, naming: Naming) -> "Items":
        """The same items called by path, file name or stem of their files.

        Two files that would be called the same are an error. Items that did not come from files
        keep their ids.
        """
        if not self.files:
            return self
        names = file_names(self.ids, naming)
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            both = [path for path, name in zip(self.ids, names, strict=True) if name == twice]
            raise DataError(
                f"{both[0]} and {both[1]} would both be called {twice!r}; call items by their path."
            )
        return replace(self, ids=tuple(names), files=False)

    def to_numpy(self) -> NDArray[Any]:
        """A copy of the contents, one row per item in the order of ``ids``."""
        return self.contents.copy()

    def to_polars(self) -> pl.DataFrame:
        """Column ``item``; then the fields of a text, the numbers of a vector, or ``image``."""
        ids = pl.Series("item", self.ids, dtype=pl.String)
        match self.kind:
            case "images":
                return pl.DataFrame([ids, pl.Series("image", self.to_numpy())])
            case "texts":
                fields = zip(self.columns, self.contents.T.tolist(), strict=True)
                return pl.DataFrame([ids, *(pl.Series(name, texts) for name, texts in fields)])
            case "vectors":
                names = self.columns or tuple(map(str, range(self.shape[0])))
                return pl.DataFrame(self.to_numpy(), schema=list(names)).insert_column(0, ids)
            case _:
                assert_never(self.kind)

    def to_torch(self) -> "torch.Tensor":
        """The contents as a tensor, in the order of ``ids``."""
        if self.kind == "texts":
            raise DataError("Texts are no numbers; encode them first, and then make a tensor.")
        try:
            import torch
        except ImportError:
            raise missing_package("Making a tensor", "torch", "learn") from None
        return torch.from_numpy(self.to_numpy())

    def _summary(self) -> str:
        shown = ", ".join(self.ids[:3]) + (", …" if len(self) > 3 else "")
        return f"Items: {self.describe()}, {shown}"

    def _content(self, row: int) -> Any:
        content = self.contents[row]
        if self.kind == "texts":
            return dict(zip(self.columns, content.tolist(), strict=True))
        return content.copy()

    def _row(self, item: Id) -> int:
        if str(item) not in self._place:
            raise self._unknown([str(item)], 1)
        return self._place[str(item)]

    def _unknown(self, missing: Sequence[str], wanted: int) -> DataError:
        return DataError(
            f"There is no item {missing[0]!r} ({len(missing)} of {wanted} are not there). Ids look "
            f"like {self.ids[0]!r}."
        )

    @cached_property
    def _place(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.ids)}


def as_ids(ids: Sequence[object]) -> tuple[str, ...]:
    """Ids as text, each once.

    >>> as_ids([7, "x"])
    ('7', 'x')
    """
    names = tuple(map(str, ids))
    for place, (given, name) in enumerate(zip(ids, names, strict=True)):
        if given is None or given != given or not name:  # NaN is not itself
            raise DataError(f"Item {place + 1} of {len(names)} has no id.")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise DataError(f"The item {twice!r} occurs more than once; each item needs its own id.")
    return names


def describe_kind(
    kind: Kind, shape: Sequence[int], columns: Sequence[str] = (), *, plural: bool = True
) -> str:
    """Kind and form in words; ``columns`` are the fields of texts.

    >>> describe_kind("images", (8, 8, 1)), describe_kind("vectors", (20,), plural=False)
    ('images of 8 × 8 pixels, grey', 'vector of 20 numbers')
    """
    noun = kind if plural else kind.removesuffix("s")
    match kind:
        case "images":
            height, width, channels = shape
            colours = {1: "grey", 3: "in colour"}.get(channels, f"{channels} channels")
            return f"{noun} of {height} × {width} pixels, {colours}"
        case "texts":
            return noun if tuple(columns) in ((), (TEXT,)) else f"{noun} ({', '.join(columns)})"
        case "vectors":
            return f"{noun} of {shape[0]:,} " + ("number" if shape[0] == 1 else "numbers")
        case _:
            assert_never(kind)


def file_names(paths: Sequence[str], naming: Naming) -> list[str]:
    """What files are called.

    >>> file_names(["set-1/IMG_2.png"], "stem")
    ['IMG_2']
    """
    match naming:
        case "path":
            return list(paths)
        case "name":
            return [PurePosixPath(path).name for path in paths]
        case "stem":
            return [PurePosixPath(path).stem for path in paths]
        case _:
            assert_never(naming)


def _checked_images(contents: Any, ids: tuple[str, ...]) -> NDArray[Any]:
    images = np.asarray(contents)
    if images.ndim == 3:
        images = images[..., None]  # grey ones without a channel
    if images.ndim != 4 or len(images) != len(ids) or 0 in images.shape:
        raise DataError(
            f"There are {len(ids)} ids and images of shape {np.shape(contents)}; expected at least "
            "one item, and items × height × width × channels."
        )
    if images.shape[1] in (1, 3) and images.shape[3] > 4:
        raise DataError(
            f"The images have the shape {images.shape}: channels seem to come first. Bring them "
            "into the order items × height × width × channels."
        )
    if images.dtype == np.uint8:
        return images
    if images.dtype.kind not in "iuf":
        raise DataError(f"Images are numbers, not {images.dtype}.")
    highest = 1 if images.dtype.kind == "f" else 255
    _refuse_outside(images, ids, highest)
    return images.astype(np.float32 if highest == 1 else np.uint8)


def _refuse_outside(images: NDArray[Any], ids: tuple[str, ...], highest: int) -> None:
    flat = images.reshape(len(images), -1)
    bad = ~((flat >= 0) & (flat <= highest))  # NaN as well
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"The image of item {ids[row]!r} holds {flat[row, column]:g}; images are whole numbers "
            "from 0 to 255, or others from 0 to 1. Scale them first."
        )


def _checked_texts(contents: Any, ids: tuple[str, ...], columns: tuple[str, ...]) -> NDArray[Any]:
    texts = np.array(contents, dtype=object)
    if texts.ndim == 1:
        texts = texts[:, None]  # one field, not told apart
    if texts.shape != (len(ids), len(columns)) or not len(ids):
        raise DataError(
            f"There are {len(ids)} ids, {len(columns)} fields ({', '.join(columns)}) and texts of "
            f"shape {texts.shape}; expected at least one item, and items × fields."
        )
    if len(set(columns)) < len(columns) or "item" in columns:
        raise DataError(f"The fields of a text need names of their own, not {', '.join(columns)}.")
    for item, row in zip(ids, texts, strict=True):
        for name, text in zip(columns, row, strict=True):
            if not isinstance(text, str):
                raise DataError(f"The field {name!r} of item {item!r} is {text!r}, no text.")
        if not any(text.strip() for text in row):
            raise DataError(f"The item {item!r} has no text; write it, or leave the item out.")
    return texts


def _checked_vectors(contents: Any, ids: tuple[str, ...], columns: tuple[str, ...]) -> NDArray[Any]:
    vectors = np.asarray(contents)
    if vectors.ndim != 2 or len(vectors) != len(ids) or 0 in vectors.shape:
        raise DataError(
            f"There are {len(ids)} ids and vectors of shape {vectors.shape}; expected at least one "
            "item, and items × numbers."
        )
    if vectors.dtype.kind not in "biuf":
        raise DataError(f"Vectors are numbers, not {vectors.dtype}.")
    if columns and len(columns) != vectors.shape[1]:
        raise DataError(f"There are {len(columns)} columns but {vectors.shape[1]} numbers an item.")
    bad = ~np.isfinite(vectors)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        where = repr(columns[column]) if columns else f"number {column + 1}"
        raise DataError(
            f"The vector of item {ids[row]!r} has {vectors[row, column]} as {where}; every number "
            "is needed. Fill it in, or leave the item out."
        )
    half = vectors.dtype in (np.float16, np.float32)
    return vectors.astype(np.float32 if half else np.float64, copy=False)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    # Tens of thousands of pictures are not copied when nobody else can write to them.
    if array.flags.writeable or array.base is not None:
        array = np.array(array)
        array.flags.writeable = False
    return array


# Join items to labels by id, and say what has no counterpart.


SHOWN = 3
"""So many ids are shown as examples."""


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """The items that have a label, in natural order and under the labels' ids."""

    items: Items
    naming: Naming | None
    """What labels call files by; None for items that did not come from files."""
    without_label: tuple[str, ...]
    """Items that no label is about."""
    without_item: tuple[str, ...]
    """Labels whose item is not there."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is left out, a sentence each."""
        return tuple(
            f"{len(ids):,} {what} left out: {_examples(ids)}."
            for what, ids in (
                (_say(self.without_label, "item", "label"), self.without_label),
                (_say(self.without_item, "label", "item"), self.without_item),
            )
            if ids
        )


def join_labels(items: Items, labelled: Collection[str]) -> LabelledItems:
    """The items among those with a label; if there are none, the error shows ids of both.

    Pictures are found by what most labels call them by: path, file name, or that without its
    ending. A name that fits several pictures is an error.
    """
    naming, names = _best_naming(items, set(labelled))
    shared = set(names) & set(labelled)
    if not shared:
        raise DataError(
            f"None of the {len(items):,} items has a label: items are called "
            f"{_examples(items.ids)}, but labels are about {_examples(labelled)}. Use the same ids."
        )
    counts = Counter(name for name in names if name in shared)
    twice, count = counts.most_common(1)[0]
    if count > 1:
        fits = [path for path, name in zip(items.ids, names, strict=True) if name == twice]
        raise DataError(
            f"The label of {twice!r} can be about {fits[0]} or {fits[1]}. Name the path in the "
            "labels."
        )
    known = dict(zip(names, items.ids, strict=True))
    order = tuple(sorted_names(list(shared)))
    taken = replace(items.take([known[name] for name in order]), ids=order, files=False)
    left = tuple(path for path, name in zip(items.ids, names, strict=True) if name not in shared)
    missing = tuple(sorted_names([item for item in labelled if item not in shared]))
    return LabelledItems(taken, naming, left, missing)


def _best_naming(items: Items, labelled: set[str]) -> tuple[Naming | None, list[str]]:
    if not items.files:
        return None, list(items.ids)
    namings: tuple[Naming, ...] = get_args(Naming)
    called = {naming: file_names(items.ids, naming) for naming in namings}
    best = max(namings, key=lambda naming: len(labelled & set(called[naming])))
    return best, called[best]


def _say(ids: Collection[str], noun: str, lacks: str) -> str:
    if len(ids) == 1:
        return f"{noun} has no {lacks} and is"
    return f"{noun}s have no {lacks} and are"


def _examples(ids: Collection[str]) -> str:
    first = [repr(item) for item in list(ids)[:SHOWN]]
    return ", ".join(first) + (", …" if len(ids) > SHOWN else "")
