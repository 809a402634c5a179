"""What a load cost a server: answers, seconds, time of the processor, how long people waited."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from elicit_line import Line
from elicit_people import Tally
from elicit_servers import Server
from numpy.typing import NDArray

__all__ = ["Measured", "added_up", "measure", "walk_in"]

ENTERING = 16
"""How many walk in at the same time."""

P = TypeVar("P")


@dataclass(frozen=True)
class Measured:
    """Figures of a stretch of time."""

    answers: int
    seconds: float
    cpu_seconds: float
    """Of the server."""
    waits: NDArray[np.float64]
    """Seconds from sending an answer to having its reply."""
    memory_mb: float

    @property
    def a_second(self) -> float:
        return self.answers / self.seconds

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu_seconds / max(self.answers, 1)

    @property
    def waits_ms(self) -> str:
        p50, p99, most = 1000 * np.percentile(self.waits, (50, 99, 100))
        return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {most:.1f} ms"


async def measure(server: Server, tally: Tally, work: Awaitable[object]) -> Measured:
    """Watch the server until ``work`` is done."""
    done, cpu, begun = tally.acknowledged, server.cpu_seconds(), time.perf_counter()
    await work
    return Measured(
        tally.acknowledged - done,
        time.perf_counter() - begun,
        server.cpu_seconds() - cpu,
        np.array(tally.seconds[done:]),
        server.memory_mb(),
    )


def added_up(parts: Sequence[Measured]) -> Measured:
    """Several stretches of time as one."""
    return Measured(
        sum(part.answers for part in parts),
        sum(part.seconds for part in parts),
        sum(part.cpu_seconds for part in parts),
        np.concatenate([part.waits for part in parts]),
        max(part.memory_mb for part in parts),
    )


async def walk_in(
    lines: Sequence[Line], count: int, enter: Callable[[Line, str], Awaitable[P]]
) -> list[P]:
    """So many simulated annotators, spread over the lines; each line lets in one at a time."""
    people: dict[int, P] = {}
    door = asyncio.Semaphore(ENTERING)

    async def open_for(first: int, line: Line) -> None:
        for place in range(first, count, len(lines)):
            async with door:
                people[place] = await enter(line, f"simulated-{secrets.token_hex(6)}")

    await asyncio.gather(*(open_for(first, line) for first, line in enumerate(lines)))
    return [people[place] for place in range(count)]
