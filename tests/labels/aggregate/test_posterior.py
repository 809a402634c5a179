"""Beliefs: exact where they can be, and equal where the evidence is."""

import numpy as np
import pytest

from sfumato.labels.aggregate import aggregate
from sfumato.labels.aggregate.posterior import GRAIN, posterior_of
from sfumato.labels.votes import Votes


def test_posterior_is_bayes_rule_to_eleven_digits() -> None:
    joint = np.random.default_rng(0).random((50, 4)) * 1e-3

    log_likelihood, posterior = posterior_of(np.log(joint))

    assert np.allclose(posterior, joint / joint.sum(axis=1, keepdims=True), rtol=0, atol=GRAIN)
    assert np.isclose(log_likelihood, np.log(joint.sum(axis=1)).sum(), rtol=1e-12)


def test_hopeless_classes_get_exactly_nothing() -> None:
    log_likelihood, posterior = posterior_of(np.array([[-5.0, -800.0, -2000.0], [0, -30, -700]]))

    assert posterior.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert log_likelihood == -5


@pytest.mark.parametrize("classes", ["abcd", "dcba"])
def test_even_evidence_is_never_decided_by_rounding(classes: str) -> None:
    # labels 0 and 3 play the same part for item 4 as 2 and 3 do for item 0; without rounding,
    # a hundred iterations turn differences of 1e-16 into certainty
    item = np.array([0, 0, 1, 2, 3, 3, 4, 4])
    who = np.array([0, 1, 2, 2, 0, 1, 0, 1])
    label = np.array([3, 2, 0, 2, 2, 0, 0, 3])
    votes = Votes(tuple("01234"), tuple("pqr"), tuple(classes), item, who, label)

    result = aggregate(votes, "dawid-skene", rng=np.random.default_rng(0))

    assert result.converged
    assert np.allclose(result.labels.probs[3], [0.5, 0, 0.5, 0], rtol=0, atol=1e-9)
