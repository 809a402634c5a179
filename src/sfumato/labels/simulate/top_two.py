"""Turn hard or soft labels into top-two answers of simulated people, fitted to real ones.

The six steps of the thesis, appendix B.5: a first choice is drawn from what people say about
the item (S2-30), its probability from a Beta (S2-31), the other classes are ordered by their
distance to it (S2-32), a number of classes is left possible (S2-33), the nearest alternative
is named with a probability from a second Beta (S2-34), and the rest is left to the possible
classes (S2-35), which the recipe top2-clamp gives it to. Betas and histograms differ between
items that people agree and disagree about (S2-36).

``HabitsName`` says how the numbers are drawn: as in the thesis, independently with one thing
mended, or together as real answers have them. ``held_out`` tests them all against people who
were not fitted to.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, assert_never, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Statements, ask, top_choice
from sfumato.labels.build import codes
from sfumato.labels.build.distances import ORDERED, ClassDistances
from sfumato.labels.build.top_two import Rule
from sfumato.labels.labelset import NOT_RECORDED, LabelSet
from sfumato.labels.simulate.crowd import (
    THRESHOLDS,
    Beta,
    Thresholds,
    annotator_names,
    draw_columns,
    fit_beta,
    gather,
    in_class_order,
    route_items,
    who_answers_what,
)
from sfumato.labels.simulate.people import answer_rates
from sfumato.provenance import Provenance, Setting, Step

# Turn answers into the few numbers that a simulation is fitted to and judged by.

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class TwoChoices(NamedTuple):
    """What each judgment chose, how sure it was, and what it left open."""

    first: NDArray[np.int64]  # (judgments,) class chosen as most probable
    second: NDArray[np.int64]  # (judgments,) another class chosen as second; -1: none
    top1: NDArray[np.float64]  # (judgments,) probability of the first; NaN: no usable number
    top2: NDArray[np.float64]  # (judgments,) probability of the second; NaN: no usable number
    named: NDArray[np.bool_]  # (judgments,) whether a second choice was made
    possible: NDArray[np.int64]  # (judgments,) number of classes not ruled out

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "TwoChoices":
        """The judgments for which ``rows`` is true, or at the positions it holds."""
        return TwoChoices(
            self.first[rows],
            self.second[rows],
            self.top1[rows],
            self.top2[rows],
            self.named[rows],
            self.possible[rows],
        )


def two_choices(judgments: Judgments, rule: Rule = "consistent") -> TwoChoices:
    """Read top-two answers; a 0 typed for the chosen class is no usable number.

    The rules are those of the labels. ``consistent``: who names one class twice names no
    second, and a chosen class is possible. ``released``: the second number counts whichever
    class it is for, and only what was ruled out counts against a class, as in the figures
    published for CIFAR-10S (S2-31…S2-34).
    """
    if judgments.question.kind != "top-two":
        raise DataError(
            f"The simulation of two choices is fitted to answers of the kind top-two, "
            f"but the question was {judgments.question.kind}."
        )
    stated = judgments.statements
    rows = np.arange(len(stated.mass))
    first = (stated.rank == 1).argmax(axis=1)
    other = stated.rank == 2  # (answers, classes)
    second = np.where(other.any(axis=1), other.argmax(axis=1), -1)
    top1 = stated.mass[rows, first]
    top1 = np.where(top1 > 0, top1, np.nan)
    top2 = np.where(second >= 0, stated.mass[rows, second], np.nan)
    top2, named, possible = _by_rule(stated, top2, second >= 0, rule)
    return TwoChoices(first, second, top1, top2, named, possible).take(
        stated.index.astype(np.int64)
    )


def over_full(choices: TwoChoices) -> NDArray[np.bool_]:
    """Which judgments give their two choices more than 100 % together."""
    return np.where(choices.named, choices.top1 + choices.top2, np.nan) > 1 + 1e-9


def compare_marginals(
    real: Judgments, simulated: Judgments, *, rule: Rule = "consistent"
) -> pl.DataFrame:
    """Each marginal of real answers beside that of simulated ones, in the simulators' own terms.

    Columns ``marginal``, ``real``, ``simulated``. Top-two answers are compared by S2-31…S2-34,
    which ``rule`` reads; votes and yes/no/unsure by their rates and how much people agree. Only
    the same items, equally often, can be compared: what is said depends on the item.
    """
    if real.question.kind != simulated.question.kind:
        raise DataError(
            f"Answers to {real.question.kind} cannot be compared with simulated answers to "
            f"{simulated.question.kind}."
        )
    if set(real.question.classes) != set(simulated.question.classes):
        odd = sorted(set(real.question.classes) ^ set(simulated.question.classes))
        raise DataError(
            f"The real and the simulated answers are about different classes: {odd[0]!r} is in "
            "one and not in the other."
        )
    ours, theirs = (_marginals(judgments, rule) for judgments in (real, simulated))
    return pl.DataFrame(
        {
            "marginal": list(ours),
            "real": list(ours.values()),
            "simulated": [theirs[name] for name in ours],
        }
    )


def _marginals(judgments: Judgments, rule: Rule) -> dict[str, float]:
    match judgments.question.kind:
        case "top-two":
            return _of_two_choices(two_choices(judgments, rule))
        case "choose-one":
            return _of_votes(judgments)
        case "yes-no-unsure":
            return _of_thresholds(judgments)
        case other:
            raise DataError(
                f"Nobody simulates answers to {other}; answers to choose-one, top-two and "
                "yes-no-unsure can be compared."
            )


def _by_rule(
    stated: Statements, top2: NDArray[np.float64], named: NDArray[np.bool_], rule: Rule
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    match rule:
        case "consistent":
            excluded = stated.ruled_out & (stated.rank == 0)
        case "released":
            excluded = stated.ruled_out
            twice = stated.oddities["same-class-twice"]
            top2, named = np.where(twice, stated.said_again, top2), named | twice
        case _:
            assert_never(rule)
    return top2, named, (~excluded).sum(axis=1)


def _of_two_choices(choices: TwoChoices) -> dict[str, float]:
    return {
        **_spread("top-1 probability", choices.top1),
        "share naming an alternative": float(choices.named.mean()),
        **_spread("top-2 probability", choices.top2[choices.named]),
        "possible classes, mean": float(choices.possible.mean()),
        **{
            f"share with {count} possible": float((choices.possible == count).mean())
            for count in (1, 2, 3, 4)
        },
        "share stating more than 100 %": float(over_full(choices).mean()),
    }


def _of_votes(judgments: Judgments) -> dict[str, float]:
    stated = judgments.statements
    said = top_choice(stated)[stated.index]
    items, item = codes(judgments.table["item"])
    width = len(judgments.question.classes)
    votes = np.bincount(item * width + said, minlength=len(items) * width).reshape(-1, width)
    totals = votes.sum(axis=1)
    several = totals >= 2
    pairs = (votes * (votes - 1)).sum(axis=1)[several] / (totals * (totals - 1))[several]
    shares = votes.sum(axis=0) / votes.sum()
    named = zip(judgments.question.classes, shares.tolist(), strict=True)
    return {
        **{f"share of votes for {name}": share for name, share in named},
        "share of the most voted class, mean": float((votes.max(axis=1) / totals).mean()),
        "chance that two votes on an item agree": float(pairs.mean()) if len(pairs) else np.nan,
        "share of items with one class only": float((votes.max(axis=1) == totals).mean()),
    }


def _of_thresholds(judgments: Judgments) -> dict[str, float]:
    stated = judgments.statements
    rates = answer_rates(judgments)
    unsure = pl.DataFrame(
        {
            "annotator": judgments.table["annotator"],
            "unsure": stated.unsure[stated.index].mean(axis=1),
        }
    )
    by_person = (
        unsure.drop_nulls().group_by("annotator", maintain_order=True).mean()["unsure"].to_numpy()
    )
    return {
        **{f"rate of {name}": rate for name, rate in rates._asdict().items()},
        "share of none of these": float(stated.none_of_these[stated.index].mean()),
        "unsure rate, standard deviation between people": float(by_person.std())
        if len(by_person)
        else np.nan,
    }


def _spread(what: str, values: NDArray[np.float64]) -> dict[str, float]:
    known = values[~np.isnan(values)]
    names = [f"{what}, {100 * level:.0f} % quantile" for level in QUANTILES]
    if not len(known):
        return dict.fromkeys([f"{what}, mean", *names], float("nan"))
    quantiles = np.quantile(known, QUANTILES).tolist()
    return {f"{what}, mean": float(known.mean()), **dict(zip(names, quantiles, strict=True))}


# Turn what people answered into habits, and habits into what simulated people answer.
#
# A top-two answer is drawn as three numbers: the percent of the first choice, the percent of
# the alternative (or that none is named), and how many classes stay possible. Four kinds of
# habits draw them:
#
# ``published`` is the thesis, appendix B.5: a Beta for each probability and a histogram, drawn
# independently (S2-31, S2-33, S2-34), and an alternative is named whenever one is possible.
#
# ``independent`` differs in one thing: an alternative is named as often as people did. Every
# marginal is met but for its round numbers; but real people who are sure name no alternative, and
# those drawn independently state more than 100 % four times as often.
#
# ``joint`` draws all three numbers together, as one real answer had them. ``personal`` does so
# too, but each simulated person answers as one real person did, so that people differ.

HabitsName = Literal["independent", "published", "joint", "personal"]

HABITS: dict[str, HabitsName] = {name: name for name in get_args(HabitsName)}
"""The kinds of habits, by the name a user types."""

NOBODY = -1.0
"""The percent of an alternative that is not named; NaN: named without a number."""


@dataclass(frozen=True)
class Habits:
    """How people answer about items of one kind, in the terms of the thesis."""

    top1: Beta
    """Probability of the first choice (S2-31)."""
    possible: tuple[float, ...]
    """Share of answers that leave 1, 2, 3, … classes possible, the first choice among them."""
    naming: float
    """Share of answers that name an alternative; 1: all that leave one possible."""
    top2: Beta | None
    """Probability of the alternative where one is named (S2-34); None: nobody named one."""
    answers: int
    """How many answers these were fitted to."""

    def check(self, width: int, name: str) -> None:
        """Refuse a histogram that is not one over 1 to ``width`` classes."""
        if len(self.possible) != width or not np.isclose(sum(self.possible), 1):
            raise DataError(
                f"The numbers of possible classes for {name} entropy need one share for each "
                f"of 1 to {width} classes, summing to 1; found {list(self.possible)}."
            )

    def draw(self, person: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Percent of the first choice, of the second, number possible; shape (3, answers)."""
        count = len(person)
        percent1 = _typed(self.top1.draw(count, rng=rng))  # S2-31
        shares = np.array([self.possible])
        possible = 1 + draw_columns(shares, np.zeros(count, dtype=np.int64), rng=rng)  # S2-33
        several = 1 - self.possible[0]
        # An alternative can only be named among several, so that naming keeps its overall share.
        naming = min(self.naming / several, 1.0) if several > 0 else 0.0
        named = (possible >= 2) & (rng.random(count) < naming)
        top2 = self.top2.draw(count, rng=rng) if self.top2 else np.zeros(count)  # S2-34
        return np.stack([percent1, np.where(named, _typed(top2), NOBODY), possible])


