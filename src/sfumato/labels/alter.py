"""Turn one label set into another: smoothed, class-level, sharpened, sparse, or from fewer people.

Every function returns a ``LabelSet`` whose last step says what was done and with which
settings.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, align
from sfumato.labels.signals import TIE_TOLERANCE, non_max_mass
from sfumato.labels.votes import Votes, counts
from sfumato.provenance import Setting, Step, is_simulated, to_json
from sfumato.stats import mid_ranks

Ties = Literal["share", "error"]
"""What a tie for the most probable class becomes: equal shares, or an error naming the item."""


@overload
def smooth(labels: LabelSet, beta: float) -> LabelSet: ...


@overload
def smooth(labels: CrowdLabels, beta: float) -> CrowdLabels: ...


def smooth(labels: LabelSet | CrowdLabels, beta: float) -> LabelSet | CrowdLabels:
    """Label smoothing, (1−β)·y + β/K with K the number of classes.

    On hard labels this is the classical one (S2-25); on elicited or aggregated labels it is
    smoothing on top of people (S2-26), also of each one's own. The formula is the same.

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[1, 0]])
    >>> smooth(labels, 0.1).probs
    array([[0.95, 0.05]])
    """
    step = Step("smooth", {"beta": beta})
    if isinstance(labels, LabelSet):
        return labels.with_probs(_smoothed(labels.probs, beta), step)
    answers = _smoothed(labels.answers, beta)
    return replace(labels, answers=answers, provenance=(*labels.provenance, step))


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
    return hard.with_probs(_smoothed(hard.probs, beta), step)


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
    """A control: one uniform draw per class, normalised, for each item (S2-23)."""
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


def _smoothed(rows: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    if not 0 <= beta <= 1:
        raise DataError(f"The smoothing β is {beta}; it must be a number from 0 to 1.")
    return rows * (1 - beta) + beta / rows.shape[1]


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


# Turn shares of a whole into whole numbers of items, stratum by stratum.


def apportion(sizes: Sequence[int], shares: Sequence[float]) -> NDArray[np.int64]:
    """Whole numbers (strata, parts) near sizes × shares, whose sums are right both ways.

    Each is the product rounded down, or one more; so is each part's total. What does not divide
    goes to the last part first, as in the published sizes 2,131, 457 and 457 (S4-41). That such a
    table exists for up to three parts, and that serving the neediest part first finds it, is the
    theorem of Gale and Ryser on tables of zeros and ones.

    >>> apportion([7, 6], [0.5, 0.5]).tolist()
    [[3, 4], [3, 3]]
    """
    assert len(shares) <= 3
    share = np.array(shares) / sum(shares)
    exact = np.outer(sizes, share).round(9)  # 0.29 × 100 is 28.999999999999996
    low = np.floor(exact).astype(np.int64)
    total = (sum(sizes) * share).round(9)
    wanted = np.floor(total).astype(np.int64)
    broken = [part for part in reversed(range(len(share))) if total[part] > wanted[part]]
    wanted[broken[: sum(sizes) - wanted.sum()]] += 1  # the last part comes first
    need = wanted - low.sum(axis=0)
    for row, size in zip(low, sizes, strict=True):
        served = (-need).argsort(kind="stable")[: size - row.sum()]
        row[served] += 1
        need[served] -= 1
    assert not need.any()
    return low


# Turn full label rows into shorter ones: the largest entries, the best classes, or a code.
#
# These are the three ways in which S1 shortens labels: by item (``sparse``), by class
# (``top_classes``), and by any linear code (``pca_codes``, the bound for the other two).

WhenEmpty = Literal["error", "others"]
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
    emptied: WhenEmpty = "error",
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

    The paper does not name an estimator. Here, over all pairs of different items whose similarity
    is known (not NaN): the mutual
    information between ``similarity[i, j]`` and p(i, k)·p(j, k), the chance that one answer to
    each would both be class k. Each of the two is cut into ``bins`` classes of about equal
    size by average rank (equal values are never separated), and the estimate is the plug-in
    one from the joint table. Only the order of similarities matters, not their scale.
    """
    if bins < 2:
        raise DataError(f"{bins} bins were asked for; information needs 2 or more.")
    known = np.isfinite(_checked_similarity(labels, similarity))
    first, second = np.nonzero(np.triu(known, k=1))
    target = _binned(np.asarray(similarity)[first, second], bins)  # (pairs,)
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


def _only(labels: LabelSet, chosen: NDArray[np.bool_], emptied: WhenEmpty) -> NDArray[np.float64]:
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
            f"({int(empty.sum())} of {len(labels)} items without any). Keep more classes, or use "
            'emptied="others" to spread their mass over the dropped ones.'
        )


