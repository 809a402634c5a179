"""Measure GNMDS from rankings against cblearn's GNMDS: same triplets, same objective, less time.

    python benchmarks/gnmds.py [--quick] [--budget SECONDS]

Soft labels are simulated (seeded) for n items and k classes in d = 25 dimensions: class centres
N(0, I), items N(centre, I), softmax of minus the squared distances. Both minimise
λ tr K + Σ max(0, 1 + D_near - D_far) with the same λ over the same triplets. cblearn gets the
triplets ready-made and is told that d = 25; ours starts from the table of labels and is told
nothing. One process, one thread, CPU seconds; ours is the median of five runs before and five
after the peer's.

*Same objective*: each of our fits ends at some value of the exact objective. cblearn is charged for
the time up to its last iteration whose value is still not below ours, so ours is equal or lower at
every ratio. Where cblearn never gets below ours, or runs out of its budget first, its whole time
counts and the ratio is a lower bound, marked ">". ρ is Spearman's between recovered and true
similarities, cblearn's at the end of its run.

cblearn is found wherever it can be imported from; without it, its algorithm (L-BFGS-B by scipy
on every triplet, one bincount a dimension) is run as written out below and named as such.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from sfumato.planning.embed import (
    Embedding,
    EmbeddingSettings,
    Rankings,
    gnmds_rankings,
    mine_triplets,
    objective_of,
    rank_scores,
    spearman,
)
from sfumato.stats import cosines

Floats = NDArray[np.float64]
Gradient = Callable[..., tuple[float, Floats]]

DIMENSIONS = 25
SETTINGS = {
    "default (δ = 1)": EmbeddingSettings(),
    "δ = 0.1": EmbeddingSettings(width=0.1),
    "δ = 0.01": EmbeddingSettings(width=0.01),
    "δ = 0.003": EmbeddingSettings(width=0.003),
    "δ = 0.001": EmbeddingSettings(width=0.001, tolerance=1e-6),
}


class OutOfTime(Exception):
    """The peer has used up its budget."""


@dataclass(frozen=True)
class Trace:
    """How the peer's best value fell with CPU time."""

    name: str
    seconds: Floats
    values: Floats
    points: Floats
    whole: float
    finished: bool


def simulated(n: int, k: int, *, seed: int) -> tuple[Floats, Floats]:
    """True points, items first, and the soft labels of the items."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, DIMENSIONS))
    items = centres[np.arange(n) % k] + rng.normal(size=(n, DIMENSIONS))
    away = ((items[:, None] - centres[None]) ** 2).sum(axis=2)
    return np.concatenate([items, centres]), softmax(-away, axis=1)


def ours(labels: Floats, settings: EmbeddingSettings) -> tuple[float, Rankings, Embedding]:
    """CPU seconds from the table of labels to the points, and the points."""
    start = time.process_time()
    rankings = rank_scores(labels)
    found = gnmds_rankings(rankings, settings, rng=np.random.default_rng(0))
    return time.process_time() - start, rankings, found


def plain_gradient(
    x: Floats, shape: tuple[int, int], triplets: NDArray[np.int64], weight: float
) -> tuple[float, Floats]:
    """What cblearn's GNMDS computes, triplet by triplet."""
    points = x.reshape(shape)
    anchor, near, far = triplets.T
    square = (points**2).sum(axis=1)
    distances = square[:, None] + square[None, :] - 2 * points @ points.T
    slack = np.maximum(distances[anchor, near] + 1 - distances[anchor, far], 0)
    value = float(slack.sum() + weight * square.sum())
    anchor, near, far = triplets[slack > 0].T
    gradient = 2 * weight * points
    for column, axis in enumerate(points.T):
        to_near, to_far = 2 * (axis[anchor] - axis[near]), 2 * (axis[anchor] - axis[far])
        for where, pull in ((anchor, to_near - to_far), (near, -to_near), (far, to_far)):
            gradient[:, column] += np.bincount(where, pull, shape[0])
    return value, gradient.ravel()


def traced(
    gradient: Gradient, budget: float
) -> tuple[Gradient, list[tuple[float, float]], dict[str, Floats]]:
    """The same function, writing down CPU time and best value, and stopping at the budget."""
    start = time.process_time()
    log: list[tuple[float, float]] = []
    best: dict[str, Floats] = {}

    def logged(x: Floats, *args: object) -> tuple[float, Floats]:
        value, slope = gradient(x, *args)
        now = time.process_time() - start
        if not log or value < log[-1][1]:
            log.append((now, value))
            best["x"] = x.copy()
        if now > budget:
            raise OutOfTime
        return value, slope

    return logged, log, best


