"""Turn people's labels, or a model's predictions, into which items count as disputed.

People answer differently about items that they dispute and items that they agree on, so
simulated people have habits for both (S2-36). Which is which is told by an entropy: of what
people say about the item, or, where nobody was asked, of what a model predicts (S2-38).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy

__all__ = ["THRESHOLDS", "Thresholds", "route_high", "route_items"]


@dataclass(frozen=True)
class Thresholds:
    """Entropies in nats from which an item counts as disputed, and up to which as agreed."""

    high: float = 0.25
    low: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise DataError(
                f"The low entropy threshold is 0 or more and at most the high one, not "
                f"{self.low} and {self.high}."
            )


THRESHOLDS = Thresholds()
"""Those by which the 886 and 114 images of CIFAR-10S were chosen (S2-36)."""


def route_high(labels: LabelSet, thresholds: Thresholds = THRESHOLDS) -> NDArray[np.bool_]:
    """Which items count as disputed (S2-36): entropy in nats at or above the high threshold.

    At or below the low threshold they count as agreed. Between the two, where the data of the
    thesis has no item, the nearer threshold decides.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [1, 0]])  # 0.325 and 0 nats
    >>> route_high(labels)
    array([ True, False])
    """
    return entropy(labels) >= (thresholds.high + thresholds.low) / 2


def route_items(
    items: Sequence[str], labels: LabelSet, thresholds: Thresholds = THRESHOLDS
) -> NDArray[np.bool_]:
    """Which of the given items count as disputed by ``labels``; an item may occur several times.

    The labels are people's or a model's (S2-38). An item that they lack is an error: it would
    have to be routed by a guess.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [1, 0]])
    >>> route_items(["b", "a", "b"], labels)
    array([False,  True, False])
    """
    high = dict(zip(labels.items, route_high(labels, thresholds).tolist(), strict=True))
    missing = list(dict.fromkeys(item for item in items if item not in high))
    if missing:
        raise DataError(
            f"The labels to route by lack item {missing[0]!r} ({len(missing)} of "
            f"{len(set(items))} items are missing). Give labels or predictions of every item, or "
            "route by none."
        )
    return np.array([high[item] for item in items], dtype=np.bool_)
