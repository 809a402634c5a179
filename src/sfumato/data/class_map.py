"""Turn a labelled pool of pictures into a set with other classes: a test far from the training."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.images import ImageSet
from sfumato.data.pictures import Size, resize
from sfumato.errors import DataError
from sfumato.names import find
from sfumato.provenance import Setting, Step

__all__ = ["remap"]


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
