"""What a generation of ambiguous images is told besides the images."""

from dataclasses import dataclass, field

from sfumato.errors import DataError
from sfumato.learn.ambiguous.choice import entropy_strata
from sfumato.learn.ambiguous.vae import VaeRecipe

__all__ = ["REAL_SHARE", "AmbiguousRecipe"]

REAL_SHARE = 0.9
"""Of held-out images, whose mutual information sets the limit where none is given. The limit
follows the networks: 0.1 nats is much between some and nothing between others."""


@dataclass(frozen=True)
class AmbiguousRecipe:
    """Everything about the generation except the images.

    Neither paper 5 nor Mukhoti et al. publish the limit of mutual information, the number of
    strata, the range of coefficients or the size of the VAE: these are ours.
    """

    count: int = 500
    strata: int = 5
    most_information: float | None = None
    """Nats of mutual information between the networks' beliefs that a kept image may have. By
    default what ``REAL_SHARE`` of the held-out images stay below: no stranger than real ones."""
    candidates: int = 20_000
    """Mixes to choose from."""
    between: tuple[str, ...] = ()
    """Classes whose images are mixed; all if none are named."""
    network: str | None = None
    """A name of ``NETWORKS``; by default LeNet, or one hidden layer for images under 12 pixels."""
    members: int = 5
    network_steps: int = 1000
    """Batches of 64 that each network learns from."""
    learn_from: int = 10_000
    """Images at most to learn from and to mix; of more, so many are drawn, evenly by class."""
    vae: VaeRecipe = field(default_factory=VaeRecipe)
    """Its seed is replaced by one drawn from ``seed``."""
    seed: int = 0

    def __post_init__(self) -> None:
        entropy_strata(self.strata)
        for name in ("count", "candidates", "network_steps", "learn_from"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.members < 2:
            raise DataError(
                f"There must be at least 2 networks, not {self.members}: one cannot disagree "
                "with itself."
            )
        if self.count % self.strata:
            raise DataError(
                f"{self.count} images cannot be divided equally among {self.strata} strata of "
                f"entropy; ask for a multiple of {self.strata}."
            )
        if self.most_information is not None and not self.most_information >= 0:
            raise DataError(
                f"The most mutual information is {self.most_information}; it is at least 0."
            )
