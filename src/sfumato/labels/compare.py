"""Turn two label sets over the same items into distances, one per item, or a correlation.

The second set is brought into the item and class order of the first, and may hold more items.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron, vstack
from scipy.special import rel_entr

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import entropy
from sfumato.stats import ROUNDING, pearson, spearman

# Turn two arrays of probability rows into one distance per row.
#
# These work on bare arrays, so that label sets (``compare``) and single judgments
# (``agreement``) share one definition. Everything logarithmic is in nats.

Rows = NDArray[np.float64]

SMALLEST = float(np.finfo(np.float32).tiny)
"""A model's probability counts as at least this (1.2e-38) inside a logarithm.

It is the smallest normal number of the precision in which networks answer, so it changes no
probability that a softmax can express, and a class that a model excludes costs 87.3 nats for each
unit of human mass instead of making the mean infinite. A coarser floor such as 1e-12 would move
the published cross-entropies of the stored networks in the third decimal."""

Divergence = Literal["jensen-shannon", "total-variation", "earth-mover"]
"""Symmetric distances: at most log 2, at most 1, and at most the length of the scale."""


def divergence_rows(
    first: Rows, second: Rows, divergence: Divergence, values: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """The distance of the given name, row by row; ``values`` are those of a scale's points."""
    match divergence:
        case "earth-mover":
            if values is None:
                raise DataError("The earth mover's distance needs the values of a scale's points.")
            return earth_mover_rows(first, second, values)
        case "jensen-shannon":
            return jensen_shannon_rows(first, second)
        case "total-variation":
            return total_variation_rows(first, second)
        case _:
            assert_never(divergence)


def total_variation_rows(first: Rows, second: Rows) -> NDArray[np.float64]:
    """Half the sum of absolute differences: the mass that lies elsewhere.

    >>> total_variation_rows(np.array([[0.7, 0.3]]), np.array([[0.5, 0.5]])).round(3)
    array([0.2])
    """
    return np.abs(first - second).sum(axis=-1) / 2


def kl_rows(first: Rows, second: Rows) -> NDArray[np.float64]:
    """Σ p log(p/q); infinite where the second excludes what the first allows.

    >>> kl_rows(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.6931,    inf])
    """
    return np.maximum(rel_entr(first, second).sum(axis=-1), 0)  # rounding may end below zero


def jensen_shannon_rows(first: Rows, second: Rows) -> NDArray[np.float64]:
    """Mean Kullback–Leibler divergence to the midpoint; the divergence, not its square root.

    >>> jensen_shannon_rows(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])).round(4)  # log 2
    array([0.6931])
    """
    middle = (first + second) / 2
    return (kl_rows(first, middle) + kl_rows(second, middle)) / 2


def earth_mover_rows(first: Rows, second: Rows, values: Sequence[float]) -> NDArray[np.float64]:
    """How far mass moves along a scale, ∫ |F − G|, whose points count ``values``.

    Equal to ``scipy.stats.wasserstein_distance(values, values, row, other_row)``; between points
    one apart it is the total variation.

    >>> rows = np.array([[1.0, 0, 0]]), np.array([[0, 0, 1.0]])
    >>> earth_mover_rows(*rows, (1, 2, 4)), total_variation_rows(*rows)
    (array([3.]), array([1.]))
    """
    order = np.argsort(values)
    ahead = np.cumsum((first - second)[..., order], axis=-1)[..., :-1]
    return np.abs(ahead) @ np.diff(np.asarray(values, dtype=np.float64)[order])


# Turn two label sets over the same items into distances, one per item, or a correlation.

PerItem = NDArray[np.float64]  # (items,)

Correlation = Literal["pearson", "spearman"]

Distance = Callable[[LabelSet, LabelSet], PerItem]
"""Any function here of two label sets; give ``wasserstein`` its cost with a ``lambda``."""

LP_VARIABLES = 20_000
"""How many flows are solved together: enough to spare overhead, few enough to stay quick."""

LP_TOLERANCE = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
"""The tightest that HiGHS accepts; the distances are right to about this times the cost."""


class Pair(NamedTuple):
    """One item as the two sets see it."""

    item: str
    distance: float
    first: NDArray[np.float64]  # (classes,)
    second: NDArray[np.float64]  # (classes,), in the class order of the first


