"""Turn answers into the measures that quality is judged by: accuracy, repeats, times.

A measure describes; it drops nobody. The rules that do are in ``rules``.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.statements import Statements, top_choice

__all__ = [
    "Accuracy",
    "Repeats",
    "Times",
    "accuracy",
    "choices",
    "contains_gold",
    "copies",
    "repeats",
    "times",
]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How often answers agree with the class known to be right."""

    answers: int
    """Answers about items whose right class is known."""
    top1: float
    """Share of them whose top choice is right; NaN where there are none."""
    top2: float
    """Share of them with the right class among the top two choices."""
    people: pl.DataFrame
    """``annotator``, ``answers``, ``top1``, ``top2``; one row a person."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """How people answered when they saw the same item again."""

    pairs: pl.DataFrame
    """One row a repeat: ``annotator``, ``item``, ``first_row``, ``repeat_row`` (rows of the
    judgments), the top choices ``first`` and ``again``, ``changed`` (null where an answer has no
    single top choice) and ``points``, the change of the probability stated for an unchanged top
    choice in percentage points (null where none was stated)."""
    unpaired: int
    """Repeats without a first view by the same person."""
    changed: float
    """Share of pairs with another top choice; NaN where there are none."""
    points: float
    """Mean absolute change of the stated probability where the top choice stayed."""


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds an answer took, over all and by person, item and place in the session."""

    answers: int
    """Answers whose time is known."""
    median: float
    mean: float
    people: pl.DataFrame
    """``annotator``, ``answers``, ``median``, ``mean``."""
    items: pl.DataFrame
    """``item``, ``answers``, ``median``, ``mean``."""
    places: pl.DataFrame
    """``order`` (place in the session, from 1), ``answers``, ``median``, ``mean``."""


def accuracy(judgments: Judgments) -> Accuracy:
    """Share of answers whose top choice, and whose top two choices, contain the gold class.

    Every answer with a gold class counts, of whatever view: select first. A description and never
    a reason to drop somebody (S3-06): on items that people really see differently, accuracy
    calls the minority wrong.

    >>> from sfumato.judgments.question import ask
    >>> table = pl.DataFrame({
    ...     "item": ["1", "2"], "annotator": ["ann", "ann"], "gold": ["cat", "cat"],
    ...     "answer": ['["cat", "dog"]', '["dog", "cat"]'],
    ... })
    >>> seen = accuracy(Judgments(ask("ranking", ["cat", "dog", "deer"]), table))
    >>> seen.answers, seen.top1, seen.top2
    (2, 0.5, 1.0)
    """
    known = judgments.table.select(
        "annotator",
        contains_gold(judgments, among=1).alias("top1"),
        contains_gold(judgments, among=2).alias("top2"),
    ).drop_nulls("top1")
    people = (
        known.drop_nulls("annotator")
        .group_by("annotator")
        .agg(pl.len().alias("answers"), pl.col("top1", "top2").mean())
        .sort("annotator")
    )
    return Accuracy(len(known), _mean(known["top1"]), _mean(known["top2"]), people)


def repeats(judgments: Judgments) -> Repeats:
    """Every repeat beside the first view of the same person and item (S2-14).

    Of several first views the earliest row stands. On the raw CIFAR-10S export this gives 498
    pairs, 7.03 % changed and 6.10 points, which count a session twice that is in the file twice;
    without ``copies`` it is 496 pairs.
    """
    table = judgments.table.select("annotator", "item", "view").with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), pl.Series("choice", choices(judgments))
    )
    named = table.drop_nulls("annotator")
    again = named.filter(pl.col("view") == "repeat").drop("view")
    first = named.filter(pl.col("view") == "first").drop("view")
    first = first.unique(["annotator", "item"], keep="first", maintain_order=True)
    pairs = again.join(
        first, on=["annotator", "item"], suffix="_first", maintain_order="left"
    ).rename({"row_first": "first_row", "row": "repeat_row"})
    pairs = _compare(judgments, pairs)
    unpaired = int((table["view"] == "repeat").sum()) - len(pairs)
    return Repeats(pairs, unpaired, _mean(pairs["changed"]), _mean(pairs["points"]))


def times(judgments: Judgments) -> Times:
    """Seconds per answer: median and mean, over all and by person, item and place.

    >>> from sfumato.judgments.question import ask
    >>> table = pl.DataFrame({
    ...     "item": ["1", "2", "1"], "annotator": ["ann", "ann", "bob"], "order": [1, 2, 1],
    ...     "answer": ['"cat"', '"dog"', '"cat"'], "seconds": [2.0, 4.0, 9.0],
    ... })
    >>> taken = times(Judgments(ask("choose-one", ["cat", "dog"]), table))
    >>> taken.median, taken.mean, taken.places["median"].to_list()
    (4.0, 5.0, [5.5, 4.0])
    """
    known = judgments.table.select("annotator", "item", "order", "seconds").drop_nulls("seconds")
    return Times(
        len(known),
        _number(known["seconds"].median()),
        _mean(known["seconds"]),
        people=_times_by(known, "annotator"),
        items=_times_by(known, "item"),
        places=_times_by(known, "order"),
    )


