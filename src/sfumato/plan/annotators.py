"""Turn a pilot into how many people to ask: the expected error of a label against M (S3-11).

The error is that of the mean of M answers to the mean of infinitely many, averaged over
items. By measure:

- ``squared``: E‖p_M - p‖² = σ²/M exactly, where σ² is the spread of single answers about
  their item's mean, Σ‖x - mean‖²/(m - 1) of m answers; for votes it is 1 - Σp².
- ``total-variation``, ``jensen-shannon`` and ``excess``, which is E KL(p_M ‖ p) =
  H(p) - E H(p_M), the nats of cross-entropy that p pays for answers drawn from it (the other
  direction is infinite as soon as a class got no vote). From votes: by the fitted spread of
  the chances behind them (``vote_mixture``). From soft answers: by how far apart means of
  disjoint groups are (``split_answers``). Either way the interval takes in two extreme shapes
  of what the pilot leaves open. Beyond as many people as the pilot had, rare answers it has
  not seen can still put the truth outside.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.alter import checked_counts
from sfumato.labels.compare import Divergence
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.names import find
from sfumato.plan.split_answers import (
    Law,
    between_laws,
    bounded_law,
    power_law,
    split,
    sum_of_doublings,
)
from sfumato.plan.vote_mixture import (
    STEPS,
    STEPS_AGAIN,
    VoteMeasure,
    fitted,
    off_by,
    starts,
    tallies,
)

__all__ = [
    "MEASURES",
    "Enough",
    "ErrorCurve",
    "enough",
    "expected_error",
    "expected_error_of_votes",
]

Array = NDArray[np.float64]

MEASURES: dict[str, str] = {
    "squared": "squared distance of the label to that of infinitely many people",
    "total-variation": "mass of the label that lies elsewhere with infinitely many people",
    "jensen-shannon": "Jensen-Shannon divergence to the label of infinitely many people, in nats",
    "excess": "excess cross-entropy, H(p) - E H(p_M), in nats",
}
"""Errors of a label by the names a person types."""

UP_TO = 100
"""The largest M of a curve, unless another is asked for."""


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The expected error of a label against M = 1, 2, …, with what resampled items say."""

    measure: str
    method: Literal["closed form", "spread of votes", "split answers"]
    values: Array  # (M,)
    resampled: Array  # (draws, M)
    items: int
    answers: int

    @property
    def low(self) -> Array:
        """Lower end of the 95 % interval over items, (M,)."""
        return np.asarray(np.percentile(self.resampled, 2.5, axis=0))

    @property
    def high(self) -> Array:
        """Upper end of the 95 % interval over items, (M,)."""
        return np.asarray(np.percentile(self.resampled, 97.5, axis=0))

    def table(self, arm: str = "") -> pl.DataFrame:
        """Columns ``arm``, ``M``, ``metric``, ``value``, ``low``, ``high``, as the report draws."""
        n = len(self.values)
        return pl.DataFrame(
            {
                "arm": [arm] * n,
                "M": np.arange(1, n + 1),
                "metric": [self.measure] * n,
                "value": self.values,
                "low": self.low,
                "high": self.high,
            }
        )


@dataclass(frozen=True)
class Enough:
    """The number of people an item from which another answer is worth less than it costs."""

    M: int
    low: int
    high: int
    """95 % interval over items of the pilot."""
    error: float
    """What is left of the error with M people."""
    beyond: bool
    """Whether another answer is still worth it at the end of the curve; M is then the end."""


def expected_error(
    crowd: CrowdLabels,
    measure: str = "total-variation",
    *,
    up_to: int = UP_TO,
    draws: int = 200,
    rng: np.random.Generator,
) -> ErrorCurve:
    """The expected error against M, fitted to a pilot's answers (take repeats out first).

    Answers that are all votes (one-hot) are read as counts.
    """
    _check_people(crowd)
    if ((crowd.probs == 0) | (crowd.probs == 1)).all():
        counts = np.zeros((len(crowd.items), len(crowd.classes)), dtype=np.int64)
        np.add.at(counts, (crowd.item, crowd.probs.argmax(axis=1)), 1)
        return expected_error_of_votes(counts, measure, up_to=up_to, draws=draws, rng=rng)
    find(MEASURES, measure, what="measure of error")
    sizes = np.bincount(crowd.item, minlength=len(crowd.items))
    _check_pilot(sizes, up_to, draws)
    if measure == "squared":
        spread = _spread_of_answers(crowd, sizes)
        return _closed_form(spread, int(sizes.sum()), up_to, draws=draws, rng=rng)
    return _from_splits(crowd, measure, up_to, draws=draws, rng=rng)


def expected_error_of_votes(
    counts: NDArray[np.integer] | Array,
    measure: str = "total-variation",
    *,
    up_to: int = UP_TO,
    draws: int = 200,
    rng: np.random.Generator,
) -> ErrorCurve:
    """The same from a table of votes (items, classes).

    >>> votes = np.array([[3, 1], [4, 0]])
    >>> curve = expected_error_of_votes(votes, "squared", up_to=2, rng=np.random.default_rng(0))
    >>> curve.values  # (1 - 10/16) · 4/3 of the first item and 0 of the second, halved
    array([0.25 , 0.125])
    """
    find(MEASURES, measure, what="measure of error")
    table = checked_counts(counts)
    sizes = table.sum(axis=1)
    _check_pilot(sizes, up_to, draws)
    if measure == "squared":
        m = sizes[sizes > 1]
        shares = table[sizes > 1] / m[:, None]
        spread = (1 - (shares**2).sum(axis=1)) * m / (m - 1)
        return _closed_form(spread, int(sizes.sum()), up_to, draws=draws, rng=rng)
    kinds: dict[str, VoteMeasure] = {name: name for name in _VOTE_MEASURES}
    return _spread_of_votes(table[sizes > 0], kinds[measure], up_to, draws=draws, rng=rng)


