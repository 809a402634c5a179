"""Turn pictures of some sources into groups of the same picture, and leaks between splits.

*Exact* duplicates have the same shape and pixels (S4-38); *near* ones are alike up to brightness,
contrast, a little noise and a shift by one pixel (``near_pairs``). Every near pair carries its
distance, so that a person can judge it. Pictures of different sizes are never near.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.errors import DataError
from sfumato.names import sorted_names

# Turn pictures of one size into the pairs that look the same, each with its distance.
#
# The distance is 1 − r, with r the largest correlation of the pixels of one picture with those of
# the other, over shifts of at most one pixel in each direction and over the part that both show.
# So brightness and contrast do not count, and a blank picture is near nothing.
#
# Pairs are found in three steps, each on what the last left over: (1) blocks of distances between
# short sketches, 32 numbers a picture, only where the first of them is close; (2) distances between
# whole sketches; (3) the distance itself. A sketch holds the sizes of the low frequencies of the
# picture darkened towards its border, which a shift hardly changes.

NEAR = 0.01
"""The largest distance of near duplicates, unless told otherwise.

Noise of a seventh of the contrast (sd 11 of 255 on MNIST) or a shift by one pixel stay below it;
of the 2.4 billion pairs of MNIST pictures, which hold no known duplicate, 3 do.
"""

BORDER_SLACK = 0.01
"""How much farther sketches may be than pictures: a shift brings new pixels in at the border.

On 1,000 photographs of CIFAR-10 shifted by one pixel both ways the sketches were at most 0.02
apart, 0.014 in 99 % of them, where the overlap is the same.
"""

FREQUENCIES = 6
SKETCH_SIZE = 32
BLOCK = 1024
SHIFTS = tuple(product((-1, 0, 1), repeat=2))


def near_pairs(
    images: NDArray[np.uint8], limit: float = NEAR
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Positions (pairs, 2) of pictures at most ``limit`` apart, and the distance of each pair.

    ``images`` have shape (items, height, width, channels). The time grows with the square of
    their number.

    >>> image = np.random.default_rng(0).integers(0, 200, (12, 12, 1), dtype=np.uint8)
    >>> pairs, distance = near_pairs(np.stack([image, 255 - image, image + 50]))
    >>> pairs.tolist(), distance.round(6).tolist()
    ([[0, 2]], [0.0])
    """
    sketches = _sketches(images)
    pixels = (1, 2, 3)
    textured = np.flatnonzero(images.max(axis=pixels) > images.min(axis=pixels))
    pairs = textured[_close_sketches(sketches[textured], limit + BORDER_SLACK)]
    distance = picture_distances(images, pairs)
    near = distance <= limit
    return np.sort(pairs[near], axis=1), distance[near]


