"""Turn images into the largest of each 2×2 square of a convolution, fast on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PooledConv"]


class PooledConv(nn.Conv2d):
    """A convolution of stride 1 and ``nn.MaxPool2d(2)``, with the same weights and gradients.

    On a CPU both are slow for few channels. Here the four values of each square are computed by
    one convolution of stride 2 with four shifted copies of the weights, and the largest is
    taken: about a fifth less time on LeNet's first layer. Sums are rounded in another order.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Maps of half the height and width, rounded down."""
        if images.device.type != "cpu":
            return F.max_pool2d(super().forward(images), 2)
        assert self.bias is not None
        places = [(right, 1 - right, down, 1 - down) for down in (0, 1) for right in (0, 1)]
        shifted = torch.stack([F.pad(self.weight, place) for place in places], dim=1)
        squares = F.conv2d(
            images,
            shifted.flatten(0, 1).contiguous(memory_format=torch.channels_last),
            self.bias.repeat_interleave(4),
            stride=2,
            padding=self.padding,
        )  # the four places of a channel after each other
        if torch.is_grad_enabled():
            return _Largest.apply(squares)  # type: ignore[no-untyped-call]
        upper = torch.maximum(squares[:, 0::4], squares[:, 1::4])
        return torch.maximum(upper, torch.maximum(squares[:, 2::4], squares[:, 3::4]))


class _Largest(torch.autograd.Function):
    """The largest of each four channels; of equal ones the first gets the gradient, as in torch."""

    @staticmethod
    def forward(ctx: Any, squares: Tensor) -> Tensor:
        places = [squares[:, place::4] for place in range(4)]
        upper, lower = torch.maximum(*places[:2]), torch.maximum(*places[2:])
        ctx.save_for_backward(places[0] >= places[1], places[2] >= places[3], upper >= lower)
        return torch.maximum(upper, lower)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        left_above, left_below, is_upper = ctx.saved_tensors
        count, channels, height, width = gradient.shape
        squares = torch.empty(
            (count, 4 * channels, height, width),
            dtype=gradient.dtype,
            memory_format=torch.channels_last,
        )
        above = gradient * is_upper
        for part, is_left, first in ((above, left_above, 0), (gradient - above, left_below, 2)):
            torch.mul(part, is_left, out=squares[:, first::4])
            torch.sub(part, squares[:, first::4], out=squares[:, first + 1 :: 4])
        return squares
