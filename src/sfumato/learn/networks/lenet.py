"""Turn an image shape into LeNet, the small convolutional network of handwritten digits."""

from torch import nn

from sfumato.learn.networks.narrow import NarrowConv, PooledConv
from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["lenet"]


def lenet(classes: int, image_shape: ImageShape) -> Network:
    """LeNet-5 with ReLU and max-pooling (S4-19); torch's initial weights.

    The first convolution is padded, so that 28×28 digits give the 16×5×5 maps of the classic,
    which read them on a 32×32 canvas. The paper does not say more; 61,706 parameters for ten
    classes.
    """
    height, width, channels = image_shape
    maps = 16 * _after_two_pools(height) * _after_two_pools(width)
    body = nn.Sequential(
        PooledConv(channels, 6, 5, padding=2),  # before the ReLU: a quarter of its work
        nn.ReLU(inplace=True),
        NarrowConv(6, 16, 5),
        nn.MaxPool2d(2),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(maps, 120),
        nn.ReLU(inplace=True),
        nn.Linear(120, 84),
        nn.ReLU(inplace=True),
    )
    return Network(body, features=84, classes=classes, image_shape=image_shape)


def _after_two_pools(side: int) -> int:
    return (side // 2 - 4) // 2  # the second convolution is not padded and takes 4 pixels
