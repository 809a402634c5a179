"""Turn mixed images, and what people said about them, into label distributions.

``labels`` mixes the labels of two images and makes the baselines; ``percepts`` puts what people
saw in the place of the coefficient; ``curves`` says how the label of a class pair bends with it
and ``fit_curves`` learns that from people; ``gaussians`` labels mixes without people.
"""

from sfumato.labels.mixing.curves import CurveForm, Curves, mixed_by_curves
from sfumato.labels.mixing.fit_curves import (
    FittedCurves,
    PairFit,
    bootstrap_curves,
    fit_curves,
    identity_curves,
    pooled_curves,
    shuffled_curves,
)
from sfumato.labels.mixing.gaussians import gaussian_labels
from sfumato.labels.mixing.labels import Baseline, baseline_labels, classic_labels, mixed_rows
from sfumato.labels.mixing.percepts import (
    GAMMA,
    Percepts,
    human_matched,
    human_matched_crowd,
    percepts_of,
    percepts_within,
    shuffled_percepts,
    smoothing_share,
)

__all__ = [
    "GAMMA",
    "Baseline",
    "CurveForm",
    "Curves",
    "FittedCurves",
    "PairFit",
    "Percepts",
    "baseline_labels",
    "bootstrap_curves",
    "classic_labels",
    "fit_curves",
    "gaussian_labels",
    "human_matched",
    "human_matched_crowd",
    "identity_curves",
    "mixed_by_curves",
    "mixed_rows",
    "percepts_of",
    "percepts_within",
    "pooled_curves",
    "shuffled_curves",
    "shuffled_percepts",
    "smoothing_share",
]
