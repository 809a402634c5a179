from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.learn.examples import Examples
from sfumato.learn.fit import Presentation, fit_and_predict
from sfumato.learn.folds import Split
from sfumato.learn.sweep import Cell, Done, run_sweep
from sfumato.learn.train import Recipe

CLASSES = ("light", "dark")
RECIPE = Recipe("simple-ffn", epochs=3, batch_size=16, learning_rate=0.01, weights="best")


def problem() -> tuple[Examples, LabelSet, Split]:
    """Light and dark images; the second half of the items is for choosing and testing."""
    rng = np.random.default_rng(0)
    chosen = np.arange(60) % 2
    pixels = rng.integers(128, size=(60, 6, 6, 1)) + 120 * (1 - chosen)[:, None, None, None]
    items = tuple(map(str, range(60)))
    labels = hard_labels(items, CLASSES, chosen)
    return (
        Examples(items, pixels.astype(np.uint8)),
        labels,
        Split(items[:30], items[30:40], items[40:]),
    )


def test_predictions_of_the_test_part_are_in_the_order_of_the_split() -> None:
    examples, labels, split = problem()

    found = fit_and_predict(RECIPE, examples, labels, split)

    right = labels.take(split.test).probs.argmax(axis=1)
    assert (found.arrays["predictions"].argmax(axis=1) == right).mean() > 0.9
    assert found.work == 3


def test_what_each_epoch_believes_of_the_training_part_is_kept_when_asked() -> None:
    examples, labels, split = problem()

    watched = fit_and_predict(RECIPE, examples, labels, split, watch="training part")
    plain = fit_and_predict(RECIPE, examples, labels, split)

    assert watched.arrays["watched"].shape == (3, 30, 2)
    assert np.array_equal(watched.arrays["predictions"], plain.arrays["predictions"])
    assert "watched" not in plain.arrays


@pytest.mark.parametrize("presentation", ["fixed", "sampled"])
def test_alone_in_a_loop_and_in_a_sweep_give_the_same_numbers(
    tmp_path: Path, presentation: Presentation
) -> None:
    examples, labels, split = problem()
    inputs = {
        "examples": examples,
        "labels": labels,
        "split": split,
        "presentation": presentation,
    }
    recipes = [replace(RECIPE, seed=seed) for seed in range(3)]
    cells = [Cell(f"seed {r.seed}", fit_and_predict, {"recipe": r, **inputs}) for r in recipes]

    swept = run_sweep(cells, tmp_path, workers=2)
    alone = [fit_and_predict(recipe, examples, labels, split, presentation) for recipe in recipes]

    for one, other in zip(swept, alone, strict=True):
        assert isinstance(one, Done)
        assert np.array_equal(one.arrays()["predictions"], other.arrays["predictions"])
