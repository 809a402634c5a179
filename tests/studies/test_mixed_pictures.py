import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfumato.data.images import ImageSet
from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix, choose_mixes, mix_pixels, read_mixes
from sfumato.studies.mixed_pictures import labels_of, mixed_examples, write_mixed


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


def test_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("dear")

    with pytest.raises(DataError, match="is not empty"):
        write_mixed([], pictures(), tmp_path, settings={})

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_mixes_that_would_share_a_file_are_refused(tmp_path: Path) -> None:
    images = pictures(items=("a", "b/1", "b:1", "d"))
    mixes = [Mix("a", name, "cat", "dog", 0.5) for name in ("b/1", "b:1")]

    with pytest.raises(DataError, match="the same file name"):
        write_mixed(mixes, images, tmp_path / "out", settings={})
