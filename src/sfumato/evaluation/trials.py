"""From what trained networks believe about tests to estimates: arms, seeds, folds and strata.

A *trial* is one network on one test: every metric as rows, one per item, of which all numbers are
summaries. An arm has trials with several seeds; the trials of one seed, such as its folds, count
as their mean. ``score`` has the functions for the usual case of one test that all share.

A number that does not exist (a stratum without items, a second choice where nobody has one) is
NaN with a note, never left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.metrics import (
    METRICS,
    Scorer,
    cross_entropy,
    top_class,
    usual_metrics,
    wasserstein,
)
from sfumato.labels.alter import class_level, majority_labels
from sfumato.labels.labelset import LabelSet, align, hard_labels
from sfumato.labels.signals import entropy
from sfumato.names import find
from sfumato.provenance import Provenance, Step, is_simulated, to_json
from sfumato.scores import IN_MEMORY, Estimate, source_text, with_interval
from sfumato.stats import (
    MANY_ROWS,
    Interval,
    Resamples,
    bootstrap_means,
    bootstrap_statistics,
    item_influence,
    paired_t,
    percentile_interval,
    share_interval,
    sign_flip,
    student_interval,
    two_way_t,
    wilcoxon,
)

FEWEST = 2
"""A stratum of fewer items has no score: NaN, with a note."""

ALSO_AGAINST = ("accuracy", "cross_entropy")
"""What is measured against the majority and the original labels as well as against people."""

REFERENCES = ("entropy_floor", "class_oracle")
"""Lines to read cross-entropy by: what no model can beat, and what the class alone gives (C20)."""

SCALE_REFERENCE = "wasserstein_of_mean"
"""The line to read Wasserstein distances by: what the mean label of all items gives."""

SHARES = ("accuracy", "top2_accuracy", "second_best_accuracy", "second_best_accuracy_all")
"""Metrics that count items; where all or none count, resampling would claim certainty."""

SeedInterval = Literal["seeds", "seeds and items"]
"""What an interval is over. "seeds": the same items and the network trained again, so that a single
seed has none. "seeds and items": other items too; with a single seed, over items alone."""

SEED_TESTS: dict[str, Callable[[NDArray[np.float64], np.random.Generator], float]] = {
    "paired t": lambda differences, _: paired_t(differences),
    "sign-flip": lambda differences, rng: sign_flip(differences, rng=rng),
    "wilcoxon": lambda differences, _: wilcoxon(differences),
}
"""Two-sided tests of paired differences over seeds. With six seeds ``sign-flip`` and ``wilcoxon``
cannot go below 1/32, whatever the difference."""

Mask = NDArray[np.bool_]  # (items,)
Places = NDArray[np.int64]  # of the items in a stratum
Drawn = list[NDArray[np.float64]]  # for each metric what it is on resampled items

_NOWHERE: Places = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class MetricRows:
    """One metric of one model against some labels, before it is summarised."""

    metric: str
    against: str
    rows: NDArray[np.float64]  # (items, numbers); a single column of values where it is a mean
    summary: Callable[[NDArray[np.float64]], float]
    is_mean: bool
    labels: Provenance
    """Where the labels came from that it is measured against."""
    note: str = ""
    redraw: Callable[[NDArray[np.float64], Resamples], NDArray[np.float64]] | None = None
    """Its values on resamples of many rows, where it is no mean."""

    def at(self, places: Places) -> NDArray[np.float64]:
        """The rows of some items, which are all if they are as many."""
        return self.rows if len(places) == len(self.rows) else self.rows[places]


@dataclass(frozen=True, eq=False)
class Trial:
    """One trained network on the items of one test."""

    items: tuple[str, ...]
    rows: Sequence[MetricRows]
    places: Mapping[str, Places]
    """Where the items of each stratum are; "all" is always there."""
    model: Provenance


@dataclass(frozen=True, eq=False)
class ArmTrials:
    """All trials of an arm, by seed; every trial measures the same, maybe on other items."""

    arm: str
    trials: Mapping[int, Sequence[Trial]]

    def __post_init__(self) -> None:
        if not any(self.trials.values()):
            raise DataError(
                f"The arm {self.arm!r} has no predictions; give those of one seed or more."
            )

    @property
    def rows(self) -> Sequence[MetricRows]:
        """What the first trial measured."""
        return next(self._all()).rows

    @cached_property
    def strata(self) -> tuple[str, ...]:
        """The strata of all trials."""
        return tuple(dict.fromkeys(name for trial in self._all() for name in trial.places))

    @cached_property
    def values(self) -> dict[tuple[str, int], dict[int, float]]:
        """By stratum and number of the row: the value of every seed that has one."""
        return {
            (stratum, at): {
                seed: mean
                for seed, trials in self.trials.items()
                if not np.isnan(mean := _mean_value(trials, stratum, at))
            }
            for stratum in self.strata
            for at in range(len(self.rows))
        }

    @cached_property
    def tested(self) -> dict[str, int]:
        """The items of all trials, numbered."""
        items = dict.fromkeys(item for trial in self._all() for item in trial.items)
        return {item: number for number, item in enumerate(items)}

    @cached_property
    def columns(self) -> dict[int, list[Places]]:
        """For every trial of every seed the numbers of its items."""
        return {
            seed: [
                np.array([self.tested[item] for item in trial.items], dtype=np.int64)
                for trial in trials
            ]
            for seed, trials in self.trials.items()
        }

    @cached_property
    def models(self) -> list[Provenance]:
        """The steps behind every trial's model."""
        return [trial.model for trial in self._all()]

    @cached_property
    def simulated(self) -> bool:
        """Whether simulated people are behind any of the models."""
        return any(map(is_simulated, self.models))

    def count(self, stratum: str) -> int:
        """How many items the first seed was tested on."""
        first, *others = next(iter(self.trials.values()))
        inside = first.places.get(stratum, _NOWHERE)
        if not others:
            return len(inside)
        return len(
            {trial.items[at] for trial in (first, *others) for at in trial.places.get(stratum, ())}
        )

    def _all(self) -> Iterator[Trial]:
        return (trial for trials in self.trials.values() for trial in trials)


