"""Turn label sets, answers and contents of items into one table that is sorted and filtered.

Rows are items, in the order of the first label set. Whatever a page may sort by is a column of
numbers, whatever it may filter by a mask, both worked out once; an order of rows is found by numpy
and kept, as the page asks for it window by window.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.data.images import ReadPixels
from sfumato.errors import DataError
from sfumato.labels.compare import total_variation_rows
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.running import change_by_one_more
from sfumato.labels.signals import disputed_thirds, spread_of, strata_of
from sfumato.names import find

SORTS: dict[str, str] = {
    "item": "order of the file",
    "disagreement": "disagreement",
    "doubt": "doubt",
    "entropy": "entropy",
    "distance": "distance",
    "change": "change by one more answer",
    "answers": "number of answers",
    "seconds": "time per answer",
}
"""What items can be sorted by; the page shows those that the data has numbers for."""

DIFFERS = " puts another class first"
"""What the stratum of a model is called in which it differs from the first label set."""
KEPT_ORDERS = 64
"""Orders of rows that are remembered: the pages of one person's last minutes."""
LEAST_SHOWN = 0.005
"""A class with less than this share is not drawn in a row."""
MOST_DRAWN = 12
"""Classes of one bar; what is left over is drawn as others."""
MOST_CLASSES = 40
"""Classes of one item that are told one by one."""
MOST_ANSWERS = 500
"""Answers about one item that are told one by one."""
BLOCK = 4_000_000
"""Numbers that are worked on at a time."""

Rows = NDArray[np.int64]
PerItem = NDArray[np.float64]  # (items,)
Bar = list[list[float]]
"""Class (its place) and share, largest first."""


@dataclass(frozen=True)
class Query:
    """Which items are asked for, and in which order."""

    sort: str = "item"
    down: bool = True
    first: str = ""
    """The label set whose entropy, or from which the distance, is meant; empty: the first."""
    second: str = ""
    """The label set to which the distance is meant; empty: the second."""
    tops: tuple[tuple[str, str], ...] = ()
    """Label set and class: items whose most probable class it is."""
    person: str = ""
    stratum: str = ""
    split: str = ""
    text: str = ""
    """Part of an id or a text, in any case."""


@dataclass(frozen=True, eq=False)
class ViewedSets:
    """What is looked at, before anything is worked out from it."""

    title: str
    sets: Mapping[str, LabelSet]
    """Label sets by name; the first says which items there are."""
    crowd: CrowdLabels | None = None
    """Single answers behind the first set."""
    seconds: PerItem | None = None
    """How long each answer of ``crowd`` took."""
    splits: Mapping[str, str] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, ReadPixels] = field(default_factory=dict)
    simulated: bool = False
    remarks: tuple[str, ...] = ()


