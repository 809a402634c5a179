"""Run commands one after the other and acknowledge each only when it is on disk (R1).

On SQLite one thread takes everything that waits, up to 512 commands, runs each behind a
savepoint, and flushes once for all of them: a full flush each would be fifty times slower. On
PostgreSQL a few threads run one command a transaction each, because its locks keep them apart.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import psycopg

from sfumato.elicit.refusals import Unavailable
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, Database

__all__ = ["Writer", "run_once"]

GROUP = 512
"""Commands a transaction at most."""
POSTGRESQL_THREADS = 4
ATTEMPTS = 3

T = TypeVar("T")

_SENTENCE = "The answer could not be stored just now; it will be sent again."


@dataclass(slots=True)
class _Job:
    command: Callable[..., Any]
    request: dict[str, Any]
    loop: asyncio.AbstractEventLoop | None
    future: Any  # of asyncio where there is a loop, else of concurrent.futures
    result: Any = None
    error: BaseException | None = None


class Writer:
    """The one place where commands meet the database."""

    def __init__(
        self,
        database: Database,
        collection: Collection,
        *,
        rng: np.random.Generator,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database = database
        self.collection = collection
        self.clock = clock
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._door = threading.Lock()  # nothing is queued behind the sign to stop
        count = 1 if database.dialect == "sqlite" else POSTGRESQL_THREADS
        work = self._write_groups if database.dialect == "sqlite" else self._write_each
        self._threads = [
            threading.Thread(target=work, args=(own,), name="elicit-writer", daemon=True)
            for own in rng.spawn(count)
        ]

    def start(self) -> "Writer":
        """Begin to take commands."""
        for thread in self._threads:
            thread.start()
        return self

    async def run(self, command: Callable[..., T], **request: Any) -> T:
        """The result of a command, after it is on disk."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._submit(_Job(command, request, loop, future))
        return cast(T, await future)

    def run_and_wait(self, command: Callable[..., T], **request: Any) -> T:
        """The same for callers without an event loop."""
        future: Future[T] = Future()
        self._submit(_Job(command, request, None, future))
        return future.result()

    def stop(self, timeout: float = 10.0) -> bool:
        """Take no more commands and finish those that wait; whether all were done in time (R9)."""
        with self._door:
            if not self._stopped:
                self._stopped = True
                for _ in self._threads:
                    self._queue.put(None)
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _submit(self, job: _Job) -> None:
        with self._door:
            if self._stopped:
                raise Unavailable("The server is stopping; please try again in a moment.")
            self._queue.put(job)

    def _write_groups(self, rng: np.random.Generator) -> None:
        connection: Connection | None = None
        running = True
        while running:
            jobs, running = self._take_group()
            if not jobs:
                continue
            try:
                connection = connection or self.database.connect()
                self._run_group(connection, jobs, rng)
            except Exception as error:  # nothing of this group is stored
                _drop(connection)
                connection = None
                for job in jobs:
                    job.error = _unavailable(error)
            _acknowledge(jobs)
        _drop(connection)

    def _take_group(self) -> tuple[list[_Job], bool]:
        """Everything that waits, and whether there is more to come."""
        jobs: list[_Job] = []
        job = self._queue.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) == GROUP:
                return jobs, True
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return jobs, True
        return jobs, False

    def _run_group(
        self, connection: Connection, jobs: list[_Job], rng: np.random.Generator
    ) -> None:
        connection.begin()
        for job in jobs:
            connection.plain("SAVEPOINT command")
            try:
                job.result = self._call(connection, job, rng)
            except sqlite3.OperationalError:  # disk full, file gone: the group cannot be saved
                raise
            except Exception as error:
                connection.plain("ROLLBACK TO command")
                job.error = error
            connection.plain("RELEASE command")
        connection.commit()

    def _write_each(self, rng: np.random.Generator) -> None:
        connection: Connection | None = None
        while (job := self._queue.get()) is not None:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    connection = connection or self.database.connect()
                    connection.begin()
                    job.result, job.error = self._call(connection, job, rng), None
                    connection.commit()
                    break
                except DATABASE_ERRORS as error:
                    again = _lost_a_race(error) and attempt < ATTEMPTS
                    if not again:
                        _drop(connection)
                        connection = None
                        job.error = _unavailable(error)
                        break
                    assert connection is not None
                    connection.rollback()
                except Exception as error:
                    if connection is not None:
                        connection = _rolled_back(connection)
                    job.error = error
                    break
            _acknowledge([job])
        _drop(connection)

    def _call(self, connection: Connection, job: _Job, rng: np.random.Generator) -> Any:
        return job.command(connection, self.collection, now=self.clock(), rng=rng, **job.request)


def run_once(
    connection: Connection,
    collection: Collection,
    command: Callable[..., T],
    *,
    now: float,
    rng: np.random.Generator,
    **request: Any,
) -> T:
    """Run one command in a transaction of its own, in the calling thread."""
    connection.begin()
    try:
        result = command(connection, collection, now=now, rng=rng, **request)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    return result


def _acknowledge(jobs: list[_Job]) -> None:
    """Hand out results; one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        if job.loop is not None:
            by_loop.setdefault(job.loop, []).append(job)
        elif job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
    for loop, waiting in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, waiting)


def _settle(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():  # the browser went away
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)


def _unavailable(error: BaseException) -> BaseException:
    if isinstance(error, Unavailable):
        return error
    if isinstance(error, DATABASE_ERRORS):
        unavailable = Unavailable(_SENTENCE)
        unavailable.__cause__ = error
        return unavailable
    return error


def _lost_a_race(error: BaseException) -> bool:
    races = (
        psycopg.errors.DeadlockDetected,
        psycopg.errors.SerializationFailure,
        psycopg.errors.UniqueViolation,
    )
    return isinstance(error, races)


def _rolled_back(connection: Connection) -> Connection | None:
    try:
        connection.rollback()
    except DATABASE_ERRORS:
        _drop(connection)
        return None
    return connection


def _drop(connection: Connection | None) -> None:
    if connection is not None:
        with contextlib.suppress(*DATABASE_ERRORS):
            connection.rollback()
        with contextlib.suppress(*DATABASE_ERRORS):
            connection.close()
