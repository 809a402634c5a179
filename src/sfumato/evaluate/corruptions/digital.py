"""Turn a picture into one that was badly stored or processed."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter, map_coordinates

from sfumato.evaluate.corruptions.picture import Picture, at_strength

__all__ = ["contrast", "elastic_transform", "jpeg_compression", "pixelate", "saturate"]


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
