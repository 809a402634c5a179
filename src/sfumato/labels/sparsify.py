"""Turn full label rows into shorter ones: the largest entries, the best classes, or a code.

These are the three ways in which S1 shortens labels: by item (``sparse``), by class
(``top_classes``), and by any linear code (``pca_codes``, the bound for the other two).
"""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sfumato.errors import DataError
from sfumato.labels.alter import TIE_TOLERANCE
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Setting, Step

__all__ = ["Emptied", "class_information", "pca_codes", "sparse", "top_classes"]

Emptied = Literal["error", "others"]
"""What becomes of an item whose kept classes hold no mass: an error that names it, or the
mass evenly on the classes that were dropped (it is none of those that were kept)."""


def sparse(labels: LabelSet, keep: int) -> LabelSet:
    """Keep the ``keep`` largest entries of each row and zero the rest (S1-11).

    What is left is renormalised, because every label row sums to one. Where several classes tie
    for the last places they share them: the row is the mean over all ways to break the tie,
    so the order of the classes never decides. How many rows that is stands in the provenance.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog", "frog"), [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]])
    >>> sparse(labels, 2).probs
    array([[0.625, 0.375, 0.   ],
           [0.75 , 0.125, 0.125]])
    """
    _check_keep(labels, keep)
    last = np.sort(labels.probs, axis=1)[:, -keep, None]  # the smallest that is kept
    above = labels.probs > last + TIE_TOLERANCE
    level = np.abs(labels.probs - last) <= TIE_TOLERANCE
    places = (keep - above.sum(axis=1, keepdims=True)) / level.sum(axis=1, keepdims=True)
    tied = int(((places[:, 0] < 1) & (last[:, 0] > TIE_TOLERANCE)).sum())
    kept = labels.probs * (above + level * places)
    step = Step("sparse", {"keep": keep, "tied": tied})
    return labels.with_probs(kept / kept.sum(axis=1, keepdims=True), step)


def top_classes(
    labels: LabelSet,
    keep: int,
    similarity: NDArray[np.float64],
    *,
    bins: int = 8,
    emptied: Emptied = "error",
) -> LabelSet:
    """Keep the classes that tell most about which items are alike (S1-12), and renormalise.

    ``similarity`` holds one number for each two items, rows and columns as ``labels.items``.
    Classes are ranked by ``class_information``; equals are ranked by their total mass, then
    by name, so the order of the classes never decides.
    """
    _check_keep(labels, keep)
    information = class_information(labels, similarity, bins=bins).round(12)
    mass = labels.probs.sum(axis=0).round(9)
    ranked = sorted(
        range(len(labels.classes)), key=lambda k: (-information[k], -mass[k], labels.classes[k])
    )
    chosen = np.zeros(len(labels.classes), dtype=np.bool_)
    chosen[ranked[:keep]] = True
    kept = _only(labels, chosen, emptied)
    names: list[Setting] = [labels.classes[k] for k in ranked[:keep]]
    settings: dict[str, Setting] = {"keep": keep, "bins": bins, "emptied": emptied}
    settings["classes"] = names
    return labels.with_probs(kept, Step("top classes", settings))


def class_information(
    labels: LabelSet, similarity: NDArray[np.float64], *, bins: int = 8
) -> NDArray[np.float64]:
    """Nats that each class's column tells about the similarity of two items (S1-12).

    The paper does not name an estimator. Here, over all pairs of different items: the mutual
    information between ``similarity[i, j]`` and p(i, k)·p(j, k), the chance that one answer to
    each would both be class k. Each of the two is cut into ``bins`` classes of about equal
    size by average rank (equal values are never separated), and the estimate is the plug-in
    one from the joint table. Only the order of similarities matters, not their scale.
    """
    if bins < 2:
        raise DataError(f"{bins} bins were asked for; information needs 2 or more.")
    first, second = np.triu_indices(len(labels), k=1)
    target = _binned(_checked_similarity(labels, similarity)[first, second], bins)  # (pairs,)
    return np.array(
        [
            _mutual_information(_binned(column[first] * column[second], bins), target, bins)
            for column in labels.probs.T
        ]
    )


def pca_codes(labels: LabelSet, keep: int) -> NDArray[np.float64]:
    """The first ``keep`` principal components of the rows, shape (items, keep) (S1-13).

    Not labels: codes may be negative. The sign of a component is free; the one with a positive
    sum of cubes is taken, which depends on the order of neither items nor classes.
    """
    _check_keep(labels, keep)
    centred = labels.probs - labels.probs.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # (classes, classes), smallest first
    codes = centred @ axes[:, ::-1][:, :keep]
    return codes * np.where((codes**3).sum(axis=0) < 0, -1, 1)


def _check_keep(labels: LabelSet, keep: int) -> None:
    if not 1 <= keep <= len(labels.classes):
        raise DataError(
            f"{keep} entries were to be kept, but there are {len(labels.classes)} classes; "
            f"keep from 1 to {len(labels.classes)}."
        )


def _only(labels: LabelSet, chosen: NDArray[np.bool_], emptied: Emptied) -> NDArray[np.float64]:
    kept = labels.probs * chosen
    mass = kept.sum(axis=1)
    empty = mass <= TIE_TOLERANCE
    match emptied:
        case "error":
            _refuse_empty(labels, empty)
        case "others":
            kept[empty] = ~chosen
        case _:
            assert_never(emptied)
    return kept / kept.sum(axis=1, keepdims=True)


def _refuse_empty(labels: LabelSet, empty: NDArray[np.bool_]) -> None:
    if empty.any():
        raise DataError(
            f"Item {labels.items[int(empty.argmax())]!r} has no mass on the classes that are kept "
            f"({int(empty.sum())} of {len(labels)} items have none). Keep more classes, or use "
            'emptied="others" to spread their mass over the dropped ones.'
        )


def _checked_similarity(labels: LabelSet, similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    similarity = np.asarray(similarity, dtype=np.float64)
    n_items = len(labels)
    if similarity.shape != (n_items, n_items) or n_items < 2:
        raise DataError(
            f"There are {n_items} items but similarities of shape {similarity.shape}; expected "
            "one row and one column an item, and two items or more."
        )
    if not np.isfinite(similarity).all() or not np.allclose(similarity, similarity.T):
        raise DataError(
            "The similarities must be numbers, and the same from either item of a pair. "
            "Average the two directions first."
        )
    return similarity


def _binned(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    place = (rankdata(values) - 0.5) / len(values)  # in (0, 1); equal values have equal places
    return (place * bins).astype(np.int64)


def _mutual_information(first: NDArray[np.int64], second: NDArray[np.int64], bins: int) -> float:
    table = np.bincount(first * bins + second, minlength=bins * bins).reshape(bins, bins)
    joint = table / table.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / apart[seen])).sum())
