from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import entropy as scipy_entropy

from sfumato.errors import DataError
from sfumato.evaluation.metrics import accuracy, cross_entropy
from sfumato.evaluation.references import (
    class_oracle,
    class_oracle_labels,
    entropy_floor,
    majority_class,
    mean_label,
    rms_calibration_floor,
    uniform,
)
from sfumato.labels.alter import uniform_labels
from sfumato.labels.labelset import LabelSet, hard_labels


def named(rows: object) -> LabelSet:
    probs = np.array(rows, dtype=np.float64)
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdefghij"[: probs.shape[1]]), probs
    )


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    return named(votes / votes.sum(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def original(data_folder: Path, cifar10h: LabelSet) -> LabelSet:
    chosen = np.load(data_folder / "cifar10h-predictions" / "test_labels.npy")
    return hard_labels(cifar10h.items, cifar10h.classes, chosen)


def some_people(n_items: int = 60) -> tuple[LabelSet, NDArray[np.int64]]:
    rng = np.random.default_rng(8)
    chosen = rng.integers(3, size=n_items)
    return named(rng.dirichlet(np.ones(3), size=n_items) / 2 + np.eye(3)[chosen] / 2), chosen


def test_cifar10h_has_the_known_floor_and_class_oracle(
    cifar10h: LabelSet, original: LabelSet
) -> None:
    assert entropy_floor(cifar10h) == pytest.approx(0.1545, abs=5e-5)
    assert class_oracle(cifar10h, original) == pytest.approx(0.2565, abs=5e-5)


def test_the_floor_is_reached_by_people_themselves() -> None:
    people, _ = some_people()

    assert entropy_floor(people) == pytest.approx(scipy_entropy(people.probs, axis=1).mean())
    assert entropy_floor(people) == pytest.approx(cross_entropy(people, people).mean())


def test_the_class_oracle_scores_the_mean_entropy_of_the_class_means() -> None:
    people, chosen = some_people()
    original = hard_labels(people.items, people.classes, chosen)

    of_class = [
        (chosen == k).mean() * scipy_entropy(people.probs[chosen == k].mean(axis=0))
        for k in range(3)
    ]

    assert class_oracle(people, original) == pytest.approx(sum(of_class))


def test_the_class_oracle_takes_original_labels_in_any_order() -> None:
    people, chosen = some_people()
    original = hard_labels(people.items, people.classes, chosen)

    turned = class_oracle(people, original.take(original.items[::-1]))

    assert turned == class_oracle(people, original)


def test_the_class_oracle_answers_as_a_model_does() -> None:
    people, chosen = some_people()
    oracle = class_oracle_labels(people, hard_labels(people.items, people.classes, chosen))

    assert len(np.unique(oracle.probs, axis=0)) == 3
    assert not oracle.weight.any()  # nobody judged anything
    assert oracle.provenance[-1].name == "make class-level"


def test_reference_lines_come_in_their_order() -> None:
    people, chosen = some_people()
    original = hard_labels(people.items, people.classes, chosen)

    lines = [entropy_floor(people), class_oracle(people, original), mean_label(people)]

    assert lines == sorted(lines)
    assert mean_label(people) == pytest.approx(scipy_entropy(people.probs.mean(axis=0)))
    assert mean_label(people) <= uniform(people)


def test_knowing_nothing_costs_log_k() -> None:
    people, _ = some_people()
    flat = uniform_labels(people.items, people.classes)

    assert uniform(people) == pytest.approx(cross_entropy(people, flat).mean())


def test_the_majority_class_is_right_as_often_as_it_occurs() -> None:
    people = named([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    always = named([[0, 1]] * 3)

    assert majority_class(people) == pytest.approx(accuracy(people, always).mean())


def test_original_labels_that_are_soft_are_refused() -> None:
    people, _ = some_people()

    with pytest.raises(DataError, match="'i0' has mass on 3 classes"):
        class_oracle(people, people)


@pytest.mark.parametrize(("n_items", "bin_size"), [(3000, 100), (100, 10), (457, 100)])
def test_chance_leaves_the_binomial_share_of_calibration_error(n_items: int, bin_size: int) -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, size=n_items)
    model = named(np.stack([sure, 1 - sure], axis=1))

    floor = rms_calibration_floor(model, rng=rng, draws=300)

    bins = n_items // bin_size
    expected = np.sqrt((sure * (1 - sure)).mean() * bins / n_items)
    assert floor == pytest.approx(expected, rel=0.12)


def test_the_floor_of_calibration_comes_from_the_given_generator() -> None:
    model, _ = some_people()

    first, second = (
        rms_calibration_floor(model, rng=np.random.default_rng(4), draws=5) for _ in range(2)
    )

    assert first == second > 0


def test_no_draws_are_refused() -> None:
    with pytest.raises(DataError, match="0 draws"):
        rms_calibration_floor(named([[1, 0]]), rng=np.random.default_rng(0), draws=0)


def test_without_items_there_are_no_lines() -> None:
    nobody = named(np.empty((0, 3)))
    lines = [entropy_floor, uniform, mean_label, majority_class]

    assert all(np.isnan(line(nobody)) for line in lines)
    assert np.isnan(class_oracle(nobody, nobody))
    assert np.isnan(rms_calibration_floor(nobody, rng=np.random.default_rng(0)))