def metric_rows(
    labels: Mapping[str, LabelSet],
    model: LabelSet,
    metrics: Sequence[str],
    also: Sequence[str] | None = None,
) -> list[MetricRows]:
    """Every metric of one model against every set of labels, all of the same items and classes.

    ``also`` are the metrics that are measured against more than the first set; None: all.
    """
    first = next(iter(labels))
    return [
        MetricRows(
            name,
            against,
            scorer.parts(human, model),
            scorer.summary,
            scorer.per_item is not None,
            human.provenance,
            redraw=scorer.redraw,
        )
        for name, scorer in ((name, find(METRICS, name, what="metric")) for name in metrics)
        for against, human in labels.items()
        if also is None or against == first or name in also
    ]


def measure(
    human: LabelSet,
    model: LabelSet,
    *,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
) -> list[MetricRows]:
    """Every metric of one model, one row per item; ``model`` is joined to ``human`` already.

    All metrics against people; accuracy and cross-entropy also against their majority and the
    original labels; and, with cross-entropy or by name, the reference lines.
    """
    known: dict[str, Scorer | None] = {
        **METRICS,
        **dict.fromkeys((*REFERENCES, SCALE_REFERENCE)),
    }
    asked = metrics if metrics is not None else (*usual_metrics(human), *REFERENCES)
    computed = [name for name in asked if find(known, name, what="metric") is not None]
    labels = {"people": human, "majority": majority_labels(human, "share")}
    if original is not None:
        labels["original"] = align(human, original)[1]
    lines = REFERENCES if "cross_entropy" in asked else [n for n in REFERENCES if n in asked]
    if "wasserstein" in asked:
        lines = (*lines, SCALE_REFERENCE)
    return [
        *metric_rows(labels, model, computed, ALSO_AGAINST),
        *(_reference(name, human, labels.get("original")) for name in lines),
    ]


