from dataclasses import replace

from sfumato.learn.recipe import published_recipe


def test_recipe_of_the_thesis_drops_its_rate_after_epochs_50_and_55_of_65() -> None:
    recipe = published_recipe("uma", network="resnet-8", seed=4)

    assert (recipe.epochs, recipe.milestones, recipe.decay) == (65, (50, 55), 0.1)
    assert (recipe.network, recipe.seed, recipe.clip, recipe.batch_size) == ("resnet-8", 4, 1.0, 32)


def test_paper_1_says_adam_and_its_scripts_sgd_and_nothing_else_differs() -> None:
    stated, released = published_recipe("paper1-stated"), published_recipe("paper1-released")

    assert (stated.optimizer, stated.learning_rate, stated.epochs) == ("adam", 0.1, 150)
    assert replace(stated, optimizer="sgd") == released
    assert stated.augment == ("crop", "flip")
