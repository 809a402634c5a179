"""Turn labels into answers of simulated people: votes, yes or no or unsure, triplets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from sfumato.errors import DataError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask, top_choice
from sfumato.labels.build import codes
from sfumato.labels.labelset import NOT_RECORDED, SUM_TOLERANCE, LabelSet
from sfumato.labels.simulate.crowd import (
    Beta,
    annotator_names,
    draw_columns,
    gather,
    in_class_order,
    who_answers_what,
)
from sfumato.provenance import Provenance, Setting, Step

# Turn labels into the votes of simulated people, each with a confusion matrix.
#
# A voter sees a class (drawn from the item's distribution, or the item's label) and says what
# the row of that class in their confusion matrix says. Skill is the diagonal; a spammer's rows
# are all alike.

VoterView = Literal["distribution", "label"]
"""What a voter sees: a class drawn anew from the item's distribution, or its most probable one."""


@dataclass(frozen=True, eq=False)
class Voters:
    """People who vote for one of the classes, each confusing them in their own way.

    >>> Voters(("cat", "dog"), [[[0.9, 0.1], [0.3, 0.7]]]).confusion.shape
    (1, 2, 2)
    """

    classes: tuple[str, ...]
    confusion: NDArray[np.float64]  # (voters, classes seen, classes said); each row sums to one
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        confusion = np.array(self.confusion, dtype=np.float64)  # a copy: ours to freeze
        confusion.flags.writeable = False
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "confusion", confusion)
        width = len(self.classes)
        if confusion.ndim != 3 or confusion.shape[1:] != (width, width):
            raise DataError(
                f"Confusion matrices of {width} classes have the shape (voters, {width}, {width}); "
                f"found {confusion.shape}."
            )
        sums = confusion.sum(axis=2)
        bad = (confusion < 0).any(axis=2) | ~np.isclose(sums, 1, rtol=0, atol=SUM_TOLERANCE)
        if bad.any():
            voter, row = np.argwhere(bad)[0]
            raise DataError(
                f"What voter {voter + 1} says when shown {self.classes[row]!r} must be "
                f"probabilities that sum to 1; found {confusion[voter, row].tolist()}."
            )

    def __len__(self) -> int:
        return len(self.confusion)


def skilled_voters(
    classes: tuple[str, ...],
    count: int,
    *,
    skill: Beta | float,
    spammers: float = 0.0,
    rng: np.random.Generator,
) -> Voters:
    """``count`` people who are right with a probability of their own, and err evenly.

    ``skill`` is that probability, the same for all, or the Beta it is drawn from. The share
    ``spammers`` of the people, rounded, votes evenly at random whatever they see.

    >>> skilled_voters(("cat", "dog"), 1, skill=0.9, rng=np.random.default_rng(0)).confusion
    array([[[0.9, 0.1],
            [0.1, 0.9]]])
    """
    if not 0 <= spammers <= 1:
        raise DataError(f"The share of spammers is a number from 0 to 1, not {spammers}.")
    if not isinstance(skill, Beta) and not 0 <= skill <= 1:
        raise DataError(f"A skill is a probability from 0 to 1, not {skill}.")
    width = len(classes)
    skills = skill.draw(count, rng=rng) if isinstance(skill, Beta) else np.full(count, skill)
    skills[rng.permutation(count)[: round(spammers * count)]] = 1 / width
    errors = np.repeat(((1 - skills) / (width - 1))[:, None], width, axis=1)
    confusion = np.repeat(errors[:, :, None], width, axis=2)  # (voters, classes, classes)
    confusion[:, np.arange(width), np.arange(width)] = skills[:, None]
    drawn_from: Setting = [skill.a, skill.b] if isinstance(skill, Beta) else skill
    step = Step(
        "make voters", {"voters": count, "skill": drawn_from, "spammers": spammers}, simulated=True
    )
    return Voters(tuple(classes), confusion, (step,))


