"""Turn people's labels and a model's beliefs into sets of classes that cover what people answer.

A set is right for an answer if it holds it, so coverage is of people's answers, not of majority
labels: an item on which people are split counts by the shares of their answers. The threshold is
split conformal prediction with a weighted quantile. Each calibration item has the mass 1/(n + 1),
divided over its classes by the shares of its answers, and 1/(n + 1) stands for the item to come;
with one answer drawn per item this has the exact finite-sample guarantee.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.models import load_compared
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import disputed_thirds, strata_of
from sfumato.labels.tables import find_items, read_frame
from sfumato.names import find, quote_names
from sfumato.provenance import is_simulated
from sfumato.scores import Estimate, Estimates, source_text
from sfumato.stats import NOTHING, bootstrap_interval

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Score = Literal["probability", "adaptive"]
"""How far a class is from being believed. "probability": one minus its probability, which gives the
smallest sets. "adaptive": the mass of all classes before it, with a random part of its own."""

SCORES: dict[str, Score] = {score: score for score in get_args(Score)}

PEOPLE, MAJORITY = "people's answers", "majority labels"
"""What a set is calibrated on."""

LEAST_SPLITS = 100
MANY = 5
"""Sets of this size and more are told together."""


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Estimates):
    """How well sets of classes cover people's answers, and the sets of items without labels."""

    level: float = field(kw_only=True)
    score: Score = field(kw_only=True)
    threshold: float = field(kw_only=True)
    """A class is in the set if its score is at most this; from all labelled items."""
    sets: pl.DataFrame = field(kw_only=True)
    """Items of the predictions that have no label: ``item``, then 1 or 0 for each class."""
    splits: int = field(kw_only=True)
    remarks: tuple[str, ...] = field(kw_only=True)

    @property
    def coverage(self) -> Estimate:
        """The share of people's answers that are in the sets of held-out items."""
        return self._row("people_coverage")

    @property
    def size(self) -> Estimate:
        """How many classes a set has."""
        return self._row("set_size")

    @property
    def empty(self) -> Estimate:
        """The share of sets that hold no class."""
        return self._row("empty_sets")

    def to_json(self) -> dict[str, Any]:
        """The main numbers as plain dicts and lists."""
        main = self.coverage
        strata = self.filter(metric="people_coverage", arm=PEOPLE)
        return {
            "coverage": main.value,
            "low": main.low,
            "high": main.high,
            "deviation": self._row("people_coverage_deviation").value,
            "size": self.size.value,
            "empty": self.empty.value,
            "level": self.level,
            "score": self.score,
            "threshold": self.threshold if np.isfinite(self.threshold) else None,
            "items": main.items,
            "classes": len(self.sets.columns) - 1,
            "splits": self.splits,
            "simulated": main.simulated,
            "majority": {
                "coverage": self._row("people_coverage", MAJORITY).value,
                "size": self._row("set_size", MAJORITY).value,
                "empty": self._row("empty_sets", MAJORITY).value,
            },
            "strata": [
                {name: getattr(row, name) for name in ("stratum", "value", "low", "high", "items")}
                for row in strata
                if row.stratum != "all"
            ],
            "remarks": list(self.remarks),
        }

    def write_sets(self, path: Path) -> None:
        """Write the sets of the items without labels as CSV or Parquet."""
        if not len(self.sets):
            raise DataError(
                "Every item of the predictions has a label, so there is no item to make a set for; "
                "give predictions of further items."
            )
        write = self.sets.write_csv if path.suffix == ".csv" else self.sets.write_parquet
        write(path)

    def _row(self, metric: str, arm: str = PEOPLE) -> Estimate:
        return next(iter(self.filter(metric=metric, arm=arm, stratum="all")))

    def _summary(self) -> str:
        return (
            f"Coverage: sets of {self.size.value:.2f} classes hold {self.coverage.value:.1%} of "
            f"people's answers, asked for {self.level:.0%}"
        )


