from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import entropy as scipy_entropy

from sfumato.errors import DataError
from sfumato.evaluation.cartography import (
    FLOOR,
    PEOPLE_ONLY,
    InterestRules,
    ambiguous_by_class,
    bars,
    kinds_of_interest,
    mean_symmetric_relative_entropy,
    same_top_other_rest,
    samples_of_interest,
)
from sfumato.labels.labelset import LabelSet, hard_labels

NAN = float("nan")

HUMAN = LabelSet(
    ("unanimous", "slip", "blur", "two", "three"),
    ("a", "b", "c", "d"),
    np.array(
        [
            [1, 0, 0, 0],
            [0.9, 0.1, 0, 0],
            [0.4, 0.2, 0.2, 0.2],
            [0.55, 0.45, 0, 0],
            [0.4, 0.35, 0.25, 0],
        ]
    ),
)
CONFIDENCE = np.array([0.99, 0.95, 0.4, 0.5, 0.5])
VARIABILITY = np.array([0.3, 0.02, 0.05, 0.3, 0.2])
UNSURE = np.array([0.6, 0, 0.7, 0.2, 0.2])


def kinds(
    *,
    human: LabelSet = HUMAN,
    confidence: NDArray[np.float64] = CONFIDENCE,
    variability: NDArray[np.float64] = VARIABILITY,
    unsure: NDArray[np.float64] | None = UNSURE,
    rules: InterestRules | None = None,
) -> dict[str, str | None]:
    found = kinds_of_interest(
        human,
        confidence=confidence,
        variability=variability,
        unsure=unsure,
        rules=rules or InterestRules(),
    )
    return dict(zip(found["item"], found["kind"], strict=True))


def named(probs: NDArray[np.float64]) -> LabelSet:
    items = tuple(f"i{n}" for n in range(len(probs)))
    return LabelSet(items, tuple("abcdefghij"[: probs.shape[1]]), probs)


def test_planted_items_get_their_kinds() -> None:
    assert kinds() == {
        "unanimous": None,
        "slip": "few strays",
        "blur": "answers spread",
        "two": "two readings",
        "three": None,
    }


def test_kinds_without_unsure_marks_rest_on_the_top_two() -> None:
    assert kinds(unsure=None) == kinds()
    assert kinds(unsure=np.full(5, NAN)) == kinds()


def test_unsure_marks_decide_where_they_are_known() -> None:
    sure = kinds(unsure=np.zeros(5))
    doubtful = kinds(unsure=np.ones(5))

    assert sure["blur"] is None
    assert sure["slip"] == "few strays"
    assert doubtful["slip"] is None


def test_model_that_wavers_or_doubts_is_no_sign_of_annotator_noise() -> None:
    assert kinds(confidence=np.full(5, 0.4))["slip"] is None
    assert kinds(variability=np.array([0, 9, 1, 2, 3.0]))["slip"] is None


def test_steady_model_speaks_against_ambiguity() -> None:
    assert kinds(variability=np.array([0, 3, 2, 0.1, 4]))["two"] is None


def test_rules_on_people_only_ignore_the_model() -> None:
    unknown = np.full(5, NAN)

    found = kinds(confidence=unknown, variability=unknown, rules=PEOPLE_ONLY)
    with_model = kinds(confidence=unknown, variability=unknown)

    assert found == kinds()
    assert set(with_model.values()) == {None}


def test_first_kind_that_fits_counts() -> None:
    torn = named(np.array([[0.5, 0.5]]))  # two readings, and as spread as two classes can be
    one = np.ones(1)

    found = kinds(human=torn, confidence=one, variability=one, unsure=one, rules=PEOPLE_ONLY)
    sure = kinds(human=torn, confidence=one, variability=one, unsure=0 * one, rules=PEOPLE_ONLY)

    assert list(found.values()) == ["answers spread"]
    assert list(sure.values()) == ["two readings"]


def test_thresholds_include_their_value() -> None:
    human = named(np.array([[0.8, 0.1, 0.1], [0.55, 0.25, 0.2], [0.55, 0.2, 0.25]]))
    rules = InterestRules(confident=0, steady=1, volatile=0)

    found = kinds(
        human=human,
        confidence=np.ones(3),
        variability=np.ones(3),
        unsure=np.array([0.1, 0.4, 0.4]),
        rules=rules,
    )

    assert list(found.values()) == ["few strays", "two readings", "two readings"]


def test_samples_are_the_clearest_of_each_kind() -> None:
    human = named(np.array([[0.9, 0.1], [0.85, 0.15], [0.6, 0.4], [0.5, 0.5], [0.7, 0.3]]))
    found = kinds_of_interest(
        human,
        confidence=np.array([0.8, 0.9, 0.5, 0.5, 0.5]),
        variability=np.zeros(5),
        unsure=np.zeros(5),
        rules=PEOPLE_ONLY,
    )

    chosen = samples_of_interest(found, count=2)

    assert chosen.select("item", "kind").rows() == [
        ("i1", "few strays"),
        ("i0", "few strays"),
        ("i3", "two readings"),
        ("i2", "two readings"),
    ]


def test_numbers_behind_an_item_are_shown() -> None:
    found = kinds_of_interest(HUMAN, confidence=CONFIDENCE, variability=VARIABILITY)

    row = found.filter(item="three").row(0, named=True)

    assert row["human_entropy"] == pytest.approx(scipy_entropy([0.4, 0.35, 0.25]))
    assert [row[name] for name in ("off_top", "top_two", "second_mass")] == pytest.approx(
        [0.6, 0.75, 0.35]
    )


