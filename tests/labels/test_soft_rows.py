"""Targets of any form become rows of mass."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.soft_rows import cross_entropy_rows, ids_of, read_rows, split_ids

LABELS = LabelSet(("a", "b", "c"), ("cat", "dog"), [[0.75, 0.25], [0, 1], [0.5, 0.5]])


def distributions(rows: int, classes: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet(np.ones(classes), rows)


@given(st.integers(1, 20), st.integers(2, 6), st.integers(0, 99))
def test_rows_that_sum_to_one_are_taken_as_they_are(rows: int, classes: int, seed: int) -> None:
    probs = distributions(rows, classes, seed)

    read = read_rows(probs)

    assert read.classes == tuple(range(classes))
    assert (read.mass == probs).all()
    assert (read.weight == 1).all()


def test_tables_of_every_library_and_label_sets_read_alike() -> None:
    columns = {"item": list("abc"), "cat": [0.75, 0, 0.5], "dog": [0.25, 1, 0.5]}
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    forms = [
        LABELS,
        columns,
        records,
        pl.DataFrame(columns),
        pd.DataFrame(columns),
        pd.DataFrame(columns).set_index("item"),
    ]

    for form in forms:
        read = read_rows(form)
        assert (read.items, read.classes) == (LABELS.items, LABELS.classes)
        assert np.allclose(read.mass, LABELS.probs)
        assert ids_of(form) == LABELS.items


def test_names_of_pandas_columns_stay_what_they_are() -> None:
    assert read_rows(pd.DataFrame([[0.5, 0.5]])).classes == (0, 1)
    assert read_rows(pd.DataFrame([[0.5, 0.5]])).items is None


def test_judgments_of_one_item_are_one_row_that_counts_as_many() -> None:
    crowd = CrowdLabels(
        ("a", "b", "c"), ("p", "q"), ("cat", "dog"), [0, 0, 2], [0, 1, 0], [[1, 0], [0, 1], [1, 0]]
    )

    read = read_rows(crowd)

    assert read.mass.tolist() == [[0.5, 0.5], [0, 0], [1, 0]]
    assert read.weight.tolist() == [2, 0, 1]


def test_crowd_with_features_of_each_judgment_has_a_row_for_each() -> None:
    crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], np.eye(2))

    assert read_rows(crowd, number=2).mass.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("nan", ["nan", "masked"])
def test_open_mass_is_shared_left_out_or_kept(nan: str) -> None:
    rows = np.array([[0.5, 0.1, np.nan, np.nan], [0, 1, 0, 0], [np.nan, np.nan, 0, 0]])
    partial = np.ma.masked_invalid(rows) if nan == "masked" else rows

    even = read_rows(partial, unstated="even")
    normal = read_rows(partial, unstated="normalise")
    any_of = read_rows(partial, unstated="any")

    assert np.allclose(even.mass, [[0.5, 0.1, 0.2, 0.2], [0, 1, 0, 0], [0.5, 0.5, 0, 0]])
    assert np.allclose(normal.mass, [[5 / 6, 1 / 6, 0, 0], [0, 1, 0, 0], [0.5, 0.5, 0, 0]])
    assert any_of.open is not None and any_of.open_mass is not None
    assert np.allclose(any_of.open_mass, [0.4, 0, 1])
    assert any_of.open.tolist() == [[0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]
    assert np.allclose(any_of.total, 1)


def test_a_class_left_open_by_a_row_that_has_no_mass_left_gets_none() -> None:
    assert read_rows([[0.4, 0.6, np.nan]], unstated="any").open is None


@pytest.mark.parametrize(
    "sets", [[[1, 1, 0], [0, 0, 1]], [[True, True, False], [False] * 2 + [True]]]
)
def test_rows_of_0_and_1_are_sets_of_classes(sets: list[list[int]]) -> None:
    assert read_rows(sets).mass.tolist() == [[0.5, 0.5, 0], [0, 0, 1]]
    assert read_rows(sets, unstated="any").mass.tolist() == [[0, 0, 0], [0, 0, 1]]


def test_one_hot_rows_are_labels_and_not_sets() -> None:
    assert read_rows(np.eye(3, dtype=int), unstated="any").open is None


@given(st.lists(st.sampled_from(["b", "a", "c"]), min_size=1, max_size=9))
def test_class_labels_are_one_hot_rows_in_order_of_names(labels: list[str]) -> None:
    read = read_rows(labels)

    assert list(read.classes) == sorted(set(labels))
    assert [read.classes[at] for at in read.mass.argmax(axis=1)] == labels


def test_rows_of_single_precision_may_be_off_by_more() -> None:
    probs = distributions(50, 1000, 0).astype(np.float32)

    assert len(read_rows(probs)) == 50


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([[0.5, 0.4]], "The targets in row 0 sum to 0.9, not 1 (1 of 1 rows)"),
        ([[0.8, 0.4, np.nan]], "sum to 1.2, not at most 1"),
        ([[1.5, -0.5]], "The target of class 1 in row 0 is -0.5"),
        ([[np.inf, 0.0]], "is inf"),
        ([[1, 1], [0, 0]], "The targets in row 1 sum to 0"),
        ([0.2, 0.7], "Targets of shape (2,)"),
        (np.zeros((0, 2)), "There are no targets"),
        (pd.DataFrame({"cat": ["x"], "dog": ["y"]}), "The targets are not numbers"),
    ],
)
def test_wrong_targets_are_refused_in_a_sentence(targets: object, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_rows(targets)

    assert said in str(caught.value)


def test_unknown_way_for_unstated_mass_is_refused() -> None:
    with pytest.raises(DataError, match="'some'; it must be one of 'even', 'any', 'normalise'"):
        read_rows([[1, 0]], unstated="some")


def test_rows_are_joined_by_id_and_the_ids_asked_for_decide() -> None:
    assert read_rows(LABELS, ids=["c", "a"]).mass.tolist() == [[0.5, 0.5], [0.75, 0.25]]

    with pytest.raises(DataError, match=r"Item 'x' has no target \(1 of 2 items without one\)"):
        read_rows(LABELS, ids=["x", "a"])


def test_number_of_rows_must_be_that_of_the_features() -> None:
    with pytest.raises(DataError, match="2 rows of features and 3 rows of targets"):
        read_rows(LABELS, number=2)


def test_classes_are_reordered_added_and_left_out_without_mass() -> None:
    read = read_rows(LABELS).over(("dog", "emu", "cat"))

    assert read.mass[0].tolist() == [0.25, 0, 0.75]
    assert read.over(("cat", "dog")).classes == ("cat", "dog")
    assert read.seen().classes == ("dog", "cat")
    with pytest.raises(DataError, match="give mass to the class 'cat', which is not among"):
        read.over(("dog", "emu"))


def test_ids_are_found_in_columns_in_an_index_and_in_keys() -> None:
    table = pd.DataFrame({"x": [1.0, 2.0]}, index=["b", "a"])

    assert split_ids(table, ("a", "b", "c"))[0] == ("b", "a")
    assert split_ids(table)[0] is None
    assert split_ids(table.rename_axis("item"))[0] == ("b", "a")
    assert split_ids(pd.DataFrame({"x": [1.0, 2.0]}), ("a", "b"))[0] is None
    ids, rest = split_ids(pl.DataFrame({"item": [7, 8], "x": [1.0, 2.0]}))
    assert (ids, rest.columns) == (("7", "8"), ["x"])
    ids, rest = split_ids({"item": ["a"], "x": [1.0]})
    assert (ids, rest.columns) == (("a",), ["x"])


def test_an_index_of_ids_some_without_a_target_is_refused() -> None:
    with pytest.raises(DataError, match=r"Item 'x' has no target \(1 of 2"):
        split_ids(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "x"]), ("a", "b"))


@given(st.integers(2, 5), st.integers(0, 99))
def test_cross_entropy_of_any_of_all_classes_is_nothing_and_of_one_the_log_loss(
    classes: int, seed: int
) -> None:
    probs = distributions(4, classes, seed)
    everything = read_rows(np.full((4, classes), np.nan), unstated="any")
    one = read_rows(np.zeros(4, dtype=int), classes=range(classes))

    assert np.allclose(cross_entropy_rows(everything, probs), 0)
    assert np.allclose(cross_entropy_rows(one, probs), -np.log(probs[:, 0]))
