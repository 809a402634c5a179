from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.planning.embed import (
    EmbeddingSettings,
    Rankings,
    flip,
    gnmds_rankings,
    gnmds_triplets,
    mine_triplets,
    objective_of,
    rank_scores,
    read_triplets,
    spearman,
)
from sfumato.planning.embed.gnmds import minimise
from sfumato.stats import cosines

Floats = NDArray[np.float64]


def world(n: int, k: int, d: int, seed: int) -> tuple[Floats, Floats]:
    """True points, items first, and soft labels: centres N(0, I), items around them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, d))
    items = centres[np.arange(n) % k] + rng.normal(size=(n, d))
    away = ((items[:, None] - centres[None]) ** 2).sum(axis=2)
    return np.concatenate([items, centres]), softmax(-away, axis=1)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def gradient_by_gram(rankings: Rankings, points: Floats, width: float) -> Floats:
    """Σ w (A_near - A_far), every triplet on its own, A_ab = (e_a - e_b)(e_a - e_b)'."""
    total = np.zeros((len(points), len(points)))
    square = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    for anchor, near, far in mine_triplets(rankings).answers:
        t = 1 + square[anchor, near] - square[anchor, far]
        weight = np.clip((t + width / 2) / width, 0, 1)
        for other, sign in ((near, 1), (far, -1)):
            edge = np.zeros(len(points))
            edge[anchor], edge[other] = 1, -1
            total += sign * weight * np.outer(edge, edge)
    return total


@pytest.mark.parametrize(("n", "k"), [(8, 6), (4, 9)])
@pytest.mark.parametrize("width", [1.0, 0.2])
def test_solution_satisfies_the_conditions_of_the_convex_optimum(
    n: int, k: int, width: float
) -> None:
    rankings = rank_scores(world(n, k, 5, seed=1)[1])
    settings = EmbeddingSettings(width=width, tolerance=1e-9, alpha=0.1)
    found = gnmds_rankings(rankings, settings, rng=rng())

    total = gradient_by_gram(rankings, found.points, width)
    total += found.regularisation * np.eye(n + k)  # of the objective by K

    weight = found.regularisation
    assert np.linalg.eigvalsh(total)[0] > -0.01 * weight
    assert np.linalg.norm(total @ found.points) < 0.01 * weight * np.linalg.norm(found.points)


def test_regularisation_is_the_stated_share_of_the_least_that_collapses() -> None:
    rankings = rank_scores(world(8, 6, 5, seed=2)[1])
    nothing = np.zeros((14, 1))
    most = np.linalg.eigvalsh(-gradient_by_gram(rankings, nothing, 1.0))[-1]

    found = gnmds_rankings(rankings, EmbeddingSettings(alpha=0.05), rng=rng())
    near = gnmds_rankings(rankings, EmbeddingSettings(alpha=0.98), rng=rng())
    above = gnmds_rankings(rankings, EmbeddingSettings(alpha=1.02), rng=rng())

    assert found.regularisation == pytest.approx(0.05 * most)
    assert near.objective < rankings.constraints
    assert not above.points.any()
    assert above.objective == pytest.approx(rankings.constraints)


def test_rankings_and_their_mined_triplets_give_the_same_embedding() -> None:
    rankings = rank_scores(world(9, 7, 5, seed=3)[1])
    settings = EmbeddingSettings(tolerance=1e-8)

    fast = gnmds_rankings(rankings, settings, rng=rng())
    slow = gnmds_triplets(mine_triplets(rankings), settings, rng=rng())

    assert fast.regularisation == pytest.approx(slow.regularisation)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-5)
    np.testing.assert_allclose(fast.gram, slow.gram, atol=0.02 * np.abs(slow.gram).max())


def test_reported_objective_is_that_of_the_points() -> None:
    rankings = rank_scores(world(9, 7, 5, seed=3)[1])

    found = gnmds_rankings(rankings, EmbeddingSettings(width=0.3), rng=rng())

    for answers in (rankings, mine_triplets(rankings)):
        value = objective_of(answers, found.points, regularisation=found.regularisation, width=0.3)
        assert value == pytest.approx(found.objective)


