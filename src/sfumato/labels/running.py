"""Labels while answers still come in: what answers say, how sure their means are, when to stop.

A server keeps answers in memory as plain arrays: ``item`` and ``annotator`` are numbers, one per
answer, and ``probs`` has one row per answer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.judgments.comparisons import ComparisonQuestion
from sfumato.judgments.question import Question, read_answers, top_choice
from sfumato.labels.aggregate import aggregate
from sfumato.labels.agreement import Agreement, between_people, krippendorff_nominal
from sfumato.labels.build import (
    DEFAULT_GAMMA,
    DEFAULT_RECIPE,
    EACH_CLASS,
    NONE_OF_THESE,
    RECIPES,
)
from sfumato.labels.labelset import CrowdLabels

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

DRAWS = 200
"""Of bootstraps: their ends need to be right to a percent on a screen."""


@dataclass(frozen=True, eq=False)
class AnswerDistributions:
    """What distinct answers say."""

    probs: Array  # (answers, outcomes); a row of NaN where an answer states too little
    choice: Codes  # (answers,) the outcome put first; -1: none, or several


def outcomes_of(question: Question | ComparisonQuestion) -> tuple[str, ...]:
    """What the columns of a distribution stand for: the classes, or the sides of a comparison."""
    match question:
        case Question():
            none = question.kind == "yes-no-unsure" and question.options["none_of_these"]
            return (*question.classes, NONE_OF_THESE) if none else question.classes
        case ComparisonQuestion(kind="triplets" | "preference"):
            return ("first", "second")
        case ComparisonQuestion():
            return ("alike", "different")
        case _:
            assert_never(question)


def read_distributions(
    question: Question | ComparisonQuestion, texts: Sequence[str]
) -> AnswerDistributions:
    """Answers, as JSON, as distributions over ``outcomes_of`` the question, by its usual recipe.

    >>> question = ComparisonQuestion("pairs", "How similar?", (0, 6))
    >>> read_distributions(question, ['{"rating": 6}', '{"rating": 3}']).probs
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    match question:
        case Question():
            return _read_statements(question, texts)
        case ComparisonQuestion(kind="triplets"):
            return read_two_sided([json.loads(text)["closer"] == "first" for text in texts])
        case ComparisonQuestion(kind="preference"):
            share = {"first": 1.0, "tie": 0.5, "second": 0.0}
            return read_two_sided([share[json.loads(text)["preferred"]] for text in texts])
        case ComparisonQuestion():
            low, high = question.scale or (0.0, 1.0)
            return read_two_sided(
                [(json.loads(text)["rating"] - low) / (high - low) for text in texts]
            )
        case _:
            assert_never(question)


def read_two_sided(share: Sequence[float]) -> AnswerDistributions:
    """Answers between two sides as distributions over both; ``share`` is that of the first.

    >>> read_two_sided([1, 0.5]).choice
    array([ 0, -1])
    """
    first = np.asarray(share, dtype=np.float64)
    probs = np.stack([first, 1 - first], axis=1)
    return AnswerDistributions(probs, np.where(first == 0.5, -1, (first < 0.5).astype(np.int64)))


def change_by_one_more(item: Codes, probs: Array, items: int) -> Array:
    """How far the answer of one more person is expected to move each item's mean distribution.

    The n answers x₁…xₙ of an item have the mean m; another answer x moves it by ½‖x − m‖₁/(n+1) in
    total variation. What x will be, a Dirichlet process with weight 1 says: one of the n answers,
    with 1/(n+1) each, or, with 1/(n+1), all mass on some class, every class equally likely, so

        E = [Σᵢ ½‖xᵢ − m‖₁ + 1 − 1/K] / (n+1)².

    Two people who agree have therefore not converged; with ten classes six who agree have, at 0.02.
    NaN where nobody answered.

    >>> change_by_one_more(np.array([0, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]), 2).round(4)
    array([0.0556,    nan])
    """
    count = np.bincount(item, minlength=items).astype(np.float64)
    sums = np.zeros((items, probs.shape[1]))
    np.add.at(sums, item, probs)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums / count[:, None]
    away = 0.5 * np.abs(probs - mean[item]).sum(axis=1)
    apart = np.bincount(item, weights=away, minlength=items)
    expected = (apart + 1 - 1 / probs.shape[1]) / (count + 1) ** 2
    return np.where(count > 0, expected, np.nan)


