"""Measure soft targets against the usual way: K copies of every row, weighted by its K masses.

    python benchmarks/soft_targets.py [--rows N …] [--limit GB] [--only NAME]

Rows of 20 features and dense distributions over 100 classes (made up, seeded), in float32. Each
learner and way is a process of its own on one thread, and they take turns. It measures its fit
alone: *CPU seconds* without imports and without making the data, *peak resident memory* of the
whole process. The copies are as lean as they can be made: features repeated in float32, weights in
float32, no second copy kept. They are made inside the fit, as a user would have to.

A process whose resident memory goes over the limit is stopped, as is one that leaves the machine
less than 1.5 GB. What it had used by then stands with ``>``: it is the least that it takes. Both
ways get the same settings: two trees per class for the boosters, and scikit-learn's tolerance for
logistic regression, where ours goes on to the exact optimum. *Loss* is the mean soft cross-entropy
of the fitted model on all rows, in nats.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEATURES, CLASSES, TREES = 20, 100, 2
LEARNERS = ("LogisticRegression", "LGBMClassifier", "XGBClassifier")
WAYS = ("ours", "copies")
SPARE = 1.5
"""GB that are left to the rest of the machine."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Cost:
    """What a fit took, or had taken when it was stopped."""

    wall: float
    cpu: float
    gigabytes: float
    loss: float | None
    """None where it was stopped."""

    def __str__(self) -> str:
        least = " " if self.loss is not None else ">"
        loss = "stopped" if self.loss is None else f"{self.loss:.4f}"
        return f"{least}{self.wall:7.1f} {least}{self.cpu:7.1f} {least}{self.gigabytes:6.2f} {loss}"


def make_rows(rows: int) -> tuple[Rows, Rows]:
    """Features, and distributions that follow them half way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    scores = X @ rng.normal(size=(FEATURES, CLASSES)) / 2
    probs = np.exp(scores - scores.max(axis=1, keepdims=True))
    probs /= 2 * probs.sum(axis=1, keepdims=True)
    probs += rng.dirichlet(np.ones(CLASSES), rows) / 2
    return X.astype(np.float32), probs.astype(np.float32)


def make_learner(name: str) -> Any:
    match name:
        case "LogisticRegression":
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression()
        case "LGBMClassifier":
            from lightgbm import LGBMClassifier

            # It counts copies where we count rows, so the least number of them is no limit.
            return LGBMClassifier(n_estimators=TREES, n_jobs=1, verbose=-1, min_child_samples=1)
        case _:
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=TREES, n_jobs=1)


def fit_copies(learner: Any, X: Rows, probs: Rows) -> Any:
    rows, classes = probs.shape
    labels = np.tile(np.arange(classes, dtype=np.int32), rows)
    return learner.fit(np.repeat(X, classes, axis=0), labels, sample_weight=probs.ravel())


def measure(learner_name: str, way: str, rows: int) -> None:
    """Fit once in this process and print what it took: a line before and a line after."""
    warnings.simplefilter("ignore")
    from sfumato.learn.soft_targets import SoftTargets

    learner, (X, probs) = make_learner(learner_name), make_rows(rows)
    cpu, wall = time.process_time(), time.perf_counter()
    print(json.dumps({"cpu_before": cpu}), flush=True)
    model = SoftTargets(learner).fit(X, probs) if way == "ours" else fit_copies(learner, X, probs)
    cost = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    log_probs = np.log(np.maximum(model.predict_proba(X), 1e-30))
    print(json.dumps({**cost, "loss": -float((probs * log_probs).sum(axis=1).mean())}))


def run(learner: str, way: str, rows: int, limit: float) -> Cost:
    """What a process of its own measured, or what it had used when it was stopped."""
    command = [sys.executable, __file__, "--one", learner, way, str(rows)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
    ) as process:
        assert process.stdout is not None
        begun = process.stdout.readline()
        if not begun:
            raise SystemExit(process.communicate()[1])
        wall = time.perf_counter()
        while process.poll() is None:
            used = _peak_gigabytes(process.pid)
            if used > limit or _free_gigabytes() < SPARE:
                cpu = _cpu_seconds(process.pid) - json.loads(begun)["cpu_before"]
                process.kill()
                return Cost(time.perf_counter() - wall, cpu, used, loss=None)
            time.sleep(0.1)
        said, errors = process.communicate()
    if process.returncode:
        raise SystemExit(errors or f"{learner} ({way}) ended with {process.returncode}.")
    return Cost(**json.loads(said))


def _peak_gigabytes(process: int) -> float:
    """The peak resident memory so far; 0 for a process that has just ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0.0
    return _kilobytes(status, "VmHWM") / 2**20


def _free_gigabytes() -> float:
    return _kilobytes(Path("/proc/meminfo").read_text(encoding="utf-8"), "MemAvailable") / 2**20


def _kilobytes(table: str, name: str) -> int:
    lines = (line.split() for line in table.splitlines())
    return next((int(line[1]) for line in lines if line[:1] == [f"{name}:"]), 0)


def _cpu_seconds(process: int) -> float:
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def compare(learner: str, rows: int, limit: float) -> str:
    """One line of the table."""
    ours, copies = (run(learner, way, rows, limit) for way in WAYS)
    least = " " if copies.loss is not None else ">"
    times, memory = copies.cpu / ours.cpu, copies.gigabytes / ours.gigabytes
    return f"{learner:18} {rows:7,} {ours} {copies} {least}{times:5.1f} {least}{memory:5.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 40_000, 100_000])
    parser.add_argument("--limit", type=float, default=18.0, help="GB that a process may have")
    parser.add_argument("--only", choices=LEARNERS, help="one learner")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        learner, way, rows = options.one
        measure(learner, way, int(rows))
        return
    print(f"{FEATURES} features, {CLASSES} classes; ours | copies | copies over ours")
    columns = f"{'wall s':>8} {'CPU s':>8} {'GB':>7} {'loss':6}"
    print(f"{'learner':18} {'rows':>7} {columns} {columns}  {'CPU':>5}  {'GB':>5}")
    for learner in [options.only] if options.only else LEARNERS:
        for rows in options.rows:
            print(compare(learner, rows, options.limit), flush=True)


if __name__ == "__main__":
    main()
