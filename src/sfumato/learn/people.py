"""Turn what a model believes about items into what each person would answer.

A person is one offset per class on top of the model's logits: how much more readily they give that
answer than people do on average. Offsets are drawn towards 0 as far as people differ little and
few answers are known (a normal prior, whose spread is estimated from all of them), so that
somebody who was never seen answers as the average does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet, align
from sfumato.provenance import Step

SMALLEST = 1e-7
"""Least probability whose logarithm is taken."""
LEAST_SPREAD = 1e-3
ROUNDS, CLOSE = 50, 1e-3
"""How often the spread is estimated anew, and the change below which it is left."""


@dataclass(frozen=True, eq=False)
class PersonOffsets:
    """How each annotator differs from the average, on top of a model's logits."""

    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    offsets: NDArray[np.float64]  # (annotators, classes), in logits
    spread: float
    """Standard deviation of the prior: how much people differ, in logits."""

    def settings(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return {
            "annotators": list(self.annotators),
            "offsets": self.offsets.tolist(),
            "spread": self.spread,
        }

    @classmethod
    def of_settings(cls, told: Mapping[str, Any], classes: Sequence[str]) -> "PersonOffsets":
        """What ``settings`` was taken of."""
        offsets = np.array(told["offsets"], dtype=np.float64)
        return cls(tuple(told["annotators"]), tuple(classes), offsets, float(told["spread"]))

    def predict(
        self, beliefs: LabelSet, people: Iterable[object] | CrowdLabels | None = None
    ) -> CrowdLabels:
        """What each person would answer about each item, given what the model believes.

        ``people`` are annotators, all that are known unless told otherwise; answers in their place
        (``CrowdLabels``) ask about the same items and people. Whoever is unknown gets the average.
        """
        if isinstance(people, CrowdLabels):
            names, row, who = people.annotators, *_asked(people, beliefs)
            if (row < 0).any():
                item = people.items[people.item[int((row < 0).argmax())]]
                raise DataError(
                    f"Item {item!r} was answered, but the model was not asked about it."
                )
        else:
            names = self.annotators if people is None else tuple(map(str, people))
            row = np.repeat(np.arange(len(beliefs)), len(names))
            who = np.tile(np.arange(len(names)), len(beliefs))
        if not len(row):
            raise DataError("There is nobody to predict the answers of; name one person at least.")
        place = {name: code for code, name in enumerate(self.annotators)}
        average = np.zeros((1, len(self.classes)))
        known = np.concatenate([self.offsets, average])  # the last row is for everybody else
        offsets = known[[place.get(name, -1) for name in names] + [-1]]
        rows = _softmax(_logits(_in_classes(beliefs, self.classes))[row] + offsets[who])
        step = Step("predict people", {"people": len(names), "spread": self.spread})
        provenance = (*beliefs.provenance, step)
        return CrowdLabels(beliefs.items, names, self.classes, row, who, rows, provenance)


def fit_offsets(beliefs: LabelSet, crowd: CrowdLabels) -> PersonOffsets:
    """How the annotators of these answers differ from what a model believes about the items.

    ``beliefs`` are about all items of the answers that are to count; others are left out, as are
    answers of nobody known. The spread of the prior is that under which the answers are most
    probable, found by expectation and maximisation.

    >>> beliefs = LabelSet(("a", "b"), ("no", "yes"), [[0.5, 0.5], [0.5, 0.5]])
    >>> said = [[0, 1], [0, 1], [1, 0], [1, 0]]
    >>> crowd = CrowdLabels(("a", "b"), ("p", "q"), ("no", "yes"), [0, 1] * 2, [0, 0, 1, 1], said)
    >>> fit_offsets(beliefs, crowd).predict(beliefs, ["p", "q", "r"]).probs[:3, 1].round(2)
    array([0.73, 0.27, 0.5 ])
    """
    row, who = _asked(crowd, beliefs)
    kept = (row >= 0) & (who != NOT_RECORDED)
    if not kept.any():
        raise DataError(
            "No answer names its annotator and is about an item that the model was asked about; "
            "give answers with annotators."
        )
    row, who = row[kept], who[kept]
    logits = _logits(_in_classes(beliefs, crowd.classes))[row]
    answers, said = crowd.answers, crowd.said[kept]
    offsets = np.zeros((len(crowd.annotators), len(crowd.classes)))
    spread = 1.0
    for _ in range(ROUNDS):
        offsets = _most_probable(offsets, logits, answers[said], who, spread**-2)
        q = _softmax(logits + offsets[who])
        doubt = 1 / (_sum_by(q * (1 - q), who, len(offsets)) + spread**-2)
        seen = np.isin(np.arange(len(offsets)), who)
        before, spread = spread, float(np.sqrt((offsets**2 + doubt)[seen].mean()))
        spread = max(spread, LEAST_SPREAD)
        if abs(np.log(spread / before)) < CLOSE:
            break
    return PersonOffsets(crowd.annotators, crowd.classes, offsets, spread)


def _most_probable(
    start: NDArray[np.float64],
    logits: NDArray[np.float64],
    answers: NDArray[np.float64],
    who: NDArray[np.int64],
    precision: float,
) -> NDArray[np.float64]:
    """Offsets under which the answers, with the prior, are most probable; a convex problem."""
    from scipy.optimize import minimize

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        offsets = flat.reshape(start.shape)
        shifted = logits + offsets[who]
        total = np.logaddexp.reduce(shifted, axis=1, keepdims=True)
        value = -(answers * (shifted - total)).sum() + precision / 2 * (offsets**2).sum()
        slope = _sum_by(np.exp(shifted - total) - answers, who, len(start)) + precision * offsets
        return float(value), slope.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(found.x).reshape(start.shape)


def _asked(crowd: CrowdLabels, beliefs: LabelSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of the beliefs and annotator of each answer; −1 for items that are not among them."""
    place = {item: row for row, item in enumerate(beliefs.items)}
    rows = np.array([place.get(item, -1) for item in crowd.items], dtype=np.int64)
    return rows[crowd.item], crowd.annotator


def _in_classes(beliefs: LabelSet, classes: tuple[str, ...]) -> NDArray[np.float64]:
    if beliefs.classes == classes:
        return beliefs.probs
    uniform = np.full((len(beliefs), len(classes)), 1 / len(classes))
    return align(LabelSet(beliefs.items, classes, uniform), beliefs)[1].probs


def _logits(probs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(probs, SMALLEST))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _sum_by(rows: NDArray[np.float64], who: NDArray[np.int64], people: int) -> NDArray[np.float64]:
    summed = [np.bincount(who, column, minlength=people) for column in rows.T]
    return np.stack(summed, axis=1)
