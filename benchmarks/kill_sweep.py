"""Kill sweeps and Dask workers with ``kill -9`` at random moments, and compare what comes out.

    python benchmarks/kill_sweep.py [--times 10]

Every time, a sweep of twelve short cells over two workers, in processes of its own, is disturbed
and then brought to its end. Its files must equal, byte for byte, those of a plain loop over the
cells. A killed sweep must not compute again what it had finished; every cell logs its beginning
and its end. Everything runs on this machine; ports are open on 127.0.0.1 only.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.learn.sweep import Cell, CellResult, FailedCell, encode, fingerprint, run_sweep

CELLS = 12
STEPS = 8
STEP_SECONDS = 0.015
ATTEMPTS = 5
"""How often it is tried to meet a worker in the middle of a cell."""
PATIENCE = 60.0
"""Seconds until something that should have happened counts as hung."""

LOG = "KILL_SWEEP_LOG"
"""Environment variable with the file that cells log to; not an input, so that the fingerprints of
disturbed and undisturbed sweeps are the same."""

Files = dict[str, bytes]


def descend(seed: int, steps: int) -> CellResult:
    """Fit a line by gradient descent, slowly enough to be killed in the middle of it."""
    _log(f"begin {seed} {os.getpid()}")
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(50, 3)), rng.normal(size=50)
    y = x @ rng.normal(size=3) + 0.1 * noise  # (50,)
    weights, path = np.zeros(3), []
    for _ in range(steps):
        time.sleep(STEP_SECONDS)
        weights = weights - 0.1 * x.T @ (x @ weights - y) / len(y)
        path.append(weights)
    _log(f"end {seed} {os.getpid()}")
    loss = float(np.square(x @ weights - y).mean())
    return CellResult({"seed": seed, "loss": loss}, {"path": np.stack(path)}, work=steps)


def sweep_cells() -> list[Cell]:
    return [Cell(f"seed {n}", descend, {"seed": n, "steps": STEPS}) for n in range(CELLS)]


def by_plain_loop() -> Files:
    """The files that the cells should leave."""
    files: Files = {}
    for cell in sweep_cells():
        key = fingerprint(cell)
        encoded = encode(cell, key, cell.function(**cell.inputs))
        files |= {f"{key}.json": encoded.record, f"{key}.npz": encoded.arrays}
    return files


def kill_sweep(expected: Files, scratch: Path, rng: random.Random) -> str:
    """What went wrong after a killed sweep was started again; empty if nothing did."""
    log, folder = scratch / "log", scratch / "cells"
    with _started(_sweep_command(folder), log) as sweep:
        _wait_for(lambda: bool(_logged(log)), "the sweep to begin")
        time.sleep(rng.uniform(0, CELLS / 2 * STEPS * STEP_SECONDS))
        _kill(sweep)
    finished = {file.stem for file in folder.glob("*.json")}
    begun_before = _begun(log)
    _run_to_the_end(_sweep_command(folder), log)
    again = [
        cell.name
        for cell in sweep_cells()
        if fingerprint(cell) in finished
        and _begun(log)[cell.inputs["seed"]] != begun_before[cell.inputs["seed"]]
    ]
    if again:
        return f"finished cells were computed again: {', '.join(again)}"
    return _difference(expected, folder)


def kill_worker(expected: Files, scratch: Path, rng: random.Random, cluster: "Cluster") -> str:
    """What went wrong after a worker was killed in the middle of a cell; empty if nothing did.

    On a busy machine the cell may have ended when the signal comes: then once more.
    """
    for number in range(ATTEMPTS):
        folder = scratch / f"cells {number}"
        victim = _sweep_that_loses_a_worker(folder, rng, cluster)
        if victim is None:
            return "the sweep ended with an error"
        if victim in _in_mid_cell(cluster.log):
            return _difference(expected, folder)
    return "no worker was in the middle of a cell; nothing was tested"


def _sweep_that_loses_a_worker(folder: Path, rng: random.Random, cluster: "Cluster") -> int | None:
    """The process that was killed, which another replaces; None if the sweep failed."""
    log = cluster.log
    after = len(_logged(log)) + rng.randrange(1, CELLS)  # lines to wait for
    with _started(_sweep_command(folder, cluster.address), log) as sweep:
        _wait_for(lambda: len(_logged(log)) >= after, "the cells to begin")
        _wait_for(lambda: bool(cluster.busy()), "a cell to run")
        time.sleep(rng.uniform(0, STEPS * STEP_SECONDS / 2))
        victim = cluster.kill_one()
        cluster.add_worker()
        return None if sweep.wait(PATIENCE) else victim


class Cluster:
    """A Dask scheduler and two workers as processes of this machine."""

    def __init__(self, scratch: Path, stack: ExitStack) -> None:
        self.log, self.scratch, self.stack = scratch / "log", scratch, stack
        self.workers: dict[int, subprocess.Popen[bytes]] = {}  # by process id
        contact = scratch / "scheduler.json"
        self._start("scheduler", "--port=0", f"--scheduler-file={contact}")
        _wait_for(contact.exists, "the Dask scheduler")
        self.address = _address(contact)
        self.add_worker()
        self.add_worker()

    def add_worker(self) -> None:
        worker = self._start(
            "worker",
            self.address,
            "--nthreads=1",
            "--no-nanny",
            f"--local-directory={self.scratch}",
        )
        self.workers[worker.pid] = worker

    def busy(self) -> set[int]:
        """Workers in the middle of a cell; those that were killed there are no more."""
        return _in_mid_cell(self.log) & set(self.workers)

    def kill_one(self) -> int:
        """The process that was killed, a busy one if there is any."""
        victim = min(self.busy(), default=min(self.workers))
        _kill(self.workers.pop(victim))
        return victim

    def _start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        local = ("--host=127.0.0.1", "--dashboard-address=127.0.0.1:0", "--no-dashboard")
        command = [sys.executable, "-m", "dask", *arguments, *local]
        return self.stack.enter_context(_started(command, self.log))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--folder", type=Path, help="run the sweep once, undisturbed, to here")
    parser.add_argument("--scheduler", help="with --folder: run it on this Dask cluster")
    told = parser.parse_args()
    if told.folder:
        sys.exit(_sweep(told.folder, told.scheduler))
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        sys.exit(_compare_all(told.times, Path(scratch), stack, random.Random(told.seed)))


def _compare_all(times: int, scratch: Path, stack: ExitStack, rng: random.Random) -> int:
    (scratch / "cluster").mkdir()
    cluster = Cluster(scratch / "cluster", stack)
    expected = by_plain_loop()
    problems = []
    for what, scheduler in (("joblib", None), ("Dask", cluster.address)):
        folder = scratch / what
        _run_to_the_end(_sweep_command(folder, scheduler), cluster.log)
        problems.append(_difference(expected, folder))
        print(f"{what} undisturbed: {problems[-1] or 'identical to a plain loop'}", flush=True)
    problems += _repeat("sweep", times, scratch, lambda path: kill_sweep(expected, path, rng))
    problems += _repeat(
        "Dask worker", times, scratch, lambda path: kill_worker(expected, path, rng, cluster)
    )
    return int(any(problems))


def _repeat(what: str, times: int, scratch: Path, trial: Callable[[Path], str]) -> list[str]:
    problems = []
    for number in range(times):
        folder = scratch / f"{what} {number}"
        folder.mkdir()
        problems.append(trial(folder))
        if problems[-1]:
            print(f"{what} killed, time {number + 1}: {problems[-1]}", flush=True)
    print(f"{what} killed: {problems.count('')} of {times} identical", flush=True)
    return problems


def _sweep(folder: Path, scheduler: str | None) -> int:
    if scheduler:
        results = run_sweep(sweep_cells(), folder, engine="dask", scheduler=scheduler)
    else:
        results = run_sweep(sweep_cells(), folder, workers=2)
    failed = [result for result in results if isinstance(result, FailedCell)]
    for result in failed:
        print(f"{result.cell.name}: {result.reason}", file=sys.stderr)
    return int(bool(failed))


def _difference(expected: Files, folder: Path) -> str:
    found = {file.name: file.read_bytes() for file in folder.glob("[!.]*")}
    names = sorted(set(expected) | set(found))
    odd = [name for name in names if expected.get(name) != found.get(name)]
    return f"{len(odd)} of {len(names)} files differ: {odd[0]}" if odd else ""


def _sweep_command(folder: Path, scheduler: str | None = None) -> list[str]:
    command = [sys.executable, __file__, f"--folder={folder}"]
    return [*command, f"--scheduler={scheduler}"] if scheduler else command


@contextmanager
def _started(command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process in a group of its own, killed with all its children at the end."""
    process = subprocess.Popen(
        command,
        env={**os.environ, LOG: str(log)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:  # otherwise its number may by now be somebody else's
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)


def _run_to_the_end(command: list[str], log: Path) -> None:
    with _started(command, log) as process:
        if process.wait(PATIENCE):
            raise SystemExit(f"An undisturbed sweep failed: {' '.join(command)}")


def _wait_for(happened: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > until:
            raise SystemExit(f"Waited {PATIENCE:.0f} seconds for {what}.")
        time.sleep(0.01)


def _address(contact: Path) -> str:
    description: dict[str, Any] = json.loads(contact.read_text())
    return description["address"]


def _log(line: str) -> None:
    if path := os.environ.get(LOG):
        with Path(path).open("a") as file:
            file.write(f"{line}\n")


def _logged(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def _begun(log: Path) -> Counter[int]:
    return Counter(int(seed) for event, seed, _ in _logged(log) if event == "begin")


def _in_mid_cell(log: Path) -> set[int]:
    """Processes whose last line says that they began a cell."""
    last = {int(process): event for event, _, process in _logged(log)}
    return {process for process, event in last.items() if event == "begin"}


if __name__ == "__main__":
    main()
