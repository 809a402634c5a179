"""Turn one's own images into ambiguous ones, labelled by networks and marked as synthetic (S4-28).

``models`` holds the two that are trained: a latent space of the images, and a committee that says
what networks believe and where they disagree. ``generate`` picks images of every degree of doubt.
"""

from sfumato.learn.ambiguous.generate import (
    AmbiguousImages,
    AmbiguousRecipe,
    Strata,
    choose,
    entropy_strata,
    generate,
)
from sfumato.learn.ambiguous.models import (
    Committee,
    Vae,
    VaeRecipe,
    beliefs_of,
    decode,
    encode,
    gaussian_kl,
    mutual_information,
    train_committee,
    train_vae,
)

__all__ = [
    "AmbiguousImages",
    "AmbiguousRecipe",
    "Committee",
    "Strata",
    "Vae",
    "VaeRecipe",
    "beliefs_of",
    "choose",
    "decode",
    "encode",
    "entropy_strata",
    "gaussian_kl",
    "generate",
    "mutual_information",
    "train_committee",
    "train_vae",
]
