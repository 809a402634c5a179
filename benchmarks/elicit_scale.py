"""Try 1,000 annotators at once on PostgreSQL, and reckon from it what more of them need.

    python benchmarks/elicit_scale.py [--workers 2] [--people 1000] [--think 8] [--seconds 60]

Server processes, database and clients share this machine. What is measured is the time of the
processor an answer costs the server and the database, bytes, and how long people wait. Reckoned are
processors at half load, for as many people as have never been tried here.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from elicit_load import stored_rows, study_for_load, think_and_answer
from elicit_people import Tally
from elicit_servers import Server, sfumato_server

from sfumato.elicit.design.places import open_study

CROWDS = (1_000, 10_000, 100_000)
HALF = 0.5
"""Of a processor is used; the other half is for bursts."""
GIGABIT = 1e9 / 8


def main() -> int:
    given = _arguments()
    tally = Tally()
    with study_for_load("postgresql") as (folder, database):
        assert database is not None
        before = stored_rows(folder, database)
        with sfumato_server(folder, database=database, workers=given.workers) as server:
            base = Server(0, _postmaster(database), 0.0)
            used = base.cpu_seconds()
            steady = asyncio.run(think_and_answer(server, open_study(folder), tally, given))
            of_database = 1000 * (base.cpu_seconds() - used) / tally.acknowledged
        rows = stored_rows(folder, database) - before
    each = tally.bytes / tally.acknowledged
    print(f"{given.people:,} simulated annotators, {given.think:g} s thinking time on average")
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors for everything")
    print(f"{steady.answers:,} answers in {steady.seconds:.0f} s: {steady.a_second:.0f} a second")
    print(f"latency: {steady.waits_ms}; {steady.memory_mb:.0f} MB, {given.workers} workers")
    print(f"CPU an answer: server {steady.cpu_ms:.2f} ms, database {of_database:.2f} ms")
    print(f"{each / 1000:.1f} KB an answer, with its picture")
    equal = "equal" if rows == tally.acknowledged else "NOT EQUAL"
    print(f"acknowledged {tally.acknowledged:,}, rows {rows:,}: {equal}\n")
    print("annotators  answers/s  server cores  database cores  Mbit/s")
    for people in CROWDS:
        rate = people / given.think
        cores = [rate * cpu / 1000 / HALF for cpu in (steady.cpu_ms, of_database)]
        network = 1000 * rate * each / GIGABIT
        print(f"{people:>10,} {rate:>10,.0f} {cores[0]:>13.1f} {cores[1]:>15.1f} {network:>7.0f}")
    return 0 if rows == tally.acknowledged else 1


def _postmaster(database: str) -> int:
    """The process number of the PostgreSQL server at an address with a folder for its socket."""
    folder = Path(parse_qs(urlsplit(database).query)["host"][0])
    return int((folder / "data" / "postmaster.pid").read_text().split()[0])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--think", type=float, default=8.0, help="seconds, on average")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2, help="server processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(pictures=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
