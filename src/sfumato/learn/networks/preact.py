"""Turn numbers of blocks into a residual network with activation before each convolution."""

from collections import OrderedDict
from typing import Literal

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

__all__ = ["preact_164", "preact_resnet"]


def preact_164(classes: int, image_shape: ImageShape) -> Network:
    """Paper 1's pre-activation bottleneck ResNet-164 (S0-18).

    The first stage stays at 16 channels, and only the later ones have the usual four times
    32 and 64: 1,619,290 parameters instead of the usual 1.7 million. As published.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=conv3x3(image_shape[2], 16),
            stage1=_bottlenecks(16, 16, stride=1),
            stage2=_bottlenecks(16, 128, stride=2),
            stage3=_bottlenecks(128, 256, stride=2),
            last=nn.Sequential(*norm_relu(256)),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=256, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


def preact_resnet(
    classes: int, image_shape: ImageShape, *, blocks: tuple[int, int, int, int]
) -> Network:
    """Pre-activation ResNet of the mixup code (S2-44, S2-45), with torch's initial weights.

    2-2-2-2 blocks make ResNet-18, 3-4-6-3 make ResNet-34. That code activates the stem too,
    shows the activated input even to identity shortcuts and has no activation before the mean.
    As published.
    """
    one, two, three, four = blocks
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_basic, 64, 64, blocks=one, stride=1),
            stage2=stage(_basic, 64, 128, blocks=two, stride=2),
            stage3=stage(_basic, 128, 256, blocks=three, stride=2),
            stage4=stage(_basic, 256, 512, blocks=four, stride=2),
            pool=GlobalMean(),
        )
    )
    return Network(body, features=512, classes=classes, image_shape=image_shape)


def _bottlenecks(channels_in: int, channels_out: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        _bottleneck(channels_in, channels_out, stride, "activated"),
        *(_bottleneck(channels_out, channels_out, 1, "input") for _ in range(17)),
    )


def _bottleneck(
    channels_in: int,
    channels_out: int,
    stride: int,
    shortcut_sees: Literal["input", "activated"],
) -> nn.Module:
    narrow = channels_out // 4
    path = nn.Sequential(
        conv1x1(channels_in, narrow),
        *norm_relu(narrow),
        conv3x3(narrow, narrow, stride),
        *norm_relu(narrow),
        conv1x1(narrow, channels_out),
    )
    shortcut = _convolution_or_identity(channels_in, channels_out, stride)
    return PreActivated(channels_in, path, shortcut, shortcut_sees=shortcut_sees)


def _basic(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
    )
    shortcut = _convolution_or_identity(channels_in, channels_out, stride)
    return PreActivated(channels_in, path, shortcut, shortcut_sees="activated")


def _convolution_or_identity(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    if channels_in == channels_out:
        return nn.Identity()
    return conv1x1(channels_in, channels_out, stride)
