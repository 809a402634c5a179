"""Turn several people's judgments of each item into one label distribution, by a named method.

Every method states which of two questions it answers: *what people say* (their distribution) or
*which label is true* (a belief about one hidden label). They are not interchangeable: see
``result``. ``held_out_log_loss`` in ``heldout`` tells which method predicts people best.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never

import numpy as np

from sfumato.errors import DataError
from sfumato.labels.aggregate.crowdlab import crowdlab
from sfumato.labels.aggregate.dawid_skene import dawid_skene, dawid_skene_next, one_coin
from sfumato.labels.aggregate.evidence import (
    Codes,
    Evidence,
    evidence_of_distributions,
    evidence_of_votes,
    sum_by,
)
from sfumato.labels.aggregate.glad import glad
from sfumato.labels.aggregate.habits import habits
from sfumato.labels.aggregate.informed import informed
from sfumato.labels.aggregate.mace import mace
from sfumato.labels.aggregate.recalibrated import recalibrated
from sfumato.labels.aggregate.result import (
    Aggregation,
    ConfusionOf,
    Estimand,
    Fit,
    ProbabilityIntervals,
)
from sfumato.labels.aggregate.shares import (
    linear_pool,
    log_pool,
    majority,
    mean,
    median,
    skill_weighted_pool,
    surprisingly_popular,
    vote_shares,
    wawa,
    zero_based_skill,
)
from sfumato.labels.aggregate.shrinkage import shrunk_shares
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.votes import Votes, votes_of
from sfumato.names import find, format_count
from sfumato.provenance import Setting, Step, to_json

__all__ = [
    "AGGREGATORS",
    "Aggregation",
    "Aggregator",
    "Estimand",
    "ProbabilityIntervals",
    "aggregate",
    "check_options",
]

Reads = Literal["votes", "distributions", "votes and predictions", "votes and perhaps predictions"]

Given = Literal["weights", "gold"]
"""What is known beforehand: how much each annotator counts, and the true labels of some items."""


@dataclass(frozen=True)
class Aggregator:
    """A method, the question it answers, and what it can be told."""

    estimand: Estimand
    reads: Reads
    run: Callable[..., Fit]
    about: str
    """One sentence: what it does and what its ``quality`` means."""
    options: Mapping[str, Setting] = field(default_factory=dict)
    """Each option and its default."""
    given: tuple[Given, ...] = ()
    """What it can be told of people and items."""
    needs_names: bool = False
    """Whether it models annotators, and so refuses judgments whose author is not recorded."""
    needs_scale: bool = False
    """Whether it needs classes that are the points of a scale."""


EM: Mapping[str, Setting] = {"iterations": 100, "tolerance": 1e-6}

AGGREGATORS: dict[str, Aggregator] = {
    "mean": Aggregator(
        estimand="what people say",
        reads="distributions",
        run=mean,
        about="The average of each item's judgments; the default for distributions. No quality.",
    ),
    "vote-shares": Aggregator(
        estimand="what people say",
        reads="votes",
        run=vote_shares,
        about="Votes for each class over all votes. No quality.",
        given=("weights",),
    ),
    "shrunk-shares": Aggregator(
        estimand="what people say",
        reads="votes",
        run=shrunk_shares,
        about="Vote shares pulled towards a prior fitted to all items (empirical Bayes); the "
        "default for few votes. Unanimous votes stay short of certainty. No quality.",
        options={"iterations": 200, "tolerance": 1e-5, "pseudo_votes": 1.0},
    ),
    "informed": Aggregator(
        estimand="what people say",
        reads="votes and perhaps predictions",
        run=informed,
        about="Vote shares under a prior that has seen people and, where given, a model's beliefs; "
        "with a guard that keeps it near shrunk shares where that is better. No quality.",
        options={"iterations": 300, "tolerance": 1e-6, "pseudo_votes": 1.0},
    ),
    "habits": Aggregator(
        estimand="what people say",
        reads="votes",
        run=habits,
        about="What all of these people would say, each with habits of their own, also of items "
        "that they did not see. Quality: how often one says what others do.",
        options={"rounds": 300, "tolerance": 1e-3, "strength": 10.0, "ordered": False},
        needs_names=True,
    ),
    "linear-pool": Aggregator(
        estimand="what people say",
        reads="distributions",
        run=linear_pool,
        about="Weighted average of judgments. Quality: the weight given, 1 where none was.",
        given=("weights",),
    ),
    "log-pool": Aggregator(
        estimand="what people say",
        reads="distributions",
        run=log_pool,
        about="Weighted geometric mean of judgments, zeros raised to a floor. Quality: the weight "
        "given, 1 where none was.",
        options={"floor": 0.01},
        given=("weights",),
    ),
    "skill-weighted-pool": Aggregator(
        estimand="what people say",
        reads="distributions",
        run=skill_weighted_pool,
        about="Average weighted by how much a person agrees with the others. Quality: that "
        "agreement.",
        options={"prior_pairs": 5.0},
        needs_names=True,
    ),
    "recalibrated": Aggregator(
        estimand="what people say",
        reads="distributions",
        run=recalibrated,
        about="A pool in which each person's stated probabilities are sharpened, flattened or "
        "discounted by how well they predict what others state. Quality: how much is believed.",
    ),
    "wawa": Aggregator(
        estimand="what people say",
        reads="votes",
        run=wawa,
        about="Vote shares weighted by agreement with the majority, or with known labels. "
        "Quality: that agreement.",
        options={"ties": "share"},
        given=("gold",),
        needs_names=True,
    ),
    "zero-based-skill": Aggregator(
        estimand="what people say",
        reads="votes",
        run=zero_based_skill,
        about="Vote shares weighted by agreement with the majority of the weighted votes, again "
        "and again. Quality: that agreement.",
        options={
            "rounds": 100,
            "rate": 1.0,
            "rate_rounds": 20,
            "rate_factor": 0.5,
            "ties": "share",
        },
        needs_names=True,
    ),
    "dawid-skene-next": Aggregator(
        estimand="what people say",
        reads="votes",
        run=dawid_skene_next,
        about="What the next annotator, or a named one, would say: Dawid–Skene's belief in each "
        "true label times how people answer it. Quality: expected share of right answers.",
        options={**EM, "annotator": None, "prior_votes": 5.0},
        given=("weights", "gold"),
        needs_names=True,
    ),
    "majority": Aggregator(
        estimand="which label is true",
        reads="votes",
        run=majority,
        about="The class with most votes; ties share, go to the commoner class, or fall at random. "
        "Quality: share of votes with the majority.",
        options={"ties": "share"},
        given=("weights",),
    ),
    "median": Aggregator(
        estimand="which label is true",
        reads="votes",
        run=median,
        about="The middle point of a scale; two share it where votes divide in halves. Quality: "
        "share of votes with the median.",
        given=("weights",),
        needs_scale=True,
    ),
    "surprisingly-popular": Aggregator(
        estimand="which label is true",
        reads="votes and predictions",
        run=surprisingly_popular,
        about="The class that people choose more often than they predict of others; predictions "
        "are what they expect. Quality: share of votes with it.",
        given=("weights",),
    ),
    "dawid-skene": Aggregator(
        estimand="which label is true",
        reads="votes",
        run=dawid_skene,
        about="A hidden label and a confusion matrix for each annotator. Quality: expected share "
        "of right answers.",
        options={**EM, "initial_confusions": None, "initial": "add"},
        given=("weights", "gold"),
        needs_names=True,
    ),
    "dawid-skene-soft": Aggregator(
        estimand="which label is true",
        reads="distributions",
        run=dawid_skene,
        about="Dawid–Skene on whole distributions: each counts as fractions of votes. Quality: "
        "expected share of right mass.",
        options={**EM, "initial_confusions": None, "initial": "add"},
        given=("weights", "gold"),
        needs_names=True,
    ),
    "one-coin": Aggregator(
        estimand="which label is true",
        reads="votes",
        run=one_coin,
        about="A hidden label and one skill for each annotator. Quality: the probability of a "
        "right answer.",
        options=EM,
        given=("weights", "gold"),
        needs_names=True,
    ),
    "glad": Aggregator(
        estimand="which label is true",
        reads="votes",
        run=glad,
        about="A hidden label, abilities of annotators and difficulties of items. Quality: ability "
        "α; at 0 an answer is right half of the time, below 0 less often.",
        options={**EM, "gradient_steps": 25},
        given=("weights", "gold"),
        needs_names=True,
    ),
    "mace": Aggregator(
        estimand="which label is true",
        reads="votes",
        run=mace,
        about="A hidden label, and annotators who either know it or answer blindly. Quality: the "
        "probability that they look.",
        options={**EM, "restarts": 10},
        given=("weights", "gold"),
        needs_names=True,
    ),
    "crowdlab": Aggregator(
        estimand="which label is true",
        reads="votes and predictions",
        run=crowdlab,
        about="Votes and a classifier's predictions, averaged by how trustworthy each is. Quality: "
        "the annotator's weight.",
        needs_names=True,
    ),
}


def aggregate(
    crowd: CrowdLabels | Votes | Evidence,
    name: str,
    *,
    rng: np.random.Generator,
    interval: Literal["none", "default"] = "none",
    level: float = 0.95,
    replicates: int = 200,
    predictions: LabelSet | None = None,
    **options: Setting,
) -> Aggregation:
    """One label per item that was judged, by the method called ``name``.

    Methods that read votes take each judgment's most probable class (``votes_of``). ``interval``
    asks for the method's own kind: posterior for shares, otherwise a bootstrap over annotators
    with so many ``replicates``. The order of rows, items and classes does not matter.

    >>> names = ("a", "b"), ("p", "q"), ("cat", "dog")
    >>> votes = Votes(*names, *np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]]))
    >>> result = aggregate(votes, "vote-shares", rng=np.random.default_rng(0))
    >>> result.estimand, result.labels.probs.tolist()
    ('what people say', [[0.5, 0.5], [1.0, 0.0]])
    """
    found = find(AGGREGATORS, name, what="aggregator")
    check_options(name, options)
    told = {option: options.pop(option) for option in found.given if option in options}
    settings = {**found.options, **options}
    evidence = crowd if isinstance(crowd, Evidence) else _evidence(crowd, name, found, predictions)
    if isinstance(crowd, CrowdLabels) and crowd.values is not None:
        evidence = evidence.with_values(dict(zip(crowd.classes, crowd.values, strict=True)))
    if told.get("weights") is not None:
        evidence = evidence.with_weights(_mapping(name, "weights", told["weights"]))
    if told.get("gold") is not None:
        evidence = evidence.with_gold(_mapping(name, "gold", told["gold"]))
    fit = found.run(evidence, rng=rng, **settings)
    asked: dict[str, Setting] = {"interval": interval}
    if predictions is not None:
        asked["predictions"] = to_json(predictions.provenance)
    made = None
    match interval:
        case "none":
            pass
        case "default":
            _check_interval(level, replicates)
            made = fit.interval(level, replicates, rng)
            asked |= {"level": level, "replicates": replicates, "kind": made.kind}
        case _:
            assert_never(interval)
    step = Step(
        f"aggregate {name}",
        {
            "estimand": found.estimand,
            **{key: _record(value) for key, value in (settings | told).items()},
            **asked,
            "fitted": dict(fit.fitted),
        },
    )
    fit = replace(fit, remarks=(*fit.remarks, *_not_converged(name, fit, evidence)))
    return _in_callers_order(evidence, fit, made, found.estimand, step)


def _mapping(name: str, option: str, value: Setting) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DataError(f"{option!r} of {name!r} goes by name; it is a {type(value).__name__}.")
    return {str(key): entry for key, entry in value.items()}


def _record(value: Setting) -> Setting:
    """A setting as it stands in the provenance: tables by their size and fingerprint."""
    if not isinstance(value, Mapping):
        return value
    text = json.dumps(value, sort_keys=True, default=str)
    return {"entries": len(value), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _not_converged(name: str, fit: Fit, evidence: Evidence) -> tuple[str, ...]:
    if fit.converged:
        return ()
    gain = (fit.trace[-1] - fit.trace[-2]) / evidence.mass.sum() if len(fit.trace) > 1 else np.nan
    return (
        f"{name} has not converged after {format_count(len(fit.trace), 'iteration')}: the last one "
        f"gained {gain:.1e} log-likelihood per judgment.",
    )


def check_options(name: str, options: Mapping[str, Setting]) -> None:
    """Refuse, before any work, options that the aggregator does not have."""
    found = find(AGGREGATORS, name, what="aggregator")
    for option, value in options.items():
        if not _takes(name, option):
            known = ", ".join(map(repr, (*found.options, *found.given))) or "none"
            others = ", ".join(repr(other) for other in AGGREGATORS if _takes(other, option))
            raise DataError(
                f"{name!r} takes no option {option!r}. Its options: {known}."
                + (f" {option!r} is for {others}." if others else "")
            )
        _check_option(name, option, value, found.options.get(option))


def _takes(name: str, option: str) -> bool:
    return option in (*AGGREGATORS[name].options, *AGGREGATORS[name].given)


def _check_option(name: str, option: str, value: Setting, default: Setting) -> None:
    match default:
        case bool():
            right, expected = isinstance(value, bool), "true or false"
        case int():
            right, expected = isinstance(value, int) and value >= 1, "a whole number from 1 up"
        case float():
            right, expected = isinstance(value, int | float), "a number"
        case str():
            right, expected = isinstance(value, str), "a word"
        case _:
            return  # no default to compare with: the method looks at it
    if not right:
        raise DataError(f"Setting {option!r} of {name!r} is {value!r}; it must be {expected}.")


def _check_interval(level: float, replicates: int) -> None:
    if not 0 < level < 1:
        raise DataError(f"The level of an interval is {level}; it must be between 0 and 1.")
    if replicates < 2:
        raise DataError(f"An interval needs at least 2 replicates, not {replicates}.")


def _evidence(
    crowd: CrowdLabels | Votes, name: str, found: Aggregator, predictions: LabelSet | None
) -> Evidence:
    if predictions is not None and "predictions" not in found.reads:
        raise DataError(
            f"{name!r} reads no predictions; leave them out, or use 'informed' or 'crowdlab'."
        )
    if isinstance(crowd, CrowdLabels) and found.reads != "distributions":
        crowd = votes_of(crowd)
    if found.needs_names:
        _require_names(crowd, name)
    evidence = (
        evidence_of_votes(crowd) if isinstance(crowd, Votes) else evidence_of_distributions(crowd)
    )
    return evidence if predictions is None else evidence.with_predictions(predictions)


def _require_names(crowd: CrowdLabels | Votes, name: str) -> None:
    if isinstance(crowd, CrowdLabels):  # whose judgments they are, whatever they say
        crowd = Votes(
            crowd.items, crowd.annotators, crowd.classes, crowd.item, crowd.annotator, crowd.item
        )
    crowd.require_annotators(name)


def _in_callers_order(
    evidence: Evidence, fit: Fit, made: ProbabilityIntervals | None, estimand: Estimand, step: Step
) -> Aggregation:
    items, people, classes = evidence.item_order, evidence.annotator_order, evidence.class_order
    table = np.ix_(items, classes)
    names = tuple(map(evidence.annotators.__getitem__, people.tolist()))
    judgments = sum_by(evidence.item, evidence.mass, len(items))  # mass sums to one per judgment
    return Aggregation(
        labels=LabelSet(
            tuple(map(evidence.items.__getitem__, items.tolist())),
            tuple(map(evidence.classes.__getitem__, classes.tolist())),
            fit.probs[table],
            judgments[items].round(),
            (*evidence.provenance, step),
            values=None if evidence.values is None else tuple(evidence.values[classes].tolist()),
        ),
        estimand=estimand,
        annotators=names,
        quality=None
        if fit.quality is None
        else dict(zip(names, fit.quality[people].tolist(), strict=True)),
        confusions=None if fit.confusion is None else _by_callers(fit.confusion, people, classes),
        difficulty=None if fit.difficulty is None else fit.difficulty[items],
        types=None if fit.types is None else fit.types[items],
        habits=None if fit.habits is None else fit.habits[people][:, :, classes],
        trace=fit.trace,
        converged=fit.converged,
        interval=None
        if made is None
        else replace(made, low=made.low[table], high=made.high[table]),
        fitted=fit.fitted,
        remarks=fit.remarks,
    )


def _by_callers(confusion: ConfusionOf, people: Codes, classes: Codes) -> ConfusionOf:
    square = np.ix_(classes, classes)
    return lambda row: confusion(int(people[row]))[square]
