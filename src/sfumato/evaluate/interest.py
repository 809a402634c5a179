"""Turn labels and predictions into the items worth looking at, with the numbers behind each.

Nothing here is a finding: a list of items is chosen by a rule, and what the rule asked for is
true of the list by construction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.errors import DataError
from sfumato.evaluate.pairs import TIE, require_same_rows, top_class
from sfumato.labels.divergence import kl_rows, total_variation_rows
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy, non_max_mass

__all__ = [
    "FLOOR",
    "OUR_RULES",
    "PEOPLE_ONLY",
    "InterestRules",
    "Kind",
    "ambiguous_by_class",
    "bars",
    "kinds_of_interest",
    "mean_symmetric_relative_entropy",
    "same_top_other_rest",
    "samples_of_interest",
]

PerItem = NDArray[np.float64]  # (items,)

Kind = Literal["few strays", "answers spread", "two readings"]

FLOOR = 1e-8
"""Probabilities of networks below this count as this: a softmax stored with 32 bits may round
to zero, and one such class would make a divergence infinite."""


@dataclass(frozen=True)
class InterestRules:
    """The thresholds of ``kinds_of_interest``; the paper gives none, so these are ours.

    Human thresholds are shares. Those on variability are quantiles over the disputed items,
    because its size depends on epochs and learning rate.
    """

    few_strays: float = 0.2
    """Few strays: at most this mass lies off the top class."""
    few_unsure: float = 0.1
    """Few strays: at most this share of annotators was unsure."""
    confident: float = 0.5
    """Few strays: the model's mean probability of its target is at least this, more than
    for all other classes together."""
    spread: float = 0.5
    """Answers spread: the entropy is at least this part of log K, the entropy of knowing nothing."""
    many_unsure: float = 0.5
    """Answers spread: at least this share of annotators was unsure."""
    two_readings: float = 0.8
    """Two readings: the top two classes hold at least this mass."""
    second_reading: float = 0.25
    """Two readings: the second class holds at least this mass."""
    steady: float = 0.5
    """Few strays, answers spread: the variability is at most this quantile."""
    volatile: float = 0.5
    """Two readings: the variability is at least this quantile."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value <= 1:
                raise DataError(f"The threshold {field.name} is {value}; give one from 0 to 1.")


OUR_RULES = InterestRules()

PEOPLE_ONLY = InterestRules(confident=0, steady=1, volatile=0)
"""The same kinds from what people said alone. To ask how models fare on each kind, choose the
items with these: with rules that read the model the answer would be built in."""


def kinds_of_interest(
    human: LabelSet,
    *,
    confidence: PerItem,
    variability: PerItem,
    unsure: PerItem | None = None,
    rules: InterestRules = OUR_RULES,
) -> pl.DataFrame:
    """Each item's kind by the rules, null where none fits, and the numbers that decided (S4-52).

    S4 shows three sorts of disputed items (figure 2, chosen by eye). Here an item is *disputed*
    if any mass lies off its top class, and then

    - "few strays" (1): few answers off the top class, few unsure, a confident and steady model;
      the paper calls such items annotator noise;
    - "answers spread" (3): answers over many classes and many annotators unsure, a steady model;
      the paper's noisy images. Where nobody recorded being unsure, the top two classes holding
      less than ``two_readings`` stands for it;
    - "two readings" (2): two classes hold nearly all the mass, the second a good part of it,
      and the model varies; the paper's true ambiguity.

    The names say what the rule saw. Whether somebody slipped or saw something, no label tells: that
    is for a person who looks at the item. The first kind that fits counts. ``confidence`` and ``variability`` are the mean and standard
    deviation over epochs and seeds of the probability of the target (S4-34); ``unsure`` is the
    share of annotators with an unsure answer (S4-48), NaN where unknown. An item whose model
    numbers are NaN fits only rules that leave the model out. Columns ``item``, ``kind``,
    ``human_entropy``, ``off_top``, ``top_two``, ``second_mass``, ``unsure``, ``confidence``,
    ``variability``.
    """
    unsure = np.full(len(human), np.nan) if unsure is None else unsure
    given = {"confidence": confidence, "variability": variability, "unsure": unsure}
    known = {name: _per_item(values, name, human) for name, values in given.items()}
    ordered = np.sort(human.probs, axis=1)[:, ::-1]
    second = ordered[:, 1] if len(human.classes) > 1 else np.zeros(len(human))
    numbers = {
        "human_entropy": entropy(human),
        "off_top": np.where(ordered[:, 0] >= 1 - TIE, 0.0, non_max_mass(human)),
        "top_two": ordered[:, 0] + second,
        "second_mass": second,
        **{name: known[name] for name in ("unsure", "confidence", "variability")},
    }
    fits = _fitting(numbers, len(human.classes), rules)
    kind: NDArray[np.object_] = np.full(len(human), None, dtype=object)
    for name in reversed(get_args(Kind)):  # so that the first that fits stays
        kind[fits[name]] = name
    names = {"item": human.items, "kind": pl.Series(kind.tolist(), dtype=pl.String)}
    return pl.DataFrame({**names, **numbers})


