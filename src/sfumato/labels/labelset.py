"""The two label types that flow through everything: ``LabelSet`` and ``CrowdLabels``.

Human labels, simulated labels and model predictions are all ``LabelSet``s: one row of
probabilities per item. ``CrowdLabels`` keeps one row per judgment. Both are frozen and
checked when made, so nothing after the border can hold a row that does not sum to one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import entr

from sfumato.errors import DataError, missing_package, require_memory
from sfumato.provenance import Provenance, Step
from sfumato.tabular import Tabular

if TYPE_CHECKING:
    import polars as pl
    import torch

Id = str | int
"""What a user may call an item; inside, every id is a text."""

SUM_TOLERANCE = 1e-6
"""How far a row may be from one: predictions stored as float32 are off by about 1e-7."""

MANY_SHARES = 10_000_000
"""A table with fewer shares than this is never sparse."""

SPARSE_SHARE = 10
"""A table is sparse if it has so many more shares than judgments."""

NOT_RECORDED = -1
"""The annotator code of a judgment whose author is unknown."""


class Distribution(dict[str, float]):
    """The label of one item: class to probability; numpy takes it as the row it is.

    >>> label = Distribution(cat=0.75, dog=0.25)
    >>> label["cat"], label.top, np.asarray(label)
    (0.75, 'cat', array([0.75, 0.25]))
    """

    @property
    def top(self) -> str:
        """The most probable class, the first of several."""
        return max(self, key=self.__getitem__)

    def entropy(self) -> float:
        """How undecided it is, in nats."""
        return float(entr(np.asarray(self)).sum())

    def __array__(
        self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        return np.array(list(self.values()), dtype=dtype or np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class LabelSet(Tabular):
    """One row per item, one column per class; each row sums to one.

    ``weight`` counts the judgments behind each row; left out it is zero (a model's beliefs).
    ``crowd`` are those judgments, where the labels were made from them. ``values`` are what the
    classes count where they are the points of a scale: then labels have means, and mass that lies
    far off counts more than mass beside it.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]])
    >>> labels
    <LabelSet of 2 items and 2 classes: cat, dog>
    >>> labels["a"]["cat"], labels["b"].top, len(labels)
    (0.75, 'dog', 2)
    >>> [item for item, label in labels if label.entropy() > 0]
    ['a']

    Of a thousand classes most have no mass. ``probs`` may be given as a sparse array of scipy; it
    is then kept so in ``sparse``, and ``probs`` writes the rows out when somebody asks for them.
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    probs: NDArray[np.float64]  # (items, classes)
    weight: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # (items,)
    provenance: Provenance = ()
    crowd: "CrowdLabels | None" = None
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _as_texts(self.items))
        object.__setattr__(self, "classes", _as_texts(self.classes))
        weight = self.weight if np.size(self.weight) else np.zeros(len(self.items))
        object.__setattr__(self, "weight", _frozen(weight, np.float64))
        _check_unique(self.items, "item")
        _check_unique(self.classes, "class")
        object.__setattr__(self, "values", _checked_values(self.values, self.classes))
        if issparse(self.probs):
            rows = csr_array(self.__dict__.pop("probs"), dtype=np.float64, copy=True)
            rows.sum_duplicates()
            self.__dict__["_sparse"] = rows
            _check_sparse(rows, self.classes, self.items)
        else:
            object.__setattr__(self, "probs", _frozen(self.probs, np.float64))
            where = lambda row: f"item {self.items[row]!r}"  # noqa: E731
            _check_rows(self.probs, self.classes, where, self.items)
        if self.weight.shape != (len(self.items),):
            raise DataError(
                f"There are {len(self.items)} items but weights of shape {self.weight.shape}."
            )

    def __getattr__(self, name: str) -> Any:
        """The rows of a sparse set, written out when first asked for."""
        if name != "probs" or self.__dict__.get("_sparse") is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        require_memory(
            8 * len(self.items) * len(self.classes),
            what=f"All {len(self.classes):,} probabilities of {len(self.items):,} items",
            instead="Take some of the items, or use what works on the classes with mass: "
            "entropy, top, one item at a time.",
        )
        probs = self.__dict__["_sparse"].toarray()
        probs.flags.writeable = False
        self.__dict__["probs"] = probs
        return probs

    @property
    def sparse(self) -> csr_array | None:
        """The classes with mass, (items, classes), where the rows are kept so; otherwise None."""
        return self.__dict__.get("_sparse")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def shape(self) -> tuple[int, int]:
        """How many items and classes; with ``labels[rows, ...]`` scikit-learn can split labels."""
        return len(self.items), len(self.classes)

    def __array__(
        self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        return np.array(self.probs, dtype=dtype)

    def __contains__(self, item: object) -> bool:
        return str(item) in self._rows

    def __iter__(self) -> Iterator[tuple[str, Distribution]]:
        for row, item in enumerate(self.items):
            yield item, self._distribution(row)

    @overload
    def __getitem__(self, wanted: Id) -> Distribution: ...
    @overload
    def __getitem__(
        self, wanted: "slice | list[Any] | tuple[Any, ...] | NDArray[Any]"
    ) -> "LabelSet": ...
    def __getitem__(
        self, wanted: "Id | slice | list[Any] | tuple[Any, ...] | NDArray[Any]"
    ) -> "Distribution | LabelSet":
        """One item's label by its id; several by a list of ids, a slice, or a mask.

        A slice of numbers counts rows; one of texts goes from the first id to the last, both in.
        ``labels[rows, ...]`` counts rows as numpy does, which is how scikit-learn splits: a number
        alone is an id, as ids may be numbers.
        """
        if isinstance(wanted, tuple) and len(wanted) == 2 and wanted[1] is Ellipsis:
            chosen = np.arange(len(self))[wanted[0]]
            return self.take([self.items[row] for row in np.atleast_1d(chosen)])
        if isinstance(wanted, str | int | np.integer):
            return self._distribution(self._row(wanted))
        if isinstance(wanted, slice):
            return self.take(self.items[self._between(wanted)])
        ids = np.asarray(wanted if isinstance(wanted, np.ndarray) else list(wanted))
        if ids.dtype == bool:
            if len(ids) != len(self):
                raise DataError(
                    f"A mask of {len(ids)} values cannot choose among {len(self)} items."
                )
            return self.take([self.items[row] for row in np.flatnonzero(ids)])
        return self.take(ids.tolist())

    @property
    def _rows(self) -> dict[str, int]:
        if "_row_of" not in self.__dict__:
            self.__dict__["_row_of"] = {item: row for row, item in enumerate(self.items)}
        return self.__dict__["_row_of"]

    def _row(self, item: Id) -> int:
        if str(item) in self._rows:
            return self._rows[str(item)]
        near = get_close_matches(str(item), self.items[:10_000], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"No item is called {str(item)!r}.{hint}")

    def _between(self, wanted: slice) -> slice:
        """A slice of ids as one of rows."""
        if not isinstance(wanted.start, str) and not isinstance(wanted.stop, str):
            return wanted
        first = None if wanted.start is None else self._row(wanted.start)
        last = None if wanted.stop is None else self._row(wanted.stop) + 1
        return slice(first, last, wanted.step)

    def take(self, items: Sequence[Id]) -> "LabelSet":
        """The rows of the given items, in the given order; an unknown item is an error."""
        names = _as_texts(items)
        if names == self.items:
            return self
        places = list(map(self._rows.get, names))
        if None in places:
            missing = [item for item in names if item not in self._rows]
            raise DataError(
                f"Item {missing[0]!r} has no label ({len(missing)} of {len(names)} without one)."
            )
        rows = np.array(places, dtype=np.int64)
        crowd = None if self.crowd is None else self.crowd.of_items(names)
        held = self.probs if self.sparse is None else self.sparse
        weight = self.weight[rows]
        return LabelSet(
            names, self.classes, held[rows], weight, self.provenance, crowd, self.values
        )

    def entropy(self) -> NDArray[np.float64]:
        """How undecided each item is, in nats: Shannon entropy, with 0 log 0 = 0."""
        if self.sparse is not None:
            rows = np.repeat(np.arange(len(self)), np.diff(self.sparse.indptr))
            sums = np.bincount(rows, entr(self.sparse.data), minlength=len(self))
            return sums.astype(np.float64)
        return entr(self.probs).sum(axis=1)

    def means(self) -> NDArray[np.float64]:
        """The mean of each row on the scale.

        >>> LabelSet(("a",), ("bad", "good"), [[0.25, 0.75]], values=(0, 100)).means()
        array([75.])
        """
        return self.probs @ np.array(self.require_values("A mean"))

    def require_values(self, what: str) -> tuple[float, ...]:
        """What the classes count; an error where they have no order, as nobody says what."""
        if self.values is None:
            raise DataError(
                f"{what} needs labels whose classes are the points of a scale, and nobody says "
                "what these count. Read the answers as a rating, or give the labels values."
            )
        return self.values

    def top(self) -> list[str]:
        """The most probable class of each item, the first of several."""
        held = self.probs if self.sparse is None else self.sparse
        return [self.classes[place] for place in held.argmax(axis=1)]

    def to_polars(self) -> "pl.DataFrame":
        """Column ``item``, then one column per class."""
        import polars as pl

        _check_reserved(self.classes)
        columns = {name: self.probs[:, place] for place, name in enumerate(self.classes)}
        return pl.DataFrame({"item": pl.Series(self.items, dtype=pl.String), **columns})

    def to_torch(self) -> "torch.Tensor":
        """The rows as a tensor of float32, in the order of ``items``."""
        return _tensor(self.probs)

    def _summary(self) -> str:
        return f"LabelSet of {len(self):,} items and {_named_classes(self.classes)}"

    def change(
        self,
        *,
        provenance: Provenance | None = None,
        crowd: "CrowdLabels | None" = None,
        values: tuple[float, ...] | None = None,
    ) -> "LabelSet":
        """The same labels that came about otherwise, with the judgments behind them, or values."""
        held = self.probs if self.sparse is None else self.sparse
        steps = self.provenance if provenance is None else provenance
        kept = crowd or self.crowd
        return LabelSet(
            self.items, self.classes, held, self.weight, steps, kept, values or self.values
        )

    def _distribution(self, row: int) -> Distribution:
        held = self.probs[row] if self.sparse is None else self.sparse[[row]].toarray()[0]
        return Distribution(zip(self.classes, held.tolist(), strict=True))

    def with_probs(self, probs: NDArray[np.float64], step: Step) -> "LabelSet":
        """The same items and classes with other probabilities, one step later."""
        steps = (*self.provenance, step)
        return LabelSet(self.items, self.classes, probs, self.weight, steps, None, self.values)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CrowdLabels(Tabular):
    """One entry per judgment: which item, whose, and the distribution it stands for.

    ``item`` and ``annotator`` are positions in ``items`` and ``annotators``;
    ``NOT_RECORDED`` stands for a person the file does not name. ``said`` is the row of
    ``answers`` that a judgment stands for: people repeat each other, and a thousand votes for one
    class are a thousand small numbers and one row. ``probs`` writes the rows out.

    >>> CrowdLabels(("a",), ("ann", "ben"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    <CrowdLabels: 2 judgments of 1 items by 2 annotators, 2 classes: cat, dog>
    >>> votes = CrowdLabels(("a",), ("ann", "ben"), ("cat", "dog"), [0, 0], [0, 1], said=[1, 1])
    >>> votes.probs.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    item: NDArray[np.int64]  # (judgments,)
    annotator: NDArray[np.int64]  # (judgments,)
    answers: NDArray[np.float64]  # (answers, classes)
    said: NDArray[np.int32]  # (judgments,)
    provenance: Provenance
    values: tuple[float, ...] | None
    """What the classes count, where they are the points of a scale."""

    def __init__(
        self,
        items: Iterable[object],
        annotators: Iterable[object],
        classes: Iterable[object],
        item: object,
        annotator: object,
        answers: object = None,
        provenance: Provenance = (),
        *,
        said: object = None,
        values: Sequence[float] | None = None,
    ) -> None:
        """``answers`` alone has a row per judgment; ``said`` alone are votes, codes of classes."""
        set_field = partial(object.__setattr__, self)
        set_field("items", _as_texts(items))
        set_field("annotators", _as_texts(annotators))
        set_field("classes", _as_texts(classes))
        set_field("item", _frozen(item, np.int64))
        set_field("annotator", _frozen(annotator, np.int64))
        rows = np.eye(len(self.classes)) if answers is None else answers
        set_field("answers", _frozen(rows, np.float64))
        set_field("said", _frozen(np.arange(len(self.answers)) if said is None else said, np.int32))
        set_field("provenance", provenance)
        set_field("values", _checked_values(values, self.classes))
        _check_unique(self.items, "item")
        _check_unique(self.annotators, "annotator")
        _check_unique(self.classes, "class")
        assert self.item.shape == self.annotator.shape
        assert not len(self.item) or (self.item.min() >= 0 and self.item.max() < len(self.items))
        assert not len(self.item) or self.annotator.max() < len(self.annotators)
        self._check_answers()

    def _check_answers(self) -> None:
        if self.said.shape != self.item.shape:
            raise DataError(
                f"There are {len(self.item)} judgments but {len(self.said)} rows of probabilities."
            )
        assert not len(self.said) or (self.said.min() >= 0 and self.said.max() < len(self.answers))
        _check_rows(self.answers, self.classes, self._where, self.answers)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def probs(self) -> NDArray[np.float64]:
        """One row per judgment, (judgments, classes): large where there are many of both."""
        if len(self.answers) == len(self.said) and (np.diff(self.said) == 1).all():
            return self.answers
        return self.answers[self.said]

    @property
    def votes(self) -> NDArray[np.int64] | None:
        """The class that each judgment chose, where all put everything on one; otherwise None."""
        used = self.answers[np.bincount(self.said, minlength=len(self.answers)) > 0]
        if not ((used == 0) | (used == 1)).all():
            return None
        return self.answers.argmax(axis=1)[self.said]

    def mean(self) -> LabelSet:
        """The average of each item's judgments (S2-21); items nobody judged are left out.

        >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
        >>> crowd.mean().probs
        array([[0.5, 0.5]])
        """
        weight = np.bincount(self.item, minlength=len(self.items)).astype(np.float64)
        judged = weight > 0
        return LabelSet(
            tuple(compress(self.items, judged)),
            self.classes,
            self._shares(judged, weight[judged]),
            weight[judged],
            (*self.provenance, Step("aggregate mean", {"estimand": "what people say"})),
            values=self.values,
        )

    def _shares(self, judged: NDArray[np.bool_], weight: NDArray[np.float64]) -> Any:
        """The sum of each judged item's rows over its weight; sparse where most shares are 0."""
        shape = len(self.items), len(self.classes)
        votes = self.votes
        if votes is None or shape[0] * shape[1] < max(MANY_SHARES, SPARSE_SHARE * len(self)):
            return self._sums(votes)[judged] / weight[:, None]
        key = self.item * shape[1] + votes
        key.sort()
        first = np.flatnonzero(np.diff(key, prepend=-1))
        item, label = np.divmod(key[first], shape[1])
        counts = np.diff(first, append=len(key))
        row = (np.cumsum(judged) - 1)[item]
        return csr_array((counts / weight[row], (row, label)), shape=(len(weight), shape[1]))

    def _sums(self, votes: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """The sum of each item's rows, (items, classes)."""
        shape = len(self.items), len(self.classes)
        if votes is not None:
            counts = np.bincount(self.item * shape[1] + votes, minlength=shape[0] * shape[1])
            return counts.reshape(shape).astype(np.float64)
        columns = (np.bincount(self.item, column[self.said], shape[0]) for column in self.answers.T)
        return np.stack(list(columns), axis=1)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_], step: Step) -> "CrowdLabels":
        """The given judgments only; items and annotators keep their codes."""
        return CrowdLabels(
            self.items,
            self.annotators,
            self.classes,
            self.item[rows],
            self.annotator[rows],
            self.answers,
            (*self.provenance, step),
            said=self.said[rows],
            values=self.values,
        )

    def of_items(self, items: Sequence[Id]) -> "CrowdLabels":
        """The judgments of the given items only; annotators keep their codes."""
        names = _as_texts(items)
        place = {item: at for at, item in enumerate(names)}
        new = np.array([place.get(item, -1) for item in self.items], dtype=np.int64)[self.item]
        rows = new >= 0
        return CrowdLabels(
            names,
            self.annotators,
            self.classes,
            new[rows],
            self.annotator[rows],
            self.answers,
            self.provenance,
            said=self.said[rows],
            values=self.values,
        )

    def with_provenance(
        self, provenance: Provenance, *, values: Sequence[float] | None = None
    ) -> "CrowdLabels":
        """The same judgments that came about otherwise, or whose classes count ``values``."""
        return CrowdLabels(
            self.items,
            self.annotators,
            self.classes,
            self.item,
            self.annotator,
            self.answers,
            provenance,
            said=self.said,
            values=self.values if values is None else values,
        )

    def __getitem__(self, item: Id) -> list[tuple[str | None, Distribution]]:
        """Who said what about one item; None is a person that the file does not name.

        >>> crowd = CrowdLabels(("a",), ("ann", "ben"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
        >>> crowd["a"][1]
        ('ben', {'cat': 0.0, 'dog': 1.0})
        """
        if str(item) not in self.items:
            raise DataError(f"No item is called {str(item)!r}.")
        rows = np.flatnonzero(self.item == self.items.index(str(item)))
        who = [*self.annotators, None]  # NOT_RECORDED is -1, the last
        return [
            (
                who[self.annotator[row]],
                Distribution(zip(self.classes, self.answers[self.said[row]].tolist(), strict=True)),
            )
            for row in rows
        ]

    def to_polars(self) -> "pl.DataFrame":
        """Columns ``item`` and ``annotator``, then one column per class."""
        import polars as pl

        _check_reserved(self.classes)
        who = np.where(self.annotator == NOT_RECORDED, len(self.annotators), self.annotator)
        columns = {name: self.probs[:, place] for place, name in enumerate(self.classes)}
        return pl.DataFrame(
            {
                "item": pl.Series(self.items, dtype=pl.String)[self.item],
                "annotator": pl.Series([*self.annotators, None], dtype=pl.String)[who],
                **columns,
            }
        )

    def to_torch(self) -> "torch.Tensor":
        """The rows as a tensor of float32, one per judgment."""
        return _tensor(self.probs)

    def _summary(self) -> str:
        return (
            f"CrowdLabels: {len(self):,} judgments of {len(self.items):,} items by "
            f"{len(self.annotators):,} annotators, {_named_classes(self.classes)}"
        )

    def _where(self, answer: int) -> str:
        given = np.flatnonzero(self.said == answer)
        if not len(given):
            return f"answer {answer}"
        row = given[0]
        code = self.annotator[row]
        who = "somebody" if code == NOT_RECORDED else repr(self.annotators[code])
        return f"item {self.items[self.item[row]]!r} by {who}"


