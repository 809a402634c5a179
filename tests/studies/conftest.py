"""A small study of one's own: pictures on disk, a table of labels, a file of votes."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfumato.studies.run import run_study
from sfumato.studies.study import read_study

ITEMS = 60


@pytest.fixture(scope="session")
def own_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a TOML file beside everything that it names."""
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    pictures = folder / "pictures"
    pictures.mkdir()
    labels, votes = ["item,label"], ["task,worker,label"]
    for place in range(ITEMS):
        name = "light" if place % 2 == 0 else "dark"
        pixels = rng.integers(120, size=(8, 8)) + (120 if name == "light" else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(pictures / f"p{place}.png")
        labels.append(f"p{place},{name}")
        # three people; the third is unsure about every fifth picture, one mode differs
        other = "dark" if name == "light" else "light"
        said = [other] * 3 if place == 7 else [name, name, other if place % 5 == 0 else name]
        votes += [f"p{place},w{worker},{each}" for worker, each in enumerate(said)]
    (folder / "labels.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    (folder / "votes.csv").write_text("\n".join(votes) + "\n", encoding="utf-8")
    study = folder / "study.toml"
    study.write_text(
        """
name = "lights"
title = "Light and dark"
arms = ["original", "majority", "soft"]
networks = ["simple-ffn"]
seeds = 2
split = [0.6, 0.2, 0.2]
fgsm = [8]
corruptions = ["contrast"]
attacked_items = 10
draws = 100

[own]
images = "pictures"
table = "labels.csv"
judgments = "votes.csv"
format = "crowd"

[training]
epochs = 2
batch_size = 16
schedule = "constant"
stop_after = 2
""",
        encoding="utf-8",
    )
    return study


@pytest.fixture(scope="session")
def own_run(own_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of it."""
    folder = tmp_path_factory.mktemp("run") / "lights"
    run = run_study(read_study(own_study), folder)
    assert "failed" not in run.tables
    return folder
