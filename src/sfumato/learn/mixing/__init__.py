"""Learn from mixes of images: every batch mixed anew, or a set of mixed images among the rest.

``Mixing`` says how batches are mixed and is handed to ``train``; ``Augmenting`` holds mixed
images that people judged and is handed to ``fit``. Labels of mixes come from
``sfumato.labels.mixing``.
"""

from sfumato.learn.mixing.augmenting import Augmenting, with_augmenting
from sfumato.learn.mixing.batch import draw_coefficients, mix_images, mix_targets
from sfumato.learn.mixing.losses import (
    clamped_weights,
    entropy,
    entropy_weighted_loss,
    max_entropy_loss,
    mixed_loss,
)
from sfumato.learn.mixing.mixing import Mixing

__all__ = [
    "Augmenting",
    "Mixing",
    "clamped_weights",
    "draw_coefficients",
    "entropy",
    "entropy_weighted_loss",
    "max_entropy_loss",
    "mix_images",
    "mix_targets",
    "mixed_loss",
    "with_augmenting",
]
