from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MixJudgments
from sfumato.judgments.formats.datasets import CIFAR10, read_hmix
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.mixed import Mix
from sfumato.labels.labelset import NOT_RECORDED, LabelSet, hard_labels
from sfumato.labels.mixing import (
    GAMMA,
    Percepts,
    SmoothingForm,
    human_matched,
    human_matched_crowd,
    percepts_of,
    percepts_within,
    shuffled_percepts,
    smoothing_share,
)

CLASSES = ("cat", "dog", "frog", "ship")
ENDS = hard_labels(("a", "b", "c"), CLASSES, np.arange(3))
MIXES = (Mix("a", "b", "cat", "dog", 0.5), Mix("c", "a", "frog", "cat", 0.9))


def said(*columns: Any) -> Percepts:
    """Percepts from plain lists."""
    return Percepts(*columns)


def people(confidence: tuple[float, float, float] = (1, 0.5, 0)) -> Percepts:
    """Two people about the first mix, one about the second."""
    return said(MIXES, ("p", "q"), [0, 0, 1], [0, 1, 0], [0.25, 0.75, 1], confidence)


def test_averaged_label_has_the_mean_of_what_people_saw() -> None:
    found = human_matched(people(), ENDS)

    assert np.allclose(found.probs, np.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0]]))
    assert found.weight.tolist() == [2, 1]
    assert found.items == ("0.5 a + b", "0.9 c + a")


def test_each_person_has_a_label_of_their_own_and_their_mean_is_the_averaged_one() -> None:
    crowd = human_matched_crowd(people(), ENDS)

    expected = np.array([[0.25, 0.75, 0, 0], [0.75, 0.25, 0, 0], [0, 0, 1, 0]])
    assert np.allclose(crowd.probs, expected)
    assert crowd.annotator.tolist() == [0, 1, 0]
    assert np.allclose(crowd.mean().probs, human_matched(people(), ENDS).probs)


def test_averaged_confidence_smooths_once_and_single_ones_each_their_own() -> None:
    averaged = human_matched(people(), ENDS, gamma=GAMMA)
    single = human_matched_crowd(people(), ENDS, gamma=GAMMA)

    share = 0.005**0.75
    assert np.allclose(averaged.probs[0], (1 - share) * np.array([0.5, 0.5, 0, 0]) + share / 4)
    share = 0.005**0.5
    assert np.allclose(single.probs[1], (1 - share) * np.array([0.75, 0.25, 0, 0]) + share / 4)
    assert not np.allclose(single.mean().probs, averaged.probs)


@pytest.mark.parametrize("form", ["published", "exact"])
@given(seen=st.floats(0, 1), gamma=st.floats(1e-6, 0.999))
def test_no_confidence_gives_a_uniform_label(
    form: SmoothingForm, seen: float, gamma: float
) -> None:
    one = said(MIXES[:1], ("p",), [0], [0], [seen], [0])

    assert np.allclose(human_matched(one, ENDS, gamma=gamma, form=form).probs, 0.25, atol=1e-15)
    assert np.allclose(human_matched_crowd(one, ENDS, gamma=gamma, form=form).probs, 0.25)


@given(seen=st.floats(0, 1), gamma=st.floats(1e-6, 0.999))
def test_full_confidence_gives_the_two_class_label_exactly_or_up_to_gamma(
    seen: float, gamma: float
) -> None:
    one = said(MIXES[:1], ("p",), [0], [0], [seen], [1])
    two_class = human_matched(one, ENDS).probs

    exact = human_matched(one, ENDS, gamma=gamma, form="exact").probs
    published = human_matched(one, ENDS, gamma=gamma).probs

    assert np.array_equal(exact, two_class)
    assert np.allclose(published, (1 - gamma) * two_class + gamma / 4)
    assert np.abs(published - two_class).sum() <= 2 * gamma


@given(gamma=st.floats(1e-6, 0.999), confidence=st.floats(0, 1), more=st.floats(0, 1))
def test_more_confidence_never_smooths_more_and_both_forms_are_within_gamma(
    gamma: float, confidence: float, more: float
) -> None:
    low, high = sorted((confidence, more))

    published = smoothing_share(np.array([low, high]), gamma)
    exact = smoothing_share(np.array([low, high]), gamma, "exact")

    assert published[0] >= published[1]
    assert exact[0] >= exact[1]
    assert ((published - exact >= -1e-12) & (published - exact <= gamma + 1e-12)).all()
    assert ((exact >= -1e-12) & (published <= 1)).all()


def test_impossible_gamma_and_missing_confidence_are_refused() -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        human_matched(people(), ENDS, gamma=1.0)
    with pytest.raises(DataError, match=r"'0\.9 c \+ a' states no confidence \(1 of 3"):
        human_matched_crowd(people((1, 1, np.nan)), ENDS, gamma=GAMMA)


