"""What training a network costs an image: sums done, and seconds on this machine."""

import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from sfumato.learn.examples import best_device, keep_freed_memory, precision, repeatable
from sfumato.learn.networks import ImageShape, build_network

MEASURED_IMAGES = 16
"""Images of the batch that is timed; in a larger one an image costs somewhat less."""

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


def training_cost(
    network: str, *, classes: int, image_shape: ImageShape, images: int = MEASURED_IMAGES
) -> TrainingCost:
    """Measure one training step of random images; the first step, a slow one, is not timed.

    ``images`` is the size of the batch. Far fewer make an image look dear, because the step of the
    optimizer and the reading of all weights is then for them alone; more take longer to measure.

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
        batch = torch.rand((images, height, width, channels)).permute(0, 3, 1, 2).to(device)
        targets = torch.full((images, classes), 1 / classes, device=device)
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            built.eval()(batch[:1])
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
    return TrainingCost(PASSES * counter.get_total_flops(), seconds / images, device.type)
