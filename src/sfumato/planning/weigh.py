"""Turn what is known of each form, with its uncertainty, into draws of its loss.

A draw is one way things may be: a world (the same for all forms), how noisy people are in
each form, what an answer costs. In each draw one form is best; how often it is, is the
probability that it is (as far as the simulation is right).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import gaussian_clusters
from sfumato.names import find
from sfumato.planning.cost import WITH_KEPT, Cost, Utility, loss, utility_named
from sfumato.planning.embed import EmbeddingSettings, gnmds_rankings, rank_scores, spearman
from sfumato.planning.information import FORMS, AskedForm
from sfumato.stats import cosines

# Turn a task and how noisy people are into the correlation to expect of each form of answer.
#
# Simulated people look at simulated worlds (Gaussian clusters, S1-19). A person sees the true
# log-probabilities of an item's classes plus noise: independent, normal, with a standard
# deviation of ``noise`` times the spread of an item's log-probabilities. What they say is a form of
# what they see: the largest class, the k̂ largest with their probabilities, all of them. The mean
# answer of M people is embedded (GNMDS) and compared with the truth (S1-29). Noise shows in
# how often two people contradict one another, so a pilot's contradictions say how noisy its
# people are, whatever the form they answered in.

Array = NDArray[np.float64]

SIMULATED = ("hard", "soft", "sparse", "top-class", "yes-no-unsure")
"""The forms whose answers are simulated; the others are counted only (``information``)."""

NOISES = (0.0, 0.2, 0.4, 0.7, 1.0, 1.6, 3.0)
"""Noise, in spreads of an item's log-probabilities; at 3 people all but guess."""

MOST_ITEMS = 60
"""So many items are simulated at most: beyond, ρ hardly moves with n (k stays as it is)."""

LEAST_BELIEF = 1e-6
"""What a model believes less of counts as so much: below it files only have rounding."""

ROUGH = EmbeddingSettings(tolerance=1e-3)


@dataclass(frozen=True)
class Candidate:
    """A form of answer (with its k̂) given by M people per item."""

    form: str
    kept: int | None = None
    people: int = 1

    def __post_init__(self) -> None:
        find(FORMS, self.form, what="form of answer")
        if self.form not in SIMULATED:
            raise DataError(
                f"Answers of the form {self.form!r} are counted but not simulated, so no advice "
                f"can weigh them; choose among {', '.join(SIMULATED)}."
            )
        if (self.form in WITH_KEPT) != (self.kept is not None):
            raise DataError(
                f"A number of classes an answer (k̂) belongs to {' and '.join(WITH_KEPT)} answers "
                f"and to no others; found {self.kept} for {self.form!r}."
            )
        if self.people < 1:
            raise DataError(f"{self.people} people per item were planned; plan 1 or more.")

    @property
    def title(self) -> str:
        """The form and its k̂, in words."""
        return self.form if self.kept is None else f"{self.form} with {self.kept} classes"


@dataclass(frozen=True, eq=False)
class WeighingDraws:
    """What simulated worlds say about each candidate at each noise."""

    candidates: tuple[Candidate, ...]
    noises: Array  # (noises,)
    rho: Array  # (worlds, candidates, noises)
    disagreed: Array  # (candidates, noises): share of comparisons on which two people differ
    items: int
    """Simulated ones; the task may have more."""
    dimensions: tuple[int, ...] = field(default=())
    """Of each world; none where a model's beliefs stand for worlds."""

    def places(self, candidate: Candidate) -> list[tuple[int, int]]:
        """How many people were simulated in a form and its k̂, and at which place, fewest first."""
        found = [
            (each.people, place)
            for place, each in enumerate(self.candidates)
            if (each.form, each.kept) == (candidate.form, candidate.kept)
        ]
        if not found:
            raise DataError(
                f"Nothing was simulated about {candidate.title}; simulate it, or leave it out."
            )
        return sorted(found)


