"""Turn a depth into a residual network with activation after the sum."""

from collections import OrderedDict

from torch import nn

from sfumato.learn.networks.layers import (
    GlobalMean,
    PadChannels,
    Sum,
    conv1x1,
    conv3x3,
    initialise,
    norm_relu,
    stage,
)
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["projection", "resnet", "resnet_34a", "resnet_50"]


def resnet(classes: int, image_shape: ImageShape, *, depth: int) -> Network:
    """Three stages of basic blocks with 16, 32 and 64 channels (S0-16 at depth 110).

    Shortcuts that change the size are a 1×1 convolution with batch normalisation. A stage has
    (depth - 2) / 6 blocks.
    """
    blocks, rest = divmod(depth - 2, 6)
    assert rest == 0
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 16), *norm_relu(16)),
            stage1=stage(_basic, 16, 16, blocks=blocks, stride=1),
            stage2=stage(_basic, 16, 32, blocks=blocks, stride=2),
            stage3=stage(_basic, 32, 64, blocks=blocks, stride=2),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=64, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


def resnet_34a(classes: int, image_shape: ImageShape) -> Network:
    """The "ResNet-34A" of Uma et al. and papers 3 and 4 (S2-41), with torch's initial weights.

    Seven blocks a stage make 44 layers, not 34; shortcuts are padded with zeros (option A), and
    convolutions have biases. As published.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(nn.Conv2d(image_shape[2], 16, 3, padding=1), *norm_relu(16)),
            stage1=stage(_padded, 16, 16, blocks=7, stride=1),
            stage2=stage(_padded, 16, 32, blocks=7, stride=2),
            stage3=stage(_padded, 32, 64, blocks=7, stride=2),
            pool=GlobalMean(),
        )
    )
    return Network(body, features=64, classes=classes, image_shape=image_shape)


def resnet_50(classes: int, image_shape: ImageShape) -> Network:
    """ResNet-50 for small images (S2-42): a 3×3 stem without pooling, torch's initial weights."""
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_bottleneck, 64, 256, blocks=3, stride=1),
            stage2=stage(_bottleneck, 256, 512, blocks=4, stride=2),
            stage3=stage(_bottleneck, 512, 1024, blocks=6, stride=2),
            stage4=stage(_bottleneck, 1024, 2048, blocks=3, stride=2),
            pool=GlobalMean(),
        )
    )
    return Network(body, features=2048, classes=classes, image_shape=image_shape)


def projection(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    """A shortcut: the input itself, or its normalised 1×1 convolution where channels change."""
    if channels_in == channels_out:
        return nn.Identity()
    return nn.Sequential(conv1x1(channels_in, channels_out, stride), nn.BatchNorm2d(channels_out))


def _basic(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
        nn.BatchNorm2d(channels_out),
    )
    shortcut = projection(channels_in, channels_out, stride)
    return nn.Sequential(Sum(path, shortcut), nn.ReLU(inplace=True))


def _padded(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1),
        *norm_relu(channels_out),
        nn.Conv2d(channels_out, channels_out, 3, padding=1),
        nn.BatchNorm2d(channels_out),
    )
    shortcut: nn.Module = nn.Identity()
    if channels_in != channels_out:
        shortcut = nn.Sequential(
            nn.MaxPool2d(1, stride=stride),  # every second pixel
            PadChannels(channels_out - channels_in),
        )
    return nn.Sequential(Sum(path, shortcut), nn.ReLU(inplace=True))


def _bottleneck(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    narrow = channels_out // 4
    path = nn.Sequential(
        conv1x1(channels_in, narrow),
        *norm_relu(narrow),
        conv3x3(narrow, narrow, stride),
        *norm_relu(narrow),
        conv1x1(narrow, channels_out),
        nn.BatchNorm2d(channels_out),
    )
    shortcut = projection(channels_in, channels_out, stride)
    return nn.Sequential(Sum(path, shortcut), nn.ReLU(inplace=True))
