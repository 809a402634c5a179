"""What tests of the dashboard share: a study with nasty names, people, and a browser."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from starlette.applications import Starlette
from tests.elicit.conftest import Desk, empty_postgresql, fill_desk, make_study

from sfumato.elicit.admin.app import admin_app
from sfumato.elicit.design.places import IMAGES
from sfumato.elicit.live.live import Live
from sfumato.elicit.session.commands import leave_stage
from sfumato.elicit.session.screen import DebriefScreen, ProceedGiven, TrialScreen
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.app import make_app

ADMIN_KEY = "a long key for tests only"
SCRIPT = "<script>alert('class')</script>"
IMAGE = "<img src=x onerror=alert('item')>"
SITE = "http://site"


@dataclass
class Office:
    """A running collection and its dashboard."""

    desk: Desk
    writer: Writer
    live: Live
    app: Starlette


def make_office(
    folder: Path, *, people: int = 4, url: str | None = None, **settings: Any
) -> Office:
    study = make_study(
        title="Animals & <i>others</i>",
        classes=("cat", "dog", SCRIPT),
        layout={"trials_per_person": 6, "checks_every": 3, "repeats": 2},
        welcome={"debrief": ["Was anything <b>odd</b>?"]},
        recruiting={"pay": 1.0, "hourly": 9.0},
        rules=("checks",),
        per_item=5,
    )
    database = open_database(url or f"sqlite:///{folder / 'study.sqlite'}")
    desk = fill_desk(database, study, 12, {"checks": 4})
    desk.now = 1_750_000_000.0
    desk.rows("UPDATE stimulus SET gold = 'cat' WHERE role = 'check' RETURNING id")
    for number in range(people):
        attend(desk, f"person{number}", said=("cat", "dog", SCRIPT)[number % 3])
    item = IMAGE.replace("'", "''")
    desk.rows(f"UPDATE stimulus SET item = '{item}' WHERE id = 1 RETURNING id")
    desk.rows("UPDATE participant SET pseudonym = '<b>pseu' WHERE id = 1 RETURNING id")
    (folder / IMAGES).mkdir()
    for (file,) in desk.rows("SELECT file FROM image"):
        Image.new("L", (8, 8)).save(folder / IMAGES / file)
    writer = Writer(
        desk.database, desk.collection, rng=np.random.default_rng(0), clock=lambda: desk.now
    ).start()
    live = Live(desk.database, desk.collection, clock=lambda: desk.now)
    settings = {"admin_key": ADMIN_KEY, **settings}
    admin = admin_app(writer, live, **settings)
    return Office(desk, writer, live, make_app(folder, writer=writer, admin=admin))


def attend(desk: Desk, person: str, *, said: str, end: bool = True) -> str:
    """A simulated person goes through a session, or all of it but the last screen."""
    token = desk.enter(person)
    shown = desk.screen(token)
    while isinstance(shown, TrialScreen):
        shown = desk.answer(token, shown.trial.id, said)
    if isinstance(shown, DebriefScreen) and end:
        words = ProceedGiven(stage="debrief", answers=("<script>alert('words')</script>",))
        desk.run(leave_stage, token=token, given=words)
    return token


office_on_both = pytest.mark.parametrize("office", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """Four people answered: one always cat, one always dog, one always a class that is a script."""
    url = None
    if getattr(request, "param", "sqlite") == "postgresql":
        url = empty_postgresql(request.getfixturevalue("postgresql_server"))
    made = make_office(tmp_path, url=url)
    yield made
    made.writer.stop()
    made.desk.connection.close()


@asynccontextmanager
async def browsing(office: Office, site: str = SITE) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=office.app, client=("198.51.100.7", 4))
    async with httpx.AsyncClient(transport=transport, base_url=site) as client:
        yield client


async def log_in(client: httpx.AsyncClient, key: str = ADMIN_KEY) -> httpx.Response:
    return await client.post("/admin/login", data={"key": key})


async def form_of(client: httpx.AsyncClient, path: str = "/admin/log") -> str:
    text = (await client.get(path)).text
    found = re.search(r'name="form" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def visit(
    office: Office, steps: Callable[[httpx.AsyncClient], Awaitable[None]], **settings: Any
) -> None:
    """Run the steps of somebody who is logged in."""

    async def run() -> None:
        async with browsing(office, **settings) as client:
            assert (await log_in(client)).status_code == 303
            await steps(client)

    asyncio.run(run())