def picture_distances(images: NDArray[np.uint8], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 − the largest correlation over the overlap of shifts by at most one pixel."""
    best = np.zeros(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        rows = slice(start, start + BLOCK)
        first, second = (images[pairs[rows, side]].astype(np.float32) for side in (0, 1))
        for down, right in SHIFTS:
            r = _correlations(_shown(first, down, right), _shown(second, -down, -right))
            np.maximum(best[rows], r, out=best[rows])
    return np.maximum(1 - best, 0)


def _sketches(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Sizes of the low frequencies of the grey, centred, tapered picture of length one."""
    height, width = images.shape[1:3]
    window = np.outer(_taper(height), _taper(width)).astype(np.float32)
    tall, wide = (min(FREQUENCIES, (side - 1) // 2) for side in (height, width))
    rows = np.r_[0 : tall + 1, height - tall : height]
    parts = []
    for start in range(0, len(images), BLOCK):
        grey = images[start : start + BLOCK].mean(axis=3, dtype=np.float32)
        grey -= (grey * window).sum(axis=(1, 2), keepdims=True) / window.sum()
        grey *= window
        grey /= np.maximum(np.sqrt((grey**2).sum(axis=(1, 2), keepdims=True)), 1e-6)
        size = np.abs(np.fft.rfft2(grey, norm="ortho")[:, rows, : wide + 1])
        size[:, :, 1:] *= np.sqrt(2)  # each stands for two, the spectrum being symmetric
        parts.append(size.reshape(len(grey), -1).astype(np.float32))
    return np.concatenate(parts) if parts else np.empty((0, 1), dtype=np.float32)


def _taper(side: int) -> NDArray[np.float64]:
    """Rises from the border over a quarter of the side, as a cosine; 1 in the middle."""
    from_border = np.minimum(np.arange(side) + 0.5, side - np.arange(side) - 0.5) / side
    return 0.5 - 0.5 * np.cos(np.pi * np.minimum(4 * from_border, 1))


def _close_sketches(sketches: NDArray[np.float32], limit: float) -> NDArray[np.int64]:
    """All pairs with half the squared distance up to the limit; for length one that is 1 − r."""
    if len(sketches) < 2:
        return np.empty((0, 2), dtype=np.int64)
    centred = sketches - sketches.mean(axis=0)
    _, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    short = centred @ directions[:, ::-1][:, :SKETCH_SIZE].astype(np.float32)
    order = short[:, 0].argsort()
    short = short[order]
    half = (short**2).sum(axis=1) / 2
    reach = np.sqrt(2 * limit)
    found = []
    for start in range(0, len(short), BLOCK):
        rows = slice(start, start + BLOCK)
        # Sorted by the first number, so whoever is farther off in it alone is not looked at.
        end = int(short[:, 0].searchsorted(short[rows][-1, 0] + reach, side="right"))
        inner = short[rows] @ short[start:end].T
        inner -= half[start:end]
        first, second = np.nonzero(inner >= half[rows, None] - limit - 1e-6)
        later = second > first
        pairs = order[np.stack([first[later], second[later]], axis=1) + start]
        apart = sketches[pairs[:, 0]] - sketches[pairs[:, 1]]
        found.append(pairs[(apart**2).sum(axis=1) / 2 <= limit + 1e-6])
    return np.concatenate(found)


def _shown(images: NDArray[np.float32], down: int, right: int) -> NDArray[np.float32]:
    height, width = images.shape[1:3]
    inside = images[:, max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)]
    return inside.reshape(len(images), -1)


def _correlations(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    first = first - first.mean(axis=1, keepdims=True)
    second = second - second.mean(axis=1, keepdims=True)
    size = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1), dtype=np.float64)
    inner = np.einsum("np,np->n", first, second)
    return np.divide(inner, size, out=np.zeros(len(inner)), where=size > 0)


# Turn pictures of some sources into groups of the same picture, and leaks between splits.

Level = Literal["exact", "near"]
"""What counts as the same picture: equal pixels, or also near ones."""


class PictureId(NamedTuple):
    """Where a picture is: an item's name is its own only inside a split of a source."""

    source: str
    split: str
    item: str


@dataclass(frozen=True, eq=False)
class Pictures:
    """One split of one source: names, pictures of one size and, where known, labels."""

    source: str
    split: str
    items: tuple[str, ...]
    images: NDArray[np.uint8]  # (items, height, width) or (items, height, width, channels)
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))
        object.__setattr__(self, "labels", tuple(self.labels))
        where = f"split {self.split!r} of source {self.source!r}"
        if self.images.dtype != np.uint8 or self.images.ndim not in (3, 4):
            raise DataError(
                f"The images of {where} have type {self.images.dtype} and shape "
                f"{self.images.shape}; expected uint8 of shape (items, height, width, channels)."
            )
        if len(self.images) != len(self.items):
            raise DataError(
                f"There are {len(self.items)} items but {len(self.images)} images in {where}."
            )
        if len(set(self.items)) < len(self.items):
            twice = next(name for name in self.items if self.items.count(name) > 1)
            raise DataError(f"Item {twice!r} occurs more than once in {where}.")
        if self.labels and len(self.labels) != len(self.items):
            raise DataError(
                f"There are {len(self.items)} items but {len(self.labels)} labels in {where}."
            )


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Which pictures are the same. Positions are in ``pictures``: sources and splits in the order
    given, items in their natural order.
    """

    pictures: tuple[PictureId, ...]
    labels: tuple[str | None, ...]
    same: NDArray[np.int64]
    """The position of the first picture with these pixels; its own if there is none before."""
    near: NDArray[np.int64]
    """Near pairs, shape (pairs, 2), among the first pictures of their pixels."""
    distance: NDArray[np.float64]
    """The distance of each near pair."""
    limit: float | None
    """Up to which distance near pairs were sought; None if they were not."""

    @property
    def exact_surplus(self) -> int:
        """How many pictures would go if one of each were kept."""
        return int((self.same != np.arange(len(self.same))).sum())


def find_duplicates(parts: Sequence[Pictures], *, near: float | None = NEAR) -> Duplicates:
    """Equal pictures, and pairs at a distance of at most ``near``, inside and across all parts.

    A grey picture equals itself stored with one or with three equal channels. Near pairs take
    time that grows with the square of the pictures, half a minute for 70,000 digits;
    ``near=None`` leaves them out.

    >>> images = np.random.default_rng(0).integers(0, 256, (3, 8, 8), dtype=np.uint8)
    >>> train = Pictures("digits", "train", ("a", "b"), images[[0, 1]])
    >>> test = Pictures("digits", "test", ("c", "d"), images[[1, 2]])
    >>> found = find_duplicates([train, test])
    >>> leakage_table(found)["item", "twin", "kind"].row(0)
    ('c', 'b', 'exact')
    """
    if near is not None and not 0 <= near < 1:
        raise DataError(f"The largest distance of near duplicates is {near}; give 0 to 1, or None.")
    pictures: list[PictureId] = []
    labels: list[str | None] = []
    groups: list[NDArray[np.uint8]] = []
    for part in parts:
        place = {item: row for row, item in enumerate(part.items)}
        rows = [place[item] for item in sorted_names(part.items)]
        pictures += [PictureId(part.source, part.split, part.items[row]) for row in rows]
        labels += [part.labels[row] if part.labels else None for row in rows]
        groups.append(_channels_last(part.images)[rows])
    _require_one_each(pictures)
    same = _first_equal([image for images in groups for image in images])
    starts = np.cumsum([0, *map(len, groups)])
    pairs, distance = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if near is not None:
        firsts = same == np.arange(len(same))
        found = [
            _near_at(positions, images, near)
            for positions, images in _by_shape(groups, starts, firsts)
        ]
        pairs = np.concatenate([pairs, *(pair for pair, _ in found)])
        distance = np.concatenate([distance, *(apart for _, apart in found)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return Duplicates(tuple(pictures), tuple(labels), same, pairs[order], distance[order], near)


def groups_table(found: Duplicates, level: Level = "near") -> pl.DataFrame:
    """A row a picture that has a duplicate: group, item, source, split, kind and distance.

    Groups are connected: two members of a group of near duplicates may be near to a third only.
    ``kind`` and ``distance`` are those of the member's closest other member, 0 for an exact one.
    """
    member = _components(found, level)
    size = np.bincount(member, minlength=len(member))
    rows = np.flatnonzero(size[member] > 1)
    rows = rows[np.argsort(member[rows], kind="stable")]
    twins = np.bincount(found.same, minlength=len(member))[found.same] > 1
    closest = np.full(len(member), np.inf)
    for side in (0, 1):
        np.minimum.at(closest, found.near[:, side], found.distance)
    closest = np.where(twins, 0.0, closest[found.same])
    _, group = np.unique(member[rows], return_inverse=True)
    return pl.DataFrame(
        {
            "group": group,
            "item": [found.pictures[row].item for row in rows],
            "source": [found.pictures[row].source for row in rows],
            "split": [found.pictures[row].split for row in rows],
            "kind": ["exact" if twins[row] else "near" for row in rows],
            "distance": closest[rows],
        },
        schema={
            "group": pl.Int64(),
            **dict.fromkeys(("item", "source", "split", "kind"), pl.String()),
            "distance": pl.Float64(),
        },
    )


def pairs_table(found: Duplicates) -> pl.DataFrame:
    """A row a pair, closest first: every repeat with the first of its pixels, every near pair."""
    repeats = np.flatnonzero(found.same != np.arange(len(found.same)))
    first = np.concatenate([found.same[repeats], found.near[:, 0]])
    second = np.concatenate([repeats, found.near[:, 1]])
    distance = np.concatenate([np.zeros(len(repeats)), found.distance])
    kind = ["exact"] * len(repeats) + ["near"] * len(found.near)
    names = _names(found)
    table = pl.DataFrame(
        {"first": first, "second": second, "kind": kind, "distance": distance},
        schema_overrides={"kind": pl.String},
    )
    for side in ("first", "second"):
        table = table.join(
            names.select(pl.all().name.prefix(f"{side}_")),
            left_on=side,
            right_on=f"{side}_position",
            maintain_order="left",
        )
    return table.sort("distance", maintain_order=True).drop("first", "second")


def leakage_table(found: Duplicates, *, train: str = "train", test: str = "test") -> pl.DataFrame:
    """A row a picture of the split ``test`` that is also in the split ``train`` (S4-39).

    ``twin`` is the closest such picture, the first of those equally close, of any source;
    ``labels_agree`` says whether both have the same label, null where one is not known.
    """
    known = {picture.split for picture in found.pictures}
    for split in (train, test):
        if split not in known:
            raise DataError(
                f"No picture is in the split {split!r}; the splits are: "
                f"{', '.join(map(repr, sorted(known)))}."
            )
    codes = np.unique(found.same)
    links = pl.DataFrame(
        {
            "same": np.concatenate([codes, found.near[:, 0], found.near[:, 1]]),
            "twin_same": np.concatenate([codes, found.near[:, 1], found.near[:, 0]]),
            "kind": ["exact"] * len(codes) + ["near"] * (2 * len(found.near)),
            "distance": np.concatenate([np.zeros(len(codes)), found.distance, found.distance]),
        }
    )
    names = _names(found).with_columns(same=found.same)
    tested = names.filter(pl.col("split") == test)
    learnt = names.filter(pl.col("split") == train).select(pl.all().name.prefix("twin_"))
    return (
        tested.join(links, on="same")
        .join(learnt, on="twin_same")
        .sort("position", "distance", "twin_position")
        .unique("position", keep="first", maintain_order=True)
        .select(
            "item",
            "source",
            "label",
            twin="twin_item",
            twin_source="twin_source",
            twin_label="twin_label",
            kind="kind",
            distance="distance",
            labels_agree=pl.col("label") == pl.col("twin_label"),
        )
    )


def keep_one_each(found: Duplicates, level: Level = "exact") -> tuple[PictureId, ...]:
    """What is left when only the first picture of each group is kept, in order.

    First are the sources and splits that were given first, and in them the first item by name.
    Exact duplicates by default: whether near ones are the same picture is for a person to say.
    """
    _, first = np.unique(_components(found, level), return_index=True)
    return tuple(found.pictures[row] for row in np.sort(first))


def _require_one_each(pictures: Sequence[PictureId]) -> None:
    if len(set(pictures)) == len(pictures):
        return
    twice = next(name for name in pictures if pictures.count(name) > 1)
    raise DataError(
        f"Item {twice.item!r} of split {twice.split!r} of source {twice.source!r} is in two "
        "parts; give each split of a source once."
    )


def _channels_last(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if images.ndim == 3:
        return images[..., None]
    if images.shape[3] == 3 and (images == images[..., :1]).all():
        return images[..., :1]
    return images


def _first_equal(images: Sequence[NDArray[np.uint8]]) -> NDArray[np.int64]:
    """For each picture the position of the first with the same shape and pixels."""
    first: dict[bytes, int] = {}
    same = np.empty(len(images), dtype=np.int64)
    for position, image in enumerate(images):
        grey = image[..., :1] if (image == image[..., :1]).all() else image
        key = blake2b(repr(grey.shape).encode() + grey.tobytes(), digest_size=20).digest()
        same[position] = first.setdefault(key, position)
    return same


def _by_shape(
    groups: Sequence[NDArray[np.uint8]], starts: NDArray[np.int64], firsts: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
    """Positions and pictures of each shape, without repeats."""
    shapes: dict[tuple[int, ...], list[int]] = {}
    for number, images in enumerate(groups):
        shapes.setdefault(images.shape[1:], []).append(number)
    found = []
    for numbers in shapes.values():
        kept = [firsts[starts[n] : starts[n + 1]] for n in numbers]
        positions = [
            starts[n] + np.flatnonzero(keep) for n, keep in zip(numbers, kept, strict=True)
        ]
        pictures = [groups[n][keep] for n, keep in zip(numbers, kept, strict=True)]
        found.append((np.concatenate(positions), np.concatenate(pictures)))
    return found


def _near_at(
    positions: NDArray[np.int64], images: NDArray[np.uint8], limit: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    pairs, distance = near_pairs(images, limit)
    return np.sort(positions[pairs], axis=1), distance


def _components(found: Duplicates, level: Level) -> NDArray[np.int64]:
    """For each picture the number of its group; groups are numbered by their first picture."""
    n = len(found.pictures)
    near = found.near if level == "near" else found.near[:0]
    first = np.concatenate([np.arange(n), near[:, 0]])
    second = np.concatenate([found.same, near[:, 1]])
    links = coo_array((np.ones(len(first), dtype=np.bool_), (first, second)), shape=(n, n))
    _, member = connected_components(links, directed=False)
    _, start, code = np.unique(member, return_index=True, return_inverse=True)
    return start[code]


def _names(found: Duplicates) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "position": np.arange(len(found.pictures)),
            "source": [picture.source for picture in found.pictures],
            "split": [picture.split for picture in found.pictures],
            "item": [picture.item for picture in found.pictures],
            "label": list(found.labels),
        },
        schema_overrides=dict.fromkeys(("source", "split", "item", "label"), pl.String()),
    )
