"""Turn answers about mixes into a logistic curve for each class pair, with its uncertainty.

The least-squares curve through all answers is the one through the mean answer at each coefficient,
weighted by the number of answers. There are five coefficients, so a thousand resamples of all pairs
are fitted at once.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.labels.mixing import logistic
from sfumato.stats import Interval, group_means, sample_and_interval

INNER, OUTER = (0.25, 0.75), (0.1, 0.9)
"""Coefficients between which answers rise inside, and those up to which they rise outside."""
LARGEST = 100.0
"""A steepness from which on a curve is a step: nothing was fitted."""
STEPS = 80
DRAWN_AT = np.linspace(0, 1, 41)

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairCurves:
    """Of each class pair: mean answers by coefficient, the curve, and its parameters."""

    points: pl.DataFrame
    """One row per class pair and coefficient: pair, shown, value, low, high, answers."""
    lines: pl.DataFrame
    """One row per class pair and place on the axis: pair, shown, value, low, high."""
    parameters: dict[tuple[str, str], tuple[float, Interval]]
    """By class pair and name, ``midpoint``, ``steepness`` or ``bend``."""


def fit_class_pairs(table: pl.DataFrame, weights: Values) -> PairCurves:
    """A curve for each ``pair``; ``weights`` say how often each row counts in each draw.

    The first draw is the sample itself.
    """
    points, lines = [], []
    parameters: dict[tuple[str, str], tuple[float, Interval]] = {}
    numbered = table.with_row_index("row")
    for pair in table["pair"].unique().sort():
        part = numbered.filter(pl.col("pair") == pair)
        mine = weights[:, part["row"].to_numpy()]
        coefficients = part["shown"].unique().sort().to_numpy()
        groups = np.searchsorted(coefficients, part["shown"].to_numpy())
        seen = group_means(part["perceived"].to_numpy(), groups, mine)
        counted = mine @ np.eye(len(coefficients))[groups]
        points += [
            (pair, float(shown), *_row(seen[:, place]), int(counted[0, place]))
            for place, shown in enumerate(coefficients)
        ]
        middle, steep = fit_logistics(coefficients, seen, counted)
        drawn = {"midpoint": middle, "steepness": steep, "bend": bend(coefficients, seen)}
        parameters |= {(pair, name): sample_and_interval(one) for name, one in drawn.items()}
        curves = logistic(DRAWN_AT[None], middle[:, None], steep[:, None])
        lines += [(pair, float(at), *_row(curves[:, place])) for place, at in enumerate(DRAWN_AT)]
    columns = ["pair", "shown", "value", "low", "high"]
    return PairCurves(
        pl.DataFrame(points, schema=[*columns, "answers"], orient="row"),
        pl.DataFrame(lines, schema=columns, orient="row"),
        parameters,
    )


def fit_logistics(coefficients: Values, means: Values, weights: Values) -> tuple[Values, Values]:
    """Midpoint and steepness of 1 / (1 + exp(−k(λ − m))), least squares (S2-65).

    ``means`` and ``weights`` are (fits, coefficients). NaN where fewer than three coefficients
    have answers, or no rising curve describes them. Found by damped Gauss–Newton steps (Levenberg
    and Marquardt), each taken only where it brings the curve nearer.
    """
    means = np.where(weights > 0, means, 0.0)
    middle, steep = np.full(len(means), 0.5), np.full(len(means), 5.0)
    damping = np.full(len(means), 1e-3)
    off = _off(coefficients, means, weights, middle, steep)
    for _ in range(STEPS):
        new_middle, new_steep = _stepped(coefficients, means, weights, middle, steep, damping)
        new_off = _off(coefficients, means, weights, new_middle, new_steep)
        nearer = new_off < off
        middle, steep = np.where(nearer, new_middle, middle), np.where(nearer, new_steep, steep)
        off = np.where(nearer, new_off, off)
        damping = np.clip(np.where(nearer, damping / 5, damping * 4), 1e-12, 1e12)
    sound = ((weights > 0).sum(axis=1) >= 3) & (steep > 0) & (steep < LARGEST)
    sound &= (middle > -1) & (middle < 2)
    return np.where(sound, middle, np.nan), np.where(sound, steep, np.nan)


def bend(coefficients: Values, means: Values) -> Values:
    """How much steeper mean answers rise inside than outside, in every draw.

    The slope between 0.25 and 0.75 less that outside, from 0.1 to 0.25 and from 0.75 to 0.9: zero
    for every straight line, whatever its slope; above zero for a curve that is steeper in the
    middle, as at a category boundary. NaN where one of these coefficients has no answers.
    """
    at = {float(shown): means[:, place] for place, shown in enumerate(coefficients)}
    if not {*INNER, *OUTER} <= at.keys():
        return np.full(len(means), np.nan)
    inner = (at[INNER[1]] - at[INNER[0]]) / (INNER[1] - INNER[0])
    left = (at[INNER[0]] - at[OUTER[0]]) / (INNER[0] - OUTER[0])
    right = (at[OUTER[1]] - at[INNER[1]]) / (OUTER[1] - INNER[1])
    return inner - (left + right) / 2


def _row(drawn: Values) -> tuple[float, float, float]:
    value, (low, high) = sample_and_interval(drawn)
    return value, low, high


def _off(
    coefficients: Values, means: Values, weights: Values, middle: Values, steep: Values
) -> Values:
    curve = logistic(coefficients[None], middle[:, None], steep[:, None])
    return (weights * (means - curve) ** 2).sum(axis=1)


def _stepped(
    coefficients: Values,
    means: Values,
    weights: Values,
    middle: Values,
    steep: Values,
    damping: Values,
) -> tuple[Values, Values]:
    away = coefficients[None] - middle[:, None]
    curve = logistic(coefficients[None], middle[:, None], steep[:, None])
    flat = curve * (1 - curve)
    by_middle, by_steep, off = -steep[:, None] * flat, away * flat, means - curve
    a = (weights * by_middle**2).sum(axis=1) * (1 + damping) + 1e-15
    b = (weights * by_middle * by_steep).sum(axis=1)
    c = (weights * by_steep**2).sum(axis=1) * (1 + damping) + 1e-15
    u, v = (weights * by_middle * off).sum(axis=1), (weights * by_steep * off).sum(axis=1)
    size = a * c - b * b  # above zero: the diagonal was raised
    size = np.where(size > 0, size, np.inf)
    moved = np.clip(middle + (c * u - b * v) / size, -3, 4)
    turned = np.clip(steep + (a * v - b * u) / size, 0, 2 * LARGEST)
    return moved, turned
