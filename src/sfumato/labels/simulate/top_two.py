"""Turn hard or soft labels into top-two answers of simulated people, fitted to real ones.

The six steps of the thesis, appendix B.5: a first choice is drawn from what people say about
the item (S2-30), its probability from a Beta (S2-31), the other classes are ordered by their
distance to it (S2-32), a number of classes is left possible (S2-33), the nearest alternative
is named with a probability from a second Beta (S2-34), and the rest is left to the possible
classes (S2-35), which the recipe top2-clamp gives it to. Betas and histograms differ between
items that people agree and disagree about (S2-36). One thing is added: the thesis names an
alternative whenever one is possible; here as many people do as really did.

The draws are independent of each other, as in the thesis. Real people are not: who is sure
names no alternative. So every marginal is met, but simulated answers state more than 100 %
about four times as often as the people of CIFAR-10S; ``compare_marginals`` shows it.
"""

import json
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build.top_two import Rule
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.labels.simulate.beta import Beta, fit_beta
from sfumato.labels.simulate.crowd import (
    annotator_names,
    draw_columns,
    gather,
    in_class_order,
    who_answers_what,
)
from sfumato.labels.simulate.marginals import TwoChoices, two_choices
from sfumato.provenance import Provenance, Step

__all__ = [
    "CIFAR10S_HABITS",
    "THRESHOLDS",
    "Habits",
    "Thresholds",
    "TopTwoModel",
    "fit_top_two",
    "published_top_two",
    "route_high",
    "simulate_top_two",
]


@dataclass(frozen=True)
class Thresholds:
    """Entropies in nats from which an item counts as disputed, and up to which as agreed."""

    high: float = 0.25
    low: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise DataError(
                f"The low entropy threshold is 0 or more and at most the high one, not "
                f"{self.low} and {self.high}."
            )


THRESHOLDS = Thresholds()
"""Those by which the 886 and 114 images of CIFAR-10S were chosen (S2-36)."""


@dataclass(frozen=True)
class Habits:
    """How people answer about items of one kind."""

    top1: Beta
    """Probability of the first choice (S2-31)."""
    possible: tuple[float, ...]
    """Share of answers that leave 1, 2, 3, … classes possible, the first choice among them."""
    naming: float
    """Share of answers that name an alternative."""
    top2: Beta | None
    """Probability of the alternative where one is named (S2-34); None: nobody named one."""
    answers: int
    """How many answers these were fitted to."""


@dataclass(frozen=True, eq=False)
class TopTwoModel:
    """Simulated people who answer top-two questions about the given classes."""

    classes: tuple[str, ...]
    high: Habits
    """About items of high entropy, which people dispute."""
    low: Habits
    """About items of low entropy, which they agree on."""
    distances: NDArray[np.float64]  # (classes, classes) from the first choice to each other class
    thresholds: Thresholds = THRESHOLDS
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        distances = np.array(self.distances, dtype=np.float64)  # a copy: ours to freeze
        distances.flags.writeable = False
        object.__setattr__(self, "distances", distances)
        width = len(self.classes)
        if distances.shape != (width, width) or not np.isfinite(distances).all():
            raise DataError(
                f"The distances of {width} classes are a table of {width} × {width} finite "
                f"numbers; found one of shape {distances.shape}."
            )
        for name, habits in (("high", self.high), ("low", self.low)):
            if len(habits.possible) != width or not np.isclose(sum(habits.possible), 1):
                raise DataError(
                    f"The numbers of possible classes for {name} entropy need one share for each "
                    f"of 1 to {width} classes, summing to 1; found {list(habits.possible)}."
                )


CIFAR10S_HABITS: dict[str, Habits] = {
    "high": Habits(
        Beta(1.7134, 0.3327),
        tuple(count / 5498 for count in (1735, 1567, 682, 636, 266, 323, 61, 58, 62, 108)),
        0.5567,
        Beta(0.7855, 2.7876),
        5498,
    ),
    "low": Habits(
        Beta(2.9700, 0.1072),
        tuple(count / 702 for count in (436, 142, 27, 41, 15, 14, 5, 6, 5, 11)),
        0.2080,
        Beta(0.2577, 1.4308),
        702,
    ),
}
"""What ``fit_top_two`` finds in the 6,200 first views of CIFAR-10S with CIFAR-10H as reference."""


