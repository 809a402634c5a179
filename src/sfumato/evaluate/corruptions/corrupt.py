"""Turn images into corrupted images of a named kind and strength."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.corruptions.blur import (
    defocus_blur,
    gaussian_blur,
    glass_blur,
    motion_blur,
    zoom_blur,
)
from sfumato.evaluate.corruptions.digital import (
    contrast,
    elastic_transform,
    jpeg_compression,
    pixelate,
    saturate,
)
from sfumato.evaluate.corruptions.noise import (
    gaussian_noise,
    impulse_noise,
    shot_noise,
    speckle_noise,
)
from sfumato.evaluate.corruptions.picture import Picture
from sfumato.evaluate.corruptions.weather import brightness, fog, frost, snow, spatter
from sfumato.names import find

__all__ = [
    "CORRUPTIONS",
    "STRENGTHS",
    "CorruptedImages",
    "Corruption",
    "Images",
    "corrupt",
    "corrupted_sets",
    "corruptions_for",
]

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


@dataclass(frozen=True, eq=False)
class CorruptedImages:
    """Images under one corruption; "clean" at strength 0 are those it all began with."""

    corruption: str
    strength: int
    images: Images


def corrupted_sets(
    images: Images,
    *,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    strengths: Sequence[int] = STRENGTHS,
) -> tuple[CorruptedImages, ...]:
    """The clean images, then each corruption at each strength, made once for all networks.

    Without ``names``, all that such images can show. The strengths of one corruption share
    their random numbers, so that a stronger one is the same storm, only worse.
    """
    _check_shape(images)
    names = corruptions_for(images.shape[3]) if names is None else tuple(names)
    sets = [CorruptedImages("clean", 0, images)]
    for name, seed in zip(names, rng.integers(2**63, size=len(names)), strict=True):
        for strength in strengths:
            made = corrupt(images, name, strength, rng=np.random.default_rng(seed))
            sets.append(CorruptedImages(name, strength, made))
    return tuple(sets)


def corruptions_for(channels: int) -> tuple[str, ...]:
    """The names of what images of 1 or 3 channels can show: grey ones cannot be saturated.

    >>> set(corruptions_for(3)) - set(corruptions_for(1))
    {'saturate'}
    """
    return tuple(
        name for name, each in CORRUPTIONS.items() if channels > 1 or not each.needs_colour
    )


def _check(images: Images, name: str, corruption: Corruption) -> None:
    _check_shape(images)
    if images.shape[3] == 1 and corruption.needs_colour:
        raise DataError(
            f"{name!r} changes colours only, and these images are grey; "
            "corruptions_for(1) lists what does something to them."
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
