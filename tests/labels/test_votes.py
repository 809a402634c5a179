import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import counts, votes_of, votes_of_columns


def test_tie_at_the_top_casts_no_vote_and_is_counted() -> None:
    rows = np.array([[0.6, 0.4], [0.5, 0.5], [0.1, 0.9]])
    crowd = CrowdLabels(
        ("i",), ("p", "q", "r"), ("a", "b"), np.zeros(3, dtype=np.int64), np.arange(3), rows
    )

    votes = votes_of(crowd)

    assert counts(votes).tolist() == [[1, 1]]
    assert votes.provenance[-1].settings["tied_no_vote"] == 1


def test_methods_that_model_people_refuse_anonymous_votes() -> None:
    crowd = CrowdLabels(
        ("i",), (), ("a", "b"), np.array([0]), np.array([NOT_RECORDED]), np.eye(2)[:1]
    )

    with pytest.raises(DataError, match=r"'dawid-skene' models each annotator, but 1 of 1"):
        votes_of(crowd).require_annotators("dawid-skene")


# Columns of ids become the same votes, whatever their type and order.


@given(values=st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=30))
def test_whole_numbers_keep_their_names_and_places(values: list[int]) -> None:
    votes = votes_of_columns(np.array(values), values, [str(value) for value in values])

    assert [int(votes.items[code]) for code in votes.item] == values
    assert [int(votes.annotators[code]) for code in votes.annotator] == values
    assert [int(votes.classes[code]) for code in votes.label] == values


@given(values=st.lists(st.integers(-5, 40), min_size=1, max_size=30))
def test_counted_and_hashed_numbers_agree(values: list[int]) -> None:
    counted = votes_of_columns(np.array(values), values, values)

    assert np.array_equal(counted.item, counted.annotator)
    assert counted.items == counted.annotators


def test_text_and_object_columns_are_read() -> None:
    votes = votes_of_columns(
        np.array(["b", "a"]), np.array(["w1", "w2"], dtype=object), np.array([True, False])
    )

    assert votes.items == ("a", "b") and votes.item.tolist() == [1, 0]
    assert votes.classes == ("False", "True") and votes.label.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([0], "different lengths"),
        ([0, None], "Column 'label' has an empty value"),
        ([0.0, float("nan")], "Column 'label' has an empty value"),
        ([0, "cat"], r"mixes values of different types \(int, str\)"),
    ],
)
def test_broken_columns_are_refused(label: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        votes_of_columns(["a", "b"], ["p", "q"], label)
