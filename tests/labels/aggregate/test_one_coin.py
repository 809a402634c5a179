"""The one-coin model against loops that follow its equations."""

import numpy as np
import pytest

from sfumato.labels.aggregate import aggregate
from sfumato.labels.votes import Votes


def some_votes(seed: int) -> Votes:
    rng = np.random.default_rng(seed)
    item, who = np.divmod(np.arange(20 * 5), 5)
    label = np.where(rng.random(100) < 0.7, item % 4, rng.integers(4, size=100))
    items = tuple(f"i{code:02}" for code in range(20))
    return Votes(items, tuple("pqrst"), tuple("abcd"), item, who, label)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_coin_equals_plain_loops(seed: int) -> None:
    votes = some_votes(seed)

    result = aggregate(
        votes, "one-coin", rng=np.random.default_rng(0), iterations=7, tolerance=-np.inf
    )

    posterior = np.zeros((20, 4))
    np.add.at(posterior, (votes.item, votes.label), 1 / 5)
    trace = []
    for _ in range(7):
        shares = posterior.mean(axis=0)
        skill = [posterior[votes.item, votes.label][votes.annotator == w].mean() for w in range(5)]
        total = 0.0
        for i in range(20):
            joint = shares.copy()
            for row in np.flatnonzero(votes.item == i):
                s = skill[votes.annotator[row]]
                joint *= np.where(np.arange(4) == votes.label[row], s, (1 - s) / 3)
            total += np.log(joint.sum())
            posterior[i] = joint / joint.sum()
        trace.append(total)
    assert np.allclose(result.labels.probs, posterior, rtol=0, atol=1e-10)
    assert np.allclose(result.trace, trace, rtol=1e-12)
    assert result.quality is not None
    after = [posterior[votes.item, votes.label][votes.annotator == w].mean() for w in range(5)]
    assert np.allclose(list(result.quality.values()), after)


def test_a_single_class_is_certain() -> None:
    votes = Votes(("a",), ("p", "q"), ("x",), *np.array([[0, 0], [0, 1], [0, 0]]))

    assert aggregate(votes, "one-coin", rng=np.random.default_rng(0)).labels.probs == 1
