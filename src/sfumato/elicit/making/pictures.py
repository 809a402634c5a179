"""Turn files of pictures, of any size and kind, into pictures for the page.

What a file is, its content says and not its name. SVG is refused, because it can hold scripts.
Metadata are left behind, an orientation stored in them is applied first.
"""

import hashlib
import os
import re
import stat
import struct
import time
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from sfumato.elicit.design.places import LOGO
from sfumato.elicit.design.study import write_private
from sfumato.elicit.storage.schema import Picture
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.judgments.mixed import mix_pixels

Images: TypeAlias = Path | Mapping[str, NDArray[np.uint8]]
"""A folder, a zip archive, or arrays (height, width[, 1 or 3]) by item."""

Advance: TypeAlias = Callable[[int, int], None]
"""Told how many pictures are done, of how many."""
Pictures: TypeAlias = Mapping[str, Callable[[], Image.Image | bytes]]
"""How to read each picture or recording, by its opaque id."""

THREADS = min(4, os.cpu_count() or 1)
"""Pillow decodes, scales and encodes without holding Python's lock."""
TRIED, LARGE_SECONDS = 32, 0.004
"""So many pictures tell whether threads are worth it: those that take less time than this are done
twice as fast without, because threads would only fight for the lock."""

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
RECORDINGS = {
    ".mp3": r"ID3|\xff[\xe0-\xff]", ".wav": r"RIFF....WAVE", ".ogg": r"OggS",
    ".m4a": r"....ftyp", ".mp4": r"....ftyp", ".webm": r"\x1aE\xdf\xa3",
}  # fmt: skip
"""Sound and video files that browsers play, by their ending, and how each begins."""
SMALLEST = 160
"""Pixels; what is smaller is upsampled once, for everybody alike (S2-06)."""
LARGEST = 1280
LOGO_PIXELS = 160
Pixels = Literal["smooth", "sharp"]
"""How small images are enlarged: with Lanczos, or every pixel as a square."""
MOST_PIXELS = 50_000_000
MOST_BYTES = 64_000_000
MOST_LETTERS = 20_000
NOT_MEANT = {"Thumbs.db", "desktop.ini", "__MACOSX"}
"""Left in folders by computers, not by people; so is all that begins with a dot."""
BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError)


@dataclass(frozen=True)
class PictureSource:
    """A picture as it was handed in."""

    item: str
    """Its path inside the folder without the ending."""
    name: str
    """Its path inside the folder."""
    read: Callable[[], Image.Image]
    """Grey or RGB at its own size; ``.format`` is kept."""
    ending: str = ""
    """Of a sound or video file, as ".mp3"."""
    record: Callable[[], bytes] | None = None
    """The content of such a file, which is shown as it is."""


@dataclass(frozen=True)
class TextSource:
    """A text as it was handed in."""

    item: str
    fields: tuple[tuple[str, str], ...]
    """Name and text of each field that is not empty."""

    @property
    def name(self) -> str:
        """As for pictures: what it is called in tables."""
        return self.item


Source: TypeAlias = PictureSource | TextSource


@contextmanager
def open_images(images: Images) -> Iterator[dict[str, PictureSource]]:
    """All pictures by item, in order of their names; they are read only while this is open."""
    if isinstance(images, Mapping):
        yield _by_item([_from_array(item, array) for item, array in images.items()], "The arrays")
    elif images.is_dir():
        yield _by_item(list(_in_folder(images)), str(images))
    elif images.is_file() and is_zipfile(images):
        try:
            archive = ZipFile(images)
        except BadZipFile:
            raise DataError(f"{images} is a broken zip archive; make it anew.") from None
        with archive:
            yield _by_item(list(_in_archive(archive, images)), str(images))
    else:
        raise DataError(f"{images} is neither a folder of images nor a zip archive of them.")


def read_texts(items: Items) -> dict[str, TextSource]:
    """All texts by item; other items, and texts that are too long for a screen, are an error."""
    if items.kind != "texts":
        raise DataError(f"People can be shown texts or images; these are {items.describe()}.")
    found = {}
    for item, fields in items:
        written = tuple((name, text) for name, text in fields.items() if text.strip())
        if sum(len(text) for _, text in written) > MOST_LETTERS:
            raise DataError(
                f"The text of item {item!r} has more than {MOST_LETTERS:,} letters, too many to "
                "read on a screen; shorten it."
            )
        found[item] = TextSource(item, written)
    return found


def write_picture(
    image: Image.Image, folder: Path, name: str, *, pixels: Pixels = "smooth"
) -> Picture:
    """Store a picture for the page; PNG, but what was a large enough JPEG stays one."""
    photograph = image.format == "JPEG" and max(image.size) >= SMALLEST
    shown = scale_image(image, pixels)
    ending = "jpg" if photograph else "png"
    written = BytesIO()
    if photograph:
        shown.save(written, "JPEG", quality=95, subsampling=0)
    else:
        # A quarter of the time of the usual level 6, and a sixth larger: there may be 60,000.
        shown.save(written, "PNG", compress_level=1)
    content = written.getvalue()
    file = f"{name}.{ending}"
    write_private(folder / file, content)
    return Picture(name, file, *shown.size, hashlib.sha256(content).hexdigest())


