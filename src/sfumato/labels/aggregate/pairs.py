"""From comparisons of two items, and which of them won, to one score per item (Bradley–Terry).

The model (Bradley and Terry 1952): item i wins against j with probability p_i / (p_i + p_j). The
scores that make the comparisons most probable are found by minorisation–maximisation (Hunter 2004),
which never lowers the likelihood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sfumato.errors import DataError
from sfumato.judgments.comparisons import TIE, Comparisons
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Question
from sfumato.labels.aggregate.evidence import Codes, sum_by


@dataclass(frozen=True, eq=False)
class PairScores:
    """One score per item; all are above or at zero and sum to one."""

    scores: Mapping[str, float]
    trace: tuple[float, ...]
    """Log-likelihood before each iteration."""
    converged: bool
    remarks: tuple[str, ...] = ()
    """Sentences with numbers where the scores are likely to mislead."""

    def chance(self, first: str, second: str) -> float:
        """The probability that the first item wins against the second."""
        for item in (first, second):
            if item not in self.scores:
                raise DataError(f"No item is called {item!r}.")
        both = self.scores[first] + self.scores[second]
        return self.scores[first] / both if both else 0.5


def bradley_terry(
    first: Sequence[object],
    second: Sequence[object],
    winner: Sequence[object],
    *,
    weights: Sequence[float] | None = None,
    prior: float = 0.0,
    iterations: int = 1000,
    tolerance: float = 1e-9,
) -> PairScores:
    """Scores from columns, one row per comparison; ``winner`` is one of the two items.

    ``weights`` count a row as so many comparisons. With ``prior`` above 0 each item also meets an
    imaginary one of average strength and wins and loses so often: where some items only ever won,
    scores have no maximum without it. Stops when an iteration gains less than ``tolerance``
    log-likelihood a comparison; a negative tolerance never stops early.

    >>> found = bradley_terry(["a", "a", "a"], ["b", "b", "b"], ["a", "a", "b"])
    >>> {item: round(score, 3) for item, score in found.scores.items()}
    {'a': 0.667, 'b': 0.333}
    """
    games = _Games.of(first, second, winner, weights, prior)
    scores = np.full(len(games.items), 1 / len(games.items))
    enough = tolerance * float(games.weight.sum())
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        trace.append(games.log_likelihood(scores))
        converged = len(trace) > 1 and trace[-1] - trace[-2] < enough
        scores = games.better(scores)
    named = dict(zip(games.items, (scores / scores.sum()).tolist(), strict=True))
    return PairScores(named, tuple(trace), converged, games.remarks())


def score_preferences(comparisons: Comparisons, **options: Any) -> PairScores:
    """Bradley–Terry scores of everything that was compared; a tie is half a win for each side.

    ``options`` are those of ``bradley_terry``.

    >>> from sfumato.judgments.comparisons import COMPARISON_QUESTIONS
    >>> table = pl.DataFrame({"first": ["a", "a"], "second": ["b", "b"], "preferred": ["tie"] * 2})
    >>> found = score_preferences(Comparisons(COMPARISON_QUESTIONS["preference"], table))
    >>> found.scores
    {'a': 0.5, 'b': 0.5}
    """
    table = _preferences(comparisons)
    tied = table.filter(preferred=TIE)
    sides = [
        table.filter(preferred=side).with_columns(winner=pl.col(side), weight=pl.lit(1.0))
        for side in ("first", "second")
    ]
    halves = [
        tied.with_columns(winner=pl.col(side), weight=pl.lit(0.5)) for side in ("first", "second")
    ]
    games = pl.concat([*sides, *halves])
    columns = (games[name].to_list() for name in ("first", "second", "winner"))
    return bradley_terry(*columns, weights=games["weight"].to_list(), **options)


def preference_judgments(comparisons: Comparisons) -> Judgments:
    """Preferences as choices about pairs: first, second or tie of items called "a | b".

    Both orders of two items are one pair, whose sides stand in the order of their names.

    >>> from sfumato.judgments.comparisons import COMPARISON_QUESTIONS
    >>> table = pl.DataFrame({"first": ["b"], "second": ["a"], "preferred": ["first"]})
    >>> found = preference_judgments(Comparisons(COMPARISON_QUESTIONS["preference"], table))
    >>> found.table.select("item", "answer").row(0)
    ('a | b', '"second"')
    """
    table = _preferences(comparisons)
    turned = pl.col("first") > pl.col("second")
    other = pl.col("preferred").replace({"first": "second", "second": "first"})
    said = pl.when(turned).then(other).otherwise("preferred")
    pair = pl.concat_str(
        pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second"), separator=" | "
    )
    kept = ("annotator", "seconds", "order", "view", "note")
    question = Question("choose-one", comparisons.question.sides, comparisons.question.wording)
    rows = table.select(*kept, item=pair, answer=pl.format('"{}"', said))
    return Judgments(
        question, rows, comparisons.rejected, comparisons.remarks, comparisons.provenance
    )


def _preferences(comparisons: Comparisons) -> pl.DataFrame:
    if comparisons.kind != "preference":
        raise DataError(
            f"These are {comparisons.kind}; preferences say which of two items is better."
        )
    return comparisons.table


@dataclass(frozen=True, eq=False)
class _Games:
    items: tuple[str, ...]
    won: Codes
    lost: Codes
    weight: NDArray[np.float64]  # (comparisons,)
    prior: float

    @classmethod
    def of(
        cls,
        first: Sequence[object],
        second: Sequence[object],
        winner: Sequence[object],
        weights: Sequence[float] | None,
        prior: float,
    ) -> "_Games":
        rows = [tuple(map(str, row)) for row in zip(first, second, winner, strict=True)]
        if not rows:
            raise DataError("There are no comparisons to fit scores to.")
        for place, (one, other, best) in enumerate(rows, start=1):
            if one == other or best not in (one, other):
                raise DataError(
                    f"Comparison {place} is of {one!r} and {other!r} and won by {best!r}; it must "
                    "be of two items and won by one of them."
                )
        weight = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        if weight.shape != (len(rows),) or not (np.isfinite(weight) & (weight > 0)).all():
            raise DataError("Each comparison needs one weight, a number above zero.")
        if not (np.isfinite(prior) and prior >= 0):
            raise DataError(f"'prior' is {prior}; it must be a number from 0 up.")
        items = tuple(sorted({item for row in rows for item in row[:2]}))
        place_of = {item: place for place, item in enumerate(items)}
        won = np.array([place_of[best] for _, _, best in rows])
        lost = np.array([place_of[b if best == a else a] for a, b, best in rows])
        return cls(items, won, lost, weight, prior)

    def log_likelihood(self, scores: NDArray[np.float64]) -> float:
        """Σ log p_won / (p_won + p_lost), and the imaginary comparisons."""
        logs = np.log(np.maximum(scores, np.finfo(float).tiny))
        margin = logs[self.won] - logs[self.lost]
        value = -float(self.weight @ np.logaddexp(0, -margin))
        if self.prior:  # the imaginary item's score is 1 / items
            margin = logs + np.log(len(scores))
            value -= self.prior * float((np.logaddexp(0, -margin) + np.logaddexp(0, margin)).sum())
        return value

    def better(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hunter's step: wins over Σ comparisons / (own score + the other's)."""
        size = len(scores)
        met = self.weight / (scores[self.won] + scores[self.lost])
        wins = sum_by(self.won, self.weight, size) + self.prior
        share = sum_by(self.won, met, size) + sum_by(self.lost, met, size)
        share += 2 * self.prior / (scores + 1 / size)
        better = wins / share
        return better if self.prior else better / better.sum()

    def remarks(self) -> tuple[str, ...]:
        """Whether a maximum exists: everybody must have lost to somebody, however indirectly."""
        size = len(self.items)
        beats = csr_array((self.weight, (self.won, self.lost)), shape=(size, size))
        groups, _ = connected_components(beats, directed=True, connection="strong")
        if groups == 1 or self.prior:
            return ()
        return (
            f"The comparisons leave {groups} groups of items between which all wins go one way: "
            "their scores have no finite ratio, and go on growing apart with every iteration. Give "
            "a prior, or ask for more comparisons.",
        )
