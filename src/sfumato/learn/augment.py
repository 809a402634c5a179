"""Change a batch of images at random: shifted crops, mirror images, cut-out squares.

Images are float tensors from 0 to 1, shape (images, channels, height, width). Every call
draws anew from the generator, so each presentation of an image differs.
"""

from typing import assert_never

import torch
import torch.nn.functional as F
from torch import Tensor

from sfumato.learn.recipe import Augmentation

CROP_PADDING = 4
"""Black pixels added on each side before a crop of the old size is taken, as published."""

CUTOUT_SIDE = 16
"""Side of the black square, as in shake_shake_26_2x64d_SSI_cutout16."""


def augment(
    images: Tensor, kinds: tuple[Augmentation, ...], *, generator: torch.Generator
) -> Tensor:
    """The images after each kind of change, in the given order."""
    for kind in kinds:
        match kind:
            case "crop":
                images = _crop(images, generator)
            case "flip":
                images = _flip(images, generator)
            case "cutout":
                images = _cutout(images, generator)
            case _:
                assert_never(kind)
    return images


def _crop(images: Tensor, generator: torch.Generator) -> Tensor:
    count, channels, height, width = images.shape
    padded = F.pad(images, [CROP_PADDING] * 4)
    shift = torch.randint(2 * CROP_PADDING + 1, (2, count), generator=generator)
    rows = shift[0][:, None] + torch.arange(height)  # (images, height)
    columns = shift[1][:, None] + torch.arange(width)  # (images, width)
    image = torch.arange(count)[:, None, None, None]
    channel = torch.arange(channels)[None, :, None, None]
    return padded[image, channel, rows[:, None, :, None], columns[:, None, None, :]]


def _flip(images: Tensor, generator: torch.Generator) -> Tensor:
    mirrored = torch.rand(len(images), generator=generator) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(3), images)


def _cutout(images: Tensor, generator: torch.Generator) -> Tensor:
    """A black square around a random pixel; at the border it is cut off, as published."""
    count, _, height, width = images.shape
    row = torch.randint(height, (count, 1), generator=generator)
    column = torch.randint(width, (count, 1), generator=generator)
    half = CUTOUT_SIDE // 2
    in_rows = _within(torch.arange(height), row, half)  # (images, height)
    in_columns = _within(torch.arange(width), column, half)  # (images, width)
    black = in_rows[:, None, :, None] & in_columns[:, None, None, :]
    return images.masked_fill(black, 0.0)


def _within(places: Tensor, centre: Tensor, half: int) -> Tensor:
    return (places >= centre - half) & (places < centre + half)
