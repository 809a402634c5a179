"""Make and start a study of 60,000 images, and measure seconds, memory and the weight of the page.

    python benchmarks/elicit_start.py [--images 60000] [--starts 5]

The images are synthetic, 28 × 28 pixels as in MNIST, in a folder of PNG files. ``sfumato elicit
new`` and ``sfumato elicit serve`` run as processes of their own. A start lasts from the beginning
of the process until ``/health`` answers, so until an answer could be stored; how long Python takes
to import what the server needs is measured apart. Exit code 1 where a target is missed.
"""

import argparse
import asyncio
import gzip
import re
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from elicit_line import Line, request_of
from elicit_measured import walk_in
from elicit_people import Tally, answer, fetch_pictures, let_in
from elicit_servers import SFUMATO, Server, sfumato_server
from PIL import Image

from sfumato.elicit.design.places import open_study
from sfumato.elicit.design.study import ElicitStudy

SIDE, CLASSES, PEOPLE, REQUESTS = 28, 10, 20, 1_000
TARGET_SECONDS, TARGET_MB, TARGET_PAGE_KB = 2.0, 200, 100
IMPORTS = "import uvicorn, sfumato.elicit.serve"

_LINKED = re.compile(rb'(?:href|src)="(/[^"]+)"')
_IMPORTED = re.compile(rb'from "\./([^"]+)"')


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="start-") as scratch:
        folder = _made(Path(scratch), given.images)
        study = open_study(folder)
        quick = _start(folder, given.starts)
        with sfumato_server(folder) as server:
            before = server.memory_mb()
            requests = asyncio.run(_use(server, study))
            after, peak = server.memory_mb(), server.peak_memory_mb()
            sent = asyncio.run(_page(server, study))
    print(f"memory: {before:.0f} MB after the start, {after:.0f} MB after {requests:,} requests,")
    print(f"  {peak:.0f} MB at most (target: {TARGET_MB} MB)")
    weight = sum(map(len, sent.values())) / 1000
    packed = sum(len(gzip.compress(one)) for one in sent.values()) / 1000
    print(f"page without images: {weight:.1f} KB in {len(sent)} files, sent uncompressed")
    print(f"  (gzip: {packed:.1f} KB; target: {TARGET_PAGE_KB} KB)")
    return 0 if quick and peak <= TARGET_MB and weight <= TARGET_PAGE_KB else 1


def _start(folder: Path, times: int) -> bool:
    """Start the server several times; whether the quickest was quick enough."""
    imports, starts, cpu = [], [], []
    for _ in range(times):
        imports.append(_imported())
        with sfumato_server(folder) as server:
            starts.append(server.seconds_to_start)
            cpu.append(server.cpu_seconds())
    whole, alone = min(starts), min(imports)
    print(f"start: {whole:.2f} s until /health answers, the quickest of {times}, ", end="")
    print(f"{min(cpu):.2f} s CPU")
    print(f"  {alone:.2f} s of it are imports, {whole - alone:.2f} s the study ", end="")
    print(f"(target: {TARGET_SECONDS:.0f} s after the imports)")
    return whole - alone <= TARGET_SECONDS


def _made(scratch: Path, count: int) -> Path:
    """The study that ``sfumato elicit new`` makes from a folder of images."""
    pictures = scratch / "pictures"
    pictures.mkdir()
    rng = np.random.default_rng(0)
    across = np.arange(SIDE)
    for place in range(count):
        spots = rng.uniform(6, 22, (3, 2, 1))  # three blurred spots, in place of a digit
        spread = np.exp(-np.square(spots - across) / 8)  # (3, 2, SIDE)
        pixels = 255 * np.minimum(spread[:, 0].T @ spread[:, 1], 1)  # (SIDE, SIDE)
        Image.fromarray(pixels.astype(np.uint8)).save(pictures / f"image-{place:05}.png")
    (scratch / "classes.txt").write_text("\n".join(f"class-{n}" for n in range(CLASSES)) + "\n")
    command = [*SFUMATO, "elicit", "new", str(scratch / "study"), f"--images={pictures}"]
    command += [f"--classes={scratch / 'classes.txt'}", "--question=choose-one"]
    command += ["--set", "layout.checks_every=0", "--set", "layout.per_class=false"]
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(f"made from {count:,} images: {seconds:.0f} s, {cpu:.0f} s CPU, ", end="")
    print(f"{now.ru_maxrss / 1024:.0f} MB at most")
    return scratch / "study"


def _imported() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    return time.perf_counter() - begun


async def _use(server: Server, study: ElicitStudy) -> int:
    """A thousand requests of simulated annotators: entries, answers, pictures; how many."""
    lines, tally, rng = (
        [Line(server.port) for _ in range(PEOPLE)],
        Tally(),
        np.random.default_rng(0),
    )
    people = await walk_in(lines, PEOPLE, partial(let_in, study=study))

    async def go_on(line: Line, place: int) -> None:
        while sum(line.asked for line in lines) < REQUESTS:
            await answer(line, people[place], tally, think=1.0, rng=rng)
            await fetch_pictures(line, people[place], tally)
            await asyncio.sleep(0.25)  # more than four answers a second are refused

    await asyncio.gather(*(go_on(line, place) for place, line in enumerate(lines)))
    assert not tally.refused, tally.refused[0]
    return sum(line.asked for line in lines)


async def _page(server: Server, study: ElicitStudy) -> dict[str, bytes]:
    """All that a browser loads before the first image, by address."""
    line, sent, wanted = Line(server.port), dict[str, bytes](), ["/", "/texts/en.json", "/consent"]
    while wanted:
        address = wanted.pop()
        if address in sent:
            continue
        reply = await line.ask(request_of("GET", address))
        assert reply.status == 200, f"{address}: {reply.status}"
        sent[address] = reply.body
        wanted += [found.decode() for found in _LINKED.findall(reply.body) if address == "/"]
        parent = address.rpartition("/")[0]
        wanted += [f"{parent}/{found.decode()}" for found in _IMPORTED.findall(reply.body)]
    form = f"/static/forms/{study.form}.js"
    assert form in sent, f"{form} is not loaded with the page"
    return sent


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--starts", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
