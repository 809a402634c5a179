"""Turn item ids into parts: what a network learns from, what is chosen on, what is reported.

Items are put in their natural order before anything is drawn, so the order in which they come
does not matter: the same items and the same state of ``rng`` give the same parts. What is
chosen (an epoch, a learning rate) is chosen on a part of the training items by default; the
published practice of choosing on the very items that are reported (C7) has to be asked for and
stays written in the split.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, assert_never

import numpy as np

from sfumato.errors import DataError
from sfumato.labels.alter import apportion
from sfumato.labels.labelset import LabelSet
from sfumato.names import sorted_names

Selection = Literal["nested", "on-test-part", "none"]
"""Where epochs and settings are chosen: on a part of its own, on the part that is then reported
(as published, C7: too hopeful), or nowhere, as with a fixed number of epochs."""

NESTED_SHARE = 0.1
"""The share of the training items that is set aside to choose on, unless told otherwise."""


@dataclass(frozen=True)
class Split:
    """Which items are for what; no item is in two parts, and no part is empty.

    ``validation`` is what ``selection`` says: a part of its own, the test part, or nothing.
    ``second_test`` is a second set to report on, for designs that have one (S2-48).

    >>> Split(train=("a", "b"), validation=("c",), test=("c",))
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: Item 'c' is in the validation part and in the test part; ...
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    second_test: tuple[str, ...] = ()
    selection: Selection = "nested"

    def __post_init__(self) -> None:
        for name in ("train", "validation", "test", "second_test"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        match self.selection:
            case "nested":
                own = {"validation": self.validation}
            case "on-test-part":
                own = {}
                if self.validation != self.test:
                    raise DataError(
                        "The selection is on the test part, but the validation part is another "
                        "one; make them the same."
                    )
            case "none":
                own = {}
                if self.validation:
                    raise DataError(
                        f"Nothing is selected, but item {self.validation[0]!r} is in the "
                        'validation part; use selection="nested" to choose on it.'
                    )
            case _:
                assert_never(self.selection)
        _check_parts({"training": self.train, **own, "test": self.test}, self.second_test)


def class_of(labels: LabelSet) -> dict[str, str]:
    """Each item's most probable class, the first of those that tie: strata for the splits here.

    >>> class_of(LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]]))
    {'a': 'cat', 'b': 'dog'}
    """
    top = labels.probs.argmax(axis=1)
    return {item: labels.classes[k] for item, k in zip(labels.items, top, strict=True)}


def k_folds(
    items: Sequence[str],
    k: int,
    *,
    strata: Mapping[str, str] | None = None,
    selection: Selection = "nested",
    validation_share: float = NESTED_SHARE,
    rng: np.random.Generator,
) -> tuple[Split, ...]:
    """k splits whose test parts have every item once; sizes differ by at most one (S0-24).

    With ``strata`` (item to stratum) the same holds for every stratum. With ``"nested"``
    selection ``validation_share`` of each training part is set aside to choose on. The test
    parts are the same for every selection.

    >>> folds = k_folds("abcdef", 3, selection="none", rng=np.random.default_rng(0))
    >>> [fold.test for fold in folds]
    [('d', 'e'), ('a', 'c'), ('b', 'f')]
    """
    items = _in_order(items)
    if not 2 <= k <= len(items):
        raise DataError(
            f"{len(items)} items cannot be dealt to {k} folds: there must be from 2 folds to as "
            "many as there are items."
        )
    groups = _shuffled_groups(items, strata, rng)
    # Dealt round one stratum after the other: every fold gets its turn in each and in all.
    fold_of = {item: place % k for place, item in enumerate(chain.from_iterable(groups.values()))}
    folds = []
    for fold in range(k):
        train = tuple(item for item in items if fold_of[item] != fold)
        test = tuple(item for item in items if fold_of[item] == fold)
        if strata is not None:
            _require_trained(train, test, strata, f" of fold {fold + 1}")
        split = Split(train, (), test, selection="none")
        folds.append(_selecting(split, selection, validation_share, strata, rng))
    return tuple(folds)


def stratified_split(
    items: Sequence[str],
    strata: Mapping[str, str],
    shares: tuple[float, float, float],
    *,
    rng: np.random.Generator,
) -> Split:
    """Training, validation and test parts with the same mix of strata (S4-41).

    Each part has its share of all items and of every stratum, to within one item. What does not
    divide goes to test, then to validation, which gives the published sizes of paper 5: 2,131,
    457 and 457 of 3,045 items; 1,738, 373 and 373 of 2,484.

    >>> strata = {item: "odd" if int(item) % 2 else "even" for item in map(str, range(20))}
    >>> stratified_split(list(strata), strata, (0.7, 0.15, 0.15), rng=np.random.default_rng(0)).test
    ('1', '14', '15')
    """
    if min(shares) <= 0 or not np.isclose(sum(shares), 1):
        raise DataError(
            f"The shares of training, validation and test are {shares}; each must be above 0 and "
            "they must sum to 1."
        )
    train, validation, test = _parts(_in_order(items), strata, shares, rng)
    _require_trained(train, (*validation, *test), strata, "")
    return Split(train, validation, test)


def given_split(
    train_items: Sequence[str],
    test_items: Sequence[str],
    *,
    validation_share: float = NESTED_SHARE,
    strata: Mapping[str, str] | None = None,
    rng: np.random.Generator,
) -> Split:
    """A split that came with the data, with a part of the training items to choose on.

    >>> given_split("abcdef", "xyz", validation_share=0.5, rng=np.random.default_rng(0)).train
    ('c', 'd', 'f')
    """
    split = Split(_in_order(train_items), (), _in_order(test_items), selection="none")
    return with_validation(split, validation_share, strata=strata, rng=rng)


def role_swap(
    test_items: Sequence[str],
    train_items: Sequence[str],
    *,
    validation_share: float = NESTED_SHARE,
    strata: Mapping[str, str] | None = None,
    rng: np.random.Generator,
) -> Split:
    """Learn from a dataset's test items, report on its training items (S0-26).

    >>> role_swap("abcd", "xyz", validation_share=0.25, rng=np.random.default_rng(0)).test
    ('x', 'y', 'z')
    """
    return given_split(
        test_items, train_items, validation_share=validation_share, strata=strata, rng=rng
    )


def seventy_thirty_with_held_out(
    train_items: Sequence[str],
    test_items: Sequence[str],
    elicited: Sequence[str],
    *,
    held_out: int = 100,
    rng: np.random.Generator,
) -> Split:
    """The published 70/30 split with some elicited items held out, other ones each seed (S2-48).

    ``train_items`` and ``test_items`` are the 7,000 and the 3,000, ``elicited`` the 1,000, all
    among the 7,000. The ``held_out`` ones are the second test set: they leave training, which
    keeps 6,900. They are far more ambiguous than the 3,000 (C14), so say which of the two a
    number is about. Epochs are fixed in this protocol, so nothing is selected.
    """
    train, second = _in_order(train_items), _in_order(elicited)
    outside = set(second) - set(train)
    if outside:
        raise DataError(
            f"The elicited item {min(outside)!r} is not among the training items "
            f"({len(outside)} of {len(second)} are not). Give only elicited items of that part."
        )
    out = _first(second, held_out, "elicited items", rng)
    kept = tuple(item for item in train if item not in set(out))
    return Split(kept, (), _in_order(test_items), second_test=out, selection="none")


def with_validation(
    split: Split,
    share: float,
    *,
    strata: Mapping[str, str] | None = None,
    rng: np.random.Generator,
) -> Split:
    """The split with a share of its training part set aside to choose on, rounded up.

    >>> split = Split(("a", "b", "c"), (), ("d",), selection="none")
    >>> with_validation(split, 0.4, rng=np.random.default_rng(0))
    Split(train=('c',), validation=('a', 'b'), test=('d',), second_test=(), selection='nested')
    """
    if split.selection != "none":
        raise DataError(
            f"The split has a selection already ({split.selection!r}); start from one without."
        )
    train, validation = set_aside(split.train, share, strata=strata, rng=rng)
    return replace(split, train=train, validation=validation, selection="nested")


def set_aside(
    items: Sequence[str],
    share: float,
    *,
    strata: Mapping[str, str] | None = None,
    rng: np.random.Generator,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The items to learn from, and a share of all, rounded up, to choose on.

    >>> set_aside("abcd", 0.25, rng=np.random.default_rng(0))
    (('a', 'b', 'c'), ('d',))
    """
    if not 0 < share < 1:
        raise DataError(
            f"The share to choose on is {share}; it must be above 0 and below 1. For a fixed "
            "number of epochs choose nothing."
        )
    train, validation = _parts(_in_order(items), strata, (1 - share, share), rng)
    if strata is not None:
        _require_trained(train, validation, strata, "")
    return train, validation


def small_data(
    split: Split, labels: LabelSet, per_class: int, *, rng: np.random.Generator
) -> Split:
    """The split with only ``per_class`` training items of each class, say 80 or 8 (S1-42).

    A class is the most probable one. The other parts stay as they are, and with the same seed
    fewer items are among the more, so sizes can be compared.

    >>> labels = LabelSet("abcd", ("cat", "dog"), np.eye(2)[[0, 0, 1, 1]])
    >>> split = Split(tuple("abcd"), (), ("e",), selection="none")
    >>> small_data(split, labels, 1, rng=np.random.default_rng(0)).train
    ('a', 'c')
    """
    return learning_curve(split, labels, (per_class,), rng=rng)[0]


def learning_curve(
    split: Split, labels: LabelSet, per_class: Sequence[int], *, rng: np.random.Generator
) -> tuple[Split, ...]:
    """The split with fewer training items, one split a size, the smaller inside the larger (S4-27).

    ``per_class`` are numbers of items of each class: 50, 100, 150, 300, 500, 1000, 2000 in the
    paper. Classes are the most probable ones of ``labels``; validation and test stay.
    """
    if not per_class or min(per_class) < 1:
        raise DataError(f"The items a class asked for are {list(per_class)}; ask for 1 or more.")
    of_item = class_of(labels.take(split.train))
    groups = _shuffled_groups(_in_order(split.train), of_item, rng)
    largest = max(per_class)
    for name in labels.classes:
        if len(groups.get(name, ())) < largest:
            raise DataError(
                f"The training part has {len(groups.get(name, ()))} items of class {name!r}, "
                f"fewer than the {largest} asked for. Ask for fewer, or leave the class out."
            )
    subsets = ([item for group in groups.values() for item in group[:n]] for n in per_class)
    return tuple(replace(split, train=_in_order(subset)) for subset in subsets)


def elicited_only(
    split: Split, elicited: Sequence[str], count: int, *, rng: np.random.Generator
) -> Split:
    """The split with only ``count`` elicited items to learn from: 250, 500, 750, 900 (S2-53).

    They are drawn from the elicited items of the training part; the others leave it. With the
    same seed fewer items are among the more.
    """
    known = set(elicited)
    there = _in_order([item for item in split.train if item in known])
    return replace(split, train=_first(there, count, "elicited items for training", rng))


def require_classes(split: Split, labels: LabelSet) -> None:
    """Refuse a split whose training part lacks a class that is asked about.

    A class is missing if it is the most probable one of an item that is chosen or reported on
    and of no training item. Items that have no label here are not asked about.
    """
    known = set(labels.items)
    parts = (*split.validation, *split.test, *split.second_test)
    asked = tuple(item for item in parts if item in known)
    of_item = class_of(labels.take(tuple(dict.fromkeys((*split.train, *asked)))))
    _require_trained(split.train, asked, of_item, "")


def _selecting(
    split: Split,
    selection: Selection,
    share: float,
    strata: Mapping[str, str] | None,
    rng: np.random.Generator,
) -> Split:
    match selection:
        case "nested":
            return with_validation(split, share, strata=strata, rng=rng)
        case "on-test-part":
            return replace(split, validation=split.test, selection=selection)
        case "none":
            return split
        case _:
            assert_never(selection)


def _parts(
    items: tuple[str, ...],
    strata: Mapping[str, str] | None,
    shares: Sequence[float],
    rng: np.random.Generator,
) -> list[tuple[str, ...]]:
    """One part a share, training first, each in the items' order."""
    groups = _shuffled_groups(items, strata, rng)
    sizes = apportion([len(group) for group in groups.values()], shares)
    part_of: dict[str, int] = {}
    for group, counts in zip(groups.values(), sizes, strict=True):
        part_of |= dict(zip(group, np.arange(len(shares)).repeat(counts), strict=True))
    return [tuple(item for item in items if part_of[item] == part) for part in range(len(shares))]


def _shuffled_groups(
    items: tuple[str, ...], strata: Mapping[str, str] | None, rng: np.random.Generator
) -> dict[str, list[str]]:
    """Stratum to its items in random order; strata in the order of their names."""
    if strata is None:
        strata = dict.fromkeys(items, "all")
    missing = [item for item in items if item not in strata]
    if missing:
        raise DataError(
            f"Item {missing[0]!r} has no stratum ({len(missing)} of {len(items)} without one)."
        )
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for place in rng.permutation(len(items)):
        groups[strata[items[place]]].append(items[place])
    return {name: groups[name] for name in sorted(groups)}


def _first(
    items: tuple[str, ...], count: int, what: str, rng: np.random.Generator
) -> tuple[str, ...]:
    """``count`` random items; the same state of ``rng`` gives more of the same for a larger one."""
    if not 1 <= count <= len(items):
        raise DataError(
            f"{count} {what} were asked for, but there are {len(items)}; ask for at least 1 and "
            "at most all of them."
        )
    return _in_order([items[place] for place in rng.permutation(len(items))[:count]])


def _in_order(items: Sequence[str]) -> tuple[str, ...]:
    if len(set(items)) < len(items):
        twice = Counter(items).most_common(1)[0][0]
        raise DataError(f"The item {twice!r} occurs more than once; give each item once.")
    return tuple(sorted_names(items))


def _check_parts(parts: Mapping[str, tuple[str, ...]], second_test: tuple[str, ...]) -> None:
    part_of: dict[str, str] = {}
    for part, items in {**parts, "second test": second_test}.items():
        if part in parts and not items:
            raise DataError(f"The {part} part of the split is empty; give it at least one item.")
        for item in items:
            if item in part_of:
                raise DataError(
                    f"Item {item!r} is in the {part_of[item]} part and in the {part} part; "
                    "every item may be in one part once."
                )
            part_of[item] = part


def _require_trained(
    train: Sequence[str], asked: Sequence[str], strata: Mapping[str, str], where: str
) -> None:
    trained = {strata[item] for item in train}
    for item in asked:
        if strata[item] not in trained:
            raise DataError(
                f"No item of {strata[item]!r} is in the training part{where}, but item {item!r} "
                "is to be predicted. Give more items of it, or leave it out."
            )
