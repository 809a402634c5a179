"""Training recipes as the papers give them; what they leave open is said beside each."""

from dataclasses import replace

from sfumato.learn.recipe import Mixing, Recipe
from sfumato.names import find

PUBLISHED: dict[str, Recipe] = {
    # Paper 1 in its own words (S0-25): Adam at a rate of 0.1, at most 150 epochs.
    "paper1-stated": Recipe("resnet_basic_110", epochs=150, batch_size=128, learning_rate=0.1),
    # What its launch scripts say instead (C6), here those of this network: SGD with Nesterov
    # momentum and two drops. Wide ResNet, ResNeXt, DenseNet and Shake-Shake differ a little.
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
