import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MixJudgments
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.mixed import (
    THESIS_COEFFICIENTS,
    Mix,
    choose_mixes,
    mix_named,
    mix_pixels,
    mixed_images,
    mixes_of,
    read_mixes,
    write_mixes,
)

HEADER = "mix,first_item,second_item,first_class,second_class,coefficient\n"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def pictures(*shape: int) -> dict[str, NDArray[np.uint8]]:
    return {
        item: rng(place).integers(256, size=shape).astype(np.uint8)
        for place, item in enumerate("abc")
    }


def ten_classes(items: int = 7) -> tuple[dict[str, str], list[str]]:
    classes = [f"c{place}" for place in range(10)]
    return {f"{name}-{place}": name for name in classes for place in range(items)}, classes


def test_ten_classes_make_the_810_mixes_of_the_thesis() -> None:
    labels, classes = ten_classes()

    mixes = choose_mixes(labels, classes, rng=rng())

    assert len(mixes) == 810
    assert len({mix.item for mix in mixes}) == 810
    by_classes = Counter((mix.first_class, mix.second_class) for mix in mixes)
    assert set(by_classes) == set(itertools.combinations(classes, 2))
    assert set(by_classes.values()) == {18}
    assert all(labels[mix.first_item] == mix.first_class for mix in mixes)
    assert all(labels[mix.second_item] == mix.second_class for mix in mixes)
    by_pair: dict[tuple[str, str], list[float]] = {}
    for mix in mixes:
        by_pair.setdefault((mix.first_item, mix.second_item), []).append(mix.coefficient)
    for one, two, three in by_pair.values():
        assert (one, two in (0.1, 0.25), three in (0.75, 0.9)) == (0.5, True, True)
    assert {mix.coefficient for mix in mixes} == {0.1, 0.25, 0.5, 0.75, 0.9}


def test_number_of_image_pairs_and_of_all_mixes_can_be_chosen() -> None:
    labels, classes = ten_classes()

    assert len(choose_mixes(labels, classes, [[0.3]], pairs=2, rng=rng())) == 90
    assert len(choose_mixes(labels, classes, count=4, rng=rng())) == 4
    assert len(choose_mixes(labels, classes, pairs=1_000, rng=rng())) == 45 * 49 * 3


def test_same_seed_chooses_the_same_mixes() -> None:
    first, again, other = (choose_mixes(*ten_classes(), rng=rng(seed)) for seed in (3, 3, 4))

    assert first == again
    assert first != other


def test_class_without_images_cannot_be_mixed() -> None:
    with pytest.raises(DataError, match="No image has the class 'dog'"):
        choose_mixes({"a": "cat"}, ["cat", "dog"], rng=rng())


