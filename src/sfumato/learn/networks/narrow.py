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
        of_bias = gradient.sum((0, 2, 3))  # a fifth of the time it takes torch beside the weights
        of_weight = _of_weight(gradient, images, weight)
        if not ctx.needs_input_grad[0]:
            return None, of_weight, of_bias
        # Only the layout of the images is looked at, so channel by channel costs no copy of them.
        channelwise = images.new_empty(images.shape)
        of_images = _of_images(gradient, channelwise, weight.contiguous())
        return of_images.contiguous(memory_format=torch.channels_last), of_weight, of_bias


class PooledConv(nn.Conv2d):
    """A convolution of stride 1 and ``nn.MaxPool2d(2)``, with the same weights and gradients.

    On a CPU both are slow for few channels. Here the four values of each square are computed by
    one convolution of stride 2 with four shifted copies of the weights, and the largest is
    taken, which takes less time on LeNet's first layer. Sums are rounded in another order.
    """

    shifts: Tensor

    def __init__(self, inputs: int, outputs: int, side: int, *, padding: int = 0) -> None:
        super().__init__(inputs, outputs, side, padding=padding)
        self.register_buffer("shifts", _shifts(side), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Maps of half the height and width, rounded down."""
        if images.device.type != "cpu":
            return F.max_pool2d(super().forward(images), 2)
        # Padded beforehand: torch takes longer to do it on the way.
        padded = F.pad(images, [int(self.padding[0])] * 4)
        if torch.is_grad_enabled():
            layer = (self.weight, self.bias, self.shifts)
            return _Pooled.apply(padded, *layer)  # type: ignore[no-untyped-call]
        squares, _ = _squares(padded, self.weight, self.bias, self.shifts)
        return torch.maximum(*_halves(squares))


def _shifts(side: int) -> Tensor:
    """The matrix that puts a square of weights into each of the four corners of a larger one."""
    squares = torch.eye(side**2).view(-1, 1, side, side)
    corners = [(right, 1 - right, down, 1 - down) for down in (0, 1) for right in (0, 1)]
    return torch.cat([F.pad(squares, corner) for corner in corners], dim=1).flatten(1)


def _squares(
    images: Tensor, weight: Tensor, bias: Tensor | None, shifts: Tensor
) -> tuple[Tensor, Tensor]:
    """The four places of each channel's squares after each other, and the weights for them."""
    outputs, inputs, side, _ = weight.shape
    shifted = weight.flatten(2) @ shifts  # (outputs, inputs, 4 times a larger square)
    four = shifted.view(outputs, inputs, 4, side + 1, side + 1).transpose(1, 2).flatten(0, 1)
    four = four.contiguous(memory_format=torch.channels_last)
    assert bias is not None
    return F.conv2d(images, four, bias.repeat_interleave(4), stride=2), four


def _halves(squares: Tensor) -> tuple[Tensor, Tensor]:
    """The larger value of each square's upper row, and of its lower row."""
    first, second, third, fourth = (squares[:, place::4] for place in range(4))
    return torch.maximum(first, second), torch.maximum(third, fourth)


class _Pooled(torch.autograd.Function):
    """Of equal values in a square the first gets the gradient, as in torch."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor, shifts: Tensor) -> Tensor:
        squares, four = _squares(images, weight, bias, shifts)
        upper, lower = _halves(squares)
        is_upper = upper >= lower
        left_above, left_below = (squares[:, n::4] >= squares[:, n + 1 :: 4] for n in (0, 2))
        is_left = (is_upper & left_above) | (left_below & ~is_upper)
        ctx.save_for_backward(images, four, shifts, is_upper, is_left)
        return torch.maximum(upper, lower)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        images, four, shifts, is_upper, is_left = ctx.saved_tensors
        count, outputs, height, width = gradient.shape
        place = 3 - 2 * is_upper.byte() - is_left.byte()
        of_squares = gradient.new_zeros((count * height * width * outputs, 4))
        of_squares.scatter_(1, _column(place).long(), _column(gradient))
        of_squares = of_squares.view(count, height, width, -1).permute(0, 3, 1, 2)

        side, inputs = four.shape[-1], four.shape[1]
        of_four = _of_weight(of_squares, images, four, stride=2)
        of_shifted = of_four.view(outputs, 4, inputs, side**2).transpose(1, 2).flatten(2)
        of_weight = (of_shifted @ shifts.T).view(outputs, inputs, side - 1, side - 1)
        of_images = None
        if ctx.needs_input_grad[0]:
            of_images = _of_images(of_squares, images, four, stride=2)
        return of_images, of_weight, gradient.sum((0, 2, 3)), None


def _column(maps: Tensor) -> Tensor:
    """The values of maps in the order of channels-last memory."""
    return maps.permute(0, 2, 3, 1).reshape(-1, 1)


def _of_weight(gradient: Tensor, images: Tensor, weight: Tensor, *, stride: int = 1) -> Tensor:
    """The gradient of a convolution's weights."""
    return _gradients(gradient, images, weight, stride, (False, True, False))[1]


def _of_images(gradient: Tensor, images: Tensor, weight: Tensor, *, stride: int = 1) -> Tensor:
    """The gradient of a convolution's images; of these only shape and layout matter."""
    return _gradients(gradient, images, weight, stride, (True, False, False))[0]


def _gradients(
    gradient: Tensor, images: Tensor, weight: Tensor, stride: int, asked: tuple[bool, bool, bool]
) -> tuple[Tensor, Tensor, Tensor]:
    strides = [stride, stride]
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
        gradient, images, weight, None, strides, [0, 0], [1, 1], False, [0, 0], 1, asked
    )
    return found
