"""Linear, logarithmic and skill-weighted pools against their formulas."""

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.provenance import Setting

PROBS = np.array([[0.7, 0.3, 0], [0.2, 0.8, 0], [0.5, 0.5, 0], [0.1, 0, 0.9]])
CROWD = CrowdLabels(
    ("a", "b"),
    ("p", "q", "r"),
    ("x", "y", "z"),
    np.array([0, 0, 0, 1]),
    np.array([0, 1, 2, 1]),
    PROBS,
)


def test_linear_pool_weights_people() -> None:
    labels = aggregate(
        CROWD, "linear-pool", rng=np.random.default_rng(0), weights={"p": 3.0, "q": 2.0}
    ).labels

    assert np.allclose(labels.probs[0], (3 * PROBS[0] + 2 * PROBS[1] + PROBS[2]) / 6)
    assert np.allclose(labels.probs[1], PROBS[3])


def test_logarithmic_pool_is_the_weighted_geometric_mean_above_a_floor() -> None:
    labels = aggregate(
        CROWD, "log-pool", rng=np.random.default_rng(0), weights={"p": 3.0}, floor=0.25
    ).labels

    raised = np.maximum(PROBS[:3, :2], 0.25)
    product = np.prod(raised ** (np.array([3, 1, 1])[:, None] / 5), axis=0)
    # nobody gives z any mass in item a, and only it and x have any in item b
    assert np.allclose(labels.probs[0], [*(product / product.sum()), 0])
    assert np.allclose(labels.probs[1], np.array([0.25, 0, 0.9]) / 1.15)


@pytest.mark.parametrize("floor", [0.0, 1.0])
def test_a_floor_outside_its_range_is_refused(floor: float) -> None:
    with pytest.raises(DataError, match=f"floor of the logarithmic pool is {floor}"):
        aggregate(CROWD, "log-pool", rng=np.random.default_rng(0), floor=floor)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"nobody": 1.0}, "weight is given for 'nobody'"),
        ({"p": 0.0}, "weight of 'p' is 0.0"),
        ({"p": float("nan")}, "weight of 'p' is nan"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights: dict[str, Setting], message: str) -> None:
    with pytest.raises(DataError, match=message):
        aggregate(CROWD, "linear-pool", rng=np.random.default_rng(0), weights=weights)


def test_skill_is_agreement_with_the_others() -> None:
    result = aggregate(CROWD, "skill-weighted-pool", rng=np.random.default_rng(0), prior_pairs=2.0)

    same = PROBS[:3] @ PROBS[:3].T  # P(two draws are the same)
    agreed = same.sum(axis=1) - np.diag(same)
    overall = agreed.sum() / 6
    skill = (agreed + 2 * overall) / (2 + 2)
    assert result.quality is not None
    assert np.allclose(list(result.quality.values()), skill)
    assert np.allclose(result.labels.probs[0], skill @ PROBS[:3] / skill.sum())


def test_skills_need_names() -> None:
    nameless = CrowdLabels(
        ("a",), (), ("x", "y"), np.zeros(2, dtype=np.int64), np.full(2, NOT_RECORDED), np.eye(2)
    )

    with pytest.raises(DataError, match="'skill-weighted-pool' models each annotator, but 2 of 2"):
        aggregate(nameless, "skill-weighted-pool", rng=np.random.default_rng(0))
