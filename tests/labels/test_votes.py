import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import counts, votes_of


def test_tie_at_the_top_casts_no_vote_and_is_counted() -> None:
    rows = np.array([[0.6, 0.4], [0.5, 0.5], [0.1, 0.9]])
    crowd = CrowdLabels(
        ("i",), ("p", "q", "r"), ("a", "b"), np.zeros(3, dtype=np.int64), np.arange(3), rows
    )

    votes = votes_of(crowd)

    assert counts(votes).tolist() == [[1, 1]]
    assert votes.provenance[-1].settings["tied_no_vote"] == 1


def test_methods_that_model_people_refuse_anonymous_votes() -> None:
    crowd = CrowdLabels(
        ("i",), (), ("a", "b"), np.array([0]), np.array([NOT_RECORDED]), np.eye(2)[:1]
    )

    with pytest.raises(DataError, match=r"'dawid-skene' models each annotator, but 1 of 1"):
        votes_of(crowd).require_annotators("dawid-skene")
