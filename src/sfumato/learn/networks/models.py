"""Turn depths and widths into the networks of the papers, family by family."""

from collections import OrderedDict
from math import prod
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from sfumato.learn.networks.blocks import (
    GlobalMean,
    ImageShape,
    NarrowConv,
    Network,
    PadChannels,
    PooledConv,
    PreActivated,
    Sum,
    conv1x1,
    conv3x3,
    initialise,
    norm_relu,
    stage,
)

# Turn the sizes of hidden layers into a feed-forward network on pixels.


def logistic(classes: int, image_shape: ImageShape) -> Network:
    """Logistic regression on pixels or other numbers: the head alone.

    >>> logistic(10, (28, 28, 1)).head
    Linear(in_features=784, out_features=10, bias=True)
    """
    return Network(
        nn.Flatten(), features=prod(image_shape), classes=classes, image_shape=image_shape
    )


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


# Turn an image shape into a plain convolutional network of a size for CPUs.

CNN_WIDTHS = (16, 32, 64)
FEWEST_PIXELS = 2
"""Side of the last maps, whatever the images' size."""


def cnn(classes: int, image_shape: ImageShape) -> Network:
    """Three 3×3 convolutions, each halved by a pool before its batch normalisation and ReLU.

    A quarter of ResNet-8's multiplications, and those in wider layers: on 7,000 CIFAR images and a
    CPU it learns in a fraction of the time. Torch's initial weights.
    """
    _, _, channels = image_shape
    layers: list[nn.Module] = []
    for width in CNN_WIDTHS:
        layers += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        ]
        channels = width
    body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(FEWEST_PIXELS), nn.Flatten())
    features = channels * FEWEST_PIXELS**2
    return Network(body, features=features, classes=classes, image_shape=image_shape)


# Turn an image shape into LeNet, the small convolutional network of handwritten digits.


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


# Turn the layers of five stages into a VGG with batch normalisation.

VGG_CHANNELS = (64, 128, 256, 512, 512)


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
    for number, (width_out, depth) in enumerate(zip(VGG_CHANNELS, layers, strict=True), start=1):
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


# Turn a depth into a residual network with activation after the sum.


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
            stage1=stage(_basic_block, 16, 16, blocks=blocks, stride=1),
            stage2=stage(_basic_block, 16, 32, blocks=blocks, stride=2),
            stage3=stage(_basic_block, 32, 64, blocks=blocks, stride=2),
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
            stage1=stage(_padded_block, 16, 16, blocks=7, stride=1),
            stage2=stage(_padded_block, 16, 32, blocks=7, stride=2),
            stage3=stage(_padded_block, 32, 64, blocks=7, stride=2),
            pool=GlobalMean(),
        )
    )
    return Network(body, features=64, classes=classes, image_shape=image_shape)


def resnet_50(classes: int, image_shape: ImageShape) -> Network:
    """ResNet-50 for small images (S2-42): a 3×3 stem without pooling, torch's initial weights."""
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_bottleneck_block, 64, 256, blocks=3, stride=1),
            stage2=stage(_bottleneck_block, 256, 512, blocks=4, stride=2),
            stage3=stage(_bottleneck_block, 512, 1024, blocks=6, stride=2),
            stage4=stage(_bottleneck_block, 1024, 2048, blocks=3, stride=2),
            pool=GlobalMean(),
        )
    )
    return Network(body, features=2048, classes=classes, image_shape=image_shape)


def projection(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    """A shortcut: the input itself, or its normalised 1×1 convolution where channels change."""
    if channels_in == channels_out:
        return nn.Identity()
    return nn.Sequential(conv1x1(channels_in, channels_out, stride), nn.BatchNorm2d(channels_out))


def _basic_block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
        nn.BatchNorm2d(channels_out),
    )
    shortcut = projection(channels_in, channels_out, stride)
    return nn.Sequential(Sum(path, shortcut), nn.ReLU(inplace=True))


def _padded_block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
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


