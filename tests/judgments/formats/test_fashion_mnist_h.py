"""Fashion-MNIST-H: the published counts."""

from pathlib import Path

from sfumato.judgments.formats.datasets import read_fashion_mnist_h
from sfumato.judgments.formats.reading import ReadOptions


def test_counts_hold_667020_votes_53_to_79_an_image(data_folder: Path) -> None:
    path = data_folder / "fashion_mnist_h" / "fmh-counts.npy"

    judgments = read_fashion_mnist_h(path, ReadOptions())

    per_item = judgments.table.group_by("item").len()
    assert len(judgments) == 667_020
    assert len(per_item) == 10_000
    assert (per_item["len"].min(), per_item["len"].max()) == (53, 79)
    assert judgments.question.classes[::9] == ("T-shirt/top", "Ankle boot")
    assert judgments.provenance[0].name == "read fashion-mnist-h"
