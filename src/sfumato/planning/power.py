"""Turn a pilot into how many items and people a comparison needs before it comes out.

An answer's score is y = mean + item + person + rest. The pilot gives the three variances, with the
degrees of freedom that it leaves them: five people tell little about how people differ, and the
interval of the power says so. What is compared is a mean, by a two-sample t-test:

- between two kinds of **items**, over the means of items; all people answer about both kinds, so
  that who is strict and who is not cancels, or new people answer each item (``new_people``);
- between two groups of **people**, over the means of people, on the same items.

The effect is the smallest that matters to whoever asks, never the pilot's own estimate. Power is
averaged over variances drawn anew from what the pilot leaves open.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, ndtr, stdtrit

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels
from sfumato.names import find, format_count
from sfumato.stats import percentile_interval

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

Between = Literal["items", "people"]
BETWEEN: dict[str, Between] = {name: name for name in get_args(Between)}

PEOPLE_LIKE_OTHERS = 4
SPREAD_OF_PEOPLE = 0.2
"""People differ, before the pilot is seen, as if four had been seen who differ by a fifth of the
rest's variance: it is .31, .12 and .11 in three other sets of answers (bluebirds, HS-Brexit,
ArMIS). Five people of a pilot often lack the odd one whom a study will meet."""

DRAWS = 400
MOST_PEOPLE = 200
FEWEST_ITEMS = 3
STEPS = 24
"""Numbers of items that are tried, evenly spaced on a logarithmic scale."""


@dataclass(frozen=True)
class Comparison:
    """What shall come out: the estimand, the test and the smallest effect that matters."""

    effect: float
    between: Between = "items"
    new_people: bool = False
    """Whether new people answer each item; between items only."""
    alpha: float = 0.05
    power: float = 0.8

    def __post_init__(self) -> None:
        find(BETWEEN, self.between, what="side to compare")
        if not (np.isfinite(self.effect) and self.effect > 0):
            raise DataError(
                f"The smallest effect that matters is {self.effect:g}; give one above 0."
            )
        for name in ("alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"The {name} is {getattr(self, name):g}; give one between 0 and 1.")
        if self.new_people and self.between == "people":
            raise DataError("Groups of people are compared on the same items by the same people.")


@dataclass(frozen=True, eq=False)
class Variances:
    """How much scores vary by item, by person and otherwise; one number, or one per draw."""

    item: Floats
    person: Floats
    rest: Floats

    def per_answer(self, worth: float) -> "Variances":
        """Those of a form of which one answer tells as much as so many of these."""
        return replace(self, rest=self.rest / worth)


@dataclass(frozen=True, eq=False)
class PilotScores:
    """One score per answer of a pilot."""

    score: Floats
    item: Codes
    person: Codes

    def variances(self) -> Variances:
        """Unbiased, for any pattern of who answered what: from pairs of answers that share an item,
        a person, or neither. Of a complete table it is the two-way analysis of variance."""
        by_item, by_person = _half_gap(self.score, self.item), _half_gap(self.score, self.person)
        everything = np.zeros(len(self.score), dtype=np.int64)
        pairs = _half_gap(self.score, everything)
        neither = (pairs[0] - by_item[0] - by_person[0], pairs[1] - by_item[1] - by_person[1])
        if min(by_item[1], by_person[1], neither[1]) <= 0:
            raise DataError(
                "The pilot must have at least two people per item and two items per person; "
                "otherwise items and people cannot be told apart."
            )
        same_item, same_person, none = (
            total / count for total, count in (by_item, by_person, neither)
        )
        rest = max(same_item + same_person - none, 1e-9)
        found = none - same_item, none - same_person, rest
        return Variances(*(np.array([max(value, 0.0)]) for value in found))

    def draw(self, rng: np.random.Generator, draws: int = DRAWS) -> Variances:
        """Variances that the pilot leaves open, each with its degrees of freedom."""
        point = self.variances()
        items, people = len(np.unique(self.item)), len(np.unique(self.person))
        per_item, per_person = len(self.score) / items, len(self.score) / people
        freedom = max(len(self.score) - items - people + 1, 1)

        def again(mean: Floats, freedom: float) -> Floats:
            return mean * freedom / rng.chisquare(freedom, draws)

        rest = again(point.rest, freedom)
        item = again(point.rest + per_item * point.item, items - 1) - rest
        known = people - 1 + PEOPLE_LIKE_OTHERS
        spread = (people - 1) * point.person + (PEOPLE_LIKE_OTHERS * SPREAD_OF_PEOPLE * point.rest)
        person = again(point.rest + per_person * spread / known, known) - rest
        return Variances(
            np.maximum(item, 0.0) / per_item, np.maximum(person, 0.0) / per_person, rest
        )


def _half_gap(score: Floats, group: Codes) -> tuple[float, float]:
    """The sum of (y - y')² / 2 over pairs of a group, and the number of pairs."""
    count, total = np.bincount(group), np.bincount(group, score)
    squares = np.bincount(group, score**2)
    return float((count * squares - total**2).sum() / 2), float((count * (count - 1)).sum() / 2)


def score_answers(
    crowd: CrowdLabels, outcome: str | None = None, clusters: Mapping[str, str] | None = None
) -> tuple[PilotScores, str]:
    """The answers as numbers, and what these are in words.

    ``outcome`` is the class whose share is compared; without one the values of a scale, or the
    share of the most frequent class. Items of a cluster, such as questions about one picture,
    count as one item.
    """
    if outcome is None and crowd.values is not None:
        value, told = np.array(crowd.values), "mean answer"
    else:
        common = crowd.classes[int(crowd.answers[crowd.said].sum(axis=0).argmax())]
        chosen = common if outcome is None else outcome
        find(dict.fromkeys(crowd.classes), chosen, what="class")
        value = np.array([float(name == chosen) for name in crowd.classes])
        told = f"share of {chosen!r}"
    score = crowd.answers[crowd.said] @ value
    names = [item if clusters is None else clusters.get(item, item) for item in crowd.items]
    cluster = np.unique(np.array(names, dtype=object), return_inverse=True)[1]
    pair = cluster[crowd.item] * (len(crowd.annotators) + 1) + crowd.annotator
    pairs, row = np.unique(pair, return_inverse=True)
    mean = np.bincount(row, score) / np.bincount(row)
    item, person = np.divmod(pairs, len(crowd.annotators) + 1)
    if (person < 0).any() or not crowd.annotators:
        raise DataError("Power needs a pilot that says who answered.")
    codes = (np.unique(each, return_inverse=True)[1] for each in (item, person))
    return PilotScores(mean, *codes), told


def power_of(
    variances: Variances, comparison: Comparison, items: Floats | int, people: Floats | int
) -> Floats:
    """The chance that the comparison comes out, for each draw of the variances.

    ``items`` is of each kind and ``people`` per item where items are compared; where people are,
    ``people`` is of each group and ``items`` what everybody answers.
    """
    n, k = np.asarray(items, dtype=np.float64), np.asarray(people, dtype=np.float64)
    match comparison.between:
        case "items":
            others = variances.person if comparison.new_people else 0.0
            square, units = 2 * (variances.item + (others + variances.rest) / k) / n, n
        case "people":
            square, units = 2 * (variances.person + variances.rest / n) / k, k
    freedom = np.maximum(2 * (units - 1), 1.0)
    away = np.minimum(comparison.effect / np.sqrt(np.maximum(square, 1e-12)), 1e6)
    end = stdtrit(freedom, 1 - comparison.alpha / 2)
    with np.errstate(all="ignore"):
        exact = 1 - nctdtr(freedom, away, end) + nctdtr(freedom, away, -end)
    return np.asarray(np.clip(np.where(np.isfinite(exact), exact, ndtr(away - end)), 0.0, 1.0))


@dataclass(frozen=True)
class Design:
    """How many items and people of which form, what that costs, and the power it is expected to
    have: its mean over what the pilot leaves open, and a 95 % interval."""

    form: str
    items: int
    """Of each kind; where people are compared, all."""
    people: int
    """Per item; where people are compared, of each group."""
    answers: int
    price: float | None
    unit: str
    power: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class PowerPlan:
    """The cheapest design of each form that has the wanted power, and others to choose from."""

    comparison: Comparison
    outcome: str
    designs: tuple[Design, ...]
    """Cheapest of each form first, then other numbers of items in the cheapest form."""
    rates: Mapping[str, float]
    """How many answers of the first form one answer of each form is worth here."""
    remarks: tuple[str, ...] = ()

    @property
    def best(self) -> Design | None:
        """The cheapest of all; None where nothing in reach has the wanted power."""
        return self.designs[0] if self.designs else None

    def to_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return {
            **vars(self.comparison),
            "outcome": self.outcome,
            "designs": [vars(design) for design in self.designs],
            "worth": dict(self.rates),
            "remarks": list(self.remarks),
        }

    def lines(self) -> Iterator[str]:
        """The plan in sentences."""
        asked = self.comparison
        what = "two kinds of items" if asked.between == "items" else "two groups of people"
        wanted = (
            f"a difference of {asked.effect:g} in the {self.outcome} between {what} "
            f"(t-test, two-sided, {asked.alpha:.0%}) with a power of {asked.power:.0%}"
        )
        if self.best is None:
            yield f"No design in reach shows {wanted}."
        else:
            yield f"To show {wanted}: {design_words(self.best, asked)}."
        yield from self.remarks


def design_words(one: Design, comparison: Comparison) -> str:
    """A design in words."""
    price = "" if one.price is None else f", {one.price:,.0f} {one.unit}"
    people = format_count(one.people, "person", "people")
    many = (
        f"{one.items:,} items of each kind and {people} per item"
        if comparison.between == "items"
        else f"{people} in each group and {one.items:,} items"
    )
    return (
        f"{many}, {one.answers:,} {one.form} answers{price}; expected power {one.power:.0%} "
        f"({one.low:.0%} to {one.high:.0%} by what the pilot leaves open)"
    )


@dataclass(frozen=True, eq=False)
class FormScores:
    """What is known of one form: variances drawn from a pilot, and the price of an answer."""

    form: str
    variances: Variances
    price: float | None = None
    unit: str = ""


def plan_power(
    forms: Sequence[FormScores], comparison: Comparison, *, outcome: str, most_items: int
) -> PowerPlan:
    """The cheapest numbers of items and people with the wanted power, form by form.

    ``most_items`` are there in all; a kind can have half of them at most.
    """
    most = most_items // 2 if comparison.between == "items" else most_items
    each = {form.form: [*_designs(form, comparison, most)] for form in forms}
    cheapest = [min(found, key=_price) for found in each.values() if found]
    cheapest.sort(key=_price)
    others = [] if not cheapest else [
        design for design in each[cheapest[0].form] if design != cheapest[0]
    ]  # fmt: skip
    first = float(np.mean(forms[0].variances.rest))
    rates = {form.form: first / float(np.mean(form.variances.rest)) for form in forms}
    remarks = ["The effect must be the smallest that matters to you, not what a pilot showed."]
    if not cheapest:
        full = [float(power_of(form.variances, comparison, max(most, 2), MOST_PEOPLE).mean())
                for form in forms]  # fmt: skip
        remarks.append(
            f"With all items and {MOST_PEOPLE} people the power would be {max(full):.0%}: ask for "
            "a larger effect, or add items or people of another kind."
        )
    return PowerPlan(comparison, outcome, (*cheapest, *others), rates, tuple(remarks))


def _price(one: Design) -> float:
    return one.answers if one.price is None else one.price


def _designs(form: FormScores, comparison: Comparison, most: int) -> Iterator[Design]:
    """For several numbers of items the fewest people, each design with its power."""
    if most < FEWEST_ITEMS:
        return
    tried = np.unique(np.geomspace(FEWEST_ITEMS, most, STEPS).round().astype(int))
    before = MOST_PEOPLE + 1
    for items in tried.tolist():
        people = _fewest_people(form, comparison, items, before - 1)
        if people is None:
            continue  # more items and as many people would only cost more
        before = people
        power = power_of(form.variances, comparison, items, people)
        low, high = percentile_interval(power)
        answers = 2 * items * people
        price = None if form.price is None else answers * form.price
        yield Design(form.form, items, people, answers, price, form.unit,
                     float(power.mean()), float(low), float(high))  # fmt: skip


def _fewest_people(form: FormScores, comparison: Comparison, items: int, most: int) -> int | None:
    """The fewest people with the wanted power, by halving: more people never harm."""
    low, high = (1 if comparison.new_people else 2), most  # one person would be the whole world

    def reached(people: int) -> bool:
        power = power_of(form.variances, comparison, items, people)
        return float(power.mean()) >= comparison.power

    if high < low or not reached(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low
