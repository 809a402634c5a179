"""Turn labels into what a network is trained towards: a row of probabilities an item and epoch.

Every kind of target is the same thing to the trainer: once an epoch it asks for a tensor
(items, classes) whose rows sum to one. Fixed labels give the same rows each time; sampled
labels and single annotators give fresh ones. Hard, random, uniform, smoothed, class-level,
sharpened and in-filled labels come from ``sfumato.labels.alter`` and are fixed or sampled here.

Labels are joined to items by name, in any order, and both ways: an item without a label and a
label without an item are errors. For a part of the labels take that part first
(``labels.take(split.train)``, ``judgments_on(crowd, split.train)``).
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.alter import WhenFewer, subsample_annotators, subsample_counts
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet, align
from sfumato.provenance import Provenance, Step, is_simulated, to_json


class Targets(Protocol):
    """What a network is trained towards; row i belongs to ``items[i]``."""

    @property
    def items(self) -> tuple[str, ...]:
        """The training items, in the order of the rows."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of the columns."""

    @property
    def provenance(self) -> Provenance:
        """Where the labels came from and what is done with them each epoch."""

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        """The rows of one epoch: float32, (items, classes), each summing to one.

        ``generator`` is on the CPU, so that the same seed gives the same rows on every device.
        Fixed targets leave it alone and return the same tensor each time: do not write into it.
        """