def samples_of_interest(kinds: pl.DataFrame, *, count: int = 10) -> pl.DataFrame:
    """The ``count`` clearest items of each kind, from ``kinds_of_interest``.

    Clearest are: of few strays the highest confidence, of answers spread the highest entropy, of
    two readings the highest mass of the second class; equal ones by name. Where the model's
    numbers are unknown they sort last.
    """
    clearest: dict[Kind, str] = {
        "few strays": "confidence",
        "answers spread": "human_entropy",
        "two readings": "second_mass",
    }
    return pl.concat(
        [
            kinds.filter(pl.col("kind") == kind)
            .sort(pl.col(column).fill_nan(None), "item", descending=[True, False], nulls_last=True)
            .head(_count(count))
            for kind, column in clearest.items()
        ]
    )


def same_top_other_rest(human: LabelSet, model: LabelSet, *, count: int = 8) -> pl.DataFrame:
    """Items where people and model share the top guess and differ most over the rest (S0-46).

    "The rest differs" by Σ |p - q| over all classes but the shared top one: it counts mass that
    people put on alternatives and the model does not (overconfident), the reverse, and
    alternatives that are swapped, all unseen by accuracy. Items where either side has several top
    classes are left out. Columns ``item``, ``top``, ``rest_difference``, ``human_rest``,
    ``model_rest`` (masses off the top), ``human_second``, ``model_second`` (null where there is no
    second, or no single one), ``total_variation``; largest difference first, equal ones by name.
    """
    require_same_rows(human, model)
    top = top_class(human)
    agreed = (top == top_class(model)) & _one_top(human.probs) & _one_top(model.probs)
    rows = np.arange(len(human))
    rests = [labels.probs.copy() for labels in (human, model)]
    for rest in rests:
        rest[rows, top] = 0
    classes = np.array(human.classes, dtype=object)
    found = pl.DataFrame(
        {
            "item": human.items,
            "top": classes[top].tolist(),
            "rest_difference": np.abs(rests[0] - rests[1]).sum(axis=1),
            "human_rest": rests[0].sum(axis=1),
            "model_rest": rests[1].sum(axis=1),
            "human_second": pl.Series(_name_of_top(rests[0], classes), dtype=pl.String),
            "model_second": pl.Series(_name_of_top(rests[1], classes), dtype=pl.String),
            "total_variation": total_variation_rows(human.probs, model.probs),
        }
    )
    agreed_only = found.filter(pl.Series(agreed))
    return agreed_only.sort("rest_difference", "item", descending=[True, False]).head(_count(count))


def mean_symmetric_relative_entropy(models: Sequence[LabelSet], *, floor: float = FLOOR) -> PerItem:
    """How far models diverge on each item: mean over their pairs of KL(p‖q) + KL(q‖p) (S1-58).

    This is Kullback's symmetric divergence, the sum of both directions; the paper does not say
    whether it took the sum or its half, which makes no difference to the order of items.

    >>> models = [LabelSet(("a",), ("cat", "dog"), [row]) for row in ([0.5, 0.5], [0.75, 0.25])]
    >>> mean_symmetric_relative_entropy(models).round(4)  # log(3) / 4
    array([0.2747])
    """
    if len(models) < 2:
        raise DataError(f"Divergence of models needs two or more, and {len(models)} was given.")
    for other in models[1:]:
        require_same_rows(models[0], other)
    probs = [_floored(model.probs, floor) for model in models]
    pairs = [kl_rows(p, q) + kl_rows(q, p) for p, q in combinations(probs, 2)]
    return np.mean(pairs, axis=0)


