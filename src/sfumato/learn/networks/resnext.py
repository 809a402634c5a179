"""Turn paper 1's ResNeXt into a network: bottlenecks of eight groups of 64 channels."""

from collections import OrderedDict

from torch import nn

from sfumato.learn.networks.layers import (
    GlobalMean,
    Sum,
    conv1x1,
    conv3x3,
    initialise,
    norm_relu,
    stage,
)
from sfumato.learn.networks.network import ImageShape, Network
from sfumato.learn.networks.resnet import projection

__all__ = ["resnext_29"]

GROUPS = 8


def resnext_29(classes: int, image_shape: ImageShape) -> Network:
    """ResNeXt-29, 8×64d (S0-19): three stages of three blocks, 256 to 1,024 channels."""
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_block, 64, 256, blocks=3, stride=1),
            stage2=stage(_block, 256, 512, blocks=3, stride=2),
            stage3=stage(_block, 512, 1024, blocks=3, stride=2),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=1024, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


def _block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    inner = GROUPS * channels_out // 4
    path = nn.Sequential(
        conv1x1(channels_in, inner),
        *norm_relu(inner),
        conv3x3(inner, inner, stride, groups=GROUPS),
        *norm_relu(inner),
        conv1x1(inner, channels_out),
        nn.BatchNorm2d(channels_out),
    )
    shortcut = projection(channels_in, channels_out, stride)
    return nn.Sequential(Sum(path, shortcut), nn.ReLU(inplace=True))
