from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.alter import (
    class_level,
    in_fill,
    majority_labels,
    matched_smoothing,
    random_labels,
    smooth,
    softmax_votes,
    temperature,
    uniform_labels,
)
from sfumato.labels.compare import kl
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import entropy, non_max_mass
from sfumato.labels.votes import Votes
from sfumato.provenance import Step, is_simulated

ALTERATIONS: dict[str, Callable[[LabelSet], LabelSet]] = {
    "smooth": lambda labels: smooth(labels, 0.1),
    "matched": lambda labels: matched_smoothing(originals(labels), labels),
    "class level": lambda labels: class_level(labels, originals(labels)),
    "sharper": lambda labels: temperature(labels, 0.25),
    "flatter": lambda labels: temperature(labels, 10),
    "majority": lambda labels: majority_labels(labels, "share"),
    "in-fill": lambda labels: in_fill(labels.take(labels.items[:1]), originals(labels)),
}


def originals(labels: LabelSet) -> LabelSet:
    """A hard label for each item that depends on nothing but its and the classes' names."""
    names = sorted(labels.classes)
    chosen = [labels.classes.index(names[ord(item) % len(names)]) for item in labels.items]
    return hard_labels(labels.items, labels.classes, np.array(chosen))


def labelled(items: str, classes: str, *rows: list[float]) -> LabelSet:
    return LabelSet(tuple(items), tuple(classes), np.array(rows, dtype=np.float64))


@st.composite
def label_sets(draw: st.DrawFn) -> LabelSet:
    n_items, n_classes = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    row = st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes).filter(any)
    votes = np.array(draw(st.lists(row, min_size=n_items, max_size=n_items)))
    sizes = votes.sum(axis=1)
    return LabelSet(
        tuple("abcde"[:n_items]), tuple("wxyz"[:n_classes]), votes / sizes[:, None], sizes
    )


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    classes = (data_folder / "cifar10" / "classes.txt").read_text().split()
    sizes = votes.sum(axis=1)
    return LabelSet(
        tuple(map(str, range(len(votes)))), tuple(classes), votes / sizes[:, None], sizes
    )


@pytest.fixture(scope="module")
def cifar10(data_folder: Path, cifar10h: LabelSet) -> LabelSet:
    chosen = np.load(data_folder / "cifar10" / "test_labels.npy")
    return hard_labels(cifar10h.items, cifar10h.classes, chosen)


@pytest.mark.parametrize("name", ALTERATIONS)
@given(labels=label_sets())
def test_altered_rows_are_distributions_with_one_more_step(name: str, labels: LabelSet) -> None:
    altered = ALTERATIONS[name](labels)

    assert (altered.probs >= 0).all()
    assert altered.probs.sum(axis=1) == pytest.approx(1)
    assert len(altered.provenance) == 1
    assert altered.items == labels.items


@pytest.mark.parametrize("name", ALTERATIONS)
@given(labels=label_sets(), data=st.data())
def test_reordering_items_and_classes_reorders_the_result(
    name: str, labels: LabelSet, data: st.DataObject
) -> None:
    columns = data.draw(st.permutations(range(len(labels.classes))))
    rows = [0, *data.draw(st.permutations(range(1, len(labels))))]  # in-fill takes the first
    reordered = LabelSet(
        tuple(labels.items[row] for row in rows),
        tuple(labels.classes[column] for column in columns),
        labels.probs[np.ix_(rows, columns)],
    )

    expected = ALTERATIONS[name](labels).probs[np.ix_(rows, columns)]

    assert ALTERATIONS[name](reordered).probs == pytest.approx(expected)


@given(label_sets(), st.floats(0, 1))
def test_smoothing_gives_every_class_an_equal_part(labels: LabelSet, beta: float) -> None:
    by_hand = [[(1 - beta) * p + beta / len(row) for p in row] for row in labels.probs.tolist()]

    assert smooth(labels, beta).probs == pytest.approx(np.array(by_hand))


@pytest.mark.parametrize("beta", [-0.1, 1.1, np.nan])
def test_smoothing_outside_zero_to_one_is_refused(beta: float) -> None:
    with pytest.raises(DataError, match="from 0 to 1"):
        smooth(uniform_labels(["a"], ["x", "y"]), beta)


