"""Turn predictions of models that learnt from different targets into what softness was worth.

Labels from people differ from the original ones in two ways: they are soft, and for some items
their most frequent class is another (the mode shifts). A gain of soft over original labels mixes
both. The control is a model that learnt from the majority vote of the same people: its gain over
the original labels is the mode shift's, what soft labels add to it is softness (S4-45, C15):

    soft − original  =  (majority − original)  +  (soft − majority)

Every model is tested on the original labels, on the majority vote and on the soft labels, since a
gain on one may be a loss on another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.metrics import Scorer, metric_named
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import original_agreement
from sfumato.stats import (
    Interval,
    bootstrap_means,
    draw_multinomial,
    mean_interval,
    mean_of_defined,
    percentile_interval,
)

DEFAULT_METRICS = ("accuracy", "cross_entropy", "kl", "brier")

TESTED_ON = ("original", "majority", "soft")
"""The labels that everything is tested on; soft are the human labels themselves. A metric that
sees only the most probable class gives the same number on soft and on majority."""

Values = NDArray[np.float64]  # (seeds, items)
Runs = Mapping[int, LabelSet]  # what a target's networks believe, by seed


@dataclass(frozen=True)
class StepEstimate:
    """A number and its 95 % interval; NaN where nothing can be said."""

    value: float
    low: float
    high: float
    seeds: tuple[int, ...] = ()
    """Of the runs behind it: of a difference, those that both targets have."""

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class ModeRow:
    """How one training target does by one metric on one kind of test label."""

    trained_on: str
    tested_on: str
    metric: str
    score: StepEstimate


@dataclass(frozen=True)
class Relabelling:
    """What changes for one model when only the test labels do; positive is better."""

    trained_on: str
    metric: str
    change: StepEstimate
    """On the majority vote against on the original labels: about 3 points of accuracy on the
    MNIST items of paper 5, whatever the target."""


@dataclass(frozen=True)
class Gain:
    """What a target gained over the original labels, in two steps; positive is better."""

    target: str
    tested_on: str
    metric: str
    total: StepEstimate
    """Target against original labels."""
    by_mode: StepEstimate
    """Majority vote against original labels: what the shifted modes alone give."""
    by_softness: StepEstimate
    """Target against its majority vote: what softness adds."""
    share_by_mode: StepEstimate
    """``by_mode`` over ``total``, above 1 where softness costs; NaN where the total is not clearly
    different from zero, because then there is no gain to explain."""
    sentence: str


@dataclass(frozen=True)
class ModeShift:
    """The decoupling for one network."""

    network: str
    items: int
    seeds: int
    """How many there are of any target."""
    modes_differ: int
    """Items whose most frequent human class is not the original label."""
    ties: int
    """Items without a single most frequent human class; the first of them counts."""
    rows: tuple[ModeRow, ...]
    relabelling: tuple[Relabelling, ...]
    gains: tuple[Gain, ...]
    sentence: str

    @property
    def share_of_modes(self) -> float:
        """The share of items whose mode differs from the original label."""
        return self.modes_differ / self.items


@dataclass(frozen=True, eq=False)
class _Scores:
    """Values of every run by training target, test label and metric."""

    seeds: Mapping[str, tuple[int, ...]]
    values: Mapping[tuple[str, str, str], Values]

    def of(self, target: str, on: str, metric: Scorer, seeds: tuple[int, ...]) -> Values:
        """A row for each of the seeds; higher is better."""
        rows = [self.seeds[target].index(seed) for seed in seeds]
        sign = -1.0 if metric.better == "lower" else 1.0
        return sign * self.values[target, on, metric.name][rows]

    def shared(self, *targets: str) -> tuple[int, ...]:
        """The seeds that all of the targets have."""
        first, *others = targets
        return tuple(s for s in self.seeds[first] if all(s in self.seeds[o] for o in others))


def mode_shift(
    predictions: Mapping[str, Runs | Sequence[LabelSet]],
    *,
    original: LabelSet,
    human: LabelSet,
    metrics: Sequence[str] = DEFAULT_METRICS,
    network: str = "",
    rng: np.random.Generator,
    draws: int = 1000,
) -> ModeShift:
    """Score each training target on each kind of label and divide the gains.

    ``predictions`` gives, for each target a network learnt from, one label set per seed: by the
    seed, or as a list with the same seeds in the same order for all. "original" and "majority"
    must be among the targets: without the majority vote there is no telling the two effects apart.
    All others are compared with them. Where targets have different seeds, because some runs
    failed, a step is over those that both of its targets have; without any it is NaN.

    Intervals are over seeds and items (``stats.mean_interval``), with a single seed over items
    (bootstrap); steps are paired. The share is a percentile bootstrap over both.

    >>> people = LabelSet("ab", ("cat", "dog"), [[0.2, 0.8], [0, 1]])
    >>> original = LabelSet("ab", ("cat", "dog"), [[1, 0], [0, 1]])
    >>> learnt = {"original": [original], "majority": [people], "soft": [people]}
    >>> rng = np.random.default_rng(0)
    >>> found = mode_shift(learnt, original=original, human=people, metrics=["accuracy"], rng=rng)
    >>> found.modes_differ, found.gains[1].tested_on, found.gains[1].by_mode.value
    (1, 'majority', 0.5)
    """
    believed = _aligned(predictions)
    items = next(run for runs in believed.values() for run in runs.values())  # all have the same
    _, original = align(items, original)
    _, human = align(items, human)
    chosen = [metric_named(name) for name in metrics]
    scores = _scores(believed, chosen, original=original, human=human)
    targets = [target for target, runs in believed.items() if runs]
    agreement = original_agreement(human, original)
    return ModeShift(
        network,
        len(items),
        len({seed for runs in believed.values() for seed in runs}),
        agreement.differ,
        agreement.tied,
        tuple(
            ModeRow(target, on, name, _estimate(values, scores.seeds[target], rng=rng, draws=draws))
            for (target, on, name), values in scores.values.items()
            if len(values)
        ),
        tuple(
            Relabelling(target, metric.name, _relabelled(scores, target, metric, rng, draws))
            for metric in chosen
            for target in targets
        ),
        tuple(
            _gain(scores, target, on, metric, rng, draws)
            for metric in chosen
            for target in targets
            if target not in ("original", "majority")
            for on in TESTED_ON
        ),
        f"The most frequent human class differs from the original label on {agreement.differ} of "
        f"{len(items)} items ({agreement.differ / len(items):.1%}).",
    )


def mode_shift_table(found: ModeShift) -> pl.DataFrame:
    """A row a training target, test label and metric."""
    return pl.DataFrame(
        {
            "network": [found.network] * len(found.rows),
            "trained_on": [row.trained_on for row in found.rows],
            "tested_on": [row.tested_on for row in found.rows],
            "metric": [row.metric for row in found.rows],
            "value": [row.score.value for row in found.rows],
            "low": [row.score.low for row in found.rows],
            "high": [row.score.high for row in found.rows],
        }
    )


def _relabelled(
    scores: _Scores, target: str, metric: Scorer, rng: np.random.Generator, draws: int
) -> StepEstimate:
    seeds = scores.seeds[target]
    after, before = (scores.of(target, on, metric, seeds) for on in ("majority", "original"))
    return _estimate(after - before, seeds, rng=rng, draws=draws)


def _gain(
    scores: _Scores, target: str, on: str, metric: Scorer, rng: np.random.Generator, draws: int
) -> Gain:
    def step(first: str, second: str, seeds: tuple[int, ...]) -> Values:
        return scores.of(first, on, metric, seeds) - scores.of(second, on, metric, seeds)

    steps = []
    for first, second in ((target, "original"), ("majority", "original"), (target, "majority")):
        seeds = scores.shared(first, second)
        steps.append(_estimate(step(first, second, seeds), seeds, rng=rng, draws=draws))
    total, by_mode, by_softness = steps
    share = StepEstimate(np.nan, np.nan, np.nan)
    everywhere = scores.shared(target, "original", "majority")
    if total.clear and everywhere:
        part, whole = (step(first, "original", everywhere) for first in ("majority", target))
        low, high = _share_interval(part, whole, rng=rng, draws=draws)
        ratio = mean_of_defined(part.mean(axis=0)) / mean_of_defined(whole.mean(axis=0))
        share = StepEstimate(ratio, low, high, everywhere)
    sentence = _sentence(target, on, metric.title, total, by_mode, by_softness, share)
    return Gain(target, on, metric.name, total, by_mode, by_softness, share, sentence)


def _sentence(
    target: str,
    on: str,
    title: str,
    total: StepEstimate,
    by_mode: StepEstimate,
    by_softness: StepEstimate,
    share: StepEstimate,
) -> str:
    where = f"Tested on {on} labels by {title}, "
    if not total.clear:
        return (
            f"{where}learning from {target} labels is not clearly better or worse than from the "
            f"original ones ({_shown(total)})."
        )
    word = "gains" if total.value > 0 else "loses"
    said = (
        f"{where}learning from {target} labels {word} {_shown(total, size=True)} over the original "
        f"ones: {_shown(by_mode)} with their majority vote alone and {_shown(by_softness)} from "
        "softness"
    )
    if np.isfinite(share.value):
        said += f"; the majority vote's part is {share.value:.0%}"
        if np.isfinite([share.low, share.high]).all():
            said += f" [{share.low:.0%}, {share.high:.0%}]"
    return said + "."


def _shown(estimate: StepEstimate, *, size: bool = False) -> str:
    value, low, high = estimate.value, estimate.low, estimate.high
    if size and value < 0:
        value, low, high = -value, -high, -low
    sign = "" if size else "+"
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def _scores(
    believed: Mapping[str, Runs],
    metrics: Sequence[Scorer],
    *,
    original: LabelSet,
    human: LabelSet,
) -> _Scores:
    tested = dict(zip(TESTED_ON, (original, majority_labels(human, "share"), human), strict=True))
    return _Scores(
        {target: tuple(runs) for target, runs in believed.items()},
        {
            (target, on, metric.name): _values(metric, labels, runs)
            for metric in metrics
            for target, runs in believed.items()
            for on, labels in tested.items()
        },
    )


def _values(metric: Scorer, labels: LabelSet, runs: Runs) -> Values:
    if metric.per_item is None or metric.better == "neither":
        raise DataError(
            f"The metric {metric.name!r} is no mean over items with a good side, so gains by it "
            f"cannot be divided. Use some of: {', '.join(DEFAULT_METRICS)}."
        )
    rows = [metric.per_item(labels, run) for run in runs.values()]
    return np.array(rows, dtype=np.float64).reshape(len(runs), len(labels))


def _estimate(
    values: Values, seeds: tuple[int, ...], *, rng: np.random.Generator, draws: int
) -> StepEstimate:
    if not seeds:
        return StepEstimate(np.nan, np.nan, np.nan)
    interval = mean_interval(values, rng=rng, draws=draws)
    return StepEstimate(mean_of_defined(values.mean(axis=0)), *interval, seeds)


def _share_interval(
    part: Values, whole: Values, *, rng: np.random.Generator, draws: int
) -> Interval:
    """Percentiles of part / whole over resampled seeds and items, the same for both."""
    means = bootstrap_means(np.vstack([part, whole]).T, rng=rng, draws=draws)
    seeds = np.concatenate([*draw_multinomial(len(part), rng=rng, draws=draws)])
    above, below = ((seeds * side).sum(axis=1) for side in np.hsplit(means, 2))
    shares = np.full(draws, np.nan)
    return percentile_interval(np.divide(above, below, out=shares, where=below != 0))


def _aligned(predictions: Mapping[str, Runs | Sequence[LabelSet]]) -> dict[str, Runs]:
    """Every run over the items and classes of the first, in their order, by seed."""
    for needed in ("original", "majority"):
        if needed not in predictions:
            raise DataError(
                f"There are no predictions of a model that learnt from {needed!r} labels; without "
                "them a gain of soft labels may be a shift of modes. Train on them too."
            )
    listed = {t: runs for t, runs in predictions.items() if not isinstance(runs, Mapping)}
    for target, runs in listed.items():
        expected = len(predictions["original"])
        if len(runs) != expected:  # which of them is missing cannot be told
            raise DataError(
                f"There are {len(runs)} runs of {target!r} and {expected} of 'original'; give the "
                "same seeds in the same order for all, or the runs by their seeds."
            )
    believed = {
        target: dict(runs) if isinstance(runs, Mapping) else dict(enumerate(runs))
        for target, runs in predictions.items()
    }
    every = [run for name in ("original", *believed) for run in believed[name].values()]
    if not every:
        raise DataError("There are no runs of any target; give at least one of each.")
    return {
        target: {
            seed: align(every[0], _same_items(every[0], run, target))[1]
            for seed, run in runs.items()
        }
        for target, runs in believed.items()
    }


def _same_items(first: LabelSet, run: LabelSet, target: str) -> LabelSet:
    more = set(run.items) - set(first.items)
    if more:
        raise DataError(
            f"A run of {target!r} predicts item {min(more)!r}, which the first run does not; score "
            "all on the same items."
        )
    return run
