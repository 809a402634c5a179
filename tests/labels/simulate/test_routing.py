import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import Thresholds, route_high, route_items


def test_items_between_the_thresholds_go_to_the_nearer() -> None:
    p = np.array([0.01, 0.035, 0.04, 0.05, 0.2])  # entropies .056, .152, .168, .199, .5
    labels = LabelSet(tuple("abcde"), ("cat", "dog"), np.stack([1 - p, p], axis=1))

    assert route_high(labels).tolist() == [False, False, False, True, True]
    assert route_high(labels, Thresholds(0.6, 0.55)).tolist() == [False] * 5


def test_items_are_routed_by_name_and_not_by_place() -> None:
    labels = LabelSet(("a", "b", "c"), ("cat", "dog"), np.array([[1, 0], [0.5, 0.5], [0, 1]]))

    assert route_items(["c", "b", "b", "a"], labels).tolist() == [False, True, True, False]
    assert route_items(["b"], labels, Thresholds(0.8, 0.7)).tolist() == [False]
    assert route_items([], labels).tolist() == []


def test_items_without_routing_labels_and_crossed_thresholds_are_sentences() -> None:
    labels = LabelSet(("a", "b"), ("cat", "dog"), np.array([[1, 0], [0.5, 0.5]]))

    with pytest.raises(DataError, match=r"lack item 'x' \(2 of 3 items are missing\)"):
        route_items(["a", "x", "y", "x"], labels)
    with pytest.raises(DataError, match="at most the high one"):
        Thresholds(high=0.1, low=0.2)