@given(label_sets())
def test_matched_smoothing_is_as_soft_as_the_people_it_was_matched_to(people: LabelSet) -> None:
    matched = matched_smoothing(originals(people), people)

    assert non_max_mass(matched).mean() == pytest.approx(non_max_mass(people).mean(), abs=1e-15)


def test_matched_smoothing_refuses_soft_labels() -> None:
    soft = labelled("a", "xy", [0.6, 0.4])

    with pytest.raises(DataError, match="'a' has mass on 2 classes"):
        matched_smoothing(soft, soft)


def test_matched_smoothing_refuses_an_empty_set_to_match() -> None:
    hard = hard_labels(["a"], ["x", "y"], np.array([0]))

    with pytest.raises(DataError, match="no items"):
        matched_smoothing(hard, hard.take([]))


def test_matched_smoothing_of_cifar10h_has_the_published_epsilon(
    cifar10: LabelSet, cifar10h: LabelSet
) -> None:
    matched = matched_smoothing(cifar10, cifar10h)

    assert matched.provenance[-1].settings["epsilon"] == pytest.approx(0.0456, abs=5e-5)
    assert non_max_mass(matched).mean() == pytest.approx(non_max_mass(cifar10h).mean(), abs=1e-12)


def test_class_level_labels_of_cifar10h_are_ten_vectors_at_the_published_distance(
    cifar10: LabelSet, cifar10h: LabelSet
) -> None:
    by_class = class_level(cifar10h, cifar10)

    cross_entropy = entropy(cifar10h) + kl(cifar10h, by_class)
    assert len(np.unique(by_class.probs, axis=0)) == 10
    assert cross_entropy.mean() == pytest.approx(0.2565, abs=5e-5)


def test_class_level_labels_need_hard_originals() -> None:
    soft = labelled("a", "xy", [0.6, 0.4])

    with pytest.raises(DataError, match="hard label was expected"):
        class_level(soft, soft)


@given(label_sets(), st.floats(0.2, 8), st.floats(0.2, 8))
def test_temperatures_multiply(labels: LabelSet, first: float, second: float) -> None:
    twice = temperature(temperature(labels, first), second)

    assert twice.probs == pytest.approx(temperature(labels, first * second).probs, abs=1e-9)


@given(label_sets())
def test_temperature_one_changes_nothing(labels: LabelSet) -> None:
    assert temperature(labels, 1).probs == pytest.approx(labels.probs)


@given(label_sets())
def test_the_coldest_temperature_is_the_majority(labels: LabelSet) -> None:
    coldest = temperature(labels, 1e-300)

    assert coldest.probs == pytest.approx(majority_labels(labels, "share").probs)


def test_temperature_is_stable_for_tiny_probabilities() -> None:
    labels = labelled("a", "xy", [1.0, 1e-300])

    hot = temperature(labels, 100)

    assert hot.probs[0, 1] == pytest.approx(1e-3 / (1 + 1e-3))


@pytest.mark.parametrize("degrees", [0, -1, np.inf, np.nan])
def test_temperatures_that_are_not_above_zero_are_refused(degrees: float) -> None:
    with pytest.raises(DataError, match="above 0"):
        temperature(uniform_labels(["a"], ["x", "y"]), degrees)


def test_softmax_of_votes_depends_on_the_margin_alone() -> None:
    item, label = np.array([0, 0, 0, 2, 2, 2, 2]), np.array([0, 0, 1, 0, 0, 1, 0])
    votes = Votes(("a", "b", "c"), (), ("x", "y"), item, np.full(7, -1), label)

    labels = softmax_votes(votes, T=2.0)

    odds = labels.probs[:, 0] / labels.probs[:, 1]
    assert labels.items == ("a", "c")
    assert odds == pytest.approx(np.exp([1 / 2, 2 / 2]))
    assert labels.weight.tolist() == [3, 4]
    assert labels.provenance[-1] == Step("softmax votes", {"T": 2.0})


def test_softmax_of_thousands_of_votes_does_not_overflow() -> None:
    votes = Votes(("a",), (), ("x", "y"), *np.zeros((3, 5000), dtype=np.int64))

    assert softmax_votes(votes).probs.tolist() == [[1, 0]]


