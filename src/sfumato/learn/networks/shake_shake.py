"""Turn paper 1's Shake-Shake into a network: two residual paths, mixed at random in training.

Each image draws its own α for the forward pass and its own β for the backward pass ("shake",
"shake", "image"), both uniform in [0, 1), from torch's global generator of the images' device, as
dropout does. In evaluation both paths count one half, and nothing is drawn.
"""

from collections import OrderedDict
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from sfumato.learn.networks.layers import (
    GlobalMean,
    conv1x1,
    conv3x3,
    initialise,
    norm_relu,
    stage,
)
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["shake", "shake_shake_26"]


def shake_shake_26(classes: int, image_shape: ImageShape) -> Network:
    """Shake-Shake-26, 2×64d, shake-shake-image (S0-22): 64, 128 and 256 channels.

    The stem has 64 channels, as in the experiments of paper 1 (later versions of that code have
    16), and the mean is taken without a last ReLU.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_Block, 64, 64, blocks=4, stride=1),
            stage2=stage(_Block, 64, 128, blocks=4, stride=2),
            stage3=stage(_Block, 128, 256, blocks=4, stride=2),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=256, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


def shake(left: Tensor, right: Tensor, *, forward: Tensor, backward: Tensor) -> Tensor:
    """α left + (1 - α) right, whose gradient is that of β left + (1 - β) right.

    ``forward`` (α) and ``backward`` (β) have one number an image, shape (n, 1, 1, 1).

    >>> left = torch.tensor([[[[8.0]]]], requires_grad=True)
    >>> right = torch.tensor([[[[4.0]]]], requires_grad=True)
    >>> alpha, beta = torch.tensor([[[[0.25]]]]), torch.tensor([[[[0.75]]]])
    >>> mixed = shake(left, right, forward=alpha, backward=beta)
    >>> mixed.backward()
    >>> mixed.item(), left.grad.item(), right.grad.item()
    (5.0, 0.75, 0.25)
    """
    return _Shake.apply(left, right, forward, backward)  # type: ignore[no-untyped-call]


class _Shake(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        ctx.save_for_backward(beta)
        return alpha * left + (1 - alpha) * right

    @staticmethod
    @once_differentiable  # β replaces α, so a second derivative would mean nothing
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (beta,) = ctx.saved_tensors
        return beta * gradient, (1 - beta) * gradient, None, None


class _Block(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.left = _path(channels_in, channels_out, stride)
        self.right = _path(channels_in, channels_out, stride)
        self.shortcut = nn.Identity() if stride == 1 else _TwoGrids(channels_in, channels_out)

    def forward(self, images: Tensor) -> Tensor:
        left, right = self.left(images), self.right(images)
        return self.shortcut(images) + self._mixed(left, right)

    def _mixed(self, left: Tensor, right: Tensor) -> Tensor:
        if not self.training:
            return (left + right) / 2
        shape = (len(left), 1, 1, 1)
        alpha = torch.rand(shape, dtype=left.dtype, device=left.device)
        beta = torch.rand(shape, dtype=left.dtype, device=left.device)
        return shake(left, right, forward=alpha, backward=beta)


class _TwoGrids(nn.Module):
    """A shortcut of half the size: the even pixels and the odd ones, each half of the channels."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.even = conv1x1(channels_in, channels_out // 2)
        self.odd = conv1x1(channels_in, channels_out // 2)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, images: Tensor) -> Tensor:
        active = F.relu(images)
        moved = F.pad(active[:, :, 1:, 1:], (0, 1, 0, 1))
        grids = self.even(active[:, :, ::2, ::2]), self.odd(moved[:, :, ::2, ::2])
        return self.norm(torch.cat(grids, dim=1))


def _path(channels_in: int, channels_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ReLU(),  # not in place: both paths and the shortcut read the input
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
        nn.BatchNorm2d(channels_out),
    )
