"""What items are, to be shown beside their numbers: their pictures or their texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data.images import find_pictures
from sfumato.errors import DataError
from sfumato.frames import is_table, to_frame
from sfumato.items.items import Items
from sfumato.items.load import LONGEST, TEXT_NAMES, as_text, show_text
from sfumato.labels.labelset import LabelSet
from sfumato.labels.tables import find_items, read_frame
from sfumato.names import quote_names


@dataclass(frozen=True, eq=False)
class ItemContents:
    """Pictures and texts by item; either may be empty."""

    pictures: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def column(self, items: Sequence[str]) -> dict[str, list[str]]:
        """The texts of the items as a column of a table; nothing where there are none."""
        return {"text": [self.texts.get(item, "") for item in items]} if self.texts else {}


def load_contents(
    items: Sequence[str],
    *,
    text: object = None,
    pictures: str | Path | Mapping[str, NDArray[np.generic]] | None = None,
    answers: object = None,
    longest: int = LONGEST,
) -> ItemContents:
    """Pictures and texts of the given items.

    ``text`` is the name of a column of the table ``answers``, or of several between commas, a file
    or table with the items and their texts, ``Items``, or texts by item. ``pictures`` is a folder
    or zip archive, or arrays by item. A text of more than ``longest`` letters is cut, its fields
    alike.
    """
    found: Mapping[str, NDArray[np.generic]] = {}
    if isinstance(pictures, Mapping):
        found = {str(item): pixels for item, pixels in pictures.items()}
    elif pictures is not None:
        found = find_pictures(Path(pictures), items)
    texts = {} if text is None else _texts(text, items, answers)
    return ItemContents(found, {item: show_text(told, longest) for item, told in texts.items()})


def _texts(text: object, items: Sequence[str], answers: object) -> dict[str, dict[str, str]]:
    if isinstance(text, Items):
        return dict(text)
    if isinstance(text, str | Path) and Path(text).is_file():
        return _of_table(read_frame(Path(text)), str(Path(text).name), items, None)
    if isinstance(text, str):
        return _of_table(_table_of(answers, text), "the answers", items, text)
    if isinstance(text, Mapping) and all(isinstance(value, str) for value in text.values()):
        return {str(item): {"text": value} for item, value in text.items()}
    return _of_table(to_frame(text, what="table of texts"), "the texts", items, None)


def _table_of(answers: object, column: str) -> pl.DataFrame:
    if isinstance(answers, str | Path):
        return read_frame(Path(answers))
    if is_table(answers):
        return to_frame(answers)
    raise DataError(
        f"There is no file {column!r}, and the answers are no table that could have a column of "
        "that name; give the texts as a table with the items."
    )


def _of_table(
    table: pl.DataFrame, name: str, items: Sequence[str], column: str | None
) -> dict[str, dict[str, str]]:
    named = [] if column is None else [part.strip() for part in column.split(",")]
    for missing in (part for part in named if part not in table.columns):
        raise DataError(
            f"There is no file {missing!r}, and {name} have no column of that name; they have "
            f"{quote_names(table.columns)}."
        )
    of_item, _ = find_items(table, name, items=items)
    others = [other for other in table.columns if other != of_item]
    usual = [other for other in others if other.lower() in TEXT_NAMES]
    shown = named or usual or others
    rows = table.select(of_item, *shown).unique(of_item, keep="first", maintain_order=True)
    return {
        str(row[0]): {
            each: as_text(value, name) for each, value in zip(shown, row[1:], strict=True)
        }
        for row in rows.iter_rows()
    }


def label_words(labels: LabelSet, item: str, most: int = 3) -> str:
    """The classes of an item with the most mass, in words.

    >>> label_words(LabelSet(("a",), ("cat", "dog"), [[0.25, 0.75]]), "a")
    'dog 0.75, cat 0.25'
    """
    row = labels.probs[labels.items.index(item)]
    order = np.argsort(-row, kind="stable")
    kept = [place for place in order[:most] if row[place] > 0]
    told = [f"{labels.classes[place]} {row[place]:.2f}" for place in kept]
    rest = 1 - row[kept].sum()
    return ", ".join([*told, f"others {rest:.2f}"] if rest > 0.005 else told)
