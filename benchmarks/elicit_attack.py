"""Attack a running `sfumato elicit serve` and measure what honest people notice of it.

    python benchmarks/elicit_attack.py [--seconds 8] [--runs 3] [--people 40] [--only ATTACK]

Simulated annotators answer while ``elicit_attackers.py`` attacks from another address, held to one
core: slow clients, floods, forged tokens, header bombs, squatting, guessing, zip bombs. Every
second somebody new walks in. Wanted: p99 of an answer under 500 ms as the median of the runs,
everybody who comes is let in, every acknowledged answer is one row; else the exit code is 1.
Everything runs on this machine, to 127.0.0.1, bounded in number and time.
"""

import argparse
import asyncio
import json
import secrets
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from elicit_attackers import ATTACKS
from elicit_line import Line, Reply
from elicit_measured import walk_in
from elicit_people import Tally, answer_for, let_in
from elicit_servers import Server, sfumato_server

from sfumato.elicit.design.places import database_url, open_study
from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.making.make import new_study
from sfumato.elicit.storage.database import open_database

WANTED_MS = 500
THINK_SECONDS = 0.5
PLACES = 150


class PatientLine(Line):
    """Sends again what a closed connection cut off, as the page does."""

    async def ask(self, request: bytes) -> Reply:
        for _ in range(50):
            try:
                return await super().ask(request)
            except OSError:
                self.close()
                await asyncio.sleep(0.05)
        raise ConnectionError("The server cannot be reached.")


@dataclass(frozen=True)
class Run:
    """What honest people noticed of one attack."""

    waits: Any
    refused: list[str]
    newcomers: int
    turned_away: list[str]
    lost: int
    attack: dict[str, int]


def make_study(folder: Path) -> ElicitStudy:
    """A study with fewer places than squatters want."""
    rng = np.random.default_rng(0)
    images = {f"item{place}": rng.integers(0, 255, (8, 8), np.uint8) for place in range(300)}
    bare: dict[str, tuple[str, ...]] = dict.fromkeys(
        ("consent", "instructions", "comprehension", "debrief"), ()
    )
    new_study(
        folder, images=images, preset="choose-one", classes=["cat", "dog", "deer"], per_item=1000,
        seed=0, welcome=bare, recruiting={"entry": "open", "places": PLACES},
        layout={"trials_per_person": 200, "checks_every": 0, "per_class": False},
    )  # fmt: skip
    return open_study(folder)


async def live_through(server: Server, study: ElicitStudy, name: str, told: Any) -> Run:
    """Let people answer while somebody attacks."""
    tally, turned_away = Tally(), []
    lines = [PatientLine(server.port) for _ in range(told.people)]
    people = await walk_in(lines, told.people, lambda line, who: let_in(line, who, study))
    until = asyncio.get_running_loop().time() + told.seconds
    rng = np.random.default_rng(0)
    attackers = None
    if name in ATTACKS:
        here = str(Path(__file__).with_name("elicit_attackers.py"))
        attackers = await asyncio.create_subprocess_exec(
            sys.executable, here, name, str(server.port), str(told.seconds),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    async def work(line: Line, person: Any) -> None:
        own = rng.spawn(1)[0]
        think: Any = {"until": until, "think": THINK_SECONDS, "pictures": False, "rng": own}
        await answer_for(line, person, tally, **think)

    async def walk_in_late(after: float) -> None:
        await asyncio.sleep(after)
        line = PatientLine(server.port)
        try:
            await work(line, await let_in(line, f"late-{secrets.token_hex(6)}", study))
        except AssertionError as refusal:
            turned_away.append(str(refusal))

    late = range(1, max(int(told.seconds) - 1, 2))
    await asyncio.gather(*map(work, lines, people), *(walk_in_late(after) for after in late))
    attack = {}
    if attackers is not None:
        said, _ = await attackers.communicate()
        attack = json.loads(said)
    waits = np.array(tally.seconds)
    return Run(waits, tally.refused, len(late), turned_away, tally.acknowledged, attack)


def run_once(name: str, told: Any) -> Run:
    with tempfile.TemporaryDirectory(prefix="attack-") as scratch:
        study = make_study(Path(scratch) / "study")
        with sfumato_server(Path(scratch) / "study") as server:
            run = asyncio.run(live_through(server, study, name, told))
        with open_database(database_url(Path(scratch) / "study")).reader() as connection:
            (rows,) = connection.driver.execute("SELECT count(*) FROM answer").fetchone()
    return Run(**{**vars(run), "lost": run.lost - rows})


def report(name: str, runs: list[Run]) -> bool:
    """Print one attack; whether all was as wanted."""
    p50, p99, most = np.median(
        [1000 * np.percentile(run.waits, (50, 99, 100)) for run in runs], axis=0
    )
    refused = [text for run in runs for text in run.refused]
    away = [text for run in runs for text in run.turned_away]
    newcomers = sum(run.newcomers for run in runs)
    lost = sum(abs(run.lost) for run in runs)
    answers = sum(len(run.waits) for run in runs)
    print(
        f"{name:26}{answers:>8,}{p50:>8.0f}{p99:>8.0f}{most:>8.0f}{len(refused):>9}"
        f"{newcomers - len(away):>6}/{newcomers}{lost:>6}   {runs[-1].attack or ''}",
        flush=True,
    )
    for text in [*refused[:1], *away[:1]]:
        print(f"    the first refusal: {text[:200]}")
    return bool(p99 < WANTED_MS and not refused and not away and not lost)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="of each attack")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--people", type=int, default=40, help="honest ones at once")
    parser.add_argument("--only", choices=list(ATTACKS), help="one attack")
    told = parser.parse_args()
    names = ["no attack", *ATTACKS] if told.only is None else [told.only]
    print(
        f"{told.people} honest people, {told.runs} runs of {told.seconds:g} s; ms, median of runs"
    )
    columns = ("answers", 8), ("p50", 8), ("p99", 8), ("max", 8), ("refused", 9), ("let in", 9)
    print("".join([f"{'attack':26}", *(f"{name:>{wide}}" for name, wide in columns), "  lost"]))
    right = [report(name, [run_once(name, told) for _ in range(told.runs)]) for name in names]
    wanted = f"p99 under {WANTED_MS} ms, nobody refused, nothing lost"
    print(f"{'all as' if all(right) else 'NOT as'} wanted: {wanted}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
