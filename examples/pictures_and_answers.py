"""Write what a study of one's own starts with: pictures, their labels so far, people's answers.

    python examples/pictures_and_answers.py [FOLDER]

The pictures are 200 real handwritten digits that come with scikit-learn. Nobody annotated them:
six simulated people say which digit each is, so that the page on one's own data can be run
anywhere. Put your own pictures and answers in their place.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from sfumato.data import load
from sfumato.data.decode import label_by_neighbours

PICTURES, PEOPLE = 200, 6

STUDY = """\
name = "mine"
title = "What is our six people's disagreement worth?"
recipe = "votes"
arms = ["original", "majority", "soft"]
networks = ["simple-ffn"]
seeds = 3
split = [0.6, 0.2, 0.2]
draws = 100

[own]
images = "pictures"
table = "labels.csv"
judgments = "answers.csv"
format = "crowd"

[training]
epochs = 10
batch_size = 16
learning_rate = 0.003
"""


def main(folder: Path) -> None:
    """Write pictures/, labels.csv, answers.csv and mine.toml."""
    every = load("digits")
    chosen = every.take(every.items[:PICTURES])
    seen = label_by_neighbours(every).take(chosen.items)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for item, image in zip(chosen.items, chosen.images, strict=True):
        Image.fromarray(image[..., 0]).save(folder / "pictures" / f"scan-{item}.png")
    labels = [
        (f"scan-{item}", chosen.classes[k])
        for item, k in zip(chosen.items, chosen.labels, strict=True)
    ]
    rng = np.random.default_rng(0)
    answers = [
        (f"scan-{item}", f"simulated-{person}", seen.classes[rng.choice(len(row), p=row)])
        for item, row in zip(seen.items, seen.probs, strict=True)
        for person in range(1, PEOPLE + 1)
    ]
    write(folder / "labels.csv", ("item", "label"), labels)
    write(folder / "answers.csv", ("task", "worker", "label"), answers)
    (folder / "mine.toml").write_text(STUDY, encoding="utf-8")
    print(f"{PICTURES} pictures, {len(answers):,} answers of {PEOPLE} simulated people.")


def write(path: Path, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table with a row of names on top."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
