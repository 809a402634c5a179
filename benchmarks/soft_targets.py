"""Measure soft targets against the usual way: K copies of every row, weighted by its K masses.

    python benchmarks/soft_targets.py [--rows N …] [--limit GB] [--only NAME]

Rows of 20 features and dense distributions over 100 classes (made up, seeded). Every run is a
process of its own that measures its fit alone: *CPU seconds* without imports and without making
the data, *peak memory* of the whole process. The copies are made inside the fit, as a user would
have to. A process that asks for more than the limit is reported as such: what it would have needed
is not known, so ratios are then lower bounds (marked ≥). Boosters grow two trees per class
on one thread; logistic regression runs until it is done, which on our side is the exact optimum.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEATURES, CLASSES, TREES = 20, 100, 2
LEARNERS = ("LogisticRegression", "LGBMClassifier", "XGBClassifier")
WAYS = ("ours", "copies")


def make_rows(rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features, and distributions that follow them half way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    scores = X @ rng.normal(size=(FEATURES, CLASSES)) / 2
    probs = np.exp(scores - scores.max(axis=1, keepdims=True))
    probs /= 2 * probs.sum(axis=1, keepdims=True)
    probs += rng.dirichlet(np.ones(CLASSES), rows) / 2
    return X, probs


def make_learner(name: str) -> Any:
    match name:
        case "LogisticRegression":
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression()
        case "LGBMClassifier":
            from lightgbm import LGBMClassifier

            return LGBMClassifier(n_estimators=TREES, n_jobs=1, verbose=-1)
        case _:
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=TREES, n_jobs=1)


def fit_copies(learner: Any, X: NDArray[np.float64], probs: NDArray[np.float64]) -> None:
    rows, classes = probs.shape
    labels = np.tile(np.arange(classes), rows)
    learner.fit(np.repeat(X, classes, axis=0), labels, sample_weight=probs.ravel())


def measure(learner_name: str, way: str, rows: int, limit: float) -> None:
    """Fit once in this process and print what it took."""
    resource.setrlimit(resource.RLIMIT_AS, (int(limit * 2**30), int(limit * 2**30)))
    warnings.simplefilter("ignore")
    from sfumato.learn.soft_targets import SoftTargets

    learner, (X, probs) = make_learner(learner_name), make_rows(rows)
    wall, cpu = time.perf_counter(), time.process_time()
    if way == "ours":
        SoftTargets(learner).fit(X, probs)
    else:
        fit_copies(learner, X, probs)
    print(
        json.dumps(
            {
                "wall": time.perf_counter() - wall,
                "cpu": time.process_time() - cpu,
                "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            }
        )
    )


def run(learner: str, way: str, rows: int, limit: float) -> dict[str, float] | None:
    """What a process of its own measured; None if it needed more memory than the limit."""
    command = [sys.executable, __file__, "--one", learner, way, str(rows), "--limit", str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    known = ("MemoryError", "bad_alloc", "bad allocation", "Unable to allocate", "thread")
    if done.returncode < 0 or any(word in done.stderr for word in known):
        return None
    raise SystemExit(done.stderr)


def compare(learner: str, rows: int, limit: float) -> str:
    """One line of the table."""
    ours, copies = (run(learner, way, rows, limit) for way in WAYS)
    if ours is None:
        return f"{learner:20} {rows:8,}  ours needs more than {limit:g} GB"
    told = f"{ours['wall']:9.1f} {ours['cpu']:9.1f} {ours['gigabytes']:6.2f}"
    if copies is None:
        ratio = limit / ours["gigabytes"]
        return f"{learner:20} {rows:8,} {told}   more than {limit:g} GB{'':17} ≥ {ratio:.0f}"
    times, memory = copies["cpu"] / ours["cpu"], copies["gigabytes"] / ours["gigabytes"]
    theirs = f"{copies['wall']:9.1f} {copies['cpu']:9.1f} {copies['gigabytes']:6.2f}"
    return f"{learner:20} {rows:8,} {told} {theirs} {times:9.1f} {memory:9.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--limit", type=float, default=12.0, help="GB that a process may have")
    parser.add_argument("--only", choices=LEARNERS, help="one learner")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        learner, way, rows = options.one
        measure(learner, way, int(rows), options.limit)
        return
    print(
        f"{FEATURES} features, {CLASSES} classes; wall s, CPU s, GB of ours and of copies; ratios"
    )
    print(
        f"{'learner':20} {'rows':>8} {'wall':>9} {'CPU':>9} {'GB':>6} {'wall':>9} {'CPU':>9} "
        f"{'GB':>6} {'CPU':>9} {'GB':>9}"
    )
    for learner in [options.only] if options.only else LEARNERS:
        for rows in options.rows:
            print(compare(learner, rows, options.limit), flush=True)


if __name__ == "__main__":
    main()
