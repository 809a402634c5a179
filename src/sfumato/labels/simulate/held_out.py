"""Turn real answers into a test of the simulator: fit on one half, compare with the other.

The held-out half is answered again by simulated people, who each judge the items that one
real person did. A marginal is *reproduced* if what the simulator is expected to say lies
within the 95 % interval of what the held-out people said. People are resampled, not answers:
one person's answers are alike, and other people are what a simulator is for.

Two things more are given. The interval of the difference resamples the people fitted to as
well, so it also holds the luck of the half that was fitted. And a Kolmogorov–Smirnov test,
swapping people with their simulated doubles, looks at the whole distribution; it takes what
was fitted as given. There are several marginals, so its p-values are adjusted by Holm.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import codes
from sfumato.labels.build.top_two import Rule
from sfumato.labels.labelset import NOT_RECORDED, LabelSet
from sfumato.labels.simulate.crowd import THRESHOLDS, Thresholds, in_class_order, route_items
from sfumato.labels.simulate.top_two import (
    HabitsName,
    TopTwoModel,
    TwoChoices,
    draw_choices,
    fit_choices,
    over_full,
    two_choices,
)
from sfumato.stats import (
    Interval,
    bootstrap,
    draw_multinomial,
    holm,
    mean_of_defined,
    percentile_interval,
    permutation_p,
    ratio,
    weighted_mean,
)

# Turn what real and simulated people said into two-sample tests that count people, not answers.
#
# One person's answers are alike: who says 100 % says it again. So people are resampled and
# people are swapped, never single answers; an interval or a test over answers would be too sure.

Values = NDArray[np.float64]
People = NDArray[np.int64]

MARGINALS = (
    "top-1 probability",
    "number of possible classes",
    "share without an alternative",
    "top-2 probability",
    "share stating more than 100 %",
)
"""What is compared, one value per answer (S2-31, S2-33, S2-34)."""

SPREAD = "top-1 probability, spread between people"
"""Also compared: the standard deviation of people's own means."""


class SwapTest(NamedTuple):
    """How far two samples are apart, and how often swapped people are as far."""

    distance: float
    p_value: float


def values_of(choices: TwoChoices) -> dict[str, Values]:
    """Each marginal's value in each answer; NaN where an answer has none."""
    of_each = (
        choices.top1,
        choices.possible.astype(np.float64),
        (~choices.named).astype(np.float64),
        np.where(choices.named, choices.top2, np.nan),
        over_full(choices).astype(np.float64),
    )
    return dict(zip(MARGINALS, of_each, strict=True))


def spread_of(values: Values, person: People) -> float:
    """The standard deviation between people of each one's mean.

    >>> spread_of(np.array([0.2, 0.4, 0.9]), np.array([0, 0, 1]))  # means 0.3 and 0.9
    0.3
    """
    return round(_deviation(_means(values, person)), 12)


def resampled_means(
    values: Values, person: People, *, draws: int, rng: np.random.Generator
) -> Values:
    """The mean over answers when people are drawn anew with all their answers; (draws,)."""
    sums, counts = _sums(values, person)

    def means(weights: Values) -> Values:
        return ratio(weights @ sums, weights @ counts)

    return bootstrap(means, len(sums), rng=rng, draws=draws, draw=draw_multinomial)


def resampled_spreads(
    values: Values, person: People, *, draws: int, rng: np.random.Generator
) -> Values:
    """The spread between people when people are drawn anew; (draws,)."""
    means = _means(values, person)

    def spreads(weights: Values) -> Values:
        variance = weighted_mean(means**2, weights) - weighted_mean(means, weights) ** 2
        return np.sqrt(np.maximum(variance, 0))

    return bootstrap(spreads, len(means), rng=rng, draws=draws, draw=draw_multinomial)


