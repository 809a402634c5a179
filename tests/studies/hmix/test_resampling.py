import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sfumato.studies.hmix.resampling import (
    correlation,
    crossed_weights,
    ends_of,
    group_means,
    mean,
    middle,
    times_drawn,
)

Values = NDArray[np.float64]

numbers = arrays(np.float64, st.integers(3, 12), elements=st.floats(0, 1, width=16))


def answers(people: int = 20, mixes: int = 30) -> pl.DataFrame:
    rows = [
        {"annotator": f"p{one}", "mix": f"m{two}", "value": float(one + 10 * two)}
        for one in range(people)
        for two in range(mixes)
        if (one + two) % 3
    ]
    return pl.DataFrame(rows)


@given(numbers, st.data())
def test_weights_count_as_rows_that_stand_there_several_times(
    values: Values, data: st.DataObject
) -> None:
    times = data.draw(arrays(np.int64, len(values), elements=st.integers(0, 3)))
    if times.sum() < 2:
        return
    weights, repeated = times[None].astype(float), np.repeat(values, times)

    assert mean(values, weights)[0] == pytest.approx(repeated.mean())
    assert middle(values, weights)[0] == pytest.approx(np.median(repeated))
    other = values[::-1].copy()
    if np.ptp(repeated) > 0.01 and np.ptp(np.repeat(other, times)) > 0.01:
        expected = np.corrcoef(repeated, np.repeat(other, times))[0, 1]
        assert correlation(values, other, weights)[0] == pytest.approx(expected, abs=1e-9)


@given(numbers)
def test_quartiles_leave_a_quarter_on_each_side(values: Values) -> None:
    ones = np.ones((1, len(values)))
    low, high = (middle(values, ones, share)[0] for share in (0.25, 0.75))

    assert (values < low).mean() <= 0.25
    assert (values > high).mean() <= 0.25


def test_draw_without_any_row_is_not_defined() -> None:
    none = np.zeros((1, 3))

    assert np.isnan(mean(np.arange(3.0), none))
    assert np.isnan(middle(np.arange(3.0), none))
    assert np.isnan(correlation(np.arange(3.0), np.arange(3.0), none))


def test_group_means_are_those_of_each_group() -> None:
    found = group_means(
        np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1]), np.array([[1.0, 1, 1], [0, 2, 0]])
    )

    assert found[0].tolist() == [2.0, 10.0]
    assert found[1, 0] == 3.0
    assert np.isnan(found[1, 1])


def test_answer_counts_as_often_as_its_person_times_its_mix() -> None:
    table = answers()

    weights = crossed_weights(table, "annotator", rng=np.random.default_rng(0), draws=50)

    assert weights.shape == (51, len(table))
    assert (weights[0] == 1).all()
    by = {(row["annotator"], row["mix"]): at for at, row in enumerate(table.iter_rows(named=True))}
    ones, twos = ("p0", "p1"), ("m1", "m4")
    corners = [weights[:, by[one, two]] for one in ones for two in twos]
    assert np.array_equal(corners[0] * corners[3], corners[1] * corners[2])  # w = person × mix
    assert weights[1:].mean() == pytest.approx(1, abs=0.1)


def test_name_counts_alike_in_both_columns() -> None:
    first, second = times_drawn(
        pl.Series(["a", "b"]), pl.Series(["b", "c"]), rng=np.random.default_rng(0), draws=20
    )

    assert np.array_equal(first[:, 1], second[:, 0])


def test_interval_is_wider_than_with_people_and_mixes_taken_for_independent_answers() -> None:
    rng = np.random.default_rng(1)
    table = answers()
    person = {f"p{one}": value for one, value in enumerate(rng.normal(size=20))}
    values = np.array([person[name] for name in table["annotator"]]) + rng.normal(size=len(table))

    _, crossed = ends_of(mean(values, crossed_weights(table, "annotator", rng=rng, draws=500)))
    alone = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=500)
    _, single = ends_of(mean(values, np.vstack([np.ones(len(values)), alone])))

    assert crossed.high - crossed.low > 2 * (single.high - single.low)
    assert crossed.low < values.mean() < crossed.high
