"""Turn a network into an ONNX file that other runtimes read."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from sfumato.items.items import Kind
from sfumato.learn.networks import ImageShape


class _Probabilities(nn.Module):
    """What is exported: numbers as they come in, probabilities as they go out."""

    def __init__(self, network: nn.Module, kind: Kind) -> None:
        super().__init__()
        self.network, self.kind = network, kind

    def forward(self, numbers: Tensor) -> Tensor:
        """Probabilities, shape (n, classes)."""
        if self.kind == "vectors":
            numbers = numbers[:, :, None, None]
        return self.network(numbers).softmax(dim=1)


def write_onnx(
    network: nn.Module, kind: Kind, image_shape: ImageShape, path: Path, *, about: Mapping[str, str]
) -> None:
    """Write the network in evaluation mode, for any number of items at once, in one file."""
    height, width, channels = image_shape
    # two items: an example of one would fix the number at one
    shape = (2, channels) if kind == "vectors" else (2, channels, height, width)
    with warnings.catch_warnings(), _without_remarks():
        warnings.simplefilter("ignore", FutureWarning)  # torch warns of its own inner calls
        program = torch.onnx.export(
            _Probabilities(network, kind).eval(),
            (torch.rand(shape),),
            input_names=[kind],
            output_names=["probabilities"],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    program.model.metadata_props.update(about)
    program.save(path, external_data=False)


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Torch remarks on packages that are not needed here."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