def choices(judgments: Judgments) -> NDArray[np.int64]:
    """The top choice of every judgment as the place of its class; -1: none, or several."""
    return top_choice(judgments.statements)[judgments.statements.index]


def contains_gold(judgments: Judgments, *, among: int) -> pl.Series:
    """Whether the gold class is certainly among the first ``among`` choices; null without gold.

    Classes named in an order decide, otherwise the stated mass. Of classes that share a place none
    comes first, so that ``among=1`` says whether ``top_choice`` is right.
    """
    gold = _gold(judgments)  # (judgments,) -1: not known
    known = np.flatnonzero(gold >= 0)
    stated, n_classes = judgments.statements, len(judgments.question.classes)
    # People repeat themselves: look at each pair of an answer and a gold class once.
    pairs, which = np.unique(stated.index[known] * n_classes + gold[known], return_inverse=True)
    answer, right = pairs // n_classes, pairs % n_classes
    worth = _worth(stated, answer)  # (pairs, classes)
    of_gold = worth[np.arange(len(pairs)), right]  # (pairs,)
    as_good = (worth >= of_gold[:, None]).sum(axis=1)
    found = np.isfinite(of_gold) & (as_good <= among)
    rows = pl.Series("row", known, dtype=pl.Int64)
    return pl.repeat(None, len(judgments), dtype=pl.Boolean, eager=True).scatter(
        rows, pl.Series(found[which])
    )


def copies(judgments: Judgments) -> NDArray[np.bool_]:
    """Rows that stand in the file a second time: same person, item, view, answer and time.

    Rows with another gold class or another end of the session are none: which of them counts would
    depend on the order of the file. A time to the millisecond does not repeat by chance; where no
    time is recorded, two equal rows may be two equal answers and are not called copies.
    """
    table = judgments.table.select(
        "annotator", "seconds", "item", "view", "answer", "at", "gold", "completed"
    )
    known = pl.col("annotator").is_not_null() & pl.col("seconds").is_not_null()
    again = np.zeros(len(table), dtype=bool)
    # Few rows share person and time: compare only those in full.
    suspects = table.with_row_index("row").filter(
        known & pl.struct("annotator", "seconds").is_duplicated()
    )
    repeated = suspects.filter(~pl.struct(table.columns).is_first_distinct())
    again[repeated["row"].to_numpy()] = True
    return again


def _compare(judgments: Judgments, pairs: pl.DataFrame) -> pl.DataFrame:
    """Name the choices of each pair and say what changed."""
    clear = (pl.col("choice") >= 0) & (pl.col("choice_first") >= 0)
    pairs = pairs.with_columns(
        pl.when(clear).then(pl.col("choice") != pl.col("choice_first")).alias("changed")
    )
    points = 100 * np.abs(
        _stated_mass(judgments, pairs, "repeat_row", "choice")
        - _stated_mass(judgments, pairs, "first_row", "choice_first")
    )
    stayed = ~pl.col("changed")
    names = dict(enumerate(judgments.question.classes))
    return pairs.select(
        "annotator",
        "item",
        "first_row",
        "repeat_row",
        pl.col("choice_first").replace_strict(names, default=None).alias("first"),
        pl.col("choice").replace_strict(names, default=None).alias("again"),
        "changed",
        pl.when(stayed).then(pl.Series(points).fill_nan(None)).alias("points"),
    )


def _stated_mass(
    judgments: Judgments, pairs: pl.DataFrame, row: str, choice: str
) -> NDArray[np.float64]:
    stated = judgments.statements
    answer = stated.index[pairs[row].to_numpy()]
    return stated.mass[answer, pairs[choice].to_numpy()]


def _gold(judgments: Judgments) -> NDArray[np.int64]:
    """The place of each judgment's gold class; -1 where none is known."""
    classes = judgments.question.classes
    names = judgments.table["gold"]
    wrong = names.is_not_null() & ~names.is_in(list(classes))
    if wrong.any():
        item, name = judgments.table.filter(wrong).select("item", "gold").row(0)
        raise DataError(
            f"The gold class {name!r} of item {item!r} is not a class of the question. "
            f"Known: {', '.join(classes)}. Correct the column 'gold'."
        )
    places = {name: place for place, name in enumerate(classes)}
    return names.replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()


def _worth(stated: Statements, answer: NDArray[np.int64]) -> NDArray[np.float64]:
    """How high each answer puts each class, for comparison only; -inf: not mentioned."""
    rank, mass = stated.rank[answer], stated.mass[answer]  # (answers, classes)
    by_rank = np.where(rank > 0, -rank, -np.inf)
    by_mass = np.where(mass > 0, mass, -np.inf)  # NaN > 0 is false
    return np.where((rank > 0).any(axis=1, keepdims=True), by_rank, by_mass)


def _times_by(known: pl.DataFrame, key: str) -> pl.DataFrame:
    seconds = pl.col("seconds")
    return (
        known.drop_nulls(key)
        .group_by(key)
        .agg(
            pl.len().alias("answers"),
            seconds.median().alias("median"),
            seconds.mean().alias("mean"),
        )
        .sort(key)
    )


def _mean(values: pl.Series) -> float:
    return _number(values.mean())


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
