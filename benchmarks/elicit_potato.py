"""Potato with a task like the one Sfumato is measured with, and what its page sends.

A choice of one among as many classes, people who come by a link as from Prolific. Potato's page
sends a choice to ``/updateinstance``. To go on it posts to ``/annotate`` and loads the next page,
which is two requests more; Sfumato's reply to an answer holds the next trial.
"""

import json
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elicit_line import Line, Reply, request_of
from elicit_people import Tally
from elicit_servers import Server, free_port, started

__all__ = ["PotatoUser", "let_into_potato", "potato_server", "store", "store_and_go_on"]

_ITEM = re.compile(rb'id="instance_id"[^>]*value="([^"]+)"')


@dataclass
class PotatoUser:
    """A simulated annotator in a session of Potato."""

    cookie: dict[str, str]
    item: str


@contextmanager
def potato_server(command: Path, *, items: int, classes: int, trials: int) -> Iterator[Server]:
    """Potato as its own command starts it: Flask's server, files that are flushed."""
    with tempfile.TemporaryDirectory(prefix="potato-") as scratch:
        folder, port = Path(scratch), free_port()
        rows = [{"id": f"item-{place}", "text": f"Picture {place}"} for place in range(items)]
        (folder / "data").mkdir()
        (folder / "data" / "items.json").write_text("\n".join(map(json.dumps, rows)) + "\n")
        settings = {
            "annotation_task_name": "load",
            "task_dir": ".",
            "output_annotation_dir": "annotation_output",
            "output_annotation_format": "jsonl",
            "data_files": ["data/items.json"],
            "item_properties": {"id_key": "id", "text_key": "text"},
            "user_config": {"allow_all_users": True, "users": []},
            "login": {"type": "url_direct", "url_argument": "PROLIFIC_PID"},
            "require_password": False,
            "max_annotations_per_user": trials,
            "assignment_strategy": "random",
            "annotation_schemes": [
                {
                    "annotation_type": "radio",
                    "name": "label",
                    "description": "Which?",
                    "labels": [f"class-{place}" for place in range(classes)],
                }
            ],
        }
        (folder / "config.yaml").write_text(json.dumps(settings))  # JSON is YAML
        start = [str(command), "start", "config.yaml", "-p", str(port)]
        with started(start, port, "/?PROLIFIC_PID=first", folder=folder) as server:
            yield server


async def let_into_potato(line: Line, name: str) -> PotatoUser:
    """Come by a link, and follow it to the first page."""
    arrived = await line.ask(request_of("GET", f"/?PROLIFIC_PID={name}"))
    cookie = _cookie(arrived)
    page = await line.ask(request_of("GET", "/", headers=cookie))
    assert page.status == 200, page
    return PotatoUser(_cookie(page) or cookie, _item_on(page))


async def store(
    line: Line, person: PotatoUser, tally: Tally, *, classes: int, rng: np.random.Generator
) -> None:
    """Send a choice about the item on the page, and stay there: one request."""
    await _store(line, person, tally, classes=classes, rng=rng, begun=time.perf_counter())


async def store_and_go_on(
    line: Line, person: PotatoUser, tally: Tally, *, classes: int, rng: np.random.Generator
) -> None:
    """Send a choice, move on and load the next page: three requests, as the page makes them."""
    begun, next_tally = time.perf_counter(), Tally()
    await _store(line, person, next_tally, classes=classes, rng=rng, begun=begun)
    headers = {**person.cookie, "X-Potato-Navigation": "1"}
    move = {"action": "next_instance", "instance_id": person.item}
    moved = await line.ask(request_of("POST", "/annotate", headers=headers, body=move))
    assert moved.status == 200, moved
    page = await line.ask(request_of("GET", "/annotate", headers=person.cookie))
    person.item = _item_on(page)
    tally.add(page, time.perf_counter() - begun)


async def _store(
    line: Line,
    person: PotatoUser,
    tally: Tally,
    *,
    classes: int,
    rng: np.random.Generator,
    begun: float,
) -> None:
    label = f"class-{int(rng.integers(classes))}"
    body = {
        "instance_id": person.item,
        "annotations": {f"label:{label}": label},
        "cleared_schemas": [],
        "span_annotations": [],
        "client_timestamp": "2026-01-01T00:00:00.000Z",
        "response_time_seconds": 1.8,
    }
    request = request_of("POST", "/updateinstance", headers=person.cookie, body=body)
    reply = await line.ask(request)
    if tally.add(reply, time.perf_counter() - begun):
        assert reply.json()["status"] != "error", reply.body


def _cookie(reply: Reply) -> dict[str, str]:
    value = reply.header("set-cookie").split(";")[0]
    return {"Cookie": value} if value else {}


def _item_on(page: Reply) -> str:
    found = _ITEM.search(page.body)
    assert found is not None, f"Potato shows no item: {page.status} {page.body[:500]!r}"
    return found[1].decode()
