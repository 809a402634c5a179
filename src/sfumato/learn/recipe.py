"""What decides a training besides its data: the recipe of a run, and how its batches are mixed.

Settings only: nothing here needs torch, so that a study can be read and its report drawn without.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from sfumato.errors import DataError
from sfumato.labels.mixing import Curves
from sfumato.names import find

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


# Training recipes as the papers give them; what they leave open is said beside each.


PUBLISHED: dict[str, Recipe] = {
    # Paper 1 in its own words (S0-25): Adam at a rate of 0.1, at most 150 epochs, and for the rest
    # what the repository that it builds on has for this network.
    "paper1-stated": Recipe(
        "resnet_basic_110",
        epochs=150,
        batch_size=128,
        learning_rate=0.1,
        weight_decay=1e-4,
        schedule="multistep",
        milestones=(80, 120),
        augment=("crop", "flip"),
    ),
    # What its launch scripts say instead (C6), here those of this network: SGD with Nesterov
    # momentum. What differs for others is in ``training_of`` of its studies.
    "paper1-released": Recipe(
        "resnet_basic_110",
        epochs=150,
        batch_size=128,
        optimizer="sgd",
        learning_rate=0.1,
        weight_decay=1e-4,
        schedule="multistep",
        milestones=(80, 120),
        augment=("crop", "flip"),
    ),
    # The thesis after Uma et al. (S2-46). Its text says the drops are by 1e-4, its code by 10.
    "uma": Recipe(
        "resnet-34a",
        epochs=65,
        batch_size=32,
        optimizer="sgd",
        learning_rate=0.1,
        weight_decay=1e-4,
        clip=1.0,
        schedule="multistep",
        milestones=(50, 55),
        augment=("crop", "flip"),
    ),
    # The thesis with mixed images added to 7,000 hard ones (S2-54): no crops, no mirrors. What
    # it leaves open is that of Zhang et al.'s released code, which it builds on: batches of 128,
    # weight decay 1e-4; momentum there is not Nesterov's.
    "augmenting-set": Recipe(
        "preact-resnet-18",
        epochs=200,
        batch_size=128,
        optimizer="sgd",
        learning_rate=0.1,
        weight_decay=1e-4,
        schedule="multistep",
        milestones=(100, 150),
    ),
    # The thesis with every batch mixed (S2-55), to be used with one of MIXINGS: "a similar
    # training paradigm" with a deeper network (S2-45).
    "full-mixing": Recipe(
        "preact-resnet-34",
        epochs=200,
        batch_size=128,
        optimizer="sgd",
        learning_rate=0.1,
        weight_decay=1e-4,
        schedule="multistep",
        milestones=(100, 150),
    ),
    # Paper 5, what a model can do (S4-21). Rate and patience are lost from our text: Adam's
    # own rate, drops after 3 epochs, an end after 10.
    "paper5-performance": Recipe(
        "lenet", epochs=60, schedule="plateau", patience=3, stop_after=10, weights="best"
    ),
    # Paper 5, how it gets there (S4-22): every run of the same length.
    "paper5-dynamics": Recipe("lenet", epochs=40),
    # Paper 5, how many images it takes (S4-27).
    "paper5-sample-size": Recipe("lenet", epochs=25),
}

RATES: dict[str, tuple[float, ...]] = {
    "paper1": (0.2, 0.1, 0.01, 0.001),  # S0-25
    "paper1-fine-tuning": (0.1, 0.01, 0.001),  # S0-27
    "thesis": (0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5),  # S2-47
}
"""Learning rates that were searched."""

MIXINGS: dict[str, Mixing] = {
    # S0-30; the thesis does not state its α: 1 is that of the code it builds on.
    "mixup": Mixing(alpha=1.0),
    "mix-maxent": Mixing(alpha=10.0, loss="max-entropy"),  # S2-62
    "ent-wc": Mixing(alpha=0.2, loss="clamped-entropy", kappa=0.7),  # S2-63
}
"""How the thesis mixes batches. Curves for class pairs (S2-65) go on top of "mixup" or "ent-wc":
``replace(published_mixing("ent-wc"), target=curves)``."""

ALPHAS: dict[str, tuple[float, ...]] = {
    "mixup": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),  # S0-30
    "mix-maxent": (5, 10, 20, 50),  # S2-62
    "ent-wc": (0.1, 0.2, 0.4, 1, 5, 10),  # S2-63
}
"""Values of α that were searched."""

KAPPAS = (0.0, 0.2, 0.5, 0.7, 0.9)
"""Least weights of the clamped loss that were searched (S2-63)."""


def published_recipe(name: str, *, network: str = "", seed: int = 0) -> Recipe:
    """A published recipe, for another network if one is named.

    >>> published_recipe("uma", network="resnet-8", seed=3).milestones
    (50, 55)
    """
    recipe = find(PUBLISHED, name, what="published recipe")
    return replace(recipe, network=network or recipe.network, seed=seed)


def published_mixing(name: str) -> Mixing:
    """A published way of mixing batches.

    >>> published_mixing("ent-wc").kappa
    0.7
    """
    return find(MIXINGS, name, what="published mixing")
