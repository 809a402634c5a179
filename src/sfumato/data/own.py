"""Turn a folder or zip archive of one's own pictures, with a table of labels, into an image set."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.items.pictures import ENDINGS, Size, open_files, read_picture, stack_pictures
from sfumato.names import find, sorted_names
from sfumato.provenance import Setting, Step, fingerprint_file

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
