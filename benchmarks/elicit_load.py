"""Load a running `sfumato elicit serve` with simulated annotators over HTTP, and count.

    python benchmarks/elicit_load.py [--seconds 60] [--potato /path/to/bin/potato]
    python benchmarks/elicit_load.py --database postgresql [--workers 2]

First 500 simulated annotators with 1.8 s thinking time, each on an open connection of their own:
entry, consent, instructions, questions about them, then *submit trial n, receive trial n + 1*.
Then answers a second without thinking time (``elicit_hurry.py``). Every acknowledged answer must be
one row of the database, else the exit code is 1. Servers and client are processes of their own on
this machine; the figures are true only where nothing else runs.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from elicit_hurry import hurry
from elicit_line import Line
from elicit_measured import Measured, measure, walk_in
from elicit_people import Tally, answer_for, let_in
from elicit_servers import Server, postgresql, sfumato_server

from sfumato.elicit.design.places import database_url, open_study
from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.making.make import new_study
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import open_database, prepare

IMAGES, CLASSES, PEOPLE_AN_IMAGE, TRIALS = 1_000, 10, 500, 200
WARM_SECONDS = 3.0
TARGET_P99_MS, TARGET_CPU_MS = 100, 1.0


def main() -> int:
    given = _arguments()
    right = True
    with study_for_load(given.database) as (folder, database):
        study = open_study(folder)
        serve = partial(sfumato_server, folder, database=database, workers=given.workers)
        if given.only in (None, "thinking"):
            before = stored_rows(folder, database)
            with serve() as server:
                tally = _think(server, study, given)
            right &= _all_stored(tally, stored_rows(folder, database) - before)
        if given.only in (None, "hurry"):
            before, found = stored_rows(folder, database), given.potato or shutil.which("potato")
            potato = None if found is None else Path(found)
            with serve() as server:
                tally = hurry(server, study, potato, seconds=given.burst, seed=given.seed)
            right &= _all_stored(tally, stored_rows(folder, database) - before)
    return 0 if right else 1


def _think(server: Server, study: ElicitStudy, given: argparse.Namespace) -> Tally:
    """Print how everybody thinking and answering went; what was acknowledged."""
    print(f"\n{given.people} simulated annotators, {given.think} s thinking time on average")
    tally = Tally()
    steady = asyncio.run(think_and_answer(server, study, tally, given))
    print(f"{steady.answers:,} answers in {steady.seconds:.1f} s, {steady.a_second:.0f} a second")
    print(f"latency: {steady.waits_ms} (target: p99 at most {TARGET_P99_MS} ms)")
    cpu = f"{steady.cpu_ms:.2f} ms CPU an answer (target: at most {TARGET_CPU_MS:.0f})"
    print(f"server: {cpu}, {steady.memory_mb:.0f} MB")
    if given.pictures:
        print(f"with {tally.pictures:,} pictures fetched, whose CPU time is in that of the answers")
    return tally


async def think_and_answer(
    server: Server, study: ElicitStudy, tally: Tally, given: argparse.Namespace
) -> Measured:
    lines = [Line(server.port) for _ in range(given.people)]
    begun = time.perf_counter()
    people = await walk_in(lines, given.people, partial(let_in, study=study))
    print(f"all entered within {time.perf_counter() - begun:.1f} s, 16 at a time")
    end = asyncio.get_running_loop().time() + WARM_SECONDS + given.seconds + 2 * given.think
    act = partial(answer_for, tally=tally, until=end, think=given.think, pictures=given.pictures)
    rngs = np.random.default_rng(given.seed).spawn(given.people)
    work = asyncio.gather(
        *(act(line, one, rng=own) for line, one, own in zip(lines, people, rngs, strict=True))
    )
    await asyncio.sleep(WARM_SECONDS)
    steady = await measure(server, tally, asyncio.sleep(given.seconds))
    await work
    for line in lines:
        tally.bytes += line.bytes
        line.close()
    return steady


def _all_stored(tally: Tally, rows: int) -> bool:
    equal = "equal" if rows == tally.acknowledged else "NOT EQUAL"
    print(f"acknowledged {tally.acknowledged:,}, rows {rows:,}: {equal}")
    if tally.refused:
        print(f"refused {len(tally.refused):,}, the first: {tally.refused[0]}")
    return rows == tally.acknowledged


def stored_rows(folder: Path, database: str | None) -> int:
    with open_database(database or database_url(folder)).reader() as connection:
        return int(connection.one(_COUNT).rows)


_COUNT = prepare(sa.select(sa.func.count().label("rows")).select_from(store.answer))


@contextmanager
def study_for_load(database: str | None) -> Iterator[tuple[Path, str | None]]:
    """A study of small pictures in a folder of its own, and where its answers are stored."""
    with tempfile.TemporaryDirectory(prefix="load-") as scratch, ExitStack() as stack:
        if database == "postgresql":
            database = stack.enter_context(postgresql())
            if database is None:
                sys.exit("PostgreSQL is not installed (no initdb).")
        pixels = np.random.default_rng(0).integers(256, size=(IMAGES, 32, 32, 3), dtype=np.uint8)
        folder = new_study(
            Path(scratch) / "load",
            images={f"image-{place}": image for place, image in enumerate(pixels)},
            preset="choose-one",
            classes=[f"class-{place}" for place in range(CLASSES)],
            per_item=PEOPLE_AN_IMAGE,
            recruiting={"entry": "open"},
            database=database,
            seed=0,
            layout={"checks_every": 0, "per_class": False, "trials_per_person": TRIALS},
        )
        kind = "SQLite" if database is None else "PostgreSQL"
        print(f"{kind}; choose-one of {CLASSES}, {IMAGES:,} images, {TRIALS} trials a person")
        yield folder, database


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--think", type=float, default=1.8, help="seconds, on average")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the run with thinking")
    parser.add_argument("--burst", type=float, default=10.0, help="seconds of each rate without")
    parser.add_argument("--pictures", action="store_true", help="fetch the pictures too")
    parser.add_argument("--database", help="postgresql://…, or postgresql for one of its own")
    parser.add_argument("--workers", type=int, default=1, help="processes, with PostgreSQL")
    parser.add_argument("--potato", help="Potato's command, where it is not on the path")
    parser.add_argument("--only", choices=("thinking", "hurry"))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
