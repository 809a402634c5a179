"""Turn people's labels and a model's predictions into scores: every metric, stratum and interval.

A number that does not exist (a stratum without items, a second choice where nobody has one) is
NaN with a note, never left out. What a score is measured on is in ``measured``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeVar, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.intervals import (
    Interval,
    bootstrap_means,
    bootstrap_statistics,
    holm,
    over_seeds,
    over_seeds_and_items,
    percentiles,
    seed_test,
    share_of_all_or_none,
    sign_flip,
)
from sfumato.evaluation.metrics import METRICS, Metric, cross_entropy, top_class
from sfumato.evaluation.references import class_oracle_labels
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import LabelSet, align, hard_labels
from sfumato.labels.signals import entropy
from sfumato.names import find
from sfumato.provenance import Provenance, Step, is_simulated, to_json
from sfumato.scores import Difference, Score

# Turn labels and predictions into rows, one an item, that every score is a summary of.
#
# Items are joined by their names. Each metric gives its rows once (``Metric.parts``); strata,
# bootstraps and differences between arms all work on selections of those rows.

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


# Turn people's labels and a model's predictions into scores: every metric, stratum and interval.

SeedInterval = Literal["seeds", "seeds and items"]

Number = TypeVar("Number", Score, Difference)

Mask = NDArray[np.bool_]  # (items,)


def evaluate(
    human: LabelSet,
    model: LabelSet,
    *,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
    strata: Mapping[str, Mask] | None = None,
    arm: str = "",
    network: str = "",
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Score]:
    """Every score of one model, with 95 % bootstrap intervals over items.

    All ``metrics`` (default: all there are) against people; accuracy and cross-entropy also
    against people's majority and, where given, the ``original`` labels; the reference lines of
    cross-entropy as scores of their own. ``strata`` are masks over the items of ``human``; "all"
    is always there. For means the interval lies between percentiles of the resampled means. For
    other metrics the percentiles are moved so that their middle is the value: repeated items by
    themselves raise a calibration error, and lower the worst class.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [0, 1]])
    >>> model = LabelSet(("b", "a"), ("cat", "dog"), [[0.1, 0.9], [0.6, 0.4]])
    >>> scores = evaluate(human, model, metrics=["brier"], rng=np.random.default_rng(0))
    >>> scores[0].metric, round(scores[0].value, 3), scores[0].items
    ('brier', 0.02, 2)
    """
    measured, places = _prepare(human, {0: model}, original, metrics, strata, missing)
    scores = []
    for stratum, chosen in places.items():
        drawn = draw(measured[0], chosen, rng=rng, draws=draws)
        for each, column in zip(measured[0], drawn, strict=True):
            value = value_of(each, chosen)
            interval = item_interval(each, chosen, column)
            score = _score(each, value, stratum, chosen, model.provenance)
            score = replace(score, arm=arm, network=network)
            scores.append(_with_interval(score, interval, "items"))
    return scores


def evaluate_seeds(
    human: LabelSet,
    models: Mapping[int, LabelSet],
    *,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
    strata: Mapping[str, Mask] | None = None,
    arm: str = "",
    network: str = "",
    interval: SeedInterval = "seeds",
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Score]:
    """Every score of one arm trained with several seeds: the mean over seeds (S2-74).

    The interval is Student's t over the seeds' values. "seeds and items" also lets the items
    have been others, where the metric is a mean over items. A single seed is scored as
    ``evaluate`` does, with an interval over items.
    """
    seeds = tuple(models)
    if not seeds:
        raise DataError(f"The arm {arm!r} has no predictions; give those of one seed or more.")
    if len(seeds) == 1:
        scores = evaluate(
            human,
            models[seeds[0]],
            original=original,
            metrics=metrics,
            strata=strata,
            arm=arm,
            network=network,
            rng=rng,
            draws=draws,
            missing=missing,
        )
        return [replace(score, seeds=seeds) for score in scores]
    measured, places = _prepare(human, models, original, metrics, strata, missing)
    provenance = _of_seeds(models)
    scores = []
    for stratum, chosen in places.items():
        for same in zip(*measured.values(), strict=True):  # one metric, every seed
            values = np.array([value_of(each, chosen) for each in same])
            score = _score(same[0], float(values.mean()), stratum, chosen, provenance)
            score = replace(score, arm=arm, network=network, seeds=seeds)
            scores.append(_with_interval(score, *_over_seeds(same, chosen, values, interval)))
    return scores


def compare(
    human: LabelSet,
    arms: Mapping[str, Mapping[int, LabelSet]],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
    strata: Mapping[str, Mask] | None = None,
    network: str = "",
    test: str = "paired t",
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Difference]:
    """Paired differences between arms, each with an interval and a named test (S4-36).

    ``arms`` are predictions by arm and seed. ``pairs`` are (first, second) for first minus
    second; by default every later arm minus every earlier one. With several seeds the pairs are
    seeds: Student's t interval and the ``test`` of ``SEED_TESTS``. With one seed the pairs are
    items: paired bootstrap and sign-flip permutation, where the metric is a mean over items.
    """
    asked = pairs or [(later, earlier) for earlier, later in combinations(arms, 2)]
    _check_pairs(arms, asked)
    prepared = {
        arm: _prepare(human, models, original, metrics, strata, missing)
        for arm, models in arms.items()
    }
    found = []
    for first, second in asked:
        (mine, places), (theirs, _) = prepared[first], prepared[second]
        seeds = tuple(mine)
        sets = (human, *arms[first].values(), *arms[second].values())
        blank = Difference(
            metric="",
            value=float("nan"),
            first=first,
            second=second,
            network=network,
            seeds=seeds,
            simulated=any(is_simulated(labels.provenance) for labels in sets),
        )
        pairs_of = [
            ([mine[seed][at] for seed in seeds], [theirs[seed][at] for seed in seeds])
            for at, each in enumerate(mine[seeds[0]])
            if each.metric not in REFERENCES  # they are the same for every arm
        ]
        for stratum, chosen in places.items():
            here = replace(blank, stratum=stratum, items=len(chosen))
            found += (
                _seeds_apart(here, pairs_of, chosen, test, rng=rng)
                if len(seeds) > 1
                else _items_apart(here, pairs_of, chosen, rng=rng, draws=draws)
            )
    return found


Pairs = Sequence[tuple[Sequence[Measured], Sequence[Measured]]]
"""For each metric what the first and what the second arm measured, seed by seed."""


def _prepare(
    human: LabelSet,
    models: Mapping[int, LabelSet],
    original: LabelSet | None,
    metrics: Sequence[str] | None,
    strata: Mapping[str, Mask] | None,
    missing: Missing,
) -> tuple[dict[int, list[Measured]], dict[str, Places]]:
    """What every seed measured, on the same items, and where each stratum's items are."""
    kept = human
    for model in models.values():
        kept, _ = join(kept, model, missing)
    measured = {
        seed: measure(*join(kept, model), original=original, metrics=metrics)
        for seed, model in models.items()
    }
    position = {item: place for place, item in enumerate(kept.items)}
    places = {"all": np.arange(len(kept))}
    for name, mask in (strata or {}).items():
        if mask.shape != (len(human),) or mask.dtype != np.bool_:
            raise DataError(
                f"The stratum {name!r} has shape {mask.shape} and type {mask.dtype}; expected true "
                f"or false for each of the {len(human)} items of the labels."
            )
        inside = (human.items[row] for row in np.flatnonzero(mask))
        at = [position[item] for item in inside if item in position]
        places[name] = np.array(at, dtype=np.int64)
    return measured, places