def _checked_similarity(labels: LabelSet, similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    similarity = np.asarray(similarity, dtype=np.float64)
    n_items = len(labels)
    if similarity.shape != (n_items, n_items) or n_items < 2:
        raise DataError(
            f"There are {n_items} items but similarities of shape {similarity.shape}; expected "
            "one row and one column per item, and two items or more."
        )
    apart = ~np.eye(n_items, dtype=bool)
    if not np.isfinite(similarity[apart]).any() or not np.allclose(
        similarity, similarity.T, equal_nan=True
    ):
        raise DataError(
            "The similarities must be numbers for some pairs, and the same from either item of a "
            "pair. Average the two directions first."
        )
    return similarity


def _binned(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    # In (0, 1); equal values have equal places.
    place = mid_ranks(np.unique(values, return_inverse=True)[1]) / len(values)
    return (place * bins).astype(np.int64)


def _mutual_information(first: NDArray[np.int64], second: NDArray[np.int64], bins: int) -> float:
    table = np.bincount(first * bins + second, minlength=bins * bins).reshape(bins, bins)
    joint = table / table.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / apart[seen])).sum())


# Turn many judgments per item into few, as if fewer people had been asked (S3-11).
#
# Both functions draw without replacement. Single judgments are drawn where they are known;
# for votes the table of counts is enough, because votes for one class are interchangeable.

WhenFewer = Literal["error", "keep"]
"""What an item with fewer judgments than asked for does: an error, or it keeps all it has."""


def subsample_annotators(
    crowd: CrowdLabels, M: int, *, fewer: WhenFewer = "error", rng: np.random.Generator
) -> CrowdLabels:
    """``M`` judgments of each judged item, drawn without replacement (S3-11).

    A person who answered an item twice counts twice, so take repeats out first.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))
    >>> len(subsample_annotators(crowd, 1, rng=np.random.default_rng(0)))
    1
    """
    sizes = np.bincount(crowd.item, minlength=len(crowd.items))
    short = np.flatnonzero((sizes > 0) & (sizes < M))
    where = f"Item {crowd.items[short[0]]!r}" if len(short) else ""
    _check_enough(M, fewer, short=short, where=where, sizes=sizes)
    shuffled = np.lexsort((rng.random(len(crowd)), crowd.item))  # by item, random inside
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(crowd)) - starts[crowd.item[shuffled]]  # 0, 1, … inside each item
    drawn = np.zeros(len(crowd), dtype=np.bool_)
    drawn[shuffled[place < M]] = True
    return crowd.take(drawn, Step("sub-sample annotators", {"M": M, "fewer": fewer}))


def subsample_counts(
    counts: NDArray[np.integer] | NDArray[np.float64],
    M: int,
    *,
    fewer: WhenFewer = "error",
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """``M`` votes of each row of a table of votes (items, classes), without replacement (S3-11).

    Each row is a draw from the multivariate hypergeometric distribution. A row without any
    votes stays without.

    >>> subsample_counts(np.array([[51, 0], [0, 50]]), 3, rng=np.random.default_rng(0))
    array([[3, 0],
           [0, 3]])
    """
    table = checked_counts(counts)
    sizes = table.sum(axis=1)
    short = np.flatnonzero((sizes > 0) & (sizes < M))
    where = f"Row {short[0]} of the table" if len(short) else ""
    _check_enough(M, fewer, short=short, where=where, sizes=sizes)
    drawn = np.zeros_like(table)
    wanted, behind = np.minimum(sizes, M), sizes  # still to draw, and from how many votes
    for k in range(table.shape[1]):
        behind = behind - table[:, k]
        drawn[:, k] = rng.hypergeometric(table[:, k], behind, wanted)
        wanted = wanted - drawn[:, k]
    return drawn


def checked_counts(
    counts: NDArray[np.integer] | NDArray[np.float64],
) -> NDArray[np.int64]:
    """The table of votes (items, classes) as whole numbers, or an error that names the place.

    >>> checked_counts(np.array([[2.0, 1.0]]))
    array([[2, 1]])
    """
    table = np.asarray(counts)
    if table.ndim != 2:
        raise DataError(f"The counts have shape {table.shape}; expected a row per item.")
    bad = ~(np.isfinite(table) & (table >= 0) & (table == np.rint(table)))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"Row {row}, column {column} of the counts is {table[row, column]}; "
            "votes are whole numbers of zero or more."
        )
    return table.astype(np.int64)


def _check_enough(
    M: int, fewer: WhenFewer, *, short: NDArray[np.intp], where: str, sizes: NDArray[np.int64]
) -> None:
    if M < 1:
        raise DataError(f"{M} judgments per item were asked for; ask for 1 or more.")
    match fewer:
        case "keep":
            return
        case "error":
            if len(short):
                raise DataError(
                    f"{where} has {sizes[short[0]]} judgments, fewer than the {M} asked for "
                    f'({len(short)} items have too few). Ask for fewer, or use fewer="keep".'
                )
        case _:
            assert_never(fewer)
