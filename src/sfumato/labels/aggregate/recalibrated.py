"""From stated distributions to a pool in which everybody's probabilities are recalibrated.

Some say 100 % where others would not, some say 60 % of what everybody sees. A person's statement p
is read as (1 - λ) p^t / Σ p^t + λ b: a power t sharpens or flattens it, and a part λ of it is not
believed but replaced by b, what others say who were asked about items that somebody stated so. How
probable each (t, λ) is for a person follows from how well their statements, read so, predict the
statements of others about the same items; the prior is everybody's, and both are integrated over a
grid, not maximised (S2-85, S2-87). Of "unsure" half as probable as "yes" the power is the person's
own threshold (S4-58, S4-59). No truth and no clicks are needed.

Several statements add up like answers: with the odds (1 - λ)/λ as their weights beside one b. A
mean of statements that are each read with caution would be too cautious.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Codes, Evidence, sum_by
from sfumato.labels.aggregate.result import Fit, bootstrap
from sfumato.labels.aggregate.shares import normalise_rows

Floats = NDArray[np.float64]

POWERS = np.array([0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
LAPSES = np.array([0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.999])
SLIP = 1e-3
"""The share of every reading that is spread over all classes, so that none is impossible."""

PRIOR = 2.0
"""How many statements like everybody's each row of the table of others begins with."""

ROUNDS = 200
MOST_NUMBERS = 100_000_000


def recalibrated(evidence: Evidence, *, rng: np.random.Generator) -> Fit:
    """The pool of recalibrated statements; quality is how much of a statement is believed."""
    if len(evidence.item) * len(evidence.classes) > MOST_NUMBERS:
        raise DataError(
            f"'recalibrated' would hold {len(evidence.item):,} statements of "
            f"{len(evidence.classes):,} numbers; use 'skill-weighted-pool'."
        )
    stated = StatementRows.of(evidence)

    def refit(weight: Floats) -> Floats:
        weight = weight * evidence.weight
        return recalibrate(stated, weight).pool(stated, weight)

    fitted = recalibrate(stated, evidence.weight)
    return Fit(
        fitted.pool(stated, evidence.weight),
        bootstrap(refit, evidence.people),
        quality=1 - fitted.lapse[: len(evidence.annotators)],
        fitted={"power": fitted.power, "believed": float(1 - fitted.lapse.mean())},
        remarks=()
        if stated.shared
        else ("Nobody answered about the same item as somebody else: nothing is recalibrated.",),
    )


@dataclass(frozen=True, eq=False)
class StatementRows:
    """One row per statement."""

    probs: Floats  # (statements, classes)
    item: Codes
    person: Codes
    items: int
    people: int

    @classmethod
    def of(cls, evidence: Evidence) -> "StatementRows":
        """Several statements of a person about an item become their mean."""
        key = evidence.item.astype(np.int64) * evidence.people + evidence.person
        pairs, row = np.unique(key, return_inverse=True)
        probs = np.zeros((len(pairs), len(evidence.classes)))
        np.add.at(probs, (row, evidence.label), evidence.mass)
        item, person = np.divmod(pairs, evidence.people)
        return cls(normalise_rows(probs), item, person, len(evidence.items), evidence.people)

    def take(self, rows: NDArray[np.bool_]) -> "StatementRows":
        """Some of the statements, about the same items and by the same people."""
        return replace(self, probs=self.probs[rows], item=self.item[rows], person=self.person[rows])

    @property
    def shared(self) -> bool:
        """Whether two people answered about any item."""
        return bool(np.bincount(self.item).max() > 1)

    def sums(self, values: Floats) -> Floats:
        """Sums of rows by item, (items, classes)."""
        return np.stack([sum_by(self.item, column, self.items) for column in values.T], axis=1)


@dataclass(frozen=True, eq=False)
class Recalibration:
    """How statements are read: the table of others, and what each person may be like."""

    table: Floats  # (classes, classes): what others say if somebody states this class
    people: Floats  # (people, powers, lapses)

    @property
    def lapse(self) -> Floats:
        """How much of a person's statements is not believed, (people,)."""
        return np.asarray(np.einsum("ptl,l->p", self.people, LAPSES))

    @property
    def power(self) -> float:
        """The mean power over people."""
        return float(np.einsum("ptl,t->", self.people, POWERS) / len(self.people))

    def read(self, stated: StatementRows) -> tuple[Floats, Floats]:
        """Each statement as read, weighed by its odds, and what others would say instead."""
        believed = (self.people * (1 - LAPSES)).sum(axis=2)[stated.person]  # (statements, powers)
        own = sum(
            believed[:, [place]] * normalise_rows(stated.probs**power)
            for place, power in enumerate(POWERS)
        )
        return own / self.lapse[stated.person][:, None], stated.probs @ self.table

    def pool(self, stated: StatementRows, weight: Floats) -> Floats:
        """The labels of all items."""
        return pool_statements(stated, *self.read(stated), weight)


def pool_statements(stated: StatementRows, own: Floats, others: Floats, weight: Floats) -> Floats:
    """Statements as they were read, joined by item: odds add up, beside one mean of the others."""
    mass = weight[stated.person][:, None]
    instead = stated.sums(others * mass) / stated.sums(mass)
    return normalise_rows(stated.sums(own * mass) + instead)


def recalibrate(stated: StatementRows, weight: Floats) -> Recalibration:
    """Fit the table of others and everybody's powers and lapses to statements alone."""
    classes = stated.probs.shape[1]
    mass = weight[stated.person][:, None]
    total, many = stated.sums(stated.probs * mass), stated.sums(mass)
    rest = many[stated.item] - mass
    alone = rest <= 1e-9
    others = np.where(alone, 0.0, total[stated.item] - stated.probs * mass)
    others = np.maximum(others, 0.0) / np.where(alone, 1.0, rest)
    if not stated.shared:
        people = np.zeros((stated.people, len(POWERS), len(LAPSES)))
        people[:, POWERS == 1.0, 0] = 1.0
        return Recalibration(np.eye(classes), people)
    overall = total.sum(axis=0) / total.sum()
    table = (stated.probs * mass).T @ others + PRIOR * overall
    table /= table.sum(axis=1, keepdims=True)
    likely = _likelihoods(stated, others * mass, stated.probs @ table)
    prior = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(ROUNDS):
        people = softmax(likely + np.log(prior), axis=1)
        better = weight @ people + 1 / len(prior)
        prior = better / better.sum()
    return Recalibration(table, people.reshape(-1, len(POWERS), len(LAPSES)))


def _likelihoods(stated: StatementRows, others: Floats, instead: Floats) -> Floats:
    """What others said about the same items, if each person is so, (people, powers x lapses)."""
    spread = SLIP / others.shape[1]
    columns = []
    for power in POWERS:
        sharp = normalise_rows(stated.probs**power)
        for lapse in LAPSES:
            read = (1 - SLIP) * ((1 - lapse) * sharp + lapse * instead) + spread
            told = np.einsum("sk,sk->s", others, np.log(read))
            columns.append(sum_by(stated.person, told, stated.people))
    return np.stack(columns, axis=1)
