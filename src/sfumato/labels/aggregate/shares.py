"""From judgments to plain shares: averages, vote shares and the majority."""

from collections.abc import Callable
from functools import partial
from typing import Literal, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence, sum_by
from sfumato.labels.aggregate.intervals import bootstrap, shares_posterior
from sfumato.labels.aggregate.result import Fit

Ties = Literal["share", "common", "random", "first"]
"""What happens when several classes have most votes: they *share* the probability equally; it
goes to the one that is more *common* over all items (those equally common share it); to one at
*random*; or to the *first* by name, as crowd-kit gives weighted votes."""


SAME = 1e-9
"""Shares that differ by less differ by rounding."""


def normalise_rows(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row divided by its sum."""
    return table / table.sum(axis=1, keepdims=True)


def mean(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """The average of each item's judgments, P = (1/M) Σ p_m (S2-21)."""

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(evidence.table(weight))

    return Fit(refit(evidence.each_person_once()), bootstrap(refit, evidence.people))


def vote_shares(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """Votes for each class over all votes, count_c / Σ counts (S0-06)."""
    counts = evidence.table(evidence.each_person_once())
    return Fit(normalise_rows(counts), shares_posterior(counts))


def majority(evidence: Evidence, *, rng: np.random.Generator, ties: str) -> Fit:
    """The class with most votes; quality is the share of a person's votes that is with it."""
    pick = winners_by(evidence, ties, rng)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return pick(evidence.table(weight))

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=agreement_with(probs, evidence))


def median(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """The middle point of the votes; two points share it where the votes divide in halves."""
    if evidence.values is None:
        raise DataError(
            "A median needs the points of a scale, and nobody says in which order these classes "
            "stand. Read the answers as a rating."
        )
    order = np.argsort(evidence.values)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        share = normalise_rows(evidence.table(weight))[:, order]
        upto = np.cumsum(share, axis=1)
        middle = (share > 0) & (upto >= 0.5 - SAME) & (upto - share <= 0.5 + SAME)
        probs = np.zeros_like(share)
        probs[:, order] = normalise_rows(middle.astype(np.float64))
        return probs

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=agreement_with(probs, evidence))


def surprisingly_popular(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """The class that is chosen more often than people predict, by the largest difference.

    Prelec, Seung and McCoy (2017). ``predictions`` are what people expect others to say.
    """
    if evidence.predictions is None:
        raise DataError(
            "'surprisingly-popular' needs what people expect others to say: ask for it "
            "(own-and-others), or give the shares that are expected as predictions."
        )
    expected = evidence.predictions

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        surprise = normalise_rows(evidence.table(weight)) - expected
        best = surprise >= surprise.max(axis=1, keepdims=True) - SAME
        return normalise_rows(best.astype(np.float64))

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=agreement_with(probs, evidence))


def winners_by(
    evidence: Evidence, ties: str, rng: np.random.Generator
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """From votes for each item and class to the class with most, by a rule for ties."""
    rule = _tie_rule(ties)
    shape = len(evidence.items), len(evidence.classes)
    luck = rng.random(shape) if rule == "random" else np.empty(0)
    return partial(_winners, ties=rule, luck=luck)


def winners(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The class with most in each row; several share it."""
    return normalise_rows((table == table.max(axis=1, keepdims=True)).astype(np.float64))


def share_agreed(counts: NDArray[np.float64], probs: NDArray[np.float64]) -> float:
    """The share of all votes that is with ``probs``."""
    return float((counts * probs).sum() / counts.sum())


def agreement_with(probs: NDArray[np.float64], evidence: Evidence) -> NDArray[np.float64]:
    """For each annotator, the mean probability that ``probs`` give to what they said."""
    each = evidence.times_mass(probs.ravel()[evidence.cell])
    right = sum_by(evidence.person, each, evidence.people)
    given = sum_by(evidence.person, evidence.mass, evidence.people)
    return (right / given)[: len(evidence.annotators)]


def _tie_rule(ties: str) -> Ties:
    for rule in get_args(Ties):
        if ties == rule:
            return rule
    raise DataError(
        f"'ties' is {ties!r}; it must be one of {', '.join(map(repr, get_args(Ties)))}."
    )


def _winners(
    counts: NDArray[np.float64], ties: Ties, luck: NDArray[np.float64]
) -> NDArray[np.float64]:
    best = counts == counts.max(axis=1, keepdims=True)  # (items, classes)
    match ties:
        case "share":
            pass
        case "common":
            best = best_among(best, np.broadcast_to(counts.sum(axis=0), counts.shape))
        case "random":
            best = best_among(best, luck)
        case "first":
            best = best_among(best, np.broadcast_to(-np.arange(counts.shape[1]), counts.shape))
        case _:
            assert_never(ties)
    return normalise_rows(best.astype(np.float64))


def best_among(open_to: NDArray[np.bool_], score: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Of the classes still open in each row, those with the highest score."""
    held = np.where(open_to, score, -np.inf)
    return open_to & (held == held.max(axis=1, keepdims=True))
