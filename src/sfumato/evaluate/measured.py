"""Turn labels and predictions into rows, one an item, that every score is a summary of.

Items are joined by their names. Each metric gives its rows once (``Metric.parts``); strata,
bootstraps and differences between arms all work on selections of those rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.intervals import (
    Interval,
    bootstrap_means,
    bootstrap_statistics,
    percentiles,
    share_of_all_or_none,
)
from sfumato.evaluate.metrics import METRICS, Metric, cross_entropy
from sfumato.evaluate.pairs import top_class
from sfumato.evaluate.references import class_oracle_labels
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import LabelSet, align, hard_labels
from sfumato.labels.signals import entropy
from sfumato.names import find
from sfumato.provenance import Provenance

__all__ = [
    "FEWEST",
    "REFERENCES",
    "SHARES",
    "Measured",
    "Missing",
    "draw",
    "item_interval",
    "join",
    "measure",
    "moved_to",
    "value_of",
]

Missing = Literal["error", "leave out"]
"""What happens to an item of the labels that has no prediction."""

FEWEST = 2
"""A stratum of fewer items has no score: NaN, with a note."""

ALSO_AGAINST = ("accuracy", "cross_entropy")
"""What is measured against the majority and the original labels as well as against people."""

REFERENCES = ("entropy_floor", "class_oracle")
"""Lines to read cross-entropy by: what no model can beat, and what the class alone gives (C20)."""

SHARES = ("accuracy", "top2_accuracy", "second_best_accuracy", "second_best_accuracy_all")
"""Metrics that count items; where all or none count, resampling would claim certainty."""

Places = NDArray[np.int64]  # of the items in a stratum


@dataclass(frozen=True, eq=False)
class Measured:
    """One metric of one model against some labels, before it is summarised."""

    metric: str
    against: str
    rows: NDArray[np.float64]  # (items, numbers); a single column of values where it is a mean
    summary: Callable[[NDArray[np.float64]], float]
    is_mean: bool
    labels: Provenance
    """Where the labels came from that it is measured against."""
    note: str = ""


def join(human: LabelSet, model: LabelSet, missing: Missing = "error") -> tuple[LabelSet, LabelSet]:
    """Both sets over the same items and classes, in the order of the labels.

    Items that only the model has are left out: predictions often cover more than was judged.
    """
    known = set(model.items)
    match missing:
        case "error":
            lacking = [item for item in human.items if item not in known]
            if lacking:
                raise DataError(
                    f"Item {lacking[0]!r} of the labels has no prediction ({len(lacking)} of "
                    f"{len(human)} have none; the predictions are of {_span(model.items)}). "
                    "Predict it, or score the items that both have (--shared-items)."
                )
        case "leave out":
            kept = [item for item in human.items if item in known]
            if not kept:
                raise DataError(
                    f"The labels ({_span(human.items)}) and the predictions "
                    f"({_span(model.items)}) have no item in common."
                )
            human = human.take(kept)
        case _:
            assert_never(missing)
    return align(human, model)


def measure(
    human: LabelSet,
    model: LabelSet,
    *,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
) -> list[Measured]:
    """Every metric of one model, a row an item; ``model`` is joined to ``human`` already.

    All metrics against people; accuracy and cross-entropy also against their majority and the
    original labels; and, with cross-entropy or by name, the reference lines.
    """
    asked = {name: _known(name) for name in (metrics if metrics is not None else _EVERYTHING)}
    targets = {"people": human, "majority": majority_labels(human, "share")}
    if original is not None:
        targets["original"] = align(human, original)[1]
    found = [
        _by_metric(metric, against, labels, model)
        for metric in asked.values()
        if metric is not None
        for against, labels in targets.items()
        if against == "people" or metric.name in ALSO_AGAINST
    ]
    lines = REFERENCES if "cross_entropy" in asked else [n for n in REFERENCES if n in asked]
    return found + [_reference(name, human, targets.get("original")) for name in lines]


def value_of(measured: Measured, places: Places) -> float:
    """The metric over the items at these places; NaN where there are too few."""
    return measured.summary(measured.rows[places]) if len(places) >= FEWEST else float("nan")


def draw(
    measured: Sequence[Measured], places: Places, *, rng: np.random.Generator, draws: int
) -> list[NDArray[np.float64]]:
    """Each metric on resampled items of these places; empty where it is not defined on them.

    Means are drawn as one matrix product. What is no mean is computed again on each draw, which
    costs far more, and gets two draws in five. All means see the same items, and so do all
    others, so that differences between them are paired.
    """
    means = [at for at, each in enumerate(measured) if each.is_mean]
    others = [
        at
        for at, each in enumerate(measured)
        if not each.is_mean and not np.isnan(value_of(each, places))
    ]
    drawn = [np.empty(0) for _ in measured]
    if len(places) < FEWEST:
        return drawn
    if means:
        values = np.stack([measured[at].rows[places, 0] for at in means], axis=1)
        of_means = bootstrap_means(values, rng=rng, draws=draws)
        for at, column in zip(means, of_means.T, strict=True):
            drawn[at] = column
    if others:
        summaries = [measured[at].summary for at in others]
        # column by column in memory, as the summaries read them: half the time
        columns = [np.ascontiguousarray(measured[at].rows[places].T) for at in others]

        def again(picked: Places) -> list[float]:
            rows = (each.take(picked, axis=1).T for each in columns)
            return [summary(each) for summary, each in zip(summaries, rows, strict=True)]

        fewer = max(min(draws, 1), draws * 2 // 5)
        of_others = bootstrap_statistics(again, len(places), rng=rng, draws=fewer)
        for at, column in zip(others, of_others.T, strict=True):
            drawn[at] = column
    return drawn


def item_interval(measured: Measured, places: Places, drawn: NDArray[np.float64]) -> Interval:
    """The interval over items of what was drawn: percentiles, moved where it is no mean."""
    value = value_of(measured, places)
    if not measured.is_mean:
        return moved_to(value, drawn)
    if measured.metric in SHARES and value in (0, 1):
        defined = int((~np.isnan(measured.rows[places, 0])).sum())
        return share_of_all_or_none(value, defined)
    return percentiles(drawn)


def moved_to(value: float, drawn: NDArray[np.float64]) -> Interval:
    """Percentiles moved so that the mean of the draws is the value; zero stays a bound.

    Resampling repeats items, which by itself raises a calibration error and lowers the worst
    class, so the draws lie beside the value and not around it.
    """
    low, high = percentiles(drawn)
    if np.isnan(low) or np.isnan(value):
        return Interval(low, high)
    shift = float(np.nanmean(drawn)) - value
    least = 0.0 if np.nanmin(drawn) >= 0 else -np.inf
    return Interval(max(low - shift, least), high - shift)


_EVERYTHING = (*METRICS, *REFERENCES)


def _known(name: str) -> Metric | None:
    """The metric of that name, or None for a reference line."""
    table: dict[str, Metric | None] = {**METRICS, **dict.fromkeys(REFERENCES)}
    return find(table, name, what="metric")


def _by_metric(metric: Metric, against: str, labels: LabelSet, model: LabelSet) -> Measured:
    return Measured(
        metric.name,
        against,
        metric.parts(labels, model),
        metric.summary,
        metric.per_item is not None,
        labels.provenance,
    )


def _reference(name: str, human: LabelSet, original: LabelSet | None) -> Measured:
    note = ""
    if name == "entropy_floor":
        values = entropy(human)
    else:
        if original is None:
            original = hard_labels(human.items, human.classes, top_class(human))
            note = "classes by people's majority; original labels were not given"
        values = cross_entropy(human, class_oracle_labels(human, original))
    summary = METRICS["cross_entropy"].summary
    return Measured(name, "people", values[:, None], summary, True, human.provenance, note)


def _span(items: Sequence[str]) -> str:
    """A few words on which items there are."""
    if len(items) < 2:
        return f"{len(items)} item" + (f", {items[0]!r}" if items else "s")
    return f"{len(items)} items, {items[0]!r} to {items[-1]!r}"
