"""A set of mixed images, labelled by people or by rule, that joins the training part (S2-54)."""

from dataclasses import dataclass

import numpy as np
import torch

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, align
from sfumato.learn.examples import Examples
from sfumato.learn.targets import Targets, fixed, one_annotator
from sfumato.provenance import Provenance, Step, is_simulated, to_json

__all__ = ["Augmenting", "with_augmenting"]


@dataclass(frozen=True, eq=False)
class Augmenting:
    """Mixed images and their labels.

    A ``LabelSet`` is shown as it is in every epoch (averaged over people, or a baseline);
    of ``CrowdLabels`` one person's label is drawn afresh at each presentation (S2-59).
    """

    examples: Examples
    labels: LabelSet | CrowdLabels

    def __post_init__(self) -> None:
        _targets(self)  # joins images and labels by item, or names the one that is missing

    def __len__(self) -> int:
        return len(self.examples)


def with_augmenting(
    examples: Examples, targets: Targets, augmenting: Augmenting
) -> tuple[Examples, Targets]:
    """The training part followed by the augmenting set: 7,000 images and 810 mixes (S2-54).

    Each part keeps its own targets: what was fixed stays, what is drawn is drawn afresh in every
    epoch, of the training part first.
    """
    twice = set(examples.items) & set(augmenting.examples.items)
    if twice:
        raise DataError(
            f"The item {min(twice)!r} is in the training part and in the augmenting set; give "
            "mixes names of their own."
        )
    one, two = examples.images, augmenting.examples.images
    if one.shape[1:] != two.shape[1:] or one.dtype != two.dtype:
        raise DataError(
            f"Images are {one.dtype} of shape {one.shape[1:]} and mixes {two.dtype} of shape "
            f"{two.shape[1:]}; make both alike."
        )
    items = (*examples.items, *augmenting.examples.items)
    # One kind of the two by now, which the type does not know.
    images = np.concatenate([one, two])
    return Examples(items, images), _Joined(targets, _over(targets.classes, augmenting))


@dataclass(frozen=True, eq=False)
class _Joined:
    """Two sets of targets, one after the other."""

    first: Targets
    second: Targets

    @property
    def items(self) -> tuple[str, ...]:
        return (*self.first.items, *self.second.items)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.first.classes

    @property
    def provenance(self) -> Provenance:
        step = Step(
            "add augmenting set",
            {"items": len(self.second.items), "labels": to_json(self.second.provenance)},
            simulated=is_simulated(self.second.provenance),
        )
        return (*self.first.provenance, step)

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        return torch.cat([self.first.draw(generator), self.second.draw(generator)])


def _targets(augmenting: Augmenting) -> Targets:
    labels, items = augmenting.labels, augmenting.examples.items
    if isinstance(labels, CrowdLabels):
        return one_annotator(labels, items)
    return fixed(labels, items)


def _over(classes: tuple[str, ...], augmenting: Augmenting) -> Targets:
    """The augmenting set's targets with its classes in the given order."""
    labels = augmenting.labels
    if labels.classes == classes:
        return _targets(augmenting)
    if set(labels.classes) != set(classes):
        odd = sorted(set(labels.classes) ^ set(classes))
        raise DataError(
            f"The training part and the augmenting set have different classes: {odd[0]!r} is in "
            "one and not in the other."
        )
    columns = [labels.classes.index(name) for name in classes]
    if isinstance(labels, LabelSet):
        flat = np.full((len(labels), len(classes)), 1 / len(classes))
        labels = align(LabelSet(labels.items, classes, flat), labels)[1]
    else:
        labels = CrowdLabels(
            labels.items,
            labels.annotators,
            classes,
            labels.item,
            labels.annotator,
            labels.probs[:, columns],
            labels.provenance,
        )
    return _targets(Augmenting(augmenting.examples, labels))
