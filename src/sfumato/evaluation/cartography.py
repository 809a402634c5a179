"""Turn what networks believed after each epoch into a data map: easy, ambiguous and hard items.

``watched`` holds probabilities of shape (seeds, epochs, items, classes), in evaluation mode at the
end of each epoch. An item's *confidence* is the mean over epochs and seeds of the probability of
its target class, its *variability* the standard deviation (dividing by the number), its
*correctness* the share of epochs and seeds in which the target class is the most probable
(Swayamdipta et al. 2020; S4-34). Which epochs count is said with every map: the original takes
the first, paper 5 the last 5 of 40 (S4-22).

Also here: whether training had ended, and lists of the items worth looking at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Literal, assert_never, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.errors import DataError
from sfumato.evaluation.metrics import TIE, require_same_rows, top_class
from sfumato.labels.alter import apportion
from sfumato.labels.compare import jensen_shannon_rows, kl_rows, total_variation_rows
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy, non_max_mass, strata_of
from sfumato.names import sorted_names
from sfumato.stats import student_interval

Region = Literal["easy", "ambiguous", "hard"]
REGIONS: tuple[Region, ...] = ("easy", "ambiguous", "hard")

Gold = Literal["top class", "expected"]
"""What counts as the probability of the target: that of its most probable class (the first of
those that tie), or Σ q(c) p(c), the chance that a class drawn from the target is one drawn from
the network. For hard targets both are the same; the papers define neither for soft ones."""

WATCHED_TOLERANCE = 0.02
"""How far a watched row may be from one: they are kept with three digits."""


@dataclass(frozen=True)
class Bounds:
    """Where the regions of a data map end. The published values are lost (C17): these are ours.

    Easy is sure of the target and steady; hard is sure of something else and steady; ambiguous
    is the rest, what moves between epochs or seeds or stays in the middle. A value on a bound is
    inside easy or hard.
    """

    easy_confidence: float = 0.75
    """Easy from this confidence up."""
    hard_confidence: float = 0.25
    """Hard from this confidence down."""
    steady_variability: float = 0.2
    """Steady up to this variability; probabilities can have at most 0.5."""

    def __post_init__(self) -> None:
        if not 0 <= self.hard_confidence <= self.easy_confidence <= 1:
            raise DataError(
                f"Hard ends at confidence {self.hard_confidence} and easy begins at "
                f"{self.easy_confidence}; both must be from 0 to 1 and hard not above easy."
            )
        if self.steady_variability < 0:
            raise DataError(
                f"The variability of steady items is at most {self.steady_variability}; it must "
                "be 0 or more."
            )


@dataclass(frozen=True, eq=False)
class DataMap:
    """One point an item, and the region it falls in."""

    items: tuple[str, ...]
    confidence: NDArray[np.float64]
    variability: NDArray[np.float64]
    correctness: NDArray[np.float64]
    """The share of epochs and seeds with the right top class; the original counts them."""
    region: tuple[Region, ...]
    gold: Gold
    bounds: Bounds
    epochs: tuple[int, int]
    """The first and the last epoch that count, from 1."""
    seeds: int


def data_map(
    watched: NDArray[np.floating],
    target: LabelSet,
    *,
    last: int | None = None,
    gold: Gold = "top class",
    bounds: Bounds | None = None,
) -> DataMap:
    """The data map of the items of ``target``, in its order, over the ``last`` epochs or all.

    ``bounds`` default to the fixed ones of ``Bounds``; ``bounds_by_thirds`` gives relative ones.

    >>> watched = np.array([[[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.2, 0.8]]]])
    >>> target = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]])
    >>> found = data_map(watched, target)
    >>> found.confidence.round(3), found.variability.round(3), found.correctness, found.region
    (array([0.8, 0.5]), array([0.1, 0.3]), array([1. , 0.5]), ('easy', 'ambiguous'))
    """
    check_watched(watched, target.items)
    if watched.shape[3] != len(target.classes):
        raise DataError(
            f"{watched.shape[3]} classes were watched, but the target has {len(target.classes)}."
        )
    n_seeds, n_epochs = watched.shape[:2]
    if last is not None and not 1 <= last <= n_epochs:
        raise DataError(f"The last {last} epochs were asked for; {n_epochs} were watched.")
    counted = watched[:, n_epochs - (last or n_epochs) :]
    of_target = _probability_of(target, counted, gold)  # (seeds, epochs, items)
    confidence, variability = of_target.mean(axis=(0, 1)), of_target.std(axis=(0, 1))
    bounds = bounds or Bounds()
    return DataMap(
        target.items,
        confidence,
        variability,
        (counted.argmax(axis=3) == top_class(target)).mean(axis=(0, 1)),
        _regions(confidence, variability, bounds),
        gold,
        bounds,
        (n_epochs - counted.shape[1] + 1, n_epochs),
        n_seeds,
    )


def data_map_table(
    found: DataMap,
    *,
    arm: str = "",
    network: str = "",
    human: LabelSet | None = None,
    uncertainty: NDArray[np.float64] | None = None,
) -> pl.DataFrame:
    """A row an item, with what people's labels of it are, where they are given (S4-50).

    That is the entropy in nats, and the stratum; ``uncertainty`` is what people said of their own
    doubt about each item of the map, where they could.
    """
    n = len(found.items)
    spread, stratum = None, [None] * n
    if human is not None:
        human = human.take(found.items)
        spread = entropy(human)
        stratum = np.where(strata_of(human)["unanimous"], "unanimous", "disputed").tolist()
    return pl.DataFrame(
        {
            "item": list(found.items),
            "arm": [arm] * n,
            "network": [network] * n,
            "confidence": found.confidence,
            "variability": found.variability,
            "correctness": found.correctness,
            "region": list(found.region),
            "stratum": stratum,
            "human_entropy": [None] * n if spread is None else spread,
            "human_uncertainty": [None] * n if uncertainty is None else uncertainty,
        },
        schema={
            **dict.fromkeys(("item", "arm", "network"), pl.String()),
            **dict.fromkeys(("confidence", "variability", "correctness"), pl.Float64()),
            **dict.fromkeys(("region", "stratum"), pl.String()),
            **dict.fromkeys(("human_entropy", "human_uncertainty"), pl.Float64()),
        },
    )


@dataclass(frozen=True)
class DifficultyParts:
    """Item names of the parts, each in natural order, and how many the floor moved."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    moved: int
    """Easy items that went from the other parts to training to reach the floor."""