def ambiguous_by_class(
    models: Mapping[str, LabelSet], original: LabelSet, *, count: int = 4, floor: float = FLOOR
) -> pl.DataFrame:
    """Per class the items models find uncertain together, and those on which they part (S1-58).

    The class is the top class of ``original``. Per class, ``chosen_for`` "entropy": the ``count``
    items with the highest mean over models of the entropy of the prediction; "divergence": those
    with the highest ``mean_symmetric_relative_entropy``. An item may be in both. Predictions
    should be for items the models were not trained on. Columns ``class``, ``chosen_for``,
    ``place`` (from 1), ``item``, ``mean_entropy``, ``divergence``.
    """
    predictions = list(models.values())
    divergence = mean_symmetric_relative_entropy(predictions, floor=floor)
    require_same_rows(original, predictions[0])
    shared = np.mean([entr(model.probs).sum(axis=1) for model in predictions], axis=0)
    found = pl.DataFrame(
        {
            "class": np.array(original.classes, dtype=object)[top_class(original)].tolist(),
            "item": original.items,
            "mean_entropy": shared,
            "divergence": divergence,
        },
        schema_overrides={"class": pl.String, "item": pl.String},
    )
    lists = []
    for name in original.classes:
        of_class = found.filter(pl.col("class") == name)
        for chosen_for, column in (("entropy", "mean_entropy"), ("divergence", "divergence")):
            best = of_class.sort(column, "item", descending=[True, False]).head(_count(count))
            place = pl.int_range(1, len(best) + 1, dtype=pl.Int64, eager=True)
            extra = [pl.lit(chosen_for).alias("chosen_for"), place.alias("place")]
            lists.append(best.with_columns(extra))
    order = ("class", "chosen_for", "place", "item", "mean_entropy", "divergence")
    return pl.concat(lists).select(order)


def bars(sources: Mapping[str, LabelSet], items: Sequence[str]) -> pl.DataFrame:
    """What each source believes of the given items: ``item``, ``source``, ``class``,
    ``probability``, for a gallery of bars side by side.
    """
    rows = []
    taken = {source: labels.take(items) for source, labels in sources.items()}
    for place, item in enumerate(items):
        for source, labels in taken.items():
            for name, probability in zip(labels.classes, labels.probs[place], strict=True):
                rows.append((item, source, name, float(probability)))
    text = dict.fromkeys(("item", "source", "class"), pl.String())
    return pl.DataFrame(rows, schema={**text, "probability": pl.Float64()}, orient="row")


def _fitting(
    numbers: Mapping[str, PerItem], n_classes: int, rules: InterestRules
) -> dict[Kind, NDArray[np.bool_]]:
    off_top, unsure, varies = numbers["off_top"], numbers["unsure"], numbers["variability"]
    disputed = off_top > 0
    known = varies[disputed & ~np.isnan(varies)]
    # Without any known variability both limits are infinite the wrong way and no item fits.
    calm, wild = (
        np.quantile(known, [rules.steady, rules.volatile]) if len(known) else (-np.inf, np.inf)
    )
    steady = (varies <= calm) | (rules.steady == 1)
    volatile = (varies >= wild) | (rules.volatile == 0)
    confident = (numbers["confidence"] >= rules.confident) | (rules.confident == 0)
    silent = np.isnan(unsure)
    doubted = np.where(silent, numbers["top_two"] < rules.two_readings, unsure >= rules.many_unsure)
    of_most = numbers["human_entropy"] / np.log(max(n_classes, 2))
    two = _at_least(numbers["top_two"], rules.two_readings)
    return {
        "few strays": disputed
        & _at_least(rules.few_strays, off_top)
        & (silent | (unsure <= rules.few_unsure))
        & confident
        & steady,
        "answers spread": disputed & _at_least(of_most, rules.spread) & doubted & steady,
        "two readings": disputed
        & two
        & _at_least(numbers["second_mass"], rules.second_reading)
        & volatile,
    }


def _at_least(larger: PerItem | float, smaller: PerItem | float) -> NDArray[np.bool_]:
    # 0.55 + 0.25 must be 0.8 whatever the order of the sum
    return np.asarray(larger) >= np.asarray(smaller) - TIE


def _per_item(values: PerItem, name: str, human: LabelSet) -> PerItem:
    checked = np.asarray(values, dtype=np.float64)
    if checked.shape != (len(human),):
        raise DataError(
            f"There are {len(human)} items but {name} has shape {checked.shape}; "
            "give one number an item, NaN where unknown."
        )
    return checked


def _one_top(probs: NDArray[np.float64]) -> NDArray[np.bool_]:
    best = probs.max(axis=1, keepdims=True)
    return (probs >= best * (1 - TIE)).sum(axis=1) == 1


def _name_of_top(rest: NDArray[np.float64], classes: NDArray[np.object_]) -> list[str | None]:
    named = classes[rest.argmax(axis=1)]
    named[~_one_top(rest)] = None  # all zeros is a tie too: there is no second
    return named.tolist()


def _floored(probs: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    if not 0 < floor < 1:
        raise DataError(f"The floor of probabilities is {floor}; give one between 0 and 1.")
    raised = np.maximum(probs, floor)
    return raised / raised.sum(axis=1, keepdims=True)


def _count(count: int) -> int:
    if count < 0:
        raise DataError(f"{count} items were asked for; ask for 0 or more.")
    return count
