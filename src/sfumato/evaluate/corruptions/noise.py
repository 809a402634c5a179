"""Turn a picture into a noisy one."""

import numpy as np

from sfumato.evaluate.corruptions.picture import Picture, at_strength

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]


def gaussian_noise(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Normal noise on each value, as in low light."""
    sigma = at_strength((0.04, 0.06, 0.08, 0.09, 0.10), strength)
    return picture + sigma * rng.standard_normal(picture.shape)


def shot_noise(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Poisson noise, as from counting few photons: a white pixel is this many."""
    photons = at_strength((500, 250, 100, 75, 50), strength)
    return rng.poisson(picture * photons) / photons


def impulse_noise(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Salt and pepper: this share of the values becomes 0 or 1."""
    share = at_strength((0.01, 0.02, 0.03, 0.05, 0.07), strength)
    hit = rng.random(picture.shape) < share
    salt = rng.random(picture.shape) < 0.5
    return np.where(hit, salt.astype(np.float64), picture)


def speckle_noise(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Normal noise in proportion to the value, so that black stays black."""
    sigma = at_strength((0.06, 0.10, 0.12, 0.16, 0.20), strength)
    return picture * (1 + sigma * rng.standard_normal(picture.shape))
