"""Turn channel counts into the pieces that several families of networks are made of."""

from collections.abc import Callable
from typing import Literal, assert_never

import torch.nn.functional as F
from torch import Tensor, nn

__all__ = [
    "GlobalMean",
    "PadChannels",
    "PreActivated",
    "Sum",
    "conv1x1",
    "conv3x3",
    "initialise",
    "norm_relu",
    "stage",
]

Block = Callable[[int, int, int], nn.Module]
"""Makes a block from channels in, channels out and stride."""


def conv3x3(channels_in: int, channels_out: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A 3×3 convolution that keeps the size (but for its stride), without bias."""
    return nn.Conv2d(
        channels_in, channels_out, 3, stride=stride, padding=1, groups=groups, bias=False
    )


def conv1x1(channels_in: int, channels_out: int, stride: int = 1) -> nn.Conv2d:
    """A 1×1 convolution without bias."""
    return nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False)


def norm_relu(channels: int) -> tuple[nn.BatchNorm2d, nn.ReLU]:
    """Batch normalisation followed by ReLU."""
    return nn.BatchNorm2d(channels), nn.ReLU(inplace=True)


class GlobalMean(nn.Module):
    """Each channel's mean over the image: (n, channels, height, width) to (n, channels)."""

    def forward(self, images: Tensor) -> Tensor:
        """Means, shape (n, channels)."""
        return images.mean(dim=(2, 3))


class PadChannels(nn.Module):
    """Zeros appended as further channels: a shortcut without weights (option A of ResNet)."""

    def __init__(self, extra: int) -> None:
        super().__init__()
        self.extra = extra

    def forward(self, images: Tensor) -> Tensor:
        """The images with ``extra`` channels of zeros."""
        return F.pad(images, (0, 0, 0, 0, 0, self.extra))


class Sum(nn.Module):
    """A residual path plus its shortcut."""

    def __init__(self, path: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.path = path
        self.shortcut = shortcut

    def forward(self, images: Tensor) -> Tensor:
        """path(images) + shortcut(images)."""
        return self.path(images) + self.shortcut(images)


class PreActivated(nn.Module):
    """Normalise and rectify first, then a residual path plus its shortcut.

    Published codes differ in what the shortcut sees: the block's ``"input"``, or the
    ``"activated"`` one that the path sees.
    """

    def __init__(
        self,
        channels: int,
        path: nn.Module,
        shortcut: nn.Module,
        *,
        shortcut_sees: Literal["input", "activated"],
    ) -> None:
        super().__init__()
        self.activation = nn.Sequential(*norm_relu(channels))
        self.path = path
        self.shortcut = shortcut
        self.shortcut_sees = shortcut_sees

    def forward(self, images: Tensor) -> Tensor:
        """path(activated) + shortcut(input or activated)."""
        activated = self.activation(images)
        match self.shortcut_sees:
            case "input":
                seen = images
            case "activated":
                seen = activated
            case _:
                assert_never(self.shortcut_sees)
        return self.path(activated) + self.shortcut(seen)


def stage(
    block: Block, channels_in: int, channels_out: int, *, blocks: int, stride: int
) -> nn.Sequential:
    """Blocks in a row; the first changes the channels and the size, the others neither."""
    return nn.Sequential(
        block(channels_in, channels_out, stride),
        *(block(channels_out, channels_out, 1) for _ in range(blocks - 1)),
    )


def initialise(
    network: nn.Module,
    *,
    fan: Literal["fan_in", "fan_out"] = "fan_out",
    scales: Literal["ones", "uniform"] = "ones",
) -> None:
    """Initial weights of paper 1's networks, in place.

    Convolutions: normal with variance 2 / fan, no bias. Batch normalisation: scales of one or
    uniform in [0, 1), shifts of zero. Linear layers: torch's own weights, biases of zero.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=fan, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            match scales:
                case "ones":
                    nn.init.ones_(module.weight)
                case "uniform":
                    nn.init.uniform_(module.weight)
                case _:
                    assert_never(scales)
            nn.init.zeros_(module.bias)
