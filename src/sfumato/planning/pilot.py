"""Turn a pilot's judgments into how much people err and how long they take, form by form (S1-37).

How much people err is measured in one of three ways, and every result says which:

- ``ratings``: the pilot's labels are embedded; the error rate is the share of triplets of items
  that contradict rated similarities of the same items (S1-39), as in the paper;
- ``agreement``: two people answer about the same item; the share δ of pairs of classes that
  both put in an order, and that they order differently;
- ``repeats``: the same between a person's first and second answer. What is a person's own lasting
  opinion does not show in it, so it is a lower bound.

If each answer is flipped with chance ε on its own, two contradict one another in
δ = 2ε(1-ε) of the comparisons; ``flipped`` turns δ back into ε.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import Question
from sfumato.labels.alter import class_information
from sfumato.labels.build import DEFAULT_RECIPE, build
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.planning.cost import FORM_OF_QUESTION, Cost, Middle, kept_classes, measured_cost
from sfumato.planning.information import FEWEST, Options, constraints, noisy
from sfumato.planning.weigh import contradictions, embed_answers, item_errors
from sfumato.provenance import Step
from sfumato.stats import draw_multinomial, percentile_interval

Array = NDArray[np.float64]

MOST_EMBEDDED = 200
"""Items of a pilot that are embedded at most to see which of them are alike."""

How = Literal["ratings", "agreement", "repeats"]
"""What an error rate comes from."""

RECIPE_OF_QUESTION: dict[str, str] = {
    **DEFAULT_RECIPE,
    "top-two": "top2-uniform",
    "multi-label": "yes-unsure-weighted",
}
"""How answers of a pilot are read as numbers that order the classes."""


@dataclass(frozen=True, eq=False)
class ErrorRate:
    """How much people err in one form, and what resampled items say."""

    how: How
    value: float
    """ε for ratings; for agreement and repeats δ, the share that is contradicted."""
    resampled: Array  # (draws,)
    items: int
    comparisons: int

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return percentile_interval(self.resampled).low

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return percentile_interval(self.resampled).high

    @property
    def flipped(self) -> float:
        """ε, the share of comparisons that one answer gets wrong."""
        return self.value if self.how == "ratings" else float(flip_rate(np.array(self.value)))


@dataclass(frozen=True, eq=False)
class PilotStudy:
    """What a pilot says about one form of answer."""

    form: str
    kept: int | None
    error: ErrorRate
    cost: Cost | None
    """None where the file has no times: a cost must then be given."""
    crowd: CrowdLabels
    """The first answers, as distributions."""
    people: float
    """Answers an item, on average."""


def pilot(
    judgments: Judgments,
    *,
    how: How | None = None,
    ratings: Comparisons | None = None,
    by: Middle = "median",
    draws: int = 400,
    rng: np.random.Generator,
) -> PilotStudy:
    """Error rate and time of one form of answer.

    Without ``how`` ratings are used where they are given, otherwise agreement.
    """
    form = FORM_OF_QUESTION[judgments.question.kind]
    chosen = select(judgments)
    if not len(chosen):
        raise DataError(f"The pilot holds no first answers of the form {form!r}.")
    crowd = _crowd(chosen)
    _check_people(crowd, form)
    how = how or ("agreement" if ratings is None else "ratings")
    repeats = _crowd_of_repeats(judgments) if how == "repeats" else None
    error = error_rate(crowd, how, ratings=ratings, repeats=repeats, draws=draws, rng=rng)
    timed = chosen.table["seconds"].drop_nulls().len() > 0
    cost = measured_cost(judgments, by=by, rng=rng, draws=draws) if timed else None
    kept = kept_classes(chosen)
    return PilotStudy(form, kept, error, cost, crowd, len(crowd) / len(np.unique(crowd.item)))


def of_shared_items(pilots: Sequence[Judgments]) -> list[Judgments]:
    """The pilots cut down to the items that all of them are about.

    Items that are harder make the people of one form look noisier, so forms can be compared only
    on the same items.
    """
    shared = set.intersection(*(set(each.table["item"]) for each in pilots)) if pilots else set()
    if pilots and not shared:
        raise DataError("No item is in all pilots, so the forms cannot be compared on any.")
    step = Step("shared items", {"items": len(shared)})
    return [each.take(each.table["item"].is_in(list(shared)), step) for each in pilots]


def error_rate(
    crowd: CrowdLabels,
    how: How,
    *,
    ratings: Comparisons | None = None,
    repeats: CrowdLabels | None = None,
    draws: int = 400,
    rng: np.random.Generator,
) -> ErrorRate:
    """How much people err, by agreement, by ``repeats`` or by similarity ``ratings``."""
    match how:
        case "agreement":
            return _agreement(crowd, draws=draws, rng=rng)
        case "repeats":
            if repeats is None:
                raise DataError(
                    "The pilot holds no repeats, so people cannot be compared with "
                    "themselves; ask some items twice, or measure by agreement."
                )
            return _repeats(crowd, repeats, draws=draws, rng=rng)
        case "ratings":
            if ratings is None:
                raise DataError(
                    "There are no similarity ratings to measure errors by; hand over "
                    "rated pairs of the pilot's items, or measure by agreement."
                )
            return _against_ratings(crowd, ratings, draws=draws, rng=rng)
        case _:
            assert_never(how)


def flip_rate(contradicted: Array) -> Array:
    """ε from δ = 2ε(1-ε): (1 - √(1-2δ))/2; a half where answers contradict at every chance.

    >>> float(flip_rate(np.array(0.18)).round(6))
    0.1
    """
    return np.asarray((1 - np.sqrt(np.maximum(1 - 2 * contradicted, 0))) / 2)


def _crowd(judgments: Judgments) -> CrowdLabels:
    return build(judgments, RECIPE_OF_QUESTION[judgments.question.kind]).crowd


def _crowd_of_repeats(judgments: Judgments) -> CrowdLabels | None:
    again = judgments.table["view"] == "repeat"
    if not again.any():
        return None
    return _crowd(judgments.take(again, Step("take repeats")))


def _check_people(crowd: CrowdLabels, form: str) -> None:
    known = np.unique(crowd.annotator)
    if len(known) == 1 and known[0] != NOT_RECORDED:
        raise DataError(
            f"All {form} answers of the pilot are by one person, {crowd.annotators[known[0]]!r}, "
            "so how people differ cannot be seen; ask at least two about the same items."
        )


def _agreement(crowd: CrowdLabels, *, draws: int, rng: np.random.Generator) -> ErrorRate:
    first, second = _pairs(crowd, rng)
    if not len(first):
        raise DataError(
            "No item of the pilot was answered by two people, so how people differ cannot be "
            "seen; ask at least two people about the same items."
        )
    both, against = contradictions(crowd.probs[first], crowd.probs[second])
    return _resampled("agreement", both, against, crowd.item[first], draws=draws, rng=rng)


def _pairs(
    crowd: CrowdLabels, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each answer with the next one about its item, in random order and round in a circle."""
    order = np.lexsort((rng.random(len(crowd)), crowd.item))
    sizes = np.bincount(crowd.item, minlength=len(crowd.items))
    starts = (np.cumsum(sizes) - sizes)[crowd.item[order]]
    size = sizes[crowd.item[order]]
    place = np.arange(len(order)) - starts
    after = order[starts + (place + 1) % size]
    known = crowd.annotator[order]
    wanted = (size > 2) | ((size == 2) & (place == 0))  # a circle of two is one pair
    wanted &= (known != crowd.annotator[after]) | (known == NOT_RECORDED)
    return order[wanted], after[wanted]


