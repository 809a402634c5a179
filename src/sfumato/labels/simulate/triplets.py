"""Turn positions or similarities of items into triplet answers over a noisy channel (S1-20).

"Is x closer to y than to z?" is one bit. The channel flips each bit with a probability ε of
its own, whoever answers and however hard the question.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.labels.simulate.crowd import annotator_names, gather, who_answers_what
from sfumato.provenance import Provenance, Step

__all__ = ["NoisyChannel", "closer_by_position", "closer_by_similarity", "draw_triples", "send"]


@dataclass(frozen=True)
class NoisyChannel:
    """People who give the wrong answer with probability ``flip`` (ε_s in S1-20)."""

    flip: float = 0.1
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        if not 0 <= self.flip <= 1:
            raise DataError(f"The probability of a flip is a number from 0 to 1, not {self.flip}.")


def draw_triples(n_items: int, count: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """``count`` random triples (x, y, z) of three different positions, shape (count, 3)."""
    if n_items < 3:
        raise DataError(f"A triplet needs three items; there are {n_items}.")
    first = rng.integers(n_items, size=count)
    second = rng.integers(n_items - 1, size=count)
    second += second >= first  # skips the first
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = rng.integers(n_items - 2, size=count)
    third += third >= low
    third += third >= high
    return np.stack([first, second, third], axis=1)


def closer_by_position(
    positions: NDArray[np.float64], triples: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How much nearer y is to x than z is, for each triple (x, y, z), in Euclidean distance.

    >>> closer_by_position(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1, 2], [2, 0, 1]]))
    array([ 2., -1.])
    """
    _check_triples(triples, len(positions))
    x, y, z = (positions[triples[:, place]] for place in range(3))  # each (triples, dimensions)
    return np.linalg.norm(x - z, axis=1) - np.linalg.norm(x - y, axis=1)


def closer_by_similarity(
    similarity: NDArray[np.float64], triples: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How much more similar y is to x than z is, for each triple (x, y, z)."""
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise DataError(f"Similarities are a square table, not one of shape {similarity.shape}.")
    _check_triples(triples, len(similarity))
    x, y, z = triples.T
    return similarity[x, y] - similarity[x, z]


def send(
    channel: NoisyChannel,
    items: Sequence[str],
    triples: NDArray[np.int64],
    closer: NDArray[np.float64],
    *,
    per_triple: int = 1,
    annotators: int = 1,
    provenance: Provenance = (),
    rng: np.random.Generator,
) -> Comparisons:
    """Ask each triple (x, y, z) ``per_triple`` times and flip each answer with probability ε.

    ``closer`` says how much nearer y is than z, by one of the functions above; where it is 0
    the true answer is a coin toss, made once a triple. Nobody answers a triple twice.
    ``provenance`` is that of the positions or similarities.

    >>> triples = np.array([[0, 1, 2]])
    >>> closer = closer_by_position(np.array([[0.0], [1.0], [3.0]]), triples)
    >>> rng = np.random.default_rng(0)
    >>> send(NoisyChannel(flip=1), "abc", triples, closer, rng=rng).table["closer"][0]
    'second'
    """
    assert closer.shape == (len(triples),)
    toss = rng.random(len(triples)) < 0.5
    truth = np.where(closer == 0, toss, closer > 0)  # (triples,) whether y is nearer
    asked, annotator = who_answers_what(
        n_items=len(triples), per_item=per_triple, n_annotators=annotators, rng=rng
    )
    flipped = rng.random(len(asked)) < channel.flip
    names = tuple(items)
    table = pl.DataFrame(
        {
            "item": gather(names, triples[asked, 0]),
            "first": gather(names, triples[asked, 1]),
            "second": gather(names, triples[asked, 2]),
            "closer": gather(("second", "first"), (truth[asked] ^ flipped).astype(np.int64)),
            "annotator": gather(annotator_names(annotators), annotator),
        }
    )
    step = Step(
        "simulate triplets",
        {
            "triples": len(triples),
            "per_triple": per_triple,
            "annotators": annotators,
            "flip": channel.flip,
        },
        simulated=True,
    )
    steps = (*channel.provenance, *provenance, step)
    return Comparisons(COMPARISON_QUESTIONS["triplets"], table, provenance=steps)


def _check_triples(triples: NDArray[np.int64], n_items: int) -> None:
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise DataError(f"Triples have the shape (triples, 3), not {triples.shape}.")
    if len(triples) and not (triples.min() >= 0 and triples.max() < n_items):
        raise DataError(
            f"Triples name items by position, from 0 to {n_items - 1}; found "
            f"{triples.min()} to {triples.max()}."
        )
