import pytest

from sfumato.errors import UnknownName
from sfumato.learn.networks import NETWORKS
from sfumato.learn.published import PUBLISHED, published_recipe


def test_published_recipes_are_for_networks_that_exist() -> None:
    assert {recipe.network for recipe in PUBLISHED.values()} <= NETWORKS.keys()


def test_recipe_of_the_thesis_drops_its_rate_after_epochs_50_and_55_of_65() -> None:
    recipe = published_recipe("uma", network="resnet-8", seed=4)

    assert (recipe.epochs, recipe.milestones, recipe.decay) == (65, (50, 55), 0.1)
    assert (recipe.network, recipe.seed, recipe.clip, recipe.batch_size) == ("resnet-8", 4, 1.0, 32)


def test_unknown_recipe_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="paper5-dynamics"):
        published_recipe("paper5-dynamic")