def enough(curve: ErrorCurve, *, price: float, worth: float) -> Enough:
    """The smallest M at which the next answer is worth less than it costs.

    ``price`` is what one answer costs; ``worth`` what a whole unit of error an item is worth in
    the same money. The answer after M is worth ``worth`` times the error it takes away.
    """
    for value, what in ((price, "price of an answer"), (worth, "worth of a unit of error")):
        if not (isfinite(value) and value > 0):
            raise DataError(f"The {what} is {value:g}; give a number above zero.")
    stops = _stop(np.vstack([curve.values, curve.resampled]), price / worth)
    low, high = np.percentile(stops[1:], [2.5, 97.5], method="nearest")
    M = int(stops[0])
    return Enough(M, int(low), int(high), float(curve.values[M - 1]), len(curve.values) == M)


_VOTE_MEASURES: tuple[VoteMeasure, ...] = ("total-variation", "jensen-shannon", "excess")


def _stop(curves: Array, least: float) -> NDArray[np.int64]:
    """For each row the first M whose next step takes away less than ``least``; the end if none."""
    saved = curves[:, :-1] - curves[:, 1:]
    small = np.hstack([saved < least, np.ones((len(curves), 1), dtype=bool)])
    return small.argmax(axis=1) + 1


def _check_people(crowd: CrowdLabels) -> None:
    known = np.unique(crowd.annotator)
    if len(known) == 1 and known[0] != NOT_RECORDED:
        raise DataError(
            f"All answers of the pilot are by one person, {crowd.annotators[known[0]]!r}, so how "
            "people differ cannot be seen; ask at least two about the same items."
        )


def _check_pilot(sizes: NDArray[np.int64], up_to: int, draws: int) -> None:
    if not (sizes > 1).any():
        raise DataError(
            "No item of the pilot has more than one answer, so how people differ cannot be seen; "
            "ask at least two people about the same items."
        )
    if up_to < 1:
        raise DataError(f"The curve should end at M = {up_to}; give 1 or more.")
    if draws < 1:
        raise DataError(f"{draws} draws were asked for; an interval needs 1 or more.")


def _spread_of_answers(crowd: CrowdLabels, sizes: NDArray[np.int64]) -> Array:
    """Σ‖x - mean‖²/(m - 1) of each item with two answers or more: unbiased for E‖x - p‖²."""
    mean = np.zeros((len(sizes), len(crowd.classes)))
    np.add.at(mean, crowd.item, crowd.probs)
    mean /= np.maximum(sizes, 1)[:, None]
    off = ((crowd.probs - mean[crowd.item]) ** 2).sum(axis=1)
    total = np.bincount(crowd.item, weights=off, minlength=len(sizes))
    return np.asarray(total[sizes > 1] / (sizes[sizes > 1] - 1))


def _closed_form(
    spread: Array, answers: int, up_to: int, *, draws: int, rng: np.random.Generator
) -> ErrorCurve:
    M = np.arange(1, up_to + 1)
    drawn = _resample(len(spread), draws, rng) @ spread / len(spread)
    return ErrorCurve(
        "squared",
        "closed form",
        spread.mean() / M,
        drawn[:, None] / M,
        items=len(spread),
        answers=answers,
    )


def _spread_of_votes(
    table: NDArray[np.int64],
    measure: VoteMeasure,
    up_to: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> ErrorCurve:
    n_classes = table.shape[1]
    likelihood, often = tallies(table)
    errors = np.stack([off_by(measure, M) for M in range(1, up_to + 1)], axis=1)  # (grid, M)
    seen = often.sum(axis=0, keepdims=True)
    wholes = [fitted(likelihood, seen, start=start, steps=STEPS) for start in starts(table)]
    drawn = np.array_split(_resample(len(table), draws, rng) @ often, len(wholes))
    again = [
        fitted(likelihood, part, start=whole[0], steps=STEPS_AGAIN)
        for part, whole in zip(drawn, wholes, strict=True)
    ]
    return ErrorCurve(
        measure,
        "spread of votes",
        n_classes * (wholes[0] @ errors)[0],
        n_classes * np.vstack(again) @ errors,
        items=len(table),
        answers=int(table.sum()),
    )


def _from_splits(
    crowd: CrowdLabels, measure: str, up_to: int, *, draws: int, rng: np.random.Generator
) -> ErrorCurve:
    divergence: Divergence = "total-variation" if measure == "total-variation" else "jensen-shannon"
    sizes, apart = split(crowd, divergence, rng=rng)
    laws = (
        between_laws,
        power_law,
        bounded_law,
    )  # what few answers leave open is part of the interval
    drawn = np.array_split(_resample(len(apart), draws, rng) @ apart / len(apart), len(laws))
    M = np.arange(1, up_to + 1)
    exponent = 0.5 if divergence == "total-variation" else 1.0  # of 1/M, when M is large

    def curve(law: Law, means: Array) -> Array:
        if not means.all():  # everybody agrees about everything
            return np.zeros(len(M))
        g = law(2 / sizes, means, exponent)
        return sum_of_doublings(g, M) if measure == "excess" else g(1 / M)

    again = [curve(law, means) for law, part in zip(laws, drawn, strict=True) for means in part]
    whole = curve(between_laws, apart.mean(axis=0))
    return ErrorCurve(
        measure, "split answers", whole, np.stack(again), items=len(apart), answers=len(crowd)
    )


def _resample(n_items: int, draws: int, rng: np.random.Generator) -> Array:
    """How often each item is in a draw of as many items, (draws, items)."""
    return rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=draws).astype(np.float64)
