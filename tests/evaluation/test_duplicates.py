"""The same picture is found wherever it is, and leaks between splits are named with both labels."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.data import load
from sfumato.errors import DataError
from sfumato.evaluation.duplicates import (
    PictureId,
    Pictures,
    find_duplicates,
    groups_table,
    keep_one_each,
    leakage_table,
    pairs_table,
)

Images = NDArray[np.uint8]


def noise(count: int, seed: int = 0) -> Images:
    return np.random.default_rng(seed).integers(0, 256, (count, 10, 10), dtype=np.uint8)


def numbered(source: str, split: str, images: Images, labels: str = "") -> Pictures:
    return Pictures(source, split, tuple(map(str, range(len(images)))), images, tuple(labels))


def slightly_noisy(images: Images) -> Images:
    """One grey level more on every other pixel: near, not equal."""
    changed = np.minimum(images, 254).copy()
    changed[..., ::2, :] += 1
    return changed


def test_mnist_holds_no_picture_twice(data_folder: Path) -> None:
    """S4-38: 0 of 70,000."""
    sets = [load("mnist", "train", data_folder), load("mnist", "test", data_folder)]
    parts = [Pictures("mnist", one.split[0], one.items, one.images) for one in sets]

    found = find_duplicates(parts, near=None)

    assert len(found.pictures) == 70_000
    assert found.exact_surplus == 0
    assert len(keep_one_each(found)) == 70_000


@given(st.lists(st.integers(0, 5), min_size=1, max_size=14), st.integers(1, 14))
def test_exact_groups_are_those_of_equal_pixels(which: list[int], cut: int) -> None:
    images = noise(6)[which]
    parts = [numbered("a", "train", images[:cut]), numbered("b", "test", images[cut:])]

    found = find_duplicates(parts, near=None)

    table = groups_table(found, "exact")
    assert len(keep_one_each(found)) == len(set(which))
    assert found.exact_surplus == len(which) - len(set(which))
    assert len(table) == sum(which.count(code) > 1 for code in which)
    assert table["group"].n_unique() == len({code for code in which if which.count(code) > 1})
    assert set(table["distance"]) <= {0.0}


def test_a_grey_picture_is_itself_in_three_equal_channels() -> None:
    grey = noise(2)
    colour = np.repeat(grey[..., None], 3, axis=3)
    mixed = np.concatenate([colour[:1], np.random.default_rng(1).integers(0, 9, (1, 10, 10, 3))])
    parts = [
        numbered("grey", "all", grey),
        numbered("one channel", "all", grey[..., None]),
        numbered("three", "all", colour),
        numbered("some in colour", "all", mixed.astype(np.uint8)),
    ]

    found = find_duplicates(parts)

    assert found.same.tolist() == [0, 1, 0, 1, 0, 1, 0, 7]


def test_equal_bytes_in_another_shape_are_another_picture() -> None:
    tall = np.arange(50, dtype=np.uint8).reshape(1, 10, 5)

    found = find_duplicates(
        [numbered("a", "train", tall), numbered("b", "train", tall.reshape(1, 5, 10))]
    )

    assert found.exact_surplus == 0
    assert len(found.near) == 0


def test_the_first_by_natural_order_is_kept() -> None:
    image = noise(1)[[0, 0, 0]]
    first = Pictures("a", "test", ("10", "9", "11"), image)
    second = Pictures("a", "train", ("1",), image[:1])

    assert keep_one_each(find_duplicates([first, second])) == (PictureId("a", "test", "9"),)
    assert keep_one_each(find_duplicates([second, first])) == (PictureId("a", "train", "1"),)


def test_near_pictures_are_kept_unless_asked_otherwise() -> None:
    images = noise(3)
    parts = [numbered("a", "train", images), numbered("a", "test", slightly_noisy(images[:1]))]

    found = find_duplicates(parts)

    assert len(keep_one_each(found)) == 4
    assert [picture.item for picture in keep_one_each(found, "near")] == ["0", "1", "2"]
    assert groups_table(found, "exact").is_empty()
    assert groups_table(found).rows() == [
        (0, "0", "a", "train", "near", pytest.approx(found.distance[0])),
        (0, "0", "a", "test", "near", pytest.approx(found.distance[0])),
    ]
    assert 0 < found.distance[0] < 1e-4


def test_a_group_joins_what_is_near_to_a_repeat() -> None:
    images = noise(2)
    parts = [
        numbered("a", "train", images[[0, 1]]),
        numbered("a", "test", images[[0]]),
        numbered("b", "test", slightly_noisy(images[[0]])),
    ]

    table = groups_table(find_duplicates(parts))

    assert table["group"].to_list() == [0, 0, 0]
    assert table["kind"].to_list() == ["exact", "exact", "near"]
    assert table["source"].to_list() == ["a", "a", "b"]


def test_a_leak_names_both_pictures_and_says_when_their_labels_disagree() -> None:
    images = noise(4)
    parts = [
        numbered("a", "train", images[[0, 1, 2]], "xyz"),
        Pictures(
            "a",
            "test",
            ("p", "q", "r", "s"),
            np.concatenate([images[[0, 1, 3]], slightly_noisy(images[[2]])]),
            tuple("xxzz"),
        ),
    ]

    table = leakage_table(find_duplicates(parts))

    assert table["item", "label", "twin", "twin_label", "kind", "labels_agree"].rows() == [
        ("p", "x", "0", "x", "exact", True),
        ("q", "x", "1", "y", "exact", False),
        ("s", "z", "2", "z", "near", True),
    ]
    assert table["distance"][0] == 0 < table["distance"][2]


def test_a_leak_is_listed_once_with_its_closest_twin() -> None:
    images = noise(1)
    train = np.concatenate([slightly_noisy(images), images, images])

    table = leakage_table(
        find_duplicates([numbered("a", "train", train), numbered("a", "test", images)])
    )

    assert table["item", "twin", "kind", "labels_agree"].rows() == [("0", "1", "exact", None)]


def test_repeats_inside_a_split_are_no_leak() -> None:
    images = noise(2)
    parts = [numbered("a", "train", images[[0, 0]]), numbered("a", "test", images[[1, 1]])]

    found = find_duplicates(parts)

    assert leakage_table(found).is_empty()
    assert found.exact_surplus == 2


def test_pairs_are_listed_closest_first_with_both_places() -> None:
    images = noise(2)
    parts = [
        numbered("a", "train", images, "xy"),
        numbered("b", "test", np.stack([slightly_noisy(images)[1], images[0]]), "yz"),
    ]

    table = pairs_table(find_duplicates(parts))

    columns = ["kind", "first_source", "first_item", "second_source", "second_item", "second_label"]
    assert table.select(columns).rows() == [
        ("exact", "a", "0", "b", "1", "z"),
        ("near", "a", "1", "b", "0", "y"),
    ]
    assert table["distance"].is_sorted()


def test_nothing_found_gives_empty_tables_of_the_same_columns() -> None:
    found = find_duplicates([numbered("a", "train", noise(2)), numbered("a", "test", noise(2, 1))])

    assert groups_table(found).columns == ["group", "item", "source", "split", "kind", "distance"]
    for table in (groups_table(found), pairs_table(found), leakage_table(found)):
        assert table.is_empty()
    assert find_duplicates([]).pictures == ()


@pytest.mark.parametrize(
    ("items", "images", "labels", "says"),
    [
        (("a",), np.zeros((1, 4, 4)), (), "type float64"),
        (("a",), np.zeros((4, 4), np.uint8), (), r"shape \(4, 4\)"),
        (("a", "b"), np.zeros((1, 4, 4), np.uint8), (), "2 items but 1 images in split 'train'"),
        (("a", "a"), np.zeros((2, 4, 4), np.uint8), (), "'a' occurs more than once"),
        (("a",), np.zeros((1, 4, 4), np.uint8), ("x", "y"), "1 items but 2 labels"),
    ],
)
def test_pictures_of_the_wrong_form_are_refused(
    items: tuple[str, ...], images: Images, labels: tuple[str, ...], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        Pictures("mnist", "train", items, images, labels)


def test_the_same_split_twice_is_refused() -> None:
    part = numbered("a", "train", noise(1))

    with pytest.raises(DataError, match="Item '0' of split 'train' of source 'a' is in two parts"):
        find_duplicates([part, part])


def test_a_distance_that_is_none_is_refused() -> None:
    with pytest.raises(DataError, match="near duplicates is 2"):
        find_duplicates([], near=2)


def test_leaks_from_a_split_without_pictures_are_refused() -> None:
    found = find_duplicates([numbered("a", "train", noise(1))])

    with pytest.raises(DataError, match="in the split 'test'; the splits are: 'train'"):
        leakage_table(found)
