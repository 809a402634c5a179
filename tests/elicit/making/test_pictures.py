import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfumato.elicit.making.pictures import PictureSource, mix, open_images, write_picture
from sfumato.errors import DataError

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'


def save(path: Path, size: tuple[int, int] = (8, 8), mode: str = "RGB", **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size).save(path, **options)
    return path


def written(image: Image.Image, folder: Path) -> Image.Image:
    with Image.open(folder / write_picture(image, folder, "opaque").file) as stored:
        stored.load()
        return stored


def read_one(path: Path) -> Image.Image:
    with open_images(path.parent) as sources:
        (source,) = sources.values()
        return source.read()


def test_item_is_the_path_inside_the_folder_without_its_ending(tmp_path: Path) -> None:
    save(tmp_path / "pets" / "cat.v2.PNG")
    save(tmp_path / "dog.jpg")

    with open_images(tmp_path) as sources:
        assert list(sources) == ["dog", "pets/cat.v2"]
        assert sources["pets/cat.v2"].name == "pets/cat.v2.PNG"


def test_two_files_that_differ_only_in_their_ending_are_named(tmp_path: Path) -> None:
    save(tmp_path / "cat.png")
    save(tmp_path / "cat.jpg")

    with (
        pytest.raises(DataError, match=r"cat\.jpg and cat\.png differ only in their ending"),
        open_images(tmp_path),
    ):
        pass


def test_files_left_by_computers_are_passed_over(tmp_path: Path) -> None:
    save(tmp_path / "cat.png")
    for name in (".DS_Store", "Thumbs.db", ".git/config", "__MACOSX/cat.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")

    with open_images(tmp_path) as sources:
        assert list(sources) == ["cat"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_kind_is_told_by_content_not_by_name(tmp_path: Path, kind: str) -> None:
    save(tmp_path / "picture.txt", format=kind)

    assert read_one(tmp_path / "picture.txt").format == kind


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SVG, "is an SVG drawing, which can hold scripts"),
        (b"", "is no image that can be read"),
        (b"hello", "is no image that can be read"),
        (b"\x89PNG\r\n\x1a\n", "is a broken PNG file"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is no image that can be read"),
    ],
)
def test_what_is_no_image_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "cat.png").write_bytes(content)

    with pytest.raises(DataError, match=rf"^cat\.png {said}"):
        read_one(tmp_path / "cat.png")


def test_picture_that_was_cut_off_is_refused_by_name(tmp_path: Path) -> None:
    whole = BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(whole, "JPEG")
    (tmp_path / "cat.jpg").write_bytes(whole.getvalue()[:2_000])

    with pytest.raises(DataError, match=r"^cat\.jpg is a broken JPEG file"):
        read_one(tmp_path / "cat.jpg")


@pytest.mark.parametrize("side", [8_000, 12_000, 60_000])
def test_tiny_file_of_a_huge_picture_is_refused_unread(tmp_path: Path, side: int) -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b""))
    (tmp_path / "bomb.png").write_bytes(bomb)

    with pytest.raises(DataError, match=r"bomb\.png .*(pixels|exceeds limit)"):
        read_one(tmp_path / "bomb.png")


def test_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "secret.png")
    save(tmp_path / "images" / "cat.png")
    (tmp_path / "images" / "dog.png").symlink_to(tmp_path / "elsewhere" / "secret.png")

    with (
        pytest.raises(DataError, match=r"dog\.png is a link out of the folder"),
        open_images(tmp_path / "images"),
    ):
        pass


def test_link_to_a_folder_elsewhere_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "secret.png")
    save(tmp_path / "images" / "cat.png")
    (tmp_path / "images" / "more").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DataError, match="is a link out of"), open_images(tmp_path / "images"):
        pass


@pytest.mark.parametrize("made", [True, False])
def test_folder_without_images_is_named(tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "images"
    if made:
        folder.mkdir()

    with pytest.raises(DataError, match=r"holds no images|neither a folder"), open_images(folder):
        pass


def test_archive_is_read_like_a_folder(tmp_path: Path) -> None:
    picture = save(tmp_path / "cat.png", (8, 6))
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.write(picture, "pets/cat.png")
        archive.writestr("__MACOSX/pets/._cat.png", b"x")

    with open_images(tmp_path / "images.zip") as sources:
        assert list(sources) == ["pets/cat"]
        assert sources["pets/cat"].read().size == (8, 6)


@pytest.mark.parametrize("name", ["../cat.png", "/etc/cat.png", "a/../../cat.png"])
def test_archive_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.writestr(name, b"x")

    with (
        pytest.raises(DataError, match="leads out of the archive"),
        open_images(tmp_path / "images.zip"),
    ):
        pass


def test_small_picture_is_upsampled_once_with_lanczos(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    image = Image.fromarray(noise)

    shown = written(image, tmp_path)

    assert shown.format == "PNG"
    assert np.array_equal(
        np.asarray(shown), np.asarray(image.resize((160, 160), Image.Resampling.LANCZOS))
    )


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((80, 40), (160, 80)),
        ((160, 90), (160, 90)),
        ((400, 20), (400, 20)),
        ((2560, 640), (1280, 320)),
        ((3000, 1), (1280, 1)),
        ((1, 1), (160, 160)),
    ],
)
def test_longer_side_is_from_160_to_1280_pixels(
    tmp_path: Path, size: tuple[int, int], shown: tuple[int, int]
) -> None:
    picture = write_picture(Image.new("L", size), tmp_path, "opaque")

    assert (picture.width, picture.height) == shown
    assert written(Image.new("L", size), tmp_path).size == shown