class RowTargets(Targets, Protocol):
    """Targets whose rows can be drawn one by one, each by a number of its own."""

    def choose(self, rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """The targets of the given rows where these numbers from [0, 1) are drawn."""


def fixed_targets(labels: LabelSet, items: Sequence[str]) -> RowTargets:
    """The same row of probabilities at each presentation (S0-07, S0-08, S0-10 …).

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]])
    >>> fixed_targets(labels, ["b", "a"]).draw(torch.Generator())
    tensor([[0.0000, 1.0000],
            [0.7500, 0.2500]])
    """
    labels = _joined(labels, items)
    rows = torch.from_numpy(labels.probs.astype(np.float32))
    return _Fixed(labels.items, labels.classes, rows, (*labels.provenance, Step("target fixed")))


def sampled_targets(labels: LabelSet, items: Sequence[str]) -> RowTargets:
    """A fresh one-hot row drawn from each item's distribution at each presentation (S0-09).

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[0.75, 0.25]])
    >>> targets, generator = sampled_targets(labels, ["a"]), torch.Generator().manual_seed(0)
    >>> torch.cat([targets.draw(generator) for _ in range(1000)]).sum(dim=0)
    tensor([758., 242.])
    """
    labels = _joined(labels, items)
    sums = labels.probs.cumsum(axis=1)
    # The last end is exactly 1, above every number drawn, although rows sum to 1 ± 1e-6.
    ends = torch.from_numpy(sums / sums[:, -1:])
    return _Sampled(
        labels.items, labels.classes, ends, (*labels.provenance, Step("target sampled"))
    )


def one_annotator(crowd: CrowdLabels, items: Sequence[str]) -> RowTargets:
    """One annotator's own distribution, drawn afresh at each presentation (S2-22).

    Every judgment of an item is drawn equally often; a person who answered it twice counts
    twice, so take repeats out first.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    >>> targets, generator = one_annotator(crowd, ["a"]), torch.Generator().manual_seed(4)
    >>> targets.draw(generator), targets.draw(generator)
    (tensor([[1., 0.]]), tensor([[0., 1.]]))
    """
    _check_join({crowd.items[code] for code in np.unique(crowd.item)}, items)
    place = {item: row for row, item in enumerate(items)}
    row_of = np.array([place.get(item, -1) for item in crowd.items], dtype=np.int64)
    row = row_of[crowd.item]  # (judgments,)
    sizes = np.bincount(row, minlength=len(items))
    return _OneAnnotator(
        tuple(items),
        crowd.classes,
        judgments=torch.from_numpy(crowd.probs[row.argsort(kind="stable")].astype(np.float32)),
        starts=torch.from_numpy(sizes.cumsum() - sizes),
        sizes=torch.from_numpy(sizes),
        provenance=(*crowd.provenance, Step("target one annotator")),
    )


def one_of_pool(
    crowd: CrowdLabels,
    items: Sequence[str],
    M: int,
    *,
    fewer: WhenFewer = "error",
    rng: np.random.Generator,
) -> Targets:
    """``one_annotator`` with a pool of M judgments per item, chosen once (S2-50).

    The pool is drawn without replacement before training; ``fewer`` says what an item with
    fewer than M judgments does.
    """
    return one_annotator(subsample_annotators(crowd, M, fewer=fewer, rng=rng), items)


def judgments_on(crowd: CrowdLabels, items: Collection[str]) -> CrowdLabels:
    """The judgments on the given items only; an item that nobody judged is an error.

    >>> crowd = CrowdLabels(("a", "b"), ("p",), ("cat", "dog"), [0, 1], [0, 0], np.eye(2))
    >>> len(judgments_on(crowd, ["b"]))
    1
    """
    wanted = set(items)
    chosen = np.array([item in wanted for item in crowd.items], dtype=np.bool_)
    kept = crowd.take(chosen[crowd.item], Step("take items", {"items": len(wanted)}))
    judged = {crowd.items[code] for code in np.unique(kept.item)}
    _refuse_unlabelled([item for item in items if item not in judged], len(items))
    return kept


def in_fill_crowd(crowd: CrowdLabels, base: LabelSet) -> CrowdLabels:
    """The crowd's judgments where there are any, one judgment from ``base`` elsewhere (S2-29).

    So 900 items may be learnt from single annotators (S2-22) among 6,900, the rest of which
    have hard labels. Items are those of ``base``. Choose a pool before, not after.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    >>> base = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> filled = in_fill_crowd(crowd, base)
    >>> filled.item, filled.annotator
    (array([0, 0, 1]), array([ 0,  1, -1]))
    """
    _require_same_classes(crowd.classes, base.classes)
    place = {item: row for row, item in enumerate(base.items)}
    judged = [crowd.items[code] for code in np.unique(crowd.item)]
    _refuse_unknown([item for item in judged if item not in place], len(judged))
    row_of = np.array([place.get(item, NOT_RECORDED) for item in crowd.items], dtype=np.int64)
    taken = set(judged)
    silent = np.array([place[item] for item in base.items if item not in taken], dtype=np.int64)
    columns = [crowd.classes.index(name) for name in base.classes]
    step = Step(
        "in-fill judgments",
        {"judged_items": len(judged), "items": len(base), "base": to_json(base.provenance)},
        simulated=is_simulated(base.provenance),
    )
    return CrowdLabels(
        base.items,
        crowd.annotators,
        base.classes,
        np.concatenate([row_of[crowd.item], silent]),
        np.concatenate([crowd.annotator, np.full(len(silent), NOT_RECORDED)]),
        np.concatenate([crowd.probs[:, columns], base.probs[silent]]),
        (*crowd.provenance, step),
    )


def distil(predictions: Sequence[LabelSet]) -> LabelSet:
    """The mean of what one network (S0-10) or several (S0-11) believe, as labels.

    Items and classes are those of the first; all must be over the same ones.

    >>> one = LabelSet(("a",), ("cat", "dog"), [[0.75, 0.25]])
    >>> other = LabelSet(("a",), ("dog", "cat"), [[0.75, 0.25]])
    >>> distil([one, other]).probs
    array([[0.5, 0.5]])
    """
    if not predictions:
        raise DataError("There are no predictions to distil; give those of one network or more.")
    first = predictions[0]
    for network in predictions:
        _check_join(set(network.items), first.items)
    probs = np.mean([align(first, network)[1].probs for network in predictions], axis=0)
    step = Step(
        "distil",
        {"networks": [to_json(network.provenance) for network in predictions]},
        simulated=any(is_simulated(network.provenance) for network in predictions),
    )
    return LabelSet(first.items, first.classes, probs, provenance=(step,))


def votes_of_m(
    labels: LabelSet, M: int, *, fewer: WhenFewer = "error", rng: np.random.Generator
) -> LabelSet:
    """The vote shares of M people per item, drawn without replacement from all who voted (S2-50).

    ``labels`` are shares of votes whose ``weight`` is their number, as vote files are read, so
    that single votes need not be known.

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[0.75, 0.25]], [4])
    >>> votes_of_m(labels, 3, rng=np.random.default_rng(0)).probs
    array([[1., 0.]])
    """
    counts = _votes_behind(labels)
    drawn = subsample_counts(counts, M, fewer=fewer, rng=rng)
    number = drawn.sum(axis=1)
    step = Step("sub-sample votes", {"M": M, "fewer": fewer})
    return LabelSet(
        labels.items,
        labels.classes,
        drawn / number[:, None],
        number.astype(np.float64),
        (*labels.provenance, step),
    )


def with_extra_class(labels: LabelSet, name: str) -> LabelSet:
    """The same labels with one more class that has no mass: none of these (K + 1 outputs).

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[0.75, 0.25]])
    >>> with_extra_class(labels, "none of these").probs
    array([[0.75, 0.25, 0.  ]])
    """
    if name in labels.classes:
        raise DataError(f"The labels have a class {name!r} already; give the extra one a new name.")
    return LabelSet(
        labels.items,
        (*labels.classes, name),
        np.pad(labels.probs, ((0, 0), (0, 1))),
        labels.weight,
        (*labels.provenance, Step("add class", {"name": name})),
    )


@dataclass(frozen=True, eq=False)
class _Fixed:
    items: tuple[str, ...]
    classes: tuple[str, ...]
    rows: torch.Tensor  # (items, classes)
    provenance: Provenance

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        return self.rows

    def choose(self, rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return self.rows[rows]


@dataclass(frozen=True, eq=False)
class _Sampled:
    items: tuple[str, ...]
    classes: tuple[str, ...]
    ends: torch.Tensor  # (items, classes), float64: where each class's stretch of [0, 1) ends
    provenance: Provenance

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        numbers = torch.rand(len(self.items), generator=generator, dtype=torch.float64)
        return self.choose(torch.arange(len(self.items)), numbers)

    def choose(self, rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        ends = self.ends[rows]
        # The first end above the number: a class without mass has an empty stretch.
        chosen = torch.searchsorted(ends, numbers[:, None], right=True)  # (items, 1)
        return torch.zeros(ends.shape).scatter_(1, chosen, 1.0)


@dataclass(frozen=True, eq=False)
class _OneAnnotator:
    items: tuple[str, ...]
    classes: tuple[str, ...]
    judgments: torch.Tensor  # (judgments, classes), those of one item after each other
    starts: torch.Tensor  # (items,), where each item's judgments begin
    sizes: torch.Tensor  # (items,)
    provenance: Provenance

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        numbers = torch.rand(len(self.items), generator=generator, dtype=torch.float64)
        return self.choose(torch.arange(len(self.items)), numbers)

    def choose(self, rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return self.judgments[self.starts[rows] + (numbers * self.sizes[rows]).long()]


def _joined(labels: LabelSet, items: Sequence[str]) -> LabelSet:
    _check_join(set(labels.items), items)
    return labels.take(items)


def _check_join(labelled: set[str], items: Sequence[str]) -> None:
    _refuse_unlabelled([item for item in items if item not in labelled], len(items))
    _refuse_unknown(sorted(labelled - set(items)), len(labelled))
    if len(labelled) < len(items):
        twice = Counter(items).most_common(1)[0][0]
        raise DataError(f"The item {twice!r} occurs more than once; give each item once.")


def _refuse_unlabelled(missing: list[str], number: int) -> None:
    if missing:
        raise DataError(
            f"Item {missing[0]!r} has no label ({len(missing)} of {number} items without one). "
            "Label it, or leave it out of training."
        )


def _refuse_unknown(unknown: list[str], number: int) -> None:
    if unknown:
        raise DataError(
            f"There is a label for {unknown[0]!r} but no such item ({len(unknown)} of {number} "
            "labelled items are unknown). Give the item too, or take only the labels you need."
        )


def _require_same_classes(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    odd = sorted(set(first) ^ set(second))
    if odd:
        raise DataError(
            f"The judgments and the base have different classes: {odd[0]!r} is in one and not in "
            "the other."
        )


def _votes_behind(labels: LabelSet) -> NDArray[np.float64]:
    counts = labels.probs * labels.weight[:, None]
    whole = np.rint(counts)
    odd = (np.abs(counts - whole) > 1e-6).any(axis=1) | (labels.weight == 0)
    if odd.any():
        row = int(odd.argmax())
        raise DataError(
            f"The label of item {labels.items[row]!r} is not a share of votes: its weight is "
            f"{labels.weight[row]:g}, and its probabilities times that are no numbers of votes "
            f"({int(odd.sum())} of {len(labels)} items). Use labels made by counting."
        )
    return whole
