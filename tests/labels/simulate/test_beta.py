import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import DataError
from sfumato.labels.simulate.crowd import ENDPOINT, Beta, fit_beta


@pytest.mark.parametrize(("a", "b"), [(1.71, 0.33), (2.97, 0.11), (0.61, 1.90), (5.0, 5.0)])
def test_fit_finds_the_beta_that_values_were_drawn_from(a: float, b: float) -> None:
    values = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, a, b)  # an even sample

    fitted = fit_beta(values)

    assert fitted.mean == pytest.approx(a / (a + b), abs=2e-3)  # the endpoints move it that much
    assert fitted.a == pytest.approx(a, rel=0.05)


@given(st.lists(st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0]), min_size=1, max_size=30))
def test_any_values_have_a_beta_with_their_moments(values: list[float]) -> None:
    inside = np.clip(values, ENDPOINT, 1 - ENDPOINT)

    fitted = fit_beta(np.array(values))

    known = stats.beta(fitted.a, fitted.b)
    assert known.mean() == pytest.approx(inside.mean())
    assert known.var() == pytest.approx(inside.var(), abs=1e-6)


def test_people_who_all_say_the_same_are_drawn_as_saying_it() -> None:
    drawn = fit_beta(np.ones(5)).draw(100, rng=np.random.default_rng(0))

    assert drawn.min() > 0.998


def test_no_values_and_no_beta_are_refused() -> None:
    with pytest.raises(DataError, match="no values at all"):
        fit_beta(np.empty(0))
    with pytest.raises(DataError, match="positive numbers, not 0 and 1"):
        Beta(0, 1)
