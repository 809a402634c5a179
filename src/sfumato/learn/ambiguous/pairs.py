"""Turn labelled images into pairs to mix, and pairs into points between their latents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.names import find

__all__ = ["Pairs", "draw_pairs", "mixed_latents"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which two images are mixed: ``coefficient`` × first + (1 - ``coefficient``) × second."""

    first: NDArray[np.int64]  # (mixes,): rows of the images
    second: NDArray[np.int64]  # (mixes,)
    coefficient: NDArray[np.float32]  # (mixes,): from 0 to 1


def draw_pairs(
    labels: LabelSet, count: int, *, between: Sequence[str] = (), rng: np.random.Generator
) -> Pairs:
    """Pairs of images of two different classes, every pair of classes as often, any coefficient.

    An image belongs to its label's most probable class. Coefficients are uniform from 0 to 1.
    ``between`` names the classes whose images are mixed; all that have images if it is empty.
    """
    places = {name: place for place, name in enumerate(labels.classes)}
    top = labels.probs.argmax(axis=1)
    wanted = [find(places, name, what="class") for name in between] or np.unique(top).tolist()
    rows = [np.flatnonzero(top == place) for place in wanted]
    if len(set(wanted)) < 2 or min(map(len, rows)) < 1:
        raise DataError("Images of at least 2 different classes are needed to mix them.")
    one = rng.integers(len(rows), size=count)
    other = (one + rng.integers(1, len(rows), size=count)) % len(rows)
    first, second = _drawn(rows, one, rng), _drawn(rows, other, rng)
    return Pairs(first, second, rng.uniform(size=count).astype(np.float32))


def mixed_latents(latents: NDArray[np.float32], pairs: Pairs) -> NDArray[np.float32]:
    """``coefficient`` × first + (1 - ``coefficient``) × second latent; 1 and 0 give the ends."""
    share = pairs.coefficient[:, None]
    return share * latents[pairs.first] + (1 - share) * latents[pairs.second]


def _drawn(
    rows: Sequence[NDArray[np.int64]], group: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """One of the rows of each group that is named, all equally probable."""
    sizes = np.array([len(one) for one in rows])
    starts = np.cumsum(sizes) - sizes
    return np.concatenate(rows)[starts[group] + rng.integers(sizes[group])]
