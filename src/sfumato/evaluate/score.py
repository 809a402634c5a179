"""Turn people's labels and a model's predictions into scores: every metric, stratum and interval.

A number that does not exist (a stratum without items, a second choice where nobody has one) is
NaN with a note, never left out. What a score is measured on is in ``measured``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal, TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.intervals import (
    Interval,
    over_seeds,
    over_seeds_and_items,
    percentiles,
    seed_test,
    share_of_all_or_none,
    sign_flip,
)
from sfumato.evaluate.measured import (
    FEWEST,
    REFERENCES,
    SHARES,
    Measured,
    Missing,
    draw,
    item_interval,
    join,
    measure,
    moved_to,
    value_of,
)
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Provenance, Step, is_simulated, to_json
from sfumato.scores import Difference, Score

__all__ = ["SeedInterval", "compare", "evaluate", "evaluate_seeds"]

SeedInterval = Literal["seeds", "seeds and items"]

Number = TypeVar("Number", Score, Difference)

Mask = NDArray[np.bool_]  # (items,)
Places = NDArray[np.int64]  # of the items in a stratum


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
