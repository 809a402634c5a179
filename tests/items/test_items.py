"""Items are joined by id, never by position, and cannot be wrong once made."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.items.items import Items, join_labels
from sfumato.items.load import load_items

VECTORS = np.arange(6.0).reshape(3, 2)


def test_ids_may_be_whole_numbers_and_are_text_inside() -> None:
    items = Items((3, 1, 2), VECTORS, "vectors")  # type: ignore[arg-type]

    assert items.ids == ("3", "1", "2")
    assert items[1].tolist() == items["1"].tolist() == items[[1]].contents[0].tolist() == [2, 3]
    assert 2 in items and "2" in items and 4 not in items


@given(st.permutations(range(3)))
def test_what_is_taken_by_id_does_not_depend_on_the_order(order: list[int]) -> None:
    items = Items(tuple(f"i{row}" for row in order), VECTORS[order], "vectors")

    taken = items[["i2", "i0"]]

    assert taken.ids == ("i2", "i0")
    assert taken.contents.tolist() == VECTORS[[2, 0]].tolist()
    assert taken.fingerprint == Items(("i2", "i0"), VECTORS[[2, 0]], "vectors").fingerprint


def test_contents_given_out_are_copies() -> None:
    items = Items(("a", "b", "c"), VECTORS, "vectors")

    items["a"][:] = 9
    items.to_numpy()[:] = 9

    assert items.contents.tolist() == VECTORS.tolist()
    assert not items.contents.flags.writeable


def test_repr_is_short_whatever_the_number_of_items() -> None:
    items = Items(tuple(map(str, range(5000))), np.zeros((5000, 8, 8), np.uint8), "images")

    assert repr(items) == "<Items: 5,000 images of 8 × 8 pixels, grey, 0, 1, 2, …>"


def test_fingerprint_tells_ids_contents_and_columns_apart() -> None:
    one = Items(("a", "b", "c"), VECTORS, "vectors")
    others = [
        Items(("a", "b", "d"), VECTORS, "vectors"),
        Items(("a", "b", "c"), VECTORS + 1, "vectors"),
        Items(("a", "b", "c"), VECTORS, "vectors", columns=("x", "y")),
    ]

    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_files_can_be_called_by_path_name_or_stem() -> None:
    items = Items(("a/1.png", "b/2.jpg"), np.zeros((2, 4, 4), np.uint8), "images", files=True)

    assert items.named("path").ids == ("a/1.png", "b/2.jpg")
    assert items.named("name").ids == ("1.png", "2.jpg")
    assert items.named("stem").ids == ("1", "2")
    assert items.named("stem").named("path").ids == ("1", "2")  # no file names any more


def test_two_files_of_one_name_keep_their_paths() -> None:
    items = Items(("a/1.png", "b/1.png"), np.zeros((2, 4, 4), np.uint8), "images", files=True)

    with pytest.raises(DataError, match=r"a/1.png and b/1.png would both be called '1.png'"):
        items.named("name")


def test_whole_numbers_up_to_255_are_pixels() -> None:
    items = Items(("a",), np.full((1, 2, 2), 255), "images")

    assert items.contents.dtype == np.uint8 and items.shape == (2, 2, 1)


@pytest.mark.parametrize(
    ("ids", "contents", "kind", "says"),
    [
        (("a", "a"), VECTORS[:2], "vectors", "'a' occurs more than once"),
        ((1, "1"), VECTORS[:2], "vectors", "'1' occurs more than once"),
        (("a", None), VECTORS[:2], "vectors", "Item 2 of 2 has no id"),
        (("a", float("nan")), VECTORS[:2], "vectors", "Item 2 of 2 has no id"),
        (("a",), VECTORS, "vectors", r"1 ids and vectors of shape \(3, 2\)"),
        ((), np.zeros((0, 2)), "vectors", "at least one item"),
        (("a",), [[np.nan, 1]], "vectors", "item 'a' has nan as number 1"),
        (("a",), [["x"]], "vectors", "Vectors are numbers"),
        (("a",), np.full((1, 2, 2), 16.0), "images", "item 'a' holds 16; images are"),
        (("a",), np.full((1, 2, 2), np.nan), "images", "item 'a' holds nan"),
        (("a",), np.full((1, 2, 2), 256), "images", "holds 256"),
        (("a",), np.zeros((1, 3, 32, 32), np.uint8), "images", "channels seem to come first"),
        (("a",), VECTORS[:1], "images", "items × height × width"),
    ],
)
def test_what_is_wrong_is_said(ids: Any, contents: Any, kind: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        Items(ids, contents, kind)


def test_unknown_item_is_told_with_an_id_that_there_is() -> None:
    items = Items(("a.png", "b.png", "c.png"), VECTORS, "vectors")

    with pytest.raises(DataError, match=r"no item 'a' \(1 of 1 are not there\).*'a\.png'"):
        items["a"]


def test_items_go_to_other_libraries_and_back() -> None:
    vectors = Items(("a", "b", "c"), VECTORS, "vectors", columns=("x", "y"))
    images = Items(("a", "b"), np.arange(32, dtype=np.uint8).reshape(2, 4, 4), "images")

    assert load_items(vectors.to_polars()).fingerprint == vectors.fingerprint
    assert load_items(vectors.to_pandas()).fingerprint == vectors.fingerprint
    assert images.to_polars()["image"].to_numpy().tolist() == images.contents.tolist()
    assert vectors.to_torch().tolist() == VECTORS.tolist()
    assert len(images._repr_html_()) < 5000


def test_slices_and_pairs() -> None:
    items = Items(("a", "b", "c"), VECTORS, "vectors")

    assert items["b":].ids == ("b", "c")
    assert items[::2].ids == ("a", "c")
    assert next((item, content.tolist()) for item, content in items) == ("a", [0.0, 1.0])
    with pytest.raises(DataError, match="name at least one"):
        items[[]]


# Items and labels meet by id; what has no counterpart is told.


def pictures(*paths: str) -> Items:
    shades = np.arange(len(paths), dtype=np.uint8)[:, None, None] + np.zeros((4, 4), np.uint8)
    return Items(paths, shades, "images", files=True)


@given(st.permutations(["10", "9", "x"]), st.permutations(["9", "10", "y"]))
def test_order_does_not_matter(ids: list[str], labelled: list[str]) -> None:
    contents = np.array([[{"9": 9.0, "10": 10.0, "x": 0.0}[item]] for item in ids])

    joined = join_labels(Items(tuple(ids), contents, "vectors"), labelled)

    assert joined.items.ids == ("9", "10")
    assert joined.items.contents.tolist() == [[9.0], [10.0]]
    assert (joined.without_label, joined.without_item) == (("x",), ("y",))


@pytest.mark.parametrize(
    ("labelled", "naming"),
    [
        (["a/1.png", "b/2.png"], "path"),
        (["1.png", "2.png"], "name"),
        (["1", "2"], "stem"),
    ],
)
def test_pictures_are_found_by_path_name_or_stem(labelled: list[str], naming: str) -> None:
    joined = join_labels(pictures("a/1.png", "b/2.png"), labelled)

    assert joined.naming == naming
    assert joined.items.ids == tuple(labelled)
    assert joined.items[labelled[1]].max() == 1


def test_a_path_tells_pictures_of_one_name_apart() -> None:
    joined = join_labels(pictures("a/1.png", "b/1.png"), ["a/1.png"])

    assert joined.items.ids == ("a/1.png",)
    assert joined.without_label == ("b/1.png",)


def test_name_of_two_pictures_is_an_error() -> None:
    with pytest.raises(DataError, match=r"'1' can be about a/1\.png or b/1\.png"):
        join_labels(pictures("a/1.png", "b/1.png", "c/2.png"), ["1", "2"])


def test_counts_are_told_with_examples() -> None:
    joined = join_labels(pictures("1.png", "2.png", "3.png"), ["1", "7", "8", "9", "10"])

    assert joined.remarks == (
        "2 items have no label and are left out: '2.png', '3.png'.",
        "4 labels have no item and are left out: '7', '8', '9', ….",
    )


def test_nothing_in_common_is_an_error_with_ids_of_both_sides() -> None:
    with pytest.raises(DataError, match=r"None of the 2 items.*'1\.png', '2\.png'.*'x', 'y'"):
        join_labels(pictures("1.png", "2.png"), ["x", "y"])