def _bottleneck_block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
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


# Turn numbers of blocks into a residual network with activation before each convolution.


def preact_164(classes: int, image_shape: ImageShape) -> Network:
    """Paper 1's pre-activation bottleneck ResNet-164 (S0-18).

    The first stage stays at 16 channels, and only the later ones have the usual four times
    32 and 64: 1,619,290 parameters instead of the usual 1.7 million. As published.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=conv3x3(image_shape[2], 16),
            stage1=_preact_bottlenecks(16, 16, stride=1),
            stage2=_preact_bottlenecks(16, 128, stride=2),
            stage3=_preact_bottlenecks(128, 256, stride=2),
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
            stage1=stage(_preact_basic, 64, 64, blocks=one, stride=1),
            stage2=stage(_preact_basic, 64, 128, blocks=two, stride=2),
            stage3=stage(_preact_basic, 128, 256, blocks=three, stride=2),
            stage4=stage(_preact_basic, 256, 512, blocks=four, stride=2),
            pool=GlobalMean(),
        )
    )
    return Network(body, features=512, classes=classes, image_shape=image_shape)


def _preact_bottlenecks(channels_in: int, channels_out: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        _preact_bottleneck(channels_in, channels_out, stride, "activated"),
        *(_preact_bottleneck(channels_out, channels_out, 1, "input") for _ in range(17)),
    )


def _preact_bottleneck(
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


def _preact_basic(channels_in: int, channels_out: int, stride: int) -> nn.Module:
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


# Turn a depth and a width into a Wide ResNet.


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
            stage1=stage(_wide_block, 16, 16 * width, blocks=blocks, stride=1),
            stage2=stage(_wide_block, 16 * width, 32 * width, blocks=blocks, stride=2),
            stage3=stage(_wide_block, 32 * width, 64 * width, blocks=blocks, stride=2),
            last=nn.Sequential(*norm_relu(64 * width)),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=64 * width, classes=classes, image_shape=image_shape)
    initialise(network, fan="fan_in", scales="uniform")
    return network


def _wide_block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
    )
    if channels_in == channels_out:
        return PreActivated(channels_in, path, nn.Identity(), shortcut_sees="input")
    shortcut = conv1x1(channels_in, channels_out, stride)
    return PreActivated(channels_in, path, shortcut, shortcut_sees="activated")


# Turn paper 1's ResNeXt into a network: bottlenecks of eight groups of 64 channels.

RESNEXT_GROUPS = 8


def resnext_29(classes: int, image_shape: ImageShape) -> Network:
    """ResNeXt-29, 8×64d (S0-19): three stages of three blocks, 256 to 1,024 channels."""
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_resnext_block, 64, 256, blocks=3, stride=1),
            stage2=stage(_resnext_block, 256, 512, blocks=3, stride=2),
            stage3=stage(_resnext_block, 512, 1024, blocks=3, stride=2),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=1024, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


def _resnext_block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    inner = RESNEXT_GROUPS * channels_out // 4
    path = nn.Sequential(
        conv1x1(channels_in, inner),
        *norm_relu(inner),
        conv3x3(inner, inner, stride, groups=RESNEXT_GROUPS),
        *norm_relu(inner),
        conv1x1(inner, channels_out),
        nn.BatchNorm2d(channels_out),
    )
    shortcut = projection(channels_in, channels_out, stride)
    return nn.Sequential(Sum(path, shortcut), nn.ReLU(inplace=True))


# Turn paper 1's DenseNet into a network: every layer reads all layers before it.

DENSENET_GROWTH = 12
"""Channels that each layer adds."""
DENSENET_LAYERS = 16
"""Layers of two convolutions in each of three stages: 3 × 2 × 16 + 4 = 100."""


def densenet_bc_100(classes: int, image_shape: ImageShape) -> Network:
    """DenseNet-BC-100-12 (S0-20): bottlenecks, and transitions that halve the channels."""
    channels = 2 * DENSENET_GROWTH
    body = nn.Sequential(OrderedDict(stem=conv3x3(image_shape[2], channels)))
    for number in (1, 2, 3):
        body.add_module(f"stage{number}", _dense_stage(channels))
        channels += DENSENET_LAYERS * DENSENET_GROWTH
        if number < 3:
            body.add_module(f"transition{number}", _dense_transition(channels))
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


def _dense_stage(channels: int) -> nn.Sequential:
    return nn.Sequential(
        *(_dense_layer(channels + index * DENSENET_GROWTH) for index in range(DENSENET_LAYERS))
    )


def _dense_layer(channels: int) -> nn.Module:
    return _Append(
        nn.Sequential(
            *norm_relu(channels),
            conv1x1(channels, 4 * DENSENET_GROWTH),
            *norm_relu(4 * DENSENET_GROWTH),
            conv3x3(4 * DENSENET_GROWTH, DENSENET_GROWTH),
        )
    )


def _dense_transition(channels: int) -> nn.Sequential:
    return nn.Sequential(*norm_relu(channels), conv1x1(channels, channels // 2), nn.AvgPool2d(2))


# Turn paper 1's PyramidNet into a network: channels that grow with every block.

PYRAMIDNET_BLOCKS = 18
"""Blocks in each of three stages: 3 × 2 × 18 + 2 = 110 layers."""
PYRAMIDNET_STEP = 5
"""Channels that each block adds: 270 over 54 blocks."""


def pyramidnet_110_270(classes: int, image_shape: ImageShape) -> Network:
    """PyramidNet-110, α = 270 (S0-21): basic blocks, from 16 to 286 channels.

    Shortcuts average 2×2 pixels where convolutions step over them, so sides must be divisible
    by four.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 16), nn.BatchNorm2d(16)),  # no ReLU
            stage1=_pyramid_stage(16, stride=1),
            stage2=_pyramid_stage(16 + PYRAMIDNET_BLOCKS * PYRAMIDNET_STEP, stride=2),
            stage3=_pyramid_stage(16 + 2 * PYRAMIDNET_BLOCKS * PYRAMIDNET_STEP, stride=2),
            last=nn.Sequential(*norm_relu(16 + 3 * PYRAMIDNET_BLOCKS * PYRAMIDNET_STEP)),
            pool=GlobalMean(),
        )
    )
    network = Network(
        body,
        features=16 + 3 * PYRAMIDNET_BLOCKS * PYRAMIDNET_STEP,
        classes=classes,
        image_shape=image_shape,
    )
    initialise(network)
    return network


