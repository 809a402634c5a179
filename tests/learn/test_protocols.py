from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import hard_labels
from sfumato.learn.examples import Examples
from sfumato.learn.fit import fold_cells, fold_predictions, out_of_fold
from sfumato.learn.folds import class_of, k_folds
from sfumato.learn.recipe import Recipe
from sfumato.learn.sweep import run_sweep

RECIPE = Recipe("simple-ffn", epochs=3, batch_size=16, learning_rate=0.01)
ITEMS = tuple(map(str, range(40)))
LABELS = hard_labels(ITEMS, ("light", "dark"), np.arange(40) % 2)


def pictures() -> Examples:
    rng = np.random.default_rng(0)
    pixels = (
        rng.integers(128, size=(40, 6, 6, 1)) + 120 * (1 - np.arange(40) % 2)[:, None, None, None]
    )
    return Examples(ITEMS, pixels.astype(np.uint8))


def test_every_item_is_predicted_once_by_a_model_that_did_not_see_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    splits = k_folds(ITEMS, 4, strata=class_of(LABELS), selection="none", rng=rng)
    inputs = {"examples": pictures(), "labels": LABELS}
    cells = fold_cells("hard", RECIPE, splits, inputs)

    results = run_sweep(cells, tmp_path, workers=1)
    folds = fold_predictions(splits, results, LABELS.classes)
    together = out_of_fold(folds)

    assert [fold.items for fold in folds] == [split.test for split in splits]
    assert sorted(together.items, key=int) == list(ITEMS)
    right = together.probs.argmax(axis=1) == LABELS.take(together.items).probs.argmax(axis=1)
    assert right.mean() > 0.9


def test_failed_fold_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    splits = k_folds(ITEMS, 2, strata=class_of(LABELS), selection="none", rng=rng)
    recipe = replace(RECIPE, learning_rate=1e30, optimizer="sgd")
    cells = fold_cells("hard", recipe, splits, {"examples": pictures(), "labels": LABELS})

    results = run_sweep(cells, tmp_path, workers=1)

    with pytest.raises(DataError, match=r"hard, fold 1 of 2 failed: .*diverged"):
        fold_predictions(splits, results, LABELS.classes)


def test_no_folds_are_nothing_to_put_together() -> None:
    with pytest.raises(DataError, match="no folds"):
        out_of_fold([])
