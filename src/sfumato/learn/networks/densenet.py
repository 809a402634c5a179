"""Turn paper 1's DenseNet into a network: every layer reads all layers before it."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from sfumato.learn.networks.layers import GlobalMean, conv1x1, conv3x3, initialise, norm_relu
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["densenet_bc_100"]

GROWTH = 12
"""Channels that each layer adds."""
LAYERS = 16
"""Layers of two convolutions in each of three stages: 3 × 2 × 16 + 4 = 100."""


def densenet_bc_100(classes: int, image_shape: ImageShape) -> Network:
    """DenseNet-BC-100-12 (S0-20): bottlenecks, and transitions that halve the channels."""
    channels = 2 * GROWTH
    body = nn.Sequential(OrderedDict(stem=conv3x3(image_shape[2], channels)))
    for number in (1, 2, 3):
        body.add_module(f"stage{number}", _stage(channels))
        channels += LAYERS * GROWTH
        if number < 3:
            body.add_module(f"transition{number}", _transition(channels))
            channels //= 2
    body.add_module("last", nn.Sequential(*norm_relu(channels)))
    body.add_module("pool", GlobalMean())
    network = Network(body, features=channels, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


class _Append(nn.Module):
    def __init__(self, path: nn.Module) -> None:
        super().__init__()
        self.path = path

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat([images, self.path(images)], dim=1)


def _stage(channels: int) -> nn.Sequential:
    return nn.Sequential(*(_layer(channels + index * GROWTH) for index in range(LAYERS)))


def _layer(channels: int) -> nn.Module:
    return _Append(
        nn.Sequential(
            *norm_relu(channels),
            conv1x1(channels, 4 * GROWTH),
            *norm_relu(4 * GROWTH),
            conv3x3(4 * GROWTH, GROWTH),
        )
    )


def _transition(channels: int) -> nn.Sequential:
    return nn.Sequential(*norm_relu(channels), conv1x1(channels, channels // 2), nn.AvgPool2d(2))
