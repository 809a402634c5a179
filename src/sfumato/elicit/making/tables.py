"""Read the tables that come with a folder of images: batches, classes, checks, comparisons.

Every table names images by their path inside the folder, with or without the ending. What is wrong
with a row is said with file, row and field.
"""

import csv
import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from sfumato.elicit.making.pictures import Source
from sfumato.errors import DataError
from sfumato.judgments.formats.reading import open_text
from sfumato.judgments.mixed import Mix, read_mixes

Table: TypeAlias = Path | Mapping[str, str]
"""A file, or what would stand in it: something about each image."""

Names: TypeAlias = Mapping[str, str]
"""What an image may be called, and its item."""


@dataclass(frozen=True)
class _Row:
    where: str
    """File and row, for errors."""
    fields: Mapping[str, str]


def names_of(sources: Mapping[str, Source]) -> dict[str, str]:
    """Both spellings of every image; where they clash, the name of a file counts."""
    spelt = {item: item for item in sources}
    return spelt | {_composed(source.name): source.item for source in sources.values()}


def item_of(name: str, names: Names) -> str:
    """The item of an image that is known to be there, however it is spelt."""
    return names[_composed(name)] if _composed(name) in names else names[name]


def read_allocation(table: Table, names: Names) -> dict[str, str]:
    """The batch of each item (S3-04): CSV with the columns image and batch, or JSON.

    In JSON either every image has its batch, or every batch has a list of its images.
    """
    return _one_each(_rows(table, "image", "batch"), names, "batch")


def read_classes_of(table: Table, names: Names, classes: Sequence[str]) -> dict[str, str]:
    """The class of each item: CSV with the columns image and class, or JSON image to class."""
    rows = _rows(table, "image", "class")
    for row in rows:
        _known(row, "class", dict.fromkeys(classes), what="class of this study")
    return _one_each(rows, names, "class")


def read_names(path: Path, names: Names) -> set[str]:
    """The items of a table with the column image."""
    return {_item(row, "image", names) for row in _rows_of_csv(path, ("image",))}


def read_comparisons(path: Path, names: Names, fields: Sequence[str]) -> list[tuple[str, ...]]:
    """The items of each row, under the columns ``fields``; nothing is compared with itself."""
    found: dict[tuple[str, ...], str] = {}
    for row in _rows_of_csv(path, fields):
        items = tuple(_item(row, field, names) for field in fields)
        if len(set(items)) < len(items):
            raise DataError(f"{row.where}: {items[0]!r} or another image is compared with itself.")
        if items in found:
            raise DataError(f"{row.where}: the same comparison stands in {found[items]} already.")
        found[items] = row.where
    if not found:
        raise DataError(f"{path.name} holds no rows.")
    return list(found)


def read_views(path: Path, names: Names) -> dict[str, list[str]]:
    """The images that belong to one item: CSV with the columns item and image."""
    views: dict[str, list[str]] = {}
    seen: dict[str, str] = {}
    for row in _rows_of_csv(path, ("item", "image")):
        image = _item(row, "image", names)
        if image in seen:
            raise DataError(f"{row.where}: the image {image!r} belongs to {seen[image]!r} already.")
        seen[image] = row.fields["item"]
        views.setdefault(row.fields["item"], []).append(image)
    clash = sorted(views.keys() & (set(names.values()) - seen.keys()))
    if clash:
        raise DataError(
            f"{path.name}: an item and an image beside it are both called {clash[0]!r}."
        )
    return views


def read_groups(table: Path, classes: Sequence[str]) -> dict[str, list[str]]:
    """The classes of each group: CSV with the columns class and group, or JSON class to group."""
    groups: dict[str, list[str]] = {}
    for row in _rows(table, "class", "group"):
        _known(row, "class", dict.fromkeys(classes), what="class of this study")
        groups.setdefault(row.fields["group"], []).append(row.fields["class"])
    return groups