def swap_values(
    real: Values,
    simulated: Values,
    person: People,
    *,
    permutations: int,
    rng: np.random.Generator,
) -> SwapTest:
    """Kolmogorov–Smirnov distance, tested by swapping people with their simulated doubles.

    Both samples hold the same people's answers about the same items, so person j's real and
    simulated answers can be exchanged if the simulation is right; all answers of a person go
    together. p = (1 + number of swaps at least as far) / (1 + permutations). With two values
    the distance is the difference of the shares.
    """
    levels = np.unique(np.concatenate([real, simulated]).round(9))
    levels = levels[~np.isnan(levels)]
    ours, theirs = (_counted(values, person, levels) for values in (real, simulated))
    swapped = np.vstack([np.zeros(len(ours)), _swaps(len(ours), permutations, rng)])
    moved = swapped @ (theirs - ours)  # (1 + permutations, levels)
    distance = np.abs(_shares(ours.sum(axis=0) + moved) - _shares(theirs.sum(axis=0) - moved))
    return _tested(distance.max(axis=1, initial=0))


def swap_spreads(
    real: Values,
    simulated: Values,
    person: People,
    *,
    permutations: int,
    rng: np.random.Generator,
) -> SwapTest:
    """The difference of the spreads between people, tested by the same swaps."""
    ours, theirs = _means(real, person), _means(simulated, person)
    swapped = np.vstack([np.zeros(len(ours)), _swaps(len(ours), permutations, rng)]) > 0
    first, second = np.where(swapped, theirs, ours), np.where(swapped, ours, theirs)
    return _tested(np.abs(np.nanstd(first, axis=1) - np.nanstd(second, axis=1)))


def _tested(distances: Values) -> SwapTest:
    """The first distance is that of the samples as they are."""
    return SwapTest(float(distances[0]), permutation_p(float(distances[0]), distances[1:]))


def _swaps(people: int, permutations: int, rng: np.random.Generator) -> Values:
    return rng.integers(2, size=(permutations, people)).astype(np.float64)


def _shares(counts: Values) -> Values:
    """Cumulated shares of counts, (samples, levels)."""
    return np.cumsum(counts, axis=1) / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _counted(values: Values, person: People, levels: Values) -> Values:
    """How often each person gave each value, (people, levels)."""
    known = ~np.isnan(values)
    width = len(levels)
    place = person[known] * width + np.searchsorted(levels, values[known].round(9))
    size = (int(person.max(initial=-1)) + 1) * width
    return np.bincount(place, minlength=size).reshape(-1, width).astype(np.float64)


def _sums(values: Values, person: People) -> tuple[Values, Values]:
    """Each person's sum and number of values."""
    people = int(person.max(initial=-1)) + 1
    known = ~np.isnan(values)
    sums = np.bincount(person, weights=np.where(known, values, 0.0), minlength=people)
    counts = np.bincount(person[known], minlength=people)
    return sums.astype(np.float64), counts.astype(np.float64)


def _means(values: Values, person: People) -> Values:
    return ratio(*_sums(values, person))


def _deviation(means: Values) -> float:
    known = means[~np.isnan(means)]
    return float(known.std()) if len(known) else float("nan")


# Turn real answers into a test of the simulator: fit on one half, compare with the other.

HoldOut = Literal["items", "people"]

HOLD_OUT: dict[str, HoldOut] = {"items": "items", "people": "people"}
"""What half may be held out, by the name a user types."""


@dataclass(frozen=True)
class Marginal:
    """One number of the held-out people beside that of the simulated ones."""

    name: str
    real: float
    low: float
    """Of the 95 % interval of ``real`` over people."""
    high: float
    simulated: float
    """Expected: the mean over many simulated halves."""
    difference_low: float
    """Of the 95 % interval of simulated − real over people, both halves resampled."""
    difference_high: float
    test: SwapTest
    p_holm: float
    """Adjusted for all marginals of the table."""

    @property
    def reproduced(self) -> bool:
        """Whether the simulated value lies within the interval of the real one."""
        return self.low <= self.simulated <= self.high


@dataclass(frozen=True)
class HeldOutCheck:
    """A simulator fitted to one half of real answers, tested on the other."""

    held_out: HoldOut
    habits: HabitsName
    fitted_answers: int
    tested_answers: int
    tested_people: int
    marginals: tuple[Marginal, ...]


