"""Images as a network takes them, beliefs as it gives them, and the device it runs on."""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step

# Choose where a network runs and with how many digits: by the device, not by options.

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""What ``malloc.h`` of the GNU C library calls these settings."""

KEPT_BYTES = 2**28
"""So much freed memory stays with a process that trains on a CPU."""


def best_device() -> torch.device:
    """The first GPU if there is one, else the CPU."""
    return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def device_named(name: str) -> torch.device:
    """The device of that name, such as ``cpu`` or ``cuda:1``; ``auto`` is the best there is."""
    if name == "auto":
        return best_device()
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise DataError(
            f"There is no device {name!r} that torch can use here. Take 'auto', or 'cpu'."
        ) from None
    return device


def device_name() -> str:
    """The kind of device, which decides in which order sums are rounded: ``"x86_64 AVX512"``."""
    device = best_device()
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def precision(device: torch.device) -> AbstractContextManager[object]:
    """bfloat16 where the GPU computes it itself, float32 elsewhere: on a CPU it is slower.

    bfloat16 has float32's range, so gradients need no scaling.
    """
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()


@contextmanager
def repeatable(device: torch.device, seed: int) -> Iterator[None]:
    """Seeded generators, one thread and fixed algorithms inside; all as before afterwards.

    The bits of a result depend on the number of threads: alone as in a sweep, it is one.
    """
    gpu = [device] if device.type == "cuda" else []
    threads = torch.get_num_threads()
    with (
        torch.random.fork_rng(devices=gpu),
        torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True),
    ):
        torch.default_generator.manual_seed(seed)  # for networks that draw themselves
        if gpu:
            torch.cuda.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@cache
def keep_freed_memory() -> bool:
    """Have this process use freed memory again instead of giving it back; True if it will.

    Each step of a training frees what the next one asks for. The GNU C library returns larger
    blocks to the system, which hands them out again page by page, all zeros: a tenth of the time
    of a small network. Elsewhere nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return all(mallopt(setting, KEPT_BYTES) for setting in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD))


# Images as a network takes them, and beliefs as a network gives them.

PREDICT_BATCH = 512


@dataclass(frozen=True, eq=False)
class Examples:
    """Images with their ids: uint8, or floats from 0 to 1 without NaN."""

    items: tuple[str, ...]
    images: NDArray[np.uint8] | NDArray[np.float32]  # (items, height, width, channels)

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))
        if self.images.ndim != 4 or len(self.images) != len(self.items) or not len(self.items):
            raise DataError(
                f"Expected images of shape ({len(self.items)}, height, width, channels) and at "
                f"least one; found {self.images.shape}."
            )
        if self.images.dtype == np.uint8:
            return
        self._check_numbers()

    def _check_numbers(self) -> None:
        bad = ~np.isfinite(self.images).reshape(len(self.items), -1).all(axis=1)
        if bad.any():
            raise DataError(f"The image of item {self.items[int(bad.argmax())]!r} holds NaN.")
        if self.images.min() < 0 or self.images.max() > 1:
            raise DataError("Images that are not uint8 must hold numbers from 0 to 1.")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        _, height, width, channels = self.images.shape
        return height, width, channels

    def batches(self, size: int) -> "Iterator[Examples]":
        """So many at a time, in order: as floats, pixels need four times the memory."""
        for start in range(0, len(self), size):
            end = start + size
            yield type(self)(self.items[start:end], self.images[start:end])

    def take(self, items: tuple[str, ...]) -> "Examples":
        """The given items in the given order; an unknown one is an error."""
        place = {item: row for row, item in enumerate(self.items)}
        missing = [item for item in items if item not in place]
        if missing:
            raise DataError(f"Item {missing[0]!r} has no image ({len(missing)} without one).")
        return type(self)(items, self.images[[place[item] for item in items]])


class VectorExamples(Examples):
    """Vectors with their ids, as images of one pixel that have a channel per number.

    So every network without convolutions learns them, and each number is normalised on its own.

    >>> VectorExamples(("a",), np.array([[[[5.0, -3.0]]]], np.float32)).image_shape
    (1, 1, 2)
    """

    def _check_numbers(self) -> None:
        bad = ~np.isfinite(self.images).all(axis=(1, 2, 3))
        if bad.any():
            item = self.items[int(bad.argmax())]
            raise DataError(f"The vector of item {item!r} holds NaN, or a number too large to use.")


class EncodedExamples(VectorExamples):
    """Vectors of an encoder, whose numbers are on one scale and keep their weights.

    A rare word divided by its own small deviation would outweigh all frequent ones.
    """


class NormalisedNetwork(nn.Module):
    """A network that takes images from 0 to 1 and normalises them itself.

    Mean and standard deviation are those of the training part (S4-24) and are saved with the
    weights, so that an attack works on pixels and nobody can forget them.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", mean.reshape(1, -1, 1, 1))
        self.register_buffer("std", std.reshape(1, -1, 1, 1))

    @classmethod
    def fitted(cls, network: nn.Module, examples: Examples) -> "NormalisedNetwork":
        """With the mean and standard deviation of these examples, a channel each."""
        pixels = as_tensor(examples).double()
        mean = pixels.mean(dim=(0, 2, 3))
        std = pixels.std(dim=(0, 2, 3), correction=0)
        if isinstance(examples, EncodedExamples):
            std = torch.full_like(std, max(float(std.norm()), 1e-6))  # lengths of about one
        elif isinstance(examples, VectorExamples):
            # A number that never varied is left alone: divided by nearly nothing, the first item
            # in which it differs would outweigh everything else.
            std = std.where(std > 1e-7 * mean.abs(), torch.ones_like(std))
        else:
            std = std.clamp_min(1e-6)  # a black channel stays black
        made = cls(network, mean.float(), std.float())
        # Convolutions on a CPU run up to 1.5 times as fast on this layout.
        return made.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def parameter_groups(self) -> list[dict[str, Any]]:
        """What an optimizer changes; a group may have a learning rate of its own."""
        return [{"params": list(self.parameters())}]

    def normalised(self, images: Tensor) -> Tensor:
        """The images as the network inside takes them."""
        return (images - self.mean) / self.std

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (images, classes)."""
        return self.network(self.normalised(images))


def as_tensor(examples: Examples) -> Tensor:
    """Images from 0 to 1, shape (items, channels, height, width), channels last in memory."""
    images = np.ascontiguousarray(examples.images)
    if not images.flags.writeable:  # as datasets keep theirs; torch has no read-only tensors
        images = images.copy()
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2)
    scaled = pixels.float() / 255 if pixels.dtype == torch.uint8 else pixels.float()
    return scaled.contiguous(memory_format=torch.channels_last)


def probabilities(network: nn.Module, examples: Examples) -> NDArray[np.float32]:
    """What the network believes about each image, shape (items, classes), in evaluation mode."""
    training = network.training
    network.eval()
    device = next(network.parameters()).device
    with torch.inference_mode(), precision(device):
        rows = [
            network(as_tensor(batch).to(device)).float().softmax(dim=1)
            for batch in examples.batches(PREDICT_BATCH)
        ]
    network.train(training)
    return torch.cat(rows).cpu().numpy()


def predict(network: nn.Module, examples: Examples, classes: tuple[str, ...]) -> LabelSet:
    """The network's beliefs as a ``LabelSet``."""
    rows = probabilities(network, examples).astype(np.float64)
    rows /= rows.sum(axis=1, keepdims=True)  # undo the rounding of float32
    return LabelSet(examples.items, classes, rows, provenance=(Step("predict"),))
