"""Train one network on any targets: a plain loop over tensors in memory.

A run is a function of a ``Recipe`` (everything but the data), examples and targets. The same
seed gives the same numbers, alone or in a sweep, on the same kind of device with the same
number of threads.
"""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, align
from sfumato.learn.examples import (
    Examples,
    NormalisedNetwork,
    as_tensor,
    best_device,
    keep_freed_memory,
    precision,
    predict,
    probabilities,
    repeatable,
)
from sfumato.learn.mixing import augment, mixed_loss
from sfumato.learn.networks import ImageShape, build_network
from sfumato.learn.recipe import Mixing, Recipe
from sfumato.learn.targets import Targets

MIXING_STREAM = 7
"""Sets the random numbers of mixing apart: with the same seed a mixed and a plain training begin
with the same weights and see the same batches."""


class DivergenceError(DataError):
    """The loss is no number any more."""


Weights = Mapping[str, NDArray[Any]]
"""The state of a ``NormalisedNetwork``: weights, batch statistics, mean and deviation of pixels."""

AfterEpoch = Callable[[int, nn.Module], None]
"""Called with the number of the epoch just done, from 1, and the network."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network and what was seen while it learnt."""

    network: NormalisedNetwork
    history: tuple[dict[str, float], ...]
    """One row per epoch: ``epoch``, ``loss``, ``learning_rate`` and, with a validation part,
    ``validation_loss``."""
    best_epoch: int
    """The epoch with the lowest validation loss; the last one without a validation part."""
    watched: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    """What the network believed after each epoch, shape (epochs, items, classes); empty unless
    asked for."""


def weights_of(network: nn.Module) -> dict[str, NDArray[Any]]:
    """A copy of all weights and statistics, to start another training from."""
    return {
        name: tensor.detach().cpu().contiguous().numpy().copy()
        for name, tensor in network.state_dict().items()
    }


def restore_network(
    name: str,
    image_shape: ImageShape,
    classes: tuple[str, ...],
    start: Weights,
    device: torch.device | None = None,
) -> NormalisedNetwork:
    """The network that ``start`` was taken of, as it was: nothing is learnt."""
    inner = build_network(name, classes=len(classes), image_shape=image_shape, seed=0)
    channels = torch.ones(image_shape[2])
    network = NormalisedNetwork(inner, channels, channels.clone())
    network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    _put_weights(network, name, classes, start)
    return network.to(device or best_device())


def train(
    recipe: Recipe,
    examples: Examples,
    targets: Targets,
    *,
    validation: tuple[Examples, LabelSet] | None = None,
    watch: Examples | None = None,
    start: Weights | None = None,
    mixing: Mixing | None = None,
    network: NormalisedNetwork | None = None,
    device: torch.device | None = None,
    after_epoch: AfterEpoch = lambda epoch, network: None,
) -> TrainedNetwork:
    """Fit a network to targets by soft cross-entropy, −Σ_c p(c|x) log q(c|x) (S0-23).

    ``validation`` decides about plateaus, early stopping and the best epoch. ``watch`` asks for
    predictions of these images after every epoch, in evaluation mode, for data maps (S4-34).
    ``start`` are the weights of a trained network to go on from, its normalisation of pixels
    included (S0-27); left out, they are drawn with the recipe's seed. ``mixing`` mixes every
    batch anew over all training items (S2-55), after the recipe's augmentation. ``network`` is
    trained itself instead of a new one. ``device`` is the best there is, unless told otherwise.
    """
    if examples.items != targets.items:
        raise DataError("Examples and targets are about different items; join them by id first.")
    _check_validation(recipe, validation)
    if mixing is not None:
        mixing = _checked_mixing(recipe, mixing, targets.classes)
    device = device or best_device()
    if device.type == "cpu":
        keep_freed_memory()
    generator = torch.Generator().manual_seed(recipe.seed)
    with repeatable(device, recipe.seed):
        if network is None:
            network = new_network(recipe, examples, targets.classes, start)
        run = _Run(
            recipe, network.to(device), examples, targets, generator, validation, watch, mixing
        )
        return run.go(after_epoch)


