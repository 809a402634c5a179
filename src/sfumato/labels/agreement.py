"""Turn several people's answers to the same items into measures of how far they agree.

Votes come as a table of counts (items × classes, from ``votes.counts``), sliders as numbers,
probability answers as ``CrowdLabels``. Every measure is a ratio of sums over items (or over
people), so its bootstrap resamples rows of sums: each result carries a percentile interval.

Why not a library: the ``krippendorff`` package needs memory for items × distinct values
squared (5.5 GB for 400 slider items), and statsmodels' Fleiss' kappa refuses items with unequal
numbers of votes. Ours are closed forms, linear in the judgments; the tests hold them equal to
both packages wherever those work.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.alter import checked_counts
from sfumato.labels.compare import Divergence, divergence_rows
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.signals import TIE_TOLERANCE
from sfumato.stats import bootstrap_sums, percentile_interval, ratio

Counts = NDArray[np.float64] | NDArray[np.integer]  # (items, classes)
Sums = NDArray[np.float64]  # (rows, parts): what each item or person adds to each sum

Scale = Literal["ordinal", "interval", "ratio"]
"""What a scale means: an order, differences, or ratios."""

DRAWS = 1000


@dataclass(frozen=True)
class Agreement:
    """One measure with its bootstrap interval."""

    name: str
    """What was measured: "Fleiss' kappa", "jensen-shannon between people" …"""
    value: float
    low: float
    high: float
    n: int
    """How many items, or people, were resampled."""
    level: float
    """How often intervals made this way are meant to hold the true value."""


@dataclass(frozen=True)
class WithinPerson:
    """How far people agree with themselves when they see an item again."""

    divergence: Agreement
    """Mean distance between the first and the repeated answer."""
    changed_top: Agreement
    """Share of repeats whose most probable class is another one."""
    top_change: Agreement | None
    """Mean absolute change of the largest probability where the class stayed; None if none did."""


def percent_agreement(
    table: Counts, *, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Agreement:
    """Share of pairs of votes on an item that are equal, averaged over items with two or more.

    >>> table = np.array([[3, 0], [1, 1], [0, 1]])
    >>> percent_agreement(table, rng=np.random.default_rng(0)).value
    0.5
    """
    votes = checked_counts(table)
    votes = votes[votes.sum(axis=1) > 1]
    sums = np.stack([_pair_agreement(votes), np.ones(len(votes))], axis=1)
    return _measured("percent agreement", sums, _quotient, rng=rng, level=level, draws=draws)


def fleiss_kappa(
    table: Counts, *, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Agreement:
    """Fleiss' kappa, (P̄ − Pₑ) / (1 − Pₑ); items may have unequal numbers of votes.

    P̄ is the percent agreement, over items with two votes or more; Pₑ = Σ π² with π the mean
    over all items of their vote shares, so that every item counts once (Gwet 2014). With equal
    numbers of votes it is Fleiss' (1971) own.

    >>> table = np.array([[4, 0], [0, 4], [2, 2], [1, 3]])
    >>> round(fleiss_kappa(table, rng=np.random.default_rng(0)).value, 4)
    0.4074
    """
    votes = checked_counts(table)
    votes = votes[votes.sum(axis=1) > 0]
    size = votes.sum(axis=1, keepdims=True)
    paired = size > 1
    sums = np.hstack([_pair_agreement(votes)[:, None], paired, np.ones_like(size), votes / size])
    sums = sums if paired.any() else sums[:0]
    return _measured("Fleiss' kappa", sums, _fleiss, rng=rng, level=level, draws=draws)


def krippendorff_nominal(
    table: Counts, *, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Agreement:
    """Krippendorff's alpha for classes, from counts alone; items with one vote do not count.

    α = 1 − (n−1) Σᵢ (nᵢ² − Σₖ nᵢₖ²)/(nᵢ−1) / (n² − Σₖ nₖ²), with nᵢ votes on item i, nₖ votes
    for class k, and n in all.

    >>> table = np.array([[4, 0], [0, 4], [2, 2], [1, 3]])
    >>> round(krippendorff_nominal(table, rng=np.random.default_rng(0)).value, 4)
    0.4444
    """
    votes = checked_counts(table)
    votes = votes[votes.sum(axis=1) > 1]
    size = votes.sum(axis=1)
    apart = (size**2 - (votes**2).sum(axis=1)) / (size - 1)
    sums = np.hstack([apart[:, None], votes])
    name = "Krippendorff's alpha (nominal)"
    return _measured(name, sums, _nominal_alpha, rng=rng, level=level, draws=draws)


def krippendorff_scale(
    table: Counts,
    values: Sequence[float],
    scale: Scale,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Agreement:
    """Krippendorff's alpha for votes on the points of a scale, from counts.

    α = 1 − (n−1) Σ oₖₗ δ²ₖₗ / Σ nₖ nₗ δ²ₖₗ, with oₖₗ = Σᵢ nᵢₖ (nᵢₗ − [k=l]) / (nᵢ−1). Two points
    are apart by the answers between them (``ordinal``), by the difference of their values
    (``interval``), or by it over their sum (``ratio``).

    >>> table = np.array([[4, 0, 0], [0, 3, 1], [0, 1, 3], [1, 0, 3]])
    >>> found = krippendorff_scale(table, (1, 2, 3), "ordinal", rng=np.random.default_rng(0))
    >>> round(found.value, 4)
    0.4934
    """
    order = np.argsort(values)
    votes = checked_counts(table)[:, order]
    points = np.asarray(values, dtype=np.float64)[order]
    if scale == "ratio" and (points < 0).any():
        raise DataError("Ratios need values from 0 up; this scale goes below.")
    votes = votes[votes.sum(axis=1) > 1].astype(np.float64)
    pairs = votes[:, :, None] * votes[:, None, :]
    pairs -= votes[:, :, None] * np.eye(len(points))
    pairs /= (votes.sum(axis=1) - 1)[:, None, None]
    sums = np.hstack([pairs.reshape(len(votes), -1), votes])

    def alpha(totals: Sums) -> NDArray[np.float64]:
        width = len(points)
        seen, often = totals[:, : width**2].reshape(-1, width, width), totals[:, width**2 :]
        apart = _apart(often, points, scale)
        by_chance = (often[:, :, None] * often[:, None, :] * apart).sum(axis=(1, 2))
        observed = (seen * apart).sum(axis=(1, 2))
        return 1 - ratio((often.sum(axis=1) - 1) * observed, by_chance)

    name = f"Krippendorff's alpha ({scale})"
    return _measured(name, sums, alpha, rng=rng, level=level, draws=draws)


def _apart(often: Sums, points: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """δ² of every two points, (rows, points, points); the ordinal one goes by how often each is."""
    match scale:
        case "interval":
            return squared_distances(points)[None]
        case "ratio":
            both = points[:, None] + points
            shares = np.divide(points[:, None] - points, both, where=both > 0, out=0 * both)
            return shares[None] ** 2
        case "ordinal":
            middle = np.cumsum(often, axis=1) - often / 2
            return (middle[:, :, None] - middle[:, None, :]) ** 2
        case _:
            assert_never(scale)


def squared_distances(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(v − w)² of every two values."""
    points = np.asarray(values, dtype=np.float64)
    return (points[:, None] - points) ** 2


