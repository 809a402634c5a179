import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10, read_hmix
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.mixed import Mix
from sfumato.labels.mixing import (
    CurveForm,
    Curves,
    Percepts,
    bootstrap_curves,
    fit_curves,
    identity_curves,
    logistic,
    mixed_by_curves,
    mixed_rows,
    percepts_of,
    pooled_curves,
    shuffled_curves,
)

CLASSES = ("cat", "dog", "frog")
SHOWN = (0.1, 0.25, 0.5, 0.75, 0.9)
TRUE = {("cat", "dog"): (0.4, 9.0), ("cat", "frog"): (0.5, 4.0), ("dog", "frog"): (0.65, 6.0)}
forms = st.sampled_from(("logistic", "anchored"))
midpoints, steepnesses = st.floats(-1, 2), st.floats(0, 100)


def said(*columns: Any) -> Percepts:
    """Percepts from plain lists."""
    return Percepts(*columns)


def curves(seed: int, form: CurveForm = "logistic", classes: int = 4) -> Curves:
    """Some curves for all pairs."""
    rng = np.random.default_rng(seed)
    middle, steep = np.full((2, classes, classes), 0.5)
    for row, column in itertools.combinations(range(classes), 2):
        middle[row, column] = rng.uniform(0.2, 0.8)
        middle[column, row] = 1 - middle[row, column]
        steep[row, column] = steep[column, row] = rng.uniform(0, 20)
    return Curves(tuple("abcdefgh"[:classes]), middle, steep, form)


def seen_by_people(noise: float, times: int = 4, seed: int = 0) -> Percepts:
    """People whose curves are TRUE, about mixes whose classes come in either order."""
    rng = np.random.default_rng(seed)
    mixes, seen = [], []
    for (first, second), (middle, steep) in TRUE.items():
        for shown, turn in itertools.product(SHOWN, (False, True)):
            share = float(expit(steep * (shown - middle)))
            if turn:
                mixes.append(Mix(f"{second} 1", f"{first} 1", second, first, round(1 - shown, 2)))
                seen.append(1 - share)
            else:
                mixes.append(Mix(f"{first} 0", f"{second} 0", first, second, shown))
                seen.append(share)
    place = np.repeat(np.arange(len(mixes)), times)
    stated = np.array(seen)[place] + rng.normal(0, noise, size=len(place))
    who = np.tile(np.arange(times), len(mixes))
    names = [f"p{code}" for code in range(times)]
    return said(
        tuple(mixes), tuple(names), place, who, stated.clip(0, 1), np.full(len(place), np.nan)
    )


@given(form=forms, midpoint=midpoints, steepness=steepnesses)
def test_curve_never_falls_and_stays_between_zero_and_one(
    form: CurveForm, midpoint: float, steepness: float
) -> None:
    found = logistic(np.linspace(0, 1, 101), midpoint, steepness, form)

    assert (np.diff(found) >= -1e-12).all()
    assert ((found >= 0) & (found <= 1)).all()


@given(midpoint=midpoints, steepness=steepnesses)
def test_logistic_is_the_logistic_and_anchored_is_it_stretched(
    midpoint: float, steepness: float
) -> None:
    shares = np.linspace(0, 1, 11)
    plain = expit(steepness * (shares - midpoint))

    assert np.allclose(logistic(shares, midpoint, steepness), plain, atol=1e-12)
    if plain[-1] - plain[0] > 1e-4:
        stretched = (plain - plain[0]) / (plain[-1] - plain[0])
        found = logistic(shares, midpoint, steepness, "anchored")
        assert np.allclose(found, stretched, atol=1e-9)


@given(midpoint=midpoints, steepness=steepnesses)
def test_anchored_curve_begins_at_zero_and_ends_at_one_exactly(
    midpoint: float, steepness: float
) -> None:
    found = logistic(np.array([0.0, 1.0]), midpoint, steepness, "anchored")

    assert found.tolist() == [0, 1]