@dataclass(frozen=True)
class _Half:
    """Some of the answers: what was said, by whom, about what, routed where."""

    choices: TwoChoices
    item: NDArray[np.int64]
    person: NDArray[np.int64]  # positions among all people
    high: NDArray[np.bool_] | None

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "_Half":
        high = None if self.high is None else self.high[rows]
        return _Half(self.choices.take(rows), self.item[rows], self.person[rows], high)


def held_out_check(
    judgments: Judgments,
    reference: LabelSet,
    *,
    hold_out: HoldOut = "items",
    habits: HabitsName = "independent",
    routing: LabelSet | Literal["none"] | None = None,
    thresholds: Thresholds = THRESHOLDS,
    rule: Rule = "consistent",
    draws: int = 300,
    replicas: int = 50,
    permutations: int = 999,
    rng: np.random.Generator,
) -> HeldOutCheck:
    """Fit top-two people to one random half of the items or people and test them on the other.

    People are resampled ``draws`` times and swapped ``permutations`` times; ``replicas``
    simulated halves give what the simulator is expected to say. Half the items tells how
    answers about new items come out (the same people answer both halves); half the people, how
    new people's do.
    """
    classes = judgments.question.classes
    items, _ = codes(judgments.table["item"])
    known = in_class_order(reference.take(items), classes)
    everything = _all_answers(judgments, known, routing, thresholds, rule)
    # apart, so that the same seed gives the same halves and intervals whatever the habits
    of_halves, of_people, of_simulated = rng.spawn(3)
    tested_rows = _split(everything, hold_out, rng=of_halves)
    fitted, tested = everything.take(~tested_rows), everything.take(tested_rows)
    _check_half(fitted, tested, hold_out)

    def simulated(fit: _Half) -> TwoChoices:
        high, low = fit_choices(
            fit.choices, fit.person, fit.high, width=len(classes), habits=habits
        )
        # the order of classes changes no marginal that is compared
        model = TopTwoModel(classes, high, low, np.zeros((len(classes),) * 2), thresholds)
        routed = np.ones(len(tested.item), dtype=np.bool_) if tested.high is None else tested.high
        return draw_choices(
            model, known, tested.item, _positions(tested.person), high=routed, rng=of_simulated
        )

    expected = [_measured(simulated(fitted), tested.person) for _ in range(replicas)]
    apart = [
        _apart(simulated(again), tested, weights)
        for again, weights in (
            _resampled(fitted, tested, hold_out, of_simulated) for _ in range(draws)
        )
    ]
    found = _marginals(
        tested,
        simulated(fitted),
        expected=[mean_of_defined(column) for column in np.transpose(expected)],
        apart=[percentile_interval(column, least=0) for column in np.transpose(apart)],
        draws=draws,
        permutations=permutations,
        rng=of_people,
    )
    people = len(np.unique(tested.person))
    return HeldOutCheck(hold_out, habits, len(fitted.item), len(tested.item), people, found)


def held_out_table(check: HeldOutCheck) -> pl.DataFrame:
    """One row a marginal, as plain columns."""
    return pl.DataFrame(
        [
            {
                "held_out": check.held_out,
                "habits": check.habits,
                "marginal": one.name,
                "real": one.real,
                "low": one.low,
                "high": one.high,
                "simulated": one.simulated,
                "reproduced": one.reproduced,
                "difference_low": one.difference_low,
                "difference_high": one.difference_high,
                "distance": one.test.distance,
                "p_value": one.test.p_value,
                "p_holm": one.p_holm,
            }
            for one in check.marginals
        ]
    )


def _all_answers(
    judgments: Judgments,
    known: LabelSet,
    routing: LabelSet | Literal["none"] | None,
    thresholds: Thresholds,
    rule: Rule,
) -> _Half:
    person = codes(judgments.table["annotator"])[1]
    if (person == NOT_RECORDED).any():
        raise DataError(
            "Not all of these judgments say who gave them, but the check resamples people. Give "
            "judgments with annotators."
        )
    place = {item: row for row, item in enumerate(known.items)}
    items = judgments.table["item"].to_list()
    item = np.array([place[name] for name in items], dtype=np.int64)
    high = None if routing == "none" else route_items(items, routing or known, thresholds)
    return _Half(two_choices(judgments, rule), item, person, high)


