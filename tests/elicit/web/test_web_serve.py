"""A real server process: keep-alive, stopping under load, and what it writes to its log."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from tests.elicit.conftest import on_both
from tests.elicit.web.conftest import ADMIN_KEY, command

from sfumato.elicit.serve import check_workers, run_server
from sfumato.elicit.storage.backup import check_integrity
from sfumato.elicit.storage.database import open_database
from sfumato.errors import DataError

PEOPLE = 12
CANARY = "CANARY77"
THOUGHT = 0.3
"""Seconds before the next answer: longer in all than a dashboard takes to hear of the first."""


async def work(address: str, person: int, acknowledged: list[int]) -> None:
    """A simulated annotator with little patience, until the server goes away."""
    async with httpx.AsyncClient(base_url=address, timeout=20) as client:
        try:
            entry = {"parameters": {"participant": f"{CANARY}-{person}"}}
            token = (await client.post("/api/enter", json=entry)).json()["token"]
            head = {"authorization": f"Bearer {token}"}
            shown = (await client.get("/api/screen", headers=head)).json()
            while shown["stage"] == "trials":
                trial = shown["trial"]["id"]
                timing = {"seconds": 1.0}
                body = {"trial": trial, "key": f"key{trial:08d}", "answer": "cat", "timing": timing}
                reply = await client.post("/api/answer", json=body, headers=head)
                if reply.status_code == 200:
                    acknowledged.append(trial)
                    shown = reply.json()
                    await asyncio.sleep(THOUGHT)
                else:
                    assert reply.status_code in (429, 503)
                    await asyncio.sleep(0.05)
        except (httpx.TransportError, KeyError):  # gone, or going: nothing was acknowledged
            return


async def watch(address: str, heard: list[str], opened: asyncio.Event) -> None:
    """A dashboard that stays open until the server goes away."""
    async with httpx.AsyncClient(base_url=address, timeout=20) as client:
        await client.post("/admin/login", data={"key": ADMIN_KEY})
        async with client.stream("GET", "/admin/events") as stream:
            opened.set()
            with contextlib.suppress(httpx.TransportError):
                async for line in stream.aiter_lines():
                    heard.append(line)


@on_both
def test_r9_stop_under_load_ends_in_ten_seconds_and_loses_no_acknowledged_answer(
    study_folder: Path, change_study: Any, start: Any, place_of_study: Callable[[Path], str]
) -> None:
    change_study(layout={"trials_per_person": 12})
    url = place_of_study(study_folder)
    process, address, log = start(study_folder, "--database", url)
    acknowledged: list[int] = []
    heard: list[str] = []

    async def load() -> float:
        opened = asyncio.Event()
        watching = asyncio.create_task(watch(address, heard, opened))
        await opened.wait()  # whoever opens the dashboard too late hears of no change
        workers = [
            asyncio.create_task(work(address, person, acknowledged)) for person in range(PEOPLE)
        ]
        while len(acknowledged) < 20 or "event: changed" not in heard:
            await asyncio.sleep(0.01)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.wait, 20)
        stopped = time.monotonic() - begun
        await asyncio.gather(watching, *workers)
        return stopped

    stopped = asyncio.run(asyncio.wait_for(load(), 60))

    with open_database(url).connect() as connection:
        cursor = connection.driver.cursor()
        stored = {row[0] for row in cursor.execute("SELECT trial FROM answer").fetchall()}
        if connection.dialect == "sqlite":
            check_integrity(connection, "The database")
    assert stopped < 10
    assert process.returncode in (0, -signal.SIGTERM)
    assert len(set(acknowledged)) == len(acknowledged) < PEOPLE * 12
    assert set(acknowledged) <= stored
    assert CANARY not in log.read_text()  # S13
    assert "Traceback" not in log.read_text()


def test_s13_addresses_with_ids_are_not_logged(study_folder: Path, start: Any) -> None:
    process, address, log = start(study_folder)

    page = httpx.get(f"{address}/?participant={CANARY}")
    httpx.get(f"{address}/{CANARY}")
    process.send_signal(signal.SIGTERM)
    process.wait(20)

    assert page.status_code == 200
    assert "server" not in page.headers
    assert CANARY not in log.read_text()
    assert "Serving" in log.read_text()


def test_s10_no_start_on_a_public_address_without_a_key(study_folder: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "SFUMATO_ADMIN_KEY"}

    ended = subprocess.run(
        command(study_folder, "--host", "0.0.0.0"),
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )

    assert ended.returncode == 1
    assert "SFUMATO_ADMIN_KEY" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_several_processes_need_postgresql() -> None:
    check_workers(1, None)
    check_workers(4, "postgresql://tester@/study")
    with pytest.raises(DataError, match="4 processes need PostgreSQL"):
        check_workers(4, None)
    with pytest.raises(DataError, match="2 processes"):
        check_workers(2, "sqlite:////tmp/x.sqlite")


def test_connections_outlive_a_thought_and_nothing_is_logged_of_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **settings: told.update(settings))

    run_server("a:b", host="127.0.0.1", port=8000)

    assert told["timeout_keep_alive"] >= 75
    assert told["timeout_graceful_shutdown"] <= 10
    assert told["access_log"] is False
    assert told["workers"] == 1
    assert told["proxy_headers"] is False
