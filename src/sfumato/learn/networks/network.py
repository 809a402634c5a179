"""Turn a batch of images into scores for the classes, by way of one vector an image."""

from typing import TypeAlias

from torch import Tensor, nn

from sfumato.errors import DataError

__all__ = ["ImageShape", "Network", "features"]

ImageShape: TypeAlias = tuple[int, int, int]
"""Height, width, channels of one image, as images are kept; in tensors, channels come first."""


class Network(nn.Module):
    """A body that turns images into penultimate vectors, and a linear head on top.

    ``body`` maps (n, channels, height, width) to (n, ``head.in_features``); ``head`` maps that to
    (n, classes) logits.
    """

    def __init__(
        self, body: nn.Module, *, features: int, classes: int, image_shape: ImageShape
    ) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(features, classes)
        self.image_shape = image_shape

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (n, classes), of images of shape (n, channels, height, width)."""
        return self.head(features(self, images))


def features(network: Network, images: Tensor) -> Tensor:
    """What the last layer reads, shape (n, features), from any of our networks.

    Gradients flow through it; ask for ``torch.no_grad()`` and ``network.eval()`` where they and
    batch statistics are not wanted.
    """
    height, width, channels = network.image_shape
    if images.ndim != 4 or images.shape[1:] != (channels, height, width):
        raise DataError(
            f"The network was built for batches of shape (n, {channels}, {height}, {width}): "
            f"channels, height, width; but the batch has shape {tuple(images.shape)}. Build it "
            f"for these images, or resize them."
        )
    return network.body(images)
