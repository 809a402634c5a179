"""Turn hard or soft labels into top-two answers of simulated people, fitted to real ones.

The six steps of the thesis, appendix B.5: a first choice is drawn from what people say about
the item (S2-30), its probability from a Beta (S2-31), the other classes are ordered by their
distance to it (S2-32), a number of classes is left possible (S2-33), the nearest alternative
is named with a probability from a second Beta (S2-34), and the rest is left to the possible
classes (S2-35), which the recipe top2-clamp gives it to. Betas and histograms differ between
items that people agree and disagree about (S2-36). One thing is added: the thesis names an
alternative whenever one is possible; here as many people do as really did.

``habits.py`` says how the numbers are drawn: independently as in the thesis, or together as
real answers have them. ``held_out.py`` tests both against people who were not fitted to.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build import codes
from sfumato.labels.build.distances import ORDERED, ClassDistances
from sfumato.labels.build.top_two import Rule
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.beta import Beta
from sfumato.labels.simulate.crowd import (
    annotator_names,
    draw_columns,
    gather,
    in_class_order,
    who_answers_what,
)
from sfumato.labels.simulate.habits import NOBODY, Habits, HabitsName, SeenHabits, fit_habits
from sfumato.labels.simulate.marginals import TwoChoices, two_choices
from sfumato.labels.simulate.routing import THRESHOLDS, Thresholds, route_items
from sfumato.provenance import Provenance, Setting, Step

__all__ = [
    "CIFAR10S_HABITS",
    "TopTwoModel",
    "draw_choices",
    "fit_choices",
    "fit_top_two",
    "published_top_two",
    "simulate_top_two",
]


@dataclass(frozen=True, eq=False)
class TopTwoModel:
    """Simulated people who answer top-two questions about the given classes."""

    classes: tuple[str, ...]
    high: Habits | SeenHabits
    """About items of high entropy, which people dispute."""
    low: Habits | SeenHabits
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
        self.high.check(width, "high")
        self.low.check(width, "low")


_LEARNED = Step(ORDERED, {"by": "which the answers name together and the labels confuse"})

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
    habits: HabitsName = "published",
    distances: ClassDistances | None = None,
    routing: LabelSet | Literal["none"] | None = None,
    rule: Rule = "consistent",
    thresholds: Thresholds = THRESHOLDS,
) -> TopTwoModel:
    """Fit the simulated people to real top-two answers (S2-31…S2-36).

    ``reference`` says what people at large think of the items (CIFAR-10H, for instance) and
    routes each by its entropy, unless ``routing`` has other labels for that, such as a model's
    predictions (S2-38), or says ``"none"``: then there is one set of habits for all items.
    ``distances`` order the alternatives (S2-32); without them the order is learned from which
    classes were named together and which the reference confuses. The provenance says which.
    """
    classes = judgments.question.classes
    choices = two_choices(judgments, rule)
    items = judgments.table["item"]
    known = in_class_order(reference.take(items.unique(maintain_order=True).to_list()), classes)
    if routing == "none":
        high = None
    else:
        high = route_items(items.to_list(), routing or known, thresholds)
    fitted = fit_choices(
        choices, codes(judgments.table["annotator"])[1], high, width=len(classes), habits=habits
    )
    if distances is None:
        order = _learned_distances(
            choices.first, choices.second, in_class_order(reference, classes)
        )
        told: Provenance = (_LEARNED,)
    else:
        order, told = distances.of(classes), distances.provenance
    routed = "nothing" if routing == "none" else "the reference" if not routing else "other labels"
    settings: dict[str, Setting] = {
        "answers": len(judgments),
        "rule": rule,
        "thresholds": [thresholds.high, thresholds.low],
        "habits": habits,
        "routed by": routed,
    }
    read = routing.provenance if isinstance(routing, LabelSet) else ()
    step = Step("fit top-two annotators", settings)
    return TopTwoModel(
        classes, *fitted, order, thresholds, (*judgments.provenance, *read, *told, step)
    )


def fit_choices(
    choices: TwoChoices,
    person: NDArray[np.int64],
    high: NDArray[np.bool_] | None,
    *,
    width: int,
    habits: HabitsName,
) -> tuple[Habits | SeenHabits, Habits | SeenHabits]:
    """Habits about disputed and about agreed items; the same for both where ``high`` is None."""
    if np.isnan(choices.top1).all():
        raise DataError(
            f"None of the {len(choices.first)} answers gives its first choice a probability; "
            "nothing can be fitted."
        )
    if high is None:
        everywhere = np.ones(len(choices.first), dtype=np.bool_)
        of_all = fit_habits(choices, person, everywhere, width=width, habits=habits)
        return of_all, of_all
    disputed = fit_habits(choices, person, high, width=width, habits=habits)
    agreed = fit_habits(choices, person, ~high, width=width, habits=habits)
    return disputed, agreed


def published_top_two(
    reference: LabelSet,
    *,
    distances: ClassDistances | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> TopTwoModel:
    """The habits of CIFAR-10S annotators on other classes, where no real answers are at hand.

    Shares of more possible classes than there are fall to the largest possible number. Without
    ``distances`` the alternatives are ordered by what the reference confuses.
    """
    width = len(reference.classes)
    if distances is None:
        nobody = np.empty(0, dtype=np.int64)
        order = _learned_distances(nobody, nobody, reference)
        told: Provenance = (_LEARNED,)
    else:
        order, told = distances.of(reference.classes), distances.provenance
    high, low = (
        replace(CIFAR10S_HABITS[name], possible=_of_length(CIFAR10S_HABITS[name].possible, width))
        for name in ("high", "low")
    )
    step = Step("use the habits of CIFAR-10S annotators", {})
    return TopTwoModel(reference.classes, high, low, order, thresholds, (*told, step))


def simulate_top_two(
    model: TopTwoModel,
    reference: LabelSet,
    *,
    per_item: int,
    annotators: int | None = None,
    routing: LabelSet | None = None,
    rng: np.random.Generator,
) -> Judgments:
    """``per_item`` simulated answers about each item of ``reference`` (S2-30…S2-37).

    First choices are drawn from ``reference``, which may be people's distribution, hard labels
    or a model's prediction. ``routing`` says which items are disputed where the reference does
    not, as a model's predictions may (S2-38). ``annotators`` people share the work evenly; left
    out there are ``per_item``, each answering every item.
    """
    known = in_class_order(reference, model.classes)
    people = per_item if annotators is None else annotators
    item, annotator = who_answers_what(
        n_items=len(known), per_item=per_item, n_annotators=people, rng=rng
    )
    high = route_items(known.items, routing or known, model.thresholds)
    choices = draw_choices(model, known, item, annotator, high=high[item], rng=rng)
    step = Step(
        "simulate top-two",
        {
            "per_item": per_item,
            "annotators": people,
            "items": len(known),
            "routed by": "the labels people see" if routing is None else "other labels",
        },
        simulated=True,
    )
    read = () if routing is None else routing.provenance
    return Judgments(
        ask("top-two", model.classes),
        pl.DataFrame(
            {
                "item": gather(known.items, item),
                "annotator": gather(annotator_names(people), annotator),
                "answer": _written(model, choices),
                "simulated": True,
            }
        ),
        provenance=(*model.provenance, *reference.provenance, *read, step),
    )


def draw_choices(
    model: TopTwoModel,
    known: LabelSet,
    item: NDArray[np.int64],
    annotator: NDArray[np.int64],
    *,
    high: NDArray[np.bool_],
    rng: np.random.Generator,
) -> TwoChoices:
    """What simulated people choose, one answer for each item and annotator (both by position).

    ``known`` has the classes of the model in their order; ``high`` says for each answer whether
    its item is disputed.
    """
    first = draw_columns(known.probs, item, rng=rng)  # S2-30
    person = _who_is_who(model, int(annotator.max(initial=-1)) + 1, rng=rng)[annotator]
    as_high = model.high.draw(person, rng=rng)
    as_low = model.low.draw(person, rng=rng)
    percent1, percent2, possible = np.where(high, as_high, as_low)
    named = percent2 != NOBODY
    nearest = _nearest_first(model.distances)
    return TwoChoices(
        first,
        np.where(named, nearest[first, 1], -1) if len(model.classes) > 1 else -np.ones_like(first),
        percent1 / 100,
        np.where(named, percent2 / 100, np.nan),
        named,
        possible.astype(np.int64),
    )


def _who_is_who(model: TopTwoModel, people: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """The real person that each simulated one answers like; everybody once before anybody twice."""
    seen = [habits.person for habits in (model.high, model.low) if isinstance(habits, SeenHabits)]
    known = np.unique(np.concatenate(seen)) if seen else np.zeros(1, dtype=np.int64)
    if len(known) == 1:
        return np.repeat(known, people)
    rounds = [rng.permutation(known) for _ in range(-(-people // len(known)))]
    return np.concatenate([known[:0], *rounds])[:people]


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


def _written(model: TopTwoModel, choices: TwoChoices) -> list[str]:
    """The answers as JSON, as the page would store them."""
    names = [json.dumps(name, ensure_ascii=False) for name in model.classes]
    ruled_out = [
        [", ".join(names[k] for k in sorted(order[count:])) for count in range(len(names) + 1)]
        for order in _nearest_first(model.distances).tolist()
    ]  # by first choice and number of possible classes
    return [
        f'{{"first": {names[chosen]}, "first_percent": "{_percent(top1)}", '
        + (
            f'"second": {names[second]}, "second_percent": "{_percent(top2)}", '
            if named
            else '"second": null, "second_percent": "", '
        )
        + f'"ruled_out": [{ruled_out[chosen][possible]}]}}'
        for chosen, second, top1, top2, named, possible in zip(
            *(column.tolist() for column in choices), strict=True
        )
    ]


def _percent(prob: float) -> str:
    """As people type it; nothing where the number is missing."""
    return "" if np.isnan(prob) else f"{100 * prob:.10g}"


def _nearest_first(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Each class followed by all others, the nearest first (S2-32); shape (classes, classes)."""
    own = np.where(np.eye(len(distances), dtype=np.bool_), -np.inf, distances)
    return own.argsort(axis=1, kind="stable")


def _of_length(shares: tuple[float, ...], width: int) -> tuple[float, ...]:
    """The histogram over 1 to ``width``; what lies beyond goes to the last place."""
    kept = np.zeros(max(width, len(shares)))
    kept[: len(shares)] = shares
    return (*kept[: width - 1].tolist(), float(kept[width - 1 :].sum()))
