"""Turn judgments into sorted integer codes: the form that every aggregator reads.

Items, annotators and classes are put in the order of their names and judgments in the order
of those, so that no answer can depend on the order in which rows, items or classes came, not
even in its last digit: floating-point sums always run the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet, align
from sfumato.labels.votes import Votes
from sfumato.provenance import Provenance

Codes = NDArray[np.intp]
SmallCodes = NDArray[np.int32]
"""Codes that are used once or twice: half the memory, but slower to count by."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """One entry for each class that a judgment gives mass to; a vote is one entry of mass 1.

    Entries ascend by item, then person, then class. A judgment whose author is not recorded
    counts as a person of its own, after the ``annotators``.
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    item: SmallCodes  # (entries,)
    person: Codes  # (entries,)
    label: SmallCodes  # (entries,)
    mass: NDArray[np.float64]  # (entries,)
    people: int
    """Annotators plus judgments whose author is not recorded."""
    item_order: Codes
    """Rows of ours, put in the order in which the caller's items came."""
    annotator_order: Codes
    class_order: Codes
    weight: NDArray[np.float64]  # (people,), given from outside: 2 counts each vote twice
    provenance: Provenance = ()
    predictions: NDArray[np.float64] | None = None  # (items, classes), a classifier's
    values: NDArray[np.float64] | None = None
    """What the classes count, where they are the points of a scale."""
    gold: tuple[Codes, Codes] | None = None
    """Items whose true label is known, and that label."""

    @cached_property
    def cell(self) -> Codes:
        """For each entry, its place in a flattened table of items by classes."""
        cell = self.item.astype(np.intp)
        cell *= len(self.classes)
        cell += self.label
        return cell

    def votes(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mass of each entry times its person's weight, in this analysis and as given."""
        return self.times_mass((weight * self.weight)[self.person])

    def times_mass(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of entries times their mass, in place; plain votes all have mass 1."""
        if self.mass.strides != (0,):
            values *= self.mass
        return values

    def table(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sum of mass for each item and class, shape (items, classes)."""
        shape = len(self.items), len(self.classes)
        plain = bool((weight * self.weight == 1).all())
        votes = self.mass if plain else self.votes(weight)
        return sum_by(self.cell, votes, shape[0] * shape[1]).reshape(shape)

    def start(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where models of a hidden label start: the shares of the votes, or the known truth."""
        table = self.table(weight)
        table /= table.sum(axis=1, keepdims=True)
        return self.with_truth(table)

    def with_truth(self, probs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same beliefs, in place, but certain of what is known."""
        if self.gold is not None:
            items, labels = self.gold
            probs[items] = 0
            probs[items, labels] = 1
        return probs

    def rule_out(self, log_joint: NDArray[np.float64], first: int = 0) -> NDArray[np.float64]:
        """Log-probabilities, in place, without what the known truth excludes.

        ``log_joint`` has the rows of all items, or of a part of them from ``first``.
        """
        if self.gold is not None:
            items, labels = self.gold
            here = (items >= first) & (items < first + len(log_joint))
            items, labels = items[here] - first, labels[here]
            known = log_joint[items, labels]
            log_joint[items] = -np.inf
            log_joint[items, labels] = known
        return log_joint

    def each_person_once(self) -> NDArray[np.float64]:
        """The weights of a plain, not a resampled, analysis."""
        return np.ones(self.people)

    def with_weights(self, weights: Mapping[str, float]) -> "Evidence":
        """The same evidence; who is not named in ``weights`` weighs 1."""
        given = self.weight.copy()
        rows = {name: row for row, name in enumerate(self.annotators)}
        for name, weight in weights.items():
            if name not in rows:
                raise DataError(f"A weight is given for {name!r}, who judged nothing here.")
            if not (isinstance(weight, int | float) and np.isfinite(weight) and weight > 0):
                raise DataError(
                    f"The weight of {name!r} is {weight}; it must be a number above zero."
                )
            given[rows[name]] = weight
        return replace(self, weight=given)

    def with_gold(self, gold: Mapping[str, str]) -> "Evidence":
        """The same evidence with the true label of some items; items nobody judged are ignored."""
        place = {name: code for code, name in enumerate(self.classes)}
        wrong = [(item, name) for item, name in gold.items() if name not in place]
        if wrong:
            raise DataError(
                f"The known label of item {wrong[0][0]!r} is {wrong[0][1]!r}, which is no class "
                f"here; there are {', '.join(map(repr, self.classes[:5]))}"
                f"{', …' if len(self.classes) > 5 else ''}."
            )
        known = [(row, place[gold[name]]) for row, name in enumerate(self.items) if name in gold]
        if not known:
            raise DataError("No item with a known label was judged; check how items are called.")
        items, labels = np.array(known, dtype=np.intp).T
        return replace(self, gold=(items, labels))

    def with_values(self, values: Mapping[str, float]) -> "Evidence":
        """The same evidence on a scale, whose points count ``values`` by class."""
        return replace(self, values=np.array([values[name] for name in self.classes]))

    def with_predictions(self, predictions: LabelSet) -> "Evidence":
        """The same evidence beside a classifier's beliefs about the same items and classes."""
        found = predictions.take(self.items)
        one = LabelSet(self.items[:1], self.classes, np.eye(1, len(self.classes)))
        align(one, found)  # refuses other classes
        columns = [found.classes.index(name) for name in self.classes]
        return replace(self, predictions=found.probs[:, columns])


def evidence_of_votes(votes: Votes) -> Evidence:
    """Votes in canonical order; items nobody voted on and annotators who gave none are left out."""
    items, annotators, classes = _canonical(
        votes, votes.item, votes.annotator, what=(votes.items, votes.annotators, votes.classes)
    )
    wide = len(annotators.names) + 1  # the last place is for those not recorded
    # in place: at millions of votes, fresh memory costs more than the arithmetic
    key = items.rank[votes.item]
    key *= wide
    key += _recode(annotators, votes.annotator)
    key *= len(classes.names)
    key += classes.rank[votes.label]
    key.sort()
    label = (key % len(classes.names)).astype(np.int32)
    key //= len(classes.names)
    who = key % wide
    key //= wide
    return _evidence((items, annotators, classes), (key, who, label), None, votes.provenance)


def evidence_of_distributions(
    crowd: CrowdLabels, times: NDArray[np.float64] | None = None
) -> Evidence:
    """Distributions in canonical order, one entry for each class with mass.

    Rows are scaled to sum to one exactly: up to ``SUM_TOLERANCE`` is allowed before. ``times`` is
    what each judgment's row counts for then, such as the sum of the scores it was made of.
    """
    items, annotators, classes = _canonical(
        crowd, crowd.item, crowd.annotator, what=(crowd.items, crowd.annotators, crowd.classes)
    )
    probs = crowd.answers[:, np.argsort(classes.rank)]  # (answers, classes)
    item, who = items.rank[crowd.item], _recode(annotators, crowd.annotator)
    order = _sorted_judgments(item * (len(annotators.names) + 1) + who, probs, crowd.said)
    probs = probs / probs.sum(axis=1, keepdims=True)
    row, label, mass = _entries(probs, crowd.said[order])
    evidence = _evidence(
        (items, annotators, classes),
        (item[order][row], who[order][row], label),
        row,
        crowd.provenance,
    )
    return replace(evidence, mass=mass if times is None else mass * times[order][row])


def evidence_of_counts(
    items: Sequence[str], classes: Sequence[str], votes: csr_array, provenance: Provenance
) -> Evidence:
    """Counted votes in canonical order: every count is the mass of somebody not recorded."""
    rows, columns = (_names(names, np.ones(len(names), dtype=bool)) for names in (items, classes))
    held = csr_array(votes[np.argsort(rows.rank)][:, np.argsort(columns.rank)])
    held.sort_indices()
    item = np.repeat(np.arange(len(items)), np.diff(held.indptr))
    nobody = _Names((), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    who = np.zeros(len(item), dtype=np.intp)
    evidence = _evidence((rows, nobody, columns), (item, who, held.indices), None, provenance)
    return replace(evidence, mass=held.data.astype(np.float64))


def _entries(
    probs: NDArray[np.float64], said: NDArray[np.int32]
) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """Judgment, class and mass of each class that a judgment gives mass to."""
    answer, label = np.nonzero(probs)
    many = np.bincount(answer, minlength=len(probs))  # classes with mass of each answer
    first = np.cumsum(many) - many
    length = many[said]
    row = np.repeat(np.arange(len(said)), length)
    place = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    entry = first[said][row] + place
    return row, label[entry], probs[answer, label][entry]


def sum_by(
    group: NDArray[np.integer[Any]], values: NDArray[np.float64], groups: int
) -> NDArray[np.float64]:
    """Sum of the values of each group, shape (groups,)."""
    if values.strides == (0,) and len(values):  # one value for all: nothing to write out
        return np.bincount(group, minlength=groups) * values[0]
    return np.asarray(np.bincount(group, weights=values, minlength=groups), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Names:
    names: tuple[str, ...]  # those that occur, sorted
    rank: Codes  # the caller's code -> position in ``names``; meaningless for others
    order: Codes  # positions in ``names`` in the caller's order


def _canonical(
    judgments: CrowdLabels | Votes,
    item: NDArray[np.int64],
    annotator: NDArray[np.int64],
    *,
    what: tuple[Sequence[str], Sequence[str], Sequence[str]],
) -> tuple[_Names, _Names, _Names]:
    if not len(judgments):
        raise DataError(
            "There are no judgments to aggregate. Check whether exclusions or ties removed all."
        )
    items, annotators, classes = what
    recorded = annotator[annotator != NOT_RECORDED]
    return (
        _names(items, np.bincount(item, minlength=len(items)) > 0),
        _names(annotators, np.bincount(recorded, minlength=len(annotators)) > 0),
        _names(classes, np.ones(len(classes), dtype=bool)),
    )


def _names(names: Sequence[str], occurs: NDArray[np.bool_]) -> _Names:
    codes = np.flatnonzero(occurs)
    by_name = sorted(codes.tolist(), key=names.__getitem__)
    rank = np.zeros(len(names), dtype=np.intp)
    rank[by_name] = np.arange(len(by_name))
    return _Names(tuple(map(names.__getitem__, by_name)), rank, rank[codes])


def _recode(annotators: _Names, annotator: NDArray[np.int64]) -> Codes:
    nobody = np.append(annotators.rank, len(annotators.names))  # NOT_RECORDED is -1: the last place
    return nobody[annotator]


def _sorted_judgments(key: Codes, probs: NDArray[np.float64], said: NDArray[np.int32]) -> Codes:
    order = np.argsort(key, kind="stable")
    if (np.diff(key[order]) > 0).all():
        return order
    # the same person twice, or several unknown ones: the answers themselves decide the order
    rank = np.unique(probs, axis=0, return_inverse=True)[1].reshape(-1)
    return np.lexsort((rank[said], key))


def _evidence(
    names: tuple[_Names, _Names, _Names],
    codes: tuple[Codes, Codes, Codes | SmallCodes],
    judgment: Codes | None,
    provenance: Provenance,
) -> Evidence:
    items, annotators, classes = names
    item, who, label = codes
    unknown = who == len(annotators.names)
    strangers = 0
    if unknown.any():
        if judgment is None:  # every entry is a judgment of its own
            judgment = np.arange(len(who))
        of_stranger, stranger = np.unique(judgment[unknown], return_inverse=True)
        strangers = len(of_stranger)
        who[unknown] += stranger
    return Evidence(
        items=items.names,
        annotators=annotators.names,
        classes=classes.names,
        item=item.astype(np.int32),
        person=who,
        label=label.astype(np.int32),
        mass=np.broadcast_to(np.float64(1), len(item)),
        people=len(annotators.names) + strangers,
        item_order=items.order,
        annotator_order=annotators.order,
        class_order=classes.rank,
        weight=np.ones(len(annotators.names) + strangers),
        provenance=provenance,
    )
