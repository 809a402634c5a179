"""Columns of ids become the same votes, whatever their type and order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.aggregate.columns import votes_of_columns


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
