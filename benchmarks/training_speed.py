"""Model-epochs per second of three training loops, network by network, in one run.

``python benchmarks/training_speed.py``: the protocol of paper 5 (2,131 made-up images of 28×28,
batch 64, Adam, soft cross-entropy over 11 classes), one thread. *Per item*: a DataLoader that
opens, scales and normalises each picture by itself, as torchvision does. *In memory*: a plain
loop over normalised tensors. Both have torch's default Adam and the networks as textbooks write
them, each convolution followed by ReLU and then the pool. *Ours*: ``sfumato.learn.train``, whose
LeNet pools first, which gives the same numbers. Each loop has a process of its own and the three
take turns. Because other work may share the machine, times are CPU times, and what is told is the
median over rounds: of speeds, and of the ratios within a round.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.networks import build_network
from sfumato.learn.recipe import Recipe
from sfumato.learn.targets import fixed_targets
from sfumato.learn.train import train

ITEMS, SIDE, CLASSES, BATCH = 2_131, 28, 11, 64
NETWORKS = ("simple-ffn", "deeper-ffn", "lenet")
ROUNDS, EPOCHS = 9, 6


def main() -> None:
    """Measure and print."""
    spawned = multiprocessing.get_context("spawn")
    processes = {loop: ProcessPoolExecutor(1, mp_context=spawned) for loop in LOOPS}
    print(f"{'network':12}{'per item':>10}{'in memory':>11}{'ours':>8}   model-epochs a CPU second")
    for name in NETWORKS:
        rounds = [
            {loop: each.submit(seconds, loop, name).result() for loop, each in processes.items()}
            for _ in range(1 + ROUNDS)
        ][1:]  # in the first round torch prepares what later ones use again
        speed = {loop: median(EPOCHS / one[loop] for one in rounds) for loop in LOOPS}
        times = {loop: median(one[loop] / one["ours"] for one in rounds) for loop in LOOPS}
        print(
            f"{name:12}{speed['per item']:10.1f}{speed['in memory']:11.1f}{speed['ours']:8.1f}"
            f"   ours is {times['per item']:.2f} times the first, "
            f"{times['in memory']:.2f} times the second"
        )
    for process in processes.values():
        process.shutdown()


def seconds(loop: str, name: str) -> float:
    """CPU seconds of one training, in the process that calls this."""
    torch.set_num_threads(1)
    examples, labels = made_up()
    started = time.process_time()
    LOOPS[loop](name, examples, labels)
    return time.process_time() - started


def made_up() -> tuple[Examples, LabelSet]:
    """Images and soft labels; only their sizes matter here."""
    rng = np.random.default_rng(0)
    items = tuple(map(str, range(ITEMS)))
    pixels = rng.integers(256, size=(ITEMS, SIDE, SIDE, 1), dtype=np.uint8)
    probs = rng.dirichlet(np.full(CLASSES, 0.2), size=ITEMS)
    return Examples(items, pixels), LabelSet(items, tuple(map(str, range(CLASSES))), probs)


def ours(name: str, examples: Examples, labels: LabelSet) -> None:
    recipe = Recipe(name, epochs=EPOCHS, batch_size=BATCH)
    train(recipe, examples, fixed_targets(labels, examples.items))


def in_memory(name: str, examples: Examples, labels: LabelSet) -> None:
    pixels = torch.from_numpy(examples.images[:, None, :, :, 0]).float() / 255
    pixels = (pixels - pixels.mean()) / pixels.std()
    targets = torch.tensor(labels.probs, dtype=torch.float32)
    network, optimizer = fresh(name)
    for _ in range(EPOCHS):
        for batch in torch.randperm(ITEMS).split(BATCH):
            step(network, optimizer, pixels[batch], targets[batch])


def per_item(name: str, examples: Examples, labels: LabelSet) -> None:
    network, optimizer = fresh(name)
    loader = DataLoader(Pictures(examples, labels), batch_size=BATCH, shuffle=True)
    for _ in range(EPOCHS):
        for images, targets in loader:
            step(network, optimizer, images, targets)


class Pictures(Dataset[tuple[Tensor, Tensor]]):
    """One picture at a time: MNIST, Compose, ToTensor and Normalize of torchvision 0.28.

    Its steps in its order, on its types, less some of its checks. Torchvision itself is not asked
    for, because what the package index has does not load beside a torch without CUDA.
    """

    def __init__(self, examples: Examples, labels: LabelSet) -> None:
        self.pixels = torch.from_numpy(examples.images[:, :, :, 0])
        self.targets = torch.tensor(labels.probs, dtype=torch.float32)
        self.transforms = (to_tensor, Normalize([0.5], [0.29]))

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image: Any = Image.fromarray(self.pixels[index].numpy())
        for transform in self.transforms:
            image = transform(image)
        return image, self.targets[index]


def to_tensor(picture: Image.Image) -> Tensor:
    kinds = {"I": np.int32, "I;16": np.int16, "F": np.float32}
    image = torch.from_numpy(np.array(picture, kinds.get(picture.mode, np.uint8), copy=True))
    image = image.view(picture.size[1], picture.size[0], len(picture.getbands()))
    image = image.permute((2, 0, 1)).contiguous()
    if isinstance(image, torch.ByteTensor):
        return image.to(dtype=torch.get_default_dtype()).div(255)
    return image


class Normalize(nn.Module):
    def __init__(self, mean: list[float], std: list[float]) -> None:
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, image: Tensor) -> Tensor:
        image = image.clone()
        mean = torch.as_tensor(self.mean, dtype=image.dtype, device=image.device)
        std = torch.as_tensor(self.std, dtype=image.dtype, device=image.device)
        if (std == 0).any():
            raise ValueError("a standard deviation of zero")
        return image.sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))


def fresh(name: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    network = textbook(name)
    ours = build_network(name, classes=CLASSES, image_shape=(SIDE, SIDE, 1), seed=0)
    sizes = [sum(p.numel() for p in each.parameters()) for each in (network, ours)]
    assert sizes[0] == sizes[1], f"{name}: {sizes}"
    return network, torch.optim.Adam(network.parameters())


def textbook(name: str) -> nn.Module:
    if name == "lenet":
        body: list[nn.Module] = [
            *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        ]
        sizes = [400, 120, 84]
    else:
        body = [nn.Flatten()]
        sizes = [SIDE * SIDE, 128] if name == "simple-ffn" else [SIDE * SIDE, 256, 128]
    for size, following in pairwise(sizes):
        body += [nn.Linear(size, following), nn.ReLU()]
    return nn.Sequential(*body, nn.Linear(sizes[-1], CLASSES))


def step(
    network: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, targets: Tensor
) -> None:
    loss = F.cross_entropy(network(images), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


LOOPS: dict[str, Callable[[str, Examples, LabelSet], None]] = {
    "per item": per_item,
    "in memory": in_memory,
    "ours": ours,
}

if __name__ == "__main__":
    main()
