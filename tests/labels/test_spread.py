import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.labels.agreement import between_pairs
from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.signals import entropy, spread_of


@st.composite
def crowds(draw: st.DrawFn) -> CrowdLabels:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items, people, classes = (draw(st.integers(1, 6)) for _ in range(3))
    item, person = (grid.ravel() for grid in np.meshgrid(range(items), range(people)))
    hard = draw(st.booleans())
    rows = rng.dirichlet(np.full(classes, 0.5), len(item))
    probs = np.eye(classes)[rows.argmax(axis=1)] if hard else rows
    names = [
        tuple(f"{what}{place}" for place in range(count))
        for what, count in (("i", items), ("p", people), ("c", classes))
    ]
    return CrowdLabels(names[0], names[1], names[2], item, person, probs)


@given(crowds())
def test_doubt_and_disagreement_add_up_to_the_entropy_of_the_label(crowd: CrowdLabels) -> None:
    found = spread_of(crowd)

    assert found.total == pytest.approx(entropy(crowd.mean()))
    assert (found.doubt >= 0).all()
    if len(crowd.annotators) > 1:
        assert found.doubt + found.disagreement == pytest.approx(found.total, abs=1e-9)
        assert (found.disagreement >= 0).all()
    else:
        assert np.isnan(found.disagreement).all()
        assert not found.disputed.any()


@given(crowds())
def test_same_answers_are_never_disputed(crowd: CrowdLabels) -> None:
    first = np.array([np.flatnonzero(crowd.item == item)[0] for item in crowd.item])
    same = CrowdLabels(
        crowd.items, crowd.annotators, crowd.classes, crowd.item, crowd.annotator,
        crowd.probs[first],
    )  # fmt: skip

    assert not spread_of(same).disputed.any()
    assert spread_of(same).doubt == pytest.approx(spread_of(same).total)


@given(crowds())
def test_pairs_do_not_care_about_the_order_of_answers(crowd: CrowdLabels) -> None:
    turned = CrowdLabels(
        crowd.items, crowd.annotators, crowd.classes, crowd.item[::-1], crowd.annotator[::-1],
        crowd.probs[::-1],
    )  # fmt: skip

    assert between_pairs(crowd).equals(between_pairs(turned))
    people = len(crowd.annotators)
    assert len(between_pairs(crowd)) == people * (people - 1) // 2


def test_pairs_by_hand() -> None:
    labels = {"p": [0, 0, 1, 1], "q": [0, 1, 1, 1]}
    item = np.tile(np.arange(4), 2)
    chosen = np.array([*labels["p"], *labels["q"]])
    crowd = CrowdLabels(
        tuple("abcd"), ("p", "q"), ("x", "y"), item, np.repeat([0, 1], 4), np.eye(2)[chosen]
    )

    row = between_pairs(crowd).row(0, named=True)

    chance = 0.5 * 0.25 + 0.5 * 0.75
    assert row["same"] == 0.75
    assert row["kappa"] == pytest.approx((0.75 - chance) / (1 - chance))
    assert row["divergence"] == pytest.approx(np.log(2) / 4)