def write_pictures(
    folder: Path, pictures: Pictures, advance: Advance | None, *, pixels: Pixels = "smooth"
) -> list[Picture]:
    """Store all pictures in a new folder."""
    folder.mkdir()
    written: list[Picture] = []
    entries = iter(pictures.items())

    def write(entry: tuple[str, Callable[[], Image.Image | bytes]]) -> Picture:
        name, read = entry
        held = read()
        if isinstance(held, bytes):
            write_private(folder / name, held)
            return Picture(name, name, 0, 0, hashlib.sha256(held).hexdigest())
        return write_picture(held, folder, name, pixels=pixels)

    def note(done: Iterable[Picture]) -> None:
        for picture in done:
            written.append(picture)
            if advance is not None:
                advance(len(written), len(pictures))

    with warnings.catch_warnings(), ThreadPoolExecutor(THREADS) as threads:
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        note(map(write, islice(entries, 1)))  # during which Pillow loads its parts
        begun = time.thread_time()
        note(map(write, islice(entries, TRIED)))
        are_large = time.thread_time() - begun > TRIED * LARGE_SECONDS
        try:
            note((threads.map if are_large else map)(write, entries))
        except BaseException:
            threads.shutdown(cancel_futures=True)  # the other pictures are of no use any more
            raise
    return written


def mix(first: PictureSource, second: PictureSource, coefficient: float) -> Image.Image:
    """``coefficient`` × first + (1 − ``coefficient``) × second, in pixels at their size (S2-09)."""
    try:
        mixed = mix_pixels(np.asarray(first.read()), np.asarray(second.read()), coefficient)
    except DataError as error:
        raise DataError(f"{first.name} and {second.name}: {error}") from None
    return Image.fromarray(mixed)


def _by_item(sources: list[PictureSource], where: str) -> dict[str, PictureSource]:
    found: dict[str, PictureSource] = {}
    for source in sorted(sources, key=lambda source: source.name):
        if source.item in found:
            raise DataError(
                f"{where}: {found[source.item].name} and {source.name} differ only in their "
                "ending, but an item is named without it; rename one of them."
            )
        found[source.item] = source
    if not found:
        raise DataError(f"{where} holds no images.")
    return found


def _in_folder(folder: Path) -> Iterator[PictureSource]:
    inside = folder.resolve()
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if _not_meant(name.parts):
            continue
        if not path.resolve().is_relative_to(inside):
            raise DataError(
                f"{path} is a link out of the folder of images; copy the file into the folder."
            )
        if path.is_symlink() and path.is_dir():
            raise DataError(f"{path} is a link to a folder; name its images only once.")
        if path.is_dir():
            continue
        if not path.is_file():
            raise DataError(f"{path} is not a file; take it out of the folder of images.")
        yield _source(name.as_posix(), lambda path=path: _content(path))  # type: ignore[misc]


def _in_archive(archive: ZipFile, path: Path) -> Iterator[PictureSource]:
    for entry in archive.infolist():
        name = PurePosixPath(entry.filename)
        if entry.is_dir() or _not_meant(name.parts):
            continue
        if name.is_absolute() or ".." in name.parts or stat.S_ISLNK(entry.external_attr >> 16):
            raise DataError(f"{path}: {entry.filename!r} leads out of the archive; take it out.")
        yield _source(
            name.as_posix(),
            lambda entry=entry: _unpacked(archive, entry),  # type: ignore[misc]
        )


def _source(name: str, content: Callable[[], bytes]) -> PictureSource:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"The file name {name!r} is not UTF-8; rename the file.") from None
    path = PurePosixPath(name)
    if path.suffix.lower() in RECORDINGS:
        item = unicodedata.normalize("NFC", str(path.with_suffix("")))
        ending = path.suffix.lower()
        return PictureSource(
            item,
            name,
            lambda: _refuse_recording(name),
            ending,
            lambda: _recorded(content(), name, ending),
        )
    if path.suffix.lower() in ENDINGS:  # of "cat.v2" without an ending nothing is taken away
        path = path.with_suffix("")
    item = unicodedata.normalize("NFC", str(path))
    return PictureSource(item, name, lambda: _decoded(content(), name))


def _refuse_recording(name: str) -> Image.Image:
    raise DataError(f"{name} is a recording; only images can be shown here.")


def _recorded(content: bytes, name: str, ending: str) -> bytes:
    if not re.match(RECORDINGS[ending].encode("latin-1"), content[:16], re.DOTALL):
        raise DataError(f"{name} is no {ending} file, whatever its name says; save it again.")
    return content


