import numpy as np
import pytest

from sfumato.evaluation.intervals import percentiles
from sfumato.evaluation.score import draw, join, measure, moved_to, value_of
from sfumato.labels.labelset import LabelSet

ITEMS = tuple(map(str, range(50)))


def pair() -> tuple[LabelSet, LabelSet]:
    human, model = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, len(ITEMS)))
    return LabelSet(ITEMS, tuple("xyz"), human), LabelSet(ITEMS, tuple("xyz"), model)


def test_moved_percentiles_lie_around_the_value_and_keep_their_width() -> None:
    drawn = np.random.default_rng(1).normal(5, 1, size=4000)

    low, high = moved_to(3.0, drawn)

    plain = percentiles(drawn)
    assert high - low == pytest.approx(plain.high - plain.low)
    assert (low + high) / 2 == pytest.approx(3, abs=0.1)


def test_what_cannot_be_negative_stays_so() -> None:
    assert moved_to(0.01, np.random.default_rng(1).uniform(0, 1, size=100)).low == 0


def test_rows_give_the_same_numbers_in_any_order_of_items() -> None:
    human, model = pair()
    places = np.arange(len(ITEMS))

    there = [value_of(each, places) for each in measure(human, model)]
    back = [value_of(each, places[::-1]) for each in measure(human, model)]

    assert there == pytest.approx(back)


def test_means_and_others_are_drawn_around_their_values() -> None:
    measured = measure(*pair())
    places = np.arange(len(ITEMS))

    drawn = draw(measured, places, rng=np.random.default_rng(2), draws=200)

    assert {len(column) for column in drawn} == {200, 80}
    for each, column in zip(measured, drawn, strict=True):
        if each.is_mean:
            assert column.mean() == pytest.approx(value_of(each, places), abs=column.std())


def test_joined_sets_have_the_order_of_the_labels() -> None:
    human, model = pair()

    _, joined = join(human, model.take(ITEMS[::-1]))

    assert joined.items == ITEMS
    assert np.array_equal(joined.probs, model.probs)
