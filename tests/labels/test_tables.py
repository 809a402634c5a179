import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.labels.tables import Digits, count_digits, normalise

Rows = NDArray[np.float64]


@st.composite
def distributions(draw: st.DrawFn) -> Rows:
    rows, classes = draw(st.integers(1, 8)), draw(st.integers(2, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    spread = draw(st.sampled_from([0.05, 0.3, 1.0, 20.0]))
    return np.random.default_rng(seed).dirichlet(np.full(classes, spread), rows)


@given(distributions(), st.integers(1, 6))
def test_distribution_rounded_to_any_decimals_is_read(rows: Rows, decimals: int) -> None:
    rounded = rows.round(decimals)
    assume((rounded.sum(axis=1) > 0).all())
    texts = [f"{value:.{decimals}f}" for value in rounded.ravel()]

    for digits in (None, count_digits(texts)):
        done = normalise(rounded, digits=digits)
        if not done.wrong.any():
            assert done.probs.sum(axis=1) == pytest.approx(1, abs=1e-9)
        # only whole numbers are never taken for rounded ones
        assert not done.wrong.any() or np.isin(rounded, (0, 1)).all()


@given(distributions(), st.integers(1, 5), st.floats(0.05, 0.9))
def test_row_that_rounding_does_not_explain_is_wrong(
    rows: Rows, decimals: int, more: float
) -> None:
    classes = rows.shape[1]
    shift = more + classes * 0.5 * 10.0**-decimals
    wrong = rows.round(decimals)
    wrong[0, 0] += round(shift + 10.0**-decimals, decimals)  # above all that rounding can add
    wrong = wrong.round(decimals)

    done = normalise(wrong, digits=Digits(decimals, 9))

    assert done.wrong[0]
    assert (done.probs[0] == wrong[0]).all()


@given(distributions())
def test_rows_that_sum_to_one_stay_and_nothing_is_said(rows: Rows) -> None:
    done = normalise(rows)

    assert done.probs == pytest.approx(rows, abs=1e-12)
    assert (done.rounded, done.words, bool(done.wrong.any())) == (0, "", False)


@given(distributions(), st.sampled_from([np.float16, np.float32]))
def test_narrow_types_are_no_error(rows: Rows, dtype: type) -> None:
    stored = rows.astype(dtype).astype(np.float64)

    assert not normalise(stored).wrong.any()


@given(distributions(), st.integers(3, 6))
def test_significant_digits_explain_what_they_lose(rows: Rows, digits: int) -> None:
    texts = [f"{value:.{digits - 1}e}" for value in rows.ravel()]
    stored = np.array([float(text) for text in texts]).reshape(rows.shape)
    counted = count_digits(texts)
    assume(counted.decimals > 7)

    assert not normalise(stored, digits=counted).wrong.any()


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ([1.0, 0.0, 1.0], True),  # two marks, not a rounded distribution
        ([0.0, 0.0, 0.0], True),
        ([3.0, 1.0, 0.0], True),  # votes
        ([0.3, 0.3, 0.3], False),  # thirds with one decimal
        ([0.9, 0.6, 0.0], True),  # no distribution is within half a tenth of this
        ([0.5, -0.1, 0.6], True),
        ([0.998, 0.001, 0.0], False),
        ([0.99812, 0.00012, 0.0], True),  # five decimals do not explain two thousandths
    ],
)
def test_rows_by_hand(row: list[float], wrong: bool) -> None:
    assert bool(normalise(np.array([row])).wrong[0]) is wrong


def test_float16_of_a_text_is_explained() -> None:
    row = np.array([np.float16(1 / 3)] * 3, dtype=np.float64)

    done = normalise(row[None], digits=count_digits([f"{value:.12f}" for value in row]))

    assert "rounded to float16" in done.words
    assert done.probs == pytest.approx(1 / 3)
