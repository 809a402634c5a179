"""Turn images and labels into attacked images, and what a network believes on the way there.

FGSM and PGD in the maximum norm, on pixels from 0 to 1: a network takes such images and
normalises them itself, so that a bound is a bound on pixels. ``ATTACKS`` names
them; what a network believes under them is a label set, to be scored like any other.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step

# Which attacks on images there are: how far pixels may move, how, and as which paper did it.
#
# Bounds and steps are numbers of grey levels, that is in units of 1/255, and are named so: a
# published bound of 4 without a unit has been read in two ways (C3).

LEVELS = 255
"""A bound of 4 is 4/255 of the way from black to white."""


@dataclass(frozen=True)
class Attack:
    """How far pixels may move and how the way there is found."""

    kind: Literal["fgsm", "pgd"]
    epsilon_255: float
    """The bound on the change of any pixel, in units of 1/255."""
    step_255: float = 0.0
    """The change of a pixel in one iteration, in units of 1/255; FGSM goes the whole bound."""
    iterations: int = 1
    random_start: bool = False
    """Whether PGD begins at a uniformly random point within the bound."""
    seed: int = 0
    """Of the random start."""
    keep: Literal["best", "last"] = "best"
    """What PGD has reached after k steps: each item's image of the highest loss so far, the
    clean one included, so that the loss never falls; or the last image, as published."""

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon_255 <= LEVELS:
            raise DataError(
                f"The bound of an attack is {self.epsilon_255}/255; it goes from 0 to 255, "
                "in units of 1/255."
            )
        if self.kind == "fgsm" and (self.iterations != 1 or self.random_start or self.step_255):
            raise DataError(
                "FGSM is one step of the whole bound from the clean image; "
                'for steps, iterations or a random start take kind "pgd".'
            )
        if self.kind == "pgd" and (self.step_255 <= 0 or self.iterations < 1):
            raise DataError(
                f"PGD has a step of {self.step_255}/255 and {self.iterations} iterations; "
                "give a step above 0 and at least one iteration."
            )


@dataclass(frozen=True)
class PublishedAttack:
    """An attack as a paper reports it."""

    attack: Attack
    labels: Literal["original", "people"]
    """The labels whose cross-entropy is driven up."""
    most_items: int | None
    """How many items were attacked; None for all."""
    note: str


ATTACKS: dict[str, PublishedAttack] = {
    "paper-1-fgsm": PublishedAttack(
        Attack("fgsm", 4), "original", None, "The bound of the text (S0-36); see C3."
    ),
    "paper-1-fgsm-stored": PublishedAttack(
        Attack("fgsm", 8),
        "original",
        None,
        "The bound of the stored results, which agree with the printed table (S0-36, C3).",
    ),
    "paper-1-pgd": PublishedAttack(
        Attack("pgd", 4, step_255=1, iterations=9, keep="last"),
        "original",
        100,
        "Iterations 0 to 9 on 100 images (S0-37).",
    ),
    "paper-3-fgsm": PublishedAttack(
        Attack("fgsm", 4), "people", 1000, "FGSM loss on up to 1,000 items (S2-75)."
    ),
    "paper-3-pgd": PublishedAttack(
        Attack("pgd", 4, step_255=2, iterations=10, random_start=True, keep="last"),
        "people",
        1000,
        "Judged unstable and not reported (S2-76).",
    ),
}


@dataclass(frozen=True, eq=False)
class AttackOutcome:
    """What a network believes while its images are attacked; every item's values are kept."""

    attack: Attack
    images: NDArray[np.float32]  # (items, height, width, channels), after the last iteration
    beliefs: tuple[LabelSet, ...]
    """About the clean images, then after each iteration."""
    trained_on: int
    """How many of the attacked items the network had been trained on (C3)."""

    @property
    def items(self) -> tuple[str, ...]:
        """The attacked items."""
        return self.beliefs[0].items


# Turn images and labels into attacked images, and what a network believes on the way there.

BATCH = 256

Images = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64]
"""Shape (items, height, width, channels): uint8, or floats from 0 to 1."""


def fgsm(
    network: nn.Module, images: Images, labels: LabelSet, *, epsilon_255: float
) -> NDArray[np.float32]:
    """Images after x' = clip(x + ε · sign(∇ₓ L), 0, 1), L = -Σ labels · log softmax(network(x)).

    The rows of ``labels`` belong to the images in order: soft labels attack what people said,
    one-hot labels the original class (S0-36, S2-75).
    """
    return run_attack(network, images, labels, Attack("fgsm", epsilon_255)).images


def pgd(
    network: nn.Module,
    images: Images,
    labels: LabelSet,
    *,
    epsilon_255: float,
    step_255: float,
    iterations: int,
) -> NDArray[np.float32]:
    """Images after repeated steps x ← clip(P(x + α · sign(∇ₓ L)), 0, 1) (S0-37).

    P puts each pixel back within ε of the clean one. Starts at the clean image and gives each
    item's image of the highest loss met, so that no item's loss is below its clean loss. For a
    random start or the last image use ``run_attack``.
    """
    attack = Attack("pgd", epsilon_255, step_255=step_255, iterations=iterations)
    return run_attack(network, images, labels, attack).images


