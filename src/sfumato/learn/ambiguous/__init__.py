"""Turn one's own images into ambiguous ones, labelled by networks and marked as synthetic (S4-28).

``vae`` learns a latent space of the images, ``committee`` what several networks believe and where
they disagree, ``choice`` picks images of every degree of doubt, ``generate`` does all of it.
"""

from sfumato.learn.ambiguous.choice import Strata, choose, entropy_strata
from sfumato.learn.ambiguous.committee import (
    Committee,
    beliefs_of,
    mutual_information,
    train_committee,
)
from sfumato.learn.ambiguous.generate import AmbiguousImages, generate
from sfumato.learn.ambiguous.recipe import AmbiguousRecipe
from sfumato.learn.ambiguous.vae import Vae, VaeRecipe, decode, encode, gaussian_kl, train_vae

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
