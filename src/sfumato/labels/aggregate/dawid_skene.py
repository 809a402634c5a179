"""From judgments to one hidden label per item and a confusion matrix for each annotator.

The model (Dawid and Skene 1979): each item has one true label t, drawn from the class shares;
annotator w then says l with probability π_w[t, l]. Expectation–maximisation starts from the vote
shares. A judgment that is a distribution q counts as Π_l π_w[t, l]^q_l, which for a vote is
π_w[t, l] itself: reading distributions (S2-85) is the same computation on fractional entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from sfumato.errors import DataError
from sfumato.labels.aggregate.evidence import Codes, Evidence, sum_by
from sfumato.labels.aggregate.result import ConfusionOf, Fit, bootstrap, posterior_of
from sfumato.labels.aggregate.shares import agreement_with, normalise_rows, share_agreed, winners
from sfumato.provenance import Setting

# The two steps of Dawid–Skene over all answers: beliefs to confusions, confusions to beliefs.
#
# ``Answers`` holds every person's matrix in full, the fastest way for few classes.
# ``SparseAnswers`` holds a matrix only where a person gave a label and its item may be of a class.
# Both give the same numbers: an expected count of zero is read as ``FLOOR``, which all the places
# that are not stored have in common.


FLOOR = 1e-10
"""Least expected count of an answer that an annotator did give, and least share of a class."""

BLOCK = 2**20
"""So many numbers (items × classes) are worked on at a time where confusions are sparse."""


@dataclass(frozen=True, eq=False)
class InitialCounts:
    """Answers of earlier times, or probabilities, one entry for each person, label and truth."""

    person: Codes
    said: Codes
    true: Codes
    count: NDArray[np.float64]
    assign: bool
    """Whether they stand in for the counts of these answers, or are added to them."""


def initial_counts(
    evidence: Evidence, confusions: Mapping[str, Mapping[str, Mapping[str, float]]] | None, how: str
) -> InitialCounts | None:
    """From matrices by name, ``[annotator][true][said]``, to codes, checked."""
    if how not in ("add", "assign"):
        raise DataError(f"'initial' is {how!r}; it must be 'add' or 'assign'.")
    if confusions is None:
        return None
    people = {name: row for row, name in enumerate(evidence.annotators)}
    places = {name: row for row, name in enumerate(evidence.classes)}
    entries = [
        (name, said, true, count)
        for name, matrix in confusions.items()
        for true, row in matrix.items()
        for said, count in row.items()
    ]
    for name, said, true, count in entries:
        if name not in people:
            raise DataError(f"A confusion matrix is given for {name!r}, who judged nothing here.")
        for label in (true, said):
            if label not in places:
                raise DataError(
                    f"The confusions of {name!r} name {label!r}, which is no class here."
                )
        if not (np.isfinite(count) and count >= 0):
            raise DataError(
                f"The confusions of {name!r} hold {count}; they must be numbers from 0 up."
            )
    found = InitialCounts(
        np.array([people[name] for name, _, _, _ in entries], dtype=np.intp),
        np.array([places[said] for _, said, _, _ in entries], dtype=np.intp),
        np.array([places[true] for _, _, true, _ in entries], dtype=np.intp),
        np.array([count for _, _, _, count in entries], dtype=np.float64),
        how == "assign",
    )
    if found.assign:
        _check_complete(evidence, found)
    return found


def _check_complete(evidence: Evidence, initial: InitialCounts) -> None:
    classes = len(evidence.classes)
    place = initial.person * classes + initial.true
    sums = sum_by(place, initial.count, evidence.people * classes)
    if not (sums > 0).all():
        person, true = divmod(int(np.flatnonzero(sums <= 0)[0]), classes)
        raise DataError(
            f"The confusions of {evidence.annotators[person]!r} say nothing of the true label "
            f"{evidence.classes[true]!r}; to assign them, everybody's must be complete."
        )


@dataclass(frozen=True, eq=False)
class Answers:
    """All answers, shape (people * classes, items), the rows in the order of people.

    Both steps walk along these rows, so that the confusion matrices, by far the largest table,
    are read from front to back; only the posterior, which is small, is looked up at random.
    """

    matrix: csr_array
    given: NDArray[np.bool_]  # (people, classes): who ever gave which label
    votes: float

    @classmethod
    def of(cls, evidence: Evidence, weight: NDArray[np.float64]) -> "Answers":
        """From the evidence and a weight for each person."""
        shape = evidence.people, len(evidence.classes)
        place = (evidence.person * shape[1] + evidence.label).astype(np.int32)
        matrix = _by_item(evidence, weight, place, shape[0] * shape[1]).T.tocsr()
        given = (np.diff(matrix.indptr) > 0).reshape(shape)
        return cls(matrix, given, float(matrix.sum()))

    def beliefs(self, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        """The form in which beliefs are held here."""
        return posterior

    def in_full(self, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of ``beliefs``."""
        return posterior

    def maximise(
        self, posterior: NDArray[np.float64], initial: InitialCounts | None = None
    ) -> NDArray[np.float64]:
        """P(said | true) for each person, shape (people, said, true); 0 for answers never given."""
        people, classes = self.given.shape
        said = (self.matrix @ posterior).reshape(people, classes, classes)
        given = self.given
        if initial is not None:
            if initial.assign:
                said[:] = 0
            np.add.at(said, (initial.person, initial.said, initial.true), initial.count)
            given = given | (said.max(axis=2) > 0)
        np.maximum(said, FLOOR, out=said)
        said *= given[:, :, None]
        said /= np.einsum("wlt->wt", said)[:, None]  # a sum, faster than .sum over a middle axis
        return said

    def expect(
        self, said: NDArray[np.float64], log_shares: NDArray[np.float64], evidence: Evidence
    ) -> tuple[float, NDArray[np.float64]]:
        """Log-likelihood, and P(true | answers) for each item."""
        with np.errstate(divide="ignore"):  # answers never given are never looked up
            logs = np.log(said).reshape(-1, said.shape[2])
        log_joint = self.matrix.T @ logs
        log_joint += log_shares
        return posterior_of(evidence.rule_out(log_joint))

    def confusion_of(self, said: NDArray[np.float64]) -> ConfusionOf:
        """Each person's matrix, [true, said]."""
        return lambda person: said[person].T

    def counts_of(self, posterior: NDArray[np.float64]) -> ConfusionOf:
        """Each person's expected answers, [true, said]."""
        classes = self.given.shape[1]

        def counts(person: int) -> NDArray[np.float64]:
            return (self.matrix[person * classes : (person + 1) * classes] @ posterior).T

        return counts