def expect(
    candidates: Sequence[Candidate],
    *,
    items: int,
    classes: int,
    dimensions: Sequence[int] = (5, 25, 125),
    worlds: int = 12,
    noises: Sequence[float] = NOISES,
    oracle: LabelSet | None = None,
    rng: np.random.Generator,
) -> WeighingDraws:
    """ρ of every candidate and noise in each of some simulated worlds.

    Worlds take the given ``dimensions`` in turn. All candidates face the same worlds, so what
    is easy for one form and not for another can be told from what is easy for all. With an
    ``oracle``, what a model believes of items, the worlds are parts of these beliefs (S1-64).
    """
    if worlds < 2:
        raise DataError(f"{worlds} worlds were asked for; how far they differ needs 2 or more.")
    for candidate in candidates:
        AskedForm(items, classes, kept=candidate.kept or 1)  # the checks of n, k and k̂
    some = min(items, MOST_ITEMS, *(() if oracle is None else (len(oracle),)))
    shape = (worlds, len(candidates), len(noises))
    rho, apart = np.zeros(shape), np.zeros(shape)
    dims = tuple(int(dimensions[world % len(dimensions)]) for world in range(worlds))
    for world, d in enumerate(dims):
        logits, truth = (
            _world(some, classes, d, rng) if oracle is None else _beliefs(oracle, some, rng)
        )
        for at, noise in enumerate(noises):
            for which, candidate in enumerate(candidates):
                answers = _answers(logits, candidate, noise, rng)
                gram = embed_answers(answers[: candidate.people], rng=rng)
                rho[world, which, at] = _or_zero(spearman(gram, truth))
                both, against = contradictions(answers[0], answers[1])
                apart[world, which, at] = against.sum() / max(both.sum(), 1)
    return WeighingDraws(
        tuple(candidates),
        np.asarray(noises, dtype=np.float64),
        rho,
        _rising(apart.mean(axis=0)),
        some,
        dims if oracle is None else (),
    )


def perceive(logits: Array, noise: float, *, people: int, rng: np.random.Generator) -> Array:
    """The probabilities that simulated people see, (people, items, classes)."""
    spread = float(logits.std(axis=1).mean())
    blurred = logits + noise * spread * rng.standard_normal((people, *logits.shape))
    return np.asarray(softmax(blurred, axis=2), dtype=np.float64)


def state_answers(probs: Array, form: str, kept: int | None = None) -> Array:
    """What people say of what they see, last axis classes; NaN for classes not asked about.

    >>> state_answers(np.array([[0.5, 0.3, 0.2]]), "sparse", 2)
    array([[0.5, 0.3, 0. ]])
    >>> state_answers(np.array([[0.5, 0.3, 0.2]]), "hard")
    array([[1., 0., 0.]])
    """
    place = (-probs).argsort(axis=-1).argsort(axis=-1)  # 0 for the largest
    match form:
        case "hard":
            return (place == 0).astype(np.float64)
        case "soft":
            return probs
        case "sparse":
            return np.where(place < (kept or 0), probs, 0.0)
        case "top-class":
            return np.where(np.arange(probs.shape[-1]) < (kept or 0), probs, np.nan)
        case "yes-no-unsure":
            return np.where(place == 0, 1.0, np.where(place == 1, 0.5, 0.0))
        case _:
            raise AssertionError(f"{form} is not simulated")


def embed_answers(answers: Array, *, rng: np.random.Generator) -> Array:
    """The Gram matrix of the mean of answers (people, items, classes)."""
    scores = answers.mean(axis=0)
    return gnmds_rankings(rank_scores(scores.round(12)), ROUGH, rng=rng).gram


