"""The numbers that paper 5 prints, as differences to hold next to ours.

Copied from its tables 2, 3, 9 and 10 (S4-T2, S4-T3, S4-T9, S4-T10). It has two kinds of soft label;
which row is which is lost in our copy, so their mean is taken. Table 4 (correlations) and the mean
confidences of its data maps lost their values: nothing is given for them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sfumato.reporting.text import signed

__all__ = [
    "ACCURACY",
    "BRIER",
    "KL",
    "NETWORKS",
    "OVERALL",
    "apart",
    "apart_shown",
    "largest_apart",
    "overall_shown",
    "relabelled_shown",
]

NETWORKS = ("simple-ffn", "deeper-ffn", "lenet")

Rows = Mapping[str, tuple[tuple[float, float], ...]]
"""By training target: a pair a network, as in ``NETWORKS``."""

TARGETS = ("original", "majority", "soft-a", "soft-b")


def _rows(text: str) -> Rows:
    lines = [line.split() for line in text.strip().splitlines()]
    return MappingProxyType(
        {
            target: tuple(zip(map(float, line[::2]), map(float, line[1::2]), strict=True))
            for target, line in zip(TARGETS, lines, strict=True)
        }
    )


# Each line a target, each pair a network: NoHLV and HLV.
KL: Mapping[str, Rows] = {
    "MNIST": _rows("""
        0.487 1.917  0.453 2.049  0.178 2.214
        0.457 1.543  0.443 1.484  0.175 1.661
        0.453 1.028  0.408 0.989  0.181 0.669
        0.454 1.021  0.407 0.983  0.183 0.660"""),
    "synthetic": _rows("""
        0.804 1.525  0.667 1.525  0.529 1.612
        0.565 0.922  0.516 0.915  0.266 0.905
        0.425 0.550  0.351 0.537  0.262 0.479
        0.451 0.556  0.368 0.543  0.265 0.468"""),
}
"""KL(people‖model), table 3."""

BRIER: Mapping[str, Rows] = {
    "MNIST": _rows("""
        0.225 0.399  0.215 0.402  0.094 0.290
        0.217 0.387  0.214 0.382  0.093 0.281
        0.213 0.333  0.192 0.312  0.073 0.189
        0.214 0.331  0.195 0.312  0.073 0.183"""),
    "synthetic": _rows("""
        0.419 0.337  0.367 0.337  0.297 0.334
        0.273 0.263  0.249 0.270  0.134 0.237
        0.194 0.185  0.160 0.184  0.110 0.157
        0.205 0.188  0.168 0.188  0.104 0.157"""),
}
"""Brier score on people's labels, table 10."""

ACCURACY: Mapping[str, Rows] = {
    "MNIST": _rows("""
        0.8452 0.5979  0.8514 0.6032  0.9391 0.7390
        0.8508 0.6146  0.8427 0.5997  0.9353 0.7372
        0.8626 0.6235  0.8613 0.6490  0.9515 0.7663
        0.8563 0.6049  0.8644 0.6482  0.9503 0.7716"""),
    "synthetic": _rows("""
        0.6958 0.5387  0.7500 0.5529  0.7771 0.5626
        0.8354 0.5518  0.8396 0.5603  0.9250 0.6069
        0.8958 0.5978  0.9104 0.6234  0.9646 0.6507
        0.8896 0.5859  0.9063 0.6132  0.9583 0.6547"""),
}
"""Accuracy on people's majority labels, table 2."""

# Each line a target, each pair a network: tested on original labels, on people's.
OVERALL: Mapping[str, Rows] = {
    "MNIST": _rows("""
        0.7316 0.7447  0.7305 0.7400  0.8454 0.8501
        0.7411 0.7553  0.7341 0.7458  0.8439 0.8596
        0.7440 0.7597  0.7513 0.7644  0.8541 0.8669
        0.7352 0.7516  0.7487 0.7640  0.8541 0.8669"""),
    "synthetic": _rows("""
        0.7623 0.5778  0.7891 0.5813  0.8767 0.6046
        0.5429 0.6166  0.5344 0.6251  0.6139 0.6528
        0.5612 0.6528  0.5559 0.6743  0.6372 0.7163
        0.5532 0.6577  0.5550 0.6756  0.6363 0.7212"""),
}
"""Accuracy over all items, table 9."""


def apart(rows: Rows, first: str, second: str, column: int) -> tuple[float, ...]:
    """``first`` minus ``second``, a number a network; ``soft`` is the mean of both soft rows.

    >>> [round(value, 2) for value in apart(KL["MNIST"], "soft", "majority", 1)]
    [-0.52, -0.5, -1.0]
    """
    ends = zip(_of(rows, first, column), _of(rows, second, column), strict=True)
    return tuple(one - other for one, other in ends)


def apart_shown(table: Mapping[str, Rows], first: str, second: str, column: int) -> str:
    """``apart`` for both data sets of the paper, networks in the order of ``NETWORKS``."""
    return "; ".join(
        f"{data} {_joined(apart(rows, first, second, column))}" for data, rows in table.items()
    )


def largest_apart(rows: Rows, first: str, second: str, column: int) -> float:
    """The largest difference over the networks: how far apart is still called comparable.

    >>> round(largest_apart(KL["MNIST"], "soft", "majority", 0), 4)
    0.0355
    """
    return max(abs(value) for value in apart(rows, first, second, column))


def overall_shown(first: str, second: str) -> str:
    """``first`` minus ``second`` in accuracy on people's labels over all items, table 9."""
    return apart_shown(OVERALL, first, second, 1)


def relabelled_shown(target: str) -> str:
    """Accuracy of one target on people's labels minus on the original ones, table 9."""
    shown = []
    for data, rows in OVERALL.items():
        ends = zip(_of(rows, target, 1), _of(rows, target, 0), strict=True)
        shown.append(f"{data} {_joined(after - before for after, before in ends)}")
    return "; ".join(shown)


def _of(rows: Rows, target: str, column: int) -> tuple[float, ...]:
    names = ("soft-a", "soft-b") if target == "soft" else (target,)
    by_network = zip(*(rows[name] for name in names), strict=True)
    return tuple(sum(pair[column] for pair in pairs) / len(names) for pairs in by_network)


def _joined(values: Iterable[float]) -> str:
    return " · ".join(signed(value) for value in values)
