"""The Fashion-MNIST test images fit the votes of Fashion-MNIST-H."""

from pathlib import Path

import numpy as np

from sfumato.data import fashion_mnist


def test_a_thousand_of_each_kind_agree_with_most_voters(data_folder: Path) -> None:
    votes = np.load(data_folder / "fashion_mnist_h" / "fmh-counts.npy")

    images = fashion_mnist.load(data_folder)

    assert images.images.shape == (10_000, 28, 28, 1)
    assert np.bincount(images.labels).tolist() == [1_000] * 10
    assert images.classes[9] == "Ankle boot"
    assert round((votes.argmax(axis=1) == images.labels).mean(), 4) == 0.8202
