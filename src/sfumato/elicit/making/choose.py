"""Turn what is known about items into those to ask about: hard and easy ones, in batches.

What is known are labels of people or what models believe; several files are an ensemble, whose
members should not have seen the items (S1-07). Hard items have much entropy, or divide the
ensemble; easy ones keep people awake and show who pays attention (S2-04, S2-05).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
) -> pl.DataFrame:
    """The items to ask about: ``image``, ``batch``, ``kind`` (hard, easy) and ``doubt``."""
    hard = _taken(doubt, choice.hard, above=choice.hard_above, rng=rng)
    left = np.setdiff1d(np.arange(len(doubt)), hard)
    # Turned round, so that least doubt is most.
    below = None if choice.easy_below is None else -choice.easy_below - TINY
    easy = left[_taken(-doubt[left], choice.easy, above=below, rng=rng, what="easy")]
    rows = [
        (items[place], f"{batch + 1}", kind, float(doubt[place]))
        for kind, chosen in (("hard", hard), ("easy", easy))
        for place, batch in zip(chosen.tolist(), _dealt(len(chosen), choice, kind), strict=True)
    ]
    table = pl.DataFrame(rows, schema=["image", "batch", "kind", "doubt"], orient="row")
    return table if choice.batches else table.drop("batch")


def _taken(
    doubt: NDArray[np.float64],
    count: int,
    *,
    above: float | None,
    rng: np.random.Generator,
    what: str = "hard",
) -> NDArray[np.int64]:
    """So many places, in random order: drawn from those above a value, or those with most."""
    pool = np.flatnonzero(doubt > above) if above is not None else np.arange(len(doubt))
    if count > len(pool):
        raise DataError(
            f"{count:,} {what} items are wanted, but only {len(pool):,} of {len(doubt):,} are; "
            "want fewer, or move the bound."
        )
    if above is None:
        pool = pool[np.argsort(-doubt[pool], kind="stable")[:count]]
    return rng.permutation(pool)[:count]


def _dealt(count: int, choice: ItemChoice, kind: str) -> list[int]:
    """The batch of each of so many items; every batch gets the same number."""
    if not choice.batches:
        return [0] * count
    if count % choice.batches:
        raise DataError(
            f"{count:,} {kind} items cannot be dealt evenly into {choice.batches:,} batches; "
            f"{count - count % choice.batches:,} can."
        )
    return [place % choice.batches for place in range(count)]