def stratum_places(
    human: LabelSet, kept: LabelSet, strata: Mapping[str, Mask]
) -> dict[str, Places]:
    """Where the items of each stratum of ``human`` are among those ``kept``; "all" first."""
    position = {item: place for place, item in enumerate(kept.items)}
    places = {"all": np.arange(len(kept))}
    for name, mask in strata.items():
        if mask.shape != (len(human),) or mask.dtype != np.bool_:
            raise DataError(
                f"The stratum {name!r} has shape {mask.shape} and type {mask.dtype}; expected true "
                f"or false for each of the {len(human)} items of the labels."
            )
        inside = (human.items[row] for row in np.flatnonzero(mask))
        at = [position[item] for item in inside if item in position]
        places[name] = np.array(at, dtype=np.int64)
    return places


def score_arm(
    arm: ArmTrials,
    *,
    network: str = "",
    interval: SeedInterval = "seeds and items",
    rng: np.random.Generator,
    draws: int = 1000,
) -> list[Estimate]:
    """Every number of an arm: the mean over the seeds that have it, with its interval (S2-74).

    Over seeds it is Student's t; over seeds and items a two-way one (``stats.two_way_t``), where
    the metric is a mean over items, and Student's where it is not; over items a bootstrap.
    """
    resampled = len(arm.trials) == 1 and interval == "seeds and items"
    only = next(iter(arm.trials.values()))
    source = _sources(arm.models)
    found = []
    for stratum in arm.strata:
        count = arm.count(stratum)
        drawn = _drawn(only, stratum, rng, draws) if resampled else []
        for at, rows in enumerate(arm.rows):
            values = arm.values[stratum, at]
            value = float(np.mean(list(values.values()))) if values else float("nan")
            note = _note(rows, value, count, [seed for seed in arm.trials if seed not in values])
            estimate = Estimate(
                rows.metric,
                value,
                arm=arm.arm,
                network=network,
                against=rows.against,
                stratum=stratum,
                items=count,
                seeds=tuple(values) or tuple(arm.trials),
                simulated=arm.simulated or is_simulated(rows.labels),
                source=source(rows.labels, note),
            )
            if resampled:
                ends, over = _over_items(only, stratum, at, value, drawn[at]), "items"
            else:
                ends, over = _over_seeds(arm, stratum, at, interval)
            found.append(with_interval(estimate, *ends, over))
    return found


def compare_arms(
    first: ArmTrials,
    second: ArmTrials,
    *,
    network: str = "",
    interval: SeedInterval = "seeds and items",
    test: str = "paired t",
    rng: np.random.Generator,
    draws: int = 1000,
) -> list[Estimate]:
    """``first`` minus ``second`` by every metric and stratum, over the seeds of both (S4-36).

    Several seeds are the pairs, and if the interval may be over them so are items: both arms were
    tested on the same ones, so that what is hard in them cancels out (``paired``). With one seed
    only items are: paired bootstrap and sign-flip permutation, where the metric is a mean over
    items. Without a common seed there is nothing.
    """
    shared = [seed for seed in first.trials if seed in second.trials]
    if not shared:
        return []
    both = interval == "seeds and items"
    resampled = both and len(shared) == 1
    places = [
        at
        for at, rows in enumerate(first.rows)
        if rows.metric not in (*REFERENCES, SCALE_REFERENCE)
    ]
    source = _sources(first.models, second.models)
    found = []
    for stratum in first.strata:
        count = min(first.count(stratum), second.count(stratum))
        pairs = (
            _item_pairs(first, second, shared[0], stratum, places, rng, draws)
            if resampled
            else None
        )
        for at in places:
            rows = first.rows[at]
            mine, theirs = (side.values.get((stratum, at), {}) for side in (first, second))
            apart = {s: mine[s] - theirs[s] for s in shared if s in mine and s in theirs}
            value = float(np.mean(list(apart.values()))) if apart else float("nan")
            note = _note(rows, value, count, [seed for seed in shared if seed not in apart])
            blank = Estimate(
                rows.metric,
                value,
                arm=first.arm,
                second=second.arm,
                network=network,
                against=rows.against,
                stratum=stratum,
                items=count,
                seeds=tuple(shared),
                simulated=first.simulated or second.simulated or is_simulated(rows.labels),
                source=source(rows.labels, note),
            )
            if pairs is None:
                influence = (
                    added_influence((first, second), (1, -1), apart, stratum, at) if both else None
                )
                found.append(pair_seeds(blank, apart, influence, test=test, rng=rng))
            else:
                found.append(pairs.estimate(blank, at))
    return found


