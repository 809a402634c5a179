"""Whole numbers from shares: sums right both ways, nothing off by more than one."""

from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st

from sfumato.labels.alter import apportion

SIZES = st.lists(st.integers(0, 60), min_size=1, max_size=12)
SHARES = st.lists(st.integers(1, 20), min_size=1, max_size=3)


@given(SIZES, SHARES)
def test_sums_are_right_both_ways_and_nothing_is_off_by_one_or_more(
    sizes: list[int], shares: list[int]
) -> None:
    table = apportion(sizes, [share / sum(shares) for share in shares])

    assert table.sum(axis=1).tolist() == sizes
    for part, share in enumerate(shares):
        exact = Fraction(share, sum(shares))
        assert table[:, part].sum() - floor(exact * sum(sizes)) in (0, 1)
        for row, size in enumerate(sizes):
            assert table[row, part] - floor(exact * size) in (0, 1)


@given(SIZES, SHARES)
def test_shares_need_not_sum_to_one(sizes: list[int], shares: list[int]) -> None:
    fractions = [share / sum(shares) for share in shares]

    assert apportion(sizes, shares).tolist() == apportion(sizes, fractions).tolist()


def test_published_sizes_of_3045_items_are_met() -> None:
    assert apportion([3045], (0.7, 0.15, 0.15)).tolist() == [[2131, 457, 457]]