def hard_labels(
    items: Sequence[str],
    classes: Sequence[str],
    chosen: NDArray[np.integer],
    provenance: Provenance = (),
) -> LabelSet:
    """One-hot rows from class positions.

    >>> hard_labels(["a"], ["cat", "dog"], np.array([1])).probs
    array([[0., 1.]])
    """
    return LabelSet(
        tuple(items), tuple(classes), np.eye(len(classes))[chosen], provenance=provenance
    )


def align(first: LabelSet, second: LabelSet) -> tuple[LabelSet, LabelSet]:
    """Both sets over the items and classes of the first; anything missing is an error."""
    if set(first.classes) != set(second.classes):
        odd = sorted(set(first.classes) ^ set(second.classes))
        raise DataError(
            f"The two label sets have different classes: {', '.join(map(repr, odd[:5]))} "
            "is in one and not in the other."
        )
    second = second.take(first.items)
    if first.classes == second.classes:
        return first, second
    columns = [second.classes.index(name) for name in first.classes]
    values = None if second.values is None else tuple(second.values[place] for place in columns)
    return first, LabelSet(
        second.items,
        first.classes,
        second.probs[:, columns],
        second.weight,
        second.provenance,
        values=values,
    )


def _as_texts(names: Iterable[object]) -> tuple[str, ...]:
    given: tuple[Any, ...] = tuple(names)
    return given if set(map(type, given)) <= {str} else tuple(map(str, given))


