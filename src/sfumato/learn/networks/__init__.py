"""Turn the name of a network into the network, with the initial weights of a seed.

Every network has a ``body`` and a linear ``head``; ``features`` gives what the head reads. The
table of networks can be read without torch, which only making one needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError
from sfumato.names import find, load_name

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from sfumato.learn.networks.blocks import ImageShape, Network, features

__all__ = [
    "NETWORKS",
    "ImageShape",
    "Network",
    "NetworkKind",
    "build_network",
    "features",
    "load_weights",
    "save_weights",
]

_BLOCKS = ("ImageShape", "Network", "features")


def __getattr__(name: str) -> Any:
    if name in _BLOCKS:
        return load_name(f"sfumato.learn.networks.blocks:{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


# Turn the weights of a network into a safetensors file, and such a file into weights.


def save_weights(network: nn.Module, path: Path) -> None:
    """Write all weights and batch statistics; the same weights give the same bytes.

    The file appears whole or not at all: it is written under another name and then renamed.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")
    part = path.with_name(f".{path.name}.part")
    # safetensors refuses tensors in other memory layouts, such as channels-last
    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    try:
        save_file(tensors, part)
        part.replace(path)
    except (OSError, SafetensorError) as error:
        raise DataError(f"The weights cannot be written to {path}: {error}.") from error
    finally:
        part.unlink(missing_ok=True)


def load_weights(network: nn.Module, path: Path) -> None:
    """Read into ``network`` what ``save_weights`` wrote of one with the same layers.

    The network keeps its device and memory layout. Nothing is changed if anything does not fit.
    """
    stored = _read(path)
    needed = network.state_dict()
    for name, tensor in needed.items():
        if name not in stored:
            raise DataError(
                f"{path} lacks the tensor {name!r} of {_describe(tensor)} that the network needs. "
                f"Build the network under the name, classes and image shape it was saved with."
            )
        if _describe(stored[name]) != _describe(tensor):
            raise DataError(
                f"{path} holds {name!r} as {_describe(stored[name])}, but the network has "
                f"{_describe(tensor)}. Build it with the classes and image shape it was saved with."
            )
    extra = sorted(stored.keys() - needed.keys())
    if extra:
        raise DataError(
            f"{path} holds {len(extra)} tensors that the network has no place for; the first is "
            f"{extra[0]!r} of {_describe(stored[extra[0]])}. Build the network that was saved."
        )
    network.load_state_dict(stored)


