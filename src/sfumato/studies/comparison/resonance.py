"""Whether a model is about as undecided as the labels that it learnt from (S1-56, S1-F7).

Both are looked at on the same held-out images: how the entropies of the labels are spread over
images, and how those of the model are. Their distance is Wasserstein's, in nats.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import wasserstein_distance

from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.learn.sweep import FinishedCell
from sfumato.scores import Difference
from sfumato.stats import paired_t, student_interval

if TYPE_CHECKING:
    from sfumato.studies.comparison.measured import Trained

__all__ = ["DISTANCE", "OWN", "entropies_table", "resonance_differences"]

DISTANCE = "entropy_distance"
OWN = "own labels"
"""What is held against: the label set that the arm learnt, on images that it did not learn."""


def resonance_differences(
    crossed: Sequence[str], trained: Sequence["Trained"], folds: int
) -> list[Difference]:
    """How much closer one arm's entropies are to its labels' than another's, paired by seed."""
    by_network: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for one in trained:
        pair = _entropies(crossed, one)
        if pair is not None:
            apart = float(wasserstein_distance(*pair))
            by_network[one.training.network][one.training.arm][one.training.seed].append(apart)
    return [
        found
        for network, by_arm in by_network.items()
        for first, second in permutations(by_arm, 2)
        if (found := _difference(network, first, second, by_arm, folds)) is not None
    ]


def entropies_table(crossed: Sequence[str], trained: Sequence["Trained"]) -> pl.DataFrame:
    """Entropies of labels and models on the held-out images of the first training of each arm.

    Columns ``network``, ``arm``, ``source`` ("labels" or "model") and ``entropy``, an image each.
    """
    parts, seen = [], set()
    for one in trained:
        which = (one.training.network, one.training.arm)
        pair = None if which in seen else _entropies(crossed, one)
        if pair is None:
            continue
        seen.add(which)
        parts += [
            pl.DataFrame({"source": source, "entropy": values}).select(
                pl.lit(which[0]).alias("network"), pl.lit(which[1]).alias("arm"), pl.all()
            )
            for source, values in zip(("labels", "model"), pair, strict=True)
        ]
    return pl.concat(parts) if parts else pl.DataFrame()


Entropies = tuple[NDArray[np.float64], NDArray[np.float64]]


def _entropies(crossed: Sequence[str], one: "Trained") -> Entropies | None:
    """Of the arm's label set and of its model; None for arms that are no label set."""
    test = next((test for test in one.tests if one.training.arm in test.labels), None)
    if one.training.arm not in crossed or test is None or not isinstance(one.result, FinishedCell):
        return None
    own: LabelSet = test.labels[one.training.arm]
    rows = one.result.arrays()[test.part].astype(np.float64)
    return entropy(own), -xlogy(rows, rows).sum(axis=1)


def _difference(
    network: str,
    first: str,
    second: str,
    by_arm: Mapping[str, Mapping[int, Sequence[float]]],
    folds: int,
) -> Difference | None:
    sides = [
        {seed: float(np.mean(mine)) for seed, mine in by_arm[arm].items() if len(mine) == folds}
        for arm in (first, second)
    ]
    seeds = [seed for seed in sides[0] if seed in sides[1]]
    if not seeds:
        return None
    apart = np.array([sides[0][seed] - sides[1][seed] for seed in seeds])
    low, high = student_interval(apart)
    tested = len(seeds) > 1
    return Difference(
        DISTANCE,
        float(apart.mean()),
        first,
        second,
        network=network,
        against=OWN,
        low=low if tested else None,
        high=high if tested else None,
        interval="seeds",
        p=paired_t(apart) if tested else None,
        test="paired t" if tested else "",
        seeds=tuple(seeds),
    )
