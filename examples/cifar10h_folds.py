"""Hard against human labels on CIFAR-10H at the size of a CPU: ResNet-8, three folds.

``python examples/cifar10h_folds.py DATA FOLDER`` trains on the original labels and on the
votes of about 51 people, and compares both models with people on the held-out folds, beside
the directions that paper 1 reports for its large networks. FOLDER keeps what is done.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.data import load
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.fit import fit_and_predict
from sfumato.learn.folds import class_of, k_folds
from sfumato.learn.recipe import Recipe
from sfumato.learn.sweep import Cell, FinishedCell, Progress, run_sweep, seconds_left

FOLDS = 3
RECIPE = Recipe(
    "resnet-8",
    epochs=30,
    batch_size=128,
    optimizer="sgd",
    learning_rate=0.1,
    weight_decay=5e-4,
    schedule="cosine",
    augment=("crop", "flip"),
)


def main(data: Path, folder: Path) -> None:
    """Train both arms on every fold, then print what held-out people say of them."""
    judgments = read(data / "cifar10h" / "cifar10h-counts.npy", "cifar10h", ReadOptions())
    assert isinstance(judgments, Judgments)
    human = build(judgments, "votes").crowd.mean()
    pictures = load("cifar10", "test", data)
    original = pictures.original().take(human.items)
    rng = np.random.default_rng(0)
    splits = k_folds(human.items, FOLDS, strata=class_of(original), selection="none", rng=rng)
    examples = Examples(pictures.items, pictures.images)
    arms = {"hard": original, "human": human}
    cells = [
        Cell(
            f"{arm} labels, fold {fold}",
            fit_and_predict,
            {"recipe": RECIPE, "examples": examples, "labels": labels, "split": split},
        )
        for arm, labels in arms.items()
        for fold, split in enumerate(splits)
    ]
    started = time.monotonic()
    results = run_sweep(cells, folder, progress=show)
    print(f"{len(cells)} trainings, {time.monotonic() - started:.0f} s in this run\n")
    held_out = human.take([item for split in splits for item in split.test])
    truth = original.take(held_out.items).probs.argmax(axis=1)
    measured = {}
    for place, arm in enumerate(arms):
        done = results[place * FOLDS : (place + 1) * FOLDS]
        assert all(isinstance(result, FinishedCell) for result in done), done
        rows = [
            result.arrays()["predictions"] for result in done if isinstance(result, FinishedCell)
        ]
        measured[arm] = measures(np.concatenate(rows).astype(np.float64), held_out, truth)
    print(f"{'held out, all 10,000 images':38}{'hard':>8}{'human':>8}   paper 1, 8 large networks")
    for name, hard in measured["hard"].items():
        print(f"{name:38}{hard:8.3f}{measured['human'][name]:8.3f}   {PAPER[name]}")


PAPER = {
    "cross-entropy to people": "lower with human labels, every network",
    "accuracy": "0.841 to 0.852",
    "second-best accuracy, unique second": "0.293 to 0.367 (items with a second)",
    "confidence when right": "0.954 to 0.913",
    "confidence when wrong": "0.786 to 0.678",
}


def measures(
    model: NDArray[np.float64], human: LabelSet, truth: NDArray[np.int64]
) -> dict[str, float]:
    """Fit to people, accuracy, second choices and confidence of one arm."""
    right = model.argmax(axis=1) == truth
    top = model.max(axis=1)
    ranked = np.sort(human.probs, axis=1)[:, ::-1]
    clear = (ranked[:, 1] > ranked[:, 2]) & (ranked[:, 0] > ranked[:, 1])  # one second choice
    seconds = [np.argsort(rows, axis=1)[:, -2] for rows in (model, human.probs)]
    return {
        "cross-entropy to people": float(
            -(human.probs * np.log(np.maximum(model, 1e-12))).sum(axis=1).mean()
        ),
        "accuracy": float(right.mean()),
        "second-best accuracy, unique second": float((seconds[0] == seconds[1])[clear].mean()),
        "confidence when right": float(top[right].mean()),
        "confidence when wrong": float(top[~right].mean()),
    }


def show(progress: Progress) -> None:
    """A line after each finished training."""
    left = seconds_left(progress)
    rest = "" if left is None else f", about {left:.0f} s left"
    sys.stderr.write(f"{progress.done} of {progress.total} trainings{rest}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
