"""From a recipe, images, labels and splits to predictions: one training, or all of a protocol."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, assert_never

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch.utils.flop_counter import FlopCounterMode

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.examples import (
    Examples,
    best_device,
    keep_freed_memory,
    precision,
    predict,
    repeatable,
)
from sfumato.learn.folds import Split, require_classes
from sfumato.learn.mixing import Augmenting, with_augmenting
from sfumato.learn.networks import ImageShape, build_network
from sfumato.learn.recipe import Mixing, Recipe
from sfumato.learn.sweep import Cell, CellResult, FailedCell, FinishedCell
from sfumato.learn.targets import (
    Targets,
    fixed_targets,
    judgments_on,
    one_annotator,
    sampled_targets,
)
from sfumato.learn.train import DivergenceError, TrainedNetwork, Weights, train, weights_of
from sfumato.provenance import Step

Presentation = Literal["fixed", "sampled", "one annotator"]
"""The same row of probabilities every epoch, a label drawn afresh from it (S0-09), or the
distribution of one annotator drawn afresh (S2-22)."""

Keep = Literal["watched", "weights"]
"""What a cell keeps besides predictions: ``watched``, what the network believed about the
training part after each epoch, shape (epochs, items, classes); ``weights``, to go on from."""

WEIGHTS = "weights/"

T = TypeVar("T")


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
    """``fit_and_predict`` with the learning rate whose validation loss is least (S0-25).

    The validation part is nested in the training part or, as published, the test part (C7):
    the split says which. ``scores["rates"]`` tells the loss of every rate, infinite where the
    model diverged.
    """
    given = (examples, labels, split, presentation, "watched" in keep, start, mixing, augmenting)
    tried = {rate: replace(recipe, learning_rate=rate) for rate in rates}
    best = best_of("rate", tried, lambda setting: fit(setting, *given), split, recipe.weights)
    result = result_of(best.trained, examples, labels.classes, split, keep)
    return CellResult({**result.scores, **best.told}, result.arrays, best.work)


@dataclass(frozen=True, eq=False)
class BestTraining:
    """The training whose setting was best on the validation part."""

    trained: TrainedNetwork
    value: float
    told: Mapping[str, Any]
    """The setting by its name, where it was chosen, and the loss of every one that was tried."""
    work: int
    """Epochs of all trainings."""


def best_of(
    what: str,
    tried: Mapping[float, T],
    train_with: Callable[[T], TrainedNetwork],
    split: Split,
    kept: Literal["best", "last"],
) -> BestTraining:
    """Train with every setting that is ``tried``, by its value, and keep the network whose
    validation loss is least.

    The loss is that of the epoch whose weights are ``kept``, infinite where the network diverges.
    ``what`` names the setting.
    """
    if not split.validation:
        raise DataError(
            f"The {what} of a training is chosen on a validation part, and the split has none; "
            'make it with selection="nested", or as published with selection="on-test-part".'
        )
    losses: dict[float, float] = {}
    best, work = None, 0
    for value, setting in tried.items():
        try:
            trained = train_with(setting)
        except DivergenceError:
            losses[value] = float("inf")
            continue
        work += len(trained.history)
        seen = [row["validation_loss"] for row in trained.history]
        loss = min(seen) if kept == "best" else seen[-1]
        if best is None or loss < min(losses.values()):
            best = trained
        losses[value] = loss
    if best is None:
        raise DataError(f"The model diverged with every {what}: {list(tried)}.")
    value = min(losses, key=losses.__getitem__)
    rows = [{what: each, "validation_loss": loss} for each, loss in losses.items()]
    told = {what: value, "selection": split.selection, f"{what}s": rows}
    return BestTraining(best, value, told, work)


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
) -> TrainedNetwork:
    """Train on the split's training part and choose on its validation part.

    What is watched is the training part itself, without an augmenting set.
    """
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    require_classes(split, mean)
    learnt = examples.take(split.train)
    validation = None
    if split.validation:
        validation = examples.take(split.validation), mean.take(split.validation)
    shown, targets = learnt, targets_of(labels, split.train, presentation)
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


def targets_of(
    labels: LabelSet | CrowdLabels, items: tuple[str, ...], presentation: Presentation
) -> Targets:
    """What a network is shown of the labels of the given items."""
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    match presentation:
        case "fixed":
            return fixed_targets(mean.take(items), items)
        case "sampled":
            return sampled_targets(mean.take(items), items)
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
    trained: TrainedNetwork,
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


# Turn splits into the trainings of a protocol, and their results into predictions by item.

Part = Literal["test", "second_test"]


def fold_cells(
    name: str, recipe: Recipe, splits: Sequence[Split], inputs: Mapping[str, Any]
) -> list[Cell]:
    """One training per fold: k models for k folds (S0-24); ``inputs`` are what they share."""
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
    results: Sequence[FinishedCell | FailedCell],
    classes: tuple[str, ...],
    part: Part = "test",
) -> list[LabelSet]:
    """What the model of each fold believes about its own test part, or about the second one.

    The second part is the same for all folds, as in a role swap (S0-26): scores there are the
    mean over the k models.
    """
    found = []
    for split, result in zip(splits, results, strict=True):
        if isinstance(result, FailedCell):
            raise DataError(f"{result.cell.name} failed: {result.reason}")
        items = split.test if part == "test" else split.second_test
        rows = result.arrays()["predictions" if part == "test" else "second_predictions"]
        probs = rows.astype(np.float64)
        probs /= probs.sum(axis=1, keepdims=True)  # undo the rounding of float32
        found.append(LabelSet(items, classes, probs, provenance=(Step("predict"),)))
    return found


def out_of_fold(predictions: Sequence[LabelSet]) -> LabelSet:
    """One prediction per item, each by a model that never saw it, in the order of the folds.

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


