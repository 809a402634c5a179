"""Whether the gap between two arms grows on test sets ever further from the training data (S0-44).

A step is one test set with its labels and what each network believes about it; the steps are
given in order of their distance from the training data, which the caller knows. Scores and gaps
on a single step are those of ``score.evaluate_seeds`` and ``score.compare``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from sfumato.errors import DataError
from sfumato.evaluation.metrics import Scorer, metric_named
from sfumato.labels.labelset import LabelSet
from sfumato.stats import (
    NOTHING,
    Interval,
    bootstrap_means,
    draw_weights,
    mean_of_defined,
    pearson,
    percentile_interval,
    satterthwaite_interval,
)

LADDER_METRICS = ("accuracy", "cross_entropy")

Values = NDArray[np.float64]  # (seeds, items)

BySeed = dict[int, NDArray[np.float64]]  # each (items,)


@dataclass(frozen=True, eq=False)
class StepPrediction:
    """What one trained network believes about the items of a step."""

    arm: str
    network: str
    seed: int
    model: LabelSet


@dataclass(frozen=True, eq=False)
class ShiftStep:
    """One test set: its name, its labels (people's or hard ones), and the predictions on it."""

    data: str
    human: LabelSet
    runs: tuple[StepPrediction, ...]


def gap_trends(
    steps: Sequence[ShiftStep],
    *,
    baseline: str,
    rng: np.random.Generator,
    metrics: Sequence[str] = LADDER_METRICS,
    draws: int = 1000,
) -> pl.DataFrame:
    """Whether the advantage of each arm over ``baseline`` grows along the ladder.

    The advantage is the gap with its sign turned so that more is better. ``slope`` is its least
    squares slope a step, with a 95 % interval from Student's t: the variance over seeds of their
    slopes plus that of the items of each step, with Satterthwaite's degrees of freedom. ``rho``
    is Spearman's correlation of advantage and step, with percentiles over resampled items and
    seeds; of few steps it takes few values. ``trend`` is "grows" or "shrinks" where the interval
    of the slope lies above or below 0, otherwise "unclear". Seeds are those that all steps and
    both arms have.
    """
    if len(steps) < 2:
        raise DataError(f"A trend needs at least 2 steps; the ladder has {len(steps)}.")
    rows = []
    for metric in map(_with_items, metrics):
        found = [_values(step, metric) for step in steps]
        for arm, network in found[0]:
            if arm == baseline:
                continue
            pairs = [
                _pair(values, arm, baseline, network, step)
                for values, step in zip(found, steps, strict=True)
            ]
            seeds = _common_seeds(pairs, arm, network)
            sign = -1.0 if metric.better == "lower" else 1.0
            advantage = [
                _defined(sign * (_of_seeds(ours, seeds) - _of_seeds(theirs, seeds)))
                for ours, theirs in pairs
            ]
            row: dict[str, object] = {"arm": arm, "baseline": baseline, "network": network}
            row |= {"metric": metric.name, **_trend(advantage, rng, draws)}
            rows.append({**row, "steps": len(steps), "seeds": len(seeds)})
    return pl.DataFrame(rows, schema=_TRENDS)


_TRENDS = pl.Schema(
    {
        **dict.fromkeys(("arm", "baseline", "network", "metric"), pl.String()),
        **dict.fromkeys(("slope", "slope_low", "slope_high"), pl.Float64()),
        **dict.fromkeys(("rho", "rho_low", "rho_high"), pl.Float64()),
        "trend": pl.String(),
        **dict.fromkeys(("steps", "seeds"), pl.Int64()),
    }
)


def _with_items(name: str) -> Scorer:
    metric = metric_named(name)
    if metric.per_item is None:
        raise DataError(
            f"The metric {name!r} has no value for each item; the ladder takes metrics that have "
            "one, such as accuracy or cross_entropy."
        )
    return metric


def _values(step: ShiftStep, metric: Scorer) -> dict[tuple[str, str], BySeed]:
    """For each arm and network, in the order of the runs, and each seed: a value an item."""
    assert metric.per_item is not None
    found: dict[tuple[str, str], BySeed] = {}
    for run in step.runs:
        by_seed = found.setdefault((run.arm, run.network), {})
        if run.seed in by_seed:
            raise DataError(
                f"On {step.data!r} there are two predictions of arm {run.arm!r}, network "
                f"{run.network!r} and seed {run.seed}; give one."
            )
        by_seed[run.seed] = metric.per_item(step.human, run.model)
    return found


def _pair(
    found: dict[tuple[str, str], BySeed], arm: str, baseline: str, network: str, step: ShiftStep
) -> tuple[BySeed, BySeed]:
    for name in (arm, baseline):
        if (name, network) not in found:
            raise DataError(
                f"On {step.data!r} there is no prediction of arm {name!r} and network "
                f"{network!r}, which a gap needs; give one."
            )
    pair = (found[arm, network], found[baseline, network])
    _common_seeds([pair], arm, network)
    return pair


def _common_seeds(pairs: list[tuple[BySeed, BySeed]], arm: str, network: str) -> list[int]:
    seeds = set.intersection(*(set(side) for pair in pairs for side in pair))
    if not seeds:
        raise DataError(
            f"Arm {arm!r} of network {network!r} has no seed in common with the baseline; "
            "give the same seeds for both arms and all steps."
        )
    return sorted(seeds)


def _of_seeds(by_seed: BySeed, seeds: list[int]) -> Values:
    return np.stack([by_seed[seed] for seed in seeds])


def _trend(advantage: list[Values], rng: np.random.Generator, draws: int) -> dict[str, object]:
    places = np.arange(len(advantage))
    slopes = (places - places.mean()) / ((places - places.mean()) ** 2).sum()
    means = np.array([_mean(values) for values in advantage])
    slope, interval = float(slopes @ means), _slope_interval(advantage, slopes)
    n_seeds = len(advantage[0])
    seeds = np.concatenate([*draw_weights(n_seeds, rng=rng, draws=draws)]) / n_seeds
    drawn = np.stack(  # (draws, steps): the same networks on every step, other items on each
        [
            (seeds * bootstrap_means(values.T, rng=rng, draws=draws)).sum(axis=1)
            for values in advantage
        ],
        axis=1,
    )
    rho = percentile_interval(_rank_correlations(drawn))
    return {
        "slope": slope,
        "slope_low": interval.low,
        "slope_high": interval.high,
        "rho": float(_rank_correlations(means[None])[0]),
        "rho_low": rho.low,
        "rho_high": rho.high,
        "trend": "grows" if interval.low > 0 else "shrinks" if interval.high < 0 else "unclear",
    }


def _slope_interval(advantage: list[Values], slopes: NDArray[np.float64]) -> Interval:
    per_seed = sum(
        (slope * values.mean(axis=1) for slope, values in zip(slopes, advantage, strict=True)),
        start=np.zeros(len(advantage[0])),
    )
    n_seeds = len(per_seed)
    parts = [(float(per_seed.var(ddof=1)) / n_seeds, n_seeds - 1)] if n_seeds > 1 else []
    for slope, values in zip(slopes, advantage, strict=True):
        n_items = values.shape[1]
        if n_items < 2:
            return NOTHING
        by_item = values.mean(axis=0)
        parts.append((float(slope**2 * by_item.var(ddof=1)) / n_items, n_items - 1))
    return satterthwaite_interval(float(per_seed.mean()), *zip(*parts, strict=True))


def _rank_correlations(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's correlation of each row with its positions; NaN where a row is constant."""
    return pearson(rankdata(rows, axis=1), np.arange(rows.shape[1], dtype=np.float64))


def _defined(values: Values) -> Values:
    """Only the items on which the metric has a value for every seed."""
    return values[:, ~np.isnan(values).any(axis=0)]


def _mean(values: Values) -> float:
    return mean_of_defined(values.ravel())
