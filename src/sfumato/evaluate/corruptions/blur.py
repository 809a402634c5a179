"""Turn a picture into a blurred one. Lengths are in pixels of a picture 32 wide."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve, gaussian_filter

from sfumato.evaluate.corruptions.picture import (
    Picture,
    at_strength,
    blurred,
    moved,
    pixels_of,
    zoomed,
)

__all__ = ["defocus_blur", "gaussian_blur", "glass_blur", "motion_blur", "zoom_blur"]


def gaussian_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """A Gaussian blur."""
    sigma = at_strength((0.4, 0.6, 0.7, 0.8, 1.0), strength)
    return blurred(picture, sigma * pixels_of(picture))


def defocus_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Out of focus: each point becomes a disk with a softened rim.

    Radii below one pixel leave the softening alone, so the first three strengths are small
    Gaussian blurs, as in CIFAR-10-C.
    """
    radius, softening = at_strength(
        ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)), strength
    )
    grown = pixels_of(picture)
    kernel = _disk(radius * grown, softening * grown)
    return convolve(picture, kernel[:, :, None], mode="mirror")


def glass_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Through frosted glass: blur, let each pixel show a near one, blur again.

    The published code means to let pixels change places, but by aliasing copies a near pixel
    from above or the left; the data set was made so, and so is this.
    """
    sigma, reach, rounds = at_strength(
        ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)), strength
    )
    grown = pixels_of(picture)
    height, width, _ = picture.shape
    soft = blurred(picture, sigma * grown)
    for _ in range(rounds):
        steps = rng.integers(-round(reach * grown), round(reach * grown), size=(2, height, width))
        rows = np.clip(np.arange(height)[:, None] + steps[0], 0, height - 1)
        columns = np.clip(np.arange(width)[None, :] + steps[1], 0, width - 1)
        soft = soft[rows, columns]
    return blurred(soft, sigma * grown)


def motion_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """The camera moved, within 45 degrees of sideways."""
    length, sigma = at_strength(((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5)), strength)
    grown = pixels_of(picture)
    return moved(picture, length=length * grown, sigma=sigma * grown, angle=rng.uniform(-45, 45))


def zoom_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """The camera came nearer: the mean of the picture and its enlargements in steps of 1 %."""
    percent = at_strength((5, 10, 15, 20, 25), strength)
    factors = [1 + each / 100 for each in range(percent + 1)]
    total = picture + sum(zoomed(picture, factor) for factor in factors)
    return total / (len(factors) + 1)


def _disk(radius: float, softening: float) -> NDArray[np.float64]:
    margin = int(np.ceil(radius)) + max(1, int(np.ceil(softening)))
    line = np.arange(-margin, margin + 1)
    disk = (line[:, None] ** 2 + line[None, :] ** 2 <= radius**2).astype(np.float64)
    soft = gaussian_filter(disk, softening, mode="constant", radius=max(1, int(np.ceil(softening))))
    return soft / soft.sum()
