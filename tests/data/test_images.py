"""Image sets hold what they were given, and refuse what makes no sense."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.data.images import FeatureSet, ImageSet
from sfumato.errors import DataError
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
