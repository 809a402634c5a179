"""Turn what networks believed after each epoch into a data map: easy, ambiguous and hard items.

``watched`` holds probabilities of shape (seeds, epochs, items, classes), in evaluation mode at the
end of each epoch. An item's *confidence* is the mean over epochs and seeds of the probability of
its target class, its *variability* the standard deviation (dividing by the number), its
*correctness* the share of epochs and seeds in which the target class is the most probable
(Swayamdipta et al. 2020; S4-34). Which epochs count is said with every map: the original takes
the first, paper 5 the last 5 of 40 (S4-22).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.pairs import top_class
from sfumato.labels.alter import apportioned
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.names import sorted_names

__all__ = [
    "REGIONS",
    "Bounds",
    "DataMap",
    "DifficultyParts",
    "Gold",
    "Region",
    "bounds_by_thirds",
    "check_watched",
    "data_map",
    "data_map_table",
    "difficulty_split",
]

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


def bounds_by_thirds(found: DataMap) -> Bounds:
    """Bounds relative to a map: the thirds of the original (its regions have no numbers).

    Easy begins at the highest third of confidence, hard ends at the lowest, steady ends at the
    highest third of variability. In a set that every network has learnt this calls items hard
    that are not; use it to choose among items, not to describe them.
    """
    hard, easy = np.quantile(found.confidence, [1 / 3, 2 / 3])
    return Bounds(float(easy), float(hard), float(np.quantile(found.variability, 2 / 3)))


def data_map_table(
    found: DataMap, *, arm: str = "", network: str = "", human: LabelSet | None = None
) -> pl.DataFrame:
    """A row an item, with the entropy of people's labels in nats where they are given (S4-50)."""
    spread = None if human is None else entropy(human.take(found.items))
    n = len(found.items)
    return pl.DataFrame(
        {
            "item": list(found.items),
            "arm": [arm] * n,
            "network": [network] * n,
            "confidence": found.confidence,
            "variability": found.variability,
            "correctness": found.correctness,
            "region": list(found.region),
            "human_entropy": [None] * n if spread is None else spread,
        },
        schema={
            **dict.fromkeys(("item", "arm", "network"), pl.String()),
            **dict.fromkeys(("confidence", "variability", "correctness"), pl.Float64()),
            "region": pl.String(),
            "human_entropy": pl.Float64(),
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
    sizes = apportioned([len(group) for group in groups.values()], shares)
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
