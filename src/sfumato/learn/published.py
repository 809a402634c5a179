"""Training recipes as the papers give them; what they leave open is said beside each."""

from dataclasses import replace

from sfumato.learn.train import Recipe
from sfumato.names import find

__all__ = ["PUBLISHED", "RATES", "published_recipe"]

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
    # The thesis with mixed images added to 7,000 hard ones (S2-54): no crops, no mirrors.
    "augmenting-set": Recipe(
        "preact-resnet-18",
        epochs=200,
        batch_size=32,
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


def published_recipe(name: str, *, network: str = "", seed: int = 0) -> Recipe:
    """A published recipe, for another network if one is named.

    >>> published_recipe("uma", network="resnet-8", seed=3).milestones
    (50, 55)
    """
    recipe = find(PUBLISHED, name, what="published recipe")
    return replace(recipe, network=network or recipe.network, seed=seed)
