"""The stored beliefs of paper 1's eight networks about the CIFAR-10 test images (S0-52)."""

from collections.abc import Sequence
from pathlib import Path

from sfumato.data import locate
from sfumato.evaluation.predictions import read_predictions
from sfumato.labels.labelset import LabelSet

__all__ = ["BEST", "CLOSEST", "STORED", "read_stored"]

STORED: dict[str, str] = {
    "VGG": "vgg_15_BN_64",
    "DenseNet": "densenet_BC_100_12",
    "PyramidNet": "pyramidnet_basic_110_270",
    "ResNet": "resnet_basic_110",
    "ResNext": "resnext_29_8x64d",
    "Wide ResNet": "wrn_28_10",
    "ResNet preact": "resnet_preact_bottleneck_164",
    "Shake-Shake": "shake_shake_26_2x64d_SSI_cutout16",
}
"""The paper's names for its networks, in the order of its table 2, and those of their files."""
BEST = "Shake-Shake"
"""The most accurate of them."""
CLOSEST = ("Wide ResNet", "ResNext", "PyramidNet")
"""The three that are closest to people before fine-tuning, by the paper's table 1."""


def read_stored(folder: Path | None, classes: Sequence[str]) -> dict[str, LabelSet]:
    """By the paper's names: what each network believes after training on the 50,000.

    A missing file is an error that says how to get it.
    """
    return {
        name: read_predictions(
            locate("cifar10h-predictions", f"{file}.npz", folder), classes=classes
        )
        for name, file in STORED.items()
    }
