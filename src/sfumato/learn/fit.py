"""One training as a cell of a sweep: from a recipe, images, labels and a split to predictions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.examples import Examples, predict
from sfumato.learn.folds import Split, require_classes
from sfumato.learn.mixing import Augmenting, Mixing, with_augmenting
from sfumato.learn.sweep import CellResult
from sfumato.learn.targets import Targets, fixed, judgments_on, one_annotator, sampled
from sfumato.learn.train import Diverged, Recipe, Trained, Weights, train, weights_of

__all__ = [
    "WEIGHTS",
    "Keep",
    "Presentation",
    "fit",
    "fit_and_predict",
    "fit_with_best_rate",
    "kept_weights",
    "result_of",
]

Presentation = Literal["fixed", "sampled", "one annotator"]
"""The same row of probabilities every epoch, a label drawn afresh from it (S0-09), or the
distribution of one annotator drawn afresh (S2-22)."""

Keep = Literal["watched", "weights"]
"""What a cell keeps besides predictions: ``watched``, what the network believed about the
training part after each epoch, shape (epochs, items, classes); ``weights``, to go on from."""

WEIGHTS = "weights/"


def fit_and_predict(
    recipe: Recipe,
    examples: Examples,
    labels: LabelSet | CrowdLabels,
    split: Split,
    presentation: Presentation = "fixed",
    keep: tuple[Keep, ...] = (),
    start: Weights | None = None,
    mixing: Mixing | None = None,
    augmenting: Augmenting | None = None,
) -> CellResult:
    """Train on the split's training part, choose on its validation part, predict its test part.

    ``labels`` are the targets of both, those of single annotators averaged where that is what
    ``presentation`` or the validation part needs; what is reported is compared with other
    labels later, from the arrays ``predictions`` and, with a second test part,
    ``second_predictions``, whose rows are in the order of the split. ``mixing`` mixes every
    batch (S2-55); ``augmenting`` adds mixed images to the training part (S2-54).
    """
    watched = "watched" in keep
    trained = fit(recipe, examples, labels, split, presentation, watched, start, mixing, augmenting)
    return result_of(trained, examples, labels.classes, split, keep)


def fit_with_best_rate(
    recipe: Recipe,
    rates: tuple[float, ...],
    examples: Examples,
    labels: LabelSet | CrowdLabels,
    split: Split,
    presentation: Presentation = "fixed",
    keep: tuple[Keep, ...] = (),
    start: Weights | None = None,
    mixing: Mixing | None = None,
    augmenting: Augmenting | None = None,
) -> CellResult:
    """``fit_and_predict`` with the learning rate whose best validation loss is least (S0-25).

    The validation part is nested in the training part or, as published, the test part (C7):
    the split says which. ``scores["rates"]`` tells the loss of every rate, infinite where the
    model diverged.
    """
    if not split.validation:
        raise DataError(
            "A learning rate is chosen on a validation part, and the split has none; make it "
            'with selection="nested", or as published with selection="on-test-part".'
        )
    given = (examples, labels, split, presentation, "watched" in keep, start, mixing, augmenting)
    losses, best, work = {}, None, 0
    for rate in rates:
        tried = replace(recipe, learning_rate=rate)
        try:
            trained = fit(tried, *given)
        except Diverged:
            losses[rate] = float("inf")
            continue
        work += len(trained.history)
        loss = min(row["validation_loss"] for row in trained.history)
        if best is None or loss < min(losses.values()):
            best = trained
        losses[rate] = loss
    if best is None:
        raise DataError(f"The model diverged with every learning rate: {list(rates)}.")
    result = result_of(best, examples, labels.classes, split, keep)
    rate = min(losses, key=losses.__getitem__)
    rows = [{"rate": rate, "validation_loss": loss} for rate, loss in losses.items()]
    chosen = {"rate": rate, "selection": split.selection, "rates": rows}
    return CellResult({**result.scores, **chosen}, result.arrays, work)


def kept_weights(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights among the arrays of a cell that kept them: the ``start`` of another."""
    found = {
        name.removeprefix(WEIGHTS): array
        for name, array in arrays.items()
        if name.startswith(WEIGHTS)
    }
    if not found:
        raise DataError('The cell kept no weights; run it with keep=("weights",).')
    return found


def fit(
    recipe: Recipe,
    examples: Examples,
    labels: LabelSet | CrowdLabels,
    split: Split,
    presentation: Presentation,
    watched: bool = False,
    start: Weights | None = None,
    mixing: Mixing | None = None,
    augmenting: Augmenting | None = None,
) -> Trained:
    """Train on the split's training part and choose on its validation part.

    What is watched is the training part itself, without an augmenting set.
    """
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    require_classes(split, mean)
    learnt = examples.take(split.train)
    validation = None
    if split.validation:
        validation = examples.take(split.validation), mean.take(split.validation)
    shown, targets = learnt, _targets(labels, mean, split.train, presentation)
    if augmenting is not None:
        shown, targets = with_augmenting(learnt, targets, augmenting)
    return train(
        recipe,
        shown,
        targets,
        validation=validation,
        watch=learnt if watched else None,
        start=start,
        mixing=mixing,
    )


def _targets(
    labels: LabelSet | CrowdLabels,
    mean: LabelSet,
    items: tuple[str, ...],
    presentation: Presentation,
) -> Targets:
    match presentation:
        case "fixed":
            return fixed(mean.take(items), items)
        case "sampled":
            return sampled(mean.take(items), items)
        case "one annotator":
            if isinstance(labels, LabelSet):
                raise DataError(
                    "To show one annotator's answer at a time, give the labels of each annotator "
                    "(CrowdLabels); these are averaged already."
                )
            return one_annotator(judgments_on(labels, items), items)
        case _:
            assert_never(presentation)


def result_of(
    trained: Trained,
    examples: Examples,
    classes: tuple[str, ...],
    split: Split,
    keep: tuple[Keep, ...] = (),
) -> CellResult:
    """What a cell keeps of a training: predictions, what was watched, its history."""
    parts = {"predictions": split.test, "second_predictions": split.second_test}
    arrays: dict[str, NDArray[Any]] = {
        name: predict(trained.network, examples.take(items), classes).probs.astype(np.float32)
        for name, items in parts.items()
        if items
    }
    for kept in keep:
        match kept:
            case "watched":
                arrays["watched"] = trained.watched.astype(np.float16)  # enough for data maps
            case "weights":
                state = weights_of(trained.network)
                arrays |= {WEIGHTS + name: array for name, array in state.items()}
            case _:
                assert_never(kept)
    return CellResult(
        scores={"history": list(trained.history), "best_epoch": trained.best_epoch},
        arrays=arrays,
        work=len(trained.history),
    )