def test_soft_endpoints_are_matched_too() -> None:
    soft = LabelSet(("a", "b"), CLASSES, np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]))
    one = said(MIXES[:1], ("p",), [0], [0], [0.2], [1])

    assert np.allclose(human_matched(one, soft).probs, [[0.1, 0.1, 0.4, 0.4]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coefficient": [0.5, 1.5, 0.5]}, r"coefficient 1\.5"),
        ({"coefficient": [0.5, np.nan, 0.5]}, "coefficient nan"),
        ({"confidence": [0.5, -1, 0.5]}, r"confidence -1\.0"),
        ({"mix": [0, 0, 0]}, r"Nobody judged the mix '0\.9 c \+ a'"),
        ({"mixes": (MIXES[0], MIXES[0])}, "more than once"),
    ],
)
def test_impossible_percepts_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "mixes": MIXES,
        "annotators": ("p",),
        "mix": [0, 0, 1],
        "annotator": [0, 0, 0],
        "coefficient": [0.5, 0.5, 0.5],
        "confidence": [1, 1, 1],
    }

    with pytest.raises(DataError, match=message):
        Percepts(**{**good, **change})


def answers() -> MixJudgments:
    table = pl.DataFrame(
        {
            "mix": ["m", "m", "m", "n"],
            "first_item": ["a", "a", "a", "c"],
            "second_item": ["b", "b", "b", "a"],
            "first_class": ["cat", "cat", "cat", "frog"],
            "second_class": ["dog", "dog", "dog", "cat"],
            "shown": [0.5, 0.5, 0.5, 0.9],
            "annotator": ["q", "q", None, "p"],
            "perceived": [0.25, 0.5, 0.75, 1.0],
            "confidence": [1.0, 1.0, None, 0.0],
            "view": ["first", "repeat", "first", "first"],
            "task": ["infer"] * 4,
        }
    )
    return MixJudgments(table)


def test_percepts_are_first_views_under_the_names_of_the_mixes() -> None:
    found = percepts_of(answers())

    assert found.items == ("0.5 a + b", "0.9 c + a")
    assert found.coefficient.tolist() == [0.25, 0.75, 1]
    assert found.annotators == ("p", "q")
    assert found.annotator.tolist() == [1, NOT_RECORDED, 0]
    assert np.isnan(found.confidence).tolist() == [False, True, False]
    assert found.provenance[-1].settings == {"kept": 3, "left_out": 1}


def test_labels_of_the_real_h_mix_are_those_of_its_two_classes(data_folder: Path) -> None:
    path = next((data_folder / "hmix").rglob("hmix_infer_mixing_factor.csv"))
    found = percepts_of(read_hmix(path, ReadOptions()))
    ends = {mix.first_item: mix.first_class for mix in found.mixes}
    ends |= {mix.second_item: mix.second_class for mix in found.mixes}
    codes = np.array([CIFAR10.index(name) for name in ends.values()])

    labels = human_matched(found, hard_labels(tuple(ends), CIFAR10, codes))

    assert (len(found), len(found.mixes)) == (4788, 2070)  # 4,950 answers less 162 repeats
    first = np.array([CIFAR10.index(mix.first_class) for mix in found.mixes])
    mean = pl.DataFrame({"m": found.mix, "c": found.coefficient}).group_by("m").mean().sort("m")
    assert np.allclose(labels.probs[np.arange(len(first)), first], mean["c"].to_numpy())
    assert ((labels.probs > 0).sum(axis=1) <= 2).all()


def test_percepts_within_some_items_are_those_of_mixes_of_nothing_else() -> None:
    found = percepts_within(people((0.1, 0.2, 0.3)), ["a", "c", "unknown"])

    assert found.items == ("0.9 c + a",)
    assert (found.mix.tolist(), found.annotator.tolist()) == ([0], [0])
    assert (found.coefficient.tolist(), found.confidence.tolist()) == ([1], [0.3])
    assert found.provenance[-1].settings == {"kept": 1, "left_out": 1}
    assert percepts_within(people(), "abc").mix.tolist() == people().mix.tolist()


@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_shuffled_percepts_keep_every_answer_but_none_in_its_place(
    halves: int, quarters: int, seed: int
) -> None:
    mixes = [
        Mix(f"a{place}", f"b{place}", "cat", "dog", 0.5 if place < halves else 0.25)
        for place in range(halves + quarters)
    ]
    number = len(mixes)
    share = np.arange(2 * number) / (2 * number)
    given = said(mixes, ("p", "q"), [*range(number)] * 2, [0] * number + [1] * number, share, share)
    found = shuffled_percepts(given, rng=np.random.default_rng(seed))

    assert (found.mix != given.mix).all()
    assert np.array_equal(found.mix[:number], found.mix[number:])  # all answers about a mix move
    assert ((found.mix < halves) == (given.mix < halves)).all()  # to one of the same coefficient
    assert sorted(found.mix) == sorted(given.mix)
    assert np.array_equal(found.coefficient, given.coefficient)


def test_answers_about_the_only_mix_of_its_coefficient_cannot_be_shuffled() -> None:
    with pytest.raises(DataError, match=r"Only '0\.5 a \+ b' is mixed with the coefficient 0\.5"):
        shuffled_percepts(people(), rng=np.random.default_rng(0))
