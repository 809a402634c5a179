import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.metrics import METRICS, Scorer, is_right, top_class
from sfumato.labels.labelset import LabelSet

ROWS = np.array([[0.7, 0.3], [0.2, 0.8]])


def labels(
    rows: NDArray[np.float64] = ROWS,
    items: tuple[str, ...] = ("i0", "i1"),
    classes: tuple[str, ...] = ("cat", "dog"),
) -> LabelSet:
    return LabelSet(items, classes, rows)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize(
    ("model", "says"),
    [
        (labels(items=("i1", "i0")), "item at position 0 is 'i0' in the labels but 'i1'"),
        (labels(classes=("dog", "cat")), "class at position 0 is 'cat' in the labels but 'dog'"),
        (labels(items=("i0", "other")), r"nothing about the item 'i1' \(1 of 2 are missing\)"),
        (labels(ROWS[:1], items=("i0",)), "nothing about the item 'i1'"),
        (labels(np.eye(3)[:2], classes=("cat", "dog", "cow")), "not have the class 'cow'"),
        (labels(np.eye(2)[[0, 1, 1]], items=("i0", "i1", "i2")), "not have the item 'i2'"),
    ],
)
def test_every_metric_names_the_first_item_or_class_that_differs(
    metric: Scorer, model: LabelSet, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        metric.overall(labels(), model)


def test_a_tie_at_the_top_goes_to_the_first_class() -> None:
    assert top_class(labels(np.array([[0.5, 0.5], [0, 1]]))).tolist() == [0, 1]


def test_a_tie_at_the_top_is_not_decided_by_rounding() -> None:
    shares = np.array([[0.1 + 0.2, 0.3, 0.4], [0.3, 0.1 + 0.2, 0.4]])[:, [2, 0, 1]]
    rows = shares / shares.sum(axis=1, keepdims=True)
    rows[:, 0] = 0  # what is left ties but for the last bit
    tied = labels(rows / rows.sum(axis=1, keepdims=True), classes=("cat", "dog", "cow"))
    assert (tied.probs[:, 1] != tied.probs[:, 2]).all()

    assert top_class(tied).tolist() == [1, 1]


def test_right_means_the_same_most_probable_class() -> None:
    model = labels(np.array([[0.6, 0.4], [0.6, 0.4]]))

    assert is_right(labels(), model).tolist() == [True, False]
