"""Turn pictures into a folder of ambiguous (S4-28) or mixed ones, for people and for networks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from sfumato.data import load, load_own
from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.labels.files import read_labels, write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.names import find
from sfumato.provenance import to_json

if TYPE_CHECKING:
    from sfumato.learn.ambiguous import AmbiguousImages
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.items.pictures import resize
from sfumato.judgments.formats.own import write_beside
from sfumato.judgments.mixed import Mix, mixed_images, write_mixes
from sfumato.provenance import Setting, Step

if TYPE_CHECKING:
    from sfumato.learn.examples import Examples


PICTURES: dict[str, Callable[[], ImageSet]] = {
    "digits": lambda: load("digits"),
    "mnist": lambda: load("mnist", "train"),
    "fashion-mnist-h": lambda: load("fashion-mnist-h"),
    "cifar10": lambda: load("cifar10", "train"),
    "cifar10-test": lambda: load("cifar10", "test"),
}
"""Datasets by name; own pictures come from a folder or archive."""

ACROSS = 20
"""Images in a row of the sheet."""

NARROWEST = 800
"""Pixels; a sheet that would be narrower is enlarged."""

ABOUT = "Synthetic: decoded by a VAE from a mix of two images, labelled by networks, not by people."


def load_pictures(
    data: str | None, *, images: Path | None = None, table: Path | None = None, split: str | None
) -> ImageSet:
    """The pictures of a dataset, or of a folder or zip archive with its table; or one split."""
    if data is not None:
        if images is not None or table is not None:
            raise DataError("Give either a dataset, or images with their table, not both.")
        found = find(PICTURES, data, what="dataset of pictures")()
    elif images is None or table is None:
        raise DataError("Give a dataset, or images with the table of their items and labels.")
    else:
        found = load_own(images, table)
    return found if split is None else found.in_split(split)


def taught_labels(pictures: ImageSet, path: Path | None) -> LabelSet:
    """What the networks learn: the pictures' own labels, or the distributions of a file."""
    if path is None:
        return pictures.original()
    try:
        return read_labels(path).take(pictures.items)
    except DataError as error:
        said = str(error)
        raise DataError(said if path.name in said else f"{path.name}: {said}") from None


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something, before any work is done."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} is not empty; name a new folder for the synthetic images.")


def ambiguous_table(made: "AmbiguousImages") -> pl.DataFrame:
    """A row an image: its id, likeliest and drawn class, sources, coefficient, doubt, stratum."""
    top = made.labels.probs.argmax(axis=1)
    return pl.DataFrame(
        {
            "item": made.items,
            "label": [made.labels.classes[place] for place in top],
            "drawn": made.drawn,
            "first_item": made.first_item,
            "second_item": made.second_item,
            "first_class": made.first_class,
            "second_class": made.second_class,
            "coefficient": made.coefficient,
            "entropy": made.entropy,
            "mutual_information": made.information,
            "stratum": made.stratum,
        }
    )


def sheet(made: "AmbiguousImages") -> NDArray[np.uint8]:
    """The first images of each stratum, a row each, the surest on top: to be looked at."""
    _, height, width, channels = made.images.shape
    names = list(dict.fromkeys(sorted(made.stratum)))
    rows = {name: [at for at, one in enumerate(made.stratum) if one == name] for name in names}
    across = min(ACROSS, max(map(len, rows.values())))
    drawn = np.full(
        (len(names) * (height + 1) - 1, across * (width + 1) - 1, channels), 96, np.uint8
    )
    for row, name in enumerate(names):
        for column, at in enumerate(rows[name][:across]):
            top, left = row * (height + 1), column * (width + 1)
            drawn[top : top + height, left : left + width] = made.images[at]
    times = -(-NARROWEST // drawn.shape[1])
    return drawn.repeat(times, axis=0).repeat(times, axis=1)


def write_ambiguous(made: "AmbiguousImages", folder: Path) -> list[str]:
    """Write images, labels, the table of sources and what came of it; the names, in order.

    ``images/`` is what `sfumato elicit new --images` takes; ``table.csv`` goes with it to
    `sfumato audit` and ``load_own``; ``labels.parquet`` is a label file. Each says that it is
    synthetic: by the ids, in the text of every PNG, in the provenance beside the labels.
    """
    check_folder(folder)
    (folder / "images").mkdir(parents=True)
    for item, image in zip(made.items, made.images, strict=True):
        _write_png(image, folder / "images" / f"{item}.png")
    write_labels(made.labels, folder / "labels.parquet")
    ambiguous_table(made).write_csv(folder / "table.csv")
    (folder / "classes.txt").write_text("\n".join(made.labels.classes) + "\n", encoding="utf-8")
    _write_png(sheet(made), folder / "sheet.png")
    told = {
        "synthetic": True,
        "about": ABOUT,
        "facts": made.facts,
        "provenance": to_json(made.labels.provenance),
    }
    (folder / "synthetic.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return ["images/", "labels.parquet", "table.csv", "classes.txt", "sheet.png", "synthetic.json"]


def _write_png(image: NDArray[np.uint8], path: Path) -> None:
    if image.shape[2] not in (1, 3):
        raise DataError(
            f"Images have {image.shape[2]} channels; a PNG is written of 1 (grey) or 3 (colour)."
        )
    note = PngInfo()
    note.add_text("Description", ABOUT)
    pixels = image[..., 0] if image.shape[2] == 1 else image
    Image.fromarray(np.ascontiguousarray(pixels)).save(path, pnginfo=note)


# Turn pictures into mixed ones for people and for networks, both from one table of mixes.


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