def _repeats(
    crowd: CrowdLabels, repeats: CrowdLabels, *, draws: int, rng: np.random.Generator
) -> ErrorRate:
    firsts = {
        (crowd.items[item], crowd.annotators[person]): row
        for row, (item, person) in enumerate(zip(crowd.item, crowd.annotator, strict=True))
        if person != NOT_RECORDED
    }
    matched = [
        (firsts[key], row, person)
        for row, (item, person) in enumerate(zip(repeats.item, repeats.annotator, strict=True))
        if person != NOT_RECORDED
        and (key := (repeats.items[item], repeats.annotators[person])) in firsts
    ]
    if not matched:
        raise DataError("No repeated answer of the pilot has a first one by the same person.")
    before, after, people = (np.array(part) for part in zip(*matched, strict=True))
    both, against = contradictions(crowd.probs[before], repeats.probs[after])
    return _resampled("repeats", both, against, people, draws=draws, rng=rng)


def _resampled(
    how: How,
    both: Array,
    against: Array,
    group: NDArray[np.int64],
    *,
    draws: int,
    rng: np.random.Generator,
) -> ErrorRate:
    """Sums over groups (items, or people), resampled as wholes."""
    names, code = np.unique(group, return_inverse=True)
    sums = np.stack([np.bincount(code, both), np.bincount(code, against)], axis=1)
    if not sums[:, 0].sum():
        raise DataError("No two answers of the pilot put the same classes in an order.")
    drawn = weights(len(names), draws, rng) @ sums
    # Half an answered comparison an item against half of all: no pilot shows that nobody errs.
    prior = 0.5 * float(sums[:, 0].mean()) / max(len(names), 1)
    rates = (drawn[:, 1] + prior / 2) / (drawn[:, 0] + prior)
    value = float(sums[:, 1].sum() / sums[:, 0].sum())
    return ErrorRate(how, value, rates, len(names), int(sums[:, 0].sum()))


def weights(rows: int, draws: int, rng: np.random.Generator) -> Array:
    """How often each row is in a resample, (draws, rows): one draw fewer than there are rows.

    That makes the spread of a resampled mean unbiased, which few rows need.
    """
    drawn = draw_multinomial(rows, rng=rng, draws=draws, size=max(rows - 1, 1))
    return np.concatenate([*drawn])