def _read(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise DataError(f"There is no file of weights {path}.")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise DataError(
            f"{path} is not a complete safetensors file ({error}). Save the weights again."
        ) from error


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


# Turn the name of a network into the network, with the initial weights of a seed.


@dataclass(frozen=True)
class NetworkKind:
    """A network that can be built for any classes and image shape, and its published size."""

    build: Callable[[int, ImageShape], Network]
    """Makes it from the number of classes and the shape, drawing from torch's generator."""
    about: str
    parameters: int
    """Trainable numbers with ``classes`` classes and images of ``image_shape``."""
    rows: tuple[str, ...] = ()
    """The features of the papers that it provides; none for networks of a size for CPUs."""
    classes: int = 10
    image_shape: ImageShape = (32, 32, 3)
    smallest_side: int = 8
    """The least height and width, in pixels."""
    side_multiple: int = 1
    """Height and width must be multiples of this."""
    cutout: int | None = None
    """The side of the square that its published training cuts out of each image."""

    @property
    def takes_vectors(self) -> bool:
        """Whether it learns vectors too: it needs one pixel, with a channel per number."""
        return self.smallest_side == 1


DIGIT: ImageShape = (28, 28, 1)


def _build(model: str, classes: int, image_shape: ImageShape, **settings: Any) -> Network:
    """The network that a function of ``models`` makes."""
    models = load_name("sfumato.learn.networks.models:MODELS")
    return models[model](classes, image_shape, **settings)


NETWORKS: dict[str, NetworkKind] = {
    "logistic": NetworkKind(
        build=partial(_build, "logistic"),
        about="Logistic regression.",
        parameters=7_850,
        image_shape=DIGIT,
        smallest_side=1,
    ),
    "linear": NetworkKind(
        build=partial(_build, "logistic"),
        about="The same by the name of a head on vectors.",
        parameters=7_850,
        image_shape=DIGIT,
        smallest_side=1,
    ),
    "simple-ffn": NetworkKind(
        build=partial(_build, "ffn", hidden=(128,)),
        about="One hidden layer of 128 units.",
        parameters=101_899,
        rows=("S4-17", "S4-20"),
        classes=11,
        image_shape=DIGIT,
        smallest_side=1,
    ),
    "mlp": NetworkKind(
        build=partial(_build, "ffn", hidden=(128,)),
        about="The same by the name of a head on vectors.",
        parameters=101_899,
        classes=11,
        image_shape=DIGIT,
        smallest_side=1,
    ),
    "deeper-ffn": NetworkKind(
        build=partial(_build, "ffn", hidden=(256, 128)),
        about="Two hidden layers of 256 and 128 units.",
        parameters=235_275,
        rows=("S4-18",),
        classes=11,
        image_shape=DIGIT,
        smallest_side=1,
    ),
    "lenet": NetworkKind(
        build=partial(_build, "lenet"),
        about="LeNet-5 with ReLU and max-pooling, its first convolution padded.",
        parameters=61_791,
        rows=("S4-19",),
        classes=11,
        image_shape=DIGIT,
        smallest_side=12,
    ),
    "vgg_15_BN_64": NetworkKind(
        build=partial(_build, "vgg_15"),
        about="VGG with 13 convolutions, batch normalisation and one linear layer.",
        parameters=14_728_266,
        rows=("S0-15", "S1-40"),
        smallest_side=32,
    ),
    "resnet_basic_110": NetworkKind(
        build=partial(_build, "resnet", depth=110),
        about="ResNet-110 with basic blocks and projecting shortcuts.",
        parameters=1_730_714,
        rows=("S0-16", "S1-40"),
    ),
    "wrn_28_10": NetworkKind(
        build=partial(_build, "wide_resnet", depth=28, width=10),
        about="Wide ResNet 28-10 without dropout.",
        parameters=36_479_194,
        rows=("S0-17", "S1-40"),
    ),
    "resnet_preact_bottleneck_164": NetworkKind(
        build=partial(_build, "preact_164"),
        about="Pre-activation ResNet-164 with bottlenecks.",
        parameters=1_619_290,
        rows=("S0-18",),
    ),
    "resnext_29_8x64d": NetworkKind(
        build=partial(_build, "resnext_29"),
        about="ResNeXt-29 with 8 groups of 64 channels.",
        parameters=34_426_698,
        rows=("S0-19",),
    ),
    "densenet_BC_100_12": NetworkKind(
        build=partial(_build, "densenet_bc_100"),
        about="DenseNet-BC of 100 layers that add 12 channels each.",
        parameters=769_162,
        rows=("S0-20", "S1-40"),
    ),
    "pyramidnet_basic_110_270": NetworkKind(
        build=partial(_build, "pyramidnet_110_270"),
        about="PyramidNet-110 with basic blocks, widening by 270 channels.",
        parameters=28_485_477,
        rows=("S0-21",),
        side_multiple=4,
    ),
    "shake_shake_26_2x64d_SSI_cutout16": NetworkKind(
        build=partial(_build, "shake_shake_26"),
        about="Shake-Shake-26 with two paths of 64 channels, mixed at random for each image.",
        parameters=11_709_514,
        rows=("S0-22", "S1-40"),
        cutout=16,
    ),
    "resnet-34a": NetworkKind(
        build=partial(_build, "resnet_34a"),
        about="The ResNet-34A of Uma et al.: in fact 44 layers, with zero-padded shortcuts.",
        parameters=660_170,
        rows=("S2-41",),
    ),
    "resnet-50": NetworkKind(
        build=partial(_build, "resnet_50"),
        about="ResNet-50 with a stem for small images.",
        parameters=23_520_842,
        rows=("S2-42",),
        smallest_side=16,
    ),
    "vgg-11": NetworkKind(
        build=partial(_build, "vgg_11"),
        about="VGG-11 with batch normalisation and one linear layer.",
        parameters=9_231_114,
        rows=("S2-43",),
        smallest_side=32,
    ),
    "preact-resnet-18": NetworkKind(
        build=partial(_build, "preact_resnet", blocks=(2, 2, 2, 2)),
        about="Pre-activation ResNet-18 of the mixup code.",
        parameters=11_171_274,
        rows=("S2-44",),
        smallest_side=16,
    ),
    "preact-resnet-34": NetworkKind(
        build=partial(_build, "preact_resnet", blocks=(3, 4, 6, 3)),
        about="Pre-activation ResNet-34, of the blocks of the mixup code.",
        parameters=21_279_434,
        rows=("S2-45",),
        smallest_side=16,
    ),
    "cnn-3": NetworkKind(
        build=partial(_build, "cnn"),
        about="Three convolutions with pools, a quarter of ResNet-8's work.",
        parameters=26_266,
        smallest_side=16,
    ),
    "resnet-8": NetworkKind(
        build=partial(_build, "resnet", depth=8),
        about="The smallest ResNet: one basic block a stage.",
        parameters=78_042,
    ),
    "resnet-20": NetworkKind(
        build=partial(_build, "resnet", depth=20),
        about="ResNet-20 with basic blocks and projecting shortcuts.",
        parameters=272_474,
    ),
    "wrn-16-1": NetworkKind(
        build=partial(_build, "wide_resnet", depth=16, width=1),
        about="Wide ResNet 16-1: pre-activation, no wider than a ResNet.",
        parameters=175_066,
    ),
    "wrn-16-2": NetworkKind(
        build=partial(_build, "wide_resnet", depth=16, width=2),
        about="Wide ResNet 16-2.",
        parameters=691_674,
    ),
}


def build_network(
    name: str, *, classes: int, image_shape: ImageShape, seed: int | torch.Generator
) -> Network:
    """The network called ``name``, with the initial weights of ``seed``.

    ``image_shape`` is (height, width, channels). The same seed gives the same weights; torch's
    global generators are left as they were. A generator given as ``seed`` moves on by one draw.

    >>> import torch
    >>> network = build_network("lenet", classes=10, image_shape=(28, 28, 1), seed=0)
    >>> network(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 10])
    >>> from sfumato.learn.networks.blocks import features
    >>> features(network, torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 84])
    """
    import torch

    kind = find(NETWORKS, name, what="network")
    _check(name, kind, classes=classes, image_shape=image_shape)
    if isinstance(seed, torch.Generator):
        seed = int(torch.randint(2**63 - 1, (), generator=seed, device=seed.device))
    with torch.random.fork_rng(devices=[]):  # networks are made on the CPU
        torch.default_generator.manual_seed(seed)
        return kind.build(classes, image_shape)


def _check(name: str, kind: NetworkKind, *, classes: int, image_shape: ImageShape) -> None:
    if classes < 2:
        raise DataError(f"A classifier needs at least 2 classes, not {classes}.")
    if len(image_shape) != 3 or min(image_shape) < 1:
        raise DataError(
            f"The image shape is {tuple(image_shape)}; it must be (height, width, channels), "
            f"three whole numbers from 1 up."
        )
    height, width, channels = image_shape
    found = (
        f"images of {height}×{width} pixels with {channels} channels (height and width come first)"
    )
    if min(height, width) < kind.smallest_side:
        side = kind.smallest_side
        raise DataError(
            f"{name!r} needs images of at least {side}×{side} pixels, not {found}. "
            f"Enlarge or pad the images, or take a smaller network such as 'simple-ffn'."
        )
    if height % kind.side_multiple or width % kind.side_multiple:
        raise DataError(
            f"{name!r} needs images whose height and width are multiples of "
            f"{kind.side_multiple}, not {found}. Pad or crop the images."
        )