def pair_seeds(
    blank: Estimate,
    apart: Mapping[int, float],
    influence: NDArray[np.float64] | None = None,
    *,
    test: str = "paired t",
    rng: np.random.Generator,
) -> Estimate:
    """The mean of differences by seed, with an interval and the p-value of a named test.

    ``blank`` says what they are differences of. With the ``influence`` of items, (seeds, items),
    interval and t test are over seeds and items, without it over seeds; the other tests always
    are. A single seed has neither interval nor test.
    """
    if not apart:
        return blank
    values = np.array(list(apart.values()))
    estimate = replace(blank, value=float(values.mean()), seeds=tuple(apart))
    p = find(SEED_TESTS, test, what="test over seeds")(values, rng)
    if influence is None:
        return _with_test(with_interval(estimate, *student_interval(values), "seeds"), p, test)
    ends, both = two_way_t(values, influence)
    estimate = with_interval(estimate, *ends, "seeds and items")
    if test == "paired t":
        p, test = both, "paired t over seeds and items"
    return _with_test(estimate, p, test)


def added_influence(
    sides: Sequence[ArmTrials],
    signs: Sequence[float],
    seeds: Iterable[int],
    stratum: str,
    at: int,
) -> NDArray[np.float64] | None:
    """What each item adds to the error of a sum of arms with each seed: (seeds, items).

    Trials of one seed count as their mean. None where the metric is no mean over items, is not
    finite, or the arms were not tested on the same items.
    """
    first, kept = sides[0], list(seeds)
    width = len(first.tested)
    found, seen = np.zeros((len(kept), width)), np.zeros(width, dtype=np.bool_)
    for row, seed in enumerate(kept):
        tested = [side.trials[seed] for side in sides]
        if len({len(trials) for trials in tested}) > 1:
            return None
        for columns, *trials in zip(first.columns[seed], *tested, strict=True):
            if not trials[0].rows[at].is_mean or any(t.items != trials[0].items for t in trials):
                return None
            for sign, trial in zip(signs, trials, strict=True):
                places = trial.places.get(stratum, _NOWHERE)
                values = trial.rows[at].rows[places, 0]
                if np.isinf(values).any():
                    return None
                found[row, columns[places]] += sign * item_influence(values) / len(tested[0])
                seen[columns[places[~np.isnan(values)]]] = True
    return found[:, seen]


def value_of(rows: MetricRows, places: Places) -> float:
    """The metric over the items at these places; NaN where there are too few."""
    return rows.summary(rows.at(places)) if len(places) >= FEWEST else float("nan")


