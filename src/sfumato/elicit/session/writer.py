"""Run commands one after the other and acknowledge each only when it is on disk (R1).

On SQLite one thread takes everything that waits, up to 512 commands, and flushes once for all of
them: a full flush each would be fifty times slower. Where commands keep coming it waits a few
hundredths of a second for more of them, because a transaction of its own costs an answer more time
of the processor than all the rest. On PostgreSQL a few threads run one command a transaction each,
because its locks keep them apart.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
import psycopg

from sfumato.elicit.refusals import Unavailable
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, Database
from sfumato.errors import DataError

GROUP = 512
"""Commands a transaction at most."""
GATHER_SECONDS = 0.04
"""How long a group waits for others at most; nobody notices it behind a network."""
POSTGRESQL_THREADS = 4
ATTEMPTS = 3
RUN_SECONDS = 10
"""After so long without a result the browser is told to send it again; a page waits for 20."""
MOST_WAITING = 10_000
"""Commands in the queue; more are turned away at once."""
REMEMBERED = 16
"""Groups whose sizes tell how many things may be expected."""

T = TypeVar("T")

_log = logging.getLogger("sfumato.elicit")

_SENTENCE = "The answer could not be stored just now; it will be sent again."


class GroupQueue(Generic[T]):
    """What waits to be worked on.

    A group that has begun waits up to ``seconds`` for others, but not once it is as large as any of
    the last ones: one person alone, or a few who all wait for their replies, lose no time. Who
    works is woken by the first thing and by the last one expected, not by each: waking a thread
    is work too.
    """

    def __init__(self, *, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._waiting: deque[T] = deque()
        self._sizes: deque[int] = deque([1], maxlen=REMEMBERED)
        self._closed = False
        self._changed = threading.Condition()

    def put(self, thing: T) -> bool:
        """Add something; False where nothing is taken any more."""
        with self._changed:
            if self._closed:
                return False
            self._waiting.append(thing)
            count = len(self._waiting)
            if count == 1 or count >= self._expected:
                self._changed.notify()
        return True

    def take(self) -> list[T]:
        """The next group, in the order in which things came; empty when there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self._changed.wait_for(
                lambda: len(self._waiting) >= self._expected or self._closed, timeout=self._seconds
            )
            count = min(len(self._waiting), self._most)
            self._sizes.append(count)
            return [self._waiting.popleft() for _ in range(count)]

    def close(self) -> None:
        """Take nothing more; what waits is still handed out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_closed(self) -> bool:
        """Whether nothing is taken any more."""
        return self._closed

    @property
    def _expected(self) -> int:
        return min(max(self._sizes), self._most)


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
        self.is_out = False
        """Whether nothing can be stored just now."""
        one = database.dialect == "sqlite"
        self._jobs: GroupQueue[_Job] = GroupQueue(
            most=GROUP if one else 1, seconds=GATHER_SECONDS if one else 0.0
        )
        count, work = (1, self._write_groups) if one else (POSTGRESQL_THREADS, self._write_each)
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
        deadline = loop.call_later(RUN_SECONDS, self._give_up, future)
        try:
            self._submit(_Job(command, request, loop, future))
            return cast(T, await future)
        finally:
            deadline.cancel()

    def run_and_wait(self, command: Callable[..., T], **request: Any) -> T:
        """The same for callers without an event loop."""
        future: Future[T] = Future()
        self._submit(_Job(command, request, None, future))
        return future.result()

    def stop(self, timeout: float = 10.0) -> bool:
        """Take no more commands and finish those that wait; whether all were done in time (R9)."""
        self._jobs.close()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def is_alive(self) -> bool:
        """Whether commands are still taken and somebody works on them."""
        return not self._jobs.is_closed and all(thread.is_alive() for thread in self._threads)

    @property
    def waiting(self) -> int:
        """How many commands wait to be run."""
        return len(self._jobs)

    def _submit(self, job: _Job) -> None:
        if len(self._jobs) >= MOST_WAITING:
            raise Unavailable(_SENTENCE)
        if not self._jobs.put(job):
            raise Unavailable("The server is stopping; please try again in a moment.")

    def _give_up(self, future: "asyncio.Future[Any]") -> None:
        """Answer somebody whose command got no result: a database may hang and never fail."""
        if not future.done():
            error = Unavailable(f"The database did not answer within {RUN_SECONDS} seconds.")
            future.set_exception(self._unavailable(error))

    def _join(self) -> Connection:
        connection = self.database.rejoin()
        if connection.dialect == "postgresql":
            connection.plain(f"SET statement_timeout = {RUN_SECONDS * 1000}")
        return connection

    def _write_groups(self, rng: np.random.Generator) -> None:
        connection: Connection | None = None
        while group := self._jobs.take():
            jobs = [job for job in group if not job.future.done()]  # nobody waits for the others
            if not jobs:
                continue
            try:
                connection = connection or self._join()
                self._run_group(connection, jobs, rng)
                self._note_outage(None)
            except Exception as error:  # nothing of this group is stored
                _drop(connection)
                connection = None
                for job in jobs:
                    job.error = self._unavailable(error)
            _acknowledge(jobs)
        _drop(connection)

    def _run_group(
        self, connection: Connection, jobs: list[_Job], rng: np.random.Generator
    ) -> None:
        """Run all in one transaction; a refused command leaves nothing behind and stops no other.

        Nearly always none is refused, and SQLite need not keep what each one would take back.
        """
        connection.begin()
        try:
            for job in jobs:
                job.result = self._call(connection, job, rng)
        except sqlite3.OperationalError:  # disk full, file gone: the group cannot be saved
            raise
        except Exception as error:
            connection.rollback()
            if len(jobs) == 1:
                jobs[0].error = error
                return
            self._run_each(connection, jobs, rng)
        connection.commit()

    def _run_each(self, connection: Connection, jobs: list[_Job], rng: np.random.Generator) -> None:
        """Run each behind a savepoint, in a transaction that is left open."""
        connection.begin()
        for job in jobs:
            connection.plain("SAVEPOINT command")
            try:
                job.result = self._call(connection, job, rng)
            except sqlite3.OperationalError:
                raise
            except Exception as error:
                connection.plain("ROLLBACK TO command")
                job.error = error
            connection.plain("RELEASE command")

    def _write_each(self, rng: np.random.Generator) -> None:
        connection: Connection | None = None
        while jobs := self._jobs.take():
            (job,) = jobs
            if job.future.done():  # nobody waits for it; it may have been sent again
                continue
            for attempt in range(1, ATTEMPTS + 1):
                idle, begun = connection is not None, False
                try:
                    connection = connection or self._join()
                    connection.begin()
                    begun = True
                    job.result, job.error = self._call(connection, job, rng), None
                    connection.commit()
                    self._note_outage(None)
                    break
                except (*DATABASE_ERRORS, Unavailable) as error:
                    more = attempt < ATTEMPTS
                    if connection is not None and _lost_a_race(error) and more:
                        connection = _rolled_back(connection)
                        continue
                    _drop(connection)
                    connection = None
                    if idle and not begun and more:  # it broke while nobody used it
                        continue
                    job.error = self._unavailable(error)
                    break
                except Exception as error:
                    if connection is not None:
                        connection = _rolled_back(connection)
                    job.error = error
                    break
            _acknowledge(jobs)
        _drop(connection)

    def _call(self, connection: Connection, job: _Job, rng: np.random.Generator) -> Any:
        return job.command(connection, self.collection, now=self.clock(), rng=rng, **job.request)

    def _unavailable(self, error: Exception) -> Exception:
        """What the browser is told where the database failed: not which file, nor where."""
        if not isinstance(error, (*DATABASE_ERRORS, DataError, Unavailable)):
            return error
        self._note_outage(error)
        unavailable = Unavailable(_SENTENCE)
        unavailable.__cause__ = error
        return unavailable

    def _note_outage(self, error: Exception | None) -> None:
        """Log the beginning and the end of a time in which nothing can be stored, once each."""
        if (error is not None) == self.is_out:
            return
        self.is_out = error is not None
        if error is None:
            _log.warning("Answers are stored again.")
        else:
            _log.error("Nothing can be stored: %s", _reason(error))


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


def _reason(error: Exception) -> str:
    """Why, without values: the messages of other errors may hold what somebody sent (S13)."""
    spoken = (sqlite3.OperationalError, psycopg.OperationalError, DataError, Unavailable)
    name = type(error).__name__
    return f"{name}: {str(error).strip().splitlines()[0]}" if isinstance(error, spoken) else name


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
