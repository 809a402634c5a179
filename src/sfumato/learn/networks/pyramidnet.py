"""Turn paper 1's PyramidNet into a network: channels that grow with every block."""

from collections import OrderedDict

from torch import nn

from sfumato.learn.networks.layers import (
    GlobalMean,
    PadChannels,
    Sum,
    conv3x3,
    initialise,
    norm_relu,
)
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["pyramidnet_110_270"]

BLOCKS = 18
"""Blocks in each of three stages: 3 × 2 × 18 + 2 = 110 layers."""
STEP = 5
"""Channels that each block adds: 270 over 54 blocks."""


def pyramidnet_110_270(classes: int, image_shape: ImageShape) -> Network:
    """PyramidNet-110, α = 270 (S0-21): basic blocks, from 16 to 286 channels.

    Shortcuts average 2×2 pixels where convolutions step over them, so sides must be divisible
    by four.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 16), nn.BatchNorm2d(16)),  # no ReLU
            stage1=_stage(16, stride=1),
            stage2=_stage(16 + BLOCKS * STEP, stride=2),
            stage3=_stage(16 + 2 * BLOCKS * STEP, stride=2),
            last=nn.Sequential(*norm_relu(16 + 3 * BLOCKS * STEP)),
            pool=GlobalMean(),
        )
    )
    network = Network(
        body, features=16 + 3 * BLOCKS * STEP, classes=classes, image_shape=image_shape
    )
    initialise(network)
    return network


def _stage(channels: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        _block(channels, stride),
        *(_block(channels + index * STEP, 1) for index in range(1, BLOCKS)),
    )


def _block(channels: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        nn.BatchNorm2d(channels),
        conv3x3(channels, channels + STEP, stride),
        *norm_relu(channels + STEP),
        conv3x3(channels + STEP, channels + STEP),
        nn.BatchNorm2d(channels + STEP),
    )
    size = nn.Identity() if stride == 1 else nn.AvgPool2d(2)
    return Sum(path, nn.Sequential(size, PadChannels(STEP)))
