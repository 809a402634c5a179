"""Turn picture files, in a folder or a zip archive, into pixels of one size."""

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from sfumato.errors import DataError

ENDINGS = (".png", ".jpg", ".jpeg")

Size = tuple[int, int]
"""Height and width in pixels."""

GREY = ("1", "L")
COLOUR = ("P", "RGB", "RGBA", "LA", "CMYK", "YCbCr")

Read = Callable[[str], bytes]
"""The content of a file by its path within the folder or archive."""


class FoundFiles(NamedTuple):
    """What lies in a folder or zip archive, and how to read it."""

    names: list[str]
    """The paths of all files that were asked for, in order."""
    others: list[str]
    """The paths of all other files but hidden ones."""
    read: Read


def open_files(path: Path, endings: tuple[str, ...] = ENDINGS) -> FoundFiles:
    """The files with these endings in a folder or zip archive; pictures, unless told otherwise."""
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file()]
        names = [file.relative_to(path).as_posix() for file in files]
        return FoundFiles(*_sorted_out(names, endings), lambda name: (path / name).read_bytes())
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            wanted, others = _sorted_out(names, endings)
            content = {name: archive.read(name) for name in wanted}
        return FoundFiles(wanted, others, content.__getitem__)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path.name} is no readable zip archive: {error}.") from None


def _sorted_out(names: Sequence[str], endings: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Files with these endings, and the others."""
    # macOS puts files called ._name and folders __MACOSX beside the real ones
    shown = [
        name
        for name in sorted(names)
        if not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
    ]
    wanted = [name for name in shown if name.lower().endswith(endings)]
    return wanted, [name for name in shown if not name.lower().endswith(endings)]


def read_picture(read: Read, member: str, path: Path) -> NDArray[np.uint8]:
    """The pixels of one picture, height × width × channels."""
    where = f"{member} in {path.name}"
    try:
        content = read(member)
    except OSError as error:
        raise DataError(f"{where} cannot be opened: {error.strerror or error}.") from None
    pixels = decode_picture(content, where)
    return pixels if pixels.ndim == 3 else pixels[..., None]


def stack_pictures(
    pictures: Sequence[NDArray[np.uint8]], members: Sequence[str], size: Size | None
) -> NDArray[np.uint8]:
    """Pictures as one array, grey if all are; of one size, or brought to ``size``."""
    if size is not None:
        pictures = [resize(picture[None], size)[0] for picture in pictures]
    first = pictures[0].shape[:2]
    for member, picture in zip(members, pictures, strict=True):
        if picture.shape[:2] != first:
            height, width = picture.shape[:2]
            raise DataError(
                f"{member} has {height} × {width} pixels, but {members[0]} has {first[0]} × "
                f"{first[1]}. Name a size to have all resized."
            )
    channels = max(picture.shape[2] for picture in pictures)
    stacked = np.empty((len(pictures), *first, channels), dtype=np.uint8)
    for row, picture in enumerate(pictures):
        stacked[row] = picture  # a grey one fills all three colours
    stacked.flags.writeable = False
    return stacked


def decode_picture(content: bytes, where: str) -> NDArray[np.uint8]:
    """The pixels of a JPEG or PNG file, height × width, with × 3 for colour.

    Whatever cameras and screens produce becomes either grey or red, green and blue: turned
    upright, palettes looked up, an opaque alpha channel left away. ``where`` names the file in
    errors.
    """
    try:
        # naming the formats keeps Pillow from trying dozens of others on every file
        with Image.open(io.BytesIO(content), formats=("JPEG", "PNG")) as image:
            return np.asarray(_plain(ImageOps.exif_transpose(image), where))
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