def _score(
    measured: Measured, value: float, stratum: str, chosen: Places, model: Provenance
) -> Score:
    simulated = is_simulated(measured.labels)
    step = Step(
        f"score {measured.metric}",
        {
            "against": measured.against,
            "stratum": stratum,
            "labels": to_json(measured.labels),
        },
        simulated=simulated,
    )
    return Score(
        measured.metric,
        value,
        against=measured.against,
        stratum=stratum,
        items=len(chosen),
        simulated=simulated or is_simulated(model),
        note=_note(measured, value, chosen),
        provenance=(*model, step),
    )


def _note(measured: Measured, value: float, chosen: Places) -> str:
    if len(chosen) < FEWEST:
        return f"too few items: {len(chosen)}, at least {FEWEST} are needed"
    return "not defined on these items" if np.isnan(value) else measured.note


def _with_interval(number: Number, interval: Interval, over: str) -> Number:
    if np.isnan(interval.low) or np.isnan(number.value):
        return number
    return replace(number, low=interval.low, high=interval.high, interval=over)


def _of_seeds(models: Mapping[int, LabelSet]) -> Provenance:
    """The steps of the first seed, and that the others were averaged with it."""
    first, *others = models.values()
    step = Step(
        "mean over seeds",
        {"seeds": list(models), "others": [to_json(model.provenance) for model in others]},
        simulated=any(is_simulated(model.provenance) for model in others),
    )
    return (*first.provenance, step)