def fit_top_two(
    judgments: Judgments,
    reference: LabelSet,
    *,
    distances: NDArray[np.float64] | None = None,
    rule: Rule = "consistent",
    thresholds: Thresholds = THRESHOLDS,
) -> TopTwoModel:
    """Fit the simulated people to real top-two answers (S2-31…S2-36).

    ``reference`` says what people at large think of the items (CIFAR-10H, for instance) and
    routes each by its entropy. ``distances`` (classes × classes) order the alternatives, for
    instance 1 − cosine similarity of word vectors; without them they are learned from which
    classes were named together and which the reference confuses.
    """
    choices = two_choices(judgments, rule)
    if not (~np.isnan(choices.top1)).any():
        raise DataError(
            f"None of the {len(judgments)} answers gives its first choice a probability; "
            "nothing can be fitted."
        )
    classes = judgments.question.classes
    items = judgments.table["item"]
    known = in_class_order(reference.take(items.unique(maintain_order=True).to_list()), classes)
    place = {item: row for row, item in enumerate(known.items)}
    high = route_high(known, thresholds)[[place[item] for item in items]]
    if distances is None:
        distances = _learned_distances(
            choices.first, choices.second, in_class_order(reference, classes)
        )
    step = Step(
        "fit top-two annotators",
        {"answers": len(judgments), "rule": rule, "thresholds": [thresholds.high, thresholds.low]},
    )
    return TopTwoModel(
        classes,
        _habits(choices, high, len(classes)),
        _habits(choices, ~high, len(classes)),
        distances,
        thresholds,
        (*judgments.provenance, step),
    )