def test_random_labels_are_repeatable_and_nobody_is_simulated_by_them() -> None:
    names = [f"i{n}" for n in range(2000)]

    once = random_labels(names, ["x", "y", "z"], rng=np.random.default_rng(3))
    again = random_labels(names, ["x", "y", "z"], rng=np.random.default_rng(3))

    assert (once.probs == again.probs).all()
    assert not is_simulated(once.provenance)
    assert once.probs.mean(axis=0) == pytest.approx(1 / 3, abs=0.01)


def test_uniform_labels_have_the_largest_entropy() -> None:
    labels = uniform_labels(["a", "b"], list("vwxyz"))

    assert entropy(labels) == pytest.approx(np.log(5))


def test_in_fill_takes_elicited_rows_and_weights_first() -> None:
    base = hard_labels(["a", "b", "c"], ["x", "y"], np.array([0, 1, 0]))
    elicited = LabelSet(
        ("c", "b"), ("y", "x"), np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([6.0, 7.0])
    )

    filled = in_fill(elicited, base)

    assert filled.items == ("a", "b", "c")
    assert filled.probs.tolist() == [[1, 0], [0.7, 0.3], [0.1, 0.9]]
    assert filled.weight.tolist() == [0, 7, 6]


def test_in_fill_names_an_elicited_item_that_the_base_lacks() -> None:
    base = uniform_labels(["a"], ["x", "y"])

    with pytest.raises(DataError, match=r"'q' has an elicited label but is not in the base \(1 of"):
        in_fill(uniform_labels(["a", "q"], ["x", "y"]), base)


def test_in_fill_refuses_other_classes() -> None:
    with pytest.raises(DataError, match="different classes: 'y', 'z'"):
        in_fill(uniform_labels(["a"], ["x", "y"]), uniform_labels(["a"], ["x", "z"]))


def test_in_fill_from_a_simulated_base_is_simulated_and_keeps_both_histories() -> None:
    elicited = hard_labels(["a"], ["x", "y"], np.array([0]), (Step("ask people"),))
    step = Step("simulate voters", simulated=True)
    base = hard_labels(["a", "b"], ["x", "y"], np.array([0, 1]), (step,))

    filled = in_fill(elicited, base)

    assert is_simulated(filled.provenance)
    assert [step.name for step in filled.provenance] == ["ask people", "in-fill"]
    assert "simulate voters" in str(filled.provenance[-1].settings["base"])


def test_majority_can_refuse_ties_by_name() -> None:
    tied = labelled("ab", "xyz", [0.9, 0.1, 0], [0.4, 0.2, 0.4])

    with pytest.raises(DataError, match=r"'b' has no single most probable class: 'x' and 'z' tie"):
        majority_labels(tied, "error")
    assert majority_labels(tied.take(["a"]), "error").probs.tolist() == [[1, 0, 0]]


def test_probabilities_that_differ_by_rounding_alone_are_a_tie() -> None:
    rounded = labelled("a", "xyz", [0.1 + 0.3, 0.4 + 1e-16, 0.2])
    different = labelled("a", "xyz", [0.4 + 1e-9, 0.4 - 1e-9, 0.2])

    assert rounded.probs[0, 0] != rounded.probs[0, 1]
    assert majority_labels(rounded, "share").probs.tolist() == [[0.5, 0.5, 0]]
    assert majority_labels(different, "share").probs.tolist() == [[1, 0, 0]]


def test_modes_of_cifar10h_differ_from_the_original_label_as_published(
    cifar10: LabelSet, cifar10h: LabelSet
) -> None:
    majority = majority_labels(cifar10h, "share")

    agreeing = (majority.probs * cifar10.probs).sum(axis=1)
    # The published 79 takes the first class of a tie: 77 clear modes and 2 of 3 ties.
    assert (cifar10h.probs.argmax(axis=1) != cifar10.probs.argmax(axis=1)).sum() == 79
    assert (agreeing == 0).sum() == 77
    assert majority.provenance[-1].settings["tied"] == 3


def test_smoothing_by_the_softness_of_simulated_people_is_simulated() -> None:
    hard = LabelSet(("a",), ("cat", "dog"), np.array([[1.0, 0.0]]))
    people = LabelSet(("c",), ("cat", "dog"), np.array([[0.8, 0.2]]))
    made_up = people.with_probs(people.probs, Step("simulate voters", simulated=True))

    assert not is_simulated(matched_smoothing(hard, people).provenance)
    assert is_simulated(matched_smoothing(hard, made_up).provenance)