def fit_voters(judgments: Judgments, reference: LabelSet, *, smoothing: float = 1.0) -> Voters:
    """Confusion matrices of real people: what each says when the reference is each class.

    With n_jts the votes of person j for s on items that are t (in proportion to the reference
    where it is soft) and π_ts everybody's shares, the row is
    (n_jts + smoothing · π_ts) / (n_jt + smoothing): someone who never saw a class confuses it
    as everybody does. π itself starts from one vote spread evenly.

    The reference should be hard labels, or the truth as far as it is known; people's own
    distribution already holds their errors, and voters fitted to it would err twice.
    """
    if not smoothing > 0:
        raise DataError(f"The smoothing is a number of votes above 0, not {smoothing}.")
    classes = judgments.question.classes
    said = top_choice(judgments.statements)[judgments.statements.index]
    annotators, annotator = codes(judgments.table["annotator"])
    clear = said >= 0
    if (annotator[clear] == NOT_RECORDED).any() or not clear.any():
        raise DataError(
            "Voters are fitted to people, but these judgments do not all say who gave them, or "
            "choose no class. Use skilled_voters, which needs no judgments."
        )
    items, item = codes(judgments.table["item"])
    truth = in_class_order(reference.take(items), classes).probs
    pair = annotator[clear] * len(classes) + said[clear]
    size = len(annotators) * len(classes)
    counts = np.stack(
        [
            np.bincount(pair, weights=truth[item[clear], seen], minlength=size)
            for seen in range(len(classes))
        ]
    )  # (seen, annotators × said)
    counts = counts.reshape(len(classes), len(annotators), len(classes)).transpose(1, 0, 2)
    everybody = _shares(counts.sum(axis=0) + 1 / len(classes))
    step = Step("fit voters", {"voters": len(annotators), "smoothing": smoothing})
    return Voters(classes, _shares(counts + smoothing * everybody), (*judgments.provenance, step))


def resample_voters(voters: Voters, count: int, *, rng: np.random.Generator) -> Voters:
    """``count`` people drawn from the given ones with replacement, as from a larger crowd."""
    drawn = rng.integers(len(voters), size=count)
    step = Step("resample voters", {"voters": count}, simulated=True)
    return Voters(voters.classes, voters.confusion[drawn], (*voters.provenance, step))


def simulate_votes(
    voters: Voters,
    labels: LabelSet,
    *,
    per_item: int,
    seen: VoterView = "distribution",
    rng: np.random.Generator,
) -> Judgments:
    """``per_item`` votes on each item by different people, who share the work evenly.

    ``seen`` says what a voter is shown: a class drawn from the item's distribution for each
    vote, or the item's most probable class (the first of equals).

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[0, 1]])
    >>> voters = Voters(("cat", "dog"), np.eye(2)[None])
    >>> simulate_votes(voters, labels, per_item=1, rng=np.random.default_rng(0)).table["answer"][0]
    '"dog"'
    """
    known = in_class_order(labels, voters.classes)
    item, voter = who_answers_what(
        n_items=len(known), per_item=per_item, n_annotators=len(voters), rng=rng
    )
    match seen:
        case "distribution":
            shown = draw_columns(known.probs, item, rng=rng)
        case "label":
            shown = known.probs.argmax(axis=1)[item]
        case _:
            assert_never(seen)
    width = len(voters.classes)
    rows = voters.confusion.reshape(-1, width)  # (voters × seen, said)
    said = draw_columns(rows, voter * width + shown, rng=rng)
    answers = tuple(json.dumps(name, ensure_ascii=False) for name in voters.classes)
    step = Step(
        "simulate votes",
        {"per_item": per_item, "annotators": len(voters), "items": len(known), "seen": seen},
        simulated=True,
    )
    table = pl.DataFrame(
        {
            "item": gather(known.items, item),
            "annotator": gather(annotator_names(len(voters)), voter),
            "answer": gather(answers, said),
            "simulated": True,
        }
    )
    provenance = (*voters.provenance, *labels.provenance, step)
    return Judgments(ask("choose-one", voters.classes), table, provenance=provenance)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return counts / counts.sum(axis=-1, keepdims=True)


# Turn labels into yes, no or unsure from simulated people, each with thresholds of their own.
#
# A person perceives the probability of each class with noise, says no below one threshold, yes
# from another on, and unsure between. Whoever has the two far apart is often unsure; labels
# that weigh every "unsure" alike ignore that (S4-59).

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)

