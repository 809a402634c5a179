"""Corrupt images as weather, cameras and storage do, at strengths 1 to 5 (S2-77)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import (
    convolve,
    correlate,
    distance_transform_edt,
    gaussian_filter,
    map_coordinates,
    uniform_filter,
)

from sfumato.errors import DataError
from sfumato.names import find

# What the corruptions share: shifting, zooming and clouding one picture.
#
# A picture is an array of floats from 0 to 1, shape (height, width, channels), of 1 or 3
# channels. Strengths are those of CIFAR-10-C, whose pictures are 32 pixels wide.

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


def paint(colour: tuple[float, float, float], picture: Picture) -> NDArray[np.float64]:
    """A colour as the picture can show it: on a grey one, how bright it looks."""
    return np.array(colour) if picture.shape[2] == 3 else np.array([np.array(colour) @ LUMA])


def blur(picture: Picture, sigma: float) -> Picture:
    """Under a Gaussian blur in both directions, the edge going on as it ends."""
    return gaussian_filter(picture, sigma=(sigma, sigma, 0), mode="nearest")


def blur_motion(picture: Picture, *, length: float, sigma: float, angle: float) -> Picture:
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


def zoom_in(picture: Picture, factor: float) -> Picture:
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


# Turn a picture into a noisy one.


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


# Turn a picture into a blurred one. Lengths are in pixels of a picture 32 wide.


def gaussian_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """A Gaussian blur."""
    sigma = at_strength((0.4, 0.6, 0.7, 0.8, 1.0), strength)
    return blur(picture, sigma * pixels_of(picture))


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
    from above or the left; the dataset was made so, and so is this.
    """
    sigma, reach, rounds = at_strength(
        ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)), strength
    )
    grown = pixels_of(picture)
    height, width, _ = picture.shape
    soft = blur(picture, sigma * grown)
    for _ in range(rounds):
        steps = rng.integers(-round(reach * grown), round(reach * grown), size=(2, height, width))
        rows = np.clip(np.arange(height)[:, None] + steps[0], 0, height - 1)
        columns = np.clip(np.arange(width)[None, :] + steps[1], 0, width - 1)
        soft = soft[rows, columns]
    return blur(soft, sigma * grown)


def motion_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """The camera moved, within 45 degrees of sideways."""
    length, sigma = at_strength(((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5)), strength)
    grown = pixels_of(picture)
    return blur_motion(
        picture, length=length * grown, sigma=sigma * grown, angle=rng.uniform(-45, 45)
    )


def zoom_blur(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """The camera came nearer: the mean of the picture and its enlargements in steps of 1 %."""
    percent = at_strength((5, 10, 15, 20, 25), strength)
    factors = [1 + each / 100 for each in range(percent + 1)]
    total = picture + sum(zoom_in(picture, factor) for factor in factors)
    return total / (len(factors) + 1)


def _disk(radius: float, softening: float) -> NDArray[np.float64]:
    margin = int(np.ceil(radius)) + max(1, int(np.ceil(softening)))
    line = np.arange(-margin, margin + 1)
    disk = (line[:, None] ** 2 + line[None, :] ** 2 <= radius**2).astype(np.float64)
    soft = gaussian_filter(disk, softening, mode="constant", radius=max(1, int(np.ceil(softening))))
    return soft / soft.sum()


# Turn a picture into one taken in bad weather.

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
    flakes = zoom_in(drawn, zoom * grown)
    flakes = np.clip(np.where(flakes < threshold, 0, flakes), 0, 1)
    wind = rng.uniform(45, 135)
    flakes = blur_motion(flakes, length=length * grown, sigma=sigma * grown, angle=wind)
    white = np.maximum(picture, to_grey(picture)[..., None] * 1.5 + 0.5)
    return share * picture + (1 - share) * white + flakes + flakes[::-1, ::-1]


def frost(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """A frozen window. The ice is drawn, not photographed as in CIFAR-10-C."""
    kept, ice = at_strength(
        ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)), strength
    )
    return kept * picture + ice * _ice(picture.shape[:2], rng)[..., None] * paint(ICE, picture)


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
        return picture + amount * _drops(liquid, wet)[..., None] * paint(WATER, picture)
    cover = gaussian_filter(wet.astype(np.float64), amount, mode="nearest")
    cover = np.where(cover < 0.8, 0, cover)[..., None]
    return picture * (1 - cover) + cover * paint(MUD, picture)


