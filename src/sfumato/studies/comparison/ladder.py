"""Whether a gap between arms grows, along a ladder of tests or from one pair of arms to another.

And how often an arm wins.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.metrics import METRICS
from sfumato.scores import Difference, Score
from sfumato.stats import paired_t, student_interval

__all__ = [
    "ByFold",
    "Pair",
    "gain_differences",
    "gap",
    "growth",
    "ladder_differences",
    "ladder_rows",
    "wins_table",
]

What = tuple[str, str, str]
"""A network, the labels held against, and a metric."""
ByFold = Mapping[What, Mapping[str, Mapping[tuple[int, int], float]]]
"""What was found on clean images: by arm, then by seed and fold."""

Pair = tuple[str, str]
"""Two arms, of which the first is held against the second."""

RATIO = "cross_entropy_ratio"
"""First arm's cross-entropy as a share of the second's (S0-44: −29 % near, −38 % far)."""
LADDER_METRICS = ("accuracy", "cross_entropy")


def growth(ladder: Sequence[str]) -> str:
    """The name under which the growth of a gap along a ladder is kept.

    >>> growth(("near", "farther", "far"))
    'from near to far'
    """
    return f"from {ladder[0]} to {ladder[-1]}"


def ladder_differences(
    ladders: Sequence[Sequence[str]], found: ByFold, folds: int
) -> list[Difference]:
    """The gap at the far end of each ladder minus that at the near end, paired by seed (S0-44).

    Steps that were not tested are left out; a ladder of one step has no growth.
    """
    differences = []
    for ladder in ladders:
        against = {name for _, name, _ in found}
        steps = [step for step in ladder if step in against]
        if len(steps) < 2:
            continue
        for network in dict.fromkeys(network for network, _, _ in found):
            for metric in (*LADDER_METRICS, RATIO):
                differences += _grown(steps, network, metric, found, folds)
    return differences


def _grown(
    steps: Sequence[str], network: str, metric: str, found: ByFold, folds: int
) -> list[Difference]:
    kept = "cross_entropy" if metric == RATIO else metric
    near, far = (
        {arm: _whole(values, folds) for arm, values in found[network, step, kept].items()}
        for step in (steps[0], steps[-1])
    )
    differences = []
    for first, second in permutations(near, 2):
        sides = (near[first], near[second], far[first], far[second])
        seeds = [seed for seed in sides[0] if all(seed in side for side in sides)]
        if not seeds:
            continue
        values = [np.array([side[seed] for seed in seeds]) for side in sides]
        apart = _gap(metric, *values[2:]) - _gap(metric, *values[:2])
        what = (network, growth(steps), metric)
        differences.append(_over_seeds(what, first, second, apart, seeds))
    return differences


def gap(pair: Pair) -> str:
    """The name under which the gap of two arms stands where an arm would.

    >>> gap(("soft", "hard"))
    'soft minus hard'
    """
    return f"{pair[0]} minus {pair[1]}"


def gain_differences(
    gains: Sequence[tuple[Pair, Pair]], found: ByFold, folds: int
) -> list[Difference]:
    """The gap of the first pair of arms minus that of the second, paired by seed.

    Pairs of which an arm was not trained are left out.
    """
    differences = []
    for what, by_arm in found.items():
        for pairs in gains:
            arms = [arm for pair in pairs for arm in pair]
            if not all(arm in by_arm for arm in arms):
                continue
            sides = [_whole(by_arm[arm], folds) for arm in arms]
            seeds = [seed for seed in sides[0] if all(seed in side for side in sides)]
            if not seeds:
                continue
            one, two, three, four = (np.array([side[seed] for seed in seeds]) for side in sides)
            apart = (one - two) - (three - four)
            differences.append(_over_seeds(what, gap(pairs[0]), gap(pairs[1]), apart, seeds))
    return differences


def _over_seeds(
    what: What, first: str, second: str, apart: NDArray[np.float64], seeds: Sequence[int]
) -> Difference:
    network, against, metric = what
    low, high = student_interval(apart)
    tested = len(seeds) > 1
    return Difference(
        metric,
        float(apart.mean()),
        first,
        second,
        network=network,
        against=against,
        low=low if tested else None,
        high=high if tested else None,
        interval="seeds",
        p=paired_t(apart) if tested else None,
        test="paired t" if tested else "",
        seeds=tuple(seeds),
    )


def _gap(
    metric: str, first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    return first / second if metric == RATIO else first - second


def _whole(values: Mapping[tuple[int, int], float], folds: int) -> dict[int, float]:
    """The mean over folds of every seed that has all of them."""
    by_seed: dict[int, list[float]] = {}
    for (seed, _), value in values.items():
        by_seed.setdefault(seed, []).append(value)
    return {seed: float(np.mean(mine)) for seed, mine in by_seed.items() if len(mine) == folds}


def ladder_rows(
    ladder: Sequence[str],
    scores: Sequence[Score],
    differences: Sequence[Difference],
    baseline: str,
) -> pl.DataFrame:
    """A row a step, arm, network and metric, as ``report.figures.curves.shift_ladder`` draws it."""
    tested = {one.against for one in scores}
    step = {name: place for place, name in enumerate(one for one in ladder if one in tested)}
    gaps = {
        (one.first, one.network, one.against, one.metric): one.value
        for one in differences
        if one.second == baseline and one.stratum == "all"
    }
    return pl.DataFrame(
        [
            {
                "data": one.against,
                "step": step[one.against],
                "arm": one.arm,
                "network": one.network,
                "metric": one.metric,
                "value": one.value,
                "gap": gaps.get((one.arm, one.network, one.against, one.metric)),
            }
            for metric in LADDER_METRICS
            for one in scores
            if one.metric == metric and one.against in step and one.stratum == "all"
        ],
        schema_overrides={"gap": pl.Float64},
    )


def wins_table(found: ByFold, arms: Sequence[str], controls: Sequence[str]) -> pl.DataFrame:
    """In how many trainings an arm is better than a control of the same seed and fold (C5).

    Means hide a network or a collection on which the other arm is better.
    """
    rows = []
    for (network, against, metric), by_arm in found.items():
        if metric not in LADDER_METRICS:
            continue
        sign = -1.0 if METRICS[metric].better == "lower" else 1.0
        for arm, control in ((arm, control) for control in controls for arm in arms):
            if arm in controls or arm not in by_arm or control not in by_arm:
                continue
            shared = [key for key in by_arm[arm] if key in by_arm[control]]
            gains = [sign * (by_arm[arm][key] - by_arm[control][key]) for key in shared]
            rows.append(
                {
                    "arm": arm,
                    "control": control,
                    "network": network,
                    "held against": against,
                    "metric": metric,
                    "better": sum(gain > 0 for gain in gains),
                    "trainings": len(gains),
                }
            )
    return pl.DataFrame(rows)
