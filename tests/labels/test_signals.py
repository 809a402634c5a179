import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import (
    concentration,
    entropy,
    mean_uncertainty,
    non_max_mass,
    possible_labels,
    support_size,
    top_probability,
    unsure_proportion,
    variance_of_top,
)

PER_ITEM = [entropy, non_max_mass, support_size, top_probability]


@st.composite
def label_sets(draw: st.DrawFn) -> LabelSet:
    n_items, n_classes = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes).filter(any)
    votes = np.array(draw(st.lists(row, min_size=n_items, max_size=n_items)))
    probs = votes / votes.sum(axis=1, keepdims=True)
    return LabelSet(tuple("abcde"[:n_items]), tuple("wxyz"[:n_classes]), probs)


def unnamed(probs: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> LabelSet:
    return LabelSet(
        tuple(map(str, range(len(probs)))), tuple(map(str, range(probs.shape[1]))), probs
    )


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    return unnamed(votes / votes.sum(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def cifar10s(data_folder: Path) -> LabelSet:
    path = data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json"
    answers = json.loads(path.read_text())
    means = np.stack([np.mean(rows, axis=0) for rows in answers.values()])
    return LabelSet(tuple(answers), tuple(map(str, range(10))), means)


@given(label_sets(), st.data())
def test_signals_depend_on_neither_order(labels: LabelSet, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(len(labels))))
    columns = data.draw(st.permutations(range(len(labels.classes))))

    moved = unnamed(labels.probs[np.ix_(rows, columns)])

    for signal in PER_ITEM:
        assert signal(moved) == pytest.approx(signal(labels)[rows], abs=1e-12)
    assert variance_of_top(moved) == pytest.approx(variance_of_top(labels), abs=1e-12)


@given(label_sets())
def test_signals_stay_inside_their_bounds(labels: LabelSet) -> None:
    n_classes = len(labels.classes)

    assert ((entropy(labels) >= 0) & (entropy(labels) <= np.log(n_classes) + 1e-12)).all()
    assert ((non_max_mass(labels) >= 0) & (non_max_mass(labels) <= 1 - 1 / n_classes + 1e-12)).all()
    assert ((support_size(labels) == 1) == (entropy(labels) == 0)).all()


def test_cifar10h_has_the_published_figures(cifar10h: LabelSet) -> None:
    assert entropy(cifar10h).mean() == pytest.approx(0.1545, abs=5e-5)
    assert non_max_mass(cifar10h).mean() == pytest.approx(0.0456, abs=5e-5)
    assert (support_size(cifar10h) <= 2).mean() == pytest.approx(0.7715)
    assert (entropy(cifar10h) == 0).mean() == pytest.approx(0.4393)


def test_a_third_of_cifar10h_carries_most_of_its_entropy_as_published(cifar10h: LabelSet) -> None:
    assert concentration(entropy(cifar10h), 0.3) == pytest.approx(0.826, abs=5e-4)


def test_cifar10s_has_the_published_figures(cifar10s: LabelSet, cifar10h: LabelSet) -> None:
    people = entropy(cifar10h.take(cifar10s.items))

    assert entropy(cifar10s).mean() == pytest.approx(0.693, abs=5e-4)
    assert variance_of_top(cifar10s) == pytest.approx(0.0315, abs=5e-5)
    assert (people >= 0.25).sum() == 886
    assert (people <= 0.1).sum() == 114


def test_unsure_answers_are_counted_by_class_and_by_person() -> None:
    unsure = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.bool_)
    item = np.array([2, 2, 0])

    assert mean_uncertainty(unsure, item, 3) == pytest.approx([1, np.nan, 0.25], nan_ok=True)
    assert unsure_proportion(unsure, item, 3) == pytest.approx([1, np.nan, 0.5], nan_ok=True)
    assert possible_labels(unsure, item, 3) == pytest.approx([0, np.nan, 3], nan_ok=True)


@given(
    st.lists(st.tuples(st.integers(0, 3), *[st.booleans()] * 3), min_size=1, max_size=12),
    st.data(),
)
def test_the_order_of_judgments_does_not_matter(
    rows: list[tuple[int, bool, bool, bool]], data: st.DataObject
) -> None:
    table = np.array(rows)
    moved = table[data.draw(st.permutations(range(len(rows))))]

    for signal in (mean_uncertainty, unsure_proportion, possible_labels):
        here, there = (signal(rows[:, 1:] > 0, rows[:, 0], 4) for rows in (table, moved))
        assert here == pytest.approx(there, nan_ok=True)


def test_people_leave_more_labels_possible_where_others_disagree_as_published(
    data_folder: Path, cifar10h: LabelSet
) -> None:
    answers = json.loads((data_folder / "cifar10s" / "human_soft_labels_data.json").read_text())
    classes = (data_folder / "cifar10" / "classes.txt").read_text().split()
    ruled_out = np.array(
        [
            [name.capitalize() in answer["Impossible Class(es)"] for name in classes]
            for rows in answers.values()
            for answer in rows
        ]
    )
    uncertain = entropy(cifar10h.take(tuple(answers))) >= 0.25
    group = np.repeat(uncertain.astype(np.int64), [len(rows) for rows in answers.values()])

    possible = possible_labels(ruled_out, group, 2)

    # Published (S2-33) with a chosen class counted as possible even where it was ruled out.
    assert possible == pytest.approx([1.96, 2.77], abs=0.015)


@pytest.mark.parametrize(
    ("unsure", "item", "says"),
    [
        (np.zeros((2, 3)), np.zeros(2, dtype=np.int64), "true or false"),
        (np.zeros((2, 3), dtype=np.bool_), np.zeros(3, dtype=np.int64), "2 judgments but item"),
        (np.zeros((2, 3), dtype=np.bool_), np.array([0, 1]), "there are 1 items"),
        (np.zeros((2, 3), dtype=np.bool_), np.array([0, -1]), "run from -1"),
    ],
)
def test_marks_that_do_not_fit_are_refused(
    unsure: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    item: np.ndarray[tuple[int], np.dtype[np.int64]],
    says: str,
) -> None:
    with pytest.raises(DataError, match=says):
        mean_uncertainty(unsure, item, 1)


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=20),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_concentration_rises_from_zero_to_one_and_lies_above_equal_shares(
    values: list[float], first: float, second: float
) -> None:
    low, high = sorted((first, second))
    signal = np.array(values)

    assert concentration(signal, 0) == 0
    assert concentration(signal, 1) == 1
    assert concentration(signal, low) <= concentration(signal, high) + 1e-9
    assert concentration(signal, low) >= low - 1e-9


def test_concentration_takes_part_of_an_item_at_the_edge() -> None:
    assert concentration(np.array([4.0, 2.0, 2.0]), 0.5) == pytest.approx((4 + 0.5 * 2) / 8)


def test_nothing_is_concentrated_when_all_values_are_zero() -> None:
    assert concentration(np.zeros(5), 0.2) == 0.2


@pytest.mark.parametrize(
    ("values", "share", "says"),
    [([], 0.5, "no items"), ([1.0], 1.5, "from 0 to 1"), ([1.0, -1.0], 0.5, "Value 1 is -1.0")],
)
def test_concentration_refuses_what_has_no_total(
    values: list[float], share: float, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        concentration(np.array(values), share)


def test_tiny_values_have_shares_too() -> None:
    assert concentration(np.array([5e-324]), 0.5) == 0.5
    assert concentration(np.array([1e-320, 3e-320]), 0.5) == pytest.approx(0.75, rel=1e-3)
