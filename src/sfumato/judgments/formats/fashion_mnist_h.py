"""Turn the votes of Fashion-MNIST-H into judgments."""

from dataclasses import replace
from pathlib import Path

from sfumato.judgments.formats.class_names import FASHION_MNIST
from sfumato.judgments.formats.counts import read_count_table
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments

__all__ = ["read_fashion_mnist_h"]


def read_fashion_mnist_h(path: Path, options: ReadOptions) -> Judgments:
    """Read ``fmh-counts.npy``: 667,020 votes, 53 to 79 an image of the Fashion-MNIST test set.

    An item is the official index of a test image.
    """
    named = replace(options, classes=options.classes or FASHION_MNIST)
    return read_count_table(path, named, name="fashion-mnist-h")