def test_flat_anchored_curve_is_classic_mixup() -> None:
    shares = np.linspace(0, 1, 7)

    assert np.array_equal(logistic(shares, 0.3, 0.0, "anchored"), shares)
    assert np.allclose(logistic(shares, 0.5, 1e-5, "anchored"), shares, atol=1e-6)


@given(seed=st.integers(0, 99), form=forms, coefficient=st.floats(0, 1))
def test_it_does_not_matter_which_image_is_called_the_first(
    seed: int, form: CurveForm, coefficient: float
) -> None:
    some = curves(seed, form)

    there, back = some.at(np.array([coefficient, 1 - coefficient]))

    assert np.allclose(there, 1 - back.T, atol=1e-9)


@given(seed=st.integers(0, 99), form=forms, coefficient=st.floats(0, 1))
def test_mix_by_curves_of_distributions_is_a_distribution(
    seed: int, form: CurveForm, coefficient: float
) -> None:
    first, second = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), size=(2, 5))

    mixed = mixed_by_curves(first, second, np.full(5, coefficient), curves(seed, form))

    assert np.allclose(mixed.sum(axis=1), 1)
    assert (mixed >= 0).all()


@given(seed=st.integers(0, 99))
def test_mix_by_anchored_curves_has_the_endpoints_at_zero_and_one(seed: int) -> None:
    first, second = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), size=(2, 5))
    some = curves(seed).anchored()

    assert np.allclose(mixed_by_curves(first, second, np.ones(5), some), first)
    assert np.allclose(mixed_by_curves(first, second, np.zeros(5), some), second)


def test_hard_endpoints_get_the_curve_of_their_pair_and_one_class_stays_itself() -> None:
    some = curves(3)
    first, second, coefficient = np.eye(4)[[0, 2, 1]], np.eye(4)[[1, 0, 1]], np.full(3, 0.3)

    mixed = mixed_by_curves(first, second, coefficient, some)

    table = some.at(np.array([0.3]))[0]
    assert np.allclose(mixed[0], [table[0, 1], 1 - table[0, 1], 0, 0])
    assert np.allclose(mixed[1], [1 - table[2, 0], 0, table[2, 0], 0])
    assert np.allclose(mixed[2], [0, 1, 0, 0])


def test_soft_endpoints_are_the_expectation_over_hard_ones() -> None:
    some, rng = curves(4), np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(4), size=(2, 1))
    pairs = list(itertools.product(range(4), repeat=2))
    one, two = np.array(pairs).T

    each = mixed_by_curves(np.eye(4)[one], np.eye(4)[two], np.full(16, 0.2), some)
    mixed = mixed_by_curves(first, second, np.array([0.2]), some)

    assert np.allclose(mixed[0], (first[0, one] * second[0, two]) @ each)


def test_curves_that_are_lambda_itself_give_classic_mixup() -> None:
    flat = Curves(tuple("abcd"), np.full((4, 4), 0.5), np.zeros((4, 4)), "anchored")
    first, second = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 6))
    coefficient = np.linspace(0, 1, 6)

    found = mixed_by_curves(first, second, coefficient, flat)

    assert np.allclose(found, mixed_rows(first, second, coefficient))


def test_classes_in_another_order_have_the_same_curves() -> None:
    some = curves(5)

    turned = some.over(("d", "b", "a", "c")).at(np.array([0.3]))[0]

    assert np.array_equal(turned, some.at(np.array([0.3]))[0][np.ix_([3, 1, 0, 2], [3, 1, 0, 2])])
    with pytest.raises(DataError, match="'c' is in one"):
        some.over(("d", "b", "a", "e"))


