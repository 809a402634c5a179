"""Turn what networks believed after each epoch into how much they still moved, and differed.

The measure is the Jensen–Shannon divergence of two beliefs about one item, in bits: 0 is the same
belief, 1 is no overlap (S4-33). Between successive epochs of a run it is *movement*; between runs
with other seeds at the same epoch it is *spread*. Where late movement is small against spread, the
variability of a data map comes from the seeds, not from training that has not ended (S4-51).
``watched`` has shape (seeds, epochs, items, classes).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.cartography import check_watched
from sfumato.evaluate.intervals import over_seeds
from sfumato.labels.compare import jensen_shannon_rows

__all__ = [
    "LAST_EPOCHS",
    "Steadiness",
    "convergence_table",
    "movement",
    "seed_spread",
    "steadiness",
]

Watched = NDArray[np.floating]  # (seeds, epochs, items, classes)
Mask = NDArray[np.bool_]  # (items,)

LAST_EPOCHS = 5
"""The late stage of paper 5: the last 5 of 40 epochs (S4-22)."""


def movement(watched: Watched) -> NDArray[np.float64]:
    """Divergence from the epoch before, in bits: (seeds, epochs − 1, items).

    >>> movement(np.array([[[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]]]))[0, :, 0]
    array([1., 0.])
    """
    check_watched(watched)
    if watched.shape[1] < 2:
        raise DataError("Only one epoch was watched; movement is between two. Watch more epochs.")
    # One pair of epochs at a time: all at once would hold several copies of everything.
    steps = [_bits(watched[:, at - 1], watched[:, at]) for at in range(1, watched.shape[1])]
    return np.stack(steps, axis=1)


def seed_spread(watched: Watched) -> NDArray[np.float64]:
    """Mean divergence of two seeds at the same epoch over all pairs, in bits: (epochs, items).

    >>> seed_spread(np.array([[[[1.0, 0.0]]], [[[1.0, 0.0]]], [[[0.0, 1.0]]]])).round(4)
    array([[0.6667]])
    """
    check_watched(watched)
    pairs = list(combinations(range(len(watched)), 2))
    if not pairs:
        raise DataError("Only one run was watched; spread is between seeds. Train more of them.")
    total = np.zeros(watched.shape[1:3])
    for first, second in pairs:
        total += _bits(watched[first], watched[second])
    return total / len(pairs)


@dataclass(frozen=True, eq=False)
class Steadiness:
    """Movement inside a run against spread across seeds, over the last epochs, in bits."""

    movement: NDArray[np.float64]
    """Mean over seeds and late epochs of the divergence from the epoch before, per item."""
    spread: NDArray[np.float64]
    """Mean over pairs of seeds and late epochs of their divergence, per item."""
    epochs: tuple[int, int]
    """The first and the last of the late epochs, from 1."""
    seeds: int

    @property
    def ratio(self) -> float:
        """Mean movement over mean spread: well below 1 once runs have settled, each in its own
        place; NaN where seeds do not differ at all.
        """
        spread = float(self.spread.mean())
        return float(self.movement.mean()) / spread if spread else float("nan")


def steadiness(watched: Watched, last: int = LAST_EPOCHS) -> Steadiness:
    """Whether late differences are between epochs or between seeds, per item (S4-51).

    The last ``last`` epochs count; the movement into the first of them does too.
    """
    n_epochs = watched.shape[1]
    if not 1 <= last < n_epochs:
        raise DataError(
            f"The movement of the last {last} epochs was asked for; with {n_epochs} epochs ask for "
            f"1 to {n_epochs - 1}."
        )
    late = watched[:, n_epochs - last - 1 :]
    return Steadiness(
        movement(late).mean(axis=(0, 1)),
        seed_spread(late[:, 1:]).mean(axis=0),
        (n_epochs - last + 1, n_epochs),
        len(watched),
    )


def convergence_table(
    watched: Watched, *, arm: str = "", network: str = "", stratum: Mask | None = None
) -> pl.DataFrame:
    """A row an epoch from the second on: mean movement into it, over seeds and items, in bits.

    ``stratum`` keeps some items only, as the paper's curves do. The interval is Student's t over
    the seeds' means, cut at 0 and 1; null with a single seed.
    """
    kept = watched if stratum is None else watched[:, :, stratum]
    if not kept.shape[2]:
        raise DataError("The stratum holds no items, so nothing moves in it. Choose another one.")
    by_seed = movement(kept).mean(axis=2)  # (seeds, epochs - 1)
    intervals = [over_seeds(values) for values in by_seed.T]
    known = len(watched) > 1
    n = by_seed.shape[1]
    return pl.DataFrame(
        {
            "arm": [arm] * n,
            "network": [network] * n,
            "epoch": np.arange(2, n + 2),
            "jsd": by_seed.mean(axis=0),
            "low": [max(low, 0.0) if known else None for low, _ in intervals],
            "high": [min(high, 1.0) if known else None for _, high in intervals],
        },
        schema={
            **dict.fromkeys(("arm", "network"), pl.String()),
            "epoch": pl.Int64(),
            **dict.fromkeys(("jsd", "low", "high"), pl.Float64()),
        },
    )


def _bits(first: Watched, second: Watched) -> NDArray[np.float64]:
    return jensen_shannon_rows(_rows(first), _rows(second)) / np.log(2)


def _rows(beliefs: Watched) -> NDArray[np.float64]:
    """Rows that sum to one again: they are kept with three digits."""
    exact = beliefs.astype(np.float64)
    return exact / exact.sum(axis=-1, keepdims=True)
