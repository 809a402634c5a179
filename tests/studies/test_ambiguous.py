"""A folder of synthetic ambiguous images: what is written can be read by everything else."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfumato.data import load_own
from sfumato.data.images import ImageSet
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.mixed import Mix, choose_mixes, mix_pixels, read_mixes
from sfumato.labels.files import read_labels, write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.learn.ambiguous import AmbiguousImages
from sfumato.provenance import Step, is_simulated
from sfumato.studies.ambiguous import (
    labels_of,
    load_pictures,
    mixed_examples,
    sheet,
    taught_labels,
    write_ambiguous,
    write_mixed,
)

ITEMS = ("synthetic-00000", "synthetic-00001", "synthetic-00002")


def made(channels: int = 1) -> AmbiguousImages:
    step = Step("generate synthetic ambiguous images", {"seed": 0}, simulated=True)
    images = np.random.default_rng(0).integers(256, size=(3, 4, 5, channels)).astype(np.uint8)
    probs = np.array([[0.9, 0.1], [0.4, 0.6], [0.55, 0.45]])
    return AmbiguousImages(
        images=images,
        labels=LabelSet(ITEMS, ("cat", "dog"), probs, provenance=(step,)),
        drawn=("cat", "cat", "dog"),
        first_item=("a", "b", "a"),
        second_item=("c", "c", "d"),
        first_class=("cat", "cat", "cat"),
        second_class=("dog", "dog", "dog"),
        coefficient=np.array([0.75, 0.5, 0.25]),
        entropy=np.array([0.325, 0.673, 0.688]),
        information=np.array([0.0, 0.01, 0.02]),
        stratum=("entropy 0.00 to 0.35", "entropy 0.35 and more", "entropy 0.35 and more"),
        facts={"candidates": 3},
    )


@pytest.mark.parametrize("channels", [1, 3])
def test_written_images_and_labels_are_those_that_are_read(tmp_path: Path, channels: int) -> None:
    one = made(channels)

    written = write_ambiguous(one, tmp_path / "out")
    pictures = load_own(tmp_path / "out" / "images", tmp_path / "out" / "table.csv")
    labels = read_labels(tmp_path / "out" / "labels.parquet")

    np.testing.assert_array_equal(pictures.images, one.images)
    assert pictures.items == labels.items == ITEMS
    assert [pictures.classes[place] for place in pictures.labels] == ["cat", "dog", "cat"]
    np.testing.assert_array_equal(labels.probs, one.labels.probs)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *(name.rstrip("/") for name in written),
        "labels.parquet.json",
    }


def test_every_file_says_that_it_is_synthetic(tmp_path: Path) -> None:
    write_ambiguous(made(), tmp_path)

    for path in [tmp_path / "sheet.png", *(tmp_path / "images").iterdir()]:
        with Image.open(path) as image:
            assert image.info["Description"].startswith("Synthetic:")
    assert is_simulated(read_labels(tmp_path / "labels.parquet").provenance)
    assert json.loads((tmp_path / "synthetic.json").read_text())["synthetic"] is True
    rows = (tmp_path / "table.csv").read_text().splitlines()
    assert all(row.startswith("synthetic-") for row in rows[1:])
    assert rows[2] == ("synthetic-00001,dog,cat,b,c,cat,dog,0.5,0.673,0.01,entropy 0.35 and more")


def test_sheet_has_a_row_a_stratum(tmp_path: Path) -> None:
    one = made()
    drawn = sheet(one)

    times = drawn.shape[0] // 9  # two rows of 4 pixels and a line between them
    assert drawn.shape[:2] == (9 * times, 11 * times)
    np.testing.assert_array_equal(drawn[::times, ::times][:4, :5], one.images[0])
    np.testing.assert_array_equal(drawn[::times, ::times][5:, 6:], one.images[2])


def test_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")

    with pytest.raises(DataError, match="is not empty; name a new folder"):
        write_ambiguous(made(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_pictures_come_from_a_data_set_or_a_folder_but_not_both(tmp_path: Path) -> None:
    write_ambiguous(made(), tmp_path / "out")
    images, table = tmp_path / "out" / "images", tmp_path / "out" / "table.csv"

    assert len(load_pictures("digits", split=None)) == 1797
    assert load_pictures(None, images=images, table=table, split="all").items == ITEMS
    with pytest.raises(DataError, match="Give either a dataset"):
        load_pictures("digits", images=images, table=table, split=None)
    with pytest.raises(DataError, match="with the table of their items"):
        load_pictures(None, images=images, split=None)
    with pytest.raises(UnknownName, match="Did you mean 'mnist'"):
        load_pictures("mnits", split=None)


def test_networks_are_taught_by_the_own_labels_or_by_those_of_a_file(tmp_path: Path) -> None:
    pictures = ImageSet(
        ("a", "b"), np.zeros((2, 4, 4, 1), np.uint8), np.arange(2), ("x", "y"), ("s", "s")
    )
    soft = LabelSet(("b", "a"), ("y", "x"), np.array([[0.75, 0.25], [0.5, 0.5]]))
    write_labels(soft, tmp_path / "soft.parquet")

    assert taught_labels(pictures, None).probs.tolist() == [[1, 0], [0, 1]]
    assert taught_labels(pictures, tmp_path / "soft.parquet").probs.tolist() == [
        [0.5, 0.5],
        [0.75, 0.25],
    ]
    write_labels(soft.take(["b"]), tmp_path / "part.csv")
    with pytest.raises(DataError, match=r"part\.csv: Item 'a' has no label"):
        taught_labels(pictures, tmp_path / "part.csv")


def pictures(channels: int = 3, items: tuple[str, ...] = ("a", "b/1", "c", "d")) -> ImageSet:
    drawn = np.random.default_rng(0).integers(256, size=(len(items), 4, 6, channels))
    labels = np.arange(len(items)) % 2
    split = ("all",) * len(items)
    return ImageSet(items, drawn.astype(np.uint8), labels, ("cat", "dog"), split)


def test_examples_are_called_as_people_s_answers_are() -> None:
    images = pictures()
    mixes = choose_mixes(labels_of(images), images.classes, rng=np.random.default_rng(0))

    examples = mixed_examples(mixes, images)

    assert examples.items == tuple(mix.item for mix in mixes)
    places = [images.items.index(item) for item in (mixes[0].first_item, mixes[0].second_item)]
    first, second = images.images[places]
    expected = mix_pixels(first, second, mixes[0].coefficient)
    assert np.array_equal(examples.images[0], expected)


@pytest.mark.parametrize("channels", [1, 3])
def test_files_hold_the_pixels_of_the_examples(tmp_path: Path, channels: int) -> None:
    images = pictures(channels)
    mixes = [Mix("a", "b/1", "cat", "dog", 0.25), Mix("c", "d", "cat", "dog", 0.5)]

    write_mixed(mixes, images, tmp_path / "out", settings={"seed": 3})

    assert read_mixes(tmp_path / "out" / "mixes.csv") == mixes
    with Image.open(tmp_path / "out" / "images" / "0.25 a + b_1.png") as stored:
        found = np.asarray(stored)
    assert np.array_equal(found, mixed_examples(mixes, images).images[0].squeeze())
    told = json.loads((tmp_path / "out" / "mixes.question.json").read_text())
    assert told["provenance"][-1]["settings"]["seed"] == 3


def test_files_may_be_larger_than_the_images(tmp_path: Path) -> None:
    mixes = [Mix("a", "b/1", "cat", "dog", 0.25)]

    write_mixed(mixes, pictures(), tmp_path / "out", side=60, settings={})

    with Image.open(tmp_path / "out" / "images" / "0.25 a + b_1.png") as stored:
        assert stored.size == (60, 40)


def test_folder_of_mixes_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("dear")

    with pytest.raises(DataError, match="is not empty"):
        write_mixed([], pictures(), tmp_path, settings={})

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_mixes_that_would_share_a_file_are_refused(tmp_path: Path) -> None:
    images = pictures(items=("a", "b/1", "b:1", "d"))
    mixes = [Mix("a", name, "cat", "dog", 0.5) for name in ("b/1", "b:1")]

    with pytest.raises(DataError, match="the same file name"):
        write_mixed(mixes, images, tmp_path / "out", settings={})
