"""Items are divided by how people judged them, and the published counts come out."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import (
    agreement_strata,
    disputed_thirds,
    entropy,
    hlv_strata,
    original_agreement,
    strata_of,
)


def named(probs: NDArray[np.float64]) -> LabelSet:
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdefghij"[: probs.shape[1]]), probs
    )


@st.composite
def vote_shares(draw: st.DrawFn) -> LabelSet:
    """Shares of six votes among three classes: many unanimous rows, many ties."""
    row = st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: sum(pair) <= 6)
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return named(np.array([[a, b, 6 - a - b] for a, b in rows]) / 6)


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path) -> LabelSet:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    classes = (data_folder / "cifar10" / "classes.txt").read_text().split()
    probs = votes / votes.sum(axis=1, keepdims=True)
    return LabelSet(tuple(map(str, range(len(votes)))), tuple(classes), probs)


@pytest.fixture(scope="module")
def original(data_folder: Path, cifar10h: LabelSet) -> LabelSet:
    chosen = np.load(data_folder / "cifar10" / "test_labels.npy")
    return hard_labels(cifar10h.items, cifar10h.classes, chosen)


@given(vote_shares())
def test_every_item_is_either_unanimous_or_disputed(human: LabelSet) -> None:
    strata = strata_of(human)

    assert list(strata) == ["unanimous", "disputed"]
    assert (strata["unanimous"] ^ strata["disputed"]).all()
    assert strata["unanimous"].tolist() == [6 in row for row in (human.probs * 6).round().tolist()]


def test_rounding_does_not_dispute_an_item_but_a_millionth_does() -> None:
    human = named(np.array([[1 - 3e-17, 1e-17], [1 - 1e-6, 1e-6]]))

    assert strata_of(human)["disputed"].tolist() == [False, True]


def test_cifar10h_is_unanimous_on_its_known_share(cifar10h: LabelSet) -> None:
    """Section 4.2 of the definitions: 43.9 % of images are unanimous."""
    assert strata_of(cifar10h)["unanimous"].mean() == pytest.approx(0.439, abs=5e-4)


def test_an_unsure_mark_about_the_agreed_class_is_no_label_variation() -> None:
    human = named(np.array([[1.0, 0], [1, 0], [1, 0], [0.5, 0.5]]))

    strata = hlv_strata(human, np.array([0, 0.2, np.nan, 0]))

    assert {name: np.flatnonzero(mask).tolist() for name, mask in strata.items()} == {
        "NoHLV": [0, 1, 2],
        "HLV": [3],
        "NoHLV, all sure": [0],
        "NoHLV, some unsure": [1],
    }


@pytest.mark.parametrize(
    ("unsure", "says"),
    [([0.0], "2 items but shares of unsure"), ([0.0, 1.5], "item 'i1' is 1.5")],
)
def test_shares_of_unsure_annotators_of_the_wrong_form_are_refused(
    unsure: list[float], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        hlv_strata(named(np.eye(2)), np.array(unsure))


@given(vote_shares())
def test_thirds_divide_the_disputed_items_in_order_of_entropy(human: LabelSet) -> None:
    thirds = list(disputed_thirds(human).values())
    spread = entropy(human).round(12)

    assert (np.sum(thirds, axis=0) == strata_of(human)["disputed"]).all()
    for lower, upper in pairwise(thirds):
        if lower.any() and upper.any():
            assert spread[lower].max() < spread[upper].min()


def test_thirds_of_different_entropies_are_of_one_size() -> None:
    mass = np.linspace(0.01, 0.5, 30)
    human = named(np.stack([1 - mass, mass], axis=1))

    assert [int(mask.sum()) for mask in disputed_thirds(human).values()] == [10, 10, 10]


def test_modes_of_cifar10h_differ_from_the_original_on_79_items(
    cifar10h: LabelSet, original: LabelSet
) -> None:
    """S0-49."""
    found = original_agreement(cifar10h, original)

    assert (found.differ, found.tied) == (79, 3)
    assert found.share == pytest.approx(0.9921)
    assert agreement_strata(cifar10h, original)["mode shifted"].sum() == 79


def test_modes_on_the_elicited_items_differ_on_29_and_62(
    data_folder: Path, cifar10h: LabelSet, original: LabelSet
) -> None:
    """S0-49: 29 of the 1,000 by CIFAR-10H, 62 by CIFAR-10S."""
    path = data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json"
    answers = json.loads(path.read_text())
    cifar10s = LabelSet(
        tuple(answers),
        cifar10h.classes,
        np.stack([np.mean(rows, axis=0) for rows in answers.values()]),
    )

    many = original_agreement(cifar10h.take(cifar10s.items), original)
    few = original_agreement(cifar10s, original)

    assert (many.differ, few.differ) == (29, 62)


def test_agreement_follows_the_names_of_classes_not_their_order() -> None:
    human = LabelSet(("x", "y"), ("cat", "dog"), np.array([[0.9, 0.1], [0.3, 0.7]]))
    original = LabelSet(("y", "x"), ("dog", "cat"), np.array([[1.0, 0], [0, 1]]))

    assert original_agreement(human, original).agrees.all()


def test_agreement_of_no_items_is_refused() -> None:
    nothing = LabelSet((), ("a", "b"), np.empty((0, 2)))

    with pytest.raises(DataError, match="no items"):
        original_agreement(nothing, nothing)