def draw(
    measured: Sequence[MetricRows], places: Places, *, rng: np.random.Generator, draws: int
) -> Drawn:
    """Each metric on resampled items of these places; empty where it is not defined on them.

    Means are drawn as one matrix product. What is no mean is computed again on each draw, which
    costs far more, and gets two draws in five; of many items it is computed from sums. All means
    see the same items, and so do all others, so that differences between them are paired.
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
    fewer = max(min(draws, 1), draws * 2 // 5)
    if len(places) > MANY_ROWS:
        shared = Resamples(len(places), rng=rng, draws=fewer)
        for each, at in ((measured[at], at) for at in others):
            if each.redraw is not None:
                drawn[at] = each.redraw(each.at(places), shared)
        others = [at for at in others if measured[at].redraw is None]
    if others:
        summaries = [measured[at].summary for at in others]
        # column by column in memory, as the summaries read them: half the time
        columns = [np.ascontiguousarray(measured[at].rows[places].T) for at in others]

        def again(picked: Places) -> list[float]:
            rows = (each.take(picked, axis=1).T for each in columns)
            return [summary(each) for summary, each in zip(summaries, rows, strict=True)]

        of_others = bootstrap_statistics(again, len(places), rng=rng, draws=fewer)
        for at, column in zip(others, of_others.T, strict=True):
            drawn[at] = column
    return drawn


def moved_to(value: float, drawn: NDArray[np.float64]) -> Interval:
    """Percentiles moved so that the mean of the draws is the value; zero stays a bound.

    Resampling repeats items, which by itself raises a calibration error and lowers the worst
    class, so the draws lie beside the value and not around it.
    """
    low, high = percentile_interval(drawn)
    if np.isnan(low) or np.isnan(value):
        return Interval(low, high)
    shift = float(np.nanmean(drawn)) - value
    least = 0.0 if np.nanmin(drawn) >= 0 else -np.inf
    return Interval(max(low - shift, least), high - shift)


@dataclass(frozen=True, eq=False)
class _ItemPairs:
    """Both arms of a single seed on the same items, trial by trial."""

    trials: Sequence[tuple[Trial, Trial]]
    stratum: str
    drawn: Mapping[int, tuple[NDArray[np.float64], NDArray[np.float64]]]
    """For each metric what both arms are on the same resampled items."""
    rng: np.random.Generator
    draws: int

    def estimate(self, blank: Estimate, at: int) -> Estimate:
        """The difference with a paired bootstrap and, for means over items, a sign-flip test."""
        mine, theirs = self.drawn[at]
        # draw by draw, which are of the same items; nothing where one side has none
        between = mine - theirs if len(mine) == len(theirs) else np.empty(0)
        is_mean = self.trials[0][0].rows[at].is_mean
        ends = percentile_interval(between) if is_mean else moved_to(blank.value, between)
        estimate = with_interval(blank, *ends, "items")
        return _with_test(estimate, self._p(at), "sign-flip over items")

    def _p(self, at: int) -> float:
        if not self.trials[0][0].rows[at].is_mean:
            return float("nan")
        first, second = (
            np.concatenate(
                [
                    pair[side].rows[at].rows[pair[side].places[self.stratum], 0]
                    for pair in self.trials
                ]
            )
            for side in (0, 1)
        )
        known = ~np.isnan(first)
        if (known == np.isnan(second)).any():  # defined on other items: nothing to pair
            return float("nan")
        return sign_flip(first[known] - second[known], rng=self.rng, draws=self.draws)


def _item_pairs(
    first: ArmTrials,
    second: ArmTrials,
    seed: int,
    stratum: str,
    places: Sequence[int],
    rng: np.random.Generator,
    draws: int,
) -> _ItemPairs | None:
    """None where the arms were not tested on the same items."""
    pairs = list(zip(first.trials[seed], second.trials[seed], strict=False))
    whole = len(pairs) == len(first.trials[seed]) == len(second.trials[seed])
    if not whole or any(
        mine.items != theirs.items or not {stratum} <= mine.places.keys() & theirs.places.keys()
        for mine, theirs in pairs
    ):
        return None
    by_trial = [
        draw(
            [side.rows[at] for at in places for side in pair],
            pair[0].places[stratum],
            rng=rng,
            draws=draws,
        )
        for pair in pairs
    ]
    drawn = _mean_draws(by_trial)
    sides = {at: (drawn[2 * n], drawn[2 * n + 1]) for n, at in enumerate(places)}
    return _ItemPairs(pairs, stratum, sides, rng, draws)


def _drawn(trials: Sequence[Trial], stratum: str, rng: np.random.Generator, draws: int) -> Drawn:
    """Every metric on resampled items, the trials resampled each for itself and averaged."""
    return _mean_draws(
        [
            draw(trial.rows, trial.places.get(stratum, _NOWHERE), rng=rng, draws=draws)
            for trial in trials
        ]
    )


def _mean_draws(by_trial: Sequence[Drawn]) -> Drawn:
    if len(by_trial) == 1:
        return by_trial[0]
    return [
        np.mean(columns, axis=0) if len({len(column) for column in columns}) == 1 else np.empty(0)
        for columns in zip(*by_trial, strict=True)
    ]


def _over_items(
    trials: Sequence[Trial], stratum: str, at: int, value: float, drawn: NDArray[np.float64]
) -> Interval:
    """The interval of what was drawn: percentiles, moved where the metric is no mean."""
    rows = trials[0].rows[at]
    if not rows.is_mean:
        return moved_to(value, drawn)
    if rows.metric in SHARES and value in (0, 1):
        defined = sum(
            int((~np.isnan(trial.rows[at].rows[trial.places[stratum], 0])).sum())
            for trial in trials
        )
        return share_interval(round(value * defined), defined)
    return percentile_interval(drawn)


def _over_seeds(
    arm: ArmTrials, stratum: str, at: int, interval: SeedInterval
) -> tuple[Interval, str]:
    by_seed = arm.values[stratum, at]
    values = np.array(list(by_seed.values()))
    if interval == "seeds" or len(values) < 2:
        return student_interval(values), "seeds"
    influence = added_influence((arm,), (1,), by_seed, stratum, at)
    if influence is None:
        return student_interval(values), "seeds"
    if arm.rows[at].metric in SHARES and values.mean() in (0, 1):
        # every item right with every seed: what varies is which items there are
        count = influence.shape[1]
        return share_interval(round(float(values.mean()) * count), count), "items"
    return two_way_t(values, influence)[0], "seeds and items"


def _mean_value(trials: Sequence[Trial], stratum: str, at: int) -> float:
    """The mean over trials; NaN where one of them has no value."""
    values = [value_of(trial.rows[at], trial.places.get(stratum, _NOWHERE)) for trial in trials]
    return float(np.mean(values)) if values else float("nan")


def _note(rows: MetricRows, value: float, count: int, left_out: Sequence[int]) -> str:
    if count < FEWEST:
        return f"too few items: {count}, at least {FEWEST} are needed"
    if np.isnan(value):
        return "not defined on these items"
    if left_out:
        seeds = ", ".join(map(str, left_out))
        return f"not defined with {'seed' if len(left_out) == 1 else 'seeds'} {seeds}, left out"
    return rows.note


def _sources(
    models: Sequence[Provenance], second: Sequence[Provenance] = ()
) -> Callable[[Provenance, str], str]:
    """Makes the source of a number from the labels it is held against and a note."""
    scored, subtracted = steps_behind(models), to_json(steps_behind(second))
    known: dict[tuple[int, str], str] = {}  # few differ, and there are many numbers

    def source(labels: Provenance, note: str) -> str:
        key = (id(labels), note)
        if key not in known:
            known[key] = source_text(
                labels=labels or IN_MEMORY, model=scored, note=note, second=subtracted
            )
        return known[key]

    return source


def steps_behind(models: Sequence[Provenance]) -> Provenance:
    """The steps behind all models, each once."""
    steps: list[Step] = []
    for step in (step for model in models for step in model or IN_MEMORY):
        if step not in steps:
            steps.append(step)
    return tuple(steps)


def _with_test(estimate: Estimate, p: float, test: str) -> Estimate:
    if np.isnan(p) or np.isnan(estimate.value):
        return estimate
    return replace(estimate, p=p, test=test)


def class_oracle_labels(human: LabelSet, original: LabelSet) -> LabelSet:
    """What is known by each item's original class alone, as if it were a model's belief (C20).

    The oracle is given the class of each item and the mean human label of the class, over these
    same items, and nothing about the item itself. Any metric can score it.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [1, 0]])
    >>> original = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]])
    >>> class_oracle_labels(human, original).probs[1]
    array([0.75, 0.25])
    """
    oracle = class_level(human, original)
    return LabelSet(oracle.items, oracle.classes, oracle.probs, provenance=oracle.provenance)


def _reference(name: str, human: LabelSet, original: LabelSet | None) -> MetricRows:
    note = ""
    if name == "entropy_floor":
        values = entropy(human)
    elif name == SCALE_REFERENCE:
        mean = np.broadcast_to(human.probs.mean(axis=0), human.probs.shape)
        values = wasserstein(human, LabelSet(human.items, human.classes, mean))
    else:
        if original is None:
            original = hard_labels(human.items, human.classes, top_class(human))
            note = "classes by people's majority; original labels were not given"
        values = cross_entropy(human, class_oracle_labels(human, original))
    summary = METRICS["cross_entropy"].summary
    return MetricRows(name, "people", values[:, None], summary, True, human.provenance, note)
