"""Turn the layers of five stages into a VGG with batch normalisation."""

from torch import nn

from sfumato.learn.networks.layers import initialise, norm_relu
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["vgg_11", "vgg_15"]

CHANNELS = (64, 128, 256, 512, 512)


def vgg_15(classes: int, image_shape: ImageShape) -> Network:
    """Paper 1's VGG (S0-15): 2-2-3-3-3 convolutions, scales of batch normalisation uniform."""
    network = _vgg(classes, image_shape, layers=(2, 2, 3, 3, 3))
    initialise(network, scales="uniform")
    return network


def vgg_11(classes: int, image_shape: ImageShape) -> Network:
    """The VGG of papers 3 and 4 (S2-43): 1-1-2-2-2 convolutions, torch's initial weights."""
    return _vgg(classes, image_shape, layers=(1, 1, 2, 2, 2))


def _vgg(classes: int, image_shape: ImageShape, *, layers: tuple[int, ...]) -> Network:
    height, width, channels = image_shape
    body = nn.Sequential()
    for number, (width_out, depth) in enumerate(zip(CHANNELS, layers, strict=True), start=1):
        stage = nn.Sequential()
        for _ in range(depth):
            stage.append(nn.Conv2d(channels, width_out, 3, padding=1))  # with bias, as published
            stage.extend(norm_relu(width_out))
            channels = width_out
        stage.append(nn.MaxPool2d(2))
        body.add_module(f"stage{number}", stage)
    body.add_module("flatten", nn.Flatten())
    maps = channels * (height // 32) * (width // 32)  # five halvings
    return Network(body, features=maps, classes=classes, image_shape=image_shape)
