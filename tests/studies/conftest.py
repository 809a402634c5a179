"""A small study of one's own: pictures on disk, a table of labels, a file of votes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sfumato.studies.run import run_study
from sfumato.studies.study import read_study

ITEMS = 60
EACH = 60
"""Made-up digits of each source."""


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


def soft_digit(place: int, source: str) -> dict[str, object]:
    """A digit that is a bright column; every third one is disputed, the last few by all."""
    rng = np.random.default_rng(place)
    digit = place % 10
    pixels = rng.integers(0, 60, size=(28, 28))
    pixels[:, 2 * digit : 2 * digit + 3] += 150
    weighted, equal = np.eye(11)[digit], np.eye(11)[digit]
    if place % 3 == 0:
        other = (digit + 1) % 10
        weighted = 0.8 * weighted + 0.2 * np.eye(11)[other]
        equal = 0.7 * equal + 0.3 * np.eye(11)[other]
    told = np.eye(10)[digit]
    if source == "mukhoti":
        told = 0.6 * told + 0.4 * np.eye(10)[(digit + 5) % 10]
    return {
        "images": pixels.tolist(),
        "original_labels": told.tolist(),
        "indices": place,
        "human_uncert_mean": 0.1 * (place % 3 == 0),
        "pct_ann_unsure": 0.4 * (place % 3 == 0),
        "soft_label": weighted.tolist(),
        "soft_label_yes_unc_equal": equal.tolist(),
        "split": ("train", "train", "train", "val", "test")[place // 10 % 5],
        "source": source,
    }


@pytest.fixture(scope="session")
def soft_digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of data sets with a made-up file in the layout of soft-digits."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "soft_digits").mkdir()
    rows = [soft_digit(place, "mnist" if place < EACH else "mukhoti") for place in range(2 * EACH)]
    pl.DataFrame(rows).write_parquet(folder / "soft_digits" / "soft-digits.parquet")
    return folder
