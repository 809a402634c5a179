"""What decides a training besides its data: the recipe of a run, and how its batches are mixed.

Settings only: nothing here needs torch, so that a study can be read and its report drawn without.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from sfumato.errors import DataError
from sfumato.labels.mixing import Curves

Augmentation = Literal["crop", "flip", "cutout"]
Optimizer = Literal["adam", "sgd"]
Schedule = Literal["constant", "step", "multistep", "cosine", "plateau"]


@dataclass(frozen=True)
class Recipe:
    """Everything about a training run except its data."""

    network: str
    """A name of ``NETWORKS``."""
    epochs: int = 60
    """At most so many passes over the training part."""
    batch_size: int = 64
    optimizer: Optimizer = "adam"
    """``sgd`` is with Nesterov momentum."""
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    clip: float | None = None
    """Largest norm of the gradient; None leaves it alone."""
    schedule: Schedule = "constant"
    milestones: tuple[int, ...] = ()
    """``multistep``: epochs after which the rate drops; ``step``: one number, every so many."""
    decay: float = 0.1
    """What the rate is multiplied by at a drop."""
    patience: int = 5
    """``plateau``: epochs without a better validation loss before the rate drops."""
    stop_after: int | None = None
    """Stop after so many epochs without a better validation loss; None never stops early."""
    weights: Literal["best", "last"] = "last"
    """Which epoch's weights are kept: the one with the best validation loss, or the last."""
    augment: tuple[Augmentation, ...] = ()
    peer: float = 0.0
    """Weight of the peer loss against noisy labels (Liu & Guo 2020; S2-84); 0 is without."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if not self.learning_rate > 0:
            raise DataError(f"The learning rate must be above 0, not {self.learning_rate}.")
        if self.schedule in ("step", "multistep") and not self.milestones:
            raise DataError(f"The schedule {self.schedule!r} needs milestones.")


# How batches are mixed while a network learns: one setting beside its recipe.

Loss = Literal["cross-entropy", "clamped-entropy", "max-entropy"]
"""On mixes, plain (S0-30); on mixes, less where the network is unsure (S2-63); on the images
themselves, with the entropy of their mixes driven up (S2-62)."""

Per = Literal["batch", "item"]
"""One coefficient for a whole batch, as Zhang et al.'s code and the thesis draw it, or one for
each image."""

Weight = Literal["differentiated", "constant"]
"""Whether the weights of "clamped-entropy" are part of what is minimised, or only numbers."""


@dataclass(frozen=True)
class Mixing:
    """x̃ = λ_f x_i + (1 − λ_f) x_j towards g(y_i, y_j, λ_g), λ_f ~ Beta(α, α) (S0-30, S2-57).

    Every image of a batch is mixed with another of the same batch, its partners being the batch
    in another order. The endpoints y_i and y_j are whatever the targets of the training are:
    hard, soft, elicited or simulated, one annotator's, drawn (S2-64).

    >>> Mixing(alpha=0.2, loss="clamped-entropy", kappa=0.7)
    Mixing(alpha=0.2, loss='clamped-entropy', target='classic', per='batch', kappa=0.7, ...)
    """

    alpha: float
    """Small: mostly one of the two images; 1: any mix alike; large: half and half."""
    loss: Loss = "cross-entropy"
    target: Curves | Literal["classic"] = "classic"
    """The target policy: λ_g = λ_f, or λ_g = τ_ij(λ_f) with a curve for each class pair (S2-65)."""
    per: Per = "batch"
    kappa: float = 0.7
    """The least weight in "clamped-entropy"; 1 is plain cross-entropy, 0 has no floor."""
    weight: Weight = "differentiated"
    entropy_weight: float = 1.0
    """What the entropy counts in "max-entropy" beside the cross-entropy."""

    def __post_init__(self) -> None:
        for name, kinds in (("loss", Loss), ("per", Per), ("weight", Weight)):
            if getattr(self, name) not in get_args(kinds):
                raise DataError(
                    f"The {name} of a mixing is {getattr(self, name)!r}; it must be one of "
                    f"{', '.join(map(repr, get_args(kinds)))}."
                )
        if not (self.alpha > 0 and math.isfinite(self.alpha)):
            raise DataError(f"The α of Beta(α, α) must be a number above 0, not {self.alpha}.")
        if not 0 <= self.kappa <= 1:
            raise DataError(f"The least weight κ must be from 0 to 1, not {self.kappa}.")
        if not (self.entropy_weight >= 0 and math.isfinite(self.entropy_weight)):
            raise DataError(
                f"The entropy's weight must be a number of at least 0, not {self.entropy_weight}."
            )
        _check_target(self)

    def over(self, classes: tuple[str, ...]) -> "Mixing":
        """The same with its curves in the order of these classes, which must be theirs."""
        if isinstance(self.target, Curves):
            return replace(self, target=self.target.over(classes))
        return self


def _check_target(mixing: Mixing) -> None:
    if not isinstance(mixing.target, Curves):
        if mixing.target != "classic":
            raise DataError(
                f"The target of a mixing is {mixing.target!r}; it must be 'classic' or curves."
            )
        return
    if mixing.loss == "max-entropy":
        raise DataError(
            'The loss "max-entropy" uses no target for mixes, so it takes no curves; leave one out.'
        )
    missing = mixing.target.missing
    if missing:
        first, second = missing[0]
        raise DataError(
            f"The class pair {first!r}, {second!r} has no curve ({len(missing)} without one). "
            "Fill them in with FittedCurves.filled, which records it."
        )


# Fingerprints of stored trainings hold the full names of these classes from when they stood beside
# the training itself; with other names every run would train again.
Recipe.__module__ = "sfumato.learn.train"
Mixing.__module__ = "sfumato.learn.mixing"
