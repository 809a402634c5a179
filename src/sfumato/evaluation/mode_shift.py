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
    bootstrap_means,
    draw_multinomial,
    item_influence,
    mean_interval,
    mean_of_defined,
    percentile_interval,
    table_by_item,
    two_way_t,
)

DEFAULT_METRICS = ("accuracy", "cross_entropy", "kl", "brier")

TESTED_ON = ("original", "majority", "soft")
"""The labels that everything is tested on; soft are the human labels themselves. A metric that
sees only the most probable class gives the same number on soft and on majority."""

Values = NDArray[np.float64]
Rows = Mapping[int, Values]  # by seed, one value per item that was tested with it
Runs = Mapping[int, LabelSet]  # what a target's networks believe, by seed


@dataclass(frozen=True)
class StepEstimate:
    """A number and its 95 % interval; NaN where nothing can be said."""

    value: float
    low: float
    high: float
    seeds: tuple[int, ...] = ()
    """Of the runs behind it: of a difference, those that both targets have."""
    over: str = ""
    """What the interval is over: items, seeds and items, or seeds; empty without one."""

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

    items: Mapping[int, tuple[str, ...]]
    """What was tested with each seed."""
    values: Mapping[tuple[str, str, str], Rows]

    def apart(self, first: str, second: str, on: str, metric: Scorer) -> Rows:
        """First minus second with every seed that both have; higher is better."""
        sign = -1.0 if metric.better == "lower" else 1.0
        mine, theirs = (self.values[target, on, metric.name] for target in (first, second))
        return {seed: sign * (mine[seed] - theirs[seed]) for seed in mine if seed in theirs}

    def estimate(self, rows: Rows, *, rng: np.random.Generator, draws: int) -> StepEstimate:
        """The mean over seeds, with its interval over seeds and items."""
        if not rows:
            return StepEstimate(np.nan, np.nan, np.nan)
        value, seeds = self.mean(rows), tuple(rows)
        if not self.same_items(seeds):
            means = np.array([mean_of_defined(values) for values in rows.values()])
            table = table_by_item([self.items[seed] for seed in seeds], list(rows.values()))
            ends, _ = two_way_t(means, item_influence(table))
            return StepEstimate(value, *ends, seeds, "seeds and items")
        ends = mean_interval(np.array(list(rows.values())), rng=rng, draws=draws)
        return StepEstimate(value, *ends, seeds, "seeds and items" if len(seeds) > 1 else "items")

    def mean(self, rows: Rows) -> float:
        """The mean over items that every seed has a value for; over seeds where items differ."""
        if self.same_items(tuple(rows)):
            return mean_of_defined(np.mean(list(rows.values()), axis=0))
        return float(np.mean([mean_of_defined(values) for values in rows.values()]))

    def same_items(self, seeds: tuple[int, ...]) -> bool:
        """Whether all of the seeds were tested on the same items."""
        return len({self.items[seed] for seed in seeds}) == 1


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
    failed, a step is over those that both of its targets have; without any it is NaN. Each seed may
    have its own test items, the same for all targets; ``original`` and ``human`` have all of them.

    Intervals are over seeds and items (``stats.mean_interval``), with a single seed over items
    (bootstrap); steps are paired. The share is a percentile bootstrap over seeds and items.

    >>> people = LabelSet("ab", ("cat", "dog"), [[0.2, 0.8], [0, 1]])
    >>> original = LabelSet("ab", ("cat", "dog"), [[1, 0], [0, 1]])
    >>> learnt = {"original": [original], "majority": [people], "soft": [people]}
    >>> rng = np.random.default_rng(0)
    >>> found = mode_shift(learnt, original=original, human=people, metrics=["accuracy"], rng=rng)
    >>> found.modes_differ, found.gains[1].tested_on, found.gains[1].by_mode.value
    (1, 'majority', 0.5)
    """
    believed = _aligned(predictions)
    runs = [run for runs in believed.values() for run in runs.values()]
    items = tuple(dict.fromkeys(item for run in runs for item in run.items))
    human, original = align(human.take(items), original)
    chosen = [metric_named(name) for name in metrics]
    scores = _scores(believed, chosen, original=original, human=human)
    targets = [target for target, runs in believed.items() if runs]
    agreement = original_agreement(human, original)
    return ModeShift(
        network,
        len(items),
        len(scores.items),
        agreement.differ,
        agreement.tied,
        tuple(
            ModeRow(target, on, name, scores.estimate(rows, rng=rng, draws=draws))
            for (target, on, name), rows in scores.values.items()
            if rows
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
    sign = -1.0 if metric.better == "lower" else 1.0
    after, before = (scores.values[target, on, metric.name] for on in ("majority", "original"))
    rows = {seed: sign * (after[seed] - before[seed]) for seed in after}
    return scores.estimate(rows, rng=rng, draws=draws)


def _gain(
    scores: _Scores, target: str, on: str, metric: Scorer, rng: np.random.Generator, draws: int
) -> Gain:
    pairs = ((target, "original"), ("majority", "original"), (target, "majority"))
    whole, part, rest = (scores.apart(*pair, on, metric) for pair in pairs)
    total, by_mode, by_softness = (
        scores.estimate(rows, rng=rng, draws=draws) for rows in (whole, part, rest)
    )
    share = StepEstimate(np.nan, np.nan, np.nan)
    if total.clear and whole.keys() & part.keys():
        share = _share(scores, part, whole, rng=rng, draws=draws)
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
        {seed: run.items for runs in believed.values() for seed, run in runs.items()},
        {
            (target, on, metric.name): _values(metric, labels, runs)
            for metric in metrics
            for target, runs in believed.items()
            for on, labels in tested.items()
        },
    )


def _values(metric: Scorer, labels: LabelSet, runs: Runs) -> Rows:
    if metric.per_item is None or metric.better == "neither":
        raise DataError(
            f"The metric {metric.name!r} is no mean over items with a good side, so gains by it "
            f"cannot be divided. Use some of: {', '.join(DEFAULT_METRICS)}."
        )
    return {
        seed: metric.per_item(*align(labels.take(run.items), run)) for seed, run in runs.items()
    }


def _share(
    scores: _Scores, part: Rows, whole: Rows, *, rng: np.random.Generator, draws: int
) -> StepEstimate:
    """Part / whole with percentiles over resampled seeds and items, the same for both."""
    seeds = tuple(seed for seed in whole if seed in part)
    part, whole = ({seed: rows[seed] for seed in seeds} for rows in (part, whole))
    # Seeds with items of their own are resampled each for itself.
    groups = [seeds] if scores.same_items(seeds) else [(seed,) for seed in seeds]
    means = [
        np.hsplit(
            bootstrap_means(
                np.array([rows[seed] for rows in (part, whole) for seed in group]).T,
                rng=rng, draws=draws,
            ),
            2,
        )
        for group in groups
    ]  # fmt: skip
    picked = np.concatenate([*draw_multinomial(len(seeds), rng=rng, draws=draws)])
    above, below = (
        (picked * np.hstack([sides[side] for sides in means])).sum(axis=1) for side in (0, 1)
    )
    shares = np.full(draws, np.nan)
    ends = percentile_interval(np.divide(above, below, out=shares, where=below != 0))
    over = "seeds and items" if len(seeds) > 1 else "items"
    return StepEstimate(scores.mean(part) / scores.mean(whole), *ends, seeds, over)


def _aligned(predictions: Mapping[str, Runs | Sequence[LabelSet]]) -> dict[str, Runs]:
    """Every run by its seed; all runs about the same items have them in one order."""
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
    if not any(believed.values()):
        raise DataError("There are no runs of any target; give at least one of each.")
    first: dict[int, tuple[str, LabelSet]] = {}
    orders: dict[frozenset[str], tuple[str, ...]] = {}
    for target in ("original", *believed):
        for seed, run in believed[target].items():
            first.setdefault(seed, (target, run))
            orders.setdefault(frozenset(run.items), run.items)
            _check_items(seed, *first[seed], target, run)
    return {
        target: {seed: run.take(orders[frozenset(run.items)]) for seed, run in runs.items()}
        for target, runs in believed.items()
    }


def _check_items(seed: int, first: str, known: LabelSet, target: str, run: LabelSet) -> None:
    """With one seed all targets are tested on the same items."""
    for names, items, others in (
        ((target, first), run.items, known.items),
        ((first, target), known.items, run.items),
    ):
        more = set(items) - set(others)
        if more:
            raise DataError(
                f"With seed {seed} a run of {names[0]!r} predicts item {min(more)!r}, which that "
                f"of {names[1]!r} does not; score all on the same items."
            )
