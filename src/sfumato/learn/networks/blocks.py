"""Turn channel counts into the pieces that networks are made of, and pieces into a network."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sfumato.errors import DataError

# Turn a batch of images into scores for the classes, by way of one vector per image.

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


# Turn channel counts into the pieces that several families of networks are made of.

Block = Callable[[int, int, int], nn.Module]
"""Makes a block from channels in, channels out and stride."""


def conv3x3(channels_in: int, channels_out: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A 3×3 convolution that keeps the size (but for its stride), without bias."""
    return nn.Conv2d(
        channels_in, channels_out, 3, stride=stride, padding=1, groups=groups, bias=False
    )


def conv1x1(channels_in: int, channels_out: int, stride: int = 1) -> nn.Conv2d:
    """A 1×1 convolution without bias."""
    return nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False)


def norm_relu(channels: int) -> tuple[nn.BatchNorm2d, nn.ReLU]:
    """Batch normalisation followed by ReLU."""
    return nn.BatchNorm2d(channels), nn.ReLU(inplace=True)


class GlobalMean(nn.Module):
    """Each channel's mean over the image: (n, channels, height, width) to (n, channels)."""

    def forward(self, images: Tensor) -> Tensor:
        """Means, shape (n, channels)."""
        return images.mean(dim=(2, 3))


class PadChannels(nn.Module):
    """Zeros appended as further channels: a shortcut without weights (option A of ResNet)."""

    def __init__(self, extra: int) -> None:
        super().__init__()
        self.extra = extra

    def forward(self, images: Tensor) -> Tensor:
        """The images with ``extra`` channels of zeros."""
        return F.pad(images, (0, 0, 0, 0, 0, self.extra))


