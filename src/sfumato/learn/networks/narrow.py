"""Convolutions of few channels, which torch is slow at on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["NarrowConv", "PooledConv"]


class NarrowConv(nn.Conv2d):
    """A convolution of stride 1 without padding, with the same values and gradients.

    On a CPU images have their channels last, which suits all of a small network but the gradient of
    a convolution's images: channel by channel it takes about three quarters of the time.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Maps that are smaller by the side of the weights, less one."""
        if images.device.type != "cpu" or not torch.is_grad_enabled():
            return super().forward(images)
        return _Narrow.apply(images, self.weight, self.bias)  # type: ignore[no-untyped-call]


class _Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(images, weight)
        return F.conv2d(images, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        images, weight = ctx.saved_tensors
        _, of_weight, of_bias = _gradients(gradient, images, weight, (False, True, True))
        if not ctx.needs_input_grad[0]:
            return None, of_weight, of_bias
        of_images, _, _ = _gradients(
            gradient.contiguous(),
            images.contiguous(),
            weight.contiguous(),
            (True, False, False),
        )
        return of_images.contiguous(memory_format=torch.channels_last), of_weight, of_bias


def _gradients(
    gradient: Tensor, images: Tensor, weight: Tensor, asked: tuple[bool, bool, bool]
) -> tuple[Tensor, Tensor, Tensor]:
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
        gradient, images, weight, [len(weight)], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, asked
    )
    return found


class PooledConv(nn.Conv2d):
    """A convolution of stride 1 and ``nn.MaxPool2d(2)``, with the same weights and gradients.

    On a CPU both are slow for few channels. Here the four values of each square are computed by
    one convolution of stride 2 with four shifted copies of the weights, and the largest is
    taken: about a fifth less time on LeNet's first layer. Sums are rounded in another order.
    """

    shifts: Tensor

    def __init__(self, inputs: int, outputs: int, side: int, *, padding: int = 0) -> None:
        super().__init__(inputs, outputs, side, padding=padding)
        self.register_buffer("shifts", _shifts(side), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Maps of half the height and width, rounded down."""
        if images.device.type != "cpu":
            return F.max_pool2d(super().forward(images), 2)
        assert self.bias is not None
        outputs, inputs, side, _ = self.weight.shape
        shifted = self.weight.flatten(2) @ self.shifts  # (outputs, inputs, 4 times a larger square)
        four = shifted.view(outputs, inputs, 4, side + 1, side + 1).transpose(1, 2).flatten(0, 1)
        squares = F.conv2d(
            images,
            four.contiguous(memory_format=torch.channels_last),
            self.bias.repeat_interleave(4),
            stride=2,
            padding=self.padding,
        )  # the four places of a channel after each other
        if torch.is_grad_enabled():
            return _Largest.apply(squares)  # type: ignore[no-untyped-call]
        upper = torch.maximum(squares[:, 0::4], squares[:, 1::4])
        return torch.maximum(upper, torch.maximum(squares[:, 2::4], squares[:, 3::4]))


def _shifts(side: int) -> Tensor:
    """The matrix that puts a square of weights into each of the four corners of a larger one."""
    squares = torch.eye(side**2).view(-1, 1, side, side)
    corners = [(right, 1 - right, down, 1 - down) for down in (0, 1) for right in (0, 1)]
    return torch.cat([F.pad(squares, corner) for corner in corners], dim=1).flatten(1)


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
