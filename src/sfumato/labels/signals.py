"""Turn labels and judgments into one number per item that says how uncertain people were.

Entropy and its relatives read a ``LabelSet``. What people said about being unsure, or ruled
out, does not survive in the label, so those signals read the judgments: a boolean array with
a row per judgment and a column per class, and ``item``, the position of each judgment's item.
Below them stand the strata of items that scores are told for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, align

TIE_TOLERANCE = 1e-12
"""Probabilities closer than this are equal: averaging the same answers in another order rounds."""

PerItem = NDArray[np.float64]  # (items,)
Marks = NDArray[np.bool_]  # (judgments, classes)
Codes = NDArray[np.integer]  # (judgments,)


def entropy(labels: LabelSet) -> PerItem:
    """Shannon entropy of each row in nats, with 0 log 0 = 0.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [1, 0]])
    >>> entropy(labels).round(4)
    array([0.6931, 0.    ])
    """
    return entr(labels.probs).sum(axis=1)


def top_probability(labels: LabelSet) -> PerItem:
    """The largest probability of each row."""
    return labels.probs.max(axis=1)


def non_max_mass(labels: LabelSet) -> PerItem:
    """The mass of each row that is not on its largest entry (S1-16)."""
    return labels.probs.sum(axis=1) - labels.probs.max(axis=1)


def deviation(labels: LabelSet) -> PerItem:
    """How far each row spreads along its scale: the standard deviation of the values.

    >>> deviation(LabelSet(("a",), ("bad", "good"), [[0.5, 0.5]], values=(0, 10)))
    array([5.])
    """
    values = np.array(labels.require_values("A deviation"))
    square = labels.probs @ values**2 - (labels.probs @ values) ** 2
    return np.sqrt(np.maximum(square, 0))


def support_size(labels: LabelSet) -> NDArray[np.int64]:
    """How many classes of each row have any mass."""
    return (labels.probs > 0).sum(axis=1)


def variance_of_top(labels: LabelSet) -> float:
    """Variance over items of the largest probability, dividing by the number of items (S1-48).

    The population variance (``ddof=0``) is the one that reproduces the published figure.

    >>> variance_of_top(LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [1, 0]]))
    0.0625
    """
    return float(np.var(top_probability(labels)))


SAME = 1e-9
"""Disagreement below this is the rounding of a sum, not people."""


@dataclass(frozen=True, eq=False)
class Spread:
    """How far each item's mean label is spread, and of which two parts that is the sum; in nats."""

    items: tuple[str, ...]
    total: PerItem
    """Entropy of the mean of all answers."""
    doubt: PerItem
    """Mean entropy of each answer by itself: what people are unsure of, whether or not they agree.
    Zero where people name a single class."""
    disagreement: PerItem
    """What is left: the mean divergence of an answer from the mean of all. Zero where all answers
    are the same, however unsure; NaN where there is only one."""
    answers: NDArray[np.int64]

    @property
    def disputed(self) -> NDArray[np.bool_]:
        """Where two answers differ."""
        return np.nan_to_num(self.disagreement) > SAME


def spread_of(crowd: CrowdLabels) -> Spread:
    """The entropy of each item's mean label, divided into doubt and disagreement.

    H(mean p) = mean H(p) + mean KL(p ‖ mean p), the generalised Jensen–Shannon divergence. Items
    that nobody judged are left out.

    >>> same = CrowdLabels(("a",), ("p", "q"), ("x", "y"), [0, 0], [0, 1], [[0.8, 0.2]] * 2)
    >>> apart = CrowdLabels(("a",), ("p", "q"), ("x", "y"), [0, 0], [0, 1], [[1, 0], [0, 1]])
    >>> for crowd in (same, apart):
    ...     found = spread_of(crowd)
    ...     print(found.doubt.round(3), found.disagreement.round(3))
    [0.5] [0.]
    [0.] [0.693]
    """
    labels = crowd.mean()
    answers = np.bincount(crowd.item, minlength=len(crowd.items))
    judged = answers > 0
    own = np.bincount(
        crowd.item, weights=entr(crowd.answers).sum(axis=1)[crowd.said], minlength=len(answers)
    )
    doubt = own[judged] / answers[judged]
    total = entropy(labels)
    apart = np.maximum(total - doubt, 0)  # rounding may end below zero
    apart = np.where(answers[judged] > 1, apart, np.nan)
    return Spread(labels.items, total, doubt, apart, answers[judged])


