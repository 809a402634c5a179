"""Simulated annotators: they enter a study over HTTP as the page does, think, and answer."""

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from elicit_line import Line, Reply, request_of

from sfumato.elicit.design.study import ElicitStudy

__all__ = ["Annotator", "Tally", "answer", "answer_for", "fetch_pictures", "let_in"]


@dataclass
class Tally:
    """What was acknowledged, and how long each answer took."""

    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)
    """What was answered instead, in full for the first few."""
    seconds: list[float] = field(default_factory=list)
    """From sending an answer to having the next trial."""
    pictures: int = 0
    bytes: int = 0
    """Sent and received, with entering."""

    def add(self, reply: Reply, seconds: float) -> bool:
        """Count an answer; whether it was acknowledged."""
        if reply.status != 200:
            self.refused.append(f"{reply.status} {reply.body[:200]!r}")
            return False
        self.acknowledged += 1
        self.seconds.append(seconds)
        return True


@dataclass
class Annotator:
    """A simulated person in a session, before a trial or at the end."""

    bearer: dict[str, str]
    screen: dict[str, Any]

    @property
    def at_trial(self) -> bool:
        return bool(self.screen["stage"] == "trials")


async def let_in(line: Line, name: str, study: ElicitStudy) -> Annotator:
    """Read the consent, enter, read the instructions, answer the questions about them."""
    page = await line.ask(request_of("GET", f"/?participant={name}"))
    assert page.status == 200, page
    version = (await _asked(line, "GET", "/consent"))["version"]
    entry = {"parameters": {"participant": name}, "consent_version": version, "language": "en"}
    token = (await _asked(line, "POST", "/api/enter", body=entry))["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    screen = await _asked(line, "GET", "/api/screen", bearer)
    while screen["stage"] != "trials":
        checks = study.welcome.comprehension if screen["stage"] == "comprehension" else ()
        left = {"stage": screen["stage"], "answers": [check.right for check in checks]}
        screen = await _asked(line, "POST", "/api/proceed", bearer, body=left)
    return Annotator(bearer, screen)


async def answer(
    line: Line, person: Annotator, tally: Tally, *, think: float, rng: np.random.Generator
) -> None:
    """Send an answer to the trial on the screen, and take the next screen from the reply.

    The body is what the page sends for one click, with the times of the label that was clicked.
    """
    trial = person.screen["trial"]
    label = trial["classes"][int(rng.integers(len(trial["classes"])))]
    used = {"input": label, "first": round(think, 3), "last": round(think, 3), "changes": 1}
    body = {
        "trial": trial["id"],
        "key": secrets.token_urlsafe(12),
        "answer": label,
        "timing": {"seconds": round(think, 3), "inputs": {label: 0}},
        "events": [{"kind": "inputs", "at": round(think, 3), "data": used}],
    }
    request = request_of("POST", "/api/answer", headers=person.bearer, body=body)
    begun = time.perf_counter()
    reply = await line.ask(request)
    if tally.add(reply, time.perf_counter() - begun):
        person.screen = reply.json()


async def answer_for(
    line: Line,
    person: Annotator,
    tally: Tally,
    *,
    until: float,
    think: float,
    pictures: bool,
    rng: np.random.Generator,
) -> None:
    """One simulated annotator on a line of their own until a moment of the event loop's clock.

    Thinking takes ``think`` seconds on average: half to one and a half times that.
    """
    loop = asyncio.get_running_loop()
    await asyncio.sleep(think * rng.random())  # not all at once
    while person.at_trial:
        thought = think * rng.uniform(0.5, 1.5)
        if loop.time() + thought >= until:
            return
        await asyncio.sleep(thought)
        await answer(line, person, tally, think=thought, rng=rng)
        if pictures and person.at_trial:
            await fetch_pictures(line, person, tally)


async def fetch_pictures(line: Line, person: Annotator, tally: Tally) -> None:
    """Fetch the pictures of the trial after this one, as the page does in advance."""
    for address in person.screen["preload"]:
        reply = await line.ask(request_of("GET", address))
        tally.pictures += reply.status == 200


async def _asked(
    line: Line, method: str, path: str, headers: dict[str, str] | None = None, *, body: Any = None
) -> Any:
    reply = await line.ask(request_of(method, path, headers=headers, body=body))
    assert reply.status == 200, f"{path}: {reply.status} {reply.body[:300]!r}"
    return reply.json()
