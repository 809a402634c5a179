"""What training a network costs an image: sums done, and seconds on this machine."""

import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from sfumato.learn.device import best_device
from sfumato.learn.networks import ImageShape, build_network

__all__ = ["TrainingCost", "training_cost"]

PASSES = 3
"""A training step is a pass forward and one backward, which costs about two forward."""


@dataclass(frozen=True)
class TrainingCost:
    """What one image costs in one epoch."""

    operations: float
    """Floating-point operations: those of the forward pass, three times."""
    seconds: float
    """On the device that was used, measured on a small batch: larger ones are quicker an image."""
    device: str


def training_cost(
    network: str, *, classes: int, image_shape: ImageShape, images: int = 2
) -> TrainingCost:
    """Measure one training step of a few random images; the first step, a slow one, is not timed.

    >>> cost = training_cost("cnn-3", classes=10, image_shape=(32, 32, 3))
    >>> round(cost.operations / 1e6)
    17
    """
    device = best_device()
    built = build_network(network, classes=classes, image_shape=image_shape, seed=0).to(device)
    height, width, channels = image_shape
    generator = torch.Generator().manual_seed(0)
    batch = torch.rand((images, channels, height, width), generator=generator).to(device)
    targets = torch.full((images, classes), 1 / classes, device=device)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        built.eval()(batch)
    built.train()
    seconds = 0.0
    for _ in range(2):
        started = time.perf_counter()
        loss = F.cross_entropy(built(batch), targets)
        loss.backward()
        loss.item()  # waits for a GPU
        seconds = time.perf_counter() - started
    operations = PASSES * counter.get_total_flops() / images
    return TrainingCost(operations, seconds / images, device.type)