@pytest.mark.parametrize(
    ("coefficients", "told"),
    [
        ([[0.5], [0.25, 0.5]], r"0\.5 stands twice"),
        ([[0.5], []], "at least one"),
        ([[1.5]], "from 0 to 1"),
    ],
)
def test_coefficients_that_make_no_mixes_are_refused(
    coefficients: list[list[float]], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        choose_mixes({"a": "cat", "b": "dog"}, ["cat", "dog"], coefficients, rng=rng())


@given(
    arrays(np.uint8, (3, 2, 3)), arrays(np.uint8, (3, 2, 3)), st.fractions(0, 1, max_denominator=20)
)
def test_pixels_are_the_exact_mix_to_half_a_grey_level(
    first: NDArray[np.uint8], second: NDArray[np.uint8], share: Fraction
) -> None:
    mixed = mix_pixels(first, second, float(share))

    for one, two, found in zip(first.flat, second.flat, mixed.flat, strict=True):
        exact = share * int(one) + (1 - share) * int(two)
        assert abs(int(found) - exact) <= Fraction(1, 2) + Fraction(1, 10**9)


@given(arrays(np.uint8, (2, 2)), arrays(np.uint8, (2, 2)))
def test_coefficients_one_and_zero_give_the_endpoints(
    first: NDArray[np.uint8], second: NDArray[np.uint8]
) -> None:
    assert np.array_equal(mix_pixels(first, second, 1.0), first)
    assert np.array_equal(mix_pixels(first, second, 0.0), second)


def test_grey_mixed_with_colour_becomes_colour() -> None:
    grey = np.full((2, 2), 100, np.uint8)
    red = np.zeros((2, 2, 3), np.uint8)
    red[..., 0] = 200

    mixed = mix_pixels(grey, red, 0.5)

    assert mixed[0, 0].tolist() == [150, 50, 50]


def test_only_images_of_one_size_are_mixed() -> None:
    images = {"a": np.zeros((2, 3), np.uint8), "b": np.zeros((3, 2), np.uint8)}

    with pytest.raises(DataError, match=r"'0\.5 a \+ b': An image of 2 × 3 pixels"):
        mixed_images([Mix("a", "b", "cat", "dog", 0.5)], images)


@pytest.mark.parametrize(("shape", "made"), [((4, 3), (2, 4, 3, 1)), ((4, 3, 3), (2, 4, 3, 3))])
def test_mixed_images_stand_in_the_order_of_the_mixes(
    shape: tuple[int, ...], made: tuple[int, ...]
) -> None:
    images = pictures(*shape)
    mixes = [Mix("a", "b", "cat", "dog", 0.25), Mix("c", "a", "deer", "cat", 0.9)]

    found = mixed_images(mixes, images)

    assert found.shape == made
    assert found.dtype == np.uint8
    expected = mix_pixels(images["c"], images["a"], 0.9)
    assert np.array_equal(found[1].reshape(expected.shape), expected)


def test_item_without_image_is_named() -> None:
    with pytest.raises(DataError, match="no image of item 'z'"):
        mixed_images([Mix("a", "z", "cat", "dog", 0.5)], pictures(2, 2))


def test_written_mixes_are_read_as_they_were(tmp_path: Path) -> None:
    mixes = [*choose_mixes(*ten_classes(), rng=rng()), Mix('a "b"', "c,d", "x", "y", 1 / 3)]

    write_mixes(mixes, tmp_path / "mixes.csv")

    assert read_mixes(tmp_path / "mixes.csv") == mixes
    text = (tmp_path / "mixes.csv").read_text()
    assert text.startswith(HEADER)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (",17,403,cat,dog,1.25\n", r"m\.csv, line 2, field 'coefficient': not a number from 0 to"),
        ("x,17,403,cat,,0.5\n", r"line 2, field 'second_class': empty"),
        ("0.5 17 + 4,17,4,cat,dog,0.25\n", r"line 2, field 'mix': .* is called '0\.25 17 \+ 4'"),
        ("0.5 1 + 4,1,4,cat,dog,0.5\n" * 2, r"m\.csv: the mix '0\.5 1 \+ 4' stands there more"),
        ("0.5 1 + 4,1,4,cat\n", r"line 2: 4 fields where the header has 6"),
    ],
)
def test_wrong_tables_of_mixes_are_refused_with_line_and_field(
    tmp_path: Path, rows: str, told: str
) -> None:
    (tmp_path / "m.csv").write_text(HEADER + rows)

    with pytest.raises(DataError, match=told):
        read_mixes(tmp_path / "m.csv")


def test_table_without_names_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "coefficient,first_item,first_class,second_item,second_class\n.5,1,cat,4,dog\n"
    )

    assert read_mixes(tmp_path / "m.csv") == [Mix("1", "4", "cat", "dog", 0.5)]


def test_same_mix_is_not_written_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="more than once"):
        write_mixes([Mix("1", "4", "cat", "dog", 0.5)] * 2, tmp_path / "m.csv")


@pytest.mark.parametrize("name", ["mixed_0.5_Dog_2205.png", "Dog_1_Cat_2", "mixed_7_Dog_1_Cat_2"])
def test_other_names_are_no_mixes_of_hmix(name: str) -> None:
    with pytest.raises(DataError, match="names no mixed image"):
        mix_named(name)


def test_answers_without_sources_name_no_mixes() -> None:
    table = pl.DataFrame({"mix": ["m"], "shown": [0.5], "perceived": [0.4], "task": ["infer"]})

    with pytest.raises(DataError, match="which images and classes 'm'"):
        mixes_of(MixJudgments(table))


def test_hmix_names_and_answers_tell_the_same_mixes(data_folder: Path) -> None:
    path = data_folder / "hmix" / "hmix_infer_mixing_factor.csv"
    answers = read(path, "hmix", ReadOptions())
    assert isinstance(answers, MixJudgments)

    mixes = mixes_of(answers)

    assert len(mixes) == 2_070
    assert len({mix.item for mix in mixes.values()}) == 2_070
    assert all(mix_named(name) == mix for name, mix in mixes.items())
    assert {mix.coefficient for mix in mixes.values()} == {
        value for group in THESIS_COEFFICIENTS for value in group
    }