def difficulty_split(
    found: DataMap,
    target: LabelSet,
    *,
    shares: tuple[float, float, float] = (0.7, 0.15, 0.15),
    easy_floor: int = 0,
    rng: np.random.Generator,
) -> DifficultyParts:
    """Training, validation and test parts with the same mix of regions and classes (S4-41).

    Each part has its share of all items, and of every class in every region, to within one item.
    Then training gets ``easy_floor`` easy items of every class (150 in the paper, S4-42): what it
    lacks comes from the larger of the other two parts; that costs them easy items, and ``moved``
    says how many. A class is the most probable one of ``target``.
    """
    if min(shares) <= 0 or not np.isclose(sum(shares), 1):
        raise DataError(
            f"The shares of training, validation and test are {shares}; each must be above 0 and "
            "they must sum to 1."
        )
    region_of = dict(zip(found.items, found.region, strict=True))
    target = target.take(found.items)
    class_of = dict(zip(target.items, top_class(target).tolist(), strict=True))
    strata: dict[tuple[str, int], list[str]] = {}
    for item in sorted_names(found.items):  # so that the order given does not matter
        strata.setdefault((region_of[item], class_of[item]), []).append(item)
    groups = {
        key: [strata[key][k] for k in rng.permutation(len(strata[key]))] for key in sorted(strata)
    }
    sizes = apportion([len(group) for group in groups.values()], shares)
    parts: tuple[set[str], set[str], set[str]] = set(), set(), set()
    for group, (first, second, _) in zip(groups.values(), sizes, strict=True):
        chosen = (group[:first], group[first : first + second], group[first + second :])
        for part, some in zip(parts, chosen, strict=True):
            part.update(some)
    moved = sum(
        _fill(parts, groups.get(("easy", place), []), easy_floor, name)
        for place, name in enumerate(target.classes)
    )
    train, validation, test = (tuple(sorted_names(list(part))) for part in parts)
    return DifficultyParts(train, validation, test, moved)