def cover(
    labels: object,
    predictions: object,
    *,
    level: float = 0.9,
    score: Score = "probability",
    groups: Mapping[str, str] | None = None,
    classes: Sequence[str] | None = None,
    item: str | None = None,
    splits: int = LEAST_SPLITS,
    draws: int = 1000,
    seed: int = 0,
) -> Coverage:
    """Sets of classes that hold people's answers with the given probability, and how well they do.

    ``labels`` are shares of people's answers in any form that ``evaluate`` takes, ``predictions``
    those of one model. Coverage is measured on held-out items: the items are halved ``splits``
    times, and each half gets the threshold of the other. ``groups`` names the group of an item;
    coverage is also told by group, by stratum and by the size of the set. Items of the predictions
    without a label get sets with the threshold of all labelled items.

    >>> labels = {"item": [*"abcdef"], "cat": [1, 1, 0.5, 0, 0.8, 0.2]}
    >>> labels["dog"] = [1 - share for share in labels["cat"]]
    >>> model = {"item": [*"abcdefg"], "cat": [0.9, 0.7, 0.5, 0.1, 0.6, 0.3, 0.95]}
    >>> model["dog"] = [1 - share for share in model["cat"]]
    >>> found = cover(labels, model, level=0.7)
    >>> found.sets.rows()
    [('g', 1, 0)]
    """
    find(SCORES, score, what="score")
    _check_settings(level, splits)
    compared = load_compared(labels, predictions, classes=classes, item=item, missing="leave out")
    if len(compared.models) != 1:
        raise DataError(f"Sets are made from one model, but {len(compared.models)} were given.")
    ((arm, model),) = compared.models.items()
    human, model = align(compared.human, model.take(compared.human.items))  # columns by name
    if len(human) < 2:
        raise DataError("At least two items with labels and predictions are needed.")
    rng = np.random.default_rng(seed)
    found = {
        basis: _held_out(model.probs, targets, human.probs, level, score, splits, rng)
        for basis, targets in ((PEOPLE, human.probs), (MAJORITY, _majority(human.probs)))
    }
    threshold = _threshold(_scores(model.probs, score, rng), human.probs, level)
    source = source_text(labels=human.provenance, model=model.provenance, level=level, score=score)
    rows = _estimates(
        found, _masks(human, groups), source, is_simulated(human.provenance), rng, draws
    )
    return Coverage(
        Estimates.of(rows).table,
        level=level,
        score=score,
        threshold=threshold,
        sets=_sets(compared.unlabelled.get(arm), human.classes, threshold, score, rng),
        splits=splits,
        remarks=compared.remarks,
    )


def read_groups(path: Path) -> dict[str, str]:
    """The group of each item, from a table with a column of items and one other."""
    table = read_frame(path)
    of_item, _ = find_items(table, path.name)
    others = [name for name in table.columns if name != of_item]
    if len(others) != 1:
        raise DataError(
            f"{path.name} has the columns {quote_names(table.columns)}; expected one of items and "
            "one of groups."
        )
    columns = (table[name].cast(pl.String).to_list() for name in (of_item, others[0]))
    return dict(zip(*columns, strict=True))


def _check_settings(level: float, splits: int) -> None:
    if not 0 < level < 1:
        raise DataError(f"The level is {level}; expected a share between 0 and 1, such as 0.9.")
    if splits < LEAST_SPLITS:
        raise DataError(f"{splits} splits are too few for a mean; expected {LEAST_SPLITS} or more.")


# Scores and thresholds.


def _scores(probs: Floats, score: Score, rng: np.random.Generator) -> Floats:
    """How little each class is believed, (items, classes)."""
    if score == "probability":
        return 1 - probs
    order = np.argsort(-probs, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(probs, order, axis=1), axis=1)
    scores = np.empty_like(probs)
    np.put_along_axis(scores, order, before, axis=1)
    return scores - probs * rng.random((len(probs), 1))


def _threshold(scores: Floats, shares: Floats, level: float) -> float:
    """The smallest score up to which the calibration items have the mass ``level``."""
    held = shares > 0
    values, mass = scores[held], shares[held] / (len(scores) + 1)
    order = np.argsort(values, kind="stable")
    reached = np.searchsorted(np.cumsum(mass[order]), level * (1 - 1e-12))
    return float(values[order[reached]]) if reached < len(order) else np.inf


