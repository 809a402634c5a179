import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.mixing import gaussian_labels
from sfumato.provenance import Step

CLASSES = ("cat", "dog", "frog")


def problem() -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], LabelSet]:
    rng = np.random.default_rng(0)
    chosen = np.arange(90) % 3
    features = rng.normal(size=(90, 4)) * (1 + chosen)[:, None] + 3 * chosen[:, None]
    return features, hard_labels(tuple(map(str, range(90))), CLASSES, chosen)


def test_labels_are_the_posterior_of_a_gaussian_a_class() -> None:
    features, labels = problem()
    points = np.random.default_rng(1).normal(2, 3, size=(7, 4))

    found = gaussian_labels(features, labels, [f"m{n}" for n in range(7)], points, ridge=0.01)

    chosen = labels.probs.argmax(axis=1)
    floor = 0.01 * features.var(axis=0).mean() * np.eye(4)
    density = np.stack(
        [
            multivariate_normal(
                features[chosen == c].mean(axis=0), np.cov(features[chosen == c].T, ddof=0) + floor
            ).pdf(points)
            for c in range(3)
        ],
        axis=1,
    )
    assert np.allclose(found.probs, density / density.sum(axis=1, keepdims=True))


def test_more_features_than_images_need_the_ridge_and_work_with_it() -> None:
    rng = np.random.default_rng(2)
    labels = hard_labels(("a", "b", "c"), CLASSES, np.arange(3))
    features = rng.normal(size=(3, 20))

    found = gaussian_labels(features, labels, ["m"], features[:1])

    assert found.probs[0, 0] > 0.99


def test_impossible_requests_are_refused() -> None:
    features, labels = problem()
    soft = labels.with_probs(0.4 * labels.probs + 0.2, Step("soften"))

    with pytest.raises(DataError, match="hard labels"):
        gaussian_labels(features, soft, ["m"], features[:1])
    with pytest.raises(DataError, match="features of shape"):
        gaussian_labels(features, labels, ["m"], features[:2])
    with pytest.raises(DataError, match="ridge"):
        gaussian_labels(features, labels, ["m"], features[:1], ridge=0)
    some = labels.take([item for item in labels.items if int(item) % 3])
    with pytest.raises(DataError, match="'cat', so it has no Gaussian"):
        gaussian_labels(features[: len(some)], some, ["m"], features[:1])