class _Run:
    """The state of one training run, and its steps."""

    def __init__(
        self,
        recipe: Recipe,
        network: NormalisedNetwork,
        examples: Examples,
        targets: Targets,
        generator: torch.Generator,
        validation: tuple[Examples, LabelSet] | None,
        watch: Examples | None,
        mixing: Mixing | None,
    ) -> None:
        self.mixing, self.rng = mixing, np.random.default_rng([recipe.seed, MIXING_STREAM])
        self.recipe, self.targets, self.generator = recipe, targets, generator
        self.network, self.device = network, network.mean.device
        images = as_tensor(examples).to(self.device)
        if not recipe.augment:  # nothing changes the pixels: normalise them once, not every time
            images = self.network.normalised(images)
        self.shape = images.permute(0, 2, 3, 1).shape[1:]  # height, width, channels
        self.rows = images.permute(0, 2, 3, 1).reshape(len(images), -1)  # an image a row
        self.weights = list(self.network.parameters())
        self.validation = None if validation is None else _aligned(validation, targets.classes)
        self.watch = watch
        self.optimizer = _optimizer(recipe, self.network)
        self.scheduler = _scheduler(recipe, self.optimizer)
        self.best_loss, self.best_epoch = math.inf, 0
        self.best_weights: dict[str, Tensor] = {}
        self.history: list[dict[str, float]] = []
        self.watched: list[NDArray[np.float32]] = []

    def go(self, after_epoch: AfterEpoch) -> TrainedNetwork:
        for epoch in range(1, self.recipe.epochs + 1):
            rate = float(self.optimizer.param_groups[0]["lr"])
            row = {"epoch": epoch, "learning_rate": rate, "loss": self._learn(epoch)}
            if self.validation is not None:
                row["validation_loss"] = self._validate(epoch)
            self.history.append(row)
            if self.watch is not None:
                self.watched.append(probabilities(self.network, self.watch))
            after_epoch(epoch, self.network)
            if self._stops(epoch):
                break
            self._schedule(row)
        if self.recipe.weights == "best":
            self.network.load_state_dict(self.best_weights)
        return TrainedNetwork(
            self.network,
            tuple(self.history),
            self.best_epoch if self.validation is not None else len(self.history),
            np.stack(self.watched) if self.watched else np.empty(0, dtype=np.float32),
        )

    def _learn(self, epoch: int) -> float:
        """One pass over the training part; the mean loss."""
        self.network.train()
        targets = self.targets.draw(self.generator).to(self.device)  # (items, classes)
        order = torch.randperm(len(self.rows), generator=self.generator).to(self.device)
        summed = torch.zeros((), dtype=torch.float64, device=self.device)
        for batch in order.split(self.recipe.batch_size):
            with precision(self.device):
                images = self.rows.index_select(0, batch).view(-1, *self.shape)
                loss = self._loss(images.permute(0, 3, 1, 2), targets.index_select(0, batch))
            for weight in self.weights:  # what zero_grad does, without its book-keeping
                weight.grad = None
            loss.backward()
            if self.recipe.clip is not None:
                nn.utils.clip_grad_norm_(self.weights, self.recipe.clip)
            self.optimizer.step()
            summed.add_(loss.detach(), alpha=len(batch))
        total = float(summed)
        if not math.isfinite(total):
            raise DivergenceError(
                f"The loss of {self.recipe.network!r} is {total} in epoch {epoch}: the model "
                f"diverged. Lower the learning rate ({self.recipe.learning_rate}) or clip "
                "the gradient."
            )
        return total / len(self.rows)

    def _loss(self, images: Tensor, targets: Tensor) -> Tensor:
        if self.recipe.augment:
            changed = augment(images, self.recipe.augment, generator=self.generator)
            images = self.network.normalised(changed)
        if self.mixing is not None:
            return mixed_loss(self.network.network, images, targets, self.mixing, rng=self.rng)
        logits = self.network.network(images)
        loss = F.cross_entropy(logits, targets)
        if self.recipe.peer:
            # Other images beside other labels: what is learnt by chance agreement is taken back.
            image, label = (
                torch.randperm(len(logits), generator=self.generator).to(self.device)
                for _ in range(2)
            )
            loss = loss - self.recipe.peer * F.cross_entropy(logits[image], targets[label])
        return loss

    def _validate(self, epoch: int) -> float:
        assert self.validation is not None
        examples, human = self.validation
        model = predict(self.network, examples, human.classes)
        # float32 softmax can round a chosen class to 0; the least positive number keeps the log
        log_q = np.log(np.maximum(model.probs, np.finfo(np.float32).tiny))
        loss = float(-(human.probs * log_q).sum(axis=1).mean())
        if loss < self.best_loss:
            self.best_loss, self.best_epoch = loss, epoch
            if self.recipe.weights == "best":
                self.best_weights = copy.deepcopy(self.network.state_dict())
        return loss

    def _stops(self, epoch: int) -> bool:
        patience = self.recipe.stop_after
        return patience is not None and epoch - self.best_epoch >= patience

    def _schedule(self, row: dict[str, float]) -> None:
        if isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            self.scheduler.step(row["validation_loss"])
        else:
            self.scheduler.step()


