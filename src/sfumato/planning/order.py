"""Turn what is known about items into which of them to ask about first.

Most of people's uncertainty sits in few items (in CIFAR-10H 30 % of the images carry 83 % of the
entropy, S0-14), so what is dear is best spent there. But every class needs some items, too:
how many, a learning curve says (S4-15).
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import least_squares

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy


def items_first(known: LabelSet, *, carries: float = 0.8, per_class: int = 0) -> pl.DataFrame:
    """All items in the order in which to ask about them, and why (S0-14, S4-15).

    ``known`` are cheap labels: a pilot's votes, or what a model believes. First come the most
    uncertain items until they hold the share ``carries`` of all entropy; then, of classes with
    fewer than ``per_class`` items among them, the most uncertain others; then the rest. Columns
    ``place`` (from 1), ``item``, ``class`` (the most probable), ``entropy``, ``carried`` (share of
    the entropy up to here), ``why`` ("uncertain", "class" or "rest").

    >>> known = LabelSet(("a", "b", "c"), ("cat", "dog"), [[0.9, 0.1], [0.5, 0.5], [0, 1]])
    >>> items_first(known)["item"].to_list()
    ['b', 'a', 'c']
    """
    if not 0 < carries <= 1:
        raise DataError(f"The share of uncertainty is {carries}; give a number above 0, up to 1.")
    if per_class < 0:
        raise DataError(f"{per_class} items a class were asked for; give 0 or more.")
    doubt, top = entropy(known), known.probs.argmax(axis=1)
    by_doubt = np.argsort(-doubt, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(doubt[by_doubt])[:-1]])
    total = float(doubt.sum())
    uncertain = (before < carries * total * (1 - 1e-12)) & (doubt[by_doubt] > 0)
    stage = np.full(len(known), 2)
    stage[by_doubt[uncertain]] = 0
    for name in range(len(known.classes)):
        mine = by_doubt[top[by_doubt] == name]
        short = per_class - int((stage[mine] == 0).sum())
        stage[mine[stage[mine] == 2][: max(short, 0)]] = 1
    order = by_doubt[np.argsort(stage[by_doubt], kind="stable")]
    return pl.DataFrame(
        {
            "place": np.arange(1, len(order) + 1),
            "item": [known.items[row] for row in order],
            "class": [known.classes[top[row]] for row in order],
            "entropy": doubt[order],
            "carried": np.cumsum(doubt[order]) / total if total else np.zeros(len(order)),
            "why": np.array(["uncertain", "class", "rest"])[stage[order]],
        }
    )


def needed_per_class(sizes: Sequence[float], scores: Sequence[float], *, target: float) -> int:
    """Items a class at which a learning curve reaches ``target`` (S4-15).

    The curve is a - b·m^(-c) through the scores (higher is better) at ``sizes`` items a class.

    >>> needed_per_class([10, 20, 40, 80], [0.7, 0.8, 0.85, 0.875], target=0.88)
    100
    """
    m, y = np.asarray(sizes, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if len(np.unique(m)) < 3 or m.shape != y.shape or (m <= 0).any():
        raise DataError(
            f"A learning curve needs scores at three numbers of items a class or more, all above "
            f"zero; found {len(m)} sizes and {len(y)} scores."
        )

    def off(shape: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b, c = shape
        return np.asarray(a - b * m**-c - y)

    start = (y.max() + 0.01, max(y.max() - y.min(), 1e-3) * m.min() ** 0.5, 0.5)
    bounds = ([-np.inf, 0, 1e-3], [np.inf, np.inf, 5])
    a, b, c = least_squares(off, start, bounds=bounds, xtol=1e-12, ftol=1e-12, gtol=1e-12).x
    if b <= 1e-9 or target >= a:
        raise DataError(
            f"The learning curve levels off at {a:.4g}, so {target:g} is never reached; choose a "
            "lower target."
        )
    return max(1, ceil(round((b / (a - target)) ** (1 / c), 3)))
