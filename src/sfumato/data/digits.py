"""Turn the digits of scikit-learn, or a Parquet file of soft-digits, into images and labels.

What people saw in the digits of soft-digits is read by ``sfumato.labels``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data.images import ImageSet, decode_picture
from sfumato.data.own import fill_splits
from sfumato.data.registry import find_dataset
from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.soft_digits import read_table
from sfumato.provenance import Step

DARKEST = 16
"""The largest grey level in scikit-learn's file, drawn as 255."""

CLASSES = tuple("0123456789")
NEEDED = ("images", "indices", "original_labels")
SOURCES = ("mnist", "mukhoti")
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
    table = _table(path)
    pictures = [
        _picture(value, f"{path.name}, row {row + 1}")
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
        images=_bytes(np.stack(pictures), path.name),
        labels=np.array(
            [
                _label(value, f"{path.name}, row {row + 1}")
                for row, value in enumerate(table["original_labels"].to_list())
            ]
        ),
        classes=CLASSES,
        split=tuple(table["split"].cast(pl.String).to_list()),
        provenance=(Step("load soft-digits", {}, {path.name: read_table(path).fingerprint}),),
    )


def read_digit_sources(path: Path) -> dict[str, str]:
    """Item to where its picture is from, one of ``SOURCES``."""
    table = _table(path, ("indices", "source"))
    found = dict(zip(table["indices"].cast(pl.String), table["source"].to_list(), strict=True))
    for item, source in found.items():
        if source not in SOURCES:
            raise DataError(
                f"{path.name}: the source of item {item!r} is {source!r}; expected "
                f"{' or '.join(map(repr, SOURCES))}."
            )
    return found


def read_original_labels(path: Path) -> LabelSet:
    """The labels that came with the pictures: a digit, or the distribution of synthetic ones."""
    table = _table(path, ("indices", "original_labels"))
    probs = [
        _probs(value, f"{path.name}, row {row + 1}")
        for row, value in enumerate(table["original_labels"].to_list())
    ]
    step = Step("read original labels", {}, {path.name: read_table(path).fingerprint})
    items = tuple(table["indices"].cast(pl.String).to_list())
    return LabelSet(items, CLASSES, np.stack(probs), provenance=(step,))


def _table(path: Path, needed: tuple[str, ...] = NEEDED) -> pl.DataFrame:
    table = read_table(path).columns
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise DataError(f"{path.name} has no column {missing[0]!r}; needed are {needed}.")
    if table.is_empty():
        raise DataError(f"{path.name} has no rows.")
    return fill_splits(table, needed, path=path)


def _picture(value: Any, where: str) -> NDArray[Any]:
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


def _bytes(pixels: NDArray[Any], name: str) -> NDArray[np.uint8]:
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


def _label(value: Any, where: str) -> int:
    return int(_probs(value, where).argmax())


def _probs(value: Any, where: str) -> NDArray[np.float64]:
    if isinstance(value, list):
        try:
            probs = np.array(value, dtype=np.float64)
        except (ValueError, TypeError):
            probs = np.empty(0)
        if probs.shape == (len(CLASSES),) and np.isfinite(probs).all():
            return probs
    elif str(value) in CLASSES:
        return np.eye(len(CLASSES))[CLASSES.index(str(value))]
    raise DataError(
        f"{where}: the original label {value!r} is neither a digit nor ten probabilities."
    )