class Sum(nn.Module):
    """A residual path plus its shortcut."""

    def __init__(self, path: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.path = path
        self.shortcut = shortcut

    def forward(self, images: Tensor) -> Tensor:
        """path(images) + shortcut(images)."""
        return self.path(images) + self.shortcut(images)


class PreActivated(nn.Module):
    """Normalise and rectify first, then a residual path plus its shortcut.

    Published codes differ in what the shortcut sees: the block's ``"input"``, or the
    ``"activated"`` one that the path sees.
    """

    def __init__(
        self,
        channels: int,
        path: nn.Module,
        shortcut: nn.Module,
        *,
        shortcut_sees: Literal["input", "activated"],
    ) -> None:
        super().__init__()
        self.activation = nn.Sequential(*norm_relu(channels))
        self.path = path
        self.shortcut = shortcut
        self.shortcut_sees = shortcut_sees

    def forward(self, images: Tensor) -> Tensor:
        """path(activated) + shortcut(input or activated)."""
        activated = self.activation(images)
        match self.shortcut_sees:
            case "input":
                seen = images
            case "activated":
                seen = activated
            case _:
                assert_never(self.shortcut_sees)
        return self.path(activated) + self.shortcut(seen)


def stage(
    block: Block, channels_in: int, channels_out: int, *, blocks: int, stride: int
) -> nn.Sequential:
    """Blocks in a row; the first changes the channels and the size, the others neither."""
    return nn.Sequential(
        block(channels_in, channels_out, stride),
        *(block(channels_out, channels_out, 1) for _ in range(blocks - 1)),
    )


def initialise(
    network: nn.Module,
    *,
    fan: Literal["fan_in", "fan_out"] = "fan_out",
    scales: Literal["ones", "uniform"] = "ones",
) -> None:
    """Initial weights of paper 1's networks, in place.

    Convolutions: normal with variance 2 / fan, no bias. Batch normalisation: scales of one or
    uniform in [0, 1), shifts of zero. Linear layers: torch's own weights, biases of zero.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=fan, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            match scales:
                case "ones":
                    nn.init.ones_(module.weight)
                case "uniform":
                    nn.init.uniform_(module.weight)
                case _:
                    assert_never(scales)
            nn.init.zeros_(module.bias)


# Convolutions of few channels, which torch is slow at on a CPU.


class NarrowConv(nn.Conv2d):
    """A convolution of stride 1 without padding, with the same values and gradients.

    On a CPU a small network is quickest with channels last, but for the gradient of a convolution's
    images, which comes plane by plane here, as :class:`PooledConv` gives them and takes it.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Maps that are smaller by the side of the weights, less one."""
        if images.device.type != "cpu" or not torch.is_grad_enabled():
            return super().forward(images)
        return _Narrow.apply(images, self.weight, self.bias)  # type: ignore[no-untyped-call]


class _Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        images = images.contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(images, weight)
        return F.conv2d(images, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        images, weight = ctx.saved_tensors
        of_bias = gradient.sum((0, 2, 3))  # a fifth of the time it takes torch beside the weights
        of_weight = _of_weight(gradient, images, weight)
        if not ctx.needs_input_grad[0]:
            return None, of_weight, of_bias
        # Only the layout of the images is looked at, so plane by plane costs no copy of them.
        planes = images.new_empty(images.shape)
        return _of_images(gradient, planes, weight.contiguous()), of_weight, of_bias


class PooledConv(nn.Conv2d):
    """A convolution of stride 1 and ``nn.MaxPool2d(2)``, with the same weights and gradients.

    On a CPU both are slow for few channels. Here the four values of each square are computed by
    one convolution of stride 2 with four shifted copies of the weights, a plane for each, and the
    largest is taken. Sums are rounded in another order.
    """

    shifts: Tensor

    def __init__(self, inputs: int, outputs: int, side: int, *, padding: int = 0) -> None:
        super().__init__(inputs, outputs, side, padding=padding)
        self.register_buffer("shifts", _shifts(side), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Maps of half the height and width, rounded down."""
        if images.device.type != "cpu":
            return F.max_pool2d(super().forward(images), 2)
        # Padded beforehand: torch takes longer to do it on the way.
        padded = F.pad(images, [int(self.padding[0])] * 4)
        padded = padded.flatten(1).view(padded.shape)  # planes also if a single channel is "last"
        if torch.is_grad_enabled():
            layer = (self.weight, self.bias, self.shifts)
            return _Pooled.apply(padded, *layer)  # type: ignore[no-untyped-call]
        squares, _ = _squares(padded, self.weight, self.bias, self.shifts)
        return squares.amax((1, 2))


def _shifts(side: int) -> Tensor:
    """The matrix that puts a square of weights into each of the four corners of a larger one."""
    squares = torch.eye(side**2).view(-1, 1, side, side)
    corners = [(right, 1 - right, down, 1 - down) for down in (0, 1) for right in (0, 1)]
    return torch.cat([F.pad(squares, corner) for corner in corners], dim=1).flatten(1)


def _squares(
    images: Tensor, weight: Tensor, bias: Tensor | None, shifts: Tensor
) -> tuple[Tensor, Tensor]:
    """Planes of the four places of squares (images, 2, 2, outputs, …), and the weights for them."""
    outputs, inputs, side, _ = weight.shape
    shifted = weight.flatten(2) @ shifts  # (outputs, inputs, 4 times a larger square)
    four = shifted.view(outputs, inputs, 4, side + 1, side + 1).permute(2, 0, 1, 3, 4)
    four = four.reshape(4 * outputs, inputs, side + 1, side + 1)
    assert bias is not None
    return F.conv2d(images, four, bias.repeat(4), stride=2).unflatten(1, (2, 2, outputs)), four


class _Pooled(torch.autograd.Function):
    """Of equal values in a square the first gets the gradient, as in torch."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor, shifts: Tensor) -> Tensor:
        squares, four = _squares(images, weight, bias, shifts)
        left, right = squares.unbind(2)
        rows = torch.maximum(left, right)  # (images, 2, outputs, height, width)
        upper, lower = rows.unbind(1)
        pooled = torch.maximum(upper, lower)
        # In place: ones and zeros of the kind that gradients are multiplied with quickest.
        ctx.save_for_backward(images, four, shifts, left.ge_(right), upper.ge_(lower))
        return pooled

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        images, four, shifts, is_left, is_upper = ctx.saved_tensors
        of_squares = _parted(_parted(gradient, is_upper, 1), is_left, 2).flatten(1, 3)
        inputs, side = four.shape[1], four.shape[-1]
        of_four = _of_weight(of_squares, images, four, stride=2)
        of_shifted = of_four.view(4, -1, inputs, side**2).permute(1, 2, 0, 3).flatten(2)
        of_weight = (of_shifted @ shifts.T).unflatten(2, (side - 1, side - 1))
        of_images = None
        if ctx.needs_input_grad[0]:
            of_images = _of_images(of_squares, images, four, stride=2)
        return of_images, of_weight, gradient.sum((0, 2, 3)), None


def _parted(gradient: Tensor, is_first: Tensor, dim: int) -> Tensor:
    """What is the first one's and what the second one's, beside each other in a new dimension."""
    shape = list(gradient.shape)
    shape.insert(dim, 2)
    both = gradient.new_empty(shape)
    first, second = both.unbind(dim)
    torch.mul(gradient, is_first, out=first)
    torch.sub(gradient, first, out=second)
    return both


def _of_weight(gradient: Tensor, images: Tensor, weight: Tensor, *, stride: int = 1) -> Tensor:
    """The gradient of a convolution's weights."""
    return _gradients(gradient, images, weight, stride, (False, True, False))[1]


def _of_images(gradient: Tensor, images: Tensor, weight: Tensor, *, stride: int = 1) -> Tensor:
    """The gradient of a convolution's images; of these only shape and layout matter."""
    return _gradients(gradient, images, weight, stride, (True, False, False))[0]


def _gradients(
    gradient: Tensor, images: Tensor, weight: Tensor, stride: int, asked: tuple[bool, bool, bool]
) -> tuple[Tensor, Tensor, Tensor]:
    strides = [stride, stride]
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
        gradient, images, weight, None, strides, [0, 0], [1, 1], False, [0, 0], 1, asked
    )
    return found
