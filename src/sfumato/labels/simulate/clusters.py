"""Turn random centres into points around them, with the labels their distances give (S1-19)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import Provenance, Step

__all__ = ["Clusters", "distance_labels", "gaussian_clusters"]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Points, the centres of their classes, and both kinds of labels."""

    positions: NDArray[np.float64]  # (items, dimensions)
    centres: NDArray[np.float64]  # (classes, dimensions)
    hard: LabelSet
    """All mass on the class of the nearest centre."""
    soft: LabelSet
    """Mass by distance to every centre (S1-10)."""


def gaussian_clusters(
    *, items: int, classes: int, dimensions: int, spread: float = 1.0, rng: np.random.Generator
) -> Clusters:
    """Points around random centres, dealt evenly to the classes (S1-19).

    Centres are drawn from N(0, I), the points of a class from N(centre, spread² I). A label goes
    by distance: a point may lie nearer to another centre than to the one it was drawn around.
    """
    if min(items, classes, dimensions) < 1 or spread < 0:
        raise DataError(
            f"Clusters need at least one item, class and dimension and a spread of 0 or more; "
            f"found {items} items, {classes} classes, {dimensions} dimensions, spread {spread}."
        )
    centres = rng.standard_normal((classes, dimensions))
    around = rng.permutation(np.arange(items) % classes)  # (items,)
    positions = centres[around] + spread * rng.standard_normal((items, dimensions))
    step = Step(
        "simulate Gaussian clusters",
        {"items": items, "classes": classes, "dimensions": dimensions, "spread": spread},
        simulated=True,
    )
    hard, soft = distance_labels(positions, centres, provenance=(step,))
    return Clusters(positions, centres, hard, soft)


def distance_labels(
    positions: NDArray[np.float64], centres: NDArray[np.float64], *, provenance: Provenance = ()
) -> tuple[LabelSet, LabelSet]:
    """Hard and soft labels of points: the nearest centre, and l_i ∝ exp(−‖x − C_i‖) (S1-10).

    Items are named ``point-1``, … and classes ``class-1``, ….

    >>> hard, soft = distance_labels(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    >>> hard.probs, soft.probs.round(3)  # 1 / (1 + 1/e) = 0.731
    (array([[1., 0.]]), array([[0.731, 0.269]]))
    """
    distances = cdist(positions, centres)  # (items, classes)
    items = tuple(f"point-{number}" for number in range(1, len(positions) + 1))
    classes = tuple(f"class-{number}" for number in range(1, len(centres) + 1))
    hard = hard_labels(items, classes, distances.argmin(axis=1), provenance)
    return hard, LabelSet(items, classes, softmax(-distances, axis=1), provenance=provenance)
