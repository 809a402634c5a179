"""Kill the server of a study with ``kill -9`` at random moments under load, and count what is left.

    python benchmarks/elicit_kill.py [--kills 100] [--seed 0] [--people 40]
        [--database sqlite|postgresql|postgresql://…] [--workers 2]

Simulated annotators in a process of their own answer over HTTP. As the page does, they keep what
was not acknowledged and send it again with the same key. After every kill the server starts again
on the same study, in a process of its own. With ``--database postgresql`` a PostgreSQL server is
started as well, and is itself shut down without warning once in ten times. With several workers
people come through a proxy, and one after the other a worker, the supervisor, PostgreSQL and the
proxy are killed. Every item has a cap, which is reached again and again. At the end nothing may be
lost, stored twice, over its cap or damaged; ends with 1 where something is. Everything runs on
this machine; ports are open on 127.0.0.1 only.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from elicit_kill_people import CLASSES, annotate
from elicit_kill_servers import (
    PATIENCE,
    PostgreSQL,
    Relay,
    Server,
    free_port,
    ready_server,
    running_postgresql,
    wait_for,
)

LOADED = (0.05, 2.0)
"""Seconds from the start of a server to its end."""
STARTING = 0.1
"""Part of the kills that come while the server still starts."""
TRIALS = 20
ITEMS = 150
OPEN_A_PLACE = "UPDATE stimulus SET target = target + 1 WHERE role = 'main'"


# --- the kills -----------------------------------------------------------------------------------


def make_study(folder: Path, database: str | None) -> None:
    """A study that is full again and again: one more place an item is opened after each kill."""
    import numpy as np

    from sfumato.elicit.making.make import new_study

    rng = np.random.default_rng(0)
    images = {f"item{place}": rng.integers(0, 255, (8, 8), np.uint8) for place in range(ITEMS)}
    bare: dict[str, tuple[str, ...]] = dict.fromkeys(
        ("consent", "instructions", "comprehension", "debrief"), ()
    )
    layout = {"trials_per_person": TRIALS, "checks_every": 0, "repeats": 0, "per_class": False}
    new_study(
        folder, images=images, preset="choose-one", classes=CLASSES, per_item=2, seed=0,
        welcome=bare, layout=layout, recruiting={"entry": "open"}, database=database,
    )  # fmt: skip


def open_places(url: str) -> None:
    """Let one more person answer about each item, as a researcher may at any time."""
    from sfumato.elicit.storage.database import open_database

    with open_database(url).connect() as connection:
        connection.begin()
        connection.plain(OPEN_A_PLACE)
        connection.commit()


def disturb_all(
    server: Server, relay: Relay, postgresql: PostgreSQL, kills: int, rng: random.Random
) -> Counter[str]:
    """Kill a worker, the supervisor, PostgreSQL and the proxy in turn, and start them again."""
    done: Counter[str] = Counter()
    for number in range(kills):
        time.sleep(rng.uniform(*LOADED))
        match number % 4:
            case 0:
                server.kill_worker(rng)
                done["kill -9 of a worker"] += 1
            case 1:
                server.kill()
                server.start()
                done["kill -9 of the supervisor"] += 1
            case 2:
                postgresql.stop()
                time.sleep(rng.uniform(0, 0.5))
                postgresql.start()
                done["PostgreSQL shut down at once"] += 1
            case _:
                relay.kill()
                relay.start()
                done["kill -9 of the proxy"] += 1
        server.wait()
        open_places(postgresql.url)
        if number % 10 == 9:
            print(f"{number + 1} of {kills} kills", file=sys.stderr, flush=True)
    return done


def disturb(
    server: Server, postgresql: PostgreSQL | None, url: str, kills: int, rng: random.Random
) -> Counter[str]:
    """Kill and start again; how often what was done. The server runs at the end."""
    done: Counter[str] = Counter()
    for number in range(1, kills + 1):
        if postgresql is not None and number % 10 == 3:
            time.sleep(rng.uniform(*LOADED))
            postgresql.stop()
            time.sleep(rng.uniform(0, 0.5))
            postgresql.start()
            wait_for(server.answers, "the server to find its database again")
            done["PostgreSQL shut down at once"] += 1
        if rng.random() < STARTING:
            server.kill()
            server.start()
            time.sleep(rng.uniform(0, 0.4))
            done["of them while it started"] += 1
        else:
            time.sleep(rng.uniform(*LOADED))
        server.kill()
        done["kill -9 of the server"] += 1
        server.start()
        server.wait()
        open_places(url)
        if number % 10 == 0:
            print(f"{number} of {kills} kills", file=sys.stderr, flush=True)
    return done


# --- what is left --------------------------------------------------------------------------------


def examine(url: str, book: list[dict[str, Any]]) -> dict[str, int]:
    """How many of each kind of damage there are."""
    from sfumato.elicit.storage.backup import check_integrity
    from sfumato.elicit.storage.database import open_database

    with open_database(url).connect() as connection:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            cursor = connection.driver.cursor()
            return list(cursor.execute(sql).fetchall())

        if connection.dialect == "sqlite":
            check_integrity(connection, "The database")
        stored = {
            row[0]: row[1:] for row in rows("SELECT trial, key, answer, received FROM answer")
        }
        written = Counter(row[0] for row in rows("SELECT trial FROM answer_event"))
        slots = rows(
            "SELECT session, slot FROM trial WHERE state = 'answered' "
            "GROUP BY session, slot HAVING count(*) > 1"
        )
        miscounted = rows(
            "SELECT id FROM stimulus WHERE finished <> (SELECT count(*) FROM trial "
            "WHERE trial.stimulus = stimulus.id AND state = 'answered') OR reserved <> "
            "(SELECT count(*) FROM trial WHERE trial.stimulus = stimulus.id "
            "AND state IN ('ahead', 'open'))"
        )
        over = rows("SELECT id FROM stimulus WHERE role = 'main' AND finished + reserved > target")
        doubled = rows(
            "SELECT participant, stimulus FROM trial JOIN session ON session.id = trial.session "
            "WHERE state = 'answered' GROUP BY participant, stimulus HAVING count(*) > 1"
        )
    told = Counter(line["trial"] for line in book)
    differing = [
        line
        for line in book
        if line["trial"] in stored
        and stored[line["trial"]][:2] != (line["key"], json.dumps(line["answer"]))
    ]
    return {
        "acknowledged but lost": len(set(told) - set(stored)),
        "stored otherwise than acknowledged": len(differing),
        "stored twice": len(slots) + sum(written[trial] != 1 for trial in stored),
        "acknowledged twice": sum(times > 1 for times in told.values()),
        "stored but never acknowledged": len(set(stored) - set(told)),
        "images with a wrong count of answers": len(miscounted),
        "images over their cap": len(over),
        "images that somebody answered twice": len(doubled),
    }


def lost_replies(url: str, book: list[dict[str, Any]]) -> int:
    """Answers that were stored before the attempt that was acknowledged."""
    from sfumato.elicit.storage.database import open_database

    with open_database(url).connect() as connection:
        cursor = connection.driver.cursor()
        received = dict(cursor.execute("SELECT trial, received FROM answer").fetchall())
    return sum(received.get(line["trial"], line["sent"][-1]) < line["sent"][-1] for line in book)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--people", type=int, default=40, help="at once")
    parser.add_argument("--database", default="sqlite", help="sqlite, postgresql or postgresql://…")
    parser.add_argument("--workers", type=int, default=1, help="processes; with postgresql only")
    parser.add_argument("--annotate", help="be the simulated annotators of this address")
    told = parser.parse_args()
    if told.annotate:
        asyncio.run(annotate(told.annotate, told.people, told.seed, sys.stdout))
        return
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        sys.exit(_kill_and_count(told, Path(scratch), stack))


def _kill_and_count(told: argparse.Namespace, scratch: Path, stack: ExitStack) -> int:
    postgresql = None
    if told.database == "postgresql":
        postgresql = stack.enter_context(running_postgresql())
    database = None if told.database == "sqlite" else told.database
    database = database if postgresql is None else postgresql.url
    folder = scratch / "study"
    make_study(folder, database)
    url = database or f"sqlite:///{folder / 'study.sqlite'}"
    server = stack.enter_context(ready_server(folder, database, scratch / "log", told.workers))
    begun = time.monotonic()
    server.start()
    server.wait()
    relay = Relay(free_port(), server.port)
    if told.workers > 1:
        stack.callback(relay.kill)
        relay.start()
    port = server.port if told.workers == 1 else relay.port
    command = [sys.executable, __file__, f"--annotate=http://127.0.0.1:{port}"]
    command += [f"--people={told.people}", f"--seed={told.seed}"]
    with (scratch / "book").open("w+") as book:
        people = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=book)
        stack.callback(people.kill)
        rng = random.Random(told.seed)
        if told.workers > 1 and postgresql is not None:
            done = disturb_all(server, relay, postgresql, told.kills, rng)
        else:
            done = disturb(server, postgresql, url, told.kills, rng)
        people.communicate(timeout=PATIENCE)  # closes their standard input
        server.kill()
        book.seek(0)
        lines = [json.loads(line) for line in book]
    if people.returncode:
        print("The simulated annotators ended with an error.")
        return 1
    if postgresql is not None and (postgresql.tools / "pg_amcheck").exists():
        local = ["-h", str(postgresql.folder), "-U", "bench", "--install-missing"]
        postgresql.run("pg_amcheck", *local, "postgres")
    return _report(url, lines, done, told.people, time.monotonic() - begun)


def _report(
    url: str, book: list[dict[str, Any]], done: Counter[str], people: int, seconds: float
) -> int:
    damage = examine(url, book)  # raises where the database itself is damaged
    figures = {
        **{what: done[what] for what in sorted(done)},
        "simulated annotators at once": people,
        "answers acknowledged": len(book),
        "  sent more than once": sum(len(line["sent"]) > 1 for line in book),
        "  stored although the reply was lost": lost_replies(url, book),
        **damage,
    }
    for what, number in figures.items():
        print(f"{what:40}{number:>8,}")
    print(f"{'integrity check':40}{'ok':>8}")
    print(f"{'seconds':40}{seconds:>8.0f}")
    if len(book) < sum(done.values()):
        print("There was hardly any load; nothing was tested.")
        return 1
    return int(any(damage.values()))


if __name__ == "__main__":
    main()
