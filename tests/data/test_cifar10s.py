"""The split of the CIFAR-10S paper parts the CIFAR-10 test set."""

import json
from collections import Counter
from pathlib import Path

from sfumato.data import cifar10s


def test_split_parts_all_10000_and_trains_on_every_soft_label(data_folder: Path) -> None:
    labelled = json.loads((data_folder / "cifar10s" / "human_soft_labels_data.json").read_text())

    split = cifar10s.paper_split(data_folder)

    assert Counter(split.values()) == {"train": 7_000, "test": 3_000}
    assert set(split) == {str(index) for index in range(10_000)}
    assert {split[item] for item in labelled} == {"train"}