def published_top_two(
    reference: LabelSet,
    *,
    distances: NDArray[np.float64] | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> TopTwoModel:
    """The habits of CIFAR-10S annotators on other classes, where no real answers are at hand.

    Shares of more possible classes than there are fall to the largest possible number. Without
    ``distances`` the alternatives are ordered by what the reference confuses.
    """
    width = len(reference.classes)
    if distances is None:
        nobody = np.empty(0, dtype=np.int64)
        distances = _learned_distances(nobody, nobody, reference)
    high, low = (
        replace(CIFAR10S_HABITS[name], possible=_of_length(CIFAR10S_HABITS[name].possible, width))
        for name in ("high", "low")
    )
    step = Step("use the habits of CIFAR-10S annotators", {})
    return TopTwoModel(reference.classes, high, low, distances, thresholds, (step,))


def route_high(reference: LabelSet, thresholds: Thresholds = THRESHOLDS) -> NDArray[np.bool_]:
    """Which items count as disputed (S2-36): entropy in nats at or above the high threshold.

    At or below the low threshold they count as agreed. Between the two, where the data of the
    thesis has no item, the nearer threshold decides.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [1, 0]])  # 0.325 and 0 nats
    >>> route_high(labels)
    array([ True, False])
    """
    return entropy(reference) >= (thresholds.high + thresholds.low) / 2


def simulate_top_two(
    model: TopTwoModel,
    reference: LabelSet,
    *,
    per_item: int,
    annotators: int | None = None,
    rng: np.random.Generator,
) -> Judgments:
    """``per_item`` simulated answers about each item of ``reference`` (S2-30…S2-37).

    ``reference`` may be people's distribution or a model's prediction (S2-38). ``annotators``
    people share the work evenly; left out there are ``per_item``, each answering every item.
    """
    known = in_class_order(reference, model.classes)
    people = per_item if annotators is None else annotators
    item, annotator = who_answers_what(
        n_items=len(known), per_item=per_item, n_annotators=people, rng=rng
    )
    first = draw_columns(known.probs, item, rng=rng)  # S2-30
    high = route_high(known, model.thresholds)[item]
    as_high = _draw(model.high, len(item), rng=rng)
    as_low = _draw(model.low, len(item), rng=rng)
    answers = _written(model, first, np.where(high, as_high, as_low))
    step = Step(
        "simulate top-two",
        {"per_item": per_item, "annotators": people, "items": len(known)},
        simulated=True,
    )
    return Judgments(
        ask("top-two", model.classes),
        pl.DataFrame(
            {
                "item": gather(known.items, item),
                "annotator": gather(annotator_names(people), annotator),
                "answer": answers,
            }
        ),
        provenance=(*model.provenance, *reference.provenance, step),
    )


def _habits(choices: TwoChoices, rows: NDArray[np.bool_], width: int) -> Habits:
    """The habits shown in the given answers; where they show none, those of all answers."""
    of_kind = choices.take(rows)
    usable = ~np.isnan(of_kind.top1)
    if not usable.any():
        of_kind, usable = choices, ~np.isnan(choices.top1)
    second = of_kind.top2[of_kind.named & ~np.isnan(of_kind.top2)]
    counted = np.bincount(np.maximum(of_kind.possible, 1), minlength=width + 1)[1:]
    return Habits(
        fit_beta(of_kind.top1[usable]),
        tuple((counted / counted.sum()).tolist()),
        float(of_kind.named.mean()) if len(second) else 0.0,
        fit_beta(second) if len(second) else None,
        int(rows.sum()),
    )


def _learned_distances(
    first: NDArray[np.int64], second: NDArray[np.int64], reference: LabelSet
) -> NDArray[np.float64]:
    """−log of the share with which each class is the alternative to another (stands in for S2-32).

    Counted are the answers that name both; one more answer is spread as the reference confuses
    the two classes, and one evenly, so that classes never named together have an order too.
    """
    width = len(reference.classes)
    apart = ~np.eye(width, dtype=np.bool_)
    both = second >= 0
    named = np.zeros((width, width))
    np.add.at(named, (first[both], second[both]), 1.0)
    confused = reference.probs.T @ reference.probs * apart
    sums = confused.sum(axis=1, keepdims=True)
    confused = np.divide(confused, sums, out=apart / (width - 1.0), where=sums > 0)
    counted = (named + confused + 1 / (width - 1)) * apart
    share = counted / counted.sum(axis=1, keepdims=True)
    return -np.log(share, out=np.zeros_like(share), where=apart)


def _draw(habits: Habits, count: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Percent of the first choice, of the second (-1: none), number possible; shape (3, count)."""
    percent1 = _typed(habits.top1.draw(count, rng=rng))  # S2-31
    shares = np.array([habits.possible])
    possible = 1 + draw_columns(shares, np.zeros(count, dtype=np.int64), rng=rng)  # S2-33
    several = 1 - habits.possible[0]
    # An alternative can only be named among several, so that naming keeps its overall share.
    naming = min(habits.naming / several, 1.0) if several > 0 else 0.0
    named = (possible >= 2) & (rng.random(count) < naming)
    top2 = habits.top2.draw(count, rng=rng) if habits.top2 else np.zeros(count)  # S2-34
    percent2 = np.where(named, _typed(top2), -1)
    return np.stack([percent1, percent2, possible])


def _typed(probs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole percents; at least one, for nobody names a class and says 0 % on purpose."""
    return np.clip(np.rint(100 * probs), 1, 100).astype(np.int64)


def _written(model: TopTwoModel, first: NDArray[np.int64], drawn: NDArray[np.int64]) -> list[str]:
    """The answers as JSON, as the page would store them."""
    nearest = _nearest_first(model.distances)
    names = [json.dumps(name, ensure_ascii=False) for name in model.classes]
    ruled_out = [
        [", ".join(names[k] for k in sorted(order[count:])) for count in range(len(names) + 1)]
        for order in nearest.tolist()
    ]  # by first choice and number of possible classes
    seconds = [names[order[1]] for order in nearest.tolist()]
    return [
        f'{{"first": {names[chosen]}, "first_percent": "{percent1}", '
        + (
            f'"second": {seconds[chosen]}, "second_percent": "{percent2}", '
            if percent2 >= 0
            else '"second": null, "second_percent": "", '
        )
        + f'"ruled_out": [{ruled_out[chosen][possible]}]}}'
        for chosen, percent1, percent2, possible in zip(
            first.tolist(), *drawn.tolist(), strict=True
        )
    ]


def _nearest_first(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Each class followed by all others, the nearest first (S2-32); shape (classes, classes)."""
    own = np.where(np.eye(len(distances), dtype=np.bool_), -np.inf, distances)
    return own.argsort(axis=1, kind="stable")


def _of_length(shares: tuple[float, ...], width: int) -> tuple[float, ...]:
    """The histogram over 1 to ``width``; what lies beyond goes to the last place."""
    kept = np.zeros(max(width, len(shares)))
    kept[: len(shares)] = shares
    return (*kept[: width - 1].tolist(), float(kept[width - 1 :].sum()))