def test_narrower_hinge_comes_nearer_to_the_exact_objective() -> None:
    rankings = rank_scores(world(12, 12, 5, seed=4)[1])

    exact = [
        objective_of(rankings, found.points, regularisation=found.regularisation)
        for width in (1.0, 0.1, 0.01)
        for found in [
            gnmds_rankings(rankings, EmbeddingSettings(width=width, tolerance=1e-7), rng=rng())
        ]
    ]

    assert exact[0] > exact[1] > exact[2]
    assert exact[1] == pytest.approx(exact[2], rel=0.01)


def test_same_rng_gives_the_same_points_and_another_the_same_gram() -> None:
    rankings = rank_scores(world(10, 8, 5, seed=5)[1])
    settings = EmbeddingSettings(tolerance=1e-9)

    first = gnmds_rankings(rankings, settings, rng=np.random.default_rng(1))
    again = gnmds_rankings(rankings, settings, rng=np.random.default_rng(1))
    other = gnmds_rankings(rankings, settings, rng=np.random.default_rng(2))

    np.testing.assert_array_equal(first.points, again.points)
    np.testing.assert_allclose(first.gram, other.gram, atol=0.02 * np.abs(first.gram).max())


def test_running_out_of_iterations_is_said() -> None:
    rankings = rank_scores(world(10, 8, 5, seed=5)[1])

    cut = gnmds_rankings(rankings, EmbeddingSettings(max_iterations=3), rng=rng())
    full = gnmds_rankings(rankings, rng=rng())

    assert not cut.converged
    assert full.converged
    assert full.objective < cut.objective


def test_trace_term_centres_the_points() -> None:
    found = gnmds_rankings(rank_scores(world(20, 15, 5, seed=6)[1]), rng=rng())

    assert np.abs(found.points.mean(axis=0)).max() < 1e-2 * np.abs(found.points).max()


def test_components_limit_the_rank() -> None:
    rankings = rank_scores(world(20, 15, 3, seed=7)[1])

    few = gnmds_rankings(rankings, EmbeddingSettings(components=2), rng=rng())
    all_of_them = gnmds_rankings(rankings, rng=rng())

    assert few.points.shape == (35, 2)
    assert all_of_them.points.shape == (35, 16)
    assert all_of_them.objective < few.objective


def test_a_start_at_the_solution_ends_there_at_once() -> None:
    rankings = rank_scores(world(10, 8, 5, seed=8)[1])
    settings = EmbeddingSettings(tolerance=1e-7)
    found = gnmds_rankings(rankings, settings, rng=rng())

    again = gnmds_rankings(rankings, settings, rng=rng(), start=found.points)

    assert again.objective <= found.objective * (1 + 1e-9)
    assert again.iterations < found.iterations / 2


@pytest.mark.parametrize("n", [10, 30])
def test_one_item_a_class_with_hard_labels_has_the_closed_rho(n: int) -> None:
    # every item is told only from its own class: n pairs on top, all others tied
    truth = np.random.default_rng(n).uniform(-0.5, 0.5, (2 * n, 2 * n))
    truth = (truth + truth.T) / 2
    truth[np.arange(n), n + np.arange(n)] = np.linspace(0.8, 0.9, n)

    found = gnmds_rankings(rank_scores(np.eye(n)), rng=rng())

    share, pairs = 1 / (2 * n - 1), n * (2 * n - 1)
    rho = np.sqrt(3 * share * (1 - share) / (1 - 1 / pairs**2))
    assert spearman(found.gram, truth) == pytest.approx(rho, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "k", "d", "rho"), [(30, 30, 25, 0.889), (30, 10, 5, 0.868), (10, 30, 25, 0.737)]
)
def test_soft_labels_recover_similarities_as_well_as_known(
    n: int, k: int, d: int, rho: float
) -> None:
    found = []
    for seed in range(4):
        truth, labels = world(n, k, d, seed)
        fit = gnmds_rankings(rank_scores(labels), rng=rng())
        found.append(spearman(fit.gram, cosines(truth)))

    assert np.mean(found) == pytest.approx(rho, abs=0.05)


