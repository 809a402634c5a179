"""Turn the bytes of picture files into arrays, and arrays of one size into another."""

import io
import zlib
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from sfumato.errors import DataError

__all__ = ["Kind", "Size", "decode", "resize"]

Kind = Literal["stored", "plain"]

Size = tuple[int, int]
"""Height and width in pixels."""

GREY = ("1", "L")
COLOUR = ("P", "RGB", "RGBA", "LA", "CMYK", "YCbCr")


def decode(content: bytes, where: str, kind: Kind = "stored") -> NDArray[np.uint8]:
    """The pixels of a JPEG or PNG file, height × width, with × 3 for colour.

    ``kind`` "stored" takes the pixels as the file has them. "plain" makes of anything that
    cameras and screens produce either grey or red, green and blue: turned upright, palettes
    looked up, an opaque alpha channel left away; ``where`` names the file in errors.
    """
    try:
        # naming the formats keeps Pillow from trying dozens of others on every file
        with Image.open(io.BytesIO(content), formats=("JPEG", "PNG")) as image:
            match kind:
                case "stored":
                    return np.asarray(image)
                case "plain":
                    return np.asarray(_plain(ImageOps.exif_transpose(image), where))
                case _:
                    assert_never(kind)
    except (
        UnidentifiedImageError,
        OSError,
        SyntaxError,  # Pillow's way to say that a PNG chunk is broken
        ValueError,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        raise DataError(f"{where} is no readable picture: {error}.") from None


def resize(pictures: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """Pictures of another size, each channel filtered by Lanczos' kernel of three lobes.

    >>> resize(np.full((1, 8, 6, 3), 7, np.uint8), (4, 4)).shape
    (1, 4, 4, 3)
    """
    height, width = size
    if height < 1 or width < 1:
        raise DataError(f"Pictures cannot be made {height} × {width} pixels; both must be above 0.")
    n_pictures, old_height, old_width, channels = pictures.shape
    if (old_height, old_width) == (height, width):
        return pictures
    resized = np.empty((n_pictures, height, width, channels), dtype=np.uint8)
    for row, picture in enumerate(pictures):
        for channel in range(channels):
            plane = Image.fromarray(np.ascontiguousarray(picture[..., channel]))
            plane = plane.resize((width, height), Image.Resampling.LANCZOS)
            resized[row, ..., channel] = np.asarray(plane)
    return resized


def _plain(image: Image.Image, where: str) -> Image.Image:
    if image.mode in GREY:
        return image.convert("L")
    if image.mode not in COLOUR:
        raise DataError(
            f"{where} stores its pixels as {image.mode!r}; expected 8 bits for grey or for each "
            "colour. Save it so."
        )
    if image.has_transparency_data:
        alpha = np.asarray(image.convert("RGBA"))[..., 3]
        if (alpha < 255).any():
            raise DataError(f"{where} is transparent in places. Save it on a background.")
    return image.convert("L" if image.mode == "LA" else "RGB")