@dataclass(frozen=True, eq=False)
class SeenHabits:
    """Real answers about items of one kind, of which whole ones are drawn."""

    drawn: NDArray[np.float64]  # (answers, 3) percent of first, of second (NOBODY), possible
    person: NDArray[np.int64]  # (answers,) whose answer it is; all 0: anybody draws any

    def __post_init__(self) -> None:
        # sorted by person, so that one person's answers lie together
        order = np.argsort(self.person, kind="stable")
        drawn = np.array(self.drawn, dtype=np.float64).reshape(-1, 3)[order]
        person = np.array(self.person, dtype=np.int64)[order]
        for array in (drawn, person):
            array.flags.writeable = False
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "person", person)

    @property
    def answers(self) -> int:
        """How many answers there are to draw from."""
        return len(self.drawn)

    def check(self, width: int, name: str) -> None:
        """Refuse answers that leave no class, or more than ``width``, possible."""
        possible = self.drawn[:, 2]
        least = np.where(self.drawn[:, 1] == NOBODY, 1, 2)
        if not len(possible) or (possible < least).any() or possible.max() > width:
            raise DataError(
                f"The answers seen for {name} entropy need from 1 (2 with an alternative) to "
                f"{width} possible classes; found {sorted(set(possible.tolist()))}."
            )

    def draw(self, person: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """For each entry one of that person's answers; shape (3, answers).

        Who has none about items of this kind answers as anybody does.
        """
        start = np.searchsorted(self.person, person, side="left")
        count = np.searchsorted(self.person, person, side="right") - start
        start, count = np.where(count, start, 0), np.where(count, count, self.answers)
        at = np.minimum((rng.random(len(person)) * count).astype(np.int64), count - 1)
        return self.drawn[start + at].T


def fit_habits(
    choices: TwoChoices,
    person: NDArray[np.int64],
    rows: NDArray[np.bool_],
    *,
    width: int,
    habits: HabitsName,
) -> Habits | SeenHabits:
    """The habits shown in the given answers; where they show none, those of all answers."""
    usable = ~np.isnan(choices.top1)
    kept = rows if (rows & usable).any() else np.ones_like(rows)
    of_kind, whose = choices.take(kept), person[kept]
    match habits:
        case "independent":
            return _independent(of_kind, width, answers=int(rows.sum()))
        case "published":
            return _named_if_possible(_independent(of_kind, width, answers=int(rows.sum())))
        case "joint":
            return _seen(of_kind, np.zeros_like(whose))
        case "personal":
            if (whose == NOT_RECORDED).any():
                raise DataError(
                    "Personal habits need to know who gave each answer, but these judgments do "
                    "not all say so. Use the habits 'joint'."
                )
            return _seen(of_kind, whose)
        case _:
            assert_never(habits)


def _independent(choices: TwoChoices, width: int, *, answers: int) -> Habits:
    second = choices.top2[choices.named & ~np.isnan(choices.top2)]
    counted = np.bincount(np.maximum(choices.possible, 1), minlength=width + 1)[1:]
    return Habits(
        fit_beta(choices.top1[~np.isnan(choices.top1)]),
        tuple((counted / counted.sum()).tolist()),
        float(choices.named.mean()) if len(second) else 0.0,
        fit_beta(second) if len(second) else None,
        answers,
    )


def _named_if_possible(habits: Habits) -> Habits:
    """The thesis names the nearest alternative whenever one is possible (S2-34)."""
    return replace(habits, naming=0.0 if habits.top2 is None else 1.0)


def _seen(choices: TwoChoices, person: NDArray[np.int64]) -> SeenHabits:
    """Whole answers; one without a usable number for its first choice cannot be given again."""
    usable = ~np.isnan(choices.top1)
    kept = choices.take(usable)
    named = kept.named
    percent2 = np.where(named, 100 * kept.top2, NOBODY)
    # as released, a chosen class may count as impossible; what is said again contradicts nothing
    possible = np.maximum(kept.possible, np.where(named, 2, 1))
    drawn = np.stack([100 * kept.top1, percent2, possible], axis=1).round(9)
    return SeenHabits(drawn, person[usable])


def _typed(probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole percents; at least one, for nobody names a class and says 0 % on purpose."""
    return np.clip(np.rint(100 * probs), 1, 100)


# Turn hard or soft labels into top-two answers of simulated people, fitted to real ones.


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
    habits: HabitsName = "independent",
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


def cifar10s_top_two(
    reference: LabelSet,
    *,
    habits: Literal["independent", "published"] = "independent",
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
    if habits == "published":
        high, low = _named_if_possible(high), _named_if_possible(low)
    step = Step("use the habits of CIFAR-10S annotators", {"habits": habits})
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