def read_levels(path: Path, items: Sequence[str]) -> pl.DataFrame:
    """The groups of each item: CSV with the column image and one per level, the outermost first."""
    with open_text(path) as file:
        levels = [name for name in next(csv.reader(file), []) if name != "image"]
    taken = [name for name in levels if name in ("batch", "kind", "doubt")]
    if taken or not levels:
        wrong = f"{taken[0]!r} is a column of what is written" if taken else "there is none"
        raise DataError(f"{path.name} needs a column per level of groups beside image; {wrong}.")
    rows: dict[str, Mapping[str, str]] = {}
    for row in _rows_of_csv(path, ("image", *levels)):
        image = row.fields["image"]
        if image in rows:
            raise DataError(f"{row.where}: the image {image!r} is named before.")
        rows[image] = row.fields
    missing = [item for item in items if item not in rows]
    if missing:
        raise DataError(
            f"{path.name} names the groups of {len(items) - len(missing):,} of {len(items):,} "
            f"items; the first without is {missing[0]!r}."
        )
    return pl.DataFrame({name: [rows[item][name] for item in items] for name in levels})


def read_mixes_of(
    path: Path, names: Names, items: Collection[str], classes: Sequence[str]
) -> list[Mix]:
    """The mixes of a table by ``sfumato mix``, under their own names; ``items`` may be mixed."""
    mixes = read_mixes(path)
    if not mixes:
        raise DataError(f"{path.name} holds no rows.")
    for mix in mixes:
        row = _Row(f"{path.name}, mix {mix.item!r}", vars(mix))
        for field in ("first_item", "second_item"):
            if _item(row, field, names) not in items:
                raise DataError(
                    f"{row.where}: {row.fields[field]!r} is a check or for practice; it cannot be "
                    "mixed as well."
                )
        for field in ("first_class", "second_class"):
            _known(row, field, dict.fromkeys(classes), what="class of this study")
    return mixes


def _one_each(rows: Iterable[_Row], names: Names, field: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        item = _item(row, "image", names)
        if item in found:
            raise DataError(f"{row.where}: the image {row.fields['image']!r} is named before.")
        found[item] = row.fields[field]
    return found


def _rows(table: Table, first: str, second: str) -> list[_Row]:
    if isinstance(table, Mapping):
        return [_Row("The table", {first: one, second: two}) for one, two in table.items()]
    if table.suffix.lower() == ".json":
        return _rows_of_json(table, first, second)
    return _rows_of_csv(table, (first, second))


def _rows_of_csv(path: Path, fields: Sequence[str]) -> list[_Row]:
    with open_text(path) as file:
        try:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in fields if name not in (reader.fieldnames or ())]
            if missing:
                raise DataError(
                    f"{path.name} needs a first line with the columns {', '.join(fields)}; "
                    f"{missing[0]!r} is not in it."
                )
            rows = [_Row(f"{path.name} row {reader.line_num}", row) for row in reader]
        except csv.Error as error:
            raise DataError(f"{path.name} row {reader.line_num} is not CSV: {error}.") from None
    for row in rows:
        for name in fields:
            if not (row.fields[name] or "").strip():
                raise DataError(f"{row.where}: the field {name!r} is empty.")
    return [_Row(row.where, {name: row.fields[name].strip() for name in fields}) for row in rows]


def _rows_of_json(path: Path, first: str, second: str) -> list[_Row]:
    with open_text(path) as file:
        try:
            stored = json.load(file, object_pairs_hook=list)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path.name} is not JSON: {error}.") from None
    # Pairs instead of a dict, so that an image that is named twice is noticed.
    pairs = stored if isinstance(stored, list) and all(map(_is_pair, stored)) else None
    if pairs is None:
        raise DataError(f"{path.name} must hold one JSON object, {first} to {second}.")
    rows = []
    for key, value in pairs:
        where = f"{path.name} entry {key!r}"
        if second == "batch" and isinstance(value, list):
            rows += [_Row(where, {first: _text(where, name), second: key}) for name in value]
        else:
            rows.append(_Row(where, {first: key, second: _text(where, value)}))
    return rows


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2


def _text(where: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):  # batches are often numbered
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: {value!r} is not a text.")
    return value.strip()


def _item(row: _Row, field: str, names: Names) -> str:
    _known(row, field, names, what="image")
    return item_of(row.fields[field], names)


def _known(row: _Row, field: str, known: Mapping[str, Any], *, what: str) -> None:
    name = row.fields[field]
    if _composed(name) not in known and name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"{row.where}, field {field!r}: no {what} is called {name!r}.{hint}")


def _composed(name: str) -> str:
    """One spelling of accented letters: some file systems have another than most editors."""
    return unicodedata.normalize("NFC", name)