NEVER = 1e-9
"""A rate of "unsure" below this is none: it would be lost among rounding errors."""


@dataclass(frozen=True)
class UnsurePeople:
    """How people turn a perceived probability into yes, no or unsure (S4-59).

    The defaults give about the doubt of paper 5's annotators of MNIST when people see the
    neighbours of a handwritten digit: 2.8 % of classes unsure (paper 2.5 %, S4-47), 14 % of
    answers with any (paper 14.2 %, S4-48).
    """

    no_below: float = 0.2
    """Probability below which a typical person says no."""
    yes_from: float = 0.5
    """Probability from which on a typical person says yes."""
    shift: float = 0.04
    """Standard deviation between people of where the two thresholds lie."""
    width: float = 0.3
    """Standard deviation between people of the logarithm of the gap between them."""
    noise: float = 0.04
    """Standard deviation of each perceived probability."""
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        if not self.no_below <= self.yes_from:
            raise DataError(
                f"People say no below {self.no_below} and yes from {self.yes_from} on; the second "
                "must not be the smaller."
            )
        if min(self.shift, self.width, self.noise) < 0:
            raise DataError(
                f"Standard deviations are 0 or more; found shift {self.shift}, width "
                f"{self.width}, noise {self.noise}."
            )


class Rates(NamedTuple):
    """Shares of the answers about single classes."""

    yes: float
    unsure: float
    no: float


def answer_rates(judgments: Judgments) -> Rates:
    """Shares of yes, unsure and no over all answered classes of all judgments."""
    if judgments.question.kind != "yes-no-unsure":
        raise DataError(
            f"Rates of yes, no and unsure need answers of that kind; the question was "
            f"{judgments.question.kind}."
        )
    stated = judgments.statements
    given = np.array(
        [
            ((stated.rank == 1) & ~stated.unsure)[stated.index].sum(),
            stated.unsure[stated.index].sum(),
            stated.ruled_out[stated.index].sum(),
        ],
        dtype=np.float64,
    )
    if not given.sum():
        raise DataError("None of these judgments answers yes, no or unsure about any class.")
    return Rates(*(given / given.sum()).tolist())


def expected_rates(people: UnsurePeople, labels: LabelSet) -> Rates:
    """The rates that people of these thresholds give on average over all items and classes.

    A threshold of a random person at mean t is Gaussian given the gap, so P(yes | p) is the
    mean over gaps of Φ((p − t) / √(noise² + shift²)); the mean is a Gauss–Hermite sum.

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[0.8, 0.2]])
    >>> people = UnsurePeople(0.5, 0.5, shift=0.1, width=0, noise=0.1)
    >>> round(expected_rates(people, labels).yes, 12)
    0.5
    """
    scale = float(np.hypot(people.noise, people.shift))
    if not scale > 0:
        raise DataError(
            "Rates can be foreseen only where there is noise or a shift between people."
        )
    probs, counts = np.unique(labels.probs.round(4), return_counts=True)
    gaps = _gap_factor(_NODES, people.width)  # (nodes,)
    middle = (people.no_below + people.yes_from) / 2
    half = (people.yes_from - people.no_below) / 2
    upper = ndtr((probs[:, None] - middle - half * gaps) / scale)  # (probs, nodes)
    lower = ndtr((middle - half * gaps - probs[:, None]) / scale)
    total = counts.sum() * _WEIGHTS.sum()
    yes, no = float(counts @ upper @ _WEIGHTS / total), float(counts @ lower @ _WEIGHTS / total)
    return Rates(yes, max(1 - yes - no, 0.0), no)


def fit_unsure_people(
    labels: LabelSet, rates: Rates, *, people: UnsurePeople | None = None
) -> UnsurePeople:
    """Thresholds that give the wanted rates of yes and unsure on these items, on average.

    Two moments, two thresholds; how much people differ and how noisily they see is taken from
    ``people`` (left out: the defaults). ``rates`` come from ``answer_rates`` or from a plan.
    """
    base = UnsurePeople() if people is None else people
    if min(rates) < 0 or rates.no <= 0 or rates.yes <= 0 or not np.isclose(sum(rates), 1):
        raise DataError(
            f"The rates of yes and no must be above 0 and all three sum to 1; found yes "
            f"{rates.yes}, unsure {rates.unsure}, no {rates.no}."
        )

    if rates.unsure < NEVER:
        fitted = _with_gap(base, labels, 0.0, yes=rates.yes)
    else:
        fitted = _with_gap(base, labels, _half_gap(base, labels, rates), yes=rates.yes)
    step = Step("fit unsure people", rates._asdict())
    return replace(fitted, provenance=(*base.provenance, *labels.provenance, step))