def _split(answers: _Half, hold_out: HoldOut, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which answers are held out: those of a random half of the items, or of the people."""
    match hold_out:
        case "items":
            unit = answers.item
        case "people":
            unit = answers.person
        case _:
            assert_never(hold_out)
    units = np.unique(unit)
    return np.isin(unit, rng.permutation(units)[: len(units) // 2])


def _check_half(fitted: _Half, tested: _Half, hold_out: HoldOut) -> None:
    for half, what in ((fitted, "fit to"), (tested, "test on")):
        if len(np.unique(half.person)) < 2:
            raise DataError(
                f"Holding out half of the {hold_out} leaves fewer than two people to {what}. "
                "Give judgments of more people."
            )


def _resampled(
    fitted: _Half, tested: _Half, hold_out: HoldOut, rng: np.random.Generator
) -> tuple[_Half, NDArray[np.int64]]:
    """The fitted half of people drawn anew, and how often each tested person is drawn.

    Where items are held out the same people are in both halves, so they are drawn for both.
    """
    people = int(max(fitted.person.max(), tested.person.max())) + 1
    match hold_out:
        case "items":
            of_fitted = of_tested = _drawn(np.arange(people), people, rng)
        case "people":
            of_fitted = _drawn(np.unique(fitted.person), people, rng)
            of_tested = _drawn(np.unique(tested.person), people, rng)
        case _:
            assert_never(hold_out)
    return _weighted(fitted, of_fitted), of_tested


def _weighted(half: _Half, weights: NDArray[np.int64]) -> _Half:
    """Everybody as often as drawn: who is drawn twice is two people with the same answers."""
    times = weights[half.person]
    rows = np.repeat(np.arange(len(times)), times)
    copy = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    again = half.take(rows)
    return replace(again, person=again.person + len(weights) * copy)


def _drawn(who: NDArray[np.int64], people: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.bincount(rng.choice(who, len(who)), minlength=people)


def _measured(choices: TwoChoices, person: NDArray[np.int64]) -> list[float]:
    values = values_of(choices)
    return [
        *map(mean_of_defined, values.values()),
        spread_of(values[MARGINALS[0]], _positions(person)),
    ]


def _apart(simulated: TwoChoices, tested: _Half, weights: NDArray[np.int64]) -> list[float]:
    """Each marginal, simulated − real, where the real people count as often as they were drawn."""
    drawn = _weighted(tested, weights)
    real = _measured(drawn.choices, drawn.person)
    made = _measured(simulated, tested.person)
    return [ours - theirs for ours, theirs in zip(made, real, strict=True)]


def _positions(person: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(person, return_inverse=True)[1]


def _marginals(
    tested: _Half,
    made: TwoChoices,
    *,
    expected: list[float],
    apart: list[Interval],
    draws: int,
    permutations: int,
    rng: np.random.Generator,
) -> tuple[Marginal, ...]:
    person = _positions(tested.person)
    real, simulated = values_of(tested.choices), values_of(made)
    top1 = MARGINALS[0]
    values, tests, drawn = [], [], []
    for name in MARGINALS:
        values.append(mean_of_defined(real[name]))
        drawn.append(resampled_means(real[name], person, draws=draws, rng=rng))
        tests.append(
            swap_values(real[name], simulated[name], person, permutations=permutations, rng=rng)
        )
    values.append(spread_of(real[top1], person))
    drawn.append(resampled_spreads(real[top1], person, draws=draws, rng=rng))
    tests.append(
        swap_spreads(real[top1], simulated[top1], person, permutations=permutations, rng=rng)
    )
    adjusted = holm([test.p_value for test in tests])
    return tuple(
        Marginal(name, *numbers)
        for name, *numbers in zip(
            (*MARGINALS, SPREAD),
            values,
            *zip(*(percentile_interval(each, least=0) for each in drawn), strict=True),
            expected,
            *zip(*apart, strict=True),
            tests,
            adjusted,
            strict=True,
        )
    )