def _over_seeds(
    same: Sequence[Measured],
    chosen: Places,
    values: NDArray[np.float64],
    interval: SeedInterval,
) -> tuple[Interval, str]:
    match interval:
        case "seeds":
            return over_seeds(values), "seeds"
        case "seeds and items":
            rows = np.stack([each.rows[chosen, 0] for each in same])  # (seeds, items)
            defined = rows[:, ~np.isnan(rows).any(axis=0)]
            ragged = (np.isnan(rows).any(axis=0) != np.isnan(rows).all(axis=0)).any()
            if not same[0].is_mean or ragged:  # no value for each seed and item
                return over_seeds(values), "seeds"
            if same[0].metric in SHARES and defined.size and defined.mean() in (0, 1):
                # every item right with every seed: what varies is which items there are
                return share_of_all_or_none(float(defined.mean()), defined.shape[1]), "items"
            return over_seeds_and_items(defined), "seeds and items"
        case _:
            assert_never(interval)


def _check_pairs(
    arms: Mapping[str, Mapping[int, LabelSet]], pairs: Sequence[tuple[str, str]]
) -> None:
    for name in {name for pair in pairs for name in pair}:
        if name not in arms:
            raise DataError(f"No arm is called {name!r}; there are {', '.join(arms)}.")
    for first, second in pairs:
        odd = sorted(set(arms[first]) ^ set(arms[second]))
        if odd or not arms[first]:
            what = f"seed {odd[0]} is in one of them only" if odd else "they have no seeds"
            raise DataError(
                f"The arms {first!r} and {second!r} cannot be paired: {what}. "
                "Train both with the same seeds."
            )


def _seeds_apart(
    blank: Difference, pairs: Pairs, chosen: Places, test: str, *, rng: np.random.Generator
) -> list[Difference]:
    found = []
    for mine, theirs in pairs:
        both = zip(mine, theirs, strict=True)
        apart = np.array([value_of(a, chosen) - value_of(b, chosen) for a, b in both])
        this = _difference(blank, mine[0], float(apart.mean()), chosen)
        this = _with_interval(this, over_seeds(apart), "seeds")
        found.append(_with_test(this, seed_test(test, apart, rng=rng), test))
    return found


def _items_apart(
    blank: Difference, pairs: Pairs, chosen: Places, *, rng: np.random.Generator, draws: int
) -> list[Difference]:
    drawn = draw([side[0] for pair in pairs for side in pair], chosen, rng=rng, draws=draws)
    found = []
    for at, ((mine, *_), (theirs, *_)) in enumerate(pairs):
        apart = value_of(mine, chosen) - value_of(theirs, chosen)
        between = _between(drawn[2 * at], drawn[2 * at + 1])
        interval = percentiles(between) if mine.is_mean else moved_to(apart, between)
        this = _with_interval(_difference(blank, mine, apart, chosen), interval, "items")
        p = _flip_items(mine, theirs, chosen, rng=rng, draws=draws)
        found.append(_with_test(this, p, "sign-flip over items"))
    return found