def _checked_values(
    values: Sequence[float] | None, classes: tuple[str, ...]
) -> tuple[float, ...] | None:
    if values is None:
        return None
    numbers = tuple(float(value) for value in values)
    if len(numbers) != len(classes) or not np.isfinite(numbers).all():
        raise DataError(
            f"There are {len(classes)} classes; their values are as many finite numbers, not "
            f"{list(values)}."
        )
    return numbers


def _check_reserved(classes: Sequence[str]) -> None:
    reserved = [name for name in classes if name in ("item", "annotator")]
    if reserved:
        raise DataError(
            f"A class cannot be called {reserved[0]!r} in a table of labels; rename it."
        )


def _named_classes(classes: Sequence[str]) -> str:
    shown = [name if len(name) <= 24 else name[:23] + "…" for name in classes[:4]]
    more = ", …" if len(classes) > len(shown) else ""
    return f"{len(classes):,} classes: {', '.join(shown)}{more}"


def _tensor(rows: NDArray[np.float64]) -> "torch.Tensor":
    try:
        import torch
    except ImportError:
        raise missing_package("Making a tensor", "torch", "learn") from None
    return torch.tensor(rows, dtype=torch.float32)


def _frozen(values: object, dtype: type) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.array(values, dtype=dtype)  # a copy: ours to freeze
    array.flags.writeable = False
    return array


