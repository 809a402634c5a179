"""Join items to labels by id, and say what has no counterpart."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import get_args

from sfumato.errors import DataError
from sfumato.items.items import Items, Naming, file_names
from sfumato.names import sorted_names

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
