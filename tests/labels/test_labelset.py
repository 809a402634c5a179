import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, align, hard_labels
from sfumato.provenance import Step


def labels(*rows: tuple[float, ...]) -> LabelSet:
    items = tuple(f"i{place}" for place in range(len(rows)))
    return LabelSet(items, tuple("abc"[: len(rows[0])]), np.array(rows))


def crowd(item: list[int], probs: list[list[float]]) -> CrowdLabels:
    people = tuple(f"p{place}" for place in range(len(item)))
    items = tuple(f"i{place}" for place in range(max(item) + 1))
    return CrowdLabels(items, people, ("a", "b"), item, list(range(len(item))), probs)


def test_label_that_does_not_sum_to_one_names_the_item() -> None:
    with pytest.raises(DataError, match=r"item 'i1' sum to 1\.09"):
        labels((0.5, 0.5), (1.0, 0.09))


def test_negative_probability_names_item_and_class() -> None:
    with pytest.raises(DataError, match=r"class 'a' for item 'i0' is -0\.1"):
        labels((-0.1, 1.1))


def test_nan_is_refused() -> None:
    with pytest.raises(DataError, match="is nan"):
        labels((np.nan, 1.0))


def test_doubled_item_is_named() -> None:
    with pytest.raises(DataError, match="item 'i' occurs more than once"):
        LabelSet(("i", "i"), ("a", "b"), np.eye(2))


def test_wrong_shape_is_told() -> None:
    with pytest.raises(DataError, match=r"1 rows and 2 classes, but .* shape \(2, 2\)"):
        LabelSet(("i",), ("a", "b"), np.eye(2))


def test_rows_cannot_be_changed_from_outside() -> None:
    given_rows = np.eye(2)
    made = LabelSet(("i", "j"), ("a", "b"), given_rows)

    given_rows[0, 0] = 7

    assert made.probs[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        made.probs[0, 0] = 7


def test_taking_an_unknown_item_is_an_error() -> None:
    with pytest.raises(DataError, match=r"Item 'x' has no label \(1 of 2"):
        labels((1.0, 0.0)).take(["i0", "x"])


def test_align_brings_items_and_classes_into_one_order() -> None:
    first = LabelSet(("i", "j"), ("a", "b"), np.array([[1, 0], [0.2, 0.8]]))
    second = LabelSet(("j", "i"), ("b", "a"), np.array([[0.8, 0.2], [0, 1]]))

    _, moved = align(first, second)

    assert moved.items == first.items
    assert moved.probs.tolist() == first.probs.tolist()


def test_align_refuses_other_classes() -> None:
    other = LabelSet(("i0",), ("a", "z"), np.array([[1, 0]]))
    with pytest.raises(DataError, match="different classes: 'b', 'z'"):
        align(labels((1.0, 0.0)), other)


def test_mean_counts_judgments_and_leaves_out_items_nobody_judged() -> None:
    judged = crowd([0, 0, 2], [[1, 0], [0, 1], [0.5, 0.5]])

    mean = judged.mean()

    assert mean.items == ("i0", "i2")
    assert mean.weight.tolist() == [2, 1]
    assert mean.probs.tolist() == [[0.5, 0.5], [0.5, 0.5]]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=20))
def test_mean_is_a_distribution_whatever_the_order(rows: list[tuple[int, float]]) -> None:
    forward = crowd([i for i, _ in rows], [[p, 1 - p] for _, p in rows])
    backward = forward.take(np.arange(len(rows))[::-1], Step("reverse"))

    assert np.allclose(forward.mean().probs, backward.mean().probs)
    assert np.allclose(forward.mean().probs.sum(axis=1), 1)


def test_hard_labels_are_one_hot() -> None:
    assert hard_labels(["i", "j"], ["a", "b"], np.array([1, 0])).probs.tolist() == [[0, 1], [1, 0]]


def test_votes_are_codes_and_stay_so_through_every_choice_of_judgments() -> None:
    wide = tuple(f"c{place}" for place in range(1000))
    votes = CrowdLabels(("a", "b"), ("p", "q"), wide, [0, 0, 1], [0, 1, 0], said=[7, 7, 999])
    dense = CrowdLabels(("a", "b"), ("p", "q"), wide, [0, 0, 1], [0, 1, 0], votes.probs)

    assert votes.votes is not None and dense.votes is not None
    assert votes.votes.tolist() == dense.votes.tolist() == [7, 7, 999]
    assert votes.take(np.array([0, 2]), Step("some")).said.tolist() == [7, 999]
    assert (votes.mean().probs == dense.mean().probs).all()
    assert votes["b"] == dense["b"]


def test_one_answer_that_is_no_vote_makes_them_distributions() -> None:
    mixed = CrowdLabels(("a",), ("p", "q"), ("x", "y"), [0, 0], [0, 1], [[1, 0], [0.5, 0.5]])

    assert mixed.votes is None
    assert mixed.take(np.array([0]), Step("the vote")).votes is not None


def test_codes_of_another_number_than_judgments_are_refused() -> None:
    with pytest.raises(DataError, match="2 judgments but 1 rows"):
        CrowdLabels(("a",), ("p", "q"), ("x", "y"), [0, 0], [0, 1], said=[0])
