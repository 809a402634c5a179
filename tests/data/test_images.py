"""Image sets hold what they were given, and refuse what makes no sense."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from sfumato.data import load_own
from sfumato.data.images import FeatureSet, ImageSet
from sfumato.errors import DataError, UnknownName
from sfumato.provenance import Step

CLASSES = ("cat", "dog", "frog")


def pictures(n: int) -> NDArray[np.uint8]:
    """Each picture filled with its own row number, so that rows can be told apart."""
    return np.repeat(np.arange(n, dtype=np.uint8), 4).reshape(n, 2, 2, 1)


def image_set(n: int = 4) -> ImageSet:
    return ImageSet(
        items=tuple(f"i{row}" for row in range(n)),
        images=pictures(n),
        labels=np.arange(n) % 3,
        classes=CLASSES,
        split=tuple("train" if row < n // 2 else "test" for row in range(n)),
        provenance=(Step("load toys"),),
    )


def test_what_is_given_afterwards_changes_nothing() -> None:
    given_images = pictures(1)
    given_labels = np.array([1])
    images = ImageSet(("a",), given_images, given_labels, CLASSES, ("all",))

    given_images[:] = 255
    given_labels[:] = 2

    assert images.images.max() == 0
    assert images.labels.tolist() == [1]


def test_arrays_cannot_be_written_to() -> None:
    images = image_set().take(["i1"])

    for array in (images.images, images.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_read_only_view_of_a_writable_array_is_copied() -> None:
    base = pictures(1)
    view = base[:]
    view.flags.writeable = False
    images = ImageSet(("a",), view, np.array([0]), CLASSES, ("all",))

    base[:] = 9

    assert images.images.max() == 0


def test_pictures_that_nobody_can_write_to_are_not_copied() -> None:
    frozen = np.zeros((1, 2, 2, 1), np.uint8)
    frozen.flags.writeable = False

    images = ImageSet(("a",), frozen, np.array([0]), CLASSES, ("all",))

    assert images.images is frozen


@given(st.permutations([f"i{row}" for row in range(6)]), st.integers(0, 6))
def test_take_carries_everything_along_in_the_given_order(order: list[str], count: int) -> None:
    images = image_set(6)

    taken = images.take(order[:count])

    rows = [int(item[1:]) for item in order[:count]]
    assert taken.items == tuple(order[:count])
    assert taken.images[:, 0, 0, 0].tolist() == rows
    assert taken.labels.tolist() == [row % 3 for row in rows]
    assert taken.split == tuple("train" if row < 3 else "test" for row in rows)
    assert taken.provenance == images.provenance


def test_take_names_an_item_without_picture() -> None:
    with pytest.raises(DataError, match=r"no picture of item 'nobody' \(1 of 2 without one\)"):
        image_set().take(["i0", "nobody"])


def test_splits_part_the_set() -> None:
    images = image_set()

    assert images.in_split("train").items + images.in_split("test").items == images.items


def test_unknown_split_names_those_there_are() -> None:
    with pytest.raises(DataError, match="split 'val'; the splits are: 'test', 'train'"):
        image_set().in_split("val")


def test_splits_can_be_drawn_anew() -> None:
    images = image_set(3)

    redrawn = images.with_splits({"i0": "b", "i1": "a", "i2": "b", "unused": "a"})

    assert redrawn.in_split("b").items == ("i0", "i2")
    with pytest.raises(DataError, match=r"'i1' is in no split \(2 of 3 in none\)"):
        images.with_splits({"i0": "a"})


def test_original_labels_are_one_hot_and_keep_the_provenance() -> None:
    labels = image_set(3).original()

    assert labels.classes == CLASSES
    assert np.array_equal(labels.probs, np.eye(3))
    assert [step.name for step in labels.provenance] == ["load toys", "label original"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"images": np.zeros((2, 2, 2, 1))}, "stored as float64; expected uint8"),
        ({"images": np.zeros((2, 2, 2), np.uint8)}, r"shape \(2, 2, 2\); expected items × height"),
        ({"images": np.zeros((2, 0, 2, 1), np.uint8)}, r"shape \(2, 0, 2, 1\)"),
        ({"items": ("a",)}, "2 items but 1 ids"),
        ({"items": ("a", "a")}, "item 'a' occurs more than once"),
        ({"classes": ("cat", "cat")}, "class 'cat' occurs more than once"),
        ({"split": ("all",)}, "2 items but 1 splits"),
        ({"labels": np.array([0, 2])}, "'b' has the label 2; with 2 classes it must be from 0 to"),
        ({"labels": np.array([-1, 0])}, "'a' has the label -1"),
        ({"labels": np.array([0.0, 1.0])}, "labels of float64"),
        ({"labels": np.array([0])}, r"shape \(1,\)"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(change: dict[str, object], sentence: str) -> None:
    fields: dict[str, object] = {
        "items": ("a", "b"),
        "images": pictures(2),
        "labels": np.array([0, 1]),
        "classes": ("cat", "dog"),
        "split": ("all", "all"),
    }

    with pytest.raises(DataError, match=sentence):
        ImageSet(**{**fields, **change})  # type: ignore[arg-type]


def test_features_are_checked_like_pictures() -> None:
    rows = np.ones((1, 3), np.float32)
    features = FeatureSet(("a",), rows, np.array([2]), CLASSES, ("all",))

    assert not features.features.flags.writeable
    assert features.original().probs.tolist() == [[0, 0, 1]]
    with pytest.raises(DataError, match=r"shape \(3,\); expected items × features"):
        FeatureSet(("a",), rows[0], np.array([2]), CLASSES, ("all",))
    with pytest.raises(DataError, match="1 items but 2 ids"):
        FeatureSet(("a", "b"), rows, np.array([2]), CLASSES, ("all",))


# One's own pictures and labels fit one to one, or the error names the file.


RNG = np.random.default_rng(7)
RED = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
BLUE = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
GREY = RNG.integers(0, 256, (6, 8), dtype=np.uint8)


def png(pixels: NDArray[Any], kind: str = "PNG") -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


def folder_of(place: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (place / "pictures" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "pictures" / name).write_bytes(content)
    return place / "pictures"


def zip_of(place: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(place / "pictures.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return place / "pictures.zip"


def table(place: Path, *rows: str, header: str = "item,label") -> Path:
    (place / "labels.csv").write_text("\n".join([header, *rows, ""]))
    return place / "labels.csv"


@pytest.mark.parametrize("make", [folder_of, zip_of])
def test_pictures_come_in_the_order_of_the_table(make: object, tmp_path: Path) -> None:
    assert callable(make)
    pictures = make(tmp_path, {"a/red.png": png(RED), "blue.PNG": png(BLUE), "notes.txt": b"x"})
    rows = table(tmp_path, "blue,sea,test", "a/red.png,fire,train", header="item,label,split")

    images = load_own(pictures, rows)

    assert np.array_equal(images.images, [BLUE, RED])
    assert images.items == ("blue", "a/red.png")
    assert images.classes == ("fire", "sea")
    assert images.labels.tolist() == [1, 0]
    assert images.split == ("test", "train")
    assert "labels.csv" in images.provenance[0].inputs


def test_a_whole_path_is_meant_even_if_another_folder_has_the_same_name(tmp_path: Path) -> None:
    pictures = folder_of(tmp_path, {"a.png": png(RED), "v/a.png": png(BLUE)})

    images = load_own(pictures, table(tmp_path, "v/a.png,x", "a.png,x"))

    assert np.array_equal(images.images, [BLUE, RED])


def test_without_splits_all_are_in_one_and_classes_can_be_given(tmp_path: Path) -> None:
    pictures = folder_of(tmp_path, {"1.png": png(RED)})
    rows = table(tmp_path, "1,cat")

    images = load_own(pictures, rows, classes=("dog", "cat"))

    assert (images.split, images.classes, images.labels.tolist()) == (("all",), ("dog", "cat"), [1])
    with pytest.raises(UnknownName, match="No class is called 'cat'"):
        load_own(pictures, rows, classes=("dog", "cats and more"))


def test_numbers_as_labels_are_in_their_order(tmp_path: Path) -> None:
    pictures = folder_of(tmp_path, {f"{n}.png": png(RED) for n in range(3)})

    images = load_own(pictures, table(tmp_path, "0,10", "1,9", "2,2"))

    assert images.classes == ("2", "9", "10")


def test_grey_stays_grey_unless_one_is_in_colour(tmp_path: Path) -> None:
    pictures = folder_of(tmp_path, {"g.png": png(GREY)})
    alone = load_own(pictures, table(tmp_path, "g,x"))
    folder_of(tmp_path, {"r.png": png(RED)})
    mixed = load_own(pictures, table(tmp_path, "g,x", "r,x"))

    assert np.array_equal(alone.images, GREY[None, ..., None])
    assert np.array_equal(mixed.images, [np.stack([GREY] * 3, axis=2), RED])


def test_sizes_differ_only_if_a_size_is_given(tmp_path: Path) -> None:
    pictures = folder_of(tmp_path, {"a.png": png(RED), "b.png": png(RED[:4])})
    rows = table(tmp_path, "a,x", "b,x")

    with pytest.raises(DataError, match=r"b\.png has 4 × 8 pixels, but a\.png has 6 × 8\. Name"):
        load_own(pictures, rows)
    resized = load_own(pictures, rows, size=(4, 5))

    expected = [
        Image.fromarray(pixels).resize((5, 4), Image.Resampling.LANCZOS)
        for pixels in (RED, RED[:4])
    ]
    assert np.array_equal(resized.images, [np.asarray(image) for image in expected])
    assert resized.provenance[0].settings == {"size": [4, 5]}


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    content = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # held sideways: to be turned by a quarter
    Image.fromarray(RED).save(content, "PNG", exif=exif)
    pictures = folder_of(tmp_path, {"a.png": content.getvalue()})

    images = load_own(pictures, table(tmp_path, "a,x"))

    assert np.array_equal(images.images[0], np.rot90(RED, -1))


def test_jpeg_and_opaque_alpha_are_read_and_transparency_is_refused(tmp_path: Path) -> None:
    opaque = np.dstack([RED, np.full((6, 8), 255, np.uint8)])
    pictures = folder_of(tmp_path, {"a.jpeg": png(RED, "JPEG"), "b.png": png(opaque)})
    rows = table(tmp_path, "a,x", "b,x")

    images = load_own(pictures, rows)

    assert np.array_equal(images.images[1], RED)
    opaque[0, 0, 3] = 0
    folder_of(tmp_path, {"b.png": png(opaque)})
    with pytest.raises(DataError, match=r"b\.png in pictures is transparent"):
        load_own(pictures, rows)


def test_files_that_the_mac_adds_are_no_pictures(tmp_path: Path) -> None:
    files = {"a.png": png(RED), "__MACOSX/._a.png": b"", "._b.png": b"", ".hidden/c.png": b""}

    images = load_own(zip_of(tmp_path, files), table(tmp_path, "a,x"))

    assert images.items == ("a",)


TWO = {"a.png": png(RED), "b.png": png(BLUE)}


@pytest.mark.parametrize("make", [folder_of, zip_of])
@pytest.mark.parametrize(
    ("files", "rows", "sentence"),
    [
        (TWO, ["a,x", "b,x", "c,x"], r"labels\.csv has the item 'c', but pictures.* no picture"),
        (TWO, ["a,x"], r"b\.png in pictures.* has no row in labels\.csv \(1 of 2"),
        (TWO, ["a,x", "a.png,x"], r"names the picture a\.png twice: 'a' and 'a\.png'"),
        (TWO, ["a,x", "a,y"], r"more than one row for the item 'a'"),
        (TWO, ["a,x", "b,"], r"labels\.csv, row 2: 'label' is empty"),
        (TWO, [], r"labels\.csv has no rows"),
        ({"a.png": b"no picture"}, ["a,x"], r"a\.png in pictures.* is no readable picture"),
        ({"a.png": png(RED)[:-60]}, ["a,x"], r"a\.png in pictures.* is no readable picture"),
        ({"a.png": png(RED)[:60]}, ["a,x"], r"a\.png in pictures.* is no readable picture"),
        ({"u/a.png": png(RED), "v/a.png": png(RED)}, ["a,x"], r"can be u/a\.png or v/a\.png"),
        ({"a.png": png(RED.astype(np.uint16)[..., 0])}, ["a,x"], "expected 8 bits for grey"),
    ],
)
def test_what_does_not_fit_is_named(
    make: object, files: dict[str, bytes], rows: list[str], sentence: str, tmp_path: Path
) -> None:
    assert callable(make)
    pictures = make(tmp_path, files)

    with pytest.raises(DataError, match=sentence):
        load_own(pictures, table(tmp_path, *rows))


def test_tables_and_archives_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    pictures = folder_of(tmp_path, TWO)
    rows = table(tmp_path, "a,x", "b,x")

    with pytest.raises(DataError, match=r"labels\.csv has no column 'label'; it has item, class"):
        load_own(pictures, table(tmp_path, "a,x", header="item,class"))
    with pytest.raises(DataError, match=r"none\.csv cannot be read as CSV"):
        load_own(pictures, tmp_path / "none.csv")
    rows = table(tmp_path, "a,x", "b,x")
    with pytest.raises(DataError, match=r"none\.zip cannot be opened"):
        load_own(tmp_path / "none.zip", rows)
    damaged = zip_of(tmp_path, TWO)
    damaged.write_bytes(damaged.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"pictures\.zip is no readable zip archive"):
        load_own(damaged, rows)