class ItemTable:
    """Items with everything that a page shows of them, sorts them by, and filters them by.

    >>> people = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0.5, 0.5]])
    >>> table = ItemTable(ViewedSets("pets", {"people": people}))
    >>> [table.items[row] for row in table.order(Query("entropy"))]
    ['b', 'a']
    """

    def __init__(self, viewed: ViewedSets) -> None:
        first = next(iter(viewed.sets.values()))
        if not len(first):
            raise DataError(f"{viewed.title} holds no items.")
        self.viewed = viewed
        self.items = first.items
        self.row_of = {item: row for row, item in enumerate(first.items)}
        self.classes = _all_classes(viewed.sets)
        self.sets = {name: self._rows_of(name, labels) for name, labels in viewed.sets.items()}
        self.values: Callable[..., PerItem] = lru_cache(KEPT_ORDERS)(self._values)
        self.tops: Callable[[str], Rows] = lru_cache(KEPT_ORDERS)(self._tops)
        self.signals = self._signals(first)
        self.strata = self._strata(first)
        self.order: Callable[[Query], Rows] = lru_cache(KEPT_ORDERS)(self._order)

    def _rows_of(self, name: str, labels: LabelSet) -> NDArray[np.float64]:
        """The labels in our order of items and classes; NaN for items that they lack."""
        if labels.items == self.items and labels.classes == self.classes:
            return labels.probs
        place = {one: at for at, one in enumerate(self.classes)}
        found = np.array([self.row_of.get(item, -1) for item in labels.items], dtype=np.int64)
        known = found >= 0
        if not known.any():
            raise DataError(
                f"{name} is about no item of {self.viewed.title}: it has {labels.items[0]!r}, "
                f"but there the ids look like {self.items[0]!r}."
            )
        rows = np.full((len(self.items), len(self.classes)), np.nan)
        rows[found[known]] = 0
        columns = np.array([place[one] for one in labels.classes])
        rows[np.ix_(found[known], columns)] = labels.probs[known]
        return rows

    # What there is to sort by.

    def _signals(self, first: LabelSet) -> dict[str, PerItem]:
        crowd = self.viewed.crowd
        if crowd is None:
            counted = first.weight if first.weight.any() else None
            return {} if counted is None else {"answers": counted}
        spread, rows = spread_of(crowd), self._crowd_rows
        judged = np.array([self.row_of.get(item, -1) for item in spread.items], dtype=np.int64)
        known = judged >= 0
        columns = {
            "disagreement": spread.disagreement,
            "doubt": spread.doubt,
            "answers": spread.answers.astype(np.float64),
        }
        found = {name: np.full(len(self.items), np.nan) for name in columns}
        for name, values in columns.items():
            found[name][judged[known]] = values[known]
        found["change"] = self._change()
        if self.viewed.seconds is not None and np.isfinite(self.viewed.seconds).any():
            found["seconds"] = _medians(rows, self.viewed.seconds, len(self.items))
        return {name: values for name, values in found.items() if np.isfinite(values).any()}

    def _change(self) -> PerItem:
        """``change_by_one_more``, a block of items at a time: rows of answers are written out."""
        crowd = self.viewed.crowd
        assert crowd is not None
        _, bounds = self._answers
        found = np.full(len(self.items), np.nan)
        at = 0
        while at < len(self.items):
            end = int(np.searchsorted(bounds, bounds[at] + BLOCK // len(crowd.classes), "right"))
            end = min(max(end - 1, at + 1), len(self.items))
            rows = self._answers_of(at, end)
            item = self._crowd_rows[rows] - at
            found[at:end] = change_by_one_more(item, crowd.answers[crowd.said[rows]], end - at)
            at = end
        return found

    @cached_property
    def _crowd_rows(self) -> Rows:
        """The row of each answer's item; -1 for items that are not shown."""
        crowd = self.viewed.crowd
        assert crowd is not None
        found = np.array([self.row_of.get(item, -1) for item in crowd.items], dtype=np.int64)
        return found[crowd.item]

    @cached_property
    def _answers(self) -> tuple[Rows, Rows]:
        """Answers by row, and where those of each row begin."""
        order = np.argsort(self._crowd_rows, kind="stable")
        return order, np.searchsorted(self._crowd_rows[order], np.arange(len(self.items) + 1))

    def _answers_of(self, first: int, end: int) -> Rows:
        order, bounds = self._answers
        return order[bounds[first] : bounds[end]]

    def _values(self, sort: str, first: str = "", second: str = "") -> PerItem:
        """The numbers that items are sorted by; NaN where there is none."""
        match sort:
            case "item":
                return np.arange(len(self.items), dtype=np.float64)
            case "entropy":
                return entr(find(self.sets, first or self.names[0], what="label set")).sum(axis=1)
            case "distance":
                one = find(self.sets, first or self.names[0], what="label set")
                other = find(self.sets, second or self.names[:2][-1], what="label set")
                return total_variation_rows(one, other)
            case _:
                return find(self.signals, sort, what="number to sort by")

    @cached_property
    def identity(self) -> str:
        """The same for the same items: marks that a browser keeps belong to them."""
        return hashlib.sha256("\n".join(self.items).encode()).hexdigest()[:16]

    @property
    def names(self) -> list[str]:
        """What the label sets are called."""
        return list(self.sets)

    @property
    def sorts(self) -> list[str]:
        """Names in ``SORTS`` that this data has numbers for."""
        always = ["item", "entropy", *(["distance"] if len(self.sets) > 1 else [])]
        return [name for name in SORTS if name in always or name in self.signals]

    # What there is to filter by.

    def _strata(self, first: LabelSet) -> dict[str, NDArray[np.bool_]]:
        found = {**strata_of(first), **disputed_thirds(first)}
        people = first.probs.argmax(axis=1)
        for name, probs in list(self.sets.items())[1:]:
            known = np.isfinite(probs[:, 0])
            found[f"{name}{DIFFERS}"] = known & (self.tops(name) != people)
        given = self.viewed.strata
        for value in dict.fromkeys(given.values()):
            found[value] = np.array([given.get(item) == value for item in self.items])
        return {name: mask for name, mask in found.items() if mask.any()}

    @cached_property
    def splits(self) -> dict[str, NDArray[np.bool_]]:
        """Items of each split."""
        given = self.viewed.splits
        return {
            name: np.array([given.get(item) == name for item in self.items])
            for name in dict.fromkeys(given.values())
        }

    def _tops(self, name: str) -> Rows:
        """The most probable class of each item, the first of several; -1 where nothing is known."""
        probs = find(self.sets, name, what="label set")
        known = np.isfinite(probs[:, 0])
        return np.where(known, np.nan_to_num(probs).argmax(axis=1), -1)

    @cached_property
    def people(self) -> list[str]:
        """Annotators whose answers are here, the busiest first."""
        crowd = self.viewed.crowd
        if crowd is None:
            return []
        known = crowd.annotator[crowd.annotator != NOT_RECORDED]
        answers = np.bincount(known, minlength=len(crowd.annotators))
        order = np.argsort(-answers, kind="stable")
        return [crowd.annotators[place] for place in order if answers[place]]

    @cached_property
    def _searched(self) -> pl.Series:
        texts = self.viewed.texts
        return pl.Series([f"{item}\n{texts.get(item, '')}".lower() for item in self.items])

    def answers_by(self, person: str) -> dict[int, int]:
        """The answer (its row in ``crowd.answers``) that a person gave about each item."""
        crowd = self.viewed.crowd
        codes = {} if crowd is None else {name: at for at, name in enumerate(crowd.annotators)}
        code = find(codes, person, what="annotator")
        assert crowd is not None
        given = np.flatnonzero((crowd.annotator == code) & (self._crowd_rows >= 0))
        rows, said = self._crowd_rows[given].tolist(), crowd.said[given].tolist()
        return dict(zip(rows, said, strict=True))

    def _mask(self, query: Query) -> NDArray[np.bool_]:
        kept = np.ones(len(self.items), dtype=np.bool_)
        for name, wanted in query.tops:
            place = find({one: at for at, one in enumerate(self.classes)}, wanted, what="class")
            kept &= self.tops(name) == place
        if query.stratum:
            kept &= find(self.strata, query.stratum, what="stratum")
        if query.split:
            kept &= find(self.splits, query.split, what="split")
        if query.person:
            answered = np.zeros_like(kept)
            answered[list(self.answers_by(query.person))] = True
            kept &= answered
        if query.text:
            wanted = query.text.lower()
            kept &= self._searched.str.contains(wanted, literal=True).to_numpy()
        return kept

    def _order(self, query: Query) -> Rows:
        """The rows that a query asks for; equal ones as in the file, those without a value last."""
        rows = np.flatnonzero(self._mask(query))
        values = self.values(query.sort, query.first, query.second)[rows]
        if query.sort == "item":
            return rows if query.down else rows[::-1]
        return rows[np.argsort(-values if query.down else values, kind="stable")]

    # What is shown.

    def shown_rows(self, rows: Rows, query: Query, names: Sequence[str]) -> list[dict[str, Any]]:
        """A window of the list: bars of the named label sets, and what it is sorted by."""
        values = self.values(query.sort, query.first, query.second)
        sets = [find(self.sets, name, what="label set") for name in names]
        said = self.answers_by(query.person) if query.person else {}
        crowd, viewed = self.viewed.crowd, self.viewed
        return [
            {
                "row": row,
                "item": self.items[row],
                "text": viewed.texts.get(self.items[row], "")[:240],
                "picture": self.items[row] in viewed.pictures,
                "value": _plain(values[row]),
                "bars": [_bar(probs[row]) for probs in sets],
                "said": _bar(self._widened(crowd.answers[said[row]])) if crowd and said else None,
            }
            for row in rows.tolist()
        ]

    def shown_item(self, row: int) -> dict[str, Any]:
        """Everything about one item."""
        item = self.items[row]
        shares = np.stack([probs[row] for probs in self.sets.values()])
        largest = np.nanmax(shares, axis=0)
        order = np.lexsort((-largest, -shares[0]))[:MOST_CLASSES]  # as the first set has them
        classes = [int(at) for at in order if largest[at] >= LEAST_SHOWN]
        return {
            "row": row,
            "item": item,
            "text": self.viewed.texts.get(item, ""),
            "picture": item in self.viewed.pictures,
            "split": self.viewed.splits.get(item, ""),
            "strata": [
                name
                for name, mask in self.strata.items()
                if mask[row] and not name.endswith(DIFFERS)  # the bars tell it
            ],
            "numbers": {
                name: _plain(self.values(name)[row])
                for name in self.sorts
                if name not in ("item", "distance")
            },
            "classes": classes,
            "sets": {
                name: None
                if not np.isfinite(probs[row, 0])
                else [round(float(probs[row, at]), 4) for at in classes]
                for name, probs in self.sets.items()
            },
            "answers": [] if self.viewed.crowd is None else self._told_answers(row),
        }

    def _told_answers(self, row: int) -> list[dict[str, Any]]:
        """Who said what, and how long it took; the same answers of unknown people together."""
        crowd, seconds = self.viewed.crowd, self.viewed.seconds
        assert crowd is not None
        told: dict[tuple[str | None, int], list[int]] = {}
        for at in self._answers_of(row, row + 1)[:MOST_ANSWERS].tolist():
            code = crowd.annotator[at]
            unknown = code == NOT_RECORDED
            key = (None, int(crowd.said[at])) if unknown else (crowd.annotators[code], at)
            told.setdefault(key, []).append(at)
        groups = sorted(told.items(), key=lambda one: -len(one[1]))
        return [
            {
                "who": who,
                "count": len(rows),
                "bar": _bar(self._widened(crowd.answers[crowd.said[rows[0]]])),
                "seconds": None if seconds is None else _plain(np.median(seconds[rows])),
            }
            for (who, _), rows in groups
        ]

    def _widened(self, answer: NDArray[np.float64]) -> NDArray[np.float64]:
        """An answer over all classes; those of the crowd come first, in their order."""
        crowd = self.viewed.crowd
        assert crowd is not None
        wide = np.zeros(len(self.classes))
        wide[self._crowd_classes] = answer
        return wide

    @cached_property
    def _crowd_classes(self) -> list[int]:
        assert self.viewed.crowd is not None
        return [self.classes.index(name) for name in self.viewed.crowd.classes]


def _all_classes(sets: Mapping[str, LabelSet]) -> tuple[str, ...]:
    """The classes of the first set, then what others add."""
    first, *others = sets.items()
    for name, labels in others:
        if not {*labels.classes} & {*first[1].classes}:
            raise DataError(
                f"{name} shares no class with {first[0]}: it has {labels.classes[0]!r}, "
                f"{first[0]} has {first[1].classes[0]!r}."
            )
    return tuple(dict.fromkeys(one for labels in sets.values() for one in labels.classes))


def _bar(probs: NDArray[np.float64]) -> Bar | None:
    """The largest shares of one row; None where nothing is known."""
    if not np.isfinite(probs[0]):
        return None
    order = np.argsort(-probs, kind="stable")[:MOST_DRAWN]
    return [[int(at), round(float(probs[at]), 4)] for at in order if probs[at] >= LEAST_SHOWN]


def _medians(rows: Rows, seconds: PerItem, items: int) -> PerItem:
    """The median of each row's seconds; NaN where none is known."""
    known = (rows >= 0) & np.isfinite(seconds)
    table = pl.DataFrame({"row": rows[known], "seconds": seconds[known]})
    middle = table.group_by("row").agg(pl.col("seconds").median())
    found = np.full(items, np.nan)
    found[middle["row"].to_numpy()] = middle["seconds"].to_numpy()
    return found


def _plain(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
