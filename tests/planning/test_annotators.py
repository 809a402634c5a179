"""The expected error against M: closed forms, worlds with a known truth, real votes and answers."""

from itertools import product
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import entr
from scipy.stats import binom

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import select
from sfumato.labels.alter import subsample_annotators, subsample_counts
from sfumato.labels.build import build
from sfumato.labels.compare import jensen_shannon_rows, total_variation_rows
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.planning.annotators import (
    GRID,
    MEASURES,
    ErrorCurve,
    enough,
    expected_error,
    expected_error_of_votes,
    off_by,
)

Array = NDArray[np.float64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def crowd_of(answers: Array) -> CrowdLabels:
    """(items, people, classes) as one row an answer."""
    n_items, n_people, n_classes = answers.shape
    return CrowdLabels(
        tuple(map(str, range(n_items))),
        tuple(f"p{person}" for person in range(n_people)),
        tuple(map(str, range(n_classes))),
        np.repeat(np.arange(n_items), n_people),
        np.tile(np.arange(n_people), n_items),
        answers.reshape(-1, n_classes),
    )


def curve_of(values: Array) -> ErrorCurve:
    return ErrorCurve("squared", "closed form", values, np.tile(values, (3, 1)), 1, 2)


def test_the_squared_error_of_votes_is_unbiased_over_all_outcomes() -> None:
    p = np.array([0.6, 0.3, 0.1])
    expected = 0.0
    for votes in product(range(5), repeat=3):  # every outcome of four votes on one item
        if sum(votes) == 4:
            ways = factorial(4) / np.prod([factorial(x) for x in votes])
            curve = expected_error_of_votes(
                np.array([votes]), "squared", up_to=3, draws=1, rng=rng()
            )
            expected += ways * np.prod(p ** np.array(votes)) * curve.values

    assert expected == pytest.approx((1 - (p**2).sum()) / np.arange(1, 4))


@settings(max_examples=3)
@given(st.integers(2, 5), st.integers(0, 99))
def test_votes_counted_or_as_one_hot_answers_give_the_same_curve(people: int, seed: int) -> None:
    chosen = rng(seed).integers(3, size=(6, people))
    counts = np.stack([(chosen == k).sum(axis=1) for k in range(3)], axis=1)

    for measure in MEASURES:
        by_answer = expected_error(
            crowd_of(np.eye(3)[chosen]), measure, up_to=4, draws=3, rng=rng()
        )
        by_count = expected_error_of_votes(counts, measure, up_to=4, draws=3, rng=rng())
        assert by_answer.values.tolist() == by_count.values.tolist()
        assert by_answer.resampled.tolist() == by_count.resampled.tolist()


def test_the_squared_error_of_soft_answers_is_their_variance_over_m() -> None:
    answers = rng().dirichlet([2, 1, 1], size=(50, 6))

    curve = expected_error(crowd_of(answers), "squared", up_to=3, draws=100, rng=rng())

    variance = answers.var(axis=1, ddof=1).sum(axis=1).mean()
    assert curve.values == pytest.approx(variance / np.array([1, 2, 3]))
    assert curve.method == "closed form"
    assert (curve.low < curve.values).all()
    assert (curve.values < curve.high).all()


@pytest.mark.parametrize("M", [1, 2, 7, 30])
def test_the_parts_of_a_class_are_sums_over_the_binomial(M: int) -> None:
    x = np.arange(M + 1)
    for place in range(0, len(GRID), 25):
        p = float(GRID[place])
        chance, share = binom.pmf(x, M, p), x / M
        middle = (share + p) / 2
        divergence = 2 * entr(middle) - entr(share) - entr(p)  # the class's part, twice

        assert off_by("total-variation", M)[place] == pytest.approx(
            (chance * np.abs(share - p)).sum() / 2, abs=1e-12
        )
        assert off_by("excess", M)[place] == pytest.approx(
            entr(p) - (chance * entr(share)).sum(), abs=1e-12
        )
        assert off_by("jensen-shannon", M)[place] == pytest.approx(
            (chance * divergence).sum() / 2, abs=1e-12
        )


def true_errors(p: Array, draw: Array) -> dict[str, float]:
    """How far drawn labels are from the truth behind them."""
    return {
        "squared": float(((draw - p) ** 2).sum(axis=1).mean()),
        "total-variation": float(total_variation_rows(draw, p).mean()),
        "jensen-shannon": float(jensen_shannon_rows(draw, p).mean()),
        "excess": float((entr(p).sum(axis=1) - entr(draw).sum(axis=1)).mean()),
    }


def test_eight_simulated_votes_an_item_tell_the_error_of_more_and_of_fewer() -> None:
    p = rng().dirichlet([0.3] * 5, size=3000)
    pilot = rng(1).multinomial(8, p)
    for M in (1, 3, 10, 30):
        truth = true_errors(p, rng(2).multinomial(M, p) / M)
        for measure, value in truth.items():
            found = expected_error_of_votes(pilot, measure, up_to=M, draws=1, rng=rng())
            assert found.values[-1] == pytest.approx(value, rel=0.12)


def test_six_simulated_soft_answers_an_item_tell_the_error_of_more_and_of_fewer() -> None:
    p = 0.9 * rng().dirichlet([1] * 4, size=1500) + 0.025
    strength = 6.0
    pilot = crowd_of(
        np.stack([rng(n).dirichlet(strength * row, size=6) for n, row in enumerate(p)])
    )
    for M in (1, 3, 10, 30):
        means = [rng(n + 5000).dirichlet(strength * row, size=M).mean(0) for n, row in enumerate(p)]
        truth = true_errors(p, np.stack(means))
        for measure, value in truth.items():
            found = expected_error(pilot, measure, up_to=M, draws=1, rng=rng())
            # five times as many people as the pilot had is far to look ahead
            assert found.values[-1] == pytest.approx(value, rel=0.1 if M <= 10 else 0.2)


@pytest.mark.parametrize("measure", MEASURES)
def test_no_error_where_everybody_agrees(measure: str) -> None:
    votes = np.array([[4, 0, 0], [0, 4, 0]])
    same = crowd_of(np.tile([0.7, 0.2, 0.1], (5, 3, 1)))

    of_votes = expected_error_of_votes(votes, measure, up_to=5, draws=3, rng=rng())
    of_answers = expected_error(same, measure, up_to=5, draws=3, rng=rng())

    assert of_votes.values == pytest.approx(0, abs=0.02)
    assert of_answers.values == pytest.approx(0, abs=1e-12)


@settings(max_examples=15)
@given(st.integers(2, 6), st.integers(0, 99), st.sampled_from(sorted(MEASURES)))
def test_curves_fall_and_stay_above_zero(people: int, seed: int, measure: str) -> None:
    counts = rng(seed).multinomial(people, [0.5, 0.3, 0.2], size=8)

    curve = expected_error_of_votes(counts, measure, up_to=12, draws=3, rng=rng())

    assert (curve.values >= -1e-12).all()
    assert (np.diff(curve.values[::2]) <= 1e-12).all()  # single steps may be even for odd M
    assert curve.items == 8
    assert curve.answers == 8 * people


def test_two_soft_answers_an_item_use_the_limit_of_many() -> None:
    answers = rng().dirichlet([2, 1, 1], size=(50, 2))

    curve = expected_error(crowd_of(answers), up_to=4, draws=2, rng=rng())

    apart = total_variation_rows(answers[:, 0], answers[:, 1]).mean()
    assert curve.values == pytest.approx(apart / np.sqrt(2 * np.arange(1, 5)))


def test_items_with_too_few_answers_are_left_out() -> None:
    answers = crowd_of(rng().dirichlet([2, 1, 1], size=(40, 6)))
    some = CrowdLabels(
        answers.items, answers.annotators, answers.classes,
        answers.item[5:], answers.annotator[5:], answers.probs[5:],
    )  # fmt: skip

    assert expected_error(some, draws=2, rng=rng()).items == 39
    assert expected_error(some, "squared", draws=2, rng=rng()).items == 39


def test_the_table_is_what_the_report_draws() -> None:
    curve = expected_error_of_votes(np.array([[3, 1], [2, 2]]), up_to=3, draws=5, rng=rng())

    table = curve.table("votes")

    assert table.columns == ["arm", "M", "metric", "value", "low", "high"]
    assert table["M"].to_list() == [1, 2, 3]
    assert set(table["metric"]) == {"total-variation"}


def test_another_answer_is_bought_while_it_is_worth_its_price() -> None:
    M = np.arange(1, 101)
    curve = curve_of(0.6 / M)

    # the answer after M takes 0.6/(M(M + 1)) away: 0.6/30 at 5, 0.6/42 at 6
    found = enough(curve, price=0.6 / 35, worth=1)

    assert (found.M, found.low, found.high, found.beyond) == (6, 6, 6, False)
    assert found.error == pytest.approx(0.1)
    assert enough(curve, price=35, worth=35 * 35 / 0.6).M == 6  # only the ratio counts
    assert enough(curve, price=10, worth=1).M == 1
    endless = enough(curve, price=1e-9, worth=1)
    assert (endless.M, endless.beyond) == (100, True)
    for price, worth in ((0, 1), (-1, 1), (1, 0)):
        with pytest.raises(DataError, match="give a number above zero"):
            enough(curve, price=price, worth=worth)


def test_a_pilot_with_one_annotator_is_one_sentence() -> None:
    alone = crowd_of(rng().dirichlet([1, 1], size=(4, 1)))
    item, answers = np.zeros(2, dtype=np.int64), np.array([[0.9, 0.1], [0.8, 0.2]])
    twice = CrowdLabels(("a",), ("ann",), ("x", "y"), item, item, answers)
    nameless = CrowdLabels(("a",), (), ("x", "y"), item, item + NOT_RECORDED, answers)

    with pytest.raises(DataError, match="by one person, 'p0', so how people differ cannot be seen"):
        expected_error(alone, rng=rng())
    with pytest.raises(DataError, match="by one person, 'ann'"):
        expected_error(twice, rng=rng())
    with pytest.raises(DataError, match="No item of the pilot has more than one answer"):
        expected_error_of_votes(np.eye(3), rng=rng())
    assert expected_error(nameless, draws=1, rng=rng()).items == 1


def test_what_cannot_be_fitted_is_said_in_a_sentence() -> None:
    votes = np.array([[3, 1]])

    with pytest.raises(UnknownName, match="No measure of error is called 'kl'"):
        expected_error_of_votes(votes, "kl", rng=rng())
    with pytest.raises(DataError, match="end at M = 0"):
        expected_error_of_votes(votes, up_to=0, rng=rng())
    with pytest.raises(DataError, match="0 draws"):
        expected_error_of_votes(votes, draws=0, rng=rng())


@pytest.fixture(scope="module")
def real_votes(data_folder: Path) -> NDArray[np.int64]:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy").astype(np.int64)
    return counts[rng().permutation(len(counts))[:3000]]


@pytest.mark.parametrize("M", [1, 2, 4, 8])
def test_real_votes_are_off_by_what_the_curve_says(real_votes: NDArray[np.int64], M: int) -> None:
    apart, squared, chance = [], [], rng()
    for _ in range(60):
        drawn = subsample_counts(real_votes, M, rng=chance)
        rest = (real_votes - drawn) / (real_votes - drawn).sum(axis=1, keepdims=True)
        apart.append(total_variation_rows(drawn / M, rest).mean())
        squared.append(((drawn / M - rest) ** 2).sum(axis=1).mean())
    others = real_votes.sum(axis=1).mean() - M

    curves = {
        name: expected_error_of_votes(real_votes, name, up_to=8, draws=2, rng=rng()).values[M - 1]
        for name in ("total-variation", "squared")
    }

    # The rest are 43 to 50 people, not infinitely many, so the distance to them is a little larger,
    # by no more than the square root of the added variance.
    larger = np.mean(apart) / curves["total-variation"]
    assert 0.99 < larger < 1.01 * np.sqrt(1 + M / others)
    assert curves["squared"] == pytest.approx(np.mean(squared) / (1 + M / others), rel=0.04)


@pytest.mark.parametrize("votes", [3, 6, 12])
def test_a_small_pilot_of_real_votes_foretells_what_all_of_them_say(
    real_votes: NDArray[np.int64], votes: int
) -> None:
    pilot = subsample_counts(real_votes, votes, rng=rng(1))

    for measure in MEASURES:
        early = expected_error_of_votes(pilot, measure, up_to=50, draws=90, rng=rng())
        late = expected_error_of_votes(real_votes, measure, up_to=50, draws=1, rng=rng())
        assert early.values == pytest.approx(late.values, rel=0.25)
        assert (early.low < 1.03 * late.values).all()
        assert (late.values < 1.03 * early.high).all()


@pytest.mark.parametrize("votes", [2, 6, 12])
def test_votes_about_clothes_on_which_nothing_was_chosen_are_foretold_too(
    data_folder: Path, votes: int
) -> None:
    counts = np.load(data_folder / "fashion_mnist_h" / "fmh-counts.npy").astype(np.int64)
    counts = counts[rng(3).permutation(len(counts))[:3000]]
    pilot = subsample_counts(counts, votes, rng=rng(1))

    for measure in MEASURES:
        early = expected_error_of_votes(pilot, measure, up_to=50, draws=1, rng=rng())
        late = expected_error_of_votes(counts, measure, up_to=50, draws=1, rng=rng())
        assert early.values[:10] == pytest.approx(late.values[:10], rel=0.12)
        assert early.values == pytest.approx(late.values, rel=0.26)


def test_real_votes_in_eights_are_soft_answers_with_a_known_error(
    real_votes: NDArray[np.int64],
) -> None:
    left = real_votes
    answers: list[Array] = []
    for _ in range(5):
        drawn = subsample_counts(left, 8, rng=rng(len(answers)))
        left = left - drawn
        answers.append(drawn / 8)

    soft = expected_error(crowd_of(np.stack(answers, axis=1)), up_to=6, draws=1, rng=rng())
    votes = expected_error_of_votes(real_votes, up_to=48, draws=1, rng=rng())

    assert soft.method == "split answers"
    assert soft.values == pytest.approx(votes.values[7::8], rel=0.12)
    wide = expected_error(crowd_of(np.stack(answers, axis=1)), up_to=6, draws=90, rng=rng())
    assert (wide.low[1:] < votes.values[15::8]).all()
    assert (votes.values[15::8] < wide.high[1:]).all()


@pytest.mark.parametrize("measure", ["total-variation", "jensen-shannon"])
def test_four_of_six_real_soft_answers_foretell_groups_of_three(
    data_folder: Path, measure: str
) -> None:
    export = read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())
    crowd = build(select(export), "top2-clamp").crowd
    four = expected_error(
        subsample_annotators(crowd, 4, rng=rng()), measure, up_to=2, draws=50, rng=rng()
    )
    rows = np.argsort(rng(1).random(len(crowd)) + crowd.item)
    starts = np.searchsorted(crowd.item[rows], np.arange(len(crowd.items)))
    groups = crowd.probs[rows][starts[:, None] + np.arange(6)].reshape(-1, 2, 3, 10).mean(axis=2)
    rows_apart = total_variation_rows if measure == "total-variation" else jensen_shannon_rows

    apart = rows_apart(groups[:, 0], groups[:, 1]).mean()  # g(1/3 + 1/3), so M = 1.5

    between = np.exp(np.interp(np.log(1.5), np.log([1, 2]), np.log(four.values)))
    assert between == pytest.approx(apart, rel=0.05)
    assert four.items == 1000