def kappa(table: NDArray[np.float64], apart: NDArray[np.float64]) -> float | None:
    """Cohen's kappa of a table of shares (first by second), ``apart`` saying how bad each cell is.

    With ``squared_distances`` of a scale's values it is the quadratic kappa. None where chance
    alone agrees.

    >>> kappa(np.array([[0.5, 0.0], [0.0, 0.5]]), squared_distances((1, 2)))
    1.0
    """
    by_chance = float((np.outer(table.sum(axis=1), table.sum(axis=0)) * apart).sum())
    return 1 - float((table * apart).sum()) / by_chance if by_chance else None


def krippendorff_interval(
    values: NDArray[np.float64],
    item: NDArray[np.integer],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Agreement:
    """Krippendorff's alpha for numbers such as sliders, from variances alone.

    ``values`` holds one number per judgment, or one row of sliders per judgment, each slider of an
    item then being rated on its own; NaN is "not answered". With SS the sum of squares around
    the mean, α = 1 − (n−1)/n · Σᵤ nᵤ SSᵤ/(nᵤ−1) / SS, over what was rated twice or more.

    >>> values, item = np.array([1.0, 2, 5, 5, 9, 8]), np.array([0, 0, 1, 1, 2, 2])
    >>> round(krippendorff_interval(values, item, rng=np.random.default_rng(0)).value, 4)
    0.9667
    """
    values, item = _checked_ratings(values, item)
    sums = _interval_sums(values, item)
    name = "Krippendorff's alpha (interval)"
    return _measured(name, sums, _interval_alpha, rng=rng, level=level, draws=draws)


def between_people(
    crowd: CrowdLabels,
    divergence: Divergence | None = None,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Agreement:
    """Mean distance between different people's distributions of the same item.

    Without a ``divergence`` it is the earth mover's along a scale, Jensen–Shannon otherwise. All
    pairs of an item are averaged, then the items. Two answers by one person are no pair;
    a judgment whose author is not recorded counts as a person of its own.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    >>> between_people(crowd, "total-variation", rng=np.random.default_rng(0)).value
    1.0
    """
    divergence = divergence or usual_divergence(crowd)
    distance, pairs = _distances_between(crowd, divergence)
    sums = np.stack([distance[pairs > 0] / pairs[pairs > 0], np.ones((pairs > 0).sum())], axis=1)
    name = f"{divergence} between people"
    return _measured(name, sums, _quotient, rng=rng, level=level, draws=draws)


def usual_divergence(crowd: CrowdLabels) -> Divergence:
    """How far answers are apart: along the scale where there is one."""
    return "jensen-shannon" if crowd.values is None else "earth-mover"


def between_pairs(crowd: CrowdLabels, *, most: int = 30) -> pl.DataFrame:
    """How far each two people agree on the items that both answered, for the busiest ``most``.

    One row per pair: ``first``, ``second``, ``items``, ``same`` (share with the same top choice;
    an answer with several counts nowhere), ``kappa`` (Cohen's; null where chance would do as well)
    and ``divergence`` (mean Jensen–Shannon, in nats). Answers on a scale also have the quadratic
    kappa. Pairs without a common item are left out.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    >>> between_pairs(crowd).select("first", "second", "items", "same").row(0)
    ('p', 'q', 1, 0.0)
    """
    answered = np.bincount(crowd.annotator[crowd.annotator >= 0], minlength=len(crowd.annotators))
    busiest = np.argsort(-answered, kind="stable")[:most]
    rows = np.full((len(crowd.items), len(busiest)), -1, dtype=np.int64)  # of each answer, -1: none
    for column, person in enumerate(busiest):
        mine = np.flatnonzero(crowd.annotator == person)[::-1]  # of several answers the first stays
        rows[crowd.item[mine], column] = mine
    found = []
    for second in range(len(busiest)):
        for first in range(second):
            both = (rows[:, first] >= 0) & (rows[:, second] >= 0)
            if both.any():
                names = [crowd.annotators[busiest[place]] for place in (first, second)]
                here, there = (
                    crowd.answers[crowd.said[rows[both, place]]] for place in (first, second)
                )
                found.append((*names, int(both.sum()), *_pair(here, there, crowd.values)))
    measures: tuple[str, ...] = ("same", "kappa", "divergence")
    if crowd.values is not None:
        measures = (*measures, "quadratic_kappa")
    number = dict.fromkeys(measures, pl.Float64())
    schema = {"first": pl.String(), "second": pl.String(), "items": pl.Int64(), **number}
    return pl.DataFrame(found, schema=schema, orient="row")


def _pair(
    first: NDArray[np.float64], second: NDArray[np.float64], values: Sequence[float] | None
) -> tuple[float | None, ...]:
    """Share of the same top choices, Cohen's kappa and mean divergence of two people's rows, and
    the quadratic kappa where they stand on a scale."""
    apart = float(divergence_rows(first, second, "jensen-shannon").mean())
    clear = (_is_top(first).sum(axis=1) == 1) & (_is_top(second).sum(axis=1) == 1)
    along: tuple[float | None, ...] = () if values is None else (None,)
    if not clear.any():
        return None, None, apart, *along
    width = first.shape[1]
    cell = first[clear].argmax(axis=1) * width + second[clear].argmax(axis=1)
    table = np.bincount(cell, minlength=width**2).reshape(width, width) / len(cell)
    if values is not None:
        along = (kappa(table, squared_distances(values)),)
    return float(np.trace(table)), kappa(table, 1.0 - np.eye(width)), apart, *along


def within_person(
    first: CrowdLabels,
    repeat: CrowdLabels,
    divergence: Divergence | None = None,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> WithinPerson:
    """How far people's repeated answers are from their first ones to the same item (S2-14).

    Answers are matched by the names of item and person; repeats without a first answer are
    left out. The top class stayed if the two answers share a most probable class. All repeats
    count equally; the intervals resample people, because one person's repeats are alike.
    """
    divergence = divergence or usual_divergence(first)
    before, after, person = _matched(first, repeat)
    far = divergence_rows(before, after, divergence, first.values)
    stayed = np.any(_is_top(before) & _is_top(after), axis=1)
    change = np.abs(before.max(axis=1) - after.max(axis=1))

    def measured(name: str, values: NDArray[np.float64], count: NDArray[np.float64]) -> Agreement:
        sums = np.stack([_per_row(values * count, person), _per_row(count, person)], axis=1)
        return _measured(name, sums, _quotient, rng=rng, level=level, draws=draws)

    each, moved = np.ones(len(far)), 1.0 - stayed
    return WithinPerson(
        measured(f"{divergence} within people", far, each),
        measured("changed top choice", moved, each),
        measured("change of top probability", change, 1 - moved) if stayed.any() else None,
    )


def _measured(
    name: str,
    sums: Sums,
    statistic: Callable[[Sums], NDArray[np.float64]],
    *,
    rng: np.random.Generator,
    level: float,
    draws: int,
) -> Agreement:
    if not len(sums):
        raise DataError(f"The {name} needs an item with two answers or more, and there is none.")
    value = float(statistic(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        raise DataError(
            f"The {name} is undefined: all answers are the same, so there is no disagreement "
            "by chance to compare with. Report that everyone agreed."
        )
    redrawn = statistic(bootstrap_sums(sums, rng=rng, draws=draws))
    low, high = percentile_interval(redrawn, level=level, least=0)
    if np.isnan(low):  # no draw has any variation
        low, high = value, value
    return Agreement(name, value, low, high, len(sums), level)


def _quotient(totals: Sums) -> NDArray[np.float64]:
    return ratio(totals[:, 0], totals[:, 1])


def _fleiss(totals: Sums) -> NDArray[np.float64]:
    observed = ratio(totals[:, 0], totals[:, 1])
    by_chance = ((totals[:, 3:] / totals[:, [2]]) ** 2).sum(axis=1)
    return ratio(observed - by_chance, 1 - by_chance)


def _nominal_alpha(totals: Sums) -> NDArray[np.float64]:
    votes = totals[:, 1:].sum(axis=1)
    by_chance = votes**2 - (totals[:, 1:] ** 2).sum(axis=1)
    return 1 - ratio((votes - 1) * totals[:, 0], by_chance)


def _interval_alpha(totals: Sums) -> NDArray[np.float64]:
    apart, n, total, squares = totals.T
    spread = squares - total**2 / n
    spread = np.where(spread <= 1e-12 * squares, 0, spread)  # a single value, but for rounding
    return 1 - ratio((n - 1) * apart, n * spread)


def _pair_agreement(votes: NDArray[np.int64]) -> NDArray[np.float64]:
    size = votes.sum(axis=1)
    same = (votes * (votes - 1)).sum(axis=1)
    return np.divide(same, size * (size - 1), out=np.zeros(len(votes)), where=size > 1)


def _checked_ratings(
    values: NDArray[np.float64], item: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    values = np.asarray(values, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values  # (judgments, sliders)
    item = np.asarray(item)
    if values.ndim != 2 or item.shape != (len(values),):
        raise DataError(
            f"The ratings have shape {values.shape} and the item positions {item.shape}; "
            "expected one item position for each judgment."
        )
    if np.isinf(values).any():
        raise DataError("A rating is infinite; expected numbers, or NaN for no answer.")
    return values, np.unique(item, return_inverse=True)[1]


def _interval_sums(values: NDArray[np.float64], item: NDArray[np.int64]) -> Sums:
    """For each item: within-unit disagreement, count, sum and sum of squares."""
    judgment, slider = np.nonzero(np.isfinite(values))
    rating = values[judgment, slider]
    unit = item[judgment] * values.shape[1] + slider
    often = np.bincount(unit)[unit] > 1  # what was rated once cannot disagree
    rating, unit = rating[often], unit[often]
    if not len(rating):
        return np.empty((0, 4))
    rating = rating - rating.mean()  # keeps the sums of squares exact
    used, unit = np.unique(unit, return_inverse=True)
    n = np.bincount(unit).astype(np.float64)
    around = rating - (_per_row(rating, unit) / n)[unit]
    apart = n * _per_row(around**2, unit) / (n - 1)
    parts = [apart, n, _per_row(rating, unit), _per_row(rating**2, unit)]
    of_item = np.unique(used // values.shape[1], return_inverse=True)[1]
    return np.stack([_per_row(part, of_item) for part in parts], axis=1)


def _distances_between(
    crowd: CrowdLabels, divergence: Divergence
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum of distances and number of pairs of each item."""
    order = np.argsort(crowd.item, kind="stable")
    item, person, said = crowd.item[order], crowd.annotator[order], crowd.said[order]
    ends = np.cumsum(np.bincount(item, minlength=len(crowd.items)))
    followers = ends[item] - np.arange(len(item)) - 1  # later judgments of the same item
    distance = np.zeros(len(crowd.items))
    pairs = np.zeros(len(crowd.items), dtype=np.int64)
    # All pairs that lie `lag` rows apart at once: as many rounds as an item has judgments.
    rows, lag = np.flatnonzero(followers > 0), 1
    while len(rows):
        strangers = rows[(person[rows] != person[rows + lag]) | (person[rows] == NOT_RECORDED)]
        far = _distances(crowd, said[strangers], said[strangers + lag], divergence)
        distance += np.bincount(item[strangers], weights=far, minlength=len(distance))
        pairs += np.bincount(item[strangers], minlength=len(pairs))
        lag += 1
        rows = rows[followers[rows] >= lag]
    return distance, pairs


def _distances(
    crowd: CrowdLabels,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    divergence: Divergence,
) -> NDArray[np.float64]:
    """The distance between the answers of each pair, worked out once for equal pairs."""
    width = len(crowd.answers)
    pairs, place = np.unique(first.astype(np.int64) * width + second, return_inverse=True)
    here, there = crowd.answers[pairs // width], crowd.answers[pairs % width]
    return divergence_rows(here, there, divergence, crowd.values)[place]


def _matched(
    first: CrowdLabels, repeat: CrowdLabels
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Rows of first and repeated answers, and the person's number, for each repeat."""
    if set(first.classes) != set(repeat.classes):
        odd = sorted(set(first.classes) ^ set(repeat.classes))
        raise DataError(
            f"Class {odd[0]!r} is in the first answers or the repeats, but not in both."
        )
    row_of: dict[tuple[str, str], int] = {}
    for row, key in _named(first):
        if key in row_of:
            raise DataError(
                f"Item {key[0]!r} has two first answers by {key[1]!r}; leave one of them out."
            )
        row_of[key] = row
    found = [(row_of[key], row, key[1]) for row, key in _named(repeat) if key in row_of]
    if not found:
        raise DataError("No repeated answer has a first answer by the same person to compare with.")
    before, after, people = zip(*found, strict=True)
    columns = [repeat.classes.index(name) for name in first.classes]
    person = np.unique(people, return_inverse=True)[1]
    return first.probs[list(before)], repeat.probs[list(after)][:, columns], person


def _named(crowd: CrowdLabels) -> list[tuple[int, tuple[str, str]]]:
    return [
        (row, (crowd.items[item], crowd.annotators[person]))
        for row, (item, person) in enumerate(zip(crowd.item, crowd.annotator, strict=True))
        if person != NOT_RECORDED
    ]


def _is_top(probs: NDArray[np.float64]) -> NDArray[np.bool_]:
    return probs >= probs.max(axis=1, keepdims=True) - TIE_TOLERANCE


def _per_row(values: NDArray[np.float64], row: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.bincount(row, weights=values).astype(np.float64, copy=False)
