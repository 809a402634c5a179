"""Turn the sizes of hidden layers into a feed-forward network on pixels."""

from math import prod

from torch import nn

from sfumato.learn.networks.network import ImageShape, Network

__all__ = ["ffn"]


def ffn(classes: int, image_shape: ImageShape, *, hidden: tuple[int, ...]) -> Network:
    """Pixels, hidden layers with ReLU, classes (S4-17, S4-18, S4-20); torch's initial weights.

    >>> ffn(11, (28, 28, 1), hidden=(128,)).head
    Linear(in_features=128, out_features=11, bias=True)
    """
    sizes = (prod(image_shape), *hidden)
    body = nn.Sequential(nn.Flatten())
    for size, following in zip(sizes, hidden, strict=False):
        body.extend([nn.Linear(size, following), nn.ReLU(inplace=True)])
    return Network(body, features=hidden[-1], classes=classes, image_shape=image_shape)
