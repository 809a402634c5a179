"""Turn networks' beliefs about attacked images into robustness curves."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.evaluate.attack_kinds import LEVELS, Attacked
from sfumato.evaluate.intervals import bootstrap_items
from sfumato.evaluate.metrics import metric_named
from sfumato.labels.labelset import LabelSet

__all__ = ["attack_curve", "iteration_curve"]

CURVE_METRICS = ("accuracy", "cross_entropy")


def attack_curve(
    attacked: Sequence[Attacked],
    scored: Mapping[str, LabelSet],
    *,
    rng: np.random.Generator,
    arm: str = "",
    network: str = "",
    metrics: Sequence[str] = CURVE_METRICS,
    draws: int = 1000,
) -> pl.DataFrame:
    """Metrics against the bound: the clean images at ``epsilon`` 0, then the end of each attack.

    One network under attacks of several bounds. ``scored`` names the labels to compare with,
    such as ``{"original": …, "people": …}``, of the attacked items in their order. ``epsilon``
    and ``step`` are in units of 1/255. Intervals are 95 %, over items.
    """
    rows: list[dict[str, object]] = []
    for first in {each.attack.kind: each for each in reversed(attacked)}.values():
        rows += _rows(first, 0, scored, metrics, rng, draws) if first.attack.epsilon_255 else []
    rows = [{**row, "epsilon": 0.0} for row in rows]
    for each in attacked:
        rows += _rows(each, len(each.beliefs) - 1, scored, metrics, rng, draws)
    return _table(rows, arm, network)


def iteration_curve(
    attacked: Sequence[Attacked],
    scored: Mapping[str, LabelSet],
    *,
    rng: np.random.Generator,
    arm: str = "",
    network: str = "",
    metrics: Sequence[str] = CURVE_METRICS,
    draws: int = 1000,
) -> pl.DataFrame:
    """Metrics against the iteration, 0 being the clean images (S0-37); columns as in
    ``attack_curve``.
    """
    rows: list[dict[str, object]] = []
    for each in attacked:
        for iteration in range(len(each.beliefs)):
            rows += _rows(each, iteration, scored, metrics, rng, draws)
    return _table(rows, arm, network)


_COLUMNS = pl.Schema(
    {
        **dict.fromkeys(("arm", "network", "attack"), pl.String()),
        **dict.fromkeys(("epsilon", "step"), pl.Float64()),
        "unit": pl.String(),
        "iteration": pl.Int64(),
        **dict.fromkeys(("against", "metric"), pl.String()),
        **dict.fromkeys(("value", "low", "high"), pl.Float64()),
        **dict.fromkeys(("items", "trained_on"), pl.Int64()),
    }
)


def _rows(
    attacked: Attacked,
    iteration: int,
    scored: Mapping[str, LabelSet],
    metrics: Sequence[str],
    rng: np.random.Generator,
    draws: int,
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for against, human in scored.items():
        for metric in map(metric_named, metrics):
            if metric.per_item is None:
                raise DataError(
                    f"The metric {metric.name!r} has no value for each item; robustness curves "
                    "take metrics that have one, such as accuracy or cross_entropy."
                )
            values = metric.per_item(human, attacked.beliefs[iteration])
            low, high = bootstrap_items(values, rng=rng, draws=draws)
            row = {"against": against, "metric": metric.name, "iteration": iteration}
            row |= {"value": metric.overall(human, attacked.beliefs[iteration])}
            rows.append({**row, "low": low, "high": high, **_setting(attacked)})
    return rows


def _setting(attacked: Attacked) -> dict[str, object]:
    attack = attacked.attack
    return {
        "attack": attack.kind,
        "epsilon": float(attack.epsilon_255),
        "step": float(attack.step_255 if attack.kind == "pgd" else attack.epsilon_255),
        "unit": f"1/{LEVELS}",
        "items": len(attacked.items),
        "trained_on": attacked.trained_on,
    }


def _table(rows: list[dict[str, object]], arm: str, network: str) -> pl.DataFrame:
    return pl.DataFrame([{**row, "arm": arm, "network": network} for row in rows], schema=_COLUMNS)