def peer(triplets: NDArray[np.int64], objects: int, weight: float, budget: float) -> Trace:
    """Run cblearn's GNMDS, or its algorithm, until it stops by itself or at the budget."""
    try:
        from cblearn.embedding import (  # type: ignore[import-not-found,unused-ignore]
            GNMDS,
            _gnmds,
        )
    except ImportError:
        name, target, gradient = "cblearn's algorithm", None, plain_gradient
    else:
        name, target, gradient = "cblearn", _gnmds, _gnmds._gnmds_x_grad
    logged, log, best = traced(gradient, budget)
    start, finished = time.process_time(), True
    try:
        if target is None:
            shape = (objects, DIMENSIONS)
            first = np.random.default_rng(0).normal(size=shape).ravel()
            minimize(logged, first, (shape, triplets, weight), "L-BFGS-B", jac=True)
        else:
            target._gnmds_x_grad = logged
            model = GNMDS(DIMENSIONS, lambd=weight, random_state=0)
            model.fit(triplets, n_objects=objects)
    except OutOfTime:
        finished = False
    finally:
        if target is not None:
            target._gnmds_x_grad = gradient
    whole = time.process_time() - start
    seconds, values = np.array(log).T
    points = best["x"].reshape(objects, DIMENSIONS)
    return Trace(name, seconds, values, points, whole, finished)


def time_not_below(trace: Trace, value: float) -> tuple[float, bool]:
    """CPU time of the last iteration not below ``value``; whether a later one was below."""
    below = np.flatnonzero(trace.values < value)
    if not len(below):
        return trace.whole, False
    return float(trace.seconds[max(below[0] - 1, 0)]), True


def compare(n: int, budget: float) -> None:
    truth, labels = simulated(n, n, seed=0)
    runs = {name: [ours(labels, settings) for _ in range(5)] for name, settings in SETTINGS.items()}
    _, rankings, found = runs["default (δ = 1)"][0]
    weight, total = found.regularisation, rankings.constraints
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = peer(mine_triplets(rankings).answers, rankings.objects, weight, budget)
    for name, settings in SETTINGS.items():
        runs[name] += [ours(labels, settings) for _ in range(5)]

    true = cosines(truth)
    rho = spearman(trace.points @ trace.points.T, true)
    print(f"\nn = k = {n}, d = {DIMENSIONS}: {total:,} triplets, λ = {weight:.6g}")
    end = "stopped by itself" if trace.finished else f"cut at its budget of {budget:.0f} s"
    print(
        f"{trace.name}: {trace.whole:.1f} CPU s ({end}), objective a triplet "
        f"{trace.values[-1] / total:.7f}, ρ {rho:.4f}"
    )
    print(
        f"{'sfumato':<16} {'CPU s':>7} {'its':>4} {'objective':>10} {'ρ':>7} {'Δρ':>7}"
        "  to the same objective"
    )
    for name, several in runs.items():
        seconds = statistics.median(run[0] for run in several)
        fit = several[0][2]
        value = objective_of(rankings, fit.points, regularisation=weight)
        until, passed = time_not_below(trace, value)
        mine_rho = spearman(fit.gram, true)
        print(
            f"{name:<16} {seconds:7.3f} {fit.iterations:4d} {value / total:10.7f} {mine_rho:7.4f} "
            f"{mine_rho - rho:+7.4f}  {trace.name} {until:.1f} s, ratio "
            f"{'' if passed else '>'}{until / seconds:,.0f}"
        )


def growth(sizes: list[tuple[int, int]]) -> None:
    print("\nGrowth, default settings (sfumato alone)")
    print(
        f"{'n':>6} {'k':>4} {'triplets':>15} {'CPU s':>8} {'its':>4} {'ms an it':>9} "
        f"{'ns a triplet and it':>20}"
    )
    for n, k in sizes:
        _, labels = simulated(n, k, seed=0)
        seconds, rankings, found = min(
            (ours(labels, EmbeddingSettings()) for _ in range(3)), key=lambda r: r[0]
        )
        each = seconds / max(found.iterations, 1)
        note = "" if found.converged else "  not converged"
        print(
            f"{n:6d} {k:4d} {rankings.constraints:15,d} {seconds:8.3f} {found.iterations:4d} "
            f"{1e3 * each:9.2f} {1e9 * each / rankings.constraints:20.3f}{note}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = k = 20 and little growth")
    parser.add_argument("--budget", type=float, default=300.0, help="CPU seconds for the peer")
    chosen = parser.parse_args()
    for n in (20,) if chosen.quick else (30, 90):
        compare(n, chosen.budget)
    square = [(n, n) for n in (10, 20, 40, 80, 160)]
    long = [(n, 10) for n in (30, 100, 300, 1000, 3000, 10_000)]
    growth(square[:3] + long[:3] if chosen.quick else square + long)


if __name__ == "__main__":
    main()
