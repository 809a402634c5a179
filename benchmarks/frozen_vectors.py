"""How long 100 trainings of a head on 10,000 frozen vectors take on two cores.

Vectors and labels are drawn at random: what is measured is time, and that every seed trains.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import VectorExamples
from sfumato.learn.fit import fit_and_predict
from sfumato.learn.folds import Split
from sfumato.learn.recipe import Recipe
from sfumato.learn.sweep import Cell, FinishedCell, run_sweep

ITEMS, NUMBERS, CLASSES, SEEDS, EPOCHS = 10_000, 384, 3, 100, 20
"""As many numbers as a small sentence model gives."""
MOST_MINUTES = 5


def cells(network: str) -> list[Cell]:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(ITEMS, NUMBERS)).astype(np.float32)
    scores = vectors @ rng.normal(size=(NUMBERS, CLASSES)) / 5
    probs = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    ids = tuple(map(str, range(ITEMS)))
    inputs = {
        "examples": VectorExamples(ids, vectors[:, None, None, :]),
        "labels": LabelSet(ids, tuple("abc"), probs),
        "split": Split(ids[:8_000], ids[8_000:9_000], ids[9_000:]),
    }
    recipes = [
        Recipe(
            network, epochs=EPOCHS, batch_size=256, learning_rate=1e-2, weights="best", seed=seed
        )
        for seed in range(SEEDS)
    ]
    return [Cell(f"seed {r.seed}", fit_and_predict, {"recipe": r, **inputs}) for r in recipes]


def main() -> None:
    for network in ("linear", "mlp"):
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            done = run_sweep(cells(network), Path(folder), workers=2)
        minutes = (time.perf_counter() - started) / 60
        finished = sum(isinstance(one, FinishedCell) for one in done)
        verdict = "under" if minutes < MOST_MINUTES else "OVER"
        print(
            f"{network}: {finished} of {SEEDS} trainings of {EPOCHS} epochs on {ITEMS:,} vectors "
            f"of {NUMBERS} numbers in {minutes:.1f} minutes ({verdict} {MOST_MINUTES})"
        )


if __name__ == "__main__":
    main()