def _pyramid_stage(channels: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        _pyramid_block(channels, stride),
        *(
            _pyramid_block(channels + index * PYRAMIDNET_STEP, 1)
            for index in range(1, PYRAMIDNET_BLOCKS)
        ),
    )


def _pyramid_block(channels: int, stride: int) -> nn.Module:
    path = nn.Sequential(
        nn.BatchNorm2d(channels),
        conv3x3(channels, channels + PYRAMIDNET_STEP, stride),
        *norm_relu(channels + PYRAMIDNET_STEP),
        conv3x3(channels + PYRAMIDNET_STEP, channels + PYRAMIDNET_STEP),
        nn.BatchNorm2d(channels + PYRAMIDNET_STEP),
    )
    size = nn.Identity() if stride == 1 else nn.AvgPool2d(2)
    return Sum(path, nn.Sequential(size, PadChannels(PYRAMIDNET_STEP)))


# Turn paper 1's Shake-Shake into a network: two residual paths, mixed at random in training.
#
# Each image draws its own α for the forward pass and its own β for the backward pass ("shake",
# "shake", "image"), both uniform in [0, 1), from torch's global generator of the images' device, as
# dropout does. In evaluation both paths count one half, and nothing is drawn.


def shake_shake_26(classes: int, image_shape: ImageShape) -> Network:
    """Shake-Shake-26, 2×64d, shake-shake-image (S0-22): 64, 128 and 256 channels.

    The stem has 64 channels, as in the experiments of paper 1 (later versions of that code have
    16), and the mean is taken without a last ReLU.
    """
    body = nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv3x3(image_shape[2], 64), *norm_relu(64)),
            stage1=stage(_ShakeBlock, 64, 64, blocks=4, stride=1),
            stage2=stage(_ShakeBlock, 64, 128, blocks=4, stride=2),
            stage3=stage(_ShakeBlock, 128, 256, blocks=4, stride=2),
            pool=GlobalMean(),
        )
    )
    network = Network(body, features=256, classes=classes, image_shape=image_shape)
    initialise(network)
    return network


