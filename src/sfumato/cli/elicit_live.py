"""What the dashboard of a collection needs from labels: distributions, intervals, agreement."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.elicit.admin import admin_app
from sfumato.elicit.export import export
from sfumato.elicit.live import Agreed, Live, Measures, Reading, Told
from sfumato.elicit.session.answers import AnyQuestion, MixQuestion
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.storage.writer import Writer
from sfumato.judgments.comparisons import ComparisonQuestion
from sfumato.judgments.question import Question
from sfumato.judgments.statements import read_answers, top_choice
from sfumato.labels.aggregate import aggregate
from sfumato.labels.agreement import between_people, krippendorff_nominal
from sfumato.labels.build import DEFAULT_GAMMA, NONE_OF_THESE, RECIPES
from sfumato.labels.labelset import CrowdLabels
from sfumato.planning.cost import FORM_OF_QUESTION
from sfumato.planning.information import FEWEST, Options, constraints, noisy

__all__ = [
    "RECIPE_OF_FORM",
    "answers_to_converge",
    "change_by_one_more",
    "dashboard_with",
    "measures_for",
]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

RECIPE_OF_FORM: dict[str, str] = {
    "choose-one": "votes",
    "top-two": "top2-clamp",
    "sliders": "sliders",
    "typicality": "typicality",
    "yes-no-unsure": "yes-unsure-weighted",
    "top-class": "sliders",
    "sparse": "sliders",
    "distribution": "sliders",
}
"""How one answer becomes a distribution on the dashboard; ``sfumato label`` knows more ways."""

DRAWS = 200
"""Of bootstraps: their ends need to be right to a percent on a screen."""


EXPORTS = ("csv", "jsonl", "parquet")
"""Endings of the files that the dashboard hands out."""


def dashboard_with(admin_key: str) -> Callable[[Writer], Any]:
    """What makes the dashboard of a study, for the server to mount."""

    def make(writer: Writer) -> Any:
        live = Live(writer.database, writer.collection, measures_for(writer.collection))

        def exported(path: Path) -> None:
            with writer.database.reader() as connection:
                export(connection, writer.collection.study, path)

        exports = dict.fromkeys(EXPORTS, exported)
        return admin_app(writer, live, admin_key=admin_key, exports=exports)

    return make


def measures_for(collection: Collection) -> Measures:
    """The functions for the question of a collection."""
    outcomes, read = _reader(collection)
    return Measures(
        outcomes=outcomes,
        read=read,
        change=change_by_one_more,
        enough=lambda change, answers, threshold: answers_to_converge(
            change, answers, outcomes=len(outcomes), threshold=threshold
        ),
        told=lambda item, person, probs, items: _told(
            collection.question, outcomes, item, person, probs, items
        ),
        intervals=lambda item, person, probs, items: _intervals(
            outcomes, item, person, probs, items
        ),
        agreement=lambda item, person, probs: _agreement(outcomes, item, person, probs),
    )


def change_by_one_more(item: Codes, probs: Array, items: int) -> Array:
    """How far the answer of one more person is expected to move each item's mean distribution.

    The n answers x₁…xₙ of an item have the mean m; another answer x moves it by ½‖x − m‖₁/(n+1) in
    total variation. What x will be, a Dirichlet process with weight 1 says: one of the n answers,
    with 1/(n+1) each, or, with 1/(n+1), all mass on some class, every class equally likely, so

        E = [Σᵢ ½‖xᵢ − m‖₁ + 1 − 1/K] / (n+1)².

    Two people who agree have therefore not converged; with ten classes six who agree have, at 0.02.

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
    (a(u − 1) + 1 − 1/K)/u², which is θ at u = [a + √(a² + 4θ(1 − 1/K − a))]/2θ.

    >>> change = change_by_one_more(np.array([0, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]), 1)
    >>> answers_to_converge(change, np.array([2]), outcomes=2, threshold=0.02)
    array([4.])
    """
    unseen = 1 - 1 / outcomes
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.maximum(change * (answers + 1) ** 2 - unseen, 0) / answers
    root = np.sqrt(np.maximum(apart**2 + 4 * threshold * (unseen - apart), 0))
    return np.maximum(np.ceil((apart + root) / (2 * threshold) - 1 - 1e-9), 1)


def _reader(
    collection: Collection,
) -> tuple[tuple[str, ...], Callable[[Sequence[str]], Reading]]:
    question = collection.question
    match question:
        case Question():
            return _class_reader(question)
        case ComparisonQuestion(kind="triplets"):
            return ("first", "second"), lambda texts: _two_sided(
                [json.loads(text)["closer"] == "first" for text in texts]
            )
        case ComparisonQuestion():
            low, high = question.scale or (0.0, 1.0)
            return ("alike", "different"), lambda texts: _two_sided(
                [(json.loads(text)["rating"] - low) / (high - low) for text in texts]
            )
        case MixQuestion():
            return ("first", "second"), lambda texts: _two_sided(
                [json.loads(text)["perceived"] for text in texts]
            )


def _class_reader(
    question: Question,
) -> tuple[tuple[str, ...], Callable[[Sequence[str]], Reading]]:
    recipe = RECIPES[RECIPE_OF_FORM[question.kind]]
    usual = {"gamma": DEFAULT_GAMMA, "rule": "consistent"}
    options = {name: usual[name] for name in recipe.takes}
    none = question.kind == "yes-no-unsure" and question.options["none_of_these"]
    outcomes = (*question.classes, NONE_OF_THESE) if none else question.classes

    def read(texts: Sequence[str]) -> Reading:
        stated, wrong = read_answers(question, texts)
        probs = recipe.complete(stated, **options)[:, : len(outcomes)].copy()
        choice = top_choice(stated)
        unread = list(wrong)
        probs[unread], choice[unread] = np.nan, -1
        return Reading(probs, choice)

    return outcomes, read


def _two_sided(share: Sequence[float]) -> Reading:
    """Answers between two sides as distributions over both."""
    first = np.asarray(share, dtype=np.float64)
    probs = np.stack([first, 1 - first], axis=1)
    return Reading(probs, np.where(first == 0.5, -1, (first < 0.5).astype(np.int64)))


def _crowd(outcomes: tuple[str, ...], item: Codes, person: Codes, probs: Array) -> CrowdLabels:
    items, people = np.unique(item), np.unique(person)
    return CrowdLabels(
        tuple(map(str, items)),
        tuple(map(str, people)),
        outcomes,
        np.searchsorted(items, item),
        np.searchsorted(people, person),
        probs,
    )


def _are_votes(probs: Array) -> bool:
    return bool(((probs == 0) | (probs == 1)).all())


def _intervals(
    outcomes: tuple[str, ...], item: Codes, person: Codes, probs: Array, items: int
) -> tuple[Array, Array]:
    """Jeffreys' posterior for votes; for distributions a bootstrap over people."""
    low, high = np.full((2, items, len(outcomes)), np.nan)
    if not len(item):
        return low, high
    method = "vote-shares" if _are_votes(probs) else "mean"
    crowd = _crowd(outcomes, item, person, probs)
    rng = np.random.default_rng(0)  # the same ends while nothing changes
    made = aggregate(crowd, method, rng=rng, interval="default", replicates=DRAWS)
    assert made.interval is not None
    judged = [int(name) for name in made.labels.items]
    low[judged], high[judged] = made.interval.low, made.interval.high
    if method == "mean":  # one judgment alone says nothing about how far another would be from it
        alone = np.bincount(item, minlength=items) == 1
        low[alone], high[alone] = 0.0, 1.0
    return low, high


