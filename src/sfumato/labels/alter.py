"""Turn one label set into another: smoothed, class-level, sharpened, in-filled, or a control.

Every function returns a ``LabelSet`` whose last step says what was done and with which
settings. Making labels sparse is in ``sparsify``, asking fewer people in ``subsample``.
"""

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import non_max_mass
from sfumato.labels.votes import Votes, counts
from sfumato.provenance import Setting, Step, is_simulated, to_json

__all__ = [
    "TIE_TOLERANCE",
    "Ties",
    "class_level",
    "in_fill",
    "majority_labels",
    "matched_smoothing",
    "random_labels",
    "smooth",
    "softmax_votes",
    "temperature",
    "uniform_labels",
]

TIE_TOLERANCE = 1e-12
"""Probabilities closer than this are equal: averaging the same answers in another order rounds."""

Ties = Literal["share", "error"]
"""What a tie for the most probable class becomes: equal shares, or an error naming the item."""


def smooth(labels: LabelSet, beta: float) -> LabelSet:
    """Label smoothing, (1−β)·y + β/K with K the number of classes.

    On hard labels this is the classical one (S2-25); on elicited or aggregated labels it is
    smoothing on top of people (S2-26). The formula is the same.

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> smooth(labels, 0.1).probs
    array([[0.95, 0.05]])
    """
    return labels.with_probs(_smoothed(labels, beta), Step("smooth", {"beta": beta}))


def matched_smoothing(hard: LabelSet, like: LabelSet) -> LabelSet:
    """Smooth hard labels until they are, on average, as soft as people were (S1-16).

    ε is the mean non-max mass of ``like``. A hard label smoothed by β leaves β·(K−1)/K off its
    class, because the class itself gets β/K back; so β = ε·K/(K−1), and the mean non-max mass
    of the result is that of ``like`` exactly. ``like`` may be over other items.

    >>> hard = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> people = LabelSet(("c",), ("cat", "dog"), [[0.8, 0.2]])
    >>> matched_smoothing(hard, people).probs.round(3)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    _require_hard(hard)
    _require_same_classes(hard, like)
    if not len(like):
        raise DataError("The label set to match has no items, so it has no mean softness.")
    epsilon = float(non_max_mass(like).mean())
    n_classes = len(hard.classes)
    # At most 1 but for rounding; a single class has no other to share with.
    beta = min(epsilon * n_classes / max(n_classes - 1, 1), 1.0)
    settings: dict[str, Setting] = {
        "epsilon": epsilon,
        "beta": beta,
        "like": to_json(like.provenance),
    }
    step = Step("match smoothing", settings, simulated=is_simulated(like.provenance))
    return hard.with_probs(_smoothed(hard, beta), step)


def class_level(labels: LabelSet, original: LabelSet) -> LabelSet:
    """Give every item of an original class the same vector: the class's mean label (S0-08).

    The rows of ``labels`` are summed inside each class of ``original`` (hard labels of the same
    items) and renormalised, so there are exactly as many distinct rows as classes that occur.

    >>> labels = LabelSet(("a", "b", "c"), ("cat", "dog"), [[1, 0], [0.5, 0.5], [0, 1]])
    >>> original = LabelSet(("a", "b", "c"), ("cat", "dog"), [[1, 0], [1, 0], [0, 1]])
    >>> class_level(labels, original).probs
    array([[0.75, 0.25],
           [0.75, 0.25],
           [0.  , 1.  ]])
    """
    labels, original = align(labels, original)
    _require_hard(original)
    sums = original.probs.T @ labels.probs  # (original classes, classes)
    of_item = original.probs.argmax(axis=1)
    step = Step("make class-level", {"original": to_json(original.provenance)})
    return labels.with_probs(_shares(sums[of_item]), step)


def temperature(labels: LabelSet, T: float) -> LabelSet:
    """Raise each row to the power 1/T and renormalise (S0-13).

    Below 1 sharpens, above 1 flattens over the classes that have mass; zeros stay zero.

    >>> labels = LabelSet(("a",), ("cat", "dog", "frog"), [[0.8, 0.2, 0]])
    >>> temperature(labels, 2).probs.round(3)
    array([[0.667, 0.333, 0.   ]])
    """
    logs = np.full_like(labels.probs, -np.inf)
    np.log(labels.probs, where=labels.probs > 0, out=logs)
    return labels.with_probs(_softmax(logs, T), Step("temperature", {"T": T}))


def softmax_votes(votes: Votes, T: float = 1.0) -> LabelSet:
    """Vote counts through a softmax, exp(n/T) / Σ exp(n/T) (S3-10); unjudged items are left out.

    Unlike shares it never excludes a class, and it grows certain with the margin in votes.

    >>> votes = Votes(("a",), ("p", "q"), ("x", "y"), *np.array([[0, 0], [0, 1], [1, 1]]))
    >>> softmax_votes(votes).probs.round(3)
    array([[0.119, 0.881]])
    """
    table = counts(votes)
    weight = table.sum(axis=1)
    judged = weight > 0
    return LabelSet(
        tuple(item for item, known in zip(votes.items, judged, strict=True) if known),
        votes.classes,
        _softmax(table[judged], T),
        weight[judged],
        (*votes.provenance, Step("softmax votes", {"T": T})),
    )


def random_labels(
    items: Sequence[str], classes: Sequence[str], *, rng: np.random.Generator
) -> LabelSet:
    """A control: one uniform draw a class, normalised, for each item (S2-23)."""
    draws = rng.random((len(items), len(classes)))
    step = Step("random labels")
    return LabelSet(tuple(items), tuple(classes), _shares(draws), provenance=(step,))


def uniform_labels(items: Sequence[str], classes: Sequence[str]) -> LabelSet:
    """A control: 1/K everywhere (S2-24).

    >>> uniform_labels(["a"], ["cat", "dog"]).probs
    array([[0.5, 0.5]])
    """
    flat = _shares(np.ones((len(items), len(classes))))
    step = Step("uniform labels")
    return LabelSet(tuple(items), tuple(classes), flat, provenance=(step,))


def in_fill(elicited: LabelSet, base: LabelSet) -> LabelSet:
    """The elicited rows where there are any, the base's rows elsewhere; items as in ``base``.

    With hard labels as the base this is S1-17, with ``sparse`` dense labels S1-18.

    >>> base = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> in_fill(LabelSet(("b",), ("cat", "dog"), [[0.4, 0.6]]), base).probs
    array([[1. , 0. ],
           [0.4, 0.6]])
    """
    position = {item: row for row, item in enumerate(base.items)}
    missing = [item for item in elicited.items if item not in position]
    if missing:
        raise DataError(
            f"Item {missing[0]!r} has an elicited label but is not in the base "
            f"({len(missing)} of {len(elicited)} are not). Give a base that covers every item."
        )
    _require_same_classes(elicited, base)
    rows = np.array([position[item] for item in elicited.items], dtype=np.int64)
    columns = [elicited.classes.index(name) for name in base.classes]
    probs, weight = base.probs.copy(), base.weight.copy()
    probs[rows], weight[rows] = elicited.probs[:, columns], elicited.weight
    step = Step(
        "in-fill",
        {"elicited_items": len(elicited), "items": len(base), "base": to_json(base.provenance)},
        simulated=is_simulated(base.provenance),
    )
    return LabelSet(base.items, base.classes, probs, weight, (*elicited.provenance, step))


def majority_labels(labels: LabelSet, ties: Ties) -> LabelSet:
    """One-hot rows of the most probable class: the same mode, no softness (S4-12).

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.6, 0.4], [0.5, 0.5]])
    >>> majority_labels(labels, "share").probs
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    top = labels.probs >= labels.probs.max(axis=1, keepdims=True) - TIE_TOLERANCE
    tied = top.sum(axis=1) > 1
    match ties:
        case "share":
            probs = _shares(top.astype(np.float64))
        case "error":
            _refuse_ties(labels, top, tied)
            probs = top.astype(np.float64)
        case _:
            assert_never(ties)
    return labels.with_probs(probs, Step("majority", {"ties": ties, "tied": int(tied.sum())}))


