"""Turn splits into the trainings of a protocol, and their results into predictions by item."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.fit import fit_and_predict
from sfumato.learn.folds import Split
from sfumato.learn.sweep import Cell, Done, Failed
from sfumato.learn.train import Recipe
from sfumato.provenance import Step

__all__ = ["fold_cells", "fold_predictions", "out_of_fold"]

Part = Literal["test", "second_test"]


def fold_cells(
    name: str, recipe: Recipe, splits: Sequence[Split], inputs: Mapping[str, Any]
) -> list[Cell]:
    """One training a fold: k models for k folds (S0-24); ``inputs`` are what they share."""
    return [
        Cell(
            f"{name}, fold {fold} of {len(splits)}",
            fit_and_predict,
            {"recipe": recipe, "split": split, **inputs},
        )
        for fold, split in enumerate(splits, start=1)
    ]


def fold_predictions(
    splits: Sequence[Split],
    results: Sequence[Done | Failed],
    classes: tuple[str, ...],
    part: Part = "test",
) -> list[LabelSet]:
    """What the model of each fold believes about its own test part, or about the second one.

    The second part is the same for all folds, as in a role swap (S0-26): scores there are the
    mean over the k models.
    """
    found = []
    for split, result in zip(splits, results, strict=True):
        if isinstance(result, Failed):
            raise DataError(f"{result.cell.name} failed: {result.reason}")
        items = split.test if part == "test" else split.second_test
        rows = result.arrays()["predictions" if part == "test" else "second_predictions"]
        probs = rows.astype(np.float64)
        probs /= probs.sum(axis=1, keepdims=True)  # undo the rounding of float32
        found.append(LabelSet(items, classes, probs, provenance=(Step("predict"),)))
    return found


def out_of_fold(predictions: Sequence[LabelSet]) -> LabelSet:
    """One prediction an item, each by a model that never saw it, in the order of the folds.

    >>> folds = [LabelSet((item,), ("cat", "dog"), [[0.75, 0.25]]) for item in "ab"]
    >>> out_of_fold(folds).items
    ('a', 'b')
    """
    if not predictions:
        raise DataError("There are no folds to put together.")
    first = predictions[0]
    items = tuple(item for fold in predictions for item in fold.items)
    probs = np.concatenate([fold.probs for fold in predictions])
    step = Step("put folds together", {"folds": len(predictions)})
    return LabelSet(items, first.classes, probs, provenance=(*first.provenance, step))
