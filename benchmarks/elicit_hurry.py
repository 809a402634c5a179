"""Answers a second without thinking time, Sfumato and Potato side by side.

Both servers run, and take turns of two seconds, so that what else the machine does meets both.
People take turns too on a few open connections, because Sfumato refuses more than five answers a
second from one person.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from elicit_line import Line
from elicit_measured import Measured, added_up, measure, walk_in
from elicit_people import Annotator, Tally, answer, let_in
from elicit_potato import PotatoUser, let_into_potato, potato_server, store, store_and_go_on
from elicit_servers import Server

from sfumato.elicit.design.study import ElicitStudy

__all__ = ["CONNECTIONS", "hurry"]

CONNECTIONS = (8, 32)
OURS, POTATOS = 512, 64
"""Simulated annotators; with so many Sfumato could give 2,560 answers a second."""
TURN_SECONDS = 2.0
TARGET = 3.0

Act = Callable[[Line, Any], Awaitable[None]]


@dataclass
class Arm:
    """A server and what is asked of it."""

    name: str
    server: Server
    people: Iterator[Any]
    """In turn, for ever."""
    act: Act
    tally: Tally
    parts: list[Measured] = field(default_factory=list)


def hurry(
    server: Server, study: ElicitStudy, potato: Path | None, *, seconds: float, seed: int
) -> Tally:
    """Print the rates at 8 and 32 connections; what Sfumato acknowledged."""
    rng, tally = np.random.default_rng(seed), Tally()
    with ExitStack() as stack:
        other = None
        if potato is None:
            print("Potato is not compared: it is not on the path, and --potato was not given.")
        else:
            items, trials = 1_000, study.layout.trials_per_person
            other = stack.enter_context(
                potato_server(potato, items=items, classes=len(study.classes), trials=trials)
            )
        asyncio.run(_compare(server, study, other, tally, seconds, rng))
    return tally


async def _compare(
    server: Server,
    study: ElicitStudy,
    potato: Server | None,
    tally: Tally,
    seconds: float,
    rng: np.random.Generator,
) -> None:
    doors = [Line(server.port) for _ in range(8)]
    people = cycle(await walk_in(doors, OURS, partial(let_in, study=study)))

    async def send(line: Line, person: Annotator) -> None:
        assert person.at_trial, "the study is too short for this load"
        await answer(line, person, tally, think=1.0, rng=rng)

    users: Iterator[PotatoUser] = iter(())
    if potato is not None:
        doors = [Line(potato.port) for _ in range(8)]
        users = cycle(await walk_in(doors, POTATOS, let_into_potato))
    for count in CONNECTIONS:
        arms = [Arm("Sfumato: stores, gives the next trial", server, people, send, tally)]
        if potato is not None:
            arms += _arms_of_potato(potato, users, len(study.classes), rng)
        await _take_turns(arms, count, seconds)
        _print(arms, count)


def _arms_of_potato(
    server: Server, users: Iterator[PotatoUser], classes: int, rng: np.random.Generator
) -> list[Arm]:
    acts = {
        "Potato: stores": store,
        "Potato: stores, moves on, loads the next page": store_and_go_on,
    }
    tallies = {name: Tally() for name in acts}
    return [
        Arm(name, server, users, partial(act, tally=tallies[name], classes=classes, rng=rng), tally)
        for (name, act), tally in zip(acts.items(), tallies.values(), strict=True)
    ]


async def _take_turns(arms: Sequence[Arm], count: int, seconds: float) -> None:
    """A turn of each to warm up, then turns of all until each had its seconds."""
    loop = asyncio.get_running_loop()
    lines = {arm.name: [Line(arm.server.port) for _ in range(count)] for arm in arms}
    for turn in range(1 + max(1, round(seconds / TURN_SECONDS))):
        for arm in arms:
            until = loop.time() + TURN_SECONDS
            work = asyncio.gather(*(_work(line, arm, until) for line in lines[arm.name]))
            measured = await measure(arm.server, arm.tally, work)
            if turn > 0:
                arm.parts.append(measured)
    for line in (line for of_arm in lines.values() for line in of_arm):
        line.close()


async def _work(line: Line, arm: Arm, until: float) -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < until:
        await arm.act(line, next(arm.people))


def _print(arms: Sequence[Arm], count: int) -> None:
    print(f"\n{count} connections, no thinking time")
    ours, *others = (added_up(arm.parts) for arm in arms)
    for arm, measured in zip(arms, (ours, *others), strict=True):
        rate = f"{measured.a_second:.0f} answers a second"
        ratio = "" if measured is ours else f"; Sfumato {ours.a_second / measured.a_second:.1f} ×"
        print(f"{arm.name}: {rate}{ratio}")
        print(f"  {measured.waits_ms}, {measured.cpu_ms:.2f} ms CPU an answer, ", end="")
        print(f"{measured.memory_mb:.0f} MB")
        if arm.tally.refused:
            print(f"  refused {len(arm.tally.refused):,}, the first: {arm.tally.refused[0]}")
    if others:
        print(f"target: {TARGET:.0f} times Potato's answers a second, by its cheaper call")
