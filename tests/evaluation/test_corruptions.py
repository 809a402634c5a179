import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter, map_coordinates

from sfumato.data import load, parts
from sfumato.errors import DataError
from sfumato.evaluation.corruptions import (
    CORRUPTIONS,
    STRENGTHS,
    blur_motion,
    corrupt,
    plasma,
    zoom_in,
)

SIZES = [(32, 32, 3), (28, 28, 1), (8, 8, 1), (20, 37, 3), (64, 48, 1)]


def pictures(shape: tuple[int, int, int], count: int = 4) -> NDArray[np.uint8]:
    """Smooth blobs with edges, more like photographs than noise is."""
    drawn = np.random.default_rng(7).normal(size=(count, *shape))
    soft = gaussian_filter(drawn, (0, min(shape[:2]) / 10, min(shape[:2]) / 10, 0))
    soft -= soft.min(axis=(1, 2, 3), keepdims=True)
    soft /= soft.max(axis=(1, 2, 3), keepdims=True)
    soft[:, shape[0] // 3 : shape[0] // 2, shape[1] // 4 : shape[1] // 2] *= 0.2
    return np.rint(soft * 255).astype(np.uint8)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def damage(name: str, strength: int, images: NDArray[np.uint8]) -> float:
    made = corrupt(images, name, strength, rng=rng())
    return float(np.abs(made.astype(np.float64) - images).mean())


def cases() -> list[tuple[str, tuple[int, int, int]]]:
    return [
        (name, shape)
        for shape in SIZES
        for name, each in CORRUPTIONS.items()
        if shape[2] > 1 or not each.needs_colour
    ]


@pytest.mark.parametrize(("name", "shape"), cases())
def test_shape_and_type_stay_and_the_original_is_untouched(
    name: str, shape: tuple[int, int, int]
) -> None:
    images = pictures(shape, 2)
    images.flags.writeable = False
    before = images.copy()

    for strength in (1, 5):
        made = corrupt(images, name, strength, rng=rng())

        assert made.shape == images.shape
        assert made.dtype == np.uint8
        assert not np.array_equal(made, before)
    assert np.array_equal(images, before)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_floats_stay_floats_from_zero_to_one(name: str) -> None:
    images = (pictures((32, 32, 3), 2) / 255).astype(np.float32)

    made = corrupt(images, name, 5, rng=rng())

    assert made.dtype == np.float32
    assert made.min() >= 0
    assert made.max() <= 1
    as_bytes = corrupt(pictures((32, 32, 3), 2), name, 5, rng=rng())
    assert np.abs(made * 255 - as_bytes).max() < 1.01  # they differ by rounding alone


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_same_generator_gives_the_same_pictures(name: str) -> None:
    images = pictures((32, 32, 3))

    once, again, other = (corrupt(images, name, 3, rng=rng(seed)) for seed in (4, 4, 5))

    assert np.array_equal(once, again)
    assert np.array_equal(once, other) == (not CORRUPTIONS[name].random)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_each_picture_is_corrupted_on_its_own(name: str) -> None:
    images = pictures((32, 32, 3))

    together = corrupt(images, name, 4, rng=rng())

    assert np.array_equal(corrupt(images[:1], name, 4, rng=rng())[0], together[0])
    assert np.array_equal(corrupt(images[:3], name, 4, rng=rng()), together[:3])
    if not CORRUPTIONS[name].random:
        assert np.array_equal(corrupt(images[2:3], name, 4, rng=rng())[0], together[2])


@pytest.mark.parametrize("name", [name for name, each in CORRUPTIONS.items() if each.random])
def test_pictures_of_a_batch_get_noise_of_their_own(name: str) -> None:
    twins = np.repeat(pictures((32, 32, 3), 1), 2, axis=0)

    made = corrupt(twins, name, 4, rng=rng())

    assert not np.array_equal(made[0], made[1])


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_picture_does_not_depend_on_what_the_others_show(name: str) -> None:
    images = pictures((32, 32, 3))
    others = images.copy()
    others[0] = 0

    first, second = (corrupt(each, name, 4, rng=rng()) for each in (images, others))

    assert np.array_equal(first[1:], second[1:])


# The published constants of these do not rise: shears get smaller as tears get larger, mud
# follows water, paler turns to more colourful, ice is laid on a darker picture.
NOT_RISING = {"elastic_transform", "spatter", "saturate", "frost", "glass_blur"}


@pytest.mark.parametrize("name", [name for name in CORRUPTIONS if name not in NOT_RISING])
def test_damage_grows_with_strength(name: str) -> None:
    images = pictures((32, 32, 3), 12)

    harm = [damage(name, strength, images) for strength in STRENGTHS]

    assert np.corrcoef(STRENGTHS, harm)[0, 1] > 0.8
    assert harm[4] > 1.3 * harm[0]


@pytest.mark.parametrize(
    ("name", "weaker", "stronger"),
    [
        ("spatter", 1, 3),
        ("spatter", 4, 5),
        ("saturate", 1, 2),
        ("saturate", 3, 5),
        ("glass_blur", 1, 4),
        ("glass_blur", 3, 5),
    ],
)
def test_damage_grows_within_each_kind_of_harm(name: str, weaker: int, stronger: int) -> None:
    images = pictures((32, 32, 3), 12)

    assert damage(name, stronger, images) > 1.1 * damage(name, weaker, images)


def test_frost_hides_more_of_the_picture_with_strength() -> None:
    images = pictures((32, 32, 3), 12)

    alike = [
        np.corrcoef(corrupt(images, "frost", strength, rng=rng()).ravel(), images.ravel())[0, 1]
        for strength in STRENGTHS
    ]

    assert (np.diff(alike) < 0).all()


def test_gaussian_noise_has_the_published_spread() -> None:
    grey = np.full((8, 32, 32, 3), 0.5)

    spreads = [corrupt(grey, "gaussian_noise", strength, rng=rng()).std() for strength in STRENGTHS]

    assert np.allclose(spreads, [0.04, 0.06, 0.08, 0.09, 0.10], rtol=0.02)


def test_shot_noise_is_that_of_counted_photons() -> None:
    grey = np.full((8, 32, 32, 3), 0.4)

    for strength, photons in zip(STRENGTHS, (500, 250, 100, 75, 50), strict=True):
        made = corrupt(grey, "shot_noise", strength, rng=rng())

        assert made.mean() == pytest.approx(0.4, rel=0.01)
        assert made.var() == pytest.approx(0.4 / photons, rel=0.05)


def test_impulse_noise_hits_the_published_share() -> None:
    grey = np.full((8, 32, 32, 3), 0.4)

    for strength, share in zip(STRENGTHS, (0.01, 0.02, 0.03, 0.05, 0.07), strict=True):
        made = corrupt(grey, "impulse_noise", strength, rng=rng())

        assert (made != 0.4).mean() == pytest.approx(share, rel=0.15)
        assert set(np.unique(made)) == {0.0, 0.4, 1.0}
        assert (made == 1).sum() == pytest.approx((made == 0).sum(), rel=0.3)


def test_speckle_leaves_black_black() -> None:
    black = np.zeros((2, 8, 8, 1))

    assert not corrupt(black, "speckle_noise", 5, rng=rng()).any()


@pytest.mark.parametrize(
    "name",
    [
        "gaussian_blur",
        "defocus_blur",
        "zoom_blur",
        "motion_blur",
        "glass_blur",
        "elastic_transform",
    ],
)
def test_blurring_or_bending_one_colour_changes_nothing(name: str) -> None:
    flat = np.full((2, 16, 16, 3), 0.3)

    assert np.allclose(corrupt(flat, name, 5, rng=rng()), 0.3)


@pytest.mark.parametrize("name", ["gaussian_blur", "defocus_blur"])
def test_blur_spreads_a_point_and_keeps_its_light(name: str) -> None:
    point = np.zeros((1, 33, 33, 1))
    point[0, 16, 16] = 1

    made = corrupt(point, name, 5, rng=rng())

    assert made.sum() == pytest.approx(1)
    assert 0 < made.max() < 0.3
    assert np.allclose(made, made[:, ::-1, ::-1])


def test_motion_leaves_a_one_sided_trail_in_its_direction() -> None:
    point = np.zeros((21, 21, 1))
    point[10, 10] = 1

    right = blur_motion(point, length=5, sigma=2, angle=0)
    down = blur_motion(point, length=5, sigma=2, angle=90)

    assert right.sum() == pytest.approx(1)
    assert not right[:10].any()
    assert not right[11:].any()
    assert right[10, 10] > right[10, 9] > right[10, 8] > 0
    assert not right[10, 11:].any()
    assert np.allclose(down, right.transpose(1, 0, 2))


def test_zoom_keeps_the_middle_and_follows_a_ramp() -> None:
    ramp = np.linspace(0, 1, 21)[:, None, None] * np.ones((1, 21, 1))

    made = zoom_in(ramp, 2.0)

    assert np.allclose(zoom_in(ramp, 1.0), ramp)
    assert made[10, 10, 0] == pytest.approx(0.5)
    assert np.allclose(made[:, 0, 0], np.linspace(0.25, 0.75, 21))


def test_zoom_is_the_linear_interpolation_of_scipy() -> None:
    picture = rng().random((9, 14, 1))
    places = [4 + (np.mgrid[:9, :14][0] - 4) / 1.3, 6.5 + (np.mgrid[:9, :14][1] - 6.5) / 1.3]

    expected = map_coordinates(picture[..., 0], places, order=1)

    assert np.allclose(zoom_in(picture, 1.3)[..., 0], expected)


@pytest.mark.parametrize("shape", [(32, 32), (28, 20), (8, 8), (1, 3), (1, 1)])
def test_plasma_fills_any_shape_from_zero_to_one(shape: tuple[int, int]) -> None:
    clouds = plasma(shape, 2.0, rng())

    assert clouds.shape == shape
    assert clouds.min() >= 0
    assert clouds.max() <= 1


def test_plasma_is_rougher_with_less_decay() -> None:
    smooth, rough = (plasma((64, 64), decay, rng()) for decay in (3.0, 1.3))

    assert np.abs(np.diff(rough)).mean() > 2 * np.abs(np.diff(smooth)).mean()


def test_brightness_lifts_value_and_keeps_hue() -> None:
    orange = np.full((1, 2, 2, 3), [0.6, 0.3, 0.1])

    made = corrupt(orange, "brightness", 5, rng=rng())

    assert np.allclose(made[0, 0, 0], [0.9, 0.45, 0.15])


def test_fog_keeps_the_range_of_the_picture() -> None:
    flat = np.full((3, 32, 32, 1), 0.6)

    made = corrupt(flat, "fog", 3, rng=rng())  # thickness 0.75

    assert made.max(axis=(1, 2, 3)) == pytest.approx(0.6)  # (0.6 + 0.75) · 0.6 / (0.6 + 0.75)
    assert made.min(axis=(1, 2, 3)) == pytest.approx(0.6 * 0.6 / (0.6 + 0.75))


def test_contrast_keeps_the_mean_and_shrinks_the_rest() -> None:
    images = pictures((16, 16, 3)) / 255

    made = corrupt(images, "contrast", 5, rng=rng())

    assert np.allclose(made.mean(axis=(1, 2)), images.mean(axis=(1, 2)))
    assert np.allclose(made.std(axis=(1, 2)), 0.15 * images.std(axis=(1, 2)))


def test_saturation_matches_pillow_and_leaves_grey_alone() -> None:
    orange = np.full((1, 2, 2, 3), [0.6, 0.3, 0.15])
    grey = np.full((1, 2, 2, 3), 0.4)

    paler = corrupt(orange, "saturate", 1, rng=rng())

    before, after = (
        Image.fromarray(np.rint(each[0] * 255).astype(np.uint8)).convert("HSV").getpixel((0, 0))
        for each in (orange, paler)
    )
    assert isinstance(before, tuple)
    assert isinstance(after, tuple)
    assert after[1] == pytest.approx(0.3 * before[1], abs=2)  # saturation
    assert (after[0], after[2]) == pytest.approx((before[0], before[2]), abs=2)  # hue, value
    assert np.allclose(corrupt(grey, "saturate", 5, rng=rng()), grey)


def test_jpeg_is_what_pillow_stores() -> None:
    images = pictures((32, 32, 3), 1)
    stored = io.BytesIO()
    Image.fromarray(images[0]).save(stored, "JPEG", quality=40)

    made = corrupt(images, "jpeg_compression", 5, rng=rng())

    assert np.array_equal(made[0], np.asarray(Image.open(stored)))


def test_pixelate_averages_blocks() -> None:
    images = pictures((20, 20, 1), 1)

    made = corrupt(images, "pixelate", 5, rng=rng())  # 20 · 0.65 = 13 blocks a side

    assert len(np.unique(made[0, :, :, 0], axis=0)) == 13
    assert made.mean() == pytest.approx(images.mean(), abs=4)


def test_names_are_those_of_the_released_data_set() -> None:
    assert set(CORRUPTIONS) == set(parts("cifar10c"))
    assert sum(each.usual for each in CORRUPTIONS.values()) == 15


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: corrupt(pictures((8, 8, 1)), "fog", 0, rng=rng()), "'fog' is 0; .* 1 to 5"),
        (lambda: corrupt(pictures((8, 8, 1)), "fog", 6, rng=rng()), "'fog' is 6"),
        (lambda: corrupt(pictures((8, 8, 1)), "saturate", 1, rng=rng()), "images are grey"),
        (lambda: corrupt(pictures((8, 8, 1))[0], "fog", 1, rng=rng()), r"found \(8, 8, 1\)"),
        (lambda: corrupt(np.zeros((2, 8, 8, 4)), "fog", 1, rng=rng()), "1 or 3 channels"),
        (lambda: corrupt(np.full((2, 8, 8, 1), 2.0), "fog", 1, rng=rng()), "at position 0"),
        (lambda: corrupt(np.full((2, 8, 8, 1), np.nan), "fog", 1, rng=rng()), "at position 0"),
    ],
)
def test_wrong_request_is_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make()


def test_strengths_of_one_corruption_share_their_randomness() -> None:
    images = np.full((2, 16, 16, 1), 0.5)

    weak, strong = (corrupt(images, "gaussian_noise", strength, rng=rng()) for strength in (1, 2))

    assert np.allclose((strong - 0.5) / (weak - 0.5), 0.06 / 0.04)


@pytest.mark.parametrize("name", ["gaussian_noise", "contrast", "brightness", "pixelate"])
def test_looks_like_the_released_pictures(name: str, data_folder: Path) -> None:
    if not (data_folder / "cifar10c").is_dir():
        pytest.skip("CIFAR-10-C (3 GB) is not among the datasets here.")
    clean = load("cifar10", "test", data_folder).images[:50]
    released = load("cifar10c", name, data_folder, severity=3).images[:50].astype(np.float64)

    made = corrupt(clean, name, 3, rng=rng()).astype(np.float64)

    harm, theirs = (np.abs(each - clean).mean() for each in (made, released))
    assert harm == pytest.approx(theirs, rel=0.1)
