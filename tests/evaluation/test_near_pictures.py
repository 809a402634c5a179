"""Pictures that look the same are found, at distances that agree with a plain computation."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from sfumato.evaluation.duplicates import NEAR, near_pairs, picture_distances

Images = NDArray[np.uint8]


def blobs(count: int, *, side: int = 20, channels: int = 1, seed: int = 0) -> Images:
    """Smooth random pictures with structure up to the border, all different."""
    rng = np.random.default_rng(seed)
    raw = gaussian_filter(rng.normal(size=(count, side, side, channels)), (0, 2, 2, 0))
    scaled = 128 + 60 * raw / raw.std(axis=(1, 2, 3), keepdims=True)
    return np.clip(scaled, 0, 255).astype(np.uint8)


def plain_distance(first: Images, second: Images) -> float:
    """The definition, pair by pair and shift by shift, with NumPy's own correlation."""
    height, width = first.shape[:2]
    best = 0.0
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            rows = [y for y in range(height) if 0 <= y + down < height]
            columns = [x for x in range(width) if 0 <= x + right < width]
            one = first[np.ix_(rows, columns)].ravel()
            other = second[np.ix_([y + down for y in rows], [x + right for x in columns])].ravel()
            if one.std() and other.std():
                best = max(best, float(np.corrcoef(one, other)[0, 1]))
    return 1 - best


@pytest.fixture(scope="module")
def digits(data_folder: Path) -> Images:
    path = data_folder / "mnist" / "t10k-images-idx3-ubyte.gz"
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28, 1)[:2000]


@given(st.integers(0, 1000), st.sampled_from([1, 3]))
def test_distance_is_that_of_the_plain_definition(seed: int, channels: int) -> None:
    images = np.random.default_rng(seed).integers(0, 256, (2, 6, 5, channels), dtype=np.uint8)

    found = picture_distances(images, np.array([[0, 1]]))[0]

    assert found == pytest.approx(plain_distance(images[0], images[1]), abs=1e-6)


@pytest.mark.parametrize("block", [1, 1024])
def test_all_near_pairs_of_real_digits_are_found(
    digits: Images, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sketches only save time: a comparison of all pairs finds the same ones."""
    some = digits[:120]
    pairs = np.stack(np.triu_indices(len(some), 1), axis=1)
    everything = picture_distances(some, pairs)
    limit = float(np.sort(everything)[20])

    monkeypatch.setattr("sfumato.evaluation.duplicates.BLOCK", block)
    found, distance = near_pairs(some, limit)

    expected = {tuple(pair) for pair in pairs[everything <= limit].tolist()}
    assert {tuple(pair) for pair in found.tolist()} == expected
    assert len(expected) == 21
    assert (distance <= limit).all()


def test_real_digits_are_not_near_each_other(digits: Images) -> None:
    found, _ = near_pairs(digits)

    assert len(found) == 0


@pytest.mark.parametrize("down", [-1, 0, 1])
@pytest.mark.parametrize("right", [-1, 0, 1])
def test_shifted_digits_are_found_and_nothing_else(digits: Images, down: int, right: int) -> None:
    some = digits[:200]
    shifted = np.roll(some, (down, right), axis=(1, 2))

    found, distance = near_pairs(np.concatenate([some, shifted]))

    assert found[found[:, 0].argsort()].tolist() == [[n, n + 200] for n in range(200)]
    assert distance.max() < 0.005  # a stroke at the border may leave the picture


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_with_other_pixels_coming_in_at_the_border_are_found(channels: int) -> None:
    wide = blobs(150, side=33, channels=channels)

    found, distance = near_pairs(np.concatenate([wide[:, 1:, 1:], wide[:, :-1, :-1]]))

    assert found[found[:, 0].argsort()].tolist() == [[n, n + 150] for n in range(150)]
    assert distance == pytest.approx(np.zeros(150), abs=1e-5)


def test_noise_contrast_and_brightness_do_not_hide_a_picture() -> None:
    images = blobs(100, side=28)
    rng = np.random.default_rng(1)
    noisy = np.clip(images + rng.normal(0, 4, images.shape), 0, 255)
    darker = images * 0.5 + 20

    for changed in (noisy, darker):
        found, distance = near_pairs(np.concatenate([images, changed.astype(np.uint8)]))

        assert found[found[:, 0].argsort()].tolist() == [[n, n + 100] for n in range(100)]
        assert distance.max() < NEAR


def test_noise_costs_the_distance_of_its_closed_form() -> None:
    """Noise of σ on a contrast of s leaves r = 1 / √(1 + σ²/s²)."""
    rng = np.random.default_rng(0)
    image = rng.integers(60, 190, (64, 64, 3)).astype(np.float64)
    noisy = image + rng.normal(0, 10, image.shape)
    images = np.stack([image, noisy]).round().astype(np.uint8)

    expected = 1 - 1 / np.sqrt(1 + 100 / image.var())

    assert picture_distances(images, np.array([[0, 1]]))[0] == pytest.approx(expected, rel=0.05)


def test_a_blank_picture_is_near_nothing() -> None:
    images = np.stack([np.full((8, 8, 1), grey, np.uint8) for grey in (0, 0, 255)])

    found, _ = near_pairs(images, 0.5)

    assert len(found) == 0


def test_a_negative_or_mirrored_picture_is_not_near() -> None:
    image = blobs(1)[0]

    found, _ = near_pairs(np.stack([image, 255 - image, image[::-1], image[:, ::-1]]))

    assert len(found) == 0


def test_colours_count_though_sketches_are_grey() -> None:
    image = blobs(1, channels=3)[0]

    found, _ = near_pairs(np.stack([image, image[..., [1, 2, 0]]]))

    assert len(found) == 0


def test_blocks_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.concatenate([blobs(50), blobs(50)])
    together, apart = near_pairs(images)
    monkeypatch.setattr("sfumato.evaluation.duplicates.BLOCK", 7)

    found, distance = near_pairs(images)

    assert sorted(found.tolist()) == sorted(together.tolist())
    assert len(found) == 50
    assert np.sort(distance) == pytest.approx(np.sort(apart), abs=1e-6)


def test_fewer_than_two_pictures_have_no_pairs() -> None:
    for count in (0, 1):
        found, distance = near_pairs(blobs(2)[:count])

        assert found.shape == (0, 2)
        assert len(distance) == 0