def test_photograph_stays_jpeg_and_loses_where_it_was_taken(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "home of Ann"
    save(tmp_path / "in" / "cat.jpg", (200, 200), exif=exif, comment=b"home of Ann")

    picture = write_picture(read_one(tmp_path / "in" / "cat.jpg"), tmp_path, "opaque")

    content = (tmp_path / picture.file).read_bytes()
    assert picture.file == "opaque.jpg"
    assert b"Ann" in (tmp_path / "in" / "cat.jpg").read_bytes()
    assert b"Ann" not in content
    assert b"Exif" not in content


def test_small_jpeg_becomes_png_so_that_nothing_is_lost_twice(tmp_path: Path) -> None:
    save(tmp_path / "in" / "cat.jpg", (32, 32))

    assert written(read_one(tmp_path / "in" / "cat.jpg"), tmp_path).format == "PNG"


def test_png_loses_its_texts(tmp_path: Path) -> None:
    from PIL.PngImagePlugin import PngInfo

    told = PngInfo()
    told.add_text("Author", "Ann")
    save(tmp_path / "in" / "cat.png", (200, 200), pnginfo=told)

    assert written(read_one(tmp_path / "in" / "cat.png"), tmp_path).info == {}


def test_stored_orientation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    save(tmp_path / "cat.jpg", (300, 200), exif=exif)

    assert read_one(tmp_path / "cat.jpg").size == (200, 300)


def test_animation_shows_its_first_frame(tmp_path: Path) -> None:
    red, blue = Image.new("RGB", (8, 8), "red"), Image.new("RGB", (8, 8), "blue")
    red.save(tmp_path / "cat.gif", save_all=True, append_images=[blue])

    assert read_one(tmp_path / "cat.gif").getpixel((0, 0)) == (255, 0, 0)


def test_transparent_parts_are_white(tmp_path: Path) -> None:
    save(tmp_path / "cat.png", mode="RGBA")

    assert read_one(tmp_path / "cat.png").getpixel((0, 0)) == (255, 255, 255)


def test_sixteen_bits_are_scaled_not_cut(tmp_path: Path) -> None:
    levels = np.array([[0, 257 * 100], [257 * 200, 65535]], dtype=np.uint16)
    Image.fromarray(levels).save(tmp_path / "cat.png")

    assert np.asarray(read_one(tmp_path / "cat.png")).tolist() == [[0, 100], [200, 255]]


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "I;16"])
def test_every_kind_of_pixels_becomes_grey_or_rgb(tmp_path: Path, mode: str) -> None:
    save(tmp_path / "cat.png", mode=mode)

    assert read_one(tmp_path / "cat.png").mode in ("L", "RGB")


def test_four_colours_of_print_become_rgb(tmp_path: Path) -> None:
    save(tmp_path / "cat.jpg", mode="CMYK")

    assert read_one(tmp_path / "cat.jpg").mode == "RGB"


def test_arrays_are_pictures_too() -> None:
    arrays = {"a": np.zeros((8, 6, 1), np.uint8), "b": np.zeros((8, 6, 3), np.uint8)}

    with open_images(arrays) as sources:
        assert [(one.read().mode, one.read().size) for one in sources.values()] == [
            ("L", (6, 8)),
            ("RGB", (6, 8)),
        ]


def test_array_of_floats_is_refused_by_item() -> None:
    with (
        pytest.raises(DataError, match="item 'a' is an array of float64"),
        open_images({"a": np.zeros((8, 8))}),  # type: ignore[dict-item]
    ):
        pass


def grey(level: int, side: int = 2) -> PictureSource:
    return PictureSource("x", "x.png", lambda: Image.new("L", (side, side), level))


def test_mix_is_the_convex_sum_of_the_pixels() -> None:
    mixed = mix(grey(200), grey(100), 0.25)

    assert np.asarray(mixed).tolist() == [[125, 125], [125, 125]]


def test_images_of_different_sizes_are_not_mixed() -> None:
    with pytest.raises(DataError, match=r"2 × 2 pixels and one of 3 × 3"):
        mix(grey(0), grey(0, side=3), 0.5)
