"""Label mixes without people: what Gaussians fitted to each class would call them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step

__all__ = ["gaussian_labels"]


def gaussian_labels(
    features: NDArray[np.float64],
    labels: LabelSet,
    items: Sequence[str],
    mixed_features: NDArray[np.float64],
    *,
    ridge: float = 1e-3,
) -> LabelSet:
    """p(c|x̃) ∝ N(x̃; μ_c, Σ_c), a Gaussian a class, classes equally likely beforehand.

    The control of S2-66 after Sohn et al. (2022), who call it GenLabel: ``features`` of the
    images behind ``labels`` (hard), row for row, describe the classes; ``mixed_features`` are
    those of the mixes ``items``. Pixels will do for small images; otherwise take what a network
    computes before its last layer. ``ridge``, in units of the features' mean variance, is added
    to the diagonal of every Σ_c, which a class with few images cannot fill.
    """
    if features.shape[0] != len(labels) or mixed_features.shape != (len(items), features.shape[1]):
        raise DataError(
            f"There are {len(labels)} labels and {len(items)} mixes, but features of shape "
            f"{features.shape} and {mixed_features.shape}."
        )
    if not ridge > 0:
        raise DataError(f"The ridge of the Gaussians is {ridge}; it must be above 0.")
    if (labels.probs.max(axis=1) < 1).any():
        raise DataError("Gaussians of classes need hard labels; use majority_labels first.")
    chosen = labels.probs.argmax(axis=1)
    floor = ridge * float(features.var(axis=0).mean()) * np.eye(features.shape[1])
    logs = np.empty((len(items), len(labels.classes)))
    for code, name in enumerate(labels.classes):
        rows = features[chosen == code]
        if not len(rows):
            raise DataError(f"No image is of the class {name!r}, so it has no Gaussian.")
        logs[:, code] = _log_density(mixed_features, rows, floor)
    step = Step("label by Gaussians", {"ridge": ridge, "images": len(labels)})
    return LabelSet(tuple(items), labels.classes, softmax(logs, axis=1), provenance=(step,))


def _log_density(
    points: NDArray[np.float64], rows: NDArray[np.float64], floor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of the Gaussian fitted to ``rows``, but for a constant that all classes share."""
    centred = rows - rows.mean(axis=0)
    root = cholesky(centred.T @ centred / len(rows) + floor, lower=True)
    whitened = solve_triangular(root, (points - rows.mean(axis=0)).T, lower=True)
    return -0.5 * (whitened**2).sum(axis=0) - np.log(np.diag(root)).sum()