def _from_array(item: str, array: NDArray[np.uint8]) -> PictureSource:
    grey = array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 1)
    if array.dtype != np.uint8 or not (grey or (array.ndim == 3 and array.shape[2] == 3)):
        raise DataError(
            f"The image of item {item!r} is an array of {array.dtype} with shape {array.shape}; "
            "images are uint8, (height, width) or (height, width, 3)."
        )
    pixels = array.reshape(array.shape[:2]) if grey else array
    return PictureSource(item, item, lambda: Image.fromarray(np.ascontiguousarray(pixels)))


def _not_meant(parts: tuple[str, ...]) -> bool:
    return any((part.startswith(".") and part != "..") or part in NOT_MEANT for part in parts)


def _content(path: Path) -> bytes:
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} is larger than {MOST_BYTES // 1_000_000} MB; scale it down.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


def _unpacked(archive: ZipFile, entry: ZipInfo) -> bytes:
    # Only so much is unpacked, whatever the archive says of its size.
    most = min(entry.file_size, MOST_BYTES) + 1
    try:
        with archive.open(entry) as opened:
            content = opened.read(most)
    except (BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise DataError(f"{entry.filename} cannot be unpacked: {error}.") from None
    if len(content) > MOST_BYTES or entry.file_size > MOST_BYTES:
        raise DataError(
            f"{entry.filename} is larger than {MOST_BYTES // 1_000_000} MB; scale it down."
        )
    return content


def _decoded(content: bytes, name: str) -> Image.Image:
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as opened:
            kind = opened.format
            if opened.width * opened.height > MOST_PIXELS:
                raise DataError(
                    f"{name} has {opened.width} × {opened.height} pixels; at most "
                    f"{MOST_PIXELS // 1_000_000} million are read. Scale it down."
                )
            opened.load()  # of an animation the first frame
            image = _plain(ImageOps.exif_transpose(opened))
    except UnidentifiedImageError:
        raise DataError(_what_it_is(content, name)) from None
    except Image.DecompressionBombWarning as error:
        raise DataError(f"{name} has too many pixels: {error} Scale it down.") from None
    except BROKEN as error:
        raise DataError(f"{name} is a broken {kind_of(content)} file: {error}.") from None
    image.format = kind
    return image


def kind_of(content: bytes) -> str:
    """What a file claims to be by its first bytes, in words."""
    starts = {b"\x89PNG": "PNG", b"\xff\xd8": "JPEG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP"}
    return next((kind for start, kind in starts.items() if content.startswith(start)), "image")


def _what_it_is(content: bytes, name: str) -> str:
    if b"<svg" in content[:4_000].lower():
        return f"{name} is an SVG drawing, which can hold scripts; save it as PNG."
    if kind_of(content) != "image":
        return f"{name} is a broken {kind_of(content)} file; save it again."
    return (
        f"{name} is no image that can be read, whatever its name says: it must be PNG, JPEG, WebP, "
        "GIF or BMP. Take other files out of the folder."
    )


def _plain(image: Image.Image) -> Image.Image:
    """Grey or RGB, on white where it was transparent."""
    if image.mode == "L" and "transparency" not in image.info:
        return image
    if image.mode.startswith("I") or image.mode == "F":  # 16 bits: cut down, or all would be white
        levels = np.asarray(image, dtype=np.float64)
        return Image.fromarray(np.rint(np.clip(levels / 257, 0, 255)).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        seen = image.convert("RGBA")
        white = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(white, seen).convert("RGB")
    return image.convert("L" if image.mode == "1" else "RGB")


def scale_image(image: Image.Image, pixels: Pixels) -> Image.Image:
    """The picture at a size for the page, without metadata."""
    longer = max(image.size)
    way = Image.Resampling.LANCZOS
    if SMALLEST <= longer <= LARGEST:
        factor = 1.0
    elif longer < SMALLEST and pixels == "sharp":
        factor, way = -(-SMALLEST // longer), Image.Resampling.NEAREST  # every pixel a square
    elif longer < SMALLEST:
        factor = SMALLEST / longer
    else:
        factor = LARGEST / longer
    size = (max(round(image.width * factor), 1), max(round(image.height * factor), 1))
    plain = image.resize(size, way) if factor != 1 else image.copy()
    plain.info = {}  # comments, profiles, places: none of them for annotators
    return plain


def write_logo(path: Path, folder: Path) -> None:
    """Store the picture beside the title as ``logo.png``, at most 160 pixels high."""
    image = _decoded(_content(path), str(path))
    image.thumbnail((4 * LOGO_PIXELS, LOGO_PIXELS), Image.Resampling.LANCZOS)
    image.info = {}
    written = BytesIO()
    image.save(written, "PNG")
    write_private(folder / LOGO, written.getvalue())
