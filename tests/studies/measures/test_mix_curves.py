from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.judgments.formats.datasets import CIFAR10, read_hmix
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.labels.mixing import fit_curves, logistic, percepts_of
from sfumato.studies.measures.mix_curves import bend, fit_class_pairs, fit_logistics

SHOWN = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@given(st.floats(0.2, 0.8), st.floats(1, 15), st.integers(0, 4))
def test_points_on_a_curve_give_that_curve(middle: float, steep: float, seed: int) -> None:
    means = logistic(SHOWN, middle, steep)[None]
    weights = np.random.default_rng(seed).integers(1, 20, size=(1, 5)).astype(float)

    found = fit_logistics(SHOWN, means, weights)

    assert found[0][0] == pytest.approx(middle, abs=1e-3)
    assert found[1][0] == pytest.approx(steep, rel=1e-2)


def test_curves_of_real_answers_are_those_of_scipy(data_folder: Path) -> None:
    answers = read_hmix(data_folder / "hmix" / "hmix_infer_mixing_factor.csv", ReadOptions())
    table = answers.table.filter(view="first").with_columns(
        pair=pl.format("{} + {}", "first_class", "second_class")
    )

    curves = fit_class_pairs(table, np.ones((11, len(table))))

    wanted = fit_curves(percepts_of(answers), CIFAR10)
    assert len(wanted.fits) == 45
    for fit in wanted.fits:
        pair = " + ".join(fit.pair)
        assert curves.parameters[pair, "midpoint"][0] == pytest.approx(fit.midpoint, abs=1e-4)
        assert curves.parameters[pair, "steepness"][0] == pytest.approx(fit.steepness, rel=1e-3)
    assert curves.points["answers"].sum() == len(table)
    assert len(curves.lines) == 45 * 41


def test_too_few_coefficients_or_falling_answers_give_no_curve() -> None:
    means = np.array([[0.1, 0.2, 0, 0, 0], [0.9, 0.8, 0.5, 0.2, 0.1]])
    weights = np.array([[3.0, 3, 0, 0, 0], [3.0] * 5])

    middle, steep = fit_logistics(SHOWN, means, weights)

    assert np.isnan(middle[0])
    assert np.isnan(steep[0])
    assert np.isnan(steep[1])


@given(st.floats(-2, 2), st.floats(-1, 1))
def test_no_straight_line_bends(slope: float, start: float) -> None:
    assert bend(SHOWN, (start + slope * SHOWN)[None])[0] == pytest.approx(0, abs=1e-9)


def test_steep_middle_bends_upwards_and_flat_middle_downwards() -> None:
    steep = logistic(SHOWN, 0.5, 12)

    assert bend(SHOWN, steep[None])[0] > 0.5
    assert bend(SHOWN, np.array([[0.0, 0.45, 0.5, 0.55, 1.0]]))[0] < -1
    assert np.isnan(bend(SHOWN[:3], np.zeros((1, 3)))[0])


def test_bend_is_the_inner_slope_less_the_mean_of_both_outer_ones() -> None:
    means = np.array([[0.0, 0.3, 0.5, 0.7, 0.7]])  # slopes 2, 0.8 and 0

    assert bend(SHOWN, means)[0] == pytest.approx(0.8 - 1.0)