def shake(left: Tensor, right: Tensor, *, forward: Tensor, backward: Tensor) -> Tensor:
    """α left + (1 - α) right, whose gradient is that of β left + (1 - β) right.

    ``forward`` (α) and ``backward`` (β) have one number per image, shape (n, 1, 1, 1).

    >>> left = torch.tensor([[[[8.0]]]], requires_grad=True)
    >>> right = torch.tensor([[[[4.0]]]], requires_grad=True)
    >>> alpha, beta = torch.tensor([[[[0.25]]]]), torch.tensor([[[[0.75]]]])
    >>> mixed = shake(left, right, forward=alpha, backward=beta)
    >>> mixed.backward()
    >>> mixed.item(), left.grad.item(), right.grad.item()
    (5.0, 0.75, 0.25)
    """
    return _Shake.apply(left, right, forward, backward)  # type: ignore[no-untyped-call]


class _Shake(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        ctx.save_for_backward(beta)
        return alpha * left + (1 - alpha) * right

    @staticmethod
    @once_differentiable  # β replaces α, so a second derivative would mean nothing
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (beta,) = ctx.saved_tensors
        return beta * gradient, (1 - beta) * gradient, None, None


class _ShakeBlock(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.left = _shake_path(channels_in, channels_out, stride)
        self.right = _shake_path(channels_in, channels_out, stride)
        self.shortcut = nn.Identity() if stride == 1 else _TwoGrids(channels_in, channels_out)

    def forward(self, images: Tensor) -> Tensor:
        left, right = self.left(images), self.right(images)
        return self.shortcut(images) + self._mixed(left, right)

    def _mixed(self, left: Tensor, right: Tensor) -> Tensor:
        if not self.training:
            return (left + right) / 2
        shape = (len(left), 1, 1, 1)
        alpha = torch.rand(shape, dtype=left.dtype, device=left.device)
        beta = torch.rand(shape, dtype=left.dtype, device=left.device)
        return shake(left, right, forward=alpha, backward=beta)


class _TwoGrids(nn.Module):
    """A shortcut of half the size: the even pixels and the odd ones, each half of the channels."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.even = conv1x1(channels_in, channels_out // 2)
        self.odd = conv1x1(channels_in, channels_out // 2)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, images: Tensor) -> Tensor:
        active = F.relu(images)
        moved = F.pad(active[:, :, 1:, 1:], (0, 1, 0, 1))
        grids = self.even(active[:, :, ::2, ::2]), self.odd(moved[:, :, ::2, ::2])
        return self.norm(torch.cat(grids, dim=1))


def _shake_path(channels_in: int, channels_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ReLU(),  # not in place: both paths and the shortcut read the input
        conv3x3(channels_in, channels_out, stride),
        *norm_relu(channels_out),
        conv3x3(channels_out, channels_out),
        nn.BatchNorm2d(channels_out),
    )


MODELS = {
    model.__name__: model
    for model in (
        logistic,
        ffn,
        lenet,
        vgg_15,
        resnet,
        wide_resnet,
        preact_164,
        resnext_29,
        densenet_bc_100,
        pyramidnet_110_270,
        shake_shake_26,
        resnet_34a,
        resnet_50,
        vgg_11,
        preact_resnet,
        cnn,
    )
}
"""What can be built, by name; ``NETWORKS`` says with which settings."""