def run_attack(
    network: nn.Module,
    images: Images,
    labels: LabelSet,
    attack: Attack,
    *,
    trained_items: Collection[str] = (),
) -> AttackOutcome:
    """The attacked images, and what the network believes before any step and after each.

    The network takes images from 0 to 1 of shape (items, channels, height, width) and gives
    logits. It is attacked in evaluation mode, where no image influences another, and its mode,
    weights, gradients and torch's generators are left as they were. ``trained_items`` are the
    items that it was trained on, of which the result counts those under attack (C3).
    """
    clean = _pixels(images, labels)
    targets = torch.from_numpy(np.array(labels.probs))
    noise = _noise(clean, attack)
    parameter = next(network.parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    reached, trails = [], []
    with _evaluating(network):
        for start in range(0, len(clean), BATCH):
            rows = slice(start, start + BATCH)
            batch_noise = None if noise is None else noise[rows].to(device)
            batch, targets_of_batch = clean[rows].to(device), targets[rows].to(device)
            steps = _steps(network, batch, targets_of_batch, attack, batch_noise)
            kept, trail = _keep(steps, targets_of_batch, attack)
            reached.append(kept.cpu())
            trails.append(trail.cpu())
    log_probs = torch.cat(trails, dim=1).numpy()  # (iterations + 1, items, classes)
    return AttackOutcome(
        attack,
        torch.cat(reached).permute(0, 2, 3, 1).contiguous().numpy(),
        tuple(_beliefs(rows, labels, attack, step) for step, rows in enumerate(log_probs)),
        len(set(labels.items) & set(trained_items)),
    )


def _pixels(images: Images, labels: LabelSet) -> Tensor:
    """Images from 0 to 1, shape (items, channels, height, width)."""
    if images.ndim != 4 or len(images) != len(labels) or not len(labels):
        raise DataError(
            f"Expected images of shape ({len(labels)}, height, width, channels), one for each "
            f"label and at least one; found {images.shape}."
        )
    copied = np.array(images)  # torch warns of arrays that are read-only
    pixels = torch.from_numpy(copied).permute(0, 3, 1, 2)
    if pixels.dtype == torch.uint8:
        pixels = pixels.float() / LEVELS
    elif not ((images >= 0) & (images <= 1)).all():
        bad = ~((images >= 0) & (images <= 1)).reshape(len(images), -1).all(axis=1)
        raise DataError(
            f"The image of item {labels.items[int(bad.argmax())]!r} has pixels that are not "
            "numbers from 0 to 1; give uint8, or floats from 0 to 1."
        )
    return pixels.float().contiguous(memory_format=torch.channels_last)


def _noise(clean: Tensor, attack: Attack) -> Tensor | None:
    if not attack.random_start:
        return None
    bound = attack.epsilon_255 / LEVELS
    drawn = np.random.default_rng(attack.seed).uniform(-bound, bound, size=tuple(clean.shape))
    return torch.from_numpy(drawn.astype(np.float32))


@contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; afterwards each part is in the mode that it was in."""
    before = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def _steps(
    network: nn.Module, clean: Tensor, targets: Tensor, attack: Attack, noise: Tensor | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """The clean images and those after each iteration, with their log-probabilities."""
    bound = attack.epsilon_255 / LEVELS
    step = attack.step_255 / LEVELS if attack.kind == "pgd" else bound
    here = clean
    if noise is not None:  # the random point itself is a place to climb from, not a result
        yield clean, _log_probs(network, clean, targets).detach()
        here = (clean + noise).clamp(0, 1)
    for iteration in range(attack.iterations):
        with torch.enable_grad():
            climbing = here.detach().requires_grad_()
            log_probs = _log_probs(network, climbing, targets)
            # The gradient of the sum has for each image the sign of its own loss's gradient.
            (uphill,) = torch.autograd.grad(-(targets * log_probs).sum(), climbing)
        if iteration or noise is None:
            yield here, log_probs.detach()
        moved = here + step * uphill.sign()
        here = torch.minimum(torch.maximum(moved, clean - bound), clean + bound).clamp(0, 1)
    with torch.no_grad():
        yield here, _log_probs(network, here, targets)


def _log_probs(network: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
    """In double precision: an attacked network may give the right class less than 1e-38."""
    logits = network(images)
    if logits.shape != targets.shape:
        raise DataError(
            f"The network gives {tuple(logits.shape)[1:]} numbers an image for "
            f"{targets.shape[1]} classes; give labels of the classes that it was trained on."
        )
    return logits.double().log_softmax(dim=1)


def _keep(
    steps: Iterator[tuple[Tensor, Tensor]], targets: Tensor, attack: Attack
) -> tuple[Tensor, Tensor]:
    """The images to keep, and the log-probabilities kept after each step."""
    images, log_probs = next(steps)
    trail = [log_probs]
    for tried, tried_log_probs in steps:
        if attack.kind == "fgsm" or attack.keep == "last":
            images, log_probs = tried, tried_log_probs
        else:
            gained = (targets * (log_probs - tried_log_probs)).sum(dim=1) > 0  # loss went up
            images = torch.where(gained[:, None, None, None], tried, images)
            log_probs = torch.where(gained[:, None], tried_log_probs, log_probs)
        trail.append(log_probs)
    return images, torch.stack(trail)


def _beliefs(
    log_probs: NDArray[np.float64], labels: LabelSet, attack: Attack, iteration: int
) -> LabelSet:
    settings = {
        "kind": attack.kind,
        "epsilon_255": attack.epsilon_255,
        "step_255": attack.step_255,
        "iteration": iteration,
        "random_start": attack.random_start,
        "keep": attack.keep,
        "seed": attack.seed,
    }
    step = Step("attack", settings)
    return LabelSet(labels.items, labels.classes, np.exp(log_probs), provenance=(step,))
