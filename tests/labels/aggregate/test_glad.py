"""GLAD: its gradient, its likelihood, and what it says about people and items."""

import math

import numpy as np
import pytest
from scipy.optimize import check_grad

from sfumato.labels.aggregate import aggregate
from sfumato.labels.aggregate.evidence import evidence_of_votes
from sfumato.labels.aggregate.glad import _Model
from sfumato.labels.votes import Votes


def some_votes(seed: int) -> Votes:
    """Even items are easy; of five people two are careful, two middling and one guesses."""
    rng = np.random.default_rng(seed)
    item, who = np.divmod(np.arange(40 * 5), 5)
    skill = np.array([0.95, 0.95, 0.75, 0.75, 0.4])[who] - 0.35 * (item % 2)
    label = np.where(rng.random(200) < skill, item % 3, rng.integers(3, size=200))
    items = tuple(f"i{code:02}" for code in range(40))
    return Votes(items, tuple("pqrst"), tuple("abc"), item, who, label)


@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_is_the_slope_of_the_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    evidence = evidence_of_votes(some_votes(seed))
    model = _Model.of(evidence, rng.standard_exponential(evidence.people))
    right = rng.random(len(model.votes))
    parameters = rng.normal(1, 1, size=45)

    error = check_grad(
        lambda at: model.loss(at, right)[0], lambda at: model.loss(at, right)[1], parameters
    )

    assert error < 1e-4


def test_first_entry_of_the_trace_is_the_log_joint_at_the_priors_means() -> None:
    votes = some_votes(0)

    result = aggregate(votes, "glad", rng=np.random.default_rng(0))

    right = 1 / (1 + np.exp(-math.e))  # α = β = 1
    total = 45 * -0.5 * np.log(2 * np.pi)
    for i in range(40):
        labels = votes.label[votes.item == i]
        joint = [np.prod(np.where(labels == t, right, (1 - right) / 2)) / 3 for t in range(3)]
        total += np.log(sum(joint))
    assert np.isclose(result.trace[0], total, rtol=1e-12)


def test_careful_people_are_able_and_disputed_items_difficult() -> None:
    result = aggregate(some_votes(0), "glad", rng=np.random.default_rng(0))

    assert result.quality is not None and result.difficulty is not None
    assert min(result.quality["p"], result.quality["q"]) > result.quality["t"]
    assert result.difficulty[1::2].mean() > 1.2 * result.difficulty[::2].mean()
    assert result.converged