def entropy_correlation(first: LabelSet, second: LabelSet, kind: Correlation = "pearson") -> float:
    """Whether two sets find the same items uncertain: correlation of their entropies (S3-15).

    >>> first = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [1, 0]])
    >>> second = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [1, 0]])
    >>> round(entropy_correlation(first, second), 12)
    1.0
    """
    first, second = align(first, second)
    x, y = entropy(first), entropy(second)
    for name, signal in (("first", x), ("second", y)):
        if len(signal) < 2 or np.ptp(signal) <= ROUNDING:
            raise DataError(
                f"The {name} label set has the same entropy on every item, "
                "so a correlation with it is undefined. Compare sets that vary."
            )
    match kind:
        case "pearson":
            return float(pearson(x, y))
        case "spearman":
            return float(spearman(x, y))
        case _:
            assert_never(kind)


def total_variation(first: LabelSet, second: LabelSet) -> PerItem:
    """The mass that lies on other classes: half the sum of absolute differences.

    >>> first = LabelSet(("a",), ("cat", "dog"), [[0.7, 0.3]])
    >>> second = LabelSet(("a",), ("dog", "cat"), [[0.5, 0.5]])
    >>> total_variation(first, second).round(3)
    array([0.2])
    """
    first, second = align(first, second)
    return total_variation_rows(first.probs, second.probs)


def jensen_shannon(first: LabelSet, second: LabelSet) -> PerItem:
    """Jensen–Shannon divergence in nats, at most log 2; the divergence, not its square root."""
    first, second = align(first, second)
    return jensen_shannon_rows(first.probs, second.probs)


def earth_mover(first: LabelSet, second: LabelSet) -> PerItem:
    """How far mass moves along the scale whose points are the classes.

    >>> first = LabelSet(("a",), ("bad", "fair", "good"), [[1, 0, 0]], values=(1, 2, 3))
    >>> earth_mover(first, LabelSet(("a",), first.classes, [[0, 0.5, 0.5]]))
    array([1.5])
    """
    first, second = align(first, second)
    told = first if first.values is not None else second
    values = told.require_values("The earth mover's distance")
    if second.values not in (None, values):
        raise DataError("The two label sets count the points of the scale differently.")
    return earth_mover_rows(first.probs, second.probs, values)


def label_distance(first: LabelSet, second: LabelSet) -> PerItem:
    """The usual distance: the earth mover's along a scale, total variation between bare classes."""
    ordinal = first.values is not None or second.values is not None
    return earth_mover(first, second) if ordinal else total_variation(first, second)


def kl(first: LabelSet, second: LabelSet) -> PerItem:
    """Kullback–Leibler divergence Σ p log(p/q) in nats, of the second from the first (S4-30).

    Infinite where the second set gives no mass to a class that the first does.
    """
    first, second = align(first, second)
    return kl_rows(first.probs, second.probs)


def wasserstein(first: LabelSet, second: LabelSet, cost: NDArray[np.float64]) -> PerItem:
    """The least cost of moving each row of the first into that of the second.

    ``cost[i, j]`` is the price of moving all mass from class i to class j, with rows and columns
    in the class order of ``first`` and zeros on the diagonal. This is the class-aware distance:
    cat for dog may be cheap and cat for truck dear. With cost 1 for any change it is the total
    variation. Solved exactly, as a linear program where no closed form applies.

    >>> first = LabelSet(("a",), ("cat", "dog", "truck"), [[1, 0, 0]])
    >>> second = LabelSet(("a",), ("cat", "dog", "truck"), [[0.5, 0.3, 0.2]])
    >>> wasserstein(first, second, np.array([[0, 1, 4], [1, 0, 4], [4, 4, 0]])).round(3)
    array([1.1])
    """
    first, second = align(first, second)
    cost = _checked_cost(cost, first.classes)
    supply = first.probs / first.probs.sum(axis=1, keepdims=True)  # rows may be off by 1e-6
    demand = second.probs / second.probs.sum(axis=1, keepdims=True)
    if _obeys_triangle(cost):  # then what both hold in common stays where it is
        common = np.minimum(supply, demand)
        supply, demand = supply - common, demand - common
    return _transport(supply, demand, cost)


