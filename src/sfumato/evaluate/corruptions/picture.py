"""What the corruptions share: shifting, zooming and clouding one picture.

A picture is an array of floats from 0 to 1, shape (height, width, channels), of 1 or 3
channels. Strengths are those of CIFAR-10-C, whose pictures are 32 pixels wide.
"""

from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

__all__ = [
    "Picture",
    "at_strength",
    "blurred",
    "moved",
    "painted",
    "pixels_of",
    "plasma",
    "to_grey",
    "zoomed",
]

T = TypeVar("T")

Picture = NDArray[np.float64]  # (height, width, channels)

CIFAR_SIDE = 32

LUMA = np.array([0.299, 0.587, 0.114])
"""How bright red, green and blue look (ITU-R BT.601)."""


def at_strength(constants: tuple[T, T, T, T, T], strength: int) -> T:
    """The constant of a strength from 1 to 5."""
    return constants[strength - 1]


def pixels_of(picture: Picture) -> float:
    """By how much lengths given for 32 pixels grow on a larger picture; they never shrink.

    Shrunk below a pixel, a blur would do nothing at all to a picture of 8 pixels.
    """
    return max(1.0, min(picture.shape[:2]) / CIFAR_SIDE)


def to_grey(picture: Picture) -> NDArray[np.float64]:
    """How bright each pixel looks, (height, width)."""
    return picture[..., 0] if picture.shape[2] == 1 else picture @ LUMA


def painted(colour: tuple[float, float, float], picture: Picture) -> NDArray[np.float64]:
    """A colour as the picture can show it: on a grey one, how bright it looks."""
    return np.array(colour) if picture.shape[2] == 3 else np.array([np.array(colour) @ LUMA])


def blurred(picture: Picture, sigma: float) -> Picture:
    """Under a Gaussian blur in both directions, the edge going on as it ends."""
    return gaussian_filter(picture, sigma=(sigma, sigma, 0), mode="nearest")


def moved(picture: Picture, *, length: float, sigma: float, angle: float) -> Picture:
    """As if the camera moved while it was open: a one-sided Gaussian trail.

    Each pixel becomes the mean of those that lie i = 0 … 2·length pixels from it along ``angle``
    (degrees, 0 to the right, 90 down), the i-th with weight exp(-i²/2σ²).
    """
    reach = np.arange(2 * int(np.ceil(length)) + 1)
    weights = np.exp(-(reach**2) / (2 * sigma**2))
    keep = weights > 1e-6
    reach, weights = reach[keep], weights[keep] / weights[keep].sum()
    down = np.rint(reach * np.sin(np.deg2rad(angle))).astype(int)
    right = np.rint(reach * np.cos(np.deg2rad(angle))).astype(int)
    margin = int(reach[-1])
    wide = np.pad(picture, ((margin, margin), (margin, margin), (0, 0)), mode="edge")
    height, width, _ = picture.shape
    total = np.zeros_like(picture)
    for weight, y, x in zip(weights, down, right, strict=True):
        total += weight * wide[margin + y : margin + y + height, margin + x : margin + x + width]
    return total


def zoomed(picture: Picture, factor: float) -> Picture:
    """The middle of the picture, ``factor`` times as large, cut to the same size."""
    height, width, _ = picture.shape
    rows, columns = _zoom_matrix(height, factor), _zoom_matrix(width, factor)
    return np.einsum("yh,hwc,xw->yxc", rows, picture, columns, optimize=True)


def plasma(shape: tuple[int, int], decay: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Clouds from 0 to 1: a plasma fractal by the diamond-square algorithm on a torus.

    Each halving of the grid adds noise that is smaller by ``decay`` squared, as in CIFAR-10-C,
    so that 3 gives smooth clouds and 1.75 rough ones.
    """
    step = 2 ** max(1, int(np.ceil(np.log2(max(shape)))))
    field = np.zeros((step, step))
    size = 1.0
    while step > 1:
        half = step // 2
        corners = field[::step, ::step]
        right, below = np.roll(corners, -1, axis=1), np.roll(corners, -1, axis=0)
        rough = rng.uniform(-size, size, size=(3, *corners.shape))
        middle = (corners + right + below + np.roll(right, -1, axis=0)) / 4 + rough[0]
        field[half::step, half::step] = middle
        field[::step, half::step] = (
            corners + right + middle + np.roll(middle, 1, axis=0)
        ) / 4 + rough[1]
        field[half::step, ::step] = (
            corners + below + middle + np.roll(middle, 1, axis=1)
        ) / 4 + rough[2]
        step, size = half, size / decay**2
    field -= field.min()
    return (field / field.max())[: shape[0], : shape[1]]


@lru_cache(maxsize=512)
def _zoom_matrix(size: int, factor: float) -> NDArray[np.float64]:
    """Linear interpolation along one side, (new pixels, old pixels)."""
    middle = (size - 1) / 2
    wanted = np.clip(middle + (np.arange(size) - middle) / factor, 0, size - 1)
    below = np.minimum(np.floor(wanted).astype(int), max(size - 2, 0))
    matrix = np.zeros((size, size))
    rows = np.arange(size)
    matrix[rows, below] += 1 - (wanted - below)
    matrix[rows, np.minimum(below + 1, size - 1)] += wanted - below
    return matrix
