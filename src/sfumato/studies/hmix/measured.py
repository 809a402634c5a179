"""Turn answers about mixes into numbers with intervals, one a row: what is claimed, and more.

Tables have the columns part, measure, group, value, low, high, answers, mixes and people.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.studies.hmix.curves import BEND, bend
from sfumato.studies.hmix.resampling import (
    correlation,
    crossed_weights,
    ends_of,
    group_means,
    mean,
    mean_of,
    middle,
    times_drawn,
)
from sfumato.studies.hmix.study import ALL, THESIS, HMixStudy

__all__ = [
    "AMBIGUOUS",
    "CLEAR",
    "FOLLOWS",
    "MIDDLE",
    "OTHER_MASS",
    "measured_answers",
    "measured_labels",
    "measured_midpoints",
    "measured_repeats",
]

AMBIGUOUS = "both endpoints ambiguous"
CLEAR = "both endpoints clear"
MIDDLE = 0.5
OTHER_MASS = "mass on other classes"
FOLLOWS = "correlation of mass and coefficient"

Values = NDArray[np.float64]


class _Quantity(NamedTuple):
    """Something that is estimated: the estimate and its draws, and the rows it is about."""

    measure: str
    group: str
    drawn: Values
    rows: pl.DataFrame


def measured_answers(
    table: pl.DataFrame, weights: Values, study: HMixStudy, *, part: str
) -> pl.DataFrame:
    """Medians, spread and confidence by coefficient and by the entropy of the endpoints."""
    found = [
        *_by_coefficient(table, weights),
        *_by_endpoints(table, weights, study),
    ]
    return _table(found, part)


def measured_repeats(
    table: pl.DataFrame, *, part: str, rng: np.random.Generator, draws: int
) -> pl.DataFrame:
    """How much an answer moves when the same person sees the mix again, or another one does."""
    on = ["annotator", "mix"]
    first = table.filter(view="first").unique(on, keep="first", maintain_order=True)
    again = table.filter(view="repeat").join(
        first.select(*on, before="perceived", sure_before="confidence"), on=on
    )
    weights = crossed_weights(again, "annotator", rng=rng, draws=draws)
    values = {name: again[name].to_numpy() for name in ("perceived", "confidence")}
    before, sure = again["before"].to_numpy(), again["sure_before"].to_numpy()
    moved = np.abs(values["perceived"] - before)
    others = first.join(first, on="mix", suffix="_other").filter(
        pl.col("annotator") < pl.col("annotator_other")
    )
    apart = np.abs(others["perceived"].to_numpy() - others["perceived_other"].to_numpy())
    pairs = crossed_weights(others, "annotator", "annotator_other", rng=rng, draws=draws)
    again_text = "the same person again"
    found = [
        _Quantity("change of the coefficient", again_text, mean(moved, weights), again),
        _Quantity("change of the coefficient", "another person", mean(apart, pairs), others),
        _Quantity(
            "change of confidence",
            again_text,
            mean(np.abs(values["confidence"] - sure), weights),
            again,
        ),
        _Quantity(
            "correlation of the coefficient",
            again_text,
            correlation(before, values["perceived"], weights),
            again,
        ),
        _Quantity(
            "correlation of the coefficient",
            "another person",
            _symmetric(others, pairs),
            others,
        ),
    ]
    return _table(found, part)


def measured_midpoints(
    table: pl.DataFrame, *, rng: np.random.Generator, draws: int
) -> pl.DataFrame:
    """The coefficient that people call half and half, by task."""
    found = []
    for (task,), part in table.group_by("task", maintain_order=True):
        weights = crossed_weights(part, "annotator", rng=rng, draws=draws)
        chosen, text = part["perceived"].to_numpy(), str(task)
        found += [
            _Quantity("mean midpoint", text, mean(chosen, weights), part),
            _Quantity("median midpoint", text, middle(chosen, weights), part),
            _Quantity(
                "share within 0.1 of 0.5",
                text,
                mean((np.abs(chosen - MIDDLE) < 0.15).astype(float), weights),  # steps of 0.1
                part,
            ),
        ]
    return _table(found, ALL)


def measured_labels(
    labels: pl.DataFrame, *, made: str, rng: np.random.Generator, draws: int
) -> pl.DataFrame:
    """Mass on classes that were not mixed, and how mass on the others follows the coefficient.

    Labels of a mix are averaged first, as behind the thesis's 38.3 % and 0.52; ``answers`` in a
    measure's name: each answer counts by itself. ``made`` says which labels these are.
    """
    (people,) = times_drawn(labels["annotator"], rng=rng, draws=draws)
    (by_mix,) = times_drawn(labels["mix"], rng=rng, draws=draws)
    names = labels["mix"].unique().sort()
    groups = names.search_sorted(labels["mix"]).to_numpy()
    rows = np.searchsorted(np.sort(groups), np.arange(len(names)))  # one answer of each mix
    rows = np.argsort(groups, kind="stable")[rows]
    other, first, second = (
        group_means(labels[name].to_numpy(), groups, people)
        for name in ("other_mass", "first_mass", "second_mass")
    )
    known = by_mix[:, rows] * ~np.isnan(other)  # a mix none of whose people were drawn is left out
    shown = labels["shown"].to_numpy()
    coefficient, both = shown[rows], by_mix * people
    mass, ends = np.hstack([first, second]), np.hstack([coefficient, 1 - coefficient])
    drawn = {
        OTHER_MASS: mean_of(other, known),
        f"{OTHER_MASS}, answers": mean(labels["other_mass"].to_numpy(), both),
        FOLLOWS: correlation(np.nan_to_num(mass), ends, np.hstack([known, known])),
        f"{FOLLOWS}, answers": correlation(labels["first_mass"].to_numpy(), shown, both),
    }
    found = [_Quantity(measure, made, values, labels) for measure, values in drawn.items()]
    for value in np.unique(shown).tolist():
        at = mean_of(other, known * (coefficient == value))
        mine = labels.filter(pl.col("shown") == value)
        found.append(_Quantity(f"{OTHER_MASS} at {value:g}", made, at, mine))
    return _table(found, THESIS)


def _by_coefficient(table: pl.DataFrame, weights: Values) -> Iterator[_Quantity]:
    shown = table["shown"].to_numpy()
    columns = {name: table[name].to_numpy() for name in ("perceived", "confidence", "error")}
    sure: dict[float, Values] = {}
    for value in np.unique(shown).tolist():
        at = np.flatnonzero(shown == value)
        mine, rows, text = weights[:, at], table[at], f"{value:g}"
        seen = columns["perceived"][at]
        for measure, share in (("median", 0.5), ("lower quartile", 0.25), ("upper quartile", 0.75)):
            yield _Quantity(measure, text, middle(seen, mine, share), rows)
        yield _Quantity("mean", text, mean(seen, mine), rows)
        yield _Quantity("error", text, mean(columns["error"][at], mine), rows)
        if value != MIDDLE:  # as where a person takes the ends of the slider for each other
            turned = (seen - MIDDLE) * (value - MIDDLE) < 0
            yield _Quantity("other side", text, mean(turned.astype(np.float64), mine), rows)
        sure[value] = mean(columns["confidence"][at], mine)
        yield _Quantity("confidence", text, sure[value], rows)
    for value, drawn in sure.items():
        if value != MIDDLE and MIDDLE in sure:
            yield _Quantity(
                "confidence at 0.5 less elsewhere", f"{value:g}", sure[MIDDLE] - drawn, table
            )
    yield _Quantity("error", ALL, mean(columns["error"], weights), table)
    coefficients, groups = np.unique(shown, return_inverse=True)
    means = group_means(columns["perceived"], groups, weights)
    yield _Quantity(BEND, "all class pairs", bend(coefficients, means), table)


def _by_endpoints(table: pl.DataFrame, weights: Values, study: HMixStudy) -> Iterator[_Quantity]:
    first, second = (table[f"{which}_entropy"].to_numpy() for which in ("first", "second"))
    places = {
        AMBIGUOUS: np.flatnonzero((first >= study.high) & (second >= study.high)),
        CLEAR: np.flatnonzero((first <= study.low) & (second <= study.low)),
    }
    for measure in ("confidence", "error"):
        values = table[measure].to_numpy()
        both = []
        for name, at in places.items():
            both.append(mean(values[at], weights[:, at]))
            yield _Quantity(measure, name, both[-1], table[at])
        rows = table[np.concatenate(list(places.values()))]
        yield _Quantity(measure, "ambiguous less clear", both[0] - both[1], rows)
        yield _Quantity(
            f"correlation of {measure} with the endpoints' entropy",
            ALL,
            correlation(values, first + second, weights),
            table,
        )


def _symmetric(others: pl.DataFrame, pairs: Values) -> Values:
    """The correlation of two people's answers, neither of whom is the first."""
    one, two = others["perceived"].to_numpy(), others["perceived_other"].to_numpy()
    twice = np.hstack([pairs, pairs])
    return correlation(np.concatenate([one, two]), np.concatenate([two, one]), twice)


def _people(rows: pl.DataFrame) -> int:
    names = [rows[name] for name in ("annotator", "annotator_other") if name in rows.columns]
    return pl.concat([name.alias("who") for name in names]).n_unique()


def _table(found: list[_Quantity], part: str) -> pl.DataFrame:
    rows = []
    for one in found:
        value, (low, high) = ends_of(one.drawn)
        rows.append(
            {
                "part": part,
                "measure": one.measure,
                "group": one.group,
                "value": value,
                "low": low,
                "high": high,
                "answers": len(one.rows),
                "mixes": one.rows["mix"].n_unique(),
                "people": _people(one.rows),
            }
        )
    return pl.DataFrame(rows)