def _against_ratings(
    crowd: CrowdLabels, ratings: Comparisons, *, draws: int, rng: np.random.Generator
) -> ErrorRate:
    if ratings.kind != "pairs":
        raise DataError(f"Errors are measured by rated pairs, but these are {ratings.kind}.")
    labels = crowd.mean()
    rated = similarity_table(ratings, labels.items)
    known = np.isfinite(rated).sum(axis=1) > 1
    if known.sum() < 3:
        raise DataError(
            f"Only {known.sum()} items of the pilot have two rated pairs or more; rate pairs of at "
            "least three of its items."
        )
    gram = embed_answers(labels.probs[None], rng=rng)[: len(labels), : len(labels)]
    rows = np.flatnonzero(known)
    whole = item_errors(gram[np.ix_(rows, rows)], rated[np.ix_(rows, rows)])
    again = []
    for drawn in weights(len(rows), min(draws, 100), rng):
        some = rows[drawn > 0]
        part = rated[np.ix_(some, some)]
        if len(some) < 3 or not np.isfinite(part[~np.eye(len(some), dtype=bool)]).any():
            continue
        again.append(item_errors(gram[np.ix_(some, some)], part))
    return ErrorRate("ratings", whole, np.array(again or [whole]), len(rows), len(ratings))


def to_ratings(ratings: object) -> Comparisons:
    """Rated pairs of items as they are, or from a file; anything else is an error."""
    known = isinstance(ratings, Comparisons)
    found = ratings if known else read(Path(str(ratings)), "comparisons", ReadOptions())
    if not isinstance(found, Comparisons) or found.kind != "pairs":
        what = "These comparisons hold" if known else f"{ratings} holds"
        raise DataError(f"{what} no rated pairs, which need the columns first, second and rating.")
    return found


def telling_classes(
    labels: LabelSet, ratings: Comparisons | None = None, *, rng: np.random.Generator
) -> dict[str, float]:
    """Nats that each class tells about which items of a pilot are alike, most first (S1-05, S1-12).

    The first k̂ are those to ask about in a top-class form. Items are alike as ``ratings`` say or,
    without any, as the labels recover it themselves (of 200 items at most, drawn); classes that
    tell the same go by their name.
    """
    if ratings is None:
        rows = np.sort(rng.permutation(len(labels))[:MOST_EMBEDDED])
        labels = labels.take([labels.items[row] for row in rows])
        gram = embed_answers(labels.probs[None], rng=rng)[: len(labels), : len(labels)]
        similarity = (gram + gram.T) / 2
    else:
        similarity = similarity_table(ratings, labels.items)
    told = class_information(labels, similarity).round(12)
    order = sorted(zip(labels.classes, told.tolist(), strict=True), key=lambda c: (-c[1], c[0]))
    return dict(order)


def similarity_table(ratings: Comparisons, items: Sequence[str]) -> Array:
    """The mean rating of every pair of items, NaN where none was rated."""
    place = {item: row for row, item in enumerate(items)}
    total, often = np.zeros((len(items), len(items))), np.zeros((len(items), len(items)))
    first_views = ratings.table.filter(pl.col("view") == "first")
    for a, b, rating in first_views.select("first", "second", "rating").iter_rows():
        if a in place and b in place:
            for x, y in ((a, b), (b, a)):
                total[place[x], place[y]] += rating
                often[place[x], place[y]] += 1
    return np.where(often > 0, total / np.maximum(often, 1), np.nan)


# What one answer about each item tells, in triplet constraints and in bits, by answers so far.


@dataclass(frozen=True)
class AnswerInformation:
    """How much one answer about each item tells."""

    constraints: int
    """Triplet constraints that it fixes if nobody errs."""
    contradicted: float
    """The share of comparisons in which two people contradict each other."""
    bits: float
    """What is left of the constraints after so much contradiction."""


def answer_information(
    question: Question, crowd: CrowdLabels, *, items: int
) -> AnswerInformation | None:
    """Triplet constraints (S1-21…), less what people's contradictions take away (S1-27).

    ``items`` is how many items are asked about; ``crowd`` may hold some of them. None where it
    cannot be said, or not yet: fewer than three items or classes, or no two people who answered
    about one item.
    """
    classes = len(question.classes)
    if not (np.bincount(crowd.item) > 1).any() or min(items, classes) < FEWEST:
        return None
    options: Options = {}
    kept = _kept(question)
    if kept is not None:
        options["kept"] = kept
    fixed = constraints(FORM_OF_QUESTION[question.kind], items=items, classes=classes, **options)
    error = error_rate(crowd, "agreement", draws=1, rng=np.random.default_rng(0))
    return AnswerInformation(fixed, error.value, noisy(fixed, min(error.flipped, 0.5), "capacity"))


def _kept(question: Question) -> int | None:
    """How many classes an answer scores, where it is not all of them."""
    match question.kind:
        case "top-two":
            return 2
        case "sparse":
            return question.options.get("count")
        case "top-class":
            return len(question.options["subset"])
        case _:
            return None