def _check_unique(names: tuple[str, ...], what: str) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise DataError(f"The {what} {twice!r} occurs more than once; each {what} needs its own name.")


def _check_sparse(rows: csr_array, classes: tuple[str, ...], items: tuple[str, ...]) -> None:
    if rows.shape != (len(items), len(classes)):
        raise DataError(
            f"There are {len(items)} items and {len(classes)} classes, "
            f"but probabilities of shape {rows.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(rows.data) | (rows.data < 0))
    if len(bad):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"The probability of class {classes[rows.indices[bad[0]]]!r} for item {items[row]!r} "
            f"is {rows.data[bad[0]]}; it must be a number from 0 to 1."
        )
    sums = np.asarray(rows.sum(axis=1)).reshape(-1)
    if not np.allclose(sums, 1, rtol=0, atol=SUM_TOLERANCE):
        worst = int(np.abs(sums - 1).argmax())
        raise DataError(
            f"The probabilities of item {items[worst]!r} sum to {sums[worst]:.4g}, not 1."
        )


def _check_rows(
    probs: NDArray[np.float64],
    classes: tuple[str, ...],
    where: Callable[[int], str],
    rows: Sized,
) -> None:
    if probs.shape != (len(rows), len(classes)):
        raise DataError(
            f"There are {len(rows)} rows and {len(classes)} classes, "
            f"but probabilities of shape {probs.shape}."
        )
    bad = ~np.isfinite(probs) | (probs < 0)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"The probability of class {classes[column]!r} for {where(int(row))} is "
            f"{probs[row, column]}; it must be a number from 0 to 1."
        )
    sums = probs.sum(axis=1)
    if not np.allclose(sums, 1, rtol=0, atol=SUM_TOLERANCE):
        worst = int(np.abs(sums - 1).argmax())
        raise DataError(f"The probabilities of {where(worst)} sum to {sums[worst]:.4g}, not 1.")
