"""Turn cells into outcomes on the cores of this machine or on a Dask cluster.

Both engines take cells by fingerprint and yield outcomes as they come, in any order: the content
of a finished cell's files, or the reason why there is none. Workers write nothing; the one who
asks does, so that a cluster needs no shared disk.
"""

import os
import pickle
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sfumato.errors import DataError, SfumatoError, missing_package
from sfumato.learn.sweep.cell import Cell, CellResult, function_name
from sfumato.learn.sweep.store import EncodedCell, encode

TRIES_TOGETHER = 2
"""How often a cell runs beside others before it runs alone."""

CLUSTER_WAITING = 64
"""At least so many cells are with the scheduler, so that a cluster knows when to grow; not all,
because it holds their inputs in memory."""

CLUSTER_RETRIES = 3
"""How often the cluster tries a cell again that it could not bring to an end."""

CONNECT_SECONDS = 10

WATCH_SECONDS = 1.0


@dataclass(frozen=True)
class Trouble:
    """Why a cell has no result."""

    reason: str


Outcome = EncodedCell | Trouble


def attempt(cell: Cell, fingerprint: str) -> Outcome:
    """Run a cell in a process that computes with one thread; whatever goes wrong is a reason."""
    _use_one_thread()
    started = time.perf_counter()
    try:
        result = cell.function(**cell.inputs)
        if not isinstance(result, CellResult):
            raise DataError(
                f"{function_name(cell)} returned a {type(result).__name__}, not a CellResult."
            )
        seconds = time.perf_counter() - started
        return replace(encode(cell, fingerprint, result), seconds=seconds)
    except (Exception, SystemExit) as error:
        return Trouble(_reason(error))


def on_cores(cells: Mapping[str, Cell], workers: int | None) -> Iterator[tuple[str, Outcome]]:
    """One process per core, through joblib.

    When a process dies (out of memory, say), nobody knows which of the running cells did it.
    They are set aside and tried again at the end, at last each alone, so that only the guilty
    one fails.
    """
    try:
        import joblib
    except ImportError:
        raise missing_package("Training on several cores", "joblib", "learn") from None
    workers = workers or joblib.cpu_count()
    # Joblib replaces a process that has grown between two cells. Nothing is lost by that, and
    # processes that keep what they free grow on purpose.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
    waiting = dict(cells)
    with _passive_waiting():
        for _ in range(TRIES_TOGETHER):
            suspects: dict[str, Cell] = {}
            while waiting:
                yield from _until_a_process_dies(waiting, suspects, workers)
            waiting = suspects
        for fingerprint, cell in waiting.items():
            try:
                yield from _in_processes({fingerprint: cell}, {}, 1)
            except Exception as error:
                yield fingerprint, Trouble(_reason(error))


def on_cluster(cells: Mapping[str, Cell], scheduler: str) -> Iterator[tuple[str, Outcome]]:
    """All workers of the Dask cluster at an address.

    Dask gives the cells of a lost worker to another one; a cell that takes several workers with
    it fails.
    """
    try:
        import cloudpickle
        import dask
        from distributed import as_completed
    except ImportError:
        raise missing_package("Training on a cluster", "dask", "cluster") from None
    names: dict[str, str] = {}  # Dask's key to fingerprint
    refused: dict[str, Outcome] = {}

    def send() -> Iterator[Any]:
        for fingerprint, cell in cells.items():
            try:
                # functions of a script or notebook go along; unpacking is part of the attempt,
                # so that a module that the worker lacks is this cell's reason
                packed = cloudpickle.dumps(cell)
            except Exception as error:
                refused[fingerprint] = Trouble(_reason(error))
                continue
            future = client.submit(
                _attempt_packed, packed, fingerprint, pure=False, retries=CLUSTER_RETRIES
            )
            names[future.key] = fingerprint
            yield future

    # images among the inputs are meant: no warning about a large graph
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}),
        _client(scheduler) as client,
    ):
        ahead = max(CLUSTER_WAITING, 2 * sum(client.nthreads().values()))
        sent = send()
        finished = as_completed(islice(sent, ahead), loop=client.loop)
        for future in finished:
            yield names.pop(future.key), _outcome(future)
            finished.update(list(islice(sent, 1)))
    yield from refused.items()


def _until_a_process_dies(
    waiting: dict[str, Cell], suspects: dict[str, Cell], workers: int
) -> Iterator[tuple[str, Outcome]]:
    running: dict[str, Cell] = {}
    try:
        yield from _in_processes(waiting, running, workers)
    except Exception:  # of the processes: what goes wrong in a cell is an outcome
        if not running:  # they cannot even be started
            raise
        suspects.update(running)


def _in_processes(
    waiting: dict[str, Cell], running: dict[str, Cell], workers: int
) -> Iterator[tuple[str, Outcome]]:
    """Moves cells from ``waiting`` to ``running``, and from there to the caller when they end."""
    from joblib import Parallel, delayed, parallel_config

    def send() -> Iterator[Any]:
        while waiting:
            fingerprint = next(iter(waiting))
            running[fingerprint] = waiting.pop(fingerprint)
            yield delayed(_attempt_for)(running[fingerprint], fingerprint)

    # From its very start: a process that has no cell yet when the sweep is killed would linger.
    watch = {"initializer": _watch, "initargs": (os.getpid(),)}
    with parallel_config("loky", inner_max_num_threads=1, **watch):
        parallel = Parallel(
            n_jobs=max(workers, 2),  # with one job, joblib would run it in this very process
            pre_dispatch=workers,  # as many cells at a time as workers
            batch_size=1,
            return_as="generator_unordered",
            max_nbytes=None,  # no memory maps, which a killed sweep would leave behind
        )
        outcomes = parallel(send())
        try:
            for fingerprint, outcome in outcomes:
                del running[fingerprint]
                yield fingerprint, outcome
        finally:
            outcomes.close()


def _attempt_for(cell: Cell, fingerprint: str) -> tuple[str, Outcome]:
    return fingerprint, attempt(cell, fingerprint)


def _watch(sweep: int) -> None:
    threading.Thread(target=_end_with, args=(sweep,), daemon=True).start()


def _end_with(sweep: int) -> None:
    """Joblib's processes outlive a sweep that was killed, by minutes; ours do not."""
    while os.getppid() == sweep:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def _attempt_packed(packed: bytes, fingerprint: str) -> Outcome:
    try:
        cell = pickle.loads(packed)
    except Exception as error:
        return Trouble(_reason(error))
    return attempt(cell, fingerprint)


def _outcome(future: Any) -> Outcome:
    try:
        return future.result()
    except Exception as error:
        return Trouble(_reason(error))


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise DataError(
            f"No Dask scheduler answers at {scheduler!r} ({error}). Start one with "
            "`dask scheduler` and give the address that it prints, as tcp://host:port."
        ) from None


@contextmanager
def _passive_waiting() -> Iterator[None]:
    """Processes started here sleep while they wait; libraries read this when they are loaded."""
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_WAIT_POLICY"]
        else:
            os.environ["OMP_WAIT_POLICY"] = before


def _use_one_thread() -> None:
    """One process per core is faster than threads, and sums do not depend on how many there are."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for a torch that the cell itself loads
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _reason(error: BaseException) -> str:
    if isinstance(error, SfumatoError):
        return str(error)
    reason = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return reason
    last = frames[-1]
    return f"{reason} ({last.filename}, line {last.lineno}, in {last.name}: {last.line})"