def _between(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differences draw by draw, which are of the same items; none where one side has none."""
    return first - second if len(first) == len(second) else np.empty(0)


def _flip_items(
    mine: Measured, theirs: Measured, chosen: Places, *, rng: np.random.Generator, draws: int
) -> float:
    if not mine.is_mean:
        return float("nan")
    first, second = mine.rows[chosen, 0], theirs.rows[chosen, 0]
    known = ~np.isnan(first)
    if (known == np.isnan(second)).any():  # defined on other items: nothing to pair
        return float("nan")
    return sign_flip(first[known] - second[known], rng=rng, draws=draws)


def _difference(blank: Difference, measured: Measured, value: float, chosen: Places) -> Difference:
    return replace(
        blank,
        metric=measured.metric,
        against=measured.against,
        value=value,
        note=_note(measured, value, chosen),
    )


def _with_test(difference: Difference, p: float, test: str) -> Difference:
    if np.isnan(p) or np.isnan(difference.value):
        return difference
    return replace(difference, p=p, test=test)


# Rank models by how close they are to people, next to how accurate they are (S0-48).
#
# The two orders differ: of the eight published networks the most accurate one is not among the
# closest to people. Every model is also compared with the closest, item by item, so that a rank
# says whether it means anything.


@dataclass(frozen=True)
class Place:
    """One model on the list."""

    rank: int
    """By cross-entropy to people, the lowest first; equal models share the better rank."""
    accuracy_rank: int
    """By accuracy, the highest first."""
    cross_entropy: Score
    accuracy: Score
    """Against the original labels where they were given, otherwise against people."""
    behind: Difference | None
    """Cross-entropy above that of the first, paired over items; None for the first itself."""

    @property
    def arm(self) -> str:
        """The model's name."""
        return self.cross_entropy.arm


def leaderboard(
    human: LabelSet,
    models: Mapping[str, LabelSet],
    *,
    original: LabelSet | None = None,
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Place]:
    """The models in the order of their cross-entropy to people, all on the same items.

    The differences to the first are tested by sign flips over items; as there are several, the
    p-values are adjusted by Holm's rule.

    >>> human = LabelSet(("a", "b", "c"), ("cat", "dog"), [[0.5, 0.5], [0, 1], [0, 1]])
    >>> sure = LabelSet(human.items, human.classes, [[0.01, 0.99]] * 3)
    >>> unsure = LabelSet(human.items, human.classes, [[0.3, 0.7]] * 3)
    >>> rng = np.random.default_rng(0)
    >>> [place.arm for place in leaderboard(human, {"a": sure, "b": unsure}, rng=rng)]
    ['b', 'a']
    """
    if not models:
        raise DataError("There are no models to rank; give the predictions of one or more.")
    for model in models.values():
        human, _ = join(human, model, missing)
    against = "people" if original is None else "original"
    found = [
        _two_scores(human, model, original, arm, against, rng=rng, draws=draws)
        for arm, model in models.items()
    ]
    closeness = [close.value for close, _ in found]
    accuracies = [right.value for _, right in found]
    order = sorted(range(len(found)), key=closeness.__getitem__)
    behind = _behind(human, models, [found[at][0].arm for at in order], rng=rng, draws=draws)
    return [
        Place(
            rank=1 + sum(value < closeness[at] for value in closeness),
            accuracy_rank=1 + sum(value > accuracies[at] for value in accuracies),
            cross_entropy=found[at][0],
            accuracy=found[at][1],
            behind=behind.get(found[at][0].arm),
        )
        for at in order
    ]


def ensemble(models: Mapping[str, LabelSet]) -> LabelSet:
    """The mean of the models' probabilities, as one more model; items as in the first.

    >>> one, other = (LabelSet(("a",), ("cat", "dog"), [row]) for row in ([1, 0], [0.5, 0.5]))
    >>> ensemble({"one": one, "other": other}).probs
    array([[0.75, 0.25]])
    """
    if not models:
        raise DataError("An ensemble of no models has no mean; give one or more.")
    first, *others = models.values()
    aligned = [first, *(align(first, other)[1] for other in others)]
    step = Step(
        "ensemble mean",
        {"models": {name: to_json(model.provenance) for name, model in models.items()}},
        simulated=any(is_simulated(model.provenance) for model in models.values()),
    )
    mean = np.mean([model.probs for model in aligned], axis=0)
    return LabelSet(first.items, first.classes, mean, provenance=(step,))


def leaderboard_table(places: list[Place]) -> pl.DataFrame:
    """A row a model: rank, arm, cross-entropy and accuracy with their intervals, and the
    difference to the first with its interval and adjusted p-value (null for the first).
    """
    return pl.DataFrame(
        [
            {
                "rank": place.rank,
                "arm": place.arm,
                **_columns("cross_entropy", place.cross_entropy),
                **_columns("accuracy", place.accuracy),
                "accuracy_rank": place.accuracy_rank,
                **_columns("behind", place.behind),
                "p": None if place.behind is None else place.behind.p,
                "test": "" if place.behind is None else place.behind.test,
            }
            for place in places
        ],
        infer_schema_length=None,
        schema_overrides=dict.fromkeys(("behind", "behind_low", "behind_high", "p"), pl.Float64),
    )


def _two_scores(
    human: LabelSet,
    model: LabelSet,
    original: LabelSet | None,
    arm: str,
    against: str,
    *,
    rng: np.random.Generator,
    draws: int,
) -> tuple[Score, Score]:
    scores = evaluate(
        human,
        model,
        original=original,
        metrics=["cross_entropy", "accuracy"],
        arm=arm,
        rng=rng,
        draws=draws,
    )
    by_name = {(score.metric, score.against): score for score in scores}
    return by_name["cross_entropy", "people"], by_name["accuracy", against]


def _behind(
    human: LabelSet,
    models: Mapping[str, LabelSet],
    order: list[str],
    *,
    rng: np.random.Generator,
    draws: int,
) -> dict[str, Difference]:
    if len(order) < 2:
        return {}
    differences = [
        difference
        for difference in compare(
            human,
            {arm: {0: model} for arm, model in models.items()},
            pairs=[(arm, order[0]) for arm in order[1:]],
            metrics=["cross_entropy"],
            rng=rng,
            draws=draws,
        )
        if difference.against == "people"
    ]
    tested = [each for each in differences if each.p is not None]
    adjusted = dict(
        zip(
            (each.first for each in tested),
            holm([each.p for each in tested if each.p is not None]),
            strict=True,
        )
    )
    return {
        each.first: replace(each, seeds=(), p=adjusted[each.first], test=f"{each.test}, Holm")
        if each.first in adjusted
        else replace(each, seeds=())
        for each in differences
    }


def _columns(name: str, number: Score | Difference | None) -> dict[str, float | None]:
    if number is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