# What training a network costs an image: sums done, and seconds on this machine.


MEASURED_IMAGES = 16
"""Images of the batch that is timed; in a larger one an image costs somewhat less."""

MEASURED_OPERATIONS = 20e9
"""A step of a large network is timed on fewer images, at least two, of about so many operations
together: about half a second of one core."""

PASSES = 3
"""A training step is a pass forward and one backward, which costs about two forward."""


@dataclass(frozen=True)
class TrainingCost:
    """What one image costs in one epoch."""

    operations: float
    """Floating-point operations: those of the forward pass, three times."""
    seconds: float
    """On the device that was used, one core of a CPU: measured once, so about right."""
    device: str


def training_cost(network: str, *, classes: int, image_shape: ImageShape) -> TrainingCost:
    """Measure one training step of random images; the first step, a slow one, is not timed.

    The smaller the batch, the dearer an image looks, because the step of the optimizer and the
    reading of all weights is then for fewer; large networks are busy with two.

    >>> cost = training_cost("cnn-3", classes=10, image_shape=(32, 32, 3))
    >>> round(cost.operations / 1e6)
    17
    """
    device = best_device()
    clock = time.perf_counter
    if device.type == "cpu":
        keep_freed_memory()
        clock = time.process_time  # of one thread: other work on the core does not count
    with repeatable(device, 0):  # one thread, as every training has
        built = build_network(network, classes=classes, image_shape=image_shape, seed=0).to(device)
        height, width, channels = image_shape
        batch = torch.rand((MEASURED_IMAGES, height, width, channels)).permute(0, 3, 1, 2)
        batch = batch.to(device)
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            built.eval()(batch[:1])
        operations = PASSES * counter.get_total_flops()
        images = min(MEASURED_IMAGES, max(2, round(MEASURED_OPERATIONS / operations)))
        batch, targets = batch[:images], torch.full((images, classes), 1 / classes, device=device)
        optimizer = torch.optim.SGD(built.parameters(), lr=0.01, momentum=0.9, fused=True)
        built.train()
        seconds = 0.0
        for _ in range(2):
            started = clock()
            optimizer.zero_grad()
            with precision(device):
                loss = F.cross_entropy(built(batch), targets)
            loss.backward()
            optimizer.step()
            loss.item()  # waits for a GPU
            seconds = clock() - started
    return TrainingCost(operations, seconds / images, device.type)
