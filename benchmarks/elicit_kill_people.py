"""Simulated annotators who answer over HTTP and do not give up when the server goes away."""

import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TextIO

import httpx

__all__ = ["CLASSES", "annotate"]

CLASSES = ("cat", "dog", "deer", "horse")


class Full(Exception):
    """All places of the study are taken just now."""


THINKING = (0.25, 0.6)
"""Seconds between a trial and its answer; more than five a second would be refused."""


async def annotate(address: str, people: int, seed: int, book: TextIO) -> None:
    """Answer until standard input is closed; what is under way is then brought to its end."""
    stop = asyncio.Event()

    async def watch() -> None:
        await asyncio.to_thread(sys.stdin.read)
        stop.set()

    names = itertools.count()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=20, limits=limits) as client:
        rngs = [random.Random(f"{seed} {number}") for number in range(people)]
        await asyncio.gather(watch(), *(_attend(client, names, stop, rng, book) for rng in rngs))


async def _attend(
    client: httpx.AsyncClient,
    names: Iterator[int],
    stop: asyncio.Event,
    rng: random.Random,
    book: TextIO,
) -> None:
    """One session after the other; every acknowledged answer is a line of the book."""
    while not stop.is_set():
        entry = {"parameters": {"participant": f"simulated{next(names)}"}}
        try:
            token = (await _persist(client, "/api/enter", rng, body=entry))[0]["token"]
        except Full:  # places are opened from time to time
            await asyncio.sleep(rng.uniform(0.05, 0.3))
            continue
        head = {"authorization": f"Bearer {token}"}
        shown, _ = await _persist(client, "/api/screen", rng, head=head)
        while shown["stage"] == "trials" and not stop.is_set():
            await asyncio.sleep(rng.uniform(*THINKING))
            trial, key = shown["trial"]["id"], f"{rng.getrandbits(96):024x}"
            said = rng.choice(CLASSES)
            body = {"trial": trial, "key": key, "answer": said, "timing": {"seconds": 1.0}}
            shown, sent = await _persist(client, "/api/answer", rng, head=head, body=body)
            line = {"trial": trial, "key": key, "answer": said, "sent": sent}
            book.write(json.dumps(line) + "\n")


async def _persist(
    client: httpx.AsyncClient,
    path: str,
    rng: random.Random,
    *,
    head: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
) -> tuple[Any, list[float]]:
    """The reply, and when each attempt was made; the same is sent until it is acknowledged."""
    sent: list[float] = []
    while True:
        sent.append(time.time())
        with suppress(httpx.TransportError):
            method = "GET" if body is None else "POST"
            reply = await client.request(method, path, json=body, headers=head)
            if reply.status_code == 200:
                return reply.json(), sent
            if reply.status_code == 410:
                raise Full
            if reply.status_code not in (429, 502, 503):
                raise SystemExit(f"{path} was refused with {reply.status_code}: {reply.text}")
        await asyncio.sleep(rng.uniform(0.05, 0.3))