def _majority(shares: Floats) -> Floats:
    """The most frequent answer; among equals each by its part."""
    top = shares >= shares.max(axis=1, keepdims=True) - 1e-12
    return top / top.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class _HeldOut:
    """What the sets of held-out items do, for each split and item."""

    covered: Floats
    """Share of an item's answers inside its set, (splits, items)."""
    halves: Floats
    """The same as a mean over each held-out half, (splits, 2)."""
    sizes: NDArray[np.int64]


def _held_out(
    probs: Floats,
    targets: Floats,
    shares: Floats,
    level: float,
    score: Score,
    splits: int,
    rng: np.random.Generator,
) -> _HeldOut:
    """Halve the items again and again; each half gets the threshold that the other one gives."""
    items = len(probs)
    covered, sizes = np.empty((splits, items)), np.empty((splits, items), dtype=np.int64)
    halves = np.empty((splits, 2))
    for split in range(splits):
        scores = _scores(probs, score, rng)
        first = np.zeros(items, dtype=bool)
        first[rng.permutation(items)[: items // 2]] = True
        for side, half in enumerate((first, ~first)):
            within = scores[half] <= _threshold(scores[~half], targets[~half], level)
            covered[split, half] = (shares[half] * within).sum(axis=1)
            sizes[split, half] = within.sum(axis=1)
            halves[split, side] = covered[split, half].mean()
    return _HeldOut(covered, halves, sizes)


# Numbers.


def _masks(human: LabelSet, groups: Mapping[str, str] | None) -> dict[str, Mask]:
    masks = {"all": np.ones(len(human), dtype=bool), **strata_of(human), **disputed_thirds(human)}
    if groups is not None:
        of = {str(item): str(group) for item, group in groups.items()}
        lacking = [item for item in human.items if item not in of]
        if lacking:
            raise DataError(
                f"{len(lacking):,} items have no group, such as {quote_names(lacking, 3)}."
            )
        named = np.array([of[item] for item in human.items])
        masks |= {f"group {group}": named == group for group in sorted(set(named.tolist()))}
    return {name: mask for name, mask in masks.items() if mask.any()}


def _estimates(
    found: Mapping[str, _HeldOut],
    masks: Mapping[str, Mask],
    source: str,
    simulated: bool,
    rng: np.random.Generator,
    draws: int,
) -> Iterator[Estimate]:
    about: dict[str, Any] = {"part": "held out", "source": source, "simulated": simulated}
    for arm, sets in found.items():
        told = {
            "people_coverage": sets.covered.mean(axis=0),
            "set_size": sets.sizes.mean(axis=0),
            "empty_sets": (sets.sizes == 0).mean(axis=0),
        }
        for metric, values in told.items():
            for stratum, mask in masks.items():
                mine, few = values[mask], mask.sum() < 2
                low, high = NOTHING if few else bootstrap_interval(mine, rng=rng, draws=draws)
                yield Estimate(
                    metric, float(mine.mean()), arm, stratum=stratum, low=low, high=high,
                    over="items", items=int(mask.sum()), **about,
                )  # fmt: skip
        deviation = float(sets.halves.std(ddof=1))
        yield Estimate(
            "people_coverage_deviation", deviation, arm, items=sets.covered.shape[1], **about
        )
        yield from _by_size(arm, sets, about)


def _by_size(arm: str, sets: _HeldOut, about: Mapping[str, Any]) -> Iterator[Estimate]:
    """Coverage of small and of large sets: these are not guaranteed."""
    size = np.minimum(sets.sizes, MANY)
    for number in np.unique(size):
        mine = size == number
        more = " and more" if number == MANY else ""
        yield Estimate(
            "people_coverage", float(sets.covered[mine].mean()), arm,
            stratum=f"sets of {number}{more}", items=round(mine.mean() * sets.sizes.shape[1]),
            **about,
        )  # fmt: skip


def _sets(
    model: LabelSet | None,
    classes: Sequence[str],
    threshold: float,
    score: Score,
    rng: np.random.Generator,
) -> pl.DataFrame:
    if model is None:
        return pl.DataFrame(schema={"item": pl.String, **dict.fromkeys(classes, pl.Int8)})
    within = (_scores(model.probs, score, rng) <= threshold).astype(np.int8)
    return pl.DataFrame(
        {"item": model.items, **{name: within[:, place] for place, name in enumerate(classes)}}
    )
