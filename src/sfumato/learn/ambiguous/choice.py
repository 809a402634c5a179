"""Turn entropy and disagreement of many candidates into as many of each degree of doubt."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

__all__ = ["Strata", "choose", "entropy_strata"]

PerItem = NDArray[np.float64]  # (candidates,)


@dataclass(frozen=True)
class Strata:
    """Ranges of entropy in nats: each from an edge to below the next, the last without end."""

    edges: tuple[float, ...]
    """Where each begins; the first is 0."""

    def __len__(self) -> int:
        return len(self.edges)

    def of(self, entropy: PerItem) -> NDArray[np.int64]:
        """The position of each entropy's stratum."""
        return np.searchsorted(self.edges, entropy, side="right").astype(np.int64) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """In words.

        >>> entropy_strata(2).names
        ('entropy 0.00 to 0.35', 'entropy 0.35 and more')
        """
        ends = [f" to {edge:.2f}" for edge in self.edges[1:]]
        return tuple(
            f"entropy {edge:.2f}{end}"
            for edge, end in zip(self.edges, [*ends, " and more"], strict=True)
        )


def entropy_strata(number: int) -> Strata:
    """Equal widths up to log 2, an even choice between two classes; the last takes what is above.

    >>> [round(edge, 3) for edge in entropy_strata(4).edges]
    [0.0, 0.173, 0.347, 0.52]
    """
    if number < 1:
        raise DataError(f"There must be at least 1 stratum of entropy, not {number}.")
    return Strata(tuple(float(edge) for edge in np.linspace(0, np.log(2), number + 1)[:-1]))


def choose(
    strata: Strata,
    *,
    entropy: PerItem,
    information: PerItem,
    predicted: NDArray[np.int64],
    most_information: float,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The rows of ``count`` candidates, equally many a stratum, in their order.

    Candidates whose mutual information is above ``most_information`` are junk to the networks and
    never chosen. Within a stratum the predicted classes take turns, so that a class that is often
    doubtful does not fill it; which candidates of a class come first is drawn with ``rng``.
    """
    if count < 1 or count % len(strata):
        raise DataError(
            f"{count} images cannot be divided equally among {len(strata)} strata of entropy; "
            f"ask for a multiple of {len(strata)}."
        )
    kept = information <= most_information
    stratum = strata.of(entropy)
    each = count // len(strata)
    found = np.bincount(stratum[kept], minlength=len(strata))
    if found.min() < each:
        scarce = int(found.argmin())
        fewer = f"Ask for at most {found[scarce] * len(strata):,} images, d" if found.min() else "D"
        raise DataError(
            f"Of {len(entropy):,} candidates {found[scarce]:,} have {strata.names[scarce]} and a "
            f"mutual information of at most {most_information:.3g}, but {each:,} are needed. "
            f"{fewer}raw more candidates, allow more mutual information, or let VAE and networks "
            "learn for longer."
        )
    shuffled = rng.permutation(len(entropy))
    chosen = []
    for at in range(len(strata)):
        rows = shuffled[(kept & (stratum == at))[shuffled]]
        turn = np.argsort(_place_in_class(predicted[rows]), kind="stable")
        chosen.append(rows[turn[:each]])
    return np.sort(np.concatenate(chosen))


def _place_in_class(predicted: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows of the same class come before each row."""
    order = np.argsort(predicted, kind="stable")
    _, starts, sizes = np.unique(predicted[order], return_index=True, return_counts=True)
    place = np.empty(len(predicted), dtype=np.int64)
    place[order] = np.arange(len(predicted)) - np.repeat(starts, sizes)
    return place
