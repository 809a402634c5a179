"""Movement between epochs and spread between seeds are Jensen–Shannon divergences in bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.stats import t as student

from sfumato.errors import DataError
from sfumato.evaluation.cartography import convergence_table, movement, seed_spread, steadiness

Watched = NDArray[np.float64]


def beliefs(seed: int, shape: tuple[int, ...] = (3, 4, 5)) -> Watched:
    return np.random.default_rng(seed).dirichlet(np.full(3, 0.5), size=shape)


@given(st.integers(0, 1000))
def test_movement_and_spread_equal_those_of_scipy(seed: int) -> None:
    watched = beliefs(seed)

    moved, spread = movement(watched), seed_spread(watched)

    for epoch in range(1, 4):
        expected = jensenshannon(watched[1, epoch], watched[1, epoch - 1], axis=1, base=2) ** 2
        assert moved[1, epoch - 1] == pytest.approx(expected, abs=1e-9)
    pairs = [(0, 1), (0, 2), (1, 2)]
    apart = [jensenshannon(watched[a, 2], watched[b, 2], axis=1, base=2) ** 2 for a, b in pairs]
    assert spread[2] == pytest.approx(np.mean(apart, axis=0), abs=1e-9)


@given(st.integers(0, 1000))
def test_both_are_from_zero_to_one(seed: int) -> None:
    watched = beliefs(seed)

    for values in (movement(watched), seed_spread(watched)):
        assert (values >= 0).all()
        assert (values <= 1 + 1e-12).all()


def test_runs_that_stand_still_apart_have_spread_and_no_movement() -> None:
    runs = np.eye(2)[[0, 1, 1]][:, None, None, :]
    watched = np.broadcast_to(runs, (3, 8, 4, 2))

    found = steadiness(watched)

    assert found.movement == pytest.approx(np.zeros(4))
    assert found.spread == pytest.approx(np.full(4, 2 / 3))
    assert found.ratio == 0
    assert (found.epochs, found.seeds) == ((4, 8), 3)


def test_runs_that_move_together_have_movement_and_no_spread() -> None:
    flips = np.eye(2)[np.arange(8) % 2][None, :, None, :]
    watched = np.broadcast_to(flips, (3, 8, 4, 2))

    found = steadiness(watched)

    assert found.movement == pytest.approx(np.ones(4))
    assert found.spread == pytest.approx(np.zeros(4))
    assert np.isnan(found.ratio)


def test_only_the_last_epochs_count_for_steadiness() -> None:
    watched = np.concatenate(
        [beliefs(0, (2, 6, 5)), np.repeat(beliefs(1, (2, 1, 5)), 4, axis=1)], 1
    )

    assert steadiness(watched, last=3).movement == pytest.approx(np.zeros(5), abs=1e-12)
    assert (steadiness(watched, last=4).movement > 0).all()
    assert steadiness(watched, last=4).spread == pytest.approx(seed_spread(watched)[-1])


def test_half_precision_does_not_look_like_movement() -> None:
    still = np.repeat(beliefs(0, (2, 1, 50)), 6, axis=1).astype(np.float16)

    assert movement(still).max() < 1e-12


def test_the_table_gives_a_row_an_epoch_with_an_interval_over_seeds() -> None:
    watched = beliefs(0)

    table = convergence_table(watched, arm="soft", network="lenet")

    by_seed = movement(watched).mean(axis=2)[:, 1]
    reach = student.ppf(0.975, 2) * by_seed.std(ddof=1) / np.sqrt(3)
    assert table.columns == ["arm", "network", "epoch", "jsd", "low", "high"]
    assert table["epoch"].to_list() == [2, 3, 4]
    assert table["jsd"][1] == pytest.approx(by_seed.mean())
    assert table["low"][1] == pytest.approx(max(by_seed.mean() - reach, 0))
    assert table["high"][1] == pytest.approx(min(by_seed.mean() + reach, 1))


def test_a_stratum_keeps_its_items_only() -> None:
    watched = beliefs(0)
    stratum = np.array([True, False, False, True, False])

    table = convergence_table(watched, stratum=stratum)

    expected = movement(watched)[:, :, stratum].mean(axis=(0, 2))
    assert table["jsd"].to_numpy() == pytest.approx(expected)
    with pytest.raises(DataError, match="holds no items"):
        convergence_table(watched, stratum=np.zeros(5, dtype=np.bool_))


def test_a_single_seed_has_no_interval() -> None:
    table = convergence_table(beliefs(0, (1, 4, 5)))

    assert table["low"].null_count() == table["high"].null_count() == 3


@pytest.mark.parametrize(
    ("shape", "says"),
    [((2, 1, 3), "Only one epoch"), ((0, 3, 3), "at least one of each")],
)
def test_movement_needs_two_epochs_and_some_run(shape: tuple[int, ...], says: str) -> None:
    with pytest.raises(DataError, match=says):
        movement(beliefs(0, shape))


def test_spread_needs_two_runs() -> None:
    with pytest.raises(DataError, match="Only one run"):
        seed_spread(beliefs(0, (1, 3, 3)))


@pytest.mark.parametrize("last", [0, 4])
def test_late_epochs_that_were_not_watched_are_refused(last: int) -> None:
    with pytest.raises(DataError, match=f"last {last} epochs was asked for; with 4 epochs"):
        steadiness(beliefs(0), last=last)


def test_rows_that_are_no_distribution_are_refused_by_place() -> None:
    watched = beliefs(0)
    watched[1, 2, 3] = 0.1

    with pytest.raises(DataError, match="item '3' in epoch 3 of run 2"):
        movement(watched)
