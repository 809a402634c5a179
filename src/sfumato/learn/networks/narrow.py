"""Convolutions of few channels, which torch is slow at on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["NarrowConv", "PooledConv"]


class NarrowConv(nn.Conv2d):
    """A convolution of stride 1 without padding, with the same values and gradients.

    On a CPU a small network is quickest with channels last, but for the gradient of a convolution's
    images, which comes plane by plane here, as :class:`PooledConv` gives them and takes it.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Maps that are smaller by the side of the weights, less one."""
        if images.device.type != "cpu" or not torch.is_grad_enabled():
            return super().forward(images)
        return _Narrow.apply(images, self.weight, self.bias)  # type: ignore[no-untyped-call]


class _Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        images = images.contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(images, weight)
        return F.conv2d(images, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        images, weight = ctx.saved_tensors
        of_bias = gradient.sum((0, 2, 3))  # a fifth of the time it takes torch beside the weights
        of_weight = _of_weight(gradient, images, weight)
        if not ctx.needs_input_grad[0]:
            return None, of_weight, of_bias
        # Only the layout of the images is looked at, so plane by plane costs no copy of them.
        planes = images.new_empty(images.shape)
        return _of_images(gradient, planes, weight.contiguous()), of_weight, of_bias


class PooledConv(nn.Conv2d):
    """A convolution of stride 1 and ``nn.MaxPool2d(2)``, with the same weights and gradients.

    On a CPU both are slow for few channels. Here the four values of each square are computed by
    one convolution of stride 2 with four shifted copies of the weights, a plane for each, and the
    largest is taken. Sums are rounded in another order.
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
        padded = padded.flatten(1).view(padded.shape)  # planes also if a single channel is "last"
        if torch.is_grad_enabled():
            layer = (self.weight, self.bias, self.shifts)
            return _Pooled.apply(padded, *layer)  # type: ignore[no-untyped-call]
        squares, _ = _squares(padded, self.weight, self.bias, self.shifts)
        return squares.amax((1, 2))


def _shifts(side: int) -> Tensor:
    """The matrix that puts a square of weights into each of the four corners of a larger one."""
    squares = torch.eye(side**2).view(-1, 1, side, side)
    corners = [(right, 1 - right, down, 1 - down) for down in (0, 1) for right in (0, 1)]
    return torch.cat([F.pad(squares, corner) for corner in corners], dim=1).flatten(1)


def _squares(
    images: Tensor, weight: Tensor, bias: Tensor | None, shifts: Tensor
) -> tuple[Tensor, Tensor]:
    """Planes of the four places of squares (images, 2, 2, outputs, …), and the weights for them."""
    outputs, inputs, side, _ = weight.shape
    shifted = weight.flatten(2) @ shifts  # (outputs, inputs, 4 times a larger square)
    four = shifted.view(outputs, inputs, 4, side + 1, side + 1).permute(2, 0, 1, 3, 4)
    four = four.reshape(4 * outputs, inputs, side + 1, side + 1)
    assert bias is not None
    return F.conv2d(images, four, bias.repeat(4), stride=2).unflatten(1, (2, 2, outputs)), four


class _Pooled(torch.autograd.Function):
    """Of equal values in a square the first gets the gradient, as in torch."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor, shifts: Tensor) -> Tensor:
        squares, four = _squares(images, weight, bias, shifts)
        left, right = squares.unbind(2)
        rows = torch.maximum(left, right)  # (images, 2, outputs, height, width)
        upper, lower = rows.unbind(1)
        pooled = torch.maximum(upper, lower)
        # In place: ones and zeros of the kind that gradients are multiplied with quickest.
        ctx.save_for_backward(images, four, shifts, left.ge_(right), upper.ge_(lower))
        return pooled

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        images, four, shifts, is_left, is_upper = ctx.saved_tensors
        of_squares = _parted(_parted(gradient, is_upper, 1), is_left, 2).flatten(1, 3)
        inputs, side = four.shape[1], four.shape[-1]
        of_four = _of_weight(of_squares, images, four, stride=2)
        of_shifted = of_four.view(4, -1, inputs, side**2).permute(1, 2, 0, 3).flatten(2)
        of_weight = (of_shifted @ shifts.T).unflatten(2, (side - 1, side - 1))
        of_images = None
        if ctx.needs_input_grad[0]:
            of_images = _of_images(of_squares, images, four, stride=2)
        return of_images, of_weight, gradient.sum((0, 2, 3)), None


def _parted(gradient: Tensor, is_first: Tensor, dim: int) -> Tensor:
    """What is the first one's and what the second one's, beside each other in a new dimension."""
    shape = list(gradient.shape)
    shape.insert(dim, 2)
    both = gradient.new_empty(shape)
    first, second = both.unbind(dim)
    torch.mul(gradient, is_first, out=first)
    torch.sub(gradient, first, out=second)
    return both


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
