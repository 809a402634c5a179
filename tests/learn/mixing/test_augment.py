import torch

from sfumato.learn.mixing import CROP_PADDING, CUTOUT_SIDE, augment
from sfumato.learn.recipe import Augmentation


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_crop_is_a_shifted_window_of_the_padded_image() -> None:
    images = torch.rand(20, 3, 8, 8, generator=seeded())

    cropped = augment(images, ("crop",), generator=seeded(1))

    padded = torch.nn.functional.pad(images, [CROP_PADDING] * 4)
    for image, crop in zip(padded, cropped, strict=True):
        windows = image.unfold(1, 8, 1).unfold(2, 8, 1)  # (channels, 9, 9, 8, 8)
        same = (windows == crop[:, None, None]).all(dim=(0, 3, 4))
        assert same.any()


def test_flip_mirrors_about_half_of_the_images_and_leaves_the_rest() -> None:
    images = torch.rand(400, 1, 4, 4, generator=seeded())

    flipped = augment(images, ("flip",), generator=seeded(1))

    same = (flipped == images).all(dim=(1, 2, 3))
    mirrored = (flipped == images.flip(3)).all(dim=(1, 2, 3))
    assert (same | mirrored).all()
    assert 150 < mirrored.sum() < 250


def test_cutout_blackens_one_square_cut_off_at_the_border() -> None:
    images = torch.ones(50, 3, 32, 32)

    cut = augment(images, ("cutout",), generator=seeded())

    for black in (cut[:, 0] == 0).unbind():
        rows, columns = black.any(dim=1).sum(), black.any(dim=0).sum()
        assert CUTOUT_SIDE // 2 <= rows <= CUTOUT_SIDE
        assert black.sum() == rows * columns


def test_same_generator_gives_the_same_images_and_each_call_new_ones() -> None:
    images = torch.rand(5, 3, 32, 32, generator=seeded())
    kinds: tuple[Augmentation, ...] = ("crop", "flip", "cutout")
    generator = seeded(7)

    first = augment(images, kinds, generator=generator)

    assert torch.equal(first, augment(images, kinds, generator=seeded(7)))
    assert not torch.equal(first, augment(images, kinds, generator=generator))


def test_no_kind_changes_nothing() -> None:
    images = torch.rand(2, 1, 4, 4)

    assert torch.equal(augment(images, (), generator=seeded()), images)
