from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.mixing import Baseline, baseline_labels, classic_labels, mixed_rows

CLASSES = ("cat", "dog", "frog")
ENDS = hard_labels(("a", "b", "c"), CLASSES, np.arange(3))
MIXES = [Mix("a", "b", "cat", "dog", 0.25), Mix("c", "a", "frog", "cat", 0.9)]


def rows_of(seed: int, count: int = 4, classes: int = 5) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), size=count)


@given(seed=st.integers(0, 99), coefficient=st.floats(0, 1))
def test_mix_of_distributions_is_a_distribution_between_them(seed: int, coefficient: float) -> None:
    first, second = rows_of(seed), rows_of(seed + 1000)

    mixed = mixed_rows(first, second, np.full(4, coefficient))

    assert np.allclose(mixed.sum(axis=1), 1)
    assert (mixed >= np.minimum(first, second) - 1e-15).all()
    assert (mixed <= np.maximum(first, second) + 1e-15).all()


@given(seed=st.integers(0, 99))
def test_coefficients_of_one_and_zero_give_the_endpoints_exactly(seed: int) -> None:
    first, second = rows_of(seed), rows_of(seed + 1000)

    assert np.array_equal(mixed_rows(first, second, np.ones(4)), first)
    assert np.array_equal(mixed_rows(first, second, np.zeros(4)), second)


def test_classic_labels_have_the_coefficient_on_the_first_image() -> None:
    found = classic_labels(MIXES, ENDS)

    assert found.items == ("0.25 a + b", "0.9 c + a")
    assert np.allclose(found.probs, [[0.25, 0.75, 0], [0.1, 0, 0.9]])


def test_soft_endpoints_are_mixed_as_they_are() -> None:
    soft = LabelSet(("a", "b"), CLASSES, np.array([[0.5, 0.5, 0], [0, 0.2, 0.8]]))

    found = classic_labels(MIXES[:1], soft)

    assert np.allclose(found.probs, [[0.125, 0.25 * 0.5 + 0.75 * 0.2, 0.6]])


def test_baselines_are_none_uniform_random_and_classic() -> None:
    found = {
        name: baseline_labels(name, MIXES, ENDS, rng=np.random.default_rng(0))
        for name in get_args(Baseline)
    }

    assert found["none"] is None
    uniform, random, classic = (found[name] for name in ("uniform", "random", "classic"))
    assert uniform is not None and random is not None and classic is not None
    assert np.allclose(uniform.probs, 1 / 3)
    assert np.array_equal(classic.probs, classic_labels(MIXES, ENDS).probs)
    assert len(np.unique(random.probs.round(6))) == 6
    assert uniform.items == random.items == classic.items


def test_mixed_image_without_a_label_is_named() -> None:
    with pytest.raises(DataError, match=r"'c' of the mix '0\.9 c \+ a' has no label"):
        classic_labels(MIXES, ENDS.take(("a", "b")))