@pytest.mark.parametrize(
    ("midpoint", "steepness", "message"),
    [
        ([[0, 0.4], [0.4, 0]], [[0, 1], [1, 0]], "disagree"),
        ([[0, 0.4], [0.6, 0]], [[0, 1], [2, 0]], "disagree"),
        ([[0, 0.4], [0.6, 0]], [[0, -1], [-1, 0]], "at least 0"),
        ([[0, np.nan], [np.nan, 0]], [[0, 1], [1, 0]], "not both"),
        ([[0]], [[0, 1], [1, 0]], r"shape \(1, 1\)"),
    ],
)
def test_impossible_curves_are_refused(
    midpoint: list[list[float]], steepness: list[list[float]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Curves(("a", "b"), np.array(midpoint), np.array(steepness))


def test_fit_finds_the_curves_that_made_the_answers() -> None:
    found = fit_curves(seen_by_people(0), CLASSES)

    assert not found.problems
    for fit in found.fits:
        assert (fit.midpoint, fit.steepness) == pytest.approx(TRUE[fit.pair], abs=1e-3)
        assert fit.judgments == 40
    table = found.curves.at(np.array([0.3]))[0]
    assert table[0, 1] == pytest.approx(expit(9 * (0.3 - 0.4)), abs=1e-3)
    assert table[1, 0] == pytest.approx(1 - expit(9 * (0.7 - 0.4)), abs=1e-3)


def test_standard_errors_are_the_spread_of_repeated_fits() -> None:
    shares = np.array([0.1, 0.5, 0.8])
    repeated = [fit_curves(seen_by_people(0.05, seed=seed), CLASSES).fits[1] for seed in range(60)]

    spread = np.std([fit.at(shares) for fit in repeated], axis=0)
    stated = np.mean([fit.standard_error(shares) for fit in repeated], axis=0)

    assert np.allclose(stated, spread, rtol=0.3)
    middle, steep = np.std([(fit.midpoint, fit.steepness) for fit in repeated], axis=0)
    deviations = np.sqrt(np.mean([np.diag(fit.covariance) for fit in repeated], axis=0))
    assert np.allclose(deviations, (middle, steep), rtol=0.3)


@pytest.mark.parametrize("resample", ["judgments", "images", "annotators"])
def test_bootstrap_surrounds_the_fit_and_is_repeatable(resample: str) -> None:
    percepts = seen_by_people(0.05)

    drawn, again = (
        bootstrap_curves(
            percepts,
            CLASSES,
            resample=resample,  # type: ignore[arg-type]
            draws=10,
            rng=np.random.default_rng(1),
        )
        for _ in range(2)
    )

    assert np.array_equal(drawn, again)
    assert drawn.shape == (10, 3, 2)
    best = np.array([(fit.midpoint, fit.steepness) for fit in fit_curves(percepts, CLASSES).fits])
    spread = drawn.std(axis=0)
    assert (spread > 0).all()
    assert (np.abs(drawn.mean(axis=0) - best) < 4 * spread + 0.01).all()


def few(pairs: list[tuple[float, float]]) -> Percepts:
    """Judgments (shown, seen) of one mix each, all of cats and dogs."""
    mixes = [Mix(f"a{n}", f"b{n}", "cat", "dog", shown) for n, (shown, _) in enumerate(pairs)]
    count = len(pairs)
    seen = [one for _, one in pairs]
    return said(
        tuple(mixes), ("p",), np.arange(count), np.zeros(count), seen, np.full(count, np.nan)
    )


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([(0.1, 0.1), (0.5, 0.5), (0.9, 0.9)], "3 judgments of 3 coefficients"),
        ([(0.1, 0.1), (0.9, 0.9)] * 4, "8 judgments of 2 coefficients"),
        ([(shown, 1 - shown) for shown in SHOWN] * 3, "no rising curve"),
        ([(shown, 0.05) for shown in SHOWN] * 3, "no "),
    ],
)
def test_pair_without_a_sound_curve_is_named_and_not_replaced(
    pairs: list[tuple[float, float]], reason: str
) -> None:
    found = fit_curves(few(pairs), ("cat", "dog"))

    assert reason in found.problems["cat", "dog"]
    assert found.curves.missing == (("cat", "dog"),)
    assert np.isnan(found.curves.at(np.array([0.5]))[0, 0, 1])