def test_threshold_that_is_no_share_is_refused() -> None:
    with pytest.raises(DataError, match=r"few_strays is 20; give one from 0 to 1"):
        InterestRules(few_strays=20)


def test_numbers_of_other_items_are_refused() -> None:
    with pytest.raises(DataError, match=r"5 items but confidence has shape \(2,\)"):
        kinds(confidence=np.ones(2))


def test_same_top_guess_with_other_alternatives_comes_first() -> None:
    human = named(np.array([[0.6, 0.4, 0], [0.6, 0.4, 0], [0.6, 0.4, 0], [0.4, 0.6, 0]]))
    model = named(np.array([[0.6, 0.4, 0], [1, 0, 0], [0.6, 0, 0.4], [0.6, 0.4, 0]]))

    found = same_top_other_rest(human, model)

    assert found["item"].to_list() == ["i2", "i1", "i0"]  # i3: another top guess
    assert found["rest_difference"].to_list() == pytest.approx([0.8, 0.4, 0])
    assert found["human_second"].to_list() == ["b", "b", "b"]
    assert found["model_second"].to_list() == ["c", None, "b"]
    assert found["model_rest"].to_list() == pytest.approx([0.4, 0, 0.4])
    assert same_top_other_rest(human, model, count=1)["item"].to_list() == ["i2"]


def test_tied_top_guess_is_no_shared_guess() -> None:
    tied, clear = named(np.array([[0.5, 0.5]])), named(np.array([[0.9, 0.1]]))

    assert same_top_other_rest(tied, clear).is_empty()
    assert same_top_other_rest(clear, tied).is_empty()


@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_divergence_is_scipys_mean_over_pairs_in_both_directions(rows: list[list[int]]) -> None:
    probs = [np.array(row) / np.sum(row) for row in rows]

    found = mean_symmetric_relative_entropy([named(row[None]) for row in probs])

    both = [scipy_entropy(p, q) for p in probs for q in probs if p is not q]
    pairs = len(rows) * (len(rows) - 1) / 2
    assert found[0] == pytest.approx(sum(both) / pairs, abs=1e-12)


def test_class_that_a_network_rounds_to_zero_is_floored() -> None:
    models = [named(np.array([[1.0, 0.0]])), named(np.array([[0.5, 0.5]]))]

    found = mean_symmetric_relative_entropy(models)

    assert found[0] == pytest.approx(np.log(2) + 0.5 * np.log(0.25 / FLOOR), rel=1e-4)


def test_each_class_gets_its_uncertain_and_its_contested_items() -> None:
    original = hard_labels(["w", "x", "y", "z"], ["a", "b"], np.array([0, 0, 0, 1]))
    one = LabelSet(original.items, ("a", "b"), np.array([[0.5, 0.5], [0.9, 0.1], [1, 0], [0, 1]]))
    two = LabelSet(original.items, ("a", "b"), np.array([[0.5, 0.5], [0.1, 0.9], [1, 0], [0, 1]]))

    found = ambiguous_by_class({"one": one, "two": two}, original, count=1)

    assert found.select("class", "chosen_for", "place", "item").rows() == [
        ("a", "entropy", 1, "w"),
        ("a", "divergence", 1, "x"),
        ("b", "entropy", 1, "z"),
        ("b", "divergence", 1, "z"),
    ]
    assert found["mean_entropy"][0] == pytest.approx(np.log(2))
    assert found["divergence"][1] == pytest.approx(2 * 0.8 * np.log(9), rel=1e-6)


def test_divergence_of_one_model_is_refused() -> None:
    with pytest.raises(DataError, match="two or more, and 1 was given"):
        ambiguous_by_class({"one": HUMAN}, HUMAN)


def test_bars_are_a_row_a_class_in_the_order_asked_for() -> None:
    found = bars({"people": HUMAN, "model": HUMAN}, ["two", "slip"])

    assert found.columns == ["item", "source", "class", "probability"]
    assert len(found) == 16
    assert found.row(0) == ("two", "people", "a", 0.55)
    assert found.row(15) == ("slip", "model", "d", 0)


def test_published_networks_agree_with_people_on_top_and_not_on_the_rest(
    data_folder: Path,
) -> None:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    human = named(votes / votes.sum(axis=1, keepdims=True))
    stored = data_folder / "cifar10h-predictions"
    models = {}
    for name in ("resnet_basic_110", "wrn_28_10", "vgg_15_BN_64"):
        probs = np.load(stored / f"{name}.npz")["probs"].astype(np.float64)
        models[name] = named(probs / probs.sum(axis=1, keepdims=True))
    original = hard_labels(human.items, human.classes, np.load(stored / "test_labels.npy"))

    gallery = same_top_other_rest(human, models["wrn_28_10"], count=20)
    exemplars = ambiguous_by_class(models, original)

    assert len(gallery) == 20
    assert gallery["rest_difference"].min() > 0.4  # type: ignore[operator]
    assert len(exemplars) == 10 * 2 * 4
    doubtful = exemplars.filter(chosen_for="entropy")
    spread = human.take(doubtful["item"].to_list())
    assert scipy_entropy(spread.probs, axis=1).mean() > 2 * 0.1545  # the mean over all items
