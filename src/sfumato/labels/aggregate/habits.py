"""From votes to what all of these people would say, each with habits of their own.

Items are of a few hidden types, such as "clearly a cat" or "cat or dog". Each person has an own
table of how they answer items of a type. The tables are drawn around a shared one, so somebody of
whom little is known answers like the others. Types and tables are integrated over (variational
Bayes), not maximised: a person with three answers has no certain habits.

With ``ordered`` classes a second model stands beside it. Items lie on a line, and each person has
thresholds of their own: where "no" ends and "maybe" begins, how wide "maybe" is, how sharply they
answer. Both item and person are integrated over a grid, and the two models are averaged.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import digamma, expit, logit, softmax

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Evidence
from sfumato.labels.aggregate.result import Fit, bootstrap
from sfumato.labels.aggregate.shares import normalise_rows
from sfumato.provenance import Setting

Floats = NDArray[np.float64]
Codes = NDArray[np.signedinteger[Any]]

BLENDS = (0.05, 0.3, 0.7)
"""How much of everybody's answers is in the types that the fit begins with, class by class."""

MOST_NUMBERS = 50_000_000
"""Of the tables of all people; more would take over 400 MB."""

PLACES = np.linspace(-6, 6, 25)
SHIFTS = np.linspace(-4, 4, 13)
WIDTHS = np.array([0.05, 0.2, 0.5, 1.0, 1.6, 2.4, 3.4, 5.0])
SLOPES = np.array([0.7, 1.2, 2.0, 3.5])
SLIP = 0.01
"""Where items may lie, and what persons may be like; how often anybody slips."""

REPLICATES = 200
MOST_CHECKED = 20_000
"""Answers that are made again to see whether the model fits."""


def habits(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    rounds: int,
    tolerance: float,
    strength: float,
    ordered: bool,
) -> Fit:
    """The mean of what each annotator would say; quality is how often one says what others do.

    ``strength`` is how many answers the shared table counts for in each person's own.
    """
    classes = len(evidence.classes)
    types = len(BLENDS) * classes + 1
    if evidence.people * types * classes > MOST_NUMBERS:
        raise DataError(
            f"'habits' would hold {types} tables of {classes} numbers for each of "
            f"{evidence.people:,} people; use 'dawid-skene-next', which holds them sparsely."
        )

    def refit(weight: Floats) -> Floats:
        return _fit(evidence, weight, rounds, tolerance, strength, ordered).labels()

    model = _fit(evidence, evidence.each_person_once(), rounds, tolerance, strength, ordered)
    named = len(evidence.annotators)
    return Fit(
        model.labels(),
        bootstrap(refit, evidence.people),
        quality=model.agreement()[:named],
        types=model.types,
        habits=model.tables[:named],
        converged=model.converged,
        fitted={"types": types, "fits": _check(evidence, model, rng)},
    )


@dataclass(frozen=True, eq=False)
class _Habits:
    """How probable each type is for each item, and how each person answers items of a type."""

    types: Floats  # (items, types)
    tables: Floats  # (people, types, classes)
    converged: bool

    def labels(self) -> Floats:
        return normalise_rows(self.types @ self.tables.mean(axis=0))

    def agreement(self) -> Floats:
        """How probable it is that a person and a random other say the same of a random item."""
        shared, common = self.tables.mean(axis=0), self.types.mean(axis=0)
        found: Floats = np.einsum("ptk,tk,t->p", self.tables, shared, common)
        return found


def _fit(
    evidence: Evidence,
    weight: Floats,
    rounds: int,
    tolerance: float,
    strength: float,
    ordered: bool,
) -> _Habits:
    said = _Said.of(evidence, weight)
    free = _fit_tables(said, evidence.table(weight), rounds, tolerance, strength)
    if not ordered or said.classes < 3:
        return free
    line = _fit_line(said, evidence.class_order, rounds, tolerance)
    return _Habits(
        np.concatenate([free.types, line.types], axis=1) / 2,
        np.concatenate([free.tables, line.tables], axis=1),
        free.converged and line.converged,
    )


@dataclass(frozen=True, eq=False)
class _Said:
    """Who said what of which item, as a sparse table that sums both ways."""

    by_person: csr_array  # (people x classes, items)
    by_item: csr_array  # (items, people x classes)
    people: int
    classes: int

    @classmethod
    def of(cls, evidence: Evidence, weight: Floats) -> "_Said":
        people, classes = evidence.people, len(evidence.classes)
        row = evidence.person * classes + evidence.label
        mass = weight[evidence.person] * evidence.mass
        shape = people * classes, len(evidence.items)
        table = csr_array((mass, (row, evidence.item)), shape=shape)
        return cls(table, table.T.tocsr(), people, classes)

    def answers(self, types: Floats) -> Floats:
        """Expected answers of each person to each type, (people, classes, types)."""
        return (self.by_person @ types).reshape(self.people, self.classes, -1)

    def log_odds(self, logs: Floats) -> Floats:
        """What answers say of each item's type, (items, types)."""
        return np.asarray(self.by_item @ logs.reshape(self.people * self.classes, -1))


# Types and tables.