def class_blind_wasserstein(first: LabelSet, second: LabelSet) -> PerItem:
    """The published "Wasserstein distance" of S3-14, which ignores which class holds the mass.

    It compares the two rows as bags of K numbers, so (1, 0) and (0, 1) are at distance 0: it
    tells how similarly the mass is spread, not whether it is in the same place. Kept to
    reproduce the published 0.028; use ``wasserstein`` to compare labels. For two bags of one
    size it is the mean difference of the sorted values, what
    ``scipy.stats.wasserstein_distance(row, other_row)`` returns.

    >>> first = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> class_blind_wasserstein(first, LabelSet(("a",), ("cat", "dog"), [[0, 1]]))
    array([0.])
    """
    first, second = align(first, second)
    apart = np.sort(first.probs, axis=1) - np.sort(second.probs, axis=1)
    return np.abs(apart).mean(axis=1)


def closest_pairs(
    first: LabelSet, second: LabelSet, count: int, distance: Distance = label_distance
) -> list[Pair]:
    """The ``count`` items on which the two sets differ least, nearest first (S3-17).

    Equal distances are listed by item name; if there are fewer items, all are listed.
    """
    return _pairs(first, second, count, distance, towards=1)


def farthest_pairs(
    first: LabelSet, second: LabelSet, count: int, distance: Distance = label_distance
) -> list[Pair]:
    """The ``count`` items on which the two sets differ most, farthest first (S3-17).

    >>> first = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]])
    >>> second = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> [pair.item for pair in farthest_pairs(first, second, 1)]
    ['b']
    """
    return _pairs(first, second, count, distance, towards=-1)


def _pairs(
    first: LabelSet, second: LabelSet, count: int, distance: Distance, *, towards: int
) -> list[Pair]:
    if count < 0:
        raise DataError(f"{count} pairs were asked for; ask for 0 or more.")
    first, second = align(first, second)
    apart = distance(first, second)
    order = np.lexsort((np.array(first.items), towards * apart))[:count]
    return [
        Pair(first.items[row], float(apart[row]), first.probs[row], second.probs[row])
        for row in order
    ]


def _checked_cost(cost: NDArray[np.float64], classes: tuple[str, ...]) -> NDArray[np.float64]:
    cost = np.asarray(cost, dtype=np.float64)
    if cost.shape != (len(classes), len(classes)):
        raise DataError(
            f"There are {len(classes)} classes but costs of shape {cost.shape}; "
            "expected one row and one column per class."
        )
    if not np.isfinite(cost).all() or (cost < 0).any() or np.diag(cost).any():
        bad = ~np.isfinite(cost) | (cost < 0) | ((cost != 0) & np.eye(len(classes), dtype=np.bool_))
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"Moving from {classes[row]!r} to {classes[column]!r} costs {cost[row, column]}; "
            "costs are finite, not negative, and 0 for staying."
        )
    return cost


def _obeys_triangle(cost: NDArray[np.float64]) -> bool:
    return all(
        bool((cost <= cost[:, [k]] + cost[[k], :] + ROUNDING).all()) for k in range(len(cost))
    )


def _transport(
    supply: NDArray[np.float64], demand: NDArray[np.float64], cost: NDArray[np.float64]
) -> PerItem:
    """Least cost for each row, supply and demand being of equal total but for rounding."""
    n, least = len(cost), np.minimum(supply.sum(axis=1), demand.sum(axis=1))
    busy = np.flatnonzero(least)
    # Scaled to one, so that the solver's tolerance is relative.
    sides = (side[busy] / side[busy].sum(axis=1, keepdims=True) for side in (supply, demand))
    needed = np.hstack([*sides])  # (items, what leaves and what arrives)
    # One sink needs no equation: what is left over arrives there. The largest, so that the
    # rounding of the totals cannot make the problem infeasible.
    counted = np.arange(2 * n) != n + needed[:, n:].argmax(axis=1)[:, None]
    balance = vstack([kron(eye_array(n), np.ones((1, n))), kron(np.ones((1, n)), eye_array(n))])
    step = max(1, LP_VARIABLES // n**2)
    for at in range(0, len(busy), step):
        some = np.arange(at, min(at + step, len(busy)))
        solved = linprog(  # several items as one program, a block each
            np.tile(cost.ravel() / (cost.max() or 1), len(some)),
            A_eq=kron(eye_array(len(some)), balance).tocsr()[counted[some].ravel()],
            b_eq=needed[some][counted[some]],
            options=LP_TOLERANCE,
        )
        assert solved.status == 0, solved.message
        least[busy[some]] *= solved.x.reshape(len(some), -1) @ cost.ravel()
    return least
