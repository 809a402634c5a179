"""Turn a picture into one taken in bad weather."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate, distance_transform_edt, gaussian_filter, uniform_filter

from sfumato.evaluate.corruptions.picture import (
    Picture,
    at_strength,
    moved,
    painted,
    pixels_of,
    plasma,
    to_grey,
    zoomed,
)

__all__ = ["brightness", "fog", "frost", "snow", "spatter"]

ICE = (0.86, 0.94, 1.0)
WATER = (175 / 255, 238 / 255, 238 / 255)
MUD = (63 / 255, 42 / 255, 20 / 255)


def snow(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Flakes driven by wind before a whitened picture."""
    mean, spread, zoom, threshold, length, sigma, share = at_strength(
        (
            (0.10, 0.2, 1.00, 0.60, 8, 3, 0.95),
            (0.10, 0.2, 1.00, 0.50, 10, 4, 0.90),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.90),
            (0.25, 0.3, 2.25, 0.60, 12, 6, 0.85),
            (0.30, 0.3, 1.25, 0.65, 14, 12, 0.80),
        ),
        strength,
    )
    drawn = mean + spread * rng.standard_normal((*picture.shape[:2], 1))
    grown = pixels_of(picture)
    flakes = zoomed(drawn, zoom * grown)
    flakes = np.clip(np.where(flakes < threshold, 0, flakes), 0, 1)
    wind = rng.uniform(45, 135)
    flakes = moved(flakes, length=length * grown, sigma=sigma * grown, angle=wind)
    white = np.maximum(picture, to_grey(picture)[..., None] * 1.5 + 0.5)
    return share * picture + (1 - share) * white + flakes + flakes[::-1, ::-1]


def frost(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """A frozen window. The ice is drawn, not photographed as in CIFAR-10-C."""
    kept, ice = at_strength(
        ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)), strength
    )
    return kept * picture + ice * _ice(picture.shape[:2], rng)[..., None] * painted(ICE, picture)


def fog(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Clouds of a plasma fractal laid over the picture, which is dimmed to its old range."""
    thickness, decay = at_strength(
        ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)), strength
    )
    brightest = picture.max()
    height, width, _ = picture.shape
    clouds = thickness * plasma((height, width), decay, rng)[..., None]
    return (picture + clouds) * brightest / (brightest + thickness)


def brightness(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Too much light: the value of hue-saturation-value goes up, hue and saturation stay."""
    more = at_strength((0.05, 0.10, 0.15, 0.20, 0.30), strength)
    value = picture.max(axis=2, keepdims=True)
    lit = np.minimum(value + more, 1)
    safe = np.where(value > 0, value, 1)
    return np.where(value > 0, picture * lit / safe, lit)  # black has no hue: it turns grey


def spatter(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Drops of water on the lens, from strength 4 on mud."""
    mean, spread, sigma, threshold, amount = at_strength(
        (
            (0.62, 0.1, 0.7, 0.70, 0.5),
            (0.65, 0.1, 0.8, 0.70, 0.5),
            (0.65, 0.3, 1.0, 0.69, 0.5),
            (0.65, 0.1, 0.7, 0.69, 0.6),
            (0.65, 0.1, 0.5, 0.68, 0.6),
        ),
        strength,
    )
    grown = pixels_of(picture)
    drawn = mean + spread * grown * rng.standard_normal(picture.shape[:2])
    liquid = gaussian_filter(drawn, sigma * grown, mode="nearest")
    wet = liquid >= threshold
    if strength < 4:
        return picture + amount * _drops(liquid, wet)[..., None] * painted(WATER, picture)
    cover = gaussian_filter(wet.astype(np.float64), amount, mode="nearest")
    cover = np.where(cover < 0.8, 0, cover)[..., None]
    return picture * (1 - cover) + cover * painted(MUD, picture)


def _ice(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
    """White needles in three directions, dense where the glass is cold, from 0 to 1."""
    cold = plasma(shape, 1.6, rng)
    grown = max(1.0, min(shape) / 32)
    ice = cold**2 / 2
    turn = rng.uniform(0, 60)
    for angle in (turn, turn + 60, turn + 120):  # ice grows in sixths of a circle
        seeds = (rng.random(shape) < 0.08 * cold / grown).astype(np.float64)[..., None]
        needles = moved(seeds, length=4 * grown, sigma=3 * grown, angle=angle)
        needles /= max(float(needles.max()), 1e-12)
        ice = np.maximum(ice, needles[..., 0] ** 0.5)
    return ice


def _drops(liquid: NDArray[np.float64], wet: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How bright the drops shine, from 0 to 1: most on the side that faces the light."""
    if not wet.any():
        return np.zeros_like(liquid)
    depth = uniform_filter(distance_transform_edt(np.pad(wet, 1))[1:-1, 1:-1], 3, mode="nearest")
    light = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], dtype=np.float64)
    relief = np.maximum(correlate(depth, light, mode="nearest"), 0)
    shine = liquid * wet * uniform_filter(relief, 3, mode="nearest")
    return shine / max(float(shine.max()), 1e-12)