def _told(
    question: AnyQuestion,
    outcomes: tuple[str, ...],
    item: Codes,
    person: Codes,
    probs: Array,
    items: int,
) -> Told | None:
    """Triplet constraints (S1-21…), less what people's contradictions take away (S1-27)."""
    # Brings 20 MB of SciPy along, which a server whose dashboard nobody looks at does not need.
    from sfumato.planning.pilot import error_rate

    several = len(item) > 0 and bool((np.bincount(item) > 1).any())
    if not isinstance(question, Question) or not several:
        return None
    classes = len(question.classes)
    if min(items, classes) < FEWEST:
        return None
    options: Options = {}
    kept = {"top-two": 2, "sparse": question.options.get("count")}.get(question.kind)
    if question.kind == "top-class":
        kept = len(question.options["subset"])
    if kept is not None:
        options["kept"] = kept
    fixed = constraints(FORM_OF_QUESTION[question.kind], items=items, classes=classes, **options)
    crowd = _crowd(outcomes, item, person, probs)
    erred = error_rate(crowd, "agreement", draws=1, rng=np.random.default_rng(0))
    return Told(fixed, erred.value, noisy(fixed, min(erred.flipped, 0.5), "capacity"))


def _agreement(
    outcomes: tuple[str, ...], item: Codes, person: Codes, probs: Array
) -> Sequence[Agreed]:
    if not (np.bincount(item) > 1).any():
        return ()
    rng = np.random.default_rng(0)
    crowd = _crowd(outcomes, item, person, probs)
    found = [between_people(crowd, "total-variation", rng=rng, draws=DRAWS)]
    if _are_votes(probs):
        table = np.zeros((len(crowd.items), len(outcomes)))
        np.add.at(table, crowd.item, probs)
        found.insert(0, krippendorff_nominal(table, rng=rng, draws=DRAWS))
    return [Agreed(one.name, one.value, one.low, one.high, one.n) for one in found]
