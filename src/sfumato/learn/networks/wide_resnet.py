"""Turn a depth and a width into a Wide ResNet."""

from collections import OrderedDict

from torch import nn

from sfumato.learn.networks.layers import (
    GlobalMean,
    PreActivated,
    conv1x1,
    conv3x3,
    initialise,
    norm_relu,
    stage,
)
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["wide_resnet"]


def wide_resnet(classes: int, image_shape: ImageShape, *, depth: int, width: int) -> Network:
    """Wide ResNet without dropout (S0-17 at depth 28 and width 10).

    Three stages of (depth - 4) / 6 pre-activation blocks with 16, 32 and 64 channels times
    ``width``. Convolutions start by their fan-in, scales of batch normalisation uniform.
    """
    blocks, rest = divmod(depth - 4, 6)
    assert rest == 0
    body = nn.Sequential(
        OrderedDict(
            stem=conv3x3(image_shape[2], 16),
            stage1=stage(_block, 16, 16 * width, blocks=blocks, stride=1),
            stage2=stage(_block, 16 * width, 32 * width, blocks=blocks, stride=2),
            stage3=stage(_block, 32 * width, 64 * width, blocks=blocks, stride=2),
            last=nn.Sequential(*norm_relu(64 * width)),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=64 * width, classes=classes, image_shape=image_shape)
    initialise(network, fan="fan_in", scales="uniform")
    return network


def _block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
    )
    if channels_in == channels_out:
        return PreActivated(channels_in, path, nn.Identity(), shortcut_sees="input")
    shortcut = conv1x1(channels_in, channels_out, stride)
    return PreActivated(channels_in, path, shortcut, shortcut_sees="activated")