def _ice(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
    """White needles in three directions, dense where the glass is cold, from 0 to 1."""
    cold = plasma(shape, 1.6, rng)
    grown = max(1.0, min(shape) / 32)
    ice = cold**2 / 2
    turn = rng.uniform(0, 60)
    for angle in (turn, turn + 60, turn + 120):  # ice grows in sixths of a circle
        seeds = (rng.random(shape) < 0.08 * cold / grown).astype(np.float64)[..., None]
        needles = blur_motion(seeds, length=4 * grown, sigma=3 * grown, angle=angle)
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


# Turn a picture into one that was badly stored or processed.


def contrast(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Each channel drawn towards its mean."""
    share = at_strength((0.75, 0.5, 0.4, 0.3, 0.15), strength)
    mean = picture.mean(axis=(0, 1), keepdims=True)
    return mean + share * (picture - mean)


def elastic_transform(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Sheared at random, then stretched and squeezed from place to place."""
    height, width, channels = picture.shape
    side = min(height, width)
    far, smooth, shear = (
        side * each
        for each in at_strength(
            (
                (0, 0, 0.08),
                (0.05, 0.2, 0.07),
                (0.08, 0.06, 0.06),
                (0.1, 0.04, 0.05),
                (0.1, 0.03, 0.03),
            ),
            strength,
        )
    )
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    back = _shear((height, width), shear, rng)
    for_rows, for_columns = (
        far
        * gaussian_filter(rng.uniform(-1, 1, (height, width)), smooth, mode="reflect", truncate=3)
        for _ in range(2)
    )
    rows, columns = rows + for_rows, columns + for_columns
    here = np.stack([rows, columns, np.ones_like(rows)], axis=-1) @ back  # (height, width, 2)
    places = [here[..., 0], here[..., 1]]
    return np.stack(
        [map_coordinates(picture[..., k], places, order=1, mode="mirror") for k in range(channels)],
        axis=-1,
    )


def pixelate(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Made smaller by this factor and large again."""
    factor = at_strength((0.95, 0.9, 0.85, 0.75, 0.65), strength)
    height, width, _ = picture.shape
    small = (max(1, int(width * factor)), max(1, int(height * factor)))
    reduced = _as_pillow(picture).resize(small, Image.Resampling.BOX)
    return _from_pillow(reduced.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Stored as JPEG of this quality."""
    quality = at_strength((80, 65, 58, 50, 40), strength)
    stored = BytesIO()
    _as_pillow(picture).save(stored, "JPEG", quality=quality)
    with Image.open(stored) as read:
        return _from_pillow(read)


def saturate(picture: Picture, strength: int, rng: np.random.Generator) -> Picture:
    """Paler at strengths 1 and 2, more colourful from 3 on: saturation · factor + more.

    Grey pixels have no hue and stay grey; the published code turned them reddish.
    """
    factor, more = at_strength(((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)), strength)
    value = picture.max(axis=2, keepdims=True)
    below = value - picture
    deepest = below.max(axis=2, keepdims=True)
    coloured = deepest > 0
    before = np.where(coloured, deepest, 1) / np.where(value > 0, value, 1)
    after = np.clip(before * factor + more, 0, 1)
    return np.where(coloured, value - below * after / before, picture)


def _shear(shape: tuple[int, int], most: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """The matrix (3, 2) that takes places of the new picture to places of the old.

    It takes three points, each moved by up to ``most`` pixels in either direction, back.
    """
    middle = np.array(shape) // 2
    arm = max(1, min(shape) // 3)
    old = middle + arm * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    new = old + rng.uniform(-most, most, size=old.shape)
    return np.linalg.lstsq(np.column_stack([new, np.ones(3)]), old, rcond=None)[0]


def _as_pillow(picture: Picture) -> Image.Image:
    values = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(values[..., 0] if values.shape[2] == 1 else values)


def _from_pillow(image: Image.Image) -> Picture:
    values = np.asarray(image, dtype=np.float64) / 255
    return values[..., None] if values.ndim == 2 else values


# Turn images into corrupted images of a named kind and strength.

STRENGTHS = (1, 2, 3, 4, 5)

LEVELS = 255

Images = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64]
"""Shape (items, height, width, channels): uint8, or floats from 0 to 1; 1 or 3 channels."""

OnePicture = Callable[[Picture, int, np.random.Generator], Picture]


@dataclass(frozen=True)
class Corruption:
    """What happens to one picture at each strength."""

    apply: OnePicture
    """From 0 to 1 in; what goes beyond on the way out is cut off afterwards."""
    group: Literal["noise", "blur", "weather", "digital"]
    random: bool
    """Whether it draws random numbers."""
    usual: bool = True
    """Whether it is one of the fifteen that CIFAR-10-C is averaged over, not of the four extra."""
    needs_colour: bool = False
    """Whether it does nothing to a grey picture, and is therefore refused."""


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": Corruption(gaussian_noise, "noise", random=True),
    "shot_noise": Corruption(shot_noise, "noise", random=True),
    "impulse_noise": Corruption(impulse_noise, "noise", random=True),
    "defocus_blur": Corruption(defocus_blur, "blur", random=False),
    "glass_blur": Corruption(glass_blur, "blur", random=True),
    "motion_blur": Corruption(motion_blur, "blur", random=True),
    "zoom_blur": Corruption(zoom_blur, "blur", random=False),
    "snow": Corruption(snow, "weather", random=True),
    "frost": Corruption(frost, "weather", random=True),
    "fog": Corruption(fog, "weather", random=True),
    "brightness": Corruption(brightness, "weather", random=False),
    "contrast": Corruption(contrast, "digital", random=False),
    "elastic_transform": Corruption(elastic_transform, "digital", random=True),
    "pixelate": Corruption(pixelate, "digital", random=False),
    "jpeg_compression": Corruption(jpeg_compression, "digital", random=False),
    "speckle_noise": Corruption(speckle_noise, "noise", random=True, usual=False),
    "gaussian_blur": Corruption(gaussian_blur, "blur", random=False, usual=False),
    "spatter": Corruption(spatter, "weather", random=True, usual=False),
    "saturate": Corruption(saturate, "digital", random=False, usual=False, needs_colour=True),
}
"""The names of CIFAR-10-C (S2-77), in its order."""


def corrupt(images: Images, name: str, strength: int, *, rng: np.random.Generator) -> Images:
    """The images under one corruption of strength 1 to 5, in the type that they came in.

    Strengths are those of CIFAR-10-C (S2-77). Each picture is corrupted on its own, with a
    generator of its own by its position: the i-th of many looks as if only the first i had been
    given, and a corruption that draws nothing at random gives the same picture wherever it is.

    >>> black = np.zeros((2, 8, 8, 1), dtype=np.uint8)
    >>> corrupt(black, "brightness", 5, rng=np.random.default_rng(0))[0, 0, 0, 0]  # 0.3 · 255
    np.uint8(76)
    """
    corruption = find(CORRUPTIONS, name, what="corruption")
    if strength not in STRENGTHS:
        raise DataError(f"The strength of {name!r} is {strength!r}; it goes from 1 to 5.")
    _check(images, name, corruption)
    done = np.empty_like(images)
    for row, (image, own) in enumerate(zip(images, rng.spawn(len(images)), strict=True)):
        picture = image / LEVELS if images.dtype == np.uint8 else image.astype(np.float64)
        corrupted = np.clip(corruption.apply(picture, strength, own), 0, 1)
        done[row] = np.rint(corrupted * LEVELS) if images.dtype == np.uint8 else corrupted
    return done


def _check(images: Images, name: str, corruption: Corruption) -> None:
    _check_shape(images)
    if images.shape[3] == 1 and corruption.needs_colour:
        raise DataError(
            f"{name!r} changes colours only, and these images are grey; "
            "every other corruption does something to them."
        )
    if images.dtype == np.uint8:
        return
    if not np.issubdtype(images.dtype, np.floating):
        raise DataError(f"Images are uint8 or floats from 0 to 1, not {images.dtype}.")
    outside = ~((images >= 0) & (images <= 1))  # NaN too
    if outside.any():
        raise DataError(
            f"The image at position {np.argwhere(outside)[0][0]} has pixels that are not numbers "
            "from 0 to 1; give uint8, or floats from 0 to 1."
        )


def _check_shape(images: Images) -> None:
    if images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape[1:]:
        raise DataError(
            "Expected images of shape (items, height, width, channels) with 1 or 3 channels; "
            f"found {images.shape}."
        )