def check_watched(watched: NDArray[np.floating], items: Sequence[str] | None = None) -> None:
    """Refuse watched probabilities that are none, naming the item where a row is wrong."""
    if watched.ndim != 4 or not watched.size:
        raise DataError(
            f"The watched probabilities have shape {watched.shape}; expected (seeds, epochs, "
            "items, classes) with at least one of each."
        )
    names = tuple(map(str, range(watched.shape[2]))) if items is None else items
    if len(names) != watched.shape[2]:
        raise DataError(
            f"{watched.shape[2]} items were watched, but there are targets of {len(names)}."
        )
    sums = watched.sum(axis=3, dtype=np.float64)
    wrong = ~np.isfinite(sums) | (np.abs(sums - 1) > WATCHED_TOLERANCE) | (watched < 0).any(axis=3)
    if wrong.any():
        seed, epoch, item = np.argwhere(wrong)[0]
        raise DataError(
            f"The probabilities of item {names[item]!r} in epoch {epoch + 1} of run {seed + 1} "
            f"are no distribution: they sum to {sums[seed, epoch, item]:.4g}."
        )


def _probability_of(
    target: LabelSet, watched: NDArray[np.floating], gold: Gold
) -> NDArray[np.float64]:
    match gold:
        case "top class":
            place = np.broadcast_to(top_class(target)[:, None], (*watched.shape[:3], 1))
            return np.take_along_axis(watched, place, axis=3)[..., 0].astype(np.float64)
        case "expected":
            return np.einsum("seik,ik->sei", watched, target.probs, dtype=np.float64)
        case _:
            assert_never(gold)


def _regions(
    confidence: NDArray[np.float64], variability: NDArray[np.float64], bounds: Bounds
) -> tuple[Region, ...]:
    steady = variability <= bounds.steady_variability
    easy = steady & (confidence >= bounds.easy_confidence)
    hard = steady & (confidence <= bounds.hard_confidence) & ~easy
    return tuple(
        "easy" if is_easy else "hard" if is_hard else "ambiguous"
        for is_easy, is_hard in zip(easy, hard, strict=True)
    )


def _fill(
    parts: tuple[set[str], set[str], set[str]], easy: Sequence[str], floor: int, name: str
) -> int:
    if len(easy) < floor:
        raise DataError(
            f"Class {name!r} has {len(easy)} easy items, fewer than the {floor} that training is "
            "to have. Ask for fewer, or widen the bounds of easy."
        )
    train, *others = parts
    lacking = max(floor - sum(item in train for item in easy), 0)
    for _ in range(lacking):
        source = max((part for part in others if part.intersection(easy)), key=len)
        item = next(item for item in easy if item in source)
        source.remove(item)
        train.add(item)
    return lacking


# Turn what networks believed after each epoch into how much they still moved, and differed.
#
# The measure is the Jensen–Shannon divergence of two beliefs about one item, in bits: 0 is the same
# belief, 1 is no overlap (S4-33). Between successive epochs of a run it is *movement*; between runs
# with other seeds at the same epoch it is *spread*. Where late movement is small against spread,
# the variability of a data map comes from the seeds, not from training that has not ended (S4-51).
# ``watched`` has shape (seeds, epochs, items, classes).

Watched = NDArray[np.floating]  # (seeds, epochs, items, classes)
Mask = NDArray[np.bool_]  # (items,)

LAST_EPOCHS = 5
"""The late stage of paper 5: the last 5 of 40 epochs (S4-22)."""


def movement(watched: Watched) -> NDArray[np.float64]:
    """Divergence from the epoch before, in bits: (seeds, epochs − 1, items).

    >>> movement(np.array([[[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]]]))[0, :, 0]
    array([1., 0.])
    """
    check_watched(watched)
    if watched.shape[1] < 2:
        raise DataError("Only one epoch was watched; movement is between two. Watch more epochs.")
    # One pair of epochs at a time: all at once would hold several copies of everything.
    steps = [_bits(watched[:, at - 1], watched[:, at]) for at in range(1, watched.shape[1])]
    return np.stack(steps, axis=1)