def mean_uncertainty(unsure: Marks, item: Codes, n_items: int) -> PerItem:
    """Mean over an item's judgments of u = unsure answers / number of classes (S4-46, S4-47).

    An item nobody judged is NaN: nothing is known about it.

    >>> unsure = np.array([[True, False, True, False], [False, False, False, False]])
    >>> mean_uncertainty(unsure, np.array([0, 0]), 2)
    array([0.25,  nan])
    """
    return _mean_per_item(np.mean(_marked(unsure), axis=1), item, n_items)


def unsure_proportion(unsure: Marks, item: Codes, n_items: int) -> PerItem:
    """Share of an item's judgments with at least one unsure answer (S4-48); NaN where none.

    >>> unsure = np.array([[True, False, True, False], [False, False, False, False]])
    >>> unsure_proportion(unsure, np.array([0, 0]), 1)
    array([0.5])
    """
    return _mean_per_item(_marked(unsure).sum(axis=1) > 0, item, n_items)


def possible_labels(ruled_out: Marks, item: Codes, n_items: int) -> PerItem:
    """Mean number of classes that an item's judgments did not rule out (S3-18); NaN where none.

    >>> ruled_out = np.array([[True, True, False], [True, False, False]])
    >>> possible_labels(ruled_out, np.array([0, 0]), 1)
    array([1.5])
    """
    open_to = np.logical_not(_marked(ruled_out)).sum(axis=1)  # (judgments,)
    return _mean_per_item(open_to, item, n_items)


def concentration(values: PerItem, share: float) -> float:
    """Which part of the total lies in the top ``share`` of items (S0-47).

    A share that ends inside an item takes that part of it, so the answer moves smoothly.
    When every value is zero all items are equal, and the answer is ``share`` itself.

    >>> concentration(np.array([0.0, 3.0, 1.0, 0.0]), 0.25)
    0.75
    """
    values = np.asarray(values, dtype=np.float64)
    if not 0 <= share <= 1:
        raise DataError(f"The share of items is {share}; give a number from 0 to 1.")
    if not len(values):
        raise DataError("There are no items, so nothing can be concentrated in some of them.")
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        raise DataError(
            f"Value {bad.argmax()} is {values[bad.argmax()]}; "
            "only numbers of zero or more have shares of a total."
        )
    if not values.any():
        return float(share)
    # Shares do not depend on the unit, a power of two is exact, and tiny numbers would vanish.
    values = np.ldexp(values, -np.frexp(values.max())[1])
    carried = np.concatenate([[0.0], np.cumsum(np.sort(values)[::-1])])  # by the first n items
    reached = np.interp(share * len(values), np.arange(len(values) + 1), carried)
    return float(reached / carried[-1])


def _marked(marks: Marks) -> Marks:
    marks = np.asarray(marks)
    if marks.ndim != 2 or marks.dtype != np.bool_:
        raise DataError(
            f"The marks have shape {marks.shape} and type {marks.dtype}; expected true or false "
            "for each judgment (rows) and class (columns)."
        )
    return marks


def _mean_per_item(values: NDArray[np.generic], item: Codes, n_items: int) -> PerItem:
    item = np.asarray(item)
    if item.shape != values.shape:
        raise DataError(
            f"There are {len(values)} judgments but item positions of shape {item.shape}."
        )
    if len(item) and not (item.min() >= 0 and item.max() < n_items):
        raise DataError(
            f"Item positions run from {item.min()} to {item.max()}, "
            f"but there are {n_items} items, numbered from 0."
        )
    judged = np.bincount(item, minlength=n_items)
    sums = np.bincount(item, weights=values, minlength=n_items)
    return np.divide(sums, judged, out=np.full(n_items, np.nan), where=judged > 0)


# Turn human labels into strata of items: where people agreed, where not, and how much.
#
# A stratum is a mask over the items of the label set, in its order, under a name that the tables
# show. Scores over all items hide what happens on the disputed ones (S4-32, C21), so everything
# is scored by these.

Mask = NDArray[np.bool_]  # (items,)

UNANIMITY = 1e-9
"""Mass off the top class that still counts as none: rounding, far less than any vote."""


def strata_of(human: LabelSet) -> dict[str, Mask]:
    """Where all mass is on one class (``unanimous``) and where some is not (``disputed``).

    With labels that are shares of votes this is the partition into NoHLV and HLV of S4-43.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0.9, 0.1]])
    >>> {name: mask.tolist() for name, mask in strata_of(human).items()}
    {'unanimous': [True, False], 'disputed': [False, True]}
    """
    unanimous = non_max_mass(human) <= UNANIMITY
    return {"unanimous": unanimous, "disputed": ~unanimous}


