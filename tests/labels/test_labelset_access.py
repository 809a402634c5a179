"""Labels by id, by slice, as rows, and in other libraries."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet

NUMBERS: Any = (3, 10, 27)
LABELS = LabelSet(NUMBERS, ("cat", "dog"), np.array([[0.75, 0.25], [0, 1], [0.5, 0.5]]))
CROWD = CrowdLabels(
    ("a", "b"),
    ("p", "q"),
    ("cat", "dog"),
    np.array([0, 0, 1]),
    np.array([0, 1, -1]),
    np.eye(2)[[0, 1, 1]],
)


def test_ids_may_be_numbers_and_are_texts_inside() -> None:
    assert LABELS.items == ("3", "10", "27")
    assert LABELS[10] == LABELS["10"] == {"cat": 0.0, "dog": 1.0}
    assert LABELS[int(np.int64(3))].top == "cat"
    assert 27 in LABELS and "27" in LABELS and "4" not in LABELS


def test_several_by_list_slice_and_mask() -> None:
    assert LABELS[[27, "3"]].items == ("27", "3")
    assert LABELS[:2].items == ("3", "10")
    assert LABELS["10":"27"].items == ("10", "27")
    assert LABELS[LABELS.entropy() > 0].items == ("3", "27")
    assert LABELS[pd.Series(["10"]).to_numpy()].items == ("10",)


def test_rows_are_counted_as_numpy_does_where_that_is_said() -> None:
    assert LABELS[[2, 0], ...].items == ("27", "3")
    assert LABELS[np.array([1]), ...].items == ("10",)
    assert LABELS[np.array([False, True, True]), ...].items == ("10", "27")
    assert LABELS[1:, ...].items == ("10", "27")
    assert LABELS.shape == np.asarray(LABELS).shape == (3, 2)
    assert np.asarray(LABELS, dtype=np.float32).dtype == np.float32
    with pytest.raises(IndexError):
        LABELS[[3], ...]


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(DataError, match=r"No item is called '100'\. Did you mean '10'"):
        LABELS[100]
    with pytest.raises(DataError, match=r"Item '4' has no label \(1 of 2"):
        LABELS[["3", "4"]]
    with pytest.raises(DataError, match="mask of 2 values"):
        LABELS[np.array([True, False])]


def test_iteration_gives_item_and_label() -> None:
    assert dict(LABELS) == {"3": LABELS[3], "10": LABELS[10], "27": LABELS[27]}
    assert np.allclose(LABELS[3], [0.75, 0.25])


def test_in_other_libraries() -> None:
    table = LABELS.to_pandas()
    assert table.columns.tolist() == ["item", "cat", "dog"]
    table.loc[0, "cat"] = 0.0  # a copy, which can be written to
    assert LABELS[3]["cat"] == 0.75
    assert LABELS.to_polars().equals(pl.DataFrame(LABELS.to_arrow()))
    assert LABELS.to_hf().column_names == ["item", "cat", "dog"]
    assert torch.equal(LABELS.to_torch(), torch.tensor(LABELS.probs, dtype=torch.float32))
    assert CROWD.to_polars()["annotator"].to_list() == ["p", "q", None]


def test_repr_is_short_and_html_shows_rows() -> None:
    items: Any = range(10_000)
    classes: Any = range(1_000)
    many = LabelSet(items, classes, np.eye(1_000)[np.arange(10_000) % 1_000])
    assert repr(many) == "<LabelSet of 10,000 items and 1,000 classes: 0, 1, 2, 3, …>"
    assert len(many._repr_html_()) < 20_000
    assert "… and 9,990 more" in many._repr_html_()
    assert repr(CROWD).startswith("<CrowdLabels: 3 judgments of 2 items by 2 annotators")


def test_who_said_what() -> None:
    assert CROWD["a"] == [("p", {"cat": 1.0, "dog": 0.0}), ("q", {"cat": 0.0, "dog": 1.0})]
    assert CROWD["b"] == [(None, {"cat": 0.0, "dog": 1.0})]
    assert CROWD.of_items(["b", "x"]).items == ("b", "x")


@given(st.lists(st.integers(0, 99), min_size=1, max_size=20, unique=True), st.randoms())
def test_taking_in_any_order_keeps_each_row_and_its_judgments(ids: Any, random: Any) -> None:
    rng = np.random.default_rng(len(ids))
    probs = rng.dirichlet(np.ones(3), len(ids))
    item = np.repeat(np.arange(len(ids)), 2)
    crowd = CrowdLabels(
        ids,
        ("p", "q"),
        tuple("abc"),
        item,
        np.tile([0, 1], len(ids)),
        probs[item],
    )
    labels = LabelSet(ids, tuple("abc"), probs, crowd=crowd)
    shuffled = list(ids)
    random.shuffle(shuffled)
    taken = labels.take(shuffled)
    assert all(taken[one] == labels[one] for one in ids)
    assert taken.crowd is not None
    assert np.allclose(taken.crowd.mean().probs, taken.probs)
