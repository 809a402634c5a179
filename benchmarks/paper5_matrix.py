"""The experiment of paper 5 at its own size: 180 trainings; prints how long they took.

``python benchmarks/paper5_matrix.py DATA FOLDER``: two datasets of 28×28 images (3,045 digits
of MNIST; 2,484 images that mix two of them), three networks, five targets, six seeds, batch 64,
at most 60 epochs, beliefs about the training part kept after every epoch. The people are
simulated (yes/no/unsure), because the paper's own judgments cannot be had here: the run
measures time, not what labels are worth. It may be stopped and started again.
"""

import argparse
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from sfumato.data import ImageSet, load
from sfumato.judgments.judgments import Judgments
from sfumato.labels.alter import majority_labels
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import simulate
from sfumato.learn.examples import Examples
from sfumato.learn.fit import Presentation, fit_and_predict
from sfumato.learn.folds import class_of, stratified_split
from sfumato.learn.recipe import Recipe
from sfumato.learn.sweep import Cell, FailedCell, Progress, run_sweep, seconds_left
from sfumato.learn.targets import with_extra_class
from sfumato.provenance import Step

NONE = "none of these"
NETWORKS = ("simple-ffn", "deeper-ffn", "lenet")
RECIPE = Recipe(
    "lenet", epochs=60, batch_size=64, schedule="plateau", patience=3, stop_after=10, weights="best"
)
SHARES = (0.7, 0.15, 0.15)


def main() -> None:
    """Make the two datasets, run the matrix, print the time."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--seeds", type=int, default=6)
    given = arguments.parse_args()
    cells = [
        cell
        for name, (examples, seen) in data_sets(given.data).items()
        for cell in cells_of(name, examples, seen, given.seeds)
    ]
    started = time.monotonic()
    results = run_sweep(cells, given.folder, progress=show)
    minutes = (time.monotonic() - started) / 60
    failed = [result for result in results if isinstance(result, FailedCell)]
    epochs = sum(result.work for result in results if not isinstance(result, FailedCell))
    print(f"{len(cells)} trainings, {epochs:,.0f} model-epochs, {len(failed)} failed")
    print(f"{minutes:.1f} minutes in this run (the paper: 8 to 10 hours on 20 threads)")


def data_sets(data: Path) -> dict[str, tuple[Examples, LabelSet]]:
    """Images and what simulated people would see in them."""
    rng = np.random.default_rng(0)
    digits = load("mnist", "train", data)
    chosen = rng.choice(len(digits.items), size=3_045, replace=False)
    plain = digits.take([digits.items[row] for row in chosen])
    return {"mnist": as_seen(plain, 0.97), "mixed": mixed(digits, rng)}


def as_seen(pictures: ImageSet, certainty: float) -> tuple[Examples, LabelSet]:
    labels = pictures.original()
    rest = (1 - certainty) / (len(labels.classes) - 1)
    step = Step("simulate what people see", {"certainty": certainty}, simulated=True)
    seen = labels.with_probs(labels.probs * (certainty - rest) + rest, step)
    return Examples(pictures.items, pictures.images), seen


def mixed(digits: ImageSet, rng: np.random.Generator) -> tuple[Examples, LabelSet]:
    """Images between two digits, and labels between theirs."""
    pairs = rng.integers(len(digits.items), size=(2, 2_484))
    share = rng.beta(0.5, 0.5, size=2_484)
    pixels = digits.images[pairs].astype(np.float64)
    weight = share[:, None, None, None]
    blend = (weight * pixels[0] + (1 - weight) * pixels[1]).round().astype(np.uint8)
    rows = digits.original().probs[pairs]
    probs = share[:, None] * rows[0] + (1 - share)[:, None] * rows[1]
    items = tuple(f"mix{place}" for place in range(len(share)))
    step = Step("simulate what people see", {"mix": "beta(0.5, 0.5)"}, simulated=True)
    return Examples(items, blend), LabelSet(items, digits.classes, probs, provenance=(step,))


def cells_of(name: str, examples: Examples, seen: LabelSet, seeds: int) -> list[Cell]:
    """Networks × targets × seeds on one dataset."""
    people = simulate(
        "yes-no-unsure", seen, per_item=6, annotators=160, rng=np.random.default_rng(1)
    )
    assert isinstance(people, Judgments)
    weighted = build(people, "yes-unsure-weighted").crowd.mean().take(seen.items)
    equal = build(people, "yes-unsure-equal").crowd.mean().take(seen.items)
    targets: dict[str, tuple[LabelSet, Presentation]] = {
        "original": (with_extra_class(majority_labels(seen, "share"), NONE), "fixed"),
        "majority": (majority_labels(weighted, "share"), "fixed"),
        "soft, equal": (equal, "fixed"),
        "soft, weighted": (weighted, "fixed"),
        "sampled": (weighted, "sampled"),
    }
    splits = [
        stratified_split(seen.items, class_of(seen), SHARES, rng=np.random.default_rng(seed))
        for seed in range(seeds)
    ]
    return [
        Cell(
            f"{name}, {network}, {target}, seed {seed}",
            fit_and_predict,
            {
                "recipe": replace(RECIPE, network=network, seed=seed),
                "examples": examples,
                "labels": targets[target][0],
                "split": splits[seed],
                "presentation": targets[target][1],
                "keep": ("watched",),
            },
        )
        for network, target, seed in product(NETWORKS, targets, range(seeds))
    ]


def show(progress: Progress) -> None:
    left = seconds_left(progress)
    rest = "" if left is None else f", about {left / 60:.0f} minutes left"
    sys.stderr.write(f"{progress.done} of {progress.total} trainings{rest}\n")


if __name__ == "__main__":
    main()
