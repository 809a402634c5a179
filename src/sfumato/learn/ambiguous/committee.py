"""Turn labelled images into several networks, and their beliefs into doubt and disagreement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from torch import nn

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples, probabilities
from sfumato.learn.folds import Split
from sfumato.learn.networks import NETWORKS, ImageShape
from sfumato.learn.targets import fixed
from sfumato.learn.train import Recipe, train

__all__ = [
    "Beliefs",
    "Committee",
    "beliefs_of",
    "default_network",
    "mutual_information",
    "train_committee",
]

PerItem = NDArray[np.float64]  # (items,)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What several networks believe together about each image."""

    probs: NDArray[np.float64]  # (items, classes): the mean of the members
    entropy: PerItem
    """Of the mean, in nats: how ambiguous the image is to the networks."""
    information: PerItem
    """Mutual information in nats: how far the members disagree."""


@dataclass(frozen=True, eq=False)
class Committee:
    """Networks of one kind that learnt from the same labels, from different initial weights."""

    members: tuple[nn.Module, ...]
    classes: tuple[str, ...]
    accuracy: float
    """Of their mean belief on the images that were held out."""
    held_out: Beliefs
    """On the same images."""


def mutual_information(probs: NDArray[np.floating]) -> PerItem:
    """H(mean p) - mean H(p) in nats, from the members' beliefs (members, items, classes).

    Zero where all members believe the same, however unsure; large where each is sure of something
    else, which is the mark of images unlike those they learnt from.

    >>> split = [[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]
    >>> mutual_information(np.array(split)).round(4)
    array([0.6931, 0.    ])
    """
    probs = np.asarray(probs, dtype=np.float64)
    if probs.ndim != 3 or not len(probs):
        raise DataError(
            f"The beliefs have shape {probs.shape}; expected (members, items, classes)."
        )
    found = entr(probs.mean(axis=0)).sum(axis=1) - entr(probs).sum(axis=2).mean(axis=0)
    return np.maximum(found, 0)  # rounding can leave -1e-17


def beliefs_of(members: Sequence[nn.Module], examples: Examples) -> Beliefs:
    """What any trained networks, two or more, believe together about images."""
    if len(members) < 2:
        raise DataError(
            "Mutual information needs at least 2 networks: one alone cannot disagree with itself."
        )
    probs = np.stack([probabilities(one, examples) for one in members]).astype(np.float64)
    probs /= probs.sum(axis=2, keepdims=True)  # undo the rounding of float32
    mean = probs.mean(axis=0)
    return Beliefs(mean, entr(mean).sum(axis=1), mutual_information(probs))


def default_network(image_shape: ImageShape) -> str:
    """LeNet where images are large enough for it, otherwise one hidden layer."""
    large = min(image_shape[:2]) >= NETWORKS["lenet"].smallest_side
    return "lenet" if large else "simple-ffn"


def train_committee(
    examples: Examples,
    labels: LabelSet,
    split: Split,
    *,
    network: str,
    steps: int,
    seeds: Sequence[int],
    after_member: Callable[[int, int], None] = lambda done, total: None,
) -> Committee:
    """Train a network a seed on the split's training part, for about ``steps`` batches each."""
    if len(seeds) < 2:
        raise DataError(f"A committee needs at least 2 members, not {len(seeds)}.")
    learnt = examples.take(split.train)
    targets = fixed(labels.take(split.train), split.train)
    batch_size = 64
    epochs = max(1, round(steps / -(-len(learnt) // batch_size)))
    members = []
    for seed in seeds:
        recipe = Recipe(network, epochs=epochs, batch_size=batch_size, seed=seed)
        members.append(train(recipe, learnt, targets).network)
        after_member(len(members), len(seeds))
    held_out = beliefs_of(members, examples.take(split.test))
    truth = labels.take(split.test).probs.argmax(axis=1)
    accuracy = float((held_out.probs.argmax(axis=1) == truth).mean())
    return Committee(tuple(members), labels.classes, accuracy, held_out)
