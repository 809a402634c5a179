from itertools import permutations

import numpy as np
import polars as pl
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from torch import Tensor

from sfumato.errors import DataError
from sfumato.evaluation.representations import (
    likeness,
    performance_against_information,
    rated_similarity,
    softness,
    sweet_spot,
    vectors_of,
)
from sfumato.labels.labelset import LabelSet
from sfumato.learn.networks import build_network
from sfumato.learn.networks.blocks import features
from sfumato.scores import Estimate
from sfumato.stats import cosines

NAN = float("nan")


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


def noisy_pair(
    items: int, *, noise: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    vectors = rng.normal(size=(items, 3))
    return cosines(vectors), cosines(vectors + noise * rng.normal(size=(items, 3)))


def test_vectors_do_not_depend_on_the_batch() -> None:
    network = build_network("lenet", classes=10, image_shape=(28, 28, 1), seed=0).eval()
    images = torch.rand(7, 1, 28, 28, generator=torch.Generator().manual_seed(0))

    def of(batch: Tensor) -> Tensor:
        return features(network, batch)

    small, whole = vectors_of(of, images, batch_size=2), vectors_of(of, images, batch_size=7)

    assert small.shape == (7, network.head.in_features)
    assert np.allclose(small, whole, atol=1e-6)
    logits = torch.tensor(whole).float() @ network.head.weight.T + network.head.bias
    assert torch.allclose(logits, network(images), atol=1e-5)


def test_vectors_carry_no_gradient_and_are_flat() -> None:
    weight = torch.ones(1, requires_grad=True)

    found = vectors_of(lambda batch: batch * weight, torch.ones(3, 2, 2))

    assert found.tolist() == np.ones((3, 4)).tolist()
    with pytest.raises(DataError, match="batch of 0"):
        vectors_of(lambda batch: batch, torch.ones(3, 2), batch_size=0)


def test_ratings_are_averaged_whichever_came_first() -> None:
    found = rated_similarity(
        ["a", "b", "c"],
        first=["a", "b", "a", "c", "z"],
        second=["b", "a", "b", "c", "a"],
        rating=[1, 2, 6, 9, 9],
    )

    expected = np.full((3, 3), NAN)
    expected[0, 1] = expected[1, 0] = 3
    np.testing.assert_array_equal(found, expected)


def test_correlations_are_scipys_over_the_rated_pairs() -> None:
    model, human = noisy_pair(12, noise=1, rng=seeded())
    human[2, 5] = human[5, 2] = NAN
    pairs = np.triu(~np.isnan(human), k=1)

    found = likeness(model, human, rng=seeded(), draws=10, permutations=9)

    assert found.spearman == pytest.approx(spearmanr(model[pairs], human[pairs]).statistic)
    assert found.pearson == pytest.approx(pearsonr(model[pairs], human[pairs]).statistic)
    assert (found.items, found.pairs) == (12, 65)
    assert found.p == 0.1  # 1 / (1 + 9)


def test_resample_holds_the_pairs_of_its_items_without_copies() -> None:
    model, human = noisy_pair(12, noise=1, rng=seeded())
    times = np.random.default_rng(1).multinomial(12, np.full(12, 1 / 12))
    at = np.repeat(np.arange(12), times)
    row, column = np.triu_indices(12, k=1)
    pairs = [(at[i], at[j]) for i, j in zip(row, column, strict=True) if at[i] != at[j]]
    x, y = np.array([(model[pair], human[pair]) for pair in pairs]).T

    found = likeness(model, human, rng=np.random.default_rng(1), draws=1, permutations=1)

    assert 0 in times
    assert found.spearman_low == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert found.pearson_low == pytest.approx(pearsonr(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("unknown", [0, 5])
def test_mantel_p_is_that_of_all_renamings(unknown: int) -> None:
    model, human = noisy_pair(6, noise=1.2, rng=np.random.default_rng(4))
    for pair in [(0, 1), (0, 2), (3, 4), (2, 5), (1, 4)][:unknown]:
        model[pair] = model[pair[::-1]] = NAN
    row, column = np.nonzero(np.triu(~np.isnan(model), k=1))
    rho = spearmanr(model[row, column], human[row, column]).statistic
    as_high = []
    for renamed in permutations(range(6)):
        name = np.array(renamed)
        x, y = model[name[row], name[column]], human[row, column]
        known = ~np.isnan(x)
        as_high.append(spearmanr(x[known], y[known]).statistic >= rho - 1e-12)

    found = likeness(model, human, rng=seeded(), draws=1, permutations=1500)

    assert 0.03 < np.mean(as_high) < 0.6
    assert found.p == pytest.approx(np.mean(as_high), abs=0.03)


def test_renaming_that_changes_nothing_counts_as_a_hit() -> None:
    group = np.array([0, 0, 1, 1, 1])
    blocks = (group[:, None] == group[None, :]).astype(np.float64)

    found = likeness(blocks, blocks, rng=seeded(), draws=1, permutations=1500)

    assert found.p == pytest.approx(2 * 6 / 120, abs=0.03)


def test_interval_over_items_is_wider_than_over_pairs() -> None:
    rng = seeded()
    model, human = noisy_pair(30, noise=1, rng=rng)
    row, column = np.triu_indices(30, k=1)
    x, y = model[row, column], human[row, column]
    picks = (rng.integers(len(x), size=len(x)) for _ in range(300))
    naive = np.percentile([pearsonr(x[at], y[at]).statistic for at in picks], [2.5, 97.5])

    found = likeness(model, human, rng=rng, draws=300, permutations=1)

    assert found.pearson_high - found.pearson_low > 1.5 * (naive[1] - naive[0])


def test_mantel_p_of_unrelated_similarities_is_uniform() -> None:
    rng = seeded()
    p = [
        likeness(
            cosines(rng.normal(size=(8, 3))),
            cosines(rng.normal(size=(8, 3))),
            rng=rng,
            draws=1,
            permutations=39,
        ).p
        for _ in range(120)
    ]

    assert 0.4 < np.mean(p) < 0.6
    assert np.mean(np.array(p) <= 0.05) < 0.12


def test_mantel_p_of_opposite_similarities_is_large() -> None:
    similar = cosines(seeded().normal(size=(10, 3)))

    same = likeness(similar, 5 * similar + 1, rng=seeded(), draws=10, permutations=99)
    opposite = likeness(similar, -similar, rng=seeded(), draws=10, permutations=99)

    assert (same.spearman, same.p) == pytest.approx((1, 0.01))
    assert (opposite.spearman, opposite.p) == pytest.approx((-1, 1))


def test_pairs_that_the_model_does_not_know_are_left_out() -> None:
    model, human = noisy_pair(10, noise=0.1, rng=seeded())
    model[0, 1:] = model[1:, 0] = NAN

    found = likeness(model, human, rng=seeded(), draws=20, permutations=49)

    assert (found.items, found.pairs) == (9, 36)
    assert found.p == 0.02


def test_matrices_that_do_not_fit_are_refused() -> None:
    good = np.eye(5)
    lopsided = good.copy()
    lopsided[1, 3] = 0.7
    with pytest.raises(DataError, match="people of 6"):
        likeness(good, np.eye(6), rng=seeded())
    with pytest.raises(DataError, match=r"human similarity of items 1 and 3 is 0\.7 one way"):
        likeness(good, lopsided, rng=seeded())
    with pytest.raises(DataError, match="Only 3 items"):
        likeness(np.eye(3), np.eye(3), rng=seeded())
    with pytest.raises(DataError, match="a row and a column an item"):
        likeness(np.ones((2, 3)), good, rng=seeded())


def test_softness_of_known_labels() -> None:
    hard = LabelSet(("x", "y"), ("a", "b"), np.eye(2))
    mixed = LabelSet(("x", "y"), ("a", "b"), np.array([[0.5, 0.5], [1, 0]]))

    found = softness({"hard": hard, "mixed": mixed}, {"mixed": 0.4, "hard": 0.2})

    assert found.rows() == [
        ("hard", 0, 0, 0.2),
        ("mixed", pytest.approx(np.log(2) / 2), 0.0625, 0.4),
    ]
    with pytest.raises(DataError, match="label set 'mixed'"):
        softness({"mixed": mixed}, {"hard": 1})


def points(x: list[float], y: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"variance_of_top": x, "rho": y})


def test_parabola_is_recovered() -> None:
    x = [0.0, 0.1, 0.2, 0.3]

    found = sweet_spot(points(x, [0.5 + v - 4 * v * v for v in x]), "variance_of_top")

    assert (found.square, found.slope, found.constant) == pytest.approx((-4, 1, 0.5))
    assert found.top == pytest.approx(0.125)
    assert found.inside
    assert found.points == 4


def test_curve_without_a_top_inside_has_no_sweet_spot() -> None:
    x = [0.0, 0.1, 0.2, 0.3]
    rising = sweet_spot(points(x, [v - v * v for v in x]), "variance_of_top")
    line = sweet_spot(points(x, [0.3 + v for v in x]), "variance_of_top")
    valley = sweet_spot(points(x, [(v - 0.1) ** 2 for v in x]), "variance_of_top")

    assert rising.top == pytest.approx(0.5)
    assert not rising.inside
    assert np.isnan([line.top, valley.top]).all()
    assert not line.inside
    assert not valley.inside
    with pytest.raises(DataError, match="three different values of variance_of_top"):
        sweet_spot(points([0, 0, 1], [1, 2, 3]), "variance_of_top")


def test_scores_stand_beside_the_information_of_their_arm() -> None:
    scores = [
        Estimate("accuracy", 0.9, arm="soft", network="lenet", low=0.8, high=0.95),
        Estimate("accuracy", 0.8, arm="hard", network="lenet"),
    ]

    found = performance_against_information(scores, {"hard": 0.2, "soft": 0.6, "unused": 0})

    assert found.select("arm", "information", "value", "low").rows() == [
        ("soft", 0.6, 0.9, 0.8),
        ("hard", 0.2, 0.8, None),
    ]
    with pytest.raises(DataError, match="label set 'hard'; known: 'soft'"):
        performance_against_information(scores, {"soft": 0.6})
