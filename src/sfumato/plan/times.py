"""Turn the times people took into what answers cost, and into an axis for scores."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import Kind
from sfumato.names import find
from sfumato.plan.cost import Cost
from sfumato.plan.information import FORMS
from sfumato.scores import Score

__all__ = [
    "FORM_OF_QUESTION",
    "PUBLISHED_SECONDS",
    "Middle",
    "kept_classes",
    "measured_cost",
    "measured_costs",
    "performance_by_seconds",
]

Middle = Literal["median", "mean"]
"""The median is not moved by people who left the room; totals of bills are means."""

FORM_OF_QUESTION: dict[Kind, str] = {
    "choose-one": "hard",
    "top-two": "sparse",
    "sliders": "soft",
    "typicality": "typicality",
    "yes-no-unsure": "yes-no-unsure",
    "top-class": "top-class",
    "sparse": "sparse",
    "likely-set": "yes-no-unsure",
    "ranking": "sparse",
    "confidence": "sparse",
    "distribution": "soft",
}
"""Which form of answer a question asks for."""

PUBLISHED_SECONDS: dict[str, tuple[str, float, str]] = {
    "cifar10s": ("sparse", 32.0, "S2, S3: median for two probabilities and what is impossible"),
    "cifar10h-s2": ("hard", 2.5, "S2: a vote of CIFAR-10H"),
    "cifar10h-s3": ("hard", 1.8, "S3: the same vote; the two papers differ (C9)"),
}
"""Seconds an answer that the papers report: form, seconds, where."""


def measured_cost(
    answers: Judgments | Comparisons,
    *,
    by: Middle = "median",
    rng: np.random.Generator,
    draws: int = 1000,
) -> Cost:
    """Seconds an answer took, with an interval over people (answers of a person go together).

    Of judgments the ones labels are made from count: first views, each person once an item.
    """
    form = _form_of(answers)
    chosen = select(answers) if isinstance(answers, Judgments) else _first(answers)
    table = chosen.table
    timed = table.select("annotator", "seconds").drop_nulls("seconds")
    if not len(timed):
        raise DataError(
            f"None of the {len(table)} answers of the form {form!r} has a time, so what they cost "
            "cannot be measured; give a cost instead."
        )
    who = timed["annotator"].fill_null("").to_numpy()
    seconds = timed["seconds"].to_numpy()
    people = timed["annotator"].drop_nulls().n_unique()
    low, high = _interval(seconds, who, by, rng=rng, draws=draws) if people > 1 else (None, None)
    value = float(_middle(seconds, by))
    kept = kept_classes(chosen) if isinstance(chosen, Judgments) else None
    return Cost(form, value, "seconds", low, high, kept, len(timed), people, source="measured")


def kept_classes(judgments: Judgments) -> int | None:
    """The k̂ of the form; of a ranking, as many classes as people put in order on average."""
    question = judgments.question
    match question.kind:
        case "top-two":
            return 2
        case "confidence":
            return 1
        case "sparse":
            return int(question.options["count"])
        case "top-class":
            return len(question.options["subset"])
        case "ranking":
            named = (judgments.statements.rank > 0).sum(axis=1)[judgments.statements.index]
            return max(1, round(float(named.mean())))
        case (
            "choose-one"
            | "sliders"
            | "typicality"
            | "yes-no-unsure"
            | "likely-set"
            | "distribution"
        ):
            return None
        case _:
            assert_never(question.kind)


def measured_costs(
    pilots: Sequence[Judgments | Comparisons],
    forms: Sequence[str],
    *,
    by: Middle = "median",
    rng: np.random.Generator,
    draws: int = 1000,
) -> dict[str, Cost]:
    """The measured cost of each named form; a form without data is an error."""
    for form in forms:
        find(FORMS, form, what="form of answer")
    by_form = {_form_of(answers): answers for answers in pilots}
    if len(by_form) < len(pilots):
        raise DataError(
            "Two pilots hold answers of the same form; hand over one of each, or measure them "
            "one by one."
        )
    missing = [form for form in forms if form not in by_form]
    if missing:
        raise DataError(
            f"The pilot holds no answers of the form {missing[0]!r}, so their cost cannot be "
            "measured; collect some, or give a cost."
        )
    return {form: measured_cost(by_form[form], by=by, rng=rng, draws=draws) for form in forms}


def performance_by_seconds(scores: Sequence[Score], seconds: Mapping[str, float]) -> pl.DataFrame:
    """Scores beside the seconds that their arm's labels took (S2-39): what the report draws.

    Columns ``arm``, ``seconds``, ``metric``, ``value``, ``low``, ``high``, of all items against
    people. ``seconds`` holds the total of every arm, as ``total_cost`` gives it. Where there are
    several networks, their name is part of the arm's.
    """
    shown = [score for score in scores if score.stratum == "all" and score.against == "people"]
    if not shown:
        raise DataError("There are no scores of all items against people, so nothing to compare.")
    for score in shown:
        if score.arm not in seconds:
            raise DataError(
                f"The arm {score.arm!r} has scores but no seconds; say how long its labels took."
            )
        if not (isfinite(seconds[score.arm]) and seconds[score.arm] > 0):
            raise DataError(
                f"The labels of the arm {score.arm!r} took {seconds[score.arm]:g} seconds; give a "
                "number above zero."
            )
    several = len({score.network for score in shown}) > 1
    rows = [
        (
            f"{score.arm} ({score.network})" if several else score.arm,
            float(seconds[score.arm]),
            score.metric,
            score.value,
            score.low,
            score.high,
        )
        for score in shown
    ]
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64())
    schema = {"arm": pl.String(), "seconds": pl.Float64(), "metric": pl.String(), **numbers}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _form_of(answers: Judgments | Comparisons) -> str:
    if isinstance(answers, Judgments):
        return FORM_OF_QUESTION[answers.question.kind]
    return answers.question.kind


def _first(answers: Comparisons) -> Comparisons:
    return Comparisons(answers.question, answers.table.filter(pl.col("view") == "first"))


def _middle(seconds: NDArray[np.float64], by: Middle) -> np.float64:
    match by:
        case "median":
            return np.float64(np.median(seconds))
        case "mean":
            return np.float64(np.mean(seconds))
        case _:
            assert_never(by)


def _interval(
    seconds: NDArray[np.float64],
    who: NDArray[np.generic],
    by: Middle,
    *,
    rng: np.random.Generator,
    draws: int,
) -> tuple[float, float]:
    _, code = np.unique(who, return_inverse=True)
    order = np.argsort(code, kind="stable")
    of_person = np.split(seconds[order], np.cumsum(np.bincount(code))[:-1])
    drawn = [
        _middle(np.concatenate([of_person[person] for person in picked]), by)
        for picked in rng.integers(len(of_person), size=(draws, len(of_person)))
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)