@dataclass(frozen=True, eq=False)
class SparseConfusions:
    """What people say of each class: log(count / FLOOR) where above 0, and sums for each class."""

    rise: csr_array  # (pairs, true)
    sums: NDArray[np.float64]  # (people, true): of all counts, at least FLOOR each


@dataclass(frozen=True, eq=False)
class SparseAnswers:
    """Answers by pairs of a person and a label that they ever gave, in the order of both."""

    matrix: csr_array  # (pairs, items)
    by_item: csr_array  # (items, pairs)
    by_person: csr_array  # (items, people)
    person: Codes  # (pairs,)
    label: Codes  # (pairs,)
    shape: tuple[int, int]  # people, classes
    votes: float

    @classmethod
    def of(cls, evidence: Evidence, weight: NDArray[np.float64]) -> "SparseAnswers":
        """From the evidence and a weight for each person."""
        shape = evidence.people, len(evidence.classes)
        place = evidence.person * shape[1] + evidence.label
        pairs, pair = np.unique(place, return_inverse=True)
        by_item = _by_item(evidence, weight, pair.astype(np.int32), len(pairs))
        by_person = _by_item(evidence, weight, evidence.person.astype(np.int32), shape[0])
        matrix = by_item.T.tocsr()
        return cls(
            matrix, by_item, by_person, *np.divmod(pairs, shape[1]), shape, float(matrix.sum())
        )

    def beliefs(self, posterior: NDArray[np.float64]) -> csr_array:
        """The form in which beliefs are held here."""
        return csr_array(posterior)

    def in_full(self, posterior: csr_array) -> NDArray[np.float64]:
        """The inverse of ``beliefs``."""
        return posterior.toarray()

    def maximise(
        self, posterior: csr_array, initial: InitialCounts | None = None
    ) -> SparseConfusions:
        """P(said | true) for each person, where it is above its least."""
        people, classes = self.shape
        counts = self.matrix @ posterior
        least = np.bincount(self.person, minlength=people) * FLOOR
        sums = np.repeat(least, classes)
        if initial is not None:
            counts, unsaid = self._begin(counts, initial)
            sums += unsaid
        np.maximum(counts.data, FLOOR, out=counts.data)
        person = np.repeat(self.person, np.diff(counts.indptr))
        sums += sum_by(person * classes + counts.indices, counts.data - FLOOR, people * classes)
        counts.data /= FLOOR
        np.log(counts.data, out=counts.data)
        return SparseConfusions(counts, sums.reshape(self.shape))

    def _begin(
        self, counts: csr_array, initial: InitialCounts
    ) -> tuple[csr_array, NDArray[np.float64]]:
        """Counts with the initial ones, and the sums of those of labels never given here."""
        people, classes = self.shape
        pairs = self.person * classes + self.label
        wanted = initial.person * classes + initial.said
        row = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        known = pairs[row] == wanted
        more = csr_array(
            (initial.count[known], (row[known], initial.true[known])), shape=counts.shape
        )
        place = (initial.person * classes + initial.true)[~known]
        unsaid = sum_by(place, initial.count[~known], people * classes)
        return more if initial.assign else counts + more, unsaid

    def expect(
        self, said: SparseConfusions, log_shares: NDArray[np.float64], evidence: Evidence
    ) -> tuple[float, csr_array]:
        """Log-likelihood, and P(true | answers) for each item, a block of items at a time."""
        log_sums = np.log(said.sums)
        height = max(BLOCK // self.shape[1], 1)
        log_likelihood = float(self.votes * np.log(FLOOR))
        parts = []
        for first in range(0, len(evidence.items), height):
            rows = slice(first, first + height)
            log_joint = (self.by_item[rows] @ said.rise).toarray()
            log_joint -= self.by_person[rows] @ log_sums
            log_joint += log_shares
            part, posterior = posterior_of(evidence.rule_out(log_joint, first))
            log_likelihood += part
            parts.append(csr_array(posterior))
        return log_likelihood, vstack(parts, format="csr")

    def confusion_of(self, said: SparseConfusions) -> ConfusionOf:
        """Each person's matrix, [true, said]."""

        def confusion(person: int) -> NDArray[np.float64]:
            rows = self._rows(person)
            matrix = np.zeros((self.shape[1], self.shape[1]))
            logs = said.rise[rows].toarray().T  # (true, said)
            matrix[:, self.label[rows]] = np.exp(logs) * FLOOR / said.sums[person][:, None]
            return matrix

        return confusion

    def counts_of(self, posterior: csr_array) -> ConfusionOf:
        """Each person's expected answers, [true, said]."""

        def counts(person: int) -> NDArray[np.float64]:
            rows = self._rows(person)
            matrix = np.zeros((self.shape[1], self.shape[1]))
            matrix[:, self.label[rows]] = (self.matrix[rows] @ posterior).toarray().T
            return matrix

        return counts

    def _rows(self, person: int) -> slice:
        return slice(*np.searchsorted(self.person, [person, person + 1]).tolist())


def _by_item(
    evidence: Evidence, weight: NDArray[np.float64], column: NDArray[np.int32], columns: int
) -> csr_array:
    """Answers by item and something else; entries of the evidence ascend by item."""
    ends = np.searchsorted(evidence.item, np.arange(len(evidence.items) + 1)).astype(np.int32)
    shape = len(evidence.items), columns
    return csr_array((evidence.votes(weight), column, ends), shape=shape)


DENSE = 2**24
"""Up to so many numbers (people × classes × classes, 134 MB) confusions are held in full."""

Confusions = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Annotator, true label, label said: how often, or how probably."""


def dawid_skene(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    initial_confusions: Confusions | None = None,
    initial: str = "add",
) -> Fit:
    """P(t | everybody's answers); quality is the expected share of a person's right answers.

    Stops when an iteration gains less than ``tolerance`` log-likelihood a judgment; a
    negative tolerance never stops early. ``initial_confusions`` only decide where it starts:
    earlier counts are added to those of the vote shares ("add"), or stand in for them ("assign").
    """
    start = initial_counts(evidence, initial_confusions, initial)
    state = climb(evidence, evidence.each_person_once(), iterations, tolerance, start)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return climb(evidence, weight, iterations, tolerance, start).posterior

    return Fit(
        state.posterior,
        bootstrap(refit, evidence.people),
        quality=agreement_with(state.posterior, evidence),
        confusion=state.confusion_of,
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": _named(evidence, state.posterior)},
    )


def dawid_skene_next(
    evidence: Evidence,
    *,
    rng: np.random.Generator,
    iterations: int,
    tolerance: float,
    annotator: str | None,
    prior_votes: float,
) -> Fit:
    """What the next annotator would say: Σ_t P(t | answers) π[t, l].

    Without ``annotator`` π is everybody's answers pooled. For a named one it is their own matrix,
    with ``prior_votes`` votes for each true label that follow the pooled matrix: most people
    have seen few items of most classes.
    """
    row = None if annotator is None else _row_of(evidence, annotator)

    def pool(reached: State, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalise_rows(reached.posterior.T @ evidence.table(weight) + FLOOR)  # (true, said)

    def answers(reached: State, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        own = pooled = pool(reached, weight)
        if row is not None:
            own = shrunk_confusion(reached.counts_of(row), pooled, prior_votes)
        return normalise_rows(reached.posterior @ own)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return answers(climb(evidence, weight, iterations, tolerance), weight)

    once = evidence.each_person_once()
    state = climb(evidence, once, iterations, tolerance)
    pooled = pool(state, once)
    return Fit(
        answers(state, once),
        bootstrap(refit, evidence.people),
        quality=agreement_with(state.posterior, evidence),
        confusion=lambda person: shrunk_confusion(state.counts_of(person), pooled, prior_votes),
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": _named(evidence, state.posterior)},
    )


def shrunk_confusion(
    counts: NDArray[np.float64], pooled: NDArray[np.float64], prior_votes: float
) -> NDArray[np.float64]:
    """Expected counts ``[true, said]`` and some votes like everybody's, as probabilities."""
    more = counts + prior_votes * pooled
    return more / more.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class State:
    """Where expectation–maximisation ended."""

    posterior: NDArray[np.float64]  # (items, classes)
    confusion_of: ConfusionOf
    counts_of: ConfusionOf
    """A person's expected answers under the posterior, [true, said]."""
    trace: tuple[float, ...]
    converged: bool


def climb(
    evidence: Evidence,
    weight: NDArray[np.float64],
    iterations: int,
    tolerance: float,
    initial: InitialCounts | None = None,
) -> State:
    """Alternate between P(t | answers) and the confusion matrices, from the shares of the answers.

    Bootstrap replicates start from their own shares too. Started from the full fit they would
    stay there: its matrices were made from labels that are all but certain.
    """
    numbers = evidence.people * len(evidence.classes) ** 2
    kind: Any = Answers if numbers <= DENSE else SparseAnswers  # each with its own kind of beliefs
    answers = kind.of(evidence, weight)
    posterior = answers.beliefs(evidence.start(weight))
    said = answers.maximise(posterior, initial)
    enough = tolerance * answers.votes
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        log_shares = np.log(np.maximum(posterior.mean(axis=0), FLOOR))
        log_likelihood, posterior = answers.expect(said, log_shares, evidence)
        trace.append(log_likelihood)
        converged = len(trace) > 1 and trace[-1] - trace[-2] < enough
        said = answers.maximise(posterior)
    return State(
        answers.in_full(posterior),
        answers.confusion_of(said),
        answers.counts_of(posterior),
        tuple(trace),
        converged,
    )


def _row_of(evidence: Evidence, annotator: str) -> int:
    if annotator not in evidence.annotators:
        raise DataError(
            f"The next answer of {annotator!r} was asked for, who judged nothing here. "
            "Leave 'annotator' out to predict what people in general would say."
        )
    return evidence.annotators.index(annotator)


def _named(evidence: Evidence, posterior: NDArray[np.float64]) -> dict[str, Setting]:
    shares = np.maximum(posterior.mean(axis=0), FLOOR)
    return dict(zip(evidence.classes, shares.tolist(), strict=True))


# From votes to one hidden label per item and a single skill for each annotator.
#
# The one-coin model (Zhang et al. 2016): annotator w gives the true label with probability s_w and
# each of the other K - 1 labels with probability (1 - s_w) / (K - 1). One number per vote is then
# enough: the log-odds it adds to the class it names.


FAR = 0.05
"""So much less agreement with the votes than the majority's is told."""


def one_coin(
    evidence: Evidence, *, rng: np.random.Generator, iterations: int, tolerance: float
) -> Fit:
    """P(t | votes) by expectation–maximisation from the vote shares; quality is the skill s_w.

    Stops when an iteration gains less than ``tolerance`` log-likelihood a vote; a negative
    tolerance never stops early.
    """
    state = _climb(evidence, evidence.each_person_once(), iterations, tolerance)

    def refit(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return _climb(evidence, weight, iterations, tolerance).posterior

    shares = np.maximum(state.posterior.mean(axis=0), FLOOR)
    return Fit(
        state.posterior,
        bootstrap(refit, evidence.people),
        quality=state.skill,
        trace=state.trace,
        converged=state.converged,
        fitted={"class_shares": dict(zip(evidence.classes, shares.tolist(), strict=True))},
        remarks=_remarks(evidence, state.posterior),
    )


def _remarks(evidence: Evidence, posterior: NDArray[np.float64]) -> tuple[str, ...]:
    """Where a few people who agree with each other have outvoted everybody else."""
    counts = evidence.table(evidence.each_person_once())
    agreed, most = (share_agreed(counts, winners(table)) for table in (posterior, counts))
    if most - agreed <= FAR or evidence.gold is not None:  # known labels may outvote people
        return ()
    other = (winners(posterior) * winners(counts)).sum(axis=1) == 0
    return (
        f"one-coin agrees with {agreed:.1%} of the votes, the majority with {most:.1%}, and it "
        f"contradicts the majority on {int(other.sum()):,} of {len(other):,} items: one skill per "
        "person may not fit these answers. Compare with dawid-skene or majority.",
    )


@dataclass(frozen=True, eq=False)
class _State:
    posterior: NDArray[np.float64]  # (items, classes)
    skill: NDArray[np.float64]  # (people,)
    trace: tuple[float, ...]
    converged: bool


def _climb(
    evidence: Evidence, weight: NDArray[np.float64], iterations: int, tolerance: float
) -> _State:
    posterior = evidence.start(weight)
    votes = evidence.votes(weight)
    given = sum_by(evidence.person, votes, evidence.people)
    work = np.empty_like(votes)  # one place for what each vote needs, used again and again
    skill = _right_votes(evidence, posterior, votes, work) / given
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < iterations:
        right, wrong = _log_probabilities(skill, len(evidence.classes))
        np.take(right - wrong, evidence.person, out=work, mode="clip")
        work *= votes
        odds = sum_by(evidence.cell, work, posterior.size)
        log_shares = np.log(np.maximum(posterior.mean(axis=0), FLOOR))
        log_joint = evidence.rule_out(odds.reshape(posterior.shape) + log_shares)
        log_likelihood, posterior = posterior_of(log_joint)
        trace.append(log_likelihood + float(given @ wrong))  # what all classes have in common
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance * float(given.sum())
        skill = _right_votes(evidence, posterior, votes, work) / given
    return _State(posterior, skill, tuple(trace), converged)


def _right_votes(
    evidence: Evidence,
    posterior: NDArray[np.float64],
    votes: NDArray[np.float64],
    work: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How many of each person's votes are right, in expectation."""
    np.take(posterior.ravel(), evidence.cell, out=work, mode="clip")
    work *= votes
    return sum_by(evidence.person, work, evidence.people)


def _log_probabilities(
    skill: NDArray[np.float64], classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of the probability of the true label and of each other one."""
    others = max(classes - 1, 1)  # with a single class there is no other label to give
    right = np.clip(skill, FLOOR, 1 - FLOOR)
    wrong = np.clip((1 - skill) / others, FLOOR, 1 - FLOOR)
    return np.log(right), np.log(wrong)
