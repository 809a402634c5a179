"""What real human labels do to a model: LeNet on FashionMNIST-H, six seeds, three targets.

``python examples/fashion_mnist_h.py DATA FOLDER`` trains on the original labels, on the
majority vote of about 67 people, and on the shares of their votes, and compares the models
with the votes on held-out images. Networks that learn hard labels are overconfident, the more the
longer they learn, which hides the rest; so the comparison is also made after one temperature a
network, chosen to fit people on one half of the test images and used on the other. It may be
stopped and started again: FOLDER keeps what is done.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from scipy.stats import t as student

from sfumato.data import load
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.alter import majority_labels
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.learn.examples import Examples
from sfumato.learn.fit import fit_and_predict
from sfumato.learn.folds import class_of, stratified_split
from sfumato.learn.recipe import Recipe
from sfumato.learn.sweep import Cell, FinishedCell, Progress, run_sweep, seconds_left

SEEDS = 6
SHARES = (0.7, 0.1, 0.2)
TEMPERATURES = np.arange(0.5, 8, 0.05)
RECIPE = Recipe(
    "lenet", epochs=60, schedule="plateau", patience=3, stop_after=8, weights="best"
)  # paper 5's regime (S4-21): Adam, batch 64, at most 60 epochs


def main(data: Path, folder: Path) -> None:
    """Train every arm and seed, then print cross-entropies and paired differences."""
    judgments = read(data / "fashion_mnist_h" / "fmh-counts.npy", "fashion-mnist-h", ReadOptions())
    assert isinstance(judgments, Judgments)
    human = build(judgments, "votes").crowd.mean()
    pictures = load("fashion-mnist-h", folder=data)
    original = pictures.original().take(human.items)
    arms = {"original": original, "majority": majority_labels(human, "share"), "soft": human}
    examples = Examples(pictures.items, pictures.images)
    splits = [
        stratified_split(human.items, class_of(original), SHARES, rng=np.random.default_rng(seed))
        for seed in range(SEEDS)
    ]
    cells = [
        Cell(
            f"{arm}, seed {seed}",
            fit_and_predict,
            {
                "recipe": Recipe(**{**vars(RECIPE), "seed": seed}),
                "examples": examples,
                "labels": labels,
                "split": splits[seed],
            },
        )
        for arm, labels in arms.items()
        for seed in range(SEEDS)
    ]
    started = time.monotonic()
    results = run_sweep(cells, folder, progress=show)
    print(f"{len(cells)} trainings, {time.monotonic() - started:.0f} s in this run\n")
    report(arms, human, splits, results)


def report(arms: dict[str, LabelSet], human: LabelSet, splits: list, results: list) -> None:  # type: ignore[type-arg]
    """One row an arm, and the paired differences between neighbours."""
    original, majority = arms["original"], arms["majority"]
    same = (original.probs.argmax(axis=1) == majority.probs.argmax(axis=1)).mean()
    print(f"The majority vote is the original label on {same:.1%} of {len(human):,} images.\n")
    losses: dict[str, NDArray[np.float64]] = {}
    print(f"{'accuracy on':>80}")
    print("trained on   cross-entropy to people   at best temperature   original   majority")
    for place, arm in enumerate(arms):
        rows = []
        for seed, split in enumerate(splits):
            done = results[place * SEEDS + seed]
            assert isinstance(done, FinishedCell), done
            model = done.arrays()["predictions"].astype(np.float64)
            people = human.take(split.test).probs
            logits = np.log(np.maximum(model, 1e-12))
            right = [
                (model.argmax(axis=1) == labels.take(split.test).probs.argmax(axis=1)).mean()
                for labels in (original, majority)
            ]
            rows.append((cross_entropy(logits, people), at_temperature(logits, people), *right))
        table = np.array(rows)
        losses[arm] = table[:, :2]
        low, high = interval(table[:, 0])
        print(
            f"{arm:12} {table[:, 0].mean():.4f} ({low:.4f} to {high:.4f})"
            f"{table[:, 1].mean():15.4f}{table[:, 2].mean():17.2%}{table[:, 3].mean():11.2%}"
        )
    floor = np.mean([entropy(human.take(split.test)).mean() for split in splits])
    print(f"floor        {floor:.4f} (entropy of the human labels)\n")
    for place, what in enumerate(("as trained", "at best temperature")):
        print(what)
        for better, worse in (("soft", "majority"), ("majority", "original"), ("soft", "original")):
            gain = (losses[better] - losses[worse])[:, place]
            low, high = interval(gain)
            print(f"  {better} minus {worse:9} {gain.mean():+.4f} ({low:+.4f} to {high:+.4f})")
    print("95 % t-intervals over seeds; the differences are paired by seed and test images.")


def cross_entropy(logits: NDArray[np.float64], people: NDArray[np.float64]) -> float:
    """Mean over images of that of the softmax of the logits to people's shares."""
    return float(-(people * log_softmax(logits, axis=1)).sum(axis=1).mean())


def at_temperature(logits: NDArray[np.float64], people: NDArray[np.float64]) -> float:
    """The cross-entropy on each half of the images at the temperature that is best on the other."""
    halves = (slice(0, None, 2), slice(1, None, 2))
    found = []
    for mine, other in (halves, halves[::-1]):
        best = min(TEMPERATURES, key=lambda t: cross_entropy(logits[other] / t, people[other]))
        found.append(cross_entropy(logits[mine] / best, people[mine]))
    return float(np.mean(found))


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """95 % interval of the mean over seeds by Student's t."""
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def show(progress: Progress) -> None:
    """A line after each finished training."""
    left = seconds_left(progress)
    rest = "" if left is None else f", about {left:.0f} s left"
    sys.stderr.write(f"{progress.done} of {progress.total} trainings{rest}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
