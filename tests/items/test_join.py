"""Items and labels meet by id; what has no counterpart is told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.items.join import join_labels


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
