"""Evidence is canonical: it depends on names and answers, not on order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.labels.aggregate.evidence import evidence_of_distributions, evidence_of_votes
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import Votes


def test_entries_ascend_by_the_names_of_item_person_and_class() -> None:
    votes = Votes(
        ("b", "a"),
        ("q", "p"),
        ("y", "x"),
        np.array([0, 1, 1]),
        np.array([1, 0, 1]),
        np.array([0, 1, 0]),
    )

    evidence = evidence_of_votes(votes)

    assert (evidence.items, evidence.annotators) == (("a", "b"), ("p", "q"))
    assert evidence.classes == ("x", "y")
    assert evidence.item.tolist() == [0, 0, 1]
    assert evidence.person.tolist() == [0, 1, 0]
    assert evidence.label.tolist() == [1, 0, 1]
    assert evidence.item_order.tolist() == [1, 0]


def test_each_judgment_of_an_unknown_author_is_a_person_of_its_own() -> None:
    crowd = CrowdLabels(
        ("a",),
        ("p",),
        ("x", "y"),
        np.zeros(3, dtype=np.int64),
        np.array([NOT_RECORDED, 0, NOT_RECORDED]),
        np.array([[0.2, 0.8], [1, 0], [0.1, 0.9]]),
    )

    evidence = evidence_of_distributions(crowd)

    assert evidence.people == 3
    assert evidence.person.tolist() == [0, 1, 1, 2, 2]
    assert evidence.mass.tolist() == [1, 0.1, 0.9, 0.2, 0.8]


@given(seed=st.integers(0, 50))
def test_repeated_and_nameless_judgments_come_in_one_order_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    item, who = rng.integers(3, size=12), rng.integers(-1, 2, size=12)
    probs = rng.dirichlet(np.ones(3), size=12)
    names = tuple("abc"), tuple("pq"), tuple("xyz")
    rows = rng.permutation(12)

    plain = evidence_of_distributions(CrowdLabels(*names, item, who, probs))
    shuffled = evidence_of_distributions(CrowdLabels(*names, item[rows], who[rows], probs[rows]))

    for column in ("item", "person", "label", "mass"):
        assert np.array_equal(getattr(plain, column), getattr(shuffled, column))


def test_rows_a_little_off_one_are_scaled() -> None:
    probs, nought = np.array([[0.5000004, 0.5]]), np.zeros(1, dtype=np.int64)
    crowd = CrowdLabels(("a",), ("p",), ("x", "y"), nought, nought, probs)

    assert evidence_of_distributions(crowd).mass.sum() == 1