def test_holes_are_filled_only_when_asked_and_the_record_says_which() -> None:
    rising = few([(shown, shown) for shown in SHOWN] * 3)
    found = fit_curves(rising, CLASSES)

    filled = found.filled(pooled_curves(rising, CLASSES))

    assert set(found.problems) == {("cat", "frog"), ("dog", "frog")}
    assert not filled.missing
    assert filled.steepness[0, 1] == found.curves.steepness[0, 1]
    assert filled.provenance[-1].settings == {"pairs": ["cat, frog", "dog, frog"]}


def test_class_that_is_unknown_is_named() -> None:
    with pytest.raises(DataError, match="'frog', which is unknown"):
        fit_curves(seen_by_people(0), ("cat", "dog"))


def test_mixes_of_one_class_are_counted_and_not_fitted() -> None:
    base = few([(shown, shown) for shown in SHOWN] * 3)
    odd = Mix("x", "y", "cat", "cat", 0.5)
    both = said(
        (*base.mixes, odd),
        ("p",),
        [*base.mix, 15],
        np.zeros(16),
        [*base.coefficient, 0.0],
        np.full(16, np.nan),
    )

    found = fit_curves(both, ("cat", "dog"))

    assert found.provenance[-1].settings["judgments_of_one_class"] == 1
    assert found.fits[0].judgments == 15


def test_identity_control_knows_no_people_and_is_nearest_to_lambda() -> None:
    found = identity_curves(SHOWN, CLASSES)

    steep = found.steepness[0, 1]
    errors = {
        k: ((logistic(np.array(SHOWN), 0.5, k) - SHOWN) ** 2).sum()
        for k in (steep - 0.1, steep, steep + 0.1)
    }
    assert min(errors, key=errors.__getitem__) == steep
    assert np.allclose(found.midpoint[~np.eye(3, dtype=bool)], 0.5)


def test_pooled_control_is_one_curve_for_all() -> None:
    found = pooled_curves(seen_by_people(0), CLASSES)

    off = ~np.eye(3, dtype=bool)
    assert len(np.unique(found.steepness[off])) == 1
    assert 4 < found.steepness[0, 1] < 9
    assert np.allclose(found.midpoint[off], 0.5)


@given(seed=st.integers(0, 99))
def test_shuffled_control_gives_every_pair_the_curve_of_another(seed: int) -> None:
    people = curves(7)

    found = shuffled_curves(people, rng=np.random.default_rng(seed))

    pairs: NDArray[np.intp] = np.array(np.triu_indices(4, k=1))
    before, after = people.steepness[pairs[0], pairs[1]], found.steepness[pairs[0], pairs[1]]
    assert np.array_equal(np.sort(before), np.sort(after))
    assert (before != after).all()
    off_middle = np.abs(people.midpoint[pairs[0], pairs[1]] - 0.5)
    found_off = np.abs(found.midpoint[pairs[0], pairs[1]] - 0.5)
    assert np.allclose(off_middle[before.argsort()], found_off[after.argsort()])


def test_curves_with_holes_and_a_single_curve_cannot_be_shuffled() -> None:
    holes = fit_curves(few([(shown, shown) for shown in SHOWN] * 3), CLASSES).curves

    with pytest.raises(DataError, match="fill it in first"):
        shuffled_curves(holes, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="one curve only"):
        shuffled_curves(curves(0, classes=2), rng=np.random.default_rng(0))


def test_real_h_mix_gives_a_curve_for_each_of_the_45_pairs(data_folder: Path) -> None:
    path = next((data_folder / "hmix").rglob("hmix_infer_mixing_factor.csv"))
    percepts = percepts_of(read_hmix(path, ReadOptions()))

    found = fit_curves(percepts, CIFAR10)

    assert len(found.fits) == 45
    assert not found.problems
    assert sum(fit.judgments for fit in found.fits) == len(percepts)
    steep = [fit.steepness for fit in found.fits]
    assert 3 < min(steep) < max(steep) < 7
    # People bend less, taken together, than the logistic that is nearest to λ itself.
    pooled = pooled_curves(percepts, CIFAR10).steepness[0, 1]
    assert pooled == pytest.approx(4.573, abs=1e-3)
    assert identity_curves(SHOWN, CIFAR10).steepness[0, 1] == pytest.approx(4.902, abs=1e-3)