def contradictions(first: Array, second: Array) -> tuple[Array, Array]:
    """For each row: pairs of classes that both answers order, and those they order differently.

    Ties and NaN order nothing. Rows are (answers, classes).

    >>> contradictions(np.array([[0.7, 0.2, 0.1]]), np.array([[0.6, 0.0, 0.4]]))
    (array([3.]), array([1.]))
    """
    both, against = np.zeros(len(first)), np.zeros(len(first))
    for ahead in range(1, first.shape[1]):
        sides = [np.nan_to_num(np.sign(x[:, ahead:] - x[:, :-ahead])) for x in (first, second)]
        product = sides[0] * sides[1]
        both += (product != 0).sum(axis=1)
        against += (product < 0).sum(axis=1)
    return both, against


def item_errors(recovered: Array, similarities: Array) -> float:
    """Share of triplets of items that two tables of similarities order differently (S1-39).

    ``similarities`` may hold NaN where nothing was rated. Recovered ties count half; rated ties
    and NaN ask nothing.
    """
    both, wrong = 0.0, 0.0
    others = ~np.eye(len(recovered), dtype=bool)
    for anchor in range(len(recovered)):
        mine = recovered[anchor, others[anchor]]
        theirs = similarities[anchor, others[anchor]]
        known = np.isfinite(theirs)
        mine, theirs = mine[known], theirs[known]
        truth = np.sign(theirs[:, None] - theirs[None])
        told = truth * np.sign(mine[:, None] - mine[None])
        both += float((truth != 0).sum())
        wrong += float((told < 0).sum()) + 0.5 * float(((told == 0) & (truth != 0)).sum())
    if not both:
        raise DataError("The ratings are all equal, so they contradict nothing.")
    return wrong / both


def expected_item_errors(
    candidate: Candidate,
    *,
    items: int,
    classes: int,
    dimensions: Sequence[int],
    noises: Sequence[float] = NOISES,
    worlds: int = 6,
    rng: np.random.Generator,
) -> Array:
    """What ``item_errors`` of an embedding is at each noise, (noises,), for as many items.

    The similarities compared with are the true ones, as the paper takes ratings to be.
    """
    wrong = np.zeros((worlds, len(noises)))
    for world in range(worlds):
        logits, truth = _world(items, classes, dimensions[world % len(dimensions)], rng)
        for at, noise in enumerate(noises):
            answers = _answers(logits, candidate, noise, rng)[: candidate.people]
            gram = embed_answers(answers, rng=rng)
            wrong[world, at] = item_errors(gram[:items, :items], truth[:items, :items])
    return _rising(wrong.mean(axis=0)[None])[0]


