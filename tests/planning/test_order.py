"""Which items first: the uncertain ones, enough of each class, and how many a class needs."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.planning.order import items_first, needed_per_class

CLASSES = ("cat", "dog", "deer")


def labels(*rows: tuple[float, ...]) -> LabelSet:
    return LabelSet(tuple(f"i{at}" for at in range(len(rows))), CLASSES, np.array(rows))


def test_uncertain_items_come_first_until_they_carry_the_share() -> None:
    known = labels((0.5, 0.5, 0), (1, 0, 0), (0.9, 0.1, 0), (0, 0.5, 0.5))

    order = items_first(known, carries=0.8)

    assert order["item"].to_list() == ["i0", "i3", "i2", "i1"]
    assert order["why"].to_list() == ["uncertain", "uncertain", "rest", "rest"]
    assert order["carried"][-1] == pytest.approx(1)


def test_a_class_without_uncertain_items_gets_its_floor_before_the_rest() -> None:
    known = labels((0.5, 0.5, 0), (1, 0, 0), (0.98, 0.02, 0), (0, 0, 1), (0, 0, 1))

    order = items_first(known, carries=0.5, per_class=1)

    assert order["item"].to_list()[:2] == ["i0", "i3"]
    assert order["why"].to_list() == ["uncertain", "class", "rest", "rest", "rest"]


def test_without_any_uncertainty_nothing_is_called_uncertain() -> None:
    order = items_first(labels((1, 0, 0), (0, 1, 0)), per_class=1)

    assert order["why"].to_list() == ["class", "class"]
    assert order["carried"].to_list() == [0, 0]


@given(st.lists(st.tuples(*[st.floats(0.01, 1)] * 3), min_size=1, max_size=12), st.integers(0, 4))
def test_every_item_has_one_place(rows: list[tuple[float, ...]], per_class: int) -> None:
    known = labels(*(tuple(np.array(row) / sum(row)) for row in rows))

    order = items_first(known, per_class=per_class)

    assert sorted(order["item"]) == sorted(known.items)
    assert order["place"].to_list() == list(range(1, len(rows) + 1))
    for name in CLASSES:  # the floor is reached, or the class has no more items
        mine = order.filter(order["class"] == name)
        assert (mine["why"] != "rest").sum() >= min(per_class, len(mine))


def test_thirty_per_cent_of_cifar10h_carry_most_of_its_entropy(data_folder: Path) -> None:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    classes = tuple(map(str, range(10)))
    probs = counts / counts.sum(axis=1, keepdims=True)
    known = LabelSet(tuple(map(str, range(len(probs)))), classes, probs)

    order = items_first(known)

    assert order["carried"][2999] == pytest.approx(0.826, abs=5e-4)  # S0-14
    assert (order["why"] == "uncertain").sum() < 3000


@pytest.mark.parametrize("truth", [(0.9, 2.0, 1.0), (0.95, 1.0, 0.5)])
def test_a_learning_curve_is_read_where_it_reaches_the_target(
    truth: tuple[float, float, float],
) -> None:
    a, b, c = truth
    sizes = np.array([5, 10, 20, 50, 100])

    needed = needed_per_class(sizes.tolist(), (a - b * sizes**-c).tolist(), target=a - b * 200**-c)

    assert abs(needed - 200) <= 1


@pytest.mark.parametrize(
    ("sizes", "scores", "message"),
    [
        ([10, 20], [0.5, 0.6], "three numbers of items"),
        ([0, 10, 20], [0.1, 0.5, 0.6], "above zero"),
        ([10, 20, 40], [0.7, 0.8, 0.85], r"levels off at 0\.9"),
    ],
)
def test_a_curve_that_cannot_answer_says_so(
    sizes: list[float], scores: list[float], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        needed_per_class(sizes, scores, target=0.99)


def test_a_share_or_floor_out_of_range_is_refused() -> None:
    with pytest.raises(DataError, match=r"share of uncertainty is 0"):
        items_first(labels((1, 0, 0)), carries=0)
    with pytest.raises(DataError, match=r"-1 items a class"):
        items_first(labels((1, 0, 0)), per_class=-1)
