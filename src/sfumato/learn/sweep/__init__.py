"""Turn a list of cells into their results: on all cores or on a cluster, each computed once.

A sweep may be stopped at any moment, by Ctrl-C or by a power cut, and started again: cells that
are finished stay finished, and the results in the end are the same. Nothing here knows about
training; a cell is any pure function.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, assert_never

from sfumato.errors import DataError
from sfumato.learn.sweep.cell import Cell, CellResult, fingerprint
from sfumato.learn.sweep.engines import Outcome, Trouble, on_cluster, on_cores
from sfumato.learn.sweep.store import (
    FailedCell,
    FinishedCell,
    open_folder,
    read,
    write,
    write_failure,
)

__all__ = [
    "Cell",
    "CellResult",
    "Engine",
    "FailedCell",
    "FinishedCell",
    "Progress",
    "fingerprint",
    "run_sweep",
    "seconds_left",
    "work_per_second",
]

Engine = Literal["local", "dask"]


@dataclass(frozen=True)
class Progress:
    """How far a sweep is. Cells with equal fingerprints are one cell here."""

    total: int
    found: int
    """Cells that were finished before this run began."""
    done: int
    """Cells that are finished, the found ones included."""
    failed: int
    seconds: float
    """Since this run began."""
    work: float
    """What the cells of this run say they did: model-epochs for trainings."""
    cell_seconds: float = 0.0
    """What they took, one after the other."""


def seconds_left(progress: Progress) -> float | None:
    """Seconds until all cells are done at the pace so far; None before the first is.

    Cells found finished took no time and say nothing about the pace.

    >>> seconds_left(Progress(total=12, found=2, done=6, failed=1, seconds=20.0, work=0.0))
    20.0
    """
    tried = progress.done - progress.found + progress.failed
    remaining = progress.total - progress.done - progress.failed
    if not remaining:
        return 0.0
    return progress.seconds / tried * remaining if tried else None


def work_per_second(progress: Progress) -> float:
    """Units of work a second, all workers together.

    >>> work_per_second(Progress(total=9, found=0, done=3, failed=0, seconds=20.0, work=180.0))
    9.0
    """
    return progress.work / progress.seconds if progress.seconds else 0.0


def run_sweep(
    cells: Sequence[Cell],
    folder: Path,
    *,
    engine: Engine = "local",
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> list[FinishedCell | FailedCell]:
    """What each cell found out, in the order of the cells; ``folder`` keeps what is finished.

    "local" runs on the cores of this machine (``workers`` of them, left out all), "dask" on the
    cluster whose ``scheduler`` has the given address. Cells with equal fingerprints are computed
    once. A cell that raises an error is a ``FailedCell`` with its reason, the others go on, and the
    next run tries it again. ``progress`` is called at the start and after every cell.
    """
    _check_engine(engine, scheduler, workers)
    prints = [fingerprint(cell) for cell in cells]
    distinct = dict(zip(prints, cells, strict=True))
    open_folder(folder)
    results: dict[str, FinishedCell | FailedCell] = {}
    for each, cell in distinct.items():
        if done := read(cell, each, folder):
            results[each] = done
    waiting = {each: cell for each, cell in distinct.items() if each not in results}
    state = Progress(len(distinct), len(results), len(results), 0, 0.0, 0.0)
    progress(state)
    start = time.monotonic()
    with closing(_outcomes(waiting, engine, scheduler, workers)) as outcomes:
        for each, outcome in outcomes:
            results[each] = _keep(outcome, waiting[each], each, folder)
            state = _after(state, results[each], time.monotonic() - start)
            progress(state)
    return [_named(results[each], cell) for each, cell in zip(prints, cells, strict=True)]


def _outcomes(
    waiting: Mapping[str, Cell], engine: Engine, scheduler: str | None, workers: int | None
) -> Generator[tuple[str, Outcome], None, None]:
    if not waiting:
        return
    match engine:
        case "local":
            yield from on_cores(waiting, workers)
        case "dask":
            assert scheduler is not None
            yield from on_cluster(waiting, scheduler)
        case _:
            assert_never(engine)


def _keep(outcome: Outcome, cell: Cell, each: str, folder: Path) -> FinishedCell | FailedCell:
    if not isinstance(outcome, Trouble):
        return write(outcome, cell, each, folder)
    failed = FailedCell(cell, each, outcome.reason)
    write_failure(failed, folder)
    return failed


def _after(state: Progress, result: FinishedCell | FailedCell, seconds: float) -> Progress:
    if isinstance(result, FailedCell):
        return replace(state, failed=state.failed + 1, seconds=seconds)
    return replace(
        state,
        done=state.done + 1,
        seconds=seconds,
        work=state.work + result.work,
        cell_seconds=state.cell_seconds + result.seconds,
    )


def _named(result: FinishedCell | FailedCell, cell: Cell) -> FinishedCell | FailedCell:
    """The result under the name that this cell has in the list."""
    return replace(result, cell=cell)


def _check_engine(engine: Engine, scheduler: str | None, workers: int | None) -> None:
    match engine:
        case "local":
            if scheduler is not None:
                raise DataError(
                    f"A scheduler ({scheduler!r}) was given to a sweep on this machine. "
                    "Ask for engine='dask', or leave it out."
                )
            if workers is not None and workers < 1:
                raise DataError(f"A sweep needs at least one worker, not {workers}.")
        case "dask":
            if scheduler is None:
                raise DataError(
                    "A sweep on a Dask cluster needs the address of its scheduler, "
                    "such as tcp://127.0.0.1:8786."
                )
            if workers is not None:
                raise DataError("A Dask cluster decides itself how many workers it has.")
        case _:
            assert_never(engine)
