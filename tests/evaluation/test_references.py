from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import entropy as scipy_entropy

from sfumato.errors import DataError
from sfumato.evaluation.metrics import cross_entropy
from sfumato.evaluation.trials import class_oracle_labels, measure
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


def entropy_floor(people: LabelSet) -> float:
    """As the table of scores has it."""
    (row,) = measure(people, people, metrics=["entropy_floor"])
    return row.summary(row.rows)


def class_oracle(people: LabelSet, original: LabelSet) -> float:
    (row,) = measure(people, people, original=original, metrics=["class_oracle"])
    return row.summary(row.rows)


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
    best_constant = scipy_entropy(people.probs.mean(axis=0))

    lines = [entropy_floor(people), class_oracle(people, original), best_constant]

    assert lines == sorted(lines)


def test_original_labels_that_are_soft_are_refused() -> None:
    people, _ = some_people()

    with pytest.raises(DataError, match="'i0' has mass on 3 classes"):
        class_oracle(people, people)


def test_without_items_there_are_no_lines() -> None:
    nobody = named(np.empty((0, 3)))

    assert np.isnan(entropy_floor(nobody))
    assert np.isnan(class_oracle(nobody, nobody))