def test_missing_entries_cost_accuracy_and_do_not_break() -> None:
    truth, labels = world(25, 20, 5, seed=9)
    unknown = np.random.default_rng(0).random(labels.shape) < 0.5

    whole = gnmds_rankings(rank_scores(labels), rng=rng())
    half = gnmds_rankings(rank_scores(np.where(unknown, np.nan, labels)), rng=rng())

    whole_rho, half_rho = (spearman(fit.gram, cosines(truth)) for fit in (whole, half))
    assert half.converged
    assert 0.6 < half_rho < whole_rho


def test_flipped_answers_cost_accuracy_and_random_ones_leave_nothing() -> None:
    truth, labels = world(15, 15, 5, seed=10)
    triplets = mine_triplets(rank_scores(labels))
    settings = EmbeddingSettings(components=8)

    rho = []
    for rate in (0.0, 0.3, 0.5):
        noisy = flip(triplets, rate, rng=np.random.default_rng(1))
        rho.append(spearman(gnmds_triplets(noisy, settings, rng=rng()).gram, cosines(truth)))

    assert rho[0] > rho[1] > 0.5
    assert abs(rho[2]) < 0.35


def test_answers_that_cancel_leave_all_points_together() -> None:
    triplets = read_triplets([[0, 1, 2], [0, 2, 1]])

    found = gnmds_triplets(triplets, rng=rng())

    assert not found.points.any()
    assert found.converged


def test_many_items_take_the_sparse_start() -> None:
    truth, labels = world(700, 4, 3, seed=11)

    found = gnmds_rankings(rank_scores(labels), rng=rng())
    again = gnmds_rankings(rank_scores(labels), rng=rng())

    assert found.converged
    assert spearman(found.gram, cosines(truth)) > 0.6
    np.testing.assert_array_equal(found.points, again.points)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"components": 0}, "at least one component"),
        ({"alpha": -1.0}, "zero or more"),
        ({"regularisation": -1.0}, "zero or more"),
        ({"width": 0.0}, "above 0"),
        ({"width": 2.0}, "up to 1"),
        ({"max_iterations": 0}, "at least one iteration"),
    ],
)
def test_bad_settings_are_one_sentence(change: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        replace(EmbeddingSettings(), **change)  # type: ignore[arg-type]


def test_start_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(DataError, match=r"14 objects but starting points of shape \(3, 2\)"):
        gnmds_rankings(rank_scores(world(8, 6, 5, seed=1)[1]), rng=rng(), start=np.zeros((3, 2)))


def test_minimiser_finds_the_bottom_of_a_bent_valley() -> None:
    def valley(x: Floats) -> tuple[float, Floats]:
        a, b = x[0]
        slope = [-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]
        return (1 - a) ** 2 + 100 * (b - a * a) ** 2, np.array([slope])

    found = minimise(valley, np.array([[-1.2, 1.0]]), tolerance=1e-12, max_iterations=300)

    assert found.converged
    np.testing.assert_allclose(found.point, [[1, 1]], atol=1e-4)


def test_search_stops_when_ten_iterations_lower_the_value_too_little() -> None:
    rankings = rank_scores(world(20, 15, 5, seed=6)[1])

    loose, middle, tight = (
        gnmds_rankings(rankings, EmbeddingSettings(tolerance=tolerance), rng=rng())
        for tolerance in (10.0, 1e-3, 1e-7)
    )

    assert loose.iterations == 20  # ten in the sketched stage, ten in the full one
    assert loose.iterations < middle.iterations < tight.iterations
    assert loose.objective > middle.objective > tight.objective
