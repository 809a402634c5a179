"""From votes to shares in which people weigh as much as they agree with the majority.

*Wawa* (worker agreement with aggregate) judges people once against the plain majority, or where
some true labels are known against those. *Zero-based skill* repeats it, each time against the
majority of the weighted votes, with smaller steps as it goes on. Both are crowd-kit's methods; its
numbers come out with ``ties="first"``.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence, sum_by
from sfumato.labels.aggregate.intervals import bootstrap
from sfumato.labels.aggregate.result import Fit
from sfumato.labels.aggregate.shares import agreement_with, normalise_rows, winners_by

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
