"""Images ever further from those of CIFAR-10H: other collections, and corrupted ones."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.data import DATASETS, ImageSet, load
from sfumato.evaluation.corruptions import corrupt
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples

__all__ = [
    "CINIC",
    "CORRUPTED",
    "FURTHER",
    "IMAGENET_FAR",
    "NEAR",
    "V4",
    "V6",
    "Far",
    "corrupted",
    "further",
]

NEAR = "CIFAR-10 training images"
V6, V4 = "CIFAR-10.1 v6", "CIFAR-10.1 v4"
CINIC = "CINIC-10, ImageNet part"
IMAGENET_FAR = "ImageNet-Far"
FURTHER = (V6, V4, CINIC, IMAGENET_FAR)
"""The paper's other collections in its order (S0-40 to S0-43)."""

KINDS = ("gaussian_noise", "gaussian_blur", "contrast", "pixelate")
STRENGTHS = (1, 3, 5)
CORRUPTED = tuple(f"corrupted at {strength}" for strength in STRENGTHS)
"""A ladder of ours, for want of the paper's collections."""
CORRUPTED_IMAGES = 2_000


@dataclass(frozen=True, eq=False)
class Far:
    """Images to test on and what they are called."""

    examples: Examples
    labels: LabelSet


def corrupted(near: Far) -> dict[str, Far]:
    """The same near images at every strength, each spoilt in one of four ways in turn."""
    items = near.labels.items[:CORRUPTED_IMAGES]
    clean = near.examples.take(items).images
    labels = near.labels.take(items)
    found = {}
    for name, strength in zip(CORRUPTED, STRENGTHS, strict=True):
        images = np.empty_like(clean)
        for place, kind in enumerate(KINDS):
            rows = np.arange(place, len(items), len(KINDS))
            rng = np.random.default_rng([strength, place])
            if len(rows):
                images[rows] = corrupt(clean[rows], kind, strength, rng=rng)
        renamed = tuple(f"{item}/strength {strength}" for item in items)
        spoilt = LabelSet(renamed, labels.classes, labels.probs, provenance=labels.provenance)
        found[name] = Far(Examples(renamed, images), spoilt)
    return found


def further(
    folder: Path, wanted: tuple[str, ...], most: int | None
) -> tuple[dict[str, Far], tuple[str, ...]]:
    """Whichever of the wanted collections are there, and a sentence for each that is not.

    ``most`` takes that many images of a collection at random, always the same.
    """
    known: dict[str, tuple[str, Callable[[], ImageSet]]] = {
        V6: ("cifar10.1", lambda: load("cifar10.1", "v6", folder)),
        V4: ("cifar10.1", lambda: load("cifar10.1", "v4", folder)),
        CINIC: ("cinic10", lambda: load("cinic10", "test", folder, subset="imagenet")),
    }
    found, missing = {}, []
    for name, (dataset, load_images) in known.items():
        if name not in wanted:
            continue
        if DATASETS[dataset].presence(folder) == "all":
            found[name] = _sampled(load_images(), most, name)
        else:
            missing.append(
                f"{name} is not in the folder of data sets (`sfumato data get {dataset}`), "
                "so nothing is tested on it."
            )
    if IMAGENET_FAR in wanted:
        missing.append(
            f"{IMAGENET_FAR} is not published as files and needs ImageNet itself, so nothing is "
            "tested on it; sfumato.data.remap builds such a set."
        )
    return found, tuple(missing)


def _sampled(images: ImageSet, most: int | None, name: str) -> Far:
    rows = np.random.default_rng(0).permutation(len(images))[:most]
    chosen = images.take([images.items[row] for row in rows])
    items = tuple(f"{name}/{item}" for item in chosen.items)
    labels = LabelSet(items, chosen.classes, chosen.original().probs, provenance=images.provenance)
    return Far(Examples(items, chosen.images), labels)
