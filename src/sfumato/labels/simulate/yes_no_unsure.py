"""Turn labels into yes, no or unsure from simulated people, each with thresholds of their own.

A person perceives the probability of each class with noise, says no below one threshold, yes
from another on, and unsure between. Whoever has the two far apart is often unsure; labels
that weigh every "unsure" alike ignore that (S4-59).
"""

import json
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import annotator_names, gather, who_answers_what
from sfumato.provenance import Provenance, Step

__all__ = [
    "Rates",
    "UnsurePeople",
    "answer_rates",
    "draw_thresholds",
    "expected_rates",
    "fit_unsure_people",
    "simulate_yes_no_unsure",
]

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
