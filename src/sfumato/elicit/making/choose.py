"""Turn what is known about items into those to ask about: hard and easy ones, in batches.

What is known are labels of people or what models believe; several files are an ensemble, whose
members should not have seen the items (S1-07). Hard items have much entropy, or divide the
ensemble; easy ones keep people awake and show who pays attention (S2-04, S2-05).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy

Doubt = Literal["entropy", "disagreement"]
"""Mean entropy of the members, in nats, or how far they differ."""
TINY = 1e-12


@dataclass(frozen=True)
class ItemChoice:
    """How many items of each kind, and what makes them so."""

    hard: int
    easy: int = 0
    hard_above: float | None = None
    """Hard items are drawn from those above; None: those with most doubt are taken."""
    easy_below: float | None = None
    """Easy items are drawn from those at most here; None: those with least doubt are taken."""
    batches: int | None = None
    """Into which all are dealt, so that each has as many hard and as many easy ones."""


def doubt_of(ensemble: Sequence[LabelSet], kind: Doubt) -> NDArray[np.float64]:
    """The doubt about each item of the first set; the others must hold the same items.

    Disagreement is the mean symmetric relative entropy over pairs of members (S1-07).

    >>> sure = LabelSet(("a", "b"), ("cat", "dog"), [[1.0, 0.0], [0.5, 0.5]])
    >>> doubt_of([sure], "entropy").round(3).tolist()
    [0.0, 0.693]
    """
    first = ensemble[0]
    members = [first, *(one.take(first.items) for one in ensemble[1:])]
    if any(one.classes != first.classes for one in members):
        raise DataError("The members of an ensemble must be about the same classes.")
    match kind:
        case "entropy":
            return np.mean([entropy(one) for one in members], axis=0)
        case "disagreement":
            if len(members) < 2:
                raise DataError("Disagreement needs two files or more: the members of an ensemble.")
            apart = [_symmetric(one.probs, two.probs) for one, two in combinations(members, 2)]
            return np.mean(apart, axis=0)
        case _:
            assert_never(kind)


def _symmetric(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    one, two = np.maximum(one, TINY), np.maximum(two, TINY)
    return np.asarray(((one - two) * (np.log(one) - np.log(two))).sum(axis=1))


def choose_items(
    items: Sequence[str],
    doubt: NDArray[np.float64],
    choice: ItemChoice,
    *,
    rng: np.random.Generator,
    groups: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The items to ask about: ``image``, ``batch``, ``kind`` (hard, easy) and ``doubt``.

    ``groups`` has one row per item and one column per level, the outermost first. The numbers are
    then shared out level by level, as evenly as can be, and every batch has as many items of each
    group, and as many hard and easy ones in it, as any other, give or take one.
    """
    groups = pl.DataFrame(height=len(items)) if groups is None else groups
    chosen = _chosen(doubt, choice, groups.rows() if groups.width else [()] * len(items), rng)
    dealt = _dealt(chosen, choice.batches or 1, rng)
    places = np.concatenate([np.empty(0, np.int64), *chosen.values()])
    kinds = [kind for (kind, *_), found in chosen.items() for _ in found]
    table = pl.DataFrame(
        {
            "image": [items[place] for place in places],
            "batch": [f"{batch + 1}" for batch in dealt],
            "kind": kinds,
            "doubt": doubt[places],
        }
    ).hstack(groups[places] if groups.width else [])
    return table if choice.batches else table.drop("batch")


Cell: TypeAlias = tuple[str, ...]
"""The kind of an item, then its groups, the outermost first."""


def _chosen(
    doubt: NDArray[np.float64],
    choice: ItemChoice,
    groups: Sequence[tuple[str, ...]],
    rng: np.random.Generator,
) -> dict[Cell, NDArray[np.int64]]:
    """The places of the items of each kind and group, in random order."""
    inside: dict[tuple[str, ...], list[int]] = {}
    for place, group in enumerate(groups):
        inside.setdefault(group, []).append(place)
    chosen: dict[Cell, NDArray[np.int64]] = {}
    # Doubt is turned round for easy ones, so that least is most.
    below = None if choice.easy_below is None else -choice.easy_below - TINY
    wanted = (
        ("hard", choice.hard, doubt, choice.hard_above),
        ("easy", choice.easy, -doubt, below),
    )
    for kind, number, most, above in wanted:
        if number % (choice.batches or 1):
            raise DataError(
                f"{number:,} {kind} items cannot be dealt evenly into {choice.batches:,} batches; "
                f"{number - number % (choice.batches or 1):,} can."
            )
        for group, count in _shared_out(number, sorted(inside), rng).items():
            left = np.setdiff1d(inside[group], chosen.get(("hard", *group), []))
            what = " of ".join((f"{kind} items", *reversed(group)))
            taken = _taken(most[left], count, above=above, rng=rng, what=what)
            chosen[kind, *group] = left[taken]
    return chosen


def _shared_out(
    number: int, groups: Sequence[tuple[str, ...]], rng: np.random.Generator, level: int = 0
) -> dict[tuple[str, ...], int]:
    """How many each group gets: as even as can be between those of a level, then within each."""
    if level == len(groups[0]):
        return {groups[0]: number}
    names = sorted({group[level] for group in groups})
    extra = rng.permutation(len(names))[: number % len(names)].tolist()
    shared: dict[tuple[str, ...], int] = {}
    for place, name in enumerate(names):
        within = [group for group in groups if group[level] == name]
        shared |= _shared_out(number // len(names) + (place in extra), within, rng, level + 1)
    return shared


def _taken(
    doubt: NDArray[np.float64],
    count: int,
    *,
    above: float | None,
    rng: np.random.Generator,
    what: str,
) -> NDArray[np.int64]:
    """So many places, in random order: drawn from those above a value, or those with most."""
    pool = np.flatnonzero(doubt > above) if above is not None else np.arange(len(doubt))
    if count > len(pool):
        raise DataError(
            f"{count:,} {what} are wanted, but only {len(pool):,} of {len(doubt):,} are; "
            "want fewer, or move the bound."
        )
    if above is None:
        pool = pool[np.argsort(-doubt[pool], kind="stable")[:count]]
    return rng.permutation(pool)[:count]


def _dealt(
    chosen: Mapping[Cell, NDArray[np.int64]], batches: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The batch of each item: every kind, group and kind within a group has n / batches, ± 1.

    A batch takes whole numbers next to its fair part of what is left. Groups, and kinds with their
    groups, are two trees of sets; their matrix is totally unimodular, so that such numbers exist.
    """
    sets: dict[Cell, list[int]] = {}
    for column, (kind, *groups) in enumerate(chosen):
        for depth in range(len(groups) + 1):
            sets.setdefault((kind, *groups[:depth]), []).append(column)
            sets.setdefault(("", *groups[:depth]), []).append(column)
    rows = np.repeat(np.arange(len(sets)), [len(columns) for columns in sets.values()])
    columns = np.concatenate(list(sets.values()))
    member = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(sets), len(chosen)))
    left = np.array([len(found) for found in chosen.values()])
    parts = np.zeros((len(chosen), batches), dtype=np.int64)
    for batch in range(batches):
        fair = (member @ left) / (batches - batch)
        bounds = LinearConstraint(member, np.floor(fair), np.ceil(fair))
        found = milp(rng.random(len(left)), integrality=np.ones(len(left)), constraints=bounds)
        parts[:, batch] = np.rint(found.x)
        left = left - parts[:, batch]
    return np.concatenate([np.repeat(np.arange(batches), part) for part in parts])
