"""Turn the labels of two images and a coefficient into the label of their mix."""

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix
from sfumato.labels.alter import random_labels, uniform_labels
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step

__all__ = ["Baseline", "baseline_labels", "classic_labels", "endpoint_rows", "mixed_rows"]

Baseline = Literal["none", "uniform", "random", "classic"]
"""Labels of an augmenting set that use no people (S2-61)."""


def mixed_rows(
    first: NDArray[np.float64], second: NDArray[np.float64], coefficient: NDArray[np.float64]
) -> NDArray[np.float64]:
    """g(y_i, y_j, λ_g) = λ_g·y_i + (1 − λ_g)·y_j, a row each (S0-30, S2-57).

    Whatever λ_g is (the coefficient of the pixels, what people saw, a curve of it), and
    whether y_i and y_j are hard or soft (S2-64): rows that sum to one give rows that do. A
    coefficient of 1 is the first row exactly, 0 the second.

    >>> mixed_rows(np.array([[1.0, 0]]), np.array([[0, 1.0]]), np.array([0.25]))
    array([[0.25, 0.75]])
    """
    share = coefficient[:, None]
    return share * first + (1 - share) * second


def classic_labels(mixes: Sequence[Mix], endpoints: LabelSet) -> LabelSet:
    """What classic mixup calls each mix: λ_g is the coefficient of the pixels (S0-30).

    ``endpoints`` are the labels of the images that were mixed, hard or soft.

    >>> ends = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> labels = classic_labels([Mix("a", "b", "cat", "dog", 0.75)], ends)
    >>> labels.items, labels.probs
    (('0.75 a + b',), array([[0.75, 0.25]]))
    """
    first, second = endpoint_rows(mixes, endpoints)
    coefficient = np.array([mix.coefficient for mix in mixes])
    return LabelSet(
        tuple(mix.item for mix in mixes),
        endpoints.classes,
        mixed_rows(first, second, coefficient),
        provenance=(*endpoints.provenance, Step("mix labels", {"mixes": len(mixes)})),
    )


def baseline_labels(
    baseline: Baseline, mixes: Sequence[Mix], endpoints: LabelSet, *, rng: np.random.Generator
) -> LabelSet | None:
    """The labels of an augmenting set without people (S2-61); None: train without the set.

    ``uniform`` is 1/K everywhere, ``random`` one uniform draw a class, normalised, made once
    (S2-23), ``classic`` the label of mixup.
    """
    items = [mix.item for mix in mixes]
    match baseline:
        case "none":
            return None
        case "uniform":
            return uniform_labels(items, endpoints.classes)
        case "random":
            return random_labels(items, endpoints.classes, rng=rng)
        case "classic":
            return classic_labels(mixes, endpoints)
        case _:
            assert_never(baseline)


def endpoint_rows(
    mixes: Sequence[Mix], endpoints: LabelSet
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The labels of the first and of the second image of each mix, (mixes, classes) both."""
    place = {item: row for row, item in enumerate(endpoints.items)}
    for mix in mixes:
        for item in (mix.first_item, mix.second_item):
            if item not in place:
                raise DataError(
                    f"Item {item!r} of the mix {mix.item!r} has no label; give the labels of all "
                    "images that were mixed."
                )
    first = np.array([place[mix.first_item] for mix in mixes], dtype=np.int64)
    second = np.array([place[mix.second_item] for mix in mixes], dtype=np.int64)
    return endpoints.probs[first], endpoints.probs[second]