def draw_thresholds(
    people: UnsurePeople, count: int, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The two thresholds of ``count`` persons, shape (count, 2): no below, yes from."""
    middle = (people.no_below + people.yes_from) / 2 + people.shift * rng.standard_normal(count)
    half = (people.yes_from - people.no_below) / 2
    half_gap = half * _gap_factor(rng.standard_normal(count), people.width)
    return np.stack([middle - half_gap, middle + half_gap], axis=1)


def simulate_yes_no_unsure(
    people: UnsurePeople,
    labels: LabelSet,
    *,
    per_item: int,
    annotators: int,
    rng: np.random.Generator,
) -> Judgments:
    """``per_item`` answers about each item by different people, who share the work evenly.

    Someone who says no to every class says "none of these".
    """
    item, annotator = who_answers_what(
        n_items=len(labels), per_item=per_item, n_annotators=annotators, rng=rng
    )
    thresholds = draw_thresholds(people, annotators, rng=rng)[annotator]  # (answers, 2)
    shape = (len(item), len(labels.classes))
    perceived = labels.probs[item] + people.noise * rng.standard_normal(shape)
    said = (perceived >= thresholds[:, :1]).astype(np.int8) + (perceived >= thresholds[:, 1:])
    step = Step(
        "simulate yes-no-unsure",
        {
            "per_item": per_item,
            "annotators": annotators,
            "items": len(labels),
            "no_below": people.no_below,
            "yes_from": people.yes_from,
            "shift": people.shift,
            "width": people.width,
            "noise": people.noise,
        },
        simulated=True,
    )
    table = pl.DataFrame(
        {
            "item": gather(labels.items, item),
            "annotator": gather(annotator_names(annotators), annotator),
            "answer": _written(labels.classes, said),
            "simulated": True,
        }
    )
    provenance = (*people.provenance, *labels.provenance, step)
    return Judgments(ask("yes-no-unsure", labels.classes), table, provenance=provenance)


def _half_gap(people: UnsurePeople, labels: LabelSet, rates: Rates) -> float:
    """Half the gap between the thresholds at which people are as often unsure as wanted."""

    def how_unsure(half: float) -> float:
        return expected_rates(_with_gap(people, labels, half, yes=rates.yes), labels).unsure

    widest = 0.5
    while how_unsure(widest) < rates.unsure:
        widest *= 2
        if widest > 1e4:
            raise DataError(
                f"No thresholds make such people unsure in {rates.unsure:.3g} of their answers; "
                f"let them differ less in the gap between thresholds (width {people.width})."
            )
    return float(brentq(lambda half: how_unsure(half) - rates.unsure, 0.0, widest, xtol=1e-9))


def _with_gap(people: UnsurePeople, labels: LabelSet, half: float, *, yes: float) -> UnsurePeople:
    """The people with thresholds ``half`` off a middle at which they say yes as often as wanted."""

    def moved(middle: float) -> UnsurePeople:
        return replace(people, no_below=middle - half, yes_from=middle + half)

    reach = 8 * float(np.hypot(people.noise, people.shift))  # no noise goes further
    lowest = -reach - half * float(_gap_factor(_NODES, people.width).max())  # yes to everything
    middle = brentq(
        lambda middle: expected_rates(moved(middle), labels).yes - yes, lowest, 1 + reach, xtol=1e-9
    )
    return moved(float(middle))


def _gap_factor(normal: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """How many times the typical gap a person's is; one on average."""
    return np.exp(width * normal - width**2 / 2)


def _written(classes: tuple[str, ...], said: NDArray[np.int8]) -> pl.Series:
    words = ("no", "unsure", "yes")
    distinct, index = np.unique(said, axis=0, return_inverse=True)
    texts = tuple(
        json.dumps(
            {name: words[value] for name, value in zip(classes, row, strict=True)},
            ensure_ascii=False,
        )
        for row in distinct.tolist()
    )
    return gather(texts, index.ravel())


# Turn positions or similarities of items into triplet answers over a noisy channel (S1-20).
#
# "Is x closer to y than to z?" is one bit. The channel flips each bit with a probability ε of
# its own, whoever answers and however hard the question.


@dataclass(frozen=True)
class NoisyChannel:
    """People who give the wrong answer with probability ``flip`` (ε_s in S1-20)."""

    flip: float = 0.1
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        if not 0 <= self.flip <= 1:
            raise DataError(f"The probability of a flip is a number from 0 to 1, not {self.flip}.")


def draw_triples(n_items: int, count: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """``count`` random triples (x, y, z) of three different positions, shape (count, 3)."""
    if n_items < 3:
        raise DataError(f"A triplet needs three items; there are {n_items}.")
    first = rng.integers(n_items, size=count)
    second = rng.integers(n_items - 1, size=count)
    second += second >= first  # skips the first
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = rng.integers(n_items - 2, size=count)
    third += third >= low
    third += third >= high
    return np.stack([first, second, third], axis=1)


def closer_by_position(
    positions: NDArray[np.float64], triples: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How much nearer y is to x than z is, for each triple (x, y, z), in Euclidean distance.

    >>> closer_by_position(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1, 2], [2, 0, 1]]))
    array([ 2., -1.])
    """
    _check_triples(triples, len(positions))
    x, y, z = (positions[triples[:, place]] for place in range(3))  # each (triples, dimensions)
    return np.linalg.norm(x - z, axis=1) - np.linalg.norm(x - y, axis=1)


def send(
    channel: NoisyChannel,
    items: Sequence[str],
    triples: NDArray[np.int64],
    closer: NDArray[np.float64],
    *,
    per_triple: int = 1,
    annotators: int = 1,
    provenance: Provenance = (),
    rng: np.random.Generator,
) -> Comparisons:
    """Ask each triple (x, y, z) ``per_triple`` times and flip each answer with probability ε.

    ``closer`` says how much nearer y is than z, by one of the functions above; where it is 0
    the true answer is a coin toss, made once a triple. Nobody answers a triple twice.
    ``provenance`` is that of the positions or similarities.

    >>> triples = np.array([[0, 1, 2]])
    >>> closer = closer_by_position(np.array([[0.0], [1.0], [3.0]]), triples)
    >>> rng = np.random.default_rng(0)
    >>> send(NoisyChannel(flip=1), "abc", triples, closer, rng=rng).table["closer"][0]
    'second'
    """
    assert closer.shape == (len(triples),)
    toss = rng.random(len(triples)) < 0.5
    truth = np.where(closer == 0, toss, closer > 0)  # (triples,) whether y is nearer
    asked, annotator = who_answers_what(
        n_items=len(triples), per_item=per_triple, n_annotators=annotators, rng=rng
    )
    flipped = rng.random(len(asked)) < channel.flip
    names = tuple(items)
    table = pl.DataFrame(
        {
            "item": gather(names, triples[asked, 0]),
            "first": gather(names, triples[asked, 1]),
            "second": gather(names, triples[asked, 2]),
            "closer": gather(("second", "first"), (truth[asked] ^ flipped).astype(np.int64)),
            "annotator": gather(annotator_names(annotators), annotator),
        }
    )
    step = Step(
        "simulate triplets",
        {
            "triples": len(triples),
            "per_triple": per_triple,
            "annotators": annotators,
            "flip": channel.flip,
        },
        simulated=True,
    )
    steps = (*channel.provenance, *provenance, step)
    return Comparisons(COMPARISON_QUESTIONS["triplets"], table, provenance=steps)


def _check_triples(triples: NDArray[np.int64], n_items: int) -> None:
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise DataError(f"Triples have the shape (triples, 3), not {triples.shape}.")
    if len(triples) and not (triples.min() >= 0 and triples.max() < n_items):
        raise DataError(
            f"Triples name items by position, from 0 to {n_items - 1}; found "
            f"{triples.min()} to {triples.max()}."
        )
