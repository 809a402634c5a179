"""Turn pictures into mixed ones for people and for networks, both from one table of mixes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.items.pictures import resize
from sfumato.judgments.formats.own import write_beside
from sfumato.judgments.mixed import Mix, mixed_images, write_mixes
from sfumato.provenance import Setting, Step

if TYPE_CHECKING:
    from sfumato.learn.examples import Examples

UNSAFE = re.compile(r"[^\w .+-]")
"""What a file name may not hold everywhere; items may be paths."""


def labels_of(pictures: ImageSet) -> dict[str, str]:
    """The class of each item, by name: what ``choose_mixes`` takes."""
    names = (pictures.classes[label] for label in pictures.labels)
    return dict(zip(pictures.items, names, strict=True))


def mixed_examples(mixes: Sequence[Mix], pictures: ImageSet) -> "Examples":
    """Mixed images to learn from, each called ``Mix.item`` as in people's answers about it."""
    from sfumato.learn.examples import Examples

    return Examples(tuple(mix.item for mix in mixes), mixed_images(mixes, _images(pictures)))


def check_new(folder: Path) -> None:
    """Refuse a folder that holds something, before any work is done."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} is not empty; name a new folder for the mixes.")


def write_mixed(
    mixes: Sequence[Mix],
    pictures: ImageSet,
    folder: Path,
    *,
    side: int | None = None,
    settings: dict[str, Setting],
) -> None:
    """Write ``mixes.csv``, ``images/`` with a PNG file each, and how they were made as JSON.

    Pictures are as large as those they are mixed of (S2-09), or ``side`` pixels along the longer
    side, enlarged after mixing by Lanczos' filter. A file is called ``Mix.item``, with what no file
    system takes replaced by ``_``. ``settings`` are what the mixes were chosen by.
    """
    check_new(folder)
    names = [UNSAFE.sub("_", mix.item) for mix in mixes]
    if len(set(names)) < len(names):
        raise DataError("Two mixes would have the same file name; rename the items they are of.")
    images = mixed_images(mixes, _images(pictures))
    if side is not None:
        _, height, width, _ = images.shape
        factor = side / max(height, width)
        size = (max(1, round(height * factor)), max(1, round(width * factor)))
        images = resize(images, size)
    (folder / "images").mkdir(parents=True)
    for name, image in zip(names, images, strict=True):
        grey = image.shape[2] == 1
        Image.fromarray(image[..., 0] if grey else image).save(folder / "images" / f"{name}.png")
    write_mixes(mixes, folder / "mixes.csv")
    step = Step("mix images", {**settings, "mixes": len(mixes), "side": side})
    write_beside(folder / "mixes.csv", {"kind": "mixed images"}, (*pictures.provenance, step))


def _images(pictures: ImageSet) -> dict[str, NDArray[np.uint8]]:
    return dict(zip(pictures.items, pictures.images, strict=True))