def new_network(
    recipe: Recipe, examples: Examples, classes: tuple[str, ...], start: Weights | None = None
) -> NormalisedNetwork:
    """The recipe's network before it learns, normalised by these examples."""
    inner = build_network(
        recipe.network, classes=len(classes), image_shape=examples.image_shape, seed=recipe.seed
    )
    network = NormalisedNetwork.fitted(inner, examples)
    if start is not None:
        _put_weights(network, recipe.network, classes, start)
    return network


def _put_weights(
    network: NormalisedNetwork, name: str, classes: tuple[str, ...], start: Weights
) -> None:
    needed = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    given = {name: array.shape for name, array in start.items()}
    if needed != given:
        names = needed.keys() | given.keys()
        odd = min(name for name in names if needed.get(name) != given.get(name))
        raise DataError(
            f"The weights to start from are not those of {name!r} for {len(classes)} "
            f"classes: {odd!r} has the shape {given.get(odd)}, but {needed.get(odd)} is needed."
        )
    # the copy is writable, as torch wants it
    network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in start.items()})


def _optimizer(recipe: Recipe, network: NormalisedNetwork) -> torch.optim.Optimizer:
    match recipe.optimizer:
        case "adam":
            return torch.optim.Adam(
                network.parameter_groups(),
                lr=recipe.learning_rate,
                weight_decay=recipe.weight_decay,
                fused=True,
            )
        case "sgd":
            return torch.optim.SGD(
                network.parameter_groups(),
                lr=recipe.learning_rate,
                momentum=recipe.momentum,
                nesterov=recipe.momentum > 0,
                weight_decay=recipe.weight_decay,
                fused=True,
            )
        case _:
            assert_never(recipe.optimizer)


def _scheduler(
    recipe: Recipe, optimizer: torch.optim.Optimizer
) -> torch.optim.lr_scheduler.LRScheduler:
    schedulers = torch.optim.lr_scheduler
    match recipe.schedule:
        case "constant":
            return schedulers.ConstantLR(optimizer, factor=1.0)
        case "step":
            return schedulers.StepLR(optimizer, recipe.milestones[0], recipe.decay)
        case "multistep":
            return schedulers.MultiStepLR(optimizer, list(recipe.milestones), recipe.decay)
        case "cosine":
            return schedulers.CosineAnnealingLR(optimizer, recipe.epochs)
        case "plateau":
            return schedulers.ReduceLROnPlateau(
                optimizer, factor=recipe.decay, patience=recipe.patience
            )
        case _:
            assert_never(recipe.schedule)


def _checked_mixing(recipe: Recipe, mixing: Mixing, classes: tuple[str, ...]) -> Mixing:
    if recipe.peer:
        raise DataError("The peer loss is of images, not of mixes; leave it or the mixing out.")
    return mixing.over(classes)


def _check_validation(recipe: Recipe, validation: tuple[Examples, LabelSet] | None) -> None:
    if validation is not None:
        return
    for needs, what in (
        (recipe.schedule == "plateau", "the schedule 'plateau'"),
        (recipe.stop_after is not None, "early stopping"),
        (recipe.weights == "best", "keeping the best weights"),
    ):
        if needs:
            raise DataError(f"A validation part is needed for {what}; give one, or change it.")


def _aligned(
    validation: tuple[Examples, LabelSet], classes: tuple[str, ...]
) -> tuple[Examples, LabelSet]:
    examples, human = validation
    uniform = np.full((len(examples.items), len(classes)), 1 / len(classes))
    return examples, align(LabelSet(examples.items, classes, uniform), human)[1]