def _smoothed(labels: LabelSet, beta: float) -> NDArray[np.float64]:
    if not 0 <= beta <= 1:
        raise DataError(f"The smoothing β is {beta}; it must be a number from 0 to 1.")
    return labels.probs * (1 - beta) + beta / len(labels.classes)


def _softmax(scores: NDArray[np.float64], T: float) -> NDArray[np.float64]:
    if not (T > 0 and np.isfinite(T)):
        raise DataError(f"The temperature T is {T}; it must be a number above 0.")
    below = scores - scores.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # a difference that is too large for a float weighs nothing
        return _shares(np.exp(below / T))


def _shares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows / rows.sum(axis=1, keepdims=True)


def _require_hard(labels: LabelSet) -> None:
    used = (labels.probs > 0).sum(axis=1)
    if (used != 1).any():
        row = int((used != 1).argmax())
        raise DataError(
            f"Item {labels.items[row]!r} has mass on {used[row]} classes, where a hard label was "
            "expected. Use majority_labels first."
        )


def _require_same_classes(first: LabelSet, second: LabelSet) -> None:
    odd = sorted(set(first.classes) ^ set(second.classes))
    if odd:
        raise DataError(
            f"The two label sets have different classes: {', '.join(map(repr, odd[:5]))} "
            "is in one and not in the other."
        )


def _refuse_ties(labels: LabelSet, top: NDArray[np.bool_], tied: NDArray[np.bool_]) -> None:
    if not tied.any():
        return
    row = int(tied.argmax())
    names = [name for name, here in zip(labels.classes, top[row], strict=True) if here]
    raise DataError(
        f"Item {labels.items[row]!r} has no single most probable class: "
        f"{' and '.join(map(repr, names[:3]))} tie ({int(tied.sum())} of {len(labels)} items have "
        'a tie). Use ties="share" to split them.'
    )
