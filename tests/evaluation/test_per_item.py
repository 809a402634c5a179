import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, top_k_accuracy_score

from sfumato.evaluation.metrics import (
    METRICS,
    accuracy,
    brier,
    confidence,
    confidence_right,
    confidence_wrong,
    cross_entropy,
    entropy,
    jensen_shannon,
    kl,
    l1,
    second_best_accuracy,
    second_best_accuracy_all,
    top2_accuracy,
    total_variation,
)
from sfumato.labels.compare import SMALLEST
from sfumato.labels.labelset import LabelSet, hard_labels

Probs = NDArray[np.float64]


def named(rows: object) -> LabelSet:
    probs = np.array(rows, dtype=np.float64)
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdefghij"[: probs.shape[1]]), probs
    )


@st.composite
def people_and_model(draw: st.DrawFn) -> tuple[LabelSet, LabelSet]:
    """People with zeros and ties; a model that excludes nothing, as a softmax."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_items, n_classes = draw(st.integers(1, 8)), draw(st.integers(3, 5))
    votes = rng.multinomial(5, rng.dirichlet(np.ones(n_classes)), size=n_items)
    return named(votes / 5), named(rng.dirichlet(np.full(n_classes, 0.5), size=n_items) + 1e-300)


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    return named(votes / votes.sum(axis=1, keepdims=True))


def stored(data_folder: Path, network: str) -> LabelSet:
    probs = np.load(data_folder / "cifar10h-predictions" / f"{network}.npz")["probs"]
    probs = probs.astype(np.float64)
    return named(probs / probs.sum(axis=1, keepdims=True))


@given(people_and_model())
def test_divergences_equal_those_of_scipy(pair: tuple[LabelSet, LabelSet]) -> None:
    human, model = pair
    rows = list(zip(human.probs, model.probs, strict=True))

    assert kl(human, model) == pytest.approx([scipy_entropy(p, q) for p, q in rows], abs=1e-12)
    assert cross_entropy(human, model) == pytest.approx(
        [scipy_entropy(p) + scipy_entropy(p, q) for p, q in rows], abs=1e-9
    )
    assert jensen_shannon(human, model) == pytest.approx(
        [jensenshannon(p, q) ** 2 for p, q in rows], abs=1e-9
    )
    assert entropy(human, model) == pytest.approx([scipy_entropy(q) for q in model.probs])


@given(people_and_model(), st.integers(0, 2**32 - 1))
def test_scores_against_hard_labels_equal_those_of_scikit_learn(
    pair: tuple[LabelSet, LabelSet], seed: int
) -> None:
    model = pair[1]
    n_classes = len(model.classes)
    chosen = np.random.default_rng(seed).integers(n_classes, size=len(model))
    hard = hard_labels(model.items, model.classes, chosen)
    every = np.arange(n_classes)

    assert accuracy(hard, model).mean() == accuracy_score(chosen, model.probs.argmax(axis=1))
    assert top2_accuracy(hard, model).mean() == pytest.approx(
        top_k_accuracy_score(chosen, model.probs, k=2, labels=every)
    )
    assert cross_entropy(hard, model).mean() == pytest.approx(
        log_loss(chosen, np.maximum(model.probs, 1e-15), labels=every), abs=1e-6
    )
    assert brier(hard, model).mean() == pytest.approx(
        brier_score_loss(chosen, model.probs, labels=every, scale_by_half=False)
    )


def test_a_small_case_equals_exact_fractions() -> None:
    people = [
        [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)],
        [Fraction(1), Fraction(), Fraction()],
    ]
    beliefs = [
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
        [Fraction(2, 5), Fraction(3, 5), Fraction()],
    ]
    pairs = [list(zip(p, q, strict=True)) for p, q in zip(people, beliefs, strict=True)]
    human, model = (
        named([[*map(float, p)] for p in people]),
        named([[*map(float, q)] for q in beliefs]),
    )

    squares = [sum((q - p) ** 2 for p, q in pair) for pair in pairs]
    apart = [sum(abs(q - p) for p, q in pair) for pair in pairs]
    nats = [-sum(p * math.log(q) for p, q in pair if p) for pair in pairs]

    assert squares == [Fraction(13, 72), Fraction(18, 25)]
    assert brier(human, model) == pytest.approx([*map(float, squares)], abs=1e-15)
    assert l1(human, model) == pytest.approx([*map(float, apart)], abs=1e-15)
    assert total_variation(human, model) == pytest.approx([float(a / 2) for a in apart], abs=1e-15)
    assert cross_entropy(human, model) == pytest.approx(nats, abs=1e-15)


@given(people_and_model())
def test_kl_is_cross_entropy_less_the_entropy_of_people(pair: tuple[LabelSet, LabelSet]) -> None:
    human, model = pair

    expected = cross_entropy(human, model) - entropy(model, human)

    assert kl(human, model) == pytest.approx(expected, abs=1e-9)


def test_a_class_that_the_model_excludes_costs_much_but_not_infinitely_much() -> None:
    human, model = named([[0.5, 0.5], [0, 1]]), named([[0, 1], [0, 1]])

    assert cross_entropy(human, model) == pytest.approx([-math.log(SMALLEST) / 2, 0])
    assert kl(human, model) == pytest.approx([-math.log(SMALLEST) / 2 - math.log(2), 0])
    assert -math.log(SMALLEST) == pytest.approx(87.34, abs=0.005)


def test_the_floor_changes_no_probability_that_float32_can_tell_from_zero() -> None:
    small = 1e-37
    loss = cross_entropy(named([[1, 0]]), named([[small, 1]]))

    assert loss == pytest.approx([-math.log(small)])


@pytest.mark.parametrize(
    ("human", "model", "expected"),
    [
        ([0.6, 0.3, 0.1], [0.1, 0.5, 0.4], 0),  # its second is c
        ([0.6, 0.3, 0.1], [0.5, 0.4, 0.1], 1),
        ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5], 1),  # first choices need not agree
        ([0.6, 0.4, 0.0], [0.9, 0.1 - 1e-13, 1e-13], 1),  # small differences of a softmax count
        ([0.6, 0.4, 0.0], [1 - 3e-14, 2e-14, 1e-14], 1),
        ([0.6, 0.3, 0.1], [1.0, 0.0, 0.0], 0),  # a one-hot model names no second class
        ([0.6, 0.3, 0.1], [0.6, 0.2, 0.2], 0),  # nor does one that ties for it
        ([0.6, 0.3, 0.1], [0.5, 0.5, 0.0], 0),
        ([1.0, 0.0, 0.0], [0.9, 0.1, 0.0], None),  # people have none
        ([1 - 1e-16, 1e-16, 0.0], [0.9, 0.1, 0.0], None),  # rounding is nobody's choice
        ([0.6, 0.2, 0.2], [0.6, 0.3, 0.1], None),
        ([0.4, 0.4, 0.2], [0.6, 0.3, 0.1], None),
        ([0.4, 0.3, 0.1 + 0.2], [0.6, 0.3, 0.1], None),
    ],
)
def test_second_best_accuracy_asks_for_a_second_choice_that_stands_alone(
    human: list[float], model: list[float], expected: int | None
) -> None:
    given_rows = np.array([human]) / np.sum(human)

    found = second_best_accuracy(named(given_rows), named([model]))

    assert found == pytest.approx([np.nan if expected is None else expected], nan_ok=True)


def test_with_two_classes_the_second_choice_is_the_other_class() -> None:
    human, model = named([[0.9, 0.1], [0.9, 0.1], [1, 0]]), named([[0.6, 0.4], [0.2, 0.8], [1, 0]])

    assert second_best_accuracy(human, model) == pytest.approx([1, 0, np.nan], nan_ok=True)


def test_a_single_class_has_no_second() -> None:
    only = named([[1.0]])

    assert np.isnan(second_best_accuracy(only, only)).all()
    assert np.isnan(second_best_accuracy_all(only, only)).all()


def test_the_published_second_best_accuracy_takes_the_last_of_equal_classes() -> None:
    human = named([[1, 0, 0], [0, 0, 1], [0.6, 0.2, 0.2]])
    last = named([[0.8, 0.05, 0.15], [0.05, 0.15, 0.8], [0.7, 0.1, 0.2]])

    assert second_best_accuracy_all(human, last).tolist() == [1, 1, 1]


def test_confidence_is_split_by_being_right() -> None:
    human, model = named([[1, 0], [0.2, 0.8]]), named([[0.7, 0.3], [0.6, 0.4]])

    assert confidence(human, model).tolist() == [0.7, 0.6]
    assert confidence_right(human, model) == pytest.approx([0.7, np.nan], nan_ok=True)
    assert confidence_wrong(human, model) == pytest.approx([np.nan, 0.6], nan_ok=True)
    right, wrong = confidence_right(human, model)[0], 0.6
    assert METRICS["confidence_gap"].overall(human, model) == pytest.approx(right - wrong)
    assert np.isnan(METRICS["confidence_gap"].overall(human, human))  # nowhere wrong


def test_top2_looks_for_the_choice_of_people_among_the_two_of_the_model() -> None:
    human = named([[0.4, 0.35, 0.25]] * 3)
    model = named([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.5, 0.3]])

    assert top2_accuracy(human, model).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("resnext_29_8x64d", 0.470),
        ("wrn_28_10", 0.468),
        ("shake_shake_26_2x64d_SSI_cutout16", 0.604),
    ],
)
def test_stored_networks_have_the_published_cross_entropy_to_people(
    data_folder: Path, cifar10h: LabelSet, network: str, expected: float
) -> None:
    loss = cross_entropy(cifar10h, stored(data_folder, network)).mean()

    assert loss == pytest.approx(expected, abs=5e-4)


def test_the_ensemble_of_stored_networks_has_the_published_cross_entropy_to_people(
    data_folder: Path, cifar10h: LabelSet
) -> None:
    files = sorted((data_folder / "cifar10h-predictions").glob("*.npz"))
    assert len(files) == 8
    ensemble = named(np.mean([stored(data_folder, file.stem).probs for file in files], axis=0))

    assert cross_entropy(cifar10h, ensemble).mean() == pytest.approx(0.407, abs=5e-4)


def test_no_picture_is_needed_for_half_of_the_published_second_best_accuracy(
    cifar10h: LabelSet,
) -> None:
    """Always answering truck second, or ship after truck, beats every stored network (C4)."""
    first = cifar10h.probs.argmax(axis=1)
    truck = np.where(first == 9, 8, 9)
    blind = named(0.6 * np.eye(10)[first] + 0.3 * np.eye(10)[truck] + 0.01)

    published = second_best_accuracy_all(cifar10h, blind)
    proper = second_best_accuracy(cifar10h, blind)

    assert published.mean() == pytest.approx(0.5085, abs=5e-5)
    assert (~np.isnan(proper)).sum() == 4727
    assert np.nanmean(proper) == pytest.approx(0.109, abs=5e-4)