def answers_to_converge(change: Array, answers: Codes, *, outcomes: int, threshold: float) -> Array:
    """With how many answers ``change_by_one_more`` falls to the threshold, if a stays what it is.

    a = Σᵢ ½‖xᵢ − m‖₁/n is how far answers lie from their mean. With u = n + 1 the change is
    (a(u − 1) + 1 − 1/K)/u², which is θ at u = [a + √(a² + 4θ(1 − 1/K − a))]/2θ. NaN where nobody
    answered.

    >>> change = change_by_one_more(np.array([0, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]), 1)
    >>> answers_to_converge(change, np.array([2]), outcomes=2, threshold=0.02)
    array([4.])
    """
    unseen = 1 - 1 / outcomes
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.maximum(change * (answers + 1) ** 2 - unseen, 0) / answers
    root = np.sqrt(np.maximum(apart**2 + 4 * threshold * (unseen - apart), 0))
    return np.maximum(np.ceil((apart + root) / (2 * threshold) - 1 - 1e-9), 1)


def numbered_crowd(
    outcomes: tuple[str, ...], item: Codes, annotator: Codes, probs: Array
) -> CrowdLabels:
    """The answers as ``CrowdLabels`` whose items and annotators are called by their numbers."""
    items, annotators = np.unique(item), np.unique(annotator)
    return CrowdLabels(
        tuple(map(str, items)),
        tuple(map(str, annotators)),
        outcomes,
        np.searchsorted(items, item),
        np.searchsorted(annotators, annotator),
        probs,
    )


def mean_intervals(crowd: CrowdLabels, *, items: int) -> tuple[Array, Array]:
    """Both ends of each mean probability, (items, outcomes); NaN where nobody answered.

    ``crowd`` is a ``numbered_crowd`` of items from 0. Jeffreys' posterior for votes; for
    distributions a bootstrap over people, in which one answer alone says nothing about how far
    another would be from it: its interval is everything.
    """
    low, high = np.full((2, items, len(crowd.classes)), np.nan)
    if not len(crowd):
        return low, high
    method = "mean" if crowd.votes is None else "vote-shares"
    rng = np.random.default_rng(0)  # the same ends while nothing changes
    made = aggregate(crowd, method, rng=rng, interval="default", replicates=DRAWS)
    assert made.interval is not None
    judged = [int(name) for name in made.labels.items]
    low[judged], high[judged] = made.interval.low, made.interval.high
    if method == "mean":
        places = np.array([int(name) for name in crowd.items])[crowd.item]
        alone = np.bincount(places, minlength=items) == 1
        low[alone], high[alone] = 0.0, 1.0
    return low, high


def agreement_so_far(crowd: CrowdLabels) -> tuple[Agreement, ...]:
    """How far people agree: total variation between them and, for votes, Krippendorff's alpha.

    Empty where no two people answered about one item.
    """
    if not (np.bincount(crowd.item) > 1).any():
        return ()
    rng = np.random.default_rng(0)
    between = between_people(crowd, "total-variation", rng=rng, draws=DRAWS)
    votes = crowd.votes
    if votes is None:
        return (between,)
    table = np.zeros((len(crowd.items), len(crowd.classes)))
    np.add.at(table, (crowd.item, votes), 1)
    return (krippendorff_nominal(table, rng=rng, draws=DRAWS), between)


def _read_statements(question: Question, texts: Sequence[str]) -> AnswerDistributions:
    usually = DEFAULT_RECIPE[question.kind]
    recipe = RECIPES["yes-unsure-weighted" if usually in EACH_CLASS else usually]
    usual = {"gamma": DEFAULT_GAMMA, "rule": "consistent"}
    options = {name: usual[name] for name in recipe.takes}
    stated, wrong = read_answers(question, texts)
    probs = recipe.complete(stated, **options)[:, : len(outcomes_of(question))].copy()
    choice = top_choice(stated)
    unread = list(wrong)
    probs[unread], choice[unread] = np.nan, -1
    return AnswerDistributions(probs, choice)
