import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.planning.embed.rankings import (
    Method,
    add_loss,
    batches,
    count_pairs,
    excess,
    rank_scores,
    ranking_loss,
)

Floats = NDArray[np.float64]
METHODS: list[Method] = ["strides", "merging"]
WIDTHS = [0.0, 0.02, 0.5, 1.0]


def hinge(t: float, width: float) -> tuple[float, float]:
    """The formula of the module, one number at a time: value and slope."""
    if abs(t) < width / 2:
        return (t + width / 2) ** 2 / (2 * width), (t + width / 2) / width
    return max(0.0, t), float(t > 0)


def enumerated(scores: Floats, distances: Floats, width: float) -> tuple[float, Floats, int]:
    """Loss, slopes and number of pairs by walking through every pair of every row."""
    loss, slopes, pairs = 0.0, np.zeros_like(distances), 0
    for row in range(len(scores)):
        for near in range(scores.shape[1]):
            for far in range(scores.shape[1]):
                if scores[row, near] > scores[row, far]:  # never with NaN
                    value, slope = hinge(1 + distances[row, near] - distances[row, far], width)
                    loss += value
                    slopes[row, near] += slope
                    slopes[row, far] -= slope
                    pairs += 1
    return loss, slopes, pairs


@st.composite
def ranked(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Scores with many ties and gaps, and distances that agree with them more or less."""
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 9)))
    values = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0, np.nan])
    size = shape[0] * shape[1]
    scores = np.array(draw(st.lists(values, min_size=size, max_size=size))).reshape(shape)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    if draw(st.booleans()):
        scores = np.where(np.isnan(scores), np.nan, rng.random(shape))  # no ties
    spread = draw(st.sampled_from([0.01, 1.0, 30.0]))
    return scores, spread * rng.normal(size=shape) ** 2 - 2 * np.nan_to_num(scores)


def evaluated(
    scores: Floats, distances: Floats, width: float, method: Method
) -> tuple[float, Floats]:
    entry = np.arange(scores.size).reshape(scores.shape)
    slopes = np.zeros(scores.size)
    loss = sum(
        add_loss(batch, distances.ravel(), width, slopes)
        for batch in batches(scores, entry, method)
    )
    return loss, slopes.reshape(scores.shape)


@pytest.mark.parametrize("method", METHODS)
@given(case=ranked(), width=st.sampled_from(WIDTHS))
@settings(max_examples=80, deadline=None)
def test_loss_and_slopes_equal_enumeration(
    method: Method, case: tuple[Floats, Floats], width: float
) -> None:
    scores, distances = case

    loss, slopes = evaluated(scores, distances, width, method)

    expected, expected_slopes, _ = enumerated(scores, distances, width)
    assert loss == pytest.approx(expected, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(slopes, expected_slopes, rtol=1e-10, atol=1e-10)


@given(case=ranked())
@settings(max_examples=40, deadline=None)
def test_pairs_counted_are_those_enumerated(case: tuple[Floats, Floats]) -> None:
    scores, distances = case
    entry = np.arange(scores.size).reshape(scores.shape)

    found = batches(scores, entry)

    assert sum(map(count_pairs, found)) == enumerated(scores, distances, 0.0)[2]


@given(case=ranked())
@settings(max_examples=40, deadline=None)
def test_excess_is_wrong_pairs_minus_right_ones(case: tuple[Floats, Floats]) -> None:
    scores, distances = case
    distances = distances.round()  # equal ones occur
    near = scores[:, :, None] > scores[:, None, :]
    gap = np.sign(distances[:, :, None] - distances[:, None, :])

    found = batches(scores, np.arange(scores.size).reshape(scores.shape))

    assert sum(excess(batch, distances.ravel()) for batch in found) == gap[near].sum()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("levels", [2, 5, 4000])
def test_both_ways_agree_on_long_lists(width: float, levels: int) -> None:
    rng = np.random.default_rng(levels)
    scores = rng.integers(0, levels, (2, 1100)).astype(np.float64)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    distances = rng.normal(size=scores.shape) ** 2 + 40  # far from zero: digits are at risk

    strides, by_strides = evaluated(scores, distances, width, "strides")
    merging, by_merging = evaluated(scores, distances, width, "merging")

    assert merging == pytest.approx(strides, rel=1e-10)
    np.testing.assert_allclose(by_merging, by_strides, rtol=0, atol=1e-10 * 1100)


@pytest.mark.parametrize("method", METHODS)
def test_slopes_are_the_derivative_of_the_loss(method: Method) -> None:
    rng = np.random.default_rng(1)
    scores, distances = rng.random((4, 8)).round(1), rng.normal(size=(4, 8))
    direction = rng.normal(size=(4, 8))

    _, slopes = evaluated(scores, distances, 0.7, method)
    above, _ = evaluated(scores, distances + 1e-6 * direction, 0.7, method)
    below, _ = evaluated(scores, distances - 1e-6 * direction, 0.7, method)

    assert (slopes * direction).sum() == pytest.approx((above - below) / 2e-6, rel=1e-6)


def test_exact_hinge_leaves_a_gap_of_exactly_the_margin_alone() -> None:
    scores, distances = np.array([[0.9, 0.1]]), np.array([[1.0, 2.0]])

    for method in METHODS:
        loss, slopes = evaluated(scores, distances, 0.0, method)

        assert loss == 0
        assert not slopes.any()


def test_sketch_of_the_loss_is_near_it() -> None:
    rng = np.random.default_rng(0)
    block = rng.normal(size=(120, 120)) ** 2 * 2
    rankings = rank_scores(-block + rng.normal(size=block.shape))

    loss, slopes = ranking_loss(rankings, block, 1.0)
    sketch, sketched = ranking_loss(rankings, block, 1.0, strides=24)

    assert sketch == pytest.approx(loss, rel=0.05)
    assert np.corrcoef(slopes.ravel(), sketched.ravel())[0, 1] > 0.97


@given(case=ranked(), width=st.sampled_from(WIDTHS))
@settings(max_examples=40, deadline=None)
def test_ranking_loss_adds_rows_and_columns(case: tuple[Floats, Floats], width: float) -> None:
    scores, distances = case
    rows, by_rows, pairs = enumerated(scores, distances, width)
    columns, by_columns, more = enumerated(scores.T, distances.T, width)
    if pairs + more == 0:
        with pytest.raises(DataError, match="ranks nothing"):
            rank_scores(scores)
        return

    rankings = rank_scores(scores)
    loss, slopes = ranking_loss(rankings, distances, width)

    assert rankings.constraints == pairs + more
    assert loss == pytest.approx(rows + columns, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(slopes, by_rows + by_columns.T, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("n", "k"), [(3, 3), (80, 20), (7, 30), (1000, 3)])
def test_soft_labels_give_the_closed_number_of_constraints(n: int, k: int) -> None:
    rankings = rank_scores(np.random.default_rng(0).random((n, k)))

    assert rankings.constraints == k * n * (k + n - 2) // 2


def test_hard_labels_of_uneven_classes_give_the_exact_number_of_constraints() -> None:
    chosen = np.array([0, 0, 0, 1, 1, 2, 0])
    labels = hard_labels([f"i{n}" for n in range(7)], list("abcd"), chosen)

    assert rank_scores(labels.probs).constraints == 7 * 3 + 49 - (16 + 4 + 1)


def test_unasked_classes_give_no_constraints_and_zeros_do() -> None:
    asked = np.random.default_rng(0).random((6, 5))
    masked, literal = asked.copy(), asked.copy()
    masked[:, 2:], literal[:, 2:] = np.nan, 0

    assert rank_scores(masked).constraints == 2 * 6 * (2 + 6 - 2) // 2
    assert rank_scores(literal).constraints == 6 * (1 + 2 * 3) + 2 * 15


def test_labels_are_ranked_by_probability() -> None:
    labels = LabelSet(("a", "b"), ("cat", "dog"), np.array([[0.9, 0.1], [0.3, 0.7]]))

    rankings = rank_scores(labels.probs)

    np.testing.assert_array_equal(rankings.scores, labels.probs)
    assert (rankings.items, rankings.classes, rankings.objects) == (2, 2, 4)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 3)), "ranks nothing"),
        (np.full((3, 3), np.nan), "ranks nothing"),
        (np.zeros(3), r"not an array of shape \(3,\)"),
        (np.array([[1, np.inf], [0, 1]]), "item 0 for class 1 is inf"),
    ],
)
def test_table_that_cannot_be_ranked_is_one_sentence(scores: Floats, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rank_scores(scores)
