"""One training as a cell of a sweep: from a recipe, images, labels and a split to predictions."""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples, predict
from sfumato.learn.folds import Split
from sfumato.learn.sweep import CellResult
from sfumato.learn.targets import Targets, fixed, sampled
from sfumato.learn.train import Recipe, train

__all__ = ["Presentation", "Watch", "fit_and_predict"]

Presentation = Literal["fixed", "sampled"]
"""The same row of probabilities every epoch, or a label drawn afresh from it (S0-09)."""

Watch = Literal["nothing", "training part"]


def fit_and_predict(
    recipe: Recipe,
    examples: Examples,
    labels: LabelSet,
    split: Split,
    presentation: Presentation = "fixed",
    watch: Watch = "nothing",
) -> CellResult:
    """Train on the split's training part, choose on its validation part, predict its test part.

    ``labels`` are the targets of both; what is reported is compared with other labels later,
    from the arrays ``predictions`` and, with a second test part, ``second_predictions``, whose
    rows are in the order of the split. ``watch`` keeps what the network believed about the
    training part after each epoch, as ``watched``, shape (epochs, items, classes).
    """
    targets = _targets(labels.take(split.train), split.train, presentation)
    validation = None
    if split.validation:
        validation = examples.take(split.validation), labels.take(split.validation)
    learnt = examples.take(split.train)
    watched = learnt if watch == "training part" else None
    trained = train(recipe, learnt, targets, validation=validation, watch=watched)
    found = {"predictions": predict(trained.network, examples.take(split.test), labels.classes)}
    if split.second_test:
        second = examples.take(split.second_test)
        found["second_predictions"] = predict(trained.network, second, labels.classes)
    arrays: dict[str, NDArray[np.floating]] = {
        name: labels.probs.astype(np.float32) for name, labels in found.items()
    }
    if watched is not None:
        arrays["watched"] = trained.watched.astype(np.float16)  # data maps need no more digits
    return CellResult(
        scores={"history": list(trained.history), "best_epoch": trained.best_epoch},
        arrays=arrays,
        work=len(trained.history),
    )


def _targets(labels: LabelSet, items: tuple[str, ...], presentation: Presentation) -> Targets:
    match presentation:
        case "fixed":
            return fixed(labels, items)
        case "sampled":
            return sampled(labels, items)
        case _:
            assert_never(presentation)