def _fit_tables(
    said: _Said, counts: Floats, rounds: int, tolerance: float, strength: float
) -> _Habits:
    overall = (counts.sum(axis=0) + 1) / (counts.sum() + said.classes)
    types = _first_types(counts, overall)
    converged, done = False, 0
    while not converged and done < rounds:
        answers = said.answers(types)
        common = answers.sum(axis=0)
        shared = (common + overall[:, None]) / (common.sum(axis=0) + 1)
        own = answers + strength * shared  # Dirichlet parameters, (people, classes, types)
        logs = digamma(own) - digamma(own.sum(axis=1, keepdims=True))
        size = types.sum(axis=0) + 1 / types.shape[1]
        joint = said.log_odds(logs) + digamma(size) - digamma(size.sum())
        better = softmax(joint, axis=1)
        converged = float(np.abs(better - types).max()) < tolerance
        types, done = better, done + 1
    tables = (own / own.sum(axis=1, keepdims=True)).transpose(0, 2, 1)
    return _Habits(types, tables, converged)


def _first_types(counts: Floats, overall: Floats) -> Floats:
    """Each class in several degrees of clearness, and everybody's answers."""
    corners = np.eye(len(overall))
    means = [(1 - blend) * corners + blend * overall for blend in BLENDS]
    return softmax(counts @ np.log(np.concatenate([*means, overall[None]])).T, axis=1)


# A line with thresholds.


def _fit_line(said: _Said, order: Codes, rounds: int, tolerance: float) -> _Habits:
    answers = np.asarray(said.by_person.sum(axis=1)).reshape(said.people, said.classes)
    tables = _line_tables(answers.sum(axis=0)[order])  # (kinds, places, classes in their order)
    tables = tables[:, :, np.argsort(order)]
    logs = np.log(tables)
    kinds = np.full((said.people, len(tables)), 1 / len(tables))
    common = softmax(-(PLACES**2) / 18)
    usual = np.full(len(tables), 1 / len(tables))
    converged, done = False, 0
    while not converged and done < rounds:
        expected = np.einsum("pg,gmk->pkm", kinds, logs, optimize=True)
        places = softmax(said.log_odds(expected) + np.log(common), axis=1)
        common = normalise_rows((places.sum(axis=0) + 0.5 / len(PLACES))[None])[0]
        told = np.einsum("pkm,gmk->pg", said.answers(places), logs, optimize=True)
        better = softmax(told + np.log(usual), axis=1)
        usual = normalise_rows((better.sum(axis=0) + 5 / len(usual))[None])[0]
        converged = float(np.abs(better - kinds).max()) < tolerance
        kinds, done = better, done + 1
    own = np.einsum("pg,gmk->pmk", kinds, tables, optimize=True)
    return _Habits(places, own, converged)


def _line_tables(counts: Floats) -> Floats:
    """How each kind of person answers at each place, (kinds, places, classes)."""
    below = np.cumsum(counts + 1)[:-1] / (counts.sum() + len(counts))
    base = logit(below)  # thresholds of everybody
    spread = (base - base[0]) / (base[-1] - base[0]) if len(base) > 1 else np.zeros(1)
    kinds = np.stack(np.meshgrid(SHIFTS, WIDTHS, SLOPES, indexing="ij"), axis=-1).reshape(-1, 3)
    shift, width, slope = kinds.T[:, :, None, None]
    ends = shift + width * spread  # (kinds, 1, thresholds)
    under = expit((ends - PLACES[:, None]) * slope)
    edges = np.concatenate(
        [np.zeros((*under.shape[:2], 1)), under, np.ones((*under.shape[:2], 1))], -1
    )
    return (1 - SLIP) * np.diff(edges, axis=-1) + SLIP / len(counts)


# Does it fit?


def _check(evidence: Evidence, model: _Habits, rng: np.random.Generator) -> dict[str, Setting]:
    """How often answers made by the model are as unlike each other as the real ones.

    Two posterior predictive p-values: of how often two answers to an item agree, and of how far
    people differ in how often they say each class. Near 0 or 1 the model does not fit.
    """
    rows = np.sort(rng.permutation(len(evidence.item))[:MOST_CHECKED])
    item, person, label = evidence.item[rows], evidence.person[rows], evidence.label[rows]
    classes = len(evidence.classes)
    sides = np.cumsum(model.types, axis=1)
    real = _statistics(item, person, label, classes)
    above = np.zeros(2)
    for _ in range(REPLICATES):
        drawn = (rng.random((len(sides), 1)) > sides[:, :-1]).sum(axis=1)
        probs = np.cumsum(model.tables[person, drawn[item]], axis=1)
        made = (rng.random((len(item), 1)) > probs[:, :-1]).sum(axis=1)
        above += _statistics(item, person, made, classes) >= real
    agreement, people = ((above + 0.5) / (REPLICATES + 1)).tolist()
    return {"agreement": agreement, "differences_between_people": people}


def _statistics(item: Codes, person: Codes, label: Codes, classes: int) -> Floats:
    alike = np.zeros(2)
    for place, group in enumerate((item, person)):
        table = np.zeros((group.max() + 1, classes))
        np.add.at(table, (group, label), 1)
        size = table.sum(axis=1)
        pairs = (size * (size - 1)).sum()
        alike[place] = (table * (table - 1)).sum() / max(pairs, 1)
    return alike