def _world(
    items: int, classes: int, dimensions: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """True log-probabilities (items, classes), and true similarities of items and classes."""
    clusters = gaussian_clusters(items=items, classes=classes, dimensions=dimensions, rng=rng)
    truth = cosines(np.vstack([clusters.positions, clusters.centres]))
    return np.log(np.maximum(clusters.soft.probs, 1e-300)), truth


def _beliefs(oracle: LabelSet, items: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The same of some items of a model: its log-probabilities, and how these are alike.

    An item is its centred log-probabilities, a class the direction in which only its own rises.
    """
    rows = rng.choice(len(oracle), size=items, replace=False)
    logits = np.log(np.maximum(oracle.probs[rows], LEAST_BELIEF))
    centred = logits - logits.mean(axis=1, keepdims=True)
    alone = np.eye(logits.shape[1]) - 1 / logits.shape[1]
    return logits, cosines(np.vstack([centred, alone]))


def _answers(logits: Array, candidate: Candidate, noise: float, rng: np.random.Generator) -> Array:
    people = max(candidate.people, 2)
    return state_answers(
        perceive(logits, noise, people=people, rng=rng), candidate.form, candidate.kept
    )


def _or_zero(rho: float) -> float:
    return 0.0 if np.isnan(rho) else rho  # similarities that are all alike tell nothing


def _rising(curves: Array) -> Array:
    """More noise never means fewer errors; strictly, so that a curve can be read backwards."""
    steps = 1e-9 * np.arange(curves.shape[1])
    return np.asarray(np.maximum.accumulate(curves, axis=1) + steps)


# Turn what is known of each form, with its uncertainty, into draws of its loss.

Source = Literal["given", "assumed", "measured"]

NORMAL_95 = 1.959963984540054

UNSURE_OF_ASSUMED = log(2) / 2
"""Assumed costs are taken to be right within a factor of two, up or down, nineteen times in
twenty: this standard deviation of their logarithm."""

MOST_PEOPLE = 200
"""More people per item than this are not simulated."""


@dataclass(frozen=True, eq=False)
class Noise:
    """How noisy people are in one form, and how that is known."""

    draws: Array  # (draws,): in spreads of an item's log-probabilities, see ``NOISES``
    source: Source
    how: str
    """What it comes from, in words."""
    flipped: float | None = None
    """ε of one answer; None where it is assumed."""


@dataclass(frozen=True, eq=False)
class FormEvidence:
    """What is known of one form with its k̂: what an answer costs, and how noisy people are."""

    form: str
    kept: int | None
    cost: Cost
    noise: Noise

    @property
    def candidate(self) -> Candidate:
        """With one person an item."""
        return Candidate(self.form, self.kept)


@dataclass(frozen=True)
class Spending:
    """How cost enters: at a weight, or as a budget an item that every form may use up."""

    beta: float | None = None
    """What of u(ρ) is given up for a unit of cost (S1-33); then ``people`` are asked."""
    people: int = 1
    budget: float | Literal["dearest"] | None = None
    """What may be spent on an item, on average; then as many people as it pays for are asked.
    "dearest": what one answer of the dearest form costs, whatever that turns out to be."""

    def __post_init__(self) -> None:
        if (self.beta is None) == (self.budget is None):
            raise DataError("Give either a weight of the cost (β) or a budget an item, not both.")
        if self.beta is not None and not (np.isfinite(self.beta) and self.beta >= 0):
            raise DataError(f"The weight of the cost (β) is {self.beta:g}; give zero or more.")
        if isinstance(self.budget, float | int) and not 0 < self.budget < np.inf:
            raise DataError(f"The budget an item is {self.budget:g}; give a number above zero.")
        if self.people < 1:
            raise DataError(f"{self.people} people per item were planned; plan 1 or more.")

    def people_for(self, prices: Array) -> Array:
        """People an item on average, at prices an answer (…, forms); 0: the budget pays for none.

        >>> Spending(budget=10).people_for(np.array([4.0, 12.0]))
        array([2.5, 0. ])
        """
        if self.budget is None:
            return np.full(prices.shape, float(self.people))
        dearest = prices.max(axis=-1, keepdims=True)
        people = (dearest if self.budget == "dearest" else self.budget) / prices
        return np.where(people < 1 - 1e-9, 0.0, np.minimum(people, MOST_PEOPLE))


@dataclass(frozen=True, eq=False)
class Draws:
    """One column per form, one row per draw."""

    rho: Array  # (draws, forms)
    cost: Array  # (draws, forms): of the whole collection
    loss: Array  # (draws, forms)


@dataclass(frozen=True, eq=False)
class Choice:
    """The forms to choose between, and everything else that decides."""

    forms: tuple[FormEvidence, ...]
    simulation: WeighingDraws
    items: int
    """Of the task."""
    spending: Spending
    utility: str | Utility = "linear"

    def draw(self, rng: np.random.Generator) -> Draws:
        """Correlation, cost and loss of every form in each draw."""
        draws = len(self.forms[0].noise.draws)
        world = rng.integers(len(self.simulation.rho), size=draws)  # one for all forms
        unsure = np.array([_spread(each.cost) for each in self.forms])
        value = np.array([each.cost.value for each in self.forms])
        prices = value * np.exp(unsure * rng.standard_normal((draws, len(self.forms))))
        people = self.spending.people_for(prices)
        rho = np.stack(
            [
                _rho(each, self.simulation, world, people[:, at])
                for at, each in enumerate(self.forms)
            ],
            axis=1,
        )
        cost = self.items * prices * people
        if self.spending.beta is not None:
            lost = loss(rho, cost, beta=self.spending.beta, utility=self.utility)
            return Draws(rho, cost, lost)
        _, worth = utility_named(self.utility)
        affordable = cost > 0
        return Draws(rho, cost, np.where(affordable, -worth(rho), np.inf))


def people_grid(costs: Sequence[Cost], spending: Spending) -> list[tuple[int, ...]]:
    """For each cost the numbers of people to simulate: those of the plan, and around them."""
    value = np.array([cost.value for cost in costs])
    off = np.exp(NORMAL_95 * np.array([_spread(cost) for cost in costs]))
    tried = [spending.people_for(value)]
    if spending.budget is not None:
        for mine in range(len(costs)):
            for way in (-1, 1):
                moved = value * off**-way
                moved[mine] = value[mine] * off[mine] ** way
                tried.append(spending.people_for(moved))
    people = np.maximum(np.stack(tried), 1)
    least, most = np.floor(people.min(axis=0)), np.ceil(people.max(axis=0))
    middle = np.rint(np.sqrt(least * most))
    return [
        tuple(sorted({int(few), int(some), int(many)}))
        for few, some, many in zip(least, middle, most, strict=True)
    ]


def probabilities(drawn: Draws) -> Array:
    """How often each form has the least loss, (forms,); never quite 0 or 1.

    Half a draw a form is added: what no draw shows may still be so.
    """
    n_draws, n_forms = drawn.loss.shape
    often = np.bincount(drawn.loss.argmin(axis=1), minlength=n_forms)
    return np.asarray((often + 0.5) / (n_draws + 0.5 * n_forms))


def rho_at(simulation: WeighingDraws, which: int, world: NDArray[np.int64], noise: Array) -> Array:
    """ρ of a candidate in the given worlds, between simulated noises."""
    grid = simulation.noises
    right = np.clip(np.searchsorted(grid, noise), 1, len(grid) - 1)
    share = np.clip((noise - grid[right - 1]) / (grid[right] - grid[right - 1]), 0, 1)
    table = simulation.rho[:, which]
    return np.asarray((1 - share) * table[world, right - 1] + share * table[world, right])


def _rho(
    evidence: FormEvidence, simulation: WeighingDraws, world: NDArray[np.int64], people: Array
) -> Array:
    """ρ in each draw, between simulated noises and (on a logarithmic scale) numbers of people."""
    mine = simulation.places(evidence.candidate)
    asked = np.log([many for many, _ in mine])
    noise = evidence.noise.draws
    curves = np.stack([rho_at(simulation, place, world, noise) for _, place in mine], axis=1)
    wanted = np.clip(np.log(np.maximum(people, 1)), asked[0], asked[-1])
    right = np.clip(np.searchsorted(asked, wanted), min(1, len(mine) - 1), len(mine) - 1)
    left = np.maximum(right - 1, 0)
    gap = np.where(right > left, asked[right] - asked[left], 1.0)
    share = (wanted - asked[left]) / gap
    rows = np.arange(len(world))
    return np.asarray((1 - share) * curves[rows, left] + share * curves[rows, right])


def _spread(cost: Cost) -> float:
    """Standard deviation of the logarithm of a cost."""
    if cost.source == "assumed":
        return UNSURE_OF_ASSUMED
    if cost.low is None or cost.high is None or cost.low <= 0:
        return 0.0
    # People are few in a pilot; the percentile interval over them is too narrow by about this.
    few = np.sqrt(cost.people / (cost.people - 1)) if cost.people > 1 else 1.0
    return float(few * np.log(cost.high / cost.low) / (2 * NORMAL_95))
