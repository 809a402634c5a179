import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics.pairwise import cosine_similarity

from sfumato.errors import DataError
from sfumato.planning.grid import (
    effective_dimensionality,
    grid_points,
    pca_curve,
    ratio_correlation,
    search_codes,
    simulate_point,
)
from sfumato.planning.information import ratio
from sfumato.stats import cosines


def some_points(count: int = 20, dimensions: int = 6) -> NDArray[np.float64]:
    return np.random.default_rng(1).normal(size=(count, dimensions)) + 0.3


@pytest.mark.parametrize("kept", [2, 3, 5])
def test_curve_around_the_true_origin_is_that_of_a_truncated_svd(kept: int) -> None:
    points = some_points()
    codes = TruncatedSVD(kept, algorithm="arpack").fit_transform(points)
    upper = np.triu_indices(len(points), 1)

    expected = spearmanr(cosine_similarity(codes)[upper], cosine_similarity(points)[upper])

    assert pca_curve(points)[kept - 1] == pytest.approx(expected.statistic, abs=1e-9)


@pytest.mark.parametrize("kept", [2, 3, 5])
def test_curve_around_the_mean_is_that_of_pca(kept: int) -> None:
    points = some_points()
    codes = PCA(kept).fit_transform(points)
    upper = np.triu_indices(len(points), 1)

    expected = spearmanr(cosine_similarity(codes)[upper], cosine_similarity(points)[upper])

    assert pca_curve(points, origin="mean")[kept - 1] == pytest.approx(expected.statistic, abs=1e-9)


def test_rounding_does_not_order_what_one_component_cannot_tell_apart() -> None:
    points = some_points(60, 5)
    code = TruncatedSVD(1, algorithm="arpack").fit_transform(points)[:, 0]
    upper = np.triu_indices(len(points), 1)

    sides = np.sign(np.outer(code, code))[upper]

    expected = spearmanr(sides, cosine_similarity(points)[upper]).statistic
    assert pca_curve(points)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("count", "dimensions"), [(20, 6), (6, 20)])
def test_all_components_together_are_the_truth(count: int, dimensions: int) -> None:
    curve = pca_curve(some_points(count, dimensions))

    assert len(curve) == min(count, dimensions)
    assert curve[-1] == pytest.approx(1)


def test_points_on_a_plane_have_two_components() -> None:
    plane = some_points(12, 2) @ np.random.default_rng(0).normal(size=(2, 7))

    assert len(pca_curve(plane)) == 2


def test_a_component_on_which_all_points_are_alike_has_no_correlation() -> None:
    points = np.array([[9.0, 1.0], [9.0, -1.0], [9.0, 0.5], [9.0, 0.1]])

    curve = pca_curve(points)

    assert curve[0] == 0
    assert curve[1] == pytest.approx(1)


@pytest.mark.parametrize(("rho", "least"), [(-0.2, 1), (0.3, 1), (0.31, 2), (0.9, 4), (1.1, None)])
def test_effective_dimensionality_is_the_least_that_reaches_rho(
    rho: float, least: int | None
) -> None:
    curve = np.array([0.3, 0.6, 0.5, 1.0])

    assert effective_dimensionality(curve, rho) == least


def test_effective_dimensionality_of_no_rho_is_refused() -> None:
    with pytest.raises(DataError, match="ρ is nan"):
        effective_dimensionality(np.array([0.5]), float("nan"))


def means_with(effective: list[float | None], dimensions: list[int]) -> pl.DataFrame:
    sizes = [(3, 3), (10, 3), (30, 3), (90, 3), (90, 30)]
    rows = [
        {
            "form": "soft", "flipped": 0.0, "dimensions": d,
            "ratio": float(ratio("soft", items=n, classes=k)), "effective": e,
        }
        for d in dimensions
        for (n, k), e in zip(sizes, effective, strict=True)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_ratio_correlation_is_pearsons_by_dimensions_and_over_all_of_them() -> None:
    effective: list[float | None] = [4.0, 3.5, 2.0, 1.0, 3.0]
    found = means_with(effective, [5, 25])
    other = found.with_columns(form=pl.lit("hard"), effective=pl.lit(99.0))
    noisy = found.with_columns(flipped=pl.lit(0.1), effective=pl.lit(99.0))

    table = ratio_correlation(pl.concat([found, other, noisy]))

    expected = np.corrcoef(found["ratio"][:5], np.array(effective, dtype=float))[0, 1]
    assert table["dimensions"].to_list() == [5, 25, None]
    np.testing.assert_allclose(table["r"], expected)
    assert table["tasks"].to_list() == [5, 5, 10]
    assert table["paper"].to_list() == [0.734] * 3
    assert (table["low"] < table["r"]).all()
    assert (table["high"] > table["r"]).all()


def test_tasks_without_an_effective_dimensionality_are_not_counted() -> None:
    table = ratio_correlation(means_with([4.0, 3.5, 2.0, 1.0, None], [5]))

    assert table["tasks"].to_list() == [4]


def test_too_few_tasks_are_refused() -> None:
    with pytest.raises(DataError, match="fewer than four tasks"):
        ratio_correlation(means_with([4.0, 3.5, 2.0, None, None], [5]))


@pytest.mark.parametrize("keep", [1, 2, 4])
def test_a_searched_code_is_never_worse_than_pca_and_mostly_better(keep: int) -> None:
    gains = []
    for seed in range(4):
        points = np.random.default_rng(seed).standard_normal((25, 6))

        codes, rho = search_codes(points, keep)

        assert codes.shape == (25, keep)
        upper = np.triu_indices(25, 1)
        alike = cosines(codes)[upper].round(12), cosines(points)[upper]
        assert rho == pytest.approx(spearmanr(*alike).statistic)
        gains.append(rho - pca_curve(points)[keep - 1])

    assert min(gains) >= 0
    # a single number has only a sign, which no smooth search moves
    assert max(gains) == 0 if keep == 1 else max(gains) > 0.01


def test_a_code_of_as_many_numbers_as_dimensions_is_the_truth() -> None:
    points = np.random.default_rng(0).standard_normal((12, 3))

    assert search_codes(points, 3)[1] == pytest.approx(1)
    assert search_codes(points, 9)[1] == pytest.approx(1)
    with pytest.raises(DataError, match="A code of 0 numbers"):
        search_codes(points, 0)


def test_searched_codes_are_asked_for_by_name() -> None:
    (point,) = grid_points(
        items=[9], classes=[5], dimensions=[6], seeds=1, forms=["pca", "searched"], kept=[2]
    )

    rows = {row["form"]: row["rho"] for row in simulate_point(point)["rows"]}

    assert rows["searched"] >= rows["pca"] > 0