def hlv_strata(human: LabelSet, unsure: NDArray[np.float64]) -> dict[str, Mask]:
    """``NoHLV`` and ``HLV`` of yes/no/unsure answers, NoHLV also by whether anyone was unsure.

    NoHLV is unanimous agreement: the aggregated label is one-hot (S4-43). An unsure mark alone
    does not make variation: somebody unsure about the very class that the others chose leaves
    the label one-hot, so the item is NoHLV, as in the paper. ``unsure`` is the share of each
    item's annotators with an unsure answer (S4-48, ``unsure_proportion``); it divides
    NoHLV into ``NoHLV, all sure`` and ``NoHLV, some unsure``. Where it is NaN (nobody asked) the
    item is in neither of the two.

    >>> human = LabelSet("abc", ("3", "5"), [[1, 0], [1, 0], [0.5, 0.5]])
    >>> strata = hlv_strata(human, np.array([0.0, 0.25, 0.5]))
    >>> [name for name, mask in strata.items() if mask[1]]
    ['NoHLV', 'NoHLV, some unsure']
    """
    unsure = np.asarray(unsure, dtype=np.float64)
    if unsure.shape != (len(human),):
        raise DataError(
            f"There are {len(human)} items but shares of unsure annotators of shape "
            f"{unsure.shape}; give one number an item."
        )
    wrong = (unsure < 0) | (unsure > 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"The share of unsure annotators of item {human.items[row]!r} is {unsure[row]}; "
            "it must be a number from 0 to 1."
        )
    agreed = strata_of(human)["unanimous"]
    return {
        "NoHLV": agreed,
        "HLV": ~agreed,
        "NoHLV, all sure": agreed & (unsure == 0),
        "NoHLV, some unsure": agreed & (unsure > 0),
    }


def disputed_thirds(human: LabelSet) -> dict[str, Mask]:
    """The disputed items in thirds of their entropy: least, middle and most disputed.

    Only disputed items are divided: where nearly half of a set is unanimous, a third of all
    would be a choice among ties. Items of equal entropy stay together, so the thirds may differ
    in size and the middle one may be empty.

    >>> human = LabelSet("abcd", "xy", [[1, 0], [0.9, 0.1], [0.8, 0.2], [0.5, 0.5]])
    >>> {name: mask.tolist().index(True) for name, mask in disputed_thirds(human).items()}
    {'least disputed': 1, 'middle disputed': 2, 'most disputed': 3}
    """
    disputed = strata_of(human)["disputed"]
    spread = entropy(human).round(12)  # the order of a sum must not divide equal rows
    if not disputed.any():
        return dict.fromkeys(("least disputed", "middle disputed", "most disputed"), disputed)
    low, high = np.quantile(spread[disputed], [1 / 3, 2 / 3], method="inverted_cdf")
    return {
        "least disputed": disputed & (spread <= low),
        "middle disputed": disputed & (spread > low) & (spread <= high),
        "most disputed": disputed & (spread > high),
    }


@dataclass(frozen=True, eq=False)
class OriginalAgreement:
    """Whether people's most frequent class is the original label, item by item."""

    items: tuple[str, ...]
    agrees: Mask
    tied: int
    """Items where people have no single most frequent class; the first of them was taken."""

    @property
    def differ(self) -> int:
        """How many items' mode is another class than the original label."""
        return int((~self.agrees).sum())

    @property
    def share(self) -> float:
        """The share of items whose mode is the original label (S4-44)."""
        return float(self.agrees.mean())


def original_agreement(human: LabelSet, original: LabelSet) -> OriginalAgreement:
    """Where the most probable class of ``human`` is that of ``original`` (S4-44, S0-49).

    Ties go to the first class, as everywhere (and as the published counts need: 79 of 10,000
    modes of CIFAR-10H differ); ``tied`` says how many items were decided that way.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[0.6, 0.4], [0.2, 0.8]])
    >>> found = original_agreement(human, LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [1, 0]]))
    >>> found.differ, found.share, found.tied
    (1, 0.5, 0)
    """
    human, original = align(human, original)
    if not len(human):
        raise DataError("There are no items, so no share of them agrees with the original label.")
    top = human.probs >= human.probs.max(axis=1, keepdims=True) - TIE_TOLERANCE
    agrees = top.argmax(axis=1) == original.probs.argmax(axis=1)
    return OriginalAgreement(human.items, agrees, int((top.sum(axis=1) > 1).sum()))


def agreement_strata(human: LabelSet, original: LabelSet) -> dict[str, Mask]:
    """``mode as original`` and ``mode shifted``: whether re-annotation changed the label (C15)."""
    agrees = original_agreement(human, original).agrees
    return {"mode as original": agrees, "mode shifted": ~agrees}
