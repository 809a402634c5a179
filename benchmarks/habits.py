"""How well habits of named people predict their answers, and how long a million answers take.

    python benchmarks/habits.py

Needs SFUMATO_DATA. ReaL's complete block: 78 people, 1,135 questions, no / maybe / yes. So many
answers per question are kept, the log-loss is that of all others, with probabilities not below
0.001, the mean over three draws. *crowd* ignores who answers; *shares of all others* is what a
person's 77 fellows say, which no method of the crowd can beat by much.
"""

import os
import resource
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.aggregate import Aggregation, aggregate
from sfumato.labels.votes import Votes

CLASSES = ("no", "maybe", "yes")


def votes_of(answers: NDArray[np.int64], seen: NDArray[np.bool_]) -> Votes:
    person, item = np.nonzero(seen)
    people, items = (tuple(f"{row:06}" for row in range(size)) for size in seen.shape)
    return Votes(items, people, CLASSES, item, person, answers[seen])


def keep(shape: tuple[int, int], number: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which answers are seen: so many per question."""
    return np.argsort(np.argsort(rng.random(shape), axis=0), axis=0) < number


def loss(probs: NDArray[np.float64], answers: NDArray[np.int64]) -> NDArray[np.float64]:
    given = np.take_along_axis(probs, answers[..., None], axis=-1)[..., 0]
    return -np.log(np.maximum(given, 1e-3))


def named(result: Aggregation) -> NDArray[np.float64]:
    return np.stack([result.answers_of(person) for person in result.annotators])


def score(answers: NDArray[np.int64], number: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    seen = keep(answers.shape, number, rng)
    votes = votes_of(answers, seen)
    shrunk = aggregate(votes, "shrunk-shares", rng=rng).labels.probs
    ways = [
        np.broadcast_to(shrunk, (*answers.shape, 3)),
        named(aggregate(votes, "habits", rng=rng)),
        named(aggregate(votes, "habits", rng=rng, ordered=True)),
    ]
    return [float(loss(way, answers)[~seen].mean()) for way in ways]


def main() -> None:
    folder = Path(os.environ["SFUMATO_DATA"]) / "real_imagenet"
    answers = np.load(folder / "raters_golden.npz")["tensor"].argmax(axis=-1)
    counts = np.eye(3)[answers].sum(axis=0)
    others = (counts - np.eye(3)[answers]) / (len(answers) - 1)
    print(f"shares of all others: {loss(others, answers).mean():.3f}")
    print(f"{'answers':>8} {'crowd':>7} {'habits':>7} {'habits, ordered':>16}")
    for number in (3, 5, 10):
        crowd, free, ordered = np.mean([score(answers, number, seed) for seed in range(3)], axis=0)
        print(f"{number:8} {crowd:7.3f} {free:7.3f} {ordered:16.3f}", flush=True)
    tensor = np.load(folder / "raters.npz")["tensor"]
    votes = votes_of(tensor.argmax(axis=-1), tensor.any(axis=-1))
    del tensor
    begun = time.process_time()
    aggregate(votes, "habits", rng=np.random.default_rng(0), ordered=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(votes):,} answers: {time.process_time() - begun:.0f} s of CPU, {peak:.1f} GB")


if __name__ == "__main__":
    main()
