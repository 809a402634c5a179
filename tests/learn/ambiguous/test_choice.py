"""Choosing equally many images of every degree of doubt."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.learn.ambiguous.generate import choose, entropy_strata


def chosen(
    *, count: int = 40, strata: int = 4, limit: float = 0.5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, entropies, information and predicted classes of 2,000 candidates."""
    rng = np.random.default_rng(1)
    entropy, information = rng.uniform(0, 1, 2000), rng.uniform(0, 1, 2000)
    predicted = rng.choice(5, size=2000, p=[0.9, 0.04, 0.03, 0.02, 0.01])
    rows = choose(
        entropy_strata(strata),
        entropy=entropy,
        information=information,
        predicted=predicted,
        most_information=limit,
        count=count,
        rng=np.random.default_rng(seed),
    )
    return rows, entropy, information, predicted


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 3))
def test_strata_are_of_one_size_and_nothing_is_above_the_limit(
    strata: int, each: int, seed: int
) -> None:
    rows, entropy, information, _ = chosen(count=strata * each, strata=strata, seed=seed)

    inside = entropy_strata(strata).of(entropy[rows])
    assert np.bincount(inside, minlength=strata).tolist() == [each] * strata
    assert (information[rows] <= 0.5).all()
    assert len(set(rows.tolist())) == strata * each
    assert (np.diff(rows) > 0).all()


def test_strata_are_of_one_width_and_the_last_is_open() -> None:
    strata = entropy_strata(5)

    assert np.diff([*strata.edges, np.log(2)]) == pytest.approx(np.log(2) / 5)
    assert strata.of(np.array([0, np.log(2) / 5, 0.5, np.log(2), 2.3])).tolist() == [0, 1, 3, 4, 4]
    assert strata.names[-1] == "entropy 0.55 and more"


def test_rare_classes_take_turns_with_frequent_ones() -> None:
    rows, _, _, predicted = chosen(count=20, strata=1)

    assert Counter(predicted[rows].tolist()) == dict.fromkeys(range(5), 4)


def test_seed_decides_which() -> None:
    first = chosen(seed=0)[0]

    np.testing.assert_array_equal(first, chosen(seed=0)[0])
    assert first.tolist() != chosen(seed=1)[0].tolist()


def test_too_few_in_a_stratum_says_which_and_how_many_can_be_had() -> None:
    with pytest.raises(
        DataError,
        match=r"Of 2,000 candidates \d+ have entropy 0\.\d\d.* and a mutual information of at "
        r"most 0\.02, but 25 are needed\. Ask for at most \d+ images",
    ):
        chosen(count=100, limit=0.02)
    with pytest.raises(DataError, match="10 images cannot be divided equally among 4 strata"):
        chosen(count=10)
