"""The raw CIFAR-10S export, read once for the tests of quality."""

from pathlib import Path

import pytest

from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments


@pytest.fixture(scope="session")
def cifar10s(data_folder: Path) -> Judgments:
    return read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())