def seed_spread(watched: Watched) -> NDArray[np.float64]:
    """Mean divergence of two seeds at the same epoch over all pairs, in bits: (epochs, items).

    >>> seed_spread(np.array([[[[1.0, 0.0]]], [[[1.0, 0.0]]], [[[0.0, 1.0]]]])).round(4)
    array([[0.6667]])
    """
    check_watched(watched)
    pairs = list(combinations(range(len(watched)), 2))
    if not pairs:
        raise DataError("Only one run was watched; spread is between seeds. Train more of them.")
    total = np.zeros(watched.shape[1:3])
    for first, second in pairs:
        total += _bits(watched[first], watched[second])
    return total / len(pairs)


@dataclass(frozen=True, eq=False)
class Steadiness:
    """Movement inside a run against spread across seeds, over the last epochs, in bits."""

    movement: NDArray[np.float64]
    """Mean over seeds and late epochs of the divergence from the epoch before, per item."""
    spread: NDArray[np.float64]
    """Mean over pairs of seeds and late epochs of their divergence, per item."""
    epochs: tuple[int, int]
    """The first and the last of the late epochs, from 1."""
    seeds: int

    @property
    def ratio(self) -> float:
        """Mean movement over mean spread: well below 1 once runs have settled, each in its own
        place; NaN where seeds do not differ at all.
        """
        spread = float(self.spread.mean())
        return float(self.movement.mean()) / spread if spread else float("nan")


def steadiness(watched: Watched, last: int = LAST_EPOCHS) -> Steadiness:
    """Whether late differences are between epochs or between seeds, per item (S4-51).

    The last ``last`` epochs count; the movement into the first of them does too.
    """
    n_epochs = watched.shape[1]
    if not 1 <= last < n_epochs:
        raise DataError(
            f"The movement of the last {last} epochs was asked for; with {n_epochs} epochs ask for "
            f"1 to {n_epochs - 1}."
        )
    late = watched[:, n_epochs - last - 1 :]
    return Steadiness(
        movement(late).mean(axis=(0, 1)),
        seed_spread(late[:, 1:]).mean(axis=0),
        (n_epochs - last + 1, n_epochs),
        len(watched),
    )


def convergence_table(
    watched: Watched, *, arm: str = "", network: str = "", stratum: Mask | None = None
) -> pl.DataFrame:
    """A row an epoch from the second on: mean movement into it, over seeds and items, in bits.

    ``stratum`` keeps some items only, as the paper's curves do. The interval is Student's t over
    the seeds' means, cut at 0 and 1; null with a single seed.
    """
    kept = watched if stratum is None else watched[:, :, stratum]
    if not kept.shape[2]:
        raise DataError("The stratum holds no items, so nothing moves in it. Choose another one.")
    by_seed = movement(kept).mean(axis=2)  # (seeds, epochs - 1)
    intervals = [student_interval(values, bounds=(0, 1)) for values in by_seed.T]
    known = len(watched) > 1
    n = by_seed.shape[1]
    return pl.DataFrame(
        {
            "arm": [arm] * n,
            "network": [network] * n,
            "epoch": np.arange(2, n + 2),
            "jsd": by_seed.mean(axis=0),
            "low": [low if known else None for low, _ in intervals],
            "high": [high if known else None for _, high in intervals],
        },
        schema={
            **dict.fromkeys(("arm", "network"), pl.String()),
            "epoch": pl.Int64(),
            **dict.fromkeys(("jsd", "low", "high"), pl.Float64()),
        },
    )


def _bits(first: Watched, second: Watched) -> NDArray[np.float64]:
    return jensen_shannon_rows(_rows(first), _rows(second)) / np.log(2)


def _rows(beliefs: Watched) -> NDArray[np.float64]:
    """Rows that sum to one again: they are kept with three digits."""
    exact = beliefs.astype(np.float64)
    return exact / exact.sum(axis=-1, keepdims=True)


# Turn labels and predictions into the items worth looking at, with the numbers behind each.
#
# Nothing here is a finding: a list of items is chosen by a rule, and what the rule asked for is
# true of the list by construction.

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
    """Answers spread: the entropy is at least this part of log K, that of knowing nothing."""
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
    is for a person who looks at the item. The first kind that fits counts. ``confidence`` and
    ``variability`` are the mean and standard deviation over epochs and seeds of the probability of
    the target (S4-34); ``unsure`` is the share of annotators with an unsure answer (S4-48), NaN
    where unknown. An item whose model
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
