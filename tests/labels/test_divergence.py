import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.labels.compare import (
    divergence_rows,
    jensen_shannon_rows,
    kl_rows,
    total_variation_rows,
)

Rows = NDArray[np.float64]


@st.composite
def three_rows(draw: st.DrawFn) -> tuple[Rows, Rows, Rows]:
    row = st.lists(st.sampled_from([0, 0, 1, 3, 1e-300]), min_size=4, max_size=4).filter(any)
    mass = np.array(draw(st.lists(row, min_size=3, max_size=3)), dtype=np.float64)
    first, second, third = mass / mass.sum(axis=1, keepdims=True)
    return first, second, third


@given(three_rows())
def test_bounded_distances_are_symmetric_and_reach_their_bound_where_nothing_is_shared(
    rows: tuple[Rows, Rows, Rows],
) -> None:
    first, second, _ = rows
    apart = not ((first > 1e-9) & (second > 1e-9)).any()

    js, tv = jensen_shannon_rows(first, second), total_variation_rows(first, second)

    assert js == pytest.approx(jensen_shannon_rows(second, first))
    assert 0 <= js <= np.log(2) + 1e-12
    assert 0 <= tv <= 1 + 1e-12
    assert apart == (js == pytest.approx(np.log(2))) == (tv == pytest.approx(1))


@given(three_rows())
def test_total_variation_and_the_root_of_jensen_shannon_obey_the_triangle(
    rows: tuple[Rows, Rows, Rows],
) -> None:
    first, second, third = rows

    for distance in (total_variation_rows, lambda p, q: np.sqrt(jensen_shannon_rows(p, q))):
        detour = distance(first, second) + distance(second, third)
        assert distance(first, third) <= detour + 1e-7


@given(three_rows())
def test_pinsker_bounds_total_variation_by_the_divergence(rows: tuple[Rows, Rows, Rows]) -> None:
    first, second, _ = rows

    assert total_variation_rows(first, second) <= np.sqrt(kl_rows(first, second) / 2) + 1e-9


def test_each_name_stands_for_its_own_distance() -> None:
    first, second = np.array([[0.9, 0.1]]), np.array([[0.2, 0.8]])

    assert divergence_rows(first, second, "jensen-shannon") == jensen_shannon_rows(first, second)
    assert divergence_rows(first, second, "total-variation") == pytest.approx([0.7])
