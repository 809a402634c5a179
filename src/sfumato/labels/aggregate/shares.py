"""From judgments to shares: averages, plain, pooled or weighted by skill, and the majority."""

from collections.abc import Callable
from functools import partial
from typing import Literal, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence, sum_by
from sfumato.labels.aggregate.result import Fit, bootstrap, shares_posterior

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


# From distributions and a weight for each annotator to one pooled distribution per item.


def linear_pool(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """Weighted average, P = Σ w_m p_m / Σ w_m; without given weights it is the mean."""

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(evidence.table(weight))

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=evidence.weight)


def log_pool(evidence: Evidence, *, rng: np.random.Generator, floor: float) -> Fit:
    """Weighted geometric mean, P ∝ Π max(p_m, floor)^(w_m / Σ w).

    Without the floor a single zero would veto a class. A class to which all of an
    item's judgments give zero stays at zero.
    """
    if not 0 < floor < 1:
        raise DataError(
            f"The floor of the logarithmic pool is {floor}; it must be between 0 and 1."
        )
    # log max(p, floor) = log floor + rise; the first part is the same for every class
    rise = np.log(np.maximum(evidence.mass, floor)) - np.log(floor)
    shape = len(evidence.items), len(evidence.classes)
    possible = evidence.table(evidence.each_person_once()) > 0

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        person = (evidence.weight * weight)[evidence.person]
        rises = sum_by(evidence.cell, person * rise, possible.size).reshape(shape)
        share = sum_by(evidence.item, person * evidence.mass, shape[0])[:, None]
        log_probs = np.where(possible, rises / share, -np.inf)
        return normalise_rows(np.exp(log_probs - log_probs.max(axis=1, keepdims=True)))

    probs = refit(evidence.each_person_once())
    return Fit(probs, bootstrap(refit, evidence.people), quality=evidence.weight)


def skill_weighted_pool(evidence: Evidence, *, rng: np.random.Generator, prior_pairs: float) -> Fit:
    """Linear pool in which a person weighs as much as they agree with the others.

    The weight is the mean probability that an answer of theirs equals the answer of another
    person about the same item, Σ p_m·p_j / (number of such pairs), with ``prior_pairs`` pairs of
    average agreement added, so that few answers neither silence a person nor make them an expert.
    """
    if not prior_pairs > 0:
        raise DataError(f"'prior_pairs' is {prior_pairs}; it must be above zero.")

    def skills(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        agreed, pairs = agreement_with_others(evidence, weight)
        overall = agreed.sum() / pairs.sum() if agreed.sum() else 1.0
        return (agreed + prior_pairs * overall) / (pairs + prior_pairs)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(evidence.table(skills(weight) * weight))

    once = evidence.each_person_once()
    return Fit(refit(once), bootstrap(refit, evidence.people), quality=skills(once))


def agreement_with_others(
    evidence: Evidence, weight: NDArray[np.float64], table: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each person, the agreement with others summed over pairs of answers, and the pairs.

    For votes an answer's agreement with the n - 1 others is (votes for it - 1) / (n - 1).
    ``table`` is the evidence's, where it is known.
    """
    table = evidence.table(weight) if table is None else table
    same = table.ravel()[evidence.cell]
    same -= evidence.votes(weight)
    agreed = sum_by(evidence.person, evidence.times_mass(same), evidence.people)
    anybody = table.sum(axis=1)[evidence.item]
    anybody -= (weight * evidence.weight)[evidence.person]
    pairs = sum_by(evidence.person, evidence.times_mass(anybody), evidence.people)
    return np.maximum(agreed, 0), np.maximum(pairs, 0)  # rounding must not make them negative


# From votes to shares in which people weigh as much as they agree with the majority.
#
# *Wawa* (worker agreement with aggregate) judges people once against the plain majority, or where
# some true labels are known against those. *Zero-based skill* repeats it, each time against the
# majority of the weighted votes, with smaller steps as it goes on. Both are crowd-kit's methods;
# its numbers come out with ``ties="first"``.


ABOVE_CHANCE = 1e-5
"""Zero-based skill starts so far above 1 / classes."""


def wawa(evidence: Evidence, *, rng: np.random.Generator, ties: str) -> Fit:
    """Shares of votes weighted by agreement with the majority, or with what is known to be true.

    Quality is that agreement. Known labels judge people and stay what people say of the items.
    """
    pick = winners_by(evidence, ties, rng)

    def skills(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        if evidence.gold is not None:
            return _accuracy(evidence)
        return agreement_with(pick(evidence.table(weight)), evidence)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return _weighted_shares(evidence, skills(weight), weight)

    once = evidence.each_person_once()
    return Fit(refit(once), bootstrap(refit, evidence.people), quality=skills(once))


def zero_based_skill(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    rounds: int,
    rate: float,
    rate_rounds: int,
    rate_factor: float,
    ties: str,
) -> Fit:
    """Shares of votes weighted by skill; quality is that skill.

    In each of the ``rounds`` a skill moves by ``rate`` of its way to the agreement with the
    majority of the votes that it weighted; every ``rate_rounds`` rounds the rate is multiplied by
    ``rate_factor``.
    """
    pick = winners_by(evidence, ties, rng)

    def skills(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        skill = np.full(evidence.people, 1 / len(evidence.classes) + ABOVE_CHANCE)
        step = rate
        for turn in range(1, rounds + 1):
            if turn % rate_rounds == 0:
                step *= rate_factor
            most = pick(_weighted_shares(evidence, skill, weight))
            skill = skill + step * (agreement_with(most, evidence) - skill)
        return skill

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return _weighted_shares(evidence, skills(weight), weight)

    once = evidence.each_person_once()
    return Fit(refit(once), bootstrap(refit, evidence.people), quality=skills(once))


def _weighted_shares(
    evidence: Evidence, skill: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shares of the weighted votes; of the plain ones where nobody has any skill."""
    table = evidence.table(skill * weight)
    silent = ~(table.sum(axis=1) > 0)
    if silent.any():
        table[silent] = evidence.table(weight)[silent]
    return normalise_rows(table)


def _accuracy(evidence: Evidence) -> NDArray[np.float64]:
    """The share of each person's votes about items with a known label that is right."""
    assert evidence.gold is not None
    truth = np.full(len(evidence.items), -1)
    truth[evidence.gold[0]] = evidence.gold[1]
    counted = evidence.mass * (truth[evidence.item] >= 0)
    tried = sum_by(evidence.person, counted, evidence.people)
    if not tried.all():
        name = evidence.annotators[int(np.flatnonzero(tried == 0)[0])]
        raise DataError(
            f"{name!r} judged no item with a known label, and so cannot be weighted by it. Leave "
            "the known labels out, or use an aggregator that models people, such as 'dawid-skene'."
        )
    right = counted * (truth[evidence.item] == evidence.label)
    return sum_by(evidence.person, right, evidence.people) / tried
